/* table.cu - the CUDA instance of the kernels of fgbilu: its table, and the report shared by all variants. */
#include "gpu/fgbilu/fgbilu_cuda.h"

namespace
{

void report(const karst_fgbilu *fgbilu, unsigned long long first_fault, karst_factor_outcome *outcome)
{
  const karst_index *row = fgbilu->analysis->cells.row;
  *outcome = {KARST_SOUND, -1, 0};
  if (first_fault == ~0ULL) return;
  const karst_index cell = (karst_index)(first_fault / 4);
  outcome->block_row = row ? row[cell] : cell;
  switch (static_cast<karst_fgbilu_fault>(first_fault % 4)) {
  case KARST_FGBILU_NOT_FINITE:
    outcome->reason = KARST_NOT_FINITE;
    break;
  case KARST_FGBILU_SINGULAR:
    outcome->reason = KARST_SINGULAR_BLOCK;
    break;
  case KARST_FGBILU_OVERFLOW:
    outcome->reason = karst_block_overflow(fgbilu->analysis->block_size);
  }
}

/* Checks all of A if the factorization has failed, or if it does not read all of A. */
karst_status factor(karst_context *context, const karst_matrix *A, karst_fgbilu *fgbilu, karst_factor_outcome *outcome)
{
  const karst_fgbilu_cuda *plan = karst_fgbilu_cuda_of(fgbilu->analysis);
  unsigned long long *first_fault = karst_fgbilu_work_of(fgbilu)->first_fault, found = ~0ULL;
  karst_status status = KARST_SUCCESS;
  if (fgbilu->analysis->cells.rows > 0) {
    cudaMemsetAsync(first_fault, 0xff, sizeof *first_fault, karst_cuda_of(context)->stream);
    plan->variant->factor->launch(context, A, fgbilu);
    if (plan->unread) karst_fgbilu_find_not_finite_cuda(context, A, fgbilu);
    status = context->backend->download(context, &found, first_fault, sizeof found);
    if (!status && found != ~0ULL && !plan->unread) {
      karst_fgbilu_find_not_finite_cuda(context, A, fgbilu);
      status = context->backend->download(context, &found, first_fault, sizeof found);
    }
  }
  report(fgbilu, found, outcome);
  return status;
}

void solve(karst_context *context, const karst_matrix *A, const karst_fgbilu *fgbilu, const double *r, double *z)
{
  if (fgbilu->analysis->cells.rows > 0)
    karst_fgbilu_cuda_of(fgbilu->analysis)->variant->sweep->solve(context, A, fgbilu, r, z);
}

} // namespace

extern "C" {
extern const struct karst_fgbilu_kernels karst_fgbilu_kernels_cuda;
const struct karst_fgbilu_kernels karst_fgbilu_kernels_cuda = {
    karst_cuda_entry<karst_fgbilu_analyse_cuda>::call,
    karst_cuda_entry<karst_fgbilu_analysis_destroy_cuda>::call,
    karst_cuda_entry<karst_fgbilu_plan_cuda>::call,
    karst_cuda_entry<karst_fgbilu_plan_destroy_cuda>::call,
    karst_cuda_entry<karst_fgbilu_measure_cuda>::call,
    karst_cuda_entry<factor>::call,
    karst_cuda_entry<solve>::call};
}
