/* amg on awkward matrices: one and two unknowns, diagonal and decoupled ones, singular systems with their null space,
 * indefinite and negative definite ones, rows much longer than others, values near the ends of the range of doubles.
 * Zero rows, NaN and infinities are outcomes with their block row, and later values are used again. */
#include "tests/support/multigrid.h"

#include <string.h>

/* The error of x for the solution of ones, after a solve. */
static double error_of_ones(const struct problem *p)
{
  double *x = vector_on_host(p->x), *ones = tap_memory(p->n, sizeof *ones);
  for (int64_t i = 0; i < p->n; i++) ones[i] = 1;
  const double error = relative_difference(p->n, x, ones);
  free(x);
  free(ones);
  return error;
}

/* The system whose solution is 1 in each element. */
static struct problem problem_of_ones(karst_context *context, karst_matrix *A)
{
  struct problem p = problem_of(context, A, 0);
  tap_need(context, karst_vector_fill(p.x, 1), "x");
  tap_need(context, karst_matrix_multiply(A, p.x, p.b), "b");
  return p;
}

static const char *const kinds[][5] = {{"amg-coarsening", "pmis", NULL},
                                       {"amg-coarsening", "aggregation", NULL},
                                       {"amg-coarse-rows", "1", "amg-smoother", "chebyshev", NULL}};
enum { KINDS = sizeof kinds / sizeof *kinds };

static karst_solver *make_solver(karst_context *context, const char *solver, int kind)
{
  const char *const more = kinds[kind][2] ? kinds[kind][2] : "amg-levels";
  return solver_from(context, PAIRS("precond", "amg", "solver", solver, "rtol", "1e-8", "max-iterations", "300",
                                    kinds[kind][0], kinds[kind][1], more, kinds[kind][2] ? kinds[kind][3] : "20"));
}

/* Solves for ones; prints a line for each kind. Destroys A. */
static void solves(karst_context *context, karst_matrix *A, const char *solver, int most, const char *what)
{
  struct problem p = problem_of_ones(context, A);
  for (int kind = 0; kind < KINDS; kind++) {
    karst_solver *s = make_solver(context, solver, kind);
    tap_need(context, karst_solver_setup(s, p.A), what);
    const int iterations = count_solve(&p, s);
    const double error = error_of_ones(&p);
    tap_ok(iterations >= 0 && iterations <= most && error <= 1e-5, "%s, %s: %d iterations, error %.1e", what,
           kinds[kind][1], iterations, error);
    karst_solver_destroy(s);
  }
  problem_destroy(&p);
}

static karst_matrix *diagonal(karst_context *context, karst_index n, double first, double factor)
{
  struct pattern pattern = pattern_empty(n, n);
  double *value = tap_memory(n, sizeof *value);
  for (karst_index i = 0; i < n; i++, first *= factor) {
    pattern.column[i] = i;
    pattern.start[i + 1] = i + 1;
    value[i] = first;
  }
  karst_matrix *A = pattern_matrix(context, &pattern, 1, value);
  pattern_free(&pattern);
  free(value);
  return A;
}

/* Grids of Poisson's with a number of rows replaced by those of the unit matrix, in rows and columns. */
static karst_matrix *with_unit_rows(karst_context *context, karst_index every)
{
  karst_matrix *A = matrix_from(context, "poisson3d:14x14x14", 1);
  double *value = values_on_host(A);
  for (karst_index i = 0; i < A->block_rows; i++)
    for (karst_index k = karst_matrix_row_start(A)[i]; k < karst_matrix_row_start(A)[i + 1]; k++) {
      const karst_index j = karst_matrix_column(A)[k];
      if (i % every == 0 || j % every == 0) value[k] = i == j;
    }
  tap_need(context, karst_matrix_update_values(A, value), "values");
  free(value);
  return A;
}

