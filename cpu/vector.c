/* vector.c - vector operations on the CPU, written to move each vector through memory once.
 *
 * A vector of n scalars is cut into SEGMENTS pieces whose limits depend on n alone. Each piece has its own partial
 * sums, added in order at the end, so that a sum has the same bits for every number of threads. Inside a piece the work
 * goes tile by tile: a tile of y stays in the first-level cache while all the x stream past it. */
#include "cpu/cpu.h"
#include "lib/backend/dense.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum {
  SEGMENTS = 64, /* more than the threads that a memory system can feed */
  TILE = 1024,   /* scalars: 8 KiB of y */
  LANES = 8,     /* independent partial sums: two AVX registers, or four SSE */
  BATCH = 32,    /* vectors whose partial sums are kept at a time */
  SHORT = SEGMENTS * LANES
};

static void segment_limits(int64_t n, int segment, int64_t *first, int64_t *last)
{
  int64_t lines = (n + LANES - 1) / LANES; /* limits on cache lines */
  *first = karst_share(lines, segment, SEGMENTS) * LANES;
  *last = karst_share(lines, segment + 1, SEGMENTS) * LANES;
  if (*first > n) *first = n;
  if (*last > n) *last = n;
}

/* Returns the first segment of a thread of this team. */
static int segment_share(int thread) { return (int)karst_share(SEGMENTS, thread, karst_team()); }

/* Half of the lanes, in whatever registers there are. It may be loaded from any address. */
typedef double half __attribute__((vector_size(LANES / 2 * sizeof(double)), aligned(sizeof(double)), may_alias));

#define LOAD(x) (*(const half *)(x))

KARST_INLINE double add_lanes(const half *low, const half *high)
{
  half sum = *low + *high;
  return (sum[0] + sum[2]) + (sum[1] + sum[3]);
}

/* Adds x . y to *sum. */
KARST_INLINE void dot_one(int64_t n, const double *x, const double *y, double *sum)
{
  half low = {0}, high = {0};
  double rest = 0;
  int64_t i = 0;
  for (; i + LANES <= n; i += LANES) {
    low += LOAD(x + i) * LOAD(y + i);
    high += LOAD(x + i + LANES / 2) * LOAD(y + i + LANES / 2);
  }
  for (; i < n; i++) rest += x[i] * y[i];
  *sum += add_lanes(&low, &high) + rest;
}

/* Adds x[v] . y to sum[v] for four vectors. Several streams at once keep the memory busier than one. */
KARST_INLINE void dot_four(int64_t n, const double *const *x, const double *y, double *sum)
{
  half low0 = {0}, low1 = {0}, low2 = {0}, low3 = {0}, high0 = {0}, high1 = {0}, high2 = {0}, high3 = {0};
  const double *x0 = x[0], *x1 = x[1], *x2 = x[2], *x3 = x[3];
  double rest[4] = {0};
  int64_t i = 0;
  for (; i + LANES <= n; i += LANES) {
    half low = LOAD(y + i), high = LOAD(y + i + LANES / 2);
    low0 += LOAD(x0 + i) * low;
    low1 += LOAD(x1 + i) * low;
    low2 += LOAD(x2 + i) * low;
    low3 += LOAD(x3 + i) * low;
    high0 += LOAD(x0 + i + LANES / 2) * high;
    high1 += LOAD(x1 + i + LANES / 2) * high;
    high2 += LOAD(x2 + i + LANES / 2) * high;
    high3 += LOAD(x3 + i + LANES / 2) * high;
  }
  for (; i < n; i++)
    for (int v = 0; v < 4; v++) rest[v] += x[v][i] * y[i];
  sum[0] += add_lanes(&low0, &high0) + rest[0];
  sum[1] += add_lanes(&low1, &high1) + rest[1];
  sum[2] += add_lanes(&low2, &high2) + rest[2];
  sum[3] += add_lanes(&low3, &high3) + rest[3];
}

/* Adds c[0] x0 + ... + c[3] x3 to y. */
KARST_INLINE void add_four(int64_t n, const double *c, const double *restrict x0, const double *restrict x1,
                           const double *restrict x2, const double *restrict x3, double *restrict y)
{
  const double c0 = c[0], c1 = c[1], c2 = c[2], c3 = c[3];
  for (int64_t i = 0; i < n; i++) y[i] += (c0 * x0[i] + c1 * x1[i]) + (c2 * x2[i] + c3 * x3[i]);
}

KARST_INLINE void add_one(int64_t n, double c, const double *restrict x, double *restrict y)
{
  for (int64_t i = 0; i < n; i++) y[i] += c * x[i];
}

KARST_INLINE void scale(int64_t n, double factor, const double *x, double *y)
{
  for (int64_t i = 0; i < n; i++) y[i] = factor * x[i];
}

