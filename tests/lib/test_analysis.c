/* Solvers of one pattern share an analysis: a set-up with it gives the same bits as one in full, does not analyse
 * again, and needs neither the solver nor the matrix that the analysis was made with; two threads may use such solvers
 * at once. A set-up that does not fit is refused. The error says what differs, and the solver stays as it was. */
#include "tests/support/failing_allocator.h"
#include "lib/matrix/matrix.h"
#include "tests/support/problem.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH = 9, HEIGHT = 8, ROWS = WIDTH * HEIGHT, LARGEST = 7, MOST = 5 * ROWS, THREADS = 2, ROUNDS = 8 };

struct pattern {
  karst_index start[ROWS + 1], column[MOST];
};

/* A grid of cells, each with its four neighbours. whole: with all of them, so that the pattern is symmetric. */
static void make_pattern(bool whole, struct pattern *pattern)
{
  karst_index end = 0;
  for (karst_index i = 0; i < ROWS; i++) {
    const karst_index x = i % WIDTH;
    if (i >= WIDTH) pattern->column[end++] = i - WIDTH;
    if (x > 0) pattern->column[end++] = i - 1;
    pattern->column[end++] = i;
    if (x < WIDTH - 1 && (whole || i % 5 > 0)) pattern->column[end++] = i + 1;
    if (i < ROWS - WIDTH) pattern->column[end++] = i + WIDTH;
    pattern->start[i + 1] = end;
  }
}

/* A number in -1 .. 1 for scalar rows p and q, the same for q and p. */
static double number(int values, int64_t p, int64_t q)
{
  const int64_t low = p < q ? p : q, high = p < q ? q : p;
  return (double)((low * 31 + high * 17 + values * 7) % 23 - 11) / 11;
}

/* A symmetric and diagonally dominant matrix. values: the number of the set of values. */
static karst_matrix *make_matrix(karst_context *context, const struct pattern *pattern, int b, int values)
{
  static double value[MOST * LARGEST * LARGEST];
  double *next = value;
  for (karst_index i = 0; i < ROWS; i++)
    for (karst_index k = pattern->start[i]; k < pattern->start[i + 1]; k++)
      for (int v = 0; v < b * b; v++) {
        const int64_t row = (int64_t)i * b + v % b, column = (int64_t)pattern->column[k] * b + v / b;
        *next++ = row == column ? 5.5 * b : number(values, row, column);
      }
  return matrix_of(context, ROWS, b, pattern->start, pattern->column, value);
}

static karst_matrix *make_grid(karst_context *context, int b, int values)
{
  struct pattern pattern = {0};
  make_pattern(true, &pattern);
  return make_matrix(context, &pattern, b, values);
}

/* The solution for a right-hand side that is always the same. */
static karst_status solve(karst_context *context, karst_solver *solver, int64_t rows, karst_result *result, double *x)
{
  karst_vector *b = NULL, *solution = NULL;
  karst_status status = karst_vector_create(context, rows, &b);
  if (!status) status = karst_vector_create(context, rows, &solution);
  if (!status) status = karst_vector_fill_random(b, 3);
  if (!status) status = karst_vector_fill(solution, 0);
  if (!status) status = karst_solver_solve(solver, b, solution, result);
  if (!status) status = karst_vector_get(solution, rows, x);
  karst_vector_destroy(b);
  karst_vector_destroy(solution);
  return status;
}

/* The phases that the context reported. */
struct phases {
  int ordering, symbolic;
};

static void count_phases(void *user, karst_message_kind kind, const char *text)
{
  struct phases *phases = user;
  if (kind != KARST_MESSAGE_PHASE) return;
  phases->ordering += strncmp(text, "ordering", 8) == 0;
  phases->symbolic += strncmp(text, "symbolic", 8) == 0;
}

/* Returns whether two solvers report the same values, at least one. */
static bool report_the_same(const karst_solver *one, const karst_solver *other)
{
  karst_value mine, theirs;
  size_t count = 0;
  for (; karst_solver_report(one, count, &mine); count++) {
    if (!karst_solver_report(other, count, &theirs) || strcmp(mine.name, theirs.name) != 0) return false;
    if (!mine.text != !theirs.text || (mine.text && strcmp(mine.text, theirs.text) != 0)) return false;
    if (!mine.text && mine.number != theirs.number) return false;
  }
  return count > 0 && !karst_solver_report(other, count, &theirs);
}

