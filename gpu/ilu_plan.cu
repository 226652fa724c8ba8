/* ilu_plan.cu - the plan of block ILU on the GPU: both triangles laid out in slices (ilu.h), made on the GPU itself from
 * the patterns and the level sets, which are uploaded.
 *
 * Time: the pattern crosses the bus once; what is left on the host is a pass over the level starts. */
#include "ilu.h"

#include <cub/device/device_scan.cuh>

enum { THREADS = 256 };

/* The strict triangle by rows, as the host has it, in device memory. */
struct strict_triangle {
  const karst_index *start, *column;
  bool upper;
};

static __global__ void invert_order(karst_index rows, const karst_index *row, karst_index *slot)
{
  karst_index s = (karst_index)(blockIdx.x * (int64_t)blockDim.x + threadIdx.x);
  if (s < rows) slot[row[s]] = s;
}

static __global__ void pair_slots(karst_index rows, const karst_index *row, const karst_index *other_slot,
                                  karst_index *other)
{
  karst_index s = (karst_index)(blockIdx.x * (int64_t)blockDim.x + threadIdx.x);
  if (s < rows) other[s] = other_slot[row[s]];
}

/* The entries of each slice, the longest of its rows; the one past the last has none. */
static __global__ void measure_slices(karst_triangle t, strict_triangle strict, int64_t slices, int64_t *length)
{
  int64_t slice = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (slice > slices) return;
  karst_index longest = 0;
  for (int64_t s = slice * t.group; s < (slice + 1) * t.group && s < t.rows && slice < slices; s++)
    longest = max(longest, strict.start[t.row[s] + 1] - strict.start[t.row[s]] + (strict.upper ? 1 : 0));
  length[slice] = longest;
}

/* Sorts a few entries of a row by slots, by insertion. */
static __device__ void sort_entries(karst_index *column, int64_t stride, karst_index count)
{
  for (karst_index e = 1; e < count; e++) {
    karst_index moved = column[e * stride], to = e;
    for (; to > 0 && column[(to - 1) * stride] > moved; to--) column[to * stride] = column[(to - 1) * stride];
    column[to * stride] = moved;
  }
}

static __global__ void fill_columns(karst_triangle t, strict_triangle strict, const karst_index *slot_of_row)
{
  int64_t s = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (s >= t.slots) return;
  int64_t slice = s / t.group, length = t.start[slice + 1] - t.start[slice], q = s % t.group;
  karst_index *column = t.column + t.start[slice] * t.group + q;
  karst_index begin = 0, end = 0;
  if (s < t.rows) {
    begin = strict.start[t.row[s]];
    end = strict.start[t.row[s] + 1];
  }
  for (int64_t e = 0; e < length; e++) {
    int64_t k = strict.upper ? end - e : begin + e; /* of the upper triangle, number 0 is the diagonal */
    bool there = strict.upper ? e > 0 && k >= begin : k < end;
    column[e * t.group] = there ? slot_of_row[strict.column[k]] : t.slots;
  }
  if (strict.upper && end - begin > 1 && end - begin <= KARST_ILU_SORTED)
    sort_entries(column + t.group, t.group, end - begin);
}

static karst_status upload_indices(karst_context *context, int64_t count, const karst_index *host, karst_index **memory,
                                   int64_t *bytes)
{
  karst_status status = karst_ilu_take(context, count, "the plan of block ILU", memory, bytes);
  return status ? status : context->backend->upload(context, *memory, host, (size_t)count * sizeof *host);
}

/* Cuts slices where a level begins. */
static karst_status make_tasks(karst_context *context, const struct karst_ilu_levels *levels, karst_triangle *t,
                               int64_t *bytes)
{
  int64_t most = (int64_t)t->slots / t->group + levels->count + 1;
  karst_index *task;
  karst_status status = karst_allocate(context, &task, most, sizeof *task, "the plan of block ILU");
  if (status) return status;
  for (karst_index level = 0; level < levels->count; level++)
    for (int64_t s = levels->start[level]; s < levels->start[level + 1]; s = (s / t->group + 1) * t->group)
      task[t->tasks++] = (karst_index)s;
  task[t->tasks] = t->rows;
  status = upload_indices(context, (int64_t)t->tasks + 1, task, &t->task, bytes);
  karst_release(context, task);
  return status;
}

/* length [slices + 1] becomes start. */
static karst_status sum_lengths(karst_context *context, int64_t slices, int64_t *start)
{
  cudaStream_t stream = karst_cuda_of(context)->stream;
  size_t bytes = 0;
  void *work;
  cub::DeviceScan::ExclusiveSum(NULL, bytes, start, start, slices + 1, stream);
  karst_status status = context->backend->allocate(context, bytes + 1, "the plan of block ILU", &work);
  if (status) return status;
  cudaError_t error = cub::DeviceScan::ExclusiveSum(work, bytes, start, start, slices + 1, stream);
  context->backend->release(context, work);
  return karst_cuda_status(context, error, "the plan of block ILU");
}

