/* test_operator.c - a caller's operator in place of the matrix: a reservoir with dense wells, whose unknowns have been
 * eliminated. With the cells' matrix A, the wells' D, and B and C between them, the operator is
 *     Op x = A x - B D^-1 C x
 * which couples all cells that a well perforates and is never assembled, except here for comparison. */
#include "tests/support/failing_allocator.h"
#include "tests/support/problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WELLS = 5, PERFORATED = 20, BLOCK = 3 };

static const char *const solvers[] = {"gmres", "fgmres", "bicgstab", "orthomin", "richardson"};
static const char *const orderings[] = {"natural", "rcm"};
static const char *const scales[] = {"none", "diagonal", "block"};

enum { SOLVERS = 5, ORDERINGS = 2, SCALES = 3 };

/* Each well has one unknown, its pressure, and PERFORATED cells at most. */
struct wells {
  karst_context *context;
  karst_matrix *A;
  karst_vector *b, *x;
  int64_t n;
  int cells[WELLS];
  int64_t cell[WELLS][PERFORATED];
  double to[WELLS][PERFORATED][BLOCK], from[WELLS][PERFORATED][BLOCK], inverse[WELLS];
  double *in, *out, *exact, *dense; /* [n], [n n] host memory; dense: the operator, column by column */
  int calls;
};

static void make_wells(struct wells *w)
{
  const int64_t cells = w->n / BLOCK;
  for (int q = 0; q < WELLS; q++) {
    const int64_t first = tap_random_index(cells);
    w->cells[q] = PERFORATED - 3 * q;
    w->inverse[q] = 1 / (2.0 * BLOCK * w->cells[q]);
    for (int p = 0; p < w->cells[q]; p++) {
      w->cell[q][p] = (first + p * (2 * q + 1)) % cells;
      for (int c = 0; c < BLOCK; c++) {
        w->to[q][p][c] = 0.5 * tap_random();
        w->from[q][p][c] = 0.5 * tap_random();
      }
    }
  }
}

/* out = out - B D^-1 C in, on the host. */
static void subtract_wells(const struct wells *w, const double *in, double *out)
{
  for (int q = 0; q < WELLS; q++) {
    double pressure = 0;
    for (int p = 0; p < w->cells[q]; p++)
      for (int c = 0; c < BLOCK; c++) pressure += w->from[q][p][c] * in[w->cell[q][p] * BLOCK + c];
    for (int p = 0; p < w->cells[q]; p++)
      for (int c = 0; c < BLOCK; c++) out[w->cell[q][p] * BLOCK + c] -= w->to[q][p][c] * w->inverse[q] * pressure;
  }
}

/* The operator. The host computes the wells, and the device of the vectors A x. */
static karst_status multiply(void *user, const karst_vector *x, karst_vector *y)
{
  struct wells *w = user;
  w->calls++;
  karst_status status = karst_matrix_multiply(w->A, x, y);
  if (!status) status = karst_vector_get(x, w->n, w->in);
  if (!status) status = karst_vector_get(y, w->n, w->out);
  if (status) return status;
  subtract_wells(w, w->in, w->out);
  return karst_vector_set(y, w->n, w->out);
}

/* Assembles the operator column by column. */
static void assemble(struct wells *w)
{
  w->dense = tap_dense(w->A);
  double *unit = tap_memory(w->n, sizeof *unit);
  for (int64_t j = 0; j < w->n; j++) {
    unit[j] = 1;
    subtract_wells(w, unit, w->dense + j * w->n);
    unit[j] = 0;
  }
  free(unit);
}

static struct wells make_problem(karst_context *context)
{
  struct wells w = {.context = context};
  w.A = tap_random_matrix(context, 60, BLOCK, 4, 1.2);
  w.n = karst_matrix_rows(w.A);
  make_wells(&w);
  w.in = tap_memory(w.n, sizeof *w.in);
  w.out = tap_memory(w.n, sizeof *w.out);
  assemble(&w);
  w.b = vector_of(context, w.n, 0);
  w.x = vector_of(context, w.n, 0);
  w.exact = random_on_host(w.n);
  tap_need(context, karst_vector_set(w.b, w.n, w.exact), "b");
  double *a = tap_memory((w.n * w.n), sizeof *a);
  memcpy(a, w.dense, (size_t)(w.n * w.n) * sizeof *a);
  tap_ok(tap_dense_solve(w.n, a, w.exact), "the Schur complement of the wells is regular");
  free(a);
  return w;
}

static void destroy_problem(struct wells *w)
{
  karst_matrix_destroy(w->A);
  karst_vector_destroy(w->b);
  karst_vector_destroy(w->x);
  free(w->exact);
  free(w->in);
  free(w->out);
  free(w->dense);
}

