/* DILU applies the inverse of (D + E) D^-1 (D + F), compared with dense blocks, on random patterns that are not
 * symmetric. On 7-point grids its D is that of ILU(0), so that both are the same operator. Singular blocks and NaN are
 * named by block row, and each number of threads gives the same bits. */
#include "lib/matrix/matrix.h"
#include "tests/support/patterns.h"
#include "tests/support/named_values.h"
#include "tests/support/problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static karst_precond *make(karst_context *context, const char *name, double shift, const karst_matrix *A)
{
  tap_settings options = settings_for(NULL, name);
  options.shift = shift;
  return precond_of(context, &options, A);
}

static bool is_here(karst_context *context, const char *what)
{
  if (context->backend->dilu) return true;
  tap_skip("this backend has no dilu", "%s on %s", what, context->backend->name);
  return false;
}

/* Computes X = D^-1 Y for b-by-b blocks; strides are column lengths. */
static void divide(int b, const double *d, const double *y, int64_t stride, double *x)
{
  double *copy = malloc((size_t)(b * b) * sizeof *copy);
  for (int c = 0; c < b; c++) {
    memcpy(copy, d, (size_t)(b * b) * sizeof *copy);
    for (int r = 0; r < b; r++) x[c * b + r] = y[c * stride + r];
    tap_dense_solve(b, copy, x + (ptrdiff_t)c * b);
  }
  free(copy);
}

/* Returns M = (D + E) D^-1 (D + F) as a dense matrix, from the dense A: D block by block as it is defined, and then
 * M = D + E + F + E D^-1 F. */
static double *dense_dilu(const karst_matrix *A)
{
  const int64_t n = karst_matrix_rows(A), rows = karst_matrix_block_rows(A);
  const int b = karst_matrix_block_size(A);
  double *M = tap_dense(A), *a = tap_dense(A);
  double *D = malloc((size_t)(b * b * rows) * sizeof *D), *quotient = malloc((size_t)(b * b) * sizeof *quotient);
  for (int64_t i = 0; i < rows; i++) {
    for (int c = 0; c < b; c++)
      for (int r = 0; r < b; r++) D[(i * b + c) * b + r] = a[(i * b + c) * n + i * b + r];
    for (int64_t k = 0; k < i; k++)
      for (int64_t j = k + 1; j < rows; j++) {
        divide(b, D + k * b * b, a + j * b * n + k * b, n, quotient);
        for (int c = 0; c < b; c++)
          for (int s = 0; s < b; s++)
            for (int r = 0; r < b; r++) {
              const double product = a[(k * b + s) * n + i * b + r] * quotient[c * b + s];
              M[(j * b + c) * n + i * b + r] += product;
              if (j == i) D[(i * b + c) * b + r] -= product;
            }
      }
    for (int c = 0; c < b; c++)
      for (int r = 0; r < b; r++)
        M[(i * b + c) * n + i * b + r] += D[(i * b + c) * b + r] - a[(i * b + c) * n + i * b + r];
  }
  free(a);
  free(D);
  free(quotient);
  return M;
}

static void check(karst_context *context, karst_matrix *A, const char *what)
{
  karst_index row;
  karst_precond *P = make(context, "dilu", 0, A);
  double *M = dense_dilu(A), error = NAN;
  if (karst_precond_outcome(P, &row) == KARST_SOUND) error = applied_error(P, M);
  /* Rows are dominated by their diagonal, so that errors grow little beyond rounding. */
  tap_ok(error < 1e-11, "%s, %ld rows, b = %d: apply is that of dense blocks (%.1e)", what,
         (long)karst_matrix_block_rows(A), karst_matrix_block_size(A), error);
  free(M);
  karst_precond_destroy(P);
  karst_matrix_destroy(A);
}

static void random_patterns(karst_context *context)
{
  const int sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 16, 17, 32};
  if (!is_here(context, "random patterns")) return;
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    struct pattern pattern = pattern_random(sizes[s] > 10 ? 9 : 24, 0.15);
    check(context, pattern_random_matrix(context, &pattern, sizes[s], 1), "a random pattern");
    pattern_free(&pattern);
  }
}

