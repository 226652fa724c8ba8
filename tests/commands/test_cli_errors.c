/* test_cli_errors.c - bad options and bad files: each command ends with its exit status and one sentence, and prints
 * nothing else. */
#include "config.h"

#include "tests/support/cli.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char matrix[512]; /* a valid matrix of 3 rows */

static void expect(int status, const char *tool, const char *const argument[])
{
  char line[512] = "";
  size_t used = 0;
  for (size_t i = 0; argument[i] && used < sizeof line; i++)
    used += (size_t)snprintf(line + used, sizeof line - used, " %s", argument[i]);
  const struct cli_run *run = cli_run(tool, argument);
  bool fine = run->status == status && cli_is_one_sentence(run, tool);
  tap_ok(fine, "status %d and one sentence: %s%s", status, tool, line);
  tap_note("%s%s", fine ? "" : "status or text is wrong: ", run->err);
  if (!fine) printf("# status %d, output: %s\n", run->status, run->out);
}

/* Each of these options of solve is refused with status 2 beside a valid matrix. */
static void test_options(void)
{
  static const char *const bad[][2] = {
      {"--block", "0"},
      {"--block", "-1"},
      {"--block", "three"},
      {"--block", "1.5"},
      {"--block", "99999999999999999999"},
      {"--restart", "0"},
      {"--restart", "-3"},
      {"--restart", "3000000000"},
      {"--rtol", "nan"},
      {"--rtol", "-1e-8"},
      {"--rtol", "inf"},
      {"--rtol", "1e-8x"},
      {"--rtol", "0x1p-20"},
      {"--rtol", " 1e-8"},
      {"--rtol", ""},
      {"--atol", "small"},
      {"--atol", "-1"},
      {"--max-iterations", "-1"},
      {"--max-iterations", "1e99"},
      {"--level", "-1"},
      {"--level", "two"},
      {"--level", "0.5"},
      {"--shift", "-1"},
      {"--shift", "nan"},
      {"--solver", "jacoby"},
      {"--solver", ""},
      {"--precond", "ilu"},
      {"--ordering", "random"},
      {"--side", "up"},
      {"--scale", "rows"},
      {"--first", "ilu"},
      {"--first.level", "-1"},
      {"--first.second.levl", "1"},
      {"--second.rtol", "1"},
      {"--level.level", "1"},
      {"--orthogonalise", "thrice"},
      {"--threads", "0"},
      {"--threads", "many"},
      {"--repeat", "0"},
      {"--repeat", "-2"},
      {"--device", "gpu"},
      {"--device", "cuda:x"},
      {"--device", "cuda:-1"},
      {"--device", ""},
      {"--rhs", "/nonexistent/rhs.mtx"},
      {"--rhs", "random:x"},
      {"--rhs", "random:"},
      {"--rhs", ""},
      {"--history", "/nonexistent/history"},
      {"--history", "/tmp"},
      {"--frobnicate", "1"},
      {"--rto", "1"},
      {"-x", "1"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
    expect(2, "solve", (const char *[]){matrix, bad[i][0], bad[i][1], NULL});
  expect(2, "solve", (const char *[]){NULL});
  expect(2, "solve", (const char *[]){"--quiet", NULL});
  expect(2, "solve", (const char *[]){matrix, matrix, NULL});
  expect(2, "solve", (const char *[]){matrix, "--rtol", NULL});
  expect(2, "solve", (const char *[]){matrix, "--solver", "fgmres", "--side", "left", NULL});
  expect(2, "solve", (const char *[]){matrix, "--json=yes", NULL});
  expect(2, "solve", (const char *[]){matrix, "--rtol=", NULL});
  expect(2, "solve", (const char *[]){matrix, "--solution", "/nonexistent/x.mtx", NULL});
  expect(2, "solve", (const char *[]){matrix, "--solution", "/tmp", NULL});
  expect(2, "solve", (const char *[]){matrix, "--solution", tap_scratch("good.mtx/x.mtx"), NULL});
  expect(2, "diff", (const char *[]){matrix, NULL});
  expect(2, "diff", (const char *[]){matrix, matrix, matrix, NULL});
  expect(2, "diff", (const char *[]){matrix, matrix, "--rtol", "nan", NULL});
  expect(2, "diff", (const char *[]){matrix, matrix, "--atol", "-1", NULL});
  expect(2, "diff", (const char *[]){matrix, matrix, "--atol", "0x10", NULL});
  expect(2, "diff", (const char *[]){matrix, matrix, "--atol", " 1", NULL});
  expect(2, "convert", (const char *[]){matrix, NULL});
  expect(2, "convert", (const char *[]){matrix, "/nonexistent/a.mtx", NULL});
  expect(2, "convert", (const char *[]){matrix, tap_scratch("a.xyz"), NULL});
  expect(2, "convert", (const char *[]){matrix, tap_scratch("a.mtx"), "--block", "0", NULL});
}

/* Each of these matrix arguments is refused. */
static void test_matrices(void)
{
  static const char *const bad[][2] = {
      {"empty.mtx", ""},
      {"text.mtx", "hello, world\n"},
      {"banner.mtx", "%%MatrixMarket matrix coordinate\n2 2 1\n1 1 1\n"},
      {"pattern.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 2 2\n1 1\n2 2\n"},
      {"complex.mtx", "%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 0\n"},
      {"short.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 1\n2 2 1\n"},
      {"long.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1\n2 2 1\n"},
      {"zero.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n0 1 1\n2 2 1\n"},
      {"outside.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n3 2 1\n"},
      {"negative.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n-2 2 1\n"},
      {"wide.mtx", "%%MatrixMarket matrix coordinate real general\n2 3 2\n1 1 1\n2 3 1\n"},
      {"nan.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 nan\n2 2 1\n"},
      {"huge.mtx", "%%MatrixMarket matrix coordinate real general\n99999999999 99999999999 1\n1 1 1\n"},
      {"empty.rb", ""},
      {"binary.kbsr", "\x7f\x45\x4c\x46 not a matrix"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
    expect(2, "solve", (const char *[]){tap_write(bad[i][0], bad[i][1], -1), NULL});
  expect(2, "solve", (const char *[]){"/tmp", NULL});
  expect(2, "solve", (const char *[]){"/nonexistent/matrix.mtx", NULL});
  expect(2, "solve", (const char *[]){"", NULL});
  expect(2, "solve", (const char *[]){"poisson9d:3x3", NULL});
  expect(2, "solve", (const char *[]){"poisson2d", NULL});
  expect(2, "solve", (const char *[]){"poisson2d:", NULL});
  expect(2, "solve", (const char *[]){"poisson2d:0x4", NULL});
  expect(2, "solve", (const char *[]){"poisson2d:4x-4", NULL});
  expect(2, "solve", (const char *[]){"poisson2d:4xfour", NULL});
  expect(2, "solve", (const char *[]){"poisson2d:4x4x4x4", NULL});
  expect(2, "solve", (const char *[]){"poisson2d:99999999x99999999", NULL});
  expect(2, "solve", (const char *[]){"poisson2d:4x4,colour=red", NULL});
  expect(2, "diff", (const char *[]){matrix, "/nonexistent/matrix.mtx", NULL});
  expect(2, "diff", (const char *[]){matrix, "poisson2d:4x4", NULL});
  expect(2, "convert", (const char *[]){"/nonexistent/matrix.mtx", tap_scratch("a.mtx"), NULL});
  const struct cli_run *run = CLI_RUN("solve", matrix, "--solution", "-", "--json");
  tap_ok(run->status == 2 && strstr(run->err, "both write to standard output"), "two texts for standard output: %s",
         run->err);
  const char *loop = tap_scratch("loop");
  const bool linked = symlink("loop", loop) == 0;
  run = CLI_RUN("solve", loop);
  tap_ok(linked && run->status == 2 && cli_is_one_sentence(run, "solve") && strstr(run->err, "cannot be read: "),
         "a file that is there and cannot be reached: %s", run->err);
}

/* If set-up fails, the sentence names the matrix and the block row, counted from 0. */
static void test_setup(void)
{
  const char *path =
      tap_write("diagonal.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n1 2 1\n", -1);
  const struct cli_run *run = CLI_RUN("solve", path);
  tap_ok(run->status == 2 && cli_is_one_sentence(run, "solve") && strstr(run->err, "diagonal.mtx: block row 1 "),
         "an error in set-up names the matrix and the block row");
  tap_note("%s", run->err);
}

/* The sentence about a right-hand side of wrong length gives both lengths. */
static void test_rhs_length(void)
{
  const char *rhs = tap_write("four.mtx", "%%MatrixMarket matrix array real general\n4 1\n1\n1\n1\n1\n", -1);
  const struct cli_run *run = CLI_RUN("solve", matrix, "--rhs", rhs);
  tap_ok(run->status == 2 && cli_is_one_sentence(run, "solve") && strstr(run->err, "4 rows") &&
             strstr(run->err, "matrix 3"),
         "a right-hand side of wrong length is refused with both lengths");
  tap_note("%s", run->err);
}

/* The error for a name that is neither a file nor a problem lists the problems; that for an unknown option lists the
 * options. */
static void test_lists(void)
{
  const struct cli_run *run = CLI_RUN("solve", "unheard:4x4");
  bool all = run->status == 2;
  for (size_t i = 0; karst_gallery_name(i); i++) all &= strstr(run->err, karst_gallery_name(i)) != NULL;
  tap_ok(all, "an unknown problem is answered with the names of the gallery");
  run = CLI_RUN("solve", matrix, "--frobnicate");
  karst_option_info info;
  all = run->status == 2 && strstr(run->err, "--solution") && strstr(run->err, "--json");
  for (size_t i = 0; karst_options_info(NULL, i, &info); i++)
    all = all && (info.experiment || strstr(run->err, info.name));
  tap_ok(all, "an unknown option is answered with the names of all options");
  static const char *const near[][2] = {
      {"--lvel", "--level?"},   {"--levle=2", "--level?"},           {"--rto", "--rtol?"},
      {"-solver", "--solver?"}, {"--max-iter", "--max-iterations?"}, {"--ordring", "--ordering?"},
      {"--jsn", "--json?"}};
  for (size_t i = 0; i < sizeof near / sizeof near[0]; i++) {
    run = CLI_RUN("solve", matrix, near[i][0]);
    tap_ok(run->status == 2 && cli_is_one_sentence(run, "solve") && strstr(run->err, "did you mean ") &&
               strstr(run->err, near[i][1]),
           "%s is answered with %s", near[i][0], near[i][1]);
  }
  run = CLI_RUN("solve", matrix, "--frobnicate");
  tap_ok(!strstr(run->err, "did you mean"), "a name that is near to no option gets no suggestion");
  static const char *const commands[] = {"solve", "diff", "convert", "bench"};
  for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
    run = CLI_RUN(commands[i], "-h");
    tap_ok(run->status == 0 && !run->err[0] && strstr(run->out, "usage: ") && strstr(run->out, "--help"),
           "%s -h is --help", commands[i]);
  }
  run = CLI_RUN("solve", "--help");
  all = run->status == 0 && run->err[0] == '\0' && strstr(run->out, "--rhs") && strstr(run->out, "exit status");
  for (size_t i = 0; karst_options_info(NULL, i, &info); i++)
    all = all && (info.experiment || strstr(run->out, info.help));
  tap_ok(all, "--help lists all options");
  const char *name, *help;
  all = !karst_options_method(NULL, "level", 0, &help, NULL) && !karst_options_method(NULL, "solver", 100, &help, NULL);
  for (size_t i = 0; (name = karst_options_method(NULL, "precond", i, &help, NULL)); i++)
    all = all && strstr(run->out, name) && strstr(run->out, help);
  tap_ok(all && strstr(run->out, "conjugate gradients") && strstr(run->out, "dissection"),
         "--help describes the methods");
  run = CLI_RUN("solve", "--help=options");
  all = run->status == 0 && run->err[0] == '\0' && strstr(run->out, "\n  --rhs FILE|ones") &&
        strstr(run->out, "\nWith --precond rrb:\n  --rrb-levels N\n      Eliminations of rrb") &&
        strstr(run->out, "\n      cg: conjugate gradients") && !strstr(run->out, "--sweep-order");
  tap_ok(all, "--help=options explains options and methods, those for experiments aside");
  bool narrow = true;
  for (const char *line = run->out; *line; line += strcspn(line, "\n") + 1) narrow = narrow && strcspn(line, "\n") < 80;
  tap_ok(narrow, "on lines that a terminal has room for");
  run = CLI_RUN("solve", "--help=html");
  tap_ok(run->status == 2 && cli_is_one_sentence(run, "solve") && strstr(run->err, "options, markdown or man"),
         "another form of it is refused");
  run = CLI_RUN("solve", "--version");
  tap_ok(run->status == 0 && strstr(run->out, karst_version()), "--version prints the version");
}

/* Behind "--" all arguments are operands, also one that begins like an option. */
static void test_end_of_options(void)
{
  const struct cli_run *run = CLI_RUN("solve", "--quiet", "--", matrix);
  tap_ok(run->status == 0 && !run->err[0], "-- ends the options");
  run = CLI_RUN("solve", "--", "--json");
  tap_ok(run->status == 2 && cli_is_one_sentence(run, "solve") && strstr(run->err, "'--json'"),
         "what stands behind it is an operand");
  run = CLI_RUN("solve", matrix, "--rhs", "--");
  tap_ok(run->status == 2 && strstr(run->err, "--"), "but as the value of an option it is one");
}

/* For programs an error has what the library calls it, where it is the library's. */
static void test_error_status(void)
{
  const struct cli_run *run = CLI_RUN("solve", "/nonexistent/matrix.mtx", "--json");
  tap_ok(run->status == 2 && strstr(run->out, "\"error_status\": ") && strstr(run->out, "\"status\": 2"),
         "an error has a status: %s", run->out);
#ifdef HAVE_JANSSON
  run = CLI_RUN("solve", tap_scratch("text.mtx"), "--json");
  tap_ok(run->status == 2 && strstr(run->out, "\"error_status\": \"malformed file\""), "that of the library");
#endif
  run = CLI_RUN("solve", matrix, "--json", "--frobnicate");
  tap_ok(run->status == 2 && strstr(run->out, "\"error_status\": null"), "or null");
}

static long factor_entries(const struct cli_run *run)
{
  const char *line = strstr(run->out, "factors ");
  return line ? strtol(line + strlen("factors "), NULL, 10) : -1;
}

/* --first.level and --first.level=1 are both accepted and act like the stage's own option. */
static void test_options_inside(void)
{
  const struct cli_run *run = CLI_RUN("solve", "convdiff:9x9x9", "--precond", "two-stage");
  tap_ok(run->status == 0 && strstr(run->out, "two-stage: jacobi, then iluk"), "two-stage is a preconditioner");
  const long less = factor_entries(run);
  run = CLI_RUN("solve", "convdiff:9x9x9", "--precond=two-stage", "--first=none", "--second.level", "1");
  tap_ok(run->status == 0 && strstr(run->out, "two-stage: none, then iluk of level 1"), "its stages are options");
  const long more = factor_entries(run);
  tap_ok(more > less && less > 0, "and these have options: %ld entries and %ld", less, more);
  run = CLI_RUN("solve", "convdiff:9x9x9", "--precond=two-stage", "--second.level=1", "--first.precond=none");
  tap_ok(run->status == 0 && factor_entries(run) == more, "in either form");
  run = CLI_RUN("solve", matrix, "--second.level");
  tap_ok(run->status == 2 && strstr(run->err, "--second.level needs a value: N"), "and need a value");
  run = CLI_RUN("solve", matrix, "--second.sweep-limit", "1");
  tap_ok(run->status == 2 && strstr(run->err, "unknown option --second.sweep-limit"),
         "those for experiments are none inside either");
  run = CLI_RUN("solve", matrix, "--first.levl=1");
  tap_ok(run->status == 2 && cli_is_one_sentence(run, "solve") && strstr(run->err, "first has precond, level, "),
         "one that is unknown is answered with those there are");
}

/* The preconditioner that the commands register themselves is listed, and refused on the CPU; or it was not built, and
 * they say what to do. */
static void test_own_method(void)
{
  const bool listed = strstr(CLI_RUN("solve", "--help")->out, "\n  cusparse ") != NULL;
  for (int i = 0; i < 3; i++) {
    const struct cli_run *run = i == 1   ? CLI_RUN("bench", "poisson2d:9x9", "--quick", "--set", "precond=cusparse")
                                : i == 0 ? CLI_RUN("solve", matrix, "--precond", "cusparse")
                                         : CLI_RUN("solve", matrix, "--precond", "two-stage", "--first", "cusparse");
    const bool says = listed ? strstr(run->err, "it runs on cuda") != NULL
                             : strstr(run->err, "--with-cusparse") || strstr(run->err, "--enable-int64");
    tap_ok(run->status == 2 && cli_is_one_sentence(run, i == 1 ? "bench" : "solve") && says,
           "cusparse, which is %s, is refused on the CPU", listed ? "listed" : "not listed");
    tap_note("%s", run->err);
  }
}

static void test_device(void)
{
  const struct cli_run *run = CLI_RUN("solve", matrix, "--device", "cuda");
  if (run->status == 0)
    tap_skip("a GPU is there", "--device cuda without a GPU: status 3 and one sentence");
  else
    tap_ok(run->status == 3 && cli_is_one_sentence(run, "solve"),
           "--device cuda without a GPU: status 3 and one sentence");
  expect(3, "solve", (const char *[]){matrix, "--device", "cuda:99", NULL});
}

/* A failure to write output is reported. */
static void test_output(void)
{
  const char *const arguments[] = {matrix, NULL};
  int ends[2], full = open("/dev/full", O_WRONLY);
  struct stat device;
  if (full < 0) {
    tap_skip("there is no /dev/full", "a full disk is noticed");
  } else {
    const struct cli_run *run = cli_run_into(full, "solve", arguments);
    tap_ok(run->status == 2 && cli_is_one_sentence(run, "solve"), "a full disk is noticed");
    tap_note("%s", run->err);
    run = CLI_RUN("solve", matrix, "--quiet", "--history", "/dev/full");
    tap_ok(run->status == 2 && cli_is_one_sentence(run, "solve"), "a full disk under --history is noticed");
    run = CLI_RUN("solve", matrix, "--quiet", "--solution", "/dev/full");
    tap_ok(run->status == 2 && cli_is_one_sentence(run, "solve"), "a full disk under --solution is noticed");
    tap_ok(stat("/dev/full", &device) == 0 && S_ISCHR(device.st_mode), "the device still exists");
    close(full);
  }
  if (pipe(ends) != 0) return;
  close(ends[0]);
  const struct cli_run *run = cli_run_into(ends[1], "solve", arguments);
  tap_ok(run->status == 2 && cli_is_one_sentence(run, "solve"), "a closed pipe is noticed");
  tap_note("%s", run->err);
  close(ends[1]);
}

int main(void)
{
  cli_need("solve");
  snprintf(matrix, sizeof matrix, "%s",
           tap_write("good.mtx",
                     "%%MatrixMarket matrix coordinate real general\n"
                     "3 3 5\n1 1 4\n1 2 -1\n2 2 4\n3 2 -1\n3 3 4\n",
                     -1));
  tap_ok(CLI_RUN("solve", matrix)->status == 0, "the matrix beside the bad options is a good one");
  test_options();
  test_matrices();
  test_setup();
  test_rhs_length();
  test_lists();
  test_end_of_options();
  test_error_status();
  test_options_inside();
  test_own_method();
  test_device();
  test_output();
  return tap_done();
}
