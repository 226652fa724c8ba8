/* solve.c - runs a case by the command solve: finds the command and makes its arguments. */
#include "tools/src/compare/compare.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whether the file can be run; errno says why not. */
static bool is_command(const char *path)
{
  struct stat file;
  if (stat(path, &file) != 0) return false;
  if (!S_ISREG(file.st_mode)) errno = S_ISDIR(file.st_mode) ? EISDIR : EACCES;
  return S_ISREG(file.st_mode) && access(path, X_OK) == 0;
}

int compare_find_solve(char **path)
{
  enum { ROOM = 4096 };
  static const char own[] = "compare", others[][16] = {"solve", "karst-solve"};
  char self[ROOM], *name;
  const char *other = getenv("KARST_SOLVE");
  if (other && *other) {
    *path = strdup(other);
    if (!*path) return tool_fail_memory("the path of solve");
    if (is_command(other)) return TOOL_GO_ON;
    return tool_fail(TOOL_FAILED, "KARST_SOLVE names %s, which cannot be run: %s", other, strerror(errno));
  }
  *path = NULL;
  const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  if (length <= 0)
    return tool_fail(TOOL_FAILED,
                     "cannot find the folder of compare, which must contain solve; name solve with KARST_SOLVE");
  self[length] = '\0';
  name = strrchr(self, '/') + 1;
  char *place = malloc(ROOM + sizeof others[0]);
  if (!place) return tool_fail_memory("the path of solve");
  const size_t end = strlen(name), tail = sizeof own - 1, folder = (size_t)(name - self);
  if (end >= tail && strcmp(name + end - tail, own) == 0) { /* PREFIXcompare: PREFIXsolve */
    sprintf(place, "%.*ssolve", (int)(folder + end - tail), self);
    if (is_command(place)) *path = place;
  }
  for (int i = 0; i < 2 && !*path; i++) {
    sprintf(place, "%.*s%s", (int)folder, self, others[i]);
    if (is_command(place)) *path = place;
  }
  if (*path) return TOOL_GO_ON;
  free(place);
  return tool_fail(TOOL_FAILED,
                   "compare runs solve for each case, but %.*s does not contain it; name it with KARST_SOLVE",
                   (int)folder, self);
}

/* Appends an argument, A=B if b is not NULL; both may hold any bytes. */
static void add(json_t *list, const char *before, const char *a, const char *b)
{
  char *text = tool_format("%s%s%s%s", before, a, b ? "=" : "", b ? b : "");
  json_array_append_new(list, text ? json_string_nocheck(text) : NULL);
  free(text);
}

/* The arguments of solve. A matrix whose name begins like an option gets ./ before it. */
static json_t *make_arguments(const struct compare_case *one)
{
  json_t *list = json_array(), *value;
  const char *name;
  char number[64];
  add(list, "", "solve", NULL);
  add(list, one->matrix[0] == '-' ? "./" : "", one->matrix, NULL);
  add(list, "--", "json", NULL);
  add(list, "--", "history", "/dev/fd/3");
  json_object_foreach(one->what, name, value)
  {
    const struct compare_own *own = compare_find_own(name);
    if (strcmp(name, "matrix") == 0 || json_is_null(value) || json_is_object(value)) continue;
    snprintf(number, sizeof number, "%lld", (long long)json_integer_value(value));
    const bool is_switch = own && own->kind == COMPARE_SWITCH;
    add(list, "--", name, is_switch ? NULL : json_is_integer(value) ? number : json_string_value(value));
  }
  json_object_foreach(json_object_get(one->what, "options"), name, value)
  {
    add(list, "--", name, json_string_value(value));
  }
  return list;
}

/* The arguments as exec takes them; the caller frees the array. */
static char **make_argv(json_t *list)
{
  const size_t count = json_array_size(list);
  char **argv = malloc((count + 1) * sizeof *argv);
  for (size_t i = 0; argv && i < count; i++) argv[i] = (char *)json_string_value(json_array_get(list, i));
  if (argv) argv[count] = NULL;
  return argv;
}

int compare_run_case(const char *solve, const struct compare_case *one, const struct compare_limits *limits,
                     compare_tick *tick, void *user, json_t **row)
{
  struct compare_ended ended = {.why = COMPARE_ENDED};
  json_t *arguments = make_arguments(one);
  char **argv = make_argv(arguments);
  const time_t started = time(NULL);
  *row = NULL;
  int status = argv ? compare_run(solve, argv, limits, tick, user, &ended) : tool_fail_memory("the arguments of solve");
  if (status == TOOL_GO_ON) *row = compare_make_row(one, limits, &ended, started);
  if (status == TOOL_GO_ON && !*row) status = tool_fail_memory("a row of the results");
  free(ended.out);
  free(ended.err);
  free(argv);
  json_decref(arguments);
  return status;
}
