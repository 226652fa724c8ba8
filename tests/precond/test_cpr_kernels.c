/* The kernels of CPR give what a dense evaluation of the same formulas gives: weights of each kind, the pressure matrix
 * and its balance, r - A E z_p, W^T r and z + E z_p, on random patterns that are not symmetric, with a long row and a
 * long column. Cells with singular blocks are counted, entries that are not finite are named by block row, and each
 * number of threads gives the same bits. */
#include "lib/backend/cpr_kernels.h"
#include "lib/matrix/matrix.h"
#include "tests/support/failing_allocator.h"
#include "tests/support/patterns.h"
#include "tests/support/problem.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A matrix with its pressure matrix, and the same as arrays of the host. */
struct model {
  karst_context *context;
  const struct karst_cpr_kernels *kernels;
  struct pattern pattern;
  int b;
  double *value; /* [b*b*blocks] */
  karst_matrix *A, *pressure;
  karst_cpr cpr;
  karst_cpr_outcome outcome;
};

/* Returns a pattern with the diagonal, a full row and a full column. */
static struct pattern random_pattern(karst_index n, double density)
{
  struct pattern made = pattern_empty(n, (int64_t)n * n);
  karst_index k = 0;
  for (karst_index i = 0; i < n; i++) {
    for (karst_index j = 0; j < n; j++)
      if (i == j || i == n / 3 || j == n / 2 || 0.5 * (tap_random() + 1) < density) made.column[k++] = j;
    made.start[i + 1] = k;
  }
  return made;
}

/* Takes over the pattern and the values. */
static struct model model_of(karst_context *context, struct pattern pattern, int b, int pressure, double *value)
{
  struct model m = {.context = context, .kernels = context->backend->cpr, .pattern = pattern, .b = b, .value = value};
  m.A = pattern_matrix(context, &pattern, b, value);
  m.outcome = (karst_cpr_outcome){KARST_SOUND, -1, 0, 0, 0};
  tap_need(context,
           karst_matrix_create_pattern(context, pattern.n, 1, pattern.start, pattern.column, KARST_COPY, &m.pressure),
           "pressure matrix");
  m.cpr.pressure = pressure;
  tap_need(context, m.kernels->plan(context, m.A, &m.cpr), "plan");
  return m;
}

static struct model random_model(karst_context *context, karst_index n, int b)
{
  struct pattern pattern = random_pattern(n, 0.1);
  double *value = pattern_values(&pattern, b, 2);
  return model_of(context, pattern, b, (int)tap_random_index(b), value);
}

static void model_end(struct model *m)
{
  m->kernels->plan_destroy(m->context, &m->cpr);
  karst_matrix_destroy(m->pressure);
  karst_matrix_destroy(m->A);
  pattern_free(&m->pattern);
  free(m->value);
}

/* Gives A the values of the host. */
static void renew(struct model *m) { tap_need(m->context, karst_matrix_update_values(m->A, m->value), "new values"); }

/* Entry (r,c) of block (i,j) on the host, which the pattern has. */
static double *entry(const struct model *m, karst_index i, karst_index j, int r, int c)
{
  karst_index k = m->pattern.start[i];
  while (m->pattern.column[k] != j) k++;
  return m->value + ((int64_t)k * m->b + c) * m->b + r;
}

static double *to_device(const struct model *m, int64_t count, const double *host)
{
  double *memory;
  tap_need(m->context, karst_device_doubles(m->context, count, "test", &memory), "device memory");
  tap_need(m->context, m->context->backend->upload(m->context, memory, host, (size_t)count * sizeof *host), "upload");
  return memory;
}

static double *to_host(const struct model *m, int64_t count, const double *memory)
{
  double *host = tap_memory(count, sizeof *host);
  tap_need(m->context, m->context->backend->download(m->context, host, memory, (size_t)count * sizeof *host), "values");
  return host;
}

/* given: on the host, or NULL. */
static void weigh(struct model *m, karst_cpr_weights weights, const double *given, int64_t count)
{
  double *placed = given ? to_device(m, count, given) : NULL;
  tap_need(m->context, m->kernels->weigh(m->context, m->A, weights, placed, &m->cpr, &m->outcome), "weigh");
  m->context->backend->release(m->context, placed);
}

static void make_pressure(struct model *m, int sweeps)
{
  tap_need(m->context, m->kernels->pressure(m->context, m->A, sweeps, &m->cpr, m->pressure, &m->outcome), "pressure");
}

static double *weights_on_host(const struct model *m)
{
  return to_host(m, (int64_t)m->b * m->pattern.n, m->cpr.weight);
}

/* Solves block^T w = e_p and divides w by its largest absolute value; false for a singular block. */
static bool solve_weights(int b, int p, const double *block, double *w)
{
  double *transposed = tap_memory((int64_t)b * b, sizeof *transposed), largest = 0;
  for (int c = 0; c < b; c++)
    for (int r = 0; r < b; r++) transposed[c * b + r] = block[r * b + c];
  for (int r = 0; r < b; r++) w[r] = r == p;
  const bool solved = tap_dense_solve(b, transposed, w);
  for (int r = 0; r < b; r++) largest = fmax(largest, fabs(w[r]));
  for (int r = 0; r < b && solved; r++) w[r] /= largest;
  free(transposed);
  return solved;
}

