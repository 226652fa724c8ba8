/* test_keep.c - new values with the factorization of earlier ones: the solution is that of the new values, and no
 * factorization runs. */
#include "lib/matrix/matrix.h"
#include "tests/support/failing_allocator.h"
#include "tests/support/problem.h"

#include <stdlib.h>
#include <string.h>

static const char *const preconds[] = {"none", "jacobi", "iluk", "parilu"};
static const char *const orderings[] = {"natural", "rcm"};
static const char *const scales[] = {"none", "diagonal", "block"};

enum { BLOCK = 3, ROWS = 40, PRECONDS = 4 };

/* Earlier and new values of the matrix, as many as it stores. */
static double *before, *after;

static struct problem make_problem(karst_context *context)
{
  struct problem p = problem_of(context, tap_random_matrix(context, ROWS, BLOCK, 4, 1.1), tap_seed());
  before = values_on_host(p.A);
  after = values_on_host(p.A);
  for (int64_t i = 0; i < karst_entries(p.A); i++) after[i] *= 1.3 + 0.1 * tap_random();
  return p;
}

static void destroy_problem(struct problem *p)
{
  problem_destroy(p);
  free(before);
  free(after);
}

static karst_solver *make_solver(const struct problem *p, const char *precond, const char *ordering, const char *scale)
{
  tap_settings settings = settings_for(NULL, precond);
  settings.ordering = ordering;
  settings.scale = scale;
  settings.rtol = 1e-10;
  tap_need(p->context, karst_matrix_update_values(p->A, before), "values");
  return problem_solver(p, &settings);
}

static karst_status multiply(void *user, const karst_vector *x, karst_vector *y)
{
  return karst_matrix_multiply(user, x, y);
}

/* A solver of the earlier values with the matrix of the new ones as operator takes the same iterations. */
static void test_same_as_operator(const struct problem *p, const karst_result *kept)
{
  karst_matrix *later;
  karst_solver *solver = make_solver(p, "iluk", "natural", "none");
  tap_need(p->context,
           karst_matrix_create(p->context, ROWS, BLOCK, karst_matrix_row_start(p->A), karst_matrix_column(p->A), after,
                               KARST_COPY, &later),
           "matrix");
  tap_need(p->context, karst_solver_set_operator(solver, multiply, later), "operator");
  const karst_result result = problem_solve(p, solver);
  tap_ok(result.reason > 0 && result.iterations == kept->iterations,
         "as many iterations as with an operator of the new values: %d, %d", kept->iterations, result.iterations);
  karst_solver_destroy(solver);
  karst_matrix_destroy(later);
}

static void test_solutions(const struct problem *p, const char *precond, const char *ordering, const char *scale)
{
  karst_solver *solver = make_solver(p, precond, ordering, scale);
  karst_solver_info info, later;
  karst_result refused;
  double norm;
  tap_need(p->context, karst_vector_norm(p->b, &norm), "norm");
  tap_need(p->context, karst_solver_get_info(solver, &info), "info");
  tap_need(p->context, karst_matrix_update_values(p->A, after), "new values");
  const bool waits = karst_solver_solve(solver, p->b, p->x, &refused) == KARST_ERROR_ARGUMENT;
  tap_need(p->context, karst_solver_keep(solver), "keep");
  const karst_result kept = problem_solve(p, solver);
  const double residual = tap_residual(p->A, p->b, p->x);
  tap_need(p->context, karst_solver_get_info(solver, &later), "info");
  tap_ok(waits && kept.reason == KARST_CONVERGED_RTOL && residual <= 1.001e-10 * norm &&
             memcmp(&info.time_factor, &later.time_factor, sizeof info.time_factor) == 0,
         "%s, %s, %s: %d iterations to the solution of the new values, and no factorization", precond, ordering, scale,
         kept.iterations);
  tap_need(p->context, karst_solver_update(solver), "update");
  const karst_result fresh = problem_solve(p, solver);
  tap_ok(fresh.reason == KARST_CONVERGED_RTOL && (fresh.iterations <= kept.iterations + 1),
         "factors of the new values take no more iterations: %d", fresh.iterations);
  karst_solver_destroy(solver);
  if (strcmp(precond, "iluk") == 0 && strcmp(ordering, "natural") == 0 && strcmp(scale, "none") == 0)
    test_same_as_operator(p, &kept);
}

