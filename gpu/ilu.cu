/* ilu.cu - the CUDA instance of the ILU kernels: its table, and what the kernels' launches share. */
#include "ilu.h"
#include "dense.h"

namespace
{

/* How many levels' tasks are held by warps at a time. Measured on an H100; the work on a whole row hides more of the
 * way to its first value. */
enum { LEVELS_OF_SLICES = 12, LEVELS_OF_ROWS = 4 };

/* How many blocks of threads take part: all are resident together, and they hold the tasks of some levels, one a warp.
 * More would only slow the others down, for those that wait keep the second-level cache busy. */
karst_status resident(karst_context *context, const void *kernel, size_t shared, int64_t tasks, int64_t levels,
                      int *grid)
{
  enum { WARPS = KARST_ILU_THREADS / 32 };
  int each = 0;
  cudaError_t error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, KARST_ILU_THREADS, shared);
  const int64_t processors = karst_cuda_of(context)->multiprocessors, most = (each > 0 ? each : 1) * processors;
  int64_t useful = tasks / levels / WARPS;
  if (useful < processors) useful = processors;
  *grid = (int)(useful < most ? useful : most);
  return karst_cuda_status(context, error, "the launch of block ILU");
}

/* How many lanes share the neighbours of a row: enough for a lane to wait for all of its own at once. */
int choose_parts(const karst_triangle *t, int b, bool upper)
{
  const int64_t neighbours = t->blocks - (upper ? t->slots : 0); /* of all rows */
  int parts = 1;
  while (b <= KARST_BLOCK_SIZE_LARGEST_INSTANCE && parts < KARST_ILU_PARTS && 2 * parts * b <= 32 &&
         (int64_t)parts * karst_ilu_neighbours_at_once(b) * t->slots < neighbours)
    parts *= 2;
  return parts;
}

karst_status resident_sweep(karst_context *context, int b, bool upper, int64_t levels, karst_triangle *t, int *grid)
{
  t->parts = choose_parts(t, b, upper);
  const int rows = b * t->parts < 32 ? 32 / (b * t->parts) : 1; /* of a warp */
  const int64_t pieces = b > KARST_BLOCK_SIZE_LARGEST_INSTANCE ? (b + 31) / 32 : (t->group + rows - 1) / rows;
  return resident(context, karst_ilu_sweep_kernel_cuda(b, t->parts, upper), 0, LEVELS_OF_SLICES * pieces * t->tasks,
                  levels, grid);
}

/* finding->norm, which starts as 0: the bits of numbers that are not negative ascend as they do. NaNs are left out. */
__global__ void __launch_bounds__(KARST_CUDA_THREADS)
    measure(int64_t entries, const double *value, karst_ilu_finding_cuda *finding)
{
  double largest = 0;
  for (int64_t v = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; v < entries; v += (int64_t)gridDim.x * blockDim.x)
    largest = fmax(largest, fabs(value[v]));
  for (int distance = 16; distance > 0; distance /= 2) largest = fmax(largest, __shfl_xor_sync(~0u, largest, distance));
  if (threadIdx.x % 32 == 0)
    atomicMax((unsigned long long *)&finding->norm, (unsigned long long)__double_as_longlong(largest));
}

void report(const karst_ilu_finding_cuda *finding, karst_factor_outcome *outcome)
{
  outcome->reason = KARST_SOUND;
  outcome->block_row = -1;
  outcome->shifted = (int64_t)finding->shifted;
  if (finding->first == ~0ull) return;
  outcome->reason = finding->first % 4 == KARST_FAULT_SINGULAR ? KARST_SINGULAR_BLOCK : KARST_NOT_FINITE;
  outcome->block_row = (karst_index)(finding->first / 4);
}

