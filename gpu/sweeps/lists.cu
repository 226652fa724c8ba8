/* lists.cu - the analysis of parilu and paric on the GPU: the tasks in their order, and the products that each block of
 * sums is made of. They are found once, on the GPU:
 *
 *     parilu   (L_ik, U_kj) for k < min(i, j), (i,k) and (k,j) in S          paric   (L_ik, L_jk), k < j, likewise
 *
 * The products of a block are in the order of ascending k. A sweep then searches nothing. */
#include "sweeps.h"
#include "search.h"

#include <cub/device/device_scan.cuh>

namespace
{

const char *const what = "the plan of the sweeps";

/* The pattern of F. */
struct pattern {
  const karst_index *start, *column, *diagonal;
  const karst_index *mirror; /* paric */
};

__global__ void number_rows(karst_index rows, const karst_index *start, karst_index *row)
{
  const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i >= rows) return;
  for (karst_index k = start[i]; k < start[i + 1]; k++) row[k] = (karst_index)i;
}

/* Calls visit(left, right) for each product of block (i,j), k ascending. */
template <typename visitor> __device__ void each_product(const pattern &S, karst_index i, karst_index j, visitor visit)
{
  const karst_index least = min(i, j);
  for (karst_index left = S.start[i]; S.column[left] < least; left++) {
    const karst_index k = S.column[left];
    const karst_index right = karst_find_column(S.column, S.diagonal[k] + 1, S.start[k + 1], j);
    if (right >= 0) visit(left, S.mirror ? S.mirror[right] : right);
  }
}

/* Fills in the rows and pivots of the tasks. list gets each task's number of products, and *total that of all tasks. */
__global__ void describe(karst_parilu_cuda plan, pattern S, const karst_index *row_of_block, unsigned long long *total)
{
  const int64_t t = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (t >= plan.tasks) return;
  const karst_index k = plan.task[t], i = row_of_block[k], j = S.column[k];
  karst_index count = 0;
  each_product(S, i, j, [&](karst_index, karst_index) { count++; });
  plan.row[t] = i;
  plan.pivot[t] = j <= i ? S.diagonal[j] : -1;
  plan.list[t] = count;
  if (count > 0) atomicAdd(total, (unsigned long long)count);
}

__global__ void fill_products(karst_parilu_cuda plan, pattern S)
{
  const int64_t t = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (t >= plan.tasks) return;
  karst_index next = plan.list[t];
  each_product(S, plan.row[t], S.column[plan.task[t]], [&](karst_index left, karst_index right) {
    plan.product[next++] = {left, right};
  });
}

/* Lists the blocks as tasks, row after row and from left to right; for paric, those of the lower triangle. */
karst_status list_in_order(karst_context *context, const karst_matrix *F, bool symmetric, karst_index **task,
                           int64_t *tasks)
{
  karst_status status = karst_allocate(context, task, F->row_start[F->block_rows], sizeof **task, what);
  *tasks = 0;
  if (status) return status;
  for (karst_index i = 0; i < F->block_rows; i++)
    for (karst_index k = F->row_start[i]; k < F->row_start[i + 1]; k++)
      if (!symmetric || F->column[k] <= i) (*task)[(*tasks)++] = k;
  return KARST_SUCCESS;
}

karst_status upload_tasks(karst_context *context, const karst_matrix *F, karst_parilu_analysis *analysis)
{
  karst_parilu_cuda *plan = static_cast<karst_parilu_cuda *>(analysis->plan);
  karst_index *made = NULL;
  const karst_index *task = analysis->task;
  karst_status status = KARST_SUCCESS;
  plan->tasks = analysis->tasks;
  if (!analysis->asynchronous || !task) { /* the order makes no difference otherwise */
    status = list_in_order(context, F, analysis->symmetric, &made, &plan->tasks);
    task = made;
  }
  if (!status) status = karst_ilu_take(context, plan->tasks, what, &plan->task, &analysis->plan_memory);
  if (!status) status = context->backend->upload(context, plan->task, task, (size_t)plan->tasks * sizeof *plan->task);
  karst_release(context, made);
  return status;
}

