/* Restricted additive Schwarz in solves: its effect, methods inside it and around it, updates and orderings, and what it
 * refuses and reports. */
#include "tests/ranks/spread_system.h"
#include "tests/support/named_values.h"
#include "tests/support/problem.h"

#include <math.h>
#include <string.h>

struct task {
  struct spread s;
  const char *const *options;
  int iterations; /* of rank 0, set by the body; -1 before */
};

/* ---- solves ---- */

static void solve(struct team_rank *rank)
{
  struct task *task = rank->user;
  const struct spread *s = &task->s;
  karst_matrix *A = NULL;
  karst_result result = {.reason = KARST_SOUND};
  karst_solver *solver = spread_solver(rank, task->options);
  karst_vector *b = spread_vector(rank, s, s->rhs), *x = spread_vector(rank, s, NULL);
  karst_vector_fill(x, 0);
  if (team_need(rank, spread_matrix(rank, s, &A), "the matrix") &&
      team_need(rank, karst_solver_setup(solver, A), "set-up") &&
      team_need(rank, karst_solver_solve(solver, b, x, &result), "the solve")) {
    double *all = spread_join(rank, s, x), far = 0;
    for (int64_t i = 0; i < s->n; i++) far = fmax(far, fabs(all[i] - s->x[i]));
    team_ok(rank, result.reason > 0 && far < 1e-5, "x is %.1e from the solution: %s", far,
            karst_solver_explain(solver));
    free(all);
  }
  if (rank->rank == 0) task->iterations = result.iterations;
  karst_vector_destroy(b);
  karst_vector_destroy(x);
  karst_solver_destroy(solver);
  karst_matrix_destroy(A);
}

static int iterations_of(struct task *task, int ranks, const char *what, const char *const *options)
{
  task->options = options;
  task->iterations = -1;
  team_run(ranks, "cpu", solve, task, what);
  return task->iterations;
}

/* New values in an ordered system: the same bits as after a new set-up. */
static void update(struct team_rank *rank)
{
  const struct task *task = rank->user;
  const struct spread *s = &task->s;
  const karst_index *start = karst_matrix_row_start(s->A), first = start[s->first[rank->rank]];
  const int64_t entries = (int64_t)(start[s->first[rank->rank + 1]] - first) * s->b * s->b;
  double *value = malloc(((size_t)entries + 1) * sizeof *value), *x[2];
  karst_matrix *A = NULL;
  karst_solver *solver[] = {spread_solver(rank, task->options), spread_solver(rank, task->options)};
  for (int64_t k = 0; k < entries; k++)
    value[k] = karst_matrix_value(s->A)[(int64_t)first * s->b * s->b + k] * (1 + 0.1 * sin((double)k));
  team_need(rank, spread_matrix(rank, s, &A), "the matrix");
  team_need(rank, karst_solver_setup(solver[0], A), "set-up");
  team_need(rank, karst_matrix_update_values(A, value), "new values");
  team_need(rank, karst_solver_update(solver[0]), "an update");
  team_need(rank, karst_solver_setup(solver[1], A), "another set-up");
  for (int i = 0; i < 2; i++) {
    karst_result result;
    karst_vector *b = spread_vector(rank, s, s->rhs), *part = spread_vector(rank, s, NULL);
    karst_vector_fill(part, 0);
    team_need(rank, karst_solver_solve(solver[i], b, part, &result), "a solve");
    team_ok(rank, result.reason > 0, "%s", karst_solver_explain(solver[i]));
    x[i] = spread_join(rank, s, part);
    karst_vector_destroy(b);
    karst_vector_destroy(part);
    karst_solver_destroy(solver[i]);
  }
  team_ok(rank, memcmp(x[0], x[1], (size_t)s->n * sizeof(double)) == 0, "an update is a new set-up");
  free(value);
  free(x[0]);
  free(x[1]);
  karst_matrix_destroy(A);
}

