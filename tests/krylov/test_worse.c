/* However a solve ends, x is no worse than the start, and the reported residual is that of x. The test computes in 113
 * bits, on singular and nearly singular systems, whose x can be so large that rounding hides the progress of a cycle.
 * If the start is best, it is returned bit by bit. */
#include "tests/support/problem.h"

#include <math.h>
#include <string.h>

enum { SIDE = 3, CELLS = SIDE * SIDE, MOST = 3 * CELLS, SYSTEMS = 48 };

static const char *const solvers[] = {"bicgstab", "cg", "gmres", "fgmres", "orthomin", "richardson"};
static const struct way {
  const char *precond, *ordering, *scale, *side;
  int restart;
} ways[] = {{"iluk", "natural", "none", "right", 30},  {"iluk", "natural", "diagonal", "right", 30},
            {"iluk", "natural", "block", "right", 30}, {"iluk", "rcm", "none", "right", 3},
            {"none", "natural", "none", "left", 30},   {"rrb", "natural", "none", "right", 30}};

enum { SOLVERS = sizeof solvers / sizeof solvers[0], WAYS = sizeof ways / sizeof ways[0] };

static bool couples(int i, int j)
{
  return i == j || (i > j ? i - j : j - i) == SIDE || ((i > j ? i - j : j - i) == 1 && i / SIDE == j / SIDE);
}

/* The five-point stencil with random couplings in blocks of b, by rows: rows or columns sum to eps, which makes it
 * singular or nearly so. */
static karst_matrix *make_matrix(karst_context *context, int b, double eps, bool columns)
{
  const int n = CELLS * b;
  double rows[MOST * MOST] = {0};
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      if (couples(i / b, j / b)) rows[i * n + j] = (i / b == j / b ? 0 : -1) - 0.3 * tap_random();
  for (int i = 0; i < n; i++) {
    double sum = 0;
    for (int j = 0; j < n; j++)
      if (i != j) sum += columns ? rows[j * n + i] : rows[i * n + j];
    rows[i * n + i] = eps - sum;
  }
  karst_matrix *A = matrix_from_rows(context, n, b, rows);
  if (b == 1) tap_need(context, karst_matrix_set_grid(A, SIDE, SIDE, 1), "grid");
  return A;
}

struct trial {
  karst_context *context;
  karst_matrix *A;
  karst_vector *b, *x;
  int64_t n;
  double start[MOST];
  int solves, worse, wrong, changed;
};

static struct trial make_trial(karst_context *context, int i)
{
  static const double eps[] = {0, 1e-3, 0, 1e-12};
  const int b = 1 + i % 3;
  struct trial t = {.context = context, .A = make_matrix(context, b, eps[i % 4], i % 2), .n = CELLS * b};
  double right[MOST];
  for (int64_t k = 0; k < t.n; k++) {
    right[k] = tap_random();
    t.start[k] = i % 5 > 2 ? tap_random() : 0;
  }
  t.b = vector_from(context, t.n, right);
  t.x = vector_of(context, t.n, 0);
  return t;
}

static void destroy_trial(struct trial *t)
{
  karst_vector_destroy(t->b);
  karst_vector_destroy(t->x);
  karst_matrix_destroy(t->A);
}

static void try(struct trial *t, const char *name, const struct way *way)
{
  karst_solver *solver = NULL;
  karst_result result;
  double x[MOST];
  tap_settings settings = settings_for(name, way->precond);
  settings.ordering = way->ordering;
  settings.scale = way->scale;
  settings.restart = way->restart;
  if (strcmp(name, "gmres") == 0) settings.side = way->side;
  settings.max_iterations = 200;
  if (tap_solver_setup(t->context, &settings, t->A, &solver) == KARST_SUCCESS) {
    tap_need(t->context, karst_vector_set(t->x, t->n, t->start), "start");
    const double before = tap_residual(t->A, t->b, t->x);
    result = solved(solver, t->b, t->x);
    tap_need(t->context, karst_vector_get(t->x, t->n, x), "x");
    const double after = tap_residual(t->A, t->b, t->x);
    const bool same = memcmp(x, t->start, (size_t)t->n * sizeof *x) == 0;
    t->solves++;
    t->worse += after > before * (1 + 1e-13);
    t->wrong += result.reason < 0 && !(fabs(result.residual - after) <= 1e-9 * after + 1e-13 * before);
    t->changed += !same && result.reason < 0 && after == before;
  }
  karst_solver_destroy(solver);
}

static void test(karst_context *context)
{
  for (int s = 0; s < SOLVERS; s++) {
    int solves = 0, worse = 0, wrong = 0, changed = 0;
    for (int i = 0; i < SYSTEMS; i++) {
      struct trial t = make_trial(context, i);
      for (int w = 0; w < WAYS; w++) try(&t, solvers[s], &ways[w]);
      solves += t.solves;
      worse += t.worse;
      wrong += t.wrong;
      changed += t.changed;
      destroy_trial(&t);
    }
    tap_ok(worse == 0 && solves > 2 * SYSTEMS, "%s: of %d solves %d end with an x worse than the start", solvers[s],
           solves, worse);
    tap_ok(wrong == 0, "%s: %d report a residual that is not that of x", solvers[s], wrong);
    tap_ok(changed == 0, "%s: %d change a start that they did not improve", solvers[s], changed);
  }
}

int main(void)
{
  tap_each_device(test, "x and the start");
  return tap_done();
}
