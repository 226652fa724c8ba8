/* table.cu - the CUDA instance of the kernels of algebraic multigrid: its table, and its memory. */
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

namespace
{

const char *const what = "a multigrid hierarchy";

/* A pool of the hierarchy's own, if the context has one. */
cudaMemPool_t make_pool(const struct karst_cuda *cuda)
{
  uint64_t kept = UINT64_MAX;
  cudaMemPool_t pool = NULL;
  cudaMemPoolProps properties = {};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = cuda->device;
  if (!cuda->pool || cudaMemPoolCreate(&pool, &properties) != cudaSuccess) {
    cudaGetLastError();
    return NULL;
  }
  cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept);
  return pool;
}

/* Lets a pool grow once, and not for one array after the other. */
void enlarge(const struct karst_cuda *cuda, cudaMemPool_t pool, int64_t bytes)
{
  void *memory;
  if (!pool) return;
  if (cudaMallocFromPoolAsync(&memory, (size_t)bytes, pool, cuda->stream) == cudaSuccess)
    cudaFreeAsync(memory, cuda->stream);
  cudaGetLastError();
}

karst_status begin(karst_context *context, const karst_matrix *A, karst_amg *amg)
{
  enum { GROWTH = 16 /* bytes for each entry: less than a hierarchy has, or than its work space needs */ };
  karst_amg_cuda *plan;
  karst_amg_matrix *finest = &amg->level[0].A;
  const int64_t scalar = (int64_t)karst_amg_scalar(amg);
  karst_status status = karst_allocate_zero(context, &plan, 1, sizeof *plan, what);
  if (status) return status;
  amg->plan = plan;
  plan->pool = make_pool(karst_cuda_of(context));
  enlarge(karst_cuda_of(context), plan->pool, (A->blocks + 1) * GROWTH);
  enlarge(karst_cuda_of(context), karst_cuda_of(context)->pool, (A->blocks + 1) * GROWTH);
  *finest = {A->block_rows, A->block_rows, A->blocks, 0, A->device_row_start, A->device_column, NULL, true};
  status = karst_amg_take_bytes_cuda(context, amg, (A->blocks + 1) * scalar, what, &finest->value);
  if (!status) status = karst_amg_take_cuda(context, amg, 1, what, &plan->scalars);
  return status ? status : karst_amg_longest_row_cuda(context, finest->rows, finest->row_start, &finest->longest);
}

void release_entries(karst_context *context, karst_amg_matrix *matrix)
{
  if (!matrix->borrows) karst_cuda_work_release(context, matrix->column);
  karst_cuda_work_release(context, matrix->value);
  matrix->column = NULL;
  matrix->value = NULL;
}

void release_matrix(karst_context *context, karst_amg_matrix *matrix)
{
  if (!matrix->borrows) karst_cuda_work_release(context, matrix->row_start);
  release_entries(context, matrix);
  *matrix = {};
}

void release_product(karst_context *context, karst_amg_product *product)
{
  release_matrix(context, &product->C);
  karst_cuda_work_release(context, product->first);
  karst_cuda_work_release(context, product->slot);
  *product = {};
}

void release_splitting(karst_context *context, karst_amg_splitting *splitting)
{
  karst_cuda_work_release(context, splitting->place);
  karst_cuda_work_release(context, splitting->strong);
  *splitting = {};
}

/* Level 0 has its A; those of the others belong to products. */
void release_levels(karst_context *context, karst_amg *amg)
{
  release_matrix(context, &amg->level[0].A);
  for (int l = 0; l < KARST_AMG_LEVELS; l++) {
    karst_amg_level *level = &amg->level[l];
    release_matrix(context, &level->P);
    release_matrix(context, &level->R);
    if (amg->shared) level->AP.C.value = NULL;
    release_product(context, &level->AP);
    release_product(context, &level->RAP);
    *level = {};
  }
  karst_cuda_work_release(context, amg->shared);
  karst_cuda_work_release(context, amg->inverse);
  amg->shared = amg->inverse = NULL;
}

void destroy(karst_context *context, karst_amg *amg)
{
  karst_amg_cuda *plan = karst_amg_cuda_of(amg);
  if (plan) karst_amg_cycle_release_cuda(context, amg);
  release_levels(context, amg);
  if (!plan) return;
  karst_cuda_work_release(context, plan->scalars);
  karst_cuda_work_release(context, plan->dense);
  if (plan->pool) cudaMemPoolDestroy(plan->pool); /* its memory goes when the stream has freed it */
  karst_release(context, plan);
  amg->plan = NULL;
}

} // namespace

extern "C" {
extern const struct karst_amg_kernels karst_amg_kernels_cuda;
const struct karst_amg_kernels karst_amg_kernels_cuda = {
    karst_cuda_entry<begin>::call,
    karst_cuda_entry<destroy>::call,
    karst_cuda_entry<karst_amg_load_cuda>::call,
    karst_cuda_entry<karst_amg_split_cuda>::call,
    karst_cuda_entry<karst_amg_interpolate_cuda>::call,
    karst_cuda_entry<karst_amg_match_cuda>::call,
    karst_cuda_entry<karst_amg_compose_cuda>::call,
    karst_cuda_entry<karst_amg_aggregate_cuda>::call,
    karst_cuda_entry<release_splitting>::call,
    karst_cuda_entry<karst_amg_transpose_cuda>::call,
    karst_cuda_entry<karst_amg_plan_product_cuda>::call,
    karst_cuda_entry<karst_amg_multiply_cuda>::call,
    karst_cuda_entry<release_entries>::call,
    karst_cuda_entry<release_matrix>::call,
    karst_cuda_entry<release_product>::call,
    karst_cuda_entry<karst_amg_finish_cuda>::call,
    karst_cuda_entry<karst_amg_weigh_cuda>::call,
    karst_cuda_entry<karst_amg_apply_cuda>::call,
};
}
