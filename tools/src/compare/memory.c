/* memory.c - reads sizes of memory, and finds how much is free: what Linux calls available, or what the control group
 * of this process leaves if that is less. */
#include "tools/src/compare/compare.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool compare_read_size(const char *text, int64_t *bytes)
{
  static const char units[] = "KMGT";
  char *end;
  if (!isdigit((unsigned char)*text)) return false;
  double size = strtod(text, &end);
  const char *unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
  if (unit) {
    end++;
    size = ldexp(size, 10 * (int)(unit - units + 1));
    if (strcmp(end, "B") == 0 || strcmp(end, "iB") == 0) end += strlen(end);
  }
  if (text[strspn(text, "0123456789.")] && !unit) return false;
  if (*end || !(size >= 1) || size >= 0x1p62) return false;
  *bytes = (int64_t)size;
  return true;
}

/* The first number of a file, behind a word where there is one, or INT64_MAX. */
static int64_t read_number(const char *path, const char *word)
{
  char line[256];
  int64_t number = INT64_MAX;
  FILE *file = fopen(path, "r");
  const size_t length = strlen(word);
  while (file && number == INT64_MAX && fgets(line, sizeof line, file)) {
    char *end;
    if (strncmp(line, word, length) != 0) continue;
    const long long value = strtoll(line + length, &end, 10);
    if (end != line + length && value >= 0) number = value;
  }
  if (file) fclose(file);
  return number;
}

int64_t compare_memory_free(void)
{
  static const char *const groups[][2] = {
      {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"},
      {"/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"}};
  const int64_t available = read_number("/proc/meminfo", "MemAvailable:");
  int64_t least = available < INT64_MAX / 1024 ? 1024 * available : INT64_MAX;
  for (int i = 0; i < 2; i++) {
    const int64_t most = read_number(groups[i][0], ""), used = read_number(groups[i][1], "");
    if (most == INT64_MAX || used == INT64_MAX) continue;
    const int64_t left = most > used ? most - used : 0;
    if (left < least) least = left;
  }
  return least;
}
