/* bench_cusparse.cu - cuSPARSE's product with a matrix, the peer of karst_matrix_multiply: cusparseSpMV for b = 1 and
 * cusparseDbsrmv for larger blocks. The library is opened by name, so that bench starts where it is missing. */
#include "config.h"

#include "bench_cuda.h"

#include <stdio.h>
#include <stdlib.h>

#define DISABLE_CUSPARSE_DEPRECATED /* bsrmv for any block size has no successor in the generic interface */
#include <cuda_runtime.h>
#include <cusparse.h>
#include <dlfcn.h>

#define FUNCTIONS(X)                                                                                                   \
  X(cusparseCreate)                                                                                                    \
  X(cusparseDestroy)                                                                                                   \
  X(cusparseSetStream)                                                                                                 \
  X(cusparseGetVersion)                                                                                                \
  X(cusparseCreateCsr)                                                                                                 \
  X(cusparseDestroySpMat)                                                                                              \
  X(cusparseCreateDnVec)                                                                                               \
  X(cusparseDestroyDnVec)                                                                                              \
  X(cusparseDnVecSetValues)                                                                                            \
  X(cusparseSpMV_bufferSize)                                                                                           \
  X(cusparseSpMV_preprocess)                                                                                           \
  X(cusparseSpMV)                                                                                                      \
  X(cusparseCreateMatDescr)                                                                                            \
  X(cusparseDestroyMatDescr)                                                                                           \
  X(cusparseDbsrmv)

/* SpMV made ready for one algorithm: what preprocessing finds out stays with the matrix and the buffer. */
struct scalar_product {
  cusparseSpMatDescr_t matrix;
  cusparseSpMVAlg_t algorithm;
  void *buffer;
};

struct bench_product {
#define DECLARE(name) decltype(&::name) name;
  FUNCTIONS(DECLARE)
#undef DECLARE
  cusparseHandle_t handle;
  cusparseMatDescr_t description;
  cusparseDnVecDescr_t x, y;
  scalar_product scalar[2];
  int chosen; /* of the two */
  int rows, blocks, block_size;
  int *row_start, *column; /* device memory */
  double *value;           /* A's own, device memory */
  char name[64];
};

static const double one = 1, zero = 0;
static const cusparseOperation_t as_it_is = CUSPARSE_OPERATION_NON_TRANSPOSE;

#define TEXT_OF(number) #number
#define LIBRARY_NAME(version) "libcusparse.so." TEXT_OF(version)

/* NULL, or what is missing. */
static const char *find_functions(bench_product *p)
{
  static char missing[64];
  const char *name = LIBRARY_NAME(CUSPARSE_VER_MAJOR);

  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library) library = dlopen(CUDA_LIBRARY_FOLDER "/" LIBRARY_NAME(CUSPARSE_VER_MAJOR), RTLD_NOW | RTLD_LOCAL);
  if (!library) return name;
