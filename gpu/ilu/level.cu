/* level.cu - z = (L D U')^-1 r by level sets (Yang, Liu, He, Chen, Algorithm 7): one launch for each level of L,
 * then one for each of U', captured once in a graph that works on the vectors of the plan. */
#include "ilu.h"

#include <string.h>

namespace
{

enum { THREADS = 128 };

/* One thread for each scalar row of the slots first .. last - 1. y: the forward sweep's vector, for the backward
 * one. */
template <bool upper>
__global__ void __launch_bounds__(THREADS)
    solve_level(const karst_triangle t, int b, karst_index first, karst_index last, const double *y)
{
  const int64_t number = blockIdx.x * (int64_t)THREADS + threadIdx.x, slot = first + number / b;
  const int r = (int)(number % b);
  if (slot >= last) return;
  const int64_t slice = slot / t.group, q = slot % t.group, stride = (int64_t)t.group * b;
  const double *value = t.value + q * b + r;
  int64_t e = t.start[slice];
  double sum = 0;
  if (upper) {
    const double *known = y + (int64_t)t.other[slot] * b;
    for (int c = 0; c < b; c++) sum += value[(e * b + c) * stride] * known[c];
    e++;
  } else {
    sum = t.x[slot * b + r];
  }
  for (; e < t.start[slice + 1]; e++) {
    const double *x = t.x + (int64_t)t.column[e * t.group + q] * b;
    double part = 0;
    for (int c = 0; c < b; c++) part += value[(e * b + c) * stride] * x[c];
    sum -= part;
  }
  t.x[slot * b + r] = sum;
}

/* sweep_state */
struct level_state {
  karst_ilu_levels_cuda lower, upper;
};

/* sweep_work */
struct level_work {
  cudaGraphExec_t graph; /* both sweeps, from lower.x to upper.x */
};

karst_status copy_levels(karst_context *context, const karst_ilu_levels_cuda *from, karst_ilu_levels_cuda *to,
                         int64_t *bytes)
{
  const int64_t count = (int64_t)from->count + 1;
  karst_status status = karst_allocate(context, &to->start, count, sizeof *to->start, "the plan of block ILU");
  if (status) return status;
  memcpy(to->start, from->start, (size_t)count * sizeof *to->start);
  to->count = from->count;
  *bytes += count * (int64_t)sizeof *to->start;
  return KARST_SUCCESS;
}

karst_status analyse_levels(karst_context *context, const karst_ilu_pattern_cuda *pattern, karst_ilu_analysis *analysis)
{
  level_state *state;
  karst_status status = karst_allocate_zero(context, &state, 1, sizeof *state, "the plan of block ILU");
  if (status) return status;
  karst_ilu_cuda_of(analysis)->sweep_state = state;
  status = copy_levels(context, &pattern->lower, &state->lower, &analysis->plan_memory);
  return status ? status : copy_levels(context, &pattern->upper, &state->upper, &analysis->plan_memory);
}

void forget_levels(karst_context *context, karst_ilu_cuda *plan)
{
  level_state *state = static_cast<level_state *>(plan->sweep_state);
  if (!state) return;
  karst_release(context, state->lower.start);
  karst_release(context, state->upper.start);
  karst_release(context, state);
}

void launch_levels(const karst_ilu_cuda *plan, cudaStream_t stream)
{
  const level_state *state = static_cast<const level_state *>(plan->sweep_state);
  const karst_ilu_levels_cuda *lower = &state->lower, *upper = &state->upper;
  int b = plan->block_size;
  for (karst_index l = 0; l < lower->count; l++) {
    unsigned grid = karst_ilu_grid((int64_t)b * (lower->start[l + 1] - lower->start[l]), THREADS);
    solve_level<false><<<grid, THREADS, 0, stream>>>(plan->lower, b, lower->start[l], lower->start[l + 1], NULL);
  }
  for (karst_index l = 0; l < upper->count; l++) {
    unsigned grid = karst_ilu_grid((int64_t)b * (upper->start[l + 1] - upper->start[l]), THREADS);
    solve_level<true>
        <<<grid, THREADS, 0, stream>>>(plan->upper, b, upper->start[l], upper->start[l + 1], plan->lower.x);
  }
}

karst_status plan_levels(karst_context *context, int sweeps, karst_ilu *ilu)
{
  karst_ilu_cuda *plan = karst_ilu_cuda_of(ilu);
  cudaStream_t stream = karst_cuda_of(context)->own; /* the default stream cannot be captured */
  cudaGraph_t graph = NULL;
  level_work *work;
  (void)sweeps;
  karst_status status = karst_allocate_zero(context, &work, 1, sizeof *work, "the plan of block ILU");
  if (status) return status;
  plan->sweep_work = work;
  cudaError_t error = cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
  if (error == cudaSuccess) {
    launch_levels(plan, stream);
    error = cudaStreamEndCapture(stream, &graph);
  }
  if (error == cudaSuccess) error = cudaGraphInstantiate(&work->graph, graph, 0);
  if (graph) cudaGraphDestroy(graph);
  return karst_cuda_status(context, error, "the graph of the triangular solves");
}

void solve_levels(karst_context *context, const karst_ilu_cuda *plan, const double *r, double *z)
{
  const level_work *work = static_cast<const level_work *>(plan->sweep_work);
  const karst_triangle *lower = &plan->lower, *upper = &plan->upper;
  context->backend->gather(context, lower->rows, plan->block_size, lower->row, r, lower->x);
  cudaGraphLaunch(work->graph, karst_cuda_of(context)->stream);
  context->backend->scatter(context, upper->rows, plan->block_size, upper->row, upper->x, z);
}

void destroy_levels(karst_context *context, karst_ilu_cuda *plan)
{
  level_work *work = static_cast<level_work *>(plan->sweep_work);
  if (!work) return;
  if (work->graph) cudaGraphExecDestroy(work->graph);
  karst_release(context, work);
}

} // namespace

const karst_ilu_sweep_variant karst_ilu_sweep_level_cuda = {"level",      analyse_levels, forget_levels,
                                                            solve_levels, plan_levels,    destroy_levels};
