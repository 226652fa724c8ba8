/* sweep.cu - a pass over the blocks of parilu and paric on the GPU (Chow, Anzt, Dongarra, Algorithm 1), for small
 * blocks: it makes the update, the nonlinear residual, or both.
 *
 *     parilu   L_ij = S_ij U_jj^-1,    U_ij = S_ij          S_ij = A_ij - sum_{k < min(i,j)} L_ik U_kj
 *     paric    L_ij = S_ij L_jj^-T,    L_jj L_jj^T = S_jj   S_ij = A_ij - sum_{k < j} L_ik L_jk^T
 *
 * A lane makes one scalar row of a block, for which it needs nothing of its neighbours; b lanes make a block, and a
 * warp as many blocks as it has lanes for. They read the same right blocks and inverses, one element at a time.
 *
 * Diagonal blocks appear in no product: a pass divides by them. Where b = 1 it reads the pivot itself. Where blocks are
 * larger it reads the inverses, which are made between synchronous passes (pivots.cu), so that a pass leaves S_jj where
 * paric is going to have L_jj. In an asynchronous pass the first lane of a diagonal block makes the inverse on the
 * spot.
 *
 * A pass for b = 1 moves 12 bytes for the task, pivot and list of each task, 16 for A, which is read, and the result,
 * which is written, 8 for the factors, and 8 for each product. The factors of the products come from the second-level
 * cache for the most part. */
#include "sweeps.h"
#include "pivot.h"

