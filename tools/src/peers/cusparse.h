/* cusparse.h - the preconditioner cusparse: cuSPARSE's incomplete LU, which solve and bench register to compare Karst's
 * own with it on a GPU. C and C++. cusparse_none.c replaces it in builds without cuSPARSE. */
#ifndef KARST_TOOLS_SRC_PEERS_CUSPARSE_H
#define KARST_TOOLS_SRC_PEERS_CUSPARSE_H

#include "karst.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Makes --precond cusparse known to the context, with the option level; in a build without it nothing. */
karst_status tool_cusparse_register(karst_context *context);

/* Why the option does not take the value in this build, and what to do, where it is a preconditioner and the value is
 * cusparse; NULL for all else, and where it does take it. */
const char *tool_cusparse_explain(const char *option, const char *value);

#ifdef __cplusplus
}
#endif
#endif
