/* pressure.cu - the rows and columns of wells in the pressure matrix of CPR on the GPU (lib/backend/wells_kernels.h), a
 * thread block a well. */
#include "gpu/wells/wells_cuda.h"

namespace
{

enum { THREADS = 128, WARPS = THREADS / 32 };

/* What the entries of a well are made from. */
struct sources {
  const double *weight; /* of the equations of each cell */
  int pressure;
  karst_wells_entries entries;
};

/* P and G of perforation p and unknown q of its well. */
__device__ __forceinline__ double couple_cell(const karst_wells_task &task, const sources &from, const karst_well &well,
                                              karst_index p, int q)
{
  const double *C = task.C + karst_wells_block(task.b, well, p) + q;
  const double *weight = from.weight + (int64_t)task.cell[p] * task.b;
  double sum = 0;
  for (int r = 0; r < task.b; r++) sum += weight[r] * C[(int64_t)r * well.equations];
  return sum;
}

__device__ __forceinline__ double couple_well(const karst_wells_task &task, const sources &from, const karst_well &well,
                                              karst_index p, int q)
{
  const double *B = task.B + karst_wells_block(task.b, well, p) + (int64_t)from.pressure * well.equations;
  const double *inverse = task.inverse + well.square + q;
  double sum = 0;
  for (int f = 0; f < well.equations; f++) sum += inverse[(int64_t)f * well.equations] * B[f];
  return sum;
}

/* Finds the unknown with the largest |P| |G|, and the scale of the row, which is 0 if nothing couples. sum: [2 n]
 * shared memory. */
__device__ void choose(const karst_wells_task &task, const sources &from, const karst_well &well, double *sum,
                       int *unknown, double *scale)
{
  const int n = well.equations, lane = (int)threadIdx.x % 32;
  for (int q = (int)threadIdx.x / 32; q < n; q += WARPS) {
    double P = 0, G = 0;
    for (karst_index p = well.first + lane; p < well.first + well.count; p += 32) {
      P += fabs(couple_cell(task, from, well, p, q));
      G += fabs(couple_well(task, from, well, p, q));
    }
    P = karst_cuda_warp_sum(P);
    G = karst_cuda_warp_sum(G);
    if (lane == 0) sum[2 * q] = P, sum[2 * q + 1] = G;
  }
  __syncthreads();
  if (threadIdx.x > 0) return;
  double largest = 0;
  *unknown = 0;
  *scale = 0;
  for (int q = 0; q < n; q++) {
    const double P = sum[2 * q], G = sum[2 * q + 1];
    if (!(P * G > largest && P <= KARST_WELLS_LARGEST_SCALE * G && G <= KARST_WELLS_LARGEST_SCALE * P)) continue;
    largest = P * G;
    *scale = P / G;
    *unknown = q;
  }
}

__global__ void __launch_bounds__(THREADS) fill_entries(karst_wells_task task, sources from, double *value)
{
  extern __shared__ double sum[];
  __shared__ int q;
  __shared__ double scale;
  const karst_wells_lists &lists = task.lists;
  const karst_well well = task.well[blockIdx.x];
  choose(task, from, well, sum, &q, &scale);
  __syncthreads();
  if (threadIdx.x == 0) value[from.entries.own[blockIdx.x]] = scale > 0 ? scale : 1;
  for (karst_index p = well.first + (karst_index)threadIdx.x; p < well.first + well.count; p += THREADS) {
    const karst_index k = lists.in_list[p];
    bool mine = true; /* the first perforation of the well in its cell makes both entries */
    double P = 0, G = 0;
    for (karst_index l = lists.list_start[k]; l < lists.list_start[k + 1] && mine; l++) {
      const karst_index other = lists.list[l];
      if (lists.owner[other] != (karst_index)blockIdx.x) continue;
      mine = other >= p;
      P += couple_cell(task, from, well, other, q);
      G += couple_well(task, from, well, other, q);
    }
    if (!mine) continue;
    value[from.entries.of_cell[p]] = scale > 0 ? P : 0;
    value[from.entries.of_well[p]] = scale * G;
  }
}

} // namespace

void karst_wells_pressure_cuda(karst_context *context, const karst_wells_view *view, const karst_cpr *cpr,
                               const karst_wells_entries *entries, double *value)
{
  const karst_wells *wells = view->wells;
  const sources from = {cpr->weight, cpr->pressure, *entries};
  if (wells->count > 0)
    fill_entries<<<(unsigned)wells->count, THREADS, 2 * (size_t)wells->most_equations * sizeof(double),
                   karst_cuda_of(context)->stream>>>(karst_wells_task_of(view), from, value);
}
