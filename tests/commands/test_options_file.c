/* The option --options of solve: a file gives one option a line; the command line overrides it; an error in the file is
 * reported with its line. */
#include "config.h"

#include "tests/support/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *file(const char *text, long length)
{
  static char path[512];
  snprintf(path, sizeof path, "%s", tap_write("options.txt", text, length));
  return path;
}

static void check(const char *text, const char *expected, const char *what)
{
  const struct cli_run *run = CLI_RUN("solve", "poisson2d:5x4", "--options", file(text, -1));
  if (!tap_ok(run->status == 0 && strstr(run->out, expected), "%s", what)) tap_note("%s%s", run->out, run->err);
}

static void refuse(const char *text, long length, const char *says, const char *what)
{
  const struct cli_run *run = CLI_RUN("solve", "poisson2d:5x4", "--options", file(text, length));
  if (!tap_ok(run->status == 2 && cli_is_one_sentence(run, "solve") && strstr(run->err, says), "refused: %s", what))
    tap_note("%s", run->err);
}

static void test_forms(void)
{
  check("level 2\n", "iluk, level 2", "a name and a value");
  check("--level 2\n", "iluk, level 2", "with the dashes of a command line");
  check("level = 2\n", "iluk, level 2", "with an equals sign");
  check("--level=2", "iluk, level 2", "without blanks, and without an end of the line");
  check("\xef\xbb\xbf  level\t2 \r\n\r\n", "iluk, level 2", "blanks of all kinds, and a mark of the encoding");
  check("# level 3\n\nlevel 2 # level 4\n", "iluk, level 2", "comments");
  check("max_iterations 77\n", "at most 77 iterations", "'-' and '_' are alike");
  check("level 1\nlevel 2\n", "iluk, level 2", "the last of a name counts");
  check("negate\nrhs ones\nblock 2\n", "negated, 20 rows", "the command's own options");
  check("precond two-stage\nsecond.level 3\n", "iluk of level 3", "options of a stage");
  check("", "iluk, level 0", "an empty file says nothing");
}

/* As many lines as the size of a file allows take no longer than reading them should. */
static void test_long(void)
{
  enum { LINES = 100000 };
  static const char *const line[] = {"level 2\n", "json\n", "threads 1\n", "# level\n", "side left\n"};
  char *text = calloc(LINES, 16);
  size_t used = 0;
  if (!text) exit(99);
  for (int i = 0; i < LINES; i++)
    if (i % 5 != 1) used += (size_t)sprintf(text + used, "%s", line[i % 5]);
  check(text, "iluk, level 2", "a file of very many lines");
  used = 0;
  for (int i = 0; i < LINES / 2; i++) used += (size_t)sprintf(text + used, "second.level 3\n");
  check(text, "iluk, level 0", "and of options of a stage");
#ifdef HAVE_JANSSON
  used = 0;
  for (int i = 0; i < LINES; i++) used += (size_t)sprintf(text + used, "%s", line[i % 5]);
  const struct cli_run *run = CLI_RUN("solve", "poisson2d:5x4", "--options", file(text, -1));
  tap_ok(run->status == 0 && run->out[0] == '{', "which may all ask for JSON");
#endif
  free(text);
}

static void test_order(void)
{
  const char *path = file("level 2\nsolver bicgstab\n", -1);
  const struct cli_run *run = CLI_RUN("solve", "--level", "1", "poisson2d:5x4", "--options", path);
  tap_ok(run->status == 0 && strstr(run->out, "iluk, level 1") && strstr(run->out, "bicgstab"),
         "the command line counts more, also before the file");
  char second[512];
  snprintf(second, sizeof second, "%s", tap_write("more.txt", "level 3\n", -1));
  path = file("level 2\nsolver bicgstab\n", -1);
  run = CLI_RUN("solve", "poisson2d:5x4", "--options", path, "--options", second);
  tap_ok(run->status == 0 && strstr(run->out, "iluk, level 3") && strstr(run->out, "bicgstab"), "files in their order");
  snprintf(second, sizeof second, "--options=%s", path);
  run = CLI_RUN("solve", "poisson2d:5x4", second);
  tap_ok(run->status == 0 && strstr(run->out, "iluk, level 2"), "--options=FILE");
}

