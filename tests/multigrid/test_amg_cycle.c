/* The steps of a multigrid cycle are their formulas on dense matrices; the inverse of the last level leaves out what a
 * null space makes undetermined; and values of any size go in and come out. */
#include "tests/support/amg_levels.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

/* A dense copy of a hierarchy of two levels. */
struct dense_cycle {
  karst_index n[2];
  double *A[2], *P, *vector[2][KARST_AMG_VECTORS];
  bool l1;
};

static double weight_of(const struct dense_cycle *c, int l, karst_index i)
{
  const double *row = c->A[l] + (int64_t)i * c->n[l], a = row[i];
  double others = 0;
  for (karst_index j = 0; j < c->n[l] && c->l1; j++) others += j == i ? 0 : fabs(row[j]);
  const double d = a < 0 ? a - others : a + others;
  return d == 0 ? 0 : 1 / d;
}

/* (f - A x)_i of a level */
static double residual_of(const struct dense_cycle *c, int l, karst_index i, const double *x)
{
  double sum = c->vector[l][0][i];
  for (karst_index j = 0; j < c->n[l]; j++) sum -= c->A[l][(int64_t)i * c->n[l] + j] * x[j];
  return sum;
}

static void solve_level(struct dense_cycle *c, int l, double *y)
{
  const karst_index n = c->n[l];
  double *a = tap_memory((int64_t)n * n, sizeof *a);
  for (karst_index i = 0; i < n; i++) {
    y[i] = c->vector[l][0][i];
    for (karst_index j = 0; j < n; j++) a[j * n + i] = c->A[l][i * n + j];
  }
  tap_ok(tap_dense_solve(n, a, y), "the last level is regular");
  free(a);
}

/* Runs a step as the comments of karst_amg_action say. */
static void run_step(struct dense_cycle *c, const karst_amg_step *step)
{
  const int l = step->level;
  const double *x = c->vector[l][step->x];
  double *y = c->vector[l][step->y], *d = c->vector[l][3];
  if (step->action == KARST_AMG_INVERT) solve_level(c, l, y);
  for (karst_index j = 0; j < c->n[1] && step->action == KARST_AMG_RESTRICT; j++) {
    c->vector[1][0][j] = 0;
    for (karst_index i = 0; i < c->n[0]; i++) c->vector[1][0][j] += c->P[i * c->n[1] + j] * x[i];
  }
  for (karst_index i = 0; i < c->n[l]; i++) {
    const double weight = weight_of(c, l, i);
    if (step->action == KARST_AMG_FIRST) y[i] = step->factor * weight * c->vector[l][0][i];
    if (step->action == KARST_AMG_SWEEP) y[i] = x[i] + step->factor * weight * residual_of(c, l, i, x);
    if (step->action == KARST_AMG_RESIDUAL) y[i] = residual_of(c, l, i, x);
    if (step->action == KARST_AMG_MOMENTUM) {
      d[i] = step->x == 0 ? step->factor * weight * c->vector[l][0][i]
                          : step->keep * d[i] + step->factor * weight * residual_of(c, l, i, x);
      y[i] = step->x == 0 ? d[i] : x[i] + d[i];
    }
    for (karst_index j = 0; j < c->n[1] && step->action == KARST_AMG_PROLONG; j++)
      y[i] += step->factor * c->P[i * c->n[1] + j] * c->vector[1][step->x][j];
  }
}

/* Every action, some of them twice. */
static const karst_amg_step steps[] = {{KARST_AMG_FIRST, 0, 0, 1, 0.7, 0},    {KARST_AMG_SWEEP, 0, 1, 2, 0.9, 0},
                                       {KARST_AMG_RESIDUAL, 0, 2, 1, 1, 0},   {KARST_AMG_RESTRICT, 0, 1, 0, 1, 0},
                                       {KARST_AMG_INVERT, 1, 0, 1, 1, 0},     {KARST_AMG_PROLONG, 0, 1, 2, 1.5, 0},
                                       {KARST_AMG_MOMENTUM, 0, 2, 1, 1.1, 0}, {KARST_AMG_MOMENTUM, 0, 1, 2, 0.8, 0.4},
                                       {KARST_AMG_RESIDUAL, 0, 2, 1, 1, 0},   {KARST_AMG_RESTRICT, 0, 1, 0, 1, 0},
                                       {KARST_AMG_MOMENTUM, 1, 0, 2, 0.6, 0}, {KARST_AMG_SWEEP, 1, 2, 1, 0.5, 0},
                                       {KARST_AMG_PROLONG, 0, 1, 2, 1, 0},    {KARST_AMG_SWEEP, 0, 2, 1, 0.7, 0}};

