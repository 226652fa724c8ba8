/* ilu_cpu.h - what the factorization and the sweeps share on the CPU. */
#ifndef KARST_PRECOND_ILU_CPU_H
#define KARST_PRECOND_ILU_CPU_H

#include "kernels.h"
#include "symbolic.h"

/* What one thread found out. */
typedef struct karst_ilu_finding {
  karst_reason reason;
  karst_index block_row; /* the first bad one, or rows */
  int64_t shifted;
} karst_ilu_finding;

static inline void karst_ilu_find(karst_ilu_finding *f, karst_reason reason, karst_index i)
{
  if (i >= f->block_row) return;
  f->reason = reason;
  f->block_row = i;
}

/* What all threads found, as an outcome. */
static inline void karst_ilu_conclude(const karst_ilu *ilu, const karst_ilu_finding *all, karst_factor_outcome *outcome)
{
  outcome->reason = all->block_row < ilu->rows ? all->reason : KARST_SOUND;
  outcome->block_row = outcome->reason == KARST_SOUND ? -1 : all->block_row;
  outcome->shifted = all->shifted;
}

/* The work space of one thread that factors rows. */
typedef struct karst_ilu_workspace {
  karst_index *position; /* [rows] where a column's block stands in the row at hand, else -1 */
  double *row;           /* [b*b*widest row] the row at hand: L, the diagonal block, U */
  double *block;         /* [blocks b*b + 2 b] */
  int *pivot;            /* [b] */
} karst_ilu_workspace;

typedef struct karst_ilu_plan {
  karst_schedule lower, upper;
  int threads;                    /* of the factorization and the sweeps: one workspace each */
  karst_ilu_workspace *workspace; /* [threads] */
  int jacobi_sweeps;
  double *jacobi; /* [2 b*rows] the vectors of Jacobi sweeps where these solve the triangles, else NULL */
} karst_ilu_plan;

/* The runs of a level that are a thread's share, by work: from *first up to but not including *last. */
void karst_schedule_share(const karst_schedule *schedule, karst_index level, int thread, int team, karst_index *first,
                          karst_index *last);

/* ilu_factor_cpu.c */
karst_status karst_ilu_factor_cpu(karst_context *context, const karst_matrix *A, double shift, karst_ilu *ilu,
                                  karst_factor_outcome *outcome);
/* The work space for rows of widest blocks at most; what it has taken when it fails, destroy gives back. */
karst_status karst_ilu_workspace_create(karst_context *context, karst_index rows, int b, int64_t widest, int blocks,
                                        karst_ilu_workspace *w);
void karst_ilu_workspace_destroy(karst_context *context, karst_ilu_workspace *w);

/* ilu_load_cpu.c */
karst_status karst_ilu_load_cpu(karst_context *context, const karst_matrix *A, const double *value, karst_ilu *ilu,
                                karst_factor_outcome *outcome);
/* ilu_jacobi_cpu.c */
void karst_ilu_solve_jacobi_cpu(karst_context *context, const karst_ilu *ilu, const double *r, double *z);
/* ilu_solve_cpu.c */
void karst_ilu_solve_cpu(karst_context *context, const karst_ilu *ilu, const double *r, double *z);

#endif
