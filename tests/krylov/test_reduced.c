/* test_reduced.c - cg on the system that a preconditioner's exact elimination leaves; the preconditioner is that of
 * halves.h. */
#include "tests/support/failing_allocator.h"
#include "tests/support/halves.h"
#include "tests/support/problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void make_values(double *value, double shift)
{
  for (int i = 0; i < N; i++) {
    const double west = i > 0 ? 1 + 0.5 * sin(i - 1) : 0, east = i + 1 < N ? 1 + 0.5 * sin(i) : 0;
    if (i > 0) value[3 * i - 1] = -west;
    value[3 * i] = west + east + (i == 0 ? 1 : 0) + shift;
    if (i + 1 < N) value[3 * i + 1] = -east;
  }
}

static karst_status make_matrix(karst_context *context, const double *value, karst_matrix **A)
{
  karst_index start[N + 1] = {0}, column[3 * N];
  int count = 0;
  for (int i = 0; i < N; i++) {
    for (int j = i > 0 ? i - 1 : 0; j <= i + 1 && j < N; j++) column[count++] = j;
    start[i + 1] = count;
  }
  return karst_matrix_create(context, N, 1, start, column, value, KARST_COPY, A);
}

static struct problem make_problem(karst_context *context)
{
  karst_matrix *A;
  double value[3 * N - 2];
  memset(&script, 0, sizeof script);
  make_values(value, 0.01);
  if (!karst_precond_find(context, "halves")) tap_need(context, add_method(context), "method");
  tap_need(context, make_matrix(context, value, &A), "matrix");
  return problem_of(context, A, tap_seed());
}

/* New values, with another shift. */
static void shift_values(const struct problem *p, double shift)
{
  double value[3 * N - 2];
  make_values(value, shift);
  tap_need(p->context, karst_matrix_update_values(p->A, value), "values");
}

static tap_settings cg_settings(const char *ordering, const char *scale)
{
  tap_settings settings = settings_for("cg", "halves");
  settings.ordering = ordering;
  settings.scale = scale;
  settings.rtol = 1e-9;
  settings.max_iterations = 1000;
  return settings;
}

static karst_result solve(const struct problem *p, karst_solver *solver, double start)
{
  script.products = script.applies = script.general = 0;
  return problem_solve_from(p, solver, start);
}

static bool is_solved(const struct problem *p, const karst_result *result)
{
  const double norm = vector_norm(p->b);
  const double residual = tap_residual(p->A, p->b, p->x);
  return result->reason == KARST_CONVERGED_RTOL && residual <= 1e-9 * norm * (1 + 1e-3) &&
         fabs(residual - result->residual) <= 1e-3 * residual + 1e-14 * norm;
}

/* cg uses the reduced system of natural order without scaling. It takes the iterations of the whole system. */
static void test_choice(karst_context *context)
{
  struct problem p = make_problem(context);
  tap_settings settings = cg_settings("natural", "none");
  karst_solver *solver = problem_solver(&p, &settings);
  const karst_result reduced = solve(&p, solver, 0);
  tap_ok(is_solved(&p, &reduced) && script.products >= reduced.iterations && script.general == 0,
         "natural, none: the reduced system, %d iterations: %s", reduced.iterations, karst_solver_explain(solver));
  tap_need(context, karst_solver_set_operator(solver, multiply_by_matrix, p.A), "operator");
  const karst_result whole = solve(&p, solver, 0);
  tap_ok(is_solved(&p, &whole) && script.products == 0 && abs(whole.iterations - reduced.iterations) <= 1,
         "with an operator: the whole system, %d iterations", whole.iterations);
  tap_need(context, karst_solver_set_operator(solver, multiply_by_matrix, p.A), "the operator again");
  const karst_result again = solve(&p, solver, 0);
  tap_ok(is_solved(&p, &again) && script.products == 0, "and when it is set again");
  tap_need(context, karst_solver_set_operator(solver, NULL, NULL), "no operator");
  const karst_result back = solve(&p, solver, 0);
  tap_ok(is_solved(&p, &back) && script.general == 0 && back.iterations == reduced.iterations,
         "and without it the reduced one again");
  karst_solver_destroy(solver);
  settings.solver = "gmres";
  solver = problem_solver(&p, &settings);
  const karst_result gmres = solve(&p, solver, 0);
  tap_ok(is_solved(&p, &gmres) && script.products == 0, "gmres works on the whole system");
  karst_solver_destroy(solver);
  problem_destroy(&p);
}

