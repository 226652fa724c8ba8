/* plan.cu - the analysis of block ILU on the GPU: both triangles laid out in slices (ilu_cuda.h), made on the GPU from
 * the patterns and the level sets (pattern.cu); and the kernels for the factorization and the solve, chosen by the
 * rules of choice.h. The plan of a factorization adds values and work space.
 *
 * The host only passes over the level starts. */
#include "lib/base/search.h"
#include "gpu/ilu/tiles/tile_sweep.h"

#include <string.h>

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

/* Makes the values, all 0 (padding stays so), and room for them in float if sweeps in slices read that, and the vector,
 * absent. */
karst_status make_values(karst_context *context, bool single, karst_ilu *ilu, karst_triangle *t)
{
  cudaStream_t stream = karst_cuda_of(context)->stream;
  const int b = ilu->block_size;
  const int64_t values = karst_block_offset(b, t->blocks);
  int64_t *bytes = &ilu->plan_memory;
  karst_status status = karst_cuda_take(context, values, "the factors", &t->value, bytes);
  if (!status) status = karst_ilu_make_vector_cuda(context, b, "the vectors of block ILU", t, bytes);
  if (!status) cudaMemsetAsync(t->value, 0, (size_t)values * sizeof *t->value, stream);
  return status || !single ? status : karst_cuda_take(context, values, "the factors", &t->single, bytes);
}

void release_values(karst_context *context, karst_ilu_cuda *plan)
{
  for (karst_triangle *t : {&plan->lower, &plan->upper}) {
    karst_cuda_release(context, t->value, t->single, t->x);
    t->value = t->x = NULL;
    t->single = NULL;
  }
}

