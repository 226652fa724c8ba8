/* plan.cu - the analysis of block ILU on the GPU: the kernels for the solve and the factorization, chosen by the rules
 * of choice.h, and what they need of the pattern: slices (slices/lay_out.cu), lists of products, tiles. The plan of a
 * factorization adds values and work space. */
#include "gpu/ilu/tiles/tile_sweep.h"

namespace
{

enum { THREADS = 256 };

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
  if (!status) status = karst_ilu_lay_out_cuda(context, A, !searches, pattern, analysis);
  if (!status && tiles) status = karst_ilu_find_blocks_cuda(context, pattern, analysis, karst_ilu_tiled_of(plan));
  if (!status && !tiles && plan->sweep->analyse) status = plan->sweep->analyse(context, pattern, analysis);
  return status ? status : analyse_factor(context, A, searches, pattern, &shape, analysis);
}

karst_status make_analysis(karst_context *context, const karst_matrix *A, karst_trisolve trisolve,
                           karst_ilu_pattern_cuda *pattern, karst_ilu_analysis *analysis)
{
  const karst_ilu_cuda *plan = karst_ilu_cuda_of(analysis);
  karst_status status = karst_ilu_find_pattern_cuda(context, A, pattern, analysis);
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
    karst_status found = karst_ilu_find_pattern_cuda(context, A, pattern, analysis);
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
