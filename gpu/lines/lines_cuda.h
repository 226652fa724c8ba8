/* lines_cuda.h - solves along lines on the GPU. A warp follows a slice (lib/backend/lines_kernels.h): for blocks of up
 * to KARST_BLOCK_SIZE_LARGEST_INSTANCE it has 32 / b lines, and lane l b + r has scalar row r of line l; for larger
 * blocks it has one line.
 *
 * Factors are stored as the lanes read them: element (r,c) of the block of line l at a step is at
 *
 *     (step b + c) width b + l b + r,
 *
 * so that the lanes of a warp read whole columns of all their lines at once. */
#ifndef KARST_GPU_LINES_LINES_CUDA_H
#define KARST_GPU_LINES_LINES_CUDA_H

#include "gpu/cuda.h"

extern "C" {
#include "lib/backend/lines_kernels.h"
}

/* The work space of a factorization. */
typedef struct karst_lines_cuda {
  unsigned long long *first; /* [1] the first bad block row times 256 minus its reason; all ones: none */
  double *space;             /* [blocks][2 b b] of the thread blocks that factor large blocks */
  unsigned blocks;
} karst_lines_cuda;

static inline karst_lines_cuda *karst_lines_cuda_of(const karst_lines_factors *factors)
{
  return static_cast<karst_lines_cuda *>(factors->plan);
}

/* Lines and factors, as kernels take them by value. */
typedef struct karst_lines_view {
  int b, width;
  bool times_diagonal;
  karst_index first, slices; /* of a colour, or all */
  const karst_index *step, *row, *diagonal, *lower, *upper;
  double *P, *Q, *W;
} karst_lines_view;

static inline karst_lines_view karst_lines_view_of(const karst_lines_factors *factors, karst_index first,
                                                   karst_index slices)
{
  const karst_lines *lines = factors->lines;
  return {lines->block_size,
          lines->width,
          factors->times_diagonal,
          first,
          slices,
          lines->device.step,
          lines->device.row,
          lines->device.diagonal,
          lines->device.lower,
          lines->device.upper,
          factors->P,
          factors->Q,
          factors->W};
}

/* Where the block of a line at a step begins; its columns are width b apart. */
static __device__ __forceinline__ int64_t karst_lines_block(const karst_lines_view &m, int b, karst_index step,
                                                            int line)
{
  return karst_cuda_offset(b, (int64_t)step * m.width) + line * b;
}

/* Keeps the first bad block row and its reason: reasons are negative. */
static __device__ __forceinline__ void karst_lines_record(unsigned long long *first, karst_index row,
                                                          karst_reason reason)
{
  atomicMin(first, (unsigned long long)((int64_t)row * 256 - reason));
}

/* Queue the factorization of all lines, which reports into first. _small: for blocks of at most that many. */
enum { KARST_LINES_SMALL = 4 };
void karst_lines_factor_small_cuda(karst_context *context, const karst_matrix *A, const karst_lines_factors *factors);
void karst_lines_factor_large_cuda(karst_context *context, const karst_matrix *A, const karst_lines_factors *factors);
/* The threads of a block that factors a line with large blocks. */
static inline int karst_lines_threads_cuda(int b) { return b <= 8 ? 32 : b <= 16 ? 64 : KARST_CUDA_THREADS; }

/* Queues a solve on the stream of cuda. */
void karst_lines_launch_cuda(const struct karst_cuda *cuda, const karst_lines_factors *factors, int colour,
                             const double *r, double *z);
void karst_lines_solve_cuda(karst_context *context, const karst_lines_factors *factors, int colour, const double *r,
                            double *z);
void karst_lines_residual_cuda(karst_context *context, const karst_matrix *A, const karst_lines_factors *factors,
                               const double *r, double *z);

#endif
