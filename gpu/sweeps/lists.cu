/* lists.cu - the analysis of parilu and paric on the GPU: the tasks in their order, and the products of each block of
 * sums. They are found once, on the GPU:
 *
 *     parilu   (L_ik, U_kj) for k < min(i, j), (i,k) and (k,j) in S          paric   (L_ik, L_jk) for k < j, in S
 *
 * The products of a block are in the order of ascending k. A sweep then searches nothing, except for blocks with so
 * many products that the lists would take too much memory (split.cu). */
#include "gpu/sweeps/match.h"

namespace
{

const char *const what = "the plan of the sweeps";

__global__ void number_rows(karst_index rows, const karst_index *start, karst_index *row)
{
  const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i >= rows) return;
  for (karst_index k = start[i]; k < start[i + 1]; k++) row[k] = (karst_index)i;
}

/* Fills in the rows and pivots of the tasks. list gets each task's number of products, counted up to one more than a
 * list may have; tasks [KARST_PARILU_LONGEST + 2], how many tasks have each number. */
__global__ void __launch_bounds__(KARST_CUDA_THREADS)
    describe(karst_parilu_cuda plan, karst_parilu_pattern_cuda S, const karst_index *row_of_block,
             unsigned long long *tasks)
{
  enum { COUNTS = KARST_PARILU_LONGEST + 2 };
  __shared__ unsigned having[COUNTS];
  const int64_t t = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  for (int n = (int)threadIdx.x; n < COUNTS; n += KARST_CUDA_THREADS) having[n] = 0;
  __syncthreads();
  const bool there = t < plan.tasks;
  const karst_index k = plan.task[there ? t : 0], i = row_of_block[k], j = S.column[k];
  const int count = karst_parilu_count_products(S, i, j, there, COUNTS - 1);
  if (there) {
    plan.row[t] = i;
    plan.pivot[t] = j <= i ? S.diagonal[j] : -1;
    plan.list[t] = count;
    atomicAdd(&having[count], 1u);
  }
  __syncthreads();
  for (int n = (int)threadIdx.x; n < COUNTS; n += KARST_CUDA_THREADS)
    if (having[n] > 0) atomicAdd(&tasks[n], (unsigned long long)having[n]);
}

