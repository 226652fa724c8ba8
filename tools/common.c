/* common.c - exit statuses, errors, numbers and the clock of the tools; see common.h. */
#include "common.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char *program = "karst";

static struct {
  const char *path, *name;
} renamed[TOOL_RENAMED_MAX];

void tool_start(const char *path)
{
  const char *slash = strrchr(path, '/');
  program = slash ? slash + 1 : path;
  if (strncmp(program, "lt-", 3) == 0) program += 3;
  signal(SIGPIPE, SIG_IGN);
}

const char *tool_name(void) { return program; }

int tool_finish(int status)
{
  bool lost = ferror(stdout) != 0;
  errno = 0;
  if (fflush(stdout) == 0 && !lost) return status;
  return tool_fail(TOOL_FAILED, "standard output: %s", errno ? strerror(errno) : "writing failed");
}

int tool_fail(int status, const char *format, ...)
{
  va_list arguments;
  fprintf(stderr, "%s%s: ", isatty(STDERR_FILENO) ? "\r\033[K" : "", program); /* over a progress line */
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fputc('\n', stderr);
  return status;
}

int tool_fail_library(const karst_context *context, karst_status status)
{
  return tool_fail_about(context, status, NULL);
}

void tool_rename(const char *path, const char *name)
{
  for (int i = 0; i < TOOL_RENAMED_MAX; i++) {
    if (renamed[i].path) continue;
    renamed[i].path = path;
    renamed[i].name = name;
    break;
  }
}

/* What replaces the path that the sentence begins with, which is skipped; "" for other sentences. */
static const char *skip_renamed(const char **sentence)
{
  for (int i = 0; i < TOOL_RENAMED_MAX && renamed[i].path; i++) {
    size_t length = strlen(renamed[i].path);
    if (strncmp(*sentence, renamed[i].path, length) != 0 || isdigit((unsigned char)(*sentence)[length])) continue;
    *sentence += length;
    return renamed[i].name;
  }
  return "";
}

int tool_fail_about(const karst_context *context, karst_status status, const char *name)
{
  const char *sentence = karst_context_error(context);
  bool device = status == KARST_ERROR_NO_DEVICE || status == KARST_ERROR_DEVICE;
  const char *begin = skip_renamed(&sentence);
  return tool_fail(device ? TOOL_NO_DEVICE : TOOL_FAILED, "%s%s%s%s", name ? name : "", name ? ": " : "", begin,
                   *begin || *sentence ? sentence : karst_status_text(status));
}

int tool_fail_memory(const char *what) { return tool_fail(TOOL_FAILED, "out of memory for %s", what); }

void tool_message(void *user, karst_message_kind kind, const char *text)
{
  (void)user;
  if (kind != KARST_MESSAGE_PHASE)
    fprintf(stderr, "%s: %s: %s\n", program, kind == KARST_MESSAGE_NOTE ? "note" : "warning", text);
}

double tool_clock(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

bool tool_integer(const char *text, long long minimum, long long maximum, long long *number)
{
  char *end;
  errno = 0;
  *number = strtoll(text, &end, 10);
  return end != text && !*end && !errno && *number >= minimum && *number <= maximum;
}

bool tool_real(const char *text, double *number)
{
  char *end;
  if (text[strspn(text, "+-.0123456789eE")]) return false; /* strtod also takes blanks, hexadecimal digits and words */
  *number = strtod(text, &end);
  return end != text && !*end && isfinite(*number) && *number >= 0;
}

/* Whether the folder that path is in takes new files. */
static bool is_folder_open(const char *path)
{
  const char *slash = strrchr(path, '/');
  char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
  bool open = folder && access(folder, W_OK | X_OK) == 0;
  free(folder);
  return open;
}

int tool_check_output(const char *path)
{
  struct stat file;
  bool exists = lstat(path, &file) == 0, open;
  errno = 0;
  if (exists && S_ISDIR(file.st_mode)) {
    open = false;
    errno = EISDIR;
  } else {
    open = (!exists || access(path, W_OK) == 0) && ((exists && !S_ISREG(file.st_mode)) || is_folder_open(path));
  }
  return open ? TOOL_GO_ON : tool_fail(TOOL_FAILED, "%s: %s", path, strerror(errno));
}
