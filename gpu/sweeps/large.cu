/* large.cu - a pass over the blocks of parilu and paric as in sweep.cu, for blocks of any size. A thread block does a
 * task: as many scalar rows of the block at a time as it has threads for. If a block has too many products for a list,
 * the first warp finds them.
 *
 * In asynchronous sweeps too, the inverses are made between passes. */
#include "gpu/sweeps/match.h"

namespace
{

enum { THREADS = KARST_PARILU_THREADS };

/* The element (r,c) of a task's block that a thread makes. */
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

/* Returns sum less element (r,c) of the products number n up to end of a list. */
template <bool symmetric, bool racing>
__device__ double subtract_list(const double *value, const karst_parilu_product *list, karst_index n, karst_index end,
                                const element &at, double sum)
{
  for (; n < end; n++) sum -= multiply<symmetric, racing>(value, list[n].left, list[n].right, at);
  return sum;
}

/* Returns element (r,c) of S_ij, by its list. */
template <bool symmetric, bool racing>
__device__ double sum_products(const karst_parilu_pass_cuda &p, int64_t t, const element &at)
{
  return subtract_list<symmetric, racing>(p.from, p.plan.product, p.plan.list[t], p.plan.list[t + 1], at,
                                          p.A[karst_cuda_offset(at.b, at.block) + at.c * at.b + at.r]);
}

/* Computes count rows of S_ij, from row first on, in line [b][count]. The first warp finds the products, a few at a
 * time; then each thread subtracts them from its elements. */
template <bool symmetric, bool racing>
__device__ void search_products(const karst_parilu_pass_cuda &p, int64_t t, element at, int first, int count,
                                double *line)
{
  enum { ROOM = 256 };
  __shared__ karst_parilu_product found[ROOM];
  __shared__ int products;
  karst_parilu_match match = karst_parilu_match_start(p.S, p.plan.row[t], p.S.column[at.block]);
  int more;
  for (int v = (int)threadIdx.x; v < count * at.b; v += THREADS)
    line[v] = p.A[karst_cuda_offset(at.b, at.block) + v / count * at.b + first + v % count];
  do {
    if (threadIdx.x < 32) {
      const int number = karst_parilu_match_next(p.S, ROOM, match, found);
      if (threadIdx.x == 0) products = number;
    }
    __syncthreads();
    for (int v = (int)threadIdx.x; v < count * at.b; v += THREADS) {
      at.r = first + v % count;
      at.c = v / count;
      line[v] = subtract_list<symmetric, racing>(p.from, found, 0, products, at, line[v]);
    }
    more = __syncthreads_or(threadIdx.x < 32 && match.next < match.end);
  } while (more);
}

/* Returns the square of element (r,c) of the weighted residual. */
template <bool symmetric>
__device__ double measure(const karst_parilu_pass_cuda &p, int64_t t, const element &at, int64_t scalar_rows,
                          double sum)
{
  const int64_t i = p.plan.row[t], j = p.S.column[at.block];
  const double *weight = p.weight + (symmetric ? 0 : scalar_rows);
  const double made = symmetric || i > j ? multiply<symmetric, false>(p.from, at.block, at.pivot, at)
                                         : p.from[karst_cuda_offset(at.b, at.block) + at.c * at.b + at.r];
  const double entry = p.weight[i * at.b + at.r] * (sum - made) * weight[j * at.b + at.c];
  return symmetric && i > j ? 2 * entry * entry : entry * entry;
}

/* Makes count rows of L_ij, from row first on, from those of S_ij in line [b][count]. */
template <bool symmetric, bool racing>
__device__ void finish_rows(const karst_parilu_pass_cuda &p, karst_index block, int b, int first, int count,
                            const double *line)
{
  const double *inverse = p.inverse + karst_cuda_offset(b, p.S.column[block]);
  __syncthreads();
  for (int v = (int)threadIdx.x; v < count * b; v += THREADS) {
    const int r = v % count, c = v / count;
    double sum = 0;
    for (int k = 0; k < b; k++) sum += line[k * count + r] * inverse[symmetric ? k * b + c : c * b + k];
    karst_parilu_store<racing>(p.to + karst_cuda_offset(b, block) + c * b + first + r, sum);
  }
  __syncthreads();
}

template <bool symmetric, int how, bool searches>
__global__ void __launch_bounds__(THREADS) pass_large(const karst_parilu_pass_cuda p, int b, int64_t scalar_rows)
{
  extern __shared__ double line[]; /* [max(b, THREADS)] */
  constexpr bool racing = (how & KARST_PARILU_IN_PLACE) != 0, update = (how & KARST_PARILU_UPDATE) != 0;
  const int at_once = b < THREADS ? THREADS / b : 1;
  const int64_t end = searches ? p.plan.tasks : p.plan.listed;
  double square = 0;
  for (int64_t t = (searches ? p.plan.listed : 0) + blockIdx.x; t < end; t += gridDim.x) {
    const karst_index block = p.plan.task[t], pivot = p.plan.pivot[t];
    const bool lower = pivot >= 0 && pivot != block;
    for (int first = 0; first < b; first += at_once) {
      const int count = min(at_once, b - first);
      if constexpr (searches) search_products<symmetric, racing>(p, t, {b, block, pivot, 0, 0}, first, count, line);
      for (int v = (int)threadIdx.x; v < count * b; v += THREADS) {
        const element at = {b, block, pivot, first + v % count, v / count};
        const double sum = searches ? line[v] : sum_products<symmetric, racing>(p, t, at);
        if constexpr ((how & KARST_PARILU_MEASURE) != 0) square += measure<symmetric>(p, t, at, scalar_rows, sum);
        if (update && lower)
          line[v] = sum;
        else if (update)
          karst_parilu_store<racing>(p.to + karst_cuda_offset(b, block) + at.c * b + at.r, sum);
      }
      if (update && lower) finish_rows<symmetric, racing>(p, block, b, first, count, line);
    }
  }
  if constexpr ((how & KARST_PARILU_MEASURE) != 0) karst_parilu_sum(square, p.partial + blockIdx.x);
}

template <bool searches>
unsigned launch(karst_context *context, const karst_parilu *parilu, int how, const karst_parilu_pass_cuda *pass)
{
  const int b = parilu->F->block_size;
  const int64_t scalar_rows = (int64_t)parilu->F->block_rows * b;
  const int64_t tasks = searches ? pass->plan.tasks - pass->plan.listed : pass->plan.listed;
  const unsigned grid = karst_parilu_grid(how, &pass->plan, tasks, 1);
  const size_t line = (size_t)(b < THREADS ? (int)THREADS : b) * sizeof(double);
  cudaStream_t stream = karst_cuda_of(context)->stream;
  karst_parilu_instance(parilu->symmetric, how, [&](auto symmetric, auto kind) {
    pass_large<symmetric.value, kind.value, searches><<<grid, THREADS, line, stream>>>(*pass, b, scalar_rows);
  });
  return grid;
}

} // namespace

unsigned karst_parilu_pass_large_cuda(karst_context *context, const karst_parilu *parilu, int how,
                                      const karst_parilu_pass_cuda *pass)
{
  return launch<false>(context, parilu, how, pass);
}

unsigned karst_parilu_search_large_cuda(karst_context *context, const karst_parilu *parilu, int how,
                                        const karst_parilu_pass_cuda *pass)
{
  return launch<true>(context, parilu, how, pass);
}
