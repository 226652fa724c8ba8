/* pressure.cu - the pressure matrix A_p = W^T A E of CPR on the GPU, its balance, and column p of each block. Some
 * lanes of a warp share a row of A_p, or a column of it; its sums depend on their number, and this on the pattern. */
#include "gpu/cpr/cpr_cuda.h"

namespace
{

enum { THREADS = KARST_CUDA_THREADS };

/* The rows that the lanes of a warp work on, for kernels whose grid goes through the rows in several turns. */
struct row_share {
  int lane;               /* of a row */
  int64_t i, step;        /* the first row, and how far it is to the next one */
  int64_t warp_row, rows; /* the first row of the warp, so that all its lanes take as many turns */

  __device__ row_share(karst_index count, int lanes) : lane((int)threadIdx.x % lanes), rows(count)
  {
    const int64_t warp = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / 32, each = 32 / lanes;
    warp_row = warp * each;
    i = warp_row + threadIdx.x % 32 / lanes;
    step = (int64_t)gridDim.x * (blockDim.x / 32) * each;
  }
  __device__ bool any() const { return warp_row < rows; }
  __device__ bool mine() const { return i < rows; }
  __device__ void next() { i += step, warp_row += step; }
};

/* The sum over the lanes of a row, in each of them. */
__device__ __forceinline__ double sum_lanes(int lanes, double value)
{
  for (int distance = lanes / 2; distance > 0; distance /= 2) value += __shfl_xor_sync(0xffffffff, value, distance);
  return value;
}

/* Keeps the largest of the numbers of a warp, which are not negative. Most warps only look. */
__device__ __forceinline__ void keep_largest(unsigned long long *largest, double number)
{
  for (int distance = 16; distance > 0; distance /= 2)
    number = fmax(number, __shfl_xor_sync(0xffffffff, number, distance));
  const unsigned long long bits = (unsigned long long)__double_as_longlong(number);
  if (threadIdx.x % 32 == 0 && bits > *static_cast<volatile unsigned long long *>(largest)) atomicMax(largest, bits);
}

/* The arguments of project. */
struct projection {
  karst_index rows;
  int b, pressure, lanes;
  const karst_index *start, *diagonal;
  const double *value, *weight;
  double *matrix; /* [blocks] A_p */
  float *column;
  double *row_sum;
  bool ghosts; /* row_sum begins with those of the couplings with ghosts */
  karst_cpr_found *found;
};

/* Makes A_p, the sums of its rows, and the pressure columns in float. */
template <int B> __global__ void __launch_bounds__(THREADS) project(projection p)
{
  const int b = B ? B : p.b;
  double largest = 0;
  for (row_share share(p.rows, p.lanes); share.any(); share.next()) {
    const int64_t i = share.i, end = share.mine() ? (int64_t)p.start[i + 1] : 0;
    double row_sum = p.ghosts && share.mine() && share.lane == 0 ? p.row_sum[i] : 0;
    bool finite = true;
    for (int64_t k = share.mine() ? p.start[i] + share.lane : 0; k < end; k += p.lanes) {
      const double *entry = p.value + karst_cuda_offset(b, k) + (int64_t)p.pressure * b;
      double sum = 0;
#pragma unroll 8
      for (int r = 0; r < b; r++) {
        const double a = entry[r];
        sum += p.weight[i * b + r] * a;
        p.column[k * b + r] = (float)a;
        if (fabs(a) > largest) largest = fabs(a);
      }
      p.matrix[k] = sum;
      row_sum += fabs(sum);
      finite = finite && fabs(sum) <= DBL_MAX;
    }
    row_sum = sum_lanes(p.lanes, row_sum);
    if (!finite) atomicMin(&p.found->bad, (unsigned long long)i);
    if (share.lane == 0 && share.mine()) p.row_sum[i] = row_sum;
    if (row_sum != 0 || !share.mine()) continue;
    const int64_t diagonal = p.diagonal[i];
    if ((diagonal - p.start[i]) % p.lanes != share.lane) continue; /* the lane that has stored it */
    atomicAdd(&p.found->empty, 1ull);
    p.matrix[diagonal] = 1;
  }
  keep_largest(&p.found->largest, largest);
}

/* Finds the unit of the pressure columns, and rounds them again if their entries are outside the range of float. */
__global__ void __launch_bounds__(THREADS) scale_columns(int64_t blocks, int b, int pressure, const double *value,
                                                         const karst_cpr_found *found, float *column, double *unit)
{
  const int exponent = karst_cpr_column_exponent(__longlong_as_double((long long)found->largest));
  const int64_t first = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, step = (int64_t)gridDim.x * blockDim.x;
  if (first == 0) *unit = ldexp(1.0, -exponent);
  if (exponent == 0) return;
  for (int64_t v = first; v < blocks * b; v += step)
    column[v] = (float)ldexp(value[karst_cuda_offset(b, v / b) + (int64_t)pressure * b + v % b], exponent);
}

/* A sweep of the balance, from the scales before to those after. parts: what other ranks have summed, or NULL. */
__global__ void __launch_bounds__(THREADS)
    balance(karst_index rows, int lanes, const karst_index *start, const karst_index *block, const karst_index *row,
            const double *matrix, const double *row_sum, const double *parts, const karst_index *part_start,
            const karst_index *part, const double *before, double *after)
{
  for (row_share share(rows, lanes); share.any(); share.next()) {
    const int64_t i = share.i, end = share.mine() ? (int64_t)start[i + 1] : 0;
    double sum = 0;
    for (int64_t e = share.mine() ? start[i] + share.lane : 0; e < end; e += lanes)
      sum += fabs(matrix[block[e]]) * before[row[e]];
    sum = sum_lanes(lanes, sum);
    if (parts && share.mine())
      for (karst_index e = part_start[i]; e < part_start[i + 1]; e++) sum += parts[part[e]];
    if (share.lane == 0 && share.mine()) after[i] = karst_cpr_balanced(before[i], sum, row_sum[i]);
  }
}

/* Multiplies rows of A_p and weights by s. */
__global__ void __launch_bounds__(THREADS) scale_rows(karst_index rows, int lanes, int b, const karst_index *start,
                                                      const double *s, double *matrix, double *weight)
{
  for (row_share share(rows, lanes); share.mine(); share.next()) {
    const int64_t i = share.i;
    const double scale = s[i];
    for (int64_t k = start[i] + (int64_t)share.lane; k < start[i + 1]; k += lanes) matrix[k] *= scale;
    for (int r = share.lane; r < b; r += lanes) weight[i * b + r] *= scale;
  }
}

/* Thread blocks for the kernels that go through the rows in turns. */
unsigned row_share_grid(const karst_context *context, const karst_cpr *cpr)
{
  const unsigned most = (unsigned)karst_cuda_of(context)->multiprocessors * 8;
  const unsigned all = karst_cuda_grid((int64_t)cpr->rows * karst_cpr_cuda_of(cpr)->lanes, THREADS);
  return all < most ? all : most;
}

} // namespace

