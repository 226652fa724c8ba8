/* hypre_none.c - replaces the preconditioner hypre in a build without it: it is in no list, and a sentence says why. */
#include "tools/src/peers/hypre.h"

karst_status tool_hypre_register(karst_context *context) { return context ? KARST_SUCCESS : KARST_ERROR_ARGUMENT; }

const char *tool_hypre_missing(void) { return "this build has no preconditioner hypre: configure with --with-hypre"; }
