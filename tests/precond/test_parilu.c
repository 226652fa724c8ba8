/* Sweeps and norms of parilu and paric agree with a dense computation of the same formulas. With as many sweeps as the
 * tasks' dependencies have levels, the factors are those of iluk. Where sweeps diverge, the factors are iluk's, with a
 * warning and a count. New values start from the last factors. Bits are repeatable, and errors are reported. */
#include "lib/method/precond.h"
#include "tests/support/parilu_dense.h"
#include "tests/support/named_values.h"
#include "tests/support/problem.h"

#include <math.h>
#include <string.h>

static tap_settings options_for(const char *precond, int level, int sweeps)
{
  tap_settings options = settings_for(NULL, precond);
  options.level = level;
  options.sweeps = sweeps;
  return options;
}

/* The values that a preconditioner reports; -1 where it reports none. */
struct report {
  double levels_lower, levels_upper, shifted, fallbacks, sweep_residual_before, sweep_residual_after, ilu_residual;
};

static struct report report_of(const karst_precond *P)
{
  return (struct report){.levels_lower = tap_precond_number(P, "levels_lower"),
                         .levels_upper = tap_precond_number(P, "levels_upper"),
                         .shifted = tap_precond_number(P, "shifted"),
                         .fallbacks = tap_precond_number(P, "fallbacks"),
                         .sweep_residual_before = tap_precond_number(P, "sweep_residual_before"),
                         .sweep_residual_after = tap_precond_number(P, "sweep_residual_after"),
                         .ilu_residual = tap_precond_number(P, "ilu_residual")};
}

/* Returns the largest difference of P^-1 r and Q^-1 r over the largest entry, or -1 if all bits agree. */
static double difference(const karst_precond *P, const karst_precond *Q)
{
  const int64_t n = karst_matrix_rows(P->A);
  double *x = applied_to_random(P, 7, NULL), *y = applied_to_random(Q, 7, NULL);
  const bool same = memcmp(x, y, (size_t)n * sizeof *x) == 0;
  const double error = relative_difference(n, x, y);
  free(x);
  free(y);
  return same ? -1 : error;
}

/* The tolerance is for rounding alone: the dominant matrices here are well conditioned. */
static const double tolerance = 1e-12;

static void exact_limit(karst_context *context, const char *precond, const char *mode, const karst_matrix *A, int level)
{
  struct dense dense = dense_of(A, level, strcmp(precond, "paric") == 0);
  int depth = dense_depth(&dense);
  tap_settings options = options_for(precond, level, depth), exact = options_for("iluk", level, 0);
  options.sweep_mode = mode;
  karst_precond *P = precond_of(context, &options, A), *reference = precond_of(context, &exact, A);
  struct report info = report_of(P);
  double error = difference(P, reference);
  tap_ok(error < tolerance && info.sweep_residual_after <= tolerance * sqrt((double)karst_matrix_rows(A)) &&
             info.fallbacks == 0,
         "%s, b = %d, level %d: as iluk after %d %s sweeps (%.1e, norm %.1e)", precond, A->block_size, level, depth,
         mode, error, info.sweep_residual_after);
  karst_precond_destroy(P);
  karst_precond_destroy(reference);
  dense_free(&dense);
}

static void exact_limits(karst_context *context)
{
  const int sizes[] = {1, 2, 3, 4, 5, 8, 9, 17};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
    for (int level = 0; level < (sizes[s] > 8 ? 2 : 3); level++) {
      struct pattern grid = pattern_grid(5, 4, 3);
      karst_matrix *A = tap_random_matrix(context, 60, sizes[s], 3, 2);
      karst_matrix *S = symmetric_matrix(context, &grid, sizes[s], 1);
      for (int m = 0; m < 2; m++) {
        const char *mode = m ? "asynchronous" : "synchronous";
        exact_limit(context, "parilu", mode, A, level);
        exact_limit(context, "parilu", mode, S, level);
        exact_limit(context, "paric", mode, S, level);
      }
      karst_matrix_destroy(A);
      karst_matrix_destroy(S);
      pattern_free(&grid);
    }
}

