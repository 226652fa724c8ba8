/* Richardson's iteration x = x + w M^-1 (b - A x) takes the steps of a dense loop of that formula. It tells the monitor
 * the true residual of each x, and hands back the best x where it diverges. */
#include "tests/support/settings.h"
#include "tests/support/tap.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 6, ROWS = 23 };

struct problem {
  karst_context *context;
  karst_matrix *A;
  karst_vector *b, *x;
  int64_t n;
  double *dense, *load; /* [n n] column by column, [n] */
};

static double *need(int64_t count)
{
  double *value = calloc((size_t)count, sizeof *value);
  if (value) return value;
  tap_need(NULL, KARST_ERROR_NO_MEMORY, "memory of the test itself");
  exit(1);
}

static struct problem make_problem(karst_context *context, karst_matrix *A)
{
  struct problem p = {.context = context, .A = A, .n = karst_matrix_rows(A)};
  p.dense = tap_dense(A);
  p.load = need(p.n);
  for (int64_t i = 0; i < p.n; i++) p.load[i] = tap_random();
  tap_need(context, karst_vector_create(context, p.n, &p.b), "b");
  tap_need(context, karst_vector_create(context, p.n, &p.x), "x");
  tap_need(context, karst_vector_set(p.b, p.n, p.load), "b");
  return p;
}

static void destroy_problem(struct problem *p)
{
  karst_vector_destroy(p->b);
  karst_vector_destroy(p->x);
  karst_matrix_destroy(p->A);
  free(p->dense);
  free(p->load);
}

static tap_settings settings_for(const char *precond, double damping, int steps)
{
  tap_settings settings;
  tap_settings_default(&settings);
  settings.solver = "richardson";
  settings.precond = precond;
  settings.damping = damping;
  settings.max_iterations = steps;
  settings.rtol = 0; /* all steps are made */
  return settings;
}

/* What the monitor was told of the start and of each step. */
struct history {
  int count;
  double norm[STEPS + 1];
};

static karst_decision listen(void *user, int iteration, double residual)
{
  struct history *history = user;
  if (iteration <= STEPS) history->norm[iteration] = residual;
  history->count = iteration + 1;
  return KARST_GO_ON;
}

/* Solves from zero; x in p->x. */
static karst_result solve(const struct problem *p, const tap_settings *settings, struct history *history)
{
  karst_solver *solver;
  karst_result result;
  tap_need(p->context, karst_vector_fill(p->x, 0), "start");
  tap_need(p->context, tap_solver_setup(p->context, settings, p->A, &solver), "solver");
  if (history) karst_solver_monitor(solver, listen, history);
  tap_need(p->context, karst_solver_solve(solver, p->b, p->x, &result), "solve");
  karst_solver_destroy(solver);
  return result;
}

static double norm_of(int64_t n, const double *x)
{
  double sum = 0;
  for (int64_t i = 0; i < n; i++) sum += x[i] * x[i];
  return sqrt(sum);
}

/* r = b - A x, dense */
static void compute_residual(const struct problem *p, const double *x, double *r)
{
  for (int64_t i = 0; i < p->n; i++) {
    r[i] = p->load[i];
    for (int64_t j = 0; j < p->n; j++) r[i] -= p->dense[j * p->n + i] * x[j];
  }
}

/* The loop of the formula on the host; M^-1 by the preconditioner alone. norm[l]: |r| after l steps. */
static void iterate(const struct problem *p, const tap_settings *settings, double norm[STEPS + 1], double *x)
{
  karst_precond *M;
  karst_vector *in, *out;
  double *r = need(p->n), *z = need(p->n);
  tap_need(p->context, tap_precond_create(p->context, settings, p->A, &M), "preconditioner");
  tap_need(p->context, karst_vector_create(p->context, p->n, &in), "r");
  tap_need(p->context, karst_vector_create(p->context, p->n, &out), "z");
  for (int step = 0; step <= STEPS; step++) {
    compute_residual(p, x, r);
    norm[step] = norm_of(p->n, r);
    if (step == STEPS) break;
    tap_need(p->context, karst_vector_set(in, p->n, r), "r");
    tap_need(p->context, karst_precond_apply(M, in, out), "apply");
    tap_need(p->context, karst_vector_get(out, p->n, z), "z");
    for (int64_t i = 0; i < p->n; i++) x[i] += settings->damping * z[i];
  }
  karst_vector_destroy(in);
  karst_vector_destroy(out);
  karst_precond_destroy(M);
  free(r);
  free(z);
}

/* Sums of n products in another order differ by rounding, which a step multiplies by a norm of A M^-1 of a few ten;
 * against the largest residual, for rounding errors do not become smaller with it. */
