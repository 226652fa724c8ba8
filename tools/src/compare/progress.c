/* progress.c - how far a batch has come, and how long the rest may take: a bar on a terminal, and a line for
 * each case in a log.
 *
 * A case is expected to take the mean time of the finished cases of its matrix or, if there is no such case, of all
 * finished cases. Rows of an earlier run count too. */
#include "tools/src/compare/compare.h"
#include "tools/src/common/text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

struct compare_pace {
  double seconds; /* of the cases that have ended */
  size_t ended, left;
};

enum { BAR_WIDTH = 24 };

static double wall_of(const struct compare_case *one) { return json_number_value(json_object_get(one->row, "wall")); }

int compare_progress_begin(struct compare_progress *progress, const struct compare_cases *cases, bool quiet)
{
  const size_t count = cases->count + 1;
  *progress = (struct compare_progress){.cases = cases,
                                        .quiet = quiet,
                                        .terminal = isatty(STDERR_FILENO) != 0,
                                        .pace = calloc(count, sizeof *progress->pace),
                                        .first = malloc(count * sizeof *progress->first)};
  json_t *known = json_object();
  bool fine = progress->pace && progress->first && known;
  for (size_t i = 0; fine && i < cases->count; i++) {
    const char *matrix = cases->at[i].matrix;
    json_t *number = json_object_get(known, matrix);
    progress->first[i] = number ? (size_t)json_integer_value(number) : i;
    if (!number) fine = json_object_set_new_nocheck(known, matrix, json_integer((json_int_t)i)) == 0;
    struct compare_pace *pace = &progress->pace[progress->first[i]];
    if (cases->at[i].row) {
      pace->seconds += wall_of(&cases->at[i]);
      pace->ended++;
      progress->finished++;
    } else {
      pace->left++;
    }
  }
  json_decref(known);
  return fine ? TOOL_GO_ON : tool_fail_memory("the progress");
}

/* Seconds that the rest may take; negative where no case has ended. */
static double estimate(const struct compare_progress *progress)
{
  double seconds = 0, left = 0, unknown = 0;
  size_t ended = 0;
  for (size_t i = 0; i < progress->cases->count; i++) {
    const struct compare_pace *pace = &progress->pace[i];
    seconds += pace->seconds;
    ended += pace->ended;
    if (pace->ended > 0)
      left += (double)pace->left * pace->seconds / (double)pace->ended;
    else
      unknown += (double)pace->left;
  }
  return ended > 0 ? left + unknown * seconds / (double)ended : -1;
}

static void print_time(FILE *file, double seconds)
{
  const double most = 1e9; /* a row may say anything */
  const long whole = (long)((seconds < most ? seconds : most) + 0.5);
  if (whole >= 3600)
    fprintf(file, "%ld h %02ld min", whole / 3600, whole / 60 % 60);
  else if (whole >= 60)
    fprintf(file, "%ld min %02ld s", whole / 60, whole % 60);
  else
    fprintf(file, "%ld s", whole);
}

static void erase(struct compare_progress *progress)
{
  if (progress->shown) fputs("\r\033[K", stderr);
  progress->shown = false;
}

/* Prints a line, cut at the width of the terminal, because a second line would not be erased. */
static void print_cut(char *line)
{
  struct winsize size;
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  const size_t width = known ? size.ws_col - 1 : 79;
  fprintf(stderr, "\r\033[K%.*s", (int)tool_utf8_begin(line, width), line);
  fflush(stderr);
}

/* Draws the bar, with the case that runs and the seconds that it has taken. */
static void draw(struct compare_progress *progress, double seconds)
{
  const size_t count = progress->cases->count, full = BAR_WIDTH * progress->finished / count;
  const double left = estimate(progress);
  char *line = NULL;
  size_t length;
  FILE *memory = open_memstream(&line, &length);
  if (!memory) return;
  fputc('[', memory);
  for (size_t i = 0; i < BAR_WIDTH; i++) fputc(i < full ? '#' : '.', memory);
  fprintf(memory, "] %zu/%zu", progress->finished, count);
  if (left >= 0) {
    fputs(", left: ", memory);
    print_time(memory, left > seconds ? left - seconds : 0);
  }
  fputs("; ", memory);
  print_time(memory, seconds);
  fputs(": ", memory);
  compare_print_case(memory, &progress->cases->at[progress->now]);
  if (fclose(memory) == 0) print_cut(line);
  free(line);
  progress->shown = true;
  progress->drawn = tool_clock();
}

void compare_progress_start(struct compare_progress *progress, size_t i)
{
  progress->now = i;
  if (!progress->quiet && progress->terminal) draw(progress, 0);
}

void compare_progress_tick(void *user, double seconds)
{
  struct compare_progress *progress = user;
  if (progress->quiet || !progress->terminal || tool_clock() < progress->drawn + 0.5) return;
  draw(progress, seconds);
}

/* The line of a case in a log. */
static void print_line(const struct compare_progress *progress, const struct compare_case *one)
{
  const double left = estimate(progress);
  const json_t *iterations = json_object_get(json_object_get(one->row, "solve"), "iterations");
  fprintf(stderr, "%zu/%zu ", progress->finished, progress->cases->count);
  compare_print_case(stderr, one);
  fprintf(stderr, ": %s", json_string_value(json_object_get(one->row, "outcome")));
  if (iterations) fprintf(stderr, ", %lld iterations", (long long)json_integer_value(iterations));
  fprintf(stderr, ", %.2f s", wall_of(one));
  if (progress->finished < progress->cases->count) {
    fputs("; left: ", stderr);
    print_time(stderr, left);
  }
  fputc('\n', stderr);
  fflush(stderr);
}

void compare_progress_done(struct compare_progress *progress, size_t i)
{
  struct compare_pace *pace = &progress->pace[progress->first[i]];
  pace->seconds += wall_of(&progress->cases->at[i]);
  pace->ended++;
  pace->left--;
  progress->finished++;
  if (!progress->quiet && !progress->terminal) print_line(progress, &progress->cases->at[i]);
}

void compare_progress_end(struct compare_progress *progress)
{
  erase(progress);
  free(progress->pace);
  free(progress->first);
  progress->pace = NULL;
  progress->first = NULL;
}
