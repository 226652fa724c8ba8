/* The option modified of iluk and dilu: R times what the factors drop goes to the diagonal blocks. With R = 1 the block
 * row sums of M are those of A, with R = 0 the bits are those without the option, and between them M is that of dense
 * blocks. With R near 1 the iterations on a fine grid grow like h^-1/2, not h^-1 (Gustafsson, BIT 18 (1978)). */
#include "lib/matrix/matrix.h"
#include "tests/support/patterns.h"
#include "tests/support/problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static karst_precond *make(karst_context *context, const char *name, int level, double modified, const karst_matrix *A)
{
  tap_settings options = settings_for(NULL, name);
  options.level = level;
  options.modified = modified;
  return precond_of(context, &options, A);
}

/* Makes a matrix on a random pattern, not symmetric, with some rows nearly full. */
static karst_matrix *random_matrix(karst_context *context, karst_index n, int b, double density)
{
  struct pattern pattern = pattern_random(n, density);
  karst_matrix *A = pattern_random_matrix(context, &pattern, b, 1.5);
  pattern_free(&pattern);
  return A;
}

/* For each column c of a block, the vector with 1 in the unknowns c of all block rows stays itself under M^-1 A. */
static void row_sums(karst_context *context, const char *name, int level, const karst_matrix *A)
{
  const int64_t n = karst_matrix_rows(A), b = karst_matrix_block_size(A);
  double *e = malloc((size_t)n * sizeof *e), *r = malloc((size_t)n * sizeof *r), *z = malloc((size_t)n * sizeof *z);
  double *dense = tap_dense(A), error = 0;
  karst_precond *P = make(context, name, level, 1, A);
  for (int64_t c = 0; c < b; c++) {
    for (int64_t i = 0; i < n; i++) e[i] = i % b == c, r[i] = 0;
    for (int64_t j = c; j < n; j += b)
      for (int64_t i = 0; i < n; i++) r[i] += dense[j * n + i];
    apply_on_host(P, r, z);
    error = fmax(error, largest_difference(n, z, e));
  }
  tap_ok(error < 1e-11, "%s, level %d, b = %ld: R = 1 keeps block row sums (%.1e)", name, level, (long)b, error);
  karst_precond_destroy(P);
  free(dense);
  free(e);
  free(r);
  free(z);
}

/* Block (i, j) of a dense matrix of column length n. */
static double *at(double *a, int64_t n, int b, int64_t i, int64_t j) { return a + j * b * n + i * b; }

/* c -= factor x y for blocks of dense matrices of column length n. */
static void subtract(int b, int64_t n, double factor, const double *x, const double *y, double *c)
{
  for (int j = 0; j < b; j++)
    for (int s = 0; s < b; s++)
      for (int r = 0; r < b; r++) c[j * n + r] -= factor * x[s * n + r] * y[j * n + s];
}

/* x = d^-1 x for a block of a dense matrix of column length n. x: [b] */
static void solve_block(int b, int64_t n, const double *d, double *x)
{
  double *copy = malloc((size_t)(b * b) * sizeof *copy);
  for (int c = 0; c < b; c++) memcpy(copy + (ptrdiff_t)c * b, d + c * n, (size_t)b * sizeof *copy);
  tap_dense_solve(b, copy, x);
  free(copy);
}

/* y = d^-1 x for blocks of dense matrices of column length n. */
static void divide(int b, int64_t n, const double *d, const double *x, double *y)
{
  for (int j = 0; j < b; j++) {
    memcpy(y + j * n, x + j * n, (size_t)b * sizeof *y);
    solve_block(b, n, d, y + j * n);
  }
}

/* Solves z = (D + L)^-1 .. as M = (D + L) D^-1 (D + U), all in the dense f with D, L and U. */
static void dense_solve(int64_t n, int b, double *f, double *z)
{
  const int64_t rows = n / b;
  double *scratch = calloc((size_t)(n * b), sizeof *scratch);
  for (int64_t i = 0; i < rows; i++) {
    for (int64_t k = 0; k < i; k++)
      for (int c = 0; c < b; c++)
        for (int r = 0; r < b; r++) z[i * b + r] -= at(f, n, b, i, k)[c * n + r] * z[k * b + c];
    solve_block(b, n, at(f, n, b, i, i), z + i * b);
  }
  for (int64_t i = rows; i-- > 0;) {
    for (int r = 0; r < b; r++) scratch[r] = 0;
    for (int64_t j = i + 1; j < rows; j++)
      for (int c = 0; c < b; c++)
        for (int r = 0; r < b; r++) scratch[r] += at(f, n, b, i, j)[c * n + r] * z[j * b + c];
    solve_block(b, n, at(f, n, b, i, i), scratch);
    for (int r = 0; r < b; r++) z[i * b + r] -= scratch[r];
  }
  free(scratch);
}

