/* A solve reports a reason exactly when it holds: breakdowns, indefinite operators, NaN and infinities with the place
 * where they were first seen, singular blocks, limits, stagnation. In every case x is finite and no worse than the
 * start. */
#include "tests/support/driver.h"
#include "tests/support/problem.h"

#include "lib/vector/vector.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST = 16 };

/* A small dense system, by rows, and how to solve it. */
struct trial {
  karst_context *context;
  int n;
  const double *a;     /* [n*n] */
  const double *b;     /* [n] */
  const double *start; /* [n]; NULL: zero */
  int block_size;      /* 0: 1 */
  tap_settings options;
};

struct verdict {
  karst_result result;
  double x[LARGEST];
  char text[320]; /* karst_solver_explain */
};

static struct trial make_trial(karst_context *context, const char *solver, const char *precond, int n, const double *a,
                               const double *b)
{
  return (struct trial){.context = context, .n = n, .a = a, .b = b, .options = settings_for(solver, precond)};
}

/* All entries are stored, zeros too. */
static karst_matrix *make_matrix(const struct trial *trial)
{
  karst_index start[LARGEST + 1], column[LARGEST * LARGEST];
  karst_matrix *A;
  for (int i = 0; i <= trial->n; i++) start[i] = (karst_index)(i * trial->n);
  for (int k = 0; k < trial->n * trial->n; k++) column[k] = (karst_index)(k % trial->n);
  karst_matrix *scalar = matrix_of(trial->context, trial->n, 1, start, column, trial->a);
  tap_need(trial->context, karst_matrix_convert(scalar, trial->block_size ? trial->block_size : 1, &A), "blocks");
  karst_matrix_destroy(scalar);
  return A;
}

static karst_vector *make_vector(const struct trial *trial, const double *values)
{
  karst_vector *vector = vector_of(trial->context, trial->n, 0);
  if (values) tap_need(trial->context, karst_vector_set(vector, trial->n, values), "vector");
  return vector;
}

static struct verdict run(const struct trial *trial)
{
  struct verdict verdict;
  karst_matrix *A = make_matrix(trial);
  karst_vector *b = make_vector(trial, trial->b), *x = make_vector(trial, trial->start);
  karst_solver *solver = solver_set_up(trial->context, &trial->options, A);
  verdict.result = solved(solver, b, x);
  tap_need(trial->context, karst_vector_get(x, trial->n, verdict.x), "x");
  snprintf(verdict.text, sizeof verdict.text, "%s", karst_solver_explain(solver));
  karst_solver_destroy(solver);
  karst_vector_destroy(b);
  karst_vector_destroy(x);
  karst_matrix_destroy(A);
  return verdict;
}

static double norm_of_residual(const struct trial *trial, const double *x)
{
  double sum = 0;
  for (int i = 0; i < trial->n; i++) {
    double r = trial->b[i];
    for (int j = 0; j < trial->n; j++) r -= trial->a[i * trial->n + j] * (x ? x[j] : 0);
    sum += r * r;
  }
  return sqrt(sum);
}

/* The solve ends for this reason, in this block row, with a usable x and a sentence that contains these words. */
static void expect(const struct trial *trial, karst_reason reason, karst_index block_row, const char *words,
                   const char *what)
{
  struct verdict verdict = run(trial);
  double before = norm_of_residual(trial, trial->start), after = norm_of_residual(trial, verdict.x);
  tap_ok(verdict.result.reason == reason && verdict.result.block_row == block_row, "%s: %s, %s", trial->options.solver,
         what, karst_reason_text(verdict.result.reason));
  tap_ok(strstr(verdict.text, words) != NULL, "%s: \"%s\"", words, verdict.text);
  if (isfinite(before))
    tap_ok(after <= before * (1 + 1e-12) && fabs(after - verdict.result.residual) <= 1e-12 * before,
           "x is no worse than the start, and its residual as reported: %.2e from %.2e", after, before);
}

