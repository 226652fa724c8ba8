/* plan.cu - the analysis of fgbilu on the GPU: it stores the cells and chooses the style. Also the plan of a
 * factorization, with the factor and work space. */
#include "gpu/fgbilu/fgbilu_cuda.h"
#include "gpu/fgbilu/fgbilu_tiles.h"

#include <algorithm>

namespace
{

/* The styles of every build; auto takes the first one for the block size. In tiles a warp computes a row of cells, a
 * lane each scalar row. ACC handles blocks of any size. */
const karst_fgbilu_variant variants[] = {
    {KARST_FGBILU_TILES, "tiles", 32, karst_fgbilu_cut_tiles_cuda, karst_fgbilu_forget_tiles_cuda,
     &karst_fgbilu_factor_tiles_cuda, &karst_fgbilu_sweep_tiles_cuda},
    {KARST_FGBILU_ACC, "acc", 0, karst_fgbilu_list_hyperplanes_cuda, karst_fgbilu_forget_hyperplanes_cuda,
     &karst_fgbilu_factor_acc_cuda, &karst_fgbilu_sweep_acc_cuda},
};

/* Returns whether the GPU has the shared memory that tiles need for blocks of n. */
bool tiles_fit(karst_context *context, int n)
{
  int most = 0;
  if (n <= KARST_BLOCK_SIZE_LARGEST_INSTANCE) return true; /* with the 48 KiB that every GPU has */
  cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, karst_cuda_of(context)->device);
  return std::max(karst_fgbilu_sweep_large_shared_cuda(n), karst_fgbilu_factor_large_shared_cuda(n)) <= (size_t)most;
}

/* Returns whether a style handles such blocks on this GPU. */
bool serves(karst_context *context, const karst_fgbilu_variant *variant, int b)
{
  return (variant->largest == 0 || b <= variant->largest) &&
         (variant->style != KARST_FGBILU_TILES || tiles_fit(context, b));
}

/* Returns the style, or NULL if this build has none of that name for GPUs. */
const karst_fgbilu_variant *find(karst_fgbilu_style style)
{
  for (const karst_fgbilu_variant &variant : variants)
    if (variant.style == style) return &variant;
  for (const karst_fgbilu_variant &variant : karst_fgbilu_baselines_cuda)
    if (variant.name && variant.style == style) return &variant;
  return nullptr;
}

karst_status choose_variant(karst_context *context, karst_fgbilu_style style, int b,
                            const karst_fgbilu_variant **chosen)
{
  if (style == KARST_FGBILU_AUTO) {
    *chosen = variants;
    while (!serves(context, *chosen, b)) ++*chosen; /* the last serves any block */
    return KARST_SUCCESS;
  }
  const karst_fgbilu_variant *variant = *chosen = find(style);
  if (!variant && (style == KARST_FGBILU_CL || style == KARST_FGBILU_MIXED))
    return karst_fail(context, KARST_ERROR_NOT_BUILT, "fgbilu-style %s needs a build with --enable-baselines",
                      style == KARST_FGBILU_CL ? "cl" : "mixed");
  if (!variant)
    return karst_fail(context, KARST_ERROR_OPTION,
                      "fgbilu-style is auto, tiles, cl, acc or mixed on a GPU; the others are for the CPU");
  if (serves(context, variant, b)) return KARST_SUCCESS;
  if (variant->largest == 0 || b <= variant->largest)
    return karst_fail(context, KARST_ERROR_OPTION,
                      "fgbilu-style %s takes more shared memory for blocks of %d than this GPU gives a thread block",
                      variant->name, b);
  return karst_fail(context, KARST_ERROR_OPTION, "fgbilu-style %s takes blocks of up to %d, and these are of %d",
                    variant->name, variant->largest, b);
}

