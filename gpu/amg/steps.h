/* steps.h - the steps of a cycle as kernels see them, and what is done for a row. */
#ifndef KARST_GPU_AMG_STEPS_H
#define KARST_GPU_AMG_STEPS_H

#include "gpu/amg/group.h"

/* What a step computes for row i of its matrix; s: the row's product with x. */
enum karst_amg_use {
  KARST_AMG_USE_FIRST,          /* y = factor D^-1 f, and d the same unless it is NULL; no product */
  KARST_AMG_USE_SWEEP,          /* y = x + factor D^-1 (f - s) */
  KARST_AMG_USE_MOMENTUM,       /* d = keep d + factor D^-1 (f - s), y = x + d */
  KARST_AMG_USE_RESIDUAL,       /* y = f - s */
  KARST_AMG_USE_FIRST_RESIDUAL, /* a first sweep d and its residual y: x is factor D^-1 f, computed for each entry */
  KARST_AMG_USE_RESTRICT,       /* y = s */
  KARST_AMG_USE_PROLONG,        /* y = y + factor s */
  KARST_AMG_USE_INVERT          /* y = W f, W dense, column by column */
};

/* A step; all arrays are device memory. */
template <typename T> struct karst_amg_item {
  karst_amg_use use;
  int lanes; /* of a group that takes a row */
  int level;
  int64_t entries; /* of A */
  karst_amg_view<T> A;
  const T *f, *weight, *x, *inverse;
  T *y, *d;
  T factor, keep;
};

/* Loads an element of a vector. FRESH: other multiprocessors may have changed it in this kernel, so it is read past the
 * first-level cache. */
template <bool FRESH, typename T> static __device__ __forceinline__ T karst_amg_get(const T *from)
{
  return FRESH ? __ldcg(from) : *from;
}

template <bool FRESH, typename T>
static __device__ __forceinline__ void karst_amg_first_row(const karst_amg_item<T> &s, int64_t i)
{
  const T y = s.factor * (s.weight[i] * karst_amg_get<FRESH>(s.f + i));
  s.y[i] = y;
  if (s.d) s.d[i] = y;
}

/* Does a step with a product for row i; all lanes of the group call it. */
template <karst_amg_use USE, int LANES, bool FRESH, typename T>
static __device__ __forceinline__ void karst_amg_do_row(const karst_amg_item<T> &s, int64_t i)
{
  using group = karst_amg_group<LANES>;
  enum { FIRST_RESIDUAL = USE == KARST_AMG_USE_FIRST_RESIDUAL, MOMENTUM = USE == KARST_AMG_USE_MOMENTUM };
  T sum = 0;
  for (karst_index e = s.A.start[i] + group::lane(); e < s.A.start[i + 1]; e += LANES) {
    const karst_index j = s.A.column[e];
    const T x =
        FIRST_RESIDUAL ? s.factor * (s.weight[j] * karst_amg_get<FRESH>(s.f + j)) : karst_amg_get<FRESH>(s.x + j);
    sum += s.A.value[e] * x;
  }
  sum = group::sum(sum);
  if (group::lane() > 0) return;
  if (USE == KARST_AMG_USE_RESTRICT) s.y[i] = sum;
  if (USE == KARST_AMG_USE_PROLONG) s.y[i] = karst_amg_get<FRESH>(s.y + i) + s.factor * sum;
  if (USE == KARST_AMG_USE_RESTRICT || USE == KARST_AMG_USE_PROLONG) return;
  const T f = karst_amg_get<FRESH>(s.f + i);
  if (USE == KARST_AMG_USE_RESIDUAL || FIRST_RESIDUAL) s.y[i] = f - sum;
  if (FIRST_RESIDUAL) s.d[i] = s.factor * (s.weight[i] * f);
  if (USE == KARST_AMG_USE_RESIDUAL || FIRST_RESIDUAL) return;
  T change = s.factor * (s.weight[i] * (f - sum));
  if (MOMENTUM && s.keep != 0) change += s.keep * karst_amg_get<FRESH>(s.d + i);
  if (MOMENTUM) s.d[i] = change;
  s.y[i] = karst_amg_get<FRESH>(s.x + i) + change;
}

/* The uses with a product of rows, each as an argument of X. */
#define KARST_AMG_USES(X)                                                                                              \
  X(KARST_AMG_USE_SWEEP)                                                                                               \
  X(KARST_AMG_USE_MOMENTUM)                                                                                            \
  X(KARST_AMG_USE_RESIDUAL)                                                                                            \
  X(KARST_AMG_USE_FIRST_RESIDUAL) X(KARST_AMG_USE_RESTRICT) X(KARST_AMG_USE_PROLONG)

/* tail.cu: whether the device runs several thread blocks as a cluster, and how large a level may be for it. */
struct karst_amg_tail {
  unsigned blocks; /* of the cluster */
  int64_t rows;    /* of a level at most */
};
karst_amg_tail karst_amg_tail_of_cuda(const struct karst_cuda *cuda, bool single);
/* Runs items first .. end - 1 in one launch. */
void karst_amg_launch_tail_cuda(const struct karst_cuda *cuda, const karst_amg *amg, int first, int end);

#endif
