/* test_outcomes.c - a batch names the first system that failed and the row; the other systems are solved. A block is
 * singular as it is, or by cancellation in the elimination, whatever the units of the equations. An infinite number or a
 * NaN in a block is told from a singular one, and in a right-hand side it stays in its system. */
#include "tests/support/tridiagonal.h"

/* Systems that are dominant except for what a test spoils. Sizes that fill no vector register and no warp. */
static karst_tridiagonal_shape shape_of(int m, karst_index n, int variant, karst_tridiagonal_method method)
{
  return (karst_tridiagonal_shape){.systems = m > 5 ? 7 : 11,
                                   .rows = n,
                                   .block_size = m,
                                   .single = variant & 1,
                                   .layout = (karst_tridiagonal_layout)(variant >> 1),
                                   .method = method};
}

/* What a batch must report, and which systems may have any solution. row: -1 if any row of the system may be named. */
struct expected {
  karst_reason reason;
  int64_t system;
  int64_t row;
  int64_t other; /* a second system that fails, or -1 */
};

static bool others_are_solved(const struct tridiagonal *t, const void *solution, const struct expected *expected)
{
  for (int64_t s = 0; s < t->shape.systems; s++)
    if (s != expected->system && s != expected->other && !(tridiagonal_error(t, solution, 0, s) < 100)) return false;
  return true;
}

static bool reports(karst_tridiagonal *batch, const struct expected *expected, const struct tridiagonal *t)
{
  int64_t system = -7;
  karst_index row = -7;
  const karst_reason reason = karst_tridiagonal_outcome(batch, &system, &row);
  const bool right =
      reason == expected->reason && system == expected->system &&
      (expected->row < 0 ? row >= (expected->system < 0 ? -1 : 0) && row < t->shape.rows : row == expected->row);
  if (!right)
    tap_note("%s: %s, system %lld, row %ld, not %s, system %lld, row %lld", tridiagonal_text(&t->shape),
             karst_reason_text(reason), (long long)system, (long)row, karst_reason_text(expected->reason),
             (long long)expected->system, (long long)expected->row);
  return right;
}

/* Solves, and factors and solves. */
static bool check(karst_context *context, const struct tridiagonal *t, struct expected expected)
{
  struct tridiagonal_arrays arrays = tridiagonal_arrays(t);
  karst_tridiagonal *batch = tridiagonal_create(context, t);
  tridiagonal_solve(context, batch, &arrays);
  bool right = reports(batch, &expected, t) && others_are_solved(t, arrays.solution, &expected);
  tridiagonal_factor(context, batch, &arrays);
  tap_need(context, karst_tridiagonal_solve_factored(batch, 1, arrays.right, arrays.solution), "solve");
  right = reports(batch, &expected, t) && others_are_solved(t, arrays.solution, &expected) && right;
  karst_tridiagonal_destroy(batch);
  tridiagonal_arrays_free(&arrays);
  return right;
}

/* A solve of other systems does not make factors sound, nor does their failure outlast it. */
static void between(karst_context *context)
{
  if (!tridiagonal_is_available(context, "outcomes of factors")) return;
  for (int method = KARST_TRIDIAGONAL_THOMAS; method <= KARST_TRIDIAGONAL_SPLIT; method++)
    for (int m = 1; m < 10; m += 4) {
      const karst_tridiagonal_shape shape = {3, 9, m, 0, KARST_TRIDIAGONAL_AOS, (karst_tridiagonal_method)method};
      struct tridiagonal bad = tridiagonal_random(shape, 1), good = tridiagonal_random(shape, 1);
      for (int i = 0; i < 9 * m * m; i++) bad.diagonal[9 * m * m + i] = bad.lower[9 * m * m + i] = 0;
      for (int i = 0; i < 9 * m * m; i++) bad.upper[9 * m * m + i] = 0;
      struct tridiagonal_arrays failing = tridiagonal_arrays(&bad), sound = tridiagonal_arrays(&good);
      karst_tridiagonal *batch = tridiagonal_create(context, &bad);
      int64_t system = -1;
      tridiagonal_factor(context, batch, &failing);
      bool right = karst_tridiagonal_outcome(batch, &system, NULL) == KARST_SINGULAR_BLOCK && system == 1;
      tridiagonal_solve(context, batch, &sound);
      right = right && karst_tridiagonal_outcome(batch, &system, NULL) == KARST_SOUND && system == -1;
      tap_need(context, karst_tridiagonal_solve_factored(batch, 1, failing.right, failing.solution), "solve");
      right = right && karst_tridiagonal_outcome(batch, &system, NULL) == KARST_SINGULAR_BLOCK && system == 1;
      tridiagonal_factor(context, batch, &sound);
      tridiagonal_solve(context, batch, &failing);
      right = right && karst_tridiagonal_outcome(batch, &system, NULL) == KARST_SINGULAR_BLOCK;
      tap_need(context, karst_tridiagonal_solve_factored(batch, 1, sound.right, sound.solution), "solve");
      right = right && karst_tridiagonal_outcome(batch, &system, NULL) == KARST_SOUND;
      tap_ok(right, "%s: factors keep their outcome over a solve", tridiagonal_text(&shape));
      karst_tridiagonal_destroy(batch);
      tridiagonal_arrays_free(&failing);
      tridiagonal_arrays_free(&sound);
      tridiagonal_free(&bad);
      tridiagonal_free(&good);
    }
}

