/* The kernels of CPR meet matrices that are not as they should be: cells with singular blocks are counted, entries that
 * are not finite are named by block row, very large and very small ones do not spoil the columns in float, and a matrix
 * may have no cell. An allocation that fails ends a plan without a leak. */
#include "tests/support/cpr_model.h"
#include "tests/support/failing_allocator.h"

#include <stdlib.h>

/* Sets the diagonal block of cell j so that the sum of its column is zero up to rounding. */
static void cancel_column(struct model *m, karst_index j)
{
  double *own = entry(m, j, j, 0, 0);
  for (int v = 0; v < m->b * m->b; v++) {
    own[v] = 0;
    for (karst_index i = m->pattern.n - 1; i >= 0; i--)
      if (i != j && pattern_has(&m->pattern, i, j)) own[v] -= entry(m, i, j, 0, 0)[v];
  }
}

static bool is_equation(const struct model *m, karst_index i, const double *weight)
{
  bool right = true;
  for (int r = 0; r < m->b; r++) right = right && weight[(int64_t)i * m->b + r] == (r == m->cpr.pressure);
  return right;
}

/* Computes column-sum weights and returns whether as many cells are guarded as in the dense evaluation. */
static bool counts_guarded(struct model *m, karst_index singular, double *error)
{
  int64_t guarded;
  weigh(m, KARST_CPR_COLUMN_SUM, NULL, 0);
  *error = weights_error(m, KARST_CPR_COLUMN_SUM, NULL, singular, &guarded);
  return m->outcome.guarded == guarded && m->outcome.reason == KARST_SOUND;
}

static void test_singular(karst_context *context)
{
  for (int b = 1; b <= 17; b += b == 9 ? 8 : 1) {
    struct model m = random_model(context, 30, b);
    double error;
    cancel_column(&m, 15); /* the full one */
    renew(&m);
    const bool counted = counts_guarded(&m, 15, &error) && m.outcome.singular == 0;
    /* Random blocks of this size lose a few digits. */
    tap_ok(counted && error < 1e-9, "b = %d: a column that sums to zero gives quasi-IMPES weights (%.1e)", b, error);
    for (int v = 0; v < b * b; v++) entry(&m, 7, 7, 0, 0)[v] = 0;
    for (karst_index i = 0; i < m.pattern.n; i++)
      for (int v = 0; v < b * b && pattern_has(&m.pattern, i, 15); v++) entry(&m, i, 15, 0, 0)[v] = 0;
    renew(&m);
    const bool both = counts_guarded(&m, 15, &error) && m.outcome.singular == 2; /* w^T A_77 e_p is 0 */
    double *weight = weights_on_host(&m);
    tap_ok(both && is_equation(&m, 15, weight) && is_equation(&m, 7, weight),
           "b = %d: if the diagonal block is singular too, w = e_p, and the cells are counted", b);
    weigh(&m, KARST_CPR_QUASI_IMPES, NULL, 0);
    tap_ok(m.outcome.guarded == 0 && m.outcome.singular == 2, "b = %d: quasi-IMPES counts singular blocks", b);
    free(weight);
    model_end(&m);
  }
}

static void test_not_finite(karst_context *context)
{
  for (int b = 1; b <= 17; b += 4) {
    struct model m = random_model(context, 30, b);
    const int p = m.cpr.pressure;
    double *given = random_on_host((int64_t)b * m.pattern.n);
    *entry(&m, 22, 15, b - 1, 0) = NAN; /* of the full column */
    *entry(&m, 11, 11, 0, b - 1) = INFINITY;
    renew(&m);
    weigh(&m, KARST_CPR_COLUMN_SUM, NULL, 0);
    const karst_index of_columns = m.outcome.reason == KARST_NOT_FINITE ? m.outcome.block_row : -1;
    weigh(&m, KARST_CPR_QUASI_IMPES, NULL, 0);
    const karst_index of_quasi = m.outcome.reason == KARST_NOT_FINITE ? m.outcome.block_row : -1;
    tap_ok(of_columns == 11 && of_quasi == 11, "b = %d: the first block row with an entry that is not finite", b);
    *entry(&m, 11, 11, 0, b - 1) = 1;
    *entry(&m, 22, 15, b - 1, 0) = 1;
    *entry(&m, 9, 15, 0, p) = -INFINITY;
    *entry(&m, 28, 15, b - 1, p) = NAN;
    renew(&m);
    weigh(&m, KARST_CPR_ROW_SUM, NULL, 0);
    make_pressure(&m, 3);
    const karst_index of_rows = m.outcome.reason == KARST_NOT_FINITE ? m.outcome.block_row : -1;
    given[(int64_t)19 * b] = NAN;
    given[(int64_t)20 * b] = NAN;
    weigh(&m, KARST_CPR_GIVEN, given, (int64_t)b * m.pattern.n);
    tap_ok(of_rows == 9 && m.outcome.reason == KARST_NOT_FINITE && m.outcome.block_row == 19,
           "b = %d: a row of A_p, and a given weight, that are not finite", b);
    free(given);
    model_end(&m);
  }
}