/* Starts: a constant, the solution, and one that is the solution in the unknowns of the reduced system alone. */
static void test_starts(karst_context *context)
{
  struct problem p = make_problem(context);
  const tap_settings settings = cg_settings("natural", "none");
  karst_solver *solver = problem_solver(&p, &settings);
  double found[N], kept[N];
  karst_result result = solve(&p, solver, 3);
  tap_ok(is_solved(&p, &result), "a start of 3: %s", karst_solver_explain(solver));
  tap_need(context, karst_vector_get(p.x, N, found), "x");
  result = solved(solver, p.b, p.x);
  tap_need(context, karst_vector_get(p.x, N, kept), "x");
  tap_ok(is_solved(&p, &result) && result.iterations == 0 && memcmp(found, kept, sizeof kept) == 0,
         "a start that is the solution stays as it is");
  for (int i = 1; i < N; i += 2) kept[i] = 7;
  tap_need(context, karst_vector_set(p.x, N, kept), "start");
  result = solved(solver, p.b, p.x);
  tap_ok(result.reason > 0 && result.iterations <= 2 && tap_residual(p.A, p.b, p.x) <= 1.1 * result.residual + 1e-13,
         "a start that is wrong in the eliminated unknowns: %s", karst_solver_explain(solver));
  tap_need(context, karst_solver_set_tolerances(solver, 1e-9, 0, 1), "limit");
  result = solve(&p, solver, 1e6);
  const double residual = tap_residual(p.A, p.b, p.x);
  tap_ok(result.reason == KARST_ITERATION_LIMIT && fabs(residual - result.residual) <= 1e-9 * residual,
         "the residual after one iteration is that of x: %s", karst_solver_explain(solver));
  karst_vector *zero = vector_of(context, N, 0);
  result = solved(solver, zero, p.x);
  tap_ok(result.reason > 0 && result.residual == 0, "b = 0: %s", karst_solver_explain(solver));
  karst_vector_destroy(zero);
  karst_solver_destroy(solver);
  problem_destroy(&p);
}

/* With a product that is not S's, the recursive residual is wrong. The solve ends with the true residual of its x. */
static void test_wrong_product(karst_context *context)
{
  struct problem p = make_problem(context);
  const tap_settings settings = cg_settings("natural", "none");
  karst_solver *solver = problem_solver(&p, &settings);
  script.error = 0.01;
  for (int start = 0; start < 2; start++) {
    const karst_result result = solve(&p, solver, start);
    const double residual = tap_residual(p.A, p.b, p.x);
    tap_ok(result.reason == KARST_STAGNATED && result.iterations < 1000 &&
               fabs(residual - result.residual) <= 1e-6 * residual,
           "a wrong product is no convergence: %s", karst_solver_explain(solver));
  }
  script.error = 0;
  const karst_result right = solve(&p, solver, 0);
  tap_ok(is_solved(&p, &right), "the right one is: %s", karst_solver_explain(solver));
  tap_need(context, karst_solver_set_tolerances(solver, 1e-17, 0, 1000), "out of reach");
  const karst_result reach = solve(&p, solver, 0);
  tap_ok(reach.iterations < 1000 && reach.relative_residual < 1e-13, "a target below rounding ends: %s",
         karst_solver_explain(solver));
  karst_solver_destroy(solver);
  problem_destroy(&p);
}

static void set_element(const struct problem *p, karst_vector *vector, int i, double value)
{
  double all[N];
  tap_need(p->context, karst_vector_get(vector, N, all), "get");
  all[i] = value;
  tap_need(p->context, karst_vector_set(vector, N, all), "set");
}

/* The row of an element that is not finite has the caller's number. */
static void test_not_finite(karst_context *context)
{
  struct problem p = make_problem(context);
  const tap_settings settings = cg_settings("natural", "none");
  karst_solver *solver = problem_solver(&p, &settings);
  karst_result result;
  for (int i = 8; i < 10; i++) {
    tap_need(context, karst_vector_fill(p.x, 0), "start");
    set_element(&p, p.x, i, NAN);
    result = solved(solver, p.b, p.x);
    tap_ok(result.reason == KARST_NOT_FINITE && result.block_row == i &&
               strstr(karst_solver_explain(solver), "the start"),
           "a NaN in the start: %s", karst_solver_explain(solver));
  }
  script.nan_product = 4; /* the first is that of the residual of the start */
  result = solve(&p, solver, 0);
  tap_ok(result.reason == KARST_NOT_FINITE && result.block_row == 6 &&
             strstr(karst_solver_explain(solver), "the reduced matrix times a vector of iteration 3"),
         "a NaN in a product: %s", karst_solver_explain(solver));
  script.nan_product = 0;
  set_element(&p, p.b, 7, INFINITY);
  result = solve(&p, solver, 0);
  tap_ok(result.reason == KARST_NOT_FINITE && result.block_row == 7, "an infinity in b: %s",
         karst_solver_explain(solver));
  karst_solver_destroy(solver);
  problem_destroy(&p);
}

/* The factors are missing: the reason, the row and the preconditioner's explanation are reported. New values repair
 * it. */
