/* place.c - chooses where a file is written until it is complete.
 *
 * A new file, or one that replaces a regular file, is written in the target's folder and gets its name at the end, so
 * that a failure leaves the folder as it was. Until then it has no name where the file system allows that (Linux,
 * O_TMPFILE), and nothing is left of it if the process dies. To replace a file, it has a temporary name for the
 * microseconds between linkat and rename. On file systems without nameless files, such as NFS, it has the temporary
 * name all the time, and a process that dies leaves it behind.
 *
 * Links are followed, also to a file that does not exist yet. Some targets are written in place: devices and pipes;
 * files with several hard links, which would otherwise separate; and files in folders where no file can be created, or
 * where the sticky bit (as in /tmp) lets only owners replace them. A descriptor of this process (/dev/stdout,
 * /dev/fd/N, /proc/self/fd/N) is written at its current position, whatever file it refers to. */
#define _GNU_SOURCE /* NOLINT(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): for O_TMPFILE */
#include "support/place.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAMES = 100 }; /* temporary names tried: other threads and killed processes may have taken some */

/* What a path refers to. */
enum target { FILE_TARGET, OWN_DESCRIPTOR, FOREIGN_DESCRIPTOR };

/* Returns the length of the folder part of a path, with its slash; 0 if the path has none. */
static size_t folder_length(const char *path)
{
  const char *slash = strrchr(path, '/');
  return slash ? (size_t)(slash + 1 - path) : 0;
}

/* Copies the folder of a path. The result can be one byte longer than the longest path, if that ends with a slash. */
static void name_folder(const char *path, char folder[PATH_MAX + 1])
{
  const size_t length = folder_length(path);
  memcpy(folder, path, length);
  memcpy(folder + length, ".", 2);
}

/* Returns the number that text is, or -1. */
static int number_of(const char *text)
{
  const size_t length = strlen(text), most = 9; /* digits that an int holds in any case */
  return length > 0 && length <= most && strspn(text, "0123456789") == length ? atoi(text) : -1;
}

/* Returns whether a path is that of a descriptor. Its link must not be followed: it may refer to a file that was opened
 * to append to it, or to a pipe without a name. */
static enum target kind_of(const char *path)
{
  static const char descriptors[] = "/fd";
  char folder[PATH_MAX + 1], real[PATH_MAX], own[PATH_MAX];
  if (number_of(path + folder_length(path)) < 0) return FILE_TARGET;
  name_folder(path, folder);
  if (!realpath(folder, real) || !realpath("/dev/fd", own)) return FILE_TARGET;
  const size_t tail = sizeof descriptors - 1, length = strlen(real);
  const bool process =
      strncmp(real, "/proc/", 6) == 0 && length > tail && strcmp(real + length - tail, descriptors) == 0;
  if (!process) return strcmp(real, own) == 0 ? OWN_DESCRIPTOR : FILE_TARGET;
  /* Those of a thread, /proc/PID/task/TID/fd, are those of its process, /proc/PID/fd. */
  return strncmp(real, own, strlen(own) - strlen("fd")) == 0 ? OWN_DESCRIPTOR : FOREIGN_DESCRIPTOR;
}

/* Follows the links of target until it is a descriptor or no link; returns false with errno set if that fails. */
static bool follow_links(char target[PATH_MAX], enum target *kind)
{
  const int most = 40; /* as in Linux */
  char link[PATH_MAX];
  for (int i = 0; i < most; i++) {
    *kind = kind_of(target);
    if (*kind != FILE_TARGET) return true;
    const ssize_t length = readlink(target, link, sizeof link);
    if (length < 0) return true; /* target is no link, or does not exist */
    const size_t folder = link[0] == '/' ? 0 : folder_length(target);
    if (folder + (size_t)length >= PATH_MAX) {
      errno = ENAMETOOLONG;
      return false;
    }
    memcpy(target + folder, link, (size_t)length);
    target[folder + (size_t)length] = '\0';
  }
  errno = ELOOP;
  return false;
}

/* Copies path to target and follows its links. */
static bool resolve(const char *path, char target[PATH_MAX], enum target *kind)
{
  const size_t length = strlen(path);
  errno = length ? ENAMETOOLONG : ENOENT;
  if (length == 0 || length >= PATH_MAX) return false;
  memcpy(target, path, length + 1);
  return follow_links(target, kind);
}

/* Returns the descriptor that a path of kind OWN_DESCRIPTOR names, if it is open for writing; else -1 with errno. */
static int own_descriptor(const char *target)
{
  const int file = number_of(target + folder_length(target)), flags = fcntl(file, F_GETFL);
  if (flags >= 0 && (flags & O_ACCMODE) != O_RDONLY) return file;
  errno = EBADF;
  return -1;
}

