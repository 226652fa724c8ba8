/* auto.h - the preconditioner auto: a ladder of choices that follow from the matrix (rules.c), a place on it that the
 * caller's options allow (begin.c), and moves on it by what solves have cost (ladder.c, which draws them).
 *
 * A rung of the ladder is a preconditioner with its level and ordering. An upper rung costs more to make and to apply,
 * and needs fewer iterations. */
#ifndef KARST_SOLVER_AUTO_AUTO_H
#define KARST_SOLVER_AUTO_AUTO_H

#include "lib/method/krylov.h"
#include "solver/methods.h"
#include "solver/system.h"

enum { KARST_AUTO_RUNGS = 9 };

typedef struct karst_auto_rung {
  const struct karst_precond_ops *precond;
  const char *ordering;
  int level; /* of iluk; -1 if it has no level, or the caller gives it */
} karst_auto_rung;

typedef struct karst_auto_ladder {
  karst_auto_rung rung[KARST_AUTO_RUNGS];
  int count, start; /* number of rungs; the rung that the rules choose */
  bool climbs;      /* neighbours of a rung may have trials; if not, other rungs are used only after a failure */
  char reason[KARST_REPORT_TEXT];
} karst_auto_ladder;

/* What the caller's options leave to the rules. */
typedef struct karst_auto_freedom {
  bool precond;    /* no option of iluk is given; one that is given leaves only iluk */
  bool level;      /* the option level is not given */
  int given_level; /* its value if it is given */
  bool grid;       /* precond, and the rows stay in the order of the grid */
  bool whole;      /* there is no scaling, and one part */
  bool rrb;        /* whole, and a driver that rrb does not break */
  bool symmetric;  /* the driver needs a symmetric preconditioner */
  bool recurs;     /* many iterations cost the driver no restart */
  bool tiles;      /* the rows may be ordered by tiles */
  bool by_tiles;   /* the options ask for sweeps by tiles */
  bool level_sets; /* sweeps go by level sets even in tiles */
  int tile_size;   /* the option tile-size; 0: the ordering chooses */
} karst_auto_freedom;

/* Makes the ladder for A on a machine. */
karst_status karst_auto_rules(const karst_matrix *A, const karst_machine *machine, const karst_auto_freedom *freedom,
                              karst_auto_ladder *ladder);

/* How solves are measured, as the option auto-learn says. */
typedef enum karst_auto_learn { KARST_AUTO_BY_ITERATIONS, KARST_AUTO_BY_TIME, KARST_AUTO_BY_NOTHING } karst_auto_learn;

/* The states; ladder.c draws the moves between them. In all but TRIAL and FALLBACK the best rung is in use. */
typedef enum karst_auto_state {
  KARST_AUTO_COMPARING,    /* a neighbour of the best rung may have a trial with the next update */
  KARST_AUTO_TRIAL,        /* another rung is in use for one solve, to be compared with the best one */
  KARST_AUTO_SETTLED,      /* no rung has a trial until iterations change */
  KARST_AUTO_FAILED,       /* the best rung has failed, though it had converged before */
  KARST_AUTO_FALLBACK,     /* after such a failure another rung is in use for one solve */
  KARST_AUTO_ON_PROBATION, /* after such a failure the best rung is in use again, and has not converged yet */
  KARST_AUTO_GIVEN_UP      /* the best rung has failed for good and must be replaced */
} karst_auto_state;

typedef struct karst_auto {
  const karst_options *given; /* the caller's options; not owned */
  karst_auto_learn learn;
  bool orders; /* a solver orders the rows */
  karst_auto_ladder ladder;
  karst_auto_state state;
  int at, best;       /* the rung in use; the best one: the cheapest of those measured, to which trials return */
  bool due;           /* the next solve is the first with the present factors, and is measured */
  bool after_failure; /* the rung in use replaces one that failed and cannot be used further */
  char reason[KARST_REPORT_TEXT];

  double cost[KARST_AUTO_RUNGS];    /* of an update and a solve; NaN: not measured; infinite: the rung failed */
  bool converged[KARST_AUTO_RUNGS]; /* the rung has converged, and has not failed for good since */
  double digits; /* decimal digits of the residual that costs are for: those of the first solve measured */

  int step;         /* COMPARING: the rung worth a trial, counted from the best one: 1, -1, or 0 for no trial */
  int former;       /* COMPARING: the rung that the best one has replaced within a solve and that gets a trial, or -1 */
  int fallback;     /* FAILED, FALLBACK, ON_PROBATION: the rung that converged instead of the best one, or -1 */
  int quiet, pause; /* SETTLED: solves since then; comparisons begin again only after more than pause of them */
  double usual;     /* iterations of the best rung when it was last compared with its neighbours */
  double bytes;     /* moved by its last update and solve; a trial may move no more */
} karst_auto;

/* Whether the preconditioner chosen is auto. */
bool karst_auto_is_chosen(const karst_context *context, const karst_methods *chosen);

/* Begins anew with the rung that the rules choose for A. orders: a solver orders the rows. */
karst_status karst_auto_begin(const karst_options *given, bool orders, const karst_matrix *A, karst_auto *choice);
/* Makes a copy of the given options in which the rung in use replaces auto; the caller destroys it. */
karst_status karst_auto_options(const karst_auto *choice, karst_context *context, karst_options **options);
/* Puts the rung in use and the reason into the preconditioner's report. */
karst_status karst_auto_report(const karst_auto *choice, karst_precond *precond);

/* One solve. */
typedef struct karst_auto_sample {
  const karst_matrix *A;              /* the driver's matrix, ordered and scaled */
  const karst_krylov *first, *krylov; /* the driver that begins, by which iterations are priced; the one that ends */
  const karst_result *result;
  double time_update, time_solve; /* seconds */
} karst_auto_sample;

/* Returns how many iterations the next solve may take before another rung continues from its x. A trial may move as
 * many bytes as the best rung did; the best rung may take a few times its usual iterations if there is a rung above.
 * most: the iterations that the caller allows. The sample has no result. */
int karst_auto_allow(const karst_auto *choice, const karst_auto_sample *sample, int most);
/* Learns from a solve if it is the first with the present factors. allowed: the iterations that it was given; most:
 * those that the caller allows. Returns true if the solve has failed or was broken off, and the choice has moved to
 * another rung that must continue it. */
bool karst_auto_measure(karst_auto *choice, const karst_auto_sample *sample, int allowed, int most);
/* Before an update: moves to the rung for the next solve. Returns whether it differs from the one in use. */
bool karst_auto_advance(karst_auto *choice);
/* After set-up or an update has refused the matrix: moves to another rung, or returns false if there is none. */
bool karst_auto_refuse(karst_auto *choice);
/* After the rung that the choice has moved to could not be made, with this status: moves back to the rung before.
 * Returns whether that rung can be used; if not, the update fails. */
bool karst_auto_retreat(karst_auto *choice, int before, karst_status status);
/* Before set-up with an analysis that was made for this rung: begins with it. Returns false and changes nothing if auto
 * never chooses it with the given options. The rung's level counts for iluk alone. */
bool karst_auto_begin_at(karst_auto *choice, const karst_auto_rung *rung);

#endif
