/* peers.h - the preconditioners of other libraries, which the commands register to compare Karst's own with them:
 * cusparse (cusparse.h) and hypre (hypre.h). */
#ifndef KARST_TOOLS_SRC_PEERS_PEERS_H
#define KARST_TOOLS_SRC_PEERS_PEERS_H

#include "karst.h"

/* Makes those of this build known to the context. */
karst_status tool_peers_register(karst_context *context);

/* Why the option does not take the value in this build, and what to do, where it is a preconditioner and the value is
 * one that this build lacks; NULL for all else. */
const char *tool_peers_explain(const char *option, const char *value);

#endif