/* Values that float cannot hold, and values that it can hold again. */
static void test_extreme(karst_context *context)
{
  static const double factor[] = {1e200, 1e-200, 1e-300, 1};
  struct model m = random_model(context, 40, 3);
  const int64_t entries = karst_entries(m.A);
  double *first = NULL, *plain = values_on_host(m.A);
  for (int f = 0; f < 4; f++) {
    int64_t guarded;
    for (int64_t v = 0; v < entries; v++) m.value[v] = plain[v] * factor[f];
    renew(&m);
    weigh(&m, KARST_CPR_COLUMN_SUM, NULL, 0);
    make_pressure(&m, 2);
    double *weight = weights_on_host(&m);
    const double same = first ? relative_difference(3 * (int64_t)m.pattern.n, weight, first) : 0;
    const double left = subtract_error(&m, 1 / factor[f]), finite = pressure_error(&m, weight);
    weigh(&m, KARST_CPR_COLUMN_SUM, NULL, 0);
    const double error = weights_error(&m, KARST_CPR_COLUMN_SUM, NULL, -1, &guarded);
    tap_ok(m.outcome.reason == KARST_SOUND && same < 1e-11 && error < 1e-11 && left < FLT_EPSILON && finite < 1e-13,
           "times %.0e: weights (%.1e), A_p (%.1e) and A E z_p (%.1e)", factor[f], error, finite, left);
    if (!first)
      first = weight;
    else
      free(weight);
  }
  free(first);
  free(plain);
  model_end(&m);
}

/* Patterns of no cell and of one. */
static void test_small(karst_context *context)
{
  for (karst_index n = 0; n <= 1; n++) {
    struct pattern pattern = pattern_empty(n, 1);
    if (n > 0) pattern.start[1] = 1;
    double *value = tap_memory(4, sizeof *value);
    value[0] = value[3] = 2;
    value[1] = value[2] = -1;
    struct model m = model_of(context, pattern, 2, 0, value);
    weigh(&m, KARST_CPR_COLUMN_SUM, NULL, 0);
    make_pressure(&m, 2);
    const double left = subtract_error(&m, 1);
    tap_ok(m.outcome.reason == KARST_SOUND && left < FLT_EPSILON, "a matrix of %d cells", (int)n);
    model_end(&m);
  }
}

static void test_all(karst_context *context)
{
  if (tap_lacks_kernels(context->backend->cpr, "cpr", "outcomes of the kernels of CPR")) return;
  test_singular(context);
  test_not_finite(context);
  test_extreme(context);
  test_small(context);
}

static karst_status plan_once(karst_context *context, void *user)
{
  const struct pattern *pattern = user;
  karst_matrix *A;
  karst_cpr cpr = {0};
  karst_status status =
      karst_matrix_create_pattern(context, pattern->n, 17, pattern->start, pattern->column, KARST_REFERENCE, &A);
  if (status) return status;
  status = context->backend->cpr->plan(context, A, &cpr);
  context->backend->cpr->plan_destroy(context, &cpr);
  karst_matrix_destroy(A);
  return status;
}

int main(void)
{
  struct pattern pattern = pattern_grid(4, 3, 2);
  tap_each_device(test_all, "outcomes of the kernels of CPR");
  fail_each_allocation(plan_once, &pattern, "a plan of CPR");
  pattern_free(&pattern);
  return tap_done();
}
