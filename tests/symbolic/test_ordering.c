/* Each ordering is a permutation of any pattern, and the same in every run. RCM reduces the bandwidth, AMD and METIS
 * reduce the fill. An ordering changes nothing in its process. */
#include "config.h"

#include "solver/system.h"
#include "lib/method/ordering.h"
#include "symbolic/symbolic.h"

#include "tests/support/failing_allocator.h"
#include "tests/support/patterns.h"
#include "tests/support/problem.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

/* The pattern for an ordering, of a matrix without a grid. */
static karst_status compute(const struct karst_ordering_ops *ops, karst_context *context, const struct pattern *A,
                            karst_index *permutation)
{
  const karst_ordering_pattern pattern = {
      .context = context, .block_rows = A->n, .row_start = A->start, .column = A->column};
  karst_tiling tiling = {0};
  const karst_status status = ops->compute(&pattern, permutation, &tiling);
  karst_tiling_destroy(context, &tiling);
  return status;
}

static const struct karst_ordering_ops *find(const char *name)
{
  for (const struct karst_ordering_ops *const *entry = karst_ordering_table; *entry; entry++)
    if (strcmp((*entry)->name, name) == 0) return *entry;
  return NULL;
}

static bool is_built(const char *name)
{
#ifndef HAVE_AMD
  if (strcmp(name, "amd") == 0) return false;
#endif
#ifndef HAVE_METIS
  if (strcmp(name, "metis") == 0) return false;
#endif
  return name != NULL;
}

static bool is_permutation(karst_context *context, karst_index n, const karst_index *permutation)
{
  karst_index *inverse = tap_memory(n, sizeof *inverse);
  bool valid = karst_permutation_invert(context, n, permutation, inverse) == KARST_SUCCESS;
  free(inverse);
  return valid;
}

/* Returns the pattern in a new order; the caller frees it. */
static struct pattern reordered(karst_context *context, const struct pattern *A, const karst_index *permutation)
{
  karst_index *start, *column, *source;
  struct pattern result = pattern_empty(A->n, A->start[A->n]);
  tap_need(context, karst_pattern_permute(context, A->n, A->start, A->column, permutation, &start, &column, &source),
           "permute");
  memcpy(result.start, start, ((size_t)A->n + 1) * sizeof *start);
  memcpy(result.column, column, (size_t)start[A->n] * sizeof *column);
  karst_release(context, start);
  karst_release(context, column);
  karst_release(context, source);
  return result;
}

static karst_index bandwidth(const struct pattern *A)
{
  karst_index widest = 0;
  for (karst_index i = 0; i < A->n; i++) {
    for (karst_index k = A->start[i]; k < A->start[i + 1]; k++) {
      karst_index distance = A->column[k] > i ? A->column[k] - i : i - A->column[k];
      if (distance > widest) widest = distance;
    }
  }
  return widest;
}

/* Counts the entries of the exact factors, which are those of a level that no fill exceeds. */
static int64_t exact_fill(karst_context *context, const struct pattern *A)
{
  karst_ilu_pattern pattern;
  tap_need(context, karst_ilu_symbolic(context, A->n, A->start, A->column, (int)A->n, &pattern), "symbolic");
  int64_t entries = (int64_t)pattern.lower_start[A->n] + pattern.upper_start[A->n] + A->n;
  karst_ilu_pattern_destroy(context, &pattern);
  return entries;
}

static void test_missing(karst_context *context, const struct karst_ordering_ops *ops)
{
  struct pattern A = pattern_grid(3, 3, 1);
  karst_index permutation[9];
  karst_status status = compute(ops, context, &A, permutation);
  tap_ok(status == KARST_ERROR_NOT_BUILT, "%s names the missing library: %s", ops->name, karst_context_error(context));
  pattern_free(&A);
}

/* The patterns have empty and nearly full rows, several components, no rows, or one row. */
static void test_random(karst_context *context, const struct karst_ordering_ops *ops)
{
  int wrong = 0;
  for (int c = 0; c < 60; c++) {
    karst_index n = (karst_index)(c < 4 ? c : 1 + tap_random_index(120));
    struct pattern A = pattern_random(n, c % 4 == 0 ? 0 : c % 4 == 1 ? 0.005 : 0.05);
    karst_index *first = tap_memory(n, sizeof *first), *second = tap_memory(n, sizeof *second);
    tap_need(context, compute(ops, context, &A, first), ops->name);
    tap_need(context, compute(ops, context, &A, second), ops->name);
    wrong += !is_permutation(context, n, first) || memcmp(first, second, (size_t)n * sizeof *first) != 0;
    free(first);
    free(second);
    pattern_free(&A);
  }
  tap_ok(wrong == 0, "%s: permutations of random patterns, twice the same", ops->name);
}

