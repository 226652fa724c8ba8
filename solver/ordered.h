/* ordered.h - declares the pattern half of an ordered system: the permutation and the permuted pattern, which solvers
 * of one pattern share. */
#ifndef KARST_SOLVER_ORDERED_H
#define KARST_SOLVER_ORDERED_H

#include "lib/method/ordering.h"

/* Nothing of it changes once it is made, but that the pattern comes to the host when somebody looks at it there, so
 * that it may be used in several threads. */
typedef struct karst_ordered {
  karst_context *context;
  karst_index *permutation;        /* [block_rows] new to old, host */
  karst_index *device_permutation; /* its place, which the array itself may be */
  karst_permuted permuted;         /* of the permuted pattern: the source of each block */
  karst_matrix *pattern;           /* of the permuted matrix, without values */
  karst_tiling tiling;             /* tiles of the new order, if the ordering makes any */
  int64_t memory;                  /* bytes held */
  int64_t references;              /* systems and others that hold it; changed atomically */
} karst_ordered;

/* An ordering as it was chosen. */
typedef struct karst_ordering_choice {
  const struct karst_ordering_ops *ops;
  karst_ordering_settings settings;
  int distance; /* as karst_ordering_pattern has it */
} karst_ordering_choice;

/* Orders matrices of the pattern of A; the natural ordering is the identity. An ordering may look at the values that A
 * has now, and the order stays a valid one for others. The caller holds what is made. */
karst_status karst_ordered_create(const karst_ordering_choice *choice, const karst_matrix *A, karst_ordered **ordered);
/* Counts one more that holds it, or one less, and the last destroys it; NULL is accepted. hold returns it. */
karst_ordered *karst_ordered_hold(karst_ordered *ordered);
void karst_ordered_release(karst_ordered *ordered);

#endif
