/* output.c - checks and replaces output files; see output.h. The checks mirror what the library does. It follows links,
 * and replaces a file that it may write to, in place if it has several names or the folder takes no new files. A new
 * file needs a folder that takes one. The tools use only what karst.h declares, so that they repeat folder_length and
 * follow_links of format/place.c. */
#include "output.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns the length of the folder part of a path, with its slash. */
static size_t folder_length(const char *path)
{
  const char *slash = strrchr(path, '/');
  return slash ? (size_t)(slash + 1 - path) : 0;
}

/* Returns the path that links lead to, whether it exists or not. The caller frees it; it is NULL with errno set on
 * failure. */
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

/* Returns the folder of a path after following links. The caller frees it; it is NULL with errno set on failure. */
static char *folder_of(const char *path)
{
  char *target = follow_links(path);
  if (!target) return NULL;
  size_t length = folder_length(target);
  if (length > 0)
    target[length] = '\0';
  else
    strcpy(target, "."); /* target is a name in this folder, because the path is not empty */
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

/* Returns whether two files that do not exist would have the same name in the same folder. */
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

static bool copy(FILE *from, FILE *to)
{
  char bytes[1 << 14];
  size_t count;
  bool lost = false;
  rewind(from);
  while (!lost && (count = fread(bytes, 1, sizeof bytes, from)) > 0) lost = fwrite(bytes, 1, count, to) < count;
  return !lost && !ferror(from);
}

/* The permissions of a file that takes the place of another, or of none. */
static mode_t mode_of(const char *path)
{
  struct stat file;
  const mode_t mask = umask(0);
  umask(mask);
  return stat(path, &file) == 0 ? file.st_mode & 07777 : 0666 & ~mask;
}

char *tool_draft(const char *path)
{
  static const char ending[] = ".XXXXXX";
  struct stat file;
  errno = 0;
  if (stat(path, &file) == 0 && !(S_ISREG(file.st_mode) && file.st_nlink == 1)) return NULL;
  char *target = follow_links(path), *draft = target ? malloc(strlen(target) + sizeof ending) : NULL;
  if (draft) sprintf(draft, "%s%s", target, ending);
  const int descriptor = draft ? mkstemp(draft) : -1;
  const bool made = descriptor >= 0 && fchmod(descriptor, mode_of(path)) == 0;
  const int error = made || errno == EACCES || errno == EPERM || errno == EROFS || errno == ENAMETOOLONG ? 0 : errno;
  if (descriptor >= 0) close(descriptor);
  if (descriptor >= 0 && !made) unlink(draft);
  free(target);
  errno = error;
  if (made) return draft;
  free(draft);
  errno = error;
  return NULL;
}

bool tool_draft_place(const char *draft, const char *path)
{
  char *target = follow_links(path);
  const bool done = target && rename(draft, target) == 0;
  const int error = errno;
  free(target);
  errno = error;
  return done;
}

/* Writes the content into the file of this name itself. */
static bool fill(FILE *content, const char *path)
{
  FILE *file = fopen(path, "wb");
  if (!file) return false;
  errno = 0;
  const bool copied = copy(content, file);
  return fclose(file) == 0 && copied;
}

int tool_write_whole(FILE *content, const char *path)
{
  char *draft = tool_draft(path);
  bool done = false;
  if (draft) {
    done = fill(content, draft) && tool_draft_place(draft, path);
    const int error = errno;
    if (!done) unlink(draft);
    free(draft);
    errno = error;
    if (!done && (error == EPERM || error == EACCES)) done = fill(content, path); /* another's, in a sticky folder */
  } else if (errno == 0) {
    done = fill(content, path);
  }
  return done ? TOOL_GO_ON : tool_fail(TOOL_FAILED, "%s: %s", path, errno ? strerror(errno) : "writing failed");
}