void karst_fill_cpu(karst_context *context, int64_t n, double value, double *x)
{
  karst_piece piece = karst_begin(context, KARST_KIND_FILL, n);
#pragma omp parallel for num_threads(piece.threads) schedule(static)
  for (int64_t i = 0; i < n; i++) x[i] = value;
  karst_end(context, &piece);
}

void karst_copy_cpu(karst_context *context, int64_t n, const double *x, double *y)
{
  karst_piece piece = karst_begin(context, KARST_KIND_COPY, n);
#pragma omp parallel for num_threads(piece.threads) schedule(static)
  for (int64_t i = 0; i < n; i++) y[i] = x[i];
  karst_end(context, &piece);
}

/* Does one tile of karst_dots_cpu: adds x[i] . y to sum[i]. */
KARST_INLINE void dots_tile(int64_t size, int64_t at, int count, const double *const *x, const double *y, double *sum)
{
  int i = 0;
  for (; i + 4 <= count; i += 4) {
    const double *const tile[4] = {x[i] + at, x[i + 1] + at, x[i + 2] + at, x[i + 3] + at};
    dot_four(size, tile, y + at, sum + i);
  }
  for (; i < count; i++) dot_one(size, x[i] + at, y + at, sum + i);
}

/* Does the segments begin .. end - 1 of all products. In a short vector a segment has few elements, and a call for each
 * segment would cost more than its work. */
KARST_KERNEL static void dots_segments(int64_t n, int begin, int end, int count, const double *const *x,
                                       const double *y, double (*partial)[BATCH])
{
  for (int s = begin; s < end; s++) {
    int64_t first, last;
    segment_limits(n, s, &first, &last);
    for (int i = 0; i < count; i++) partial[s][i] = 0;
    for (int64_t at = first; at < last; at += TILE)
      dots_tile(last - at < TILE ? last - at : TILE, at, count, x, y, partial[s]);
  }
}

/* Returns x . y of vectors of up to SHORT elements, whose segments have one line of lanes or none: the same sum. */
KARST_KERNEL static double dot_short(int64_t n, const double *x, const double *y)
{
  double sum = 0;
  for (int64_t at = 0; at < n; at += LANES) {
    double line = 0;
    dot_one(n - at < LANES ? n - at : LANES, x + at, y + at, &line);
    sum += line;
  }
  return sum;
}

void karst_dots_cpu(karst_context *context, int64_t n, int count, const double *const *x, const double *y,
                    double *result)
{
  if (n <= SHORT) {
    for (int i = 0; i < count; i++) result[i] = dot_short(n, x[i], y);
    return;
  }
  karst_piece piece = karst_begin(context, KARST_KIND_DOTS, n * (count + 1));
  for (int begin = 0; begin < count; begin += BATCH) {
    int batch = count - begin < BATCH ? count - begin : BATCH;
    double partial[SEGMENTS][BATCH];
    if (piece.threads == 1)
      dots_segments(n, 0, SEGMENTS, batch, x + begin, y, partial);
    else
#pragma omp parallel num_threads(piece.threads)
      dots_segments(n, segment_share(karst_thread()), segment_share(karst_thread() + 1), batch, x + begin, y, partial);
    for (int i = 0; i < batch; i++) {
      double sum = 0;
      for (int s = 0; s < SEGMENTS; s++) sum += partial[s][i];
      result[begin + i] = sum;
    }
  }
  karst_end(context, &piece);
}

/* Does one tile of karst_combine_cpu: y = beta y + sign sum_i coefficient[i] x[i]. */
KARST_INLINE void combine_tile(int64_t size, int64_t at, int count, double sign, const double *coefficient,
                               const double *const *x, double beta, double *y)
{
  int i = 0;
  if (beta == 0)
    memset(y + at, 0, (size_t)size * sizeof *y);
  else if (beta != 1)
    scale(size, beta, y + at, y + at);
  for (; i + 4 <= count; i += 4) {
    double c[4] = {sign * coefficient[i], sign * coefficient[i + 1], sign * coefficient[i + 2],
                   sign * coefficient[i + 3]};
    add_four(size, c, x[i] + at, x[i + 1] + at, x[i + 2] + at, x[i + 3] + at, y + at);
  }
  for (; i < count; i++) add_one(size, sign * coefficient[i], x[i] + at, y + at);
}

