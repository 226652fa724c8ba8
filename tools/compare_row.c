/* compare_row.c - runs a case as solve, and makes the row of the results from how that has ended. */
#include "compare.h"
#include "text.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CONVERGED, NOT_CONVERGED, FAILED, NO_DEVICE, CRASHED, OUT_OF_TIME, OUT_OF_MEMORY };

const char *compare_outcome(size_t i)
{
  static const char *const outcomes[] = {"converged", "not converged", "failed",        "no device",
                                         "crashed",   "out of time",   "out of memory", NULL};
  return outcomes[i];
}

int compare_find_solve(char **path)
{
  enum { ROOM = 4096 };
  static const char own[] = "compare", others[][16] = {"solve", "karst-solve"};
  char self[ROOM], *name;
  const char *other = getenv("KARST_SOLVE");
  if (other && *other) {
    *path = strdup(other);
    if (!*path) return tool_fail_memory("the path of solve");
    if (access(other, X_OK) == 0) return TOOL_GO_ON;
    return tool_fail(TOOL_FAILED, "KARST_SOLVE names %s, which cannot be run: %s", other, strerror(errno));
  }
  *path = NULL;
  const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  if (length <= 0)
    return tool_fail(TOOL_FAILED, "this system does not say where compare is, beside which solve stands");
  self[length] = '\0';
  name = strrchr(self, '/') + 1;
  char *place = malloc(ROOM + sizeof others[0]);
  if (!place) return tool_fail_memory("the path of solve");
  const size_t end = strlen(name), tail = sizeof own - 1, folder = (size_t)(name - self);
  if (end >= tail && strcmp(name + end - tail, own) == 0) { /* PREFIXcompare: PREFIXsolve */
    sprintf(place, "%.*ssolve", (int)(folder + end - tail), self);
    if (access(place, X_OK) == 0) *path = place;
  }
  for (int i = 0; i < 2 && !*path; i++) {
    sprintf(place, "%.*s%s", (int)folder, self, others[i]);
    if (access(place, X_OK) == 0) *path = place;
  }
  if (*path) return TOOL_GO_ON;
  free(place);
  return tool_fail(TOOL_FAILED, "each case is a run of solve, and in %.*s there is none", (int)folder, self);
}

/* Appends three texts as one, of which the bytes may be any. */
static void add(json_t *list, const char *a, const char *b, const char *c)
{
  const size_t size = strlen(a) + strlen(b) + strlen(c) + 1;
  char *text = malloc(size);
  if (text) snprintf(text, size, "%s%s%s", a, b, c);
  json_array_append_new(list, text ? json_string_nocheck(text) : NULL);
  free(text);
}

static void add_option(json_t *list, const char *name, const char *value)
{
  char option[300];
  snprintf(option, sizeof option, "--%s", name);
  add(list, option, "=", value);
}

/* The arguments of solve, which a matrix whose name begins like an option is not. */
static json_t *make_arguments(const struct compare_case *one)
{
  json_t *list = json_array(), *value;
  const char *name;
  char number[64];
  add(list, "solve", "", "");
  add(list, one->matrix[0] == '-' ? "./" : "", one->matrix, "");
  add(list, "--json", "", "");
  add(list, "--history=", "/dev/fd/3", "");
  json_object_foreach(one->what, name, value)
  {
    const bool given =
        strcmp(name, "negate") == 0 || strcmp(name, "insert-diagonal") == 0 || strcmp(name, "stored-triangle") == 0;
    if (strcmp(name, "matrix") == 0 || json_is_null(value) || json_is_object(value)) continue;
    snprintf(number, sizeof number, "%lld", (long long)json_integer_value(value));
    if (given)
      add(list, "--", name, "");
    else
      add_option(list, name, json_is_integer(value) ? number : json_string_value(value));
  }
  json_object_foreach(json_object_get(one->what, "options"), name, value)
  {
    add_option(list, name, json_string_value(value));
  }
  return list;
}

/* The arguments as exec takes them; the caller frees the array. */
static char **make_argv(json_t *list)
{
  const size_t count = json_array_size(list);
  char **argv = malloc((count + 1) * sizeof *argv);
  for (size_t i = 0; argv && i < count; i++) argv[i] = (char *)json_string_value(json_array_get(list, i));
  if (argv) argv[count] = NULL;
  return argv;
}

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

