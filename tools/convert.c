/* convert.c - the command convert: writes a matrix file, or a matrix of the gallery, in another format. The right-hand
 * side that comes with the matrix is written beside it. */
#include "input.h"
#include "load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* OUTPUT without its ending, and "_b.mtx". The caller frees it. */
static char *path_beside(const char *output)
{
  static const char *const endings[] = {".mtx.gz", ".mtx", ".kbsr"};
  size_t length = strlen(output);
  char *path = malloc(length + sizeof "_b.mtx");
  for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
    size_t ending = strlen(endings[i]);
    if (length <= ending || strcmp(output + length - ending, endings[i]) != 0) continue;
    length -= ending;
    break;
  }
  if (path) sprintf(path, "%.*s_b.mtx", (int)length, output);
  return path;
}

/* Without the rows that pad the last block: a file of the matrix does not have them. */
static int write_rhs(karst_context *context, const karst_matrix *matrix, const karst_vector *rhs, const char *output)
{
  int64_t length = karst_vector_length(rhs);
  char *path = path_beside(output);
  if (!path) return tool_fail_memory("a file name");
  if (length == karst_matrix_rows(matrix)) length = karst_matrix_rows_unpadded(matrix);
  int exit_status = tool_write_vector(context, rhs, length, path);
  free(path);
  return exit_status;
}

static int convert(karst_context *context, const char *input, const char *output, int block)
{
  karst_matrix *matrix;
  karst_vector *rhs;
  int exit_status = tool_load_matrix(context, input, block, &matrix, &rhs);
  if (exit_status != TOOL_GO_ON) return exit_status;
  karst_status status = karst_matrix_write(matrix, output);
  if (status) exit_status = tool_fail_library(context, status);
  if (!status && rhs) exit_status = write_rhs(context, matrix, rhs, output);
  karst_vector_destroy(rhs);
  karst_matrix_destroy(matrix);
  return exit_status == TOOL_GO_ON ? TOOL_YES : exit_status;
}

int main(int argc, char *argv[])
{
  karst_context *context;
  const char *path[2];
  int block = 0;
  const struct tool_option options[] = {
      {{"block", "B", "what the file's header says, else 1", "block size"}, TOOL_COUNT, {.count = &block}},
      {.info = {.name = NULL}},
  };
  const struct tool_command command = {
      .about = "Writes a matrix file or a matrix NAME:SIZES of the gallery as OUTPUT, which ends in .mtx, .mtx.gz or\n"
               ".kbsr, Karst's binary form; its right-hand side, if it has one, goes beside it as NAME_b.mtx.\n"
               "MATRIX may be a pipe; - is standard input.",
      .operand_names = "MATRIX OUTPUT",
      .operand_count = 2,
      .operand = path,
      .options = options,
      .gallery = true,
      .exit_statuses = "exit status: 0 written, 2 bad input or usage",
  };
  tool_start(argv[0]);
  karst_status created = karst_context_create(NULL, &context);
  if (created) return tool_fail(TOOL_FAILED, "%s", karst_status_text(created));
  karst_context_set_message(context, tool_message, NULL);
  int status = tool_parse(context, &command, argc, argv);
  if (status == TOOL_GO_ON) status = tool_input(path[0], &path[0]);
  if (status == TOOL_GO_ON) status = convert(context, path[0], path[1], block);
  karst_context_destroy(context);
  return tool_finish(status);
}
