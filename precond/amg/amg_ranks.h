/* amg_ranks.h - a hierarchy of multigrid over the ranks that share a matrix: the levels of the whole matrix, A_{l+1} =
 * P^T A_l P, with the rows of each level on the ranks of the rows that they come from.
 *
 * A rank interpolates its own rows, also from coarse rows among its ghosts, so that P^T A P has parts on several ranks,
 * which are sent and added (extend.c). A cycle exchanges the ghosts' part of a vector before each product, and returns
 * parts of a restriction. The first level with few rows over all ranks is the last: each rank has all of it, and a
 * hierarchy of its own for it (gathered.c). A last level of many rows, as where coarsening stalls, is smoothed instead. */
#ifndef KARST_PRECOND_AMG_AMG_RANKS_H
#define KARST_PRECOND_AMG_AMG_RANKS_H

#include "lib/ranks/halo.h"
#include "lib/ranks/lists.h"
#include "lib/ranks/whole.h"
#include "precond/amg/amg.h"

/* Of a level's matrix, over all ranks. */
typedef struct karst_amg_size {
  int64_t rows, entries, longest; /* row */
} karst_amg_size;

/* What a rank knows of a level besides its own rows. */
typedef struct karst_amg_part {
  karst_index *first; /* [ranks + 1] the first row of each rank, then the number of all */
  karst_index ghosts;
  karst_index *ghost; /* [ghosts] their numbers among the rows of all, ascending */
  karst_amg_size size;
  karst_route route;        /* of the ghosts */
  karst_exchange *exchange; /* of the ghosts' part of a vector, along the route */
  /* Of levels but the finest, which are sums of parts: */
  karst_exchange *back;   /* of what ranks add to each other's rows of a vector: the reversed exchange */
  karst_exchange *values; /* of the entries of A that other ranks have a part of */
  double *widened;        /* [sent entries] in double, device memory */
  karst_index *order;     /* [received entries] where each, as A P has them, is among those received, device memory */
  double *ordered;        /* [received entries] in that order, device memory */
  int64_t appended;       /* where those received begin among the entries of A P of the level before */
} karst_amg_part;

/* The last level as a whole; zeros if it is not gathered. */
typedef struct karst_amg_gathered {
  karst_matrix *A;
  karst_amg amg; /* its hierarchy; levels = 0: none */
  karst_amg_settings settings;
  karst_whole *whole;
  double *f, *x;                /* [rows of A] device memory */
  karst_index *ghost;           /* [ghosts of the level] their rows of A, device memory */
  karst_index entries, most;    /* of this rank, and the most of a rank */
  karst_index *order;           /* [entries] the number of each entry of A's rows in the level's matrix */
  karst_index *count;           /* [ranks] entries */
  void *staged;                 /* [entries] float or double, host memory: as the level has them */
  double *own, *parts, *values; /* [most], [most ranks], [entries of A] host memory: in order, of the ranks, of A */
  bool stalled;
} karst_amg_gathered;

struct karst_amg_spread {
  karst_precond *p;
  karst_amg *amg;                       /* the hierarchy, of the method's state */
  karst_matrix *finest;                 /* rows of [A G]: the columns of ghosts are behind the own ones */
  karst_index *own_place, *ghost_place; /* where blocks of A and of G are in finest, device memory */
  karst_amg_part part[KARST_AMG_LEVELS];
  karst_amg_gathered gathered;
  karst_status failed; /* in the cycle under way */
};

/* Prepares a hierarchy for the matrix of p, which has a halo. The ranks agree on a failure. Collective. destroy accepts
 * NULL. */
karst_status karst_amg_spread_create(karst_precond *p, karst_amg *amg, karst_amg_spread **spread);
void karst_amg_spread_destroy(karst_amg_spread *spread);
/* Forgets all levels but the finest. */
void karst_amg_spread_clear(karst_amg_spread *spread);
int64_t karst_amg_spread_memory(const karst_amg_spread *spread);

/* Takes the values of the matrix into level 0, divided by the same power of two on all ranks. outcome->reason: what the
 * ranks have agreed on, of which p has the rest. status: of what this rank has prepared. Collective. */
karst_status karst_amg_spread_load(karst_amg_spread *spread, karst_status status, karst_amg_outcome *outcome);

/* The function call of the hierarchy, with spread as its user. Failures are left in spread->failed. Collective. */
void karst_amg_spread_call(void *user, const karst_amg_step *step);

/* ---- a level from the one before, number l; each is collective, and leaves failures of the last steps to the next ---- */

