/* passes.cu - the CUDA instance of the kernels of parilu and paric: their table, the sequence of passes, and all that
 * is not a pass: the initial guess, the weights of the norm, and paric's factors in the form of parilu's. */
#include "gpu/sweeps/sweeps_cuda.h"
#include "gpu/sweeps/sweep_pivot.h"

namespace
{

/* Returns element (r,c) of left times right, or of left times right^T if transposed. */
__device__ __forceinline__ double element(int b, const double *left, const double *right, bool transposed, int r, int c)
{
  double sum = 0;
  for (int k = 0; k < b; k++) sum += left[k * b + r] * right[transposed ? k * b + c : c * b + k];
  return sum;
}

/* Makes the initial guess. A thread makes an element of a task's block. */
template <int B, bool symmetric>
__global__ void __launch_bounds__(KARST_CUDA_THREADS) guess(const karst_parilu_pass_cuda p, int size, bool scaled)
{
  const int b = B ? B : size;
  const int64_t number = blockIdx.x * (int64_t)blockDim.x + threadIdx.x, t = number / (b * b);
  const int v = (int)(number % (b * b)), r = v % b, c = v / b;
  if (t >= p.plan.tasks) return;
  const karst_index block = p.plan.task[t], pivot = p.plan.pivot[t];
  const double *A = p.A + karst_cuda_offset(b, block);
  double entry = A[v];
  if (symmetric && pivot == block) {
    if (scaled && b > 1) return; /* made with the inverse */
    entry = scaled ? karst_parilu_root(entry) : r >= c ? entry : 0;
  } else if (scaled && pivot >= 0 && pivot != block) {
    if constexpr (B == 1)
      entry = karst_parilu_divide(entry, symmetric ? karst_parilu_root(p.A[pivot]) : p.A[pivot]);
    else
      entry = element(b, A, p.inverse + karst_cuda_offset(b, p.S.column[block]), symmetric, r, c);
  }
  p.to[karst_cuda_offset(b, block) + v] = entry;
}

/* Makes parilu's factors from paric's. A thread makes an element of a task's block, and an element of the block at
 * its mirrored place. */
template <int B>
__global__ void __launch_bounds__(KARST_CUDA_THREADS)
    expand(const karst_parilu_pass_cuda p, int size, const karst_index *mirror)
{
  const int b = B ? B : size;
  const int64_t number = blockIdx.x * (int64_t)blockDim.x + threadIdx.x, t = number / (b * b);
  const int v = (int)(number % (b * b)), r = v % b, c = v / b;
  if (t >= p.plan.tasks) return;
  const karst_index block = p.plan.task[t], pivot = p.plan.pivot[t];
  const double *L = p.from + karst_cuda_offset(b, block), *diagonal = p.from + karst_cuda_offset(b, pivot);
  p.to[karst_cuda_offset(b, mirror[block]) + v] = element(b, diagonal, L, true, r, c);
  if (pivot == block) return;
  double entry;
  if constexpr (B == 1)
    entry = karst_parilu_divide(*L, *diagonal);
  else
    entry = element(b, L, p.inverse + karst_cuda_offset(b, p.S.column[block]), false, r, c);
  p.to[karst_cuda_offset(b, block) + v] = entry;
}

/* Makes the weight of one scalar row, and that of the column of the same number unless column_weight is NULL. */
__global__ void weigh(int b, karst_index rows, const karst_index *diagonal, const double *A, double *row_weight,
                      double *column_weight)
{
  karst_index i;
  int r;
  if (!karst_cuda_row(b, rows, &i, &r)) return;
  const double *block = A + karst_cuda_offset(b, diagonal[i]);
  const double across = karst_block_line_norm(b, block + r, b), down = karst_block_line_norm(b, block + r * b, 1);
  row_weight[(int64_t)i * b + r] = across > 0 ? 1 / sqrt(across) : 1;
  if (column_weight) column_weight[(int64_t)i * b + r] = down > 0 ? 1 / sqrt(down) : 1;
}

/* Thread block 0 adds up the first before numbers of partial, thread block 1 the first after numbers from
 * KARST_PARILU_SUMS on. */
__global__ void __launch_bounds__(KARST_PARILU_THREADS)
    add_up(unsigned before, unsigned after, const double *partial, double *result)
{
  const unsigned count = blockIdx.x == 0 ? before : after;
  double sum = 0;
  for (unsigned s = threadIdx.x; s < count; s += KARST_PARILU_THREADS)
    sum += partial[blockIdx.x * KARST_PARILU_SUMS + s];
  karst_parilu_sum(sum, result + blockIdx.x);
}

karst_parilu_pass_cuda make_pass(const karst_parilu *parilu, double *partial)
{
  const karst_matrix *F = parilu->F;
  const karst_parilu_cuda *plan = karst_parilu_cuda_of(parilu);
  return {*plan,          {F->device_row_start, F->device_column, parilu->diagonal, plan->upper},
          F->value,       parilu->value,
          parilu->value,  parilu->inverse,
          parilu->weight, partial};
}

/* A factorization needs no plan of its own. */
karst_status plan_cuda(karst_context *context, const karst_parilu_analysis *analysis, karst_parilu *parilu)
{
  (void)context;
  parilu->plan = analysis->plan;
  return KARST_SUCCESS;
}

void plan_destroy_cuda(karst_context *context, karst_parilu *parilu)
{
  (void)context;
  parilu->plan = NULL;
}

void guess_cuda(karst_context *context, bool scaled, karst_parilu *parilu)
{
  const karst_parilu_pass_cuda pass = make_pass(parilu, NULL);
  const int b = parilu->F->block_size;
  cudaStream_t stream = karst_cuda_of(context)->stream;
  if (parilu->F->block_rows == 0) return;
  if (scaled && b > 1) karst_parilu_pivots_cuda(context, parilu, parilu->F->value, false);
  const unsigned grid = karst_cuda_grid(pass.plan.tasks * b * b, KARST_CUDA_THREADS);
  karst_cuda_instance(b, [&](auto size) {
    constexpr int B = decltype(size)::value;
    if (parilu->symmetric)
      guess<B, true><<<grid, KARST_CUDA_THREADS, 0, stream>>>(pass, b, scaled);
    else
      guess<B, false><<<grid, KARST_CUDA_THREADS, 0, stream>>>(pass, b, scaled);
  });
}

/* Runs a pass over all tasks. Returns its thread blocks. */
unsigned run(karst_context *context, const karst_parilu *parilu, int how, const karst_parilu_pass_cuda *pass)
{
  const bool small = parilu->F->block_size <= KARST_BLOCK_SIZE_LARGEST_INSTANCE;
  const unsigned blocks =
      (small ? karst_parilu_pass_small_cuda : karst_parilu_pass_large_cuda)(context, parilu, how, pass);
  if (pass->plan.listed == pass->plan.tasks) return blocks;
  karst_parilu_pass_cuda rest = *pass;
  if (rest.partial) rest.partial += blocks;
  return blocks +
         (small ? karst_parilu_search_small_cuda : karst_parilu_search_large_cuda)(context, parilu, how, &rest);
}

void sweep_in_place(karst_context *context, const karst_parilu *parilu)
{
  const karst_parilu_pass_cuda pass = make_pass(parilu, NULL);
  run(context, parilu, KARST_PARILU_UPDATE | KARST_PARILU_IN_PLACE, &pass);
  if (parilu->F->block_size > KARST_BLOCK_SIZE_LARGEST_INSTANCE)
    karst_parilu_pivots_cuda(context, parilu, parilu->value, false);
}

/* Takes one synchronous sweep. Unless partial is NULL, it measures the factors that it starts from. Returns the
 * thread blocks of the pass. */
unsigned sweep_once(karst_context *context, double *partial, karst_parilu *parilu)
{
  karst_parilu_pass_cuda pass = make_pass(parilu, partial);
  pass.to = parilu->next;
  const unsigned blocks = run(context, parilu, KARST_PARILU_UPDATE | (partial ? (int)KARST_PARILU_MEASURE : 0), &pass);
  parilu->next = parilu->value;
  parilu->value = pass.to;
  if (parilu->F->block_size > 1) karst_parilu_pivots_cuda(context, parilu, parilu->value, false);
  return blocks;
}

unsigned measure(karst_context *context, const karst_parilu *parilu, double *partial)
{
  const karst_parilu_pass_cuda pass = make_pass(parilu, partial);
  return run(context, parilu, KARST_PARILU_MEASURE, &pass);
}

karst_status sweep_cuda(karst_context *context, int sweeps, karst_parilu *parilu, double residual[2])
{
  static_assert(2 * KARST_PARILU_SUMS + 2 <= KARST_CUDA_BATCH * KARST_CUDA_SUMS,
                "the sums of two passes, and the norms");
  const karst_cuda *cuda = karst_cuda_of(context);
  const karst_matrix *F = parilu->F;
  const int b = F->block_size;
  double *partial = cuda->partial, *norm2 = partial + 2 * KARST_PARILU_SUMS;
  unsigned before, after;
  residual[0] = residual[1] = 0;
  if (F->block_rows == 0) return KARST_SUCCESS;
  weigh<<<karst_cuda_row_grid(F->block_rows, b), karst_cuda_row_threads(b), 0, cuda->stream>>>(
      b, F->block_rows, parilu->diagonal, F->value, parilu->weight,
      parilu->symmetric ? NULL : parilu->weight + (int64_t)F->block_rows * b);
  if (sweeps > 0 && b > 1) karst_parilu_pivots_cuda(context, parilu, parilu->value, true);
  const bool fused = sweeps > 0 && !parilu->asynchronous;
  before = fused ? sweep_once(context, partial, parilu) : measure(context, parilu, partial);
  for (int left = fused ? sweeps - 1 : sweeps; left > 0; left--)
    if (parilu->asynchronous)
      sweep_in_place(context, parilu);
    else
      sweep_once(context, NULL, parilu);
  after = sweeps > 0 ? measure(context, parilu, partial + KARST_PARILU_SUMS) : 0;
  add_up<<<2, KARST_PARILU_THREADS, 0, cuda->stream>>>(before, after, partial, norm2);
  karst_status status = context->backend->download(context, residual, norm2, 2 * sizeof *norm2);
  residual[0] = sqrt(residual[0]);
  residual[1] = sweeps > 0 ? sqrt(residual[1]) : residual[0];
  return status;
}

void expand_cuda(karst_context *context, karst_parilu *parilu)
{
  karst_parilu_pass_cuda pass = make_pass(parilu, NULL);
  const int b = parilu->F->block_size;
  if (parilu->F->block_rows == 0) return;
  if (b > 1) karst_parilu_pivots_cuda(context, parilu, parilu->value, true);
  pass.to = parilu->next;
  const unsigned grid = karst_cuda_grid(pass.plan.tasks * b * b, KARST_CUDA_THREADS);
  karst_cuda_instance(b, [&](auto size) {
    expand<decltype(size)::value>
        <<<grid, KARST_CUDA_THREADS, 0, karst_cuda_of(context)->stream>>>(pass, b, parilu->mirror);
  });
}

} // namespace

extern "C" {
extern const struct karst_parilu_kernels karst_parilu_kernels_cuda;
const struct karst_parilu_kernels karst_parilu_kernels_cuda = {
    karst_cuda_entry<karst_parilu_analyse_cuda>::call,
    karst_cuda_entry<karst_parilu_analysis_destroy_cuda>::call,
    karst_cuda_entry<plan_cuda>::call,
    karst_cuda_entry<plan_destroy_cuda>::call,
    karst_cuda_entry<guess_cuda>::call,
    karst_cuda_entry<sweep_cuda>::call,
    karst_cuda_entry<expand_cuda>::call};
}
