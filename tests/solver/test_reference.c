/* The solution of each real matrix agrees with UMFPACK's as far as its condition allows. If the iteration reaches a
 * relative residual of 1e-10, |x - x_direct|_1 is at most |A^-1|_1 times the two residuals, with |A^-1|_1 estimated
 * from UMFPACK's own factors (Higham, ACM Trans. Math. Softw. 14 (1988), Algorithm 4.1 for p = 1). */
#include "config.h"

#include "lib/matrix/matrix.h"
#include "tests/support/problem.h"

#ifdef HAVE_SUITESPARSE
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <umfpack.h>

/* A in compressed columns, which are the transposes of its rows: UMFPACK's matrix is A^T. */
struct direct {
  int64_t n;
  SuiteSparse_long *start, *index;
  double *value;
  void *numeric;
};

static void direct_destroy(struct direct *d)
{
  umfpack_dl_free_numeric(&d->numeric);
  free(d->start);
  free(d->index);
  free(d->value);
}

/* Factors A; returns false for a singular matrix. */
static bool direct_factor(const karst_matrix *A, struct direct *d)
{
  const karst_index *start = karst_matrix_row_start(A), *column = karst_matrix_column(A);
  int64_t entries = karst_matrix_blocks(A);
  void *symbolic = NULL;
  *d = (struct direct){.n = karst_matrix_rows(A)};
  d->start = malloc((size_t)(d->n + 1) * sizeof *d->start);
  d->index = malloc((size_t)entries * sizeof *d->index);
  d->value = malloc((size_t)entries * sizeof *d->value);
  for (int64_t i = 0; i <= d->n; i++) d->start[i] = start[i];
  for (int64_t k = 0; k < entries; k++) d->index[k] = column[k];
  memcpy(d->value, karst_matrix_value(A), (size_t)entries * sizeof *d->value);
  int status = (int)umfpack_dl_symbolic(d->n, d->n, d->start, d->index, d->value, &symbolic, NULL, NULL);
  if (status == UMFPACK_OK)
    status = (int)umfpack_dl_numeric(d->start, d->index, d->value, symbolic, &d->numeric, NULL, NULL);
  umfpack_dl_free_symbolic(&symbolic);
  return status == UMFPACK_OK;
}

/* Computes x = A^-1 b, or x = A^-T b. */
static void direct_solve(const struct direct *d, bool transposed, const double *b, double *x)
{
  umfpack_dl_solve(transposed ? UMFPACK_A : UMFPACK_At, d->start, d->index, d->value, x, b, d->numeric, NULL, NULL);
}

static double norm1(int64_t n, const double *x)
{
  double sum = 0;
  for (int64_t i = 0; i < n; i++) sum += fabs(x[i]);
  return sum;
}

/* Returns a lower bound of |A^-1|_1, which is nearly always within a factor of 3. */
static double inverse_norm(const struct direct *d)
{
  double *x = malloc((size_t)d->n * sizeof *x), *y = malloc((size_t)d->n * sizeof *y), estimate = 0;
  for (int64_t i = 0; i < d->n; i++) x[i] = 1 / (double)d->n;
  for (int step = 0; step < 5; step++) {
    int64_t largest = 0;
    direct_solve(d, false, x, y);
    if (norm1(d->n, y) <= estimate) break;
    estimate = norm1(d->n, y);
    for (int64_t i = 0; i < d->n; i++) x[i] = y[i] < 0 ? -1 : 1;
    direct_solve(d, true, x, y);
    for (int64_t i = 1; i < d->n; i++)
      if (fabs(y[i]) > fabs(y[largest])) largest = i;
    memset(x, 0, (size_t)d->n * sizeof *x);
    x[largest] = 1;
  }
  free(x);
  free(y);
  return estimate;
}

/* Returns |b - A x|_1. */
static double residual_of(karst_context *context, const karst_matrix *A, const karst_vector *b, const double *x)
{
  karst_vector *vector;
  tap_need(context, karst_vector_wrap(context, karst_matrix_rows(A), (double *)x, &vector), "x");
  karst_vector *r = vector_of(context, karst_matrix_rows(A), 0);
  tap_need(context, karst_matrix_residual(A, b, vector, r, NULL), "residual");
  double norm = norm1(karst_matrix_rows(A), karst_vector_values(r));
  karst_vector_destroy(vector);
  karst_vector_destroy(r);
  return norm;
}

