/* The kernels of CPR give what a dense evaluation of the same formulas gives: weights of each kind, the pressure matrix
 * and its balance, r - A E z_p, W^T r and z + E z_p, on random patterns that are not symmetric, with a long row and a
 * long column. Each number of threads gives the same bits. */
#include "tests/support/cpr_model.h"

#include <stdlib.h>
#include <string.h>

/* Blocks of the columns and of the diagonal are dominated by their diagonals, so that errors grow little. */
static void test_weights(karst_context *context)
{
  for (int b = 1; b <= 17; b += b == 9 ? 8 : 1) {
    struct model m = random_model(context, 40, b);
    const int64_t n = m.pattern.n, entries = n * b * b;
    double *given = random_on_host(entries), error[3];
    int64_t guarded[3], counted[3], singular = 0;
    const karst_cpr_weights kind[] = {KARST_CPR_COLUMN_SUM, KARST_CPR_QUASI_IMPES, KARST_CPR_TRUE_IMPES};
    for (int64_t i = 0; i < n * b; i++) given[i * b + i % b] += i / b % 7 == 3 ? -2 * b : 2 * b;
    for (int k = 0; k < 3; k++) {
      weigh(&m, kind[k], k == 2 ? given : NULL, entries);
      error[k] = weights_error(&m, kind[k], k == 2 ? given : NULL, -1, &guarded[k]);
      counted[k] = m.outcome.guarded;
      singular += m.outcome.singular + (m.outcome.reason != KARST_SOUND || m.outcome.block_row != -1);
    }
    tap_ok(error[0] < 1e-11 && error[1] < 1e-11 && error[2] < 1e-11,
           "b = %d: column-sum (%.1e), quasi-IMPES (%.1e) and true-IMPES weights (%.1e) are dense ones", b, error[0],
           error[1], error[2]);
    tap_ok(counted[0] == guarded[0] && counted[1] == 0 && counted[2] == guarded[2] && guarded[2] > 0 && singular == 0,
           "b = %d: cells whose weights make A_p(i,i) negative are counted (%d)", b, (int)counted[2]);
    weigh(&m, KARST_CPR_GIVEN, given, n * b);
    double *weight = weights_on_host(&m);
    tap_ok(memcmp(weight, given, (size_t)(n * b) * sizeof *weight) == 0, "b = %d: given weights are as they are", b);
    free(weight);
    free(given);
    model_end(&m);
  }
}

/* Returns the error of W^T r and of z + E z_p, which have b products and one sum an element. */
static double transfer_error(const struct model *m, const double *weight)
{
  const int64_t n = (int64_t)m->b * m->pattern.n;
  double *r = random_on_host(n), error = 0;
  double *device_r = to_device(m, n, r), *device_p = to_device(m, m->pattern.n, r);
  m->kernels->restrict_residual(m->context, &m->cpr, device_r, device_p);
  m->kernels->prolong(m->context, &m->cpr, device_p, device_r);
  double *r_p = to_host(m, m->pattern.n, device_p), *z = to_host(m, n, device_r);
  for (karst_index i = 0; i < m->pattern.n; i++) {
    double sum = 0;
    for (int c = 0; c < m->b; c++) {
      const int64_t v = (int64_t)i * m->b + c;
      sum += weight[v] * r[v];
      error = fmax(error, fabs(z[v] - (r[v] + (c == m->cpr.pressure ? r_p[i] : 0))));
    }
    error = fmax(error, fabs(r_p[i] - sum));
  }
  m->context->backend->release(m->context, device_r);
  m->context->backend->release(m->context, device_p);
  free(r);
  free(r_p);
  free(z);
  return error;
}

static void test_pressure(karst_context *context)
{
  for (int b = 1; b <= 17; b += b == 9 ? 8 : 1) {
    struct model m = random_model(context, 40, b);
    weigh(&m, b % 2 ? KARST_CPR_COLUMN_SUM : KARST_CPR_ROW_SUM, NULL, 0);
    make_pressure(&m, 0);
    double *weight = weights_on_host(&m);
    const double error = pressure_error(&m, weight), left = subtract_error(&m, 1), moved = transfer_error(&m, weight);
    tap_ok(error < 1e-14 && m.outcome.reason == KARST_SOUND && m.outcome.empty == 0, "b = %d: A_p = W^T A E (%.1e)", b,
           error);
    tap_ok(left < FLT_EPSILON, "b = %d: r - A E z_p up to the rounding of A to float (%.1e)", b, left);
    tap_ok(moved < 1e-14 * b, "b = %d: W^T r and z + E z_p (%.1e)", b, moved);
    free(weight);
    model_end(&m);
  }
}