/* A chain of n rows has n levels. Each row except the first needs a sweep for L and a sweep for the pivot, so that 2 n
 * - 3 sweeps are enough and one sweep less is not. */
static void chain(karst_context *context)
{
  enum { ROWS = 5 };
  const karst_index start[] = {0, 2, 5, 8, 11, 13}, column[] = {0, 1, 0, 1, 2, 1, 2, 3, 2, 3, 4, 3, 4};
  const double value[] = {2, -1, -1, 2, -1, -1, 2, -1, -1, 2, -1, -1, 2};
  karst_matrix *A = matrix_of(context, ROWS, 1, start, column, value);
  tap_settings exact = options_for("iluk", 0, 0);
  karst_precond *reference = precond_of(context, &exact, A);
  const char *const preconds[] = {"parilu", "paric"};
  for (int p = 0; p < 2; p++)
    for (int less = 0; less < 2; less++) {
      tap_settings options = options_for(preconds[p], 0, 2 * ROWS - 3 - less);
      karst_precond *P = precond_of(context, &options, A);
      double error = difference(P, reference);
      tap_ok(less ? error > 1e-6 : error < 1e-14, "%s: a chain of %d rows after %d sweeps (%.1e)", preconds[p], ROWS,
             options.sweeps, error);
      karst_precond_destroy(P);
    }
  karst_precond_destroy(reference);
  karst_matrix_destroy(A);
}

/* Compares two sweeps and all norms with the dense computation. */
static void compare_sweeps(karst_context *context, const char *precond, const karst_matrix *A, int level, bool scaled)
{
  struct dense dense = dense_of(A, level, strcmp(precond, "paric") == 0);
  dense_guess(&dense, scaled);
  double before = dense_norm(&dense, true), worst = 0;
  for (int sweeps = 0; sweeps < 3; sweeps++) {
    tap_settings options = options_for(precond, level, sweeps);
    options.sweep_scale = scaled ? "yes" : "no";
    options.ilu_residual = "yes";
    karst_precond *P = precond_of(context, &options, A);
    struct report info = report_of(P);
    double after = dense_norm(&dense, true), ilu = dense_norm(&dense, false);
    worst = fmax(worst, fabs(info.sweep_residual_before - before) / before);
    worst = fmax(worst, fabs(info.sweep_residual_after - after) / before);
    if (info.fallbacks > 0)
      worst = fmax(worst, !(after > before) || info.ilu_residual != -1);
    else
      worst = fmax(worst, fabs(info.ilu_residual - ilu) / ilu);
    if (isnan(info.sweep_residual_before + info.sweep_residual_after + info.ilu_residual)) worst = NAN;
    karst_precond_destroy(P);
    dense_sweep(&dense);
  }
  tap_ok(worst < 1e-10, "%s, b = %d, level %d, scaled %s: norms before and after 0, 1 and 2 sweeps are right (%.1e)",
         precond, A->block_size, level, scaled ? "yes" : "no", worst);
  dense_free(&dense);
}

static void sweeps_and_norms(karst_context *context)
{
  const int sizes[] = {1, 2, 3, 5, 8, 9};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
    for (int level = 0; level < 2; level++)
      for (int scaled = 0; scaled < 2; scaled++) {
        struct pattern grid = pattern_grid(4, 3, 2);
        karst_matrix *A = tap_random_matrix(context, 25, sizes[s], 3, 1.5);
        karst_matrix *S = symmetric_matrix(context, &grid, sizes[s], 1);
        compare_sweeps(context, "parilu", A, level, scaled);
        compare_sweeps(context, "paric", S, level, scaled);
        karst_matrix_destroy(A);
        karst_matrix_destroy(S);
        pattern_free(&grid);
      }
}

/* Counts the warnings that mention exact factors, and the others. */
struct warnings {
  int exact, other;
};

static void count_warnings(void *user, karst_message_kind kind, const char *text)
{
  struct warnings *warnings = user;
  if (kind != KARST_MESSAGE_WARNING) return;
  if (strstr(text, "exactly instead"))
    warnings->exact++;
  else
    warnings->other++;
}

