/* A registered preconditioner may fail. The solve then ends with the failure's status and the best x so far, leaks
 * nothing, and the next solve is not affected. The preconditioner may also be another operator in each apply: fgmres
 * and orthomin accept this, and the other drivers refuse one that says so. */
#include "tests/support/driver.h"
#include "tests/support/failing_allocator.h"

#include "lib/vector/vector.h"

#include "solver/solver.h"
#include "tests/support/problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One of the library's preconditioners with another apply, as a registered one would have. */
static struct script {
  const struct karst_precond_ops *inner;
  struct karst_precond_ops ops;
  int calls, fail_at; /* fail_at: number of the apply that fails, from 1; 0: none */
  bool varies;        /* every other apply does nothing */
} script;

static karst_status apply(const karst_precond *p, const double *r, double *z)
{
  if (++script.calls == script.fail_at)
    return karst_fail(p->context, KARST_ERROR_FILE, "the licence ran out in apply %d", script.calls);
  if (!script.varies || script.calls % 2) return script.inner->apply(p, r, z);
  p->context->backend->copy(p->context, karst_matrix_rows(p->A), r, z);
  return KARST_SUCCESS;
}

static void replace_apply(karst_precond *precond)
{
  script.inner = precond->ops;
  script.ops = *precond->ops;
  script.ops.apply = apply;
  precond->ops = &script.ops;
  precond->calls_registered = true;
}

struct variant {
  const char *solver, *side, *scale;
};

static const struct variant variants[] = {
    {"gmres", "right", "none"},    {"gmres", "left", "none"},       {"gmres", "right", "diagonal"},
    {"bicgstab", "right", "none"}, {"cg", "right", "none"},         {"orthomin", "right", "none"},
    {"gmres", "left", "diagonal"}, {"cg", "right", "diagonal"},     {"fgmres", "right", "none"},
    {"fgmres", "right", "block"},  {"richardson", "right", "none"}, {"richardson", "right", "block"},
};
enum { VARIANTS = sizeof variants / sizeof variants[0] };

/* Makes a solver with a target at the level of rounding, so that solves restart and go on as refinement. */
static karst_solver *make_solver(const struct problem *s, const struct variant *variant, const char *precond)
{
  tap_settings options = settings_for(variant->solver, precond);
  options.side = variant->side;
  options.scale = variant->scale;
  options.ordering = "rcm";
  options.restart = 4;
  options.rtol = 3e-16;
  options.max_iterations = 40;
  return problem_solver(s, &options);
}

/* Solves from zero; apply number fail_at fails. found: x; claimed: the residual that the result reports for it. */
static karst_status solve(const struct problem *s, karst_solver *solver, int fail_at, double *found, double *claimed)
{
  karst_result result;
  tap_need(s->context, karst_vector_fill(s->x, 0), "start");
  script.calls = 0;
  script.fail_at = fail_at;
  karst_status status = karst_solver_solve(solver, s->b, s->x, &result);
  *claimed = result.residual;
  tap_need(s->context, karst_vector_get(s->x, s->n, found), "x");
  return status;
}

/* Each apply of a solve fails once. */
static void test_failing_applies(karst_context *context)
{
  struct problem s = problem_from(context, "poisson2d:7x6", 1, 3);
  const size_t bytes = (size_t)s.n * sizeof(double);
  double *undisturbed = malloc(bytes), *found = malloc(bytes), claimed;
  const double start = vector_norm(s.b);
  script.varies = false;
  for (int v = 0; v < VARIANTS; v++) {
    karst_solver *solver = make_solver(&s, &variants[v], "jacobi");
    replace_apply(solver->precond);
    tap_need(context, solve(&s, solver, 0, undisturbed, &claimed), "solve");
    const int applies = script.calls;
    int wrong_status = 0, worse = 0, other = 0, better = 0;
    for (int n = 1; n <= applies; n++) {
      char sentence[64];
      karst_status status = solve(&s, solver, n, found, &claimed);
      snprintf(sentence, sizeof sentence, "the licence ran out in apply %d", n);
      wrong_status += status != KARST_ERROR_FILE || script.calls != n ||
                      strcmp(karst_context_error(context), sentence) != 0 ||
                      strcmp(karst_solver_explain(solver), "not solved: the call failed") != 0;
      double residual = tap_residual(s.A, s.b, s.x);
      worse += !(residual <= start * (1 + 1e-12)) || !(fabs(claimed - residual) <= 1e-12 * start);
      better += residual < 0.9 * start;
      tap_need(context, solve(&s, solver, 0, found, &claimed), "the next solve");
      other += memcmp(found, undisturbed, bytes) != 0;
    }
    const struct variant *is = &variants[v];
    tap_ok(applies > 12 && wrong_status == 0,
           "%s, %s, scale %s: each of %d applies that fails ends the solve, and says so", is->solver, is->side,
           is->scale, applies);
    const int least = strcmp(is->solver, "fgmres") == 0 ? applies - 2 : applies / 2; /* x does not need the last */
    tap_ok(worse == 0 && better > least, "x is never worse than the start, and is better %d times", better);
    tap_ok(other == 0, "the next solve has the bits of one before");
    karst_solver_destroy(solver);
  }
  free(undisturbed);
  free(found);
  problem_destroy(&s);
}

