/* A matrix can be made from its pattern alone. The backend chooses the memory of its values, where the caller writes
 * them. A matrix with room for the fill of incomplete factors has their pattern and the values of its source. */
#include "tests/support/failing_allocator.h"
#include "tests/support/grids.h"
#include "lib/matrix/matrix.h"
#include "tests/support/memory_apart.h"
#include "tests/support/problem.h"
#include "symbolic/symbolic.h"

#include <math.h>
#include <string.h>

/* Writes the values of another matrix into the memory of a matrix. */
static void write_values(karst_matrix *A, const double *host)
{
  karst_context *context = A->context;
  karst_vector *values;
  tap_need(context, karst_vector_wrap(context, karst_entries(A), karst_matrix_values(A), &values), "values");
  tap_need(context, karst_vector_set(values, karst_entries(A), host), "set");
  karst_vector_destroy(values);
}

static bool is_zero(const karst_matrix *A)
{
  const int64_t rows = karst_matrix_rows(A);
  double *dense = tap_dense(A);
  bool zero = true;
  for (int64_t i = 0; i < rows * rows; i++) zero = zero && dense[i] == 0;
  free(dense);
  return zero;
}

static void from_the_pattern_alone(karst_context *context)
{
  for (int b = 1; b <= 4; b++) {
    karst_matrix *A = tap_random_matrix(context, 21, b, 3, 1), *B;
    const karst_ownership ownership = b % 2 ? KARST_COPY : KARST_REFERENCE;
    double *value;
    tap_need(context, karst_matrix_create_pattern(context, 21, b, A->row_start, A->column, ownership, &B), "pattern");
    tap_ok(is_zero(B) && karst_matrix_blocks(B) == karst_matrix_blocks(A) &&
               karst_matrix_entries(B) == karst_entries(A) && karst_matrix_rows_unpadded(B) == (int64_t)21 * b,
           "b = %d: a matrix made from a pattern has zeros for values", b);
    tap_ok((karst_matrix_row_start(B) == A->row_start) == (ownership == KARST_REFERENCE) &&
               (karst_matrix_column(B) == A->column) == (ownership == KARST_REFERENCE),
           "and the pattern is %s", ownership == KARST_COPY ? "copied" : "used where it is");
    tap_need(context, karst_matrix_host_value(A, &value), "values");
    write_values(B, value);
    tap_ok(karst_matrix_values_changed(B) == KARST_SUCCESS && same_dense(A, B),
           "values written in the matrix's memory are used");
    tap_need(context, karst_matrix_update_values(B, value), "update");
    tap_ok(same_dense(A, B) && karst_matrix_value(B) == karst_matrix_values(B), "and so are values given to an update");
    karst_matrix_host_value_done(A, value);
    karst_matrix_destroy(B);
    karst_matrix_destroy(A);
  }
}

/* Solvers and preconditioners notice values that the caller has written. */
static void written_values_are_new(karst_context *context)
{
  karst_matrix *A = tap_random_matrix(context, 30, 2, 3, 1);
  const int64_t entries = karst_entries(A);
  karst_vector *values;
  karst_solver *solver;
  karst_vector *b = vector_of(context, karst_matrix_rows(A), 1), *x = vector_of(context, karst_matrix_rows(A), 0);
  tap_need(context, karst_solver_create(context, NULL, &solver), "solver");
  tap_need(context, karst_solver_setup(solver, A), "setup");
  karst_result result = solved(solver, b, x);
  tap_need(context, karst_vector_wrap(context, entries, karst_matrix_values(A), &values), "values");
  tap_need(context, karst_vector_scale(4, values), "scale");
  tap_need(context, karst_matrix_values_changed(A), "values changed");
  const karst_status status = karst_solver_solve(solver, b, x, &result);
  tap_ok(status == KARST_ERROR_ARGUMENT && strstr(karst_context_error(context), "the matrix has new values"),
         "a solver of other values is refused: %s", karst_context_error(context));
  tap_need(context, karst_solver_update(solver), "update");
  result = solved(solver, b, x);
  tap_ok(result.reason > 0 && tap_residual(A, b, x) < 1e-5, "and solves with them after an update");
  karst_solver_destroy(solver);
  karst_vector_destroy(values);
  karst_vector_destroy(b);
  karst_vector_destroy(x);
  karst_matrix_destroy(A);
}