KARST_KERNEL static void combine_segments(int64_t n, int begin, int end, int count, double sign,
                                          const double *coefficient, const double *const *x, double beta, double *y,
                                          double *partial)
{
  for (int s = begin; s < end; s++) {
    int64_t first, last;
    segment_limits(n, s, &first, &last);
    if (partial) partial[s] = 0;
    for (int64_t at = first; at < last; at += TILE) {
      int64_t size = last - at < TILE ? last - at : TILE;
      combine_tile(size, at, count, sign, coefficient, x, beta, y);
      if (partial) dot_one(size, y + at, y + at, &partial[s]);
    }
  }
}

/* Combines all elements in one pass, without sums. */
KARST_KERNEL static void combine_all(int64_t n, int count, double sign, const double *coefficient,
                                     const double *const *x, double beta, double *y)
{
  for (int64_t at = 0; at < n; at += TILE)
    combine_tile(n - at < TILE ? n - at : TILE, at, count, sign, coefficient, x, beta, y);
}

void karst_combine_cpu(karst_context *context, int64_t n, int count, double sign, const double *coefficient,
                       const double *const *x, const double *beta, double *y, double *norm2)
{
  double partial[SEGMENTS], factor = beta ? *beta : 1, *sums = norm2 ? partial : NULL;
  if (n <= SHORT) {
    combine_all(n, count, sign, coefficient, x, factor, y);
    if (norm2) *norm2 = dot_short(n, y, y);
    return;
  }
  karst_piece piece = karst_begin(context, KARST_KIND_COMBINE, n * (count + 1));
  if (piece.threads > 1)
#pragma omp parallel num_threads(piece.threads)
    combine_segments(n, segment_share(karst_thread()), segment_share(karst_thread() + 1), count, sign, coefficient, x,
                     factor, y, sums);
  else if (norm2)
    combine_segments(n, 0, SEGMENTS, count, sign, coefficient, x, factor, y, sums);
  else
    combine_all(n, count, sign, coefficient, x, factor, y);
  karst_end(context, &piece);
  if (!norm2) return;
  double sum = 0;
  for (int s = 0; s < SEGMENTS; s++) sum += partial[s];
  *norm2 = sum;
}

/* y = factor x in elements first .. last - 1. The factor 0 gives zeros for any x. */
KARST_KERNEL static void scale_elements(int64_t first, int64_t last, double factor, const double *x, double *y)
{
  if (factor != 0)
    scale(last - first, factor, x + first, y + first);
  else
    memset(y + first, 0, (size_t)(last - first) * sizeof *y);
}

void karst_normalise_cpu(karst_context *context, int64_t n, const double *norm2, const double *x, double *y)
{
  const double norm = sqrt(*norm2);
  const bool usable = norm > 0 && isfinite(norm);
  const double divisor = usable ? norm : 1, inverse = usable ? 1 / divisor : 0;
  karst_piece piece = karst_begin(context, KARST_KIND_NORMALISE, n);
  if (piece.threads == 1)
    scale_elements(0, n, inverse, x, y);
  else
#pragma omp parallel num_threads(piece.threads)
    scale_elements(karst_share(n, karst_thread(), karst_team()), karst_share(n, karst_thread() + 1, karst_team()),
                   inverse, x, y);
  karst_end(context, &piece);
}

/* a / b, or 0 if that is not finite. No division here can raise an exception, because simulators trap them. An unused
 * divisor is replaced by 1: clang divides before it tests the condition. */
static double divide(double a, double b)
{
  const double size = fabs(b);
  const bool usable = size >= 1 || (size > 0 && fabs(a) <= DBL_MAX * size);
  const double divisor = usable ? b : 1;
  return usable ? a / divisor : 0;
}

void karst_quotient_cpu(karst_context *context, double sign, const double *a, const double *b, const double *c,
                        const double *d, double *result)
{
  double value = sign * divide(*a, *b);
  (void)context;
  if (c && d) value *= divide(*c, *d);
  *result = isfinite(value) ? value : 0;
}

void karst_gather_cpu(karst_context *context, karst_index count, int b, const karst_index *index, const double *x,
                      double *y)
{
  karst_piece piece = karst_begin(context, KARST_KIND_GATHER, (int64_t)count * b);
#pragma omp parallel for num_threads(piece.threads) schedule(static)
  for (karst_index i = 0; i < count; i++) memcpy(y + (int64_t)i * b, x + (int64_t)index[i] * b, (size_t)b * sizeof *y);
  karst_end(context, &piece);
}

void karst_scatter_cpu(karst_context *context, karst_index count, int b, const karst_index *index, const double *x,
                       double *y)
{
  karst_piece piece = karst_begin(context, KARST_KIND_SCATTER, (int64_t)count * b);
#pragma omp parallel for num_threads(piece.threads) schedule(static)
  for (karst_index i = 0; i < count; i++) memcpy(y + (int64_t)index[i] * b, x + (int64_t)i * b, (size_t)b * sizeof *y);
  karst_end(context, &piece);
}
