/* karst_matrix_insert_diagonal and the option --insert-diagonal: each block row has its diagonal block afterwards, with
 * zeros where it was missing, and the dense matrix is the same. */
#include "config.h"

#include "tests/support/cli.h"
#include "tests/support/failing_allocator.h"
#include "tests/support/grids.h"
#include "lib/matrix/matrix.h"
#include "tests/support/problem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Makes a random matrix without the diagonal blocks of every third block row from first on; *removed: their number. */
static karst_matrix *without_diagonals(karst_context *context, karst_index n, int b, karst_index first,
                                       karst_index *removed)
{
  karst_matrix *A = tap_random_matrix(context, n, b, 3, 1);
  const karst_index *start = karst_matrix_row_start(A), *column = karst_matrix_column(A);
  const size_t bb = (size_t)b * (size_t)b, blocks = (size_t)karst_matrix_blocks(A);
  karst_index *new_start = calloc((size_t)n + 1, sizeof *new_start), *new_column = calloc(blocks, sizeof *new_column);
  double *value, *new_value = calloc(blocks * bb, sizeof *new_value);
  karst_index end = 0;
  tap_need(context, new_start && new_column && new_value ? KARST_SUCCESS : KARST_ERROR_NO_MEMORY, "arrays");
  tap_need(context, karst_matrix_host_value(A, &value), "values");
  *removed = 0;
  for (karst_index i = 0; i < n; i++) {
    for (karst_index k = start[i]; k < start[i + 1]; k++) {
      const bool goes = column[k] == i && i >= first && (i - first) % 3 == 0;
      *removed += goes;
      if (goes) continue;
      memcpy(new_value + (size_t)end * bb, value + (size_t)k * bb, bb * sizeof *value);
      new_column[end++] = column[k];
    }
    new_start[i + 1] = end;
  }
  karst_matrix_host_value_done(A, value);
  karst_matrix *result = matrix_of(context, n, b, new_start, new_column, new_value);
  free(new_start);
  free(new_column);
  free(new_value);
  karst_matrix_destroy(A);
  return result;
}

static void inserts(karst_context *context)
{
  for (int b = 1; b <= 4; b++)
    for (karst_index first = 0; first < 3; first++) {
      karst_index removed, inserted = -1;
      karst_matrix *A = without_diagonals(context, 24, b, first, &removed), *B;
      tap_ok(karst_matrix_check_diagonal(A) == KARST_ERROR_MATRIX, "b = %d: block rows lack their diagonal", b);
      tap_need(context, karst_matrix_insert_diagonal(A, &B, &inserted), "insert");
      tap_ok(inserted == removed && karst_matrix_blocks(B) == karst_matrix_blocks(A) + inserted,
             "%d blocks are inserted, and counted", (int)removed);
      tap_ok(karst_matrix_check_diagonal(B) == KARST_SUCCESS &&
                 karst_matrix_check(context, 24, karst_matrix_row_start(B), karst_matrix_column(B)) == KARST_SUCCESS &&
                 same_dense(A, B),
             "each block row has its diagonal block, and the numbers are the same");
      tap_ok(karst_matrix_entries(B) == karst_matrix_entries(A), "inserted blocks do not count as entries");
      karst_matrix_destroy(A);
      tap_need(context, karst_matrix_insert_diagonal(B, &A, &inserted), "insert");
      tap_ok(inserted == 0 && karst_matrix_blocks(A) == karst_matrix_blocks(B) && same_dense(A, B),
             "a matrix with all of its diagonal blocks is copied");
      karst_matrix_destroy(A);
      karst_matrix_destroy(B);
    }
}

/* Rows with no block at all, and a matrix with no row. */
static void empty_rows(karst_context *context)
{
  const karst_index start[] = {0, 0, 1, 1, 2}, column[] = {3, 0};
  const double value[] = {5, 7};
  karst_matrix *A, *B;
  tap_need(context, karst_matrix_create(context, 4, 1, start, column, value, KARST_REFERENCE, &A), "matrix");
  tap_need(context, karst_matrix_insert_diagonal(A, &B, NULL), "insert");
  tap_ok(karst_matrix_blocks(B) == 6 && karst_matrix_check_diagonal(B) == KARST_SUCCESS && same_dense(A, B),
         "rows without any block, and no count");
  karst_matrix_destroy(B);
  karst_matrix_destroy(A);
  tap_need(context, karst_matrix_create_pattern(context, 0, 3, start, NULL, KARST_COPY, &A), "no rows");
  tap_need(context, karst_matrix_insert_diagonal(A, &B, NULL), "insert");
  tap_ok(karst_matrix_rows(B) == 0 && karst_matrix_block_size(B) == 3, "a matrix without rows");
  karst_matrix_destroy(B);
  karst_matrix_destroy(A);
}