karst_status upload_cells(karst_context *context, karst_fgbilu_analysis *analysis)
{
  const char *what = "the cells of fgbilu";
  karst_fgbilu_cuda *plan = karst_fgbilu_cuda_of(analysis);
  const karst_structured *cells = &analysis->cells;
  const int64_t count = karst_grid_cells(cells->size);
  karst_status status = karst_cuda_take(context, count, what, &plan->place, &analysis->plan_memory);
  if (!status)
    status = context->backend->upload(context, plan->place, cells->place, (size_t)count * sizeof *cells->place);
  if (status || !cells->row) return status;
  status = karst_cuda_take(context, count, what, &plan->row, &analysis->plan_memory);
  return status ? status : context->backend->upload(context, plan->row, cells->row, (size_t)count * sizeof *cells->row);
}

} // namespace

karst_status karst_fgbilu_analyse_cuda(karst_context *context, const karst_matrix *A, karst_fgbilu_style style,
                                       karst_fgbilu_analysis *analysis)
{
  const karst_index *size = analysis->cells.size;
  karst_fgbilu_cuda *plan;
  karst_status status = karst_allocate_zero(context, &plan, 1, sizeof *plan, "fgbilu");
  if (status) return status;
  analysis->plan = plan;
  if (analysis->single) return karst_fail(context, KARST_ERROR_OPTION, "fgbilu has no factor-precision float on a GPU");
  analysis->block_size = A->block_size;
  analysis->hyperplanes = size[0] - 1 + (size[1] - 1) + size[2];
  status = choose_variant(context, style, A->block_size, &plan->variant);
  if (status) {
    plan->variant = nullptr;
    return status;
  }
  analysis->style = plan->variant->name;
  status = upload_cells(context, analysis);
  plan->unread = analysis->cells.remainder > 0;
  if (!status && !plan->unread) status = karst_fgbilu_find_one_sided_cuda(context, A, analysis, &plan->unread);
  if (!status) status = plan->variant->analyse(context, A, analysis);
  if (status) return status;
  return karst_cuda_status(context, cudaStreamSynchronize(karst_cuda_of(context)->stream), "the plan of fgbilu");
}

void karst_fgbilu_analysis_destroy_cuda(karst_context *context, karst_fgbilu_analysis *analysis)
{
  karst_fgbilu_cuda *plan = karst_fgbilu_cuda_of(analysis);
  if (!plan) return;
  if (plan->variant) plan->variant->forget(context, plan);
  karst_cuda_release(context, plan->row, plan->place);
  karst_release(context, plan);
  analysis->plan = nullptr;
}

karst_status karst_fgbilu_plan_cuda(karst_context *context, karst_fgbilu *fgbilu)
{
  const karst_fgbilu_analysis *analysis = fgbilu->analysis;
  const karst_fgbilu_variant *variant = karst_fgbilu_cuda_of(analysis)->variant;
  const int64_t entries = karst_block_offset(analysis->block_size, analysis->cells.rows);
  int64_t *bytes = &fgbilu->plan_memory;
  karst_fgbilu_work_cuda *work;
  karst_status status = karst_allocate_zero(context, &work, 1, sizeof *work, "fgbilu");
  if (status) return status;
  fgbilu->plan = work;
  status = karst_cuda_take(context, entries, "the factor of fgbilu", &fgbilu->factor, bytes);
  if (!status) status = karst_cuda_take(context, 1, "fgbilu", &work->first_fault, bytes);
  if (!status && variant->factor->plan) status = variant->factor->plan(context, fgbilu);
  if (!status && variant->sweep->plan) status = variant->sweep->plan(context, fgbilu);
  return status;
}

void karst_fgbilu_plan_destroy_cuda(karst_context *context, karst_fgbilu *fgbilu)
{
  karst_fgbilu_work_cuda *work = karst_fgbilu_work_of(fgbilu);
  if (!work) return;
  const karst_fgbilu_variant *variant = karst_fgbilu_cuda_of(fgbilu->analysis)->variant;
  if (variant->factor->destroy) variant->factor->destroy(context, fgbilu);
  if (variant->sweep->destroy) variant->sweep->destroy(context, fgbilu);
  karst_cuda_release(context, work->first_fault, fgbilu->factor);
  karst_release(context, work);
  fgbilu->plan = nullptr;
  fgbilu->factor = nullptr;
}