/* Makes precond and iluk, and compares outcome, shifted blocks and, if sound, the bits. */
static void falls_back(karst_context *context, const char *precond, const karst_matrix *A, const char *scale,
                       double shift, const char *what)
{
  struct warnings warnings = {0, 0};
  tap_settings options = options_for(precond, 0, 2), exact = options_for("iluk", 0, 0);
  karst_index row, expected_row;
  options.sweep_scale = scale;
  options.shift = exact.shift = shift;
  options.ilu_residual = "yes";
  karst_context_set_message(context, count_warnings, &warnings);
  karst_precond *P = precond_of(context, &options, A), *reference = precond_of(context, &exact, A);
  tap_need(context, karst_precond_update(P), "update");
  karst_context_set_message(context, NULL, NULL);
  karst_reason reason = karst_precond_outcome(P, &row), expected = karst_precond_outcome(reference, &expected_row);
  struct report info = report_of(P), expected_info = report_of(reference);
  bool same = reason == expected && row == expected_row && info.shifted == expected_info.shifted;
  if (same && reason == KARST_SOUND) same = difference(P, reference) == -1;
  tap_ok(same && info.fallbacks == 2 && warnings.exact == 2 && info.ilu_residual == -1,
         "%s, b = %d, %s: iluk's factors or outcome (%s) twice, with warnings and a count; norms %.2e, %.2e", precond,
         A->block_size, what, karst_reason_text(reason), info.sweep_residual_before, info.sweep_residual_after);
  tap_ok(warnings.other == (strcmp(scale, "no") == 0), "and an unscaled start has a warning");
  karst_precond_destroy(P);
  karst_precond_destroy(reference);
}

/* Makes a tridiagonal unsymmetric matrix with small diagonal blocks, which are multiples of a rotation; b is even. */
static karst_matrix *badly_scaled(karst_context *context, int b, bool symmetric)
{
  struct pattern line = pattern_grid(30, 1, 1);
  int64_t bb = (int64_t)b * b;
  double *value = tap_memory(bb * line.start[30], sizeof *value);
  for (karst_index i = 0; i < 30; i++)
    for (karst_index k = line.start[i]; k < line.start[i + 1]; k++)
      for (int r = 0; r < b; r++)
        value[k * bb + r * b + r] = line.column[k] == i               ? 1e-3 * (double)(1 + i % 3)
                                    : line.column[k] < i || symmetric ? 1
                                                                      : -2;
  karst_matrix *A = pattern_matrix(context, &line, b, value);
  free(value);
  pattern_free(&line);
  return A;
}

/* Makes the diagonal block of a row singular, negative or NaN. */
static void set_diagonal_block(karst_context *context, karst_matrix *A, karst_index row, double diagonal)
{
  double *changed = values_on_host(A);
  int64_t bb = (int64_t)A->block_size * A->block_size;
  for (karst_index k = A->row_start[row]; k < A->row_start[row + 1]; k++)
    for (int64_t v = 0; A->column[k] == row && v < bb; v++)
      changed[k * bb + v] = v % (A->block_size + 1) ? 0 : diagonal;
  tap_need(context, karst_matrix_update_values(A, changed), "update");
  free(changed);
}

