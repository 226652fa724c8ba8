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
 * where the sticky bit (as in /tmp) lets only owners replace them. tools/output.c repeats folder_length and
 * follow_links; a change here must be made there too. */
#define _GNU_SOURCE /* NOLINT(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): for O_TMPFILE */
#include "config.h"

#include "format.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAMES = 100 }; /* temporary names tried: other threads and killed processes may have taken some */

struct karst_place {
  enum {
    DIRECT,   /* the target itself, which exists already */
    CREATED,  /* the target itself, newly created */
    NAMELESS, /* a file without a name */
    NAMED     /* a file with the name in temporary */
  } kind;
  bool replaces;         /* the target exists already */
  char target[PATH_MAX]; /* the path with links followed */
  char temporary[PATH_MAX];
};

static karst_status fail_create(const karst_output *output)
{
  return karst_fail(output->context, KARST_ERROR_FILE, "%s cannot be created: %s", output->path, strerror(errno));
}

/* Returns the length of the folder part of a path, with its slash; 0 if the path has none. */
static size_t folder_length(const char *path)
{
  const char *slash = strrchr(path, '/');
  return slash ? (size_t)(slash + 1 - path) : 0;
}

/* Replaces target by what it links to until it is no link; returns false with errno set if that fails. */
static bool follow_links(char target[PATH_MAX])
{
  const int most = 40; /* as in Linux */
  char link[PATH_MAX];
  for (int i = 0; i < most; i++) {
    ssize_t length = readlink(target, link, sizeof link);
    if (length < 0) return true; /* target is no link, or does not exist */
    size_t folder = link[0] == '/' ? 0 : folder_length(target);
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

/* Copies the folder of the target. The result can be one byte longer than the longest path, if that ends with a
 * slash. */
static void name_folder(const struct karst_place *place, char folder[PATH_MAX + 1])
{
  size_t length = folder_length(place->target);
  memcpy(folder, place->target, length);
  memcpy(folder + length, ".", 2);
}

/* Returns whether the target, which exists, may be replaced only by another user. */
static bool is_sticky(const struct karst_place *place, const struct stat *old)
{
  char name[PATH_MAX + 1];
  struct stat folder;
  name_folder(place, name);
  return stat(name, &folder) == 0 && (folder.st_mode & S_ISVTX) && folder.st_uid != geteuid() &&
         old->st_uid != geteuid();
}

#ifdef O_TMPFILE
static int open_nameless(struct karst_place *place)
{
  char name[64], folder[PATH_MAX + 1];
  name_folder(place, folder);
  int file = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  if (file < 0) return -1;
  name_descriptor(name, file);
  if (access(name, F_OK) == 0) return file;
  close(file); /* without /proc the file could never get a name */
  return -1;
}
#else
static int open_nameless(struct karst_place *place)
{
  (void)place;
  return -1;
}
#endif

/* Opens a new file in the target's folder; returns -1 with errno set if that is not possible. */
static int open_beside(struct karst_place *place)
{
  int file = open_nameless(place);
  place->kind = NAMELESS;
  if (file >= 0) return file;
  place->kind = NAMED;
  for (int i = 0; i < NAMES; i++) {
    if (!name_temporary(place, i)) return -1;
    file = open(place->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file >= 0 || errno != EEXIST) return file;
  }
  return -1;
}

/* Opens the target itself. */
static int open_direct(struct karst_place *place)
{
  place->kind = place->replaces ? DIRECT : CREATED;
  return open(place->target, O_WRONLY | O_CLOEXEC | (place->replaces ? O_TRUNC : O_CREAT | O_EXCL), 0666);
}

karst_status karst_place_open(karst_output *output)
{
  struct stat old;
  output->file = -1;
  karst_status status = karst_allocate_zero(output->context, &output->place, 1, sizeof *output->place, "a path");
  if (status) return status;
  struct karst_place *place = output->place;
  errno = *output->path ? ENAMETOOLONG : ENOENT;
  size_t length = strlen(output->path);
  if (length == 0 || length >= sizeof place->target) return fail_create(output);
  memcpy(place->target, output->path, length + 1);
  if (!follow_links(place->target)) return fail_create(output);
  place->replaces = stat(place->target, &old) == 0;
  if (!place->replaces && errno != ENOENT) return fail_create(output);
  bool regular = place->replaces && S_ISREG(old.st_mode);
  if (regular && access(place->target, W_OK) != 0) return fail_create(output);
  if (!place->replaces || (regular && old.st_nlink == 1 && !is_sticky(place, &old))) {
    output->file = open_beside(place);
    bool refused = errno == EACCES || errno == EPERM || errno == EROFS || errno == ENAMETOOLONG;
    if (output->file < 0 && !refused) return fail_create(output);
  }
  if (output->file < 0) output->file = open_direct(place);
  if (output->file < 0) return fail_create(output);
  bool beside = place->kind == NAMELESS || place->kind == NAMED;
  if (beside && regular && fchmod(output->file, old.st_mode & 0777) != 0) return fail_create(output);
  return KARST_SUCCESS;
}

/* Gives a file without a name the target's name, or a temporary name if the target exists. */
static bool name_nameless(struct karst_place *place, int file)
{
  char name[64];
  name_descriptor(name, file);
  if (!place->replaces && linkat(AT_FDCWD, name, AT_FDCWD, place->target, AT_SYMLINK_FOLLOW) == 0) {
    place->kind = CREATED;
    return true;
  }
  for (int i = 0; i < NAMES; i++) {
    if (!name_temporary(place, i)) return false;
    if (linkat(AT_FDCWD, name, AT_FDCWD, place->temporary, AT_SYMLINK_FOLLOW) == 0) {
      place->kind = NAMED;
      return true;
    }
    if (errno != EEXIST) return false;
  }
  return false;
}

karst_status karst_place_close(karst_output *output, karst_status status)
{
  struct karst_place *place = output->place;
  if (!place || output->file < 0) return status;
  if (!status && place->kind == NAMELESS && !name_nameless(place, output->file)) status = fail_create(output);
  if (close(output->file) != 0 && !status)
    status = karst_fail(output->context, KARST_ERROR_FILE, "%s cannot be written: %s", output->path, strerror(errno));
  if (!status && place->kind == NAMED && rename(place->temporary, place->target) != 0) status = fail_create(output);
  if (status && place->kind == NAMED) unlink(place->temporary);
  if (status && place->kind == CREATED) unlink(place->target);
  return status;
}