static void test_bandwidth(karst_context *context)
{
  struct pattern grid = pattern_grid(12, 30, 1);
  karst_index *shuffle = pattern_shuffle(grid.n), *order = tap_memory(grid.n, sizeof *order);
  struct pattern shuffled = reordered(context, &grid, shuffle);
  tap_need(context, compute(find("rcm"), context, &shuffled, order), "rcm");
  struct pattern result = reordered(context, &shuffled, order);
  /* From a corner the levels are diagonals of at most 12 cells, and an edge spans at most two neighbouring levels. */
  tap_ok(bandwidth(&result) < 2 * 12, "rcm: a shuffled 12x30 grid goes from bandwidth %ld to %ld (natural: 12)",
         (long)bandwidth(&shuffled), (long)bandwidth(&result));
  free(shuffle);
  free(order);
  pattern_free(&grid);
  pattern_free(&shuffled);
  pattern_free(&result);
}

/* Two paths are not connected: each must become a path with bandwidth 1. */
static void test_components(karst_context *context)
{
  struct pattern path = pattern_grid(40, 1, 1);
  karst_index kept = 0;
  for (karst_index i = 0, k = 0; i < path.n; i++) {
    for (; k < path.start[i + 1]; k++) {
      bool crossing = (i < 15) != (path.column[k] < 15);
      if (!crossing) path.column[kept++] = path.column[k];
    }
    path.start[i + 1] = kept;
  }
  karst_index *shuffle = pattern_shuffle(path.n), *order = tap_memory(path.n, sizeof *order);
  struct pattern shuffled = reordered(context, &path, shuffle);
  tap_need(context, compute(find("rcm"), context, &shuffled, order), "rcm");
  struct pattern result = reordered(context, &shuffled, order);
  tap_ok(bandwidth(&result) == 1, "rcm: two shuffled paths get bandwidth 1");
  free(shuffle);
  free(order);
  pattern_free(&path);
  pattern_free(&shuffled);
  pattern_free(&result);
}

static void test_fill(karst_context *context, const struct karst_ordering_ops *ops)
{
  struct pattern grid = pattern_grid(30, 30, 1);
  karst_index *order = tap_memory(grid.n, sizeof *order);
  tap_need(context, compute(ops, context, &grid, order), ops->name);
  struct pattern result = reordered(context, &grid, order);
  int64_t natural = exact_fill(context, &grid), ordered = exact_fill(context, &result);
  tap_ok(2 * ordered < natural, "%s: the exact factors of a 30x30 grid have %lld entries, less than half of %lld",
         ops->name, (long long)ordered, (long long)natural);
  free(order);
  pattern_free(&grid);
  pattern_free(&result);
}

struct ordering_run {
  const struct karst_ordering_ops *ops;
  struct pattern pattern;
};

static karst_status run_ordering(karst_context *context, void *user)
{
  const struct ordering_run *run = user;
  karst_index *order = tap_memory(run->pattern.n, sizeof *order);
  karst_status status = compute(run->ops, context, &run->pattern, order);
  free(order);
  return status;
}

/* An ordering in its own thread, and whether it has ended. */
struct ordering_thread {
  const struct karst_ordering_ops *ops;
  const struct pattern *pattern;
  karst_index *order;
  karst_status status;
  atomic_bool over;
  pthread_t thread;
};

static void *order_in_thread(void *argument)
{
  struct ordering_thread *t = argument;
  karst_context *context;
  t->status = karst_context_create(NULL, &context);
  if (!t->status) t->status = compute(t->ops, context, t->pattern, t->order);
  karst_context_destroy(context);
  t->over = true;
  return NULL;
}

static void start_ordering(struct ordering_thread *t, const struct karst_ordering_ops *ops,
                           const struct pattern *pattern)
{
  t->ops = ops;
  t->pattern = pattern;
  t->order = tap_memory(pattern->n, sizeof *t->order);
  t->over = false;
  if (pthread_create(&t->thread, NULL, order_in_thread, t) != 0) tap_need(NULL, KARST_ERROR_NO_MEMORY, "a thread");
}