/* A preconditioner alone gives the same bits as before. */
static void test_precond(const struct problem *p, const char *name)
{
  tap_settings settings = settings_for(NULL, name);
  tap_need(p->context, karst_matrix_update_values(p->A, before), "values");
  karst_precond *M = precond_of(p->context, &settings, p->A);
  tap_need(p->context, karst_precond_apply(M, p->b, p->x), "apply");
  double *first = vector_on_host(p->x);
  tap_need(p->context, karst_matrix_update_values(p->A, after), "new values");
  const bool waits = karst_precond_apply(M, p->b, p->x) == KARST_ERROR_ARGUMENT;
  tap_need(p->context, karst_precond_keep(M), "keep");
  tap_need(p->context, karst_vector_fill(p->x, 0), "z");
  tap_need(p->context, karst_precond_apply(M, p->b, p->x), "apply");
  double *second = vector_on_host(p->x);
  tap_ok(waits && memcmp(first, second, (size_t)p->n * sizeof *first) == 0, "%s alone is applied as before", name);
  free(first);
  free(second);
  karst_precond_destroy(M);
}

/* keep is refused without a factorization, also with good values. */
static void test_refusals(const struct problem *p)
{
  karst_solver *solver = make_solver(p, "iluk", "rcm", "none"), *bare;
  karst_precond *M;
  double *singular = tap_memory(karst_entries(p->A), sizeof *singular);
  tap_need(p->context, karst_solver_create(p->context, NULL, &bare), "solver");
  tap_ok(karst_solver_keep(bare) == KARST_ERROR_ARGUMENT && karst_solver_keep(NULL) == KARST_ERROR_ARGUMENT &&
             karst_precond_keep(NULL) == KARST_ERROR_ARGUMENT,
         "keep is refused before set-up");
  tap_need(p->context, karst_precond_create(p->context, NULL, p->A, &M), "preconditioner");
  tap_need(p->context, karst_matrix_update_values(p->A, singular), "singular values");
  tap_need(p->context, karst_solver_update(solver), "update");
  tap_need(p->context, karst_precond_update(M), "update");
  tap_ok(karst_solver_keep(solver) == KARST_ERROR_ARGUMENT && strstr(karst_context_error(p->context), "cannot be kept"),
         "keep is refused after a singular block: %s", karst_context_error(p->context));
  tap_ok(karst_precond_keep(M) == KARST_ERROR_ARGUMENT && strstr(karst_context_error(p->context), "cannot be kept"),
         "keep of a preconditioner alone is refused: %s", karst_context_error(p->context));
  tap_ok(problem_solve(p, solver).reason == KARST_SINGULAR_BLOCK, "the solve reports the singular block");
  tap_need(p->context, karst_matrix_update_values(p->A, after), "values");
  tap_ok(karst_solver_keep(solver) == KARST_ERROR_ARGUMENT, "keep is refused with good values that are not factored");
  tap_need(p->context, karst_solver_update(solver), "update");
  tap_need(p->context, karst_solver_keep(solver), "keep");
  tap_ok(problem_solve(p, solver).reason == KARST_CONVERGED_RTOL, "keep is accepted after good values are factored");
  free(singular);
  karst_precond_destroy(M);
  karst_solver_destroy(bare);
  karst_solver_destroy(solver);
}

/* If the new values have no block scaling, the solve ends, and the factors are kept for later values. */
static void test_scaling(const struct problem *p)
{
  karst_solver *solver = make_solver(p, "iluk", "rcm", "block");
  tap_need(p->context, karst_matrix_update_values(p->A, after), "values");
  double *singular = values_on_host(p->A);
  const karst_index row = 11;
  for (int64_t k = karst_matrix_row_start(p->A)[row]; k < karst_matrix_row_start(p->A)[row + 1]; k++)
    if (karst_matrix_column(p->A)[k] == row) memset(singular + k * BLOCK * BLOCK, 0, BLOCK * BLOCK * sizeof *singular);
  tap_need(p->context, karst_matrix_update_values(p->A, singular), "values");
  tap_need(p->context, karst_solver_keep(solver), "keep");
  const karst_result result = problem_solve(p, solver);
  tap_ok(result.reason == KARST_SINGULAR_BLOCK && result.block_row == row, "a singular block ends the solve: %s",
         karst_solver_explain(solver));
  tap_need(p->context, karst_matrix_update_values(p->A, after), "values");
  tap_need(p->context, karst_solver_keep(solver), "keep");
  tap_ok(problem_solve(p, solver).reason == KARST_CONVERGED_RTOL, "the factors are kept for later values");
  free(singular);
  karst_solver_destroy(solver);
}

