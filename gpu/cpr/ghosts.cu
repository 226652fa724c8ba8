/* ghosts.cu - what CPR does on the GPU with the columns of ghosts, where ranks share the matrix: its part of sums over
 * their columns, the couplings of A_p with them, and s = s - G E z_g. These are few beside the own columns, so each
 * kernel has a thread for an element, a row or a column. */
#include "gpu/cpr/cpr_cuda.h"

namespace
{

enum { THREADS = KARST_CUDA_THREADS };

__device__ __forceinline__ int64_t thread_number() { return (int64_t)blockIdx.x * blockDim.x + threadIdx.x; }

/* A thread an element of a block: sum v of column g, and its size (lib/backend/dense.h). */
__global__ void __launch_bounds__(THREADS) sum_ghosts(karst_index ghosts, int64_t bb, const karst_index *start,
                                                      const karst_index *block, const double *value, double *sums)
{
  const int64_t t = thread_number(), g = t / bb, v = t % bb;
  if (g >= ghosts) return;
  double sum = 0, size = 0;
  for (karst_index e = start[g]; e < start[g + 1]; e++) {
    sum += value[block[e] * bb + v];
    size += fabs(sum);
  }
  sums[2 * bb * g + v] = sum;
  sums[2 * bb * g + bb + v] = size;
}

__global__ void __launch_bounds__(THREADS)
    sum_scales(karst_index ghosts, const karst_index *start, const karst_index *block, const karst_index *row,
               const double *value, const double *s, double *sums)
{
  const int64_t g = thread_number();
  if (g >= ghosts) return;
  double sum = 0;
  for (karst_index e = start[g]; e < start[g + 1]; e++) sum += fabs(value[block[e]]) * s[row[e]];
  sums[g] = sum;
}

/* The boundary, and G or A_p's part of it. */
struct boundary {
  karst_index rows;
  const karst_index *row, *start, *column;
  double *value;
};

boundary boundary_of(const karst_halo *halo)
{
  return {halo->rows, halo->device.row, halo->device.row_start, halo->device.column, halo->value};
}

__global__ void __launch_bounds__(THREADS)
    project_rows(boundary G, int b, int pressure, const double *weight, double *matrix, float *column, double *row_sum,
                 karst_cpr_found *found)
{
  const int64_t k = thread_number();
  if (k >= G.rows) return;
  const int64_t i = G.row[k];
  double across = 0, largest = 0;
  bool finite = true;
  for (int64_t e = G.start[k]; e < G.start[k + 1]; e++) {
    const double *entry = G.value + karst_cuda_offset(b, e) + (int64_t)pressure * b;
    double sum = 0;
    for (int r = 0; r < b; r++) {
      sum += weight[i * b + r] * entry[r];
      column[e * b + r] = (float)entry[r];
      if (fabs(entry[r]) > largest) largest = fabs(entry[r]);
    }
    matrix[e] = sum;
    across += fabs(sum);
    finite = finite && fabs(sum) <= DBL_MAX;
  }
  row_sum[i] = across;
  if (!finite) atomicMin(&found->bad, (unsigned long long)i);
  const unsigned long long bits = (unsigned long long)__double_as_longlong(largest);
  if (bits > *static_cast<volatile unsigned long long *>(&found->largest)) atomicMax(&found->largest, bits);
}

__global__ void __launch_bounds__(THREADS)
    round_columns(int64_t blocks, int b, int pressure, const double *value, const double *unit, float *column)
{
  const int64_t v = thread_number();
  if (v >= blocks * b || *unit == 1) return;
  column[v] = (float)(value[karst_cuda_offset(b, v / b) + (int64_t)pressure * b + v % b] / *unit);
}

__global__ void __launch_bounds__(THREADS) scale_rows(boundary G, const double *s)
{
  const int64_t k = thread_number();
  if (k >= G.rows) return;
  for (karst_index e = G.start[k]; e < G.start[k + 1]; e++) G.value[e] *= s[G.row[k]];
}

__global__ void __launch_bounds__(1024)
    subtract_rows(boundary G, int b, const float *column, const double *unit, const double *z_g, double *s)
{
  karst_index k;
  int r;
  karst_cuda_begin();
  if (!karst_cuda_row(b, G.rows, &k, &r)) return;
  double sum = 0;
  for (karst_index e = G.start[k]; e < G.start[k + 1]; e++)
    sum += (double)column[(int64_t)e * b + r] * z_g[G.column[e]];
  s[(int64_t)G.row[k] * b + r] -= *unit * sum;
}

} // namespace

void karst_cpr_sum_ghosts_cuda(karst_context *context, const karst_cpr *cpr, double *sums)
{
  const karst_columns *columns = cpr->columns;
  const karst_index ghosts = columns->halo->ghosts;
  const int64_t bb = karst_block_offset(cpr->block_size, 1);
  sum_ghosts<<<karst_cuda_grid(ghosts * bb, THREADS), THREADS, 0, karst_cuda_of(context)->stream>>>(
      ghosts, bb, columns->start, columns->block, columns->halo->value, sums);
}

void karst_cpr_sum_scales_cuda(karst_context *context, const karst_cpr *cpr, const karst_matrix *pressure,
                               const double *s, double *sums)
{
  const karst_columns *columns = cpr->columns;
  const karst_index ghosts = columns->halo->ghosts;
  sum_scales<<<karst_cuda_grid(ghosts, THREADS), THREADS, 0, karst_cuda_of(context)->stream>>>(
      ghosts, columns->start, columns->block, columns->row, pressure->halo->value, s, sums);
}

void karst_cpr_project_ghosts_cuda(karst_context *context, const karst_cpr *cpr, karst_matrix *pressure)
{
  const boundary G = boundary_of(cpr->columns->halo);
  karst_fill_cuda(context, cpr->rows, 0, cpr->residual);
  project_rows<<<karst_cuda_grid(G.rows, THREADS), THREADS, 0, karst_cuda_of(context)->stream>>>(
      G, cpr->block_size, cpr->pressure, cpr->weight, pressure->halo->value, cpr->ghost_column, cpr->residual,
      karst_cpr_cuda_of(cpr)->found);
}

void karst_cpr_round_ghosts_cuda(karst_context *context, const karst_cpr *cpr)
{
  const karst_halo *halo = cpr->columns->halo;
  const int64_t width = (int64_t)halo->blocks * cpr->block_size;
  round_columns<<<karst_cuda_grid(width, THREADS), THREADS, 0, karst_cuda_of(context)->stream>>>(
      halo->blocks, cpr->block_size, cpr->pressure, halo->value, karst_cpr_cuda_of(cpr)->unit, cpr->ghost_column);
}

void karst_cpr_scale_ghosts_cuda(karst_context *context, const karst_halo *halo, const double *s)
{
  scale_rows<<<karst_cuda_grid(halo->rows, THREADS), THREADS, 0, karst_cuda_of(context)->stream>>>(boundary_of(halo),
                                                                                                   s);
}

void karst_cpr_subtract_ghosts_cuda(karst_context *context, const karst_cpr *cpr, const double *z_g, double *s)
{
  const boundary G = boundary_of(cpr->columns->halo);
  const int b = cpr->block_size;
  if (G.rows == 0) return;
  karst_cuda_launch(karst_cuda_of(context), subtract_rows, karst_cuda_row_grid(G.rows, b), karst_cuda_row_threads(b), G,
                    b, cpr->ghost_column, karst_cpr_cuda_of(cpr)->unit, z_g, s);
}
