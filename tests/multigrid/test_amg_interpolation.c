/* The interpolation of multigrid is extended+i by its formula, evaluated on dense matrices. */
#include "tests/support/amg_levels.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

/* A dense level: A row by row, its strong couplings, and which rows are C. */
struct dense_level {
  karst_index n;
  double *A;
  bool *strong, *isolated;
  karst_index *place;
};

/* The weights of F row i before truncation, by equation (4.10) of De Sterck, Falgout, Nolting and Yang (2008): w[j] for
 * all j, 0 outside C_i; inside[j]: whether j is in C_i. */
static void weigh_row(const struct dense_level *l, karst_index i, bool *inside, double *w)
{
  const karst_index n = l->n;
  double diagonal = l->A[i * n + i];
  for (karst_index j = 0; j < n; j++) {
    inside[j] = l->strong[i * n + j] && l->place[j] >= 0;
    for (karst_index k = 0; k < n; k++)
      inside[j] = inside[j] || (l->strong[i * n + k] && l->place[k] < 0 && l->strong[k * n + j] && l->place[j] >= 0);
    w[j] = inside[j] ? l->A[i * n + j] : 0;
  }
  for (karst_index k = 0; k < n; k++) {
    const double a = l->A[i * n + k];
    double sum = 0;
    if (k == i || inside[k] || a == 0 || l->isolated[k]) continue;
    for (karst_index j = 0; j < n && l->strong[i * n + k] && l->place[k] < 0; j++)
      if ((inside[j] || j == i) && l->A[k * n + j] * l->A[k * n + k] < 0) sum += l->A[k * n + j];
    if (sum == 0) diagonal += a;
    for (karst_index j = 0; j < n && sum != 0; j++) {
      if (l->A[k * n + j] * l->A[k * n + k] >= 0) continue;
      if (inside[j]) w[j] += a * l->A[k * n + j] / sum;
      if (j == i) diagonal += a * l->A[k * n + j] / sum;
    }
  }
  for (karst_index j = 0; j < n; j++) w[j] /= -diagonal;
}

/* Keeps the most largest weights and their sum. */
static void truncate_row(karst_index n, int most, const bool *inside, double *w)
{
  double all = 0, kept = 0;
  bool *stays = tap_memory(n, sizeof *stays);
  for (karst_index j = 0; j < n; j++) all += w[j];
  for (int m = 0; m < most; m++) {
    karst_index largest = -1;
    for (karst_index j = 0; j < n; j++)
      if (inside[j] && !stays[j] && (largest < 0 || fabs(w[j]) > fabs(w[largest]))) largest = j;
    if (largest < 0) break;
    stays[largest] = true;
    kept += w[largest];
  }
  for (karst_index j = 0; j < n; j++) w[j] = stays[j] ? w[j] * (kept == 0 ? 1 : all / kept) : 0;
  free(stays);
}

/* Returns the largest difference of row i of P from the formula, relative to the largest weight, or 1. */
static double row_error(const struct dense_level *l, karst_index i, int most, const double *P, karst_index coarse)
{
  double *w = tap_memory(l->n, sizeof *w), largest = 1, error = 0;
  bool *inside = tap_memory(l->n, sizeof *inside);
  if (l->place[i] >= 0) {
    w[i] = 1;
  } else if (!l->isolated[i]) {
    weigh_row(l, i, inside, w);
    truncate_row(l->n, most, inside, w);
  }
  for (karst_index j = 0; j < l->n; j++) {
    if (l->place[j] < 0) continue;
    error = fmax(error, fabs(w[j] - P[(int64_t)i * coarse + l->place[j]]));
    largest = fmax(largest, fabs(w[j]));
  }
  free(w);
  free(inside);
  return error / largest;
}

static struct dense_level dense_level_of(struct amg_test *t, const karst_amg_splitting *splitting)
{
  const karst_index n = t->amg.level[0].A.rows;
  struct dense_level l = {n, amg_dense(t, &t->amg.level[0].A), tap_memory((int64_t)n * n, sizeof *l.strong),
                          tap_memory(n, sizeof *l.isolated), amg_places(t, n, splitting)};
  for (karst_index i = 0; i < n; i++) {
    l.isolated[i] = true;
    for (karst_index j = 0; j < n; j++) {
      l.strong[i * n + j] = amg_is_strong(n, l.A, t->rule.strength, i, j);
      l.isolated[i] = l.isolated[i] && !l.strong[i * n + j];
    }
  }
  return l;
}

