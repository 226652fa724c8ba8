/* Matrices are checked, converted between block sizes, updated and multiplied, and agree with their dense form. */
#include "lib/matrix/matrix.h"
#include "tests/support/problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The block size must not change the dense matrix, except for the padding. */
static void check_conversion(karst_context *context, karst_index n, int from, int to)
{
  karst_matrix *A = tap_random_matrix(context, n, from, 3, 1), *B, *back;
  tap_need(context, karst_matrix_convert(A, to, &B), "convert");
  int64_t rows = karst_matrix_rows(A), padded = karst_matrix_rows(B);
  double *a = tap_dense(A), *b = tap_dense(B);
  bool same = karst_matrix_rows_unpadded(B) == rows && padded % to == 0 && padded - rows < to;
  for (int64_t j = 0; j < padded; j++)
    for (int64_t i = 0; i < padded; i++) {
      double expected = i < rows && j < rows ? a[j * rows + i] : i == j ? 1 : 0;
      same = same && b[j * padded + i] == expected;
    }
  tap_ok(same, "%lld rows from blocks of %d to blocks of %d", (long long)rows, from, to);
  tap_ok(karst_matrix_check(context, karst_matrix_block_rows(B), karst_matrix_row_start(B), karst_matrix_column(B)) ==
             KARST_SUCCESS,
         "and the pattern is valid");
  tap_need(context, karst_matrix_convert(B, 1, &back), "convert back");
  double *c = tap_dense(back);
  tap_ok(karst_matrix_rows(back) == rows && memcmp(a, c, (size_t)(rows * rows) * sizeof *a) == 0,
         "and back to scalars without padding");
  free(a);
  free(b);
  free(c);
  karst_matrix_destroy(A);
  karst_matrix_destroy(B);
  karst_matrix_destroy(back);
}

static void conversions(karst_context *context)
{
  const int sizes[][2] = {{1, 1}, {1, 2}, {1, 3}, {1, 7}, {2, 1}, {3, 3}, {2, 3}, {4, 2}, {3, 17}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) check_conversion(context, 25, sizes[i][0], sizes[i][1]);
  check_conversion(context, 1, 1, 5);
}

/* Padding behind an isolated last row without an entry needs a diagonal block. */
static void padding_without_diagonal(karst_context *context)
{
  const karst_index start[] = {0, 1, 2, 3}, column[] = {0, 0, 0};
  const double value[] = {1, 2, 3};
  karst_matrix *A, *B;
  tap_need(context, karst_matrix_create(context, 3, 1, start, column, value, KARST_REFERENCE, &A), "create");
  tap_need(context, karst_matrix_convert(A, 2, &B), "convert");
  double *dense = tap_dense(B);
  tap_ok(karst_matrix_blocks(B) == 3 && dense[3 * 4 + 3] == 1 && dense[2 * 4 + 2] == 0 && dense[2] == 3,
         "a padded row gets its diagonal block");
  free(dense);
  karst_matrix_destroy(A);
  karst_matrix_destroy(B);
}

