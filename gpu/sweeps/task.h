/* task.h - a lane's work on a task of parilu or paric with small blocks, wherever its products come from. */
#ifndef KARST_GPU_SWEEPS_TASK_H
#define KARST_GPU_SWEEPS_TASK_H

#include "gpu/sweeps/sweep_pivot.h"
#include "gpu/sweeps/sweeps_cuda.h"

/* A lane's part of a task. */
struct karst_parilu_place {
  karst_index block, pivot;
  int r;
};

/* Subtracts from sum row r of block left times block right, which for paric is transposed. */
template <int B, bool symmetric, bool racing>
static __device__ __forceinline__ void karst_parilu_subtract_product(const double *value, karst_index left,
                                                                     karst_index right, int r, double (&sum)[B])
{
  const double *row = value + karst_cuda_offset(B, left) + r, *block = value + karst_cuda_offset(B, right);
#pragma unroll
  for (int k = 0; k < B; k++) {
    const double factor = karst_parilu_load<racing>(row + k * B);
#pragma unroll
    for (int c = 0; c < B; c++)
      sum[c] -= factor * karst_parilu_load<racing>(block + (symmetric ? k * B + c : c * B + k));
  }
}

/* Makes sum row r of block (i,j) of A. */
template <int B>
static __device__ __forceinline__ void karst_parilu_start(const karst_parilu_pass_cuda &p, const karst_parilu_place &at,
                                                          double (&sum)[B])
{
#pragma unroll
  for (int c = 0; c < B; c++) sum[c] = p.A[karst_cuda_offset(B, at.block) + c * B + at.r];
}

/* Subtracts from sum row r of the products number n up to end of a list, fetching K of them at once. */
template <int B, bool symmetric, bool racing, int K>
static __device__ __forceinline__ void karst_parilu_subtract_list(const double *value, const karst_parilu_product *list,
                                                                  karst_index n, karst_index end, int r,
                                                                  double (&sum)[B])
{
  for (; n < end; n += K) {
    if constexpr (K == 1) {
      const karst_parilu_product product = list[n];
      karst_parilu_subtract_product<B, symmetric, racing>(value, product.left, product.right, r, sum);
    } else {
      double left[K], right[K];
#pragma unroll
      for (int k = 0; k < K; k++) {
        left[k] = right[k] = 0;
        if (n + k < end) {
          const karst_parilu_product product = list[n + k];
          left[k] = karst_parilu_load<racing>(value + product.left);
          right[k] = karst_parilu_load<racing>(value + product.right);
        }
      }
#pragma unroll
      for (int k = 0; k < K; k++) sum[0] -= left[k] * right[k];
    }
  }
}

/* Returns the sum of the squares of row r of the weighted residual, which is S_ij less its value in the factors: L_ij
 * U_jj, U_ij or L_ij L_jj^T. */
template <int B, bool symmetric>
static __device__ __forceinline__ double karst_parilu_measure(const karst_parilu_pass_cuda &p, int64_t t,
                                                              const karst_parilu_place &at, int64_t scalar_rows,
                                                              const double (&sum)[B])
{
  const int64_t i = p.plan.row[t], j = p.S.column[at.block];
  const double row_weight = p.weight[i * B + at.r], *weight = p.weight + (symmetric ? 0 : scalar_rows) + j * B;
  double residual[B], square = 0;
#pragma unroll
  for (int c = 0; c < B; c++) residual[c] = sum[c];
  if (symmetric || i > j)
    karst_parilu_subtract_product<B, symmetric, false>(p.from, at.block, at.pivot, at.r, residual);
  else
#pragma unroll
    for (int c = 0; c < B; c++) residual[c] -= p.from[karst_cuda_offset(B, at.block) + c * B + at.r];
#pragma unroll
  for (int c = 0; c < B; c++) {
    const double entry = row_weight * residual[c] * weight[c];
    square += entry * entry;
  }
  return symmetric && i > j ? 2 * square : square;
}

/* Makes row r of the factor from that of S_ij, which is in sum, and stores it in p.to. */
template <int B, bool symmetric, bool racing>
static __device__ __forceinline__ void karst_parilu_finish(const karst_parilu_pass_cuda &p,
                                                           const karst_parilu_place &at, const double (&sum)[B])
{
  const bool lower = at.pivot >= 0 && at.pivot != at.block;
  double *to = p.to + karst_cuda_offset(B, at.block) + at.r;
  double row[B];
#pragma unroll
  for (int c = 0; c < B; c++) row[c] = sum[c];
  if constexpr (B == 1) {
    if (lower)
      row[0] = karst_parilu_divide(sum[0], karst_parilu_load<racing>(p.from + at.pivot));
    else if (symmetric)
      row[0] = karst_parilu_root(sum[0]);
  } else if (lower) {
    const double *inverse = p.inverse + karst_cuda_offset(B, p.S.column[at.block]);
#pragma unroll
    for (int c = 0; c < B; c++) {
      row[c] = 0;
#pragma unroll
      for (int k = 0; k < B; k++)
        row[c] += sum[k] * karst_parilu_load<racing>(inverse + (symmetric ? k * B + c : c * B + k));
    }
  }
#pragma unroll
  for (int c = 0; c < B; c++) karst_parilu_store<racing>(to + c * B, row[c]);
}

/* Makes the inverse of a diagonal block that an asynchronous sweep has just stored, and for paric its Cholesky
 * factor. */
template <int B, bool symmetric>
static __device__ __noinline__ void karst_parilu_renew_pivot(double *value, double *inverse)
{
  double block[B * B], inverted[B * B];
#pragma unroll
  for (int v = 0; v < B * B; v++) block[v] = karst_look(value + v);
  karst_parilu_pivot<B, symmetric>(false, block, inverted);
#pragma unroll
  for (int v = 0; v < B * B; v++) {
    if (symmetric) karst_publish(value + v, block[v]);
    karst_publish(inverse + v, inverted[v]);
  }
}

/* Updates or measures with the sums, as how says, and returns the square of their residual if measured. All lanes of
 * the warp take part; mine: this one has a row of task t. */
template <int B, bool symmetric, int how>
static __device__ __forceinline__ double karst_parilu_end(const karst_parilu_pass_cuda &p, bool mine, int64_t t,
                                                          const karst_parilu_place &at, int64_t scalar_rows,
                                                          const double (&sum)[B])
{
  constexpr bool racing = (how & KARST_PARILU_IN_PLACE) != 0;
  double square = 0;
  if (mine) {
    if constexpr ((how & KARST_PARILU_MEASURE) != 0)
      square = karst_parilu_measure<B, symmetric>(p, t, at, scalar_rows, sum);
    if constexpr ((how & KARST_PARILU_UPDATE) != 0) karst_parilu_finish<B, symmetric, racing>(p, at, sum);
  }
  if constexpr (racing && B > 1) {
    __syncwarp(); /* the block is stored by b lanes */
    if (mine && at.r == 0 && at.pivot == at.block)
      karst_parilu_renew_pivot<B, symmetric>(p.to + karst_cuda_offset(B, at.block),
                                             p.inverse + karst_cuda_offset(B, p.S.column[at.block]));
  }
  return square;
}

#endif
