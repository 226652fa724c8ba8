/* dilu_kernels.h - the typed kernel table of DILU, block ILU that changes only the diagonal blocks. Every backend has
 * an instance; the CPU's is the reference that others are tested against. */
#ifndef KARST_LIB_BACKEND_DILU_KERNELS_H
#define KARST_LIB_BACKEND_DILU_KERNELS_H

#include "lib/backend/factor_outcome.h"
#include "lib/matrix/matrix.h"

/* The analysis of pattern and options; shared as karst_ilu_analysis is. */
typedef struct karst_dilu_analysis {
  karst_index rows;
  int block_size;
  karst_index levels_lower; /* number of level sets of each triangle */
  karst_index levels_upper;
  int64_t blocks;      /* of A */
  bool modified;       /* set before analyse: the factorizations use an R other than 0 */
  bool single;         /* set before analyse: the solves read E, F and D^-1 rounded to float, from copies */
  void *plan;          /* the backend's schedules */
  int64_t plan_memory; /* its bytes */
} karst_dilu_analysis;

/* The factorization: one block per row. The analysis outlives it. */
typedef struct karst_dilu {
  const karst_dilu_analysis *analysis;
  double *inverse;      /* [at least b*b*rows] D^-1 in an order of the backend's own, device memory; NULL: in plan */
  float *value_float;   /* [b*b*blocks] E and F rounded, in the places that they have in A, and */
  float *inverse_float; /* [as inverse] D^-1, for solves in float; else NULL, or in plan */
  void *plan;           /* the backend's work space */
  int64_t plan_memory;  /* bytes of it, of the inverse blocks and the copies */
} karst_dilu;

struct karst_dilu_kernels {
  /* Finds level sets and schedules for matrices on the pattern of A. After a failure analysis_destroy frees what it
   * took. */
  karst_status (*analyse)(karst_context *context, const karst_matrix *A, karst_dilu_analysis *analysis);
  void (*analysis_destroy)(karst_context *context, karst_dilu_analysis *analysis);
  /* Takes memory for the inverse blocks and work space; the caller has set analysis. After a failure plan_destroy
   * releases what it took; plan_destroy also accepts a factorization that is zero. */
  karst_status (*plan)(karst_context *context, karst_dilu *dilu);
  void (*plan_destroy)(karst_context *context, karst_dilu *dilu);
  /* Computes D_i = A_ii - sum_{k < i} E_ik D_k^-1 (F_ki + R sum_{j != i} F_kj) with j > k. R, the option modified, adds
   * the other, dropped products to the diagonal; shift is that of the ILU kernels. Waits for the device. */
  karst_status (*factor)(karst_context *context, const karst_matrix *A, double shift, double modified, karst_dilu *dilu,
                         karst_factor_outcome *outcome);
  /* z = M^-1 r, M = (D + E) D^-1 (D + F) with E and F of A, with the factored values, or with the copies in float. r
   * and z do not overlap. */
  void (*solve)(karst_context *context, const karst_matrix *A, const karst_dilu *dilu, const double *r, double *z);
};

#endif
