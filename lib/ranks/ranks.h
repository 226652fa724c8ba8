/* ranks.h - the ranks of a context: which one it is, how an error on one becomes the same on all, and sums over all.
 *
 * A context with a transport (karst_context_set_transport) is spread: it is one of several ranks that make the same
 * calls, and its vectors are parts of longer ones. In other contexts these functions do nothing, or leave the result of
 * a single rank. */
#ifndef KARST_LIB_RANKS_RANKS_H
#define KARST_LIB_RANKS_RANKS_H

#include "lib/backend/backend.h"

/* Scalars in one reduction over the ranks; a longer one takes several. */
enum { KARST_SUMS_MOST = 512 };

/* What a rank tells the others of a call. */
typedef struct karst_ranks_word {
  int32_t status;
  char sentence[1020]; /* of a failure; else what karst_ranks_agree_and_tell was given */
} karst_ranks_word;

enum { KARST_RANKS_NUMBERS = 127 }; /* that fit into a sentence */

struct karst_ranks {
  karst_transport transport;
  karst_ranks_word *words;  /* [ranks] */
  bool agreed;              /* the last agreement was on a failure */
  unsigned agreed_sentence; /* the number of its sentence */
  karst_status failed;      /* of a postponed failure, whose sentence the context has; else KARST_SUCCESS */
  double *own, *all;        /* host memory for a reduction, [KARST_SUMS_MOST] and as many for each rank */
  double *device_all;       /* all in device memory, if the transport queues; else NULL */
  bool queues;              /* the transport queues in device memory; the same on all ranks */
};

/* Whether the transport reads and writes a context's arrays where they are: in memory of the host, or of a device if it
 * queues. */
static inline bool karst_ranks_are_direct(const karst_context *context)
{
  return context->backend->host_memory || context->ranks->queues;
}

static inline bool karst_is_spread(const karst_context *context) { return context->ranks != NULL; }

/* Called by karst_context_destroy while the backend is open. */
void karst_ranks_destroy(karst_context *context);

/* Returns KARST_SUCCESS if all ranks pass it. Otherwise all return the status of the first rank that failed, and have
 * its sentence, which names the rank unless all ranks have the same one. Collective, except that a failure that the
 * ranks have agreed on is returned at once: so a call may agree in several places, of which a rank that fails early
 * reaches only the last. Between an agreement and any other collective call nothing may fail on one rank alone.
 * karst_ranks_enter is the first agreement of a public call. */
karst_status karst_ranks_agree(karst_context *context, karst_status status);
/* The same for ranks that have something to tell each other if all pass: told, of at most the bytes of a sentence. That of
 * rank r is in words[r].sentence until the next agreement. */
karst_status karst_ranks_agree_and_tell(karst_context *context, karst_status status, const void *told, size_t bytes);
/* The same, which makes count numbers in host memory, at most KARST_RANKS_NUMBERS, sums over all ranks, added in their
 * order. */
karst_status karst_ranks_agree_and_add(karst_context *context, karst_status status, int count, double *numbers);
karst_status karst_ranks_enter(karst_context *context, karst_status status);

/* all[r] = own of rank r, bytes each, in host memory. Collective. */
karst_status karst_ranks_gather(karst_context *context, const void *own, size_t bytes, void *all);
/* *yes: whether it is true on all ranks. Collective. */
karst_status karst_ranks_all(karst_context *context, bool *yes);
/* *number: the largest on any rank. Collective. */
karst_status karst_ranks_largest(karst_context *context, int64_t *number);

/* Makes count scalars in device memory, which are sums over this rank's part, sums over all ranks, in the order of the
 * stream. Each rank adds the parts in the order of the ranks, so that the bits are the same on all and in every run.
 * Collective. */
void karst_ranks_complete(karst_context *context, int count, double *scalars);

/* For a product or a preconditioner that has failed on this rank in a solve: fills y with NaN, which all ranks find in
 * their next sum even if n is 0, and leaves the failure to the next karst_ranks_agree. Returns KARST_SUCCESS; in a
 * context that is not spread, status. */
karst_status karst_ranks_postpone(karst_context *context, karst_status status, int64_t n, double *y);

/* Downloads scalars that are sums over all ranks. A failure on this rank alone is postponed: its scalars are NaN, and
 * so is each later sum of all ranks until they agree. */
karst_status karst_ranks_download(karst_context *context, int64_t count, const double *scalars, double *host);

#endif