static void keeps(karst_context *context)
{
  karst_matrix *padded, *B;
  karst_matrix *A = matrix_from(context, "poisson3d:4x3x5", 0);
  tap_need(context, karst_matrix_insert_diagonal(A, &B, NULL), "insert");
  tap_ok(has_grid(B, 4, 3, 5, NULL), "the grid is kept");
  karst_matrix_destroy(B);
  tap_need(context, karst_matrix_convert(A, 7, &padded), "convert");
  tap_need(context, karst_matrix_insert_diagonal(padded, &B, NULL), "insert");
  tap_ok(karst_matrix_rows(B) == 63 && karst_matrix_rows_unpadded(B) == 60 &&
             karst_matrix_entries(B) == karst_matrix_entries(A),
         "and so are the padding and the number of entries");
  karst_matrix_destroy(A);
  karst_matrix_destroy(padded);
  karst_matrix_destroy(B);
}

static void errors(karst_context *context)
{
  karst_index removed, inserted = 7;
  karst_matrix *A = without_diagonals(context, 5, 2, 1, &removed), *B = A;
  tap_ok(karst_matrix_insert_diagonal(NULL, &B, &inserted) == KARST_ERROR_ARGUMENT && !B && inserted == 0, "no matrix");
  tap_ok(karst_matrix_insert_diagonal(A, NULL, &inserted) == KARST_ERROR_ARGUMENT, "a NULL matrix");
  karst_matrix_destroy(A);
}

static karst_status insert_once(karst_context *context, void *user)
{
  const karst_index start[] = {0, 1, 2, 3}, column[] = {1, 1, 0};
  const double value[] = {1, 2, 3};
  karst_matrix *A = NULL, *B = NULL;
  (void)user;
  karst_status status = karst_matrix_create(context, 3, 1, start, column, value, KARST_COPY, &A);
  if (!status) status = karst_matrix_insert_diagonal(A, &B, NULL);
  karst_matrix_destroy(A);
  karst_matrix_destroy(B);
  return status;
}

/* A matrix whose second row has no diagonal entry: ILU(1) makes one. */
static const char *write_matrix(void)
{
  static char path[512];
  snprintf(path, sizeof path, "%s",
           tap_write("missing.mtx",
                     "%%MatrixMarket matrix coordinate real general\n3 3 6\n1 1 4\n1 2 1\n2 1 1\n2 3 1\n3 2 1\n3 3 4\n",
                     -1));
  return path;
}

static void commands(void)
{
  const char *matrix = write_matrix();
  char copy[512];
  snprintf(copy, sizeof copy, "%s", tap_scratch("copy.mtx"));
  const struct cli_run *run = CLI_RUN("solve", matrix);
  tap_ok(run->status == 2 && cli_is_one_sentence(run, "solve") && strstr(run->err, "--insert-diagonal"),
         "solve refuses a matrix without a diagonal block, and names the option: %s", run->err);
  run = CLI_RUN("solve", matrix, "--insert-diagonal", "--level", "1");
  tap_ok(run->status == 0 && strstr(run->out, "1 diagonal block of zeros inserted"),
         "solve with the option solves it, and reports the block");
  run = CLI_RUN("solve", "poisson2d:3x3", "--insert-diagonal");
  tap_ok(run->status == 0 && !strstr(run->out, "inserted"), "a report without an inserted block does not mention one");
#ifdef HAVE_JANSSON
  run = CLI_RUN("solve", matrix, "--insert-diagonal", "--level", "1", "--json");
  tap_ok(strstr(run->out, "\"inserted_diagonal\": 1") != NULL, "JSON has their number");
  run = CLI_RUN("solve", "poisson2d:3x3", "--json");
  tap_ok(strstr(run->out, "\"inserted_diagonal\": 0") != NULL, "or 0");
#endif
  run = CLI_RUN("convert", matrix, copy, "--insert-diagonal");
  tap_ok(run->status == 0 && strstr(run->err, "note: 1 diagonal block of zeros is inserted"), "convert inserts too: %s",
         run->err);
  run = CLI_RUN("solve", copy, "--level", "1");
  tap_ok(run->status == 0, "and writes a matrix that can be solved");
  run = CLI_RUN("convert", matrix, copy, "--insert-diagonal", "--quiet");
  tap_ok(run->status == 0 && !*run->err, "without a note where --quiet is given");
}

int main(void)
{
  tap_each_device(inserts, "inserted blocks");
  tap_each_device(empty_rows, "empty rows");
  tap_each_device(keeps, "what is kept");
  tap_each_device(errors, "errors");
  fail_each_allocation(insert_once, NULL, "insertion");
  commands();
  return tap_done();
}