static void test_updates(karst_context *context)
{
  struct problem p = make_problem(context);
  const tap_settings settings = cg_settings("natural", "none");
  script.reason = KARST_INDEFINITE_PRECOND;
  karst_solver *solver = problem_solver(&p, &settings);
  karst_result result = solve(&p, solver, 1);
  const double residual = tap_residual(p.A, p.b, p.x);
  tap_ok(result.reason == KARST_INDEFINITE_PRECOND && result.block_row == 4 && result.iterations == 0 &&
             fabs(residual - result.residual) <= 1e-12 * residual &&
             strcmp(karst_solver_explain(solver),
                    "not solved: the preconditioner is not positive definite: the pivot of "
                    "node (4, 0) at level 1 is not positive") == 0,
         "%s", karst_solver_explain(solver));
  script.reason = KARST_SOUND;
  shift_values(&p, 0.5);
  tap_need(context, karst_solver_update(solver), "update");
  result = solve(&p, solver, 0);
  tap_ok(is_solved(&p, &result) && script.general == 0, "new values: %s", karst_solver_explain(solver));
  const karst_solver_info info = info_of(solver);
  tap_ok(info.memory >= (int64_t)(7 * SIZE + 3 * N) * (int64_t)sizeof(double), "%lld bytes are held",
         (long long)info.memory);
  karst_solver_destroy(solver);
  problem_destroy(&p);
}

/* Factors kept for new values belong to another matrix, as does their elimination. */
static void test_keep(karst_context *context)
{
  struct problem p = make_problem(context);
  const tap_settings settings = cg_settings("natural", "none");
  karst_solver *solver = problem_solver(&p, &settings);
  shift_values(&p, 0.02);
  tap_need(context, karst_solver_keep(solver), "keep");
  const karst_result kept = solve(&p, solver, 0);
  tap_ok(is_solved(&p, &kept) && script.products == 0, "kept factors: %s", karst_solver_explain(solver));
  tap_need(context, karst_solver_update(solver), "update");
  const karst_result fresh = solve(&p, solver, 0);
  tap_ok(is_solved(&p, &fresh) && script.general == 0, "their own: %s", karst_solver_explain(solver));
  karst_solver_destroy(solver);

  tap_need(context, tap_solver_create(context, &settings, &solver), "solver");
  tap_need(context, karst_solver_set_operator(solver, multiply_by_matrix, p.A), "operator");
  tap_need(context, karst_solver_setup(solver, p.A), "setup");
  const karst_result whole = solve(&p, solver, 0);
  tap_ok(is_solved(&p, &whole) && script.products == 0, "an operator that was set before set-up");
  tap_need(context, karst_solver_set_operator(solver, NULL, NULL), "no operator");
  const karst_result reduced = solve(&p, solver, 0);
  tap_ok(is_solved(&p, &reduced) && script.general == 0, "and is removed after it");
  karst_solver_destroy(solver);
  problem_destroy(&p);
}

/* The reduced system's M^-1 norm, and eigenvalues. */
static void test_norm(karst_context *context)
{
  struct problem p = make_problem(context);
  tap_settings settings = cg_settings("natural", "none");
  settings.norm = "preconditioned";
  karst_solver *solver = problem_solver(&p, &settings);
  const karst_result result = solve(&p, solver, 2);
  const double residual = tap_residual(p.A, p.b, p.x);
  tap_ok(result.reason == KARST_CONVERGED_PRECONDITIONED && script.general == 0 &&
             fabs(residual - result.residual) <= 1e-3 * residual + 1e-12,
         "%s", karst_solver_explain(solver));
  karst_value value;
  bool known = false;
  for (size_t i = 0; karst_solver_report(solver, i, &value); i++)
    known |= strcmp(value.name, "condition_number") == 0 && value.number > 1;
  tap_ok(known, "the condition number is known");
  karst_solver_destroy(solver);
  problem_destroy(&p);
}

/* An allocation that fails leaves the solver unchanged, or no solver. */
static karst_status use(karst_context *context, void *user)
{
  double value[3 * N - 2];
  karst_matrix *A = NULL;
  karst_vector *b = NULL, *x = NULL;
  karst_solver *solver = NULL;
  karst_result result;
  const tap_settings settings = cg_settings("natural", "none");
  (void)user;
  make_values(value, 0.01);
  karst_status status = add_method(context);
  if (!status) status = make_matrix(context, value, &A);
  if (!status) status = tap_solver_setup(context, &settings, A, &solver);
  if (!status) status = karst_vector_create(context, N, &b);
  if (!status) status = karst_vector_create(context, N, &x);
  if (!status) status = karst_vector_fill(b, 1);
  if (!status) {
    status = karst_solver_set_operator(solver, multiply_by_matrix, A);
    const karst_status solved = karst_solver_solve(solver, b, x, &result);
    if (solved || result.reason < 0) tap_ok(false, "the solver is usable after the operator was refused");
    if (!status) status = karst_solver_set_operator(solver, NULL, NULL);
  }
  karst_solver_destroy(solver);
  karst_vector_destroy(b);
  karst_vector_destroy(x);
  karst_matrix_destroy(A);
  return status;
}

int main(void)
{
  tap_each_device(test_choice, "which system");
  tap_each_device(test_starts, "starts");
  tap_each_device(test_wrong_product, "a wrong product");
  tap_each_device(test_not_finite, "what is not finite");
  tap_each_device(test_updates, "updates");
  tap_each_device(test_keep, "kept factors");
  tap_each_device(test_norm, "the preconditioned norm");
  memset(&script, 0, sizeof script);
  fail_each_allocation(use, NULL, "a reduced system");
  return tap_done();
}
