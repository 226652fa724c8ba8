/* units.cu - finds the long rows of a triangle, and lists the work of each warp of a sweep with such rows (long.h). The
 * long rows of a level come first, because they take longest; each is a round. The others follow, a piece of a task for
 * each warp. A level begins with a round. */
#include "gpu/ilu/sweeps/long.h"

namespace
{

enum { THREADS = 256 };

const char *const what = "the plan of block ILU";

/* A strict triangle by rows, in device memory. */
struct strict_triangle {
  const karst_index *start;
  bool upper;
};

__global__ void __launch_bounds__(THREADS)
    measure(karst_index rows, const karst_index *start, karst_ilu_long_rows *found)
{
  __shared__ karst_ilu_long_rows mine;
  for (int l = (int)threadIdx.x; l < KARST_ILU_LONG_LIMITS; l += THREADS) mine.rows[l] = mine.neighbours[l] = 0;
  __syncthreads();
  const int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  const int64_t neighbours = i < rows ? start[i + 1] - start[i] : 0;
  for (int l = 0; l < KARST_ILU_LONG_LIMITS && neighbours > (int64_t)KARST_ILU_LONG << l; l++) {
    atomicAdd(&mine.rows[l], 1ull);
    atomicAdd(&mine.neighbours[l], (unsigned long long)neighbours);
  }
  __syncthreads();
  for (int l = (int)threadIdx.x; l < KARST_ILU_LONG_LIMITS; l += THREADS)
    if (mine.rows[l] > 0) {
      atomicAdd(&found->rows[l], mine.rows[l]);
      atomicAdd(&found->neighbours[l], mine.neighbours[l]);
    }
}

__device__ karst_index neighbours_of(const karst_triangle &t, const strict_triangle &strict, karst_index slot)
{
  return strict.start[t.row[slot] + 1] - strict.start[t.row[slot]];
}

/* Bit q of a task's mask: row q of the slice is in the task and long. */
__global__ void mark_long(karst_triangle t, strict_triangle strict, int64_t limit, unsigned *mask)
{
  const int64_t task = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (task >= t.tasks) return;
  unsigned found = 0;
  for (karst_index slot = t.task[task]; slot < t.task[task + 1]; slot++)
    if (neighbours_of(t, strict, slot) > limit) found |= 1u << slot % t.group;
  mask[task] = found;
}

__global__ void measure_units(karst_triangle t, strict_triangle strict, int64_t count, karst_ilu_unit *unit)
{
  const int64_t n = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (n >= count || unit[n].begin < 0) return;
  const karst_ilu_unit u = unit[n];
  karst_index longest = 0;
  for (karst_index slot = u.begin; slot < u.stop; slot++)
    if ((u.left_out >> slot % t.group & 1) == 0) longest = max(longest, neighbours_of(t, strict, slot));
  unit[n].length = u.length < 0 ? -longest : longest + (strict.upper ? 1 : 0);
}

/* In host memory: the tasks of a triangle, their long rows, and the units, which are only counted if unit is NULL. */
struct listing {
  karst_index tasks;
  karst_index *task; /* [tasks + 1] */
  unsigned *mask;    /* [tasks] */
  int group, rows_of_warp;
  karst_ilu_unit *unit;
  int64_t count;
};

void add(listing *list, karst_ilu_unit unit)
{
  if (list->unit) list->unit[list->count] = unit;
  list->count++;
}

void add_long(listing *list, karst_index task)
{
  for (karst_index slot = list->task[task]; slot < list->task[task + 1]; slot++)
    if (list->mask[task] >> slot % list->group & 1)
      for (int warp = 0; warp < KARST_ILU_LONG_WARPS; warp++) add(list, {slot, slot + 1, 0, -1, 0});
}

/* Adds the pieces of a task with rows that are not long. */
void add_others(listing *list, karst_index task)
{
  const karst_index begin = list->task[task], stop = list->task[task + 1];
  const unsigned left_out = list->mask[task];
  unsigned others = 0;
  for (karst_index slot = begin; slot < stop; slot++) others |= ~left_out & 1u << slot % list->group;
  for (int piece = 0; piece * list->rows_of_warp < list->group; piece++) {
    bool any = false;
    for (int q = piece * list->rows_of_warp; q < list->group && q < (piece + 1) * list->rows_of_warp; q++)
      any = any || (others >> q & 1);
    if (any) add(list, {begin, stop, piece, 0, left_out});
  }
}

void list_units(const karst_ilu_levels_cuda *levels, int64_t *level_start, listing *list)
{
  list->count = 0;
  karst_index task = 0;
  for (karst_index level = 0; level < levels->count; level++) {
    const karst_index first = task;
    level_start[level] = list->count / KARST_ILU_LONG_WARPS;
    for (; task < list->tasks && list->task[task] < levels->start[level + 1]; task++) add_long(list, task);
    for (karst_index other = first; other < task; other++) add_others(list, other);
    while (list->count % KARST_ILU_LONG_WARPS > 0) add(list, {-1, -1, 0, -1, 0});
  }
  level_start[levels->count] = list->count / KARST_ILU_LONG_WARPS;
}

/* Downloads the tasks and their long rows. */
karst_status get_tasks(karst_context *context, const karst_triangle *t, const strict_triangle &strict, int64_t limit,
                       listing *list)
{
  const int64_t tasks = t->tasks;
  karst_status status = karst_allocate(context, &list->task, tasks + 1, sizeof *list->task, what);
  if (!status) status = karst_allocate(context, &list->mask, tasks, sizeof *list->mask, what);
  if (!status)
    status = karst_cuda_compute(context, tasks, what, list->mask, [&](unsigned *mask) {
      mark_long<<<karst_cuda_grid(tasks, THREADS), THREADS, 0, karst_cuda_of(context)->stream>>>(*t, strict, limit,
                                                                                                 mask);
    });
  if (!status)
    status = context->backend->download(context, list->task, t->task, ((size_t)tasks + 1) * sizeof *list->task);
  return status;
}

karst_status make_units(karst_context *context, const karst_ilu_levels_cuda *levels, const strict_triangle &strict,
                        const karst_triangle *t, listing *list, karst_ilu_long_cuda *rows, int64_t *bytes)
{
  list_units(levels, rows->level_start, list);
  karst_status status = karst_allocate(context, &list->unit, list->count, sizeof *list->unit, what);
  if (!status) status = karst_cuda_take(context, list->count, what, &rows->unit, bytes);
  if (status) return status;
  list_units(levels, rows->level_start, list);
  status = context->backend->upload(context, rows->unit, list->unit, (size_t)list->count * sizeof *list->unit);
  if (!status)
    measure_units<<<karst_cuda_grid(list->count, THREADS), THREADS, 0, karst_cuda_of(context)->stream>>>(
        *t, strict, list->count, rows->unit);
  return status;
}

/* Makes the rounds for block sizes with instances of the kernels. */
karst_status make_rounds(karst_context *context, const karst_ilu_levels_cuda *levels, const strict_triangle &strict,
                         const karst_triangle *t, int64_t limit, karst_ilu_long_cuda *rows, int64_t *bytes)
{
  listing list = {};
  list.tasks = t->tasks;
  list.group = t->group;
  list.rows_of_warp = t->group / rows->parts > 0 ? t->group / rows->parts : 1;
  karst_status status = get_tasks(context, t, strict, limit, &list);
  if (!status) status = make_units(context, levels, strict, t, &list, rows, bytes);
  karst_release(context, list.task);
  karst_release(context, list.mask);
  karst_release(context, list.unit);
  return status;
}

karst_status create(karst_context *context, const karst_ilu_levels_cuda *levels, const strict_triangle &strict, int b,
                    const karst_ilu_long_rows *found, int64_t neighbours, const karst_triangle *t,
                    karst_ilu_long_cuda *rows, int64_t *bytes)
{
  const int chosen = karst_ilu_choose_long(found, t->rows, neighbours, levels->count);
  if (chosen < 0) return KARST_SUCCESS;
  const int64_t limit = (int64_t)KARST_ILU_LONG << chosen;
  karst_notify(context, KARST_MESSAGE_NOTE,
               "triangular solves: a block of threads for each of %llu rows of %s with more "
               "than %lld neighbours",
               found->rows[chosen], strict.upper ? "U" : "L", (long long)limit);
  karst_status status =
      karst_allocate(context, &rows->level_start, (int64_t)levels->count + 1, sizeof *rows->level_start, what);
  if (status) return status;
  *bytes += ((int64_t)levels->count + 1) * (int64_t)sizeof *rows->level_start;
  rows->any = true;
  rows->levels = levels->count;
  rows->parts = karst_ilu_choose_parts_beside_long(b, t->slots, neighbours - (int64_t)found->neighbours[chosen]);
  if (karst_ilu_has_instance(b, rows->single))
    status = make_rounds(context, levels, strict, t, limit, rows, bytes);
  else
    for (karst_index level = 0; level <= levels->count; level++)
      rows->level_start[level] = (int64_t)levels->start[level] * ((b + 31) / 32);
  return status ? status : karst_ilu_long_resident_cuda(context, b, strict.upper, rows);
}

} // namespace

