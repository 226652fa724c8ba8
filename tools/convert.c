/* convert.c - the command convert: writes a matrix file, or a matrix of the gallery, in another format. The right-hand
 * side that comes with the matrix is written beside it. A file there that would be read as its right-hand side and is
 * another is replaced or removed with --force alone; other matrix files of the same NAME keep theirs in any case.
 * Otherwise nothing is written. */
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

static int remove_other(const char *path, bool quiet)
{
  char text[600];
  if (unlink(path) != 0)
    return tool_fail(TOOL_FAILED, "%s belongs to another matrix and cannot be removed: %s", path, strerror(errno));
  snprintf(text, sizeof text, "removed %s, the right-hand side of another matrix", path);
  if (!quiet) tool_message(NULL, KARST_MESSAGE_NOTE, text);
  return TOOL_GO_ON;
}

/* The two files beside OUTPUT that would be read as its right-hand side. */
struct beside {
  char *plain, *packed;
  bool has_plain, has_packed;     /* whether each exists before the conversion */
  bool plain_other, packed_other; /* and is not the right-hand side of OUTPUT */
  char *draft;                    /* to take the place of the plain one, or NULL */
  bool has_draft;                 /* which it has not taken yet */
};

/* Returns whether the file path holds these values. */
static bool holds(karst_context *context, const karst_vector *rhs, int64_t length, const char *path)
{
  karst_vector *old;
  double *value = NULL, *old_value = NULL;
  if (!rhs || karst_vector_read(context, path, &old)) return false;
  bool same = karst_vector_length(old) == length && tool_vector_to_host(context, rhs, length, &value) == TOOL_GO_ON &&
              tool_vector_to_host(context, old, length, &old_value) == TOOL_GO_ON &&
              memcmp(value, old_value, (size_t)length * sizeof *value) == 0;
  free(value);
  free(old_value);
  karst_vector_destroy(old);
  return same;
}

/* Returns whether a file beside OUTPUT is another right-hand side than rhs. Where OUTPUT takes the place of INPUT, the
 * one that was read with INPUT is not: it gets the new values with the matrix. */
static bool is_other(karst_context *context, const karst_vector *rhs, int64_t length, const char *path, bool in_place)
{
  if (in_place && rhs && *karst_vector_source(rhs) && tool_same_file(path, karst_vector_source(rhs))) return false;
  return !holds(context, rhs, length, path);
}

static int find_beside(karst_context *context, const char *input, const char *output, const karst_vector *rhs,
                       int64_t length, struct beside *beside)
{
  const bool in_place = tool_same_file(input, output);
  *beside = (struct beside){.plain = tool_path_beside(output, TOOL_BESIDE_PLAIN)};
  if (beside->plain) beside->packed = tool_path_beside(output, TOOL_BESIDE_PACKED);
  if (!beside->packed) return TOOL_FAILED;
  beside->has_plain = is_file(beside->plain);
  beside->has_packed = is_file(beside->packed);
  beside->plain_other = beside->has_plain && is_other(context, rhs, length, beside->plain, in_place);
  beside->packed_other = beside->has_packed && is_other(context, rhs, length, beside->packed, in_place);
  return TOOL_GO_ON;
}

/* Refuses to change the right-hand side of another file of the same NAME, and, without force, to replace or remove one
 * that is there. INPUT is excepted from the files, as its right-hand side is that of the new matrix. */