karst_status factor(karst_context *context, const karst_matrix *A, double shift, karst_ilu *ilu,
                    karst_factor_outcome *outcome)
{
  const karst_ilu_cuda *plan = karst_ilu_cuda_of(ilu);
  karst_ilu_finding_cuda found = {~0ull, 0, 0};
  karst_status status = KARST_SUCCESS;
  if (ilu->rows > 0) {
    status = context->backend->upload(context, plan->finding, &found, sizeof found);
    if (status) return status;
    if (shift > 0) {
      const struct karst_cuda *cuda = karst_cuda_of(context);
      measure<<<(unsigned)(4 * cuda->multiprocessors), KARST_CUDA_THREADS, 0, cuda->stream>>>(karst_entries(A),
                                                                                              A->value, plan->finding);
    }
    if (plan->longest > 0)
      karst_ilu_factor_row_cuda(context, A, shift, plan);
    else if (ilu->block_size <= KARST_BLOCK_SIZE_LARGEST_INSTANCE)
      karst_ilu_factor_small_cuda(context, A, shift, plan);
    else
      karst_ilu_factor_large_cuda(context, A, shift, plan);
    status = context->backend->download(context, &found, plan->finding, sizeof found);
  }
  report(&found, outcome);
  return status;
}

karst_status load(karst_context *context, const karst_matrix *A, const double *value, karst_ilu *ilu,
                  karst_factor_outcome *outcome)
{
  const karst_ilu_cuda *plan = karst_ilu_cuda_of(ilu);
  karst_ilu_finding_cuda found = {~0ull, 0, 0};
  karst_status status = KARST_SUCCESS;
  (void)A; /* the plan knows its pattern */
  if (ilu->rows > 0) {
    status = context->backend->upload(context, plan->finding, &found, sizeof found);
    if (status) return status;
    karst_ilu_load_cuda(context, value, plan);
    status = context->backend->download(context, &found, plan->finding, sizeof found);
  }
  report(&found, outcome);
  return status;
}

void solve(karst_context *context, const karst_ilu *ilu, const double *r, double *z)
{
  const karst_ilu_cuda *plan = karst_ilu_cuda_of(ilu);
  if (ilu->rows == 0) return;
  if (plan->jacobi)
    karst_ilu_solve_jacobi_cuda(context, plan, r, z);
  else if (plan->by_levels)
    karst_ilu_solve_level_cuda(context, plan, r, z);
  else
    karst_ilu_solve_dataflow_cuda(context, plan, r, z);
}

} // namespace

karst_status karst_ilu_resident_cuda(karst_context *context, const karst_ilu_pattern_cuda *pattern,
                                     karst_ilu_cuda *plan)
{
  const int b = plan->block_size;
  const int64_t lower = pattern->lower.count, upper = pattern->upper.count;
  int64_t warps = LEVELS_OF_SLICES * plan->lower.tasks; /* that factor at a time, times the levels */
  size_t shared = 0;
  const void *factor = karst_ilu_factor_large_kernel_cuda();
  if (b > KARST_BLOCK_SIZE_LARGEST_INSTANCE) {
    shared = karst_ilu_factor_large_shared_cuda(b);
    warps = LEVELS_OF_SLICES * (int64_t)plan->lower.rows * KARST_ILU_THREADS / 32;
  } else if (plan->longest > 0) {
    factor = karst_ilu_factor_row_kernel_cuda(b, plan->rows_of_warp);
    shared = karst_ilu_factor_row_shared_cuda(plan);
    warps = LEVELS_OF_ROWS * (int64_t)plan->row_tasks;
  } else {
    factor = karst_ilu_factor_small_kernel_cuda(b);
    if (b >= KARST_ILU_TILE_LEAST) warps = LEVELS_OF_ROWS * (int64_t)plan->lower.rows;
  }
  karst_status status = resident(context, factor, shared, warps, lower, &plan->factor_grid);
  if (!status) status = resident_sweep(context, b, false, lower, &plan->lower, &plan->lower_grid);
  if (!status) status = resident_sweep(context, b, true, upper, &plan->upper, &plan->upper_grid);
  return status;
}

extern "C" {
extern const struct karst_ilu_kernels karst_ilu_kernels_cuda;
const struct karst_ilu_kernels karst_ilu_kernels_cuda = {true,
                                                         karst_cuda_entry<karst_ilu_plan_cuda>::call,
                                                         karst_cuda_entry<karst_ilu_plan_destroy_cuda>::call,
                                                         karst_cuda_entry<factor>::call,
                                                         karst_cuda_entry<load>::call,
                                                         karst_cuda_entry<solve>::call};
}
