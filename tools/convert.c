/* convert.c - the command convert: writes a matrix file, or a matrix of the gallery, in another format. The right-hand
 * side that comes with the matrix is written beside it, and that of the file in whose place it is written is removed.
 * Other matrix files of the same NAME keep their right-hand side; if they cannot, nothing is written. */
#include "beside.h"
#include "grid.h"
#include "input.h"
#include "load.h"
#include "output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns the length without the rows that pad the last block, which a file of the matrix does not have. */
static int64_t rhs_length(const karst_matrix *matrix, const karst_vector *rhs)
{
  int64_t length = karst_vector_length(rhs);
  return length == karst_matrix_rows(matrix) ? karst_matrix_rows_unpadded(matrix) : length;
}

static bool is_file(const char *path)
{
  struct stat file;
  return stat(path, &file) == 0 && S_ISREG(file.st_mode);
}

/* Removes an earlier right-hand side of the output file, unless rhs was read from it. */
static int remove_stale(const char *stale, const karst_vector *rhs, bool quiet)
{
  char text[600];
  if (rhs && *karst_vector_source(rhs) && tool_same_file(stale, karst_vector_source(rhs))) return TOOL_GO_ON;
  if (unlink(stale) != 0)
    return tool_fail(TOOL_FAILED, "%s belongs to another matrix and cannot be removed: %s", stale, strerror(errno));
  snprintf(text, sizeof text, "removed %s, the right-hand side of another matrix", stale);
  if (!quiet) tool_message(NULL, KARST_MESSAGE_NOTE, text);
  return TOOL_GO_ON;
}

/* The two files beside OUTPUT that would be read as its right-hand side. In the end at most one exists and holds it. */
struct beside {
  char *plain, *packed;
  bool has_plain, has_packed; /* whether each exists before the conversion */
};

/* Returns whether rhs was read from the file path, or is equal to what the file holds. */
static bool is_of(karst_context *context, const karst_vector *rhs, int64_t length, const char *path)
{
  karst_vector *old;
  double *value = NULL, *old_value = NULL;
  if (!rhs) return false;
  if (*karst_vector_source(rhs) && tool_same_file(path, karst_vector_source(rhs))) return true;
  if (karst_vector_read(context, path, &old)) return false;
  bool same = karst_vector_length(old) == length && tool_vector_to_host(context, rhs, length, &value) == TOOL_GO_ON &&
              tool_vector_to_host(context, old, length, &old_value) == TOOL_GO_ON &&
              memcmp(value, old_value, (size_t)length * sizeof *value) == 0;
  free(value);
  free(old_value);
  karst_vector_destroy(old);
  return same;
}

/* Returns a file beside OUTPUT that would be created, replaced or removed, which changes the right-hand side of other
 * matrices beside it; NULL if nothing changes. */
static const char *find_change(karst_context *context, const karst_vector *rhs, int64_t length,
                               const struct beside *beside)
{
  if (beside->has_plain && !is_of(context, rhs, length, beside->plain)) return beside->plain;
  if (beside->has_packed && !is_of(context, rhs, length, beside->packed)) return beside->packed;
  return rhs && !beside->has_plain && !beside->has_packed ? beside->plain : NULL;
}

/* Refuses to change the right-hand side of another file of the same NAME. INPUT is excepted, as its right-hand side is
 * that of the new matrix. */
static int look_beside(karst_context *context, const char *input, const char *output, const karst_matrix *matrix,
                       const karst_vector *rhs, struct beside *beside)
{
  char *sibling;
  *beside = (struct beside){.plain = tool_path_beside(output, TOOL_BESIDE_PLAIN)};
  if (beside->plain) beside->packed = tool_path_beside(output, TOOL_BESIDE_PACKED);
  if (!beside->packed) return TOOL_FAILED;
  beside->has_plain = is_file(beside->plain);
  beside->has_packed = is_file(beside->packed);
  if (!rhs && !beside->has_plain && !beside->has_packed) return TOOL_GO_ON;
  int exit_status = tool_find_sibling(output, input, &sibling);
  if (exit_status != TOOL_GO_ON || !sibling) return exit_status;
  const char *change = find_change(context, rhs, rhs ? rhs_length(matrix, rhs) : 0, beside);
  if (change)
    exit_status = tool_fail(TOOL_FAILED,
                            "%s, which would be the right-hand side of %s too, is to be %s: choose another name than "
                            "%s",
                            change, sibling, is_file(change) ? "replaced or removed" : "made", output);
  free(sibling);
  return exit_status;
}

static int settle_beside(karst_context *context, const karst_matrix *matrix, const karst_vector *rhs,
                         const struct beside *beside, bool quiet)
{
  int exit_status = TOOL_GO_ON;
  if (rhs)
    exit_status = tool_write_vector(context, rhs, rhs_length(matrix, rhs), beside->plain);
  else if (beside->has_plain)
    exit_status = remove_stale(beside->plain, NULL, quiet);
  if (exit_status == TOOL_GO_ON && beside->has_packed) exit_status = remove_stale(beside->packed, rhs, quiet);
  return exit_status;
}

