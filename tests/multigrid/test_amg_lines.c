/* amg with the smoothers lines and adi: on the finest level x = x + omega M^-1 (f - A x) with M of the preconditioners of
 * these names. They take fewer iterations than l1-jacobi where couplings differ, also in the pressure system of cpr. */
#include "lib/backend/backend.h"
#include "tests/support/multigrid.h"
#include "tests/support/random_wells.h"
#include "tests/support/refusal.h"

#include <string.h>

static const char *const smoothers[] = {"lines", "adi"};

static bool lacks_kernels(const karst_context *context, const char *what)
{
  return tap_lacks_kernels(context->backend->lines, "lines", what);
}

/* Four sweeps, which a hierarchy of one level takes if it has too many rows for an inverse. precision: of level 0, whose
 * residuals have a rounding of each entry. */
static void check_sweeps(karst_context *context, const char *smoother, const char *precision, double scale)
{
  enum { SWEEPS = 4 };
  const double omega = 0.7, allowed = strcmp(precision, "double") == 0 ? 1e-12 : 1e-5;
  karst_matrix *A = matrix_from(context, "convdiff:9x11x13", 1);
  const int64_t n = karst_matrix_rows(A);
  double *value = values_on_host(A), *r;
  for (int64_t k = 0; k < karst_matrix_blocks(A); k++) value[k] *= scale;
  tap_need(context, karst_matrix_update_values(A, value), "values");
  karst_precond *M = precond_from(context,
                                  PAIRS("precond", "amg", "amg-levels", "1", "amg-smoother", smoother, "amg-omega",
                                        "0.7", "amg-precision", precision, "line-direction", "y"),
                                  A);
  karst_precond *S = precond_from(context, PAIRS("precond", smoother, "line-direction", "y"), A);
  for (int values = 0; values < 2; values++) {
    double *found = applied_to_random(M, 7, &r), *x = tap_memory(n, sizeof *x);
    for (int64_t i = 0; i < n; i++) x[i] = 0;
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
      karst_vector *X = vector_from(context, n, x), *AX = vector_of(context, n, 0);
      tap_need(context, karst_matrix_multiply(A, X, AX), "product");
      double *residual = vector_on_host(AX);
      for (int64_t i = 0; i < n; i++) residual[i] = r[i] - residual[i];
      double *step = applied(S, residual);
      for (int64_t i = 0; i < n; i++) x[i] += omega * step[i];
      free(residual);
      free(step);
      karst_vector_destroy(X);
      karst_vector_destroy(AX);
    }
    const double error = relative_difference(n, found, x);
    tap_ok(error <= allowed, "%s, %s, scale %g: four sweeps%s (%.1e)", smoother, precision, scale,
           values ? " with new values" : "", error);
    free(found);
    free(x);
    free(r);
    for (int64_t k = 0; k < karst_matrix_blocks(A); k++) value[k] *= 1 + 0.1 * tap_random();
    tap_need(context, karst_matrix_update_values(A, value), "values");
    tap_need(context, karst_precond_update(M), "update");
    tap_need(context, karst_precond_update(S), "update");
  }
  free(value);
  karst_precond_destroy(M);
  karst_precond_destroy(S);
  karst_matrix_destroy(A);
}

static void sweeps(karst_context *context)
{
  if (lacks_kernels(context, "sweeps")) return;
  for (int s = 0; s < 2; s++) {
    check_sweeps(context, smoothers[s], "double", 1);
    check_sweeps(context, smoothers[s], "double", 1e-200);
    check_sweeps(context, smoothers[s], "float", 1e100);
  }
}

static int count(karst_context *context, const char *spec, const char *smoother, const char *driver,
                 const char *ordering)
{
  struct problem p = problem_from(context, spec, 1, 3);
  const int iterations =
      count_iterations(&p, PAIRS("precond", "amg", "amg-smoother", smoother, "solver", driver, "ordering", ordering));
  problem_destroy(&p);
  return iterations;
}

static void iterations(karst_context *context)
{
  static const char *const specs[] = {"anisotropic:24x24x24,epsx=1,epsy=1,epsz=1000",
                                      "anisotropic:24x24x24,epsx=1,epsy=0.01,epsz=0.0001"};
  if (lacks_kernels(context, "iterations")) return;
  for (int i = 0; i < 2; i++) {
    const int jacobi = count(context, specs[i], "l1-jacobi", "cg", "natural"),
              lines = count(context, specs[i], "lines", "cg", "natural"),
              ordered = count(context, specs[i], "lines", "cg", "rcm"),
              adi = count(context, specs[i], "adi", "fgmres", "natural");
    tap_ok(lines > 0 && 5 * lines <= 4 * jacobi, "%s: lines take %d iterations of cg, l1-jacobi %d", specs[i], lines,
           jacobi);
    tap_ok(abs(ordered - lines) <= 1, "and %d with the rows in another order", ordered);
    tap_ok(adi > 0 && 5 * adi <= 4 * jacobi, "and adi %d of fgmres", adi);
  }
}

