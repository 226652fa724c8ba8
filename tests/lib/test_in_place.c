/* The library, and every output option of the commands, writes descriptors, devices and pipes in place: it appends to
 * the file behind /dev/stdout or /dev/fd/N, which keeps its content. */
#include "config.h"

#include "tests/support/cli.h"
#include "tests/support/problem.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char precious[] = "precious\n", array[] = "%%MatrixMarket matrix array real general\n2 1\n1\n1\n";

/* Opens a scratch file that holds a line, to append to it. */
static int open_file(const char *name)
{
  tap_write(name, precious, -1);
  return open(tap_scratch(name), O_WRONLY | O_APPEND);
}

/* Returns the content of a scratch file. */
static const char *content(const char *name)
{
  static char text[1 << 16];
  FILE *file = fopen(tap_scratch(name), "rb");
  text[file ? fread(text, 1, sizeof text - 1, file) : 0] = '\0';
  if (file) fclose(file);
  return text;
}

/* Returns the content behind the first line; "" if that line has changed. */
static const char *behind_line(const char *name)
{
  const char *text = content(name);
  return strncmp(text, precious, sizeof precious - 1) == 0 ? text + sizeof precious - 1 : "";
}

static void test_descriptors(karst_context *context, const karst_vector *vector)
{
  const char *const forms[] = {"/dev/fd/%d", "/proc/self/fd/%d", "/proc/thread-self/fd/%d"};
  for (int i = 0; i < 4; i++) {
    char path[512];
    const int file = open_file("appended");
    snprintf(path, sizeof path, forms[i < 3 ? i : 0], file);
    if (i == 3) {
      unlink(tap_scratch("link"));
      if (symlink(path, tap_scratch("link")) == 0) snprintf(path, sizeof path, "%s", tap_scratch("link"));
    }
    const karst_status status = karst_vector_write(vector, path);
    const bool more = write(file, "more\n", 5) == 5;
    const char *text = behind_line("appended");
    tap_ok(!status && more && strncmp(text, array, sizeof array - 1) == 0 &&
               strcmp(text + sizeof array - 1, "more\n") == 0,
           "%s: a file that is appended to keeps its content: %s", path, status ? karst_context_error(context) : "");
    close(file);
  }
  unlink(tap_scratch("link"));
}