/* Two solvers share one pattern; the second has other values and the analysis of the first. Its results are those of a
 * solver that was set up in full, also after an update and after the first solver, its matrix and the analysis are
 * destroyed. */
static void check_sharing(karst_context *context, const tap_settings *options, const struct pattern *pattern, int b,
                          const char *what)
{
  enum { MOST_ROWS = ROWS * LARGEST };
  static double expected[2][MOST_ROWS], found[2][MOST_ROWS];
  karst_matrix *A1 = make_matrix(context, pattern, b, 1), *A2 = make_matrix(context, pattern, b, 2);
  karst_solver *first = solver_of(context, options), *full = solver_of(context, options);
  karst_solver *second = solver_of(context, options);
  karst_analysis *analysis;
  karst_result result[2], other[2];
  karst_solver_info info[2];
  struct phases phases = {0};
  const int64_t rows = karst_matrix_rows(A1);
  const size_t bytes = (size_t)rows * sizeof(double);
  tap_need(context, karst_solver_setup(full, A2), "set-up in full");
  tap_need(context, karst_solver_setup(first, A1), "the first set-up");
  tap_need(context, karst_solver_get_analysis(first, &analysis), "analysis");
  karst_context_set_message(context, count_phases, &phases);
  tap_need(context, karst_solver_setup_with(second, A2, analysis), "set-up with an analysis");
  karst_context_set_message(context, NULL, NULL);
  const bool reported = report_the_same(full, second);
  info[0] = info_of(full);
  info[1] = info_of(second);
  karst_analysis_destroy(analysis);
  tap_need(context, solve(context, first, rows, &result[0], found[0]), "the first solve");
  karst_solver_destroy(first);
  karst_matrix_destroy(A1);
  for (int round = 0; round < 2; round++) {
    tap_need(context, solve(context, full, rows, &result[round], expected[round]), "solve");
    tap_need(context, solve(context, second, rows, &other[round], found[round]), "solve");
    tap_need(context, karst_solver_update(full), "update");
    tap_need(context, karst_solver_update(second), "update");
  }
  const bool same = memcmp(expected[0], found[0], bytes) == 0 && memcmp(expected[1], found[1], bytes) == 0;
  tap_ok(same && result[0].reason > 0 && result[0].iterations == other[0].iterations && phases.ordering == 0 &&
             phases.symbolic == 0 && reported && info[0].memory == info[1].memory && info[0].fill == info[1].fill,
         "%s, blocks of %d: the same bits and values, and no second analysis", what, b);
  karst_solver_destroy(full);
  karst_solver_destroy(second);
  karst_matrix_destroy(A2);
}

static bool is_built(const char *ordering)
{
  const char *features = karst_build_features();
  if (strcmp(ordering, "amd") == 0) return strstr(features, "AMD") != NULL;
  return strcmp(ordering, "metis") != 0 || strstr(features, "METIS");
}

static void results_are_the_same(karst_context *context)
{
  static const char *const orderings[] = {"natural", "rcm", "amd", "metis"};
  static const char *const preconds[] = {"iluk", "parilu", "paric"};
  static const char *const scales[] = {"none", "diagonal", "block"};
  static const char *const solvers[] = {"gmres", "bicgstab", "orthomin", "fgmres", "richardson"};
  static const int sizes[] = {1, 3, 7};
  struct pattern whole = {0}, holed = {0};
  make_pattern(true, &whole);
  make_pattern(false, &holed);
  for (int i = 0; i < 4 * 3 * 3; i++) {
    char what[128];
    tap_settings options = settings_for(solvers[i % 5], preconds[i % 3]);
    options.ordering = orderings[i / 9];
    options.level = i / 3 % 3;
    options.scale = scales[i / 2 % 3];
    snprintf(what, sizeof what, "%s, %s, level %d, scale %s, %s", options.ordering, options.precond, options.level,
             options.scale, options.solver);
    if (!is_built(options.ordering)) {
      tap_skip("this build has no such ordering", "%s", what);
      continue;
    }
    check_sharing(context, &options, &whole, sizes[(i + i / 3) % 3], what);
    check_sharing(context, &options, i % 3 == 2 ? &whole : &holed, sizes[(i + i / 3 + 1) % 3], what);
  }
}