static void values_of_the_caller(karst_context *context)
{
  const karst_index start[] = {0, 1, 2}, column[] = {0, 1};
  double value[] = {2, 3};
  karst_matrix *A;
  tap_need(context, karst_matrix_create(context, 2, 1, start, column, value, KARST_REFERENCE, &A), "matrix");
  tap_ok(!karst_matrix_values(A) && strstr(karst_context_error(context), "refers to an array of the caller"),
         "the matrix does not return an array of the caller: %s", karst_context_error(context));
  tap_need(context, karst_matrix_update_values(A, (const double[]){5, 7}), "update");
  tap_ok(karst_matrix_values(A) && karst_matrix_values(A) != value, "but its own values");
  karst_matrix_destroy(A);
  tap_ok(!karst_matrix_values(NULL) && !karst_matrix_device_row_start(NULL) && !karst_matrix_device_column(NULL),
         "NULL has no arrays");
}

static void the_pattern_in_device_memory(karst_context *context)
{
  karst_matrix *A = tap_random_matrix(context, 50, 3, 4, 1);
  const size_t starts = 51 * sizeof(karst_index), columns = (size_t)karst_matrix_blocks(A) * sizeof(karst_index);
  karst_index *start = malloc(starts), *column = malloc(columns);
  tap_need(context, context->backend->download(context, start, karst_matrix_device_row_start(A), starts), "download");
  tap_need(context, context->backend->download(context, column, karst_matrix_device_column(A), columns), "download");
  tap_ok(memcmp(start, karst_matrix_row_start(A), starts) == 0 && memcmp(column, karst_matrix_column(A), columns) == 0,
         "the pattern is in device memory");
  tap_ok(!context->backend->host_memory || (karst_matrix_device_row_start(A) == karst_matrix_row_start(A) &&
                                            karst_matrix_device_column(A) == karst_matrix_column(A)),
         "which on the CPU is the host's");
  free(start);
  free(column);
  karst_matrix_destroy(A);
}

/* The levels of fill by their definition, dense: L_ij = min(L_ij, L_ip + L_pj + 1) over p < min(i, j). */
static int *dense_levels(const karst_matrix *A)
{
  enum { NONE = 1 << 20 };
  const karst_index n = A->block_rows;
  int *levels = malloc((size_t)n * (size_t)n * sizeof *levels);
  for (karst_index i = 0; i < n * n; i++) levels[i] = NONE;
  for (karst_index i = 0; i < n; i++)
    for (karst_index k = A->row_start[i]; k < A->row_start[i + 1]; k++) levels[i * n + A->column[k]] = 0;
  for (karst_index p = 0; p < n; p++)
    for (karst_index i = p + 1; i < n; i++)
      for (karst_index j = p + 1; j < n; j++) {
        const int level = levels[i * n + p] + levels[p * n + j] + 1;
        if (level < levels[i * n + j]) levels[i * n + j] = level;
      }
  return levels;
}

static bool has_fill_of(const karst_matrix *filled, const karst_matrix *A, int level)
{
  const karst_index n = A->block_rows;
  int *levels = dense_levels(A);
  int64_t blocks = 0, found = 0;
  for (karst_index i = 0; i < n * n; i++) blocks += levels[i] <= level;
  for (karst_index i = 0; i < n; i++)
    for (karst_index k = filled->row_start[i]; k < filled->row_start[i + 1]; k++)
      found += levels[i * n + filled->column[k]] <= level;
  free(levels);
  return found == blocks && karst_matrix_blocks(filled) == blocks;
}

/* z = M^-1 1 with M the ILU(level) of A, [rows], for the caller to free. */
static double *apply_ilu(karst_context *context, const karst_matrix *A, int level)
{
  const int64_t rows = karst_matrix_rows(A);
  double *host = calloc((size_t)rows, sizeof *host);
  tap_settings settings = settings_for(NULL, "iluk");
  settings.level = level;
  karst_vector *r = vector_of(context, rows, 1), *z = vector_of(context, rows, 0);
  karst_precond *M = precond_of(context, &settings, A);
  tap_need(context, karst_precond_apply(M, r, z), "apply");
  tap_need(context, karst_vector_get(z, rows, host), "z");
  karst_precond_destroy(M);
  karst_vector_destroy(r);
  karst_vector_destroy(z);
  return host;
}