/* One full row and no full column, one full column and no full row, no coupling, one row, and full rows alone. */
static void special_patterns(karst_context *context)
{
  if (!is_here(context, "special patterns")) return;
  for (int kind = 0; kind < 5; kind++) {
    static const char *const what[] = {"a full row", "a full column", "no coupling", "one block row", "a full matrix"};
    const karst_index n = kind == 3 ? 1 : 40;
    struct pattern pattern = pattern_empty(n, (int64_t)n * n);
    karst_index k = 0;
    for (karst_index i = 0; i < n; i++) {
      for (karst_index j = 0; j < n; j++)
        if (kind == 4 || (kind == 0 && i == 11) || (kind == 1 && j == 11)) pattern.column[k++] = j;
      pattern.start[i + 1] = k;
    }
    check(context, pattern_random_matrix(context, &pattern, 1 + kind, 1), what[kind]);
    pattern_free(&pattern);
  }
}

/* An arrow's rows all depend on the first one, which is full: a set-up in O(n^2) would take minutes. D_0 = a_00, and
 * D_i = a_ii - a_i0 a_0i / D_0, for b = 1. */
static void long_row(karst_context *context)
{
  const karst_index n = 300000;
  if (!is_here(context, "a long row")) return;
  karst_matrix *A = pattern_arrow_matrix(context, n, 1);
  karst_precond *P = make(context, "dilu", 0, A);
  double *a = values_on_host(A), *r, *z = applied_to_random(P, tap_seed(), &r), error, sum = 0;
  /* (D + F) z = y with D y_0 = r_0 and D_i y_i = D_i (r_i - a_i0 y_0) / D_i, times D on the left. */
  for (karst_index j = 1; j < n; j++) sum += a[j] * z[j];
  error = fabs(a[0] * z[0] + sum - r[0]);
  for (karst_index i = 1; i < n; i++) {
    const double left = a[n + 2 * (int64_t)(i - 1)], diagonal = a[n + 2 * (int64_t)(i - 1) + 1];
    error = fmax(error, fabs(left * r[0] / a[0] + (diagonal - left * a[i] / a[0]) * z[i] - r[i]));
  }
  tap_ok(error < 1e-9, "dilu of an arrow of %ld rows has the factors of the formula (%.1e)", (long)n, error);
  free(a);
  free(r);
  free(z);
  karst_precond_destroy(P);
  karst_matrix_destroy(A);
}

/* No two neighbours of a cell are neighbours: ILU(0) changes the diagonal blocks alone. */
static void grids_are_ilu0(karst_context *context)
{
  static const char *const grids[] = {"poisson2d:13x11", "poisson3d:9x7x8", "convdiff:7x6x5", "blackoil:5x4x3"};
  if (!is_here(context, "grids")) return;
  for (int g = 0; g < 4; g++)
    for (int b = 1; b <= (g == 2 ? 9 : 1); b += 2) {
      karst_matrix *A = matrix_from(context, grids[g], g == 2 ? b : 0);
      double *z[2];
      for (int i = 0; i < 2; i++) {
        karst_precond *P = make(context, i ? "dilu" : "iluk", 0, A);
        z[i] = applied_to_random(P, 5, NULL);
        karst_precond_destroy(P);
      }
      const double error = relative_difference(karst_matrix_rows(A), z[1], z[0]);
      tap_ok(error < 1e-11, "%s, b = %d: dilu is ILU(0) (%.1e)", grids[g], karst_matrix_block_size(A), error);
      free(z[0]);
      free(z[1]);
      karst_matrix_destroy(A);
    }
}

static int iterations_of(const struct problem *p, const char *driver, const char *precond, const char *ordering)
{
  tap_settings options = settings_for(driver, precond);
  options.ordering = ordering;
  karst_solver *solver = problem_solver(p, &options);
  const karst_result result = problem_solve(p, solver);
  karst_solver_destroy(solver);
  return result.reason > 0 ? result.iterations : -1;
}

static void same_iterations(karst_context *context)
{
  static const char *const drivers[] = {"gmres", "fgmres", "bicgstab", "orthomin", "cg"};
  if (!is_here(context, "iterations")) return;
  for (int g = 0; g < 2; g++) {
    struct problem p = problem_from(context, g ? "convdiff:9x8x7" : "poisson3d:12x11x10", g ? 3 : 1, 0);
    for (int d = 0; d < (g ? 4 : 5); d++) {
      const int iluk = iterations_of(&p, drivers[d], "iluk", "natural");
      const int dilu = iterations_of(&p, drivers[d], "dilu", "natural");
      tap_ok(dilu > 0 && dilu == iluk, "%s, b = %d: as many iterations as with iluk: %d, %d", drivers[d], g ? 3 : 1,
             dilu, iluk);
    }
    problem_destroy(&p);
  }
}

