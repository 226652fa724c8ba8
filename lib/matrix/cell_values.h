/* cell_values.h - what a simulator knows of each cell beyond the matrix, for preconditioners that combine equations. */
#ifndef KARST_LIB_MATRIX_CELL_VALUES_H
#define KARST_LIB_MATRIX_CELL_VALUES_H

#include "lib/matrix/matrix.h"

/* Gives matrix `to`, whose block row i is permutation[i] of `from`, the same values of its cells; permutation: device
 * memory. It allocates the first time. */
karst_status karst_matrix_permute_cells(const karst_matrix *from, const karst_index *permutation, karst_matrix *to);

void karst_matrix_forget_cells(karst_matrix *matrix);

#endif