/* ILU(level) is ILU(0) on the pattern with its fill. */
static double compare_factors(karst_context *context, const karst_matrix *A, const karst_matrix *filled, int level)
{
  double *expected = apply_ilu(context, A, level), *z = apply_ilu(context, filled, 0), worst = 0;
  for (int64_t i = 0; i < karst_matrix_rows(A); i++)
    worst = fmax(worst, fabs(z[i] - expected[i]) / (1 + fabs(expected[i])));
  free(expected);
  free(z);
  return worst;
}

static void filled_patterns(karst_context *context)
{
  for (int b = 1; b <= 4; b++)
    for (int level = 0; level <= 3; level++) {
      karst_matrix *A = tap_random_matrix(context, 25, b, 3, 2), *filled;
      tap_need(context, karst_matrix_create_filled(A, level, &filled), "filled");
      tap_ok(has_fill_of(filled, A, level) && same_dense(A, filled),
             "b = %d: the matrix with room for the fill of level %d has that pattern and A's values", b, level);
      tap_ok(level > 0 || karst_matrix_blocks(filled) == karst_matrix_blocks(A), "at level 0 the pattern is A's");
      /* Both do the same products in the same order, or one of another kernel: only rounding errors differ. */
      const double worst = compare_factors(context, A, filled, level);
      tap_ok(worst < 1e-12, "and its ILU(0) is the ILU(%d) of A (%.1e)", level, worst);
      karst_matrix_destroy(filled);
      karst_matrix_destroy(A);
    }
}

/* A filled matrix keeps the grid and the padding. */
static void filled_keeps_the_grid(karst_context *context)
{
  karst_matrix *filled, *padded;
  karst_matrix *A = matrix_from(context, "poisson3d:4x3x5", 0);
  tap_need(context, karst_matrix_create_filled(A, 2, &filled), "filled");
  tap_ok(has_grid(filled, 4, 3, 5, NULL), "the grid is kept");
  karst_matrix_destroy(filled);
  tap_need(context, karst_matrix_convert(A, 7, &padded), "convert");
  tap_need(context, karst_matrix_create_filled(padded, 1, &filled), "filled");
  tap_ok(karst_matrix_rows(filled) == 63 && karst_matrix_rows_unpadded(filled) == 60, "and so is the padding");
  karst_matrix_destroy(A);
  karst_matrix_destroy(padded);
  tap_ok(karst_matrix_check_diagonal(filled) == KARST_SUCCESS, "the filled matrix outlives its source");
  karst_matrix_destroy(filled);
}

static void errors(karst_context *context)
{
  const karst_index start[] = {0, 2, 3, 4}, column[] = {0, 1, 2, 2}, unsorted[] = {1, 0, 2, 2};
  const double value[4] = {1, 1, 1, 1};
  karst_matrix *A, *B;
  tap_ok(karst_matrix_create_pattern(NULL, 3, 1, start, column, KARST_COPY, &A) == KARST_ERROR_ARGUMENT && !A,
         "no context");
  tap_ok(karst_matrix_create_pattern(context, 3, 1, start, column, KARST_COPY, NULL) == KARST_ERROR_ARGUMENT,
         "a NULL matrix");
  tap_ok(karst_matrix_create_pattern(context, 3, 1, NULL, column, KARST_COPY, &A) == KARST_ERROR_ARGUMENT && !A,
         "no row starts");
  tap_ok(karst_matrix_create_pattern(context, 3, 1, start, NULL, KARST_COPY, &A) == KARST_ERROR_ARGUMENT && !A,
         "no columns");
  tap_ok(karst_matrix_create_pattern(context, -3, 1, start, column, KARST_COPY, &A) == KARST_ERROR_ARGUMENT && !A,
         "fewer than no rows");
  tap_ok(karst_matrix_create_pattern(context, 3, 0, start, column, KARST_COPY, &A) == KARST_ERROR_ARGUMENT && !A,
         "no block size");
  tap_ok(karst_matrix_create_pattern(context, 3, 1, start, column, (karst_ownership)9, &A) == KARST_ERROR_ARGUMENT,
         "no ownership");
  tap_ok(karst_matrix_create_pattern(context, 3, 1, start, unsorted, KARST_COPY, &A) == KARST_ERROR_MATRIX && !A &&
             strstr(karst_context_error(context), "block row 0 is not sorted"),
         "an invalid pattern: %s", karst_context_error(context));
  tap_need(context, karst_matrix_create_pattern(context, 0, 5, start, NULL, KARST_COPY, &A), "no rows");
  tap_need(context, karst_matrix_create_filled(A, 3, &B), "filled");
  tap_ok(karst_matrix_rows(B) == 0 && karst_matrix_block_size(B) == 5, "a matrix without rows has no fill");
  karst_matrix_destroy(A);
  karst_matrix_destroy(B);
  A = matrix_of(context, 3, 1, start, column, value);
  tap_ok(karst_matrix_create_filled(A, 1, &B) == KARST_ERROR_MATRIX && !B &&
             strstr(karst_context_error(context), "block row 1 has no diagonal entry"),
         "the error names a missing diagonal: %s", karst_context_error(context));
  tap_ok(karst_matrix_create_filled(A, -1, &B) == KARST_ERROR_ARGUMENT && !B &&
             strstr(karst_context_error(context), "level -1"),
         "a level below 0: %s", karst_context_error(context));
  tap_ok(karst_matrix_create_filled(NULL, 1, &B) == KARST_ERROR_ARGUMENT && !B, "a NULL source");
  tap_ok(karst_matrix_create_filled(A, 1, NULL) == KARST_ERROR_ARGUMENT, "a NULL filled matrix");
  karst_matrix_destroy(A);
}

