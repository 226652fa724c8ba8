/* hint_facts.h - what a matrix and its right-hand side show after a failed solve. */
#ifndef KARST_TOOLS_SRC_SOLVE_HINT_FACTS_H
#define KARST_TOOLS_SRC_SOLVE_HINT_FACTS_H

#include "tools/src/common/common.h"

struct hint_facts {
  int64_t rows;                      /* without padding */
  int64_t positive, negative, empty; /* diagonal entries above, below and equal to zero, or not stored */
  int64_t unsolvable;                /* the first row that is all zeros and has a right-hand side, or -1 */
  double unsolvable_b;               /* that right-hand side */
  double largest_b;                  /* the largest magnitude in b */
  bool symmetric;
  bool dominated;      /* each diagonal entry is at least the sum of the others' magnitudes, and positive */
  bool sums_to_zero;   /* each row does, up to rounding: constants are in the null space */
  bool zero_pivot_row; /* block row number pivot is all zeros */
};

/* Looks at the values of A and b. pivot: the block row that was found singular, or -1. Returns false if the values
 * cannot be copied to the host. */
bool hint_facts_find(karst_context *context, const karst_matrix *A, const karst_vector *b, karst_index pivot,
                     struct hint_facts *facts);

/* Whether no block is right of the diagonal. */
bool hint_is_lower(const karst_matrix *A);

/* The number of block rows without a block on the diagonal. */
int64_t hint_count_missing(const karst_matrix *A);

/* Whether exactly one unknown of each cell looks like a pressure, so that cpr knows which one to solve for. */
bool hint_has_pressure(karst_context *context, const karst_matrix *A);

/* Whether the equations of some cells are scaled against those of others by a factor of a thousand or more: couplings
 * go both ways, so rows have about the size of columns. */
bool hint_is_uneven(karst_context *context, const karst_matrix *A);

/* The block size other than A's, from 2 to 8, that divides the rows, leaves no diagonal block singular and has its
 * blocks the fullest; 0 for none. */
int hint_find_block(karst_context *context, const karst_matrix *A);

#endif
