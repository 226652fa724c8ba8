/* The levels of multigrid are products of sparse matrices with the values that dense ones have, the same bits for any
 * number of threads, and rows with couplings to all others cost no more than their entries. */
#include "config.h"

#include "tests/support/amg_levels.h"
#include "tests/support/failing_allocator.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Returns the largest |A B - C| over the largest |C| for dense arrays: A [n*m], B [m*k]. */
static double product_error(karst_index n, karst_index m, karst_index k, const double *A, const double *B,
                            const double *C)
{
  double error = 0, largest = 0;
  for (karst_index i = 0; i < n; i++)
    for (karst_index j = 0; j < k; j++) {
      double sum = 0;
      for (karst_index q = 0; q < m; q++) sum += A[i * m + q] * B[q * k + j];
      error = fmax(error, fabs(sum - C[i * k + j]));
      largest = fmax(largest, fabs(C[i * k + j]));
    }
  return largest == 0 ? error : error / largest;
}

static void level_of_system(karst_context *context, int system, bool pairs, bool single)
{
  struct amg_test t;
  karst_matrix *A = amg_system(context, system);
  tap_need(context, amg_start(A, 0.25, 4, single, &t), "start");
  t.pairs = pairs;
  tap_need(context, amg_interpolate(&t), "P");
  tap_need(context, amg_add_level(&t), "level");
  const karst_amg_level *level = &t.amg.level[0];
  const karst_index n = level->A.rows, m = level->P.columns;
  double *fine = amg_dense(&t, &level->A), *P = amg_dense(&t, &level->P), *R = amg_dense(&t, &level->R);
  double *coarse = amg_dense(&t, &level[1].A), *AP = tap_memory((int64_t)n * m, sizeof *AP);
  bool transposed = level->R.rows == m && level->R.columns == n;
  for (karst_index i = 0; i < n; i++)
    for (karst_index j = 0; j < m; j++) {
      transposed = transposed && P[i * m + j] == R[j * n + i];
      for (karst_index k = 0; k < n; k++) AP[i * m + j] += fine[i * n + k] * P[k * m + j];
    }
  const double error = product_error(m, n, m, R, AP, coarse);
  tap_ok(transposed, "system %d: R is the transpose of P", system);
  /* Sums of at most some hundred products. */
  tap_ok(error <= (single ? 1e-5 : 1e-13), "system %d, %s, %s: the next level is R A P (%.1e)", system,
         pairs ? "pairs" : "PMIS", single ? "float" : "double", error);
  free(fine);
  free(P);
  free(R);
  free(coarse);
  free(AP);
  amg_end(&t);
  karst_matrix_destroy(A);
}

/* A matrix with a full first row and a diagonal; with a full first column and a chain too if coupled. */
static karst_matrix *arrow(karst_context *context, karst_index n, bool coupled)
{
  const int64_t most = (int64_t)n * 5;
  karst_index *start = tap_memory((int64_t)n + 1, sizeof *start), *column = tap_memory(most, sizeof *column), k = 0;
  double *value = tap_memory(most, sizeof *value);
  for (karst_index i = 0; i < n; i++) {
    for (karst_index j = 0; j < n; j = j == 0 && i > 2 ? i - 1 : j + 1) {
      const bool near = j == 0 || (j >= i - 1 && j <= i + 1);
      if (i > 0 && j > i + 1) break;
      if (i > 0 && i != j && !(coupled && near)) continue;
      column[k] = j;
      value[k++] = i == j ? (i == 0 ? 1.5 * (double)n : 4.5) : -1 - 0.25 / (double)(1 + i + j);
    }
    start[i + 1] = k;
  }
  karst_matrix *A = matrix_of(context, n, 1, start, column, value);
  free(start);
  free(column);
  free(value);
  return A;
}

/* The product of an arrow with itself has the width of slots that its longest row needs: row 0 is a_00 a_0j + a_0j
 * a_jj. */
static void test_slots(karst_context *context, karst_index n, int size)
{
  struct amg_test t;
  karst_amg_product product = {0};
  karst_matrix *A = arrow(context, n, false);
  double error = 0;
  tap_need(context, amg_start(A, 0.25, 4, false, &t), "start");
  const karst_amg_matrix *level = &t.amg.level[0].A;
  tap_need(context, t.kernels->plan_product(context, &t.amg, level, level, &product), "plan");
  t.kernels->multiply(context, &t.amg, level, level, &product);
  struct amg_host a = amg_fetch(&t, level), c = amg_fetch(&t, &product.C);
  for (karst_index j = 0; j < n; j++) {
    const double entry = j == 0 ? a.value[0] * a.value[0] : a.value[0] * a.value[j] + a.value[j] * a.value[n + j - 1];
    error = fmax(error, fabs(entry - c.value[j]) / fabs(entry));
  }
  tap_ok(product.slot_size == size && product.C.longest == n, "a row of %ld entries has slots of %d bytes", (long)n,
         size);
  tap_ok(error <= 1e-15, "and is right (%.1e)", error);
  amg_host_free(&a);
  amg_host_free(&c);
  t.kernels->release_product(context, &product);
  amg_end(&t);
  karst_matrix_destroy(A);
}

