/* files.c - checks the files that solve will write before any work begins. */
#include "tools/src/common/gnuplot.h"
#include "tools/src/common/inputs.h"
#include "tools/src/common/options_file.h"
#include "tools/src/common/output.h"
#include "tools/src/solve/solve_settings.h"

#include <string.h>
#include <unistd.h>

/* An output file and its option. */
struct named {
  const char *what, *name;
};

/* Refuses the output file user where it is this input file. Some names are words or do not exist. */
static int refuse_input(void *user, const char *what, const char *path)
{
  const struct named *output = user;
  if (access(path, F_OK) != 0 || !karst_place_same(output->name, path)) return TOOL_GO_ON;
  return tool_fail(TOOL_FAILED, "%s and %s name the same file, %s", output->what, what, output->name);
}

/* Refuses an output file that is also an input file. */
static int check_inputs(struct named *output, const struct solve_settings *settings)
{
  const bool standard = strcmp(settings->matrix, "-") == 0;
  int status = tool_each_input(standard ? "/dev/stdin" : settings->matrix, refuse_input, output);
  if (status == TOOL_GO_ON && settings->rhs) status = refuse_input(output, "--rhs", settings->rhs);
  if (status == TOOL_GO_ON && settings->actnum) status = refuse_input(output, "--actnum", settings->actnum);
  const char *options;
  for (size_t i = 0; status == TOOL_GO_ON && (options = tool_options_path(i)); i++)
    status = refuse_input(output, "--options", options);
  return status;
}

/* Checks before any file is written that no output file is another one or an input file. */
int solve_check_outputs(const struct solve_settings *settings)
{
  const char *history = settings->history && strcmp(settings->history, "-") != 0 ? settings->history : NULL;
  struct named output[] = {
      {"--history", history}, {"--solution", settings->solution}, {"--plot", settings->plot}, {"--spy", settings->spy}};
  const size_t outputs = sizeof output / sizeof output[0];
  if (settings->history && !history && settings->json)
    return tool_fail(TOOL_FAILED, "--history - and --json both write to standard output; use only one");
  if (settings->view && settings->json)
    return tool_fail(TOOL_FAILED, "--view cannot be used with --json, which lists each option itself");
  for (size_t i = 0; i < outputs; i++)
    for (size_t j = 0; j < i; j++)
      if (output[i].name && output[j].name && karst_place_same(output[i].name, output[j].name))
        return tool_fail(TOOL_FAILED, "%s and %s name the same file, %s", output[j].what, output[i].what,
                         output[j].name);
  int exit_status = TOOL_GO_ON;
  for (size_t i = 0; i < outputs && exit_status == TOOL_GO_ON; i++)
    if (output[i].name) exit_status = check_inputs(&output[i], settings);
  if (exit_status != TOOL_GO_ON) return exit_status;
  if (settings->plot) exit_status = tool_gnuplot_check_output(settings->plot);
  if (exit_status == TOOL_GO_ON && settings->spy) exit_status = tool_gnuplot_check_output(settings->spy);
  if (exit_status != TOOL_GO_ON) return exit_status;
  return settings->solution ? tool_check_output(settings->solution) : TOOL_GO_ON;
}