/* Computes (D + L) D^-1 (D + U) densely: iluk subtracts products at kept places off the diagonal there. Products at the
 * diagonal block, and R times all others, go to the diagonal block. */
static double *dense_factors(const karst_matrix *A, bool dilu, int level, double modified)
{
  const int64_t n = karst_matrix_rows(A), rows = karst_matrix_block_rows(A);
  const int b = karst_matrix_block_size(A);
  int *fill = pattern_fill_levels(A);
  double *f = tap_dense(A), *quotient = calloc((size_t)(n * b), sizeof *quotient);
  for (int64_t i = 0; i < rows; i++)
    for (int64_t p = 0; p < i; p++) {
      if (fill[i * rows + p] > level) continue;
      for (int64_t j = p + 1; j < rows; j++) {
        const bool there = j == i || (!dilu && fill[i * rows + j] <= level);
        if (fill[p * rows + j] > level) continue;
        divide(b, n, at(f, n, b, p, p), at(f, n, b, p, j), quotient);
        subtract(b, n, there ? 1 : modified, at(f, n, b, i, p), quotient, at(f, n, b, i, there ? j : i));
      }
    }
  free(fill);
  free(quotient);
  return f;
}

static void against_dense(karst_context *context, const char *name, int level, double modified, const karst_matrix *A)
{
  const int64_t n = karst_matrix_rows(A);
  karst_precond *P = make(context, name, level, modified, A);
  double *r = random_on_host(n), *z = applied(P, r);
  double *f = dense_factors(A, strcmp(name, "dilu") == 0, level, modified);
  dense_solve(n, karst_matrix_block_size(A), f, r);
  const double error = relative_difference(n, z, r);
  tap_ok(error < 1e-11, "%s, level %d, b = %d, R = %g: apply is that of dense blocks (%.1e)", name, level,
         karst_matrix_block_size(A), modified, error);
  karst_precond_destroy(P);
  free(f);
  free(r);
  free(z);
}

/* All block sizes, and 80 rows of very different lengths. */
static void dense(karst_context *context)
{
  const int sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 16};
  for (size_t s = 0; s <= sizeof sizes / sizeof *sizes; s++) {
    const bool last = s == sizeof sizes / sizeof *sizes;
    karst_matrix *A = random_matrix(context,
                                    last           ? 80
                                    : sizes[s] > 8 ? 10
                                                   : 22,
                                    last ? 2 : sizes[s], last ? 0.01 : 0.1);
    for (int level = 0; level < (last ? 1 : 3); level++) {
      row_sums(context, "iluk", level, A);
      against_dense(context, "iluk", level, 0.5, A);
    }
    if (context->backend->dilu) {
      row_sums(context, "dilu", 0, A);
      against_dense(context, "dilu", 0, 0.5, A);
      against_dense(context, "dilu", 0, 0, A);
    }
    karst_matrix_destroy(A);
  }
}

/* The first row of an arrow is so long that other rows search it. On the CPU a set-up in O(n^2) would take minutes. M e
 * = A e shows that the result is right. */
static void long_rows(karst_context *context)
{
  const char *const names[] = {"iluk", "dilu"};
  for (int m = 0; m < (context->backend->dilu ? 2 : 1); m++) {
    /* On a GPU iluk computes all dropped products: n^2 for an arrow. */
    const karst_index rows = m == 0 && !context->backend->host_memory ? 50000 : 300000;
    karst_matrix *A = pattern_arrow_matrix(context, 100, 3), *B = pattern_arrow_matrix(context, rows, 1);
    const int64_t n = karst_matrix_rows(B);
    double *sums = malloc((size_t)n * sizeof *sums), *e = malloc((size_t)n * sizeof *e);
    row_sums(context, names[m], 0, A);
    against_dense(context, names[m], 0, 0.5, A);
    karst_vector *ones = vector_of(context, n, 1), *product = vector_of(context, n, 0);
    tap_need(context, karst_matrix_multiply(B, ones, product), "A e");
    tap_need(context, karst_vector_get(product, n, sums), "A e");
    karst_precond *P = make(context, names[m], 0, 1, B);
    apply_on_host(P, sums, e);
    double error = 0;
    for (int64_t i = 0; i < n; i++) error = fmax(error, fabs(e[i] - 1));
    tap_ok(error < 1e-9, "%s: row sums of an arrow of %ld rows (%.1e)", names[m], (long)n, error);
    karst_precond_destroy(P);
    karst_vector_destroy(ones);
    karst_vector_destroy(product);
    free(sums);
    free(e);
    karst_matrix_destroy(A);
    karst_matrix_destroy(B);
  }
}