/* Checks the products of the matrix and destroys it. */
static void check_products(karst_context *context, karst_matrix *A)
{
  int b = karst_matrix_block_size(A);
  int64_t rows = karst_matrix_rows(A);
  double norm, expected_norm = 0, worst = 0;
  karst_vector *x = vector_random(context, rows, tap_seed()), *y = vector_of(context, rows, NAN);
  karst_vector *right = vector_random(context, rows, tap_seed() + 1), *r = vector_of(context, rows, 0);
  tap_need(context, karst_matrix_multiply(A, x, y), "multiply");
  tap_need(context, karst_matrix_residual(A, right, x, r, &norm), "residual");
  double *host = calloc((size_t)(4 * rows), sizeof *host), *hx = host, *hy = host + rows, *hb = hy + rows;
  double *hr = hb + rows, *dense = tap_dense(A);
  karst_vector_get(x, rows, hx);
  karst_vector_get(y, rows, hy);
  karst_vector_get(right, rows, hb);
  karst_vector_get(r, rows, hr);
  for (int64_t i = 0; i < rows; i++) {
    double sum = 0;
    for (int64_t j = 0; j < rows; j++) sum += dense[j * rows + i] * hx[j];
    worst = fmax(worst, fmax(fabs(sum - hy[i]), fabs(hb[i] - sum - hr[i])));
    expected_norm += hr[i] * hr[i];
  }
  tap_ok(worst < 1e-14 * b * 8, "b = %d: product and residual (%.1e)", b, worst);
  tap_ok(fabs(norm - sqrt(expected_norm)) < 1e-13 * (1 + norm), "and its norm");
  free(host);
  free(dense);
  karst_vector_destroy(x);
  karst_vector_destroy(y);
  karst_vector_destroy(right);
  karst_vector_destroy(r);
  karst_matrix_destroy(A);
}

/* Makes a matrix that is difficult for kernels that take several rows at a time: rows 7 and 0 of every 8 are empty, and
 * rows 9 to 13 are full. */
static karst_matrix *awkward_matrix(karst_context *context, int b)
{
  enum { ROWS = 83 };
  static karst_index start[ROWS + 1], column[ROWS * ROWS];
  karst_index end = 0;
  for (karst_index i = 0; i < ROWS; i++) {
    bool full = i >= 9 && i <= 13, empty = i % 8 == 7 || i % 8 == 0;
    karst_index length = full ? ROWS : empty ? 0 : 1 + i % 6;
    for (karst_index j = 0; j < length; j++) column[end++] = full ? j : 10 * j + i % 10;
    start[i + 1] = end;
  }
  size_t entries = (size_t)end * (size_t)b * (size_t)b;
  double *value = calloc(entries, sizeof *value);
  for (size_t v = 0; v < entries; v++) value[v] = tap_random();
  karst_matrix *A = matrix_of(context, ROWS, b, start, column, value);
  free(value);
  return A;
}

static void products(karst_context *context)
{
  const int sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17, 32};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    check_products(context, tap_random_matrix(context, (karst_index)(1 + tap_random_index(30)), sizes[i], 4, 0));
  for (int b = 1; b <= 9; b++) check_products(context, awkward_matrix(context, b));
  check_products(context, tap_random_matrix(context, 1, 3, 4, 0));
}

static void refuse(karst_context *context, karst_index rows, const karst_index *start, const karst_index *column,
                   const char *sentence)
{
  const double value[16] = {0};
  karst_matrix *A;
  karst_status status = karst_matrix_create(context, rows, 1, start, column, value, KARST_COPY, &A);
  bool said = strcmp(karst_context_error(context), sentence) == 0;
  tap_ok(status == KARST_ERROR_MATRIX && !A && said, "%s", sentence);
  if (!said) tap_note("said: %s", karst_context_error(context));
}

