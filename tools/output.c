/* output.c - see output.h. What is asked here is what the library will do: it follows links, replaces a file that it
 * may write to, in a folder that takes no new files in its place, and makes a new one beside others. The tools have
 * only what karst.h declares, so folder_length and follow_links are twins of those in format/place.c. */
#include "output.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes of the folder in a path, with its slash. */
static size_t folder_length(const char *path)
{
  const char *slash = strrchr(path, '/');
  return slash ? (size_t)(slash + 1 - path) : 0;
}

/* The path that links lead to, be it there or not. The caller frees it; NULL with errno. */
static char *follow_links(const char *path)
{
  const int most = 40;
  char link[PATH_MAX], *target = strdup(path);
  for (int i = 0; target && i < most; i++) {
    ssize_t length = readlink(target, link, sizeof link);
    if (length < 0) return target;
    size_t folder = link[0] == '/' ? 0 : folder_length(target);
    char *next = malloc(folder + (size_t)length + 1);
    if (next) sprintf(next, "%.*s%.*s", (int)folder, target, (int)length, link);
    free(target);
    target = next;
  }
  errno = target ? ELOOP : ENOMEM;
  free(target);
  return NULL;
}

/* The folder that a path is in, links followed. The caller frees it; NULL with errno. */
static char *folder_of(const char *path)
{
  char *target = follow_links(path);
  if (!target) return NULL;
  size_t length = folder_length(target);
  if (length > 0)
    target[length] = '\0';
  else
    strcpy(target, "."); /* it has a name, or the path would be empty */
  return target;
}

static bool is_folder_open(const char *path)
{
  char *folder = folder_of(path);
  bool open = folder && access(folder, W_OK | X_OK) == 0;
  int error = errno;
  free(folder);
  errno = error;
  return open;
}

int tool_check_output(const char *path)
{
  struct stat file;
  errno = ENOENT;
  bool exists = *path && stat(path, &file) == 0, open = false;
  if (exists && S_ISDIR(file.st_mode))
    errno = EISDIR;
  else if (exists)
    open = access(path, W_OK) == 0;
  else if (*path && errno == ENOENT)
    open = is_folder_open(path);
  return open ? TOOL_GO_ON : tool_fail(TOOL_FAILED, "%s: %s", path, strerror(errno));
}

/* Whether two files that are not there would have one name in one folder. */
static bool same_place(const char *a, const char *b)
{
  struct stat x, y;
  char *target_a = follow_links(a), *target_b = follow_links(b), *folder_a = folder_of(a), *folder_b = folder_of(b);
  bool same = target_a && target_b && folder_a && folder_b &&
              strcmp(target_a + folder_length(target_a), target_b + folder_length(target_b)) == 0 &&
              stat(folder_a, &x) == 0 && stat(folder_b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
  free(target_a);
  free(target_b);
  free(folder_a);
  free(folder_b);
  return same;
}

bool tool_same_file(const char *a, const char *b)
{
  struct stat x, y;
  bool has_a = stat(a, &x) == 0, has_b = stat(b, &y) == 0;
  if (has_a && has_b) return S_ISREG(x.st_mode) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
  return !has_a && !has_b && same_place(a, b);
}