/* Solves by iteration to a relative residual of 1e-10. */
static bool iterate(karst_context *context, const karst_matrix *A, const karst_vector *b, karst_vector *x)
{
  tap_settings options = settings_for(NULL, NULL);
  karst_result result;
  options.rtol = 1e-10;
  options.restart = 100;
  options.max_iterations = 2000;
  karst_solver *solver = solver_of(context, &options);
  bool converged = karst_solver_setup(solver, A) == KARST_SUCCESS &&
                   karst_solver_solve(solver, b, x, &result) == KARST_SUCCESS && result.reason > 0;
  karst_solver_destroy(solver);
  return converged;
}

/* Compares x with the direct solution for one matrix. S: A with scalar blocks. */
static void judge(karst_context *context, const char *file, const karst_matrix *S, const struct direct *d, double *rhs,
                  const double *found)
{
  double *direct = malloc((size_t)d->n * sizeof *direct), error = 0;
  karst_vector *b;
  tap_need(context, karst_vector_wrap(context, d->n, rhs, &b), "b");
  direct_solve(d, false, rhs, direct);
  for (int64_t i = 0; i < d->n; i++) error += fabs(found[i] - direct[i]);
  double residuals = residual_of(context, S, b, found) + residual_of(context, S, b, direct);
  double allowed = inverse_norm(d) * residuals, size = norm1(d->n, direct);
  tap_ok(error <= 10 * allowed, "%s: |x - x_direct| = %.1e |x_direct|, the condition allows %.1e", file, error / size,
         allowed / size);
  karst_vector_destroy(b);
  free(direct);
}

static void compare(karst_context *context, const char *file, int block)
{
  karst_matrix *A, *S;
  struct direct d;
  const char *path = tap_matrix_path(file);
  if (!path) {
    tap_skip("the matrix is absent", "%s", file);
    return;
  }
  karst_status status = karst_matrix_read(context, path, block, &A);
  if (status == KARST_ERROR_NOT_BUILT) {
    tap_skip(karst_context_error(context), "%s", file);
    return;
  }
  tap_need(context, status, file);
  tap_need(context, karst_matrix_convert(A, 1, &S), "scalars");
  int64_t n = karst_matrix_rows_unpadded(A);
  double *ones = malloc((size_t)n * sizeof *ones);
  for (int64_t i = 0; i < n; i++) ones[i] = 1;
  karst_vector *b = vector_of(context, karst_matrix_rows(A), 0), *x = vector_of(context, karst_matrix_rows(A), 0);
  tap_need(context, karst_vector_set(b, n, ones), "b");
  bool factored = direct_factor(S, &d), converged = iterate(context, A, b, x);
  if (factored && converged)
    judge(context, file, S, &d, ones, karst_vector_values(x));
  else
    tap_ok(false, "%s: UMFPACK factors it, and the iteration reaches 1e-10", file);
  direct_destroy(&d);
  karst_vector_destroy(b);
  karst_vector_destroy(x);
  karst_matrix_destroy(A);
  karst_matrix_destroy(S);
  free(ones);
}

/* Tests all nonsingular matrices except nos7, for which 1e-10 is below the rounding of b - A x at the exact solution
 * (2e-8). */
int main(void)
{
  static const struct {
    const char *file;
    int block;
  } matrix[] = {{"spe10_layer_dirichlet.mtx.gz", 1},
                {"sherman1.mtx", 1},
                {"sherman3.mtx.gz", 1},
                {"sherman5.mtx.gz", 3},
                {"orsirr_1.mtx", 1},
                {"SPE01_bsr3.mtx.gz", 3},
                {"steam2.mtx.gz", 4},
                {"pores_3.mtx", 1},
                {"matr33.txt", 3},
                {"memplus.mtx.gz", 1},
                {"rss_laplace_A0.mtx.gz", 1},
                {"bcsstk16.mtx.gz", 3},
                {"bcsstk18.mtx.gz", 1},
                {"Grond1e4.mtx.gz", 1},
                {"vdvorst3.mtx.gz", 1},
                {"fasp_FE.mtx.gz", 1},
                {"ani4.mtx.gz", 1},
                {"add20.mtx.gz", 1},
                {"2dcyl1.mtx.gz", 4},
                {"1138_bus.tar.gz", 1},
                {"jpwh_991.mtx", 1}};
  karst_context *context = tap_context();
  for (size_t i = 0; i < sizeof matrix / sizeof *matrix; i++) compare(context, matrix[i].file, matrix[i].block);
  karst_context_destroy(context);
  return tap_done();
}
#else
int main(void) { tap_skip_all("built without SuiteSparse"); }
#endif
