/* convert.c - the command convert: writes a matrix file, or a matrix of the gallery, in another format, and its
 * right-hand side beside it. Another right-hand side there, which would be read with the new matrix, is replaced or
 * removed only with --force; else nothing is written. Other matrix files of the same NAME keep theirs in any case. */
#include "tools/src/common/beside.h"
#include "tools/src/common/grid_option.h"
#include "tools/src/common/input.h"
#include "tools/src/common/load.h"
#include "tools/src/common/output.h"
#include "tools/src/common/shared_rows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The length of a right-hand side without the rows that pad the last block, which are not written. */
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
  struct karst_place draft;       /* to take the place of the plain one; its file is -1 where there is no draft */
  char draft_name[PATH_MAX];
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
  if (in_place && rhs && *karst_vector_source(rhs) && karst_place_same(path, karst_vector_source(rhs))) return false;
  return !holds(context, rhs, length, path);
}

static int find_beside(karst_context *context, const char *input, const char *output, const karst_vector *rhs,
                       int64_t length, struct beside *beside)
{
  const bool in_place = karst_place_same(input, output);
  beside->plain = tool_path_beside(output, TOOL_BESIDE_PLAIN);
  if (beside->plain) beside->packed = tool_path_beside(output, TOOL_BESIDE_PACKED);
  if (!beside->packed) return TOOL_FAILED;
  beside->has_plain = is_file(beside->plain);
  beside->has_packed = is_file(beside->packed);
  beside->plain_other = beside->has_plain && is_other(context, rhs, length, beside->plain, in_place);
  beside->packed_other = beside->has_packed && is_other(context, rhs, length, beside->packed, in_place);
  return TOOL_GO_ON;
}

/* Refuses to change the right-hand side of another file of the same NAME, except INPUT, and without force to replace or
 * remove an existing right-hand side. */
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
        tool_fail(TOOL_FAILED, "%s would %s %s, which is also read as the right-hand side of %s: choose another name",
                  output, other ? "replace or remove" : "come with", other ? other : beside->plain, sibling);
  else if (exit_status == TOOL_GO_ON && other && !force)
    exit_status = tool_fail(TOOL_FAILED,
                            "%s would be read as the right-hand side of %s, which has %s: choose another name than "
                            "%s, or --force, which %s it",
                            other, output, rhs ? "another one" : "none", output, rhs ? "replaces" : "removes");
  free(sibling);
  return exit_status;
}

/* Writes the right-hand side into a draft, so that the matrix is put in place only when both are complete. Without a
 * draft the right-hand side is written after the matrix. */
static int draft_rhs(karst_context *context, const karst_vector *rhs, int64_t length, struct beside *beside)
{
  if (!rhs) return TOOL_GO_ON;
  if (!karst_place_draft(&beside->draft, beside->plain))
    return errno == 0 ? TOOL_GO_ON : tool_fail(TOOL_FAILED, "%s: %s", beside->plain, strerror(errno));
  karst_place_name_draft(&beside->draft, beside->draft_name);
  tool_rename(beside->draft_name, beside->plain);
  return tool_write_vector(context, rhs, length, beside->draft_name);
}

static int settle_beside(karst_context *context, const karst_vector *rhs, int64_t length, struct beside *beside,
                         bool quiet)
{
  int exit_status = TOOL_GO_ON;
  const bool placed = beside->draft.file >= 0 && !karst_place_close(&beside->draft, true);
  if (rhs && !placed)
    exit_status = tool_write_vector(context, rhs, length, beside->plain);
  else if (!rhs && beside->has_plain)
    exit_status = remove_other(beside->plain, quiet);
  if (exit_status == TOOL_GO_ON && beside->packed_other) exit_status = remove_other(beside->packed, quiet);
  return exit_status;
}

/* The settings of a conversion. */
struct settings {
  const char *input, *output;
  int block;
  const char *duplicates; /* sum or refuse, or NULL */
  const char *grid_text, *actnum;
  struct tool_grid grid;
  bool negate, stored_triangle, insert_diagonal, force, quiet;
};

/* Notes what is done to the matrix. inserted: the number of diagonal blocks. */
static void note_changes(const struct settings *settings, const karst_vector *rhs, karst_index inserted)
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
  const struct tool_request request = {settings->input, settings->block, settings->stored_triangle, settings->negate,
                                       settings->insert_diagonal};
  karst_index inserted = 0;
  const int exit_status = tool_load(context, &request, matrix, rhs, &inserted);
  if (exit_status == TOOL_GO_ON) note_changes(settings, *rhs, inserted);
  return exit_status;
}

/* Notes that the right-hand side is left out if the matrix goes to a device or a descriptor. */
static int leave_out(const struct settings *settings)
{
  char text[600];
  snprintf(text, sizeof text, "the right-hand side is left out: no file can be written beside %s", settings->output);
  if (!settings->quiet) tool_message(NULL, KARST_MESSAGE_NOTE, text);
  return TOOL_GO_ON;
}

static int write_matrix(karst_context *context, const karst_matrix *matrix, const char *output)
{
  fflush(stdout); /* as tool_write_vector does */
  const karst_status status = karst_matrix_write(matrix, output);
  return status ? tool_fail_library(context, status) : TOOL_GO_ON;
}

/* A file with several names (hard links) is written in place. If one of them is the input, a failure would destroy
 * it. */
