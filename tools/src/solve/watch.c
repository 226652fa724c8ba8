/* watch.c - draws progress and records history; see watch.h. */
#include "tools/src/solve/watch.h"

#include "tools/src/common/output.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Draws the line again unless it was drawn less than a tenth of a second ago. */
static void draw(struct watch *watch, const char *detail)
{
  double now = tool_clock();
  if (!watch->terminal || watch->quiet || (watch->shown && now - watch->drawn < 0.1)) return;
  fprintf(stderr, "\r\033[K%s%s", watch->phase, detail);
  fflush(stderr);
  watch->shown = true;
  watch->drawn = now;
}

void watch_erase(struct watch *watch)
{
  if (watch->shown) fputs("\r\033[K", stderr);
  watch->shown = false;
}

void watch_phase(struct watch *watch, const char *phase)
{
  snprintf(watch->phase, sizeof watch->phase, "%s", phase);
  watch_erase(watch);
  draw(watch, " ...");
}

static void receive(void *user, karst_message_kind kind, const char *text)
{
  struct watch *watch = user;
  if (kind == KARST_MESSAGE_PHASE) {
    watch_phase(watch, text);
  } else if (!watch->quiet) {
    watch_erase(watch);
    tool_message(NULL, kind, text);
  }
}

/* Opens the history, which empties an older file, and writes the names of its columns. The file is written itself, and
 * not one that takes its place: a reader may follow it. */
static void open_history(struct watch *watch)
{
  const char *path = watch->history_path;
  if (watch->history || !path) return;
  const int descriptor = strcmp(path, "-") == 0 ? -1 : karst_place_open_itself(path);
  fflush(stdout);
  watch->history = strcmp(path, "-") == 0 ? stdout : descriptor < 0 ? NULL : fdopen(descriptor, "w");
  if (watch->history) {
    fputs("iteration\tresidual\n", watch->history);
    return;
  }
  tool_fail(TOOL_FAILED, "%s: %s", path, strerror(errno));
  if (descriptor >= 0) close(descriptor);
  watch->history_path = NULL;
  watch->history_failed = true;
}

bool watch_follows(const struct watch *watch)
{
  return watch->record.wanted || watch->history_path || watch->monitor || (watch->terminal && !watch->quiet);
}

karst_decision watch_iteration(void *user, int iteration, double residual)
{
  struct watch *watch = user;
  char detail[64];
  if (watch->record.wanted) tool_curve_add(&watch->record.curve, (struct tool_point){iteration, residual});
  open_history(watch);
  if (watch->history) fprintf(watch->history, "%d\t%.17g\n", iteration, residual);
  if (watch->monitor) {
    watch_erase(watch);
    fprintf(stderr, "%6d  residual norm %.12e\n", iteration, residual);
    return KARST_GO_ON;
  }
  snprintf(detail, sizeof detail, ": iteration %d, residual %.2e", iteration, residual);
  draw(watch, detail);
  return KARST_GO_ON;
}

int watch_open(struct watch *watch, karst_context *context, bool quiet, const char *history)
{
  *watch = (struct watch){.quiet = quiet, .terminal = isatty(STDERR_FILENO) != 0, .history_path = history};
  tool_curve_begin(&watch->record.curve, TOOL_CURVE_ROOM);
  karst_context_set_message(context, receive, watch);
  if (!history || strcmp(history, "-") == 0) return TOOL_GO_ON;
  const int status = tool_check_output(history);
  struct stat file;
  /* A pipe is opened now, so that its reader ends with this process. */
  if (status == TOOL_GO_ON && stat(history, &file) == 0 && S_ISFIFO(file.st_mode)) open_history(watch);
  return status;
}

int watch_close_history(struct watch *watch)
{
  open_history(watch); /* a solve without an iteration has the names alone */
  FILE *file = watch->history;
  const char *path = watch->history_path;
  watch->history = NULL;
  watch->history_path = NULL;
  watch->monitor = watch->record.wanted = false;
  tool_curve_end(&watch->record.curve);
  if (!file) return watch->history_failed ? TOOL_FAILED : TOOL_GO_ON;
  errno = 0;
  bool lost = ferror(file) != 0;
  lost |= (file == stdout ? fflush(file) : fclose(file)) != 0;
  if (!lost) return TOOL_GO_ON;
  return tool_fail(TOOL_FAILED, "%s: %s", path, errno ? strerror(errno) : "writing failed");
}
