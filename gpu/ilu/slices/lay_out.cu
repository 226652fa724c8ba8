/* lay_out.cu - both triangles of block ILU in slices (ilu_cuda.h), without values, made on the GPU from the patterns
 * and the level sets (pattern.cu). The host only passes over the level starts. */
#include "lib/base/search.h"
#include "gpu/ilu/ilu_cuda.h"

namespace
{

enum { THREADS = 256 };

/* The strict triangle by rows, as the host has it, in device memory. */
struct strict_triangle {
  const karst_index *start, *column;
  bool upper;
};

__global__ void invert_order(karst_index rows, const karst_index *row, karst_index *slot)
{
  karst_index s = (karst_index)(blockIdx.x * (int64_t)blockDim.x + threadIdx.x);
  if (s < rows) slot[row[s]] = s;
}

__global__ void pair_slots(karst_index rows, const karst_index *row, const karst_index *other_slot, karst_index *other)
{
  karst_index s = (karst_index)(blockIdx.x * (int64_t)blockDim.x + threadIdx.x);
  if (s < rows) other[s] = other_slot[row[s]];
}

/* Finds the entries of each slice, those of its longest row; 0 past the last slice. */
__global__ void measure_slices(karst_triangle t, strict_triangle strict, int64_t slices, int64_t *length)
{
  int64_t slice = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (slice > slices) return;
  karst_index longest = 0;
  for (int64_t s = slice * t.group; s < (slice + 1) * t.group && s < t.rows && slice < slices; s++)
    longest = max(longest, strict.start[t.row[s] + 1] - strict.start[t.row[s]] + (strict.upper ? 1 : 0));
  length[slice] = longest;
}

/* Sets *different if L has a block whose mirror image U lacks. */
__global__ void compare_triangles(karst_index rows, karst_ilu_pattern_cuda factor, karst_index *different)
{
  const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i >= rows) return;
  for (karst_index k = factor.lower_start[i]; k < factor.lower_start[i + 1]; k++) {
    const karst_index p = factor.lower_column[k];
    if (karst_find_column(factor.upper_column, factor.upper_start[p], factor.upper_start[p + 1], (karst_index)i) < 0)
      *different = 1;
  }
}

/* Sorts a few entries of a row by slots, by insertion. */
__device__ void sort_entries(karst_index *column, int64_t stride, karst_index count)
{
  for (karst_index e = 1; e < count; e++) {
    karst_index moved = column[e * stride], to = e;
    for (; to > 0 && column[(to - 1) * stride] > moved; to--) column[to * stride] = column[(to - 1) * stride];
    column[to * stride] = moved;
  }
}

__global__ void fill_columns(karst_triangle t, strict_triangle strict, const karst_index *slot_of_row)
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
  if (end - begin > 1 && end - begin <= t.sorted)
    sort_entries(strict.upper ? column + t.group : column, t.group, end - begin);
}

/* Makes slots, tasks and the places of the entries; no values yet. */
karst_status lay_out(karst_context *context, const karst_ilu_levels_cuda *levels, strict_triangle strict, int b,
                     karst_index *slot_of_row, karst_triangle *t, int64_t *bytes)
{
  const char *what = "the plan of block ILU";
  cudaStream_t stream = karst_cuda_of(context)->stream;
  t->group = b < 32 ? 32 / b : 1;
  int64_t slices = ((int64_t)t->rows + t->group - 1) / t->group, entries;
  if (slices * t->group > KARST_ILU_INDEX_MAX)
    return karst_fail(context, KARST_ERROR_INDEX_OVERFLOW, "the rows of the factors cannot be numbered: %lld",
                      (long long)t->rows);
  t->slots = (karst_index)(slices * t->group);
  karst_status status = karst_ilu_cut_levels_cuda(context, levels, t->group, &t->tasks, &t->task, bytes);
  if (!status) status = karst_cuda_take(context, slices + 1, what, &t->start, bytes);
  if (status) return status;
  invert_order<<<karst_cuda_grid(t->rows, THREADS), THREADS, 0, stream>>>(t->rows, t->row, slot_of_row);
  measure_slices<<<karst_cuda_grid(slices + 1, THREADS), THREADS, 0, stream>>>(*t, strict, slices, t->start);
  status = karst_ilu_sum_offsets_cuda(context, slices + 1, t->start);
  if (!status) status = context->backend->download(context, &entries, t->start + slices, sizeof entries);
  if (status) return status;
  t->blocks = entries * t->group;
  if (t->blocks >= KARST_ILU_INDEX_MAX)
    return karst_fail(context, KARST_ERROR_INDEX_OVERFLOW, "the blocks of the factors cannot be numbered: %lld",
                      (long long)t->blocks);
  status = karst_cuda_take(context, t->blocks, what, &t->column, bytes);
  if (!status) fill_columns<<<karst_cuda_grid(t->slots, THREADS), THREADS, 0, stream>>>(*t, strict, slot_of_row);
  return status;
}