namespace
{

enum { THREADS = KARST_PARILU_THREADS, WARPS = THREADS / 32 };

/* Products fetched at once: short lists are the rule, and their loads depend on each other. */
template <int B> constexpr int products_at_once = B == 1 ? 4 : 1;

/* What a lane does of a task. */
struct place {
  karst_index block, pivot;
  int r;
};

/* Subtracts from sum row r of block left times block right, which for paric is transposed. */
template <int B, bool symmetric, bool racing>
__device__ __forceinline__ void subtract_product(const double *value, karst_index left, karst_index right, int r,
                                                 double (&sum)[B])
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

/* Makes row r of S_ij in sum. */
template <int B, bool symmetric, bool racing>
__device__ __forceinline__ void sum_products(const karst_parilu_pass_cuda &p, int64_t t, const place &at,
                                             double (&sum)[B])
{
  constexpr int K = products_at_once<B>;
  const karst_index end = p.plan.list[t + 1];
#pragma unroll
  for (int c = 0; c < B; c++) sum[c] = p.A[karst_cuda_offset(B, at.block) + c * B + at.r];
  for (karst_index n = p.plan.list[t]; n < end; n += K) {
    if constexpr (K == 1) {
      const karst_parilu_product product = p.plan.product[n];
      subtract_product<B, symmetric, racing>(p.from, product.left, product.right, at.r, sum);
    } else {
      double left[K], right[K];
#pragma unroll
      for (int k = 0; k < K; k++) {
        left[k] = right[k] = 0;
        if (n + k < end) {
          const karst_parilu_product product = p.plan.product[n + k];
          left[k] = karst_parilu_load<racing>(p.from + product.left);
          right[k] = karst_parilu_load<racing>(p.from + product.right);
        }
      }
#pragma unroll
      for (int k = 0; k < K; k++) sum[0] -= left[k] * right[k];
    }
  }
}

/* Returns the sum of the squares of row r of the weighted residual, which is S_ij less what stands for it in the
 * factors: L_ij U_jj, U_ij or L_ij L_jj^T. */
template <int B, bool symmetric>
__device__ __forceinline__ double measure(const karst_parilu_pass_cuda &p, int64_t t, const place &at,
                                          int64_t scalar_rows, const double (&sum)[B])
{
  const int64_t i = p.plan.row[t], j = p.column[at.block];
  const double row_weight = p.weight[i * B + at.r], *weight = p.weight + (symmetric ? 0 : scalar_rows) + j * B;
  double residual[B], square = 0;
#pragma unroll
  for (int c = 0; c < B; c++) residual[c] = sum[c];
  if (symmetric || i > j)
    subtract_product<B, symmetric, false>(p.from, at.block, at.pivot, at.r, residual);
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
__device__ __forceinline__ void finish(const karst_parilu_pass_cuda &p, const place &at, const double (&sum)[B])
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
    const double *inverse = p.inverse + karst_cuda_offset(B, p.column[at.block]);
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
template <int B, bool symmetric> __device__ __noinline__ void renew_pivot(double *value, double *inverse)
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

template <int B, bool symmetric, int how>
__global__ void __launch_bounds__(THREADS) pass_small(const karst_parilu_pass_cuda p, int64_t scalar_rows)
{
  constexpr int R = 32 / B;
  constexpr bool racing = (how & KARST_PARILU_IN_PLACE) != 0;
  const int lane = (int)threadIdx.x % 32, q = lane / B;
  double square = 0;
  for (int64_t first = ((int64_t)blockIdx.x * WARPS + threadIdx.x / 32) * R; first < p.plan.tasks;
       first += (int64_t)gridDim.x * WARPS * R) {
    const int64_t t = first + q;
    const bool mine = q < R && t < p.plan.tasks;
    place at = {-1, -1, lane % B};
    if (mine) {
      double sum[B];
      at.block = p.plan.task[t];
      at.pivot = p.plan.pivot[t];
      sum_products<B, symmetric, racing>(p, t, at, sum);
      if constexpr ((how & KARST_PARILU_MEASURE) != 0) square += measure<B, symmetric>(p, t, at, scalar_rows, sum);
      if constexpr ((how & KARST_PARILU_UPDATE) != 0) finish<B, symmetric, racing>(p, at, sum);
    }
    if constexpr (racing && B > 1) {
      __syncwarp(); /* the block is stored by b lanes */
      if (mine && at.r == 0 && at.pivot == at.block)
        renew_pivot<B, symmetric>(p.to + karst_cuda_offset(B, at.block),
                                  p.inverse + karst_cuda_offset(B, p.column[at.block]));
    }
  }
  if constexpr ((how & KARST_PARILU_MEASURE) != 0) karst_parilu_sum(square, p.partial + blockIdx.x);
}

template <int B, bool symmetric>
void launch(unsigned grid, cudaStream_t stream, int how, const karst_parilu_pass_cuda *p, int64_t scalar_rows)
{
  enum { UPDATE = KARST_PARILU_UPDATE, IN_PLACE = KARST_PARILU_IN_PLACE, MEASURE = KARST_PARILU_MEASURE };
  if (how == UPDATE)
    pass_small<B, symmetric, UPDATE><<<grid, THREADS, 0, stream>>>(*p, scalar_rows);
  else if (how == (UPDATE | IN_PLACE))
    pass_small<B, symmetric, UPDATE | IN_PLACE><<<grid, THREADS, 0, stream>>>(*p, scalar_rows);
  else if (how == (UPDATE | MEASURE))
    pass_small<B, symmetric, UPDATE | MEASURE><<<grid, THREADS, 0, stream>>>(*p, scalar_rows);
  else
    pass_small<B, symmetric, MEASURE><<<grid, THREADS, 0, stream>>>(*p, scalar_rows);
}

} // namespace

unsigned karst_parilu_pass_small_cuda(karst_context *context, const karst_parilu *parilu, int how,
                                      const karst_parilu_pass_cuda *pass)
{
  const karst_matrix *F = parilu->F;
  const int b = F->block_size;
  const int64_t scalar_rows = (int64_t)F->block_rows * b;
  const unsigned grid = karst_parilu_grid(how, &pass->plan, WARPS * (32 / b));
  karst_cuda_instance(b, [&](auto size) {
    constexpr int B = decltype(size)::value;
    cudaStream_t stream = karst_cuda_of(context)->stream;
    if constexpr (B > 0) {
      if (parilu->symmetric)
        launch<B, true>(grid, stream, how, pass, scalar_rows);
      else
        launch<B, false>(grid, stream, how, pass, scalar_rows);
    }
  });
  return grid;
}