/* Entry (i,j) of A_p on the host, 0 where the pattern has none. */
static double pressure_entry(const struct model *m, const double *value, karst_index i, karst_index j)
{
  for (karst_index k = m->pattern.start[i]; k < m->pattern.start[i + 1]; k++)
    if (m->pattern.column[k] == j) return value[k];
  return 0;
}

/* The couplings of A_p against a loop over all pairs of cells. */
static void test_couplings(karst_context *context)
{
  struct model m = random_model(context, 30, 2);
  const karst_index n = m.pattern.n;
  weigh(&m, KARST_CPR_QUASI_IMPES, NULL, 0);
  make_pressure(&m, 0);
  double *value = to_host(&m, m.pattern.start[n], m.pressure->value), *place = to_device(&m, n, value);
  m.kernels->couple(context, &m.cpr, m.pressure, place);
  double *root = to_host(&m, n, place);
  karst_index wrong = 0;
  for (karst_index i = 0; i < n; i++) {
    double sum = 0;
    for (karst_index j = 0; j < n; j++) {
      const double here = -pressure_entry(&m, value, i, j) / pressure_entry(&m, value, i, i);
      const double there = -pressure_entry(&m, value, j, i) / pressure_entry(&m, value, j, j);
      if (j != i && here > 0 && there > 0) sum += sqrt(here * there);
    }
    wrong += !(fabs(root[i] - sqrt(sum)) <= 1e-12 * sqrt(sum)); /* tens of roundings */
  }
  tap_ok(wrong == 0, "couplings of the pressures in both directions are summed by rows");
  context->backend->release(context, place);
  free(root);
  free(value);
  model_end(&m);
}

/* Balances a dense A_p: s_i = sqrt(s_i sum_j |a_ji| s_j / sum_j |a_ij|). a: [n n] row by row. */
static void balance_dense(int64_t n, int sweeps, double *a, double *s)
{
  double *next = tap_memory(n, sizeof *next);
  for (int64_t i = 0; i < n; i++) s[i] = 1;
  for (int k = 0; k < sweeps; k++) {
    for (int64_t i = 0; i < n; i++) {
      double down = 0, across = 0;
      for (int64_t j = 0; j < n; j++) down += fabs(a[j * n + i]) * s[j], across += fabs(a[i * n + j]);
      next[i] = down > 0 && across > 0 ? sqrt(s[i] * down / across) : s[i];
    }
    memcpy(s, next, (size_t)n * sizeof *s);
  }
  free(next);
}

static void test_balance(karst_context *context)
{
  struct model m = random_model(context, 40, 3);
  const int64_t n = m.pattern.n;
  double *a = tap_memory(n * n, sizeof *a), *s = tap_memory(n, sizeof *s), error = 0;
  for (karst_index i = 0; i < n; i++) {
    const double scale = pow(10, 2 * tap_random());
    for (int64_t v = (int64_t)m.pattern.start[i] * 9; v < (int64_t)m.pattern.start[i + 1] * 9; v++)
      m.value[v] *= i == 5 ? 0 : scale;
  }
  renew(&m);
  weigh(&m, KARST_CPR_COLUMN_SUM, NULL, 0);
  double *weight = weights_on_host(&m);
  make_pressure(&m, 0);
  const bool counted = m.outcome.empty == 1;
  double *plain = values_on_host(m.pressure);
  for (karst_index i = 0; i < n; i++)
    for (karst_index k = m.pattern.start[i]; k < m.pattern.start[i + 1]; k++)
      a[i * n + m.pattern.column[k]] = i == 5 ? 0 : plain[k];
  for (int sweeps = 1; sweeps <= 20; sweeps += 19) {
    weigh(&m, KARST_CPR_COLUMN_SUM, NULL, 0);
    make_pressure(&m, sweeps);
    balance_dense(n, sweeps, a, s);
    double *balanced = values_on_host(m.pressure), *scaled = weights_on_host(&m);
    for (karst_index i = 0; i < n; i++) {
      for (karst_index k = m.pattern.start[i]; k < m.pattern.start[i + 1]; k++)
        error = fmax(error, fabs(balanced[k] - s[i] * plain[k]) / fmax(fabs(balanced[k]), DBL_MIN));
      for (int r = 0; r < 3; r++)
        error = fmax(error, fabs(scaled[i * 3 + r] - s[i] * weight[i * 3 + r]) / fmax(s[i], DBL_MIN));
    }
    free(balanced);
    free(scaled);
  }
  /* A sweep averages the sums, so that rounding errors do not grow. */
  tap_ok(error < 1e-12 && s[5] == 1, "balanced rows of A_p and weights are those of a dense loop (%.1e)", error);
  tap_ok(counted && m.outcome.empty == 1, "a row of zeros is counted and gets a 1 on the diagonal");
  free(a);
  free(s);
  free(weight);
  free(plain);
  model_end(&m);
}

