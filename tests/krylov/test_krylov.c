/* Each Krylov driver finds the solution that dense elimination finds, with every preconditioner, from either side, with
 * any restart and from any start. It stops where its options say, reports the residual of its x, and gives the same
 * bits each time. Solves reach a relative residual of 1e-12 on systems with condition numbers of a few hundred at most,
 * so that solutions agree to 1e-9. */

#include "tests/support/problem.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double agreement = 1e-9;

/* The system A x = b with a random right-hand side, and its solution by dense elimination. */
struct system {
  karst_context *context;
  karst_matrix *A;
  karst_vector *b;
  double *solution; /* [n] */
  int64_t n;
};

struct outcome {
  karst_result result;
  double *x;              /* [n] solution, which the caller frees */
  double residual;        /* |b - A x|, from tap_residual */
  double history[512];    /* residuals that the monitor was given, as far as there is room */
  int calls, least, most; /* of the monitor: number of calls, and range of its iteration numbers */
};

static struct system make_system(karst_context *context, karst_matrix *A)
{
  struct system p = {.context = context, .A = A, .n = karst_matrix_rows(A)};
  p.solution = random_on_host(p.n);
  p.b = vector_from(context, p.n, p.solution);
  double *dense = tap_dense(A);
  if (!tap_dense_solve(p.n, dense, p.solution)) tap_note("the dense matrix is singular");
  free(dense);
  return p;
}

static void destroy_system(struct system *p)
{
  karst_matrix_destroy(p->A);
  karst_vector_destroy(p->b);
  free(p->solution);
}

/* Makes a symmetric positive definite M-matrix: a grid of 6 x 7 nodes with random conductances and sinks. */
static struct system make_symmetric(karst_context *context, int b)
{
  enum { NX = 6, NY = 7, N = NX * NY };
  static double dense[N][N];
  memset(dense, 0, sizeof dense);
  for (int i = 0; i < N; i++) {
    const int neighbour[] = {i % NX + 1 < NX ? i + 1 : N, i + NX};
    dense[i][i] += 0.1 * (1.01 + tap_random());
    for (int e = 0; e < 2; e++) {
      int j = neighbour[e];
      double conductance = 1.5 + tap_random();
      if (j >= N) continue;
      dense[i][i] += conductance;
      dense[j][j] += conductance;
      dense[i][j] = dense[j][i] = -conductance;
    }
  }
  return make_system(context, matrix_from_rows(context, N, b, &dense[0][0]));
}

static tap_settings tight_options(const char *solver, const char *precond)
{
  tap_settings options = settings_for(solver, precond);
  options.rtol = 1e-12;
  options.max_iterations = 2000;
  if (strcmp(solver, "richardson") != 0) return options;
  options.max_iterations = 20000;
  if (strcmp(precond, "none") == 0) options.damping = 0.09; /* eigenvalues are below 2 / damping: the row sums of |A| */
  return options;
}

static karst_decision remember(void *user, int iteration, double residual)
{
  struct outcome *outcome = user;
  if (outcome->calls == 0 || iteration < outcome->least) outcome->least = iteration;
  if (outcome->calls == 0 || iteration > outcome->most) outcome->most = iteration;
  if (outcome->calls < 512) outcome->history[outcome->calls] = residual;
  outcome->calls++;
  return KARST_GO_ON;
}

/* Solves from start, or from zero if start is NULL. */
static struct outcome solve(const struct system *p, const tap_settings *options, const double *start)
{
  struct outcome outcome = {.calls = 0};
  karst_vector *x = vector_of(p->context, p->n, 0);
  karst_solver *solver = solver_of(p->context, options);
  if (start) tap_need(p->context, karst_vector_set(x, p->n, start), "start");
  karst_solver_monitor(solver, remember, &outcome);
  tap_need(p->context, karst_solver_setup(solver, p->A), "setup");
  outcome.result = solved(solver, p->b, x);
  outcome.residual = tap_residual(p->A, p->b, x);
  outcome.x = vector_on_host(x);
  karst_solver_destroy(solver);
  karst_vector_destroy(x);
  return outcome;
}