/* The ways to solve with the triangles, and the orders of asynchronous sweeps where one thread takes them. */
static void ways_are_the_same(karst_context *context)
{
  static const char *const ways[] = {"auto", "level", "dataflow", "jacobi"};
  struct pattern pattern = {0};
  make_pattern(true, &pattern);
  for (int w = 0; w < 4; w++)
    for (int b = 1; b <= LARGEST; b += 6) {
      tap_settings options = settings_for(NULL, NULL);
      options.trisolve = ways[w];
      options.level = w % 2;
      check_sharing(context, &options, &pattern, b, ways[w]);
    }
  if (strncmp(karst_context_device(context), "cpu", 3) != 0 || karst_context_threads(context) > 1) {
    tap_skip("asynchronous sweeps of several threads are not repeatable", "asynchronous sweeps");
    return;
  }
  tap_settings options = settings_for(NULL, "parilu");
  options.sweep_mode = "asynchronous";
  options.sweep_order = "blocks";
  options.sweep_block = 8;
  options.ilu_residual = "yes";
  options.level = 1;
  check_sharing(context, &options, &pattern, 3, "asynchronous sweeps");
}

/* A method of the program's own, whose number is behind those of the library's. */
static void register_copy(karst_context *context)
{
  const karst_precond_method method = copying_method("copy");
  tap_need(context, karst_precond_register(context, &method), "method");
}

/* Solvers that share an analysis may differ in scaling, shift, driver and its options, and number of sweeps. Methods
 * that have nothing to share are set up in full. */
static void others_may_differ(karst_context *context)
{
  static const char *const preconds[] = {"iluk", "parilu", "dilu", "jacobi", "none", "two-stage", "copy"};
  register_copy(context);
  for (int i = 0; i < 7; i++) {
    static double expected[ROWS * 3], found[ROWS * 3];
    karst_analysis *analysis;
    karst_result result[2];
    tap_settings options = settings_for(NULL, preconds[i]);
    karst_matrix *A = make_grid(context, 3, 1);
    karst_solver *first = solver_of(context, &options);
    options.scale = "block";
    options.solver = "fgmres";
    options.restart = 7;
    options.shift = 1e-3;
    options.sweeps = 3;
    karst_solver *second = solver_of(context, &options), *full = solver_of(context, &options);
    tap_need(context, karst_solver_setup(first, A), "set-up");
    tap_need(context, karst_solver_get_analysis(first, &analysis), "analysis");
    tap_need(context, karst_solver_setup_with(second, A, analysis), "set-up with an analysis");
    tap_need(context, karst_solver_setup_with(first, A, analysis), "again, with its own");
    tap_need(context, karst_solver_setup(full, A), "set-up in full");
    karst_solver_destroy(first);
    tap_need(context, solve(context, full, ROWS * 3, &result[0], expected), "solve");
    tap_need(context, solve(context, second, ROWS * 3, &result[1], found), "solve");
    tap_ok(memcmp(expected, found, sizeof expected) == 0 && result[0].reason > 0,
           "%s: scaling and driver are the solver's own", preconds[i]);
    karst_solver_destroy(second);
    karst_solver_destroy(full);
    karst_analysis_destroy(analysis);
    karst_matrix_destroy(A);
  }
}

