/* Every real matrix of ../shared/matrices is read with the rows and entries that INDEX.tsv lists, and with its
 * right-hand side if it has one. A pattern without values is refused. */
#include "config.h"

#include "tests/support/tap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The columns of INDEX.tsv that this test uses. */
typedef struct entry {
  char *name, *symmetry, *file;
  int64_t rows, entries;
  bool rhs;
} entry;

/* Splits a line into fields; returns whether it describes a matrix. */
static bool parse_line(char *line, entry *e)
{
  enum { NAME, ROWS, ENTRIES, SYMMETRY, RHS = 6, FILE_NAME = 12, COLUMNS };
  char *column[COLUMNS];
  line[strcspn(line, "\r\n")] = '\0';
  for (int i = 0; i < COLUMNS; i++) {
    column[i] = line;
    if (!line) return false;
    line = strchr(line, '\t');
    if (line) *line++ = '\0';
  }
  *e = (entry){column[NAME],
               column[SYMMETRY],
               column[FILE_NAME],
               strtoll(column[ROWS], NULL, 10),
               strtoll(column[ENTRIES], NULL, 10),
               strcmp(column[RHS], "yes") == 0};
  return e->rows > 0;
}

/* Returns whether A equals its transpose, entry by entry, to the digits in the files. */
static bool is_symmetric(const karst_matrix *matrix)
{
  karst_index n = karst_matrix_block_rows(matrix);
  const karst_index *row_start = karst_matrix_row_start(matrix), *column = karst_matrix_column(matrix);
  const double *value = karst_matrix_value(matrix);
  karst_index *next = calloc((size_t)n, sizeof *next); /* entries of each row that have a mirror image */
  bool symmetric = next != NULL;
  for (karst_index i = 0; i < n && symmetric; i++)
    for (karst_index k = row_start[i]; k < row_start[i + 1] && symmetric; k++) {
      karst_index j = column[k], mirror = row_start[j] + next[j]++;
      symmetric =
          mirror < row_start[j + 1] && column[mirror] == i && fabs(value[mirror] - value[k]) <= 1e-12 * fabs(value[k]);
    }
  free(next);
  return symmetric;
}

static void test_rhs(karst_context *context, const char *path, const entry *e)
{
  karst_vector *rhs;
  tap_need(context, karst_vector_read_beside(context, path, &rhs), path);
  tap_ok(e->rhs ? karst_vector_length(rhs) == e->rows : !rhs, "%s: %s", e->name,
         e->rhs ? "its right-hand side fits" : "it has no right-hand side");
  karst_vector_destroy(rhs);
}

static void test_entry(karst_context *context, const entry *e)
{
  char path[1024];
  karst_matrix *matrix;
  const char *found = tap_matrix_path(e->file);
  if (!found) {
    tap_skip("the file is absent", "%s", e->name);
    return;
  }
  snprintf(path, sizeof path, "%s", found);
  karst_status status = karst_matrix_read(context, path, 1, &matrix);
  if (status == KARST_ERROR_NOT_BUILT) {
    tap_skip(karst_context_error(context), "%s", e->name);
    return;
  }
  if (strcmp(e->name, "rajat01") == 0) {
    tap_ok(status == KARST_ERROR_FORMAT && !matrix && strstr(karst_context_error(context), "pattern without values"),
           "%s: refused because it has no values", e->name);
    return;
  }
  tap_need(context, status, e->name);
  tap_ok(karst_matrix_rows(matrix) == e->rows && karst_matrix_blocks(matrix) == e->entries,
         "%s: %lld rows, %lld entries", e->name, (long long)e->rows, (long long)e->entries);
  if (strcmp(e->symmetry, "sym") == 0) tap_ok(is_symmetric(matrix), "%s: symmetric", e->name);
  karst_matrix_destroy(matrix);
  test_rhs(context, path, e);
}

/* The header of matr33 gives blocks of 3, and its right-hand side has another name. */
static void test_blocks(karst_context *context)
{
  karst_matrix *matrix;
  karst_vector *rhs;
  const char *path = tap_matrix_path("matr33.txt");
  if (!path) {
    tap_skip("the file is absent", "matr33: blocks of 3");
    return;
  }
  tap_need(context, karst_matrix_read(context, path, 0, &matrix), "matr33");
  double *dense = tap_dense(matrix);
  tap_ok(karst_matrix_block_size(matrix) == 3 && karst_matrix_block_rows(matrix) == 3 &&
             karst_matrix_blocks(matrix) == 7 && dense[0] == 1.63148e-07 && dense[9] == 0.126774 &&
             dense[80] == 13.3423,
         "matr33: blocks of 3 from its header");
  free(dense);
  karst_matrix_destroy(matrix);
  path = tap_matrix_path("rhs3.txt");
  tap_need(context, karst_vector_read(context, path ? path : "rhs3.txt", &rhs), "rhs3");
  tap_ok(karst_vector_length(rhs) == 9 && karst_vector_values(rhs)[8] == -9.97615e-05, "rhs3: 9 numbers");
  karst_vector_destroy(rhs);
}

int main(void)
{
  char line[2048];
  entry e;
  const char *index = tap_matrix_path("INDEX.tsv");
  FILE *stream = index ? fopen(index, "r") : NULL;
  if (!stream) {
    tap_skip_all("the real matrices are absent; KARST_MATRICES names their folder");
    return 0;
  }
  karst_context *context = tap_context();
  while (fgets(line, sizeof line, stream))
    if (parse_line(line, &e)) test_entry(context, &e);
  fclose(stream);
  test_blocks(context);
  karst_context_destroy(context);
  return tap_done();
}
