/* cpr_cuda.h - the plan of CPR on the GPU. */
#ifndef KARST_GPU_CPR_CPR_CUDA_H
#define KARST_GPU_CPR_CPR_CUDA_H

#include "gpu/reduce.h"

extern "C" {
#include "lib/backend/cpr_kernels.h"
#include "lib/backend/cpr_weights.h"
}

/* What the kernels find, in device memory. */
typedef struct karst_cpr_found {
  unsigned long long guarded, singular, empty;
  unsigned long long suspect; /* cells with a block that is not finite */
  unsigned long long largest; /* entry of the pressure columns, as the bits of a double */
  unsigned long long bad;     /* the first block row with a number that is not finite; ~0: none */
} karst_cpr_found;

typedef struct karst_cpr_cuda {
  karst_index *start;     /* [rows + 1] where each block column begins in block and row; all arrays: device memory */
  karst_index *block;     /* [blocks] the blocks of A by columns, rows ascending */
  karst_index *row;       /* [blocks] the block row of each of these */
  bool symmetric;         /* start and row are the pattern of A */
  karst_index *diagonal;  /* [rows] the number of each diagonal block */
  double *unit;           /* cpr->column is in this unit, a power of two */
  karst_cpr_found *found; /* one */
  double *room;           /* [groups 3 b*b] for blocks that have no instance */
  int groups;             /* thread blocks that such blocks are shared among */
  int lanes;              /* a power of two up to 32: about as many as a row has blocks */
} karst_cpr_cuda;

static inline karst_cpr_cuda *karst_cpr_cuda_of(const karst_cpr *cpr)
{
  return static_cast<karst_cpr_cuda *>(cpr->plan);
}

/* In ghosts.cu: make the couplings of A_p with ghosts, their columns in float, and the sums of |a_ij| by rows so far;
 * round the columns again if their unit is not 1; and multiply the couplings by s. */
void karst_cpr_project_ghosts_cuda(karst_context *context, const karst_cpr *cpr, karst_matrix *pressure);
void karst_cpr_round_ghosts_cuda(karst_context *context, const karst_cpr *cpr);
void karst_cpr_scale_ghosts_cuda(karst_context *context, const karst_halo *halo, const double *s);

/* Zeros what was found, and downloads it, which waits for the device. */
void karst_cpr_reset_cuda(karst_context *context, const karst_cpr *cpr);
karst_status karst_cpr_report_cuda(karst_context *context, const karst_cpr *cpr, karst_cpr_found *found,
                                   karst_cpr_outcome *outcome);

/* The entries of the table, in plan.cu, weigh.cu, pressure.cu, couple.cu, apply.cu and ghosts.cu. */
karst_status karst_cpr_plan_cuda(karst_context *context, const karst_matrix *A, karst_cpr *cpr);
void karst_cpr_plan_destroy_cuda(karst_context *context, karst_cpr *cpr);
karst_status karst_cpr_weigh_cuda(karst_context *context, const karst_matrix *A, karst_cpr_weights weights,
                                  const double *given, const double *parts, karst_cpr *cpr, karst_cpr_outcome *outcome);
karst_status karst_cpr_pressure_cuda(karst_context *context, const karst_matrix *A, karst_cpr *cpr,
                                     karst_matrix *pressure, karst_cpr_outcome *outcome);
void karst_cpr_balance_cuda(karst_context *context, const karst_cpr *cpr, const karst_matrix *pressure,
                            const double *parts, const double *before, double *after);
void karst_cpr_scale_cuda(karst_context *context, karst_cpr *cpr, const double *s, karst_matrix *pressure);
void karst_cpr_couple_cuda(karst_context *context, const karst_cpr *cpr, const karst_matrix *pressure, double *root);
void karst_cpr_restrict_cuda(karst_context *context, const karst_cpr *cpr, const double *r, double *r_p);
void karst_cpr_subtract_cuda(karst_context *context, const karst_matrix *A, const karst_cpr *cpr, const double *r,
                             const double *z_p, double *s);
void karst_cpr_prolong_cuda(karst_context *context, const karst_cpr *cpr, const double *z_p, double *z);
void karst_cpr_sum_ghosts_cuda(karst_context *context, const karst_cpr *cpr, double *sums);
void karst_cpr_sum_scales_cuda(karst_context *context, const karst_cpr *cpr, const karst_matrix *pressure,
                               const double *s, double *sums);
void karst_cpr_subtract_ghosts_cuda(karst_context *context, const karst_cpr *cpr, const double *z_g, double *s);

#endif
