/* large.cu - a pass over the blocks of parilu and paric as in sweep.cu, for blocks of any size. A thread block does a
 * task, as many scalar rows of the block at a time as it has threads for.
 *
 * The inverses are made between passes in asynchronous sweeps too. */
#include "sweeps.h"

namespace
{

enum { THREADS = KARST_PARILU_THREADS };

/* What a thread makes: element (r,c) of the block of a task. */
struct element {
  int b;
  karst_index block, pivot;
  int r, c;
};

/* Returns element (r,c) of block left times block right, which for paric is transposed. */
template <bool symmetric, bool racing>
__device__ double multiply(const double *value, karst_index left, karst_index right, const element &at)
{
  const int b = at.b;
  const double *row = value + karst_cuda_offset(b, left) + at.r, *block = value + karst_cuda_offset(b, right);
  double sum = 0;
  for (int k = 0; k < b; k++)
    sum += karst_parilu_load<racing>(row + k * b) *
           karst_parilu_load<racing>(block + (symmetric ? k * b + at.c : at.c * b + k));
  return sum;
}

/* Returns element (r,c) of S_ij. */
template <bool symmetric, bool racing>
__device__ double sum_products(const karst_parilu_pass_cuda &p, int64_t t, const element &at)
{
  double sum = p.A[karst_cuda_offset(at.b, at.block) + at.c * at.b + at.r];
  for (karst_index n = p.plan.list[t]; n < p.plan.list[t + 1]; n++)
    sum -= multiply<symmetric, racing>(p.from, p.plan.product[n].left, p.plan.product[n].right, at);
  return sum;
}

/* Returns the square of element (r,c) of the weighted residual. */
template <bool symmetric>
__device__ double measure(const karst_parilu_pass_cuda &p, int64_t t, const element &at, int64_t scalar_rows,
                          double sum)
{
  const int64_t i = p.plan.row[t], j = p.column[at.block];
  const double *weight = p.weight + (symmetric ? 0 : scalar_rows);
  const double made = symmetric || i > j ? multiply<symmetric, false>(p.from, at.block, at.pivot, at)
                                         : p.from[karst_cuda_offset(at.b, at.block) + at.c * at.b + at.r];
  const double entry = p.weight[i * at.b + at.r] * (sum - made) * weight[j * at.b + at.c];
  return symmetric && i > j ? 2 * entry * entry : entry * entry;
}

/* Makes count rows of L_ij, from row first on, from those of S_ij in line [b][count]. */
template <bool symmetric, bool racing>
__device__ void finish(const karst_parilu_pass_cuda &p, karst_index block, int b, int first, int count,
                       const double *line)
{
  const double *inverse = p.inverse + karst_cuda_offset(b, p.column[block]);
  __syncthreads();
  for (int v = (int)threadIdx.x; v < count * b; v += THREADS) {
    const int r = v % count, c = v / count;
    double sum = 0;
    for (int k = 0; k < b; k++) sum += line[k * count + r] * inverse[symmetric ? k * b + c : c * b + k];
    karst_parilu_store<racing>(p.to + karst_cuda_offset(b, block) + c * b + first + r, sum);
  }
  __syncthreads();
}

template <bool symmetric, int how>
__global__ void __launch_bounds__(THREADS) pass_large(const karst_parilu_pass_cuda p, int b, int64_t scalar_rows)
{
  extern __shared__ double line[]; /* [max(b, THREADS)] */
  constexpr bool racing = (how & KARST_PARILU_IN_PLACE) != 0, update = (how & KARST_PARILU_UPDATE) != 0;
  const int at_once = b < THREADS ? THREADS / b : 1;
  double square = 0;
  for (int64_t t = blockIdx.x; t < p.plan.tasks; t += gridDim.x) {
    const karst_index block = p.plan.task[t], pivot = p.plan.pivot[t];
    const bool lower = pivot >= 0 && pivot != block;
    for (int first = 0; first < b; first += at_once) {
      const int count = min(at_once, b - first);
      for (int v = (int)threadIdx.x; v < count * b; v += THREADS) {
        const element at = {b, block, pivot, first + v % count, v / count};
        const double sum = sum_products<symmetric, racing>(p, t, at);
        if constexpr ((how & KARST_PARILU_MEASURE) != 0) square += measure<symmetric>(p, t, at, scalar_rows, sum);
        if (update && lower)
          line[v] = sum;
        else if (update)
          karst_parilu_store<racing>(p.to + karst_cuda_offset(b, block) + at.c * b + at.r, sum);
      }
      if (update && lower) finish<symmetric, racing>(p, block, b, first, count, line);
    }
  }
  if constexpr ((how & KARST_PARILU_MEASURE) != 0) karst_parilu_sum(square, p.partial + blockIdx.x);
}

template <bool symmetric>
void launch(const karst_matrix *F, unsigned grid, cudaStream_t stream, int how, const karst_parilu_pass_cuda *p)
{
  enum { UPDATE = KARST_PARILU_UPDATE, IN_PLACE = KARST_PARILU_IN_PLACE, MEASURE = KARST_PARILU_MEASURE };
  const int b = F->block_size;
  const int64_t scalar_rows = (int64_t)F->block_rows * b;
  const size_t line = (size_t)(b < THREADS ? (int)THREADS : b) * sizeof(double);
  if (how == UPDATE)
    pass_large<symmetric, UPDATE><<<grid, THREADS, line, stream>>>(*p, b, scalar_rows);
  else if (how == (UPDATE | IN_PLACE))
    pass_large<symmetric, UPDATE | IN_PLACE><<<grid, THREADS, line, stream>>>(*p, b, scalar_rows);
  else if (how == (UPDATE | MEASURE))
    pass_large<symmetric, UPDATE | MEASURE><<<grid, THREADS, line, stream>>>(*p, b, scalar_rows);
  else
    pass_large<symmetric, MEASURE><<<grid, THREADS, line, stream>>>(*p, b, scalar_rows);
}

} // namespace

unsigned karst_parilu_pass_large_cuda(karst_context *context, const karst_parilu *parilu, int how,
                                      const karst_parilu_pass_cuda *pass)
{
  const unsigned grid = karst_parilu_grid(how, &pass->plan, 1);
  cudaStream_t stream = karst_cuda_of(context)->stream;
  if (parilu->symmetric)
    launch<true>(parilu->F, grid, stream, how, pass);
  else
    launch<false>(parilu->F, grid, stream, how, pass);
  return grid;
}
