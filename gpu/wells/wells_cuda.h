/* wells_cuda.h - wells beside a matrix as the kernels on the GPU get them, and the entries of the table. */
#ifndef KARST_GPU_WELLS_WELLS_CUDA_H
#define KARST_GPU_WELLS_WELLS_CUDA_H

#include "gpu/reduce.h"

extern "C" {
#include "lib/backend/wells_kernels.h"
}

/* All pointers are to device memory; lib/wells/wells.h has their lengths. */
struct karst_wells_task {
  int b;
  karst_index count, cells;
  int64_t unknowns;
  const karst_well *well;
  const karst_index *cell, *list_cell; /* in the order of the system */
  karst_wells_lists lists;
  const double *B, *C, *D, *inverse;
  double *space;
};

static inline karst_wells_task karst_wells_task_of(const karst_wells_view *view)
{
  const karst_wells *w = view->wells;
  return {w->block_size, w->count, w->cells, w->unknowns, w->well,    view->cell, view->list_cell,
          w->device,     w->B,     w->C,     w->D,        w->inverse, view->space};
}

/* Where the block of perforation p of a well begins in B and C. */
static __device__ __forceinline__ int64_t karst_wells_block(int b, const karst_well &well, karst_index p)
{
  return well.entry + (int64_t)(p - well.first) * b * well.equations;
}

/* factor.cu, product.cu, precise.cu, pressure.cu */
karst_status karst_wells_factor_cuda(karst_context *context, karst_wells *wells, karst_reason *reason,
                                     karst_index *bad);
void karst_wells_solve_cuda(karst_context *context, const karst_wells_view *view, int unknown, const double *g,
                            const double *x, double *w);
void karst_wells_add_cuda(karst_context *context, const karst_wells_view *view, double sign, const double *w,
                          double *y);
void karst_wells_add_size_cuda(karst_context *context, const karst_wells_view *view, const double *x, double *size);
void karst_wells_residual_precise_cuda(karst_context *context, const karst_wells_view *view, const karst_matrix *A,
                                       const double *b, const double *x, double *r);
void karst_wells_pressure_cuda(karst_context *context, const karst_wells_view *view, const karst_cpr *cpr,
                               const karst_wells_entries *entries, double *value);

#endif