/* Solvers that share an analysis have their own singular blocks. */
static void outcomes_are_not_shared(karst_context *context)
{
  static double x[ROWS];
  struct pattern pattern = {0};
  karst_analysis *analysis;
  karst_result result[2];
  make_pattern(true, &pattern);
  tap_settings options = settings_for(NULL, NULL);
  options.ordering = "rcm";
  static double zero[MOST];
  karst_matrix *good = make_matrix(context, &pattern, 1, 1);
  karst_matrix *bad = matrix_of(context, ROWS, 1, pattern.start, pattern.column, zero);
  karst_solver *first = solver_of(context, &options), *second = solver_of(context, &options);
  tap_need(context, karst_solver_setup(first, bad), "set-up");
  tap_need(context, karst_solver_get_analysis(first, &analysis), "analysis");
  tap_need(context, karst_solver_setup_with(second, good, analysis), "set-up with an analysis");
  tap_need(context, solve(context, first, ROWS, &result[0], x), "solve");
  tap_need(context, solve(context, second, ROWS, &result[1], x), "solve");
  tap_ok(result[0].reason == KARST_SINGULAR_BLOCK && result[1].reason > 0,
         "the analysis of a singular matrix serves a regular one");
  karst_solver_destroy(first);
  karst_solver_destroy(second);
  karst_analysis_destroy(analysis);
  karst_matrix_destroy(bad);
  karst_matrix_destroy(good);
}

/* Expects a refusal of the set-up with this sentence, after which the solver still solves. */
static void refuse(karst_context *context, const tap_settings *options, const karst_matrix *own, const karst_matrix *A,
                   const karst_analysis *analysis, const char *says)
{
  static double x[ROWS * LARGEST];
  karst_result result;
  karst_solver *solver = solver_of(context, options);
  tap_need(context, karst_solver_setup(solver, own), "set-up");
  const karst_status status = karst_solver_setup_with(solver, A, analysis);
  const bool right = status == KARST_ERROR_ARGUMENT && strstr(karst_context_error(context), says);
  if (!tap_ok(right, "refused: %s", says)) tap_note("%s", karst_context_error(context));
  tap_ok(solve(context, solver, karst_matrix_rows(own), &result, x) == KARST_SUCCESS, "and the solver goes on");
  karst_solver_destroy(solver);
}

static void options_must_fit(karst_context *context, const karst_matrix *A, const karst_analysis *analysis,
                             const char *precond)
{
  tap_settings options = settings_for(NULL, precond);
  options.level = 1;
  refuse(context, &options, A, A, analysis, "option level");
  options.level = 0;
  options.trisolve = "jacobi";
  refuse(context, &options, A, A, analysis, "option trisolve");
  options.trisolve = "auto";
  options.ordering = "rcm";
  refuse(context, &options, A, A, analysis, "ordering rcm, and the analysis was made with natural");
  options.ordering = "natural";
  options.precond = "jacobi";
  refuse(context, &options, A, A, analysis, "preconditioner jacobi");
  options.precond = "copy";
  refuse(context, &options, A, A, analysis, "preconditioner copy, and the analysis was made with");
  options.precond = precond;
  options.modified = 1;
  if (strcmp(precond, "iluk") == 0) {
    refuse(context, &options, A, A, analysis, "option modified");
    return;
  }
  options.sweep_mode = "asynchronous";
  refuse(context, &options, A, A, analysis, "option sweep-mode");
  options.sweep_mode = "synchronous";
  options.sweep_order = "blocks";
  refuse(context, &options, A, A, analysis, "option sweep-order");
  options.sweep_order = "rows";
  options.sweep_block = 8;
  refuse(context, &options, A, A, analysis, "option sweep-block");
  options.sweep_block = 64;
  options.sweep_chunks = "backward";
  refuse(context, &options, A, A, analysis, "option sweep-chunks");
  options.sweep_chunks = "forward";
  options.sweep_limit = 1;
  refuse(context, &options, A, A, analysis, "option sweep-limit");
}