__global__ void fill_products(karst_parilu_cuda plan, karst_parilu_pattern_cuda S)
{
  const int64_t t = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (t >= plan.listed) return;
  karst_index next = plan.list[t];
  karst_parilu_each_product(S, plan.row[t], S.column[plan.task[t]], [&](karst_parilu_product product) {
    plan.product[next++] = product;
    return true;
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
  if (!status) status = karst_cuda_take(context, plan->tasks, what, &plan->task, &analysis->plan_memory);
  if (!status) status = context->backend->upload(context, plan->task, task, (size_t)plan->tasks * sizeof *plan->task);
  karst_release(context, made);
  return status;
}

/* Counts the products of each task, and chooses in *most how many of them a list may have. Returns in *products how
 * many there are in all lists, and in *all whether every task has one. */
karst_status count_products(karst_context *context, const karst_parilu_cuda *plan, const karst_parilu_pattern_cuda &S,
                            const karst_index *row_of_block, karst_index *most, int64_t *products, bool *all)
{
  unsigned long long tasks[KARST_PARILU_LONGEST + 2];
  int64_t listed = 0;
  cudaStream_t stream = karst_cuda_of(context)->stream;
  cudaMemsetAsync(plan->list + plan->tasks, 0, sizeof *plan->list, stream);
  const karst_status status =
      karst_cuda_compute(context, KARST_PARILU_LONGEST + 2, what, tasks, [&](unsigned long long *counts) {
        describe<<<karst_cuda_grid(plan->tasks, KARST_CUDA_THREADS), KARST_CUDA_THREADS, 0, stream>>>(
            *plan, S, row_of_block, counts);
      });
  if (status) return status;
  *most = karst_parilu_longest_list(tasks);
  *products = 0;
  for (karst_index n = 0; n <= *most; n++) {
    *products += (int64_t)tasks[n] * n;
    listed += (int64_t)tasks[n];
  }
  *all = listed == plan->tasks;
  if (*products <= KARST_ILU_INDEX_MAX) return KARST_SUCCESS;
  return karst_fail(context, KARST_ERROR_INDEX_OVERFLOW, "the products of the sweeps cannot be numbered: %lld",
                    (long long)*products);
}

/* Makes the lists, for which S has the columns of the plan. */
karst_status make_lists(karst_context *context, const karst_parilu_pattern_cuda &S, const karst_index *row_of_block,
                        karst_parilu_analysis *analysis)
{
  karst_parilu_cuda *plan = static_cast<karst_parilu_cuda *>(analysis->plan);
  cudaStream_t stream = karst_cuda_of(context)->stream;
  karst_index most;
  int64_t products;
  bool all;
  karst_status status = count_products(context, plan, S, row_of_block, &most, &products, &all);
  plan->listed = plan->tasks;
  if (!status && !all) status = karst_parilu_split_cuda(context, most, plan);
  if (!status) status = karst_ilu_sum_indices_cuda(context, plan->tasks + 1, plan->list);
  if (!status) status = karst_cuda_take(context, products, what, &plan->product, &analysis->plan_memory);
  if (status) return status;
  fill_products<<<karst_cuda_grid(plan->listed, KARST_CUDA_THREADS), KARST_CUDA_THREADS, 0, stream>>>(*plan, S);
  return karst_cuda_status(context, cudaStreamSynchronize(stream), what);
}

/* Describes the tasks and makes their lists. The plan keeps the columns if tasks find their products in each pass. */
karst_status find_products(karst_context *context, const karst_matrix *F, const karst_index *row_of_block,
                           karst_parilu_analysis *analysis)
{
  karst_parilu_cuda *plan = static_cast<karst_parilu_cuda *>(analysis->plan);
  int64_t bytes = 0;
  karst_status status = KARST_SUCCESS;
  if (!analysis->symmetric) status = karst_parilu_make_columns_cuda(context, F, row_of_block, &plan->upper, &bytes);
  if (!status)
    status = make_lists(context, {F->device_row_start, F->device_column, analysis->diagonal, plan->upper}, row_of_block,
                        analysis);
  if (plan->listed < plan->tasks)
    analysis->plan_memory += bytes;
  else
    karst_parilu_release_columns_cuda(context, &plan->upper);
  return status;
}

} // namespace

karst_status karst_parilu_analyse_cuda(karst_context *context, const karst_matrix *F, karst_parilu_analysis *analysis)
{
  karst_parilu_cuda *plan;
  karst_index *row_of_block = NULL;
  int64_t *bytes = &analysis->plan_memory;
  karst_status status = karst_allocate_zero(context, &plan, 1, sizeof *plan, what);
  if (status) return status;
  analysis->plan = plan;
  plan->limit = analysis->limit;
  if (F->block_rows == 0) return KARST_SUCCESS;
  status = upload_tasks(context, F, analysis);
  if (!status) status = karst_cuda_take(context, plan->tasks, what, &plan->row, bytes);
  if (!status) status = karst_cuda_take(context, plan->tasks, what, &plan->pivot, bytes);
  if (!status) status = karst_cuda_take(context, plan->tasks + 1, what, &plan->list, bytes);
  if (!status) status = karst_cuda_take(context, F->row_start[F->block_rows], what, &row_of_block, NULL);
  if (!status) {
    number_rows<<<karst_cuda_grid(F->block_rows, KARST_CUDA_THREADS), KARST_CUDA_THREADS, 0,
                  karst_cuda_of(context)->stream>>>(F->block_rows, F->device_row_start, row_of_block);
    status = find_products(context, F, row_of_block, analysis);
  }
  context->backend->release(context, row_of_block);
  karst_cuda_work_end(context);
  return status;
}

void karst_parilu_analysis_destroy_cuda(karst_context *context, karst_parilu_analysis *analysis)
{
  karst_parilu_cuda *plan = static_cast<karst_parilu_cuda *>(analysis->plan);
  if (!plan) return;
  karst_cuda_release(context, plan->task, plan->row, plan->pivot, plan->list, plan->product);
  karst_parilu_release_columns_cuda(context, &plan->upper);
  karst_release(context, plan);
}
