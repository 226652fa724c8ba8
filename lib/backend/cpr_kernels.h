/* cpr_kernels.h - the typed kernel table of the constrained pressure residual method: from a matrix A of b-by-b blocks
 * it makes the pressure matrix A_p = W^T A E, where E has the pressure of each cell and W combines the b equations of
 * each cell with the cell's weights w_i. Every backend has an instance; the CPU's is the reference.
 *
 * If ranks share the matrix, [A G] stands for A here: A_p has a halo of its own. Kernels then also make what other
 * ranks need for their columns, and take what these have sent; the caller exchanges it. */
#ifndef KARST_LIB_BACKEND_CPR_KERNELS_H
#define KARST_LIB_BACKEND_CPR_KERNELS_H

#include "lib/ranks/columns.h"

/* How the weights of a cell i are made; p: the pressure unknown. Those of a block are divided by their largest absolute
 * value. */
typedef enum karst_cpr_weights {
  KARST_CPR_COLUMN_SUM,  /* w_i = C_i^-T e_p, C_i = sum_j A_ji over the blocks of column i: fluxes cancel in the sum,
                          * and what the cell stores is left, so they are true-IMPES weights */
  KARST_CPR_QUASI_IMPES, /* w_i = A_ii^-T e_p */
  KARST_CPR_TRUE_IMPES,  /* w_i = S_i^-T e_p, S_i the caller's derivatives of what the cell stores */
  KARST_CPR_ROW_SUM,     /* w_i = (1, ..., 1) */
  KARST_CPR_GIVEN        /* the caller's weights, as they are */
} karst_cpr_weights;

/* Cells with an exception, counted. */
typedef struct karst_cpr_outcome {
  karst_reason reason;   /* KARST_SOUND, or KARST_NOT_FINITE: an entry of A, or a given weight */
  karst_index block_row; /* the first such block row, or -1 */
  int64_t guarded;       /* cells whose block is singular, or whose w_i^T A_ii e_p is not positive: quasi-IMPES weights
                          * took the place of column-sum or true-IMPES ones */
  int64_t singular;      /* cells whose A_ii is singular, so that it gives no weights either: w_i = e_p */
  int64_t suspect;       /* cells with a block, or an inverse, that is not finite, which may be due to an entry of A */
  int64_t empty;         /* cells whose row of A_p is zero; it gets a 1 on its diagonal */
} karst_cpr_outcome;

typedef struct karst_cpr {
  karst_index rows; /* cells */
  int block_size;
  int pressure;                 /* the number of the pressure among the unknowns of a cell, from 0; set by the caller */
  const karst_columns *columns; /* the caller sets it before plan, and it outlives this; NULL: ranks do not share A */
  double *weight;               /* [b*rows] device memory */
  float *column;                /* [b*blocks] column p of each block of A, rounded, device memory: half of A's bytes or
                                 * less to subtract A E z_p */
  float *ghost_column;          /* [b * blocks of G] the same of G, in the same unit */
  double *residual; /* [b*rows, at least 2*rows] device memory, the caller's except from pressure to the last
                                 * balance, which have the sums of |a_ij| by rows there: for r - A E z_p and, before it,
                                 * W^T r */
  double *solution; /* [rows] device memory, the caller's, for z_p */
  void *plan;       /* the backend's own, such as the blocks of each block column */
  int64_t memory;   /* bytes of all arrays */
} karst_cpr;

struct karst_cpr_kernels {
  /* Takes all memory for matrices on the pattern of A, whose rows all have a diagonal block, and finds the blocks of
   * each block column; the pattern need not be symmetric. After a failure plan_destroy releases what was taken; it also
   * accepts zeros. */
  karst_status (*plan)(karst_context *context, const karst_matrix *A, karst_cpr *cpr);
  void (*plan_destroy)(karst_context *context, karst_cpr *cpr);
  /* Computes the weights. given: the storage blocks [b*b*rows] for true-IMPES, the weights [b*rows] for given, device
   * memory; else NULL. parts: [2 b*b parts] what sum_ghosts of other ranks has made for the own columns, device memory;
   * NULL: there are no other ranks, or the weights are not column sums. Sets outcome->guarded, ->singular and
   * ->suspect, and the reason, for which it looks at A alone. Waits for the device. Allocates nothing. */
  karst_status (*weigh)(karst_context *context, const karst_matrix *A, karst_cpr_weights weights, const double *given,
                        const double *parts, karst_cpr *cpr, karst_cpr_outcome *outcome);
  /* Computes A_p, of block size 1 on the pattern of A, column, and sums of |a_ij| by rows. Sets outcome->empty, and the
   * reason if an entry of A_p is not finite. Waits for the device. Allocates nothing. */
  karst_status (*pressure)(karst_context *context, const karst_matrix *A, karst_cpr *cpr, karst_matrix *pressure,
                           karst_cpr_outcome *outcome);
  /* A sweep that balances the rows of A_p: after[i] = sqrt(s_i sum_j |a_ji| s_j / sum_j |a_ij|) with s = before, all at
   * once. parts: [parts] what sum_scales of other ranks has made, or NULL; arrays of scales: [rows], device memory. */
  void (*balance)(karst_context *context, const karst_cpr *cpr, const karst_matrix *pressure, const double *parts,
                  const double *before, double *after);
  /* Multiplies rows of A_p and weights by s. */
  void (*scale)(karst_context *context, karst_cpr *cpr, const double *s, karst_matrix *pressure);
  /* root[i] = sqrt(sum_j sqrt(a_ij a_ji / (a_ii a_jj))) for the rows of A_p, over the j where a_ij and a_ji have the
   * sign opposite to their diagonal entries. The sum is near 1 for an elliptic equation and near 0 for transport, whose
   * couplings go one way, and does not depend on scales. Couplings with ghosts do not count. root: [rows], device
   * memory. */
  void (*couple)(karst_context *context, const karst_cpr *cpr, const karst_matrix *pressure, double *root);
  /* r_p = W^T r; r [b*rows], r_p [rows] */
  void (*restrict_residual)(karst_context *context, const karst_cpr *cpr, const double *r, double *r_p);
  /* s = r - A E z_p, with the rounded columns of A; z_p [rows], r and s [b*rows] */
  void (*subtract)(karst_context *context, const karst_matrix *A, const karst_cpr *cpr, const double *r,
                   const double *z_p, double *s);
  /* z = z + E z_p */
  void (*prolong)(karst_context *context, const karst_cpr *cpr, const double *z_p, double *z);

  /* For a matrix that ranks share, in device memory. sums: [2 b*b ghosts] the sum of the blocks in each ghost's column,
   * and then its size (dense.h). */
  void (*sum_ghosts)(karst_context *context, const karst_cpr *cpr, double *sums);
  /* sums[g] = sum_j |a_jg| s_j over the own rows of A_p, for the ghosts g; s [rows] */
  void (*sum_scales)(karst_context *context, const karst_cpr *cpr, const karst_matrix *pressure, const double *s,
                     double *sums);
  /* s = s - G E z_g in the rows of the boundary; z_g: [ghosts] the pressures of the ghosts */
  void (*subtract_ghosts)(karst_context *context, const karst_cpr *cpr, const double *z_g, double *s);
};

#endif
