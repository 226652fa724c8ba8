/* plan.cu - the plan of CPR on the GPU: the blocks of each block column, by a stable sort, and memory; and the table of
 * the kernels. */
#include "gpu/cpr/cpr_cuda.h"
#include "lib/base/search.h"

#include <cub/device/device_radix_sort.cuh>

namespace
{

enum {
  THREADS = KARST_CUDA_THREADS,
  ROOM = 1 << 23,     /* scalars of the work space for blocks that have no instance, unless one block takes more */
  MOST_GROUPS = 1024, /* thread blocks that share them */
};

const char *const what = "CPR";

/* A warp a row: the number and the row of each block, and the diagonal blocks. */
__global__ void __launch_bounds__(THREADS)
    number_blocks(karst_index rows, const karst_index *start, const karst_index *column, karst_index *number,
                  karst_index *row, karst_index *diagonal)
{
  const int64_t i = (blockIdx.x * (int64_t)blockDim.x + threadIdx.x) / 32;
  if (i >= rows) return;
  for (int64_t k = start[i] + (int64_t)(threadIdx.x % 32); k < start[i + 1]; k += 32) {
    number[k] = (karst_index)k;
    row[k] = (karst_index)i;
    if (column[k] == i) diagonal[i] = (karst_index)k;
  }
}

__global__ void __launch_bounds__(THREADS)
    find_starts(karst_index rows, karst_index blocks, const karst_index *sorted, karst_index *start)
{
  const int64_t j = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (j <= rows) start[j] = karst_lower_bound(sorted, 0, blocks, (karst_index)j);
}

__global__ void __launch_bounds__(THREADS)
    gather_rows(karst_index blocks, const karst_index *block, const karst_index *row_of_block, karst_index *row)
{
  const int64_t e = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (e < blocks) row[e] = row_of_block[block[e]];
}

__global__ void __launch_bounds__(THREADS)
    compare(int64_t count, const karst_index *first, const karst_index *second, int *differs)
{
  const int64_t k = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (k < count && first[k] != second[k]) *differs = 1;
}

/* sorted: [blocks] the columns in ascending order; the plan gets the blocks in that order. */
karst_status sort(karst_context *context, const karst_matrix *A, const karst_index *number, karst_index *sorted,
                  const karst_cpr_cuda *plan)
{
  cudaStream_t stream = karst_cuda_of(context)->stream;
  const karst_index blocks = (karst_index)A->blocks;
  size_t bytes = 0;
  void *work;
  int bits = 1;
  while (A->block_rows >> bits > 0) bits++;
  cudaError_t error = cub::DeviceRadixSort::SortPairs(NULL, bytes, A->device_column, sorted, number, plan->block,
                                                      blocks, 0, bits, stream);
  karst_status status = karst_cuda_status(context, error, what);
  if (!status) status = karst_cuda_work_take(context, bytes + 1, what, &work);
  if (status) return status;
  error = cub::DeviceRadixSort::SortPairs(work, bytes, A->device_column, sorted, number, plan->block, blocks, 0, bits,
                                          stream);
  karst_cuda_work_release(context, work);
  return karst_cuda_status(context, error, what);
}

karst_status list_columns(karst_context *context, const karst_matrix *A, const karst_cpr_cuda *plan)
{
  cudaStream_t stream = karst_cuda_of(context)->stream;
  const karst_index rows = A->block_rows, blocks = (karst_index)A->blocks;
  karst_index *number = NULL, *row = NULL, *sorted = NULL;
  karst_status status = karst_cuda_take_work(context, blocks, what, &number);
  if (!status) status = karst_cuda_take_work(context, blocks, what, &row);
  if (!status) status = karst_cuda_take_work(context, blocks, what, &sorted);
  if (!status) {
    number_blocks<<<karst_cuda_grid((int64_t)rows * 32, THREADS), THREADS, 0, stream>>>(
        rows, A->device_row_start, A->device_column, number, row, plan->diagonal);
    if (blocks > 0) status = sort(context, A, number, sorted, plan);
  }
  if (!status) {
    find_starts<<<karst_cuda_grid((int64_t)rows + 1, THREADS), THREADS, 0, stream>>>(rows, blocks, sorted, plan->start);
    gather_rows<<<karst_cuda_grid(blocks, THREADS), THREADS, 0, stream>>>(blocks, plan->block, row, plan->row);
  }
  karst_cuda_work_release(context, number, row, sorted);
  return status;
}

/* The rows of a symmetric pattern's columns are the columns of its rows: keeps one list of them. Waits. */
karst_status share_pattern(karst_context *context, const karst_matrix *A, karst_cpr *cpr, karst_cpr_cuda *plan)
{
  cudaStream_t stream = karst_cuda_of(context)->stream;
  const int64_t starts = (int64_t)A->block_rows + 1, blocks = A->blocks;
  int differs;
  const karst_status status = karst_cuda_compute(context, 1, what, &differs, [&](int *found) {
    compare<<<karst_cuda_grid(starts, THREADS), THREADS, 0, stream>>>(starts, plan->start, A->device_row_start, found);
    compare<<<karst_cuda_grid(blocks, THREADS), THREADS, 0, stream>>>(blocks, plan->row, A->device_column, found);
  });
  if (status || differs) return status;
  karst_cuda_release(context, plan->start, plan->row);
  plan->symmetric = true;
  plan->start = A->device_row_start;
  plan->row = A->device_column;
  cpr->memory -= (starts + blocks) * (int64_t)sizeof(karst_index);
  return KARST_SUCCESS;
}

karst_status take_memory(karst_context *context, const karst_matrix *A, karst_cpr *cpr, karst_cpr_cuda *plan)
{
  const int64_t rows = A->block_rows, blocks = A->blocks, b = A->block_size, room = 3 * b * b;
  int64_t *bytes = &cpr->memory;
  karst_status status = karst_cuda_take(context, b * rows, what, &cpr->weight, bytes);
  if (!status) status = karst_cuda_take(context, b * blocks, what, &cpr->column, bytes);
  if (!status) status = karst_cuda_take(context, rows + 1, what, &plan->start, bytes);
  if (!status) status = karst_cuda_take(context, blocks, what, &plan->block, bytes);
  if (!status) status = karst_cuda_take(context, blocks, what, &plan->row, bytes);
  if (!status) status = karst_cuda_take(context, rows, what, &plan->diagonal, bytes);
  if (!status && cpr->columns)
    status = karst_cuda_take(context, b * cpr->columns->halo->blocks, what, &cpr->ghost_column, bytes);
  if (!status) status = karst_cuda_take(context, (b > 2 ? b : 2) * rows, what, &cpr->residual, bytes);
  if (!status) status = karst_cuda_take(context, rows, what, &cpr->solution, bytes);
  if (!status) status = karst_cuda_take(context, 1, what, &plan->unit, bytes);
  if (!status) status = karst_cuda_take(context, 1, what, &plan->found, bytes);
  if (status || b <= KARST_BLOCK_SIZE_LARGEST_INSTANCE) return status;
  int64_t groups = ROOM / room > 0 ? ROOM / room : 1;
  if (groups > MOST_GROUPS) groups = MOST_GROUPS;
  if (groups > rows) groups = rows > 0 ? rows : 1;
  plan->groups = (int)groups;
  return karst_cuda_take(context, groups * room, what, &plan->room, bytes);
}

} // namespace

