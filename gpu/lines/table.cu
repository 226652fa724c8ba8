/* table.cu - the CUDA instance of the kernels of lines: its table, the memory of a factorization, and its report. */
#include "gpu/lines/lines_cuda.h"

#include <algorithm>

namespace
{

int width(int block_size) { return block_size <= KARST_BLOCK_SIZE_LARGEST_INSTANCE ? 32 / block_size : 1; }

karst_status plan(karst_context *context, karst_lines_factors *factors)
{
  enum { RESIDENT = 32 /* thread blocks of a multiprocessor at most */ };
  const char *what = "the factors of lines";
  const karst_lines *lines = factors->lines;
  const int b = lines->block_size;
  const int64_t entries = karst_block_offset(b, lines->slots);
  karst_lines_cuda *own;
  karst_status status = karst_allocate_zero(context, &own, 1, sizeof *own, what);
  if (status) return status;
  factors->plan = own;
  factors->memory = 0;
  const int64_t resident =
      (int64_t)karst_cuda_of(context)->multiprocessors * RESIDENT * 32 / karst_lines_threads_cuda(b);
  own->blocks = (unsigned)std::max<int64_t>(1, std::min<int64_t>(lines->lines, resident));
  status = karst_cuda_take(context, 1, what, &own->first, &factors->memory);
  if (!status && b > KARST_LINES_SMALL)
    status = karst_cuda_take(context, 2 * karst_block_offset(b, own->blocks), what, &own->space, &factors->memory);
  if (!status) status = karst_cuda_take(context, entries, what, &factors->P, &factors->memory);
  if (!status) status = karst_cuda_take(context, entries, what, &factors->Q, &factors->memory);
  return status ? status : karst_cuda_take(context, entries, what, &factors->W, &factors->memory);
}

void plan_destroy(karst_context *context, karst_lines_factors *factors)
{
  karst_lines_cuda *own = karst_lines_cuda_of(factors);
  karst_cuda_release(context, factors->P, factors->Q, factors->W);
  if (!own) return;
  karst_cuda_release(context, own->first, own->space);
  karst_release(context, own);
}

karst_status factor(karst_context *context, const karst_matrix *A, karst_lines_factors *factors,
                    karst_factor_outcome *outcome)
{
  unsigned long long *first = karst_lines_cuda_of(factors)->first, found;
  *outcome = {KARST_SOUND, -1, 0};
  cudaMemsetAsync(first, 0xff, sizeof *first, karst_cuda_of(context)->stream);
  if (A->block_size <= KARST_LINES_SMALL)
    karst_lines_factor_small_cuda(context, A, factors);
  else
    karst_lines_factor_large_cuda(context, A, factors);
  const karst_status status = context->backend->download(context, &found, first, sizeof found);
  if (status || found == ~0ULL) return status;
  outcome->block_row = (karst_index)(found / 256);
  outcome->reason = static_cast<karst_reason>(-(int)(found % 256));
  return status;
}

} // namespace

extern "C" {
extern const struct karst_lines_kernels karst_lines_kernels_cuda;
const struct karst_lines_kernels karst_lines_kernels_cuda = {width,
                                                             karst_cuda_entry<plan>::call,
                                                             karst_cuda_entry<plan_destroy>::call,
                                                             karst_cuda_entry<factor>::call,
                                                             karst_cuda_entry<karst_lines_solve_cuda>::call,
                                                             karst_cuda_entry<karst_lines_residual_cuda>::call};
}
