/* The inverse of a dense block agrees with 113-bit arithmetic to rounding, for any units of its rows and columns, and
 * with entries that are 0, nearly 0 or tiny. A block that is singular in its own units is reported as singular; one
 * with a NaN is not. */
#include "lib/backend/dense.h"
#include "tests/support/opm_block.h"
#include "tests/support/tap.h"

#include <stdlib.h>
#include <string.h>

enum { LARGEST = 32 };

__extension__ typedef __float128 wide;

static wide size_of(wide x) { return x < 0 ? -x : x; }

/* Makes x = a^-1, by Gauss-Jordan elimination with partial pivoting; a is destroyed. */
static void invert_wide(int b, wide *a, wide *x)
{
  for (int i = 0; i < b * b; i++) x[i] = i % (b + 1) == 0;
  for (int c = 0; c < b; c++) {
    int best = c;
    for (int r = c; r < b; r++)
      if (size_of(a[c * b + r]) > size_of(a[c * b + best])) best = r;
    for (int j = 0; j < b; j++) {
      const wide entry = a[j * b + c], other = x[j * b + c];
      a[j * b + c] = a[j * b + best];
      a[j * b + best] = entry;
      x[j * b + c] = x[j * b + best];
      x[j * b + best] = other;
    }
    const wide pivot = a[c * b + c];
    for (int j = 0; j < b; j++) {
      a[j * b + c] /= pivot;
      x[j * b + c] /= pivot;
    }
    for (int r = 0; r < b; r++) {
      const wide factor = a[c * b + r];
      for (int j = 0; j < b && r != c; j++) {
        a[j * b + r] -= factor * a[j * b + c];
        x[j * b + r] -= factor * x[j * b + c];
      }
    }
  }
}

static karst_reason invert(int b, double *block)
{
  double *work = malloc(2 * (size_t)b * sizeof *work);
  int *pivot = malloc((size_t)b * sizeof *pivot);
  double *copy = malloc((size_t)b * (size_t)b * sizeof *copy);
  memcpy(copy, block, (size_t)b * (size_t)b * sizeof *copy);
  karst_reason reason = karst_block_inverse(b, copy, copy, block, work, pivot);
  free(copy);
  free(work);
  free(pivot);
  return reason;
}

/* Kinds of random blocks: some have entries of 0, some have entries close to 0. */
enum { SOME_ZERO = 1, SOME_SMALL = 2 };

static double random_entry(int kinds)
{
  const double entry = tap_random();
  if (kinds & SOME_ZERO && tap_random() > 0.5) return 0;
  return kinds & SOME_SMALL && tap_random() > 0.8 ? copysign(1e-7 + 9e-7 * fabs(entry), entry) : entry;
}

/* Returns the largest error of an entry of x = a^-1 relative to the largest, both in units of 1. */
static double inverse_error(int b, const double *a, const double *x)
{
  static wide copy[LARGEST * LARGEST], right[LARGEST * LARGEST];
  wide worst = 0, largest = 0;
  for (int i = 0; i < b * b; i++) copy[i] = a[i];
  invert_wide(b, copy, right);
  for (int i = 0; i < b * b; i++) {
    const wide error = size_of(x[i] - right[i]);
    if (error > worst) worst = error;
    if (size_of(right[i]) > largest) largest = size_of(right[i]);
  }
  return (double)(worst / largest);
}

/* rows and columns: the orders of magnitude by which their units differ, which are powers of 2. The dominant entries
 * keep the blocks well conditioned. Where columns differ, an entry close to 0 may still become a pivot and cost digits:
 * about one block in a thousand loses ten or more, and a check allows two. */
static void check_random(int b, int kinds, double rows, double columns)
{
  static double a[LARGEST * LARGEST], x[LARGEST * LARGEST];
  double worst = 0;
  int right = 0;
  enum { TRIALS = 20 };
  for (int trial = 0; trial < TRIALS; trial++) {
    double row_unit[LARGEST], column_unit[LARGEST];
    for (int i = 0; i < b; i++) {
      row_unit[i] = exp2(rint(rows / log10(2) * tap_random()));
      column_unit[i] = exp2(rint(columns / log10(2) * tap_random()));
    }
    for (int c = 0; c < b; c++)
      for (int r = 0; r < b; r++) {
        a[c * b + r] = r == (c + 1) % b ? 3 * b : random_entry(kinds);
        x[c * b + r] = a[c * b + r] * row_unit[r] * column_unit[c];
      }
    const bool sound = invert(b, x) == KARST_SOUND;
    for (int c = 0; c < b; c++)
      for (int r = 0; r < b; r++) x[c * b + r] *= column_unit[r] * row_unit[c];
    const double error = inverse_error(b, a, x);
    right += sound && error < 1e-6;
    worst = fmax(worst, error);
  }
  tap_ok(right >= TRIALS - (columns > 0 ? 2 : 0), "b = %d, rows over %g orders, columns over %g%s%s (%.1e)", b,
         2 * rows, 2 * columns, kinds & SOME_ZERO ? ", some zero" : "", kinds & SOME_SMALL ? ", some small" : "",
         worst);
}