static int check_names(const char *input, const char *output)
{
  struct stat file;
  if (!karst_place_same(input, output) || stat(output, &file) != 0 || file.st_nlink < 2) return TOOL_GO_ON;
  return tool_fail(TOOL_FAILED,
                   "%s is another name (a hard link) of the input, which would be overwritten: choose another name",
                   output);
}

/* Writes the matrix, and its right-hand side beside it. length: of the right-hand side. */
static int write_both(karst_context *context, const struct settings *settings, const karst_matrix *matrix,
                      const karst_vector *rhs, int64_t length)
{
  const char *input = settings->input, *output = settings->output;
  struct beside beside = {.draft.file = -1};
  int exit_status = check_names(input, output);
  if (exit_status == TOOL_GO_ON) exit_status = find_beside(context, input, output, rhs, length, &beside);
  if (exit_status == TOOL_GO_ON) exit_status = check_beside(input, output, rhs, &beside, settings->force);
  if (exit_status == TOOL_GO_ON) exit_status = draft_rhs(context, rhs, length, &beside);
  if (exit_status == TOOL_GO_ON) exit_status = write_matrix(context, matrix, output);
  if (exit_status == TOOL_GO_ON) exit_status = settle_beside(context, rhs, length, &beside, settings->quiet);
  karst_place_close(&beside.draft, false);
  tool_forget(beside.draft_name);
  free(beside.plain);
  free(beside.packed);
  return exit_status;
}

static int convert(karst_context *context, const struct settings *settings)
{
  karst_matrix *matrix;
  karst_vector *rhs;
  int exit_status = load(context, settings, &matrix, &rhs);
  if (exit_status != TOOL_GO_ON) return exit_status;
  exit_status = settings->actnum && karst_place_same(settings->actnum, settings->output)
                    ? tool_fail(TOOL_FAILED, "%s is the file of --actnum, which would be overwritten", settings->output)
                    : tool_set_grid(context, &settings->grid, settings->input, matrix);
  const bool alone = karst_place_is_alone(settings->output);
  if (exit_status == TOOL_GO_ON && alone && rhs) exit_status = leave_out(settings);
  if (exit_status == TOOL_GO_ON)
    exit_status = alone ? write_matrix(context, matrix, settings->output)
                        : write_both(context, settings, matrix, rhs, rhs ? rhs_length(matrix, rhs) : 0);
  karst_vector_destroy(rhs);
  karst_matrix_destroy(matrix);
  return exit_status == TOOL_GO_ON ? TOOL_YES : exit_status;
}

#define PLACE(member) offsetof(struct settings, member)

static const struct tool_option options[] = {
    {"block", "B", "what the file's header says, else 1", "block size", TOOL_BLOCK_DETAILS, TOOL_COUNT, PLACE(block)},
    {TOOL_GRID_ROW, TOOL_TEXT, PLACE(grid_text)},
    {TOOL_ACTNUM_ROW, TOOL_TEXT, PLACE(actnum)},
    {TOOL_NEGATE_ROW, TOOL_SWITCH, PLACE(negate)},
    {TOOL_STORED_TRIANGLE_ROW, TOOL_SWITCH, PLACE(stored_triangle)},
    {TOOL_DUPLICATES_ROW, TOOL_TEXT, PLACE(duplicates)},
    {TOOL_INSERT_DIAGONAL_ROW, TOOL_SWITCH, PLACE(insert_diagonal)},
    {"force", "", "", "replace or remove another matrix's right-hand side that stands beside OUTPUT",
     "It is removed, with a note, where the new matrix has no right-hand side.", TOOL_SWITCH, PLACE(force)},
    {"quiet", "", "", "print errors only", NULL, TOOL_SWITCH, PLACE(quiet)},
    {.name = NULL},
};

int main(int argc, char *argv[])
{
  karst_context *context;
  const char *path[2] = {NULL, NULL};
  struct settings settings = {0};
  const struct tool_command command = {
      .about = "Writes a matrix file or a matrix NAME:SIZES of the gallery as OUTPUT, which ends in .mtx, .mtx.gz,\n"
               ".kbsr, Karst's binary form, or .kbsr.gz; its right-hand side, if it has one, goes beside it as\n"
               "NAME_b.mtx. If a right-hand side of another matrix is there, convert writes nothing without --force.\n"
               "MATRIX may be a pipe; - is standard input. OUTPUT may be a pipe or /dev/fd/N, which takes the matrix\n"
               "alone, as .mtx unless its name ends otherwise; - is standard output.",
      .operand_names = "MATRIX OUTPUT",
      .operand_count = 2,
      .operand = path,
      .options = options,
      .settings = &settings,
      .gallery = true,
      .exit_statuses = "exit status: 0 written, 2 bad input or usage",
  };
  tool_start(argv[0]);
  karst_status created = karst_context_create(NULL, &context);
  if (created) return tool_fail(TOOL_FAILED, "%s", karst_status_text(created));
  int status = tool_parse(context, &command, argc, argv);
  if (!settings.quiet) karst_context_set_message(context, tool_message, NULL);
  if (status == TOOL_GO_ON) status = tool_set_duplicates(context, settings.duplicates);
  if (status == TOOL_GO_ON) status = tool_parse_grid(settings.grid_text, settings.actnum, &settings.grid);
  if (status == TOOL_GO_ON) status = tool_input(path[0], &path[0]);
  settings.input = path[0];
  settings.output = path[1] && strcmp(path[1], "-") == 0 ? "/dev/stdout" : path[1];
  if (status == TOOL_GO_ON) status = convert(context, &settings);
  karst_context_destroy(context);
  return tool_finish(status);
}