/* The block of a cell that its weights come from: the sum of its column, or its diagonal block. */
static void cell_block(const struct model *m, bool sum, karst_index j, double *block)
{
  for (int v = 0; v < m->b * m->b; v++) block[v] = 0;
  for (karst_index i = 0; i < m->pattern.n; i++)
    if ((sum || i == j) && pattern_has(&m->pattern, i, j))
      for (int v = 0; v < m->b * m->b; v++) block[v] += entry(m, i, j, 0, 0)[v];
}

/* Returns the largest difference between the weights and dense ones, and counts those that are
 * guarded. given: [b*b*n], or NULL; singular: the cell whose block is known to be, or -1. */
static double weights_error(const struct model *m, karst_cpr_weights kind, const double *given, karst_index singular,
                            int64_t *guarded)
{
  const int b = m->b, p = m->cpr.pressure;
  double *block = tap_memory((int64_t)b * b, sizeof *block), *w = tap_memory(b, sizeof *w), error = 0;
  double *weight = weights_on_host(m);
  *guarded = 0;
  for (karst_index i = 0; i < m->pattern.n; i++) {
    double product = 0;
    cell_block(m, kind == KARST_CPR_COLUMN_SUM, i, block);
    bool solved = solve_weights(b, p, given ? given + (int64_t)i * b * b : block, w);
    for (int r = 0; r < b; r++) product += w[r] * *entry(m, i, i, r, p);
    if (i == singular || !solved || !(product > 0)) {
      cell_block(m, false, i, block);
      solve_weights(b, p, block, w);
      ++*guarded;
    }
    for (int r = 0; r < b; r++) error = fmax(error, fabs(w[r] - weight[(int64_t)i * b + r]));
  }
  free(block);
  free(w);
  free(weight);
  return error;
}

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

/* Returns the largest difference of A_p from w^T A e_p, relative to that of the entries' absolute values. */
static double pressure_error(const struct model *m, const double *weight)
{
  double *pressure = values_on_host(m->pressure), error = 0;
  for (karst_index i = 0; i < m->pattern.n; i++)
    for (karst_index k = m->pattern.start[i]; k < m->pattern.start[i + 1]; k++) {
      double sum = 0, size = 0;
      for (int r = 0; r < m->b; r++) {
        const double product = weight[(int64_t)i * m->b + r] * *entry(m, i, m->pattern.column[k], r, m->cpr.pressure);
        sum += product;
        size += fabs(product);
      }
      error = fmax(error, fabs(pressure[k] - sum) / fmax(size, DBL_MIN));
    }
  free(pressure);
  return error;
}

/* Returns the error of r - A E z_p relative to |r| + |A| |z_p|, for z_p of this size. */
static double subtract_error(const struct model *m, double scale)
{
  const int64_t n = (int64_t)m->b * m->pattern.n;
  double *r = random_on_host(n), *z_p = random_on_host(m->pattern.n), error = 0;
  for (karst_index i = 0; i < m->pattern.n; i++) z_p[i] *= scale;
  double *device_r = to_device(m, n, r), *device_z = to_device(m, m->pattern.n, z_p), *device_s = to_device(m, n, r);
  m->kernels->subtract(m->context, m->A, &m->cpr, device_r, device_z, device_s);
  double *s = to_host(m, n, device_s);
  for (karst_index i = 0; i < m->pattern.n; i++)
    for (int c = 0; c < m->b; c++) {
      double sum = r[(int64_t)i * m->b + c], size = fabs(sum);
      for (karst_index k = m->pattern.start[i]; k < m->pattern.start[i + 1]; k++) {
        const double product = *entry(m, i, m->pattern.column[k], c, m->cpr.pressure) * z_p[m->pattern.column[k]];
        sum -= product;
        size += fabs(product);
      }
      const double difference = fabs(s[(int64_t)i * m->b + c] - sum) / size;
      if (!(difference <= error)) error = difference; /* a NaN stays */
    }
  for (int v = 0; v < 3; v++) m->context->backend->release(m->context, (double *[]){device_r, device_z, device_s}[v]);
  free(r);
  free(z_p);
  free(s);
  return error;
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

/* Patterns of no cell and of one. */
static void test_small(karst_context *context)
{
  for (karst_index n = 0; n <= 1; n++) {
    struct pattern pattern = pattern_empty(n, 1);
    if (n > 0) pattern.start[1] = 1;
    double *value = tap_memory(4, sizeof *value);
    value[0] = value[3] = 2;
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
  if (tap_lacks_kernels(context->backend->cpr, "cpr", "the kernels of CPR")) return;
  test_weights(context);
  test_pressure(context);
  test_couplings(context);
  test_singular(context);
  test_balance(context);
  test_not_finite(context);
  test_extreme(context);
  test_same(context);
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
  tap_each_device(test_all, "the kernels of CPR");
  fail_each_allocation(plan_once, &pattern, "a plan of CPR");
  pattern_free(&pattern);
  return tap_done();
}
