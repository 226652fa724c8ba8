/* auto.h - the preconditioner auto and the ordering auto: candidates that follow from the matrix (rules.c) and from
 * what the caller's options leave open (begin.c), the costs they are expected to have (outlook.c), and the choice among
 * them by what has been measured (trials.c) and after failures (failures.c), the same on all ranks (shared.c).
 *
 * The candidates are the rungs of a ladder. A rung is a preconditioner with its level and ordering; an upper one costs
 * more to make and to apply, and needs fewer iterations. */
#ifndef KARST_SOLVER_AUTO_AUTO_H
#define KARST_SOLVER_AUTO_AUTO_H

#include "lib/method/krylov.h"
#include "solver/methods.h"
#include "solver/system.h"

enum { KARST_AUTO_RUNGS = 10 };

typedef struct karst_auto_rung {
  const struct karst_precond_ops *precond;
  const char *ordering;
  int level; /* of iluk; -1 if it has no level, or the caller gives it */
} karst_auto_rung;

typedef struct karst_auto_ladder {
  karst_auto_rung rung[KARST_AUTO_RUNGS];
  int count, start; /* number of rungs; the rung that the rules choose */
  bool climbs;      /* rungs may have trials; if not, others than the first are used only after a failure */
  double growth;    /* the entries of ILU(1) over those of the matrix */
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
  bool tight;      /* the relative tolerance is at most 1e-4 */
  bool recurs;     /* many iterations cost the driver no restart */
  bool tiles;      /* the rows may be ordered by tiles */
  bool by_tiles;   /* the options ask for sweeps by tiles */
  bool level_sets; /* sweeps go by level sets even in tiles */
  int tile_size;   /* the option tile-size; 0: the ordering chooses */
} karst_auto_freedom;

/* Makes the ladder for A on a machine. */
karst_status karst_auto_rules(const karst_matrix *A, const karst_machine *machine, const karst_auto_freedom *freedom,
                              karst_auto_ladder *ladder);

/* Why the rung in use is used. */
typedef enum karst_auto_role {
  KARST_AUTO_BEST,    /* it is the best one */
  KARST_AUTO_TRIAL,   /* for two solves, to be compared with the best one */
  KARST_AUTO_STAND_IN /* for one solve, because the best one has failed or took too many iterations */
} karst_auto_role;

/* What is known of a rung. Costs are seconds. */
typedef struct karst_auto_figures {
  double setup, update, iteration; /* as measured; NaN: not yet */
  double iterations; /* for a decimal digit of the residual, the mean of its last solves; NaN: none. Of a trial that was
                      * broken off, those that it had */
  int solves;        /* in that mean */
  double saved;      /* what it would have saved, at best, since its last trial */
  double patience;   /* times that a trial must have paid before it takes place; doubled by each one in vain */
  bool converged;    /* it has converged, and is not excluded */
  bool excluded;     /* it has failed for good, and is used only if all others have, too */
} karst_auto_figures;

typedef struct karst_auto {
  const karst_options *given; /* the caller's options; not owned */
  bool learns;                /* it measures, unless the option auto-learn is no */
  bool host;                  /* the device is the host */
  bool orders;                /* a solver orders the rows */
  bool fixed;                 /* the preconditioner is given, and only its ordering is chosen */
  karst_auto_ladder ladder;
  karst_auto_figures figures[KARST_AUTO_RUNGS];
  karst_auto_role role;
  int at, best;   /* the rung in use; the best one, which trials are compared with */
  bool due;       /* the next solve is the first with the present factors, and is measured */
  bool served;    /* the rung in use has had a solve that says something about it */
  bool continues; /* the solve under way continues from the x of another rung, so its iterations say nothing */
  int solves;     /* that have converged with it since it came into use */
  double digits;  /* decimal digits of the residual that the last solve had to gain */
  int strikes;    /* solves in a row in which the best rung has failed or was broken off */
  int proven;     /* the rung that converged instead of it, or -1 */
  char reason[KARST_REPORT_TEXT];
} karst_auto;

/* Whether auto chooses the preconditioner or the ordering. */
bool karst_auto_is_chosen(const karst_context *context, const karst_methods *chosen);

/* Begins anew with the rung that the rules choose for A. orders: a solver orders the rows. Collective if A is
 * distributed. */
karst_status karst_auto_begin(const karst_options *given, bool orders, const karst_matrix *A, karst_auto *choice);
/* Makes a copy of the given options in which the rung in use replaces auto; the caller destroys it. */
karst_status karst_auto_options(const karst_auto *choice, karst_context *context, karst_options **options);
/* Puts the rung in use and the reason into the preconditioner's report, if auto chooses it. */
karst_status karst_auto_report(const karst_auto *choice, karst_precond *precond);
/* Value number i of what is reported if auto chooses the ordering alone, ordering_used and ordering_reason; returns 0
 * past the last. */
int karst_auto_report_order(const karst_auto *choice, size_t i, karst_value *value);

/* A set-up, update or solve with the rung in use. */
typedef struct karst_auto_sample {
  const karst_krylov *first, *krylov; /* the driver that begins, by which iterations are priced; the one that ends */
  const karst_result *result;
  double setup, update, step, solve; /* seconds; step: of a product and an application of M; update: NaN if it was not
                                      * alone */
} karst_auto_sample;

/* For a distributed matrix: gives all ranks the ladder of one, and the longest times of any. status: of what this rank has
 * done for its ladder; the ranks agree on it. Collective; without ranks both change nothing. */
karst_status karst_auto_share_ladder(const karst_matrix *A, karst_status status, karst_auto *choice);
karst_status karst_auto_share_sample(karst_context *context, karst_auto_sample *sample);

/* What an update and a solve with a rung have cost, by its last solves; and at best, from what was measured of it and
 * of the best rung; and what making it costs. digits: of the residual. */
double karst_auto_cost(const karst_auto *choice, int i, double digits);
double karst_auto_outlook(const karst_auto *choice, int i, double digits);
double karst_auto_outlook_setup(const karst_auto *choice, int i);
bool karst_auto_is_multigrid(const karst_auto_rung *rung);

/* After set-up: moves to the other order, to be measured, if auto chooses the order alone. Returns whether it has. */
bool karst_auto_challenge(karst_auto *choice);
/* Takes note of what a set-up has cost, and of a product and an application. Returns whether the rung in use can be the
 * best one; if not, the choice has moved back to that. */
bool karst_auto_judge(karst_auto *choice, const karst_auto_sample *sample);
/* Returns how many iterations the next solve may take before another rung continues from its x. most: the iterations
 * that the caller allows. The sample has no result. */
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