/* The pattern, its level sets, and the rows by levels. */
karst_status find_pattern(karst_context *context, const karst_matrix *A, karst_ilu_pattern_cuda *pattern,
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

/* The triangles in slices, without values. sorted: rows may have their neighbours sorted. */
karst_status lay_out_triangles(karst_context *context, const karst_matrix *A, bool sorted,
                               karst_ilu_pattern_cuda *pattern, karst_ilu_analysis *analysis)
{
  karst_ilu_cuda *plan = karst_ilu_cuda_of(analysis);
  karst_status status = sorted ? choose_order(context, analysis, pattern, plan) : KARST_SUCCESS;
  if (!status) status = lay_out_both(context, pattern, plan, &analysis->plan_memory);
  return status ? status : karst_ilu_find_sources_cuda(context, A, analysis);
}

/* Frees the level-ordered row lists; only the slice kernels use them. */
void drop_rows(karst_context *context, karst_ilu_analysis *analysis)
{
  karst_ilu_cuda *plan = karst_ilu_cuda_of(analysis);
  for (karst_triangle *t : {&plan->lower, &plan->upper}) {
    context->backend->release(context, t->row);
    t->row = NULL;
    analysis->plan_memory -= (int64_t)t->rows * (int64_t)sizeof *t->row;
  }
}

/* The kernels of choice.h, in its order. */
const karst_ilu_factor_variant *const factor_variants[KARST_ILU_FACTORS] = {
    &karst_ilu_factor_row_cuda, &karst_ilu_factor_slice_cuda, &karst_ilu_factor_mma_cuda, &karst_ilu_factor_block_cuda};
const karst_ilu_sweep_variant *const sweep_variants[KARST_ILU_SWEEPS] = {
    &karst_ilu_sweep_dataflow_cuda, &karst_ilu_sweep_level_cuda, &karst_ilu_sweep_jacobi_cuda,
    &karst_ilu_sweep_tiles_cuda};

/* Adds up the rounds of the slices of a triangle (lib/backend/sweep_time.h). row: by levels. */
__global__ void count_rounds(karst_index rows, int b, int parts, const karst_index *row, const karst_index *start,
                             unsigned long long *rounds)
{
  const int group = b < 32 ? 32 / b : 1;
  const int64_t slice = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  karst_index longest = 0;
  for (int64_t s = slice * group; s < (slice + 1) * group && s < rows; s++)
    longest = max(longest, start[row[s] + 1] - start[row[s]]);
  if (slice * group < rows) atomicAdd(rounds, (unsigned long long)karst_sweep_rounds(b, parts, longest));
}

/* Finds the work of both sweeps, for which sweeps by tiles have been prepared. */
karst_status find_work(karst_context *context, const karst_ilu_pattern_cuda *pattern,
                       const karst_ilu_analysis *analysis, karst_sweep_work *work)
{
  const karst_ilu_cuda *plan = karst_ilu_cuda_of(analysis);
  const karst_index rows = analysis->rows;
  const int b = analysis->block_size, group = b < 32 ? 32 / b : 1;
  const int lower = karst_ilu_choose_parts(b, rows, analysis->lower_blocks);
  const int upper = karst_ilu_choose_parts(b, rows, analysis->upper_blocks);
  const unsigned grid = karst_cuda_grid((rows + group - 1) / group, THREADS);
  cudaStream_t stream = karst_cuda_of(context)->stream;
  unsigned long long rounds[2] = {0, 0};
  const karst_status status =
      karst_cuda_compute(context, 2, "the plan of block ILU", rounds, [&](unsigned long long *sum) {
        count_rounds<<<grid, THREADS, 0, stream>>>(rows, b, lower, plan->lower.row, pattern->lower_start, sum);
        count_rounds<<<grid, THREADS, 0, stream>>>(rows, b, upper, plan->upper.row, pattern->upper_start, sum + 1);
      });
  const double slices = (double)((rows + group - 1) / group);
  const double below = (double)rounds[0] / slices, above = (double)rounds[1] / slices;
  const karst_ilu_both_tiled *both = karst_ilu_tiled_of(plan);
  *work = {rows,
           b,
           analysis->lower_blocks + analysis->upper_blocks,
           (double)analysis->levels_lower * below + (double)analysis->levels_upper * above,
           both->lower.blocks + both->upper.blocks - rows,
           both->lower.chain + both->upper.chain,
           both->lower.occupied + both->upper.occupied,
           analysis->single};
  return status;
}

/* Prepares sweeps by tiles, and drops them again if others are faster; *tiles says whether they are kept. */
karst_status try_tiles(karst_context *context, karst_trisolve trisolve, const karst_ilu_pattern_cuda *pattern,
                       karst_ilu_analysis *analysis, bool *tiles)
{
  karst_ilu_cuda *plan = karst_ilu_cuda_of(analysis);
  const int64_t memory = analysis->plan_memory;
  plan->sweep = &karst_ilu_sweep_tiles_cuda;
  karst_sweep_work work = {};
  karst_status status = plan->sweep->analyse(context, pattern, analysis);
  if (!status) status = find_work(context, pattern, analysis, &work);
  if (status) return status;
  *tiles = karst_ilu_solves_tiles(context->backend->machine, trisolve, &work);
  if (*tiles) return KARST_SUCCESS;
  plan->sweep->forget(context, plan);
  plan->sweep_state = NULL;
  analysis->plan_memory = memory;
  return KARST_SUCCESS;
}

karst_status choose_sweep(karst_context *context, karst_trisolve trisolve, const karst_ilu_pattern_cuda *pattern,
                          karst_ilu_analysis *analysis)
{
  karst_ilu_cuda *plan = karst_ilu_cuda_of(analysis);
  const int64_t lower = analysis->levels_lower, upper = analysis->levels_upper;
  bool tiles = karst_ilu_has_instance(plan->block_size, analysis->single) &&
               karst_ilu_may_solve_tiles(trisolve, analysis->rows, plan->block_size, analysis->tiling);
  const karst_status status = tiles ? try_tiles(context, trisolve, pattern, analysis, &tiles) : KARST_SUCCESS;
  if (status) return status;
  const enum karst_ilu_sweep_kind kind =
      tiles ? KARST_ILU_SWEEP_TILES : karst_ilu_choose_sweep(trisolve, lower + upper);
  plan->sweep = sweep_variants[kind];
  analysis->trisolve = plan->sweep->name;
  if (trisolve == KARST_TRISOLVE_AUTO || (trisolve == KARST_TRISOLVE_TILES && !tiles))
    karst_notify(context, KARST_MESSAGE_NOTE, "triangular solves: %s (%lld and %lld levels)", plan->sweep->help,
                 (long long)lower, (long long)upper);
  return KARST_SUCCESS;
}

/* The input of the choice of a factorization, without the bounds of its rows. */
karst_ilu_shape shape_of(const karst_context *context, const karst_ilu_pattern_cuda *pattern,
                         const karst_ilu_analysis *analysis)
{
  return {analysis->block_size,
          analysis->rows,
          analysis->lower_blocks + analysis->upper_blocks,
          pattern->lower.count,
          0,
          karst_cuda_of(context)->multiprocessors,
          analysis->modified,
          0,
          0};
}

/* Prepares the factorization by tiles if the solves go by tiles and each tile fits; else factor stays NULL. */
karst_status analyse_tiles(karst_context *context, const karst_matrix *A, const karst_ilu_pattern_cuda *pattern,
                           karst_ilu_analysis *analysis)
{
  karst_ilu_cuda *plan = karst_ilu_cuda_of(analysis);
  const karst_ilu_shape shape = shape_of(context, pattern, analysis);
  if (analysis->loads || !karst_ilu_may_factor_tiles(&shape)) return KARST_SUCCESS;
  const karst_status status = karst_ilu_factor_tiles_cuda.analyse(context, A, pattern, &shape, analysis);
  if (!plan->factor_state) return status;
  plan->factor = &karst_ilu_factor_tiles_cuda;
  drop_rows(context, analysis);
  return status;
}

/* Chooses a factorization in slices and makes its data. The longest row is measured if the choice depends on it.
 * searches: its products are searched for. */
karst_status analyse_factor(karst_context *context, const karst_matrix *A, bool searches,
                            const karst_ilu_pattern_cuda *pattern, karst_ilu_shape *shape, karst_ilu_analysis *analysis)
{
  karst_ilu_cuda *plan = karst_ilu_cuda_of(analysis);
  enum karst_ilu_factor_kind kind = searches ? KARST_ILU_FACTOR_BLOCK : karst_ilu_choose_listed(shape);
  if (kind == KARST_ILU_FACTOR_ROW) {
    const karst_status status = karst_ilu_measure_rows_cuda(context, plan, &shape->longest);
    if (status) return status;
    kind = karst_ilu_choose_listed(shape);
  }
  plan->factor = factor_variants[kind];
  return plan->factor->analyse(context, A, pattern, shape, analysis);
}

/* A factorization that is not by tiles has slices; sweeps by tiles copy its values from there. If products are searched
 * for, neighbours are not sorted. */
karst_status analyse_slices(karst_context *context, const karst_matrix *A, bool tiles, karst_ilu_pattern_cuda *pattern,
                            karst_ilu_analysis *analysis)
{
  const karst_ilu_cuda *plan = karst_ilu_cuda_of(analysis);
  karst_ilu_shape shape = shape_of(context, pattern, analysis);
  karst_status status = karst_ilu_bound_rows_cuda(context, pattern, analysis, &shape);
  const bool searches = !status && karst_ilu_searches(&shape);
  if (!status) status = lay_out_triangles(context, A, !searches, pattern, analysis);
  if (!status && tiles) status = karst_ilu_find_blocks_cuda(context, pattern, analysis);
  if (!status && !tiles && plan->sweep->analyse) status = plan->sweep->analyse(context, pattern, analysis);
  return status ? status : analyse_factor(context, A, searches, pattern, &shape, analysis);
}

karst_status make_analysis(karst_context *context, const karst_matrix *A, karst_trisolve trisolve,
                           karst_ilu_pattern_cuda *pattern, karst_ilu_analysis *analysis)
{
  const karst_ilu_cuda *plan = karst_ilu_cuda_of(analysis);
  karst_status status = find_pattern(context, A, pattern, analysis);
  if (status) return status;
  status = choose_sweep(context, trisolve, pattern, analysis);
  const bool tiles = plan->sweep == &karst_ilu_sweep_tiles_cuda;
  if (!status && tiles) status = analyse_tiles(context, A, pattern, analysis);
  if (!status && !plan->factor) status = analyse_slices(context, A, tiles, pattern, analysis);
  if (status) return status;
  return karst_cuda_status(context, cudaStreamSynchronize(karst_cuda_of(context)->stream), "the plan of block ILU");
}

/* Allocates a plan and lets make fill it; make gets a place for the pattern. */
template <typename maker> karst_status begin_analysis(karst_context *context, karst_ilu_analysis *analysis, maker make)
{
  karst_ilu_cuda *plan;
  karst_ilu_pattern_cuda pattern = {};
  karst_status status = karst_allocate_zero(context, &plan, 1, sizeof *plan, "block ILU");
  if (status) return status;
  analysis->plan = plan;
  plan->block_size = analysis->block_size;
  if (analysis->rows > 0) status = make(&pattern);
  karst_ilu_pattern_release_cuda(context, &pattern);
  karst_cuda_work_end(context);
  return status;
}

karst_status make_plan(karst_context *context, karst_ilu *ilu)
{
  karst_ilu_cuda *plan = karst_ilu_cuda_of(ilu);
  int64_t *bytes = &ilu->plan_memory;
  karst_status status = karst_cuda_take(context, 1, "block ILU", &plan->statistics, bytes);
  const bool single = ilu->single && plan->sweep != &karst_ilu_sweep_tiles_cuda;
  if (!status && !plan->factor->by_tiles) status = make_values(context, single, ilu, &plan->lower);
  if (!status && !plan->factor->by_tiles) status = make_values(context, single, ilu, &plan->upper);
  if (!status && plan->factor->plan) status = plan->factor->plan(context, ilu);
  if (!status && plan->sweep->plan) status = plan->sweep->plan(context, ilu);
  if (status) return status;
  return karst_cuda_status(context, cudaStreamSynchronize(karst_cuda_of(context)->stream), "the plan of block ILU");
}

} // namespace