/* Solves, and returns the distance from the dense solution. The distance is huge if the solve did not converge, or if
 * the reported residual differs from that of x by more than rounding errors; entries are about 1. */
static double error_of(const struct system *p, const tap_settings *options, const double *start)
{
  struct outcome outcome = solve(p, options, start);
  double error = relative_difference(p->n, outcome.x, p->solution);
  double doubt = fabs(outcome.residual - outcome.result.residual);
  const double norm = vector_norm(p->b);
  if (outcome.result.reason != KARST_CONVERGED_RTOL || !(doubt <= 0.1 * outcome.residual + 1e-13 * norm))
    error = HUGE_VAL;
  free(outcome.x);
  return error;
}

struct variant {
  const char *solver, *side, *orthogonalise;
};

static const struct variant variants[] = {
    {"gmres", "right", "once"},     {"gmres", "left", "once"},     {"gmres", "right", "twice"},
    {"gmres", "left", "twice"},     {"bicgstab", "right", "once"}, {"orthomin", "right", "once"},
    {"gmres", "right", "auto"},     {"gmres", "left", "auto"},     {"orthomin", "right", "auto"},
    {"orthomin", "right", "twice"}, {"fgmres", "right", "once"},   {"fgmres", "right", "twice"},
    {"fgmres", "right", "auto"},
};
enum { VARIANTS = sizeof variants / sizeof variants[0] };

static const struct {
  const char *precond;
  int level;
} preconditioners[] = {{"none", 0}, {"jacobi", 0}, {"iluk", 0}, {"iluk", 2}};
enum { PRECONDITIONERS = sizeof preconditioners / sizeof preconditioners[0] };

static tap_settings variant_options(const struct variant *variant, int preconditioner)
{
  tap_settings options = tight_options(variant->solver, preconditioners[preconditioner].precond);
  options.side = variant->side;
  options.orthogonalise = variant->orthogonalise;
  options.level = preconditioners[preconditioner].level;
  return options;
}

static void test_against_dense(karst_context *context)
{
  static const int block_sizes[] = {1, 2, 3, 5}, restarts[] = {1, 4, 100000};
  double worst[VARIANTS][PRECONDITIONERS] = {{0}};
  for (int s = 0; s < 4; s++) {
    struct system p = make_system(context, tap_random_matrix(context, 24, block_sizes[s], 4, 1));
    for (int v = 0; v < VARIANTS; v++)
      for (int m = 0; m < PRECONDITIONERS; m++)
        for (int r = 0; r < 3; r++) {
          tap_settings options = variant_options(&variants[v], m);
          options.restart = restarts[r];
          worst[v][m] = fmax(worst[v][m], error_of(&p, &options, NULL));
        }
    destroy_system(&p);
  }
  for (int v = 0; v < VARIANTS; v++)
    for (int m = 0; m < PRECONDITIONERS; m++)
      tap_ok(worst[v][m] < agreement, "%s, %s, Gram-Schmidt %s, with %s(%d): solution as by dense elimination: %.1e",
             variants[v].solver, variants[v].side, variants[v].orthogonalise, preconditioners[m].precond,
             preconditioners[m].level, worst[v][m]);
}

static void test_symmetric(karst_context *context)
{
  static const char *const solvers[] = {"cg", "gmres", "fgmres", "bicgstab", "orthomin", "richardson"};
  enum { COUNT = sizeof solvers / sizeof solvers[0] };
  double worst[COUNT] = {0};
  for (int b = 1; b <= 3; b++) {
    struct system p = make_symmetric(context, b);
    for (int s = 0; s < COUNT; s++)
      for (int m = 0; m < PRECONDITIONERS; m++) {
        tap_settings options = tight_options(solvers[s], preconditioners[m].precond);
        options.level = preconditioners[m].level;
        worst[s] = fmax(worst[s], error_of(&p, &options, NULL));
      }
    destroy_system(&p);
  }
  for (int s = 0; s < COUNT; s++)
    tap_ok(worst[s] < agreement, "%s solves a symmetric system: %.1e", solvers[s], worst[s]);
}

