/* look.h - what some hundred rows of a matrix tell of it, for the rules of auto (rules.c). */
#ifndef KARST_SOLVER_AUTO_LOOK_H
#define KARST_SOLVER_AUTO_LOOK_H

#include "lib/matrix/matrix.h"

typedef struct karst_auto_look {
  double growth;  /* the entries of ILU(1) over those of the matrix, in natural order */
  bool regular;   /* nearly all couplings lie on a few diagonals, as in a grid that is numbered line by line */
  int box;        /* axes of the grid, told or found, whose faces all couplings join cells across; 0: there is none */
  bool plane;     /* couplings join neighbours of a grid of two dimensions, of 5 or 9 points, and are symmetric */
  bool diffusion; /* positive diagonals, no smaller than the sum of the others, which are not positive */
  bool dominated; /* nine diagonals of ten are at most a tenth smaller than the sum of the row's others, in size */
  bool rough;     /* couplings of most nodes differ by more than a factor of 20 */
  bool uneven;    /* diagonals differ by more than a factor of 1000 */
  bool gaps;      /* a diagonal is 0, as in a saddle point problem */
} karst_auto_look;

/* Looks at the pattern and, for block size 1, at values; the last six are false for others. Takes host memory for a
 * number a block row, and on a GPU downloads the values of those rows alone; gives all back. */
karst_status karst_auto_look_at(const karst_matrix *A, karst_auto_look *look);

#endif
