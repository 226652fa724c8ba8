/* exchange.h - items of some scalars that ranks send each other again and again: block rows of a vector, blocks of a
 * matrix. */
#ifndef KARST_LIB_RANKS_EXCHANGE_H
#define KARST_LIB_RANKS_EXCHANGE_H

#include "lib/ranks/ranks.h"

/* Which items go where. Ranks are ascending and never the own one; there may be nothing in one of the two directions.
 * All arrays are in host memory, from karst_allocate. */
typedef struct karst_route {
  int neighbours;
  int *rank;                  /* [neighbours] */
  karst_index *send_start;    /* [neighbours + 1] where the items for each begin in send */
  karst_index *send;          /* the items: for karst_route_find, numbers of own block rows */
  karst_index *receive_start; /* [neighbours + 1] where the items of each begin among those received */
} karst_route;

/* Finds the route by which this rank receives block rows of others. first[r] is the first block row of rank r, and
 * first[ranks] their number in all; rows[count] are the global numbers of the rows to receive, ascending and none of
 * them its own. They come in that order. The ranks agree on a failure. Collective. release accepts what a failed call
 * left. */
karst_status karst_route_find(karst_context *context, const karst_index *first, karst_index count,
                              const karst_index *rows, karst_route *route);
void karst_route_release(karst_context *context, karst_route *route);

typedef struct karst_exchange {
  karst_context *context;
  int size;                        /* scalars in an item */
  karst_index sent, received;      /* items to all neighbours, and from all */
  karst_index *host_index, *index; /* [sent] the items to send, host and device memory */
  double *outgoing;                /* [sent] items, device memory */
  double *incoming;                /* [received] items, device memory, in the order of the route */
  double *host_out, *host_in;      /* the same in host memory, which the transport sends from and receives to */
  int neighbours;
  karst_transfer *transfers; /* [neighbours] */
  bool begun;                /* the transport has begun, and must end */
  karst_status failed;       /* of begin */
} karst_exchange;

/* Makes an exchange of items of size scalars along a route, which may be released afterwards. Local: the caller lets
 * the ranks agree. destroy accepts NULL. */
karst_status karst_exchange_create(karst_context *context, const karst_route *route, int size,
                                   karst_exchange **exchange);
/* The route of an exchange, for the caller to release, also after a failure; for vectors in another order if inverse is
 * not NULL: item i is inverse[i] there. Local. */
karst_status karst_exchange_route(const karst_exchange *exchange, const karst_index *inverse, karst_route *route);
/* The same exchange for vectors in another order, whose item inverse[i] is the other's item i. */
karst_status karst_exchange_permute(const karst_exchange *from, const karst_index *inverse, karst_exchange **exchange);
/* The exchange of answers, in items of size scalars: it sends one for each item that the other receives, in their order,
 * to where that comes from, and receives one for each item that the other sends, in the order of host_index. */
karst_status karst_exchange_reverse(const karst_exchange *from, int size, karst_exchange **exchange);
void karst_exchange_destroy(karst_exchange *exchange);
int64_t karst_exchange_memory(const karst_exchange *exchange);

/* Exchanges zeros once and waits for the device, so that what a transport makes at its first use is not made in a
 * solve. Collective. */
karst_status karst_exchange_rehearse(karst_exchange *exchange);

/* Begins to send items of x, in device memory, and to receive. Work that does not need the received items may be queued
 * between begin and end. After end, incoming is complete in the order of the stream. One exchange is under way at a
 * time. A failure of begin is reported by end. Collective among neighbours. */
void karst_exchange_begin(karst_exchange *exchange, const double *x);
karst_status karst_exchange_end(karst_exchange *exchange);

#endif
