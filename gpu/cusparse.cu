/* cusparse.cu - cuSPARSE's incomplete LU behind Karst's kernel table: opening the library, making a plan, the outcome
 * of a factorization. What differs between scalars and blocks is in cusparse_scalar.cu and cusparse_block.cu. */
#include "config.h"

#include "cusparse_plan.h"

#include <dlfcn.h>
#include <stdio.h>

namespace
{

template <typename F> void find(void *opened, const char *name, F *function, karst_cusparse_library *found)
{
  *function = opened ? reinterpret_cast<F>(dlsym(opened, name)) : NULL;
  if (!*function && !found->missing[0]) snprintf(found->missing, sizeof found->missing, "it has no function %s", name);
}

#define TEXT_OF(number) #number
#define LIBRARY_NAME(version) "libcusparse.so." TEXT_OF(version)

/* Where the loader looks, then in the folder of the toolkit that Karst was built with. */
karst_cusparse_library open_library()
{
  karst_cusparse_library found = {};
  void *opened = dlopen(LIBRARY_NAME(CUSPARSE_VER_MAJOR), RTLD_NOW | RTLD_LOCAL);
  if (!opened) snprintf(found.missing, sizeof found.missing, "%s", dlerror());
  if (!opened) opened = dlopen(CUDA_LIBRARY_FOLDER "/" LIBRARY_NAME(CUSPARSE_VER_MAJOR), RTLD_NOW | RTLD_LOCAL);
  if (opened) found.missing[0] = '\0';
#define FIND(name) find(opened, #name, &found.name, &found);
  KARST_CUSPARSE_FUNCTIONS(FIND)
#undef FIND
  return found;
}

const karst_cusparse_kind &kind_of(const karst_cusparse *f)
{
  return f->block_size == 1 ? karst_cusparse_scalar : karst_cusparse_block;
}

karst_status make_plan(karst_context *context, karst_cusparse *f)
{
  const karst_cusparse_library &c = karst_cusparse_functions();
  const karst_cusparse_kind &kind = kind_of(f);
  karst_cusparse_plan *p;
  if (c.missing[0]) return karst_fail(context, KARST_ERROR_NOT_BUILT, "cuSPARSE cannot be loaded: %s", c.missing);
  karst_status status = karst_allocate_zero(context, &p, 1, sizeof *p, "cuSPARSE's incomplete LU");
  if (status) return status;
  f->plan = p;
  if (f->rows == 0) return KARST_SUCCESS;
  cudaStream_t stream = karst_cuda_of(context)->stream;
  status = karst_cusparse_status(context, c.cusparseCreate(&p->handle), "the handle");
  if (!status) status = karst_cusparse_status(context, c.cusparseSetStream(p->handle, stream), "the handle");
  if (!status) status = karst_cusparse_status(context, c.cusparseCreateMatDescr(&p->description), "the matrix");
  if (!status) status = karst_device_indices(context, 1, &f->rows, "cuSPARSE's finding", &p->first);
  if (!status) status = kind.plan_factor(context, f);
  if (!status) status = kind.plan_solve(context, f, CUSPARSE_FILL_MODE_LOWER, CUSPARSE_DIAG_TYPE_UNIT, &p->lower);
  if (!status) status = kind.plan_solve(context, f, CUSPARSE_FILL_MODE_UPPER, CUSPARSE_DIAG_TYPE_NON_UNIT, &p->upper);
  if (!status) status = karst_cuda_status(context, cudaStreamSynchronize(stream), "the analysis of cuSPARSE");
  return status;
}

void destroy_triangle(karst_context *context, karst_cusparse_triangle *t)
{
  const karst_cusparse_library &c = karst_cusparse_functions();
  if (t->scalar) c.cusparseSpSV_destroyDescr(t->scalar);
  if (t->matrix) c.cusparseDestroySpMat(t->matrix);
  if (t->block) c.cusparseDestroyBsrsv2Info(t->block);
  if (t->description) c.cusparseDestroyMatDescr(t->description);
  context->backend->release(context, t->buffer);
}

void destroy_plan(karst_context *context, karst_cusparse *f)
{
  karst_cusparse_plan *p = karst_cusparse_plan_of(f);
  if (!p) return;
  const karst_cusparse_library &c = karst_cusparse_functions();
  cudaStreamSynchronize(karst_cuda_of(context)->stream);
  destroy_triangle(context, &p->lower);
  destroy_triangle(context, &p->upper);
  if (p->scalar) c.cusparseDestroyCsrilu02Info(p->scalar);
  if (p->block) c.cusparseDestroyBsrilu02Info(p->block);
  if (p->from) c.cusparseDestroyDnVec(p->from);
  if (p->to) c.cusparseDestroyDnVec(p->to);
  if (p->description) c.cusparseDestroyMatDescr(p->description);
  if (p->handle) c.cusparseDestroy(p->handle);
  context->backend->release(context, p->buffer);
  context->backend->release(context, p->first);
  karst_release(context, p);
}

/* The row of an entry that is not finite, if it is the lowest so far. */
__global__ void find_not_finite(int64_t entries, int entries_of_block, int rows, const int *row_start,
                                const double *value, int *first)
{
  for (int64_t e = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; e < entries; e += (int64_t)gridDim.x * blockDim.x) {
    if (isfinite(value[e])) continue;
    const int64_t block = e / entries_of_block;
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

/* The first row of a matrix with an entry that is not finite; rows where there is none. */
karst_status look_for_not_finite(karst_context *context, const karst_cusparse *f, int64_t blocks, const int *row_start,
                                 const double *value, int *first)
{
  enum { BLOCKS_OF_A_MULTIPROCESSOR = 8 };
  const struct karst_cuda *cuda = karst_cuda_of(context);
  const int bb = f->block_size * f->block_size;
  int *found = karst_cusparse_plan_of(f)->first;
  karst_status status = context->backend->upload(context, found, &f->rows, sizeof f->rows);
  if (status) return status;
  find_not_finite<<<cuda->multiprocessors * BLOCKS_OF_A_MULTIPROCESSOR, KARST_CUDA_THREADS, 0, cuda->stream>>>(
      blocks * bb, bb, f->rows, row_start, value, found);
  return context->backend->download(context, first, found, sizeof *first);
}

/* cuSPARSE knows of zero pivots alone; a NaN passes through it, or may be taken for one. So the factors are looked
 * through where no pivot was 0, and A where one was: the NaN is the cause where it comes first. */
karst_status factor(karst_context *context, const karst_matrix *A, karst_cusparse *f, karst_factor_outcome *outcome)
{
  int pivot = -1, first = -1;
  *outcome = {KARST_SOUND, -1, 0};
  if (f->rows == 0) return KARST_SUCCESS;
  karst_status status = kind_of(f).factor(context, f, &pivot);
  if (!status && pivot < 0)
    status = look_for_not_finite(context, f, f->blocks, f->row_start, f->value, &first);
  else if (!status)
    status = look_for_not_finite(context, f, A->row_start[A->block_rows], A->device_row_start, A->value, &first);
  if (status) return status;
  if (first < f->rows && (pivot < 0 || first <= pivot))
    *outcome = {KARST_NOT_FINITE, first, 0};
  else if (pivot >= 0)
    *outcome = {KARST_SINGULAR_BLOCK, pivot, 0};
  else
    status = kind_of(f).renew(context, f);
  return status;
}

void solve(karst_context *context, const karst_cusparse *f, const double *r, double *z)
{
  const karst_cusparse_plan *p = karst_cusparse_plan_of(f);
  if (f->rows == 0) return;
  kind_of(f).solve(f, &p->lower, r, f->middle);
  kind_of(f).solve(f, &p->upper, f->middle, z);
}

} // namespace

const karst_cusparse_library &karst_cusparse_functions()
{
  static const karst_cusparse_library opened = open_library();
  return opened;
}

karst_status karst_cusparse_status(karst_context *context, cusparseStatus_t status, const char *what)
{
  if (status == CUSPARSE_STATUS_SUCCESS) return KARST_SUCCESS;
  cudaGetLastError(); /* an error that can be survived is not reported again */
  if (status == CUSPARSE_STATUS_ALLOC_FAILED || status == CUSPARSE_STATUS_INSUFFICIENT_RESOURCES)
    return karst_fail(context, KARST_ERROR_NO_MEMORY, "out of device memory: %s of cuSPARSE", what);
  return karst_fail(context, KARST_ERROR_DEVICE, "the GPU failed: %s of cuSPARSE: %s", what,
                    karst_cusparse_functions().cusparseGetErrorString(status));
}

karst_status karst_cusparse_pivot_status(karst_context *context, cusparseStatus_t status)
{
  return status == CUSPARSE_STATUS_ZERO_PIVOT ? KARST_SUCCESS
                                              : karst_cusparse_status(context, status, "the factorization");
}

/* cuSPARSE wants a place for no bytes, too. */
karst_status karst_cusparse_take(karst_context *context, size_t bytes, karst_cusparse *factors, void **buffer)
{
  factors->plan_memory += (int64_t)bytes;
  return context->backend->allocate(context, bytes ? bytes : 1, "cuSPARSE's work space", buffer);
}

extern "C" {
extern const struct karst_cusparse_kernels karst_cusparse_kernels_cuda;
const struct karst_cusparse_kernels karst_cusparse_kernels_cuda = {
    karst_cuda_entry<make_plan>::call, karst_cuda_entry<destroy_plan>::call, karst_cuda_entry<factor>::call,
    karst_cuda_entry<solve>::call};
}
