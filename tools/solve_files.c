/* solve_files.c - checks the files that solve will write before any work begins. */
#include "beside.h"
#include "gnuplot.h"
#include "output.h"
#include "solve.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A file to be written, or one that may be read, and what it is for. */
struct named {
  const char *what, *name;
};

/* Refuses an output file that is also an input file. */
static int check_inputs(const struct named *output, const struct solve_settings *settings, const char *plain,
                        const char *packed)
{
  const bool standard = strcmp(settings->matrix, "-") == 0;
  const struct named input[] = {{"the matrix", standard ? "/dev/stdin" : settings->matrix},
                                {"--rhs", settings->rhs},
                                {"--options", settings->options_file},
                                {"the right-hand side beside the matrix", plain},
                                {"the right-hand side beside the matrix", packed}};
  for (size_t i = 0; i < sizeof input / sizeof input[0]; i++) /* some of these are words or do not exist */
    if (input[i].name && access(input[i].name, F_OK) == 0 && tool_same_file(output->name, input[i].name))
      return tool_fail(TOOL_FAILED, "%s and %s name the same file, %s", output->what, input[i].what, output->name);
  return TOOL_GO_ON;
}

/* Checks before any file is written that no output file is another one or an input file. */
int solve_check_outputs(const struct solve_settings *settings)
{
  const char *history = settings->history && strcmp(settings->history, "-") != 0 ? settings->history : NULL;
  const struct named output[] = {
      {"--history", history}, {"--solution", settings->solution}, {"--plot", settings->plot}, {"--spy", settings->spy}};
  const size_t outputs = sizeof output / sizeof output[0];
  if (settings->history && !history && settings->json)
    return tool_fail(TOOL_FAILED, "--history - and --json are both for standard output");
  if (settings->view && settings->json)
    return tool_fail(TOOL_FAILED, "--view is for readers, and --json has each option in its object already");
  for (size_t i = 0; i < outputs; i++)
    for (size_t j = 0; j < i; j++)
      if (output[i].name && output[j].name && tool_same_file(output[i].name, output[j].name))
        return tool_fail(TOOL_FAILED, "%s and %s name the same file, %s", output[j].what, output[i].what,
                         output[j].name);
  char *plain = tool_path_beside(settings->matrix, TOOL_BESIDE_PLAIN);
  char *packed = plain ? tool_path_beside(settings->matrix, TOOL_BESIDE_PACKED) : NULL;
  int exit_status = packed ? TOOL_GO_ON : TOOL_FAILED;
  for (size_t i = 0; i < outputs && exit_status == TOOL_GO_ON; i++)
    if (output[i].name) exit_status = check_inputs(&output[i], settings, plain, packed);
  free(plain);
  free(packed);
  if (exit_status != TOOL_GO_ON) return exit_status;
  if (settings->plot) exit_status = tool_gnuplot_check_output(settings->plot);
  if (exit_status == TOOL_GO_ON && settings->spy) exit_status = tool_gnuplot_check_output(settings->spy);
  if (exit_status != TOOL_GO_ON) return exit_status;
  return settings->solution ? tool_check_output(settings->solution) : TOOL_GO_ON;
}
