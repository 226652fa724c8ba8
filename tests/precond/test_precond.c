/* Each preconditioner applies the inverse of its operator: block ILU(k) that of the dense factors computed here on the
 * same pattern, block Jacobi that of the diagonal blocks. With enough levels ILU is a direct solver. Singular blocks
 * and NaN are named by block row. Set-up stays short with a nearly full row. */
#include "lib/backend/backend.h"
#include "lib/method/precond.h"
#include "tests/support/named_values.h"
#include "tests/support/patterns.h"
#include "tests/support/problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static karst_precond *make(karst_context *context, const char *name, int level, double shift, const karst_matrix *A)
{
  tap_settings options = settings_for(NULL, name);
  options.level = level;
  options.shift = shift;
  return precond_of(context, &options, A);
}

/* Computes dense incomplete Gauss elimination in blocks on the entries of level k at most, and then M = L U in dense
 * form. */
static double *dense_product_of_factors(const karst_matrix *A, int k)
{
  int64_t n = karst_matrix_rows(A), b = karst_matrix_block_size(A), blocks = n / b;
  int *level = pattern_fill_levels(A);
  double *f = tap_dense(A), *M = calloc((size_t)(n * n), sizeof *M);
  double *pivot = malloc((size_t)(b * b) * sizeof *pivot), *row = malloc((size_t)b * sizeof *row);
  for (int64_t i = 0; i < blocks; i++)
    for (int64_t p = 0; p < i; p++) {
      if (level[i * blocks + p] > k) continue;
      for (int64_t r = 0; r < b; r++) { /* row r of A_ip A_pp^-1 solves a system with A_pp^T */
        for (int64_t s = 0; s < b; s++)
          for (int64_t c = 0; c < b; c++) pivot[c * b + s] = f[(p * b + s) * n + p * b + c];
        for (int64_t s = 0; s < b; s++) row[s] = f[(p * b + s) * n + i * b + r];
        tap_dense_solve(b, pivot, row);
        for (int64_t s = 0; s < b; s++) f[(p * b + s) * n + i * b + r] = row[s];
      }
      for (int64_t j = p + 1; j < blocks; j++) {
        if (level[i * blocks + j] > k) continue;
        for (int64_t c = j * b; c < (j + 1) * b; c++)
          for (int64_t r = i * b; r < (i + 1) * b; r++)
            for (int64_t s = p * b; s < (p + 1) * b; s++) f[c * n + r] -= f[s * n + r] * f[c * n + s];
      }
    }
  for (int64_t r = 0; r < n; r++)
    for (int64_t c = 0; c < n; c++)
      for (int64_t s = 0; s / b <= r / b && s / b <= c / b; s++) {
        double lower = s / b == r / b ? s == r : f[s * n + r];
        M[c * n + r] += lower * f[c * n + s];
      }
  free(level);
  free(f);
  free(pivot);
  free(row);
  return M;
}

static void iluk_of(karst_context *context, karst_index n, int b, int level)
{
  karst_matrix *A = tap_random_matrix(context, n, b, 2, 1);
  karst_precond *P = make(context, "iluk", level, 0, A);
  double *M = dense_product_of_factors(A, level), error = applied_error(P, M);
  tap_ok(error < 1e-11, "iluk: %lld block rows, b = %d, level %d against dense factors (%.1e)", (long long)n, b, level,
         error);
  free(M);
  karst_precond_destroy(P);
  karst_matrix_destroy(A);
}

static void iluk(karst_context *context)
{
  const int sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17, 32};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    for (int level = 0; level < 3; level++) iluk_of(context, sizes[i] > 8 ? 6 : 20, sizes[i], level);
  iluk_of(context, 1, 3, 0);
  karst_matrix *A = tap_random_matrix(context, 30, 3, 2, 1);
  karst_precond *P = make(context, "iluk", 30, 0, A);
  double *dense = tap_dense(A), error = applied_error(P, dense);
  tap_ok(error < 1e-11, "iluk with every level is a direct solver (%.1e)", error);
  free(dense);
  karst_precond_destroy(P);
  karst_matrix_destroy(A);
}

