/* sweep_kernels.h - the typed kernel table of parilu and paric, which compute their factors by fixed-point sweeps.
 * Every backend has an instance; the CPU's is the reference that others are tested against. */
#ifndef KARST_LIB_BACKEND_SWEEP_KERNELS_H
#define KARST_LIB_BACKEND_SWEEP_KERNELS_H

#include "lib/matrix/matrix.h"

/* Factors on a pattern S from fixed-point sweeps (Chow, Anzt, Dongarra, Algorithm 1). F holds A's values on S, zeros in
 * the fill. All arrays below are in device memory; those of blocks are ordered as the blocks of F.
 *
 *     parilu   A ~ L U      strictly lower blocks: L, whose diagonal blocks are the identity; the others: U
 *     paric    A ~ L L^T    lower blocks: L, whose diagonal blocks are lower triangular; strictly upper ones: unused. F
 *                           is symmetric in its pattern, and only its lower blocks are read. */
typedef struct karst_parilu {
  const karst_matrix *F;
  bool symmetric;        /* paric */
  bool asynchronous;     /* sweeps change value in place, and read blocks while others change them */
  karst_index *diagonal; /* [rows] the number of each row's diagonal block; owned by the analysis */
  karst_index *mirror;   /* [blocks] paric: the number of block (j,i) for each block (i,j), owned by the analysis;
                          * parilu: NULL */
  double *value;         /* [b*b*blocks] the factors */
  double *next;          /* [b*b*blocks] the result of a synchronous sweep, and of expand; else NULL */
  double *inverse;       /* [b*b*rows] work space for the inverse diagonal blocks of U, or L; undefined between calls */
  double *weight;        /* [2*b*rows] work space for the weights of the nonlinear residual */
  void *plan;            /* the backend's own */
  int64_t plan_memory;   /* its bytes */
} karst_parilu;

/* The analysis of the pattern of F and the options. It never changes after it is made, so any number of factorizations
 * share it, in several threads too. The method sets everything except the plan. */
typedef struct karst_parilu_analysis {
  bool symmetric, asynchronous; /* as in karst_parilu */
  karst_index *diagonal, *mirror;
  /* For experiments with asynchronous sweeps, [tasks] host memory: the blocks of F in the order of their updates;
   * paric: only the lower ones. NULL: row after row, from left to right, an order of Gaussian elimination. */
  karst_index *task;
  int64_t tasks;
  int limit;           /* most threads, on a GPU thread blocks, that work at a time; 0: all */
  void *plan;          /* the backend's own */
  int64_t plan_memory; /* its bytes */
} karst_parilu_analysis;

struct karst_parilu_kernels {
  /* Makes schedules from the pattern of F; NULL if the backend needs none. After a failure analysis_destroy releases
   * what it took. */
  karst_status (*analyse)(karst_context *context, const karst_matrix *F, karst_parilu_analysis *analysis);
  void (*analysis_destroy)(karst_context *context, karst_parilu_analysis *analysis);
  /* Takes work space for a factorization that shares the analysis, which outlives it. After a failure plan_destroy
   * releases what it took. */
  karst_status (*plan)(karst_context *context, const karst_parilu_analysis *analysis, karst_parilu *parilu);
  void (*plan_destroy)(karst_context *context, karst_parilu *parilu);
  /* Writes the initial guess from F into value. Scaled, it is the lower and upper part of the matrix scaled to identity
   * blocks on the diagonal, mapped back:
   *     parilu   L_ij = A_ij A_jj^-1,  U_ij = A_ij
   *     paric    L_ij = A_ij C_j^-T,   L_ii = C_i    with the Cholesky factor A_ii = C_i C_i^T
   * Unscaled, for parilu L_ij = A_ij; for paric L_ij = A_ij, and L_ii is the lower triangle of A_ii. A singular or
   * indefinite diagonal block becomes NaN, and so do the blocks multiplied by its inverse. */
  void (*guess)(karst_context *context, bool scaled, karst_parilu *parilu);
  /* Takes the given number of sweeps, 0 or more, from the factors in value, and writes the result there:
   *     parilu   L_ij = (A_ij - sum_{k<j} L_ik U_kj) U_jj^-1,   U_ij = A_ij - sum_{k<i} L_ik U_kj
   *     paric    L_ij = (A_ij - sum_{k<j} L_ik L_jk^T) L_jj^-T, L_ii L_ii^T = A_ii - sum_{k<i} L_ik L_ik^T
   * Blocks divided by a singular U_jj become NaN, and so does an indefinite pivot of paric. residual[0] and [1]: the
   * nonlinear residual norm before and after; NaN or infinite if an entry is. Waits for the device.
   *
   * This norm is |W (A - L U)_S V|_F with diagonal W and V. For scalar row r of a diagonal block, w_r is 1 over the
   * root of that row's Euclidean norm in the block; v_c is the same for column c; both are 1 if the norm is 0. With b =
   * 1 it is |D^-1/2 (A - L U)_S D^-1/2|_F, D = |diag A|. paric: A - L L^T on the diagonal blocks and the strictly lower
   * ones, whose squares count twice; w scales both rows and columns. */
  karst_status (*sweep)(karst_context *context, int sweeps, karst_parilu *parilu, double residual[2]);
  /* paric: next = the factors in parilu's form: L_ij L_jj^-1 for i > j, L_ii L_ii^T, L_ii L_ji^T for i < j. */
  void (*expand)(karst_context *context, karst_parilu *parilu);
};

#endif
