/* Orders by tiles and colours on every device, with methods besides the default iluk: modified ILU, DILU, ParILU and
 * Jacobi sweeps agree with dense arithmetic in the same order; with enough fill the system is solved as it is in
 * natural order. Singular blocks and NaN are named by the caller's block row, solves end for any r, and solvers that
 * share an analysis have the bits of one alone. */
#include "lib/method/precond.h"
#include "tests/support/problem.h"
#include "tests/support/tile_reference.h"
#include "tests/support/tile_systems.h"

#include <pthread.h>

/* Rows are dominated by their diagonal, so that errors grow little beyond rounding. */
static const double tolerance = 1e-11;

static const int tile_sizes[] = {1, 2, 7, 64, 1000};
enum { TILE_SIZES = sizeof tile_sizes / sizeof *tile_sizes };

static tap_settings settings_of(const char *precond, const char *ordering, int tile_size, int level)
{
  tap_settings settings = settings_for(NULL, precond);
  settings.ordering = ordering;
  settings.tile_size = tile_size;
  settings.level = level;
  return settings;
}

static karst_matrix *random_matrix(karst_context *context, karst_index n, int b)
{
  struct pattern pattern = pattern_random(n, 0.06);
  karst_matrix *A = pattern_random_matrix(context, &pattern, b, 1.5);
  pattern_free(&pattern);
  return A;
}

/* Returns how far M^-1 r is from that of dense arithmetic in the same order. */
static double error_of(karst_context *context, const tap_settings *settings, const karst_matrix *A)
{
  const int64_t n = karst_matrix_rows(A);
  const bool dilu = strcmp(settings->precond, "dilu") == 0;
  struct tile_system s = tile_system_make(context, settings, A);
  struct tile_reference f =
      tile_reference_make(A, s.system.ordered->permutation, dilu, settings->level, settings->modified);
  double *r = random_on_host(n), *z = tile_apply(&s, r), *there = tap_memory(n, sizeof *there);
  double *expected = tap_memory(n, sizeof *expected);
  tile_order(&s.system, r, false, there);
  tile_reference_solve(&f, there, expected);
  tile_order(&s.system, expected, true, there);
  const double error = relative_difference(n, z, there);
  tile_reference_free(&f);
  free(r);
  free(z);
  free(there);
  free(expected);
  tile_system_free(&s);
  return error;
}

static void methods(karst_context *context)
{
  static const struct {
    const char *precond, *trisolve;
    double modified;
    bool exact_sweeps; /* as many sweeps as there are rows: then they are done */
  } cases[] = {{"iluk", "tiles", 1, false},    {"iluk", "auto", 0.5, false}, {"iluk", "level", 0, false},
               {"iluk", "dataflow", 0, false}, {"iluk", "jacobi", 0, true},  {"dilu", "auto", 0, false},
               {"dilu", "auto", 1, false},     {"parilu", "tiles", 0, true}, {"parilu", "auto", 0, true}};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
    for (int b = 1; b <= 9; b++) {
      const bool dilu = strcmp(cases[c].precond, "dilu") == 0;
      const int t = (int)((size_t)b + c) % (TILE_SIZES + 1), level = dilu ? 0 : b % 3;
      const bool by_colour = t == TILE_SIZES;
      tap_settings settings =
          settings_of(cases[c].precond, by_colour ? "colour" : "tiles", by_colour ? 0 : tile_sizes[t], level);
      if (dilu && !context->backend->dilu) continue;
      const karst_index n = 1 + (karst_index)tap_random_index(b < 4 ? 70 : 25);
      karst_matrix *A = random_matrix(context, n, b);
      settings.trisolve = cases[c].trisolve;
      settings.modified = cases[c].modified;
      if (cases[c].exact_sweeps) settings.sweeps = settings.trisolve_sweeps = (int)n + 2;
      const double error = error_of(context, &settings, A);
      tap_ok(error < tolerance, "%s, b = %d, level %d, %s of %d, trisolve %s, modified %g: as dense blocks (%.1e)",
             settings.precond, b, level, settings.ordering, settings.tile_size, settings.trisolve, settings.modified,
             error);
      karst_matrix_destroy(A);
    }
}