/* Makes a square matrix of the rows of level l and of its ghosts, for the caller to release. Couplings of ghosts with
 * other rows are added to their diagonal entries. */
karst_status karst_amg_spread_surround(karst_amg_spread *spread, int l, karst_amg_matrix *all);
/* Lists the numbers of these rows among those of all ranks, in device memory. Local. */
karst_status karst_amg_spread_number(const karst_amg_spread *spread, int l, karst_index **number);

/* Lets the ranks find whether so many coarse rows of each make level l + 1: at most the share of the rows of level l. */
karst_status karst_amg_spread_accept(karst_amg_spread *spread, karst_status status, int l, karst_index coarse,
                                     double share, bool *accepted);
/* The same for a splitting of the rows of all, which surround makes; if it is accepted, ghosts are split as their ranks
 * have split them. */
karst_status karst_amg_spread_share(karst_amg_spread *spread, karst_status status, int l, double share,
                                    const karst_amg_matrix *all, karst_amg_splitting *splitting, bool *accepted);

/* Makes level l + 1, of which part l + 1 has the ghosts that P of level l uses. */
karst_status karst_amg_spread_add_level(karst_amg_spread *spread, int l);
/* Computes the parts of R A P of other ranks, and gets those of this rank behind A P. Collective among neighbours. */
karst_status karst_amg_spread_multiply(karst_amg_spread *spread, int l);

/* ---- all levels ---- */

/* Gathers the last level, and makes a hierarchy for it. outcome: of that, without a row, the same on all ranks.
 * Collective. */
karst_status karst_amg_gather(karst_amg_spread *spread, karst_status status, const karst_amg_settings *settings,
                              karst_amg_outcome *outcome);
/* Finds the sizes of the levels. Collective. */
karst_status karst_amg_spread_measure(karst_amg_spread *spread);
/* Weighs the levels, after gathering new values of the last one unless the hierarchy is fresh: made for these values.
 * status: of the other levels' values. outcome: without a row. Collective. */
karst_status karst_amg_spread_weigh(karst_amg_spread *spread, karst_status status, bool fresh,
                                    karst_amg_outcome *outcome);
void karst_amg_gathered_clear(karst_context *context, karst_amg_gathered *gathered);
int64_t karst_amg_gathered_memory(const karst_amg_gathered *gathered);

/* ---- rows of matrices in host memory, with values in double ---- */

/* Where this rank's rows of a level begin and end among those of all. */
typedef struct karst_amg_range {
  karst_index begin, end;
} karst_amg_range;

static inline karst_amg_range karst_amg_range_of(const karst_amg_spread *spread, int l)
{
  const karst_index *first = spread->part[l].first + karst_context_rank(spread->p->context);
  return (karst_amg_range){first[0], first[1]};
}

static inline karst_lists karst_amg_lists_of(const karst_route *route)
{
  return (karst_lists){route->neighbours, route->rank, 1, route->send_start, route->receive_start};
}

/* Sends each neighbour its rows of those sent, and receives others, for the caller to release. status: of what this rank
 * has prepared. Collective. */
karst_status karst_amg_exchange_rows(karst_context *context, karst_status status, const karst_lists *lists,
                                     const karst_amg_matrix *sent, karst_amg_matrix *received);
/* Copies the first rows of a matrix of a level, for the caller to release, also after a failure. Local. */
karst_status karst_amg_fetch_first(karst_context *context, const karst_amg *amg, const karst_amg_matrix *matrix,
                                   karst_index rows, karst_amg_matrix *host);
void karst_amg_rows_release(karst_context *context, karst_amg_matrix *rows);

/* Turns columns of this rank, where ghosts are behind the own ones, into those among the rows of all. */
void karst_amg_globalise(karst_amg_range own, const karst_index *ghost, const karst_amg_matrix *rows);
/* The other way round, and columns then ascend. Where a column is unknown, the entry is added to that in column
 * diagonal + i of row i, if there is one; diagonal < 0: all are known. */
karst_status karst_amg_localise(karst_context *context, karst_amg_range own, const karst_amg_part *part,
                                karst_index diagonal, karst_amg_matrix *rows);
/* Adds the columns of rows that are not this rank's to the ghosts of a level. place: [ghosts before] where each of the
 * ghosts is now, for the caller to release. */
karst_status karst_amg_add_ghosts(karst_context *context, karst_amg_range own, const karst_amg_matrix *rows,
                                  karst_amg_part *part, karst_index **place);

#endif
