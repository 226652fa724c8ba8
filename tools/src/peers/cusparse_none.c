/* cusparse_none.c - replaces the preconditioner cusparse in a build without cuSPARSE: it is in no list, and a
 * sentence says why. */
#include "tools/src/peers/cusparse.h"

karst_status tool_cusparse_register(karst_context *context) { return context ? KARST_SUCCESS : KARST_ERROR_ARGUMENT; }

const char *tool_cusparse_missing(void)
{
  if (KARST_INDEX_BITS == 64)
    return "the preconditioner cusparse takes 32-bit indices only, and this Karst was built with --enable-int64";
  return "this build has no preconditioner cusparse: configure with --with-cusparse, on a machine with CUDA";
}