/* Checks a block that is well conditioned except for its last row, a combination of the other rows, in widely different
 * units. */
static void check_singular(int b)
{
  double *a = malloc((size_t)b * (size_t)b * sizeof *a);
  int called = 0;
  for (int trial = 0; trial < 20; trial++) {
    for (int c = 0; c < b; c++) {
      double sum = 0;
      for (int r = 0; r < b - 1; r++) sum += a[c * b + r] = tap_random() + (r == c ? b : 0);
      a[c * b + b - 1] = sum * 1e-9;
    }
    called += invert(b, a) == KARST_SINGULAR_BLOCK;
  }
  tap_ok(called == 20, "b = %d: %d of 20 blocks with a dependent row are called singular", b, called);
  free(a);
}

/* The block of OPM Flow's with dust in place of 7e-36. Pressures come in Pa, and in larger units and smaller ones. */
static void check_dust(double dust)
{
  static const double unit[] = {1, 0x1p17, 0x1p-17, 0x1p60, 0x1p-60};
  enum { UNITS = sizeof unit / sizeof *unit, ORDERS = 6 };
  double block[9], worst = 0;
  int sound = 0;
  for (int v = 0; v < 9; v++) block[v] = v == OPM_DUST ? dust : opm_block[v];
  for (int u = 0; u < UNITS; u++)
    for (int order = 0; order < ORDERS; order++) { /* of the rows */
      const int first = order / 2, second = (first + 1 + order % 2) % 3, row[] = {first, second, 3 - first - second};
      double a[9], x[9];
      for (int v = 0; v < 9; v++) a[v] = block[v / 3 * 3 + row[v % 3]];
      for (int v = 0; v < 9; v++) x[v] = a[v] * (v / 3 == 1 ? unit[u] : 1);
      sound += invert(3, x) == KARST_SOUND;
      for (int v = 0; v < 9; v++) x[v] *= v % 3 == 1 ? unit[u] : 1;
      worst = fmax(worst, inverse_error(3, a, x));
    }
  tap_ok(sound == UNITS * ORDERS && worst < 1e-12, "a block with dust of %g (%.1e)", dust, worst);
}

int main(void)
{
  const int sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17, 32};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    for (int kinds = 0; kinds < 4; kinds++) {
      check_random(sizes[i], kinds, 0, 0);
      check_random(sizes[i], kinds, 20, 0);
      check_random(sizes[i], kinds, 0, 20);
      check_random(sizes[i], kinds, 20, 20);
      check_random(sizes[i], kinds, 100, 0);
    }
    if (sizes[i] > 1) check_singular(sizes[i]);
  }
  const double dust[] = {0, 1e-300, opm_block[OPM_DUST], 1e-20};
  for (size_t d = 0; d < sizeof dust / sizeof *dust; d++) check_dust(dust[d]);
  double tiny[4] = {1e-30, 0, 0, 1e-30}, zero[1] = {0}, small[1] = {1e-300}, permuted[4] = {0, 1, 1, 0};
  double opposite[9] = {-0.707, -0.301, 0.707, -0.379, -0.155, 0.379, 0.04, -0.636, -0.04};
  double nan[4] = {1, NAN, 0, 1}, infinite[4] = {1, INFINITY, 0, 1}, zero_row[4] = {1, 0, 1, 0};
  tap_ok(invert(2, tiny) == KARST_SOUND && fabs(tiny[0] - 1e30) < 1e16, "a determinant of 1e-60 is not singular");
  tap_ok(invert(1, zero) == KARST_SINGULAR_BLOCK, "0 is singular");
  tap_ok(invert(1, small) == KARST_SOUND, "1e-300 is not");
  tap_ok(invert(2, permuted) == KARST_SOUND && permuted[0] == 0 && permuted[1] == 1, "a zero diagonal is pivoted");
  tap_ok(invert(3, opposite) == KARST_SINGULAR_BLOCK, "a row that is the opposite of another is singular");
  tap_ok(invert(2, nan) == KARST_NOT_FINITE, "a NaN is reported as such");
  tap_ok(invert(2, infinite) == KARST_NOT_FINITE, "an infinity is reported as such");
  tap_ok(invert(2, zero_row) == KARST_SINGULAR_BLOCK, "a zero row is singular");
  return tap_done();
}