#define FIND(function)                                                                                                 \
  p->function = reinterpret_cast<decltype(p->function)>(dlsym(library, #function));                                    \
  if (!p->function) {                                                                                                  \
    snprintf(missing, sizeof missing, "%s", #function);                                                                \
    return missing;                                                                                                    \
  }
  FUNCTIONS(FIND)
#undef FIND
  return NULL;
}

static bool prepare_scalar(bench_product *p, scalar_product *s)
{
  size_t bytes;

  return !p->cusparseCreateCsr(&s->matrix, p->rows, p->rows, p->blocks, p->row_start, p->column, p->value,
                               CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F) &&
         !p->cusparseSpMV_bufferSize(p->handle, as_it_is, &one, s->matrix, p->x, &zero, p->y, CUDA_R_64F, s->algorithm,
                                     &bytes) &&
         !cudaMalloc(&s->buffer, bytes ? bytes : 1) &&
         !p->cusparseSpMV_preprocess(p->handle, as_it_is, &one, s->matrix, p->x, &zero, p->y, CUDA_R_64F, s->algorithm,
                                     s->buffer);
}

static bool multiply(const bench_product *p, double *x, double *y)
{
  if (p->block_size > 1)
    return !p->cusparseDbsrmv(p->handle, CUSPARSE_DIRECTION_COLUMN, as_it_is, p->rows, p->rows, p->blocks, &one,
                              p->description, p->value, p->row_start, p->column, p->block_size, x, &zero, y);
  const scalar_product *s = &p->scalar[p->chosen];
  return !p->cusparseDnVecSetValues(p->x, x) && !p->cusparseDnVecSetValues(p->y, y) &&
         !p->cusparseSpMV(p->handle, as_it_is, &one, s->matrix, p->x, &zero, p->y, CUDA_R_64F, s->algorithm, s->buffer);
}

/* Both algorithms, of which the faster is kept. */
static bool prepare_scalars(bench_product *p, bench_gpu *gpu)
{
  enum { TRIALS = 20 };
  const cusparseSpMVAlg_t algorithm[2] = {CUSPARSE_SPMV_CSR_ALG1, CUSPARSE_SPMV_CSR_ALG2};
  double *vectors, seconds[2] = {0, 0};
  const size_t bytes = (size_t)p->rows * sizeof *vectors;

  if (cudaMalloc(&vectors, 2 * bytes)) return false;
  bool good = !cudaMemset(vectors, 0, 2 * bytes) && !cudaDeviceSynchronize() &&
              !p->cusparseCreateDnVec(&p->x, p->rows, vectors, CUDA_R_64F) &&
              !p->cusparseCreateDnVec(&p->y, p->rows, vectors + p->rows, CUDA_R_64F);
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

static bool copy_pattern(bench_product *p, const karst_matrix *A)
{
  const size_t rows = ((size_t)p->rows + 1) * sizeof(int), columns = (size_t)p->blocks * sizeof(int);

  return !cudaMalloc(&p->row_start, rows) && !cudaMalloc(&p->column, columns ? columns : 1) &&
         !cudaMemcpy(p->row_start, karst_matrix_row_start(A), rows, cudaMemcpyHostToDevice) &&
         !cudaMemcpy(p->column, karst_matrix_column(A), columns, cudaMemcpyHostToDevice);
}

static bool prepare(bench_product *p, const karst_context *context, const karst_matrix *A, bench_gpu *gpu)
{
  int version = 0;

  p->rows = (int)karst_matrix_block_rows(A);
  p->blocks = (int)karst_matrix_blocks(A);
  p->block_size = karst_matrix_block_size(A);
  p->value = const_cast<double *>(karst_matrix_value(A));
  bool good = !p->cusparseCreate(&p->handle) && !p->cusparseGetVersion(p->handle, &version) &&
              !p->cusparseSetStream(p->handle, static_cast<cudaStream_t>(karst_context_stream(context))) &&
              !p->cusparseCreateMatDescr(&p->description) && copy_pattern(p, A) &&
              (p->block_size > 1 || prepare_scalars(p, gpu));
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
  const char *missing = find_functions(p);
  if (!missing && prepare(p, context, A, gpu)) return p;
  fprintf(stderr, "%s: note: cuSPARSE is left out: %s%s\n", tool_name(), missing ? missing : "its product with A fails",
          missing ? " cannot be loaded" : "");
  if (missing)
    free(p);
  else
    bench_product_close(p);
  return NULL;
}

/* Also what a failed prepare has left. */
void bench_product_close(bench_product *p)
{
  if (!p) return;
  for (scalar_product &s : p->scalar) {
    if (s.matrix) p->cusparseDestroySpMat(s.matrix);
    cudaFree(s.buffer);
  }
  if (p->x) p->cusparseDestroyDnVec(p->x);
  if (p->y) p->cusparseDestroyDnVec(p->y);
  if (p->description) p->cusparseDestroyMatDescr(p->description);
  if (p->handle) p->cusparseDestroy(p->handle);
  cudaFree(p->row_start);
  cudaFree(p->column);
  free(p);
}

const char *bench_product_name(const bench_product *p) { return p->name; }

bool bench_product_multiply(bench_product *p, karst_vector *x, karst_vector *y)
{
  return multiply(p, karst_vector_values(x), karst_vector_values(y));
}