/* Appends all that the kernels make of a large system to an array. */
static int64_t collect(karst_context *context, const struct pattern *pattern, int b, const double *value, double *all)
{
  const int64_t n = (int64_t)b * pattern->n, blocks = pattern->start[pattern->n];
  struct pattern copy = pattern_empty(pattern->n, blocks);
  double *values = tap_memory(blocks * b * b, sizeof *values);
  memcpy(copy.start, pattern->start, ((size_t)pattern->n + 1) * sizeof *copy.start);
  memcpy(copy.column, pattern->column, (size_t)blocks * sizeof *copy.column);
  memcpy(values, value, (size_t)(blocks * b * b) * sizeof *values);
  struct model m = model_of(context, copy, b, b - 1, values);
  weigh(&m, KARST_CPR_COLUMN_SUM, NULL, 0);
  make_pressure(&m, 4);
  double *weight = weights_on_host(&m), *pressure = values_on_host(m.pressure);
  double *r = to_device(&m, n, values), *s = to_device(&m, n, values), *r_p = to_device(&m, pattern->n, values);
  m.kernels->restrict_residual(context, &m.cpr, r, r_p);
  m.kernels->subtract(context, m.A, &m.cpr, r, r_p, s);
  m.kernels->prolong(context, &m.cpr, r_p, r);
  double *left = to_host(&m, n, s), *z = to_host(&m, n, r);
  memcpy(all, weight, (size_t)n * sizeof *all);
  memcpy(all + n, left, (size_t)n * sizeof *all);
  memcpy(all + 2 * n, z, (size_t)n * sizeof *all);
  memcpy(all + 3 * n, pressure, (size_t)blocks * sizeof *all);
  for (int v = 0; v < 3; v++) context->backend->release(context, (double *[]){r, s, r_p}[v]);
  free(weight);
  free(pressure);
  free(left);
  free(z);
  model_end(&m);
  return 3 * n + blocks;
}

/* Compares a device with one thread of the CPU: the same bits on the CPU, and up to rounding on others. */
static void test_same(karst_context *context)
{
  const int sizes[] = {1, 3, 8, 9};
  for (int i = 0; i < 4; i++) {
    const int b = sizes[i];
    struct pattern pattern = random_pattern(b < 8 ? 400 : 120, 0.05);
    double *value = pattern_values(&pattern, b, 2);
    const int64_t most = 3 * (int64_t)b * pattern.n + pattern.start[pattern.n];
    double *here = tap_memory(most, sizeof *here), *again = tap_memory(most, sizeof *again);
    double *there = tap_memory(most, sizeof *there);
    karst_context *cpu = tap_context();
    const int64_t count = collect(context, &pattern, b, value, here);
    collect(context, &pattern, b, value, again);
    collect(cpu, &pattern, b, value, there);
    const double difference = relative_difference(count, here, there);
    tap_ok(memcmp(here, again, (size_t)count * sizeof *here) == 0, "b = %d: two runs give the same bits", b);
    tap_ok(context->backend->host_memory ? memcmp(here, there, (size_t)count * sizeof *here) == 0 : difference < 1e-11,
           "b = %d: as one thread of the CPU (%.1e)", b, difference);
    karst_context_destroy(cpu);
    pattern_free(&pattern);
    free(value);
    free(here);
    free(again);
    free(there);
  }
}

static void test_all(karst_context *context)
{
  if (tap_lacks_kernels(context->backend->cpr, "cpr", "the kernels of CPR")) return;
  test_weights(context);
  test_pressure(context);
  test_couplings(context);
  test_balance(context);
  test_same(context);
}

int main(void)
{
  tap_each_device(test_all, "the kernels of CPR");
  return tap_done();
}