static tap_settings case_settings(const char *solver, const char *ordering, const char *scale)
{
  tap_settings settings = settings_for(solver, NULL);
  settings.ordering = ordering;
  settings.scale = scale;
  settings.rtol = 1e-11;
  settings.max_iterations = 400;
  return settings;
}

/* |b - Op x| / |b| by the assembled operator. */
static double true_residual(const struct wells *w)
{
  double *x = vector_on_host(w->x), *r = vector_on_host(w->b), square = 0, size = 0;
  for (int64_t i = 0; i < w->n; i++) size += r[i] * r[i];
  for (int64_t j = 0; j < w->n; j++)
    for (int64_t i = 0; i < w->n; i++) r[i] -= w->dense[j * w->n + i] * x[j];
  for (int64_t i = 0; i < w->n; i++) square += r[i] * r[i];
  free(x);
  free(r);
  return sqrt(square / size);
}

static void check_solution(const struct wells *w, karst_solver *solver, const char *what)
{
  tap_need(w->context, karst_vector_fill(w->x, 0), "start");
  const karst_result result = solved(solver, w->b, w->x);
  double *x = vector_on_host(w->x);
  const double residual = true_residual(w), error = relative_difference(w->n, x, w->exact);
  free(x);
  tap_ok(result.reason == KARST_CONVERGED_RTOL && residual <= 1e-11 * (1 + 1e-3) &&
             fabs(result.relative_residual - residual) <= 1e-14 && error <= 1e-8,
         "%s: %d iterations to %.1e, reported as %.1e, and %.1e from the dense solution", what, result.iterations,
         residual, result.relative_residual, error);
}

static void test_methods(struct wells *w)
{
  for (int s = 0; s < SOLVERS; s++)
    for (int o = 0; o < ORDERINGS; o++)
      for (int c = 0; c < SCALES; c++) {
        tap_settings settings = case_settings(solvers[s], orderings[o], scales[c]);
        char what[64];
        karst_solver *solver = solver_of(w->context, &settings);
        snprintf(what, sizeof what, "%s, %s, %s", solvers[s], orderings[o], scales[c]);
        tap_need(w->context, karst_solver_set_operator(solver, multiply, w), "operator");
        tap_need(w->context, karst_solver_setup(solver, w->A), "setup");
        check_solution(w, solver, what);
        karst_solver_destroy(solver);
      }
  tap_settings left = case_settings("gmres", "rcm", "none");
  left.side = "left";
  karst_solver *solver = solver_of(w->context, &left);
  tap_need(w->context, karst_solver_setup(solver, w->A), "setup");
  tap_need(w->context, karst_solver_set_operator(solver, multiply, w), "operator");
  check_solution(w, solver, "gmres from the left");
  karst_solver_destroy(solver);
}

/* The preconditioner is of another matrix with as many rows, and the operator is symmetric and positive definite. */
static void test_cg(karst_context *context)
{
  struct problem p = problem_from(context, "poisson3d:6x6x6", 1, 0);
  karst_matrix *M = matrix_from(context, "poisson2d:18x12", 1);
  for (int o = 0; o < ORDERINGS; o++)
    for (int c = 0; c < 2; c++) {
      tap_settings settings = case_settings("cg", orderings[o], scales[c]);
      karst_solver *solver = solver_set_up(context, &settings, M);
      tap_need(context, karst_solver_set_operator(solver, multiply_by_matrix, p.A), "operator");
      const karst_result result = problem_solve(&p, solver);
      tap_ok(result.reason == KARST_CONVERGED_RTOL && tap_residual(p.A, p.b, p.x) <= 1.001e-11 * vector_norm(p.b),
             "cg, %s, %s, preconditioned by another matrix: %d iterations", orderings[o], scales[c], result.iterations);
      karst_solver_destroy(solver);
    }
  problem_destroy(&p);
  karst_matrix_destroy(M);
}