/* Slots, tasks and the places of the entries; no values yet. */
static karst_status lay_out(karst_context *context, const struct karst_ilu_levels *levels, strict_triangle strict,
                            int b, karst_index *slot_of_row, karst_triangle *t, int64_t *bytes)
{
  const char *what = "the plan of block ILU";
  cudaStream_t stream = karst_cuda_of(context)->stream;
  t->group = b < 32 ? 32 / b : 1;
  int64_t slices = ((int64_t)t->rows + t->group - 1) / t->group, entries;
  if (slices * t->group > KARST_ILU_INDEX_MAX)
    return karst_fail(context, KARST_ERROR_INDEX_OVERFLOW, "the rows of the factors cannot be numbered: %lld",
                      (long long)t->rows);
  t->slots = (karst_index)(slices * t->group);
  karst_status status = upload_indices(context, t->rows, levels->row, &t->row, bytes);
  if (!status) status = make_tasks(context, levels, t, bytes);
  if (!status) status = karst_ilu_take(context, slices + 1, what, &t->start, bytes);
  if (status) return status;
  invert_order<<<karst_ilu_grid(t->rows, THREADS), THREADS, 0, stream>>>(t->rows, t->row, slot_of_row);
  measure_slices<<<karst_ilu_grid(slices + 1, THREADS), THREADS, 0, stream>>>(*t, strict, slices, t->start);
  status = sum_lengths(context, slices, t->start);
  if (!status) status = context->backend->download(context, &entries, t->start + slices, sizeof entries);
  if (status) return status;
  t->blocks = entries * t->group;
  if (t->blocks >= KARST_ILU_INDEX_MAX)
    return karst_fail(context, KARST_ERROR_INDEX_OVERFLOW, "the blocks of the factors cannot be numbered: %lld",
                      (long long)t->blocks);
  status = karst_ilu_take(context, t->blocks, what, &t->column, bytes);
  if (!status) fill_columns<<<karst_ilu_grid(t->slots, THREADS), THREADS, 0, stream>>>(*t, strict, slot_of_row);
  return status;
}

/* Values, all 0 (padding stays so), and the vector, absent. */
static karst_status make_values(karst_context *context, int b, karst_triangle *t, int64_t *bytes)
{
  cudaStream_t stream = karst_cuda_of(context)->stream;
  int64_t values = karst_block_offset(b, t->blocks), length = (int64_t)b * t->slots;
  karst_status status = karst_ilu_take(context, values, "the factors", &t->value, bytes);
  if (!status) status = karst_ilu_take(context, length + b, "the vectors of block ILU", &t->x, bytes);
  if (status) return status;
  cudaMemsetAsync(t->value, 0, (size_t)values * sizeof *t->value, stream);
  cudaMemsetAsync(t->x, 0xff, (size_t)length * sizeof *t->x, stream);
  cudaMemsetAsync(t->x + length, 0, (size_t)b * sizeof *t->x, stream);
  return KARST_SUCCESS;
}

static karst_status upload_pattern(karst_context *context, const karst_ilu *ilu, karst_ilu_pattern_cuda *pattern,
                                   int64_t *bytes)
{
  const char *what = "the plan of block ILU";
  int64_t rows = ilu->rows;
  karst_status status = upload_indices(context, rows + 1, ilu->lower_start, &pattern->lower_start, bytes);
  if (!status) status = upload_indices(context, rows + 1, ilu->upper_start, &pattern->upper_start, bytes);
  if (!status)
    status = upload_indices(context, ilu->lower_start[rows], ilu->lower_column, &pattern->lower_column, bytes);
  if (!status)
    status = upload_indices(context, ilu->upper_start[rows], ilu->upper_column, &pattern->upper_column, bytes);
  if (!status) status = karst_ilu_take(context, rows, what, &pattern->lower_slot, bytes);
  if (!status) status = karst_ilu_take(context, rows, what, &pattern->upper_slot, bytes);
  return status;
}

static void release_pattern(karst_context *context, karst_ilu_pattern_cuda *pattern)
{
  context->backend->release(context, pattern->lower_start);
  context->backend->release(context, pattern->lower_column);
  context->backend->release(context, pattern->upper_start);
  context->backend->release(context, pattern->upper_column);
  context->backend->release(context, pattern->lower_slot);
  context->backend->release(context, pattern->upper_slot);
}