static void test_errors(void)
{
  refuse("level 1\n\nlevle 2\n", -1, "options.txt, line 3: unknown option --levle; did you mean --level?",
         "an unknown option");
  refuse("level x\n", -1, "options.txt, line 1: level \"x\"", "a value that the library does not take");
  refuse("# nothing\nblock 0\n", -1, "options.txt, line 2: --block takes an integer", "nor the command");
  refuse("level\n", -1, "options.txt, line 1: --level needs a value", "a missing value");
  refuse("rhs =\n", -1, "options.txt, line 1: --rhs needs a value that is not empty", "an empty one");
  refuse("negate yes\n", -1, "options.txt, line 1: --negate takes no value, but got 'yes'", "a switch with a value");
  refuse("options other.txt\n", -1, "options.txt, line 1: --options is allowed on the command line only",
         "a file in a file");
  refuse("--help\n", -1, "line 1: --help is allowed on the command line only", "what ends the command");
  refuse("= 3\n", -1, "line 1: unknown option --", "no name");
  refuse("poisson2d:5x4\n", -1, "line 1: unknown option --poisson2d:5x4", "a matrix");
  refuse("level 1\0level 2\n", 16, "zero byte", "a file that is no text");
  char *long_text = malloc((1 << 20) + 2);
  if (long_text) {
    memset(long_text, '#', (1 << 20) + 1);
    refuse(long_text, (1 << 20) + 1, "at most 1 MiB", "a file that is too long");
  }
  free(long_text);
  const struct cli_run *run = CLI_RUN("solve", "poisson2d:5x4", "--options", "no/such/file");
  tap_ok(run->status == 2 && cli_is_one_sentence(run, "solve") && strstr(run->err, "no/such/file: No such"), "no file");
  run = CLI_RUN("solve", "poisson2d:5x4", "--options", "/");
  tap_ok(run->status == 2 && cli_is_one_sentence(run, "solve"), "a folder: %s", run->err);
  run = CLI_RUN("solve", "poisson2d:5x4", "--options", "");
  tap_ok(run->status == 2 && strstr(run->err, "--options needs a value that is not empty"), "no name of a file");
  run = CLI_RUN("solve", "poisson2d:5x4", "--options");
  tap_ok(run->status == 2 && strstr(run->err, "--options needs a value: FILE"), "nothing at all");
  run = CLI_RUN("convert", "poisson2d:5x4", tap_scratch("x.mtx"), "--options", "x");
  tap_ok(run->status == 2 && strstr(run->err, "unknown option --options"), "convert has no such option");
  const char *path = file("level 1\n", -1);
  run = CLI_RUN("solve", "poisson2d:5x4", "--options", path, "--solution", path);
  tap_ok(run->status == 2 && strstr(run->err, "--solution and --options name the same file"), "it is not overwritten");
  run = CLI_RUN("solve", "poisson2d:5x4", "--level", "x", "--options", path);
  tap_ok(run->status == 2 && strncmp(run->err, "solve: level \"x\"", 16) == 0,
         "an error of the command line names no file");
}

static void test_json(void)
{
#ifdef HAVE_JANSSON
  const struct cli_run *run = CLI_RUN("solve", "poisson2d:5x4", "--options", file("json\n", -1));
  tap_ok(run->status == 0 && run->out[0] == '{', "a file may ask for JSON");
  run = CLI_RUN("solve", "poisson2d:5x4", "--options", file("bad 1\njson\n", -1));
  tap_ok(run->status == 2 && strncmp(run->out, "{\"error\": \"", 11) == 0 && strstr(run->out, "line 1: unknown option"),
         "and then an error is JSON too, also one in an earlier line");
#endif
}

int main(void)
{
  cli_need("solve");
  test_forms();
  test_long();
  test_order();
  test_errors();
  test_json();
  return tap_done();
}
