/* plan.cu - the analysis of DILU on the GPU: the triangles of A in slices, as gpu/ilu lays them out, the tasks, and for
 * each entry of E the block of F that is its mirror image. The plan of a factorization adds the inverse blocks, the
 * vectors and work space. */
#include "gpu/dilu/dilu_cuda.h"
#include "lib/base/search.h"

namespace
{

enum { THREADS = 256 };

const char *const what = "the plan of DILU";

__global__ void list_tasks(karst_triangle t, karst_dilu_task *task)
{
  const int64_t number = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (number >= t.tasks) return;
  const karst_index first = t.task[number], slice = first / t.group;
  task[number] = {t.start[slice], t.start[slice + 1], first, t.task[number + 1]};
}

/* Finds the diagonal blocks, and pivot and mirror of each entry of E. */
__global__ void find_mirrors(karst_dilu_cuda plan, const karst_index *start, const karst_index *column)
{
  const karst_triangle &t = plan.lower;
  const int64_t slot = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (slot >= t.slots) return;
  const int64_t slice = slot / t.group;
  const karst_index i = slot < t.rows ? t.row[slot] : -1;
  if (i >= 0) plan.diagonal[slot] = karst_find_column(column, start[i], start[i + 1], i);
  for (int64_t e = t.start[slice]; e < t.start[slice + 1]; e++) {
    const int64_t block = e * t.group + slot % t.group;
    const karst_index k = t.source[block] >= 0 ? t.row[t.column[block]] : -1;
    const karst_index mirror = k >= 0 ? karst_find_column(column, start[k], start[k + 1], i) : -1;
    plan.pivot[block] = k >= 0 && plan.block_size <= KARST_BLOCK_SIZE_LARGEST_INSTANCE ? t.column[block] : k;
    plan.mirror[block] = mirror;
  }
}

karst_status make_tasks(karst_context *context, const karst_triangle *t, karst_dilu_task **task, int64_t *bytes)
{
  karst_status status = karst_cuda_take(context, t->tasks, what, task, bytes);
  if (!status)
    list_tasks<<<karst_cuda_grid(t->tasks, THREADS), THREADS, 0, karst_cuda_of(context)->stream>>>(*t, *task);
  return status;
}

/* Lays the triangles out by the functions of block ILU, which work on an analysis of block ILU. */
karst_status lay_out(karst_context *context, const karst_matrix *A, karst_dilu_analysis *analysis,
                     karst_dilu_cuda *plan)
{
  karst_ilu_analysis triangles = {};
  karst_ilu_pattern_cuda pattern = {};
  karst_ilu_cuda layout = {};
  triangles.rows = analysis->rows;
  triangles.block_size = analysis->block_size;
  triangles.plan = &layout;
  karst_status status = karst_ilu_find_pattern_cuda(context, A, &pattern, &triangles);
  if (!status) status = karst_ilu_lay_out_cuda(context, A, true, &pattern, &triangles);
  karst_ilu_pattern_release_cuda(context, &pattern);
  karst_cuda_work_end(context);
  plan->lower = layout.lower;
  plan->upper = layout.upper;
  analysis->levels_lower = triangles.levels_lower;
  analysis->levels_upper = triangles.levels_upper;
  analysis->plan_memory += triangles.plan_memory;
  return status;
}

karst_status make_analysis(karst_context *context, const karst_matrix *A, karst_dilu_analysis *analysis,
                           karst_dilu_cuda *plan)
{
  cudaStream_t stream = karst_cuda_of(context)->stream;
  int64_t *bytes = &analysis->plan_memory;
  karst_status status = lay_out(context, A, analysis, plan);
  if (!status) status = make_tasks(context, &plan->lower, &plan->lower_task, bytes);
  if (!status) status = make_tasks(context, &plan->upper, &plan->upper_task, bytes);
  if (!status) status = karst_cuda_take(context, analysis->rows, what, &plan->diagonal, bytes);
  if (!status) status = karst_cuda_take(context, plan->lower.blocks, what, &plan->pivot, bytes);
  if (!status) status = karst_cuda_take(context, plan->lower.blocks, what, &plan->mirror, bytes);
  if (status) return status;
  find_mirrors<<<karst_cuda_grid(plan->lower.slots, THREADS), THREADS, 0, stream>>>(*plan, A->device_row_start,
                                                                                    A->device_column);
  plan->symmetric = plan->lower.sorted > 0;
  if (plan->block_size > KARST_BLOCK_SIZE_LARGEST_INSTANCE)
    status = karst_dilu_analyse_large_cuda(context, analysis, plan);
  else
    status = karst_dilu_analyse_sweeps_cuda(context, analysis, plan);
  return status ? status : karst_cuda_status(context, cudaStreamSynchronize(stream), what);
}

karst_status make_plan(karst_context *context, karst_dilu_cuda *plan, karst_dilu *dilu)
{
  const int b = plan->block_size;
  const int64_t rows = dilu->analysis->rows, elements = karst_block_offset(b, rows);
  const int64_t all = karst_block_offset(b, (karst_index)karst_dilu_slots(&plan->lower));
  int64_t *bytes = &dilu->plan_memory;
  karst_status status = karst_cuda_take(context, all, "the inverse blocks of DILU", &dilu->inverse, bytes);
  if (!status) status = karst_ilu_make_vector_cuda(context, b, "the vectors of DILU", &plan->lower, bytes);
  if (!status) status = karst_ilu_make_vector_cuda(context, b, "the vectors of DILU", &plan->upper, bytes);
  if (!status) status = karst_cuda_take(context, 1, "DILU", &plan->statistics, bytes);
  if (!status && plan->modified) status = karst_cuda_take(context, elements, "DILU", &plan->sum, bytes);
  const bool large = b > KARST_BLOCK_SIZE_LARGEST_INSTANCE;
  if (!status && large) status = karst_cuda_take(context, rows, "DILU", &plan->done, bytes);
  if (!status && large)
    status = karst_cuda_take(context, 2 * karst_block_offset(b, plan->factor_grid), "DILU", &plan->size, bytes);
  if (!status && !large) status = karst_dilu_plan_factor_cuda(context, dilu->analysis, plan);
  if (status) return status;
  return karst_cuda_status(context, cudaStreamSynchronize(karst_cuda_of(context)->stream), what);
}

void release_tiled(karst_context *context, karst_dilu_cuda *plan)
{
  if (plan->tiled) karst_ilu_analysis_destroy_cuda(context, plan->tiled);
  karst_release(context, plan->tiled);
  plan->tiled = NULL;
}

/* Makes the analysis by tiles, if there are tiles of several rows, each fits and they are predicted to be faster. */
karst_status try_tiles(karst_context *context, const karst_matrix *A, karst_dilu_analysis *analysis,
                       karst_dilu_cuda *plan)
{
  const int b = analysis->block_size;
  bool fits;
  if (analysis->modified || b > (analysis->single ? (int)KARST_ILU_FLOAT_LARGEST : (int)KARST_ILU_SLICE_LARGEST) ||
      !karst_ilu_may_solve_tiles(KARST_TRISOLVE_AUTO, analysis->rows, b, A->tiling))
    return KARST_SUCCESS;
  karst_status status = karst_allocate_zero(context, &plan->tiled, 1, sizeof *plan->tiled, what);
  if (status) return status;
  plan->tiled->rows = analysis->rows;
  plan->tiled->block_size = b;
  plan->tiled->tiling = A->tiling;
  plan->tiled->diagonal_alone = true;
  plan->tiled->single = analysis->single;
  status = karst_ilu_analyse_by_tiles_cuda(context, A, plan->tiled, &fits);
  if (!fits) release_tiled(context, plan);
  if (!fits) return status;
  analysis->levels_lower = plan->tiled->levels_lower;
  analysis->levels_upper = plan->tiled->levels_upper;
  analysis->plan_memory += plan->tiled->plan_memory;
  return KARST_SUCCESS;
}

karst_status plan_tiles(karst_context *context, karst_dilu_cuda *plan, karst_dilu *dilu)
{
  karst_status status = karst_allocate_zero(context, &plan->tiles, 1, sizeof *plan->tiles, what);
  if (!status) status = karst_ilu_plan_cuda(context, plan->tiled, 0, plan->tiles);
  if (!status) dilu->plan_memory += plan->tiles->plan_memory;
  return status;
}

} // namespace

