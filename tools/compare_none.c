/* compare_none.c - stands in for the command compare in a build without jansson, for its results are JSON. */
#include "common.h"

int main(int argc, char *argv[])
{
  (void)argc;
  tool_start(argv[0]);
  return tool_finish(tool_fail(TOOL_FAILED, "compare needs jansson, and this build has none"));
}
