/* solve_ranks.h - solve as the processes of mpiexec: joining, agreeing, and numbers that all have. */
#ifndef KARST_TOOLS_SRC_SOLVE_SOLVE_RANKS_H
#define KARST_TOOLS_SRC_SOLVE_SOLVE_RANKS_H

#include "tools/src/solve/solve_settings.h"

/* All functions report their own errors, and return TOOL_GO_ON or an exit status, the same on all ranks. */

/* Refuses what cannot be done with --ranks. */
int ranks_check(const struct solve_settings *settings);
/* If --ranks is among the arguments, makes the context one of the ranks, on the CPU, before anything can be refused.
 * Ranks other than 0 print nothing from then on. */
int ranks_meet(karst_context *meeting, int argc, char *argv[]);
/* Makes the context one of the ranks, on the device of the settings. */
int ranks_join(karst_context *context, const char *device);
/* Lets all ranks know whether each has come so far: status is TOOL_GO_ON or the exit status of a reported error. The
 * sentence of one rank is that of all. */
int ranks_agree(karst_context *context, int status);
/* all[count] of rank r = own[count] of that rank, r count numbers on, on rank 0; all is not used on the others. */
int ranks_collect(karst_context *context, int count, const double *own, double *all);
/* Sets the number to that of rank 0. */
int ranks_broadcast(karst_context *context, double *number);

#endif