karst_status karst_ilu_long_create_cuda(karst_context *context, const karst_ilu_pattern_cuda *pattern,
                                        karst_ilu_analysis *analysis, karst_ilu_long_cuda *lower,
                                        karst_ilu_long_cuda *upper)
{
  const karst_ilu_cuda *plan = karst_ilu_cuda_of(analysis);
  const strict_triangle strict_lower = {pattern->lower_start, false}, strict_upper = {pattern->upper_start, true};
  const int b = plan->block_size;
  int64_t *bytes = &analysis->plan_memory;
  karst_ilu_long_rows found[2];
  *lower = *upper = {};
  lower->single = upper->single = analysis->single;
  if (analysis->lower_blocks <= KARST_ILU_LONG && analysis->upper_blocks <= KARST_ILU_LONG) return KARST_SUCCESS;
  karst_status status = karst_cuda_compute(context, 2, what, found, [&](karst_ilu_long_rows *counted) {
    cudaStream_t stream = karst_cuda_of(context)->stream;
    const unsigned grid = karst_cuda_grid(analysis->rows, THREADS);
    measure<<<grid, THREADS, 0, stream>>>(analysis->rows, pattern->lower_start, &counted[0]);
    measure<<<grid, THREADS, 0, stream>>>(analysis->rows, pattern->upper_start, &counted[1]);
  });
  if (!status)
    status = create(context, &pattern->lower, strict_lower, b, &found[0], analysis->lower_blocks, &plan->lower, lower,
                    bytes);
  if (!status)
    status = create(context, &pattern->upper, strict_upper, b, &found[1], analysis->upper_blocks, &plan->upper, upper,
                    bytes);
  return status;
}

void karst_ilu_long_release_cuda(karst_context *context, karst_ilu_long_cuda *rows)
{
  karst_release(context, rows->level_start);
  context->backend->release(context, rows->unit);
}