static void compare_system(karst_context *context, int system, bool l1, bool single)
{
  struct amg_test t;
  karst_matrix *A = amg_system(context, system);
  tap_need(context, amg_start(A, 0.25, 4, single, &t), "start");
  t.amg.l1 = l1;
  tap_need(context, amg_interpolate(&t), "P");
  tap_need(context, amg_add_level(&t), "level");
  tap_need(context, amg_prepare(&t, sizeof steps / sizeof *steps, steps, 1), "prepare");
  struct dense_cycle c = {.l1 = l1, .P = amg_dense(&t, &t.amg.level[0].P)};
  for (int l = 0; l < 2; l++) {
    c.n[l] = t.amg.level[l].A.rows;
    c.A[l] = amg_dense(&t, &t.amg.level[l].A);
    for (int v = 0; v < KARST_AMG_VECTORS; v++) c.vector[l][v] = tap_memory(c.n[l], sizeof(double));
  }
  double *r = random_on_host(c.n[0]), *z = tap_memory(c.n[0], sizeof *z), scale = 0;
  for (karst_index i = 0; i < c.n[0]; i++) c.vector[0][0][i] = r[i];
  for (size_t s = 0; s < sizeof steps / sizeof *steps; s++) run_step(&c, &steps[s]);
  amg_apply(&t, c.n[0], r, z);
  /* Level 0 is A divided by a power of two, which is the largest ratio of both. */
  double *value = values_on_host(A);
  scale = value[0] / c.A[0][0];
  for (karst_index i = 0; i < c.n[0]; i++) z[i] *= scale;
  const double error = relative_difference(c.n[0], z, c.vector[0][1]);
  /* A few steps with numbers of like size. */
  tap_ok(error <= (single ? 2e-5 : 1e-12), "system %d, %s, %s: a cycle is its formulas (%.1e)", system,
         l1 ? "l1-jacobi" : "jacobi", single ? "float" : "double", error);
  for (int l = 0; l < 2; l++) {
    free(c.A[l]);
    for (int v = 0; v < KARST_AMG_VECTORS; v++) free(c.vector[l][v]);
  }
  free(c.P);
  free(r);
  free(z);
  free(value);
  amg_end(&t);
  karst_matrix_destroy(A);
}

/* A hierarchy of one level that is inverted. */
static const karst_amg_step invert = {KARST_AMG_INVERT, 0, 0, 1, 1, 0};

static void make_inverse(const karst_matrix *A, bool single, struct amg_test *t)
{
  tap_need(A->context, amg_start(A, 0.25, 4, single, t), "start");
  tap_need(A->context, amg_prepare(t, 1, &invert, 1), "inverse");
}

/* A matrix of zeros on its diagonal needs exchanges of rows. */
static void test_inverse(karst_context *context, karst_index n)
{
  struct amg_test t;
  double *rows = tap_memory((int64_t)n * n, sizeof *rows), *x = random_on_host(n), error = 0;
  double *r = tap_memory(n, sizeof *r), *z = tap_memory(n, sizeof *z);
  for (karst_index i = 0; i < n; i++)
    for (karst_index j = 0; j < n; j++)
      rows[i * n + j] = i == j && n > 1 ? 0 : (j == (i + 1) % n ? 3.0 * (double)n : 0) + tap_random();
  for (karst_index i = 0; i < n; i++)
    for (karst_index j = 0; j < n; j++) r[i] += rows[i * n + j] * x[j];
  karst_matrix *A = matrix_from_rows(context, n, 1, rows);
  make_inverse(A, false, &t);
  amg_apply(&t, n, r, z);
  error = relative_difference(n, z, x);
  tap_ok(t.outcome.reason == KARST_SOUND && t.outcome.pinned == 0 && error <= 1e-12,
         "%ld rows without a diagonal: the inverse is that of elimination with exchanges (%.1e)", (long)n, error);
  free(rows);
  free(x);
  free(r);
  free(z);
  amg_end(&t);
  karst_matrix_destroy(A);
}