karst_status karst_dilu_analyse_cuda(karst_context *context, const karst_matrix *A, karst_dilu_analysis *analysis)
{
  karst_dilu_cuda *plan;
  karst_status status = karst_allocate_zero(context, &plan, 1, sizeof *plan, "DILU");
  if (status) return status;
  analysis->plan = plan;
  analysis->rows = A->block_rows;
  analysis->block_size = plan->block_size = A->block_size;
  if (analysis->rows == 0) return KARST_SUCCESS;
  status = try_tiles(context, A, analysis, plan);
  if (!status && !plan->tiled && analysis->single)
    status = karst_fail(context, KARST_ERROR_OPTION,
                        "on a GPU dilu has factor-precision float where it solves by tiles: in the ordering tiles or "
                        "colour, with blocks of up to %d and without modified",
                        (int)KARST_ILU_FLOAT_LARGEST);
  return status || plan->tiled ? status : make_analysis(context, A, analysis, plan);
}

void karst_dilu_analysis_destroy_cuda(karst_context *context, karst_dilu_analysis *analysis)
{
  karst_dilu_cuda *plan = static_cast<karst_dilu_cuda *>(analysis->plan);
  if (!plan) return;
  release_tiled(context, plan);
  karst_ilu_release_triangle_cuda(context, &plan->lower);
  karst_ilu_release_triangle_cuda(context, &plan->upper);
  karst_cuda_release(context, plan->lower_task, plan->upper_task, plan->diagonal, plan->pivot, plan->mirror);
  karst_release(context, plan);
}

karst_status karst_dilu_plan_cuda(karst_context *context, karst_dilu *dilu)
{
  karst_dilu_cuda *plan;
  karst_status status = karst_allocate(context, &plan, 1, sizeof *plan, "DILU");
  if (status) return status;
  *plan = *static_cast<const karst_dilu_cuda *>(dilu->analysis->plan);
  plan->modified = dilu->analysis->modified;
  dilu->plan = plan;
  if (plan->tiled) return plan_tiles(context, plan, dilu);
  return dilu->analysis->rows > 0 ? make_plan(context, plan, dilu) : KARST_SUCCESS;
}

void karst_dilu_plan_destroy_cuda(karst_context *context, karst_dilu *dilu)
{
  karst_dilu_cuda *plan = karst_dilu_cuda_of(dilu);
  if (!plan) return;
  if (plan->tiles) karst_ilu_plan_destroy_cuda(context, plan->tiles);
  karst_release(context, plan->tiles);
  karst_cuda_release(context, dilu->inverse, plan->lower.x, plan->upper.x, plan->statistics, plan->sum, plan->done,
                     plan->size);
  karst_release(context, plan);
}
