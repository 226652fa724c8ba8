/* auto.h - what the preconditioner auto stands for: a ladder of choices, by what the matrix says (rules.c), and
 * the place on it, by what solves have cost (ladder.c, which draws how the choice moves).
 *
 * Of two rungs the upper one costs more to make and to apply, and needs fewer iterations. */
#ifndef KARST_SOLVER_AUTO_AUTO_H
#define KARST_SOLVER_AUTO_AUTO_H

#include "lib/method/krylov.h"
#include "solver/methods.h"
#include "solver/system.h"

enum { KARST_AUTO_RUNGS = 8 };

typedef struct karst_auto_rung {
  const struct karst_precond_ops *precond;
  const char *ordering;
  int level; /* of iluk; -1: it has none, or the caller's */
} karst_auto_rung;

typedef struct karst_auto_ladder {
  karst_auto_rung rung[KARST_AUTO_RUNGS];
  int count, start; /* rungs, and which of them the rules choose */
  bool climbs;      /* the neighbours of a rung are worth a trial; if not, other rungs are for failures alone */
  char reason[KARST_REPORT_TEXT];
} karst_auto_ladder;

/* What the caller leaves to the rules. */
typedef struct karst_auto_freedom {
  bool precond; /* no option was given that iluk has; where one was, iluk is chosen */
  bool level;
  int given_level; /* where that is not left to them */
  bool grid;       /* precond, and the rows stay in the order of the grid */
  bool rrb;        /* the preconditioner is made from the matrix as it is, for a driver that rrb does not break */
  bool recurs;     /* many iterations cost the driver no restart */
  bool tiles;      /* the rows may be ordered by tiles, and nothing that is given speaks against it */
  bool by_tiles;   /* and what is given asks for sweeps by tiles */
  bool level_sets; /* or for sweeps by level sets */
  int tile_size;   /* of those tiles; 0: the ordering's choice */
} karst_auto_freedom;

/* Chooses for A on a machine, by what look.h tells of it. */
karst_status karst_auto_rules(const karst_matrix *A, const karst_machine *machine, const karst_auto_freedom *freedom,
                              karst_auto_ladder *ladder);

/* What the choice is doing; ladder.c draws the moves from one to another. In all but two the best rung is in use. */
typedef enum karst_auto_state {
  KARST_AUTO_COMPARING,    /* a neighbour of the best rung may have a trial with the next update */
  KARST_AUTO_TRIAL,        /* another rung is in use for one solve, to be compared with the best one */
  KARST_AUTO_SETTLED,      /* no rung has a trial until iterations change */
  KARST_AUTO_FAILED,       /* the best rung has failed, though it had converged before */
  KARST_AUTO_FALLBACK,     /* another rung is in use for one solve, since the best one has failed so */
  KARST_AUTO_ON_PROBATION, /* the best rung is in use again since it has failed so, and has not converged yet */
  KARST_AUTO_GIVEN_UP      /* the best rung has failed for good, and is to be replaced */
} karst_auto_state;

typedef struct karst_auto {
  const karst_options *given; /* the caller's, of whoever has this */
  int learn;                  /* how solves are measured: a number of ladder.c's own */
  bool orders;                /* there is a solver, which orders the rows */
  karst_auto_ladder ladder;
  karst_auto_state state;
  int at, best;       /* the rung in use, and the one to go back to: the cheapest of those measured */
  bool due;           /* the next solve is the first with the factors at hand, and is measured */
  bool after_failure; /* the rung in use has taken the place of one that failed, which cannot go on */
  char reason[KARST_REPORT_TEXT];

  double cost[KARST_AUTO_RUNGS];    /* of an update and a solve; a NaN: not measured; infinite: it failed */
  bool converged[KARST_AUTO_RUNGS]; /* it has, and has not failed for good since */
  double digits; /* that costs are for: decimal digits of the residual, by the first solve measured */

  int step;         /* comparing: from the best rung to the one that is worth a trial: 1, -1, or 0 for none */
  int former;       /* comparing: the rung that the best one has replaced within a solve, due for a trial, or -1 */
  int fallback;     /* failed, fallback, on probation: the rung that has converged in the best one's place, or -1 */
  int quiet, pause; /* settled: solves since then, and those before iterations that change begin comparisons anew */
  double usual;     /* iterations of the best rung when its neighbours were last compared with it */
  double bytes;     /* what its last solve and update moved: a trial is to move no more */
} karst_auto;

/* Whether a context's methods are those of auto. */
bool karst_auto_is_chosen(const karst_context *context, const karst_methods *chosen);

/* Begins anew with the choice of the rules for a matrix. orders: a solver orders the rows. */
karst_status karst_auto_begin(const karst_options *given, bool orders, const karst_matrix *A, karst_auto *choice);
/* The given options with the choice in place of auto, which the caller destroys. */
karst_status karst_auto_options(const karst_auto *choice, karst_context *context, karst_options **options);
/* Puts the choice and its reason into the report of what was made from those options. */
karst_status karst_auto_report(const karst_auto *choice, karst_precond *precond);

/* What one solve was. */
typedef struct karst_auto_sample {
  const karst_matrix *A;              /* what the driver works with, ordered and scaled */
  const karst_krylov *first, *krylov; /* what it begins with, by which iterations are priced, and has ended with */
  const karst_result *result;
  double time_update, time_solve; /* seconds */
} karst_auto_sample;

/* The iterations that the next solve is worth before another rung goes on from its x: of a trial those that move as
 * much as the best rung did, of the best rung a few times the usual ones where there is one above. most: those that the
 * caller allows. The sample has no result. */
int karst_auto_allow(const karst_auto *choice, const karst_auto_sample *sample, int most);
/* Takes a solve into account, if it is the first with the factors at hand. allowed: the iterations that it was given;
 * most: those that the caller allows. Returns whether the solve has failed, or was broken off, and another rung is to
 * go on: the choice has moved there. */
bool karst_auto_measure(karst_auto *choice, const karst_auto_sample *sample, int allowed, int most);
/* Before an update: moves to the rung for the next solve. Whether it is another one than before. */
bool karst_auto_advance(karst_auto *choice);
/* A set-up or an update has refused the matrix: moves to another rung than the one in use, or returns false. */
bool karst_auto_refuse(karst_auto *choice);
/* The rung that advance has moved to could not be made, for the matrix or (status) for another reason: back to the one
 * before. Whether that rung can serve all the same, or the update fails. */
bool karst_auto_retreat(karst_auto *choice, int before, karst_status status);
/* Before a set-up with an analysis, which was made for that rung: begins there, on the ladder or beside it. False, and
 * nothing has changed, where auto would never choose it for what is given. The rung's level counts for iluk alone. */
bool karst_auto_begin_at(karst_auto *choice, const karst_auto_rung *rung);

#endif
