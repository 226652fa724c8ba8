/* dilu_cpu.h - the plans of DILU on the CPU, for its factorization and sweeps. */
#ifndef KARST_CPU_DILU_DILU_CPU_H
#define KARST_CPU_DILU_DILU_CPU_H

#include "cpu/pivot.h"
#include "cpu/runs.h"
#include "lib/backend/dilu_kernels.h"

/* The plan of an analysis. Block row i of A begins with its lower[i + 1] - lower[i] blocks of E; the diagonal block
 * follows, and then those of F. */
typedef struct karst_dilu_runs {
  karst_schedule forward, backward;
  int threads;
  karst_index *lower;  /* [rows + 1] how many blocks of E precede each block row */
  karst_index *mirror; /* [lower[rows]] the number of block F_ki in A for each E_ik, row by row; -1: missing */
} karst_dilu_runs;

/* The plan of a factorization: its work space. */
typedef struct karst_dilu_work {
  double *row_sum; /* [b*b*rows] the sum of the blocks of F in each block row, with the option modified; else NULL */
  double *room;    /* [threads (4 b*b + 2 b)] for blocks that have no instance */
  int *pivot;      /* [threads b] for the same blocks */
} karst_dilu_work;

static inline const karst_dilu_runs *karst_dilu_runs_of(const karst_dilu *dilu) { return dilu->analysis->plan; }

/* The entries of the table, in plan.c, factor.c and solve.c. */
extern const struct karst_dilu_kernels karst_dilu_kernels_cpu;
karst_status karst_dilu_factor_cpu(karst_context *context, const karst_matrix *A, double shift, double modified,
                                   karst_dilu *dilu, karst_factor_outcome *outcome);
void karst_dilu_solve_cpu(karst_context *context, const karst_matrix *A, const karst_dilu *dilu, const double *r,
                          double *z);

#endif