static double dot(int64_t n, const double *x, const double *y)
{
  double sum = 0;
  for (int64_t i = 0; i < n; i++) sum += x[i] * y[i];
  return sum;
}

/* cg needs a preconditioner with (M^-1 u, v) = (u, M^-1 v). */
static void test_symmetric_operator(karst_context *context)
{
  double worst = 0, least = HUGE_VAL;
  for (int b = 1; b <= 3; b++)
    for (int level = 0; level <= 2; level++) {
      struct system p = make_symmetric(context, b);
      tap_settings options = tight_options("cg", "iluk");
      options.level = level;
      karst_precond *M = precond_of(context, &options, p.A);
      double *u = random_on_host(p.n), *v = random_on_host(p.n), *Mu = applied(M, u), *Mv = applied(M, v);
      worst = fmax(worst, fabs(dot(p.n, Mu, v) - dot(p.n, u, Mv)) / sqrt(dot(p.n, Mu, Mu) * dot(p.n, v, v)));
      least = fmin(least, dot(p.n, Mu, u));
      free(u);
      free(v);
      free(Mu);
      free(Mv);
      karst_precond_destroy(M);
      destroy_system(&p);
    }
  tap_ok(worst < 1e-13, "iluk of a symmetric matrix is a symmetric operator: %.1e", worst);
  tap_ok(least > 0, "iluk of a symmetric positive definite M-matrix is positive definite");
}

/* Tests every driver, also cg, on a symmetric positive definite system. */
static const char *const every_solver[] = {"gmres", "fgmres", "bicgstab", "cg", "orthomin", "richardson"};
enum { SOLVERS = sizeof every_solver / sizeof every_solver[0] };

static void test_starts(karst_context *context)
{
  struct system p = make_symmetric(context, 2);
  double *start = tap_memory(p.n, sizeof *start);
  for (int64_t i = 0; i < p.n; i++) start[i] = 50 * tap_random();
  for (int s = 0; s < SOLVERS; s++) {
    tap_settings options = tight_options(every_solver[s], "iluk");
    double error = error_of(&p, &options, start);
    tap_ok(error < agreement, "%s from a start that is not zero: %.1e", options.solver, error);
    struct outcome exact = solve(&p, &options, p.solution);
    tap_ok(exact.result.reason == KARST_CONVERGED_RTOL && exact.result.iterations == 0 &&
               memcmp(exact.x, p.solution, (size_t)p.n * sizeof *exact.x) == 0,
           "%s leaves the exact solution as it is, after 0 iterations", options.solver);
    free(exact.x);
  }
  free(start);
  destroy_system(&p);
}

/* Makes a matrix with a few eigenvalues far above the others, as convection does. Most of B v lies in few directions,
 * and one pass of Gram-Schmidt loses orthogonality to the others. */
static struct system make_convective(karst_context *context)
{
  enum { N = 120, LARGE = 6 };
  static double rows[N * N];
  for (int i = 0; i < N; i++) {
    rows[i * N + i] = i < LARGE ? pow(10, 8 - i) : 1.5 + 0.5 * tap_random();
    if (i + 1 < N) rows[i * N + i + 1] = 0.3 * tap_random();
  }
  return make_system(context, matrix_from_rows(context, N, 1, rows));
}

