/* ordered.h - declares the pattern half of an ordered system: the permutation and the permuted pattern, which solvers
 * of one pattern share. */
#ifndef KARST_SOLVER_ORDERED_H
#define KARST_SOLVER_ORDERED_H

#include "matrix.h"
#include "ordering.h"

/* Nothing of it changes once it is made, so that it may be used in several threads. */
typedef struct karst_ordered {
  karst_context *context;
  karst_index *permutation; /* [block_rows] new to old, host */
  karst_index *device_permutation;
  karst_index *device_source; /* [blocks] which block of the original a block of the copy is, device */
  karst_matrix *pattern;      /* of the permuted matrix, without values */
  int64_t memory;             /* bytes held */
  int64_t references;         /* systems and others that hold it; changed atomically */
} karst_ordered;

/* Orders matrices of the pattern of A; the natural ordering is the identity. The caller holds what is made. */
karst_status karst_ordered_create(const struct karst_ordering_ops *ordering, const karst_matrix *A,
                                  karst_ordered **ordered);
/* Counts one more that holds it, or one less, and the last destroys it; NULL is accepted. hold returns it. */
karst_ordered *karst_ordered_hold(karst_ordered *ordered);
void karst_ordered_release(karst_ordered *ordered);

#endif