static void errors(karst_context *context)
{
  const karst_index start[] = {0, 2, 4, 5}, column[] = {0, 1, 0, 1, 2};
  const double value[20] = {1, 1, 1, 1, 1};
  karst_matrix *A, *B;
  refuse(context, 3, (karst_index[]){1, 2, 4, 5}, column, "the row starts begin with 1, not 0");
  refuse(context, 3, (karst_index[]){0, 2, 1, 5}, column, "block row 1 ends at 1, before its start 2");
  refuse(context, 3, start, (karst_index[]){1, 0, 0, 1, 2}, "block row 0 is not sorted: column 0 follows 1");
  refuse(context, 3, start, (karst_index[]){0, 1, 1, 1, 2}, "block row 1 has two entries in column 1");
  refuse(context, 3, start, (karst_index[]){0, 1, 0, 1, 3}, "block row 2 has an entry in column 3 of 3");
  refuse(context, 3, start, (karst_index[]){-1, 1, 0, 1, 2}, "block row 0 has an entry in column -1 of 3");
  tap_ok(karst_matrix_create(context, -1, 1, start, column, value, KARST_COPY, &A) == KARST_ERROR_ARGUMENT, "rows -1");
  tap_ok(karst_matrix_create(context, 3, 0, start, column, value, KARST_COPY, &A) == KARST_ERROR_ARGUMENT, "block 0");
  tap_ok(karst_matrix_create(context, 3, 2000, start, column, value, KARST_COPY, &A) == KARST_ERROR_ARGUMENT,
         "block 2000");
  tap_ok(karst_matrix_create(context, 3, 1, NULL, column, value, KARST_COPY, &A) == KARST_ERROR_ARGUMENT, "no starts");
  tap_ok(karst_matrix_create(context, 3, 1, start, NULL, value, KARST_COPY, &A) == KARST_ERROR_ARGUMENT, "no columns");
  tap_ok(karst_matrix_create(context, 3, 1, start, column, NULL, KARST_COPY, &A) == KARST_ERROR_ARGUMENT, "no values");
  A = matrix_of(context, 3, 1, start, column, value);
  tap_ok(karst_matrix_convert(A, 0, &B) == KARST_ERROR_ARGUMENT && !B, "no conversion to block size 0");
  tap_ok(karst_matrix_update_values(A, NULL) == KARST_ERROR_ARGUMENT, "no update from NULL");
  karst_vector *short_vector = vector_of(context, 2, 0), *x = vector_of(context, 3, 0);
  tap_ok(karst_matrix_multiply(A, short_vector, x) == KARST_ERROR_ARGUMENT, "a vector of the wrong length");
  tap_ok(karst_matrix_multiply(A, x, x) == KARST_ERROR_ARGUMENT, "x and y must differ");
  karst_vector_destroy(short_vector);
  karst_vector_destroy(x);
  karst_matrix_destroy(A);
  const karst_index hollow[] = {0, 1, 1, 2};
  A = matrix_of(context, 3, 1, hollow, column + 3, value);
  tap_ok(karst_matrix_check_diagonal(A) == KARST_ERROR_MATRIX &&
             strcmp(karst_context_error(context), "block row 0 has no diagonal entry") == 0,
         "the missing diagonal is named");
  karst_matrix_destroy(A);
  tap_need(context, karst_matrix_create(context, 0, 3, hollow, NULL, NULL, KARST_COPY, &A), "empty matrix");
  tap_ok(karst_matrix_rows(A) == 0 && karst_matrix_check_diagonal(A) == KARST_SUCCESS, "a matrix without rows");
  karst_matrix_destroy(A);
  karst_matrix_destroy(NULL);
}

static void updates(karst_context *context)
{
  const karst_index start[] = {0, 1, 2}, column[] = {0, 1};
  double value[] = {2, 3}, changed[] = {5, 7}, y[2];
  karst_matrix *A = matrix_of(context, 2, 1, start, column, value);
  karst_vector *x = vector_of(context, 2, 1), *product = vector_of(context, 2, 0);
  value[0] = 100;
  tap_need(context, karst_matrix_multiply(A, x, product), "multiply");
  karst_vector_get(product, 2, y);
  tap_ok(y[0] == 2 && y[1] == 3, "a copy does not change with its source");
  tap_need(context, karst_matrix_update_values(A, changed), "update");
  tap_need(context, karst_matrix_multiply(A, x, product), "multiply");
  karst_vector_get(product, 2, y);
  tap_ok(y[0] == 5 && y[1] == 7, "reported new values are used");
  karst_vector_destroy(x);
  karst_vector_destroy(product);
  karst_matrix_destroy(A);
}

int main(void)
{
  tap_each_device(conversions, "conversions");
  tap_each_device(padding_without_diagonal, "padding");
  tap_each_device(products, "products");
  tap_each_device(errors, "errors");
  tap_each_device(updates, "updates");
  return tap_done();
}
