/* The preconditioner hypre, BoomerAMG as the peer of amg: it is symmetric for a symmetric matrix, takes the iterations
 * of amg alone and within cpr, and new values do what a new set-up does. A row of zeros and a NaN are named. Where it
 * cannot be used, a sentence says why. */
#include "tests/support/problem.h"
#include "tools/src/peers/peers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* r' M^-1 s = s' M^-1 r up to rounding, with each smoother. */
static void test_symmetric(karst_context *context)
{
  static const char *const smoothers[] = {"l1-jacobi", "l1-gauss-seidel"};
  for (int i = 0; i < 2; i++) {
    karst_matrix *A = matrix_from(context, "poisson2d:23x17", 0);
    karst_precond *M = precond_from(context, PAIRS("precond", "hypre", "amg-smoother", smoothers[i]), A);
    double *r, *s, *z = applied_to_random(M, tap_seed(), &r), *y = applied_to_random(M, tap_seed() + 1, &s);
    double difference = 0, size = 0;
    for (int k = 0; k < 23 * 17; k++) difference += s[k] * z[k] - r[k] * y[k], size += fabs(s[k] * z[k]);
    tap_ok(fabs(difference) < 1e-12 * size, "the cycle with %s is symmetric (%.1e)", smoothers[i], difference / size);
    free(r), free(s), free(z), free(y);
    karst_precond_destroy(M);
    karst_matrix_destroy(A);
  }
}

static int iterations(karst_context *context, const char *spec, const char *const *pairs)
{
  struct problem p = problem_from(context, spec, 0, 0);
  karst_options *options = options_of(context, pairs);
  karst_solver *solver;
  tap_need(context, karst_solver_create(context, options, &solver), "solver");
  tap_need(context, karst_solver_setup(solver, p.A), "set-up");
  const karst_result result = problem_solve(&p, solver);
  karst_options_destroy(options);
  problem_end(&p, solver);
  return result.reason > 0 ? result.iterations : -1;
}

/* Both break ties by random numbers of their own, so that the coarse rows differ. */
static void test_peer(karst_context *context)
{
  static const char *const specs[] = {"poisson2d:60x60", "poisson3d:20x20x20", "anisotropic:16x16x16,epsz=1e-4"};
  for (int i = 0; i < 3; i++) {
    const int own = iterations(context, specs[i], PAIRS("precond", "amg", "amg-omega", "1", "solver", "cg"));
    const int peer = iterations(context, specs[i], PAIRS("precond", "hypre", "solver", "cg"));
    tap_ok(own > 0 && peer > 0 && abs(own - peer) <= 2, "%s: %d iterations with hypre, %d with amg", specs[i], peer,
           own);
  }
  const char *spec = "blackoil:20x20x5,dt=1";
  const int own = iterations(context, spec, PAIRS("precond", "cpr", "first.amg-omega", "1", "solver", "fgmres"));
  const int peer = iterations(context, spec, PAIRS("precond", "cpr", "first", "hypre", "solver", "fgmres"));
  tap_ok(own > 0 && peer > 0 && abs(own - peer) <= 2, "%s: cpr takes %d iterations with hypre, %d with amg", spec, peer,
         own);
}

static void test_update(karst_context *context)
{
  const double sound = 4, nan = NAN, zero = 0;
  karst_index row;
  karst_matrix *A = matrix_from(context, "poisson2d:23x17", 0);
  karst_precond *M = precond_from(context, PAIRS("precond", "hypre"), A);
  replace_row(A, 7, &zero);
  tap_need(context, karst_precond_update(M), "update");
  tap_ok(karst_precond_outcome(M, &row) == KARST_SINGULAR_BLOCK && row == 7, "a row of zeros is named");
  replace_row(A, 7, &nan);
  tap_need(context, karst_precond_update(M), "update");
  tap_ok(karst_precond_outcome(M, &row) == KARST_NOT_FINITE && row == 7, "a NaN is named");
  replace_row(A, 7, &sound);
  tap_need(context, karst_precond_update(M), "update");
  karst_precond *fresh = precond_from(context, PAIRS("precond", "hypre"), A);
  double *z = applied_to_random(M, tap_seed(), NULL), *y = applied_to_random(fresh, tap_seed(), NULL);
  tap_ok(karst_precond_outcome(M, &row) == KARST_SOUND && largest_difference(23 * 17, z, y) == 0,
         "after an update M^-1 r has the bits of a new set-up");
  free(z), free(y);
  karst_precond_destroy(fresh);
  karst_precond_destroy(M);
  karst_matrix_destroy(A);
}

/* Whether a matrix is refused with these words. */
static void expect_sentence(karst_context *context, int b, karst_status expected, const char *words)
{
  karst_matrix *A = tap_random_matrix(context, 3, b, 1, 1);
  karst_options *options = options_of(context, PAIRS("precond", "hypre"));
  karst_precond *M;
  const karst_status status = karst_precond_create(context, options, A, &M);
  tap_ok(status == expected && strstr(karst_context_error(context), words), "b = %d is refused on %s: %s", b,
         karst_context_device(context), karst_context_error(context));
  karst_precond_destroy(M);
  karst_options_destroy(options);
  karst_matrix_destroy(A);
}

static void hypre(karst_context *context)
{
  tap_need(context, tool_peers_register(context), "register");
  if (!karst_context_is_host(context)) {
    expect_sentence(context, 1, KARST_ERROR_NOT_BUILT, "it runs on cpu");
    return;
  }
  expect_sentence(context, 2, KARST_ERROR_MATRIX, "--precond cpr --first hypre");
  test_symmetric(context);
  test_peer(context);
  test_update(context);
}

int main(void)
{
  const char *missing = tool_peers_explain("precond", "hypre");
  tap_ok(!tool_peers_explain("solver", "hypre") && !tool_peers_explain("first", "iluk"), "no other name is explained");
  if (missing) {
    tap_ok(strstr(missing, "--with-hypre") && tool_peers_explain("second.first", "hypre") == missing,
           "the commands say why it is missing: %s", missing);
    tap_skip("built without hypre", "BoomerAMG as a preconditioner");
  } else {
    tap_each_device(hypre, "hypre's BoomerAMG");
  }
  return tap_done();
}
