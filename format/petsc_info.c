/* petsc_info.c - what a binary file of PETSc does not say about its matrix: the block size, and whether it is only the
 * upper triangle.
 *
 * Beside a binary file NAME or NAME.gz, PETSc's viewer writes NAME.info with options for the reader: a line
 * "-matload_block_size B" if the matrix has blocks, with the matrix's prefix in the name if it has one. */
#include "config.h"

#include "format/format.h"
#include "support/path.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Returns whether the line, which is not empty, sets the option; *value points to the rest of the line. */
static bool sets_block_size(const char *line, const char **value)
{
  static const char option[] = "matload_block_size";
  const size_t length = strcspn(line, " \t"), size = sizeof option - 1;
  *value = karst_skip_spaces(line + length);
  return line[0] == '-' && length > size && strncmp(line + length - size, option, size) == 0;
}

static karst_status read_info(karst_input *input, int *block_size)
{
  const char *value;
  char *line;
  int64_t size;
  karst_status status = karst_input_line(input, &line);
  for (; !status && line; status = karst_input_line(input, &line)) {
    char word[KARST_WORD_SIZE];
    if (!sets_block_size(line, &value)) continue;
    const char *end = karst_parse_integer(value, &size);
    if (!end || *karst_skip_spaces(end) != '\0' || size < 1 || size > KARST_BLOCK_SIZE_MAX)
      return karst_input_fail(input, "the block size '%s' is out of range (1 to %d)", karst_quote_word(value, word),
                              KARST_BLOCK_SIZE_MAX);
    *block_size = (int)size;
    return KARST_SUCCESS;
  }
  return status;
}

void karst_petsc_note_triangle(const karst_matrix *matrix, int block_size, const char *path)
{
  const karst_index size = block_size > 0 ? block_size : 1;
  bool above = false;
  for (karst_index i = 0; i < matrix->block_rows; i++)
    for (karst_index k = matrix->row_start[i]; k < matrix->row_start[i + 1]; k++) {
      if (matrix->column[k] / size < i / size) return;
      above = above || matrix->column[k] / size > i / size;
    }
  if (above)
    karst_notify(matrix->context, KARST_MESSAGE_NOTE,
                 "%s: the matrix is upper triangular in the file, and Karst reads it so. PETSc writes only the upper "
                 "triangle of a symmetric matrix (MATSBAIJ): to write all of it, convert it by MatConvert to MATAIJ",
                 path);
}

karst_status karst_petsc_block_size(karst_context *context, const char *path, int *block_size)
{
  char *name;
  karst_input *input;
  struct stat file;
  const size_t length = karst_unpacked_length(path), size = length + sizeof ".info";
  *block_size = 0;
  karst_status status = karst_allocate(context, &name, (int64_t)size, 1, "a path");
  if (status) return status;
  snprintf(name, size, "%.*s.info", (int)length, path);
  /* The file is empty if no object has an option. */
  const bool there = stat(name, &file) == 0 && S_ISREG(file.st_mode) && file.st_size > 0;
  if (there) status = karst_input_open(context, name, NULL, &input);
  if (there && !status) {
    status = read_info(input, block_size);
    karst_input_close(input);
  }
  karst_release(context, name);
  return status;
}