/* A grid with unknowns of wells, each coupled with every third cell of it. */
static karst_matrix *with_wells(karst_context *context, karst_index n, karst_index wells)
{
  struct pattern grid = pattern_grid(n, n, n), all = pattern_empty(grid.n + wells, grid.start[grid.n] + wells * grid.n);
  double *value = tap_memory(grid.start[grid.n] + wells * grid.n + wells, sizeof *value);
  karst_index k = 0;
  for (karst_index i = 0; i < grid.n + wells; i++) {
    const karst_index begin = k;
    double sum = 1e-3;
    for (karst_index j = 0; j < grid.n + wells; j++) {
      const bool well = (i >= grid.n) != (j >= grid.n) && (i + j) % 3 == 0;
      if (i != j && !well && (i >= grid.n || j >= grid.n || !pattern_has(&grid, i, j))) continue;
      all.column[k] = j;
      sum -= value[k++] = i == j ? 0 : well ? -0.1 : -1;
    }
    for (karst_index e = begin; e < k; e++)
      if (all.column[e] == i) value[e] = sum;
    all.start[i + 1] = k;
  }
  karst_matrix *A = pattern_matrix(context, &all, 1, value);
  pattern_free(&grid);
  pattern_free(&all);
  free(value);
  return A;
}

static void small(karst_context *context)
{
  const double one[] = {-3}, two[] = {2, -1, -1, 3}, decoupled[] = {2, 0, 0, -3}, upper[] = {1e-3, 5, 0, 7};
  solves(context, matrix_from_rows(context, 1, 1, one), "gmres", 1, "one unknown");
  solves(context, matrix_from_rows(context, 2, 1, two), "cg", 2, "two unknowns");
  solves(context, matrix_from_rows(context, 2, 1, decoupled), "gmres", 3, "two decoupled unknowns");
  solves(context, matrix_from_rows(context, 2, 1, upper), "gmres", 3, "a triangle");
  solves(context, diagonal(context, 3000, 2, 1), "cg", 40, "2 I, which cannot be coarsened");
  solves(context, diagonal(context, 100, 1e-10, 1.5), "bicgstab", 60, "a diagonal of 18 orders of magnitude");
  solves(context, with_unit_rows(context, 50), "cg", 30, "2 % of unit rows");
  solves(context, with_unit_rows(context, 2), "cg", 30, "unit rows that decouple all others");
  solves(context, with_wells(context, 14, 3), "cg", 40, "wells' rows of 900 entries");
}

static karst_matrix *times(karst_matrix *A, double factor)
{
  double *value = values_on_host(A);
  for (int64_t v = 0; v < karst_entries(A); v++) value[v] *= factor;
  tap_need(A->context, karst_matrix_update_values(A, value), "values");
  free(value);
  return A;
}

/* A diagonal below the smallest eigenvalues makes some of them negative. */
static karst_matrix *shifted(karst_context *context, double shift)
{
  karst_matrix *A = matrix_from(context, "poisson3d:12x12x12", 1);
  for (karst_index i = 0; i < A->block_rows; i++) set_entry(A, i, i, 0, 6 - shift);
  return A;
}

static void signs(karst_context *context)
{
  solves(context, times(matrix_from(context, "poisson3d:14x14x14", 1), -1), "gmres", 20, "negative definite");
  solves(context, shifted(context, 0.4), "gmres", 80, "indefinite"); /* the smallest eigenvalue is 0.17 - 0.4 */
}

/* Diffusion without a boundary has the constants as its null space. A last level of one row would hide that. */
static void singular(karst_context *context)
{
  for (int kind = 0; kind < 2; kind++)
    for (int precision = 0; precision < 2; precision++) {
      struct problem p = problem_of(context, random_field(context, 12, 1, false), 9);
      double *b = vector_on_host(p.b), mean = 0;
      for (int64_t i = 0; i < p.n; i++) mean += b[i] / (double)p.n;
      for (int64_t i = 0; i < p.n; i++) b[i] -= mean;
      tap_need(context, karst_vector_set(p.b, p.n, b), "a consistent right-hand side");
      karst_solver *solver =
          solver_from(context, PAIRS("precond", "amg", "solver", "cg", "rtol", "1e-8", "max-iterations", "100",
                                     kinds[kind][0], kinds[kind][1], "amg-precision", precision ? "double" : "float"));
      tap_need(context, karst_solver_setup(solver, p.A), "set-up");
      const int iterations = count_solve(&p, solver);
      tap_ok(iterations > 0 && iterations <= 60, "no boundary, %s, %s: %d iterations", kinds[kind][1],
             precision ? "double" : "float", iterations);
      tap_ok(tap_solver_number(solver, "amg_pinned") == 1, "and one unknown of the last level is pinned, not %g",
             tap_solver_number(solver, "amg_pinned"));
      free(b);
      problem_end(&p, solver);
    }
}

