/* path.c - the parts of a file's name; see path.h. */
#include "support/path.h"

#include <string.h>

size_t karst_unpacked_length(const char *path)
{
  static const char *const endings[] = {".gz", ".xz", ".zst", ".bz2"};
  const size_t length = strlen(path);
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
    const size_t tail = strlen(endings[i]);
    if (length >= tail && strcmp(path + length - tail, endings[i]) == 0) return length - tail;
  }
  return length;
}

size_t karst_stem_length(const char *path)
{
  const size_t length = karst_unpacked_length(path);
  for (size_t i = length; i > 0 && path[i - 1] != '/'; i--)
    if (path[i - 1] == '.') return i - 1;
  return length;
}