static void test_update(karst_context *context)
{
  struct task task = {.s = spread_of(context, matrix_from(context, "blackoil:6x5x4", 0), 3, false)};
  task.options = PAIRS("precond", "ras", "overlap", "2", "ordering", "rcm", "solver", "gmres");
  team_each_device(3, update, &task, "new values in an ordered system");
  spread_destroy(&task.s);
}

/* A complete factorization solves with the same matrix in any order of its rows, so the overlap must be found in the
 * numbers of an ordering too. */
static void test_orderings(karst_context *context)
{
  static const char *const orderings[] = {"natural", "rcm", "colour", "tiles"};
  struct task task = {.s = spread_of(context, matrix_from(context, "convdiff:8x7x6", 1), 4, false)};
  int natural = 0;
  for (int i = 0; i < 4; i++) {
    const char *const options[] = {"precond", "ras",  "overlap", "2",        "solver",     "gmres", "local.level",
                                   "1000",    "rtol", "1e-10",   "ordering", orderings[i], NULL};
    const int iterations = iterations_of(&task, 4, orderings[i], options);
    if (i == 0) natural = iterations;
    tap_ok(iterations > 1 && iterations == natural, "%s with complete factors: %d iterations, natural order %d",
           orderings[i], iterations, natural);
  }
  spread_destroy(&task.s);
}

/* The tiles of the own rows are tiles of the local matrix too, so that its sweeps may go by tiles. Without tiles they
 * refuse to. */
static void sweep_tiles(struct team_rank *rank)
{
  const struct task *task = rank->user;
  karst_matrix *A = NULL;
  karst_solver *solver = spread_solver(rank, task->options);
  team_need(rank, spread_matrix(rank, &task->s, &A), "the matrix");
  const bool refused = task->iterations < 0;
  const karst_status status = team_same(rank, karst_solver_setup(solver, A));
  team_ok(rank, status == (refused ? KARST_ERROR_OPTION : KARST_SUCCESS), "set-up: %s",
          karst_context_error(rank->context));
  const char *used = tap_solver_text(solver, "local_trisolve_used");
  if (!refused) team_ok(rank, strcmp(used, "tiles") == 0 || strcmp(used, "runs") == 0, "sweeps by %s", used);
  karst_solver_destroy(solver);
  karst_matrix_destroy(A);
}

static karst_status set_up_tiles(struct team_rank *rank)
{
  const struct task *task = rank->user;
  karst_matrix *A = NULL;
  const long fail_at = rank->memory.fail_at;
  rank->memory.fail_at = 0;
  karst_solver *solver = spread_solver(rank, task->options);
  karst_status status = spread_matrix(rank, &task->s, &A);
  rank->memory.fail_at = fail_at;
  rank->memory.calls = 0;
  if (!status) status = karst_solver_setup(solver, A);
  karst_solver_destroy(solver);
  karst_matrix_destroy(A);
  return status;
}

static void test_tiles(karst_context *context)
{
  static const char *const orderings[] = {"natural", "tiles", "colour"};
  struct task task = {.s = spread_of(context, matrix_from(context, "blackoil:8x8x6", 0), 3, false)};
  for (int i = 0; i < 3; i++)
    for (int layers = 1; layers <= 3; layers++) {
      const char overlap[] = {(char)('0' + layers), '\0'};
      const char *const options[] = {"precond",    "ras",       "overlap", overlap,          "ordering",
                                     orderings[i], "tile-size", "20",      "local.trisolve", "tiles",
                                     "rtol",       "1e-10",     NULL};
      task.options = options;
      task.iterations = i == 0 ? -1 : 0;
      team_each_device(3, sweep_tiles, &task, orderings[i]);
      if (i > 0) tap_ok(iterations_of(&task, 3, orderings[i], options) > 1, "a solve with %s", orderings[i]);
    }
  spread_destroy(&task.s);
  task.s = spread_of(context, matrix_from(context, "poisson3d:4x4x6", 0), 3, false);
  const char *const *const options = PAIRS("precond", "ras", "ordering", "tiles", "tile-size", "4");
  task.options = options;
  team_fail_allocations(3, set_up_tiles, &task, 1, "set-up with tiles");
  spread_destroy(&task.s);
}

