/* parilu and paric with long rows, where a GPU has no lists for blocks of many products. Sweep for sweep, factors and
 * norms agree with the CPU within rounding, for every block size and place of the long rows. The bits are the same each
 * time, and those of a plan with all lists. With as many sweeps as the tasks' dependencies have levels, the factors are
 * those of iluk. The plan takes at most a multiple of the factors' memory. */
#include "tests/support/patterns.h"
#include "lib/method/precond.h"
#include "precond/parilu_setup.h"
#include "tests/support/named_values.h"
#include "tests/support/problem.h"

#include <math.h>
#include <string.h>

static karst_context *cpu;
static const int sizes[] = {1, 2, 3, 4, 6, 9};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

/* The long rows and columns, and the other entries. */
struct shape {
  const char *what;
  karst_index n, first, every, count; /* long ones: first, first + every, ... */
  double filled;                      /* the part of a long row that is present */
  double scattered;                   /* the part of all entries that is present besides */
  karst_index band;                   /* entries on either side of the diagonal */
  bool symmetric;
  int largest[2]; /* b in the tests of level 0 and 1 */
};

static bool is_long(const struct shape *shape, karst_index i)
{
  const karst_index number = (i - shape->first) / shape->every;
  return i >= shape->first && (i - shape->first) % shape->every == 0 && number < shape->count;
}

static bool is_drawn(double part) { return 0.5 * (tap_random() + 1) < part; }

static struct pattern make_pattern(const struct shape *shape)
{
  const karst_index n = shape->n;
  struct pattern made = pattern_empty(n, (int64_t)n * n);
  bool *present = tap_memory((int64_t)n * n, sizeof *present);
  karst_index k = 0;
  for (karst_index i = 0; i < n; i++)
    for (karst_index j = 0; j < n; j++) {
      const bool near = i - j <= shape->band && j - i <= shape->band;
      const bool drawn = is_drawn(is_long(shape, i) || is_long(shape, j) ? shape->filled : shape->scattered);
      present[i * n + j] = shape->symmetric && j < i ? present[j * n + i] : near || drawn;
    }
  for (karst_index i = 0; i < n; i++) {
    for (karst_index j = 0; j < n; j++)
      if (present[i * n + j]) made.column[k++] = j;
    made.start[i + 1] = k;
  }
  free(present);
  return made;
}

/* Makes random values, diagonally dominant by blocks; symmetric ones on a pattern that is. The caller frees them. */
static double *make_values(const struct pattern *pattern, int b, bool symmetric)
{
  const int64_t bb = (int64_t)b * b;
  double *value = tap_memory(pattern->start[pattern->n] * bb, sizeof *value);
  karst_index *next = tap_memory(pattern->n, sizeof *next); /* the mirrored block of each row that comes next */
  for (karst_index i = 0; i < pattern->n; i++)
    for (next[i] = pattern->start[i]; pattern->column[next[i]] < i;) next[i]++;
  for (karst_index i = 0; i < pattern->n; i++)
    for (karst_index k = pattern->start[i]; k < pattern->start[i + 1]; k++) {
      const karst_index j = pattern->column[k];
      double *block = value + k * bb;
      const double *mirror = value + (symmetric && j <= i ? next[j]++ : k) * bb;
      for (int c = 0; c < b; c++)
        for (int r = 0; r < b; r++)
          block[c * b + r] = !symmetric || j > i || (j == i && r >= c) ? tap_random() : mirror[r * b + c];
      for (int r = 0; r < b && j == i; r++)
        block[r * (b + 1)] += 1.5 * b * (double)(pattern->start[i + 1] - pattern->start[i]);
    }
  free(next);
  return value;
}

static karst_precond *factor(karst_context *context, const karst_matrix *A, const char *precond, int level, int sweeps,
                             const char *mode)
{
  tap_settings options = settings_for(NULL, precond);
  options.level = level;
  options.sweeps = sweeps;
  options.sweep_mode = mode;
  return precond_of(context, &options, A);
}

/* Returns the factors as the sweeps have left them, zeros where paric has none; the caller frees them. */
static double *factors_of(const karst_precond *P)
{
  const karst_sweeps *s = P->data;
  const karst_matrix *F = s->factors.F;
  const int64_t entries = karst_entries(F), bb = (int64_t)F->block_size * F->block_size;
  double *value = tap_memory(entries, sizeof *value);
  tap_need(P->context,
           P->context->backend->download(P->context, value, s->factors.value, (size_t)entries * sizeof *value),
           "download");
  for (karst_index i = 0; i < F->block_rows && s->factors.symmetric; i++)
    for (karst_index k = F->row_start[i]; k < F->row_start[i + 1]; k++)
      if (F->column[k] > i) memset(value + k * bb, 0, (size_t)bb * sizeof *value);
  return value;
}

