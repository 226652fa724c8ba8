/* ranks.h - the ranks of a context: which one it is, how an error on one becomes the same on all, and sums over all.
 *
 * A context with a transport (karst_context_set_transport) is one of several ranks that make the same calls. Its vectors
 * are parts of longer ones. All functions here do nothing in a context without a transport. */
#ifndef KARST_LIB_RANKS_RANKS_H
#define KARST_LIB_RANKS_RANKS_H

#include "lib/backend/backend.h"

/* Scalars that one reduction over the ranks may have. */
enum { KARST_SUMS_MOST = 1024 };

struct karst_ranks {
  karst_transport transport;
  void *messages; /* host memory for a message of each rank, KARST_RANKS_MESSAGE bytes each */
  struct {
    double *first; /* scalars in device memory that are still sums of this rank alone; NULL: none are */
    int count;
    int holds; /* calls of karst_ranks_hold without their karst_ranks_complete_held */
  } partial;
  double *own, *all;   /* host memory for a reduction: [KARST_SUMS_MOST] and that for each rank */
  double *device_all;  /* the same in device memory for transports that queue; else NULL */
  karst_status failed; /* of a product or a preconditioner in the solve under way; the sentence is kept */
};

static inline bool karst_is_spread(const karst_context *context) { return context->ranks != NULL; }

/* Returns status if it is KARST_SUCCESS on all ranks. Otherwise the status of the first rank that failed, with its
 * sentence, which names the rank. Every rank must call it. */
karst_status karst_ranks_agree(karst_context *context, karst_status status);

/* all[r] = own of rank r, bytes each, in host memory. If one rank's transport fails, the call fails there. */
karst_status karst_ranks_gather(karst_context *context, const void *own, size_t bytes, void *all);

/* Makes count scalars in device memory, which are sums over this rank's part, sums over all ranks, in the order of the
 * stream. Each rank adds the parts in the order of the ranks, so that the bits are the same on all and in every run.
 * Between hold and complete_held, scalars that follow each other in memory wait for each other and take one reduction:
 * nothing may read them there. */
void karst_ranks_complete(karst_context *context, int count, double *scalars);
void karst_ranks_hold(karst_context *context);
void karst_ranks_complete_held(karst_context *context);

/* For a product or a preconditioner that has failed on this rank in a solve: fills y with NaN, which all ranks find in
 * their next sum and then agree on the failure. Returns KARST_SUCCESS; without a transport, status. */
karst_status karst_ranks_postpone(karst_context *context, karst_status status, int64_t n, double *y);

#endif