/* More layers take fewer iterations. */
static void test_layers(karst_context *context, const char *gallery)
{
  struct task task = {.s = spread_of(context, matrix_from(context, gallery, 0), 8, false)};
  int before = 10000;
  for (int layers = 0; layers <= 3; layers++) {
    const char overlap[] = {(char)('0' + layers), '\0'};
    const char *const options[] = {"precond",     "ras", "overlap", overlap, "solver", "gmres",
                                   "local.level", "2",   "rtol",    "1e-10", NULL};
    const int iterations = iterations_of(&task, 8, gallery, options);
    tap_ok(iterations > 0 && iterations <= before + (layers > 1), "%s, %d layers: %d iterations, %d with a layer less",
           gallery, layers, iterations, before);
    before = iterations;
  }
  spread_destroy(&task.s);
}

/* ras with methods of every kind inside, and inside others. */
static void test_nested(karst_context *context)
{
  static const char *const cases[][11] = {
      {"precond", "ras", "local", "amg", "solver", "fgmres", NULL},
      {"precond", "ras", "local", "ras", "local.local.level", "1", NULL},
      {"precond", "ras", "overlap", "0", "local", "ras", NULL},
      {"precond", "two-stage", "first", "ras", "second", "ras", "second.overlap", "2", NULL},
      {"precond", "ras", "local", "parilu", "local.sweeps", "8", NULL}};
  struct task task = {.s = spread_of(context, matrix_from(context, "poisson3d:8x7x6", 0), 3, true)};
  for (int i = 0; i < 5; i++) {
    const int iterations = iterations_of(&task, 3, cases[i][3], cases[i]);
    tap_ok(iterations > 0, "%s %s: %d iterations", cases[i][1], cases[i][3], iterations);
  }
  spread_destroy(&task.s);
  task.s = spread_of(context, matrix_from(context, "blackoil:6x5x4", 0), 3, false);
  const char *const *const cpr = PAIRS("precond", "ras", "local", "cpr", "rtol", "1e-10");
  const char *const *const second = PAIRS("precond", "cpr", "second", "ras", "rtol", "1e-10");
  tap_ok(iterations_of(&task, 3, "cpr in ras", cpr) > 0, "cpr on each rank");
  tap_ok(iterations_of(&task, 3, "ras in cpr", second) > 0, "the second stage of cpr");
  spread_destroy(&task.s);
  task.s = spread_of(context, matrix_from(context, "blackoil:6x5x4", 0), 2, false);
  const char *const *const grid = PAIRS("precond", "ras", "local", "fgbilu", "rtol", "1e-10");
  tap_ok(iterations_of(&task, 2, "fgbilu in ras", grid) > 0, "a method finds the grid of a rank's planes");
  spread_destroy(&task.s);
}

/* ---- one rank, refusals and reports ---- */

static void refuse(struct team_rank *rank)
{
  const struct task *task = rank->user;
  karst_matrix *A = NULL;
  team_need(rank, spread_matrix(rank, &task->s, &A), "the matrix");
  for (int overlap = 0; overlap < 2; overlap++) {
    karst_solver *solver = spread_solver(rank, PAIRS("precond", "ras", "overlap", overlap ? "1" : "0", "solver", "cg"));
    const karst_status status = team_same(rank, karst_solver_setup(solver, A));
    team_ok(rank, status == (overlap ? KARST_ERROR_OPTION : KARST_SUCCESS), "cg with overlap %d: %s", overlap,
            karst_context_error(rank->context));
    team_ok(rank, !overlap || strstr(karst_context_error(rank->context), "ras with overlap is not: use overlap 0,"),
            "the sentence: %s", karst_context_error(rank->context));
    karst_solver_destroy(solver);
  }
  for (int differ = 0; differ < 2; differ++) {
    const char *layers = differ ? rank->rank > 0 ? "2" : "1" : "4";
    karst_precond *M = NULL;
    karst_options *options = spread_options(rank, PAIRS("precond", "ras", "overlap", layers));
    const karst_status status = team_same(rank, karst_precond_create(rank->context, options, A, &M));
    team_ok(rank, status == KARST_ERROR_OPTION, "%s: %s", differ ? "different layers" : "too many layers",
            karst_context_error(rank->context));
    karst_options_destroy(options);
  }
  karst_matrix_destroy(A);
}

