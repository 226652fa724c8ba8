/* test_full_disk.c - the commands at a limit of file sizes, as by ulimit -f, or on a full disk. Each ends with an error
 * and a status, not by a signal, and keeps the earlier files. */
#include "config.h"

#include "tests/support/cli.h"
#include "tests/support/refusal.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { PATH_SIZE = 512 };

static char folder[PATH_SIZE];
static struct rlimit known;

/* Limits files to so many bytes; 0: the limit of before. solve needs 1024: LLVM's OpenMP begins with a file of shared
 * memory of that size. */
static void limit(rlim_t bytes)
{
  struct rlimit small = known;
  if (bytes > 0) small.rlim_cur = bytes;
  setrlimit(RLIMIT_FSIZE, &small);
}

static bool holds(const char *path, const char *text, size_t length)
{
  char *now = malloc(length + 2);
  const bool same = now && slurp(path, now, length + 1) == (long)length && memcmp(now, text, length) == 0;
  free(now);
  return same;
}

/* Returns the number of files in the scratch folder with this beginning of their names. */
static int count(const char *begin)
{
  int files = 0;
  DIR *directory = opendir(folder);
  for (struct dirent *entry; directory && (entry = readdir(directory));)
    files += strncmp(entry->d_name, begin, strlen(begin)) == 0;
  if (directory) closedir(directory);
  return files;
}

/* Checks that the run has failed with one sentence about the file, which still holds "kept". */
static void expect(const struct cli_run *run, const char *path, const char *what)
{
  limit(0);
  const char *end = strchr(run->err, '\n');
  if (!tap_ok(run->status == 2 && strstr(run->err, path) && end && !end[1] && holds(path, "kept", 4), "%s", what))
    tap_note("status %d: %s", run->status, run->err);
}

static void test_solve(void)
{
  char path[PATH_SIZE];
  snprintf(path, sizeof path, "%s", tap_write("solution.mtx", "kept", -1));
  limit(1024);
  expect(CLI_RUN("solve", "poisson2d:30x30", "--precond=jacobi", "--solver=gmres", "--quiet", "--solution", path), path,
         "no room for a solution");
  snprintf(path, sizeof path, "%s", tap_scratch("history.txt"));
  limit(1024);
  const struct cli_run *run =
      CLI_RUN("solve", "poisson2d:30x30", "--precond=jacobi", "--solver=gmres", "--quiet", "--history", path);
  limit(0);
  tap_ok(run->status == 2 && strstr(run->err, path), "no room for a history: %s", run->err);
  if (system("command -v gnuplot >/dev/null 2>&1") != 0) { // NOLINT(cert-env33-c): a fixed command
    tap_skip("gnuplot is not available", "pictures");
    return;
  }
  static const rlim_t most[] = {1024, 4096};
  static const char *const options[] = {"--plot", "--spy"};
  for (int i = 0; i < 4; i++) {
    snprintf(path, sizeof path, "%s", tap_write("picture.svg", "kept", -1));
    limit(most[i / 2]);
    run = CLI_RUN("solve", "poisson2d:30x30", "--precond=jacobi", "--solver=gmres", "--quiet", options[i % 2], path);
    const bool explained = strstr(run->err, "is the disk full") || strstr(run->err, "File too large");
    expect(run, path, "no room for a picture");
    tap_ok(explained, "the error says why: %s", run->err);
  }
}

/* A matrix is never beside the right-hand side of another one. */
static void test_convert(void)
{
  static char matrix[1 << 20], rhs[1 << 20];
  char path[PATH_SIZE], beside[PATH_SIZE];
  const char *const names[] = {"o.mtx.gz", "o.kbsr"};
  for (int i = 0; i < 2; i++) {
    snprintf(path, sizeof path, "%s", tap_scratch(names[i]));
    snprintf(beside, sizeof beside, "%s", tap_scratch("o_b.mtx"));
    const struct cli_run *run = CLI_RUN("convert", "unitsquare:20x45", path);
    const size_t length = (size_t)slurp(path, matrix, sizeof matrix);
    const size_t rhs_length = (size_t)slurp(beside, rhs, sizeof rhs);
    if (run->status != 0 || length == 0 || rhs_length == 0) {
      tap_skip("this build does not write it", "%s on a full disk: %s", names[i], run->err);
      continue;
    }
    for (rlim_t most = 1 << 10; most <= 1 << 18; most *= 2) {
      limit(most);
      run = CLI_RUN("convert", "unitsquare:30x30", path, "--force", "--quiet");
      const bool done = run->status == 0;
      limit(0);
      const bool stays = holds(path, matrix, length), rhs_stays = holds(beside, rhs, rhs_length);
      tap_ok(done ? !stays && !rhs_stays
                  : run->status == 2 && cli_is_one_sentence(run, "convert") && stays && rhs_stays,
             "%s and its right-hand side change together or not at all, with %ld bytes: %s", names[i], (long)most,
             run->err);
      tap_ok(count("o_b.mtx") == 1 && !strstr(run->err, "o_b.mtx."), "and no temporary file is left or named");
      if (done) break;
    }
    unlink(path);
    unlink(beside);
  }
}

#ifdef HAVE_JANSSON
static void test_tables(void)
{
  static const char *const options[] = {"--csv", "--markdown", "--json"};
  char results[PATH_SIZE], path[PATH_SIZE];
  snprintf(results, sizeof results, "%s", tap_scratch("results.jsonl"));
  const struct cli_run *run =
      CLI_RUN("compare", "poisson2d:4x4", "--level=0..2", "--results", results, "--quiet", "--csv", "/dev/null");
  if (!tap_ok(run->status == 0, "a batch")) tap_note("%s", run->err);
  for (int i = 0; i < 3; i++) {
    snprintf(path, sizeof path, "%s", tap_write("table", "kept", -1));
    limit(256);
    expect(CLI_RUN("compare", "--tables-only", "--results", results, options[i], path), path, "no room for a table");
  }
}
#else
static void test_tables(void) { tap_skip("built without jansson", "no room for tables"); }
#endif

int main(void)
{
  cli_need("solve");
  cli_need("convert");
  snprintf(folder, sizeof folder, "%s", tap_scratch("x"));
  *strrchr(folder, '/') = '\0';
  if (getrlimit(RLIMIT_FSIZE, &known) != 0) tap_skip_all("the size of files has no limit here");
  test_solve();
  test_convert();
  test_tables();
  return tap_done();
}