/* The matrix has enough rows that the sweeps run in parallel; threads must not change a bit. */
static void threads_agree(void)
{
  double *result[2];
  struct pattern grid = pattern_grid(96, 96, 1);
  karst_context *context = tap_context();
  karst_matrix *A = pattern_random_matrix(context, &grid, 3, 1);
  for (int t = 0; t < 2; t++) {
    tap_need(context, tap_set_threads(context, 1 + 2 * t), "threads");
    karst_precond *P = make(context, "iluk", 1, 0, A);
    result[t] = applied_to_random(P, 5, NULL);
    karst_precond_destroy(P);
  }
  tap_ok(memcmp(result[0], result[1], (size_t)karst_matrix_rows(A) * sizeof **result) == 0,
         "iluk has the same bits with 1 and 3 threads");
  for (int t = 0; t < 2; t++) free(result[t]);
  karst_matrix_destroy(A);
  karst_context_destroy(context);
  pattern_free(&grid);
}

static void jacobi(karst_context *context)
{
  const int sizes[] = {1, 3, 8, 17};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    karst_matrix *A = tap_random_matrix(context, 12, sizes[s], 3, 1);
    karst_precond *P = make(context, "jacobi", 0, 0, A);
    int64_t n = karst_matrix_rows(A), b = sizes[s];
    double *M = tap_dense(A);
    for (int64_t c = 0; c < n; c++)
      for (int64_t r = 0; r < n; r++)
        if (r / b != c / b) M[c * n + r] = 0;
    double error = applied_error(P, M);
    tap_ok(error < 1e-12, "block Jacobi, b = %d (%.1e)", sizes[s], error);
    free(M);
    karst_precond_destroy(P);
    karst_matrix_destroy(A);
  }
}

/* Copies a matrix, with another diagonal block in a row and zeros beside it. */
static karst_matrix *with_block(karst_context *context, const karst_matrix *A, karst_index row, const double *block)
{
  karst_matrix *B = matrix_copied(context, A);
  replace_row(B, row, block);
  return B;
}

static void bad_blocks(karst_context *context)
{
  const double singular[9] = {1, 2, 3, 2, 4, 6, 1, 1, 1}, nan[9] = {1, 0, 0, 0, NAN, 0, 0, 0, 1};
  const char *const names[] = {"jacobi", "iluk"};
  karst_matrix *A = tap_random_matrix(context, 25, 3, 2, 1);
  karst_matrix *S = with_block(context, A, 7, singular), *N = with_block(context, A, 11, nan);
  for (int i = 0; i < 2; i++) {
    karst_index row;
    karst_precond *P = make(context, names[i], 0, 0, S);
    tap_ok(karst_precond_outcome(P, &row) == KARST_SINGULAR_BLOCK && row == 7, "%s names the singular block", names[i]);
    karst_vector *r = vector_of(context, 75, 0), *z = vector_of(context, 75, 0);
    tap_ok(karst_precond_apply(P, r, z) == KARST_ERROR_MATRIX, "%s cannot be applied with it", names[i]);
    karst_vector_destroy(r);
    karst_vector_destroy(z);
    karst_precond_destroy(P);
    P = make(context, names[i], 0, 0, N);
    tap_ok(karst_precond_outcome(P, &row) == KARST_NOT_FINITE && row == 11, "%s names the NaN", names[i]);
    karst_precond_destroy(P);
    P = make(context, names[i], 0, 0, A);
    tap_ok(karst_precond_outcome(P, &row) == KARST_SOUND && row == -1, "%s is sound without it", names[i]);
    karst_precond_destroy(P);
  }
  karst_precond *P = make(context, "iluk", 0, 0.1, S);
  tap_ok(karst_precond_outcome(P, NULL) == KARST_SOUND && tap_precond_number(P, "shifted") == 1,
         "iluk with a shift replaces one pivot");
  karst_precond_destroy(P);
  karst_matrix_destroy(A);
  karst_matrix_destroy(S);
  karst_matrix_destroy(N);
}

/* Makes the diagonal block of row 9 a multiple of the identity, and the rest of the row zero. */
static void isolate_row(karst_matrix *A, double diagonal)
{
  double block[11 * 11] = {0};
  for (int c = 0; c < karst_matrix_block_size(A); c++) block[c * (karst_matrix_block_size(A) + 1)] = diagonal;
  replace_row(A, 9, block);
}

/* A block row of zeros is a shut well. Its pivot becomes shift times the largest entry of the matrix, as if the matrix
 * had that diagonal block. */