static void compare_system(karst_context *context, int system, int most, bool single)
{
  struct amg_test t;
  karst_amg_splitting splitting = {0};
  karst_matrix *A = amg_system(context, system);
  tap_need(context, amg_start(A, 0.25, most, single, &t), "start");
  karst_amg_level *level = &t.amg.level[0];
  tap_need(context, t.kernels->split(context, &t.amg, &level->A, &t.rule, &splitting), "split");
  tap_need(context, t.kernels->interpolate(context, &t.amg, &level->A, &t.rule, &splitting, &level->P), "P");
  struct dense_level l = dense_level_of(&t, &splitting);
  double *P = amg_dense(&t, &level->P), error = 0;
  for (karst_index i = 0; i < l.n; i++) error = fmax(error, row_error(&l, i, most, P, splitting.coarse));
  /* Weights are computed in double and stored in the levels' precision. Their denominators cancel at most a few digits
   * in these systems. */
  tap_ok(error <= (single ? 1e-6 : 1e-11), "system %d, %d entries, %s: P is extended+i (%.1e)", system, most,
         single ? "float" : "double", error);
  t.kernels->release_splitting(context, &splitting);
  free(l.A);
  free(l.strong);
  free(l.isolated);
  free(l.place);
  free(P);
  amg_end(&t);
  karst_matrix_destroy(A);
}

/* Where the rows of A sum to 0 a constant is interpolated exactly, truncated or not. */
static void test_constants(karst_context *context)
{
  struct amg_test t;
  karst_matrix *A = matrix_from(context, "poisson2d:12x12", 0);
  double error = 0, *value = values_on_host(A);
  const karst_index *start = karst_matrix_row_start(A), *column = karst_matrix_column(A);
  for (karst_index i = 0; i < 144; i++) {
    double sum = 0;
    for (karst_index k = start[i]; k < start[i + 1]; k++) sum += value[k];
    for (karst_index k = start[i]; k < start[i + 1]; k++)
      if (column[k] == i) value[k] -= sum;
  }
  tap_need(context, karst_matrix_update_values(A, value), "values");
  tap_need(context, amg_start(A, 0.25, 3, false, &t), "start");
  tap_need(context, amg_interpolate(&t), "P");
  struct amg_host P = amg_fetch(&t, &t.amg.level[0].P);
  for (karst_index i = 0; i < P.rows; i++) {
    double sum = 0;
    for (karst_index k = P.start[i]; k < P.start[i + 1]; k++) sum += P.value[k];
    error = fmax(error, fabs(sum - 1));
  }
  tap_ok(error <= 1e-14, "rows of P sum to 1 where those of A sum to 0 (%.1e)", error);
  amg_host_free(&P);
  free(value);
  amg_end(&t);
  karst_matrix_destroy(A);
}

/* Row i distributes to a row k that has no coupling back, and denominators vanish; no weight may be NaN or infinite. */
static void test_vanishing(karst_context *context)
{
  const double rows[] = {0, -1, 0, 0, -1, 1, -1, 0, 0, -1, 2, -1, 0, 0, -1, 1};
  struct amg_test t;
  karst_matrix *A = matrix_from_rows(context, 4, 1, rows);
  bool finite = true;
  tap_need(context, amg_start(A, 0.25, 4, true, &t), "start");
  tap_need(context, amg_interpolate(&t), "P");
  struct amg_host P = amg_fetch(&t, &t.amg.level[0].P);
  for (karst_index k = 0; k < P.start[P.rows]; k++) finite = finite && isfinite(P.value[k]);
  tap_ok(finite, "a zero diagonal and vanishing denominators give no weight that is not finite");
  amg_host_free(&P);
  amg_end(&t);
  karst_matrix_destroy(A);
}

static void run(karst_context *context)
{
  if (tap_lacks_kernels(context->backend->amg, "amg", "interpolation")) return;
  for (int system = 0; system < AMG_SYSTEMS; system++)
    for (int most = 2; most <= 90; most = most == 2 ? 4 : most == 4 ? 90 : 91)
      compare_system(context, system, most, system % 2 == (most == 4));
  test_constants(context);
  test_vanishing(context);
}

int main(void)
{
  tap_each_device(run, "interpolation");
  return tap_done();
}
