/* test_cli_files.c - the commands diff and convert, input through pipes, and Rutherford-Boeing files. A matrix written
 * in any format is read back as the same matrix. */
#include "config.h"

#include "tests/support/commands.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE = 300 }; /* seconds after which a run that hangs is ended */

static bool agree(const char *a, const char *b) { return CLI_RUN("diff", a, b, "--rtol=0")->status == 0; }

static void test_convert(void)
{
  static const char *const outputs[] = {"a.mtx", "a.mtx.gz", "a.kbsr"};
  for (size_t i = 0; i < 3; i++) {
    if (strstr(outputs[i], ".gz") && !strstr(karst_build_features(), "zlib")) {
      tap_skip("built without zlib", "%s", outputs[i]);
      continue;
    }
    const char *path = scratch_path(outputs[i]), *beside = scratch_path("a_b.mtx");
    const struct cli_run *run = CLI_RUN("convert", "blackoil:4x3x2", path);
    bool written = run->status == 0 && !run->out[0] && !run->err[0];
    tap_note("%s", run->err);
    tap_ok(written && agree("blackoil:4x3x2", path), "%s is the matrix of the gallery", outputs[i]);
    tap_ok(access(beside, R_OK) == 0, "%s has its right-hand side beside it", outputs[i]);
    run = CLI_RUN("solve", path);
    tap_ok(run->status == 0 && strstr(run->out, "block size 3") && strstr(run->out, "came with the matrix"),
           "%s is solved with its block size and right-hand side", outputs[i]);
    unlink(path);
    unlink(beside);
  }
  const char *path = scratch_path("padded.kbsr");
  const struct cli_run *run = CLI_RUN("convert", "poisson2d:5x5", path, "--block", "3");
  tap_ok(run->status == 0 && strstr(run->err, "padded") && agree("poisson2d:5x5", path),
         "a padded matrix is the same matrix");
  run = CLI_RUN("solve", path);
  tap_ok(run->status == 0 && strstr(run->out, "25 rows") && strstr(run->out, "block size 3"),
         "a padded matrix is read with its block size and its rows");
  unlink(path); /* else the next matrix would get its right-hand side */
  /* The matrix has 18 rows in blocks of 4, and a right-hand side. */
  path = scratch_path("padded.mtx");
  run = CLI_RUN("convert", "deadoil:3x3x1", path, "--block", "4");
  bool written = run->status == 0 && strstr(run->err, "padded");
  run = CLI_RUN("solve", path, "--block", "1");
  check_run(run, written && run->status == 0 && strstr(run->out, "18 rows") && strstr(run->out, "came with the matrix"),
            "the right-hand side of a padded matrix is written without the padding");
  path = scratch_path("padded.kbsr");
  run = CLI_RUN("convert", "deadoil:3x3x1", path, "--block", "4");
  written = run->status == 0;
  run = CLI_RUN("solve", path);
  tap_ok(written && run->status == 0 && strstr(run->out, "block size 4") && strstr(run->out, "came with the matrix"),
         "the right-hand side is read beside a .kbsr file, which keeps the padding");
}

