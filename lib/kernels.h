/* kernels.h - the typed kernel tables of the preconditioners: one instance of each for every backend, which the
 * backend's entry names (backend.h). The CPU instance is the reference that others are tested against. */
#ifndef KARST_LIB_KERNELS_H
#define KARST_LIB_KERNELS_H

#include "matrix.h"

/* A factorization L D U' with unit triangles: strictly lower L, the inverse blocks of D, strictly upper U', row by row,
 * columns ascending. The pattern is in host memory, unless the plan takes that of A itself; the plan holds the values,
 * in whatever order its kernels like best. lower, upper and inverse_diagonal are the CPU's, NULL on a GPU. */
typedef struct karst_ilu {
  karst_index rows;
  int block_size;
  karst_index *lower_start;  /* [rows + 1] */
  karst_index *lower_column; /* [lower_start[rows]] */
  karst_index *upper_start;  /* [rows + 1] */
  karst_index *upper_column; /* [upper_start[rows]] */
  int64_t lower_blocks;      /* of the strict triangles */
  int64_t upper_blocks;
  karst_index levels_lower; /* level sets, counted by the plan */
  karst_index levels_upper;
  const char *trisolve;     /* how the triangles are solved, chosen by the plan: karst_solver_info has the names */
  double *lower;            /* [b*b*lower_start[rows]] */
  double *upper;            /* [b*b*upper_start[rows]] */
  double *inverse_diagonal; /* [b*b*rows] */
  void *plan;               /* the backend's schedules and work space */
  int64_t plan_memory;      /* bytes of it, and of the values */
} karst_ilu;

/* How the triangles are to be solved. */
typedef enum karst_trisolve {
  KARST_TRISOLVE_AUTO,
  KARST_TRISOLVE_LEVEL,
  KARST_TRISOLVE_DATAFLOW,
  KARST_TRISOLVE_JACOBI
} karst_trisolve;

/* What the plan is made from besides the pattern; only the plan looks at it. */
typedef struct karst_ilu_analysis {
  const karst_matrix *A;
  karst_trisolve trisolve; /* the options */
  int trisolve_sweeps;
} karst_ilu_analysis;

/* How a factorization ended: KARST_SOUND, or why not and the first block row (in elimination order) where. */
typedef struct karst_factor_outcome {
  karst_reason reason;
  karst_index block_row;
  int64_t shifted; /* pivot blocks replaced */
} karst_factor_outcome;

struct karst_ilu_kernels {
  bool splits; /* plan takes the triangles of A itself and counts their blocks, where ilu has no pattern: level 0 */
  /* Level sets, schedules of both sweeps, memory for the values and work space, from the pattern. What a plan that
   * fails has taken, plan_destroy gives back. */
  karst_status (*plan)(karst_context *context, const karst_ilu_analysis *analysis, karst_ilu *ilu);
  void (*plan_destroy)(karst_context *context, karst_ilu *ilu);
  /* Block ILU on the pattern of ilu, which contains A's. shift > 0 replaces a singular pivot block by shift times the
   * largest entry of its row, or of A where that row is zero, times the identity. Waits for the device. */
  karst_status (*factor)(karst_context *context, const karst_matrix *A, double shift, karst_ilu *ilu,
                         karst_factor_outcome *outcome);
  /* The same from a factorization that exists: value [b*b*blocks of A], device memory, is ordered as A, whose pattern
   * is that of ilu with the diagonal; strictly lower blocks are L, the others U = D U'. Waits for the device. */
  karst_status (*load)(karst_context *context, const karst_matrix *A, const double *value, karst_ilu *ilu,
                       karst_factor_outcome *outcome);
  /* z = (L D U')^-1 r, or with trisolve "jacobi" an approximation */
  void (*solve)(karst_context *context, const karst_ilu *ilu, const double *r, double *z);
};

/* An incomplete LU that cuSPARSE makes and keeps: L and U in one matrix, on the pattern of A or, for levels of fill, on
 * a larger one. All arrays are in device memory. */
typedef struct karst_cusparse {
  karst_index rows;
  int block_size;
  int64_t blocks;
  const karst_index *row_start; /* [rows + 1] not owned */
  const karst_index *column;    /* [blocks] not owned */
  double *value;                /* [b*b*blocks] A's values in, the factors out */
  double *middle;               /* [b*rows] between the two triangular solves */
  void *plan;                   /* cuSPARSE's handles and work space */
  int64_t plan_memory;          /* bytes of the work space */
} karst_cusparse;