/* An operator that multiplies by the matrix takes the iterations of the matrix, which follows when it is removed. */
static void test_same(struct wells *w)
{
  for (int s = 0; s < SOLVERS; s++) {
    tap_settings settings = case_settings(solvers[s], "rcm", "block");
    karst_solver *solver = solver_of(w->context, &settings);
    tap_need(w->context, karst_solver_setup(solver, w->A), "setup");
    const karst_solver_info before = info_of(solver);
    tap_need(w->context, karst_vector_fill(w->x, 0), "start");
    karst_result without = solved(solver, w->b, w->x);
    tap_need(w->context, karst_solver_set_operator(solver, multiply_by_matrix, w->A), "operator");
    const karst_solver_info during = info_of(solver);
    tap_need(w->context, karst_vector_fill(w->x, 0), "start");
    tap_need(w->context, karst_solver_update(solver), "update");
    const karst_result with = solved(solver, w->b, w->x);
    tap_need(w->context, karst_solver_set_operator(solver, NULL, w), "no operator");
    const karst_solver_info after = info_of(solver);
    w->calls = 0;
    tap_need(w->context, karst_vector_fill(w->x, 0), "start");
    karst_result again = solved(solver, w->b, w->x);
    tap_ok(with.reason > 0 && abs(with.iterations - without.iterations) <= 1 &&
               memcmp(&again.residual, &without.residual, sizeof again.residual) == 0 &&
               again.iterations == without.iterations,
           "%s: %d iterations with the matrix, %d with its product, %d with the matrix again", solvers[s],
           without.iterations, with.iterations, again.iterations);
    tap_ok(during.memory == before.memory + (1 + 2 * w->n) * (int64_t)sizeof(double) && after.memory == before.memory,
           "and the operator takes two more vectors");
    karst_solver_destroy(solver);
  }
}

/* The fault of an operator at a certain call: an error, with or without a sentence, or a NaN. */
struct trouble {
  struct wells *wells;
  karst_solver *solver;
  int at, calls, returns;
  bool says, makes_nan;
  int64_t where;
  int refused;
};

static karst_status make_trouble(void *user, const karst_vector *x, karst_vector *y)
{
  struct trouble *trouble = user;
  struct wells *w = trouble->wells;
  karst_status status = multiply(w, x, y);
  if (++trouble->calls < trouble->at) return status;
  if (trouble->makes_nan) {
    w->out[trouble->where] = NAN;
    return karst_vector_set(y, w->n, w->out);
  }
  if (trouble->says) return karst_vector_set(y, w->n + 1, w->out);
  return (karst_status)trouble->returns;
}

static void test_failures(struct wells *w)
{
  static const struct {
    int returns, says;
    karst_status expected;
    const char *sentence;
  } cases[] = {{KARST_ERROR_DEVICE, 0, KARST_ERROR_DEVICE, "the operator's function failed: device failure"},
               {KARST_ERROR_ARGUMENT, 1, KARST_ERROR_ARGUMENT, ""},
               {7, 0, KARST_ERROR_ARGUMENT, "the operator's function returned 7"},
               {-70, 0, KARST_ERROR_ARGUMENT, "the operator's function returned -70"}};
  for (int s = 0; s < SOLVERS; s++)
    for (int at = 1; at <= 7; at += 3)
      for (int c = 0; c < 4; c++) {
        tap_settings settings = case_settings(solvers[s], orderings[c % ORDERINGS], scales[c % SCALES]);
        struct trouble trouble = {.wells = w, .at = at, .returns = cases[c].returns, .says = cases[c].says != 0};
        karst_solver *solver = solver_of(w->context, &settings);
        karst_result result;
        tap_need(w->context, karst_solver_set_operator(solver, make_trouble, &trouble), "operator");
        tap_need(w->context, karst_solver_setup(solver, w->A), "setup");
        tap_need(w->context, karst_vector_fill(w->x, 0), "start");
        karst_status status = karst_solver_solve(solver, w->b, w->x, &result);
        const char *sentence = karst_context_error(w->context);
        tap_ok(status == cases[c].expected && strstr(sentence, cases[c].sentence) &&
                   (!cases[c].says || !strstr(sentence, "the operator's")) && result.reason == KARST_SOUND &&
                   true_residual(w) <= 1 + 1e-14,
               "%s fails with the operator in product %d: %s", solvers[s], at, sentence);
        trouble.calls = -1000;
        check_solution(w, solver, "and the next solve does not");
        karst_solver_destroy(solver);
      }
}

static void test_not_finite(struct wells *w)
{
  for (int s = 0; s < SOLVERS; s++)
    for (int at = 1; at <= 4; at += 3)
      for (int c = 0; c < SCALES; c++) {
        tap_settings settings = case_settings(solvers[s], orderings[c % ORDERINGS], scales[c]);
        struct trouble trouble = {.wells = w, .at = at, .makes_nan = true, .where = 7 * BLOCK + 1};
        karst_solver *solver = solver_of(w->context, &settings);
        tap_need(w->context, karst_solver_set_operator(solver, make_trouble, &trouble), "operator");
        tap_need(w->context, karst_solver_setup(solver, w->A), "setup");
        tap_need(w->context, karst_vector_fill(w->x, 0), "start");
        const karst_result result = solved(solver, w->b, w->x);
        tap_ok(result.reason == KARST_NOT_FINITE && result.block_row == 7 &&
                   strstr(karst_solver_explain(solver), "the operator's product"),
               "%s, product %d, %s: %s", solvers[s], at, scales[c], karst_solver_explain(solver));
        karst_solver_destroy(solver);
      }
}