/* With all fill M is A, which no order changes. */
static void exact(karst_context *context)
{
  for (int b = 1; b <= 9; b += 2)
    for (int t = 0; t < TILE_SIZES; t++) {
      const tap_settings settings = settings_of("iluk", "tiles", tile_sizes[t], 30);
      karst_matrix *A = random_matrix(context, 25, b);
      const int64_t n = karst_matrix_rows(A);
      struct tile_system s = tile_system_make(context, &settings, A);
      double *r = random_on_host(n), *z = tile_apply(&s, r), *dense = tap_dense(A);
      const bool solved = tap_dense_solve(n, dense, r);
      const double error = relative_difference(n, z, r);
      tap_ok(solved && error < tolerance, "b = %d, tiles of %d: with all fill, A^-1 r in natural order (%.1e)", b,
             tile_sizes[t], error);
      free(r);
      free(z);
      free(dense);
      tile_system_free(&s);
      karst_matrix_destroy(A);
    }
}

/* Replaces the diagonal block of a row, and sets the rest of the row or of its column to 0, so that a pivot of zero
 * stays zero in any order and with any fill. */
static void replace(karst_context *context, karst_matrix *A, karst_index row, bool column, double diagonal)
{
  const int64_t bb = (int64_t)A->block_size * A->block_size;
  double *changed = values_on_host(A);
  for (karst_index i = 0; i < A->block_rows; i++)
    for (int64_t k = A->row_start[i]; k < A->row_start[i + 1]; k++) {
      const karst_index j = A->column[k];
      for (int64_t v = 0; v < bb && (column ? j : i) == row; v++) changed[k * bb + v] = i == j ? diagonal : 0;
    }
  tap_need(context, karst_matrix_update_values(A, changed), "update");
  free(changed);
}

static karst_status solve(karst_context *context, karst_solver *solver, int64_t n, karst_result *result, double *x)
{
  karst_vector *rhs = NULL, *solution = NULL;
  karst_status status = karst_vector_create(context, n, &rhs);
  if (!status) status = karst_vector_create(context, n, &solution);
  if (!status) status = karst_vector_fill(rhs, 1);
  if (!status) status = karst_vector_fill(solution, 0);
  if (!status) status = karst_solver_solve(solver, rhs, solution, result);
  if (!status && x) status = karst_vector_get(solution, n, x);
  karst_vector_destroy(rhs);
  karst_vector_destroy(solution);
  return status;
}

static void bad_rows(karst_context *context)
{
  for (int c = 0; c < 18; c++) {
    const int b = 1 + c % 9;
    const bool singular = c < 9;
    const karst_index row = (karst_index)tap_random_index(60);
    tap_settings settings = settings_of("iluk", c % 4 == 3 ? "colour" : "tiles", tile_sizes[c % TILE_SIZES], c % 3);
    karst_matrix *A = random_matrix(context, 60, b);
    karst_result result, again;
    double *sound = values_on_host(A);
    replace(context, A, row, false, singular ? 0 : NAN);
    karst_solver *solver = solver_set_up(context, &settings, A);
    tap_need(context, solve(context, solver, karst_matrix_rows(A), &result, NULL), "solve");
    tap_need(context, karst_matrix_update_values(A, sound), "update");
    tap_need(context, karst_solver_update(solver), "update");
    tap_need(context, solve(context, solver, karst_matrix_rows(A), &again, NULL), "solve");
    tap_ok(result.reason == (singular ? KARST_SINGULAR_BLOCK : KARST_NOT_FINITE) && result.block_row == row &&
               again.reason > 0,
           "b = %d, %s: %s is named by the caller's row, %ld of %ld, and sound values are solved again", b,
           settings.ordering, singular ? "a singular block" : "a NaN", (long)result.block_row, (long)row);
    karst_solver_destroy(solver);
    karst_matrix_destroy(A);
    free(sound);
  }
}

/* Singular blocks are replaced as on the CPU: by the largest entry of the matrix if their rows are empty, else by the
 * entries of the row when it is eliminated. */