/* M^-1 r times a factor for A and r times those factors, which are powers of two: the same bits. */
static bool same_scaled(karst_context *context, double of_A, double of_r, const double *r, const double *expected)
{
  karst_matrix *A = times(matrix_from(context, "poisson3d:14x13x12", 1), of_A);
  const int64_t n = karst_matrix_rows(A);
  double *scaled = tap_memory(n, sizeof *scaled);
  for (int64_t i = 0; i < n; i++) scaled[i] = of_r * r[i];
  karst_precond *M = precond_from(context, PAIRS("precond", "amg"), A);
  double *z = applied(M, scaled);
  for (int64_t i = 0; i < n; i++) z[i] = z[i] / of_r * of_A;
  const bool same = memcmp(z, expected, (size_t)n * sizeof *z) == 0;
  free(scaled);
  free(z);
  karst_precond_destroy(M);
  karst_matrix_destroy(A);
  return same;
}

/* Levels in float hold any values that double holds, in A and in b. */
static void range(karst_context *context)
{
  static const double factors[] = {1, 0x1p664, 0x1p-664}; /* 1e200 and its inverse */
  karst_matrix *A = matrix_from(context, "poisson3d:14x13x12", 1);
  karst_precond *M = precond_from(context, PAIRS("precond", "amg"), A);
  double *r, *expected = applied_to_random(M, 8, &r);
  for (int f = 0; f < 3; f++) {
    for (int g = 0; g < 3; g++)
      if (f + g != 3) /* that result is beyond the range of double */
        tap_ok(same_scaled(context, factors[f], factors[g], r, expected), "A times %.0e, r times %.0e: the same bits",
               factors[f], factors[g]);
    struct problem p = problem_of(context, times(matrix_from(context, "poisson3d:14x13x12", 1), factors[f]), 0);
    const int iterations = count_iterations(&p, PAIRS("precond", "amg", "solver", "cg"));
    tap_ok(iterations == 9, "A times %.0e: solved in %d iterations", factors[f], iterations);
    problem_destroy(&p);
  }
  free(r);
  free(expected);
  karst_precond_destroy(M);
  karst_matrix_destroy(A);
}

/* r = 0 gives z = 0, and a NaN in r one in z. */
static void zero_and_nan(karst_context *context)
{
  karst_matrix *A = matrix_from(context, "poisson3d:9x9x9", 1);
  const int64_t n = karst_matrix_rows(A);
  karst_precond *M = precond_from(context, PAIRS("precond", "amg"), A);
  double *r = tap_memory(n, sizeof *r), *z = applied(M, r);
  tap_ok(memcmp(r, z, (size_t)n * sizeof *r) == 0, "r = 0 gives z = 0");
  for (int i = 0; i < 2; i++) {
    bool found = false;
    r[n / 2] = i ? INFINITY : NAN;
    apply_on_host(M, r, z);
    for (int64_t k = 0; k < n; k++) found = found || !isfinite(z[k]);
    tap_ok(found, "%s in r is seen in z", i ? "an infinity" : "a NaN");
  }
  free(r);
  free(z);
  karst_precond_destroy(M);
  karst_matrix_destroy(A);
}