static int64_t entries_of(const karst_precond *P) { return karst_entries(((const karst_sweeps *)P->data)->factors.F); }

static int64_t plan_of(const karst_precond *P) { return ((const karst_sweeps *)P->data)->analysis->sweeps.plan_memory; }

/* Whether the plan has, for each block of the factors, four indices, 16 products of two and a place in a column at
 * most. */
static bool is_bounded(const karst_precond *P)
{
  const karst_matrix *F = ((const karst_sweeps *)P->data)->factors.F;
  return plan_of(P) <= (int64_t)sizeof(karst_index) * ((4 + 2 * 16 + 2) * karst_matrix_blocks(F) + F->block_rows + 4);
}

static bool agrees(const karst_precond *P, const karst_precond *reference, const char *norm)
{
  const double expected = tap_precond_number(reference, norm);
  return fabs(tap_precond_number(P, norm) - expected) <= 1e-11 * tap_precond_number(reference, "sweep_residual_before");
}

/* Two sweeps, on the device and on the CPU. */
static void compare(karst_context *context, const struct shape *shape, const struct pattern *pattern, int b,
                    const char *precond, int level)
{
  double *value = make_values(pattern, b, strcmp(precond, "paric") == 0);
  karst_matrix *A = pattern_matrix(context, pattern, b, value), *copy = pattern_matrix(cpu, pattern, b, value);
  karst_precond *P = factor(context, A, precond, level, 2, "synchronous");
  karst_precond *again = factor(context, A, precond, level, 2, "synchronous");
  karst_precond *reference = factor(cpu, copy, precond, level, 2, "synchronous");
  double *made = factors_of(P), *second = factors_of(again), *expected = factors_of(reference);
  const double error = relative_difference(entries_of(P), made, expected), blocks = (double)entries_of(P) / (b * b);
  tap_ok(error < 1e-13 * b && agrees(P, reference, "sweep_residual_before") &&
             agrees(P, reference, "sweep_residual_after") &&
             memcmp(made, second, (size_t)entries_of(P) * sizeof *made) == 0 && is_bounded(P),
         "%s, %s, b = %d, level %d: as on the CPU (%.1e), the same bits again, a plan of %.0f bytes a block",
         shape->what, precond, b, level, error, (double)plan_of(P) / blocks);
  karst_precond_destroy(P);
  karst_precond_destroy(again);
  karst_precond_destroy(reference);
  karst_matrix_destroy(A);
  karst_matrix_destroy(copy);
  free(value);
  free(made);
  free(second);
  free(expected);
}

static void sweep_for_sweep(karst_context *context)
{
  static const struct shape shapes[] = {
      {"an arrow", 310, 309, 1, 1, 1, 0, 1, true, {9, 0}},
      {"an arrow the other way", 56, 0, 1, 1, 1, 0, 0, true, {9, 9}},
      {"wells in a band", 70, 5, 21, 4, 0.8, 0, 2, true, {9, 4}},
      {"long last rows, half empty", 330, 320, 1, 10, 0.9, 0, 0, false, {9, 0}},
      {"long rows among others", 80, 4, 9, 9, 0.7, 0.05, 1, false, {4, 3}},
      {"a nearly full matrix", 60, 0, 1, 60, 0.95, 0, 0, false, {4, 4}},
  };
  for (size_t c = 0; c < sizeof shapes / sizeof *shapes; c++) {
    struct pattern pattern = make_pattern(&shapes[c]);
    for (int s = 0; s < SIZES; s++)
      for (int level = 0; level < 2; level++) {
        if (sizes[s] > shapes[c].largest[level]) continue;
        compare(context, &shapes[c], &pattern, sizes[s], "parilu", level);
        if (shapes[c].symmetric) compare(context, &shapes[c], &pattern, sizes[s], "paric", level);
      }
    pattern_free(&pattern);
  }
}

