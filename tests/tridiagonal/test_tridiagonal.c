/* Every method solves random systems of any block size and length, in both layouts and precisions, with a backward error
 * of a few rounding errors; short systems agree with a dense solve. Blocks need row exchanges, and a_0 and c_(n-1) are
 * NaNs, which must not be read. */
#include "tests/support/tridiagonal.h"

/* In rounding errors. An equation has 3 m products, and each step of cyclic reduction adds errors to those of the last.
 * The largest of 6000 batches were 1.6 for m = 1, 3.8 for 8 and 5.7 for 17, all of the cyclic reductions. A GPU exchanges
 * rows of blocks of up to 8 only if a multiplier is larger than 4, so that its errors may be several times as large. */
static double bound(int m) { return 2.0 * m + 16; }

static double solve_one(karst_context *context, karst_tridiagonal_shape shape)
{
  struct tridiagonal t = tridiagonal_random(shape, 1);
  struct tridiagonal_arrays arrays = tridiagonal_arrays(&t);
  karst_tridiagonal *batch = tridiagonal_create(context, &t);
  tridiagonal_solve(context, batch, &arrays);
  double worst = tridiagonal_worst(&t, arrays.solution);
  if (karst_tridiagonal_outcome(batch, NULL, NULL) != KARST_SOUND) worst = INFINITY;
  if (worst > bound(shape.block_size)) tap_note("%s: backward error %.3g", tridiagonal_text(&shape), worst);
  karst_tridiagonal_destroy(batch);
  tridiagonal_arrays_free(&arrays);
  tridiagonal_free(&t);
  return worst;
}

static void solve_lengths(karst_context *context, karst_tridiagonal_shape shape)
{
  static const karst_index lengths[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 129, 300};
  const int m = shape.block_size, count = m > 8 ? 10 : m > 5 ? 15 : 19;
  double worst = 0;
  for (int i = 0; i < count; i++) {
    shape.rows = lengths[i];
    shape.systems = 1 + tap_random_index(m > 5 ? 6 : 9);
    worst = fmax(worst, solve_one(context, shape));
  }
  tap_ok(worst <= bound(m), "m = %d, %s, %s, %s: backward error %.3g of %.3g", m, shape.single ? "float" : "double",
         shape.layout == KARST_TRIDIAGONAL_AOS ? "AOS" : "SOA", tridiagonal_names[shape.method], worst, bound(m));
}

/* Systems in large or small units of their equations and unknowns, whose products with one another would overflow. */
static void solve_units(karst_context *context, int m, int single, double equations, double unknowns)
{
  const karst_tridiagonal_shape shape = {.systems = 5, .rows = 40, .block_size = m, .single = single};
  struct tridiagonal t = tridiagonal_random(shape, 1);
  for (int64_t i = 0; i < tridiagonal_blocks(&t); i++) {
    t.lower[i] = tridiagonal_round(&t, t.lower[i] * equations);
    t.diagonal[i] = tridiagonal_round(&t, t.diagonal[i] * equations);
    t.upper[i] = tridiagonal_round(&t, t.upper[i] * equations);
  }
  for (int64_t i = 0; i < tridiagonal_vectors(&t); i++)
    t.right[i] = tridiagonal_round(&t, t.right[i] * equations * unknowns);
  struct tridiagonal_arrays arrays = tridiagonal_arrays(&t);
  karst_tridiagonal *batch = tridiagonal_create(context, &t);
  tridiagonal_solve(context, batch, &arrays);
  const double worst = tridiagonal_worst(&t, arrays.solution);
  tap_ok(karst_tridiagonal_outcome(batch, NULL, NULL) == KARST_SOUND && worst <= bound(m),
         "m = %d, %s, equations times %g, unknowns times %g: backward error %.3g", m, single ? "float" : "double",
         equations, unknowns, worst);
  karst_tridiagonal_destroy(batch);
  tridiagonal_arrays_free(&arrays);
  tridiagonal_free(&t);
}

/* Compares with Gaussian elimination of the whole system. */
static void compare_dense(karst_context *context, int m, karst_tridiagonal_method method)
{
  const karst_tridiagonal_shape shape = {.systems = 1, .rows = 11, .block_size = m, .method = method};
  struct tridiagonal t = tridiagonal_random(shape, 1);
  struct tridiagonal_arrays arrays = tridiagonal_arrays(&t);
  karst_tridiagonal *batch = tridiagonal_create(context, &t);
  const int64_t n = shape.rows, size = n * m, mm = (int64_t)m * m;
  double *dense = tap_memory(size * size, sizeof *dense), *x = tap_memory(size, sizeof *x), difference = 0;
  for (int64_t k = 0; k < n; k++)
    for (int c = 0; c < m; c++)
      for (int r = 0; r < m; r++) {
        const int64_t i = k * mm + c * m + r;
        dense[(k * m + c) * size + k * m + r] = t.diagonal[i];
        if (k > 0) dense[((k - 1) * m + c) * size + k * m + r] = t.lower[i];
        if (k + 1 < n) dense[((k + 1) * m + c) * size + k * m + r] = t.upper[i];
      }
  for (int64_t i = 0; i < size; i++) x[i] = t.right[i];
  bool regular = tap_dense_solve(size, dense, x);
  tridiagonal_solve(context, batch, &arrays);
  for (int64_t i = 0; i < size; i++) difference = fmax(difference, fabs(x[i] - ((double *)arrays.solution)[i]));
  /* The matrix is dominant: its condition number is below 10, and the solution below 1. */
  tap_ok(regular && difference < 1e-12, "m = %d, %s: differs from a dense solve by %.2g", m, tridiagonal_names[method],
         difference);
  free(dense);
  free(x);
  karst_tridiagonal_destroy(batch);
  tridiagonal_arrays_free(&arrays);
  tridiagonal_free(&t);
}

static void test(karst_context *context)
{
  static const int sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 16, 17};
  if (!tridiagonal_is_available(context, "solve")) return;
  for (int method = KARST_TRIDIAGONAL_AUTO; method <= KARST_TRIDIAGONAL_SPLIT; method++)
    for (int i = 0; i < 10; i++) {
      for (int variant = 0; variant < 4; variant++)
        solve_lengths(context, (karst_tridiagonal_shape){.block_size = sizes[i],
                                                         .single = variant & 1,
                                                         .layout = (karst_tridiagonal_layout)(variant >> 1),
                                                         .method = (karst_tridiagonal_method)method});
      compare_dense(context, sizes[i], (karst_tridiagonal_method)method);
    }
  for (int i = 0; i < 10; i++) {
    solve_units(context, sizes[i], 1, 1e16, 1e7);
    solve_units(context, sizes[i], 1, 1e-18, 1e-6);
    solve_units(context, sizes[i], 0, 1e150, 1e20);
    solve_units(context, sizes[i], 0, 1e-150, 1e-20);
  }
}

int main(void)
{
  tap_each_device(test, "tridiagonal systems");
  return tap_done();
}
