/* processors.c - counts the processors that the process may use: those of its affinity mask, limited by the quotas of
 * its control group and of the groups around it (Linux: man 7 cgroups). cpu.max of version 2 holds "QUOTA PERIOD" or
 * "max PERIOD"; cpu.cfs_quota_us of version 1 is -1 if there is no quota. */
#define _GNU_SOURCE /* the affinity mask; NOLINT(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */
#include "config.h"

#include "lib/base/processors.h"

#include "karst.h"

#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GROUP_PATH = 4096 }; /* bytes of a folder's name */

/* Counts the processors of the affinity mask; 0 if it cannot be read. */
static int count_affinity(void)
{
#ifdef CPU_COUNT
  enum { SETS = 16 }; /* 16384 processors; the system refuses a mask shorter than its own */
  cpu_set_t mask[SETS];
  if (sched_getaffinity(0, sizeof mask, mask) == 0) return CPU_COUNT_S(sizeof mask, mask);
#endif
  return 0;
}

/* Reads the text of a small file, cut to size; returns false if it cannot be read. */
static bool read_text(const char *path, size_t size, char *text)
{
  size_t length = 0;
  ssize_t got = 1;
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  while (length + 1 < size && (got = read(file, text + length, size - 1 - length)) > 0) length += (size_t)got;
  close(file);
  text[length] = '\0';
  return got >= 0;
}

static bool read_file(const char *folder, const char *name, size_t size, char *text)
{
  char path[GROUP_PATH + 32];
  int length = snprintf(path, sizeof path, "%s/%s", folder, name);
  return length > 0 && (size_t)length < sizeof path && read_text(path, size, text);
}

/* Returns the quota of one group, in processors; 0 if it has none. */
static double read_quota(const char *folder)
{
  char text[64], *end;
  double quota, period;
  if (read_file(folder, "cpu.max", sizeof text, text)) {
    quota = strtod(text, &end);
    period = strtod(end, NULL);
  } else {
    if (!read_file(folder, "cpu.cfs_quota_us", sizeof text, text)) return 0;
    quota = strtod(text, NULL);
    if (!read_file(folder, "cpu.cfs_period_us", sizeof text, text)) return 0;
    period = strtod(text, NULL);
  }
  return quota > 0 && period > 0 ? quota / period : 0;
}

/* Returns the least quota, in processors, of a group and of those around it, whose folders are ROOT/GROUP and its
 * parents up to ROOT; 0 without a quota. group: "" or "/A/B". */
static double group_quota(const char *root, const char *group)
{
  char folder[GROUP_PATH];
  double least = 0;
  const size_t stem = strlen(root);
  int length = snprintf(folder, sizeof folder, "%s%s", root, group);
  if (length < 0 || (size_t)length >= sizeof folder) return 0;
  for (;;) {
    double quota = read_quota(folder);
    if (quota > 0 && (least == 0 || quota < least)) least = quota;
    char *slash = strlen(folder) > stem ? strrchr(folder + stem, '/') : NULL;
    if (!slash) return least;
    *slash = '\0';
  }
}

/* Returns whether a comma-separated list contains the word "cpu". */
static bool lists_cpu(const char *list)
{
  for (const char *word = list; word; word = strchr(word, ',')) {
    word += *word == ',';
    if (strncmp(word, "cpu", 3) == 0 && (word[3] == ',' || word[3] == '\0')) return true;
  }
  return false;
}

double karst_groups_quota(const char *root, char *groups)
{
  double least = 0;
  char *rest = NULL;
  for (char *line = strtok_r(groups, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
    char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
    char mounted[GROUP_PATH];
    if (!group) continue;
    *group++ = '\0';
    const bool unified = *++controllers == '\0';
    if (!unified && !lists_cpu(controllers)) continue;
    snprintf(mounted, sizeof mounted, "%s%s%s", root, unified ? "" : "/", controllers);
    double quota = group_quota(mounted, group);
    if (quota > 0 && (least == 0 || quota < least)) least = quota;
  }
  return least;
}

int karst_processors(void)
{
  char groups[8192];
  long processors = count_affinity();
  if (processors < 1) processors = sysconf(_SC_NPROCESSORS_ONLN);
  double quota =
      read_text("/proc/self/cgroup", sizeof groups, groups) ? karst_groups_quota("/sys/fs/cgroup", groups) : 0;
  if (quota > 0 && quota < (double)processors) processors = (long)quota; /* part of one would make threads wait */
  return processors > 1 ? (int)processors : 1;
}