static int check_beside(const char *input, const char *output, const karst_vector *rhs, const struct beside *beside,
                        bool force)
{
  char *sibling;
  const char *other = beside->plain_other ? beside->plain : beside->packed_other ? beside->packed : NULL;
  const bool made = rhs && !beside->has_plain && !beside->has_packed;
  if (!other && !made) return TOOL_GO_ON;
  int exit_status = tool_find_sibling(output, input, &sibling);
  if (exit_status == TOOL_GO_ON && sibling)
    exit_status =
        tool_fail(TOOL_FAILED, "%s would %s %s, which is read as the right-hand side of %s too: choose another name",
                  output, other ? "replace or remove" : "come with", other ? other : beside->plain, sibling);
  else if (exit_status == TOOL_GO_ON && other && !force)
    exit_status = tool_fail(TOOL_FAILED,
                            "%s would be read as the right-hand side of %s, which has %s: choose another name than "
                            "%s, or --force, which %s it",
                            other, output, rhs ? "another one" : "none", output, rhs ? "replaces" : "removes");
  free(sibling);
  return exit_status;
}

/* Writes the right-hand side into a draft, so that a matrix gets its place only when both are whole. Where there can be
 * no draft, the right-hand side waits for the matrix. */
static int draft_rhs(karst_context *context, const karst_vector *rhs, int64_t length, struct beside *beside)
{
  if (!rhs) return TOOL_GO_ON;
  beside->draft = tool_draft(beside->plain);
  if (!beside->draft) return errno == 0 ? TOOL_GO_ON : tool_fail(TOOL_FAILED, "%s: %s", beside->plain, strerror(errno));
  tool_rename(beside->draft, beside->plain);
  beside->has_draft = true;
  return tool_write_vector(context, rhs, length, beside->draft);
}

static int settle_beside(karst_context *context, const karst_vector *rhs, int64_t length, struct beside *beside,
                         bool quiet)
{
  int exit_status = TOOL_GO_ON;
  if (rhs && beside->has_draft && tool_draft_place(beside->draft, beside->plain))
    beside->has_draft = false;
  else if (rhs)
    exit_status = tool_write_vector(context, rhs, length, beside->plain);
  else if (beside->has_plain)
    exit_status = remove_other(beside->plain, quiet);
  if (exit_status == TOOL_GO_ON && beside->packed_other) exit_status = remove_other(beside->packed, quiet);
  return exit_status;
}

/* What is asked of a conversion. */
struct settings {
  const char *input, *output;
  int block;
  const char *grid_text;
  struct tool_grid grid;
  bool negate, stored_triangle, insert_diagonal, force, quiet;
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
  struct beside beside = {0};
  int exit_status = load(context, settings, &matrix, &rhs);
  if (exit_status != TOOL_GO_ON) return exit_status;
  const int64_t length = rhs ? rhs_length(matrix, rhs) : 0;
  exit_status = tool_set_grid(context, &settings->grid, input, matrix);
  if (exit_status == TOOL_GO_ON) exit_status = find_beside(context, input, output, rhs, length, &beside);
  if (exit_status == TOOL_GO_ON) exit_status = check_beside(input, output, rhs, &beside, settings->force);
  if (exit_status == TOOL_GO_ON) exit_status = draft_rhs(context, rhs, length, &beside);
  if (exit_status == TOOL_GO_ON) {
    karst_status status = karst_matrix_write(matrix, output);
    exit_status =
        status ? tool_fail_library(context, status) : settle_beside(context, rhs, length, &beside, settings->quiet);
  }
  if (beside.has_draft) unlink(beside.draft);
  free(beside.plain);
  free(beside.packed);
  free(beside.draft);
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
      {{"force", "", "", "replace or remove another matrix's right-hand side that stands beside OUTPUT"},
       TOOL_SWITCH,
       {.flag = &settings.force}},
      {{"quiet", "", "", "print errors only"}, TOOL_SWITCH, {.flag = &settings.quiet}},
      {.info = {.name = NULL}},
  };
  const struct tool_command command = {
      .about = "Writes a matrix file or a matrix NAME:SIZES of the gallery as OUTPUT, which ends in .mtx, .mtx.gz or\n"
               ".kbsr, Karst's binary form; its right-hand side, if it has one, goes beside it as NAME_b.mtx.\n"
               "Where another one is there, nothing is written without --force.\n"
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
