/* test_cli_errors.c - bad options and bad files: each command prints one sentence, and ends with its exit status. */
#include "config.h"

#include "tests/support/commands.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *matrix; /* the path of a valid matrix of 3 rows */

static void expect(int status, const char *tool, const char *const argument[])
{
  char line[512] = "";
  size_t used = 0;
  for (size_t i = 0; argument[i] && used < sizeof line; i++)
    used += (size_t)snprintf(line + used, sizeof line - used, " %s", argument[i]);
  const struct cli_run *run = cli_run(tool, argument);
  check_run(run, run->status == status && cli_is_one_sentence(run, tool), "status %d and one sentence: %s%s: %s",
            status, tool, line, run->err);
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
      {"short.mtx", GENERAL "2 2 3\n1 1 1\n2 2 1\n"},
      {"long.mtx", GENERAL "2 2 1\n1 1 1\n2 2 1\n"},
      {"zero.mtx", GENERAL "2 2 2\n0 1 1\n2 2 1\n"},
      {"outside.mtx", GENERAL "2 2 2\n1 1 1\n3 2 1\n"},
      {"negative.mtx", GENERAL "2 2 2\n1 1 1\n-2 2 1\n"},
      {"wide.mtx", GENERAL "2 3 2\n1 1 1\n2 3 1\n"},
      {"nan.mtx", GENERAL "2 2 2\n1 1 nan\n2 2 1\n"},
      {"huge.mtx", GENERAL "99999999999 99999999999 1\n1 1 1\n"},
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
  check_run(run, run->status == 2 && strstr(run->err, "both write to standard output"),
            "two texts for standard output are refused");
  const char *loop = tap_scratch("loop");
  const bool linked = symlink("loop", loop) == 0;
  run = CLI_RUN("solve", loop);
  check_run(run, linked && is_refused(run, "solve", "cannot be read: "), "a link to itself cannot be read");
}

/* If set-up fails, the sentence names the matrix and the block row, counted from 0. */
static void test_setup(void)
{
  const char *path = tap_write("diagonal.mtx", GENERAL "2 2 2\n1 1 1\n1 2 1\n", -1);
  expect_refused(CLI_RUN("solve", path), "solve", "diagonal.mtx: block row 1 ",
                 "an error in set-up names the matrix and the block row");
}

/* The sentence about a right-hand side of wrong length gives both lengths. */
static void test_rhs_length(void)
{
  const struct cli_run *run = CLI_RUN("solve", matrix, "--rhs", tap_write("four.mtx", ARRAY "4 1\n1\n1\n1\n1\n", -1));
  check_run(run, is_refused(run, "solve", "4 rows") && strstr(run->err, "matrix 3"),
            "a right-hand side of wrong length is refused with both lengths");
}

/* The error for a name that is neither a file nor a problem lists the problems; that for an unknown option lists the
 * options. */
static void test_lists(void)
{
  const struct cli_run *run = CLI_RUN("solve", "unheard:4x4");
  bool all = run->status == 2;
  for (size_t i = 0; karst_gallery_name(i); i++) all &= strstr(run->err, karst_gallery_name(i)) != NULL;
  tap_ok(all, "the error for an unknown problem lists the names of the gallery");
  run = CLI_RUN("solve", matrix, "--frobnicate");
  karst_option_info info;
  all = run->status == 2 && strstr(run->err, "--solution") && strstr(run->err, "--json");
  for (size_t i = 0; karst_options_info(NULL, i, &info); i++)
    all = all && (info.experiment || strstr(run->err, info.name));
  tap_ok(all, "the error for an unknown option lists all options");
  tap_ok(!strstr(run->err, "did you mean"), "an option that is near to no other gets no suggestion");
  static const char *const near[][2] = {
      {"--lvel", "--level?"},   {"--levle=2", "--level?"},           {"--rto", "--rtol?"},
      {"-solver", "--solver?"}, {"--max-iter", "--max-iterations?"}, {"--ordring", "--ordering?"},
      {"--jsn", "--json?"}};
  for (size_t i = 0; i < sizeof near / sizeof near[0]; i++) {
    run = CLI_RUN("solve", matrix, near[i][0]);
    tap_ok(is_refused(run, "solve", "did you mean ") && strstr(run->err, near[i][1]), "the error for %s suggests %s",
           near[i][0], near[i][1]);
  }
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
  tap_ok(all, "--help=options explains options and methods, without those for experiments");
  bool narrow = true;
  for (const char *line = run->out; *line; line += strcspn(line, "\n") + 1) narrow = narrow && strcspn(line, "\n") < 80;
  tap_ok(narrow, "--help=options has lines of fewer than 80 characters");
  expect_refused(CLI_RUN("solve", "--help=html"), "solve", "options, markdown or man", "--help=html is refused");
  run = CLI_RUN("solve", "--version");
  tap_ok(run->status == 0 && strstr(run->out, karst_version()), "--version prints the version");
}

/* After "--" all arguments are operands, even one that begins like an option. */
static void test_end_of_options(void)
{
  const struct cli_run *run = CLI_RUN("solve", "--quiet", "--", matrix);
  tap_ok(run->status == 0 && !run->err[0], "-- ends the options");
  expect_refused(CLI_RUN("solve", "--", "--json"), "solve", "'--json'", "an argument after -- is an operand");
  expect_refused(CLI_RUN("solve", matrix, "--rhs", "--"), "solve", "--",
                 "-- as the value of an option does not end the options");
}

