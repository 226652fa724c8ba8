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

/* What a thread, or all, have found in rows of A_p. */
typedef struct karst_cpr_projected {
  double largest;  /* entry of a column p */
  karst_index bad; /* the first row that is not finite, or rows */
  int64_t empty;
} karst_cpr_projected;

/* Adds what was found in other rows. */
static inline void karst_cpr_join_found(karst_cpr_projected *all, const karst_cpr_projected *found)
{
  if (found->largest > all->largest) all->largest = found->largest;
  if (found->bad < all->bad) all->bad = found->bad;
  all->empty += found->empty;
}

/* In ghosts.c: make the couplings of A_p with ghosts, their columns in float, and the sums of |a_ij| by rows so far; and
 * round the columns again, multiplied by a power of two. */
karst_cpr_projected karst_cpr_project_ghosts_cpu(karst_context *context, const karst_cpr *cpr, karst_matrix *pressure);
void karst_cpr_round_ghosts_cpu(const karst_cpr *cpr, int exponent);

/* The entries of the table, in plan.c, weigh.c, pressure.c, couple.c, apply.c and ghosts.c. */
extern const struct karst_cpr_kernels karst_cpr_kernels_cpu;
karst_status karst_cpr_weigh_cpu(karst_context *context, const karst_matrix *A, karst_cpr_weights weights,
                                 const double *given, const double *parts, karst_cpr *cpr, karst_cpr_outcome *outcome);
karst_status karst_cpr_pressure_cpu(karst_context *context, const karst_matrix *A, karst_cpr *cpr,
                                    karst_matrix *pressure, karst_cpr_outcome *outcome);
void karst_cpr_balance_cpu(karst_context *context, const karst_cpr *cpr, const karst_matrix *pressure,
                           const double *parts, const double *before, double *after);
void karst_cpr_scale_cpu(karst_context *context, karst_cpr *cpr, const double *s, karst_matrix *pressure);
void karst_cpr_couple_cpu(karst_context *context, const karst_cpr *cpr, const karst_matrix *pressure, double *root);
void karst_cpr_restrict_cpu(karst_context *context, const karst_cpr *cpr, const double *r, double *r_p);
void karst_cpr_subtract_cpu(karst_context *context, const karst_matrix *A, const karst_cpr *cpr, const double *r,
                            const double *z_p, double *s);
void karst_cpr_prolong_cpu(karst_context *context, const karst_cpr *cpr, const double *z_p, double *z);
void karst_cpr_sum_ghosts_cpu(karst_context *context, const karst_cpr *cpr, double *sums);
void karst_cpr_sum_scales_cpu(karst_context *context, const karst_cpr *cpr, const karst_matrix *pressure,
                              const double *s, double *sums);
void karst_cpr_subtract_ghosts_cpu(karst_context *context, const karst_cpr *cpr, const double *z_g, double *s);

#endif
