/* cusparse_values.cu - the parts of the preconditioner cusparse around cuSPARSE: errors as the library's, device
 * memory, copying A's values into the factors, finding entries that are not finite. */
#include "tools/src/peers/cusparse_plan.h"

#include <stdio.h>

namespace
{

enum { THREADS = 256, GRID = 1024 /* thread blocks, each of which takes as many turns as there is work for */ };

/* For each block k of A, factors(position[k]) = A(k). entries: b*b. */
__global__ void scatter(int64_t scalars, int entries, const int *position, const double *from, double *to)
{
  for (int64_t e = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; e < scalars; e += (int64_t)gridDim.x * blockDim.x) {
    const int64_t k = e / entries;
    to[(int64_t)position[k] * entries + (e - k * entries)] = from[e];
  }
}

/* The row of an entry that is not finite, if it is the lowest so far. entries: b*b. */
__global__ void find_not_finite(int64_t scalars, int entries, int rows, const int *row_start, const double *value,
                                int *first)
{
  for (int64_t e = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; e < scalars; e += (int64_t)gridDim.x * blockDim.x) {
    if (isfinite(value[e])) continue;
    const int64_t block = e / entries;
    int low = 0, high = rows; /* row_start[low] <= block < row_start[high] */
    while (high - low > 1) {
      const int middle = low + (high - low) / 2;
      if (row_start[middle] <= block)
        low = middle;
      else
        high = middle;
    }
    atomicMin(first, low);
  }
}

karst_status fail(const tool_cusparse *f, karst_status status, const char *what, const char *why)
{
  char sentence[256];
  cudaGetLastError(); /* an error that can be survived is not reported again */
  if (status == KARST_ERROR_NO_MEMORY)
    snprintf(sentence, sizeof sentence, "out of device memory: %s", what);
  else
    snprintf(sentence, sizeof sentence, "the GPU failed: %s: %s", what, why);
  return karst_context_fail(f->context, status, sentence);
}

} // namespace

karst_status tool_cusparse_status(const tool_cusparse *f, cusparseStatus_t status, const char *what)
{
  char of[128];
  if (status == CUSPARSE_STATUS_SUCCESS) return KARST_SUCCESS;
  snprintf(of, sizeof of, "%s of cuSPARSE", what);
  const bool memory = status == CUSPARSE_STATUS_ALLOC_FAILED || status == CUSPARSE_STATUS_INSUFFICIENT_RESOURCES;
  return fail(f, memory ? KARST_ERROR_NO_MEMORY : KARST_ERROR_DEVICE, of,
              tool_cusparse_functions().cusparseGetErrorString(status));
}

karst_status tool_cusparse_cuda_status(const tool_cusparse *f, cudaError_t error, const char *what)
{
  if (error == cudaSuccess) return KARST_SUCCESS;
  return fail(f, error == cudaErrorMemoryAllocation ? KARST_ERROR_NO_MEMORY : KARST_ERROR_DEVICE, what,
              cudaGetErrorString(error));
}

karst_status tool_cusparse_pivot_status(const tool_cusparse *f, cusparseStatus_t status)
{
  return status == CUSPARSE_STATUS_ZERO_PIVOT ? KARST_SUCCESS : tool_cusparse_status(f, status, "the factorization");
}

karst_status tool_cusparse_take(tool_cusparse *f, size_t bytes, const char *what, void **memory)
{
  *memory = NULL;
  const karst_status status = tool_cusparse_cuda_status(f, cudaMalloc(memory, bytes ? bytes : 1), what);
  if (!status) f->memory += (int64_t)bytes;
  return status;
}

karst_status tool_cusparse_load(const tool_cusparse *f, const karst_matrix *A)
{
  const int entries = f->block_size * f->block_size;
  const int64_t scalars = karst_matrix_blocks(A) * entries;
  const double *value = karst_matrix_value(A);
  if (!f->position)
    return tool_cusparse_cuda_status(
        f, cudaMemcpyAsync(f->value, value, (size_t)scalars * sizeof *value, cudaMemcpyDeviceToDevice, f->stream),
        "a copy of A's values");
  const karst_status status = karst_vector_fill(f->factors, 0);
  if (!status) scatter<<<GRID, THREADS, 0, f->stream>>>(scalars, entries, f->position, value, f->value);
  return status ? status : tool_cusparse_cuda_status(f, cudaPeekAtLastError(), "a copy of A's values");
}

karst_status tool_cusparse_look(const tool_cusparse *f, int64_t blocks, const int *row_start, const double *value,
                                int *first)
{
  const int entries = f->block_size * f->block_size;
  cudaError_t error = cudaMemcpyAsync(f->first, &f->rows, sizeof *first, cudaMemcpyHostToDevice, f->stream);
  if (!error) {
    find_not_finite<<<GRID, THREADS, 0, f->stream>>>(blocks * entries, entries, f->rows, row_start, value, f->first);
    error = cudaPeekAtLastError();
  }
  if (!error) error = cudaMemcpyAsync(first, f->first, sizeof *first, cudaMemcpyDeviceToHost, f->stream);
  if (!error) error = cudaStreamSynchronize(f->stream);
  return tool_cusparse_cuda_status(f, error, "the look for entries that are not finite");
}