static void shut_well(karst_context *context)
{
  const int sizes[] = {1, 3, 5, 8, 11};
  const char *const names[] = {"iluk", "parilu"};
  const double shift = 0.25;
  for (int s = 0; s < 10; s++) {
    const int b = sizes[s / 2];
    const char *name = names[s % 2];
    karst_matrix *A = tap_random_matrix(context, 25, b, 2, 1);
    double largest = 0;
    karst_index row;
    isolate_row(A, 0);
    double *value = values_on_host(A);
    for (int64_t v = 0; v < b * b * karst_matrix_blocks(A); v++) largest = fmax(largest, fabs(value[v]));
    isolate_row(A, shift * largest);
    double *M = dense_product_of_factors(A, 0);
    isolate_row(A, 0);
    karst_precond *P = make(context, name, 0, 0, A);
    tap_ok(karst_precond_outcome(P, &row) == KARST_SINGULAR_BLOCK && row == 9, "%s, b = %d names a row of zeros", name,
           b);
    karst_precond_destroy(P);
    P = make(context, name, 0, shift, A);
    if (tap_ok(karst_precond_outcome(P, &row) == KARST_SOUND && tap_precond_number(P, "shifted") == 1,
               "%s, b = %d: a shift replaces its pivot", name, b)) {
      const double error = applied_error(P, M);
      tap_ok(error < 1e-11, "%s, b = %d: by the shift times the matrix's largest entry (%.1e)", name, b, error);
    }
    free(M);
    free(value);
    karst_precond_destroy(P);
    karst_matrix_destroy(A);
  }
}

/* ILU(0) of an arrow with b = 1 has (M z)_0 = s and (M z)_i = L_i0 s + D_i z_i with s = sum_j U_0j z_j. A set-up in
 * O(n^2) would take minutes. */
static void long_row(karst_context *context)
{
  const karst_index n = 400000;
  karst_matrix *A = pattern_arrow_matrix(context, n, 1);
  karst_precond *P = make(context, "iluk", 0, 0, A);
  double *value = values_on_host(A), *r, *z = applied_to_random(P, tap_seed(), &r);
  double s = 0, error;
  for (karst_index j = 0; j < n; j++) s += value[j] * z[j];
  error = fabs(s - r[0]); /* s is a sum of n terms, with z below 1 */
  for (karst_index i = 1; i < n; i++) {
    const double left = value[n + 2 * (i - 1)] / value[0], diagonal = value[n + 2 * (i - 1) + 1];
    error = fmax(error, fabs(left * s + (diagonal - left * value[i]) * z[i] - r[i]));
  }
  tap_ok(error < 1e-9, "iluk of an arrow of %ld rows has the factors of the formula (%.1e)", (long)n, error);
  free(value);
  free(r);
  free(z);
  karst_precond_destroy(P);
  karst_matrix_destroy(A);
}

/* Sweeps must handle the long rows of arrows too. */
static void long_row_sweeps(void)
{
  const char *const names[] = {"parilu", "paric"};
  karst_context *context = tap_context();
  karst_matrix *A = pattern_arrow_matrix(context, 400000, 1);
  for (int i = 0; i < 2; i++) {
    karst_precond *P = make(context, names[i], 0, 0, A);
    tap_ok(karst_precond_outcome(P, NULL) == KARST_SOUND, "%s of an arrow is made in time", names[i]);
    karst_precond_destroy(P);
  }
  karst_matrix_destroy(A);
  karst_context_destroy(context);
}

/* Refuses a block of memory as large as the factors of the arrow below, so that their set-up ends before the
 * factorization. */
static void *allocate_little(void *user, size_t bytes)
{
  (void)user;
  return bytes < (size_t)1 << 26 ? malloc(bytes) : NULL;
}

static void release(void *user, void *memory)
{
  (void)user;
  free(memory);
}

static void count_warnings(void *user, karst_message_kind kind, const char *text)
{
  if (kind == KARST_MESSAGE_WARNING && strstr(text, "multiplications")) ++*(int *)user;
}

/* Level 1 fills an arrow, with n^3 / 3 products of blocks. A warning comes before they are computed. */
static void much_work(void)
{
  const karst_allocator little = {allocate_little, release, NULL};
  int warnings = 0;
  karst_context *context;
  karst_precond *P;
  tap_settings options = settings_for(NULL, "iluk");
  tap_need(NULL, karst_context_create(&little, &context), "context");
  karst_context_set_message(context, count_warnings, &warnings);
  karst_matrix *A = pattern_arrow_matrix(context, 1500, 4);
  tap_ok(tap_precond_create(context, &options, A, &P) == KARST_SUCCESS && warnings == 0,
         "level 0 of an arrow has no warning");
  karst_precond_destroy(P);
  options.level = 1;
  tap_ok(tap_precond_create(context, &options, A, &P) == KARST_ERROR_NO_MEMORY && warnings == 1,
         "level 1 has one, before memory is allocated for its factors");
  karst_matrix_destroy(A);
  karst_context_destroy(context);
}