/* Opens a target that exists, to write to it in place. */
static int open_direct(const char *target, enum target kind)
{
  const int own = kind == OWN_DESCRIPTOR ? own_descriptor(target) : -1;
  if (kind == OWN_DESCRIPTOR) return own < 0 ? -1 : fcntl(own, F_DUPFD_CLOEXEC, 0);
  return open(target, O_WRONLY | O_CLOEXEC | O_NOCTTY | (kind == FOREIGN_DESCRIPTOR ? O_APPEND : O_TRUNC));
}

/* Makes temporary name number i for the new file, in the target's folder; false with errno set if it is too long. */
static bool name_temporary(struct karst_place *place, int i)
{
  int folder = (int)folder_length(place->target);
  int length = snprintf(place->temporary, sizeof place->temporary, "%.*s.karst-%lld-%d", folder, place->target,
                        (long long)getpid(), i);
  if (length >= 0 && (size_t)length < sizeof place->temporary) return true;
  errno = ENAMETOOLONG;
  return false;
}

/* Writes the name by which a file without a name can be linked. */
static void name_descriptor(char name[64], int file) { snprintf(name, 64, "/proc/self/fd/%d", file); }

/* Returns whether the target, which exists, may be replaced only by another user. */
static bool is_sticky(const char *target, const struct stat *old)
{
  char name[PATH_MAX + 1];
  struct stat folder;
  name_folder(target, name);
  return stat(name, &folder) == 0 && (folder.st_mode & S_ISVTX) && folder.st_uid != geteuid() &&
         old->st_uid != geteuid();
}

#ifdef O_TMPFILE
static int open_nameless(const struct karst_place *place)
{
  char name[64], folder[PATH_MAX + 1];
  name_folder(place->target, folder);
  int file = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  if (file < 0) return -1;
  name_descriptor(name, file);
  if (access(name, F_OK) == 0) return file;
  close(file); /* without /proc the file could never get a name */
  return -1;
}
#else
static int open_nameless(const struct karst_place *place)
{
  (void)place;
  return -1;
}
#endif

/* Opens a new file in the target's folder; returns -1 with errno set if that is not possible. */
static int open_beside(struct karst_place *place)
{
  int file = open_nameless(place);
  place->kind = KARST_PLACE_NAMELESS;
  if (file >= 0) return file;
  place->kind = KARST_PLACE_NAMED;
  for (int i = 0; i < NAMES; i++) {
    if (!name_temporary(place, i)) return -1;
    file = open(place->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file >= 0 || errno != EEXIST) return file;
  }
  return -1;
}

/* Gives the new file the permissions of the old one, and its owner and group if this user may do so. */
static bool take_over(int file, const struct stat *old)
{
  struct stat made;
  if (fstat(file, &made) != 0) return false;
  const bool owned = made.st_uid == old->st_uid && made.st_gid == old->st_gid;
  if (!owned && fchown(file, old->st_uid, old->st_gid) != 0 && fchown(file, (uid_t)-1, old->st_gid) != 0) errno = 0;
  return (made.st_mode & 0777) == (old->st_mode & 0777) || fchmod(file, old->st_mode & 0777) == 0;
}

/* Follows the links of path and opens a draft, as karst_place_draft does. */
static bool begin(struct karst_place *place, const char *path, enum target *kind)
{
  struct stat old;
  *place = (struct karst_place){.file = -1};
  if (!resolve(path, place->target, kind)) return false;
  place->replaces = *kind != FILE_TARGET || stat(place->target, &old) == 0;
  if (!place->replaces && errno != ENOENT) return false;
  const bool regular = *kind == FILE_TARGET && place->replaces && S_ISREG(old.st_mode);
  if (regular && access(place->target, W_OK) != 0) return false;
  errno = 0;
  if (place->replaces && (!regular || old.st_nlink > 1 || is_sticky(place->target, &old))) return false;
  place->file = open_beside(place);
  if (place->file < 0 && (errno == EACCES || errno == EPERM || errno == EROFS || errno == ENAMETOOLONG)) errno = 0;
  if (place->file < 0 || !regular || take_over(place->file, &old)) return place->file >= 0;
  const int error = errno;
  karst_place_close(place, false);
  errno = error;
  return false;
}

bool karst_place_draft(struct karst_place *place, const char *path)
{
  enum target kind;
  return begin(place, path, &kind);
}

bool karst_place_open(struct karst_place *place, const char *path)
{
  enum target kind;
  if (begin(place, path, &kind)) return true;
  if (errno != 0) return false;
  place->kind = place->replaces ? KARST_PLACE_DIRECT : KARST_PLACE_CREATED;
  place->file = place->replaces ? open_direct(place->target, kind)
                                : open(place->target, O_WRONLY | O_CLOEXEC | O_CREAT | O_EXCL, 0666);
  return place->file >= 0;
}

