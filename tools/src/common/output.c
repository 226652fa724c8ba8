/* output.c - checks and writes output files; see output.h. */
#include "tools/src/common/output.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

int tool_check_output(const char *path)
{
  return karst_place_check(path) ? TOOL_GO_ON : tool_fail(TOOL_FAILED, "%s: %s", path, strerror(errno));
}

/* Copies a file from its begin to a descriptor. */
static bool copy(FILE *from, int to)
{
  char bytes[1 << 14];
  size_t count;
  bool written = true;
  rewind(from);
  errno = 0;
  while (written && (count = fread(bytes, 1, sizeof bytes, from)) > 0) written = karst_place_write(to, bytes, count);
  return written && !ferror(from);
}

int tool_write_whole(FILE *content, const char *path)
{
  struct karst_place place;
  fflush(stdout);
  if (!karst_place_open(&place, path)) return tool_fail(TOOL_FAILED, "%s: %s", path, strerror(errno));
  const bool copied = copy(content, place.file);
  const int error = errno;
  const char *fault = karst_place_close(&place, copied);
  if (copied && !fault) return TOOL_GO_ON;
  if (!copied) errno = error;
  return tool_fail(TOOL_FAILED, "%s: %s", path, errno ? strerror(errno) : "writing failed");
}