static void test_compare(void)
{
  const char *a = scratch_path("a.mtx"), *b = scratch_path("b.mtx");
  tap_write("a.mtx", GENERAL "2 2 3\n1 1 4\n2 1 1e-3\n2 2 4\n", -1);
  tap_write("b.mtx", GENERAL "2 2 3\n1 1 4\n1 2 0\n2 2 4.5\n", -1);
  const struct cli_run *run = CLI_RUN("diff", a, b);
  tap_ok(run->status == 1 && strstr(run->out, "largest difference 0.5, relative 0.111111, in row 1, column 1"),
         "diff finds the largest difference of two patterns");
  tap_note("%s", run->out);
  tap_ok(CLI_RUN("diff", a, b, "--atol=0.5", "--rtol=0")->status == 0, "--atol is met exactly");
  tap_ok(CLI_RUN("diff", a, b, "--atol=0.49", "--rtol=0")->status == 1, "--atol is missed");
  tap_ok(CLI_RUN("diff", a, b, "--rtol=0.12")->status == 0, "--rtol is relative to the second");
  tap_ok(CLI_RUN("diff", a, a, "--rtol=0")->status == 0, "a matrix agrees with itself");
  tap_write("a.mtx", ARRAY "3 1\n1\n2\n3\n", -1);
  tap_write("b.mtx", "1\n2\n-3\n", -1);
  run = CLI_RUN("diff", a, b);
  tap_ok(run->status == 1 && strstr(run->out, "difference 6, relative 2, in row 2 "),
         "diff reads vectors, in plain numbers too");
  tap_write("b.mtx", ARRAY "3 1\n1\nx\n3\n", -1);
  expect_refused(CLI_RUN("diff", b, a), "diff", "line 4", "a malformed vector is named with its line");
  tap_write("b.mtx", "1\n2\n", -1);
  expect_refused(CLI_RUN("diff", a, b), "diff", "different numbers of rows: 3 and 2",
                 "vectors of two lengths are not compared");
  expect_refused(CLI_RUN("diff", a, "poisson2d:3x1"), "diff", "A is a vector, so B must be one",
                 "a vector is not compared with a matrix");
}

/* Makes an open file the standard input, which the commands inherit. */
static void take_input(int descriptor)
{
  if (descriptor == STDIN_FILENO) return;
  if (descriptor < 0 || dup2(descriptor, STDIN_FILENO) < 0) {
    printf("Bail out! no standard input\n");
    exit(99);
  }
  close(descriptor);
}

static void no_input(void) { take_input(open("/dev/null", O_RDONLY)); }

/* Writes a file's bytes into a pipe, in a child process that then ends. */
static void pour(const char *path, int pipe)
{
  char buffer[4096];
  ssize_t got;
  int file = open(path, O_RDONLY);
  while ((got = read(file, buffer, sizeof buffer)) > 0 && write(pipe, buffer, (size_t)got) == got) continue;
  _exit(0);
}

/* Makes a pipe, which a process fills from a file, the standard input. */
static pid_t pipe_open(const char *path)
{
  int ends[2] = {-1, -1};
  pid_t writer = pipe(ends) == 0 ? fork() : -1;
  if (writer == 0) {
    close(ends[0]);
    pour(path, ends[1]);
  }
  take_input(writer < 0 ? -1 : ends[0]);
  close(ends[1]);
  return writer;
}

static void pipe_close(pid_t writer)
{
  no_input();
  waitpid(writer, NULL, 0);
}

/* Runs a command whose standard input is a pipe filled from a file. */
static const struct cli_run *run_piped(const char *path, const char *tool, const char *const argument[])
{
  const pid_t writer = pipe_open(path);
  const struct cli_run *run = cli_run(tool, argument);
  pipe_close(writer);
  return run;
}
#define PIPED(path, tool, ...) run_piped(path, tool, (const char *const[]){__VA_ARGS__, NULL})

/* The matrices are larger than a pipe's buffer, and a plain file would be opened several times. */
static void test_pipes(void)
{
  static const char *const outputs[] = {"p.mtx", "p.mtx.gz", "p.kbsr"};
  const char *copy = scratch_path("copy.kbsr");
  for (size_t i = 0; i < 3; i++) {
    if (strstr(outputs[i], ".gz") && !strstr(karst_build_features(), "zlib")) {
      tap_skip("built without zlib", "%s through a pipe", outputs[i]);
      continue;
    }
    const char *path = scratch_path(outputs[i]);
    bool written = CLI_RUN("convert", "convdiff:12x11x10", path)->status == 0;
    const struct cli_run *run = PIPED(path, "solve", "-");
    tap_ok(written && run->status == 0 && strstr(run->out, "matrix      -: 3960 rows") &&
               strstr(run->out, "block size 3"),
           "%s is solved from a pipe", outputs[i]);
    tap_ok(PIPED(path, "convert", "/dev/stdin", copy)->status == 0 && agree("convdiff:12x11x10", copy),
           "a matrix is converted from a pipe");
    tap_ok(PIPED(path, "diff", "-", "convdiff:12x11x10", "--rtol=0")->status == 0, "a matrix is compared from a pipe");
  }
  const char *numbers = scratch_file("b.mtx", "1\n2\n");
  tap_ok(PIPED(numbers, "diff", "-", numbers, "--rtol=0")->status == 0, "a vector is compared from a pipe");
  int file = open(tap_write("b.mtx", GENERAL "1 1 1\n1 1 4\n", -1), O_RDONLY);
  tap_ok(dup2(file, STDIN_FILENO) == STDIN_FILENO && CLI_RUN("solve", "-")->status == 0,
         "standard input may be a file");
  close(file);
  no_input();
}

