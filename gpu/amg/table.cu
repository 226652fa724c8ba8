/* table.cu - the CUDA instance of the kernels of algebraic multigrid: its table, and the memory of a hierarchy. */
#include "gpu/amg/amg_cuda.h"

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
  *finest = {A->block_rows, A->block_rows + amg->ghosts, A->blocks, 0, A->device_row_start, A->device_column, NULL,
             true};
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
    release_product(context, &level->part);
    release_matrix(context, &level->S);
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
  if (plan->pool) {
    cudaStreamSynchronize(karst_cuda_of(context)->stream); /* frees may be under way, which the driver does not survive
                                                            * where threads share a device */
    cudaMemPoolDestroy(plan->pool);
  }
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
    karst_cuda_entry<karst_amg_square_cuda>::call,
    karst_cuda_entry<karst_amg_fetch_cuda>::call,
    karst_cuda_entry<karst_amg_stack_cuda>::call,
    karst_cuda_entry<karst_amg_renumber_cuda>::call,
    karst_cuda_entry<karst_amg_widen_cuda>::call,
    karst_cuda_entry<karst_amg_narrow_cuda>::call,
    karst_cuda_entry<karst_amg_add_cuda>::call,
    karst_cuda_entry<karst_amg_split_cuda>::call,
    karst_cuda_entry<karst_amg_rescue_cuda>::call,
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
