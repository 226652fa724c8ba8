/* look.h - properties of a matrix that up to 400 of its block rows show, for the rules of auto (rules.c). */
#ifndef KARST_SOLVER_AUTO_LOOK_H
#define KARST_SOLVER_AUTO_LOOK_H

#include "lib/matrix/matrix.h"

typedef struct karst_auto_look {
  double growth;  /* the entries of ILU(1) over those of the matrix, in natural order */
  int box;        /* axes of the grid, given or found, if all couplings cross faces of its cells; else 0 */
  bool plane;     /* couplings join neighbours of a grid of two dimensions, of 5 or 9 points, and are symmetric */
  bool diffusion; /* positive diagonals, no smaller than the sum of the others, which are not positive */
  bool dominated; /* in 9 rows of 10 the sum of the others is at most 1.1 times the diagonal, in absolute value */
  bool rough;     /* couplings of most nodes differ by more than a factor of 20 */
  bool uneven;    /* diagonals differ by more than a factor of 1000 */
  bool gaps;      /* a diagonal is 0, as in a saddle point problem */
  bool directed; /* box is 3, and in 9 rows of 10 the strongest coupling along one axis, the same for all of them, is at
                   * least 8 times those along the other two */
  int elliptic;  /* the one unknown of a block that couples to its neighbours in both directions, or -1: the pressures
                   * of flow, the only unknown of a diffusion */
} karst_auto_look;

/* Looks at the pattern and at values. If the block size is not 1, plane to directed are false. Needs one index a block row
 * of host memory meanwhile; from a GPU it downloads the values of those rows and of their mirror images only. */
karst_status karst_auto_look_at(const karst_matrix *A, karst_auto_look *look);

#endif