static void test_bicgstab_breakdowns(karst_context *context)
{
  static const double turn[] = {0, 1, -1, 0}, e1[] = {1, 0, 0}, no_omega[] = {1, 1, 2, 0}, half[] = {1, 1, 0.5, 0};
  static const double singular[] = {1, 0, 2, 0}, no_rho[] = {1, 0, 0, 2, 0.5, -1, 0, 1, 0.5};
  struct trial trial = make_trial(context, "bicgstab", "none", 2, turn, e1);
  expect(&trial, KARST_BREAKDOWN_ALPHA, -1, "shadow residual", "r'Ar = 0");
  trial.a = no_omega;
  expect(&trial, KARST_BREAKDOWN_OMEGA, -1, "stabilising", "s'As = 0");
  trial.a = singular;
  expect(&trial, KARST_BREAKDOWN_OMEGA, -1, "stabilising", "As = 0");
  trial.a = half;
  struct verdict verdict = run(&trial);
  tap_ok(verdict.result.iterations == 1 && verdict.result.residual == 0.5,
         "a half step that lowers the residual is kept where the other half breaks down");
  trial.a = no_rho;
  trial.n = 3;
  expect(&trial, KARST_BREAKDOWN_RHO, -1, "shadow residual", "r orthogonal to r*");
}

static void test_gmres_breakdowns(karst_context *context)
{
  static const double nilpotent[] = {0, 1, 0, 0}, projector[] = {1, 0, 0, 0}, e2[] = {0, 1};
  static const double deficient[] = {1, 0, 0, 0, 1, 0, 0, 0, 0}, mostly[] = {1, 1, 1e-3};
  static const double identity[] = {1, 0, 0, 1};
  for (int side = 0; side < 2; side++) {
    struct trial trial = make_trial(context, "gmres", "none", 2, nilpotent, e2);
    trial.options.side = side ? "left" : "right";
    expect(&trial, KARST_BREAKDOWN_ARNOLDI, -1, "exhausted", "A nilpotent");
    trial.a = projector;
    expect(&trial, KARST_BREAKDOWN_ARNOLDI, -1, "exhausted", "A b = 0");
    trial.a = identity;
    expect(&trial, KARST_CONVERGED_RTOL, -1, "converged", "a breakdown at the solution is convergence");
    trial.n = 3;
    trial.a = deficient;
    trial.b = mostly;
    expect(&trial, KARST_BREAKDOWN_ARNOLDI, -1, "exhausted", "an inconsistent system");
    struct verdict verdict = run(&trial);
    tap_ok(fabs(verdict.result.residual - 1e-3) < 1e-12, "x of an inconsistent system has the least residual: %.3e",
           verdict.result.residual);
  }
}

static void test_direction_breakdown(karst_context *context)
{
  static const double turn[] = {0, 1, -1, 0}, zero[] = {0, 0, 0, 0}, b[] = {1, 0.25};
  struct trial trial = make_trial(context, "orthomin", "none", 2, turn, b);
  expect(&trial, KARST_BREAKDOWN_DIRECTION, -1, "direction", "A r orthogonal to r");
  trial.a = zero;
  expect(&trial, KARST_BREAKDOWN_DIRECTION, -1, "direction", "A r = 0");
}

static void test_indefinite(karst_context *context)
{
  static const double saddle[] = {1, 0, 0, -1}, negative[] = {-4, 1, 1, -3}, zero[] = {0, 0, 0, 0};
  static const double wrong_diagonal[] = {-1, 3, 3, -1}, b[] = {0.5, 1}, ones[] = {1, 1};
  struct trial trial = make_trial(context, "cg", "none", 2, saddle, b);
  expect(&trial, KARST_INDEFINITE_OPERATOR, -1, "operator", "a saddle point");
  trial.a = zero;
  expect(&trial, KARST_INDEFINITE_OPERATOR, -1, "operator", "the zero matrix");
  trial.a = negative;
  expect(&trial, KARST_INDEFINITE_OPERATOR, -1, "operator", "a negative definite matrix");
  trial.options.precond = "iluk";
  expect(&trial, KARST_INDEFINITE_OPERATOR, -1, "operator", "a negative definite matrix with its own factors");
  trial = make_trial(context, "cg", "jacobi", 2, wrong_diagonal, ones);
  expect(&trial, KARST_INDEFINITE_PRECOND, -1, "preconditioner", "a negative diagonal");
}

static const char *const every_solver[] = {"gmres", "fgmres", "bicgstab", "cg", "orthomin", "richardson"};
enum { SOLVERS = sizeof every_solver / sizeof every_solver[0] };

