/* cpr_cpu.h - the plan of CPR on the CPU. */
#ifndef KARST_CPU_CPR_CPR_CPU_H
#define KARST_CPU_CPR_CPR_CPU_H

#include "cpu/cpu.h"
#include "lib/backend/cpr_kernels.h"
#include "lib/backend/cpr_weights.h"

typedef struct karst_cpr_plan {
  karst_index *start;    /* [rows + 1] where each block column begins in block and row */
  karst_index *block;    /* [blocks] the blocks of A by columns, rows ascending */
  karst_index *row;      /* [blocks] the block row of each of these */
  bool symmetric;        /* start and row are the pattern of A */
  karst_index *diagonal; /* [rows] the number of each diagonal block */
  double unit;           /* cpr->column is in this unit, a power of two */
  int threads;
  double *room; /* [threads (3 b*b + 2 b)] for blocks that have no instance */
  int *pivot;   /* [threads b] for the same blocks */
} karst_cpr_plan;

static inline karst_cpr_plan *karst_cpr_plan_of(const karst_cpr *cpr) { return cpr->plan; }

/* The entries of the table, in plan.c, weigh.c, pressure.c, couple.c and apply.c. */
extern const struct karst_cpr_kernels karst_cpr_kernels_cpu;
karst_status karst_cpr_weigh_cpu(karst_context *context, const karst_matrix *A, karst_cpr_weights weights,
                                 const double *given, karst_cpr *cpr, karst_cpr_outcome *outcome);
karst_status karst_cpr_pressure_cpu(karst_context *context, const karst_matrix *A, int sweeps, karst_cpr *cpr,
                                    karst_matrix *pressure, karst_cpr_outcome *outcome);
void karst_cpr_couple_cpu(karst_context *context, const karst_cpr *cpr, const karst_matrix *pressure, double *root);
void karst_cpr_restrict_cpu(karst_context *context, const karst_cpr *cpr, const double *r, double *r_p);
void karst_cpr_subtract_cpu(karst_context *context, const karst_matrix *A, const karst_cpr *cpr, const double *r,
                            const double *z_p, double *s);
void karst_cpr_prolong_cpu(karst_context *context, const karst_cpr *cpr, const double *z_p, double *z);

#endif