static double *block_of(double *values, const struct tridiagonal *t, int64_t system, int64_t row)
{
  return values + (system * t->shape.rows + row) * t->shape.block_size * t->shape.block_size;
}

/* Uncouples a row from the one before it. */
static void uncouple(struct tridiagonal *t, int64_t system, int64_t row)
{
  const int mm = t->shape.block_size * t->shape.block_size;
  for (int i = 0; i < mm && row > 0; i++) block_of(t->lower, t, system, row)[i] = 0;
}

/* Makes a block whose last row repeats its first. Its pivots are far from 0 but for the last, which is 0 in any order of
 * elimination but for few rounding errors: those of random numbers in float may be as large as a pivot. */
static void repeat_row(struct tridiagonal *t, double *block)
{
  const int m = t->shape.block_size;
  for (int c = 0; c < m; c++)
    for (int r = 0; r < m; r++) block[c * m + r] = m == 1 ? 0 : r % (m - 1) == c ? 4 : 1;
}

/* Whether the method meets the rows in their order: on a GPU Thomas may go from both ends of a system. */
static bool goes_by_rows(const karst_context *context, karst_tridiagonal_shape shape)
{
  return shape.method == KARST_TRIDIAGONAL_THOMAS && karst_context_is_host(context);
}

/* A block that is singular as it is, in two systems. All methods invert it as it is if it has no neighbours. */
static bool singular_block(karst_context *context, karst_tridiagonal_shape shape)
{
  struct tridiagonal t = tridiagonal_random(shape, 1);
  const int64_t n = shape.rows, first = tap_random_index(3), second = first + 1 + tap_random_index(3);
  const int64_t row = tap_random_index(n);
  uncouple(&t, first, row);
  if (row + 1 < n) uncouple(&t, first, row + 1);
  repeat_row(&t, block_of(t.diagonal, &t, first, row));
  uncouple(&t, second, 1);
  repeat_row(&t, block_of(t.diagonal, &t, second, 0));
  const bool right = check(context, &t, (struct expected){KARST_SINGULAR_BLOCK, first, row, second});
  tridiagonal_free(&t);
  return right;
}

/* Row k equals row k - 1 in other units, [p q], and no neighbour else touches them, so that the block that is left cancels
 * but for rounding errors. They are few, because both p and q are dominant, whichever is inverted. */
static bool cancellation(karst_context *context, karst_tridiagonal_shape shape)
{
  struct tridiagonal t = tridiagonal_random(shape, 1);
  const int m = shape.block_size, mm = m * m;
  const int64_t n = shape.rows, s = tap_random_index(shape.systems), row = 1 + tap_random_index(n - 1);
  double *above = block_of(t.diagonal, &t, s, row - 1), *right = block_of(t.upper, &t, s, row - 1);
  uncouple(&t, s, row - 1);
  if (row + 1 < n) uncouple(&t, s, row + 1);
  for (int i = 0; i < mm && row + 1 < n; i++) block_of(t.upper, &t, s, row)[i] = 0;
  for (int c = 0; c < m; c++) right[c * m + c] = tridiagonal_round(&t, 2.385 * m);
  for (int c = 0; c < m; c++)
    for (int r = 0; r < m; r++) {
      const double unit = ldexp(1, 5 * r - 40); /* exact, and different for each equation */
      block_of(t.lower, &t, s, row)[c * m + r] = above[c * m + r] * unit;
      block_of(t.diagonal, &t, s, row)[c * m + r] = right[c * m + r] * unit;
    }
  /* Other methods may meet the cancellation in either row. */
  const bool by_rows = goes_by_rows(context, shape);
  const bool named = check(context, &t, (struct expected){KARST_SINGULAR_BLOCK, s, by_rows ? row : -1, -1});
  tridiagonal_free(&t);
  return named;
}

