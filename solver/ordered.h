/* ordered.h - declares the pattern half of an ordered system: the permutation and the permuted pattern, which solvers
 * of one pattern share. */
#ifndef KARST_SOLVER_ORDERED_H
#define KARST_SOLVER_ORDERED_H

#include "lib/method/ordering.h"

/* It is not changed once it is made, except that the pattern is fetched to the host on demand, so several threads may
 * use it. */
typedef struct karst_ordered {
  karst_context *context;
  karst_index *permutation;        /* [block_rows] new to old, host */
  karst_index *device_permutation; /* its copy on the device; on the CPU the array itself */
  karst_permuted permuted;         /* of the permuted pattern: the source of each block */
  karst_matrix *pattern;           /* of the permuted matrix, without values */
  karst_tiling tiling;             /* tiles of the new order, if the ordering makes any */
  int64_t memory;                  /* bytes held */
  int64_t references;              /* its holders; changed atomically */
} karst_ordered;

/* An ordering with its settings. */
typedef struct karst_ordering_choice {
  const struct karst_ordering_ops *ops;
  karst_ordering_settings settings;
  int distance; /* as karst_ordering_pattern has it */
} karst_ordering_choice;

/* Orders matrices of the pattern of A; the natural ordering is the identity. An ordering may look at the present values
 * of A, and the order is valid for other values too. The caller becomes a holder. */
karst_status karst_ordered_create(const karst_ordering_choice *choice, const karst_matrix *A, karst_ordered **ordered);
/* hold counts one more holder and returns ordered; release counts one less and destroys it after the last. Both accept
 * NULL. */
karst_ordered *karst_ordered_hold(karst_ordered *ordered);
void karst_ordered_release(karst_ordered *ordered);

#endif