static void divergence(karst_context *context)
{
  const int sizes[] = {1, 2, 3, 8, 9};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    struct pattern grid = pattern_grid(4, 4, 2);
    karst_matrix *bad = badly_scaled(context, sizes[s], false), *symmetric = badly_scaled(context, sizes[s], true);
    karst_matrix *A = symmetric_matrix(context, &grid, sizes[s], 1);
    falls_back(context, "parilu", bad, "no", 0, "badly scaled");
    falls_back(context, "paric", symmetric, "no", 0, "indefinite and badly scaled");
    falls_back(context, "paric", symmetric, "yes", 0, "indefinite");
    set_diagonal_block(context, A, 0, 0); /* elimination does not change this pivot */
    falls_back(context, "parilu", A, "yes", 0, "singular pivot");
    falls_back(context, "paric", A, "yes", 0, "singular pivot");
    falls_back(context, "parilu", A, "yes", 0.5, "singular pivot, shifted");
    set_diagonal_block(context, A, 0, -50);
    falls_back(context, "paric", A, "yes", 0, "negative pivot");
    set_diagonal_block(context, A, 5, NAN);
    falls_back(context, "parilu", A, "yes", 0, "NaN");
    falls_back(context, "paric", A, "yes", 0, "NaN");
    karst_matrix_destroy(A);
    karst_matrix_destroy(bad);
    karst_matrix_destroy(symmetric);
    pattern_free(&grid);
  }
}

static void last_factors(karst_context *context)
{
  const char *const preconds[] = {"parilu", "paric"};
  for (int t = 0; t < 8; t++) {
    struct pattern grid = pattern_grid(6, 5, 4);
    const int b = t / 4 ? 3 : 1, level = t / 2 % 2;
    karst_matrix *A = symmetric_matrix(context, &grid, b, 1);
    tap_settings options = options_for(preconds[t % 2], level, 2);
    karst_precond *P = precond_of(context, &options, A);
    struct report first = report_of(P);
    tap_need(context, karst_precond_update(P), "update");
    struct report second = report_of(P);
    tap_ok(fabs(second.sweep_residual_before - first.sweep_residual_after) <= 1e-12 * first.sweep_residual_before &&
               second.sweep_residual_after < first.sweep_residual_after,
           "%s, b = %d, level %d: the same values go on from the last factors (%.1e, %.1e, %.1e)", preconds[t % 2], b,
           level, first.sweep_residual_before, second.sweep_residual_before, second.sweep_residual_after);
    multiply_values(context, A, 1 + 1e-5);
    tap_need(context, karst_precond_update(P), "update");
    karst_precond *fresh = precond_of(context, &options, A);
    struct report third = report_of(P), anew = report_of(fresh);
    tap_ok(third.sweep_residual_after < anew.sweep_residual_after && third.fallbacks == 0,
           "and new values too: norm %.1e, from the beginning %.1e", third.sweep_residual_after,
           anew.sweep_residual_after);
    multiply_values(context, A, NAN);
    tap_need(context, karst_precond_update(P), "update");
    tap_ok(karst_precond_outcome(P, NULL) == KARST_NOT_FINITE, "values that are not finite");
    karst_matrix_destroy(A);
    karst_precond_destroy(P);
    karst_precond_destroy(fresh);
    pattern_free(&grid);
  }
}

/* After a fallback, sound values start from the matrix again. */
static void recovery(karst_context *context)
{
  karst_matrix *A = tap_random_matrix(context, 80, 2, 3, 2);
  tap_settings options = options_for("parilu", 1, 3);
  karst_precond *P = precond_of(context, &options, A);
  double *kept = values_on_host(A);
  multiply_values(context, A, NAN);
  tap_need(context, karst_precond_update(P), "update");
  tap_need(context, karst_matrix_update_values(A, kept), "update");
  tap_need(context, karst_precond_update(P), "update");
  karst_precond *fresh = precond_of(context, &options, A);
  tap_ok(difference(P, fresh) == -1 && report_of(P).fallbacks == 1,
         "after a fallback sound values give the bits of a fresh set-up");
  free(kept);
  karst_precond_destroy(P);
  karst_precond_destroy(fresh);
  karst_matrix_destroy(A);
}