/* Where Karst is built without cuSPARSE, all of these are NULL. */
struct karst_cusparse_kernels {
  /* Analysis of the factorization and of both solves; looks at no value, but may write to value and middle. What a plan
   * that fails has taken, plan_destroy gives back. */
  karst_status (*plan)(karst_context *context, karst_cusparse *factors);
  void (*plan_destroy)(karst_context *context, karst_cusparse *factors);
  /* A's values, which stand in factors->value, become the factors. Waits for the device. */
  karst_status (*factor)(karst_context *context, const karst_matrix *A, karst_cusparse *factors,
                         karst_factor_outcome *outcome);
  /* z = U^-1 L^-1 r */
  void (*solve)(karst_context *context, const karst_cusparse *factors, const double *r, double *z);
};

/* Factors on a pattern S found by fixed-point sweeps (Chow, Anzt, Dongarra, Algorithm 1). F holds A's values on S,
 * zeros in the fill; all arrays below are in device memory, and those of blocks are ordered as the blocks of F.
 *
 *     parilu   A ~ L U      strictly lower blocks: L, whose diagonal blocks are the identity; the others: U
 *     paric    A ~ L L^T    lower blocks: L, whose diagonal blocks are lower triangular; strictly upper ones: unused. F
 *                           is symmetric in its pattern, and of its values the lower blocks alone are looked at. */
typedef struct karst_parilu {
  const karst_matrix *F;
  bool symmetric;        /* paric */
  bool asynchronous;     /* value is changed in place, and blocks are read while others change them */
  karst_index *diagonal; /* [rows] where the diagonal block of each row stands */
  karst_index *mirror;   /* [blocks] paric: where block (j,i) stands for each block (i,j); parilu: NULL */
  double *value;         /* [b*b*blocks] the factors */
  double *next;          /* [b*b*blocks] the result of a synchronous sweep, and of expand; else NULL */
  double *inverse;       /* [b*b*rows] work space for the inverse diagonal blocks of U, or of L; holds nothing between
                          * calls */
  double *weight;        /* [2*b*rows] work space for the weights of the nonlinear residual */
  void *plan;            /* the backend's own */
  int64_t plan_memory;   /* bytes of it */
} karst_parilu;

/* What the plan is made from besides; only the plan looks at it. For experiments with asynchronous sweeps. */
typedef struct karst_parilu_analysis {
  /* [tasks] host memory: the blocks of F in the order in which they are to be updated; paric: the lower ones alone.
   * NULL: row after row, from left to right, which is an order of Gaussian elimination. */
  const karst_index *task;
  int64_t tasks;
  int limit; /* threads, on a GPU thread blocks, that work at a time at most; 0: as many as there are */
} karst_parilu_analysis;

struct karst_parilu_kernels {
  /* Schedules, work space of its own, from the pattern of F. What a plan that fails has taken, plan_destroy gives
   * back. */
  karst_status (*plan)(karst_context *context, const karst_parilu_analysis *analysis, karst_parilu *parilu);
  void (*plan_destroy)(karst_context *context, karst_parilu *parilu);
  /* The initial guess from F into value. Scaled, it is the lower and upper part of the matrix scaled to identity blocks
   * on the diagonal, mapped back:
   *     parilu   L_ij = A_ij A_jj^-1,  U_ij = A_ij
   *     paric    L_ij = A_ij C_j^-T,   L_ii = C_i    with the Cholesky factor A_ii = C_i C_i^T
   * and else, for parilu, L_ij = A_ij; for paric L_ij = A_ij, L_ii the lower triangle of A_ii.
   * A singular or indefinite diagonal block becomes NaN, and so does what is multiplied by its inverse. */
  void (*guess)(karst_context *context, bool scaled, karst_parilu *parilu);
  /* The given number of sweeps, 0 or more, from the factors in value, where the result goes too:
   *     parilu   L_ij = (A_ij - sum_{k<j} L_ik U_kj) U_jj^-1,   U_ij = A_ij - sum_{k<i} L_ik U_kj
   *     paric    L_ij = (A_ij - sum_{k<j} L_ik L_jk^T) L_jj^-T, L_ii L_ii^T = A_ii - sum_{k<i} L_ik L_ik^T
   * What a singular U_jj divides becomes NaN, and so does an indefinite pivot of paric. residual[0] and [1]: the
   * nonlinear residual norm before and after; NaN or infinite where an entry is. Waits for the device.
   *
   * It is |W (A - L U)_S V|_F with diagonal W and V: for scalar row r of a diagonal block, w_r is 1 over the root of
   * that row's Euclidean norm in the block, v_c the same of column c, and 1 where the norm is 0. For b = 1 that is
   * |D^-1/2 (A - L U)_S D^-1/2|_F, D = |diag A|. paric: A - L L^T on the diagonal blocks and the strictly lower ones,
   * whose squares count twice; w is used for rows and columns alike. */
  karst_status (*sweep)(karst_context *context, int sweeps, karst_parilu *parilu, double residual[2]);
  /* paric: the factors as parilu's, into next: L_ij L_jj^-1 for i > j, L_ii L_ii^T, L_ii L_ji^T for i < j. */
  void (*expand)(karst_context *context, karst_parilu *parilu);
};

#endif
