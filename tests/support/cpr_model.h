/* cpr_model.h - a random matrix with its plan of CPR, for tests of the kernels: calls them, and evaluates the same
 * formulas densely on the host. */
#ifndef KARST_TESTS_SUPPORT_CPR_MODEL_H
#define KARST_TESTS_SUPPORT_CPR_MODEL_H

#include "lib/backend/cpr_kernels.h"
#include "tests/support/patterns.h"
#include "tests/support/problem.h"

#include <float.h>
#include <math.h>

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
static inline struct pattern random_pattern(karst_index n, double density)
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
static inline struct model model_of(karst_context *context, struct pattern pattern, int b, int pressure, double *value)
{
  struct model m = {.context = context, .kernels = context->backend->cpr, .pattern = pattern, .b = b, .value = value};
  m.A = pattern_matrix(context, &pattern, b, value);
  m.outcome = (karst_cpr_outcome){.reason = KARST_SOUND, .block_row = -1};
  tap_need(context,
           karst_matrix_create_pattern(context, pattern.n, 1, pattern.start, pattern.column, KARST_COPY, &m.pressure),
           "pressure matrix");
  m.cpr.pressure = pressure;
  tap_need(context, m.kernels->plan(context, m.A, &m.cpr), "plan");
  return m;
}

static inline struct model random_model(karst_context *context, karst_index n, int b)
{
  struct pattern pattern = random_pattern(n, 0.1);
  double *value = pattern_values(&pattern, b, 2);
  return model_of(context, pattern, b, (int)tap_random_index(b), value);
}

static inline void model_end(struct model *m)
{
  m->kernels->plan_destroy(m->context, &m->cpr);
  karst_matrix_destroy(m->pressure);
  karst_matrix_destroy(m->A);
  pattern_free(&m->pattern);
  free(m->value);
}

/* Gives A the values of the host. */
static inline void renew(struct model *m)
{
  tap_need(m->context, karst_matrix_update_values(m->A, m->value), "new values");
}

/* Entry (r,c) of block (i,j) on the host, which the pattern has. */
static inline double *entry(const struct model *m, karst_index i, karst_index j, int r, int c)
{
  karst_index k = m->pattern.start[i];
  while (m->pattern.column[k] != j) k++;
  return m->value + ((int64_t)k * m->b + c) * m->b + r;
}

static inline double *to_device(const struct model *m, int64_t count, const double *host)
{
  double *memory;
  tap_need(m->context, karst_device_doubles(m->context, count, "test", &memory), "device memory");
  tap_need(m->context, m->context->backend->upload(m->context, memory, host, (size_t)count * sizeof *host), "upload");
  return memory;
}

static inline double *to_host(const struct model *m, int64_t count, const double *memory)
{
  double *host = tap_memory(count, sizeof *host);
  tap_need(m->context, m->context->backend->download(m->context, host, memory, (size_t)count * sizeof *host), "values");
  return host;
}

/* given: on the host, or NULL. */
static inline void weigh(struct model *m, karst_cpr_weights weights, const double *given, int64_t count)
{
  double *placed = given ? to_device(m, count, given) : NULL;
  tap_need(m->context, m->kernels->weigh(m->context, m->A, weights, placed, NULL, &m->cpr, &m->outcome), "weigh");
  m->context->backend->release(m->context, placed);
}

static inline void make_pressure(struct model *m, int sweeps)
{
  double *const scale[] = {m->cpr.solution, m->cpr.residual + m->cpr.rows};
  tap_need(m->context, m->kernels->pressure(m->context, m->A, &m->cpr, m->pressure, &m->outcome), "pressure");
  if (sweeps == 0 || m->outcome.reason != KARST_SOUND) return;
  m->context->backend->fill(m->context, m->cpr.rows, 1, scale[0]);
  for (int k = 0; k < sweeps; k++)
    m->kernels->balance(m->context, &m->cpr, m->pressure, NULL, scale[k % 2], scale[(k + 1) % 2]);
  m->kernels->scale(m->context, &m->cpr, scale[sweeps % 2], m->pressure);
}

static inline double *weights_on_host(const struct model *m)
{
  return to_host(m, (int64_t)m->b * m->pattern.n, m->cpr.weight);
}

/* Solves block^T w = e_p and divides w by its largest absolute value; false for a singular block. */
static inline bool solve_weights(int b, int p, const double *block, double *w)
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
static inline void cell_block(const struct model *m, bool sum, karst_index j, double *block)
{
  for (int v = 0; v < m->b * m->b; v++) block[v] = 0;
  for (karst_index i = 0; i < m->pattern.n; i++)
    if ((sum || i == j) && pattern_has(&m->pattern, i, j))
      for (int v = 0; v < m->b * m->b; v++) block[v] += entry(m, i, j, 0, 0)[v];
}

/* Returns the largest difference between the weights and dense ones, and counts those that are
 * guarded. given: [b*b*n], or NULL; singular: the cell whose block is known to be, or -1. */
static inline double weights_error(const struct model *m, karst_cpr_weights kind, const double *given,
                                   karst_index singular, int64_t *guarded)
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

/* Returns the largest difference of A_p from w^T A e_p, relative to that of the entries' absolute values. */
static inline double pressure_error(const struct model *m, const double *weight)
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
static inline double subtract_error(const struct model *m, double scale)
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

#endif
