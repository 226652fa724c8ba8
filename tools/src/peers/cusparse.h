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

/* Why this build lacks it, and what to do; NULL where it does not. */
const char *tool_cusparse_missing(void);

#ifdef __cplusplus
}
#endif
#endif