int karst_place_open_itself(const char *path)
{
  char target[PATH_MAX];
  enum target kind;
  if (!resolve(path, target, &kind)) return -1;
  return kind == FILE_TARGET ? open(path, O_WRONLY | O_CLOEXEC | O_CREAT | O_TRUNC, 0666) : open_direct(target, kind);
}

void karst_place_name_draft(const struct karst_place *place, char name[PATH_MAX])
{
  if (place->kind == KARST_PLACE_NAMED)
    strcpy(name, place->temporary);
  else
    snprintf(name, PATH_MAX, "/dev/fd/%d", place->file);
}

/* Gives a file without a name the target's name, or a temporary name if the target exists. */
static bool name_nameless(struct karst_place *place)
{
  char name[64];
  name_descriptor(name, place->file);
  if (!place->replaces && linkat(AT_FDCWD, name, AT_FDCWD, place->target, AT_SYMLINK_FOLLOW) == 0) {
    place->kind = KARST_PLACE_CREATED;
    return true;
  }
  for (int i = 0; i < NAMES; i++) {
    if (!name_temporary(place, i)) return false;
    if (linkat(AT_FDCWD, name, AT_FDCWD, place->temporary, AT_SYMLINK_FOLLOW) == 0) {
      place->kind = KARST_PLACE_NAMED;
      return true;
    }
    if (errno != EEXIST) return false;
  }
  return false;
}

const char *karst_place_close(struct karst_place *place, bool keep)
{
  static const char not_created[] = "cannot be created", not_written[] = "cannot be written";
  const char *fault = NULL;
  if (place->file < 0) return NULL;
  if (keep && place->kind == KARST_PLACE_NAMELESS && !name_nameless(place)) fault = not_created;
  int error = errno;
  if (close(place->file) != 0 && keep && !fault) {
    fault = not_written;
    error = errno;
  }
  place->file = -1;
  if (keep && !fault && place->kind == KARST_PLACE_NAMED && rename(place->temporary, place->target) != 0) {
    fault = not_created;
    error = errno;
  }
  if (!keep || fault) {
    if (place->kind == KARST_PLACE_NAMED) unlink(place->temporary);
    if (place->kind == KARST_PLACE_CREATED) unlink(place->target);
  }
  errno = error;
  return fault;
}

bool karst_place_write(int file, const void *bytes, size_t count)
{
  const char *from = bytes;
  while (count > 0) {
    const ssize_t written = write(file, from, count);
    if (written < 0 && errno == EAGAIN) poll(&(struct pollfd){.fd = file, .events = POLLOUT}, 1, -1);
    if (written < 0 && errno != EINTR && errno != EAGAIN) return false;
    if (written <= 0) continue;
    from += written;
    count -= (size_t)written;
  }
  return true;
}

bool karst_place_check(const char *path)
{
  char target[PATH_MAX], folder[PATH_MAX + 1];
  enum target kind;
  struct stat file;
  if (!resolve(path, target, &kind)) return false;
  if (kind == OWN_DESCRIPTOR) return own_descriptor(target) >= 0;
  if (stat(target, &file) == 0) {
    errno = EISDIR;
    return !S_ISDIR(file.st_mode) && access(target, W_OK) == 0;
  }
  name_folder(target, folder);
  return errno == ENOENT && access(folder, W_OK | X_OK) == 0;
}

bool karst_place_is_alone(const char *path)
{
  char target[PATH_MAX];
  enum target kind;
  struct stat file;
  if (!resolve(path, target, &kind)) return false;
  return kind != FILE_TARGET || (stat(target, &file) == 0 && S_ISCHR(file.st_mode));
}

/* Returns whether two files that do not exist would have the same name in the same folder. */
static bool would_be_same(const char *a, const char *b)
{
  char target_a[PATH_MAX], target_b[PATH_MAX], folder_a[PATH_MAX + 1], folder_b[PATH_MAX + 1];
  enum target kind;
  struct stat x, y;
  if (!resolve(a, target_a, &kind) || !resolve(b, target_b, &kind)) return false;
  name_folder(target_a, folder_a);
  name_folder(target_b, folder_b);
  return strcmp(target_a + folder_length(target_a), target_b + folder_length(target_b)) == 0 &&
         stat(folder_a, &x) == 0 && stat(folder_b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

bool karst_place_same(const char *a, const char *b)
{
  struct stat x, y;
  const bool has_a = stat(a, &x) == 0, has_b = stat(b, &y) == 0;
  if (has_a && has_b) return S_ISREG(x.st_mode) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
  return !has_a && !has_b && would_be_same(a, b);
}