static void shifted(karst_context *context)
{
  karst_context *cpu = tap_context();
  for (int c = 0; c < 27; c++) {
    const int b = 1 + c % 9;
    tap_settings settings = settings_of("iluk", "tiles", tile_sizes[(b + c / 9) % TILE_SIZES], (c + c / 9) % 3);
    karst_matrix *A = random_matrix(context, 40, b);
    const int64_t n = karst_matrix_rows(A);
    settings.shift = 0.5;
    replace(context, A, (karst_index)tap_random_index(40), c >= 9, 0);
    karst_matrix *copy = matrix_copied(cpu, A);
    struct tile_system here = tile_system_make(context, &settings, A), there = tile_system_make(cpu, &settings, copy);
    double *r = random_on_host(n), *z = tile_apply(&here, r), *expected = tile_apply(&there, r);
    tap_ok(karst_precond_outcome(here.P, NULL) == KARST_SOUND && relative_difference(n, z, expected) < tolerance,
           "b = %d, level %d, tiles of %d: a shift beside %s, as on the CPU", b, settings.level, settings.tile_size,
           c < 9 ? "nothing" : "a row");
    free(r);
    free(z);
    free(expected);
    tile_system_free(&here);
    tile_system_free(&there);
    karst_matrix_destroy(A);
    karst_matrix_destroy(copy);
  }
  karst_context_destroy(cpu);
}

/* Solves end for an r with NaN of several payloads or infinities, in one unknown or in all. */
static void not_finite(karst_context *context)
{
  static const uint64_t bits[] = {UINT64_MAX, UINT64_C(0x7ff8000000000000), UINT64_C(0xffffffff00000001),
                                  UINT64_C(0x7ff0000000000000)};
  static const karst_index size[3] = {7, 6, 5};
  for (int b = 1; b <= 9; b++) {
    const tap_settings settings = settings_of("iluk", "tiles", tile_sizes[b % TILE_SIZES], b % 3);
    karst_index *cell;
    struct pattern grid = tile_grid(size, b % 2 == 0, 0.1, &cell);
    karst_matrix *A = pattern_random_matrix(context, &grid, b, 1.5);
    const int64_t n = karst_matrix_rows(A);
    struct tile_system s = tile_system_make(context, &settings, A);
    double *r = random_on_host(n), *changed = tap_memory(n, sizeof *changed), *before = tile_apply(&s, r);
    bool through = true;
    for (int c = 0; c < 8; c++) {
      const int64_t at = tap_random_index(n);
      memcpy(changed, r, (size_t)n * sizeof *r);
      for (int64_t i = c < 4 ? at : 0; i < (c < 4 ? at + 1 : n); i++) memcpy(&changed[i], &bits[c % 4], sizeof *bits);
      double *z = tile_apply(&s, changed);
      through = through && !isfinite(z[at]);
      free(z);
    }
    double *after = tile_apply(&s, r);
    tap_ok(through && memcmp(before, after, (size_t)n * sizeof *after) == 0,
           "b = %d: NaN and infinity reach z, and do not affect the next solve", b);
    free(r);
    free(changed);
    free(before);
    free(after);
    free(cell);
    tile_system_free(&s);
    karst_matrix_destroy(A);
    pattern_free(&grid);
  }
}

/* A matrix of no rows, and trisolve tiles with an order without tiles. */
static void refusals(karst_context *context)
{
  tap_settings settings = settings_of("iluk", "tiles", 0, 1);
  struct pattern nothing = pattern_empty(0, 0);
  karst_matrix *A = pattern_random_matrix(context, &nothing, 2, 1.5), *some = random_matrix(context, 12, 2);
  karst_solver *solver;
  karst_result result = {.iterations = -1};
  karst_status status = tap_solver_setup(context, &settings, A, &solver);
  if (!status) status = solve(context, solver, 0, &result, NULL);
  tap_ok(status == KARST_SUCCESS && result.iterations == 0, "a matrix of no rows is solved at once");
  karst_solver_destroy(solver);
  settings.trisolve = "tiles";
  static const char *const without[] = {"natural", "rcm"};
  for (int i = 0; i < 2; i++) {
    settings.ordering = without[i];
    status = tap_solver_setup(context, &settings, some, &solver);
    tap_ok(status == KARST_ERROR_OPTION &&
               strstr(karst_context_error(context), "trisolve tiles needs an ordering that makes tiles"),
           "%s has no tiles: %s", without[i], karst_context_error(context));
    karst_solver_destroy(solver);
  }
  karst_matrix_destroy(A);
  karst_matrix_destroy(some);
  pattern_free(&nothing);
}