karst_status karst_ilu_lay_out_cuda(karst_context *context, const karst_matrix *A, karst_ilu_pattern_cuda *pattern,
                                    karst_ilu_analysis *analysis)
{
  const karst_status status = find_pattern(context, A, pattern, analysis);
  return status ? status : lay_out_triangles(context, A, true, pattern, analysis);
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

karst_status karst_ilu_analyse_cuda(karst_context *context, const karst_matrix *A, karst_trisolve trisolve,
                                    karst_ilu_analysis *analysis)
{
  return begin_analysis(context, analysis, [&](karst_ilu_pattern_cuda *pattern) {
    return make_analysis(context, A, trisolve, pattern, analysis);
  });
}

karst_status karst_ilu_analyse_by_tiles_cuda(karst_context *context, const karst_matrix *A,
                                             karst_ilu_analysis *analysis, bool *fits)
{
  const karst_status status = begin_analysis(context, analysis, [&](karst_ilu_pattern_cuda *pattern) {
    karst_sweep_work work = {};
    karst_status found = find_pattern(context, A, pattern, analysis);
    karst_ilu_cuda_of(analysis)->sweep = &karst_ilu_sweep_tiles_cuda;
    if (!found) found = karst_ilu_sweep_tiles_cuda.analyse(context, pattern, analysis);
    if (!found) found = find_work(context, pattern, analysis, &work);
    const bool tiles = !found && karst_dilu_solves_tiles(context->backend->machine, &work);
    return tiles ? analyse_tiles(context, A, pattern, analysis) : found;
  });
  *fits = !status && karst_ilu_cuda_of(analysis)->factor;
  return status;
}

void karst_ilu_analysis_destroy_cuda(karst_context *context, karst_ilu_analysis *analysis)
{
  karst_ilu_cuda *plan = karst_ilu_cuda_of(analysis);
  if (!plan) return;
  if (plan->factor && plan->factor->forget) plan->factor->forget(context, plan);
  if (plan->sweep && plan->sweep->forget) plan->sweep->forget(context, plan);
  karst_ilu_release_triangle_cuda(context, &plan->lower);
  karst_ilu_release_triangle_cuda(context, &plan->upper);
  karst_release(context, plan);
}

karst_status karst_ilu_plan_cuda(karst_context *context, const karst_ilu_analysis *analysis, int trisolve_sweeps,
                                 karst_ilu *ilu)
{
  karst_ilu_cuda *plan;
  *ilu = karst_ilu_on(analysis);
  karst_status status = karst_allocate(context, &plan, 1, sizeof *plan, "block ILU");
  if (status) return status;
  *plan = *karst_ilu_cuda_of(analysis);
  plan->trisolve_sweeps = trisolve_sweeps;
  ilu->plan = plan;
  return ilu->rows > 0 ? make_plan(context, ilu) : KARST_SUCCESS;
}

void karst_ilu_plan_destroy_cuda(karst_context *context, karst_ilu *ilu)
{
  karst_ilu_cuda *plan = karst_ilu_cuda_of(ilu);
  if (!plan) return;
  if (plan->factor && plan->factor->destroy) plan->factor->destroy(context, plan);
  if (plan->sweep && plan->sweep->destroy) plan->sweep->destroy(context, plan);
  release_values(context, plan);
  context->backend->release(context, plan->statistics);
  karst_release(context, plan);
}