/* The bits are the same in each run, and on the CPU for each number of threads. */
static void same_bits(karst_context *context)
{
  struct pattern grid = pattern_grid(24, 20, 16);
  karst_matrix *A = symmetric_matrix(context, &grid, 2, 1);
  const char *const preconds[] = {"parilu", "paric"};
  const int threads = karst_context_threads(context);
  for (int p = 0; p < 2; p++) {
    tap_settings options = options_for(preconds[p], 0, 3);
    karst_precond *P = precond_of(context, &options, A), *again = precond_of(context, &options, A);
    struct report info = report_of(P), other = report_of(again);
    tap_ok(difference(P, again) == -1 && info.sweep_residual_after == other.sweep_residual_after,
           "%s: the same bits twice", preconds[p]);
    karst_precond_destroy(again);
    if (threads > 1) {
      tap_need(context, tap_set_threads(context, 1), "one thread");
      again = precond_of(context, &options, A);
      other = report_of(again);
      tap_ok(difference(P, again) == -1 && info.sweep_residual_before == other.sweep_residual_before &&
                 info.sweep_residual_after == other.sweep_residual_after,
             "%s: the same bits with one thread", preconds[p]);
      karst_precond_destroy(again);
      tap_need(context, tap_set_threads(context, threads), "threads");
    }
    karst_precond_destroy(P);
  }
  karst_matrix_destroy(A);
  pattern_free(&grid);
}

/* Every order of the tasks reaches the same limit, and lists every task once. */
static void orders(karst_context *context)
{
  const char *const order[] = {"rows", "blocks", "random"}, *const chunks[] = {"forward", "backward", "random"};
  struct pattern grid = pattern_grid(9, 8, 7);
  karst_matrix *A = symmetric_matrix(context, &grid, 2, 1);
  tap_settings exact = options_for("iluk", 1, 0);
  karst_precond *reference = precond_of(context, &exact, A);
  const int depth = 2 * (int)report_of(reference).levels_lower - 1;
  for (int t = 0; t < 18; t++) {
    tap_settings options = options_for(t / 9 ? "paric" : "parilu", 1, depth);
    options.sweep_mode = "asynchronous";
    options.sweep_order = order[t / 3 % 3];
    options.sweep_chunks = chunks[t % 3];
    options.sweep_block = 27;
    options.sweep_limit = t % 2;
    karst_precond *P = precond_of(context, &options, A);
    double error = difference(P, reference);
    tap_ok(error < tolerance && report_of(P).fallbacks == 0, "%s, tasks %s, chunks %s: as iluk (%.1e)", options.precond,
           options.sweep_order, options.sweep_chunks, error);
    karst_precond_destroy(P);
  }
  karst_precond_destroy(reference);
  karst_matrix_destroy(A);
  pattern_free(&grid);
}

static void task_lists(void)
{
  const char *const order[] = {"rows", "blocks", "random"}, *const chunks[] = {"forward", "backward", "random"};
  karst_context *context = tap_context();
  for (int t = 0; t < 18; t++) {
    struct pattern grid = pattern_grid(11, 7, 5);
    const karst_sweep_pattern pattern = {grid.n, grid.start, grid.column, t / 9};
    karst_index *task, blocks = grid.start[grid.n];
    int64_t tasks;
    tap_need(context,
             karst_sweep_order(context, &pattern, (karst_task_order)(t / 3 % 3), 20, (karst_chunk_order)(t % 3), &task,
                               &tasks),
             "order");
    bool *met = tap_memory(blocks, sizeof *met), once = true;
    for (int64_t i = 0; i < tasks; i++) {
      once = once && task[i] >= 0 && task[i] < blocks && !met[task[i]];
      met[task[i]] = true;
    }
    tap_ok(t % 9 == 0 ? !task : once && tasks == (t / 9 ? (blocks + grid.n) / 2 : blocks),
           "tasks %s, chunks %s: each once, %s", order[t / 3 % 3], chunks[t % 3], t / 9 ? "lower" : "all");
    free(met);
    karst_release(context, task);
    pattern_free(&grid);
  }
  karst_context_destroy(context);
}

