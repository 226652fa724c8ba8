/* input.c - see input.h. A file is opened several times on its way in: to tell its format, to read it, for the
 * right-hand side in the same archive, and again to find the line of a repeated entry. A pipe gives its bytes once. Its
 * copy has no name, so that nothing is left behind; Linux opens it anew through its descriptor. */
#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Everything from one descriptor to the other; false with errno where that fails. */
static bool copy_all(int from, int to)
{
  char buffer[1 << 16];
  ssize_t got, put = 0;
  while ((got = read(from, buffer, sizeof buffer)) != 0) {
    if (got < 0 && errno == EINTR) continue;
    for (ssize_t done = 0; done < got && put >= 0; done += put) put = write(to, buffer + done, (size_t)(got - done));
    if (got < 0 || put < 0) return false;
  }
  return true;
}

/* A file without a name, which goes when the program ends; -1 with errno where that fails. */
static int open_nameless(const char *folder)
{
  char path[4096];
  if ((size_t)snprintf(path, sizeof path, "%s/karst-XXXXXX", folder) >= sizeof path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  int file = mkstemp(path);
  if (file >= 0) unlink(path);
  return file;
}

int tool_input(const char *name, char copy[TOOL_COPY_SIZE], const char **path)
{
  const char *folder = getenv("TMPDIR");
  struct stat file;
  *path = strcmp(name, "-") == 0 ? "/dev/stdin" : name;
  if (stat(*path, &file) != 0 || !S_ISFIFO(file.st_mode)) return TOOL_GO_ON;
  if (!folder || !*folder) folder = "/tmp";
  int from = open(*path, O_RDONLY | O_CLOEXEC), to = open_nameless(folder);
  bool copied = from >= 0 && to >= 0 && copy_all(from, to);
  int error = errno;
  if (from >= 0) close(from);
  if (!copied && to >= 0) close(to);
  if (!copied)
    return tool_fail(TOOL_FAILED, "%s is a pipe and cannot be copied to a file in %s: %s", name, folder,
                     strerror(error));
  /* standard input keeps its name, for errors */
  if (strcmp(*path, "/dev/stdin") == 0 && dup2(to, STDIN_FILENO) >= 0) return TOOL_GO_ON;
  snprintf(copy, TOOL_COPY_SIZE, "/dev/fd/%d", to);
  *path = copy;
  return TOOL_GO_ON;
}