/* What a run is worth that has ended by itself. */
static int judge_status(int exit_status, json_t *solve, char *err, char *sentence, size_t size)
{
  const char *error = text_of(solve, "error", last_line(err));
  const bool told = json_is_boolean(json_object_get(solve, "converged"));
  if (exit_status <= TOOL_NO && told) {
    snprintf(sentence, size, "%s", text_of(solve, "explanation", "it has ended"));
    return json_is_true(json_object_get(solve, "converged")) ? CONVERGED : NOT_CONVERGED;
  }
  if (exit_status == TOOL_NO_DEVICE || exit_status == TOOL_FAILED) {
    snprintf(sentence, size, "%s", *error ? error : "solve gives no reason");
    return strstr(error, "out of memory") ? OUT_OF_MEMORY : exit_status == TOOL_FAILED ? FAILED : NO_DEVICE;
  }
  snprintf(sentence, size, "solve ended with status %d and without a report%s%s", exit_status, *error ? ": " : "",
           error);
  return exit_status <= TOOL_NO ? FAILED : CRASHED;
}

/* Chooses the outcome, and writes a sentence for readers. */
static int judge(const struct compare_ended *ended, const struct compare_limits *limits, json_t *solve, char *sentence,
                 size_t size)
{
  const double gigabyte = 0x1p30;
  const bool exited = WIFEXITED(ended->status);
  if (ended->why == COMPARE_OUT_OF_TIME) {
    snprintf(sentence, size, "it took longer than the limit of %.4g s", limits->seconds);
    return OUT_OF_TIME;
  }
  if (ended->why == COMPARE_OUT_OF_MEMORY) {
    const bool large = (double)limits->memory >= gigabyte;
    snprintf(sentence, size, "it took more memory than the limit of %.4g %s",
             (double)limits->memory / (large ? gigabyte : 0x1p20), large ? "GiB" : "MiB");
    return OUT_OF_MEMORY;
  }
  if (exited) return judge_status(WEXITSTATUS(ended->status), solve, ended->err, sentence, size);
  const int number = WTERMSIG(ended->status);
  snprintf(sentence, size, "solve was ended by %s (%s)%s", signal_name(number), strsignal(number),
           number == SIGKILL ? ", as the system does where memory runs out" : "");
  return CRASHED;
}

static json_t *history_json(const struct compare_history *history)
{
  json_t *points = json_array();
  for (size_t i = 0; i < history->count; i++) {
    const double residual = history->point[i].residual;
    json_t *point = json_array();
    json_array_append_new(point, json_integer(history->point[i].iteration));
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

static json_t *make_row(const struct compare_case *one, const struct compare_limits *limits,
                        const struct compare_ended *ended, time_t started)
{
  char sentence[1024];
  const bool exited = WIFEXITED(ended->status) && ended->why == COMPARE_ENDED;
  json_t *row = json_object(), *solve = exited && ended->out ? json_loads(ended->out, 0, NULL) : NULL;
  const int outcome = judge(ended, limits, solve, sentence, sizeof sentence);
  json_object_set_new(row, "karst_compare", json_integer(1));
  json_object_set_new(row, "key", json_string(one->key));
  json_object_set(row, "case", one->what);
  json_object_set_new(row, "outcome", json_string(compare_outcome((size_t)outcome)));
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

int compare_run_case(const char *solve, const struct compare_case *one, const struct compare_limits *limits,
                     compare_tick *tick, void *user, json_t **row)
{
  struct compare_ended ended = {.why = COMPARE_ENDED};
  json_t *arguments = make_arguments(one);
  char **argv = make_argv(arguments);
  const time_t started = time(NULL);
  *row = NULL;
  int status = argv ? compare_run(solve, argv, limits, tick, user, &ended) : tool_fail_memory("the arguments of solve");
  if (status == TOOL_GO_ON) *row = make_row(one, limits, &ended, started);
  if (status == TOOL_GO_ON && !*row) status = tool_fail_memory("a row of the results");
  free(ended.out);
  free(ended.err);
  free(argv);
  json_decref(arguments);
  return status;
}
