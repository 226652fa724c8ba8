/* outputs.c - checks before hours of work that the output files can be written and are no input files. */
#include "tools/src/compare/compare.h"
#include "tools/src/compare/report/compare_table.h"
#include "tools/src/common/inputs.h"
#include "tools/src/common/options_file.h"
#include "tools/src/common/output.h"
#include "tools/src/common/text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file to be written, or the folder of the report. */
struct output {
  const char *option, *path;
  bool folder;
};

/* Whether a file is in the folder and has a name that a report may write. */
static bool is_of_report(const char *path, const char *folder)
{
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  struct stat own, other;
  if (strcmp(name, "index.html") != 0 && !tool_ends_in(name, ".svg")) return false;
  char *place = slash ? strndup(path, (size_t)(slash + 1 - path)) : strdup(".");
  const bool same = place && stat(place, &own) == 0 && stat(folder, &other) == 0 && own.st_dev == other.st_dev &&
                    own.st_ino == other.st_ino;
  free(place);
  return same;
}

/* Refuses an output that is this file, which need not exist. */
static int refuse(void *user, const char *what, const char *path)
{
  const struct output *output = user;
  if (output->folder ? !is_of_report(path, output->path) : !karst_place_same(output->path, path)) return TOOL_GO_ON;
  return tool_fail(TOOL_FAILED, "--%s would overwrite %s, %s", output->option, what, path);
}

/* Refuses an output that a case reads. Cases of one matrix are adjacent. */
static int check_cases(struct output *output, const struct compare_cases *cases)
{
  int status = TOOL_GO_ON;
  for (size_t i = 0; i < cases->count && status == TOOL_GO_ON; i++) {
    const struct compare_case *one = &cases->at[i];
    const char *rhs = json_string_value(json_object_get(one->what, "rhs"));
    const char *actnum = json_string_value(json_object_get(one->what, "actnum"));
    if (i == 0 || strcmp(one->matrix, one[-1].matrix) != 0) status = tool_each_input(one->matrix, refuse, output);
    if (status == TOOL_GO_ON && rhs && access(rhs, F_OK) == 0) status = refuse(output, "--rhs", rhs);
    if (status == TOOL_GO_ON && actnum) status = refuse(output, "--actnum", actnum);
  }
  return status;
}

static bool is_file(const char *path) { return path && strcmp(path, "-") != 0; }

int compare_check_outputs(const struct compare_settings *settings, const struct compare_cases *cases)
{
  struct output output[] = {{"csv", settings->csv, false},
                            {"markdown", settings->markdown, false},
                            {"json", settings->json, false},
                            {"report", settings->report, true}};
  const size_t count = sizeof output / sizeof *output;
  int status = TOOL_GO_ON, standard = 0;
  if (settings->plan && karst_place_same(settings->results, settings->plan))
    return tool_fail(TOOL_FAILED, "--results and --plan name the same file, %s", settings->plan);
  struct output results = {"results", settings->results, false};
  if (!settings->tables_only) status = check_cases(&results, cases);
  for (size_t i = 0; i < count && status == TOOL_GO_ON; i++) {
    standard += !output[i].folder && output[i].path && !is_file(output[i].path);
    if (!output[i].path || (!output[i].folder && !is_file(output[i].path))) continue;
    status = refuse(&output[i], "the results", settings->results);
    if (status == TOOL_GO_ON && settings->plan) status = refuse(&output[i], "the plan", settings->plan);
    for (size_t k = 0; k < i && status == TOOL_GO_ON; k++)
      if (is_file(output[k].path)) status = refuse(&output[i], "another table", output[k].path);
    if (status == TOOL_GO_ON) status = check_cases(&output[i], cases);
    if (status != TOOL_GO_ON) continue;
    status = output[i].folder ? compare_report_check(output[i].path) : tool_check_output(output[i].path);
  }
  if (status == TOOL_GO_ON && standard > 1) return tool_fail(TOOL_FAILED, "only one table can go to standard output");
  return status;
}
