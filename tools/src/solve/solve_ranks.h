/* solve_ranks.h - solve as the processes of mpiexec: each reads the whole system and keeps its own block rows. */
#ifndef KARST_TOOLS_SRC_SOLVE_SOLVE_RANKS_H
#define KARST_TOOLS_SRC_SOLVE_SOLVE_RANKS_H

#include "tools/src/solve/solve_settings.h"

/* All functions report their own errors, and return TOOL_GO_ON or an exit status, the same on all ranks. */

/* Refuses what cannot be done with --ranks. */
int ranks_check(const struct solve_settings *settings);
/* Makes the context one of the ranks, on the device of the settings. Ranks other than 0 print nothing from then on. */
int ranks_join(karst_context *context, const char *device);
/* Lets all ranks know whether each has come so far: status is TOOL_GO_ON or the exit status of a reported error. */
int ranks_agree(karst_context *context, int status);
/* Makes the rank's own part of a system in one process: of n block rows, those from n rank / ranks to n (rank + 1) /
 * ranks - 1; and x of that length. */
int ranks_cut(karst_context *context, const karst_matrix *whole, const karst_vector *whole_b, karst_matrix **A,
              karst_vector **b, karst_vector **x);

#endif