/* A symmetric positive definite matrix of four rows, which every solver accepts. */
static const double stiff[] = {4, -1, 0, 0.5, -1, 5, 2, 0, 0, 2, 7, -1, 0.5, 0, -1, 3};
static const double load[] = {1, 2.385, -1, 0.5};

/* Copies the values with one of them replaced. */
static const double *with(const double *values, int count, int where, double value)
{
  static double copy[LARGEST * LARGEST];
  memcpy(copy, values, (size_t)count * sizeof *copy);
  copy[where] = value;
  return copy;
}

static void test_not_finite(karst_context *context)
{
  static const double huge_start[] = {1e300, 0, 0, 0}, huge_load[] = {1e200, 1, 1, 1};
  static const double tiny_pivot[] = {1, 0, 0, 1e-300}, load_there[] = {1, 1e10};
  static const double huge_entry[] = {1, 0, 0, 1e300};
  for (int s = 0; s < SOLVERS; s++) {
    struct trial plain = make_trial(context, every_solver[s], "none", 4, stiff, load), trial = plain;
    trial.b = with(load, 4, 2, NAN);
    expect(&trial, KARST_NOT_FINITE, 2, "the right-hand side, block row 2", "NaN in b");
    trial = plain;
    trial.start = with(load, 4, 3, INFINITY);
    expect(&trial, KARST_NOT_FINITE, 3, "the start, block row 3", "infinity in the start");
    trial = plain;
    trial.a = with(stiff, 16, 6, NAN);
    expect(&trial, KARST_NOT_FINITE, 1, "the matrix, block row 1", "NaN in A");
    trial.block_size = 2;
    expect(&trial, KARST_NOT_FINITE, 0, "the matrix, block row 0", "NaN in A, in blocks");
    trial.options.precond = "iluk";
    expect(&trial, KARST_NOT_FINITE, 0, "the matrix, block row 0", "NaN in A, found by the factorization");
    trial = plain;
    trial.start = huge_start;
    trial.a = with(stiff, 16, 0, 1e300);
    expect(&trial, KARST_NOT_FINITE, 0, "the residual of the start, block row 0", "overflow in A x");
    trial = plain;
    trial.b = huge_load;
    expect(&trial, KARST_OUT_OF_RANGE, -1, "the norm of the right-hand side is", "overflow in |b|");
    /* gmres and fgmres have vectors of length 1, so that the correction or the square of the product overflows
     * first. */
    bool scaled = strstr(every_solver[s], "gmres") != NULL;
    trial = make_trial(context, every_solver[s], "jacobi", 2, tiny_pivot, load_there);
    expect(&trial, KARST_NOT_FINITE, scaled ? -1 : 1,
           scaled ? "the true residual of iteration 1" : "of iteration 1, block", "overflow in M^-1 r");
    trial = make_trial(context, every_solver[s], "none", 2, huge_entry, load_there);
    expect(&trial, KARST_NOT_FINITE, scaled ? -1 : 1,
           scaled ? "a scalar product of iteration 1" : "the matrix times a vector of iteration 1, block row 1",
           "overflow in A M^-1 r");
  }
  struct trial left = make_trial(context, "gmres", "jacobi", 2, tiny_pivot, load_there);
  left.options.side = "left";
  expect(&left, KARST_NOT_FINITE, 1, "the preconditioned residual of iteration 1, block row 1", "overflow in M^-1 r");
}

static void test_singular_block(karst_context *context)
{
  static const double start[] = {0.1, 0.2, 0.3, 0.4};
  for (int s = 0; s < SOLVERS; s++) {
    struct trial trial = make_trial(context, every_solver[s], "jacobi", 4, with(stiff, 16, 10, 0), load);
    trial.start = start;
    expect(&trial, KARST_SINGULAR_BLOCK, 2, "block row 2", "a zero on the diagonal");
    struct verdict verdict = run(&trial);
    tap_ok(memcmp(verdict.x, start, sizeof start) == 0 && verdict.result.iterations == 0,
           "%s leaves x unchanged if the preconditioner has no factors", every_solver[s]);
  }
}

/* The matrix has eight distinct eigenvalues, and the load has all of them: no Krylov method takes fewer than four
 * iterations. */
