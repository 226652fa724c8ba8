/* level.cu - z = (L D U')^-1 r by level sets (Yang, Liu, He, Chen, Algorithm 7): one launch for each level of L, then
 * one for each of U', captured once in a graph that works on the vectors of the plan.
 *
 * With long rows (long.h), a level consists of rounds of blocks of threads. Consecutive levels that do not fill the
 * device share a launch, in which rows wait for their neighbours as in dataflow.cu, because triangles with long rows
 * have many levels. */
#include "gpu/ilu/ilu_cuda.h"
#include "gpu/ilu/sweeps/long.h"

#include <string.h>

namespace
{

enum { THREADS = 128 };

/* One thread for each scalar row of the slots first .. last - 1. y: the forward sweep's vector, for the backward
 * one. */
template <bool upper, typename T>
__global__ void __launch_bounds__(THREADS)
    solve_level(const karst_triangle t, int b, karst_index first, karst_index last, const double *y)
{
  const int64_t number = blockIdx.x * (int64_t)THREADS + threadIdx.x, slot = first + number / b;
  const int r = (int)(number % b);
  if (slot >= last) return;
  const int64_t slice = slot / t.group, q = slot % t.group, stride = (int64_t)t.group * b;
  const T *value = karst_ilu_values<T>(t) + q * b + r;
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
  karst_ilu_long_cuda lower_long, upper_long;
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
  if (!status) status = copy_levels(context, &pattern->upper, &state->upper, &analysis->plan_memory);
  if (status) return status;
  return karst_ilu_long_create_cuda(context, pattern, analysis, &state->lower_long, &state->upper_long);
}

void forget_levels(karst_context *context, karst_ilu_cuda *plan)
{
  level_state *state = static_cast<level_state *>(plan->sweep_state);
  if (!state) return;
  karst_release(context, state->lower.start);
  karst_release(context, state->upper.start);
  karst_ilu_long_release_cuda(context, &state->lower_long);
  karst_ilu_long_release_cuda(context, &state->upper_long);
  karst_release(context, state);
}

/* y: the forward sweep's vector, for the backward one. */
template <bool upper>
void launch_each(const karst_triangle &t, const karst_ilu_levels_cuda &levels, int b, const double *y,
                 cudaStream_t stream)
{
  for (karst_index l = 0; l < levels.count; l++) {
    unsigned grid = karst_cuda_grid((int64_t)b * (levels.start[l + 1] - levels.start[l]), THREADS);
    (t.single ? solve_level<upper, float> : solve_level<upper, double>)<<<grid, THREADS, 0, stream>>>(
        t, b, levels.start[l], levels.start[l + 1], y);
  }
}

/* in: as for dataflow.cu's kernels. */
void launch_long(const karst_triangle &t, const karst_ilu_long_cuda &rows, int b, bool upper, const double *in,
                 cudaStream_t stream)
{
  const auto fills = [&](karst_index l) { return rows.level_start[l + 1] - rows.level_start[l] > rows.grid; };
  cudaMemsetAsync(t.x, 0xff, (size_t)t.slots * (size_t)b * sizeof *t.x, stream);
  for (karst_index first = 0, last; first < rows.levels; first = last) {
    last = first + 1;
    while (!fills(first) && last < rows.levels && !fills(last)) last++;
    karst_ilu_long_sweep_cuda(stream, &rows, &t, b, upper, first, last, in, NULL, NULL);
  }
}

void launch_levels(const karst_ilu_cuda *plan, cudaStream_t stream)
{
  const level_state *state = static_cast<const level_state *>(plan->sweep_state);
  const karst_triangle &lower = plan->lower, &upper = plan->upper;
  const int b = plan->block_size;
  if (state->lower_long.any)
    launch_long(lower, state->lower_long, b, false, upper.x, stream);
  else
    launch_each<false>(lower, state->lower, b, NULL, stream);
  if (state->upper_long.any)
    launch_long(upper, state->upper_long, b, true, lower.x, stream);
  else
    launch_each<true>(upper, state->upper, b, lower.x, stream);
}

/* sweep_work is a graph of both sweeps, from lower.x to upper.x. */
karst_status plan_levels(karst_context *context, karst_ilu *ilu)
{
  karst_ilu_cuda *plan = karst_ilu_cuda_of(ilu);
  cudaStream_t stream = karst_cuda_of(context)->own; /* the default stream cannot be captured */
  cudaGraph_t graph = NULL;
  cudaGraphExec_t both = NULL;
  cudaError_t error = cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
  if (error == cudaSuccess) {
    launch_levels(plan, stream);
    error = cudaStreamEndCapture(stream, &graph);
  }
  if (error == cudaSuccess) error = cudaGraphInstantiate(&both, graph, 0);
  plan->sweep_work = both;
  if (graph) cudaGraphDestroy(graph);
  return karst_cuda_status(context, error, "the graph of the triangular solves");
}

void solve_levels(karst_context *context, const karst_ilu_cuda *plan, const double *r, double *z)
{
  const level_state *state = static_cast<const level_state *>(plan->sweep_state);
  const karst_triangle *lower = &plan->lower, *upper = &plan->upper;
  cudaStream_t stream = karst_cuda_of(context)->stream;
  const size_t bytes = (size_t)lower->rows * (size_t)plan->block_size * sizeof *r;
  if (state->lower_long.any) /* upper->x is free until U' is solved with */
    cudaMemcpyAsync(upper->x, r, bytes, cudaMemcpyDeviceToDevice, stream);
  else
    context->backend->gather(context, lower->rows, plan->block_size, lower->row, r, lower->x);
  cudaGraphLaunch(static_cast<cudaGraphExec_t>(plan->sweep_work), stream);
  context->backend->scatter(context, upper->rows, plan->block_size, upper->row, upper->x, z);
}

void destroy_levels(karst_context *context, karst_ilu_cuda *plan)
{
  (void)context;
  if (plan->sweep_work) cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(plan->sweep_work));
}

} // namespace

const karst_ilu_sweep_variant karst_ilu_sweep_level_cuda = {
    "level", "a launch for each level", analyse_levels, forget_levels, NULL, solve_levels, plan_levels, destroy_levels};