/* depth: so many sweeps are enough. */
static void exact(karst_context *context, const struct shape *shape, const char *precond, int b, int level, int depth)
{
  struct pattern pattern = make_pattern(shape);
  double *value = make_values(&pattern, b, strcmp(precond, "paric") == 0);
  karst_matrix *A = pattern_matrix(context, &pattern, b, value);
  const int64_t n = karst_matrix_rows(A);
  karst_precond *reference = factor(context, A, "iluk", level, 0, "synchronous");
  double *expected = applied_to_random(reference, 7, NULL);
  for (int m = 0; m < 2; m++) {
    const char *mode = m ? "asynchronous" : "synchronous";
    karst_precond *P = factor(context, A, precond, level, depth, mode);
    double *z = applied_to_random(P, 7, NULL);
    const double error = relative_difference(n, z, expected);
    tap_ok(error < 1e-12 && tap_precond_number(P, "fallbacks") == 0 && is_bounded(P),
           "%s, %s, b = %d, level %d: as iluk after %d %s sweeps (%.1e)", shape->what, precond, b, level, depth, mode,
           error);
    free(z);
    karst_precond_destroy(P);
  }
  karst_precond_destroy(reference);
  karst_matrix_destroy(A);
  free(value);
  free(expected);
  pattern_free(&pattern);
}

/* The two last rows need three sweeps: for the pivot of the one, the block that it divides, and the pivot of the other.
 * A full matrix needs two a row. */
static void exact_limits(karst_context *context)
{
  const struct shape arrow = {"an arrow of two rows", 300, 298, 1, 2, 1, 0, 0, true, {0, 0}};
  const struct shape full = {"an arrow the other way", 56, 0, 1, 1, 1, 0, 0, true, {0, 0}};
  const char *const preconds[] = {"parilu", "paric"};
  for (int s = 0; s < SIZES; s++)
    for (int p = 0; p < 2; p++) {
      exact(context, &arrow, preconds[p], sizes[s], 0, 3);
      if (sizes[s] == 1) exact(context, &full, preconds[p], sizes[s], 1, (int)(2 * full.n));
    }
}

/* A full matrix has too many products for lists, but with rows without neighbours behind it has all of them. The
 * factors have the same bits. */
static void as_listed(karst_context *context, const char *precond, int b)
{
  enum { FULL = 60, OTHERS = 1200 };
  const bool symmetric = strcmp(precond, "paric") == 0;
  const struct shape shape = {"", FULL, 0, 1, FULL, 1, 0, 0, true, {0, 0}};
  const struct shape longer = {"", FULL + OTHERS, 0, 1, 0, 0, 0, 0, true, {0, 0}};
  const int64_t bb = (int64_t)b * b, entries = bb * FULL * FULL;
  const int64_t products = (int64_t)(FULL - 1) * FULL * (2 * FULL - 1) / (symmetric ? 12 : 6);
  struct pattern full = make_pattern(&shape), both = make_pattern(&longer);
  for (karst_index i = 0, k = 0; i < both.n; i++) {
    for (karst_index j = i < FULL ? 0 : i; j < (i < FULL ? FULL : i + 1); j++) both.column[k++] = j;
    both.start[i + 1] = k;
  }
  double *value = make_values(&both, b, symmetric);
  karst_matrix *A = pattern_matrix(context, &full, b, value), *B = pattern_matrix(context, &both, b, value);
  karst_precond *P = factor(context, A, precond, 0, 2, "synchronous");
  karst_precond *Q = factor(context, B, precond, 0, 2, "synchronous");
  double *searched = factors_of(P), *listed = factors_of(Q);
  const int64_t lists = products * 2 * (int64_t)sizeof(karst_index);
  tap_ok(memcmp(searched, listed, (size_t)entries * sizeof *searched) == 0 && is_bounded(P) && is_bounded(Q),
         "%s, b = %d: the bits are those with lists", precond, b);
  tap_ok(plan_of(P) < lists && (plan_of(Q) >= lists || plan_of(Q) == 0), "%s, b = %d: only the other plan has lists",
         precond, b);
  karst_precond_destroy(P);
  karst_precond_destroy(Q);
  karst_matrix_destroy(A);
  karst_matrix_destroy(B);
  free(value);
  free(searched);
  free(listed);
  pattern_free(&full);
  pattern_free(&both);
}

static void bits(karst_context *context)
{
  for (int s = 0; s < SIZES; s++) {
    as_listed(context, "parilu", sizes[s]);
    as_listed(context, "paric", sizes[s]);
  }
}

int main(void)
{
  cpu = tap_context();
  tap_each_device(sweep_for_sweep, "sweep for sweep");
  tap_each_device(exact_limits, "exact limits");
  tap_each_device(bits, "bits");
  karst_context_destroy(cpu);
  return tap_done();
}
