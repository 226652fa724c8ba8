/* bench_cusparse.cu - cuSPARSE's product with a matrix, the peer of karst_matrix_multiply: cusparseSpMV for b = 1 and
 * cusparseDbsrmv for larger blocks. */
#include "tools/src/bench/bench_cuda.h"
#include "tools/src/peers/cusparse_library.h"

#include <cuda_runtime.h>

#include <stdio.h>
#include <stdlib.h>

/* SpMV made ready for one algorithm: what preprocessing finds out stays with the matrix and the buffer. */
struct scalar_product {
  cusparseSpMatDescr_t matrix;
  cusparseSpMVAlg_t algorithm;
  void *buffer;
};

struct bench_product {
  cusparseHandle_t handle;
  cusparseMatDescr_t description;
  cusparseDnVecDescr_t x, y;
  scalar_product scalar[2];
  int chosen; /* of the two */
  int rows, blocks, block_size;
  int *row_start, *column; /* A's own, device memory */
  double *value;           /* A's own too */
  char name[64];
};

static const double one = 1, zero = 0;
static const cusparseOperation_t as_it_is = CUSPARSE_OPERATION_NON_TRANSPOSE;

static bool prepare_scalar(bench_product *p, scalar_product *s)
{
  size_t bytes;
  const tool_cusparse_library &c = tool_cusparse_functions();

  return !c.cusparseCreateCsr(&s->matrix, p->rows, p->rows, p->blocks, p->row_start, p->column, p->value,
                              CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F) &&
         !c.cusparseSpMV_bufferSize(p->handle, as_it_is, &one, s->matrix, p->x, &zero, p->y, CUDA_R_64F, s->algorithm,
                                    &bytes) &&
         !cudaMalloc(&s->buffer, bytes ? bytes : 1) &&
         !c.cusparseSpMV_preprocess(p->handle, as_it_is, &one, s->matrix, p->x, &zero, p->y, CUDA_R_64F, s->algorithm,
                                    s->buffer);
}

static bool multiply(const bench_product *p, double *x, double *y)
{
  const tool_cusparse_library &c = tool_cusparse_functions();

  if (p->block_size > 1)
    return !c.cusparseDbsrmv(p->handle, CUSPARSE_DIRECTION_COLUMN, as_it_is, p->rows, p->rows, p->blocks, &one,
                             p->description, p->value, p->row_start, p->column, p->block_size, x, &zero, y);
  const scalar_product *s = &p->scalar[p->chosen];
  return !c.cusparseDnVecSetValues(p->x, x) && !c.cusparseDnVecSetValues(p->y, y) &&
         !c.cusparseSpMV(p->handle, as_it_is, &one, s->matrix, p->x, &zero, p->y, CUDA_R_64F, s->algorithm, s->buffer);
}

/* Tries both algorithms and keeps the faster. */
static bool prepare_scalars(bench_product *p, bench_gpu *gpu)
{
  enum { TRIALS = 20 };
  const cusparseSpMVAlg_t algorithm[2] = {CUSPARSE_SPMV_CSR_ALG1, CUSPARSE_SPMV_CSR_ALG2};
  double *vectors, seconds[2] = {0, 0};
  const size_t bytes = (size_t)p->rows * sizeof *vectors;
  const tool_cusparse_library &c = tool_cusparse_functions();

  if (cudaMalloc(&vectors, 2 * bytes)) return false;
  bool good = !cudaMemset(vectors, 0, 2 * bytes) && !cudaDeviceSynchronize() &&
              !c.cusparseCreateDnVec(&p->x, p->rows, vectors, CUDA_R_64F) &&
              !c.cusparseCreateDnVec(&p->y, p->rows, vectors + p->rows, CUDA_R_64F);
  for (int a = 0; a < 2 && good; a++) {
    p->scalar[a].algorithm = algorithm[a];
    p->chosen = a;
    good = prepare_scalar(p, &p->scalar[a]) && multiply(p, vectors, vectors + p->rows);
    bench_gpu_start(gpu);
    for (int i = 0; i < TRIALS && good; i++) good = multiply(p, vectors, vectors + p->rows);
    seconds[a] = bench_gpu_stop(gpu);
  }
  p->chosen = seconds[0] <= seconds[1] ? 0 : 1;
  cudaFree(vectors);
  return good;
}

static bool prepare(bench_product *p, const karst_context *context, const karst_matrix *A, bench_gpu *gpu)
{
  int version = 0;
  const tool_cusparse_library &c = tool_cusparse_functions();

  p->rows = (int)karst_matrix_block_rows(A);
  p->blocks = (int)karst_matrix_blocks(A);
  p->block_size = karst_matrix_block_size(A);
  p->row_start = const_cast<int *>(karst_matrix_device_row_start(A));
  p->column = const_cast<int *>(karst_matrix_device_column(A));
  p->value = const_cast<double *>(karst_matrix_value(A));
  bool good = !c.cusparseCreate(&p->handle) && !c.cusparseGetVersion(p->handle, &version) &&
              !c.cusparseSetStream(p->handle, static_cast<cudaStream_t>(karst_context_stream(context))) &&
              !c.cusparseCreateMatDescr(&p->description) && (p->block_size > 1 || prepare_scalars(p, gpu));
  snprintf(p->name, sizeof p->name, "cuSPARSE %d.%d.%d", version / 1000, version % 1000 / 100, version % 100);
  return good;
}

bench_product *bench_product_open(const karst_context *context, const karst_matrix *A, bench_gpu *gpu)
{
  bench_product *p = static_cast<bench_product *>(calloc(1, sizeof *p));

  if (!p) {
    tool_fail_memory("cuSPARSE's product");
    return NULL;
  }
  const char *missing = tool_cusparse_functions().missing;
  if (!missing[0] && prepare(p, context, A, gpu)) return p;
  fprintf(stderr, "%s: note: cuSPARSE is left out: %s%s\n", tool_name(), missing[0] ? "" : "its product with A fails",
          missing);
  if (missing[0])
    free(p);
  else
    bench_product_close(p);
  return NULL;
}

/* Also what a failed prepare has left. */
void bench_product_close(bench_product *p)
{
  if (!p) return;
  const tool_cusparse_library &c = tool_cusparse_functions();
  for (scalar_product &s : p->scalar) {
    if (s.matrix) c.cusparseDestroySpMat(s.matrix);
    cudaFree(s.buffer);
  }
  if (p->x) c.cusparseDestroyDnVec(p->x);
  if (p->y) c.cusparseDestroyDnVec(p->y);
  if (p->description) c.cusparseDestroyMatDescr(p->description);
  if (p->handle) c.cusparseDestroy(p->handle);
  free(p);
}

const char *bench_product_name(const bench_product *p) { return p->name; }

bool bench_product_multiply(bench_product *p, karst_vector *x, karst_vector *y)
{
  return multiply(p, karst_vector_values(x), karst_vector_values(y));
}
