/* whole.h - vectors of all ranks, of which each rank has all rows. */
#ifndef KARST_LIB_RANKS_WHOLE_H
#define KARST_LIB_RANKS_WHOLE_H

#include "lib/ranks/ranks.h"

typedef struct karst_whole {
  karst_context *context;
  int ranks;
  karst_index rows, most, all;   /* own rows, the most of a rank, and those of all ranks */
  karst_index *place;            /* [all] where each row is among the parts of the ranks, device memory */
  double *own, *parts;           /* [most] and [most ranks] scalars, device memory */
  double *host_own, *host_parts; /* the same in host memory; NULL: the transport works in device memory */
} karst_whole;

/* Prepares to gather vectors of one scalar a row. first[r] is the first row of rank r, and first[ranks] the number of
 * all. Local: the caller lets the ranks agree. destroy accepts NULL. */
karst_status karst_whole_create(karst_context *context, const karst_index *first, karst_whole **whole);
void karst_whole_destroy(karst_whole *whole);
int64_t karst_whole_memory(const karst_whole *whole);

/* all = the parts x of all ranks, one after the other; both in device memory. Collective, also if it fails on one rank,
 * whose part is NaN then. */
karst_status karst_whole_gather(const karst_whole *whole, const double *x, double *all);

#endif
