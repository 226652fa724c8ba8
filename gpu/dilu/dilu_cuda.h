/* dilu_cuda.h - the data of DILU on the GPU: M = (D + E) D^-1 (D + F). It stores D^-1; E and F are read from A.
 *
 * The triangles are those of gpu/ilu (gpu/ilu/ilu_cuda.h) without values: slices of block rows in level order. Their
 * entries hold the slot of the neighbour (column) and the number of the block in A (source). The vectors of the sweeps
 * are in slot order. Entry 0 of the upper triangle is the diagonal block.
 *
 * D^-1 is in the order of the slots of lower, in groups of KARST_DILU_GROUP slots. In a group all first columns come
 * before all second ones, so that the lanes of a warp read, and wait for, nearly contiguous memory. large.cu stores it
 * block by block, in the order of the rows.
 *
 * If an ordering has made tiles and each fits, block ILU by tiles (gpu/ilu/tiles/tile_factor.h) replaces all this; its
 * products change only the diagonal blocks. */
#ifndef KARST_GPU_DILU_DILU_CUDA_H
#define KARST_GPU_DILU_DILU_CUDA_H

#include "gpu/ilu/ilu_cuda.h"

extern "C" {
#include "lib/backend/dilu_kernels.h"
}

enum {
  KARST_DILU_SMALL = 3, /* larger blocks are factored by factor.cu */
  KARST_DILU_GROUP = 32 /* slots */
};

/* The slots of D^-1, rounded up to a whole group. */
static inline int64_t karst_dilu_slots(const karst_triangle *lower)
{
  return ((int64_t)lower->slots + KARST_DILU_GROUP - 1) / KARST_DILU_GROUP * KARST_DILU_GROUP;
}

/* A task of a triangle: the slots first .. end - 1 of one slice, whose entries are begin .. stop - 1. */
typedef struct alignas(16) karst_dilu_task {
  int64_t begin, stop;
  karst_index first, end;
} karst_dilu_task;

/* The plan. The members after factor_grid, and the vectors of the sweeps, belong to a factorization; all others refer
 * to the analysis's arrays. Passed to kernels by value. */
typedef struct karst_dilu_cuda {
  karst_triangle lower, upper;
  karst_dilu_task *lower_task, *upper_task; /* [tasks] of each */
  karst_index *diagonal;                    /* [rows] the block of A in row and column i, by the slots of lower */
  karst_index *pivot;  /* [lower.blocks] the slot of row k of the entry E_ik, in large.cu the row; -1: padding */
  karst_index *mirror; /* [lower.blocks] the number of the block F_ki in A, -1 where A has none */
  int block_size;
  bool symmetric;             /* each block has a mirror image */
  int lower_grid, upper_grid; /* blocks of threads that are resident together */
  int factor_grid;            /* those of the sweeps */
  bool modified;              /* R may be other than 0 */
  karst_ilu_statistics_cuda *statistics;
  double *sum;               /* [b*b*rows] the sums of the blocks of F by rows; NULL unless modified */
  double *size;              /* [factor_grid b*b] of the D_i under way (lib/backend/dense.h); NULL if done is */
  int *done;                 /* [rows] the rows whose D^-1 is stored; NULL if its elements carry their own flag */
  karst_ilu_analysis *tiled; /* the analysis by tiles, or NULL */
  karst_ilu *tiles;          /* the factorization by tiles, or NULL */
} karst_dilu_cuda;

static inline karst_dilu_cuda *karst_dilu_cuda_of(const karst_dilu *dilu) { return (karst_dilu_cuda *)dilu->plan; }

/* The arguments of a factorization kernel besides the plan. */
typedef struct karst_dilu_matrix {
  const karst_index *start; /* [rows + 1] the pattern of A */
  const double *value;      /* [b*b*blocks] */
  double *inverse;          /* D^-1 */
  double shift, modified;
} karst_dilu_matrix;

/* sweep.cu and factor.cu have the block sizes of KARST_BLOCK_SIZES, large.cu all others. Each family returns the number
 * of thread blocks and queues its kernels. The caller of factor makes the sums. For large b, and if the pattern is not
 * symmetric, it also checks the blocks outside the diagonal for entries that are not finite. */
karst_status karst_dilu_analyse_sweeps_cuda(karst_context *context, const karst_dilu_analysis *analysis,
                                            karst_dilu_cuda *plan);
void karst_dilu_sweep_cuda(karst_context *context, const karst_dilu_cuda *plan, const double *A, const double *inverse,
                           const double *r, double *z);
karst_status karst_dilu_plan_factor_cuda(karst_context *context, const karst_dilu_analysis *analysis,
                                         karst_dilu_cuda *plan);
void karst_dilu_factor_cuda(karst_context *context, const karst_dilu_cuda *plan, const karst_dilu_matrix *matrix);
const void *karst_dilu_factor_small_cuda(int block_size, bool modified); /* the kernel of factor_small.cu, or NULL */
karst_status karst_dilu_analyse_large_cuda(karst_context *context, const karst_dilu_analysis *analysis,
                                           karst_dilu_cuda *plan);
void karst_dilu_sweep_large_cuda(karst_context *context, const karst_dilu_cuda *plan, const double *A,
                                 const double *inverse, const double *r, double *z);
void karst_dilu_factor_large_cuda(karst_context *context, const karst_dilu_cuda *plan, const karst_dilu_matrix *matrix);

/* plan.cu */
karst_status karst_dilu_analyse_cuda(karst_context *context, const karst_matrix *A, karst_dilu_analysis *analysis);
void karst_dilu_analysis_destroy_cuda(karst_context *context, karst_dilu_analysis *analysis);
karst_status karst_dilu_plan_cuda(karst_context *context, karst_dilu *dilu);
void karst_dilu_plan_destroy_cuda(karst_context *context, karst_dilu *dilu);

#ifdef __CUDACC__
/* Returns a task, without slots beyond the last one. */
static __device__ __forceinline__ karst_dilu_task karst_dilu_find_task(const karst_dilu_task *task, karst_index tasks,
                                                                       int64_t number)
{
  karst_dilu_task found = {0, 0, 0, 0};
  if (number < tasks) found = task[number];
  return found;
}

/* Element (r, c) of D^-1 of a slot. */
template <int B> static __device__ __forceinline__ int64_t karst_dilu_element(karst_index slot, int r, int c)
{
  const int64_t group = slot / KARST_DILU_GROUP;
  return (group * B + c) * (KARST_DILU_GROUP * B) + slot % KARST_DILU_GROUP * B + r;
}
#endif

#endif