/* With any ordering, dilu of the ordered matrix converges. */
static void orderings(karst_context *context)
{
  static const char *const names[] = {"natural", "rcm", "amd", "metis"};
  if (!is_here(context, "orderings")) return;
  struct problem p = problem_of(context, tap_random_matrix(context, 300, 3, 4, 1.1), 0);
  for (int o = 0; o < 4; o++) {
    const char *features = karst_build_features();
    if ((o == 2 && !strstr(features, "AMD")) || (o == 3 && !strstr(features, "METIS"))) {
      tap_skip("this build has no such ordering", "ordering %s", names[o]);
      continue;
    }
    const int dilu = iterations_of(&p, "gmres", "dilu", names[o]);
    const int jacobi = iterations_of(&p, "gmres", "jacobi", names[o]);
    tap_ok(dilu > 0 && dilu <= jacobi, "ordering %s: %d iterations, with block Jacobi %d", names[o], dilu, jacobi);
  }
  problem_destroy(&p);
}

static void bad_blocks(karst_context *context)
{
  const double singular[9] = {1, 2, 3, 2, 4, 6, 1, 1, 1}, zero[9] = {0};
  if (!is_here(context, "bad blocks")) return;
  karst_matrix *A = tap_random_matrix(context, 25, 3, 2, 1);
  const int64_t entries = 9 * karst_matrix_blocks(A);
  double *good = values_on_host(A);
  karst_index row;
  karst_precond *P = make(context, "dilu", 0, A), *S = make(context, "dilu", 0.25, A);
  replace_row(A, 7, singular);
  tap_need(context, karst_precond_update(P), "update");
  tap_ok(karst_precond_outcome(P, &row) == KARST_SINGULAR_BLOCK && row == 7, "the singular block is named");
  tap_need(context, karst_precond_update(S), "update");
  tap_ok(karst_precond_outcome(S, &row) == KARST_SOUND && tap_precond_number(S, "shifted") == 1,
         "a shift replaces one pivot");
  /* The pivot of a row of zeros is shift times the largest entry of the matrix. */
  replace_row(A, 7, zero);
  double *value = values_on_host(A), largest = 0, pivot[9] = {0};
  for (int64_t v = 0; v < entries; v++) largest = fmax(largest, fabs(value[v]));
  for (int c = 0; c < 3; c++) pivot[4 * c] = 0.25 * largest;
  replace_row(A, 7, pivot);
  double *M = dense_dilu(A);
  replace_row(A, 7, zero);
  tap_need(context, karst_precond_update(S), "update");
  const double error = applied_error(S, M);
  tap_ok(error < 1e-11 && tap_precond_number(S, "shifted") == 1,
         "the matrix's largest entry gives the pivot of a row of zeros (%.1e)", error);
  free(M);
  tap_need(context, karst_matrix_update_values(A, good), "update");
  tap_need(context, karst_precond_update(P), "update");
  tap_ok(karst_precond_outcome(P, &row) == KARST_SOUND && row == -1, "values that are sound again give factors");
  karst_precond_destroy(P);
  karst_precond_destroy(S);
  free(value);
  free(good);
  karst_matrix_destroy(A);
}

/* A NaN anywhere in a row is found: in E, in the diagonal block and in F, with a mirror image and without. The reported
 * row is the first with such an entry. */
static void not_finite(karst_context *context)
{
  if (!is_here(context, "a NaN")) return;
  struct pattern pattern = pattern_random(20, 0.1);
  karst_matrix *A = pattern_random_matrix(context, &pattern, 2, 1);
  const karst_index *start = karst_matrix_row_start(A);
  double *value = values_on_host(A);
  karst_precond *P = make(context, "dilu", 0.1, A);
  int found = 0, all = 0;
  for (karst_index i = 0; i < 20; i++)
    for (karst_index k = start[i]; k < start[i + 1]; k++, all++) {
      karst_index row;
      const int64_t at = 4 * (int64_t)k + tap_random_index(4);
      const double kept = value[at];
      value[at] = all % 2 ? NAN : INFINITY;
      tap_need(context, karst_matrix_update_values(A, value), "update");
      tap_need(context, karst_precond_update(P), "update");
      found += karst_precond_outcome(P, &row) == KARST_NOT_FINITE && row == i;
      value[at] = kept;
    }
  tap_ok(found == all, "the row of an entry that is not finite is named: %d of %d", found, all);
  free(value);
  pattern_free(&pattern);
  karst_precond_destroy(P);
  karst_matrix_destroy(A);
}