/* A number that is not finite in one of the three blocks of a row. A row that is coupled to one with a NaN has one. */
static bool not_finite(karst_context *context, karst_tridiagonal_shape shape)
{
  bool right = true;
  for (int i = 0; i < 6; i++) {
    struct tridiagonal t = tridiagonal_random(shape, 1);
    double *const arrays[] = {t.lower, t.diagonal, t.upper};
    const int64_t s = tap_random_index(shape.systems), row = 1 + tap_random_index(shape.rows - 2);
    block_of(arrays[i / 2], &t, s, row)[tap_random_index(shape.block_size * shape.block_size)] =
        i % 2 ? NAN : -INFINITY;
    const bool by_rows = goes_by_rows(context, shape);
    const int64_t named = i / 2 == 2 ? row + 1 : row; /* c_k is first seen in d_(k+1) */
    right = check(context, &t, (struct expected){KARST_NOT_FINITE, s, by_rows ? named : -1, -1}) && right;
    tridiagonal_free(&t);
  }
  return right;
}

static bool right_side(karst_context *context, karst_tridiagonal_shape shape)
{
  struct tridiagonal t = tridiagonal_random(shape, 1);
  const int64_t s = tap_random_index(shape.systems);
  t.right[(s * shape.rows + tap_random_index(shape.rows)) * shape.block_size] = tap_random_index(2) ? NAN : INFINITY;
  const bool right = check(context, &t, (struct expected){KARST_SOUND, -1, -1, s});
  tridiagonal_free(&t);
  return right;
}

/* Sound blocks that look singular: zeros on the diagonal, and equations in units 2^60 apart. */
static bool sound(karst_context *context, karst_tridiagonal_shape shape)
{
  struct tridiagonal t = tridiagonal_random(shape, 1);
  const int m = shape.block_size, mm = m * m;
  for (int64_t row = 0; row < tridiagonal_rows(&t); row++)
    for (int r = 0; r < m; r++) {
      const double unit = ldexp(1, (int)((row + r) % 3 - 1) * 30);
      for (int c = 0; c < m; c++) {
        const int64_t at = row * mm + c * m + r;
        const double other = c == r && m > 1 ? 0 : tridiagonal_round(&t, tap_random());
        t.diagonal[at] = unit * (c == (r + 1) % m ? tridiagonal_round(&t, 2.385 * m) : other);
        t.lower[at] *= unit;
        t.upper[at] *= unit;
      }
      t.right[row * m + r] *= unit;
    }
  const bool right = check(context, &t, (struct expected){KARST_SOUND, -1, -1, -1});
  tridiagonal_free(&t);
  return right;
}

static void say(void)
{
  tap_ok(strcmp(karst_reason_text(KARST_SOUND), "sound") == 0, "the outcome of a batch that is solved is called sound");
}

static void test(karst_context *context)
{
  static const int sizes[] = {1, 2, 3, 5, 8, 17};
  static const karst_index lengths[] = {3, 16, 37};
  static bool (*const tests[])(karst_context *, karst_tridiagonal_shape) = {singular_block, cancellation, not_finite,
                                                                            right_side, sound};
  static const char *const texts[] = {"a singular block is named with its system and row",
                                      "a block that cancels is singular", "a number that is not finite is told",
                                      "a right-hand side that is not finite stays in its system",
                                      "blocks with zeros on their diagonals and any units are sound"};
  if (!tridiagonal_is_available(context, "outcomes")) return;
  for (int method = KARST_TRIDIAGONAL_THOMAS; method <= KARST_TRIDIAGONAL_SPLIT; method++)
    for (int i = 0; i < 5; i++) {
      bool right = true;
      for (int j = 0; j < 6 * 3 * 4; j++) {
        if (sizes[j / 12] > 3 && j % 4 != (j / 4 + i) % 4) continue; /* one variant of each length, to save time */
        right =
            tests[i](context, shape_of(sizes[j / 12], lengths[j / 4 % 3], j % 4, (karst_tridiagonal_method)method)) &&
            right;
      }
      tap_ok(right, "%s: %s", tridiagonal_names[method], texts[i]);
    }
}

int main(void)
{
  say();
  tap_each_device(between, "outcomes of factors");
  tap_each_device(test, "outcomes of batches");
  return tap_done();
}
