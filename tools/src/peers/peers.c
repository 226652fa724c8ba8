/* peers.c - see peers.h. */
#include "tools/src/peers/peers.h"
#include "tools/src/peers/cusparse.h"
#include "tools/src/peers/hypre.h"

#include <stdbool.h>
#include <string.h>

karst_status tool_peers_register(karst_context *context)
{
  const karst_status status = tool_cusparse_register(context);
  return status ? status : tool_hypre_register(context);
}

/* Whether the option, or the last part of a name such as first.second, takes a preconditioner. */
static bool takes_precond(const char *option)
{
  const char *point = strrchr(option, '.'), *name = point ? point + 1 : option;
  karst_option_info known;
  for (size_t i = 0; karst_options_info(NULL, i, &known); i++)
    if (known.kind == KARST_OPTION_PRECOND && strcmp(name, known.name) == 0) return true;
  return strcmp(name, "precond") == 0;
}

const char *tool_peers_explain(const char *option, const char *value)
{
  if (!takes_precond(option)) return NULL;
  if (strcmp(value, "cusparse") == 0) return tool_cusparse_missing();
  return strcmp(value, "hypre") == 0 ? tool_hypre_missing() : NULL;
}