static double number_of(const karst_precond *M, const char *name) { return tap_precond_number(M, name); }

/* poisson3d:4x4x4 on two ranks: 32 rows each, and 16 in a layer. */
static void report(struct team_rank *rank)
{
  const struct task *task = rank->user;
  karst_matrix *A = NULL;
  karst_precond *M[3] = {NULL};
  karst_solver_info info[3];
  team_need(rank, spread_matrix(rank, &task->s, &A), "the matrix");
  for (int i = 0; i < 3; i++) {
    karst_options *options = i < 2 ? spread_options(rank, PAIRS("precond", "ras", "overlap", i ? "1" : "0"))
                                   : spread_options(rank, PAIRS("precond", "iluk"));
    team_need(rank, karst_precond_create(rank->context, options, A, &M[i]), "a preconditioner");
    team_need(rank, karst_precond_get_info(M[i], &info[i]), "info");
    karst_options_destroy(options);
  }
  team_ok(rank, number_of(M[0], "overlap") == 0 && number_of(M[0], "overlap_rows") == 0, "no layers");
  team_ok(rank, number_of(M[1], "overlap") == 1 && number_of(M[1], "overlap_rows") == 50, "a layer");
  team_ok(rank, number_of(M[1], "local_levels_lower") > number_of(M[2], "levels_lower"), "values of the local one");
  team_ok(rank, info[0].factor_entries == info[2].factor_entries && info[0].memory == info[2].memory,
          "without layers nothing is copied");
  team_ok(rank, info[1].factor_entries > info[2].factor_entries && info[1].memory > 2 * info[2].memory,
          "entries and memory of the overlap are counted");
  for (int i = 0; i < 3; i++) karst_precond_destroy(M[i]);
  karst_matrix_destroy(A);
}

static void test_alone(karst_context *context)
{
  const char *const *const ras = PAIRS("precond", "ras", "local.level", "1", "overlap", "3", "solver", "cg");
  const char *const *const iluk = PAIRS("precond", "iluk", "level", "1", "solver", "cg");
  karst_result results[2];
  karst_solver_info info[2];
  for (int i = 0; i < 2; i++) {
    struct problem p = problem_from(context, "poisson3d:9x8x7", 1, 3);
    karst_solver *solver = solver_from(context, i ? iluk : ras);
    tap_need(context, karst_solver_setup(solver, p.A), "set-up");
    results[i] = problem_solve(&p, solver);
    info[i] = info_of(solver);
    problem_end(&p, solver);
  }
  tap_ok(results[0].iterations == results[1].iterations && results[0].residual == results[1].residual,
         "without ranks it is the local preconditioner, which cg accepts");
  tap_ok(info[0].memory == info[1].memory && info[0].factor_entries == info[1].factor_entries,
         "and it copies nothing: %lld and %lld bytes", (long long)info[0].memory, (long long)info[1].memory);
}

int main(void)
{
  karst_context *context = tap_context();
  test_orderings(context);
  test_tiles(context);
  test_update(context);
  test_layers(context, "poisson3d:12x10x8");
  test_layers(context, "blackoil:10x8x6");
  test_nested(context);
  test_alone(context);
  struct task task = {.s = spread_of(context, matrix_from(context, "poisson3d:4x4x4", 0), 2, false)};
  team_run(2, "cpu", refuse, &task, "refusals");
  team_run(2, "cpu", report, &task, "reports");
  spread_destroy(&task.s);
  karst_context_destroy(context);
  return tap_done();
}