karst_status karst_cpr_pressure_cuda(karst_context *context, const karst_matrix *A, karst_cpr *cpr,
                                     karst_matrix *pressure, karst_cpr_outcome *outcome)
{
  const struct karst_cuda *cuda = karst_cuda_of(context);
  const karst_cpr_cuda *plan = karst_cpr_cuda_of(cpr);
  const int b = cpr->block_size;
  const unsigned grid = row_share_grid(context, cpr), most = (unsigned)cuda->multiprocessors * 8;
  const projection p = {
      cpr->rows,  b,           cpr->pressure,   plan->lanes, A->device_row_start, plan->diagonal,
      A->value,   cpr->weight, pressure->value, cpr->column, cpr->residual,       cpr->columns != NULL,
      plan->found};
  karst_cpr_found found = {};
  karst_cpr_reset_cuda(context, cpr);
  if (cpr->columns) karst_cpr_project_ghosts_cuda(context, cpr, pressure);
  karst_cuda_instance(b, [&](auto size) { project<decltype(size)::value><<<grid, THREADS, 0, cuda->stream>>>(p); });
  scale_columns<<<most, THREADS, 0, cuda->stream>>>(A->blocks, b, cpr->pressure, A->value, plan->found, cpr->column,
                                                    plan->unit);
  if (cpr->columns) karst_cpr_round_ghosts_cuda(context, cpr);
  const karst_status status = karst_cpr_report_cuda(context, cpr, &found, outcome);
  outcome->empty = (int64_t)found.empty;
  return status;
}

void karst_cpr_balance_cuda(karst_context *context, const karst_cpr *cpr, const karst_matrix *pressure,
                            const double *parts, const double *before, double *after)
{
  const karst_cpr_cuda *plan = karst_cpr_cuda_of(cpr);
  const karst_columns *columns = parts ? cpr->columns : NULL;
  balance<<<row_share_grid(context, cpr), THREADS, 0, karst_cuda_of(context)->stream>>>(
      cpr->rows, plan->lanes, plan->start, plan->block, plan->row, pressure->value, cpr->residual, parts,
      columns ? columns->part_start : NULL, columns ? columns->part : NULL, before, after);
}

void karst_cpr_scale_cuda(karst_context *context, karst_cpr *cpr, const double *s, karst_matrix *pressure)
{
  scale_rows<<<row_share_grid(context, cpr), THREADS, 0, karst_cuda_of(context)->stream>>>(
      cpr->rows, karst_cpr_cuda_of(cpr)->lanes, cpr->block_size, pressure->device_row_start, s, pressure->value,
      cpr->weight);
  if (pressure->halo) karst_cpr_scale_ghosts_cuda(context, pressure->halo, s);
}