static atomic_int terminated; /* number of calls of the handler */

static void on_terminate(int signal)
{
  (void)signal;
  terminated++;
}

static bool same_handler(int signal, void (*handler)(int))
{
  struct sigaction now;
  return sigaction(signal, NULL, &now) == 0 && now.sa_handler == handler;
}

/* Two threads order at once while SIGTERM goes to one of them and to the process. Each order is the one computed alone.
 * The program's handlers are called and stay, and its random numbers do not change. */
static void test_process(const struct karst_ordering_ops *ops)
{
  const struct sigaction action = {.sa_handler = on_terminate};
  struct pattern grid = pattern_grid(24, 24, 24), flat = pattern_grid(90, 90, 1);
  const struct pattern *const pattern[2] = {&grid, &flat};
  struct ordering_thread alone[2], both[2];
  for (int i = 0; i < 2; i++) {
    start_ordering(&alone[i], ops, pattern[i]);
    pthread_join(alone[i].thread, NULL);
  }
  /* NOLINTBEGIN(cert-*,bugprone-bad-signal-to-kill-thread): this tests rand() and signals to a thread */
  srand(7);
  const int first = rand(), second = rand();
  srand(7);
  bool same = rand() == first;
  struct sigaction before;
  sigaction(SIGTERM, &action, &before);
  for (int i = 0; i < 2; i++) start_ordering(&both[i], ops, pattern[i]);
  int sent = 0;
  for (; !both[0].over || !both[1].over; sent++) {
    if (sent % 2)
      kill(getpid(), SIGTERM);
    else if (!both[0].over)
      pthread_kill(both[0].thread, SIGTERM);
    usleep(500);
  }
  for (int i = 0; i < 2; i++) pthread_join(both[i].thread, NULL);
  for (int i = 0; i < 2; i++) {
    const size_t bytes = (size_t)pattern[i]->n * sizeof *alone[i].order;
    tap_ok(both[i].status == KARST_SUCCESS && memcmp(both[i].order, alone[i].order, bytes) == 0,
           "%s orders %lld vertices beside another thread, and under signals, as it does alone", ops->name,
           (long long)pattern[i]->n);
    free(alone[i].order);
    free(both[i].order);
  }
  tap_ok(terminated > 0 && terminated <= sent, "%s: the program's handler was called, %d times for %d signals",
         ops->name, (int)terminated, sent);
  tap_ok(same_handler(SIGTERM, on_terminate) && same_handler(SIGABRT, SIG_DFL), "%s: the handlers stay", ops->name);
  tap_ok(same && rand() == second, "%s does not change the program's random numbers", ops->name);
  /* NOLINTEND(cert-*,bugprone-bad-signal-to-kill-thread) */
  sigaction(SIGTERM, &before, NULL);
  pattern_free(&grid);
  pattern_free(&flat);
}

/* An ordering of the test: the cells of a grid with z fastest, x slowest. Without a grid it fails. */
static karst_status order_columns(const karst_ordering_pattern *pattern, karst_index *permutation, karst_tiling *tiling)
{
  (void)tiling;
  if (!pattern->grid) return karst_fail(pattern->context, KARST_ERROR_MATRIX, "columns need a grid");
  const karst_index *size = pattern->grid->size, *cell = pattern->grid->cell;
  const karst_index cells = size[0] * size[1] * size[2];
  karst_index *row = tap_memory(cells, sizeof *row), place = 0;
  for (karst_index c = 0; c < cells; c++) row[c] = -1;
  for (karst_index i = 0; i < pattern->block_rows; i++) row[cell ? cell[i] : i] = i;
  for (karst_index c = 0; c < cells; c++) {
    const karst_index z = c % size[2], y = c / size[2] % size[1], x = c / size[2] / size[1];
    const karst_index here = row[x + size[0] * (y + size[1] * z)];
    if (here >= 0) permutation[place++] = here;
  }
  free(row);
  return KARST_SUCCESS;
}

static const struct karst_ordering_ops columns = {
    .name = "columns", .help = "the columns of a grid", .compute = order_columns};

/* In a grid with a hole and cells in any order the ordering finds the columns. The ordered matrix has the grid with the
 * cells of its block rows. */
