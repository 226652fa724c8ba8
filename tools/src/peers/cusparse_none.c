/* cusparse_none.c - replaces the preconditioner cusparse in a build without cuSPARSE: it is in no list, and a
 * sentence says why. */
#include "tools/src/peers/cusparse.h"

#include <stdbool.h>
#include <string.h>

karst_status tool_cusparse_register(karst_context *context) { return context ? KARST_SUCCESS : KARST_ERROR_ARGUMENT; }

/* Whether the option, or the last part of a name such as first.second, takes a preconditioner. */
static bool takes_precond(const char *option)
{
  const char *point = strrchr(option, '.'), *name = point ? point + 1 : option;
  karst_option_info known;
  for (size_t i = 0; karst_options_info(NULL, i, &known); i++)
    if (known.kind == KARST_OPTION_PRECOND && strcmp(name, known.name) == 0) return true;
  return strcmp(name, "precond") == 0;
}

const char *tool_cusparse_explain(const char *option, const char *value)
{
  if (!takes_precond(option) || strcmp(value, "cusparse") != 0) return NULL;
  if (KARST_INDEX_BITS == 64)
    return "the preconditioner cusparse takes 32-bit indices only, and this Karst was built with --enable-int64";
  return "this build has no preconditioner cusparse: configure with --with-cusparse, on a machine with CUDA";
}