static void test_pipe_errors(void)
{
  expect_refused(PIPED(tap_write("b.mtx", "", 0), "solve", "-"), "solve", "stdin: the file is empty",
                 "an empty pipe is refused");
  expect_refused(PIPED(tap_write("b.mtx", GENERAL "2 2 2\n1 1 4\n2 2 x\n", -1), "solve", "-"), "solve", "stdin, line 4",
                 "a bad line in a pipe is refused");
  setenv("TMPDIR", "/nowhere", 1);
  const struct cli_run *run = PIPED(tap_write("b.mtx", "1\n", -1), "solve", "-");
  unsetenv("TMPDIR");
  expect_refused(run, "solve", "/nowhere", "a copy that cannot be written is an error");
}

/* Makes a named pipe, which a process fills from a file when the pipe is read. */
static pid_t fifo_open(const char *path, const char *fifo)
{
  unlink(fifo);
  pid_t writer = mkfifo(fifo, 0600) == 0 ? fork() : -1;
  if (writer == 0) {
    alarm(PATIENCE); /* ends a writer without a reader */
    pour(path, open(fifo, O_WRONLY));
  }
  if (writer < 0) {
    printf("Bail out! no named pipe\n");
    exit(99);
  }
  return writer;
}

/* Runs a command on the named pipe a.fifo, and on b.fifo unless its file is NULL. They are filled from files. */
static const struct cli_run *run_named(const char *tool, const char *from_a, const char *from_b)
{
  const char *a = scratch_path("a.fifo"), *b = scratch_path("b.fifo");
  const pid_t writer = fifo_open(from_a, a), other = from_b ? fifo_open(from_b, b) : -1;
  const struct cli_run *run = CLI_RUN(tool, a, from_b ? b : NULL, "--rtol=0");
  waitpid(writer, NULL, 0);
  if (from_b) waitpid(other, NULL, 0);
  unlink(a);
  unlink(b);
  return run;
}

/* Whether the run was refused with a sentence that begins with a name. */
static bool begins_with(const struct cli_run *run, const char *tool, const char *name)
{
  tap_note("%s", run->err);
  return is_refused(run, tool, "") && strncmp(run->err + strlen(tool) + 2, name, strlen(name)) == 0;
}

static void test_named_pipes(void)
{
  const char *path = scratch_path("p.mtx"), *bad = scratch_file("bad.mtx", "garbage\n");
  bool written = CLI_RUN("convert", "convdiff:12x11x10", path)->status == 0;
  const struct cli_run *run = run_named("solve", path, NULL);
  tap_ok(written && run->status == 0 && strstr(run->out, "3960 rows"), "a named pipe is solved");
  tap_ok(run_named("diff", path, path)->status == 0, "two named pipes are compared");
  tap_ok(begins_with(run_named("solve", bad, NULL), "solve", scratch_path("a.fifo")), "an error names the pipe");
  tap_ok(begins_with(run_named("diff", path, bad), "diff", scratch_path("b.fifo")),
         "an error names the second of two pipes");
  pid_t writer = pipe_open(bad);
  dup2(STDIN_FILENO, 9);
  tap_ok(begins_with(CLI_RUN("solve", "/dev/fd/9"), "solve", "/dev/fd/9, line 1"),
         "an error names a pipe of the shell");
  close(9);
  pipe_close(writer);
}

static const char tiny[] = GENERAL "1 1 1\n1 1 4\n";