/* If losing orthogonality costs iterations, "auto" takes as many as "twice". In five systems together it costs some. */
static void test_orthogonality(karst_context *context, const char *solver)
{
  enum { ONCE, TWICE, AUTO, PASSES, SYSTEMS = 5 };
  static const char *const passes[PASSES] = {"once", "twice", "auto"};
  int iterations[PASSES] = {0};
  for (int s = 0; s < SYSTEMS; s++) {
    struct system p = make_convective(context);
    for (int i = 0; i < PASSES; i++) {
      tap_settings options = tight_options(solver, "none");
      options.rtol = 1e-6;
      options.orthogonalise = passes[i];
      struct outcome outcome = solve(&p, &options, NULL);
      iterations[i] += outcome.result.reason > 0 ? outcome.result.iterations : 10000;
      free(outcome.x);
    }
    destroy_system(&p);
  }
  tap_ok(iterations[ONCE] > iterations[TWICE] && abs(iterations[AUTO] - iterations[TWICE]) <= SYSTEMS,
         "%s takes %d iterations with Gram-Schmidt once, %d with twice, %d with auto", solver, iterations[ONCE],
         iterations[TWICE], iterations[AUTO]);
}

/* With a fixed preconditioner fgmres takes the steps of gmres from the right. The first cycle agrees bit by bit. Later
 * ones agree up to the rounding errors of x, which may cost or save the last iteration. */
static void test_flexible_is_gmres(karst_context *context)
{
  static const char *const passes[] = {"once", "twice", "auto"};
  int total = 0, off = 0, other = 0;
  double worst = 0;
  for (int trial = 0; trial < 24; trial++) {
    struct system p = make_system(context, tap_random_matrix(context, 60, 1 + trial % 3, 4, 0.7));
    tap_settings options = tight_options("gmres", preconditioners[trial % PRECONDITIONERS].precond);
    options.level = preconditioners[trial % PRECONDITIONERS].level;
    options.orthogonalise = passes[trial / 3 % 3];
    options.restart = trial % 2 ? 5 : 100;
    struct outcome fixed = solve(&p, &options, NULL);
    options.solver = "fgmres";
    struct outcome flexible = solve(&p, &options, NULL);
    const int common = fixed.result.iterations < options.restart ? fixed.result.iterations : options.restart;
    total += fixed.result.iterations;
    off += abs(fixed.result.iterations - flexible.result.iterations) > 1;
    other += memcmp(fixed.history, flexible.history, (size_t)(common + 1) * sizeof fixed.history[0]) != 0;
    worst = fmax(worst, relative_difference(p.n, flexible.x, fixed.x));
    free(fixed.x);
    free(flexible.x);
    destroy_system(&p);
  }
  tap_ok(off == 0 && other == 0 && worst < agreement,
         "fgmres takes the iterations of gmres, the first cycle to the bit, in %d of them: x differs by %.1e", total,
         worst);
}

static void test_zero_rhs(karst_context *context)
{
  struct system p = make_symmetric(context, 3);
  double *start = tap_memory(p.n, sizeof *start);
  start[p.n / 2] = 1;
  tap_need(context, karst_vector_fill(p.b, 0), "zero");
  for (int s = 0; s < SOLVERS; s++) {
    tap_settings options = tight_options(every_solver[s], "jacobi");
    struct outcome from_zero = solve(&p, &options, NULL), from_one = solve(&p, &options, start);
    tap_ok(from_zero.result.reason == KARST_CONVERGED_RTOL && from_zero.result.iterations == 0 &&
               from_zero.result.residual == 0 && from_zero.result.relative_residual == 0,
           "%s: zero is converged for b = 0 and a start of zero", options.solver);
    tap_ok(from_one.result.reason == KARST_CONVERGED_RTOL && from_one.result.iterations == 0 && from_one.residual == 0,
           "%s returns to zero at once", options.solver);
    free(from_zero.x);
    free(from_one.x);
  }
  free(start);
  destroy_system(&p);
}

