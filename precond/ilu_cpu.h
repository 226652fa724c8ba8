/* ilu_cpu.h - what the factorization and the sweeps share on the CPU. */
#ifndef KARST_PRECOND_ILU_CPU_H
#define KARST_PRECOND_ILU_CPU_H

#include "kernels.h"
#include "symbolic.h"

/* The work space of one thread that factors rows. */
typedef struct karst_ilu_workspace {
  karst_index *position; /* [rows] where a column's block stands in the row at hand, else -1 */
  double *row;           /* [b*b*widest row] the row at hand: L, the diagonal block, U */
  double *block;         /* [b*b + 2 b] */
  int *pivot;            /* [b] */
} karst_ilu_workspace;

typedef struct karst_ilu_plan {
  karst_schedule lower, upper;
  int threads;                    /* of the factorization and the sweeps: one workspace each */
  karst_ilu_workspace *workspace; /* [threads] */
} karst_ilu_plan;

/* The runs of a level that are a thread's share, by work: from *first up to but not including *last. */
void karst_schedule_share(const karst_schedule *schedule, karst_index level, int thread, int team, karst_index *first,
                          karst_index *last);

/* ilu_factor_cpu.c */
karst_status karst_ilu_factor_cpu(karst_context *context, const karst_matrix *A, double shift, karst_ilu *ilu,
                                  karst_factor_outcome *outcome);
/* ilu_solve_cpu.c */
void karst_ilu_solve_cpu(karst_context *context, const karst_ilu *ilu, const double *r, double *z);

#endif
