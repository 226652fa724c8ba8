/* spread.h - a hierarchy of multigrid over the ranks that share a matrix.
 *
 * Each rank coarsens its own rows alone, from a matrix without couplings with other ranks (the kernel square), so the
 * interpolation P is block diagonal over the ranks. All else is that of the whole matrix: A_{l+1} = P^T A_l P, smoothers
 * and residuals take the couplings with ghosts along. A rank has the rows of P for its ghosts, so that new values need
 * no messages; a cycle exchanges the ghosts' part of a vector twice a level. The first level with few rows over all
 * ranks is the last: each rank has all of it, and a hierarchy of its own for it (gathered.c). */
#ifndef KARST_PRECOND_AMG_SPREAD_H
#define KARST_PRECOND_AMG_SPREAD_H

#include "lib/ranks/halo.h"
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
  karst_exchange *exchange; /* of the ghosts' part of a vector; that of level 0 belongs to the matrix */
} karst_amg_part;

/* The last level as a whole. */
typedef struct karst_amg_gathered {
  karst_matrix *A;
  karst_amg amg; /* its hierarchy; levels = 0: none */
  karst_amg_settings settings;
  karst_whole *whole;
  double *f, *x;                /* [rows of A] device memory */
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

/* Prepares a hierarchy for the matrix of p, which has a halo. Local. destroy accepts NULL. */
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

/* Lets the ranks find whether so many coarse rows of each make level number l + 1: at most the share of the rows of
 * level l. Collective. */
karst_status karst_amg_spread_accept(karst_amg_spread *spread, karst_status status, int l, karst_index coarse,
                                     double share, bool *accepted);

/* Finds the ghosts of level l + 1, and gives P of level l the rows of its ghosts. Collective. */
karst_status karst_amg_spread_extend(karst_amg_spread *spread, karst_status status, int l);

/* Gathers the last level, and makes a hierarchy for it. outcome: of that, without a row, the same on all ranks.
 * Collective. */
karst_status karst_amg_gather(karst_amg_spread *spread, karst_status status, const karst_amg_settings *settings,
                              karst_amg_outcome *outcome);
/* Finds the sizes of the levels. Collective. */
karst_status karst_amg_spread_measure(karst_amg_spread *spread);
/* Weighs the levels, after gathering new values of the last one unless the hierarchy is fresh: made for these values.
 * outcome: without a row. Collective. */
karst_status karst_amg_spread_weigh(karst_amg_spread *spread, bool fresh, karst_amg_outcome *outcome);
void karst_amg_gathered_clear(karst_context *context, karst_amg_gathered *gathered);
int64_t karst_amg_gathered_memory(const karst_amg_gathered *gathered);

/* A copy of a matrix of a level in host memory, with values in double, for the caller to release with karst_release. */
karst_status karst_amg_fetch(karst_context *context, const karst_amg *amg, const karst_amg_matrix *matrix,
                             karst_amg_matrix *host);
void karst_amg_fetch_done(karst_context *context, karst_amg_matrix *host);

#endif