/* Two separate all-Neumann systems: two unknowns are pinned, and the others solve the equations that can be solved.
 * Whole numbers keep the rows' sums at 0 in float. */
static void test_pinned(karst_context *context, bool single)
{
  enum { N = 40 };
  struct amg_test t;
  double rows[N * N] = {0}, r[N], q[N], z[N], y[N], error = 0, left = 0, right = 0, mean[2] = {0};
  int zeros = 0;
  for (int i = 0; i < N; i++)
    for (int j = 0; j < i; j++)
      if ((i < N / 2) == (j < N / 2) && (j == i - 1 || tap_random() > 0.7)) {
        const double a = (double)(1 + tap_random_index(3));
        rows[i * N + j] = rows[j * N + i] = -a;
        rows[i * N + i] += a;
        rows[j * N + j] += a;
      }
  karst_matrix *A = matrix_from_rows(context, N, 1, rows);
  make_inverse(A, single, &t);
  for (int i = 0; i < N; i++) {
    r[i] = tap_random();
    q[i] = tap_random();
    mean[i / (N / 2)] += r[i] * 2 / N;
  }
  for (int i = 0; i < N; i++) r[i] -= mean[i / (N / 2)];
  amg_apply(&t, N, r, z);
  amg_apply(&t, N, q, y);
  for (int i = 0; i < N; i++) {
    double sum = r[i];
    for (int j = 0; j < N; j++) sum -= rows[i * N + j] * z[j];
    error = fmax(error, fabs(sum));
    zeros += z[i] == 0;
    left += q[i] * z[i];
    right += r[i] * y[i];
  }
  /* Condition numbers of at most some 1e4 without the null spaces. */
  tap_ok(t.outcome.reason == KARST_SOUND && t.outcome.pinned == 2 && zeros == 2,
         "%s: an unknown of each all-Neumann system is pinned to 0 (%ld)", single ? "float" : "double",
         (long)t.outcome.pinned);
  tap_ok(error <= (single ? 1e-3 : 1e-11), "and all equations are solved where their sum is 0 (%.1e)", error);
  tap_ok(fabs(left - right) <= (single ? 1e-3 : 1e-11) * (1 + fabs(left)), "and the inverse is symmetric (%.1e)",
         fabs(left - right));
  amg_end(&t);
  karst_matrix_destroy(A);
}

/* A pivot of so many roundings, in units of the entries that make it, is one of a singular matrix only if the products
 * of several levels may have made it from 0, also in a level of two rows. */
static void test_threshold(karst_context *context, bool single)
{
  static const double roundings[] = {0, 8, 24, 40, 100};
  for (int k = 0; k < 5; k++) {
    struct amg_test t;
    const double pivot = 4 * roundings[k] * (single ? FLT_EPSILON : DBL_EPSILON); /* |u|'|A||v| = 4 */
    karst_matrix *A = matrix_from_rows(context, 2, 1, (const double[]){1, -1, -1, 1 + pivot});
    make_inverse(A, single, &t);
    tap_ok(t.outcome.pinned == (roundings[k] < 32), "%s, two rows and a pivot of %g roundings: %ld pinned",
           single ? "float" : "double", roundings[k], (long)t.outcome.pinned);
    amg_end(&t);
    karst_matrix_destroy(A);
  }
}

