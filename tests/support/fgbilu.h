/* fgbilu.h - random systems on grids, and their preconditioners, for the tests of fgbilu. */
#ifndef KARST_TESTS_SUPPORT_FGBILU_H
#define KARST_TESTS_SUPPORT_FGBILU_H

#include "config.h"

#include "karst.h"

#include <stdbool.h>

/* The properties of a test's matrix. */
struct fgbilu_grid {
  karst_index size[3];
  int b;
  double holes, missing; /* the probabilities of a cell and of a coupling to be left out */
  bool shuffled;         /* block rows in a random order */
  bool turned;           /* the scalar rows of each block row are rotated, so that elimination has to exchange rows */
  bool given;            /* the matrix has its grid; always with holes, another order or a fault */
  bool faulted;          /* beyond the middle of the lines the layers are one cell higher, so that couplings along x go
                          * one layer up there; and a well couples all cells of the first column with each other */
};

struct fgbilu_system {
  karst_index rows, *cell, *start, *column; /* cell: [rows] the cell of each block row */
  int b;
  double *value;
};

/* The styles of a GPU. */
enum { FGBILU_GPU_STYLES = KARST_BASELINES ? 4 : 2 };
extern const char *const fgbilu_gpu_styles[FGBILU_GPU_STYLES];

/* Returns whether the device has no kernels of fgbilu, and then prints this. */
bool fgbilu_lacks_kernels(const karst_context *context, const char *what);

/* Makes random blocks with a heavy diagonal on a grid. The caller forgets the system. */
struct fgbilu_system fgbilu_random_system(const struct fgbilu_grid *grid);
void fgbilu_forget_system(struct fgbilu_system *s);
karst_matrix *fgbilu_matrix(karst_context *context, const struct fgbilu_grid *grid, const struct fgbilu_system *s);
/* Returns whether block rows i and j are cells with a common face, or the same cell. */
bool fgbilu_is_face(const struct fgbilu_grid *grid, const struct fgbilu_system *s, karst_index i, karst_index j);
/* Returns the block of row i and column j, or NULL. */
double *fgbilu_block(const struct fgbilu_system *s, karst_index i, karst_index j);

karst_precond *fgbilu_make(karst_context *context, const char *style, const char *pivoting, const karst_matrix *A);

#endif
