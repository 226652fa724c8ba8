/* split.cu - decides which blocks of parilu and paric have a list of their products, and which find them again in each
 * pass. Lists hold at most KARST_PARILU_LISTED products a block on average, and at most KARST_PARILU_LONGEST each. */
#include "gpu/sweeps/sweeps_cuda.h"

namespace
{

const char *const what = "the plan of the sweeps";

__global__ void mark_long(int64_t tasks, karst_index most, const karst_index *count, karst_index *is_long)
{
  const int64_t t = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (t <= tasks) is_long[t] = t < tasks && count[t] > most;
}

/* before: [tasks + 1] the number of tasks with more than most products before each. */
__global__ void move_tasks(karst_parilu_cuda from, karst_index most, const karst_index *before, karst_parilu_cuda to)
{
  const int64_t t = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (t == from.tasks) to.list[t] = 0;
  if (t >= from.tasks) return;
  const bool is_long = from.list[t] > most;
  const int64_t place = is_long ? to.listed + before[t] : t - before[t];
  to.task[place] = from.task[t];
  to.row[place] = from.row[t];
  to.pivot[place] = from.pivot[t];
  to.list[place] = is_long ? 0 : from.list[t];
}

karst_status take(karst_context *context, karst_parilu_cuda *plan)
{
  karst_status status = karst_cuda_take(context, plan->tasks, what, &plan->task, NULL);
  if (!status) status = karst_cuda_take(context, plan->tasks, what, &plan->row, NULL);
  if (!status) status = karst_cuda_take(context, plan->tasks, what, &plan->pivot, NULL);
  return status ? status : karst_cuda_take(context, plan->tasks + 1, what, &plan->list, NULL);
}

void release(karst_context *context, const karst_parilu_cuda *plan)
{
  karst_cuda_release(context, plan->task, plan->row, plan->pivot, plan->list);
}

} // namespace

karst_index karst_parilu_longest_list(const unsigned long long *tasks)
{
  unsigned long long all = 0, products = 0;
  karst_index most = 0;
  for (int n = 0; n < KARST_PARILU_LONGEST + 2; n++) all += tasks[n];
  for (int n = 1; n <= KARST_PARILU_LONGEST; n++) {
    products += (unsigned long long)n * tasks[n];
    if (products > KARST_PARILU_LISTED * all) break;
    most = n;
  }
  return most;
}

karst_status karst_parilu_split_cuda(karst_context *context, karst_index most, karst_parilu_cuda *plan)
{
  enum { THREADS = KARST_CUDA_THREADS };
  cudaStream_t stream = karst_cuda_of(context)->stream;
  const int64_t tasks = plan->tasks;
  karst_parilu_cuda made = *plan, old = *plan;
  karst_index *before, searching;
  made.task = made.row = made.pivot = made.list = NULL;
  karst_status status = karst_cuda_take(context, tasks + 1, what, &before, NULL);
  if (status) return status;
  mark_long<<<karst_cuda_grid(tasks + 1, THREADS), THREADS, 0, stream>>>(tasks, most, plan->list, before);
  status = karst_ilu_sum_indices_cuda(context, tasks + 1, before);
  if (!status) status = context->backend->download(context, &searching, before + tasks, sizeof searching);
  if (!status) status = take(context, &made);
  if (!status) {
    made.listed = tasks - searching;
    move_tasks<<<karst_cuda_grid(tasks + 1, THREADS), THREADS, 0, stream>>>(old, most, before, made);
    *plan = made;
  }
  release(context, status ? &made : &old);
  context->backend->release(context, before);
  return status;
}
