/* steps.h - the steps of a cycle as kernels see them, and what is done for a row. */
#ifndef KARST_GPU_AMG_STEPS_H
#define KARST_GPU_AMG_STEPS_H

#include "gpu/amg/group.h"

/* What a step computes for row i of its matrix; s: the row's product with x. */
enum karst_amg_use {
  KARST_AMG_USE_FIRST,    /* y = factor D^-1 f, and d the same unless it is NULL; no product */
  KARST_AMG_USE_SWEEP,    /* y = x + factor D^-1 (f - s) */
  KARST_AMG_USE_MOMENTUM, /* d = keep d + factor D^-1 (f - s), y = x + d */
  KARST_AMG_USE_RESIDUAL, /* y = f - s */
  KARST_AMG_USE_RESTRICT, /* y = s; and the first sweep of the next level, unless first is NULL: first = factor D^-1 s
                           * with the weights of that level, and d the same unless it is NULL */
  KARST_AMG_USE_PROLONG,  /* y = y + factor s */
  KARST_AMG_USE_INVERT,   /* y = W f, W dense, row by row */
  KARST_AMG_USE_CALL,     /* the host calls back */
  KARST_AMG_USE_LINES     /* d = M^-1 x by kernels of their own, then y = keep y + factor 2^exponent d */
};

/* A step; all arrays are device memory. */
template <typename T> struct karst_amg_item {
  karst_amg_use use;
  int lanes; /* of a group that takes a row in the tail: 4, 8 or 16 */
  int step;  /* its number in the cycle */
  int level;
  int64_t entries; /* of A */
  karst_amg_view<T> A;
  const T *weight, *inverse;
  const double *f, *x;
  double *y, *d, *first;
  double factor, keep;
};

/* Loads an element of a vector. FRESH: other multiprocessors may have changed it in this kernel, so it is read past the
 * first-level cache. */
template <bool FRESH> static __device__ __forceinline__ double karst_amg_get(const double *from)
{
  return FRESH ? __ldcg(from) : *from;
}

/* A first sweep for row i, where the right-hand side is f. */
template <typename T>
static __device__ __forceinline__ void karst_amg_first_row(const karst_amg_item<T> &s, double *y, int64_t i, double f)
{
  const double first = s.factor * (s.weight[i] * f);
  y[i] = first;
  if (s.d) s.d[i] = first;
}

/* What a row needs besides its product. */
struct karst_amg_row {
  double f, weight, old, d;
};

template <karst_amg_use USE, bool FRESH, typename T>
static __device__ __forceinline__ karst_amg_row karst_amg_load_row(const karst_amg_item<T> &s, int64_t i)
{
  enum { SWEEP = USE == KARST_AMG_USE_SWEEP || USE == KARST_AMG_USE_MOMENTUM };
  karst_amg_row row = {0, 0, 0, 0};
  if (SWEEP || USE == KARST_AMG_USE_RESIDUAL) row.f = karst_amg_get<FRESH>(s.f + i);
  if (SWEEP) row.weight = s.weight[i];
  if (SWEEP) row.old = karst_amg_get<FRESH>(s.x + i);
  if (USE == KARST_AMG_USE_PROLONG) row.old = karst_amg_get<FRESH>(s.y + i);
  if (USE == KARST_AMG_USE_MOMENTUM && s.keep != 0) row.d = karst_amg_get<FRESH>(s.d + i);
  return row;
}

template <karst_amg_use USE, typename T>
static __device__ __forceinline__ void karst_amg_finish_row(const karst_amg_item<T> &s, int64_t i,
                                                            const karst_amg_row &row, double sum)
{
  if (USE == KARST_AMG_USE_RESTRICT && s.first) karst_amg_first_row(s, s.first, i, sum);
  double y = sum;
  if (USE == KARST_AMG_USE_PROLONG) y = row.old + s.factor * sum;
  if (USE == KARST_AMG_USE_RESIDUAL) y = row.f - sum;
  if (USE == KARST_AMG_USE_SWEEP || USE == KARST_AMG_USE_MOMENTUM) {
    double change = s.factor * (row.weight * (row.f - sum));
    if (USE == KARST_AMG_USE_MOMENTUM) s.d[i] = change += s.keep * row.d;
    y = row.old + change;
  }
  s.y[i] = y;
}

/* Does a step with a product for row i; all lanes of the group call it. */
template <karst_amg_use USE, int LANES, bool FRESH, typename T>
static __device__ __forceinline__ void karst_amg_do_row(const karst_amg_item<T> &s, int64_t i)
{
  enum { AHEAD = 4 /* entries that a lane loads before it uses the first */ };
  using group = karst_amg_group<LANES>;
  const karst_index end = s.A.start[i + 1];
  karst_amg_row row = {0, 0, 0, 0};
  double sum = 0;
  if (group::lane() == 0) row = karst_amg_load_row<USE, FRESH>(s, i);
  for (karst_index e = s.A.start[i] + group::lane(); e < end; e += LANES * AHEAD) {
    karst_index column[AHEAD];
    T value[AHEAD];
    double x[AHEAD];
#pragma unroll
    for (int u = 0; u < AHEAD; u++) {
      column[u] = e + u * LANES < end ? s.A.column[e + u * LANES] : -1;
      value[u] = e + u * LANES < end ? s.A.value[e + u * LANES] : 0;
    }
#pragma unroll
    for (int u = 0; u < AHEAD; u++) x[u] = column[u] >= 0 ? karst_amg_get<FRESH>(s.x + column[u]) : 0;
#pragma unroll
    for (int u = 0; u < AHEAD; u++) sum += value[u] * x[u];
  }
  sum = group::sum(sum);
  if (group::lane() == 0) karst_amg_finish_row<USE>(s, i, row, sum);
}

/* The same for the dense inverse, by a warp. */
template <bool FRESH, typename T>
static __device__ __forceinline__ void karst_amg_do_dense_row(const karst_amg_item<T> &s, int64_t i)
{
  using group = karst_amg_group<32>;
  double sum = 0;
  for (int64_t j = group::lane(); j < s.A.rows; j += 32)
    sum += s.inverse[i * s.A.rows + j] * karst_amg_get<FRESH>(s.f + j);
  sum = group::sum(sum);
  if (group::lane() == 0) s.y[i] = sum;
}

/* The uses with a product of rows, each as an argument of X. */
#define KARST_AMG_USES(X)                                                                                              \
  X(KARST_AMG_USE_SWEEP)                                                                                               \
  X(KARST_AMG_USE_MOMENTUM)                                                                                            \
  X(KARST_AMG_USE_RESIDUAL)                                                                                            \
  X(KARST_AMG_USE_RESTRICT)                                                                                            \
  X(KARST_AMG_USE_PROLONG)

/* tail.cu: whether the device runs several thread blocks as a cluster, and how large a level may be for it. */
struct karst_amg_tail {
  unsigned blocks;    /* of the cluster at most, a power of two */
  int64_t rows;       /* of a level at most */
  int64_t rows_least; /* of a thread block, if there are several */
  int64_t rows_alone; /* that one thread block takes alone */
};
karst_amg_tail karst_amg_tail_of_cuda(const struct karst_cuda *cuda, bool single);
enum { KARST_AMG_TAIL = 28 /* items of a launch at most */ };
/* Runs items first .. end - 1 in one launch. */
void karst_amg_launch_tail_cuda(const struct karst_cuda *cuda, const karst_amg *amg, int first, int end);

#endif
