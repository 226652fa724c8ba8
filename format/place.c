/* place.c - where a file is written until it is whole.
 *
 * A new file, or one that takes the place of a regular file, is written beside that place and gets its name at the end,
 * so that a failure leaves the folder as it was. Until then it has no name at all where the file system can do that
 * (Linux, O_TMPFILE): nothing is left of it when the process dies. Only to replace a file it has a name of its own for
 * the moment between linkat and rename, a window of microseconds. On file systems without nameless files (NFS among
 * them) it has that name all the time, and a process that dies leaves it behind.
 *
 * Links are followed, also to a file that is not there yet. Written to in their place are devices and pipes, files of
 * several names, which would cease to be one file, and files in folders that take no others, or, with the sticky bit as
 * /tmp, let only owners replace them. tools/output.c has its twins of folder_length and follow_links: what one finds
 * there must hold here. */
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

enum { NAMES = 100 }; /* tried: other threads write to the same folder, and killed processes leave files */

struct karst_place {
  enum {
    DIRECT,   /* the target itself, which was there before */
    CREATED,  /* the target itself, made for this */
    NAMELESS, /* a file without a name */
    NAMED     /* a file called temporary */
  } kind;
  bool replaces;         /* the target was there before */
  char target[PATH_MAX]; /* the path, links followed */
  char temporary[PATH_MAX];
};

static karst_status fail_create(const karst_output *output)
{
  return karst_fail(output->context, KARST_ERROR_FILE, "%s cannot be created: %s", output->path, strerror(errno));
}

/* Bytes of the folder in a path, with its slash; 0 for the folder of the process. */
static size_t folder_length(const char *path)
{
  const char *slash = strrchr(path, '/');
  return slash ? (size_t)(slash + 1 - path) : 0;
}

/* Replaces the target by what it is a link to, and so on; false with errno where that leads nowhere. */
static bool follow_links(char target[PATH_MAX])
{
  const int most = 40; /* as Linux has it */
  char link[PATH_MAX];
  for (int i = 0; i < most; i++) {
    ssize_t length = readlink(target, link, sizeof link);
    if (length < 0) return true; /* no link, or nothing there */
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

/* Number i of the names in the target's folder that the new file may have until it is whole; shorter than most. */
static bool name_temporary(struct karst_place *place, int i)
{
  int folder = (int)folder_length(place->target);
  int length = snprintf(place->temporary, sizeof place->temporary, "%.*s.karst-%lld-%d", folder, place->target,
                        (long long)getpid(), i);
  if (length >= 0 && (size_t)length < sizeof place->temporary) return true;
  errno = ENAMETOOLONG;
  return false;
}

/* The name by which a file without one can be linked. */
static void name_descriptor(char name[64], int file) { snprintf(name, 64, "/proc/self/fd/%d", file); }

/* The folder of the target; one byte longer than a path where the target has the longest and ends with a slash. */
static void name_folder(const struct karst_place *place, char folder[PATH_MAX + 1])
{
  size_t length = folder_length(place->target);
  memcpy(folder, place->target, length);
  memcpy(folder + length, ".", 2);
}

/* Whether the target, which is there, may be replaced only by another user. */
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
  close(file); /* there is no /proc, without which it would never have a name */
  return -1;
}
#else
static int open_nameless(struct karst_place *place)
{
  (void)place;
  return -1;
}
#endif

/* A new file in the target's folder; -1 with errno where that takes none. */
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

/* The target itself. */
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

/* Gives a file without a name the target's or, where there is a file of that name, a temporary one. */
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