static void test_grid_is_seen(karst_context *context)
{
  enum { NX = 3, NY = 4, NZ = 5, CELLS = NX * NY * NZ };
  struct pattern grid = pattern_grid(NX, NY, NZ);
  karst_index *shuffle = pattern_shuffle(CELLS);
  struct pattern shuffled = reordered(context, &grid, shuffle);
  karst_matrix *A;
  karst_system system;
  const karst_ordering_choice choice = {.ops = &columns, .distance = 1};
  tap_need(context,
           karst_matrix_create_pattern(context, CELLS, 2, shuffled.start, shuffled.column, KARST_REFERENCE, &A),
           "matrix");
  tap_ok(karst_system_setup(&choice, KARST_SCALE_NONE, A, NULL, NULL, &system) == KARST_ERROR_MATRIX &&
             strstr(karst_context_error(context), "columns need a grid"),
         "an ordering without a grid receives none");
  karst_system_destroy(&system);
  for (karst_index i = 0; i < CELLS; i++) shuffle[i] += NX * NY; /* one layer without a cell */
  tap_need(context, karst_matrix_set_grid_cells(A, NX, NY, NZ + 1, shuffle), "grid");
  tap_need(context, karst_system_setup(&choice, KARST_SCALE_NONE, A, NULL, NULL, &system), "setup");
  bool right = true;
  for (karst_index i = 0; i < CELLS; i++) {
    const karst_index z = 1 + i % NZ, y = i / NZ % NY, x = i / NZ / NY;
    right = right && system.matrix->grid.cell[i] == x + NX * (y + NY * z);
  }
  tap_ok(right && system.matrix != A, "an ordering sees the grid and the cell of each block row");
  karst_system_destroy(&system);
  karst_matrix_destroy(A);
  free(shuffle);
  pattern_free(&grid);
  pattern_free(&shuffled);
}

/* A solver reports its order: each block row once, and ascending with natural order. */
static void test_order_of_solver(karst_context *context)
{
  static const char *const names[] = {"natural", "rcm", "colour", "tiles"};
  enum { ROWS = 7 * 6 * 5 };
  for (int o = 0; o < 4; o++) {
    karst_index row[ROWS], same = 0;
    bool seen[ROWS] = {false}, once = true;
    karst_solver *solver;
    karst_matrix *A = matrix_from(context, "convdiff:7x6x5", 2);
    karst_options *options = options_of(context, PAIRS("ordering", names[o]));
    tap_need(context, karst_solver_create(context, options, &solver), "solver");
    const bool early = karst_solver_get_order(solver, row) == KARST_ERROR_ARGUMENT;
    tap_need(context, karst_solver_setup(solver, A), "set-up");
    tap_need(context, karst_solver_get_order(solver, row), "order");
    for (karst_index i = 0; i < ROWS; i++) {
      same += row[i] == i;
      once = once && row[i] >= 0 && row[i] < ROWS && !seen[row[i]];
      if (once) seen[row[i]] = true;
    }
    tap_ok(early && once && (same == ROWS) == (o == 0),
           "%s: a solver's order has each of %d block rows once, %ld in place", names[o], (int)ROWS, (long)same);
    karst_solver_destroy(solver);
    karst_options_destroy(options);
    karst_matrix_destroy(A);
  }
}

int main(void)
{
  karst_context *context = tap_context();
  tap_ok(find("natural") && !find("natural")->compute, "natural computes nothing");
  test_bandwidth(context);
  test_components(context);
  tap_each_device(test_grid_is_seen, "an ordering that sees the grid");
  tap_each_device(test_order_of_solver, "the order of a solver");
  static const char *const names[] = {"rcm", "amd", "metis", "colour", "tiles"};
  for (int i = 0; i < 5; i++) {
    const struct karst_ordering_ops *ops = find(names[i]);
    if (!tap_ok(ops && ops->help, "%s is in the table", names[i])) continue;
    if (!is_built(names[i])) {
      test_missing(context, ops);
      continue;
    }
    test_random(context, ops);
    if (strcmp(names[i], "amd") == 0 || strcmp(names[i], "metis") == 0) test_fill(context, ops);
    if (strcmp(names[i], "metis") == 0) test_process(ops);
    struct ordering_run run = {ops, pattern_grid(6, 5, 1)};
    fail_each_allocation(run_ordering, &run, names[i]);
    pattern_free(&run.pattern);
  }
  karst_context_destroy(context);
  return tap_done();
}