/* A row and a column of 20,000 entries. Squared they would be 4e8 products. */
static void test_long_row(karst_context *context)
{
  enum { N = 20000 };
  struct amg_test t;
  karst_amg_splitting splitting = {0};
  karst_matrix *A = arrow(context, N, true);
  int64_t products = 0;
  tap_need(context, amg_start(A, 0.05, 4, true, &t), "start");
  tap_need(context, t.kernels->split(context, &t.amg, &t.amg.level[0].A, &t.rule, &splitting), "split");
  karst_index *place = amg_places(&t, N, &splitting);
  tap_ok(place[0] == 0, "a row with couplings to all others stays on the next level");
  tap_need(context, amg_coarsen(&t, 100), "levels");
  for (int l = 0; l + 1 < t.amg.levels; l++) products += t.amg.level[l].AP.products + t.amg.level[l].RAP.products;
  tap_ok(t.amg.levels > 1 && products <= 100 * (int64_t)N, "and the products are %lld, in %d levels",
         (long long)products, t.amg.levels);
  free(place);
  t.kernels->release_splitting(context, &splitting);
  amg_end(&t);
  karst_matrix_destroy(A);
}

static void run(karst_context *context)
{
  if (tap_lacks_kernels(context->backend->amg, "amg", "levels")) return;
  for (int system = 0; system < AMG_SYSTEMS; system++)
    for (int variant = 0; variant < 4; variant++) level_of_system(context, system, variant / 2, variant % 2);
  test_slots(context, 256, 1);
  test_slots(context, 257, 2);
  test_slots(context, 65537, 4);
  test_long_row(context);
}

/* One application of a hierarchy on a number of threads. z: [n] */
static void apply_on(const char *spec, int threads, bool pairs, bool single, double *z)
{
  static const karst_amg_step steps[] = {
      {KARST_AMG_FIRST, 0, 0, 1, 1.5, 0},    {KARST_AMG_RESIDUAL, 0, 1, 2, 1, 0}, {KARST_AMG_RESTRICT, 0, 2, 0, 1, 0},
      {KARST_AMG_FIRST, 1, 0, 1, 1.5, 0},    {KARST_AMG_RESIDUAL, 1, 1, 2, 1, 0}, {KARST_AMG_RESTRICT, 1, 2, 0, 1, 0},
      {KARST_AMG_MOMENTUM, 2, 0, 1, 1.5, 0}, {KARST_AMG_PROLONG, 1, 1, 1, 1, 0},  {KARST_AMG_SWEEP, 1, 1, 2, 1.5, 0},
      {KARST_AMG_PROLONG, 0, 2, 1, 1, 0},    {KARST_AMG_SWEEP, 0, 1, 2, 1.5, 0}};
  struct amg_test t;
  karst_context *context = tap_context();
  tap_need(context, tap_set_threads(context, threads), "threads");
  karst_matrix *A = matrix_from(context, spec, 0);
  const karst_index n = karst_matrix_block_rows(A);
  double *r = tap_memory(n, sizeof *r);
  for (karst_index i = 0; i < n; i++) r[i] = sin((double)i);
  tap_need(context, amg_start(A, 0.25, 4, single, &t), "start");
  t.pairs = pairs;
  for (int l = 0; l < 2; l++) {
    tap_need(context, amg_interpolate(&t), "P");
    tap_need(context, amg_add_level(&t), "level");
  }
  tap_need(context, amg_prepare(&t, sizeof steps / sizeof *steps, steps, 2), "prepare");
  amg_apply(&t, n, r, z);
  free(r);
  amg_end(&t);
  karst_matrix_destroy(A);
  karst_context_destroy(context);
}

static void same_bits(const char *spec, karst_index n)
{
#ifndef HAVE_OPENMP
  tap_skip("built without OpenMP", "%s with %lld rows: the same bits on one thread and on two", spec, (long long)n);
  return;
#endif
  double *one = tap_memory(n, sizeof *one), *two = tap_memory(n, sizeof *two);
  for (int variant = 0; variant < 4; variant++) {
    apply_on(spec, 1, variant / 2, variant % 2, one);
    apply_on(spec, 2, variant / 2, variant % 2, two);
    tap_ok(one[0] != 0 && memcmp(one, two, (size_t)n * sizeof *one) == 0,
           "%s, %s, %s: the same bits on one thread and on two", spec, variant / 2 ? "pairs" : "PMIS",
           variant % 2 ? "float" : "double");
  }
  free(one);
  free(two);
}

/* Makes, applies and destroys a hierarchy. user: whether of pairs */
static karst_status build(karst_context *context, void *user)
{
  static const karst_amg_step steps[] = {{KARST_AMG_MOMENTUM, 0, 0, 1, 1, 0}};
  struct amg_test t = {.kernels = context->backend->amg};
  karst_matrix *A = NULL;
  karst_status status = karst_gallery_create(context, "poisson2d:20x20", 0, &A, NULL);
  if (!status) status = amg_start(A, 0.25, 4, true, &t);
  t.pairs = *(const bool *)user;
  if (!status) status = amg_coarsen(&t, 20);
  if (!status) status = amg_prepare(&t, 1, steps, 1);
  t.kernels->destroy(context, &t.amg);
  karst_matrix_destroy(A);
  return status;
}

int main(void)
{
  bool pairs[] = {false, true};
  tap_each_device(run, "levels");
  same_bits("poisson3d:24x20x16", 24 * 20 * 16);
  fail_each_allocation(build, &pairs[0], "PMIS");
  fail_each_allocation(build, &pairs[1], "pairs");
  return tap_done();
}