static karst_status call_solver(void *user, const karst_vector *x, karst_vector *y)
{
  struct trouble *trouble = user;
  karst_result result;
  trouble->refused =
      (karst_solver_set_operator(trouble->solver, NULL, NULL) == KARST_ERROR_ARGUMENT) +
      (karst_solver_update(trouble->solver) == KARST_ERROR_ARGUMENT) +
      (karst_solver_setup(trouble->solver, trouble->wells->A) == KARST_ERROR_ARGUMENT) +
      (karst_solver_solve(trouble->solver, trouble->wells->b, trouble->wells->x, &result) == KARST_ERROR_ARGUMENT);
  return multiply(trouble->wells, x, y);
}

static void test_refusals(struct wells *w)
{
  tap_settings settings = case_settings("gmres", "rcm", "none");
  karst_solver *solver = solver_of(w->context, &settings);
  struct trouble trouble = {.wells = w, .solver = solver};
  tap_need(w->context, karst_solver_setup(solver, w->A), "setup");
  tap_need(w->context, karst_solver_set_operator(solver, call_solver, &trouble), "operator");
  check_solution(w, solver, "an operator that calls its solver");
  tap_ok(trouble.refused == 4 && karst_solver_set_operator(NULL, call_solver, NULL) == KARST_ERROR_ARGUMENT,
         "an operator changes nothing of the solver that calls it");
  karst_solver_destroy(solver);
}

/* With an operator, too, b = 0 has the solution 0. */
static void test_zero(struct wells *w)
{
  tap_settings settings = case_settings("bicgstab", "rcm", "block");
  karst_solver *solver = solver_of(w->context, &settings);
  karst_vector *zero = vector_of(w->context, w->n, 0);
  tap_need(w->context, karst_vector_fill(w->x, 3), "start");
  tap_need(w->context, karst_solver_set_operator(solver, multiply, w), "operator");
  tap_need(w->context, karst_solver_setup(solver, w->A), "setup");
  const karst_result result = solved(solver, zero, w->x);
  const double norm = vector_norm(w->x);
  tap_ok(result.reason == KARST_CONVERGED_RTOL && result.iterations == 0 && norm == 0, "b = 0 gives x = 0");
  karst_vector_destroy(zero);
  karst_solver_destroy(solver);
}

static void test_all(karst_context *context)
{
  struct wells w = make_problem(context);
  test_methods(&w);
  test_same(&w);
  test_failures(&w);
  test_not_finite(&w);
  test_refusals(&w);
  test_zero(&w);
  destroy_problem(&w);
  test_cg(context);
}

/* Setting the function, or set-up, allocates the work space. Each allocation fails once, and no solve allocates. */
static void test_memory(void)
{
  struct failing_allocator memory = {.fail_at = 0};
  karst_context *context = failing_context(&memory);
  struct problem p = problem_of(context, tap_random_matrix(context, 20, BLOCK, 3, 1.2), 0);
  tap_settings settings = case_settings("gmres", "rcm", "block");
  karst_solver *solver = problem_solver(&p, &settings);
  karst_result plain = problem_solve(&p, solver), result;
  long failures = 0, wrong = 0;
  karst_status status = KARST_ERROR_NO_MEMORY;
  while (status && failures < 10) {
    memory.fail_at = memory.calls + failures + 1;
    status = karst_solver_set_operator(solver, multiply_by_matrix, p.A);
    memory.fail_at = 0;
    if (!status) break;
    failures++;
    result = problem_solve(&p, solver);
    wrong += status != KARST_ERROR_NO_MEMORY || memcmp(&result.residual, &plain.residual, sizeof result.residual) != 0;
  }
  const long calls = memory.calls;
  result = problem_solve(&p, solver);
  tap_need(context, karst_solver_set_operator(solver, multiply_by_matrix, p.A), "again");
  tap_ok(failures == 3 && wrong == 0, "%ld allocations for an operator; one that fails changes nothing", failures);
  tap_ok(result.reason > 0 && memory.calls == calls, "a solve allocates nothing, nor does another function");
  karst_solver_destroy(solver);
  problem_destroy(&p);
  karst_context_destroy(context);
  tap_ok(memory.outstanding == 0, "and all memory is released");
}

int main(void)
{
  tap_each_device(test_all, "operators of the caller");
  test_memory();
  return tap_done();
}