/* R = 0 has the bits of no option, and R = 1 has others. */
static void nothing_changes(karst_context *context)
{
  const char *const names[] = {"iluk", "dilu"};
  karst_matrix *A = random_matrix(context, 60, 3, 0.05);
  double r[180], z[3][180];
  for (int i = 0; i < 180; i++) r[i] = tap_random();
  for (int m = 0; m < (context->backend->dilu ? 2 : 1); m++) {
    for (int i = 0; i < 3; i++) {
      const char *const pairs[] = {"precond", names[m], i > 0 ? "modified" : NULL, i == 1 ? "0" : "1", NULL};
      karst_precond *P = precond_from(context, pairs, A);
      apply_on_host(P, r, z[i]);
      karst_precond_destroy(P);
    }
    tap_ok(memcmp(z[0], z[1], sizeof z[0]) == 0 && memcmp(z[0], z[2], sizeof z[0]) != 0,
           "%s: R = 0 has the bits of no option", names[m]);
  }
  karst_matrix_destroy(A);
}

static void refusals(karst_context *context)
{
  static const char *const bad[] = {"-0.5", "nan", "inf", "much"};
  karst_options *options;
  tap_need(context, karst_options_create(context, &options), "options");
  for (int i = 0; i < 4; i++)
    tap_ok(karst_options_set(options, "modified", bad[i]) == KARST_ERROR_OPTION &&
               strstr(karst_context_error(context), "modified"),
           "refused: %s", karst_context_error(context));
  tap_ok(karst_options_set_real(options, "modified", NAN) == KARST_ERROR_OPTION, "so is a NaN as a number");
  karst_options_destroy(options);
}

/* The factors follow new values, with long rows too. */
static void update(karst_context *context)
{
  const char *const names[] = {"iluk", "dilu"};
  for (int m = 0; m < (context->backend->dilu ? 2 : 1); m++) {
    karst_matrix *A = random_matrix(context, 80, 2, 0.02);
    const int64_t entries = 4 * karst_matrix_blocks(A);
    double *value = values_on_host(A), r[160], z[2][160];
    karst_precond *P = make(context, names[m], 0, 1, A);
    for (int64_t v = 0; v < entries; v++) value[v] *= 1 + 0.1 * tap_random();
    tap_need(context, karst_matrix_update_values(A, value), "values");
    tap_need(context, karst_precond_update(P), "update");
    for (int i = 0; i < 160; i++) r[i] = tap_random();
    apply_on_host(P, r, z[0]);
    karst_precond_destroy(P);
    P = make(context, names[m], 0, 1, A);
    apply_on_host(P, r, z[1]);
    tap_ok(memcmp(z[0], z[1], sizeof z[0]) == 0, "%s: an update is a set-up from scratch", names[m]);
    karst_precond_destroy(P);
    karst_matrix_destroy(A);
    free(value);
  }
}

/* Each iteration count is that of cg on poisson3d with a random right-hand side. */
static int iterations_of(karst_context *context, const char *precond, int width, double modified)
{
  char grid[64];
  snprintf(grid, sizeof grid, "poisson3d:%dx%dx%d", width, width, width);
  tap_settings options = settings_for("cg", precond);
  options.modified = modified;
  struct problem p = problem_from(context, grid, 1, 7);
  karst_solver *solver = problem_solver(&p, &options);
  const karst_result result = problem_solve(&p, solver);
  karst_solver_destroy(solver);
  problem_destroy(&p);
  return result.reason > 0 ? result.iterations : -1;
}

static void gustafsson(karst_context *context)
{
  const char *const names[] = {"iluk", "dilu"};
  for (int m = 0; m < (context->backend->dilu ? 2 : 1); m++) {
    int count[2][3];
    for (int i = 0; i < 2; i++)
      for (int w = 0; w < 3; w++) count[i][w] = iterations_of(context, names[m], 10 << w, i ? 1 : 0);
    const double plain = (double)count[0][2] / count[0][0], modified = (double)count[1][2] / count[1][0];
    tap_note("%s, grids 10, 20, 40: R = 0 takes %d, %d, %d iterations, R = 1 %d, %d, %d", names[m], count[0][0],
             count[0][1], count[0][2], count[1][0], count[1][1], count[1][2]);
    /* With h a quarter, h^-1 grows by 4 and h^-1/2 by 2; the coarsest grids grow less. */
    tap_ok(count[1][0] > 0 && count[1][2] < count[0][2] && modified < 0.8 * plain,
           "%s: with R = 1 the iterations grow by %.2f, with R = 0 by %.2f", names[m], modified, plain);
  }
}

int main(void)
{
  tap_each_device(dense, "dense blocks");
  tap_each_device(long_rows, "long rows");
  tap_each_device(nothing_changes, "R = 0");
  tap_each_device(refusals, "refusals");
  tap_each_device(update, "update");
  tap_each_device(gustafsson, "iterations against h");
  return tap_done();
}