static void test_iteration_limit(karst_context *context)
{
  enum { N = 8 };
  double spread[N * N] = {0}, ones[N];
  for (int i = 0; i < N; i++) {
    spread[i * N + i] = i + 1;
    ones[i] = 1;
  }
  for (int s = 0; s < SOLVERS; s++) {
    struct trial trial = make_trial(context, every_solver[s], "none", N, spread, ones);
    for (int limit = 0; limit <= 3; limit++) {
      trial.options.max_iterations = limit;
      struct verdict verdict = run(&trial);
      tap_ok(verdict.result.reason == KARST_ITERATION_LIMIT && verdict.result.iterations == limit,
             "%s stops after %d iterations: %s after %d", every_solver[s], limit,
             karst_reason_text(verdict.result.reason), verdict.result.iterations);
    }
    trial.options.max_iterations = 0;
    expect(&trial, KARST_ITERATION_LIMIT, -1, "after 0 iterations", "no iteration allowed");
  }
}

/* One target is below the rounding errors of a residual, and one restarted method makes no progress. */
static void test_stagnation(karst_context *context)
{
  enum { N = 8 };
  double shift[N * N] = {0}, e1[N] = {1};
  for (int s = 0; s < SOLVERS; s++) {
    struct trial trial = make_trial(context, every_solver[s], "jacobi", 4, stiff, load);
    trial.options.rtol = 1e-30;
    struct verdict verdict = run(&trial);
    bool exact = verdict.result.residual == 0, slow = strcmp(every_solver[s], "richardson") == 0;
    tap_ok((exact || verdict.result.reason == KARST_STAGNATED) && verdict.result.iterations < (slow ? 400 : 200) &&
               verdict.result.relative_residual < 1e-15,
           "%s stops at a target of 1e-30 after %d iterations at %.1e", every_solver[s], verdict.result.iterations,
           verdict.result.relative_residual);
  }
  for (int i = 0; i < N; i++) shift[((i + 1) % N) * N + i] = 1;
  struct trial trial = make_trial(context, "gmres", "none", N, shift, e1);
  trial.options.restart = 3;
  expect(&trial, KARST_STAGNATED, -1, "stagnated", "a cyclic shift with a restart too short");
  trial.options.restart = N;
  expect(&trial, KARST_CONVERGED_RTOL, -1, "converged", "a cyclic shift without restart");
}

/* Slow progress is not stagnation: a restarted method far from its solution goes on until the limit. */
static void test_slow_is_not_stagnated(karst_context *context)
{
  tap_settings options = settings_for(NULL, "none");
  options.restart = 2;
  options.max_iterations = 150;
  struct problem p = problem_from(context, "poisson2d:100x100", 1, 0);
  for (int side = 0; side < 2; side++) {
    options.side = side ? "left" : "right";
    karst_solver *solver = problem_solver(&p, &options);
    const karst_result result = problem_solve(&p, solver);
    tap_ok(result.reason == KARST_ITERATION_LIMIT && result.iterations == 150 && result.relative_residual < 1,
           "gmres(2), %s, is slow but goes on: %.2e after %d iterations", options.side, result.relative_residual,
           result.iterations);
    karst_solver_destroy(solver);
  }
  problem_destroy(&p);
}

/* A monitor that gives the matrix new values during a solve, and notes when the residual meets the target. */
struct value_changer {
  karst_matrix *A;
  const double *value; /* the new values */
  double target;
  int first_met; /* number of the first iteration whose residual meets the target; -1: none yet */
};

static karst_decision change_at_five(void *user, int iteration, double residual)
{
  struct value_changer *changer = user;
  if (iteration == 5) tap_need(NULL, karst_matrix_update_values(changer->A, changer->value), "new values");
  if (changer->first_met < 0 && residual <= changer->target) changer->first_met = iteration;
  return KARST_GO_ON;
}

/* The recursive residual of a method belongs in part to another matrix, and reaches the target before the true residual
 * does. The solve goes on from the true residual to the solution of the changed system. */