static void mismatches_are_refused(karst_context *context)
{
  static const char *const preconds[] = {"iluk", "parilu"};
  struct pattern whole = {0}, holed = {0}, moved = {0};
  register_copy(context);
  make_pattern(true, &whole);
  make_pattern(false, &holed);
  moved = whole;
  moved.column[whole.start[ROWS] - 3]--; /* in the last row, whose length stays */
  karst_matrix *A = make_matrix(context, &whole, 3, 1), *B = make_matrix(context, &holed, 3, 1);
  karst_matrix *C = make_matrix(context, &moved, 3, 1), *D = make_matrix(context, &whole, 1, 1);
  karst_matrix *small = matrix_from(context, "poisson2d:4x4", 0);
  for (int i = 0; i < 2; i++) {
    karst_analysis *analysis = (karst_analysis *)context, *none = analysis; /* anything that is not NULL */
    tap_settings options = settings_for(NULL, preconds[i]);
    karst_solver *first = solver_of(context, &options);
    tap_ok(karst_solver_get_analysis(first, &analysis) == KARST_ERROR_ARGUMENT && !analysis &&
               strstr(karst_context_error(context), "not been set up"),
           "there is no analysis before set-up");
    tap_need(context, karst_solver_setup(first, A), "set-up");
    tap_need(context, karst_solver_get_analysis(first, &analysis), "analysis");
    refuse(context, &options, A, small, analysis, "16 block rows, that of the analysis 72");
    refuse(context, &options, A, D, analysis, "blocks of size 1, that of the analysis of 3");
    refuse(context, &options, A, B, analysis, "differ in block row 0");
    refuse(context, &options, A, C, analysis, "differ in block row 71");
    refuse(context, &options, A, A, NULL, "analysis is NULL");
    options_must_fit(context, A, analysis, preconds[i]);
    tap_ok(karst_solver_setup_with(first, NULL, analysis) == KARST_ERROR_ARGUMENT &&
               karst_solver_setup_with(NULL, A, analysis) == KARST_ERROR_ARGUMENT &&
               karst_solver_get_analysis(first, NULL) == KARST_ERROR_ARGUMENT &&
               karst_solver_get_analysis(NULL, &none) == KARST_ERROR_ARGUMENT && !none,
           "a NULL matrix, a NULL solver, a NULL analysis");
    karst_solver_destroy(first);
    karst_analysis_destroy(analysis);
  }
  karst_analysis_destroy(NULL);
  karst_matrix_destroy(A);
  karst_matrix_destroy(B);
  karst_matrix_destroy(C);
  karst_matrix_destroy(D);
  karst_matrix_destroy(small);
}

static void contexts_must_fit(void)
{
  karst_context *context[2];
  karst_analysis *analysis;
  tap_settings options = settings_for(NULL, NULL);
  context[0] = tap_context();
  context[1] = tap_context();
  karst_matrix *A = make_grid(context[0], 1, 1), *B = make_grid(context[1], 1, 1);
  karst_solver *first = solver_of(context[0], &options);
  tap_need(context[0], karst_solver_setup(first, A), "set-up");
  tap_need(context[0], karst_solver_get_analysis(first, &analysis), "analysis");
  refuse(context[1], &options, B, B, analysis, "the analysis belongs to another context");
  refuse(context[1], &options, B, A, analysis, "the matrix belongs to another context");
  karst_solver_destroy(first);
  karst_matrix_destroy(A);
  karst_matrix_destroy(B);
  tap_ok(karst_context_set_device(context[0], "cpu") != KARST_SUCCESS, "a context counts an analysis as its object");
  karst_analysis_destroy(analysis);
  tap_ok(karst_context_set_device(context[0], "cpu") == KARST_SUCCESS, "and releases its memory with it");
  karst_context_destroy(context[0]);
  karst_context_destroy(context[1]);
}

/* Two threads set up, update, solve with and destroy solvers that share one analysis. */
struct work {
  karst_context *context;
  const karst_matrix *A;
  const karst_analysis *analysis;
  const tap_settings *options;
  bool sound;
  double x[ROWS * 3];
};

static void *share(void *user)
{
  struct work *work = user;
  karst_result result;
  work->sound = true;
  for (int i = 0; i < ROUNDS && work->sound; i++) {
    karst_solver *solver = NULL;
    karst_analysis *again = NULL;
    karst_status status = tap_solver_create(work->context, work->options, &solver);
    if (!status) status = karst_solver_setup_with(solver, work->A, work->analysis);
    if (!status) status = karst_solver_get_analysis(solver, &again);
    if (!status) status = karst_solver_update(solver);
    if (!status) status = solve(work->context, solver, ROWS * 3, &result, work->x);
    karst_solver_destroy(solver);
    karst_analysis_destroy(again);
    work->sound = status == KARST_SUCCESS && result.reason > 0;
  }
  return NULL;
}

