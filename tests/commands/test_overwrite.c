/* No command overwrites its input: the matrix, the files beside it, the files that a gallery problem or an option
 * names, and for compare the results and the plan. Each attempt is refused with a sentence and leaves the file
 * unchanged. */
#include "config.h"

#include "tests/support/commands.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const char tiny[] = GENERAL "2 2 2\n1 1 1\n2 2 1\n", vector[] = ARRAY "2 1\n1\n2\n";

/* The run was refused, and the file is unchanged. */
static void expect(const struct cli_run *run, const char *tool, const char *path, const char *content, const char *what)
{
  check_run(run, is_refused(run, tool, "") && strcmp(file_text(path), content) == 0, "%s", what);
}

static void test_solve(void)
{
  const char *matrix = scratch_file("s_matrix_istl.mm", tiny), *rhs = scratch_file("s_rhs_istl.mm", vector);
  expect(CLI_RUN("solve", matrix, "--solution", rhs), "solve", rhs, vector,
         "the right-hand side beside Flow's matrix stays");
  const char *info = scratch_file("s_matrix_istl.mm.info", "-matload_block_size 2\n");
  expect(CLI_RUN("solve", matrix, "--history", info), "solve", info, "-matload_block_size 2\n",
         "the block size beside PETSc's matrix stays");
  const char *perm = scratch_file("perm.txt", "1 2 3 4\n");
  char problem[600];
  snprintf(problem, sizeof problem, "blackoil:2x2x1,perm=%s,seed=2", perm);
  expect(CLI_RUN("solve", problem, "--solution", perm), "solve", perm, "1 2 3 4\n",
         "the permeabilities of a problem stay");
  expect(CLI_RUN("solve", problem, "--history", perm), "solve", perm, "1 2 3 4\n",
         "--history does not empty the permeabilities");
  const char *old = scratch_file("old.txt", "an older history\n");
  expect(CLI_RUN("solve", "/nowhere/m.mtx", "--history", old), "solve", old, "an older history\n",
         "an older history stays if the matrix cannot be read");
  tap_ok(CLI_RUN("solve", "poisson2d:4x4", "--quiet", "--history", old)->status == 0 &&
             strcmp(file_text(old), "an older history\n") != 0,
         "the history of the next solve replaces it");
  const char *pipe = scratch_path("pipe");
  char names[64] = "";
  remove(pipe);
  if (mkfifo(pipe, 0600) != 0) {
    tap_skip("the scratch folder takes no pipes", "a pipe for the history");
  } else {
    const int reader = open(pipe, O_RDONLY | O_NONBLOCK);
    const bool failed = CLI_RUN("solve", "/nowhere/m.mtx", "--history", pipe)->status == 2;
    tap_ok(failed && read(reader, names, sizeof names - 1) > 0 && strncmp(names, "iteration", 9) == 0,
           "the reader of a pipe ends if the matrix cannot be read");
    close(reader);
  }
  const char *first = scratch_file("first.txt", "level 1\n"), *second = scratch_file("second.txt", "quiet\n");
  expect(CLI_RUN("solve", "poisson2d:4x4", "--options", first, "--options", second, "--solution", first), "solve",
         first, "level 1\n", "a file of options stays, even the first of two");
}

/* A file with two names is written in place, so that a failure would destroy the input. */
static void test_convert(void)
{
  const char *one = scratch_file("one.mtx", tiny), *other = scratch_path("other.mtx");
  remove(other);
  if (link(one, other) != 0) {
    tap_skip("the scratch folder takes no hard links", "the input under another name");
    return;
  }
  expect(CLI_RUN("convert", one, other), "convert", one, tiny, "the input under another name stays");
}