static void test_offset(const karst_vector *vector)
{
  char path[64];
  const int file = open(tap_scratch("offset"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  snprintf(path, sizeof path, "/dev/fd/%d", file);
  const bool before = write(file, precious, sizeof precious - 1) == (ssize_t)sizeof precious - 1;
  const bool written = !karst_vector_write(vector, path) && write(file, "more\n", 5) == 5;
  const char *text = behind_line("offset");
  tap_ok(before && written && strncmp(text, array, sizeof array - 1) == 0 &&
             strcmp(text + sizeof array - 1, "more\n") == 0,
         "a descriptor has its contents in order");
  close(file);
}

/* A descriptor that cannot be written to is an error. */
static void test_refused(karst_context *context, const karst_vector *vector)
{
  char path[64];
  tap_write("read", precious, -1);
  const int file = open(tap_scratch("read"), O_RDONLY);
  snprintf(path, sizeof path, "/dev/fd/%d", file);
  karst_status status = karst_vector_write(vector, path);
  tap_ok(status == KARST_ERROR_FILE && strcmp(content("read"), precious) == 0,
         "a descriptor to read from is refused: %s", karst_context_error(context));
  close(file);
  status = karst_vector_write(vector, path);
  tap_ok(status == KARST_ERROR_FILE, "and a closed one: %s", karst_context_error(context));
  if (access("/dev/full", W_OK) != 0) {
    tap_skip("there is no /dev/full", "a full device");
    return;
  }
  status = karst_vector_write(vector, "/dev/full");
  tap_ok(status == KARST_ERROR_FILE, "a full device: %s", karst_context_error(context));
}

/* Reads the contents of a pipe whose write ends are all closed. */
static const char *pour(int from)
{
  static char text[1 << 16];
  size_t used = 0;
  ssize_t got;
  while ((got = read(from, text + used, sizeof text - 1 - used)) > 0) used += (size_t)got;
  text[used] = '\0';
  return text;
}

static void test_pipes(const karst_vector *vector)
{
  char path[64];
  int ends[2];
  tap_ok(pipe(ends) == 0, "a pipe");
  snprintf(path, sizeof path, "/dev/fd/%d", ends[1]);
  const karst_status status = karst_vector_write(vector, path);
  close(ends[1]);
  tap_ok(!status && strcmp(pour(ends[0]), array) == 0, "a pipe takes the vector");
  close(ends[0]);
  const char *fifo = tap_scratch("fifo");
  tap_ok(mkfifo(fifo, 0600) == 0, "a pipe with a name");
  const int reader = open(fifo, O_RDONLY | O_NONBLOCK);
  struct stat file;
  tap_ok(!karst_vector_write(vector, fifo) && strcmp(pour(reader), array) == 0 && stat(fifo, &file) == 0 &&
             S_ISFIFO(file.st_mode),
         "it takes the vector and remains a pipe");
  close(reader);
  unlink(fifo);
}

/* Runs a command whose standard output is appended to a file; returns the output behind its line. */
static const char *append(const char *tool, const char *const argument[])
{
  const int file = open_file("out");
  const struct cli_run *run = cli_run_into(file, tool, argument);
  if (run->status != 0) tap_note("status %d: %s", run->status, run->err);
  close(file);
  return behind_line("out");
}

static void test_solve(void)
{
  const char *const outputs[] = {"/dev/stdout", "-"};
  for (int i = 0; i < 2; i++) {
    const char *text = append("solve", (const char *const[]){"poisson2d:5x5", "--solution", outputs[i], NULL});
    const char *report = strstr(text, "\nmatrix ");
    tap_ok(strncmp(text, "%%MatrixMarket", 14) == 0 && report && strstr(report, "converged after"),
           "--solution %s: the solution and then the report are appended", outputs[i]);
  }
  const char *text = append("solve", (const char *const[]){"poisson2d:5x5", "--history", "/dev/stdout", NULL});
  tap_ok(strncmp(text, "iteration\tresidual\n", 19) == 0 && strstr(text, "\nmatrix "), "--history /dev/stdout");
  text = append("solve",
                (const char *const[]){"poisson2d:5x5", "--quiet", "--history", "-", "--solution", "/dev/fd/1", NULL});
  tap_ok(strncmp(text, "iteration\tresidual\n", 19) == 0 && strstr(text, "\n%%MatrixMarket"),
         "--history - and --solution /dev/fd/1 come in order");
  int ends[2];
  char path[64];
  if (pipe(ends) != 0) return;
  snprintf(path, sizeof path, "/dev/fd/%d", ends[1]);
  const struct cli_run *run = CLI_RUN("solve", "poisson2d:5x5", "--quiet", "--solution", path);
  close(ends[1]);
  tap_ok(run->status == 0 && strncmp(pour(ends[0]), "%%MatrixMarket matrix array real general\n25 1\n", 46) == 0,
         "a pipe such as >(gzip) takes the solution");
  close(ends[0]);
  run = CLI_RUN("solve", "poisson2d:5x5", "--quiet", "--solution", "/dev/fd/77");
  tap_ok(run->status == 2 && cli_is_one_sentence(run, "solve"), "a descriptor that is not open");
}

static void test_convert(void)
{
  const char *const outputs[] = {"/dev/stdout", "-"};
  tap_write("m.mtx", "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 2\n", -1);
  tap_write("m_b.mtx", "3\n", -1);
  char matrix[512];
  snprintf(matrix, sizeof matrix, "%s", tap_scratch("m.mtx"));
  for (int i = 0; i < 2; i++) {
    const char *text = append("convert", (const char *const[]){matrix, outputs[i], NULL});
    tap_ok(strcmp(text, "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 2\n") == 0,
           "convert appends the matrix to %s", outputs[i]);
  }
  const struct cli_run *run = CLI_RUN("convert", matrix, "/dev/stdout");
  tap_ok(run->status == 0 && strstr(run->err, "note: the right-hand side is left out") &&
             access("/dev/stdout_b.mtx", F_OK) != 0,
         "and reports that the right-hand side is left out");
}

static void test_tables(void)
{
#ifdef HAVE_JANSSON
  char results[512];
  snprintf(results, sizeof results, "%s", tap_scratch("results.jsonl"));
  const char *text = append(
      "compare", (const char *const[]){"poisson2d:5x5", "--quiet", "--results", results, "--csv", "/dev/stdout", NULL});
  tap_ok(strncmp(text, "matrix,", 7) == 0, "compare appends a table: %.20s", text);
#else
  tap_skip("built without jansson", "compare appends a table");
#endif
}

int main(void)
{
  if (access("/proc/self/fd", F_OK) != 0 || access("/dev/fd", F_OK) != 0)
    tap_skip_all("descriptors have no paths here");
  cli_need("solve");
  karst_context *context = tap_context();
  karst_vector *vector = vector_of(context, 2, 1);
  test_descriptors(context, vector);
  test_offset(vector);
  test_refused(context, vector);
  test_pipes(vector);
  test_solve();
  test_convert();
  test_tables();
  karst_vector_destroy(vector);
  karst_context_destroy(context);
  return tap_done();
}
