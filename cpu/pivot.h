/* pivot.h - for the factorizations of the CPU: the outcomes of their threads, and the replacement of singular pivot
 * blocks (option shift). */
#ifndef KARST_CPU_PIVOT_H
#define KARST_CPU_PIVOT_H

#include "lib/backend/factor_outcome.h"
#include "lib/base/inline.h"
#include "lib/matrix/matrix.h"

/* The outcome of one thread, for the rows that it made. */
typedef struct karst_thread_outcome {
  karst_reason reason;
  karst_index block_row; /* the first bad one, or rows */
  int64_t shifted;
  bool measured;      /* whether matrix_norm is known; only the shift of a row of zeros needs it */
  double matrix_norm; /* its largest absolute entry */
} karst_thread_outcome;

static inline void karst_thread_report(karst_thread_outcome *f, karst_reason reason, karst_index i)
{
  if (i >= f->block_row) return;
  f->reason = reason;
  f->block_row = i;
}

/* Combines the outcomes of all threads. */
static inline void karst_thread_conclude(karst_index rows, const karst_thread_outcome *all,
                                         karst_factor_outcome *outcome)
{
  outcome->reason = all->block_row < rows ? all->reason : KARST_SOUND;
  outcome->block_row = outcome->reason == KARST_SOUND ? -1 : all->block_row;
  outcome->shifted = all->shifted;
}

/* Returns the largest absolute entry of the matrix, ignoring NaNs. Each thread measures it for itself, once. */
double karst_ilu_measure(const karst_matrix *A, karst_thread_outcome *f);

/* Handles the pivot block of row i after its inversion failed. A singular block is replaced if shift > 0, by shift
 * times largest: the largest entry of the row, or of A if the row is zero. inverse: [b*b], zero on return if the block
 * was not replaced. */
KARST_INLINE void karst_ilu_shift_pivot(int b, const karst_matrix *A, karst_index i, karst_reason reason, double shift,
                                        double largest, double *inverse, karst_thread_outcome *f)
{
  bool replace = reason == KARST_SINGULAR_BLOCK && shift > 0;
  if (replace && largest == 0) largest = karst_ilu_measure(A, f);
  replace = replace && largest > 0;
  for (int v = 0; v < b * b; v++) inverse[v] = 0;
  if (replace)
    for (int r = 0; r < b; r++) inverse[r * b + r] = 1 / (shift * largest);
  f->shifted += replace;
  if (!replace) karst_thread_report(f, reason, i);
}

#endif