karst_status karst_cpr_plan_cuda(karst_context *context, const karst_matrix *A, karst_cpr *cpr)
{
  karst_cpr_cuda *plan;
  karst_status status = karst_allocate_zero(context, &plan, 1, sizeof *plan, what);
  if (status) return status;
  cpr->plan = plan;
  cpr->rows = A->block_rows;
  cpr->block_size = A->block_size;
  cpr->memory = 0;
  plan->lanes = 1;
  while (plan->lanes < 32 && (int64_t)plan->lanes * A->block_rows < A->blocks) plan->lanes *= 2;
  status = take_memory(context, A, cpr, plan);
  if (!status) status = list_columns(context, A, plan);
  if (!status) status = share_pattern(context, A, cpr, plan);
  karst_cuda_work_end(context);
  return status;
}

void karst_cpr_plan_destroy_cuda(karst_context *context, karst_cpr *cpr)
{
  karst_cpr_cuda *plan = karst_cpr_cuda_of(cpr);
  karst_cuda_release(context, cpr->weight, cpr->column, cpr->ghost_column, cpr->residual, cpr->solution);
  if (!plan) return;
  if (!plan->symmetric) karst_cuda_release(context, plan->start, plan->row);
  karst_cuda_release(context, plan->block, plan->diagonal, plan->unit, plan->found, plan->room);
  karst_release(context, plan);
}

extern "C" {
extern const struct karst_cpr_kernels karst_cpr_kernels_cuda;
const struct karst_cpr_kernels karst_cpr_kernels_cuda = {
    karst_cuda_entry<karst_cpr_plan_cuda>::call,           karst_cuda_entry<karst_cpr_plan_destroy_cuda>::call,
    karst_cuda_entry<karst_cpr_weigh_cuda>::call,          karst_cuda_entry<karst_cpr_pressure_cuda>::call,
    karst_cuda_entry<karst_cpr_balance_cuda>::call,        karst_cuda_entry<karst_cpr_scale_cuda>::call,
    karst_cuda_entry<karst_cpr_couple_cuda>::call,         karst_cuda_entry<karst_cpr_restrict_cuda>::call,
    karst_cuda_entry<karst_cpr_subtract_cuda>::call,       karst_cuda_entry<karst_cpr_prolong_cuda>::call,
    karst_cuda_entry<karst_cpr_sum_ghosts_cuda>::call,     karst_cuda_entry<karst_cpr_sum_scales_cuda>::call,
    karst_cuda_entry<karst_cpr_subtract_ghosts_cuda>::call};
}
