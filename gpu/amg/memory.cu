/* memory.cu - takes memory for the levels of a hierarchy, from its own pool if it has one. */
#include "gpu/amg/amg_cuda.h"

karst_status karst_amg_take_bytes_cuda(karst_context *context, const karst_amg *amg, int64_t bytes, const char *what,
                                       void **memory)
{
  const karst_amg_cuda *plan = karst_amg_cuda_of(amg);
  const struct karst_cuda *cuda = karst_cuda_of(context);
  if (!plan || !plan->pool) return karst_cuda_work_take(context, (size_t)bytes, what, memory);
  cudaError_t error = cudaMallocFromPoolAsync(memory, (size_t)bytes, plan->pool, cuda->stream);
  if (error == cudaErrorMemoryAllocation) { /* work space that is not in use may have room for it */
    cudaGetLastError();
    karst_cuda_work_end(context);
    error = cudaMallocFromPoolAsync(memory, (size_t)bytes, plan->pool, cuda->stream);
  }
  if (error == cudaSuccess) return KARST_SUCCESS;
  *memory = NULL;
  return karst_cuda_no_memory(context, error, (size_t)bytes, what);
}

karst_status karst_amg_take_entries_cuda(karst_context *context, const karst_amg *amg, const char *what,
                                         karst_amg_matrix *matrix)
{
  const int64_t scalar = (int64_t)karst_amg_scalar(amg);
  if (matrix->entries > KARST_INDEX_MAX)
    return karst_fail(context, KARST_ERROR_INDEX_OVERFLOW, "%s has %lld entries, more than %d-bit indices count", what,
                      (long long)matrix->entries, KARST_INDEX_BITS);
  karst_status status = karst_amg_take_cuda(context, amg, matrix->entries, what, &matrix->column);
  if (!status) status = karst_amg_take_bytes_cuda(context, amg, (matrix->entries + 1) * scalar, what, &matrix->value);
  return status;
}
