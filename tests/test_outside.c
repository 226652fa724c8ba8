/* A preconditioner from outside the library may fail: the solve under way ends with its status, gives back the best x
 * that it had, leaks nothing, and the next solve is as if nothing had happened. */
#include "failing_allocator.h"
#include "tap.h"

#include "../solver/solver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A preconditioner of the library's with another apply, as one from outside would have it. */
static struct outside {
  const struct karst_precond_ops *inner;
  struct karst_precond_ops ops;
  int calls, fail_at; /* the apply that fails, from 1; 0: none */
} outside;

static karst_status apply(const karst_precond *p, const double *r, double *z)
{
  if (++outside.calls == outside.fail_at)
    return karst_fail(p->context, KARST_ERROR_FILE, "the licence ran out in apply %d", outside.calls);
  return outside.inner->apply(p, r, z);
}

static void replace_apply(karst_precond *precond)
{
  outside.inner = precond->ops;
  outside.ops = *precond->ops;
  outside.ops.apply = apply;
  precond->ops = &outside.ops;
}

struct variant {
  const char *solver, *side, *scale;
};

static const struct variant variants[] = {
    {"gmres", "right", "none"},    {"gmres", "left", "none"},   {"gmres", "right", "diagonal"},
    {"bicgstab", "right", "none"}, {"cg", "right", "none"},     {"orthomin", "right", "none"},
    {"gmres", "left", "diagonal"}, {"cg", "right", "diagonal"},
};
enum { VARIANTS = sizeof variants / sizeof variants[0] };

struct system {
  karst_context *context;
  karst_matrix *A;
  karst_vector *b, *x;
  int64_t n;
};

static struct system make_system(karst_context *context, const char *gallery)
{
  struct system s = {.context = context};
  tap_need(context, karst_gallery_create(context, gallery, 1, &s.A, NULL), gallery);
  s.n = karst_matrix_rows(s.A);
  tap_need(context, karst_vector_create(context, s.n, &s.b), "b");
  tap_need(context, karst_vector_create(context, s.n, &s.x), "x");
  tap_need(context, karst_vector_fill_random(s.b, 3), "b");
  return s;
}

static void destroy_system(struct system *s)
{
  karst_vector_destroy(s->x);
  karst_vector_destroy(s->b);
  karst_matrix_destroy(s->A);
}

/* Targets at the level of rounding: solves restart, and go on as refinement. */
static karst_solver *make_solver(const struct system *s, const struct variant *variant, const char *precond)
{
  karst_options options;
  karst_solver *solver;
  karst_options_default(&options);
  options.solver = variant->solver;
  options.side = variant->side;
  options.scale = variant->scale;
  options.precond = precond;
  options.ordering = "rcm";
  options.restart = 4;
  options.rtol = 3e-16;
  options.max_iterations = 40;
  tap_need(s->context, karst_solver_create(s->context, &options, &solver), "solver");
  tap_need(s->context, karst_solver_setup(solver, s->A), "setup");
  return solver;
}

/* Solves from zero, letting apply number fail_at fail; found: x. */
static karst_status solve(const struct system *s, karst_solver *solver, int fail_at, double *found)
{
  karst_result result;
  tap_need(s->context, karst_vector_fill(s->x, 0), "start");
  outside.calls = 0;
  outside.fail_at = fail_at;
  karst_status status = karst_solver_solve(solver, s->b, s->x, &result);
  tap_need(s->context, karst_vector_get(s->x, s->n, found), "x");
  return status;
}

/* Each apply of a solve fails once. */
static void test_failing_applies(karst_context *context)
{
  struct system s = make_system(context, "poisson2d:7x6");
  const size_t bytes = (size_t)s.n * sizeof(double);
  double *undisturbed = malloc(bytes), *found = malloc(bytes), start;
  tap_need(context, karst_vector_norm(s.b, &start), "norm");
  for (int v = 0; v < VARIANTS; v++) {
    karst_solver *solver = make_solver(&s, &variants[v], "jacobi");
    replace_apply(solver->precond);
    tap_need(context, solve(&s, solver, 0, undisturbed), "solve");
    const int applies = outside.calls;
    int wrong_status = 0, worse = 0, other = 0, better = 0;
    for (int n = 1; n <= applies; n++) {
      char sentence[64];
      karst_status status = solve(&s, solver, n, found);
      snprintf(sentence, sizeof sentence, "the licence ran out in apply %d", n);
      wrong_status += status != KARST_ERROR_FILE || outside.calls != n ||
                      strcmp(karst_context_error(context), sentence) != 0 ||
                      strcmp(karst_solver_explain(solver), "not solved: the call failed") != 0;
      double residual = tap_residual(s.A, s.b, s.x);
      worse += !(residual <= start * (1 + 1e-12));
      better += residual < 0.9 * start;
      tap_need(context, solve(&s, solver, 0, found), "the next solve");
      other += memcmp(found, undisturbed, bytes) != 0;
    }
    const struct variant *is = &variants[v];
    tap_ok(applies > 12 && wrong_status == 0,
           "%s, %s, scale %s: each of %d applies that fails ends the solve, and says so", is->solver, is->side,
           is->scale, applies);
    tap_ok(worse == 0 && better > applies / 2, "x is never worse than the start, and better %d times", better);
    tap_ok(other == 0, "the next solve has the bits of one before");
    karst_solver_destroy(solver);
  }
  free(undisturbed);
  free(found);
  destroy_system(&s);
}

/* What a caller with a method of his own is told. */
static void test_apply_alone(karst_context *context)
{
  struct system s = make_system(context, "poisson2d:7x6");
  karst_precond *M;
  tap_need(context, karst_precond_create(context, NULL, s.A, &M), "preconditioner");
  replace_apply(M);
  outside.calls = 0;
  outside.fail_at = 2;
  karst_status first = karst_precond_apply(M, s.b, s.x), second = karst_precond_apply(M, s.b, s.x),
               third = karst_precond_apply(M, s.b, s.x);
  tap_ok(first == KARST_SUCCESS && second == KARST_ERROR_FILE && third == KARST_SUCCESS,
         "karst_precond_apply returns the status of the apply: %s, %s, %s", karst_status_text(first),
         karst_status_text(second), karst_status_text(third));
  karst_precond_destroy(M);
  destroy_system(&s);
}

static void test_all(karst_context *context)
{
  test_failing_applies(context);
  test_apply_alone(context);
}

static void test_leaks(void)
{
  struct failing_allocator memory = {.fail_at = 0};
  karst_allocator allocator = failing_allocator(&memory);
  karst_context *context;
  tap_need(NULL, karst_context_create(&allocator, &context), "context");
  test_failing_applies(context);
  karst_context_destroy(context);
  tap_ok(memory.outstanding == 0, "solves that fail leak nothing");
}

int main(void)
{
  tap_each_device(test_all, "preconditioners from outside");
  test_leaks();
  return tap_done();
}