enum { SHARERS = 2, ROUNDS = 5, ROWS = 300, BLOCK = 2 };

struct sharer {
  karst_context *context;
  const karst_matrix *A;
  const karst_analysis *analysis;
  const tap_settings *settings;
  bool sound;
  double x[ROWS * BLOCK], expected[ROWS * BLOCK];
};

static void *share(void *user)
{
  struct sharer *mine = user;
  karst_solver *solver = NULL;
  karst_status status = tap_solver_create(mine->context, mine->settings, &solver);
  if (!status) status = karst_solver_setup_with(solver, mine->A, mine->analysis);
  mine->sound = status == KARST_SUCCESS;
  for (int i = 0; i < ROUNDS && mine->sound; i++) {
    karst_result result = {.reason = KARST_SOUND};
    status = karst_solver_update(solver);
    if (!status) status = solve(mine->context, solver, ROWS * BLOCK, &result, mine->x);
    mine->sound = !status && result.reason > 0 && memcmp(mine->x, mine->expected, sizeof mine->x) == 0;
  }
  karst_solver_destroy(solver);
  return NULL;
}

/* Two solvers of one analysis and different values; on the CPU in two threads at once. */
static void sharing(karst_context *context)
{
  static struct sharer sharer[SHARERS];
  static tap_settings settings;
  struct pattern pattern = pattern_random(ROWS, 0.01);
  karst_analysis *analysis = NULL;
  karst_matrix *A[SHARERS];
  pthread_t thread[SHARERS];
  karst_result result;
  bool sound = true;
  settings = settings_of("iluk", "tiles", 16, 1);
  for (int t = 0; t < SHARERS; t++) {
    A[t] = pattern_random_matrix(context, &pattern, BLOCK, 1.5);
    karst_solver *alone = solver_of(context, &settings);
    tap_need(context, analysis ? karst_solver_setup_with(alone, A[t], analysis) : karst_solver_setup(alone, A[t]),
             "set-up");
    tap_need(context, solve(context, alone, ROWS * BLOCK, &result, sharer[t].expected), "solve");
    if (!analysis) tap_need(context, karst_solver_get_analysis(alone, &analysis), "analysis");
    karst_solver_destroy(alone);
    sharer[t].context = context;
    sharer[t].A = A[t];
    sharer[t].analysis = analysis;
    sharer[t].settings = &settings;
  }
  const bool at_once = strcmp(context->backend->name, "cpu") == 0;
  for (int t = 0; t < SHARERS; t++) {
    if (!at_once)
      share(&sharer[t]);
    else if (pthread_create(&thread[t], NULL, share, &sharer[t]) != 0)
      tap_need(NULL, KARST_ERROR_NO_MEMORY, "a thread");
  }
  for (int t = 0; t < SHARERS && at_once; t++) pthread_join(thread[t], NULL);
  for (int t = 0; t < SHARERS; t++) sound = sound && sharer[t].sound;
  tap_ok(sound, "two solvers share an analysis with tiles%s, with the bits of one alone",
         at_once ? " in two threads" : "");
  for (int t = 0; t < SHARERS; t++) karst_matrix_destroy(A[t]);
  karst_analysis_destroy(analysis);
  pattern_free(&pattern);
}

int main(void)
{
  tap_each_device(methods, "methods");
  tap_each_device(exact, "all fill");
  tap_each_device(bad_rows, "bad rows");
  tap_each_device(shifted, "shift");
  tap_each_device(not_finite, "not finite");
  tap_each_device(refusals, "refusals");
  tap_each_device(sharing, "sharing");
  return tap_done();
}
