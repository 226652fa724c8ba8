/* The option --options of solve: a file gives one option a line, the command line overrides it, and an error in the
 * file is reported with its line. */
#include "config.h"

#include "tests/support/commands.h"

#include <stdlib.h>

static const char *file(const char *text) { return scratch_file("options.txt", text); }

static void check(const char *text, const char *expected, const char *what)
{
  const struct cli_run *run = CLI_RUN("solve", "poisson2d:5x4", "--options", file(text));
  check_run(run, run->status == 0 && strstr(run->out, expected), "a file of options: %s", what);
}

static void refuse(const char *text, long length, const char *says, const char *what)
{
  const struct cli_run *run = CLI_RUN("solve", "poisson2d:5x4", "--options", tap_write("options.txt", text, length));
  check_run(run, is_refused(run, "solve", says), "a file of options is refused: %s", what);
}

static void test_forms(void)
{
  check("level 2\n", "iluk, level 2", "a name and a value");
  check("--level 2\n", "iluk, level 2", "with the dashes of a command line");
  check("level = 2\n", "iluk, level 2", "with an equals sign");
  check("--level=2", "iluk, level 2", "without blanks, and without an end of the line");
  check("\xef\xbb\xbf  level\t2 \r\n\r\n", "iluk, level 2", "blanks of all kinds, and a mark of the encoding");
  check("# level 3\n\nlevel 2 # level 4\n", "iluk, level 2", "comments");
  check("max_iterations 77\n", "at most 77 iterations", "'-' and '_' mean the same");
  check("level 1\nlevel 2\n", "iluk, level 2", "the last line of a name counts");
  check("negate\nrhs ones\nblock 2\n", "negated, 20 rows", "the command's own options");
  check("precond two-stage\nsecond.level 3\n", "iluk of level 3", "options of a stage");
  check("", "iluk, level 0", "an empty file sets nothing");
}

/* A file with as many lines as its size allows takes no longer than reading it. */
static void test_long(void)
{
  enum { LINES = 100000 };
  static const char *const line[] = {"level 2\n", "json\n", "threads 1\n", "# level\n", "side left\n"};
  char *text = calloc(LINES, 16);
  size_t used = 0;
  if (!text) exit(99);
  for (int i = 0; i < LINES; i++)
    if (i % 5 != 1) used += (size_t)sprintf(text + used, "%s", line[i % 5]);
  check(text, "iluk, level 2", "a file of very many lines is read");
  used = 0;
  for (int i = 0; i < LINES / 2; i++) used += (size_t)sprintf(text + used, "second.level 3\n");
  check(text, "iluk, level 0", "very many options of a stage are read");
#ifdef HAVE_JANSSON
  used = 0;
  for (int i = 0; i < LINES; i++) used += (size_t)sprintf(text + used, "%s", line[i % 5]);
  const struct cli_run *run = CLI_RUN("solve", "poisson2d:5x4", "--options", file(text));
  tap_ok(run->status == 0 && run->out[0] == '{', "very many lines may ask for JSON");
#endif
  free(text);
}

static void test_order(void)
{
  const char *path = file("level 2\nsolver bicgstab\n");
  const struct cli_run *run = CLI_RUN("solve", "--level", "1", "poisson2d:5x4", "--options", path);
  tap_ok(run->status == 0 && strstr(run->out, "iluk, level 1") && strstr(run->out, "bicgstab"),
         "the command line overrides the file, even before it");
  char option[600];
  const char *second = scratch_file("more.txt", "level 3\n");
  path = file("level 2\nsolver bicgstab\n");
  run = CLI_RUN("solve", "poisson2d:5x4", "--options", path, "--options", second);
  tap_ok(run->status == 0 && strstr(run->out, "iluk, level 3") && strstr(run->out, "bicgstab"),
         "the last of two files counts");
  snprintf(option, sizeof option, "--options=%s", path);
  run = CLI_RUN("solve", "poisson2d:5x4", option);
  tap_ok(run->status == 0 && strstr(run->out, "iluk, level 2"), "--options=FILE");
}

static void test_errors(void)
{
  refuse("level 1\n\nlevle 2\n", -1, "options.txt, line 3: unknown option --levle; did you mean --level?",
         "an unknown option");
  refuse("level x\n", -1, "options.txt, line 1: level \"x\"", "a value that the library does not take");
  refuse("# nothing\nblock 0\n", -1, "options.txt, line 2: --block takes an integer",
         "a value that the command does not take");
  refuse("level\n", -1, "options.txt, line 1: --level needs a value", "a missing value");
  refuse("rhs =\n", -1, "options.txt, line 1: --rhs needs a value that is not empty", "an empty value");
  refuse("negate yes\n", -1, "options.txt, line 1: --negate takes no value, but got 'yes'", "a switch with a value");
  refuse("options other.txt\n", -1, "options.txt, line 1: --options is allowed on the command line only",
         "a file of options in a file");
  refuse("--help\n", -1, "line 1: --help is allowed on the command line only", "an option that ends the command");
  refuse("= 3\n", -1, "line 1: unknown option --", "a line without a name");
  refuse("poisson2d:5x4\n", -1, "line 1: unknown option --poisson2d:5x4", "a matrix");
  refuse("level 1\0level 2\n", 16, "zero byte", "a file with a zero byte");
  char *long_text = malloc((1 << 20) + 2);
  if (long_text) {
    memset(long_text, '#', (1 << 20) + 1);
    refuse(long_text, (1 << 20) + 1, "at most 1 MiB", "a file that is too long");
  }
  free(long_text);
  const struct cli_run *run = CLI_RUN("solve", "poisson2d:5x4", "--options", "no/such/file");
  expect_refused(run, "solve", "no/such/file: No such", "a missing file of options is refused");
  expect_refused(CLI_RUN("solve", "poisson2d:5x4", "--options", "/"), "solve", "",
                 "a folder as file of options is refused");
  expect_refused(CLI_RUN("solve", "poisson2d:5x4", "--options", ""), "solve",
                 "--options needs a value that is not empty", "--options with an empty name is refused");
  expect_refused(CLI_RUN("solve", "poisson2d:5x4", "--options"), "solve", "--options needs a value: FILE",
                 "--options without a name is refused");
  expect_refused(CLI_RUN("convert", "poisson2d:5x4", tap_scratch("x.mtx"), "--options", "x"), "convert",
                 "unknown option --options", "convert has no such option");
  const char *path = file("level 1\n");
  expect_refused(CLI_RUN("solve", "poisson2d:5x4", "--options", path, "--solution", path), "solve",
                 "--solution and --options name the same file", "the file of options is not overwritten");
  run = CLI_RUN("solve", "poisson2d:5x4", "--level", "x", "--options", path);
  tap_ok(run->status == 2 && strncmp(run->err, "solve: level \"x\"", 16) == 0,
         "an error of the command line names no file");
}

static void test_json(void)
{
#ifdef HAVE_JANSSON
  const struct cli_run *run = CLI_RUN("solve", "poisson2d:5x4", "--options", file("json\n"));
  tap_ok(run->status == 0 && run->out[0] == '{', "a file may ask for JSON");
  run = CLI_RUN("solve", "poisson2d:5x4", "--options", file("bad 1\njson\n"));
  tap_ok(run->status == 2 && strncmp(run->out, "{\"error\": \"", 11) == 0 && strstr(run->out, "line 1: unknown option"),
         "if the file asks for JSON an error is JSON, even one in an earlier line");
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
