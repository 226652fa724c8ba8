/* find.c - lists the systems of a folder in the order in which a simulator solved them. */
#include "tools/src/bench/sequence/sequence.h"
#include "tools/src/common/text.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads "prefix" and a number >= 0 at *text, and moves *text behind them. */
static bool read_number(const char **text, const char *prefix, double *number)
{
  const size_t length = strlen(prefix);
  char *end;
  if (strncmp(*text, prefix, length) != 0 || strspn(*text + length, "0123456789") == 0) return false;
  *number = strtod(*text + length, &end);
  *text = end;
  return true;
}

/* Whether a name is that of a matrix. Beside it may be its right-hand side, NAME_b.mtx, and the .idx files of OPM. */
static bool read_name(const char *name, bench_system_file *file)
{
  const char *rest = name;
  double report, newton;
  if (!read_number(&rest, "prob_", &report) || !read_number(&rest, "_time_", &file->time) ||
      !read_number(&rest, "__nit_", &newton))
    return false;
  file->report = (long long)report;
  file->newton = (long long)newton;
  snprintf(file->name, sizeof file->name, "%.*s", (int)(rest - name), name);
  return strstr(rest, "matrix_istl") && !tool_ends_in(name, "_b.mtx") && !tool_ends_in(name, "_b.mtx.gz") &&
         !tool_ends_in(name, ".idx");
}

static int order_of(double a, double b) { return (a > b) - (a < b); }

static int compare(const void *a, const void *b)
{
  const bench_system_file *one = a, *two = b;
  int order = order_of((double)one->report, (double)two->report);
  if (!order) order = order_of(one->time, two->time);
  return order ? order : order_of((double)one->newton, (double)two->newton);
}

/* Appends a system to the list, whose room is a power of two. */
static int add(const char *folder, const bench_system_file *found, bench_system_file **file, int *systems)
{
  if ((*systems & (*systems - 1)) == 0) {
    const size_t room = *systems ? 2 * (size_t)*systems : 1;
    bench_system_file *list = realloc(*file, room * sizeof **file);
    if (!list) return tool_fail_memory("the list of systems");
    *file = list;
  }
  (*file)[*systems] = *found;
  return found->path ? (++*systems, TOOL_GO_ON) : tool_fail_memory(folder);
}

/* Refuses two files of one system, such as the parts of a parallel run. */
static int check(const char *folder, const bench_system_file *file, int systems)
{
  if (!systems)
    return tool_fail(TOOL_FAILED,
                     "%s: no matrix prob_R_time_S__nit_N_matrix_istl... in this folder, as OPM Flow names them",
                     folder);
  for (int s = 1; s < systems; s++)
    if (compare(&file[s - 1], &file[s]) == 0)
      return tool_fail(TOOL_FAILED, "%s and %s have the same report step, time and Newton iteration; one must go",
                       file[s - 1].path, file[s].path);
  return TOOL_GO_ON;
}

int bench_sequence_find(const char *folder, bench_system_file **file, int *systems)
{
  bench_system_file found;
  int exit_status = TOOL_GO_ON;
  *file = NULL;
  *systems = 0;
  DIR *directory = opendir(folder);
  if (!directory) return tool_fail(TOOL_FAILED, "%s: cannot read this folder: %s", folder, strerror(errno));
  for (struct dirent *entry; exit_status == TOOL_GO_ON && (entry = readdir(directory));) {
    if (!read_name(entry->d_name, &found)) continue;
    found.path = tool_format("%s/%s", folder, entry->d_name);
    exit_status = found.path ? add(folder, &found, file, systems) : TOOL_FAILED;
  }
  closedir(directory);
  if (exit_status != TOOL_GO_ON) return exit_status;
  if (*systems) qsort(*file, (size_t)*systems, sizeof **file, compare);
  return check(folder, *file, *systems);
}

void bench_sequence_forget(bench_system_file *file, int systems)
{
  for (int s = 0; s < systems; s++) free(file[s].path);
  free(file);
}