/* z is linear in r for numbers of any size, 0 for 0, and NaN if an element is not finite. */
static void test_sizes(karst_context *context, bool single)
{
  struct amg_test t;
  const double rows[] = {4e200, -1e200, -1e200, 3e200};
  const double exact[] = {4.0 / 11, 5.0 / 11}, sizes[] = {1, 1e-300, 1e300, 5e-324, 1e-180};
  karst_matrix *A = matrix_from_rows(context, 2, 1, rows);
  bool right = true;
  double z[2], r[2];
  make_inverse(A, single, &t);
  for (int s = 0; s < 5; s++) {
    r[0] = r[1] = sizes[s];
    amg_apply(&t, 2, r, z);
    for (int i = 0; i < 2; i++) {
      const double expected = exact[i] * sizes[s] * 1e-200;
      right = right && fabs(z[i] - expected) <= 1e-6 * fabs(expected) + 1e-320;
    }
  }
  tap_ok(right, "%s: z is A^-1 r for any size of A and r", single ? "float" : "double");
  r[0] = r[1] = 0;
  amg_apply(&t, 2, r, z);
  tap_ok(z[0] == 0 && z[1] == 0, "z is 0 for r = 0");
  r[1] = NAN;
  amg_apply(&t, 2, r, z);
  right = isnan(z[0]) && isnan(z[1]);
  r[1] = -INFINITY;
  amg_apply(&t, 2, r, z);
  tap_ok(right && isnan(z[0]) && isnan(z[1]), "z is NaN if an element of r is not finite");
  amg_end(&t);
  karst_matrix_destroy(A);
}

static void check_outcome(karst_context *context, const double *rows, karst_reason reason, karst_index row,
                          const char *what)
{
  struct amg_test t;
  karst_matrix *A = matrix_from_rows(context, 3, 1, rows);
  tap_need(context, amg_start(A, 0.25, 4, true, &t), "start");
  tap_ok(t.outcome.reason == reason && t.outcome.block_row == row, "%s is an outcome with its row", what);
  amg_end(&t);
  karst_matrix_destroy(A);
}

/* Rows without couplings make no next level. */
static void test_diagonal(karst_context *context)
{
  const double rows[] = {1, 0, 0, 0, -2, 0, 0, 0, 4};
  const double r[] = {1, 1, 1};
  double z[3];
  struct amg_test t;
  karst_matrix *A = matrix_from_rows(context, 3, 1, rows);
  tap_need(context, amg_start(A, 0.25, 4, true, &t), "start");
  tap_need(context, amg_coarsen(&t, 1), "levels");
  t.pairs = true;
  tap_need(context, amg_coarsen(&t, 1), "levels");
  tap_ok(t.amg.levels == 1, "a diagonal matrix has one level");
  tap_need(context, amg_prepare(&t, 1, &invert, 1), "inverse");
  amg_apply(&t, 3, r, z);
  tap_ok(z[0] == 1 && z[1] == -0.5 && z[2] == 0.25, "and its inverse is exact");
  amg_end(&t);
  karst_matrix_destroy(A);
}

static void run(karst_context *context)
{
  const double nan_row[] = {1, 0, 0, NAN, 1, 0, 0, INFINITY, 1}, zero_row[] = {1, 0, 0, 0, 1, 0, 0, 0, 0};
  const double sound[] = {1, 0, 0, -1, 1, 0, 0, 0, 1};
  if (tap_lacks_kernels(context->backend->amg, "amg", "cycles")) return;
  for (int system = 0; system < AMG_SYSTEMS; system++)
    for (int variant = 0; variant < 4; variant++) compare_system(context, system, variant / 2, variant % 2);
  const karst_index rows[] = {1, 2, 3, 37, KARST_AMG_DENSE};
  for (int i = 0; i < 5; i++) test_inverse(context, rows[i]);
  for (int single = 0; single < 2; single++) {
    test_pinned(context, single);
    test_threshold(context, single);
    test_sizes(context, single);
  }
  check_outcome(context, nan_row, KARST_NOT_FINITE, 1, "an entry that is not finite");
  check_outcome(context, zero_row, KARST_SINGULAR_BLOCK, 2, "a row of zeros");
  check_outcome(context, sound, KARST_SOUND, -1, "a sound matrix");
  test_diagonal(context);
}

int main(void)
{
  tap_each_device(run, "cycles");
  return tap_done();
}