/* After an update apply has the bits of a set-up from scratch, and each run has the same. */
static void update(karst_context *context)
{
  if (!is_here(context, "update")) return;
  for (int b = 1; b <= 9; b += 2) {
    karst_matrix *A = tap_random_matrix(context, 60, b, 4, 1);
    const int64_t n = karst_matrix_rows(A), entries = (int64_t)b * b * karst_matrix_blocks(A);
    double *changed = values_on_host(A), *z[3];
    karst_precond *P = make(context, "dilu", 0, A);
    for (int64_t v = 0; v < entries; v++) changed[v] *= 1 + 0.1 * tap_random();
    tap_need(context, karst_matrix_update_values(A, changed), "values");
    tap_need(context, karst_precond_update(P), "update");
    for (int i = 0; i < 3; i++) {
      karst_precond *fresh = make(context, "dilu", 0, A);
      z[i] = applied_to_random(i == 2 ? fresh : P, 3, NULL);
      karst_precond_destroy(fresh);
    }
    tap_ok(memcmp(z[0], z[1], (size_t)n * sizeof **z) == 0, "b = %d: the same bits in each run", b);
    tap_ok(memcmp(z[0], z[2], (size_t)n * sizeof **z) == 0, "b = %d: an update is a set-up from scratch", b);
    for (int i = 0; i < 3; i++) free(z[i]);
    free(changed);
    karst_precond_destroy(P);
    karst_matrix_destroy(A);
  }
}

/* The grid has enough lines that threads share the sweeps. */
static void threads_agree(void)
{
  for (int b = 1; b <= 3; b += 2) {
    const int64_t n = (int64_t)b * 40 * 36 * 30;
    double *z[3];
    for (int t = 0; t < 3; t++) {
      karst_context *context = tap_context();
      tap_need(context, tap_set_threads(context, t + 1), "threads");
      karst_matrix *A = matrix_from(context, "convdiff:40x36x30", b);
      karst_precond *P = make(context, "dilu", 0, A);
      z[t] = applied_to_random(P, 5, NULL);
      karst_precond_destroy(P);
      karst_matrix_destroy(A);
      karst_context_destroy(context);
    }
    for (int t = 1; t < 3; t++)
      tap_ok(memcmp(z[0], z[t], (size_t)n * sizeof **z) == 0, "b = %d: the same bits with 1 and %d threads", b, t + 1);
    for (int t = 0; t < 3; t++) free(z[t]);
  }
}

/* DILU keeps one block a row, and reports this memory. */
static void reports(karst_context *context)
{
  if (!is_here(context, "reports")) return;
  karst_solver_info info;
  karst_matrix *A = matrix_from(context, "convdiff:7x6x5", 3);
  karst_precond *P = make(context, "dilu", 0, A);
  tap_need(context, karst_precond_get_info(P, &info), "info");
  tap_ok(info.factor_entries == 9 * 7 * 6 * 5 && info.memory >= 8 * info.factor_entries,
         "the factors are a block a row: %lld", (long long)info.factor_entries);
  tap_ok(tap_precond_number(P, "levels_lower") == 7 + 6 + 5 - 2 &&
             tap_precond_number(P, "levels_upper") == 7 + 6 + 5 - 2 && tap_precond_number(P, "shifted") == 0,
         "level sets are hyperplanes");
  karst_precond_destroy(P);
  karst_matrix_destroy(A);
}

int main(void)
{
  tap_each_device(random_patterns, "random patterns");
  tap_each_device(special_patterns, "special patterns");
  tap_each_device(long_row, "a long row");
  tap_each_device(grids_are_ilu0, "grids");
  tap_each_device(same_iterations, "iterations");
  tap_each_device(orderings, "orderings");
  tap_each_device(bad_blocks, "bad blocks");
  tap_each_device(not_finite, "a NaN");
  tap_each_device(update, "update");
  tap_each_device(reports, "reports");
  if (strstr(karst_build_features(), "OpenMP"))
    threads_agree();
  else
    tap_skip("built without OpenMP", "the same bits with 1, 2 and 3 threads");
  return tap_done();
}
