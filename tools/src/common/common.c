/* common.c - exit statuses, errors, numbers and the clock of the tools; see common.h. */
#include "tools/src/common/common.h"

#include "tools/src/common/text.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *program = "karst";

static bool json, answered;
static char *sentence;    /* of the last error */
static karst_status last; /* of the last error; success for an error of the command itself */
static const char *where; /* what errors begin with, or NULL */

static struct {
  const char *path, *name;
} renamed[TOOL_RENAMED_MAX];

/* Occupies standard streams that are closed, so that no other file gets their descriptors and the report is not written
 * into it. Reading or writing them stays an error. */
static void occupy_streams(void)
{
  int file;
  while ((file = open("/dev/null", fcntl(STDIN_FILENO, F_GETFD) < 0 ? O_WRONLY : O_RDONLY)) >= 0 &&
         file <= STDERR_FILENO) {}
  if (file > STDERR_FILENO) close(file);
}

void tool_start(const char *path)
{
  occupy_streams();
  const char *slash = strrchr(path, '/');
  program = slash ? slash + 1 : path;
  if (strncmp(program, "lt-", 3) == 0) program += 3;
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
}

const char *tool_name(void) { return program; }

void tool_answer_json(void) { json = true; }

const char *tool_sentence(void) { return sentence ? sentence : ""; }

void tool_answered(void) { answered = true; }

const char *tool_error_status(void) { return last ? karst_status_text(last) : NULL; }

int tool_finish(int status)
{
  bool lost = ferror(stdout) != 0;
  if (json && sentence && !answered && !lost && status >= TOOL_FAILED) {
    printf("{\"error\": ");
    tool_print_json(stdout, sentence);
    printf(", \"error_status\": ");
    if (last)
      tool_print_json(stdout, karst_status_text(last));
    else
      printf("null");
    printf(", \"status\": %d}\n", status);
    answered = true;
  }
  errno = 0;
  if (fflush(stdout) == 0 && !lost) return status;
  return tool_fail(TOOL_FAILED, "standard output: %s", errno ? strerror(errno) : "writing failed");
}

/* Keeps the sentence of an error, or NULL without memory. */
static void keep_sentence(const char *format, va_list arguments)
{
  va_list again;
  va_copy(again, arguments);
  int length = vsnprintf(NULL, 0, format, arguments);
  const size_t begin = where ? strlen(where) + 2 : 0;
  free(sentence);
  sentence = length < 0 ? NULL : malloc(begin + (size_t)length + 1);
  if (sentence && where) snprintf(sentence, begin + 1, "%s: ", where);
  if (sentence) vsnprintf(sentence + begin, (size_t)length + 1, format, again);
  va_end(again);
}

int tool_fail(int status, const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  keep_sentence(format, arguments);
  va_end(arguments);
  last = KARST_SUCCESS;
  fprintf(stderr, "%s%s: ", isatty(STDERR_FILENO) ? "\r\033[K" : "", program); /* erases a progress line */
  tool_print_safely(stderr, sentence ? sentence : "out of memory");
  fputc('\n', stderr);
  return status;
}

void tool_place(const char *place) { where = place; }

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

void tool_forget(const char *path)
{
  int kept = 0;
  for (int i = 0; i < TOOL_RENAMED_MAX; i++)
    if (renamed[i].path != path) renamed[kept++] = renamed[i];
  for (; kept < TOOL_RENAMED_MAX; kept++) renamed[kept].path = NULL;
}

/* If the sentence begins with a renamed path, skips the path and returns the name that replaces it; else returns "". */
static const char *skip_renamed(const char **text)
{
  for (int i = 0; i < TOOL_RENAMED_MAX && renamed[i].path; i++) {
    size_t length = strlen(renamed[i].path);
    if (strncmp(*text, renamed[i].path, length) != 0 || isdigit((unsigned char)(*text)[length])) continue;
    *text += length;
    return renamed[i].name;
  }
  return "";
}

int tool_fail_about(const karst_context *context, karst_status status, const char *name)
{
  const char *text = karst_context_error(context);
  bool device = status == KARST_ERROR_NO_DEVICE || status == KARST_ERROR_DEVICE;
  const char *begin = skip_renamed(&text);
  const int failed = tool_fail(device ? TOOL_NO_DEVICE : TOOL_FAILED, "%s%s%s%s", name ? name : "", name ? ": " : "",
                               begin, *begin || *text ? text : karst_status_text(status));
  last = status;
  return failed;
}

int tool_fail_memory(const char *what)
{
  const int failed = tool_fail(TOOL_FAILED, "out of memory for %s", what);
  last = KARST_ERROR_NO_MEMORY;
  return failed;
}

char *tool_format(const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(NULL, 0, format, arguments);
  va_end(arguments);
  char *text = length < 0 ? NULL : malloc((size_t)length + 1);
  if (!text) {
    tool_fail_memory("a text");
    return NULL;
  }
  va_start(arguments, format);
  vsnprintf(text, (size_t)length + 1, format, arguments);
  va_end(arguments);
  return text;
}

void tool_message(void *user, karst_message_kind kind, const char *text)
{
  (void)user;
  if (kind == KARST_MESSAGE_PHASE) return;
  fprintf(stderr, "%s: %s: ", program, kind == KARST_MESSAGE_NOTE ? "note" : "warning");
  tool_print_safely(stderr, text);
  fputc('\n', stderr);
}

int tool_threads(void)
{
  const int most = 1024; /* the most threads that the library takes */
  const char *variable = getenv("OMP_NUM_THREADS");
  const long wanted = variable ? strtol(variable, NULL, 10) : 0; /* the first number of a list for nested teams */
  int threads = karst_processors();
  if (wanted > 0 && wanted < threads) threads = (int)wanted;
  return threads < most ? threads : most;
}

double tool_clock(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double tool_median(int count, double *value)
{
  qsort(value, (size_t)count, sizeof *value, ascending);
  return (value[(count - 1) / 2] + value[count / 2]) / 2;
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

const char *tool_option_text(const karst_options *options, const char *name)
{
  const char *text;
  return karst_options_get(options, name, &text) ? "" : text;
}

double tool_option_number(const karst_options *options, const char *name)
{
  return strtod(tool_option_text(options, name), NULL);
}