static void test_wrong_recursive_residual(karst_context *context)
{
  struct problem p = problem_from(context, "poisson2d:16x16", 1, 0);
  double *value = values_on_host(p.A), *larger = values_on_host(p.A);
  for (int64_t k = 0; k < karst_matrix_blocks(p.A); k++) larger[k] *= 1.4;
  for (int s = 0; s < SOLVERS; s++) {
    struct value_changer changer = {p.A, larger, 1e-10 * 16, -1};
    tap_need(context, karst_matrix_update_values(p.A, value), "old values");
    tap_settings options = settings_for(every_solver[s], NULL);
    options.rtol = 1e-10;
    karst_solver *solver = problem_solver(&p, &options);
    karst_solver_monitor(solver, change_at_five, &changer);
    const karst_result result = problem_solve(&p, solver);
    const double residual = tap_residual(p.A, p.b, p.x);
    const bool recursive = strcmp(every_solver[s], "richardson") != 0; /* richardson computes only the true residual */
    tap_ok(changer.first_met > 0 && (changer.first_met < result.iterations) == recursive,
           "%s first meets the target at iteration %d of %d", every_solver[s], changer.first_met, result.iterations);
    tap_ok(result.reason == KARST_CONVERGED_RTOL && residual <= changer.target * (1 + 1e-3),
           "%s goes on until the true residual meets the target: %.1e", every_solver[s], residual);
    karst_solver_destroy(solver);
  }
  free(value);
  free(larger);
  problem_destroy(&p);
}

/* The start is so large that the residual loses all of its digits during the solve. */
static void test_far_start(karst_context *context)
{
  struct problem p = problem_from(context, "poisson2d:16x16", 1, 0);
  for (int s = 0; s < SOLVERS; s++) {
    tap_settings options = settings_for(every_solver[s], NULL);
    options.restart = 200;
    options.rtol = 1e-10;
    tap_need(context, karst_vector_fill_random(p.x, 5), "start");
    tap_need(context, karst_vector_add(1e12, p.x, p.x), "start");
    const bool slow = strcmp(every_solver[s], "richardson") == 0;
    karst_solver *solver = problem_solver(&p, &options);
    const karst_result result = solved(solver, p.b, p.x);
    const double residual = tap_residual(p.A, p.b, p.x);
    tap_ok(result.reason == KARST_CONVERGED_RTOL && residual <= 16e-10 * (1 + 1e-3) &&
               result.iterations < (slow ? 1000 : 100),
           "%s converges from a start of 1e12 in %d iterations: %.1e", every_solver[s], result.iterations, residual);
    karst_solver_destroy(solver);
  }
  problem_destroy(&p);
}

/* A preconditioner that changes in each call breaks every recurrence. The size of this one's results varies. */
static int varying_calls;

static karst_status varying_apply(const karst_precond *p, const double *r, double *z)
{
  static const double part[] = {0.4, 0.1, 0.3, 0.2, 0.25};
  const struct karst_backend *backend = p->context->backend;
  backend->fill(p->context, 4, part[varying_calls++ % 5], z);
  backend->multiply_elements(p->context, 4, z, r, z);
  return KARST_SUCCESS;
}

static const struct karst_precond_ops varying_ops = {
    .name = "varying", .setup = precond_succeed, .update = precond_succeed, .apply = varying_apply};

static void test_varying_preconditioner(karst_context *context)
{
  for (int s = 0; s < SOLVERS; s++) {
    struct trial trial = make_trial(context, every_solver[s], "none", 4, stiff, load);
    karst_matrix *A = make_matrix(&trial);
    karst_vector *b = make_vector(&trial, load), *x = make_vector(&trial, NULL);
    karst_precond varying = {.ops = &varying_ops, .context = context, .A = A, .block_row = -1};
    karst_krylov_limits limits;
    karst_result result;
    double found[4], target = 1e-8 * norm_of_residual(&trial, NULL);
    trial.options.max_iterations = 400;
    karst_krylov *krylov;
    tap_need(context, make_driver(&trial.options, A, &varying, &limits, &krylov), "driver");
    tap_need(context, karst_krylov_solve(krylov, b->values, x->values, target, 0, &result), "solve");
    tap_need(context, karst_vector_get(x, 4, found), "x");
    double residual = norm_of_residual(&trial, found);
    tap_ok((result.reason > 0) == (residual <= target * (1 + 1e-6)) && fabs(residual - result.residual) < 1e-12 &&
               residual <= norm_of_residual(&trial, NULL),
           "%s reports the true residual with a preconditioner that changes: %s, %.1e after %d iterations",
           every_solver[s], karst_reason_text(result.reason), residual, result.iterations);
    karst_krylov_destroy(krylov);
    karst_vector_destroy(b);
    karst_vector_destroy(x);
    karst_matrix_destroy(A);
  }
}