/* Makes matrices in every way, in the memory that the backend gives; user: the backend, NULL for that of the host. */
static karst_status make_all(karst_context *context, void *user)
{
  const struct karst_backend *backend = context->backend;
  const karst_index start[] = {0, 1, 3, 4}, column[] = {0, 0, 1, 2};
  const double value[] = {1, 2, 3, 4}, other[] = {5, 6, 7, 8};
  karst_matrix *copy = NULL, *referring = NULL, *pattern = NULL, *adopting = NULL, *filled = NULL, *same = NULL;
  if (user) context->backend = user;
  karst_status status = karst_matrix_create(context, 3, 1, start, column, value, KARST_COPY, &copy);
  if (!status) status = karst_matrix_create(context, 3, 1, start, column, value, KARST_REFERENCE, &referring);
  if (!status) status = karst_matrix_create_pattern(context, 3, 1, start, column, KARST_REFERENCE, &pattern);
  if (!status) status = karst_matrix_convert(copy, 2, &adopting);
  if (!status) status = karst_matrix_convert(copy, 1, &same);
  if (!status) status = karst_matrix_create_filled(copy, 1, &filled);
  if (!status) status = karst_matrix_update_values(referring, other);
  if (!status) status = karst_matrix_update_values(pattern, other);
  if (!status) status = karst_matrix_values_changed(referring);
  if (!status) {
    context->backend = backend; /* its host values need no memory, which may fail here */
    tap_ok(same_dense(referring, pattern) && same_dense(copy, same) && same_dense(copy, filled) && value[0] == 1,
           "each way makes its matrix%s", user ? " on a device with a memory of its own" : "");
    if (user) context->backend = user;
  }
  karst_matrix_destroy(copy);
  karst_matrix_destroy(referring);
  karst_matrix_destroy(pattern);
  karst_matrix_destroy(adopting);
  karst_matrix_destroy(filled);
  karst_matrix_destroy(same);
  context->backend = backend;
  return status;
}

static void memory_apart(void)
{
  struct karst_backend apart = backend_apart();
  fail_each_allocation(make_all, NULL, "matrices in the memory of the host");
  fail_each_allocation(make_all, &apart, "matrices in a device's own memory");
}

int main(void)
{
  tap_each_device(from_the_pattern_alone, "matrices from a pattern");
  tap_each_device(written_values_are_new, "values written in the matrix's memory");
  tap_each_device(values_of_the_caller, "values of the caller");
  tap_each_device(the_pattern_in_device_memory, "the pattern in device memory");
  tap_each_device(filled_patterns, "room for fill");
  tap_each_device(filled_keeps_the_grid, "properties of a filled matrix");
  tap_each_device(errors, "errors");
  memory_apart();
  return tap_done();
}
