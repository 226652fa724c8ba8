/* ilu_cpu.h - the plans of block ILU on the CPU, for its factorization and sweeps. */
#ifndef KARST_CPU_ILU_ILU_CPU_H
#define KARST_CPU_ILU_ILU_CPU_H

#include "cpu/pivot.h"
#include "cpu/round.h"
#include "cpu/runs.h"
#include "lib/backend/ilu_kernels.h"

/* The work space of one thread that factors rows. */
typedef struct karst_ilu_workspace {
  karst_index *position; /* [rows] the place of a column's block in the current row, else -1 */
  double *row;           /* [b*b*widest row] the current row: L, the diagonal block, U */
  double *block;         /* [blocks b*b + 2 b] behind the row */
  int *pivot;            /* [b] behind the block */
} karst_ilu_workspace;

/* The plan of an analysis has no workspace and no vectors. The plan of a factorization has both, and shares the
 * schedules of its analysis. */
typedef struct karst_ilu_plan {
  karst_schedule lower, upper;
  int threads;                    /* of the factorization and the sweeps: one workspace each */
  karst_ilu_workspace *workspace; /* [threads] */
  bool searching;                 /* whether some row of U is so long that others may search it */
  bool by_jacobi;                 /* whether Jacobi sweeps solve the triangles */
  int64_t widest;                 /* blocks of the widest row of L, D and U */
  int jacobi_sweeps;
  bool modified;   /* whether R is not 0 */
  double *row_sum; /* [b*b*rows] the sum of the blocks of U' in each row, if modified and searching, else NULL */
  double *jacobi;  /* [2 b*rows] the vectors of Jacobi sweeps if these solve the triangles, else NULL */
} karst_ilu_plan;

/* Returns whether a row of length blocks is searched for the columns of another row, rather than walked: it is if it is
 * so much longer that the searches cost less. So the products of a pair of rows take no longer than the shorter of
 * both, times a logarithm. A nearly full row costs each row that depends on it no more than the entries of that row. */
KARST_INLINE bool karst_ilu_searches(karst_index length, karst_index columns) { return length / 16 > columns; }

/* Rounds D_i^-1 and row i of U'. Returns false if float cannot hold them. */
KARST_INLINE bool karst_ilu_round_upper(int b, const karst_ilu *ilu, karst_index i)
{
  const int64_t bb = (int64_t)b * b, first = ilu->upper_start[i] * bb, count = ilu->upper_start[i + 1] * bb - first;
  const bool upper = karst_round_values(count, ilu->upper + first, ilu->upper_float + first);
  return karst_round_inverse(b, ilu->inverse_diagonal + i * bb, ilu->inverse_diagonal_float + i * bb) && upper;
}

/* Makes the work space for rows of at most widest blocks. After a failure the caller destroys the work space. */
karst_status karst_ilu_workspace_create(karst_context *context, karst_index rows, int b, int64_t widest, int blocks,
                                        karst_ilu_workspace *w);
void karst_ilu_workspace_destroy(karst_context *context, karst_ilu_workspace *w);

extern const struct karst_ilu_residual_kernels karst_ilu_residual_kernels_cpu; /* residual.c */

/* The entries of the table. Each is in the file of its name; solve.c and jacobi.c have the two ways to solve. */
extern const struct karst_ilu_kernels karst_ilu_kernels_cpu;
karst_status karst_ilu_analyse_cpu(karst_context *context, const karst_matrix *A, karst_trisolve trisolve,
                                   karst_ilu_analysis *analysis);
void karst_ilu_analysis_destroy_cpu(karst_context *context, karst_ilu_analysis *analysis);
karst_status karst_ilu_plan_cpu(karst_context *context, const karst_ilu_analysis *analysis, int trisolve_sweeps,
                                karst_ilu *ilu);
void karst_ilu_plan_destroy_cpu(karst_context *context, karst_ilu *ilu);
karst_status karst_ilu_factor_cpu(karst_context *context, const karst_matrix *A, double shift, double modified,
                                  karst_ilu *ilu, karst_factor_outcome *outcome);
karst_status karst_ilu_load_cpu(karst_context *context, const karst_matrix *A, const double *value, karst_ilu *ilu,
                                karst_factor_outcome *outcome);
void karst_ilu_solve_cpu(karst_context *context, const karst_ilu *ilu, const double *r, double *z);
void karst_ilu_solve_jacobi_cpu(karst_context *context, const karst_ilu *ilu, const double *r, double *z);

#endif
