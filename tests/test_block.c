/* The inverse of a dense block times the block is the identity to rounding, whatever the units of its rows, and of its
 * columns where no entry is close to 0 in its column's unit. A block that is singular in its own units is reported as
 * singular, and a NaN is not. */
#include "dense.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

/* Returns the largest entry of |A X - I| relative to the size of the products in its sum. */
static double inverse_error(int b, const double *a, const double *x)
{
  double worst = 0;
  for (int i = 0; i < b; i++)
    for (int j = 0; j < b; j++) {
      double sum = 0, size = 0;
      for (int k = 0; k < b; k++) {
        sum += a[k * b + i] * x[j * b + k];
        size += fabs(a[k * b + i] * x[j * b + k]);
      }
      worst = fmax(worst, fabs(sum - (i == j)) / fmax(size, 1));
    }
  return worst;
}

static karst_reason invert(int b, double *block)
{
  double *work = malloc(2 * (size_t)b * sizeof *work);
  int *pivot = malloc((size_t)b * sizeof *pivot);
  karst_reason reason = karst_block_invert(b, block, work, pivot);
  free(work);
  free(pivot);
  return reason;
}

/* Rows are scaled before pivots are compared and columns are not. Where one column outweighs all others, its entry is
 * the largest of each row, so that each is 1 after scaling and the pivot is any of them, however small it was. So none
 * is drawn below this where columns differ in units. */
static const double least_entry = 0.01;

static double random_entry(double least)
{
  const double entry = tap_random();
  return copysign(fmax(fabs(entry), least), entry);
}

/* rows and columns: the orders of magnitude by which their units differ. */
static void check_random(int b, double rows, double columns)
{
  double *a = malloc((size_t)b * (size_t)b * sizeof *a), *x = malloc((size_t)b * (size_t)b * sizeof *x), worst = 0;
  const double least = columns > 0 ? least_entry : 0;
  bool sound = true;
  for (int trial = 0; trial < 20; trial++) {
    double row_unit[64], column_unit[64];
    for (int i = 0; i < b; i++) {
      row_unit[i] = pow(10, rows * tap_random());
      column_unit[i] = pow(10, columns * tap_random());
    }
    for (int c = 0; c < b; c++)
      for (int r = 0; r < b; r++)
        a[c * b + r] = (random_entry(least) + (r == (c + 1) % b ? 3 * b : 0)) * row_unit[r] * column_unit[c];
    memcpy(x, a, (size_t)b * (size_t)b * sizeof *a);
    sound = sound && invert(b, x) == KARST_SOUND;
    for (int c = 0; c < b; c++) /* scales back to units of 1 before the error is computed */
      for (int r = 0; r < b; r++) {
        a[c * b + r] /= row_unit[r] * column_unit[c];
        x[c * b + r] *= column_unit[r] * row_unit[c];
      }
    worst = fmax(worst, inverse_error(b, a, x));
  }
  tap_ok(sound && worst < 1e-11 * b, "b = %d, rows over %g orders, columns over %g (%.1e)", b, 2 * rows, 2 * columns,
         worst);
  free(a);
  free(x);
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

int main(void)
{
  const int sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17, 32};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    check_random(sizes[i], 0, 0);
    check_random(sizes[i], 20, 0);
    check_random(sizes[i], 0, 20);
    check_random(sizes[i], 10, 10);
    if (sizes[i] > 1) check_singular(sizes[i]);
  }
  double tiny[4] = {1e-30, 0, 0, 1e-30}, zero[1] = {0}, small[1] = {1e-300}, permuted[4] = {0, 1, 1, 0};
  double nan[4] = {1, NAN, 0, 1}, infinite[4] = {1, INFINITY, 0, 1}, zero_row[4] = {1, 0, 1, 0};
  tap_ok(invert(2, tiny) == KARST_SOUND && fabs(tiny[0] - 1e30) < 1e16, "a determinant of 1e-60 is not singular");
  tap_ok(invert(1, zero) == KARST_SINGULAR_BLOCK, "0 is singular");
  tap_ok(invert(1, small) == KARST_SOUND, "1e-300 is not");
  tap_ok(invert(2, permuted) == KARST_SOUND && permuted[0] == 0 && permuted[1] == 1, "a zero diagonal is pivoted");
  tap_ok(invert(2, nan) == KARST_NOT_FINITE, "a NaN is reported as such");
  tap_ok(invert(2, infinite) == KARST_NOT_FINITE, "an infinity is reported as such");
  tap_ok(invert(2, zero_row) == KARST_SINGULAR_BLOCK, "a zero row is singular");
  return tap_done();
}