/* A preconditioner that does nothing until a claim of convergence was wrong. Then, from the second direction on, it
 * puts an infinity into row 2. Keeps |r| of the last two calls. */
struct infinity_maker {
  const karst_krylov *krylov;
  int calls; /* since the wrong claim of convergence */
  double norm[2];
};

static karst_status make_infinity(const karst_precond *p, const double *r, double *z)
{
  struct infinity_maker *maker = p->data;
  const struct karst_backend *backend = p->context->backend;
  double host[4];
  backend->copy(p->context, 4, r, z);
  if (maker->krylov->claims.wrong == 0) return KARST_SUCCESS;
  tap_need(p->context, backend->download(p->context, host, r, sizeof host), "r");
  maker->norm[0] = maker->norm[1];
  maker->norm[1] = sqrt(host[0] * host[0] + host[1] * host[1] + host[2] * host[2] + host[3] * host[3]);
  if (++maker->calls > 1) backend->fill(p->context, 1, INFINITY, z + 2);
  return KARST_SUCCESS;
}

static const struct karst_precond_ops infinity_ops = {
    .name = "maker", .setup = precond_succeed, .update = precond_succeed, .apply = make_infinity};

static karst_decision change_at_one(void *user, int iteration, double residual)
{
  struct value_changer *changer = user;
  (void)residual;
  if (iteration == 1) tap_need(NULL, karst_matrix_update_values(changer->A, changer->value), "new values");
  return KARST_GO_ON;
}

/* After a wrong claim of convergence, x is a correction. orthomin computes its residual anew to find where an infinity
 * arose, and must find the residual that it had. */
static void test_reason_in_a_correction(karst_context *context)
{
  struct trial trial = make_trial(context, "orthomin", "none", 4, stiff, load);
  karst_matrix *A = make_matrix(&trial);
  karst_vector *b = make_vector(&trial, load), *x = make_vector(&trial, NULL);
  double larger[16];
  for (int i = 0; i < 16; i++) larger[i] = 1.4 * stiff[i];
  struct infinity_maker maker = {0};
  struct value_changer changer = {.A = A, .value = larger};
  karst_precond precond = {.ops = &infinity_ops, .context = context, .A = A, .data = &maker, .block_row = -1};
  karst_krylov_limits limits;
  karst_result result;
  karst_krylov *krylov;
  tap_need(context, make_driver(&trial.options, A, &precond, &limits, &krylov), "driver");
  maker.krylov = krylov;
  krylov->monitor.function = change_at_one;
  krylov->monitor.user = &changer;
  double target = 1e-10 * norm_of_residual(&trial, NULL);
  tap_need(context, karst_krylov_solve(krylov, b->values, x->values, target, 0, &result), "solve");
  tap_ok(result.reason == KARST_NOT_FINITE && result.block_row == 2 &&
             strstr(krylov->fault.what, "the preconditioned residual"),
         "an infinity in a correction: %s, block row %ld", krylov->fault.what ? krylov->fault.what : "nothing",
         (long)result.block_row);
  tap_ok(fabs(maker.norm[1] - maker.norm[0]) <= 1e-10 * maker.norm[0], "its residual is found again: %.10e, %.10e",
         maker.norm[0], maker.norm[1]);
  karst_krylov_destroy(krylov);
  karst_vector_destroy(b);
  karst_vector_destroy(x);
  karst_matrix_destroy(A);
}

static void test_all(karst_context *context)
{
  test_bicgstab_breakdowns(context);
  test_gmres_breakdowns(context);
  test_direction_breakdown(context);
  test_indefinite(context);
  test_not_finite(context);
  test_singular_block(context);
  test_iteration_limit(context);
  test_stagnation(context);
  test_slow_is_not_stagnated(context);
  test_wrong_recursive_residual(context);
  test_far_start(context);
  test_varying_preconditioner(context);
  test_reason_in_a_correction(context);
}

int main(void)
{
  tap_each_device(test_all, "outcomes");
  return tap_done();
}
