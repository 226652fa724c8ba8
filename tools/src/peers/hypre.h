/* hypre.h - the preconditioner hypre: a V-cycle of hypre's BoomerAMG, which the commands register to compare Karst's
 * amg with it on the CPU. hypre_none.c replaces it in builds without hypre. */
#ifndef KARST_TOOLS_SRC_PEERS_HYPRE_H
#define KARST_TOOLS_SRC_PEERS_HYPRE_H

#include "karst.h"

/* Makes --precond hypre known to the context, with options of amg; in a build without it nothing. */
karst_status tool_hypre_register(karst_context *context);

/* Why this build lacks it, and what to do; NULL where it does not. */
const char *tool_hypre_missing(void);

#endif