static const double agreement = 1e-11;

static void test_formula(karst_context *context)
{
  static const char *const preconds[] = {"none", "jacobi", "iluk"};
  static const double dampings[] = {1, 0.6, 1.3};
  static const int sizes[] = {1, 2, 3, 5, 8};
  for (int c = 0; c < 5 * 3 * 3; c++) {
    struct problem p = make_problem(context, tap_random_matrix(context, ROWS, sizes[c / 9], 3, 1.2));
    struct history told = {0};
    tap_settings settings = settings_for(preconds[c / 3 % 3], dampings[c % 3], STEPS);
    double norm[STEPS + 1], *x = need(p.n), *found = need(p.n), worst = 0, largest = 0, apart = 0;
    const karst_result result = solve(&p, &settings, &told);
    iterate(&p, &settings, norm, x);
    tap_need(context, karst_vector_get(p.x, p.n, found), "x");
    int least = 0;
    for (int i = 0; i <= STEPS; i++) {
      largest = fmax(largest, norm[i]);
      worst = fmax(worst, fabs(told.norm[i] - norm[i]));
      if (norm[i] < norm[least]) least = i;
    }
    for (int64_t i = 0; i < p.n; i++) apart = fmax(apart, fabs(found[i] - x[i]));
    tap_ok(told.count == STEPS + 1 && worst <= agreement * largest && result.iterations == STEPS &&
               fabs(result.residual - norm[least]) <= agreement * largest &&
               (least < STEPS || apart <= agreement * norm_of(p.n, x)),
           "b = %d, %s, damping %g: the steps of the formula: %.1e", sizes[c / 9], settings.precond, settings.damping,
           worst / largest);
    free(x);
    free(found);
    destroy_problem(&p);
  }
}

/* The norm told after l steps is the true one, in 12 digits, of the x that a solve of l steps leaves. */
static void test_true_norms(karst_context *context)
{
  static const char *const orderings[] = {"natural", "rcm"};
  karst_matrix *A;
  for (int o = 0; o < 2; o++) {
    tap_need(context, karst_gallery_create(context, "poisson3d:7x6x5", 2, &A, NULL), "matrix");
    struct problem p = make_problem(context, A);
    struct history told = {0};
    tap_settings settings = settings_for("iluk", 1, STEPS);
    settings.ordering = orderings[o];
    double worst = 0;
    bool falls = true;
    solve(&p, &settings, &told);
    for (int l = 0; l < told.count; l++) {
      settings.max_iterations = l;
      solve(&p, &settings, NULL);
      const double norm = tap_residual(p.A, p.b, p.x);
      worst = fmax(worst, fabs(told.norm[l] - norm) / (norm + 1e-3 * told.norm[0]));
      if (l > 0) falls = falls && told.norm[l] < told.norm[l - 1];
    }
    /* 5e-13 is half a unit of the 12th digit. Fewer digits agree once |r| is a thousandth of the first or less, for the
     * rounding errors of A x do not fall with it. */
    tap_ok(falls && told.count > 3 && worst < 5e-13, "ordering %s: the norms told are true to 12 digits: %.1e",
           orderings[o], worst);
    destroy_problem(&p);
  }
}

/* I - A has eigenvalues up to -7: each step multiplies the residual by about 7, or with damping by less than 1. */
static void test_divergence(karst_context *context)
{
  static const char *const scales[] = {"none", "diagonal", "block"};
  enum { N = 8 };
  karst_index start[N + 1] = {0}, column[2 * N];
  double value[2 * N];
  karst_matrix *A;
  for (int i = 0; i < N; i++) {
    karst_index k = start[i];
    column[k] = (karst_index)i;
    value[k++] = i + 1;
    if (i + 1 < N) column[k] = (karst_index)(i + 1), value[k++] = -0.5;
    start[i + 1] = k;
  }
  tap_need(context, karst_matrix_create(context, N, 1, start, column, value, KARST_COPY, &A), "matrix");
  struct problem p = make_problem(context, A);
  for (int s = 0; s < 3; s++) {
    tap_settings settings = settings_for("none", s == 0 ? 1 : 4, 1000);
    settings.scale = scales[s];
    const karst_result result = solve(&p, &settings, NULL);
    const double norm = tap_residual(A, p.b, p.x), before = norm_of(p.n, p.load);
    tap_ok(result.reason == KARST_DIVERGED && result.iterations < 100 && norm <= before * (1 + 1e-12) &&
               fabs(norm - result.residual) <= 1e-12 * before,
           "scale %s: diverged after %d steps, and x is no worse than the start: %.2e of %.2e", scales[s],
           result.iterations, norm, before);
  }
  tap_settings settings = settings_for("none", 0.2, 1000);
  settings.rtol = 1e-10;
  karst_result result = solve(&p, &settings, NULL);
  tap_ok(result.reason == KARST_CONVERGED_RTOL &&
             tap_residual(A, p.b, p.x) <= 1e-10 * norm_of(p.n, p.load) * (1 + 1e-12),
         "damping 0.2 makes it converge, after %d steps", result.iterations);
  settings = settings_for("none", 1e308, 1000);
  result = solve(&p, &settings, NULL);
  tap_ok(result.reason < 0 && isfinite(result.residual) &&
             tap_residual(A, p.b, p.x) <= norm_of(p.n, p.load) * (1 + 1e-12),
         "so large a damping that the step overflows: %s, and x is finite", karst_reason_text(result.reason));
  destroy_problem(&p);
}