#ifdef HAVE_JANSSON
static void test_compare(void)
{
  const char *results = scratch_path("c.jsonl"), *matrix = scratch_file("c.mtx", tiny);
  const char *beside = scratch_file("c_b.mtx", vector), *rhs = scratch_file("other.mtx", vector);
  expect(CLI_RUN("compare", matrix, "--results", results, "--csv", beside), "compare", beside, vector,
         "a right-hand side beside a matrix stays");
  expect(CLI_RUN("compare", matrix, "--rhs", rhs, "--results", results, "--json", rhs), "compare", rhs, vector,
         "a right-hand side that is named stays");
  tap_ok(access(results, F_OK) != 0, "no refused batch has run");
  expect(CLI_RUN("compare", matrix, "--results", matrix), "compare", matrix, tiny,
         "results do not overwrite the matrix");
  expect(CLI_RUN("compare", matrix, "--results", beside), "compare", beside, vector,
         "results do not overwrite the right-hand side beside the matrix");
  expect(CLI_RUN("compare", "poisson2d:2x1", "--rhs", rhs, "--results", rhs), "compare", rhs, vector,
         "results do not overwrite a right-hand side that is named");
  const char *perm = scratch_file("perm.txt", "1 2 3 4");
  char problem[600];
  snprintf(problem, sizeof problem, "blackoil:2x2x1,perm=%s", perm);
  expect(CLI_RUN("compare", problem, "--results", perm), "compare", perm, "1 2 3 4",
         "results do not overwrite a file of a problem");
  const struct cli_run *run = CLI_RUN("compare", matrix, "--results", results, "--quiet", "--csv", "/dev/null");
  tap_ok(run->status == 0 && access(results, F_OK) == 0, "a batch writes its results");
  expect(CLI_RUN("compare", "--tables-only", "--results", results, "--csv", matrix), "compare", matrix, tiny,
         "a matrix that only the rows name stays");
}

/* A report overwrites no file of another program in its folder. */
static void test_report(void)
{
  const char *folder = scratch_path("report"), *page = scratch_path("report/index.html");
  const char *results = scratch_path("r.jsonl");
  if (system("command -v gnuplot >/dev/null 2>&1") != 0) { // NOLINT(cert-env33-c): a fixed command
    tap_skip("there is no gnuplot", "reports");
    return;
  }
  mkdir(folder, 0777);
  const struct cli_run *run = CLI_RUN("compare", "poisson2d:4x4", "--results", page, "--report", folder);
  tap_ok(run->status == 2 && access(page, F_OK) != 0, "results are not written into the page of a report: %s",
         run->err);
  tap_write("report/index.html", "<html>mine</html>\n", -1);
  expect(CLI_RUN("compare", "poisson2d:4x4", "--results", results, "--report", folder), "compare", page,
         "<html>mine</html>\n", "a page of another program stays");
  unlink(page);
  const char *picture = scratch_file("report/best.svg", "<svg>mine</svg>\n");
  expect(CLI_RUN("compare", "poisson2d:4x4", "--results", results, "--report", folder), "compare", picture,
         "<svg>mine</svg>\n", "a picture of another program stays");
  unlink(picture);
  const char *target = scratch_file("target.txt", "text\n");
  if (symlink(target, picture) != 0) tap_note("no links here");
  expect(CLI_RUN("compare", "poisson2d:4x4", "--results", results, "--report", folder), "compare", target, "text\n",
         "the target of a link stays");
  unlink(picture);
  for (int i = 0; i < 2; i++) {
    run = CLI_RUN("compare", "poisson2d:4x4", "--level", "0,1", "--results", results, "--report", folder, "--quiet");
    tap_ok(run->status == 0 && access(page, F_OK) == 0, "a report of compare is written again: %s", run->err);
  }
  /* The scratch folder is removed with its files, but not with folders. */
  char command[600];
  snprintf(command, sizeof command, "rm -r '%s'", folder);
  tap_ok(system(command) == 0, "the report is removed"); // NOLINT(cert-env33-c): a path of this test's own
}
#else
static void test_compare(void) { tap_skip("built without jansson", "compare"); }
static void test_report(void) { tap_skip("built without jansson", "reports"); }
#endif

int main(void)
{
  cli_need("solve");
  cli_need("compare");
  test_solve();
  test_convert();
  test_compare();
  test_report();
  return tap_done();
}
