/* cusparse.h - the preconditioner cusparse: cuSPARSE's incomplete LU, a preconditioner from outside the library, with
 * which solve and bench compare Karst's own on a GPU. C and C++. cusparse_none.c stands in where it cannot be built. */
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
