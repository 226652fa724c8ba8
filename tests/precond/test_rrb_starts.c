/* test_rrb_starts.c - cg with rrb works on half of the unknowns, and the start has all of them. The reported residual
 * is that of x, and x is no worse than the start. */
#include "lib/backend/backend.h"
#include "tests/support/problem.h"

#include <math.h>
#include <stdio.h>

enum { LARGEST = 56 /* rows where the elements of x are looked at */ };

static karst_solver *make_solver(const struct problem *p, const char *norm, double rtol, int most)
{
  tap_settings settings = settings_for("cg", "rrb");
  settings.norm = norm;
  settings.rtol = rtol;
  settings.max_iterations = most;
  return problem_solver(p, &settings);
}

/* Adds 1 to the eliminated elements of x. */
static void change_eliminated(const struct problem *p, int nx)
{
  double x[LARGEST];
  tap_need(p->context, karst_vector_get(p->x, p->n, x), "x");
  for (int64_t i = 0; i < p->n; i++)
    if ((i % nx + i / nx) % 2 == 1) x[i] += 1;
  tap_need(p->context, karst_vector_set(p->x, p->n, x), "x");
}

/* Solves from x and checks the report. */
static void check(const struct problem *p, karst_solver *solver, const char *what)
{
  const double before = tap_residual(p->A, p->b, p->x);
  const karst_result result = solved(solver, p->b, p->x);
  const double after = tap_residual(p->A, p->b, p->x);
  if (!tap_ok(fabs(after - result.residual) <= 1e-6 * after + 1e-12 && after <= before + 1e-12,
              "%s: the residual %.3e is reported as %.3e, and that of the start is %.3e", what, after, result.residual,
              before))
    tap_note("%s", karst_solver_explain(solver));
}

/* An iteration or two may raise the residual. */
static void test_few_iterations(karst_context *context)
{
  static const char *const specs[] = {"unitsquare:33x33", "poisson2d:9x1", "jump2d:16x15,width=3"};
  if (tap_lacks_kernels(context->backend->rrb, "rrb", "few iterations")) return;
  for (int s = 0; s < 3; s++)
    for (int most = 0; most < 4; most++) {
      struct problem p = problem_from(context, specs[s], 1, tap_seed());
      karst_solver *solver = make_solver(&p, "true", 1e-8, most);
      char what[80];
      snprintf(what, sizeof what, "%s, %d iterations", specs[s], most);
      tap_need(context, karst_vector_fill(p.x, 0), "start");
      check(&p, solver, what);
      karst_solver_destroy(solver);
      problem_destroy(&p);
    }
}

/* A start that is the solution but for the eliminated unknowns needs no iteration. */
static void test_wrong_eliminated(karst_context *context)
{
  static const struct {
    const char *spec;
    int nx;
  } problems[] = {{"poisson2d:9x1", 9}, {"poisson2d:3x3", 3}, {"unitsquare:8x7", 8}};
  static const char *const norms[] = {"true", "preconditioned"};
  static const double rtol[] = {0, 1e-17, 1e-15, 1e-9};
  if (tap_lacks_kernels(context->backend->rrb, "rrb", "what is eliminated")) return;
  for (int s = 0; s < 3; s++)
    for (int o = 0; o < 8; o++) {
      struct problem p = problem_from(context, problems[s].spec, 1, tap_seed());
      karst_solver *solver = make_solver(&p, norms[o / 4], rtol[o % 4], 200);
      char what[100];
      snprintf(what, sizeof what, "%s, norm %s, rtol %g", problems[s].spec, norms[o / 4], rtol[o % 4]);
      tap_need(context, karst_vector_fill(p.x, 0), "start");
      check(&p, solver, what);
      change_eliminated(&p, problems[s].nx);
      check(&p, solver, what);
      tap_ok(tap_residual(p.A, p.b, p.x) < 1e-6, "%s: the eliminated unknowns are computed", what);
      karst_solver_destroy(solver);
      problem_destroy(&p);
    }
}

/* A NaN in the start is reported, even where the iteration does not read it and any residual would do. */
static void test_not_finite(karst_context *context)
{
  if (tap_lacks_kernels(context->backend->rrb, "rrb", "a NaN")) return;
  for (int t = 0; t < 4; t++) {
    struct problem p = problem_from(context, "poisson2d:6x5", 1, tap_seed());
    karst_solver *solver = make_solver(&p, t % 2 ? "preconditioned" : "true", 1e300, 100);
    double x[30] = {0};
    const int at = 7 + t / 2;
    x[at] = NAN;
    tap_need(context, karst_vector_set(p.x, p.n, x), "start");
    const karst_result result = solved(solver, p.b, p.x);
    tap_ok(result.reason == KARST_NOT_FINITE && result.block_row == at && result.iterations == 0, "a NaN: %s",
           karst_solver_explain(solver));
    karst_solver_destroy(solver);
    problem_destroy(&p);
  }
}

/* A norm whose square overflows. */
static void test_out_of_range(karst_context *context)
{
  if (tap_lacks_kernels(context->backend->rrb, "rrb", "out of range")) return;
  for (int t = 0; t < 2; t++) {
    struct problem p = problem_from(context, "poisson2d:6x5", 1, tap_seed());
    karst_solver *solver = make_solver(&p, t ? "preconditioned" : "true", 1e-8, 100);
    tap_need(context, karst_vector_fill(p.x, 1e200), "start");
    const karst_result result = solved(solver, p.b, p.x);
    tap_ok(result.reason == KARST_OUT_OF_RANGE, "a start of 1e200: %s", karst_solver_explain(solver));
    karst_solver_destroy(solver);
    problem_destroy(&p);
  }
}

int main(void)
{
  tap_each_device(test_few_iterations, "few iterations");
  tap_each_device(test_wrong_eliminated, "what is eliminated");
  tap_each_device(test_not_finite, "a NaN");
  tap_each_device(test_out_of_range, "out of range");
  return tap_done();
}