/* A preconditioner of the program's own that applies a preconditioner of the library for the same matrix. */
static karst_status own_setup(karst_precond *p)
{
  (void)p;
  return KARST_SUCCESS;
}

static karst_status own_update(karst_precond *p)
{
  karst_precond *M = karst_precond_data(p);
  const karst_status status =
      M ? karst_precond_update(M) : karst_precond_create(karst_precond_context(p), NULL, karst_precond_matrix(p), &M);
  karst_precond_set_data(p, M);
  return status;
}

static karst_status own_apply(karst_precond *p, const karst_vector *r, karst_vector *z)
{
  const karst_status status = karst_precond_keep(karst_precond_data(p));
  return status ? status : karst_precond_apply(karst_precond_data(p), r, z);
}

static void own_destroy(karst_precond *p) { karst_precond_destroy(karst_precond_data(p)); }

/* It keeps the factors of the preconditioner inside, and takes as many iterations as iluk with kept factors. */
static void test_inside(const struct problem *p)
{
  static const karst_precond_method method = {.name = "own",
                                              .help = "iluk inside",
                                              .needs_diagonal = 1,
                                              .setup = own_setup,
                                              .update = own_update,
                                              .apply = own_apply,
                                              .destroy = own_destroy};
  karst_result result[2];
  tap_need(p->context, karst_precond_register(p->context, &method), "method");
  for (int i = 0; i < 2; i++) {
    karst_solver *solver = make_solver(p, i ? "own" : "iluk", "natural", "none");
    tap_need(p->context, karst_matrix_update_values(p->A, after), "values");
    tap_need(p->context, karst_solver_keep(solver), "keep");
    result[i] = problem_solve(p, solver);
    karst_solver_destroy(solver);
  }
  tap_ok(result[1].reason > 0 && result[1].iterations == result[0].iterations,
         "a method of the program keeps the factors inside: %d, %d iterations", result[1].iterations,
         result[0].iterations);
}

struct keeper {
  karst_solver *solver;
  karst_status status;
};

static karst_decision keep_during(void *user, int iteration, double residual)
{
  struct keeper *keeper = user;
  (void)residual;
  if (iteration == 1) keeper->status = karst_solver_keep(keeper->solver);
  return KARST_GO_ON;
}

static void test_all(karst_context *context)
{
  struct problem p = make_problem(context);
  for (int m = 0; m < PRECONDS; m++) {
    for (int o = 0; o < 2; o++)
      for (int c = 0; c < 3; c++) test_solutions(&p, preconds[m], orderings[o], scales[c]);
    test_precond(&p, preconds[m]);
  }
  test_precond(&p, "cpr");
  test_refusals(&p);
  test_scaling(&p);
  test_inside(&p);
  karst_solver *solver = make_solver(&p, "iluk", "natural", "none");
  struct keeper keeper = {solver, KARST_SUCCESS};
  karst_solver_monitor(solver, keep_during, &keeper);
  tap_ok(problem_solve(&p, solver).reason > 0 && keeper.status == KARST_ERROR_ARGUMENT,
         "keep is refused during a solve");
  karst_solver_destroy(solver);
  destroy_problem(&p);
}

/* keep allocates no memory. */
static void test_memory(void)
{
  struct failing_allocator memory = {.fail_at = 0};
  karst_context *context = failing_context(&memory);
  struct problem p = make_problem(context);
  karst_solver *solver = make_solver(&p, "iluk", "rcm", "block");
  tap_need(context, karst_matrix_update_values(p.A, after), "values");
  const long calls = memory.calls;
  tap_need(context, karst_solver_keep(solver), "keep");
  tap_ok(memory.calls == calls, "keep allocates nothing");
  karst_solver_destroy(solver);
  destroy_problem(&p);
  karst_context_destroy(context);
}

int main(void)
{
  tap_each_device(test_all, "factorizations kept");
  test_memory();
  return tap_done();
}