/* The caller of karst_precond_apply gets these statuses. */
static void test_apply_alone(karst_context *context)
{
  struct problem s = problem_from(context, "poisson2d:7x6", 1, 3);
  karst_precond *M;
  tap_need(context, karst_precond_create(context, NULL, s.A, &M), "preconditioner");
  replace_apply(M);
  script.calls = 0;
  script.fail_at = 2;
  script.varies = false;
  karst_status first = karst_precond_apply(M, s.b, s.x), second = karst_precond_apply(M, s.b, s.x),
               third = karst_precond_apply(M, s.b, s.x);
  tap_ok(first == KARST_SUCCESS && second == KARST_ERROR_FILE && third == KARST_SUCCESS,
         "karst_precond_apply returns the status of the apply: %s, %s, %s", karst_status_text(first),
         karst_status_text(second), karst_status_text(third));
  karst_precond_destroy(M);
  problem_destroy(&s);
}

/* Block Jacobi, block ILU(0), and a few steps of GMRES take turns. */
struct turns {
  karst_precond *jacobi, *iluk;
  karst_solver *inner;
  karst_vector *r, *z; /* of the inner solve */
  int calls;
};

static karst_status turn_apply(const karst_precond *p, const double *r, double *z)
{
  struct turns *turns = p->data;
  const struct karst_backend *backend = p->context->backend;
  const int64_t n = karst_matrix_rows(p->A);
  karst_result result;
  int turn = turns->calls++ % 3;
  if (turn == 0) return turns->jacobi->ops->apply(turns->jacobi, r, z);
  if (turn == 1) return turns->iluk->ops->apply(turns->iluk, r, z);
  backend->copy(p->context, n, r, turns->r->values);
  backend->fill(p->context, n, 0, turns->z->values);
  karst_status status = karst_solver_solve(turns->inner, turns->r, turns->z, &result);
  backend->copy(p->context, n, turns->z->values, z);
  return status;
}

static const struct karst_precond_ops turn_ops = {
    .name = "turns", .setup = precond_succeed, .update = precond_succeed, .apply = turn_apply};

static struct turns make_turns(const struct problem *s)
{
  struct turns turns = {.calls = 0};
  tap_settings options = settings_for(NULL, NULL);
  tap_need(s->context, tap_precond_create(s->context, &options, s->A, &turns.iluk), "iluk");
  options.precond = "jacobi";
  options.max_iterations = 3;
  tap_need(s->context, tap_precond_create(s->context, &options, s->A, &turns.jacobi), "jacobi");
  tap_need(s->context, tap_solver_setup(s->context, &options, s->A, &turns.inner), "inner solver");
  turns.r = vector_of(s->context, s->n, 0);
  turns.z = vector_of(s->context, s->n, 0);
  return turns;
}

static void destroy_turns(struct turns *turns)
{
  karst_precond_destroy(turns->jacobi);
  karst_precond_destroy(turns->iluk);
  karst_solver_destroy(turns->inner);
  karst_vector_destroy(turns->r);
  karst_vector_destroy(turns->z);
}

/* Solves with a driver and a preconditioner that takes turns. varies: whether it says so. */
static karst_status solve_in_turns(const struct problem *s, const char *solver, const char *orthogonalise, bool varies,
                                   double target, karst_result *result)
{
  struct turns turns = make_turns(s);
  karst_precond precond = {
      .ops = &turn_ops, .context = s->context, .A = s->A, .data = &turns, .varies = varies, .block_row = -1};
  karst_krylov_limits limits;
  karst_krylov *krylov;
  tap_settings options = settings_for(solver, NULL);
  options.orthogonalise = orthogonalise;
  options.restart = 20;
  options.max_iterations = 300;
  *result = (karst_result){.reason = KARST_SOUND};
  karst_status status = make_driver(&options, s->A, &precond, &limits, &krylov);
  if (!status) {
    tap_need(s->context, karst_vector_fill(s->x, 0), "start");
    tap_need(s->context, karst_krylov_solve(krylov, s->b->values, s->x->values, target, 0, result), "solve");
  }
  karst_krylov_destroy(krylov);
  destroy_turns(&turns);
  return status;
}