/* The larger of the two targets counts, and the reason names it. */
static void test_targets(karst_context *context)
{
  struct system p = make_symmetric(context, 1);
  for (int s = 0; s < SOLVERS; s++) {
    tap_settings options = tight_options(every_solver[s], "none");
    options.atol = 1e-3;
    struct outcome loose = solve(&p, &options, NULL);
    options.atol = 1e-14;
    struct outcome tight = solve(&p, &options, NULL);
    tap_ok(loose.result.reason == KARST_CONVERGED_ATOL && loose.residual <= 1e-3 && loose.residual > 1e-7,
           "%s stops at atol and not far below: %.1e", options.solver, loose.residual);
    tap_ok(tight.result.reason == KARST_CONVERGED_RTOL && tight.result.relative_residual <= 1e-12,
           "%s stops at rtol where that is larger: %.1e", options.solver, tight.result.relative_residual);
    tap_ok(loose.result.iterations < tight.result.iterations, "%s takes fewer iterations for a larger target",
           options.solver);
    free(loose.x);
    free(tight.x);
  }
  destroy_system(&p);
}

static void test_history(karst_context *context)
{
  struct system p = make_system(context, tap_random_matrix(context, 60, 2, 4, 0.6));
  for (int v = 0; v < VARIANTS; v++) {
    tap_settings options = variant_options(&variants[v], 1);
    options.restart = 7;
    struct outcome outcome = solve(&p, &options, NULL);
    bool minimises = strstr(variants[v].solver, "gmres") && strcmp(variants[v].side, "right") == 0, falls = true;
    for (int i = 1; i < outcome.calls && i < 512; i++)
      falls &= outcome.history[i] <= outcome.history[i - 1] * (1 + 1e-10);
    tap_ok(outcome.least == 0 && outcome.most == outcome.result.iterations && outcome.calls == outcome.most + 1,
           "%s, %s: the monitor is called once in each iteration, from 0 to %d", variants[v].solver, variants[v].side,
           outcome.most);
    tap_ok(outcome.history[0] > outcome.history[outcome.calls - 1], "%s, %s: the residual ends below its start",
           variants[v].solver, variants[v].side);
    if (minimises)
      tap_ok(falls, "the residual of %s never rises, Gram-Schmidt %s", variants[v].solver, variants[v].orthogonalise);
    free(outcome.x);
  }
  destroy_system(&p);
}

/* Without restart GMRES ends within n steps, up to rounding, and so does CG. */
static void test_finite_termination(karst_context *context)
{
  struct system p = make_system(context, tap_random_matrix(context, 12, 1, 4, 0.8));
  tap_settings options = tight_options("gmres", "none");
  options.restart = 1000000000;
  struct outcome full = solve(&p, &options, NULL);
  tap_ok(full.result.reason == KARST_CONVERGED_RTOL && full.result.iterations <= p.n,
         "gmres without restart ends within %d steps: %d", (int)p.n, full.result.iterations);
  free(full.x);
  destroy_system(&p);
}

/* ILU(0) of a block tridiagonal matrix is its LU factorization: one step solves, and another may remove rounding
 * errors. */
static void test_exact_preconditioner(karst_context *context)
{
  enum { N = 20 };
  double rows[N * N] = {0};
  for (int i = 0; i < N; i++)
    for (int j = i > 0 ? i - 1 : 0; j < N && j <= i + 1; j++)
      rows[i * N + j] = i == j ? 2.385 : -0.9 - 0.1 * cos(i + j);
  struct system p = make_system(context, matrix_from_rows(context, N, 1, rows));
  for (int s = 0; s < SOLVERS; s++) {
    tap_settings options = tight_options(every_solver[s], "iluk");
    struct outcome outcome = solve(&p, &options, NULL);
    tap_ok(outcome.result.reason == KARST_CONVERGED_RTOL && outcome.result.iterations <= 2,
           "%s with the exact factorization takes %d iterations", options.solver, outcome.result.iterations);
    free(outcome.x);
  }
  destroy_system(&p);
}