static void threads_share(const char *precond, const char *trisolve)
{
  static struct work work[THREADS];
  static double expected[THREADS][ROWS * 3];
  karst_analysis *analysis;
  karst_matrix *A[THREADS];
  karst_result result;
  pthread_t thread[THREADS];
  tap_settings options = settings_for(NULL, precond);
  options.ordering = "rcm";
  options.level = 1;
  options.trisolve = trisolve;
  karst_context *context = tap_context();
  karst_solver *first = solver_of(context, &options);
  for (int t = THREADS; t-- > 0;) {
    A[t] = make_grid(context, 3, t);
    tap_need(context, karst_solver_setup(first, A[t]), "set-up");
    tap_need(context, karst_solver_update(first), "update");
    tap_need(context, solve(context, first, ROWS * 3, &result, expected[t]), "solve");
  }
  tap_need(context, karst_solver_get_analysis(first, &analysis), "analysis");
  karst_solver_destroy(first);
  for (int t = 0; t < THREADS; t++) {
    work[t] = (struct work){.context = context, .A = A[t], .analysis = analysis, .options = &options};
    if (pthread_create(&thread[t], NULL, share, &work[t]) != 0) tap_need(NULL, KARST_ERROR_NO_MEMORY, "a thread");
  }
  for (int t = 0; t < THREADS; t++) pthread_join(thread[t], NULL);
  bool sound = true;
  for (int t = 0; t < THREADS; t++)
    sound = sound && work[t].sound && memcmp(work[t].x, expected[t], sizeof expected[t]) == 0;
  tap_ok(sound, "%s, trisolve %s: two threads share an analysis, with the bits of one alone", precond, trisolve);
  karst_analysis_destroy(analysis);
  for (int t = 0; t < THREADS; t++) karst_matrix_destroy(A[t]);
  tap_ok(karst_context_set_device(context, "cpu") == KARST_SUCCESS, "and its memory is released");
  karst_context_destroy(context);
}

/* Set-up, analysis, set-up with it, for allocations that fail. */
static karst_status run(karst_context *context, void *user)
{
  const tap_settings *options = user;
  struct pattern pattern = {0};
  static double value[MOST];
  karst_matrix *A = NULL;
  karst_solver *first = NULL, *second = NULL;
  karst_analysis *analysis = NULL;
  make_pattern(true, &pattern);
  for (karst_index i = 0; i < ROWS; i++)
    for (karst_index k = pattern.start[i]; k < pattern.start[i + 1]; k++) value[k] = pattern.column[k] == i ? 5 : -1;
  karst_status status = karst_matrix_create(context, ROWS, 1, pattern.start, pattern.column, value, KARST_COPY, &A);
  if (!status) status = tap_solver_create(context, options, &first);
  if (!status) status = tap_solver_create(context, options, &second);
  if (!status) status = karst_solver_setup(first, A);
  if (!status) status = karst_solver_get_analysis(first, &analysis);
  karst_solver_destroy(first);
  if (!status) status = karst_solver_setup_with(second, A, analysis);
  karst_analysis_destroy(analysis);
  karst_solver_destroy(second);
  karst_matrix_destroy(A);
  return status;
}

int main(void)
{
  static const char *const preconds[] = {"iluk", "parilu", "paric", "dilu", "jacobi"};
  tap_each_device(results_are_the_same, "shared analyses");
  tap_each_device(ways_are_the_same, "ways to solve and to sweep");
  tap_each_device(others_may_differ, "options that may differ");
  tap_each_device(outcomes_are_not_shared, "outcomes");
  tap_each_device(mismatches_are_refused, "mismatches");
  contexts_must_fit();
  threads_share("iluk", "auto");
  threads_share("iluk", "jacobi");
  threads_share("parilu", "auto");
  threads_share("paric", "auto");
  threads_share("dilu", "auto");
  for (int i = 0; i < 5; i++) {
    tap_settings options = settings_for(NULL, preconds[i]);
    options.ordering = "rcm";
    options.scale = "diagonal";
    options.level = 1;
    options.sweep_mode = "asynchronous";
    options.sweep_order = "blocks";
    fail_each_allocation(run, &options, preconds[i]);
  }
  return tap_done();
}