static void test_inputs(void)
{
  const char *fifo = scratch_path("a.fifo");
  int ends[2] = {-1, -1};
  /* The pipe is open for reading and writing, so that neither end waits for the other. */
  int both = mkfifo(fifo, 0600) == 0 ? open(fifo, O_RDWR) : -1;
  bool written = write(both, tiny, sizeof tiny - 1) == sizeof tiny - 1;
  take_input(open(fifo, O_RDONLY));
  close(both);
  alarm(PATIENCE);
  tap_ok(written && CLI_RUN("solve", "-")->status == 0, "a named pipe whose writer is done is read as standard input");
  alarm(0);
  unlink(fifo);
  written = socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0 && write(ends[1], tiny, sizeof tiny - 1) > 0;
  close(ends[1]);
  take_input(ends[0]);
  tap_ok(written && CLI_RUN("solve", "-")->status == 0, "a socket is read as standard input");
  static const char *const refused[] = {"/dev/null", "/dev/zero", "."};
  for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
    take_input(open(refused[i], O_RDONLY));
    tap_ok(begins_with(CLI_RUN("solve", "-"), "solve", "/dev/stdin is "), "%s is refused", refused[i]);
  }
  close(STDIN_FILENO);
  tap_ok(begins_with(CLI_RUN("solve", "-"), "solve", "standard input is closed"), "a closed standard input is refused");
  no_input();
}

#ifdef HAVE_SUITESPARSE
#define HEADER(type, sizes)                                                                                            \
  "A small matrix                                                          SMALL   \n"                                 \
  "             3             1             1             1\n" type "           " sizes "\n"                           \
  "(26I3)          (26I3)          (3E25.16)           \n"

static void test_rutherford_boeing(void)
{
  const char *rb = scratch_path("small.rb"), *mtx = scratch_path("small.mtx"), *plain = scratch_path("small.data");
  const struct cli_run *run;
  tap_write("small.mtx",
            GENERAL "3 3 7\n1 1 4\n1 2 -1\n2 1 -1\n2 2 5\n2 3 -2\n"
                    "3 2 -2\n3 3 6.5\n",
            -1);
  tap_write("small.rb", HEADER("rsa", "3 3 5 0") "1 3 5 6\n1 2 2 3 3\n4.0 -1.0 5 -2 6.5e0\n", -1);
  tap_ok(agree(mtx, rb), "a symmetric Rutherford-Boeing file is expanded");
  tap_write("small.data", HEADER("RUA", "3 3 5 0") "1 3 5 6\n1 2 2 3 3\n4.0 -1.0 5 -2 6.5e0\n", -1);
  tap_write("small.mtx", GENERAL "3 3 5\n1 1 4\n2 1 -1\n2 2 5\n3 2 -2\n3 3 6.5\n", -1);
  tap_ok(agree(mtx, plain), "an unsymmetric Rutherford-Boeing file with any name is recognised by its content");
  run = CLI_RUN("solve", plain, "--block=2", "--rtol=1e-12");
  tap_ok(run->status == 0 && strstr(run->out, "block size 2") && strstr(run->err, "padded"),
         "a Rutherford-Boeing file is solved with blocks");
  tap_write("small.rb", HEADER("rza", "3 3 2 0") "1 2 3 3\n2 3\n1.5 -2\n", -1);
  tap_write("small.mtx", GENERAL "3 3 4\n2 1 1.5\n1 2 -1.5\n3 2 -2\n2 3 2\n", -1);
  tap_ok(agree(mtx, rb), "a skew-symmetric Rutherford-Boeing file is expanded");
  tap_write("small.rb", HEADER("rza", "3 3 2 0") "1 2 3 3\n2 3\n0.15D+01 -.2d1\n", -1);
  tap_ok(agree(mtx, rb), "Fortran's D exponents are read");
}

