/* none.c - replaces the command compare in a build without jansson, for its results are JSON. */
#include "tools/src/common/common.h"

#include <stdlib.h>

int main(int argc, char *argv[])
{
  karst_context *context;
  int operands = 0;
  const char **operand = malloc((size_t)argc * sizeof *operand);
  const struct tool_option options[] = {{.name = NULL}};
  const struct tool_command command = {
      .about = "Compares solves in batches, and needs jansson, which this build does not have.",
      .operand_names = "MATRIX...",
      .operand_count = argc,
      .operand = operand,
      .operands_given = &operands,
      .options = options,
      .exit_statuses = "exit status: 2",
  };
  tool_start(argv[0]);
  karst_status created = karst_context_create(NULL, &context);
  if (created || !operand) return tool_fail(TOOL_FAILED, "%s", karst_status_text(KARST_ERROR_NO_MEMORY));
  const bool asks = argc == 2 && argv[1][0] == '-'; /* for help or the version; the options of a batch are not known */
  int status = asks ? tool_parse(context, &command, argc, argv) : TOOL_GO_ON;
  if (status == TOOL_GO_ON)
    status = tool_fail(TOOL_FAILED, "compare needs jansson, but this build was configured without it");
  free(operand);
  karst_context_destroy(context);
  return tool_finish(status);
}
