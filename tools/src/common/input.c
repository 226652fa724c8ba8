/* input.c - copies inputs that can be read only once; see input.h. A file is opened several times: to find its format,
 * to read it, for the right-hand side in the same archive, and to find the line of a repeated entry. A pipe gives its
 * bytes once, so it is copied. The copy has no name, so that nothing is left behind; Linux opens it again through the
 * pipe's descriptor. */
#include "tools/src/common/input.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char descriptors[] = "/dev/fd/";

/* Returns the descriptor that a path such as /dev/fd/3 names, or -1 for any other file. */
static int descriptor_of(const char *path)
{
  long long number;
  if (strcmp(path, "/dev/stdin") == 0) return STDIN_FILENO;
  if (strncmp(path, descriptors, sizeof descriptors - 1) != 0) return -1;
  return tool_integer(path + sizeof descriptors - 1, 0, INT_MAX, &number) ? (int)number : -1;
}

/* Reads like read, but also waits if the pipe is non-blocking. */
static ssize_t read_some(int from, void *buffer, size_t size)
{
  ssize_t got;
  while ((got = read(from, buffer, size)) < 0 && (errno == EINTR || errno == EAGAIN))
    poll(&(struct pollfd){.fd = from, .events = POLLIN}, 1, -1);
  return got;
}

static bool write_all(int to, const char *buffer, ssize_t size)
{
  ssize_t put = 0;
  for (ssize_t done = 0; done < size && put >= 0; done += put) put = write(to, buffer + done, (size_t)(size - done));
  return put >= 0;
}

/* Opens a file without a name, which disappears when the program ends; returns -1 with errno set on failure. */
static int open_copy(const char *folder)
{
  char path[PATH_MAX];
  if ((size_t)snprintf(path, sizeof path, "%s/karst-XXXXXX", folder) >= sizeof path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  int file = mkstemp(path);
  if (file >= 0) unlink(path);
  return file;
}

static int fail_reading(const char *name)
{
  return tool_fail(TOOL_FAILED, "cannot read the pipe %s: %s", name, strerror(errno));
}

/* Copies all remaining bytes of the descriptor from into a file, and makes from a descriptor of this file. name: for
 * errors. */
static int keep(int from, const char *name)
{
  char buffer[1 << 16];
  const char *folder = getenv("TMPDIR");
  if (!folder || !*folder) folder = "/tmp";
  int to = open_copy(folder);
  bool written = to >= 0;
  ssize_t got = 0;
  while (written && (got = read_some(from, buffer, sizeof buffer)) > 0) written = write_all(to, buffer, got);
  int status = TOOL_GO_ON;
  if (!written)
    status = tool_fail(TOOL_FAILED, "cannot copy the pipe %s to %s: %s", name, folder, strerror(errno));
  else if (got < 0 || dup2(to, from) < 0)
    status = fail_reading(name);
  if (to >= 0) close(to);
  return status;
}

int tool_input(const char *name, const char **path)
{
  static char copies[TOOL_RENAMED_MAX][32];
  static int copied;
  struct stat file;
  *path = strcmp(name, "-") == 0 ? "/dev/stdin" : name;
  int descriptor = descriptor_of(*path);
  const int flags = descriptor == STDIN_FILENO ? fcntl(STDIN_FILENO, F_GETFL) : O_RDONLY;
  if (flags < 0 || (flags & O_ACCMODE) == O_WRONLY) return tool_fail(TOOL_FAILED, "standard input is closed");
  if (stat(*path, &file) != 0 || !(S_ISFIFO(file.st_mode) || S_ISSOCK(file.st_mode))) return TOOL_GO_ON;
  /* It is not opened again, because a pipe whose writer has finished would wait for another writer, and a pipe of
   * another user might be refused. */
  if (descriptor >= 0) return keep(descriptor, *path);
  descriptor = open(*path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return fail_reading(*path);
  int status = keep(descriptor, *path);
  if (status != TOOL_GO_ON || copied == TOOL_RENAMED_MAX) return status;
  snprintf(copies[copied], sizeof copies[copied], "%s%d", descriptors, descriptor);
  tool_rename(copies[copied], name);
  *path = copies[copied++];
  return TOOL_GO_ON;
}
