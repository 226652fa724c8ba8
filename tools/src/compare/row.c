/* row.c - makes the row of a case from the way its run of solve ended. */
#include "tools/src/compare/compare.h"
#include "tools/src/common/text.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *signal_name(int number)
{
  static const struct {
    int number;
    const char *name;
  } names[] = {{SIGSEGV, "SIGSEGV"}, {SIGABRT, "SIGABRT"}, {SIGBUS, "SIGBUS"},   {SIGFPE, "SIGFPE"},
               {SIGILL, "SIGILL"},   {SIGKILL, "SIGKILL"}, {SIGTERM, "SIGTERM"}, {SIGINT, "SIGINT"},
               {SIGHUP, "SIGHUP"},   {SIGTRAP, "SIGTRAP"}, {SIGSYS, "SIGSYS"},   {SIGXCPU, "SIGXCPU"}};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (names[i].number == number) return names[i].name;
  return "another signal";
}

/* The last line of a text with anything in it, without its end; text is cut. */
static const char *last_line(char *text)
{
  if (!text) return "";
  size_t length = strlen(text);
  while (length > 0 && (text[length - 1] == '\n' || text[length - 1] == ' ')) text[--length] = '\0';
  const char *line = strrchr(text, '\n');
  return line ? line + 1 : text;
}

static const char *text_of(json_t *object, const char *key, const char *without)
{
  const char *text = json_string_value(json_object_get(object, key));
  return text && *text ? text : without;
}

/* The outcome of a run that ended by itself. */
static enum compare_outcome judge_status(int exit_status, json_t *solve, char *err, char *sentence, size_t size)
{
  const char *error = text_of(solve, "error", last_line(err));
  const bool told = json_is_boolean(json_object_get(solve, "converged"));
  if (exit_status <= TOOL_NO && told) {
    snprintf(sentence, size, "%s", text_of(solve, "explanation", "it has ended"));
    return json_is_true(json_object_get(solve, "converged")) ? OUTCOME_CONVERGED : OUTCOME_NOT_CONVERGED;
  }
  if (exit_status == TOOL_NO_DEVICE || exit_status == TOOL_FAILED) {
    snprintf(sentence, size, "%s", *error ? error : "solve gives no reason");
    const char *why = text_of(solve, "error_status", "");
    if (strcmp(why, karst_status_text(KARST_ERROR_NO_MEMORY)) == 0) return OUTCOME_OUT_OF_MEMORY;
    return exit_status == TOOL_FAILED ? OUTCOME_FAILED : OUTCOME_NO_DEVICE;
  }
  snprintf(sentence, size, "solve ended with status %d and without a report%s%s", exit_status, *error ? ": " : "",
           error);
  return exit_status <= TOOL_NO ? OUTCOME_FAILED : OUTCOME_CRASHED;
}

/* Chooses the outcome, and writes a sentence for readers. */
static enum compare_outcome judge(const struct compare_ended *ended, const struct compare_limits *limits, json_t *solve,
                                  char *sentence, size_t size)
{
  const double gigabyte = 0x1p30;
  const bool exited = WIFEXITED(ended->status);
  if (ended->why == COMPARE_OUT_OF_TIME) {
    snprintf(sentence, size, "it took longer than the limit of %.4g s", limits->seconds);
    return OUTCOME_OUT_OF_TIME;
  }
  if (ended->why == COMPARE_OUT_OF_MEMORY) {
    const bool large = (double)limits->memory >= gigabyte;
    snprintf(sentence, size, "it took more memory than the limit of %.4g %s",
             (double)limits->memory / (large ? gigabyte : 0x1p20), large ? "GiB" : "MiB");
    return OUTCOME_OUT_OF_MEMORY;
  }
  if (exited) return judge_status(WEXITSTATUS(ended->status), solve, ended->err, sentence, size);
  const int number = WTERMSIG(ended->status);
  snprintf(sentence, size, "solve was ended by %s (%s)%s", signal_name(number), strsignal(number),
           number == SIGKILL ? ", as the system does where memory runs out" : "");
  return OUTCOME_CRASHED;
}

static json_t *history_json(const struct compare_history *history)
{
  json_t *points = json_array();
  for (size_t i = 0; i < history->curve.count; i++) {
    const double residual = history->curve.point[i].residual;
    json_t *point = json_array();
    json_array_append_new(point, json_integer(history->curve.point[i].iteration));
    json_array_append_new(point, isfinite(residual) ? json_real(residual) : json_null());
    json_array_append_new(points, point);
  }
  return points;
}

static void set_text(json_t *row, const char *key, const char *text)
{
  char *copy = tool_utf8(text);
  json_object_set_new(row, key, copy ? json_string(copy) : NULL);
  free(copy);
}

static void set_machine(json_t *row, time_t started)
{
  char host[256] = "", moment[32] = "";
  struct tm parts;
  if (gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
  if (gmtime_r(&started, &parts)) strftime(moment, sizeof moment, "%Y-%m-%dT%H:%M:%SZ", &parts);
  set_text(row, "host", host);
  set_text(row, "version", karst_version());
  set_text(row, "started", moment);
}

json_t *compare_make_row(const struct compare_case *one, const struct compare_limits *limits,
                         const struct compare_ended *ended, time_t started)
{
  char sentence[1024];
  const bool exited = WIFEXITED(ended->status) && ended->why == COMPARE_ENDED;
  json_t *row = json_object(), *solve = exited && ended->out ? json_loads(ended->out, 0, NULL) : NULL;
  const enum compare_outcome outcome = judge(ended, limits, solve, sentence, sizeof sentence);
  json_object_set_new(row, "karst_compare", json_integer(1));
  json_object_set_new(row, "key", json_string(one->key));
  json_object_set(row, "case", one->what);
  json_object_set_new(row, "outcome", json_string(compare_outcome_word(outcome)));
  set_text(row, "sentence", sentence);
  json_object_set_new(row, "exit_status", exited ? json_integer(WEXITSTATUS(ended->status)) : json_null());
  json_object_set_new(row, "signal",
                      WIFSIGNALED(ended->status) ? json_string(signal_name(WTERMSIG(ended->status))) : json_null());
  json_object_set_new(row, "wall", json_real(ended->wall));
  json_object_set_new(row, "peak_memory", json_integer(ended->peak_memory));
  set_machine(row, started);
  json_object_set_new(row, "history", history_json(&ended->history));
  json_object_set_new(row, "solve", json_object_get(solve, "iterations") ? json_incref(solve) : json_null());
  json_decref(solve);
  return row;
}