/* The pressure system of cpr has the grid of the matrix, also with rows for wells. */
static void in_cpr(karst_context *context)
{
  static struct well_arrays w;
  if (lacks_kernels(context, "cpr")) return;
  for (int with_wells = 0; with_wells < 2; with_wells++)
    for (int s = 0; s < 2; s++) {
      struct problem p = problem_from(context, "blackoil:12x11x6", 0, 3);
      const karst_index cells = karst_matrix_block_rows(p.A);
      if (with_wells) draw_wells(&w, cells, karst_matrix_block_size(p.A), 7, 0.1);
      karst_wells *wells = with_wells ? make_wells(context, cells, &w) : NULL;
      karst_solver *solver =
          solver_from(context, PAIRS("precond", "cpr", "first.amg-smoother", smoothers[s], "first.line-direction", "z",
                                     "solver", "fgmres", "ordering", s ? "rcm" : "natural"));
      tap_need(context, karst_solver_set_wells(solver, wells), "wells");
      tap_need(context, karst_solver_setup(solver, p.A), "set-up");
      const int first = count_solve(&p, solver);
      tap_ok(first > 0, "cpr%s with %s: %d iterations", with_wells ? " and wells" : "", smoothers[s], first);
      if (s == 0)
        tap_ok(strcmp(tap_solver_text(solver, "first_line_direction_used"), "z") == 0, "lines along z are reported");
      tap_need(context, karst_solver_update(solver), "update");
      tap_ok(count_solve(&p, solver) == first, "the same after an update");
      karst_solver_destroy(solver);
      karst_wells_destroy(wells);
      problem_destroy(&p);
    }
}

/* ---- outcomes and refusals ---- */

static void outcomes(karst_context *context)
{
  static const karst_index start[] = {0, 2, 4, 5}, column[] = {0, 1, 0, 1, 2};
  static const double singular[] = {1, -1, -1, 1, 1}, sound[] = {2, -1, -1, 2, 1};
  if (lacks_kernels(context, "outcomes")) return;
  for (int s = 0; s < 2; s++) {
    karst_index row;
    karst_matrix *A = matrix_of(context, 3, 1, start, column, singular);
    tap_need(context, karst_matrix_set_grid(A, 3, 1, 1), "grid");
    karst_precond *M = precond_from(context, PAIRS("precond", "amg", "amg-smoother", smoothers[s]), A);
    const karst_reason reason = karst_precond_outcome(M, &row);
    tap_ok(reason == KARST_SINGULAR_BLOCK && row == 1, "%s: a singular line, block row %lld", smoothers[s],
           (long long)row);
    tap_need(context, karst_matrix_update_values(A, sound), "values");
    tap_need(context, karst_precond_update(M), "update");
    tap_ok(karst_precond_outcome(M, &row) == KARST_SOUND, "and sound with other values");
    karst_precond_destroy(M);
    karst_matrix_destroy(A);
  }
}

static void refusals(karst_context *context)
{
  static const karst_index start[] = {0, 2, 4, 6, 8, 10}, column[] = {0, 3, 0, 1, 0, 2, 3, 4, 1, 4};
  static const double ones[10] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  if (lacks_kernels(context, "refusals")) return;
  for (int s = 0; s < 2; s++) {
    karst_precond *M = NULL;
    karst_matrix *A = matrix_of(context, 5, 1, start, column, ones);
    karst_options *options = options_of(context, PAIRS("precond", "amg", "amg-smoother", smoothers[s]));
    check_refusal(context, karst_precond_create(context, options, A, &M), KARST_ERROR_MATRIX, M,
                  "no grid in natural order has the matrix's pattern", smoothers[s]);
    karst_options_destroy(options);
    karst_matrix_destroy(A);
  }
}

static void without_kernels(void)
{
  karst_context *context = tap_context();
  karst_matrix *A = matrix_from(context, "poisson2d:3x3", 1);
  struct karst_backend bare = *context->backend;
  bare.lines = NULL;
  for (int s = 0; s < 2; s++) {
    karst_precond *M = NULL;
    karst_options *options = options_of(context, PAIRS("precond", "amg", "amg-smoother", smoothers[s]));
    context->backend = &bare;
    check_refusal(context, karst_precond_create(context, options, A, &M), KARST_ERROR_NOT_BUILT, M,
                  s ? "amg-smoother adi is not available on cpu" : "amg-smoother lines is not available on cpu",
                  smoothers[s]);
    context->backend = karst_backends[0];
    karst_options_destroy(options);
  }
  karst_matrix_destroy(A);
  karst_context_destroy(context);
}

int main(void)
{
  tap_each_device(sweeps, "sweeps");
  tap_each_device(iterations, "iterations");
  tap_each_device(in_cpr, "cpr");
  tap_each_device(outcomes, "outcomes");
  tap_each_device(refusals, "refusals");
  without_kernels();
  return tap_done();
}