static void test_turns(karst_context *context)
{
  static const char *const flexible[][2] = {
      {"fgmres", "auto"}, {"fgmres", "once"}, {"fgmres", "twice"}, {"orthomin", "auto"}, {"richardson", "auto"}};
  static const char *const fixed[] = {"gmres", "bicgstab", "cg"};
  struct problem s = problem_from(context, "convdiff:9x8x7", 1, 3);
  double target;
  int iterations = 0;
  karst_result result;
  const double norm = vector_norm(s.b);
  target = 1e-10 * norm;
  for (int i = 0; i < 5; i++) {
    tap_need(context, solve_in_turns(&s, flexible[i][0], flexible[i][1], true, target, &result), flexible[i][0]);
    double residual = tap_residual(s.A, s.b, s.x);
    if (i == 0) iterations = result.iterations;
    tap_ok(result.reason == KARST_CONVERGED_RTOL && residual <= target * (1 + 1e-12),
           "%s, Gram-Schmidt %s, with three preconditioners in turns: %.1e of %.1e after %d iterations", flexible[i][0],
           flexible[i][1], residual, target, result.iterations);
  }
  tap_need(context, solve_in_turns(&s, "gmres", "auto", false, target, &result), "gmres, not declared");
  tap_ok(result.reason <= 0 || result.iterations > 2 * iterations,
         "gmres does not converge, or takes more iterations: %s after %d iterations", karst_reason_text(result.reason),
         result.iterations);
  for (int i = 0; i < 3; i++) {
    karst_status status = solve_in_turns(&s, fixed[i], "auto", true, target, &result);
    const char *sentence = karst_context_error(context);
    tap_ok(status == KARST_ERROR_OPTION && strstr(sentence, fixed[i]) && strstr(sentence, "turns varies") &&
               strstr(sentence, "fgmres"),
           "%s refuses it: %s", fixed[i], sentence);
  }
  problem_destroy(&s);
}

/* In a solver that orders and scales, every other apply does nothing. */
static void test_varying_in_a_solver(karst_context *context)
{
  static const struct variant flexible[] = {{"fgmres", "right", "none"},       {"fgmres", "right", "diagonal"},
                                            {"fgmres", "right", "block"},      {"orthomin", "right", "none"},
                                            {"orthomin", "right", "diagonal"}, {"orthomin", "right", "block"}};
  struct problem s = problem_from(context, "blackoil:6x5x4", 1, 3);
  const double norm = vector_norm(s.b);
  for (int v = 0; v < 6; v++) {
    tap_settings options = settings_for(flexible[v].solver, NULL);
    options.scale = flexible[v].scale;
    options.ordering = "rcm";
    karst_solver *solver = problem_solver(&s, &options);
    replace_apply(solver->precond);
    script.varies = true;
    script.calls = script.fail_at = 0;
    const karst_result result = problem_solve(&s, solver);
    double residual = tap_residual(s.A, s.b, s.x);
    tap_ok(result.reason == KARST_CONVERGED_RTOL && residual <= options.rtol * norm * (1 + 1e-12),
           "%s, scale %s, with ILU(0) every other time: %.1e of %.1e after %d iterations", flexible[v].solver,
           flexible[v].scale, residual, options.rtol * norm, result.iterations);
    karst_solver_destroy(solver);
  }
  problem_destroy(&s);
}

/* The memory of Z is reported. */
static void test_memory(karst_context *context)
{
  enum { RESTART = 12 };
  static const char *const solvers[] = {"gmres", "fgmres"};
  struct problem s = problem_from(context, "poisson2d:30x30", 1, 3);
  int64_t memory[2], vectors = RESTART * s.n * (int64_t)sizeof(double);
  for (int i = 0; i < 2; i++) {
    tap_settings options = settings_for(solvers[i], NULL);
    options.restart = RESTART;
    karst_solver *solver = problem_solver(&s, &options);
    const karst_solver_info info = info_of(solver);
    memory[i] = info.memory;
    karst_solver_destroy(solver);
  }
  tap_ok(memory[1] - memory[0] >= vectors && memory[1] - memory[0] < vectors + vectors / 20,
         "fgmres holds restart vectors more than gmres: %lld bytes and %lld", (long long)memory[0],
         (long long)memory[1]);
  problem_destroy(&s);
}

static void test_all(karst_context *context)
{
  test_turns(context);
  test_varying_in_a_solver(context);
  test_memory(context);
  test_failing_applies(context);
  test_apply_alone(context);
}

static void test_leaks(void)
{
  struct failing_allocator memory = {.fail_at = 0};
  karst_context *context = failing_context(&memory);
  test_failing_applies(context);
  karst_context_destroy(context);
  tap_ok(memory.outstanding == 0, "solves that fail leak nothing");
}

int main(void)
{
  tap_each_device(test_all, "registered preconditioners");
  test_leaks();
  return tap_done();
}
