/* dataflow.cu - z = (L D U')^-1 r in two launches:
 *
 *     forward    y_i = r_i - sum_{p < i} L_ip y_p
 *     backward   z_i = D_i^-1 y_i - sum_{j > i} U'_ij z_j
 *
 * Warps take tasks (ilu_cuda.h) in level order. A warp waits for the unknowns that its task needs: they are absent
 * until another warp has stored them. All warps are resident together and a task needs only earlier tasks, so the first
 * unfinished task can always go on. Values and columns are loaded while a warp waits.
 *
 * Each sweep leaves the other's vector absent: the forward sweep the vector that the backward sweep is going to fill,
 * the backward sweep the values that it has read, which the next forward sweep fills. */
#include "gpu/ilu/sweeps/long.h"
#include "gpu/ilu/sweeps/sweep.h"

namespace
{

/* The kernel of sweep.h for any block size. Beyond 32 a warp makes 32 scalar rows of a block row. The vectors are made
 * absent beforehand. */
template <bool upper, typename T>
__global__ void __launch_bounds__(KARST_ILU_THREADS)
    sweep_any(const karst_triangle t, int b, const double *in, double *out)
{
  const int width = b < 32 ? b : 32, parts = (b + 31) / 32;
  const int lane = (int)threadIdx.x % 32, q = lane / width;
  const int64_t warps = (int64_t)gridDim.x * (KARST_ILU_THREADS / 32), stride = (int64_t)t.group * b;
  for (int64_t item = ((int64_t)blockIdx.x * KARST_ILU_THREADS + threadIdx.x) / 32; item < (int64_t)t.tasks * parts;
       item += warps) {
    const karst_index task = (karst_index)(item / parts);
    const karst_index first = t.task[task], last = t.task[task + 1], slice = first / t.group,
                      slot = slice * t.group + q;
    const int component = lane % width, r = (int)(item % parts) * 32 + component;
    const bool here = q < t.group && slot >= first && slot < last, active = here && r < b;
    const T *value = karst_ilu_values<T>(t) + q * b + r;
    double sum = active && !upper ? in[(int64_t)t.row[slot] * b + r] : 0;
    for (int64_t e = t.start[slice]; e < t.start[slice + 1]; e++) {
      const bool diagonal = upper && e == t.start[slice];
      int64_t block = here ? (diagonal ? t.other[slot] : t.column[e * t.group + q]) : t.slots;
      for (int begin = 0; begin < b; begin += width) {
        const double *from[1] = {here && begin + component < b ? t.x + block * b + begin + component : NULL};
        double x[1];
        if (diagonal)
          x[0] = from[0] ? in[block * b + begin + component] : 0;
        else
          karst_await<1>(from, x);
        for (int c = 0; c < width && begin + c < b; c++) {
          double entry = active ? value[(e * b + begin + c) * stride] : 0;
          entry *= __shfl_sync(~0u, x[0], q * width + c);
          sum += diagonal ? entry : -entry;
        }
      }
    }
    if (active) {
      karst_publish(&t.x[(int64_t)slot * b + r], sum);
      if (upper) out[(int64_t)t.row[slot] * b + r] = sum;
    }
  }
}

template <typename T> const void *kernel_of(int block_size, int parts, bool upper)
{
  const void *kernel = NULL;
  karst_cuda_instance(block_size, [&](auto size) {
    constexpr int B = decltype(size)::value;
    if constexpr (!karst_ilu_has_instance(B, std::is_same<T, float>::value))
      kernel = upper ? (const void *)sweep_any<true, T> : (const void *)sweep_any<false, T>;
    else
      kernel = sweep_by<B>(parts, [&](auto of) {
        constexpr int PARTS = decltype(of)::value;
        return upper ? (const void *)sweep<B, PARTS, true, T> : (const void *)sweep<B, PARTS, false, T>;
      });
  });
  return kernel;
}

const void *kernel_for(int block_size, int parts, bool upper, bool single)
{
  return (single ? kernel_of<float> : kernel_of<double>)(block_size, parts, upper);
}

/* sweep_state */
struct dataflow_state {
  int lower_grid, upper_grid; /* blocks of threads that are resident together */
  karst_ilu_long_cuda lower_long, upper_long;
};

karst_status analyse_dataflow(karst_context *context, const karst_ilu_pattern_cuda *pattern,
                              karst_ilu_analysis *analysis)
{
  karst_ilu_cuda *plan = karst_ilu_cuda_of(analysis);
  const int b = plan->block_size;
  dataflow_state *state;
  karst_status status = karst_allocate_zero(context, &state, 1, sizeof *state, "the plan of block ILU");
  if (status) return status;
  plan->sweep_state = state;
  status = karst_ilu_long_create_cuda(context, pattern, analysis, &state->lower_long, &state->upper_long);
  const auto kernel_of_plan = analysis->single ? kernel_of<float> : kernel_of<double>;
  if (!status)
    status = analyse_sweep(context, kernel_of_plan, b, false, analysis->single, pattern->lower.count, &plan->lower,
                           &state->lower_grid);
  if (!status)
    status = analyse_sweep(context, kernel_of_plan, b, true, analysis->single, pattern->upper.count, &plan->upper,
                           &state->upper_grid);
  return status;
}

void launch(karst_context *context, const void *kernel, int grid, void **arguments)
{
  cudaLaunchCooperativeKernel(kernel, dim3((unsigned)grid), dim3(KARST_ILU_THREADS), arguments, 0,
                              karst_cuda_of(context)->stream);
}

/* Queues the sweep of one triangle. Block sizes without an instance reset nothing. */
void solve_triangle(karst_context *context, const karst_triangle &of, int b, bool upper, int grid,
                    const karst_ilu_long_cuda &rows, const double *in, double *reset, double *out)
{
  karst_triangle t = of;
  void *sized[] = {&t, &in, &reset, &out}, *any[] = {&t, &b, &in, &out};
  if (rows.any)
    karst_ilu_long_sweep_cuda(karst_cuda_of(context)->stream, &rows, &of, b, upper, 0, rows.levels, in, reset, out);
  else
    launch(context, kernel_for(b, of.parts, upper, of.single), grid,
           karst_ilu_has_instance(b, of.single) ? sized : any);
}

void solve_dataflow(karst_context *context, const karst_ilu_cuda *plan, const double *r, double *z)
{
  const dataflow_state *state = static_cast<const dataflow_state *>(plan->sweep_state);
  cudaStream_t stream = karst_cuda_of(context)->stream;
  const karst_triangle &lower = plan->lower, &upper = plan->upper;
  const int b = plan->block_size;
  if (!karst_ilu_has_instance(b, lower.single)) {
    const size_t bytes = (size_t)lower.slots * (size_t)b * sizeof(double);
    cudaMemsetAsync(lower.x, 0xff, bytes, stream);
    cudaMemsetAsync(upper.x, 0xff, bytes, stream);
  }
  solve_triangle(context, lower, b, false, state->lower_grid, state->lower_long, r, upper.x, z);
  solve_triangle(context, upper, b, true, state->upper_grid, state->upper_long, lower.x, lower.x, z);
}

void forget_dataflow(karst_context *context, karst_ilu_cuda *plan)
{
  dataflow_state *state = static_cast<dataflow_state *>(plan->sweep_state);
  if (!state) return;
  karst_ilu_long_release_cuda(context, &state->lower_long);
  karst_ilu_long_release_cuda(context, &state->upper_long);
  karst_release(context, state);
}

} // namespace

const karst_ilu_sweep_variant karst_ilu_sweep_dataflow_cuda = {
    "dataflow", "dataflow, one launch", analyse_dataflow, forget_dataflow, NULL, solve_dataflow, NULL, NULL};