/* After an update the factors are those of the new values. */
static void update(karst_context *context)
{
  karst_matrix *A = tap_random_matrix(context, 20, 2, 2, 1);
  karst_precond *P = make(context, "iluk", 1, 0, A);
  double *changed = values_on_host(A);
  for (int64_t i = 0; i < 4 * karst_matrix_blocks(A); i++) changed[i] *= 1 + 0.1 * tap_random();
  tap_need(context, karst_matrix_update_values(A, changed), "update");
  tap_need(context, karst_precond_update(P), "refactor");
  double *M = dense_product_of_factors(A, 1), error = applied_error(P, M);
  tap_ok(error < 1e-11, "iluk follows new values (%.1e)", error);
  free(M);
  free(changed);
  karst_precond_destroy(P);
  karst_matrix_destroy(A);
}

static void errors(karst_context *context)
{
  const karst_index start[] = {0, 1, 2, 3}, column[] = {0, 0, 2};
  const double value[] = {1, 1, 1};
  karst_precond *P;
  tap_settings options = settings_for(NULL, NULL);
  karst_matrix *A = matrix_of(context, 3, 1, start, column, value);
  for (int i = 0; i < 2; i++) {
    options.precond = i ? "jacobi" : "iluk";
    tap_ok(tap_precond_create(context, &options, A, &P) == KARST_ERROR_MATRIX && !P &&
               strstr(karst_context_error(context), "block row 1 "),
           "%s names the row without a diagonal", options.precond);
  }
  options.precond = "multigrid";
  tap_ok(tap_precond_create(context, &options, A, &P) == KARST_ERROR_OPTION && !P, "an unknown name is refused");
  tap_ok(karst_precond_create(context, NULL, NULL, &P) == KARST_ERROR_ARGUMENT && !P, "a NULL matrix is refused");
  karst_matrix_destroy(A);
  karst_precond_destroy(NULL);
}

/* A method that needs kernels of its own is refused, by name, if the backend has none; the other methods work. */
static void without_kernels(void)
{
  static const char *const name[] = {"iluk", "dilu", "parilu", "paric", "jacobi", "none"};
  karst_precond *M;
  karst_context *context = tap_context();
  karst_matrix *A = matrix_from(context, "poisson2d:3x3", 1);
  struct karst_backend bare = *context->backend;
  tap_settings options = settings_for(NULL, NULL);
  for (int solves = 0; solves < 2; solves++) {
    bare.ilu = solves ? karst_backends[0]->ilu : NULL; /* parilu needs both kernel tables */
    bare.parilu = solves ? NULL : karst_backends[0]->parilu;
    context->backend = &bare;
    bare.dilu = solves ? bare.dilu : NULL;
    for (int i = 2 * solves; i < 6; i++) {
      options.precond = name[i];
      karst_status status = tap_precond_create(context, &options, A, &M);
      if (i < 4)
        tap_ok(status == KARST_ERROR_NOT_BUILT && !M && strstr(karst_context_error(context), name[i]) &&
                   strstr(karst_context_error(context), "is not available on cpu"),
               "%s needs kernels: %s", name[i], karst_context_error(context));
      else
        tap_ok(!status, "%s needs none", name[i]);
      karst_precond_destroy(M);
    }
    context->backend = karst_backends[0];
  }
  karst_matrix_destroy(A);
  karst_context_destroy(context);
}

int main(void)
{
  tap_each_device(iluk, "block ILU(k)");
  tap_each_device(jacobi, "block Jacobi");
  tap_each_device(bad_blocks, "bad blocks");
  tap_each_device(shut_well, "a row of zeros");
  tap_each_device(long_row, "a long row");
  long_row_sweeps();
  much_work();
  without_kernels();
  tap_each_device(update, "update");
  tap_each_device(errors, "errors");
  if (strstr(karst_build_features(), "OpenMP"))
    threads_agree();
  else
    tap_skip("built without OpenMP", "iluk has the same bits with 1 and 3 threads");
  return tap_done();
}
