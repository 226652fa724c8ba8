/* commands.c - see commands.h. */
#include "tests/support/commands.h"

#include <fcntl.h>
#include <math.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

/* Returns a copy of the path, which is kept until the program ends. */
static const char *keep(const char *path)
{
  enum { PATHS = 64 };
  static char *kept[PATHS];
  int i = 0;
  while (i < PATHS && kept[i] && strcmp(kept[i], path) != 0) i++;
  if (i < PATHS && !kept[i]) kept[i] = strdup(path);
  if (i == PATHS || !kept[i]) {
    printf("Bail out! no room for the path %s\n", path);
    exit(99);
  }
  return kept[i];
}

const char *scratch_path(const char *file) { return keep(tap_scratch(file)); }

const char *scratch_file(const char *file, const char *text) { return keep(tap_write(file, text, -1)); }

const char *scratch_script(const char *file, const char *text)
{
  const char *path = scratch_file(file, text);
  chmod(path, 0700);
  return path;
}

const char *scratch_folder(void)
{
  char folder[512];
  snprintf(folder, sizeof folder, "%s", tap_scratch("x"));
  *strrchr(folder, '/') = '\0';
  return keep(folder);
}

const char *real_matrix(const char *file, const char *what)
{
  const char *path = tap_matrix_path(file), *features = karst_build_features(), *why = NULL;
  if (!path)
    why = "the matrix is not there";
  else if (strstr(file, ".tar") && !strstr(features, "libarchive"))
    why = "built without libarchive";
  else if (strstr(file, ".gz") && !strstr(features, "zlib"))
    why = "built without zlib";
  if (why) tap_skip(why, "%s", what);
  return why ? NULL : keep(path);
}

static long length;

const char *file_text(const char *path)
{
  static char *text;
  struct stat file = {0};
  if (stat(path, &file) != 0) file.st_size = 0;
  free(text);
  text = tap_memory((int64_t)file.st_size, 1);
  length = slurp(path, text, (size_t)file.st_size);
  return text;
}

long file_length(void) { return length; }

void check_run(const struct cli_run *run, bool condition, const char *format, ...)
{
  char what[1024];
  va_list list;
  va_start(list, format);
  vsnprintf(what, sizeof what, format, list);
  va_end(list);
  if (!tap_ok(condition, "%s", what)) printf("# status %d\n# %s\n%s", run->status, run->err, run->out);
}

bool is_refused(const struct cli_run *run, const char *tool, const char *words)
{
  return run->status == 2 && cli_is_one_sentence(run, tool) && strstr(run->err, words);
}

void expect_refused(const struct cli_run *run, const char *tool, const char *words, const char *what)
{
  check_run(run, is_refused(run, tool, words), "%s: %s", what, run->err);
}

int count_of(const char *text, const char *word)
{
  int count = 0;
  for (; (text = strstr(text, word)); text++) count++;
  return count;
}

double number_after(const char *text, const char *words)
{
  const char *place = strstr(text, words);
  return place ? strtod(place + strlen(words), NULL) : NAN;
}

long number_before(const char *text, const char *words)
{
  const char *place = strstr(text, words);
  if (!place) return -1;
  while (place > text && place[-1] >= '0' && place[-1] <= '9') place--;
  return strtol(place, NULL, 10);
}

int start_command(const char *tool, const char *const argument[], const char *error)
{
  enum { ARGUMENTS_MAX = 16 };
  char path[1024], *argv[ARGUMENTS_MAX + 2] = {path};
  posix_spawn_file_actions_t actions;
  pid_t child;
  snprintf(path, sizeof path, "%s", cli_path(tool));
  for (int i = 0; i < ARGUMENTS_MAX && argument[i]; i++) argv[i + 1] = (char *)argument[i];
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, error, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const bool started = posix_spawn(&child, path, &actions, NULL, argv, environ) == 0;
  posix_spawn_file_actions_destroy(&actions);
  return started ? child : -1;
}