static karst_status lay_out_both(karst_context *context, const karst_ilu_analysis *analysis,
                                 const karst_ilu_pattern_cuda *pattern, karst_ilu_cuda *plan, int64_t *bytes)
{
  const char *what = "the plan of block ILU";
  cudaStream_t stream = karst_cuda_of(context)->stream;
  karst_triangle *lower = &plan->lower, *upper = &plan->upper;
  strict_triangle strict_lower = {pattern->lower_start, pattern->lower_column, false};
  strict_triangle strict_upper = {pattern->upper_start, pattern->upper_column, true};
  unsigned grid = karst_ilu_grid(lower->rows, THREADS);
  int b = plan->block_size;
  karst_status status = lay_out(context, &analysis->lower, strict_lower, b, pattern->lower_slot, lower, bytes);
  if (!status) status = lay_out(context, &analysis->upper, strict_upper, b, pattern->upper_slot, upper, bytes);
  if (!status) status = karst_ilu_take(context, lower->rows, what, &lower->other, bytes);
  if (!status) status = karst_ilu_take(context, upper->rows, what, &upper->other, bytes);
  if (status) return status;
  pair_slots<<<grid, THREADS, 0, stream>>>(lower->rows, lower->row, pattern->upper_slot, lower->other);
  pair_slots<<<grid, THREADS, 0, stream>>>(upper->rows, upper->row, pattern->lower_slot, upper->other);
  return KARST_SUCCESS;
}

/* Launches by levels pay where there are few of them: then nothing waits for long, and they keep no state. */
static bool choose_levels(karst_context *context, const karst_ilu_analysis *analysis)
{
  enum { FEW = 8 };
  bool few = analysis->lower.count + analysis->upper.count <= FEW;
  bool by_levels = analysis->trisolve[0] == 'l' || (analysis->trisolve[0] == 'a' && few);
  if (analysis->trisolve[0] == 'a')
    karst_tell(context, KARST_MESSAGE_NOTE, "triangular solves: %s (%lld and %lld levels)",
               by_levels ? "a launch for each level" : "dataflow, one launch", (long long)analysis->lower.count,
               (long long)analysis->upper.count);
  return by_levels;
}

karst_status karst_ilu_plan_cuda(karst_context *context, const karst_ilu_analysis *analysis, karst_ilu *ilu)
{
  karst_ilu_cuda *plan;
  karst_ilu_pattern_cuda pattern = {};
  int64_t passing = 0;
  karst_status status = karst_allocate_zero(context, &plan, 1, sizeof *plan, "block ILU");
  if (status) return status;
  ilu->plan = plan;
  plan->block_size = ilu->block_size;
  plan->lower.rows = plan->upper.rows = ilu->rows;
  plan->by_levels = choose_levels(context, analysis);
  if (ilu->rows == 0) return KARST_SUCCESS;
  status = upload_pattern(context, ilu, &pattern, &passing);
  if (!status) status = lay_out_both(context, analysis, &pattern, plan, &ilu->plan_memory);
  if (!status) status = karst_ilu_resident_cuda(context, analysis, plan);
  if (!status) status = karst_ilu_lists_cuda(context, analysis->A, &pattern, ilu);
  if (!status) status = make_values(context, ilu->block_size, &plan->lower, &ilu->plan_memory);
  if (!status) status = make_values(context, ilu->block_size, &plan->upper, &ilu->plan_memory);
  if (!status) status = karst_ilu_take(context, 1, "block ILU", &plan->finding, &ilu->plan_memory);
  if (!status && ilu->block_size > KARST_BLOCK_SIZE_LARGEST_INSTANCE)
    status = karst_ilu_take(context, ilu->rows, "block ILU", &plan->done, &ilu->plan_memory);
  if (!status && analysis->trisolve[0] == 'j')
    status = karst_ilu_jacobi_plan_cuda(context, analysis, plan, &ilu->plan_memory);
  if (!status && plan->by_levels) status = karst_ilu_level_graph_cuda(context, analysis, plan);
  if (!status)
    status = karst_cuda_status(context, cudaStreamSynchronize(karst_cuda_of(context)->stream), "the plan of block ILU");
  release_pattern(context, &pattern);
  return status;
}

static void release_triangle(karst_context *context, karst_triangle *t)
{
  context->backend->release(context, t->row);
  context->backend->release(context, t->other);
  context->backend->release(context, t->task);
  context->backend->release(context, t->start);
  context->backend->release(context, t->column);
  context->backend->release(context, t->value);
  context->backend->release(context, t->x);
  context->backend->release(context, t->source);
  context->backend->release(context, t->list);
  context->backend->release(context, t->product);
}

void karst_ilu_plan_destroy_cuda(karst_context *context, karst_ilu *ilu)
{
  karst_ilu_cuda *plan = karst_ilu_cuda_of(ilu);
  if (!plan) return;
  if (plan->graph) cudaGraphExecDestroy(plan->graph);
  release_triangle(context, &plan->lower);
  release_triangle(context, &plan->upper);
  context->backend->release(context, plan->finding);
  context->backend->release(context, plan->done);
  context->backend->release(context, plan->jacobi);
  karst_release(context, plan);
}
