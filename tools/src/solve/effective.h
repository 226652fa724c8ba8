/* effective.h - the options in effect: those given, with the choices of auto (preconditioner, ordering, solver) in its
 * place. */
#ifndef KARST_TOOLS_SRC_SOLVE_EFFECTIVE_H
#define KARST_TOOLS_SRC_SOLVE_EFFECTIVE_H

#include "tools/src/common/common.h"

/* Makes the options in effect, which the caller destroys: a copy of given, with what the solver's values auto_choice,
 * ordering_used and solver_used say set in it where auto has made a choice, which a solve may change. solver: made of
 * given and set up, or NULL. Reports its own errors and returns TOOL_GO_ON or an exit status; *effective is NULL after
 * an error. */
int tool_effective_options(karst_context *context, const karst_options *given, const karst_solver *solver,
                           karst_options **effective);

/* Whether updates of a solver of these options may choose another method: with auto, unless auto-learn is no. */
bool tool_updates_choose(const karst_options *given);

/* The preconditioner in words: its name, of auto with what it chose behind it, as in "auto: rrb". */
const char *tool_precond_text(const karst_options *given, const karst_options *effective, char *text, size_t size);

#endif