/* Turns the counts in list [count + 1], of which the last is 0, into starts. */
karst_status sum_counts(karst_context *context, int64_t count, karst_index *list)
{
  cudaStream_t stream = karst_cuda_of(context)->stream;
  size_t bytes = 0;
  void *work;
  cub::DeviceScan::ExclusiveSum(NULL, bytes, list, list, count + 1, stream);
  karst_status status = context->backend->allocate(context, bytes + 1, what, &work);
  if (status) return status;
  cudaError_t error = cub::DeviceScan::ExclusiveSum(work, bytes, list, list, count + 1, stream);
  context->backend->release(context, work);
  return karst_cuda_status(context, error, what);
}

karst_status make_lists(karst_context *context, const karst_matrix *F, const karst_index *row_of_block,
                        unsigned long long *total, karst_parilu_analysis *analysis)
{
  karst_parilu_cuda *plan = static_cast<karst_parilu_cuda *>(analysis->plan);
  const pattern S = {F->device_row_start, F->device_column, analysis->diagonal, analysis->mirror};
  const unsigned grid = karst_ilu_grid(plan->tasks, KARST_CUDA_THREADS);
  cudaStream_t stream = karst_cuda_of(context)->stream;
  unsigned long long products;
  cudaMemsetAsync(total, 0, sizeof *total, stream);
  cudaMemsetAsync(plan->list + plan->tasks, 0, sizeof *plan->list, stream);
  describe<<<grid, KARST_CUDA_THREADS, 0, stream>>>(*plan, S, row_of_block, total);
  karst_status status = context->backend->download(context, &products, total, sizeof products);
  if (status) return status;
  if (products > (unsigned long long)KARST_ILU_INDEX_MAX)
    return karst_fail(context, KARST_ERROR_INDEX_OVERFLOW, "the products of the sweeps cannot be numbered: %llu",
                      products);
  status = sum_counts(context, plan->tasks, plan->list);
  if (!status) status = karst_ilu_take(context, (int64_t)products, what, &plan->product, &analysis->plan_memory);
  if (status) return status;
  fill_products<<<grid, KARST_CUDA_THREADS, 0, stream>>>(*plan, S);
  return karst_cuda_status(context, cudaStreamSynchronize(stream), what);
}

} // namespace

karst_status karst_parilu_analyse_cuda(karst_context *context, const karst_matrix *F, karst_parilu_analysis *analysis)
{
  karst_parilu_cuda *plan;
  karst_index *row_of_block = NULL;
  unsigned long long *total = NULL;
  int64_t passing = 0, *bytes = &analysis->plan_memory;
  karst_status status = karst_allocate_zero(context, &plan, 1, sizeof *plan, what);
  if (status) return status;
  analysis->plan = plan;
  plan->limit = analysis->limit;
  if (F->block_rows == 0) return KARST_SUCCESS;
  status = upload_tasks(context, F, analysis);
  if (!status) status = karst_ilu_take(context, plan->tasks, what, &plan->row, bytes);
  if (!status) status = karst_ilu_take(context, plan->tasks, what, &plan->pivot, bytes);
  if (!status) status = karst_ilu_take(context, plan->tasks + 1, what, &plan->list, bytes);
  if (!status) status = karst_ilu_take(context, F->row_start[F->block_rows], what, &row_of_block, &passing);
  if (!status) status = karst_ilu_take(context, 1, what, &total, &passing);
  if (!status) {
    number_rows<<<karst_ilu_grid(F->block_rows, KARST_CUDA_THREADS), KARST_CUDA_THREADS, 0,
                  karst_cuda_of(context)->stream>>>(F->block_rows, F->device_row_start, row_of_block);
    status = make_lists(context, F, row_of_block, total, analysis);
  }
  context->backend->release(context, row_of_block);
  context->backend->release(context, total);
  return status;
}

void karst_parilu_analysis_destroy_cuda(karst_context *context, karst_parilu_analysis *analysis)
{
  karst_parilu_cuda *plan = static_cast<karst_parilu_cuda *>(analysis->plan);
  if (!plan) return;
  context->backend->release(context, plan->task);
  context->backend->release(context, plan->row);
  context->backend->release(context, plan->pivot);
  context->backend->release(context, plan->list);
  context->backend->release(context, plan->product);
  karst_release(context, plan);
}