/* Chooses the rows whose neighbours are sorted. */
karst_status choose_order(karst_context *context, const karst_ilu_analysis *analysis,
                          const karst_ilu_pattern_cuda *pattern, karst_ilu_cuda *plan)
{
  karst_index different = 1;
  karst_status status = KARST_SUCCESS;
  if (analysis->lower_blocks == analysis->upper_blocks)
    status = karst_cuda_compute(context, 1, "the plan of block ILU", &different, [&](karst_index *found) {
      compare_triangles<<<karst_cuda_grid(analysis->rows, THREADS), THREADS, 0, karst_cuda_of(context)->stream>>>(
          analysis->rows, *pattern, found);
    });
  plan->lower.sorted = different ? 0 : (karst_index)KARST_ILU_SORTED;
  plan->upper.sorted = KARST_ILU_SORTED;
  return status;
}

karst_status lay_out_both(karst_context *context, karst_ilu_pattern_cuda *pattern, karst_ilu_cuda *plan, int64_t *bytes)
{
  const char *what = "the plan of block ILU";
  cudaStream_t stream = karst_cuda_of(context)->stream;
  karst_triangle *lower = &plan->lower, *upper = &plan->upper;
  strict_triangle strict_lower = {pattern->lower_start, pattern->lower_column, false};
  strict_triangle strict_upper = {pattern->upper_start, pattern->upper_column, true};
  unsigned grid = karst_cuda_grid(lower->rows, THREADS);
  int b = plan->block_size;
  karst_status status = karst_cuda_take_work(context, lower->rows, what, &pattern->lower_slot);
  if (!status) status = karst_cuda_take_work(context, lower->rows, what, &pattern->upper_slot);
  if (!status) status = lay_out(context, &pattern->lower, strict_lower, b, pattern->lower_slot, lower, bytes);
  if (!status) status = lay_out(context, &pattern->upper, strict_upper, b, pattern->upper_slot, upper, bytes);
  if (!status) status = karst_cuda_take(context, lower->rows, what, &lower->other, bytes);
  if (!status) status = karst_cuda_take(context, upper->rows, what, &upper->other, bytes);
  if (status) return status;
  pair_slots<<<grid, THREADS, 0, stream>>>(lower->rows, lower->row, pattern->upper_slot, lower->other);
  pair_slots<<<grid, THREADS, 0, stream>>>(upper->rows, upper->row, pattern->lower_slot, upper->other);
  return KARST_SUCCESS;
}

} // namespace

karst_status karst_ilu_find_pattern_cuda(karst_context *context, const karst_matrix *A, karst_ilu_pattern_cuda *pattern,
                                         karst_ilu_analysis *analysis)
{
  karst_ilu_cuda *plan = karst_ilu_cuda_of(analysis);
  const karst_index rows = analysis->rows;
  int64_t *bytes = &analysis->plan_memory;
  plan->block_size = analysis->block_size;
  plan->lower.rows = plan->upper.rows = rows;
  karst_status status = karst_ilu_pattern_create_cuda(context, A, analysis, pattern);
  if (!status) status = karst_cuda_take(context, rows, "the plan of block ILU", &plan->lower.row, bytes);
  if (!status) status = karst_cuda_take(context, rows, "the plan of block ILU", &plan->upper.row, bytes);
  if (!status) status = karst_ilu_find_levels_cuda(context, rows, pattern, plan->lower.row, plan->upper.row);
  analysis->levels_lower = pattern->lower.count;
  analysis->levels_upper = pattern->upper.count;
  return status;
}

karst_status karst_ilu_lay_out_cuda(karst_context *context, const karst_matrix *A, bool sorted,
                                    karst_ilu_pattern_cuda *pattern, karst_ilu_analysis *analysis)
{
  karst_ilu_cuda *plan = karst_ilu_cuda_of(analysis);
  karst_status status = sorted ? choose_order(context, analysis, pattern, plan) : KARST_SUCCESS;
  if (!status) status = lay_out_both(context, pattern, plan, &analysis->plan_memory);
  return status ? status : karst_ilu_find_sources_cuda(context, A, analysis);
}

karst_status karst_ilu_make_vector_cuda(karst_context *context, int b, const char *what, karst_triangle *t,
                                        int64_t *bytes)
{
  cudaStream_t stream = karst_cuda_of(context)->stream;
  const int64_t length = (int64_t)b * t->slots;
  const karst_status status = karst_cuda_take(context, length + b, what, &t->x, bytes);
  if (status) return status;
  cudaMemsetAsync(t->x, 0xff, (size_t)length * sizeof *t->x, stream);
  cudaMemsetAsync(t->x + length, 0, (size_t)b * sizeof *t->x, stream);
  return KARST_SUCCESS;
}

void karst_ilu_release_triangle_cuda(karst_context *context, karst_triangle *t)
{
  karst_cuda_release(context, t->row, t->other, t->task, t->start, t->column, t->source, t->list, t->product);
}
