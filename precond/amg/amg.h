/* amg.h - the settings of algebraic multigrid, and the two halves of its work: the hierarchy and the cycle. */
#ifndef KARST_PRECOND_AMG_AMG_H
#define KARST_PRECOND_AMG_AMG_H

#include "lib/backend/amg_kernels.h"
#include "lib/method/precond.h"

typedef enum karst_amg_coarsening { KARST_AMG_PMIS, KARST_AMG_AGGREGATION } karst_amg_coarsening;
typedef enum karst_amg_cycle { KARST_AMG_CYCLE_AUTO, KARST_AMG_V, KARST_AMG_W } karst_amg_cycle;
typedef enum karst_amg_smoother {
  KARST_AMG_SMOOTHER_AUTO,
  KARST_AMG_L1_JACOBI,
  KARST_AMG_JACOBI,
  KARST_AMG_CHEBYSHEV,
  KARST_AMG_BY_LINES, /* these two on level 0; on the others KARST_AMG_L1_JACOBI */
  KARST_AMG_BY_ADI
} karst_amg_smoother;

/* The options. amg.c replaces what is automatic. */
typedef struct karst_amg_settings {
  int direction; /* of lines; first, as the row that lines shares requires */
  int coarsening;
  double strength;
  int most_entries;
  int coarse_rows;
  int levels;
  int cycle;
  int smoother;
  int sweeps;
  int order; /* of chebyshev */
  double omega;
  double line_omega; /* of lines and adi; no option of its own */
  double over_correction;
  int precision; /* 0: float, 1: double */
  int rebuild;
  int gather_rows;
} karst_amg_settings;

extern const struct karst_precond_ops karst_precond_amg;

/* Whether level 0 is smoothed along lines. */
static inline bool karst_amg_has_lines(const karst_amg_settings *settings)
{
  return settings->smoother == KARST_AMG_BY_LINES || settings->smoother == KARST_AMG_BY_ADI;
}

/* Gives p the outcome of values, unless the ranks have agreed on another one. */
void karst_amg_take_outcome(karst_precond *p, const karst_amg *amg, const karst_amg_outcome *outcome);

typedef struct karst_amg_spread karst_amg_spread; /* precond/amg/amg_ranks.h */

/* Makes the levels for the values of A, with amg->single and l1 set, up to the last one; the steps are not there yet.
 * stalled: set to whether coarsening stopped because a level would have had more than 0.9 of the rows before.
 * spread: NULL, or A is shared by ranks; then it is collective, with ghosts, call and user of amg set too. */
karst_status karst_amg_build(karst_context *context, const karst_matrix *A, const karst_amg_settings *settings,
                             karst_amg *amg, karst_amg_spread *spread, karst_amg_outcome *outcome, bool *stalled);

/* Computes all levels for new values of A: the same splitting, interpolation and patterns. Allocates nothing. */
karst_status karst_amg_renew(karst_context *context, const karst_matrix *A, karst_amg *amg, karst_amg_outcome *outcome);
/* The same where ranks share the matrix. Collective. */
karst_status karst_amg_renew_spread(karst_amg_spread *spread, karst_amg_outcome *outcome);

/* Makes the list of steps of one cycle, for the caller to release with karst_release, and sets steps and result. */
karst_status karst_amg_make_cycle(karst_context *context, const karst_amg_settings *settings, karst_amg *amg);

/* Report the number of levels and sums over them, and the size of each; with spread over all ranks, and with the levels of
 * the gathered hierarchy behind the others. */
karst_status karst_amg_report_sizes(karst_precond *p, const karst_amg *amg, const karst_amg_spread *spread);
karst_status karst_amg_report_levels(karst_precond *p, const karst_amg *amg, const karst_amg_spread *spread);

/* Sums over the levels: entries of A, rows, bytes of all arrays, and bytes that a cycle reads and writes. */
typedef struct karst_amg_sums {
  int64_t entries, rows, memory;
  double traffic;
} karst_amg_sums;
karst_amg_sums karst_amg_add_up(const karst_amg *amg);

#endif