/* A residual that grows for N - 1 steps and then is zero, as convection carries an error out of a line of cells. The
 * growth alone is no reason to give up. */
static void test_transient(karst_context *context)
{
  enum { N = 30 };
  karst_index start[N + 1] = {0}, column[2 * N];
  double value[2 * N];
  karst_matrix *A;
  for (int i = 0; i < N; i++) {
    karst_index k = start[i];
    if (i > 0) column[k] = (karst_index)(i - 1), value[k++] = -2;
    column[k] = (karst_index)i, value[k++] = 1;
    start[i + 1] = k;
  }
  tap_need(context, karst_matrix_create(context, N, 1, start, column, value, KARST_COPY, &A), "matrix");
  struct problem p = make_problem(context, A);
  tap_settings settings = settings_for("jacobi", 1, 1000);
  settings.rtol = 1e-6;
  const karst_result result = solve(&p, &settings, NULL);
  tap_ok(result.reason == KARST_CONVERGED_RTOL && result.iterations <= N, "a transient: %s after %d steps",
         karst_reason_text(result.reason), result.iterations);
  destroy_problem(&p);
}

static karst_decision accept_at_three(void *user, int iteration, double residual)
{
  double *told = user;
  *told = residual;
  return iteration == 3 ? KARST_ACCEPT : KARST_GO_ON;
}

/* What is accepted is the x that the monitor was told of. */
static void test_accept(karst_context *context)
{
  struct problem p = make_problem(context, tap_random_matrix(context, ROWS, 2, 3, 1.2));
  tap_settings settings = settings_for("jacobi", 1, 100);
  karst_solver *solver;
  karst_result result;
  double told = 0;
  tap_need(context, karst_vector_fill(p.x, 0), "start");
  tap_need(context, tap_solver_setup(context, &settings, p.A, &solver), "solver");
  karst_solver_monitor(solver, accept_at_three, &told);
  tap_need(context, karst_solver_solve(solver, p.b, p.x, &result), "solve");
  tap_ok(result.reason == KARST_CONVERGED_MONITOR && result.iterations == 3 &&
             fabs(result.residual - told) <= 1e-12 * told,
         "what the monitor accepts has the norm that it was told, but for rounding");
  karst_solver_destroy(solver);
  destroy_problem(&p);
}

static void test_refusals(karst_context *context)
{
  static const char *const bad[][2] = {{"damping", "0"},    {"damping", "-1"}, {"damping", "nan"}, {"damping", "inf"},
                                       {"damping", "1e9x"}, {"parts", "0"},    {"parts", "-3"},    {"parts", "1.5"}};
  karst_options *options;
  tap_need(context, karst_options_create(context, &options), "options");
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    const karst_status status = karst_options_set(options, bad[i][0], bad[i][1]);
    tap_ok(status == KARST_ERROR_OPTION && strstr(karst_context_error(context), bad[i][0]), "refused: %s",
           karst_context_error(context));
  }
  tap_ok(karst_options_set_real(options, "damping", NAN) == KARST_ERROR_OPTION &&
             karst_options_set_real(options, "damping", INFINITY) == KARST_ERROR_OPTION &&
             karst_options_set_real(options, "damping", 0) == KARST_ERROR_OPTION &&
             karst_options_set_integer(options, "parts", 0) == KARST_ERROR_OPTION,
         "and as numbers");
  karst_options_destroy(options);
}

static void test(karst_context *context)
{
  test_formula(context);
  test_true_norms(context);
  test_divergence(context);
  test_transient(context);
  test_accept(context);
  test_refusals(context);
}

int main(void)
{
  tap_each_device(test, "the correction iteration");
  return tap_done();
}
