/* amg is a fixed linear operator: M^-1 (a x + c y) = a M^-1 x + c M^-1 y to rounding, symmetric if A is, with the same
 * bits in every apply, for every number of threads, and after an update with the same values as after set-up. */
#include "tests/support/multigrid.h"

#include <string.h>

static const char *const kinds[][7] = {
    {"precond", "amg", "amg-precision", "double", NULL},
    {"precond", "amg", NULL},
    {"precond", "amg", "amg-smoother", "chebyshev", "amg-cycle", "w", NULL},
    {"precond", "amg", "amg-coarsening", "aggregation", NULL},
    {"precond", "amg", "amg-smoother", "jacobi", "amg-sweeps", "2", NULL},
    {"precond", "amg", "amg-smoother", "lines", NULL},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static const char *name_of(int kind) { return kinds[kind][2] ? kinds[kind][3] : "defaults"; }

/* Rounding errors of a cycle, relative to its result: some hundreds of roundings in double, also with matrices in
 * float, which a vector meets as they are. */
static const double rounding = 1e-13;

/* The same of the matrices: products of levels in float make entries that differ from those of the transpose. */
static double asymmetry(int kind) { return kind == 0 ? 1e-13 : 3e-5; }

static double dot(int64_t n, const double *x, const double *y)
{
  double sum = 0;
  for (int64_t i = 0; i < n; i++) sum += x[i] * y[i];
  return sum;
}

static void linear(karst_context *context)
{
  static const char *const specs[] = {"poisson3d:12x13x11", "anisotropic:20x20x10,epsz=1e-4", "convdiff:20x20x10"};
  for (int s = 0; s < 3; s++) {
    karst_matrix *A = matrix_from(context, specs[s], 1);
    const int64_t n = karst_matrix_rows(A);
    for (int kind = 0; kind < KINDS; kind++) {
      karst_precond *M = precond_from(context, kinds[kind], A);
      double *x = random_on_host(n), *y = random_on_host(n), *sum = tap_memory(n, sizeof *sum);
      for (int64_t i = 0; i < n; i++) sum[i] = 2.385 * x[i] - 1e3 * y[i];
      double *Mx = applied(M, x), *My = applied(M, y), *found = applied(M, sum), *again = applied(M, sum);
      const double xMy = dot(n, x, My), yMx = dot(n, y, Mx), size = sqrt(dot(n, x, Mx) * dot(n, y, My));
      const bool same = memcmp(found, again, (size_t)n * sizeof *found) == 0;
      for (int64_t i = 0; i < n; i++) sum[i] = 2.385 * Mx[i] - 1e3 * My[i];
      const double error = relative_difference(n, found, sum);
      tap_ok(error <= rounding, "%s, %s: linear up to %.1e", specs[s], name_of(kind), error);
      tap_ok(same, "and the same bits in each apply");
      if (s < 2) tap_ok(fabs(xMy - yMx) <= asymmetry(kind) * size, "symmetric up to %.1e", fabs(xMy - yMx) / size);
      if (s < 2) tap_ok(dot(n, x, Mx) > 0 && dot(n, y, My) > 0, "and positive");
      free(x);
      free(y);
      free(sum);
      free(Mx);
      free(My);
      free(found);
      free(again);
      karst_precond_destroy(M);
    }
    karst_matrix_destroy(A);
  }
}

/* Two set-ups and updates with the same values. */
static void same_bits(karst_context *context)
{
  karst_matrix *A = random_field(context, 16, 2, true);
  const size_t bytes = (size_t)karst_matrix_rows(A) * sizeof(double);
  for (int kind = 0; kind < KINDS; kind++) {
    karst_precond *M = precond_from(context, kinds[kind], A), *other = precond_from(context, kinds[kind], A);
    double *r, *first = applied_to_random(M, 3, &r), *second = applied(other, r);
    tap_ok(memcmp(first, second, bytes) == 0, "%s: two set-ups have the same bits", name_of(kind));
    for (int i = 0; i < 2; i++) {
      tap_need(context, karst_precond_update(M), "update");
      apply_on_host(M, r, second);
      tap_ok(memcmp(first, second, bytes) == 0, "update %d with the same values has the bits of set-up", i + 1);
    }
    free(r);
    free(first);
    free(second);
    karst_precond_destroy(M);
    karst_precond_destroy(other);
  }
  karst_matrix_destroy(A);
}

/* M^-1 r and the iterates of a solve in a context with so many threads. */
static double *result_of(const karst_matrix *A, const char *const *pairs, int threads, int *iterations)
{
  karst_context *context = tap_context();
  tap_need(context, tap_set_threads(context, threads), "threads");
  struct problem p = problem_of(context, matrix_copied(context, A), 7);
  karst_solver *solver = solver_from(context, pairs);
  tap_need(context, karst_solver_setup(solver, p.A), "set-up");
  tap_need(context, karst_solver_update(solver), "update");
  *iterations = count_solve(&p, solver);
  double *x = vector_on_host(p.x);
  problem_end(&p, solver);
  karst_context_destroy(context);
  return x;
}

static void threads(const char *spec, const char *const *pairs, const char *what)
{
  karst_context *context = tap_context();
  karst_matrix *A = spec ? matrix_from(context, spec, 0) : random_field(context, 24, 3, true);
  int iterations[3];
  double *expected = result_of(A, pairs, 1, &iterations[0]);
  for (int t = 2; t <= 3; t++) {
    double *found = result_of(A, pairs, t, &iterations[t - 1]);
    tap_ok(iterations[0] > 0 && iterations[t - 1] == iterations[0] &&
               memcmp(found, expected, (size_t)karst_matrix_rows(A) * sizeof *found) == 0,
           "%s: %d threads give the bits of one after %d iterations", what, t, iterations[0]);
    free(found);
  }
  free(expected);
  karst_matrix_destroy(A);
  karst_context_destroy(context);
}

int main(void)
{
  tap_each_device(linear, "a linear operator");
  tap_each_device(same_bits, "the same bits");
  if (strstr(karst_build_features(), "OpenMP")) {
    threads(NULL, PAIRS("precond", "amg", "solver", "cg"), "amg");
    threads(NULL, PAIRS("precond", "amg", "solver", "bicgstab", "amg-coarsening", "aggregation", "rtol", "1e-2"),
            "aggregation");
    threads("blackoil:30x30x8,dt=1", PAIRS("precond", "cpr", "solver", "bicgstab"), "cpr");
    threads("blackoil:30x30x8,dt=1", PAIRS("precond", "cpr", "cpr-balance", "20", "cpr-weights", "quasi-impes"),
            "quasi-impes");
  } else {
    tap_skip("built without OpenMP", "threads");
  }
  return tap_done();
}