/* Jacobi sweeps solve the triangles if there are as many as level sets, less one. */
static void jacobi(karst_context *context)
{
  const char *const preconds[] = {"iluk", "parilu", "paric"};
  for (int t = 0; t < 9; t++) {
    struct pattern grid = pattern_grid(7, 5, 3);
    const int b = t / 3 == 2 ? 9 : 1 + 2 * (t / 3);
    karst_matrix *A = symmetric_matrix(context, &grid, b, 1);
    tap_settings options = options_for(preconds[t % 3], 1, 4);
    karst_precond *exact = precond_of(context, &options, A);
    struct report info = report_of(exact);
    int enough = (int)(info.levels_lower > info.levels_upper ? info.levels_lower : info.levels_upper) - 1;
    options.trisolve = "jacobi";
    for (int less = 0; less < 3; less++) {
      options.trisolve_sweeps = less == 2 ? 0 : enough - less;
      karst_precond *P = precond_of(context, &options, A);
      double error = difference(P, exact);
      tap_ok(less == 2 ? error > 1e-3 : error < tolerance, "%s, b = %d: %d Jacobi sweeps for %.0f level sets (%.1e)",
             preconds[t % 3], b, options.trisolve_sweeps, info.levels_lower, error);
      karst_precond_destroy(P);
    }
    karst_precond_destroy(exact);
    karst_matrix_destroy(A);
    pattern_free(&grid);
  }
}

static void small_and_refused(karst_context *context)
{
  const karst_index empty[] = {0, 0}, one[] = {0, 1}, zero[] = {0}, unsymmetric[] = {0, 2, 3}, columns[] = {0, 1, 1};
  const double value[] = {4, 1, 5};
  const char *const preconds[] = {"parilu", "paric"};
  karst_precond *P = NULL;
  karst_matrix *none = matrix_of(context, 0, 1, empty, zero, value);
  karst_matrix *single = matrix_of(context, 1, 1, one, zero, value);
  karst_matrix *upper = matrix_of(context, 2, 1, unsymmetric, columns, value);
  karst_matrix *hollow = matrix_of(context, 1, 1, empty, zero, value);
  for (int p = 0; p < 2; p++) {
    tap_settings options = options_for(preconds[p], 0, 3);
    P = precond_of(context, &options, none);
    tap_ok(karst_precond_outcome(P, NULL) == KARST_SOUND, "%s: no rows", preconds[p]);
    karst_precond_destroy(P);
    P = precond_of(context, &options, single);
    double *z = applied_to_random(P, 7, NULL), *r = NULL;
    karst_precond_destroy(P);
    options.precond = "none";
    P = precond_of(context, &options, single);
    r = applied_to_random(P, 7, NULL);
    tap_ok(fabs(4 * z[0] - r[0]) < 1e-15, "%s: one row", preconds[p]);
    karst_precond_destroy(P);
    free(z);
    free(r);
    options.precond = preconds[p];
    karst_status status = tap_precond_create(context, &options, hollow, &P);
    tap_ok(status == KARST_ERROR_MATRIX && !P, "%s: refused: %s", preconds[p], karst_context_error(context));
  }
  tap_settings options = options_for("paric", 0, 3);
  karst_status status = tap_precond_create(context, &options, upper, &P);
  tap_ok(status == KARST_ERROR_MATRIX && !P && strstr(karst_context_error(context), "symmetric"), "refused: %s",
         karst_context_error(context));
  options.precond = "parilu";
  options.sweep_order = "blocks";
  options.sweep_mode = "asynchronous";
  P = precond_of(context, &options, upper);
  tap_ok(karst_precond_outcome(P, NULL) == KARST_SOUND, "parilu accepts it");
  karst_precond_destroy(P);
  karst_matrix_destroy(none);
  karst_matrix_destroy(single);
  karst_matrix_destroy(upper);
  karst_matrix_destroy(hollow);
}

int main(void)
{
  task_lists();
  tap_each_device(exact_limits, "exact limits");
  tap_each_device(chain, "a chain");
  tap_each_device(sweeps_and_norms, "sweeps and norms");
  tap_each_device(divergence, "divergence");
  tap_each_device(last_factors, "last factors");
  tap_each_device(recovery, "recovery");
  tap_each_device(same_bits, "same bits");
  tap_each_device(orders, "orders");
  tap_each_device(jacobi, "Jacobi");
  tap_each_device(small_and_refused, "small and refused");
  return tap_done();
}
