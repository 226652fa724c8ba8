/* sweep_kernels.h - the typed kernel table of parilu and paric, which find their factors by fixed-point sweeps. Every
 * backend has an instance; the CPU's is the reference that others are tested against. */
#ifndef KARST_LIB_BACKEND_SWEEP_KERNELS_H
#define KARST_LIB_BACKEND_SWEEP_KERNELS_H

#include "lib/matrix/matrix.h"

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
  karst_index *diagonal; /* [rows] where the diagonal block of each row stands; the analysis's */
  karst_index *mirror;   /* [blocks] paric: where block (j,i) stands for each block (i,j); parilu: NULL; likewise */
  double *value;         /* [b*b*blocks] the factors */
  double *next;          /* [b*b*blocks] the result of a synchronous sweep, and of expand; else NULL */
  double *inverse;       /* [b*b*rows] work space for the inverse diagonal blocks of U, or of L; holds nothing between
                          * calls */
  double *weight;        /* [2*b*rows] work space for the weights of the nonlinear residual */
  void *plan;            /* the backend's own */
  int64_t plan_memory;   /* bytes of it */
} karst_parilu;

/* What follows from the pattern of F and the options alone: nothing of it changes once it is made, so that any number
 * of factorizations share it, in several threads too. The method fills in all but the plan. */
typedef struct karst_parilu_analysis {
  bool symmetric, asynchronous; /* as in karst_parilu */
  karst_index *diagonal, *mirror;
  /* For experiments with asynchronous sweeps, [tasks] host memory: the blocks of F in the order in which they are to be
   * updated; paric: the lower ones alone. NULL: row after row, from left to right, which is an order of Gaussian
   * elimination. */
  karst_index *task;
  int64_t tasks;
  int limit;           /* threads, on a GPU thread blocks, that work at a time at most; 0: as many as there are */
  void *plan;          /* the backend's own */
  int64_t plan_memory; /* bytes of it */
} karst_parilu_analysis;

struct karst_parilu_kernels {
  /* Makes schedules from the pattern of F; NULL where the backend has none. What an analyse that fails has taken,
   * analysis_destroy gives back. */
  karst_status (*analyse)(karst_context *context, const karst_matrix *F, karst_parilu_analysis *analysis);
  void (*analysis_destroy)(karst_context *context, karst_parilu_analysis *analysis);
  /* Takes work space of its own for a factorization that shares the analysis, which outlives it. What a plan that fails
   * has taken, plan_destroy gives back. */
  karst_status (*plan)(karst_context *context, const karst_parilu_analysis *analysis, karst_parilu *parilu);
  void (*plan_destroy)(karst_context *context, karst_parilu *parilu);
  /* Puts the initial guess from F into value. Scaled, it is the lower and upper part of the matrix scaled to identity
   * blocks on the diagonal, mapped back:
   *     parilu   L_ij = A_ij A_jj^-1,  U_ij = A_ij
   *     paric    L_ij = A_ij C_j^-T,   L_ii = C_i    with the Cholesky factor A_ii = C_i C_i^T
   * and else, for parilu, L_ij = A_ij; for paric L_ij = A_ij, L_ii the lower triangle of A_ii.
   * A singular or indefinite diagonal block becomes NaN, and so does what is multiplied by its inverse. */
  void (*guess)(karst_context *context, bool scaled, karst_parilu *parilu);
  /* Takes the given number of sweeps, 0 or more, from the factors in value, where the result goes too:
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
  /* paric: writes the factors as parilu's into next: L_ij L_jj^-1 for i > j, L_ii L_ii^T, L_ii L_ji^T for i < j. */
  void (*expand)(karst_context *context, karst_parilu *parilu);
};

#endif