/* One solver object gets new values on the same pattern. */
static void test_update(karst_context *context)
{
  struct system p = make_symmetric(context, 2);
  double *doubled = values_on_host(p.A);
  for (int64_t v = 0; v < 4 * karst_matrix_blocks(p.A); v++) doubled[v] *= 2;
  for (int s = 0; s < SOLVERS; s++) {
    tap_settings options = tight_options(every_solver[s], "iluk");
    struct system own = make_symmetric(context, 2);
    double *host = tap_memory(p.n, sizeof *host);
    karst_vector *x = vector_of(context, p.n, 0);
    karst_solver *solver = solver_set_up(context, &options, own.A);
    const karst_result first = solved(solver, own.b, x);
    tap_need(context, karst_matrix_update_values(own.A, doubled), "new values");
    tap_need(context, karst_solver_update(solver), "update");
    const karst_result second = solved(solver, p.b, x);
    tap_need(context, karst_vector_get(x, p.n, host), "x");
    for (int64_t i = 0; i < p.n; i++) host[i] *= 2;
    double error = relative_difference(p.n, host, p.solution);
    tap_ok(first.reason > 0 && second.reason > 0 && error < agreement, "%s solves again with new values: %.1e",
           options.solver, error);
    karst_solver_destroy(solver);
    karst_vector_destroy(x);
    free(host);
    destroy_system(&own);
  }
  free(doubled);
  destroy_system(&p);
}

/* Solves a system that is large enough to be shared among threads. */
static void solve_poisson(karst_context *context, const char *solver_name, double *x, karst_result *result)
{
  tap_settings options = tight_options(solver_name, "iluk");
  options.rtol = 1e-8;
  struct problem p = problem_from(context, "poisson3d:21x21x21", 1, 7);
  karst_solver *solver = problem_solver(&p, &options);
  *result = problem_solve(&p, solver);
  tap_need(context, karst_vector_get(p.x, p.n, x), "x");
  karst_solver_destroy(solver);
  problem_destroy(&p);
}

/* Ten solves in one context give the same bits. On the CPU, so does a solve in a context with another number of
 * threads. */
static void test_same_bits(karst_context *context)
{
  enum { N = 21 * 21 * 21, BYTES = N * sizeof(double) };
  double *first = tap_memory(N, sizeof *first), *again = tap_memory(N, sizeof *again);
  bool on_cpu = strncmp(karst_context_device(context), "cpu", 3) == 0;
  for (int s = 0; s < SOLVERS; s++) {
    karst_result result, repeated;
    bool same = true;
    solve_poisson(context, every_solver[s], first, &result);
    for (int i = 1; i < 10 && same; i++) {
      solve_poisson(context, every_solver[s], again, &repeated);
      same = memcmp(first, again, BYTES) == 0 && repeated.iterations == result.iterations;
    }
    tap_ok(same && result.reason > 0, "%s: ten solves of %d iterations, the same bits", every_solver[s],
           result.iterations);
    if (!on_cpu) continue;
    karst_context *serial = tap_context();
    solve_poisson(serial, every_solver[s], again, &repeated);
    tap_ok(memcmp(first, again, BYTES) == 0, "%s: the same bits with one thread and %d", every_solver[s],
           karst_context_threads(context));
    karst_context_destroy(serial);
  }
  free(first);
  free(again);
}

static void test_all(karst_context *context)
{
  test_against_dense(context);
  test_symmetric(context);
  test_symmetric_operator(context);
  test_starts(context);
  test_orthogonality(context, "gmres");
  test_orthogonality(context, "fgmres");
  test_flexible_is_gmres(context);
  test_zero_rhs(context);
  test_targets(context);
  test_history(context);
  test_finite_termination(context);
  test_exact_preconditioner(context);
  test_update(context);
  test_same_bits(context);
}

int main(void)
{
  tap_each_device(test_all, "Krylov drivers");
  return tap_done();
}
