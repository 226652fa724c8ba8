/* stream.c - measures the memory bandwidth as the STREAM benchmark defines it (J. D. McCalpin, 1995): the copy c
 * = a counts 16 bytes an entry, the triad a = b + s c counts 24. The result is the best of a few passes. */
#include "tools/src/bench/bench_place.h"

#include <stdlib.h>

#define PASSES 8

static void copy(int threads, int64_t length, const double *restrict a, double *restrict c)
{
#ifdef _OPENMP
#pragma omp parallel for num_threads(threads) schedule(static)
#else
  (void)threads;
#endif
  for (int64_t i = 0; i < length; i++) c[i] = a[i];
}

static void triad(int threads, int64_t length, double s, const double *restrict b, const double *restrict c,
                  double *restrict a)
{
#ifdef _OPENMP
#pragma omp parallel for num_threads(threads) schedule(static)
#else
  (void)threads;
#endif
  for (int64_t i = 0; i < length; i++) a[i] = b[i] + s * c[i];
}

/* Allocates an array that begins on a page, independently of malloc, so that loads and stores of several arrays do not
 * collide. */
static double *new_array(int64_t length)
{
  const size_t page = 4096, bytes = (size_t)length * sizeof(double);
  double *array = aligned_alloc(page, (bytes + page - 1) / page * page);

  for (int64_t i = 0; array && i < length; i++) array[i] = 1.0;
  return array;
}

bool bench_stream(int threads, int64_t length, double *copy_bandwidth, double *triad_bandwidth)
{
  const double bytes = (double)length * sizeof(double);
  double *a = new_array(length), *b = new_array(length), *c = new_array(length);
  const bool done = a && b && c;

  *copy_bandwidth = *triad_bandwidth = 0.0;
  for (int pass = 0; done && pass < PASSES; pass++) {
    const double start = tool_clock();
    copy(threads, length, a, c);
    const double middle = tool_clock();
    triad(threads, length, 2.385, b, c, a);
    const double end = tool_clock();
    const double copied = 2 * bytes / (middle - start), summed = 3 * bytes / (end - middle);
    if (copied > *copy_bandwidth) *copy_bandwidth = copied;
    if (summed > *triad_bandwidth) *triad_bandwidth = summed;
  }
  free(a);
  free(b);
  free(c);
  return done;
}