static void test_rutherford_boeing_errors(void)
{
  static const char *const bad[][2] = {
      {"a pattern", HEADER("pua", "2 2 2 0") "1 2 3\n1 2\n"},
      {"complex values", HEADER("cua", "2 2 2 0") "1 2 3\n1 2\n1 0 1 0\n"},
      {"finite elements", HEADER("rse", "2 2 2 1") "1 2 3\n1 2\n1 1\n"},
      {"a rectangular matrix", HEADER("rra", "3 2 2 0") "1 2 3\n1 2\n1 1\n"},
      {"an unknown type", HEADER("xua", "2 2 2 0") "1 2 3\n1 2\n1 1\n"},
      {"no sizes", HEADER("rua", "") "1 2 3\n1 2\n1 1\n"},
      {"sizes of 0", HEADER("rua", "0 0 0 0") "1\n"},
      {"negative sizes", HEADER("rua", "-2 -2 2 0") "1 2 3\n1 2\n1 1\n"},
      {"huge sizes", HEADER("rua", "2 2 4000000000000000000 0") "1 2 3\n1 2\n1 1\n"},
      {"a header cut short", "title\n 3 1 1 1\nrua 2 2 2 0\n"},
      {"column starts that fall", HEADER("rua", "2 2 2 0") "1 4 3\n1 2\n1 1\n"},
      {"column starts cut short", HEADER("rua", "2 2 2 0") "1 2\n"},
      {"a row index of 0", HEADER("rua", "2 2 2 0") "1 2 3\n0 2\n1 1\n"},
      {"a row index too large", HEADER("rua", "2 2 2 0") "1 2 3\n1 3\n1 1\n"},
      {"an entry twice", HEADER("rua", "2 2 3 0") "1 3 4\n1 1 2\n1 1 1\n"},
      {"upper entries of a symmetric matrix", HEADER("rsa", "2 2 3 0") "1 2 4\n1 1 2\n1 1 1\n"},
      {"values cut short", HEADER("rua", "2 2 2 0") "1 2 3\n1 2\n1\n"},
      {"text among the values", HEADER("rua", "2 2 2 0") "1 2 3\n1 2\n1 one\n"},
      {"NaN", HEADER("rua", "2 2 2 0") "1 2 3\n1 2\n1 nan\n"},
      {"a D without an exponent, by its line", HEADER("rua", "2 2 2 0") "1 2 3\n1 2\n1.0D+00 2.0D+\n"},
      {"an exponent twice, by its line", HEADER("rua", "2 2 2 0") "1 2 3\n1 2\n1.0D+00 2.0D1e2\n"},
      {"a D exponent too large, by its line", HEADER("rua", "2 2 2 0") "1 2 3\n1 2\n1.0D+999 1\n"},
      {"an exponent too large, by its line", HEADER("rua", "2 2 2 0") "1 2 3\n1 2\n1.0E+999 1\n"},
      {"an infinity, by its line", HEADER("rua", "2 2 2 0") "1 2 3\n1 2\n1\n-1e400\n"},
      {"sizes beyond the file, by their line", HEADER("rua", "1000000000 1000000000 1 0") "1 2 3\n1\n1\n"},
      {"numbers that touch", HEADER("rua", "2 2 2 0") "1 2 3\n1 2\n1.0-2.0\n"},
  };
  const char *path = scratch_path("bad.rb");
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    tap_write("bad.rb", bad[i][1], -1);
    const struct cli_run *run = CLI_RUN("solve", path);
    bool line =
        !strstr(bad[i][0], " line") || strstr(run->err, strstr(bad[i][0], "sizes") ? "line 3:" : "bad.rb, line ");
    check_run(run, is_refused(run, "solve", "") && line, "a Rutherford-Boeing file is refused: %s", bad[i][0]);
  }
}
#else
static void test_rutherford_boeing(void)
{
  const struct cli_run *run = CLI_RUN("solve", tap_write("small.rb", "", 0));
  expect_refused(run, "solve", "", "Rutherford-Boeing files need SuiteSparse");
}
static void test_rutherford_boeing_errors(void)
{
  tap_skip("built without SuiteSparse", "malformed Rutherford-Boeing files");
}
#endif

int main(void)
{
  cli_need("diff");
  cli_need("convert");
  cli_need("solve");
  test_convert();
  test_compare();
  test_pipes();
  test_pipe_errors();
  test_named_pipes();
  test_inputs();
  test_rutherford_boeing();
  test_rutherford_boeing_errors();
  return tap_done();
}