/* With --json an error has the name of the library's status, or null if it is not the library's. */
static void test_error_status(void)
{
  const struct cli_run *run = CLI_RUN("solve", "/nonexistent/matrix.mtx", "--json");
  tap_ok(run->status == 2 && strstr(run->out, "\"error_status\": ") && strstr(run->out, "\"status\": 2"),
         "an error has a status: %s", run->out);
#ifdef HAVE_JANSSON
  run = CLI_RUN("solve", tap_scratch("text.mtx"), "--json");
  tap_ok(run->status == 2 && strstr(run->out, "\"error_status\": \"malformed file\""),
         "an error of the library is named");
#endif
  run = CLI_RUN("solve", matrix, "--json", "--frobnicate");
  tap_ok(run->status == 2 && strstr(run->out, "\"error_status\": null"), "an error of the command has null");
}

static double factor_entries(const struct cli_run *run) { return number_after(run->out, "factors "); }

/* --first.level and --first.level=1 are both accepted and act like the stage's own option. */
static void test_options_inside(void)
{
  const struct cli_run *run = CLI_RUN("solve", "convdiff:9x9x9", "--precond", "two-stage");
  tap_ok(run->status == 0 && strstr(run->out, "two-stage: jacobi, then iluk"), "two-stage is a preconditioner");
  const double less = factor_entries(run);
  run = CLI_RUN("solve", "convdiff:9x9x9", "--precond=two-stage", "--first=none", "--second.level", "1");
  tap_ok(run->status == 0 && strstr(run->out, "two-stage: none, then iluk of level 1"),
         "the stages of two-stage are options");
  const double more = factor_entries(run);
  tap_ok(more > less && less > 0, "a stage's level counts: %g entries and %g", less, more);
  run = CLI_RUN("solve", "convdiff:9x9x9", "--precond=two-stage", "--second.level=1", "--first.precond=none");
  tap_ok(run->status == 0 && factor_entries(run) == more, "--first.precond is --first");
  expect_refused(CLI_RUN("solve", matrix, "--second.level"), "solve", "--second.level needs a value: N",
                 "a stage's option needs a value");
  expect_refused(CLI_RUN("solve", matrix, "--second.sweep-limit", "1"), "solve", "unknown option --second.sweep-limit",
                 "a stage has no options for experiments");
  expect_refused(CLI_RUN("solve", matrix, "--first.levl=1"), "solve", "first has precond, level, ",
                 "the error for an unknown option of a stage lists its options");
}

/* The preconditioners that the commands register themselves are listed, and refused on a device and for a block size that
 * they do not serve. A build without them says what to do. */
static void test_own_method(void)
{
  const bool listed = strstr(CLI_RUN("solve", "--help")->out, "\n  cusparse ") != NULL;
  for (int i = 0; i < 3; i++) {
    const struct cli_run *run = i == 1   ? CLI_RUN("bench", "poisson2d:9x9", "--quick", "--set", "precond=cusparse")
                                : i == 0 ? CLI_RUN("solve", matrix, "--precond", "cusparse")
                                         : CLI_RUN("solve", matrix, "--precond", "two-stage", "--first", "cusparse");
    const bool says = listed ? strstr(run->err, "it runs on cuda") != NULL
                             : strstr(run->err, "--with-cusparse") || strstr(run->err, "--enable-int64");
    check_run(run, is_refused(run, i == 1 ? "bench" : "solve", "") && says,
              "cusparse, which is %s, is refused on the CPU", listed ? "listed" : "not listed");
  }
  const bool has_hypre = strstr(CLI_RUN("solve", "--help")->out, "\n  hypre ") != NULL;
  expect_refused(CLI_RUN("solve", "convdiff:3x3x3", "--block", "2", "--precond", "hypre"), "solve",
                 has_hypre ? "for one unknown a cell" : "--with-hypre", "hypre is refused for blocks, or is not built");
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
    expect_refused(cli_run_into(full, "solve", arguments), "solve", "", "a full disk is noticed");
    expect_refused(CLI_RUN("solve", matrix, "--quiet", "--history", "/dev/full"), "solve", "",
                   "a full disk under --history is noticed");
    expect_refused(CLI_RUN("solve", matrix, "--quiet", "--solution", "/dev/full"), "solve", "",
                   "a full disk under --solution is noticed");
    tap_ok(stat("/dev/full", &device) == 0 && S_ISCHR(device.st_mode), "the device still exists");
    close(full);
  }
  if (pipe(ends) != 0) return;
  close(ends[0]);
  expect_refused(cli_run_into(ends[1], "solve", arguments), "solve", "", "a closed pipe is noticed");
  close(ends[1]);
}

int main(void)
{
  cli_need("solve");
  matrix = scratch_file("good.mtx", GENERAL "3 3 5\n1 1 4\n1 2 -1\n2 2 4\n3 2 -1\n3 3 4\n");
  tap_ok(CLI_RUN("solve", matrix)->status == 0, "the matrix of the refused runs is solved without their options");
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