/* What is asked of a conversion. */
struct settings {
  const char *input, *output;
  int block;
  const char *grid_text;
  struct tool_grid grid;
  bool negate, stored_triangle, insert_diagonal, quiet;
};

/* Tells what is done to the matrix. inserted: the number of diagonal blocks. */
static void tell(const struct settings *settings, const karst_vector *rhs, karst_index inserted)
{
  char text[128];
  if (settings->quiet) return;
  if (settings->negate)
    tool_message(NULL, KARST_MESSAGE_NOTE,
                 rhs ? "the matrix and its right-hand side are multiplied by -1" : "the matrix is multiplied by -1");
  snprintf(text, sizeof text, "%lld diagonal block%s of zeros %s inserted", (long long)inserted,
           inserted == 1 ? "" : "s", inserted == 1 ? "is" : "are");
  if (settings->insert_diagonal) tool_message(NULL, KARST_MESSAGE_NOTE, text);
}

static int load(karst_context *context, const struct settings *settings, karst_matrix **matrix, karst_vector **rhs)
{
  karst_index inserted = 0;
  int exit_status = (settings->stored_triangle ? tool_load_stored : tool_load_matrix)(context, settings->input,
                                                                                      settings->block, matrix, rhs);
  if (exit_status != TOOL_GO_ON) return exit_status;
  if (settings->negate) exit_status = tool_negate(context, *matrix, *rhs);
  if (exit_status == TOOL_GO_ON && settings->insert_diagonal)
    exit_status = tool_insert_diagonal(context, matrix, &inserted);
  if (exit_status == TOOL_GO_ON) {
    tell(settings, *rhs, inserted);
    return TOOL_GO_ON;
  }
  karst_vector_destroy(*rhs);
  karst_matrix_destroy(*matrix);
  return exit_status;
}

static int convert(karst_context *context, const struct settings *settings)
{
  const char *input = settings->input, *output = settings->output;
  karst_matrix *matrix;
  karst_vector *rhs;
  struct beside beside;
  int exit_status = load(context, settings, &matrix, &rhs);
  if (exit_status != TOOL_GO_ON) return exit_status;
  beside = (struct beside){0};
  exit_status = tool_set_grid(context, &settings->grid, input, matrix);
  if (exit_status == TOOL_GO_ON) exit_status = look_beside(context, input, output, matrix, rhs, &beside);
  if (exit_status == TOOL_GO_ON) {
    karst_status status = karst_matrix_write(matrix, output);
    exit_status =
        status ? tool_fail_library(context, status) : settle_beside(context, matrix, rhs, &beside, settings->quiet);
  }
  free(beside.plain);
  free(beside.packed);
  karst_vector_destroy(rhs);
  karst_matrix_destroy(matrix);
  return exit_status == TOOL_GO_ON ? TOOL_YES : exit_status;
}

int main(int argc, char *argv[])
{
  karst_context *context;
  const char *path[2] = {NULL, NULL};
  struct settings settings = {0};
  const struct tool_option options[] = {
      {{"block", "B", "what the file's header says, else 1", "block size"}, TOOL_COUNT, {.count = &settings.block}},
      {{"grid", "NXxNYxNZ|find", "what came with the matrix", "cells along each axis, or find them; NXxNY: one layer"},
       TOOL_TEXT,
       {.text = &settings.grid_text}},
      {{"negate", "", "", "multiply the matrix by -1, and a right-hand side that came with it"},
       TOOL_SWITCH,
       {.flag = &settings.negate}},
      {{"stored-triangle", "", "", "take the triangle that a symmetric file stores as the whole matrix"},
       TOOL_SWITCH,
       {.flag = &settings.stored_triangle}},
      {{"insert-diagonal", "", "", "insert a zero block where a block row has no diagonal block"},
       TOOL_SWITCH,
       {.flag = &settings.insert_diagonal}},
      {{"quiet", "", "", "print errors only"}, TOOL_SWITCH, {.flag = &settings.quiet}},
      {.info = {.name = NULL}},
  };
  const struct tool_command command = {
      .about = "Writes a matrix file or a matrix NAME:SIZES of the gallery as OUTPUT, which ends in .mtx, .mtx.gz or\n"
               ".kbsr, Karst's binary form; its right-hand side, if it has one, goes beside it as NAME_b.mtx, and\n"
               "one that was there for another matrix is removed.\n"
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
  int status = tool_parse(context, &command, argc, argv);
  if (!settings.quiet) karst_context_set_message(context, tool_message, NULL);
  if (status == TOOL_GO_ON) status = tool_parse_grid(settings.grid_text, &settings.grid);
  if (status == TOOL_GO_ON) status = tool_input(path[0], &path[0]);
  settings.input = path[0];
  settings.output = path[1];
  if (status == TOOL_GO_ON) status = convert(context, &settings);
  karst_context_destroy(context);
  return tool_finish(status);
}