/* Bad values in set-up and in an update; good ones later are as good as at first. */
static void outcomes(karst_context *context)
{
  static const double bad[] = {NAN, INFINITY, 0};
  const karst_index row = 77;
  for (int i = 0; i < 6; i++) {
    struct problem p = problem_own(context, "poisson2d:20x20");
    karst_solver *solver =
        solver_from(context, PAIRS("precond", "amg", "solver", "cg", "ordering", i % 2 ? "rcm" : "natural"));
    double *good = values_on_host(p.A);
    const int expected = count_iterations(&p, PAIRS("precond", "amg", "solver", "cg"));
    if (i >= 3) tap_need(context, karst_solver_setup(solver, p.A), "set-up");
    if (bad[i % 3] != 0)
      set_entry(p.A, row, row, 0, bad[i % 3]);
    else
      replace_row(p.A, row, &bad[i % 3]);
    tap_need(context, i >= 3 ? karst_solver_update(solver) : karst_solver_setup(solver, p.A), "bad values");
    karst_result result = problem_solve(&p, solver);
    tap_ok(result.reason == (bad[i % 3] == 0 ? KARST_SINGULAR_BLOCK : KARST_NOT_FINITE) && result.block_row == row,
           "%g in block row %d of %s: %s", bad[i % 3], (int)result.block_row, i >= 3 ? "an update" : "set-up",
           karst_solver_explain(solver));
    tap_need(context, karst_matrix_update_values(p.A, good), "good values");
    tap_need(context, karst_solver_update(solver), "update");
    const int iterations = count_solve(&p, solver);
    tap_ok(iterations > 0 && abs(iterations - expected) <= 1, "good values are solved: %d iterations", iterations);
    free(good);
    problem_end(&p, solver);
  }
}

/* A row that is zero only in float beside the others is refused by what it is, and not in double. */
static void too_small(karst_context *context)
{
  static const char *const precision[] = {"float", "double"};
  static const karst_index start[] = {0, 1, 2, 3}, column[] = {0, 1, 2};
  static const double value[] = {1, 1e-60, 1};
  for (int i = 0; i < 2; i++) {
    struct problem p = {.context = context, .A = matrix_of(context, 3, 1, start, column, value), .n = 3};
    tap_need(context, karst_vector_create(context, 3, &p.b), "b");
    tap_need(context, karst_vector_create(context, 3, &p.x), "x");
    tap_need(context, karst_vector_fill(p.b, 1), "b");
    karst_solver *solver = solver_from(context, PAIRS("precond", "amg", "amg-precision", precision[i]));
    tap_need(context, karst_solver_setup(solver, p.A), "set-up");
    const karst_result result = problem_solve(&p, solver);
    const bool refused = result.reason == KARST_SINGULAR_BLOCK && result.block_row == 1;
    tap_ok(i == 0 ? refused && strstr(karst_solver_explain(solver), "too small for amg-precision float")
                  : result.reason == KARST_CONVERGED_RTOL,
           "1e-60 beside 1 in %s: %s", precision[i], karst_solver_explain(solver));
    problem_end(&p, solver);
  }
}

/* Coarsening that ends early is smoothed, with a warning. */
static void early_end(karst_context *context)
{
  struct warnings warnings = {0};
  struct problem p = problem_own(context, "poisson3d:20x20x20");
  karst_context_set_message(context, keep_warning, &warnings);
  const int two = count_iterations(&p, PAIRS("precond", "amg", "solver", "cg", "amg-levels", "2"));
  tap_ok(two > 0 && warnings.count == 1 && strstr(warnings.text, "amg-levels"), "two levels: %d iterations; %s", two,
         warnings.text);
  karst_matrix *A = diagonal(context, 3000, 2, 1);
  warnings.count = 0;
  karst_precond *M = precond_from(context, PAIRS("precond", "amg"), A);
  tap_ok(tap_precond_number(M, "amg_levels") == 1 && warnings.count == 1, "no couplings: one level; %s", warnings.text);
  karst_context_set_message(context, NULL, NULL);
  karst_precond_destroy(M);
  karst_matrix_destroy(A);
  problem_destroy(&p);
}

int main(void)
{
  tap_each_device(small, "small and decoupled matrices");
  tap_each_device(signs, "signs");
  tap_each_device(singular, "a null space");
  tap_each_device(range, "the range of values");
  tap_each_device(zero_and_nan, "zeros and NaN");
  tap_each_device(outcomes, "outcomes");
  tap_each_device(too_small, "a row too small for float");
  tap_each_device(early_end, "early ends");
  return tap_done();
}
