/* lines_kernels.h - the typed kernel table of solves along the lines of a grid, for the preconditioners lines and adi
 * and the smoothers of those names. Every backend has an instance; the CPU's is the reference.
 *
 * A line is a run of consecutive active cells along an axis, each coupled with the next one in both directions. With
 * the blocks L_k, D_k and U_k of A at position k of a line, T is block tridiagonal, T = L + D + U. A factorization
 * keeps, for each position (the Thomas algorithm),
 *
 *     d_k = D_k - L_k W_{k-1},   P_k = d_k^-1,   Q_k = d_k^-1 L_k,   W_k = d_k^-1 U_k,
 *
 * and z = T^-1 r takes two passes over the line: y_k = P_k r_k - Q_k y_{k-1}, then z_k = y_k - W_k z_{k+1}. With P_k =
 * d_k^-1 D_k the result is T^-1 D r at the same cost. */
#ifndef KARST_LIB_BACKEND_LINES_KERNELS_H
#define KARST_LIB_BACKEND_LINES_KERNELS_H

#include "lib/backend/factor_outcome.h"
#include "lib/base/inline.h"
#include "lib/matrix/matrix.h"

enum { KARST_AXES = 3, KARST_LINE_COLOURS = 2 };

/* The lines of one axis, made from a pattern; each block row is in one of them. They never change, so that
 * factorizations share them.
 *
 * A slice is a group of width lines of one colour, which kernels follow side by side: position k of lane l of slice s
 * is the slot (step[s] + k) width + l. The lines of a colour come by descending length, so that at each step the active
 * lanes are the first ones; row is -1 in the slots of the others. */
typedef struct karst_lines {
  int axis;
  int block_size;
  int width;   /* lines of a slice: that of the table, or fewer if there are not as many lines */
  int colours; /* 2: neighbouring lines have different colours; else 1 */
  karst_index rows, lines, longest;
  karst_index slices;
  karst_index first_slice[KARST_LINE_COLOURS + 1]; /* of each colour; the last is the number of slices */
  int64_t slots;
  /* Host arrays; NULL once the device has copies. */
  karst_index *step;     /* [slices + 1] */
  karst_index *row;      /* [slots] the block row of a slot */
  karst_index *diagonal; /* [slots] the numbers of the blocks D_k, */
  karst_index *lower;    /* [slots] L_k, or -1 at the first position, */
  karst_index *upper;    /* [slots] and U_k, or -1 at the last position; undefined where row is -1 */
  unsigned char *colour; /* [rows] the colour of each block row; NULL with one colour */
  /* The same in device memory, which may be these arrays themselves. */
  struct {
    karst_index *step, *row, *diagonal, *lower, *upper;
    unsigned char *colour;
  } device;
  int64_t memory; /* bytes */
} karst_lines;

/* A factorization of the lines of an axis. The lines outlive it. */
typedef struct karst_lines_factors {
  const karst_lines *lines;
  bool times_diagonal; /* P_k = d_k^-1 D_k instead of d_k^-1 */
  double *P, *Q, *W;   /* [b*b*slots] each, in the backend's order, device memory */
  void *plan;          /* the backend's work space */
  int64_t memory;      /* bytes of all this */
} karst_lines_factors;

struct karst_lines_kernels {
  /* The most lines that a slice has for a block size. */
  int (*width)(int block_size);
  /* Takes memory for the factors and work space; the caller has set lines and times_diagonal. After a failure
   * plan_destroy releases what it took; plan_destroy also accepts factors that are zero. */
  karst_status (*plan)(karst_context *context, karst_lines_factors *factors);
  void (*plan_destroy)(karst_context *context, karst_lines_factors *factors);
  /* Factors the lines. Waits for the device; allocates nothing. A line ends at its first bad position; the outcome has
   * the smallest block row of these. A block is bad if d_k is singular beside its size (lib/backend/dense.h), or if a
   * number in D_k, L_k, U_k or the factors is not finite. */
  karst_status (*factor)(karst_context *context, const karst_matrix *A, karst_lines_factors *factors,
                         karst_factor_outcome *outcome);
  /* z = T^-1 r, or T^-1 D r, in the block rows of one colour. z may be r, but they do not overlap otherwise. */
  void (*solve)(karst_context *context, const karst_lines_factors *factors, int colour, const double *r, double *z);
  /* z_i = r_i - sum A_ij z_j over the block rows j of colour 0, for the block rows i of colour 1. */
  void (*residual)(karst_context *context, const karst_matrix *A, const karst_lines_factors *factors, const double *r,
                   double *z);
};

#endif
