/* No command overwrites its input: the matrix, the files beside it, the files that a gallery problem or an option
 * names, and for compare the results and the plan. Each attempt is refused with a sentence and leaves the file
 * unchanged. */
#include "config.h"

#include "tests/support/cli.h"
#include "tests/support/tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char tiny[] = "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n2 2 1\n";
static const char vector[] = "%%MatrixMarket matrix array real general\n2 1\n1\n2\n";

enum { PATHS = 16, LENGTH = 600 };

/* The path of a scratch file, or of a name that begins with it, in one of a few buffers. */
static const char *in_scratch(const char *name)
{
  static char path[PATHS][LENGTH];
  static int next;
  char *text = path[next++ % PATHS];
  snprintf(text, LENGTH, "%s", tap_scratch(name));
  return text;
}

static bool holds(const char *path, const char *content)
{
  char text[1024] = "";
  FILE *file = fopen(path, "rb");
  if (!file) return false;
  text[fread(text, 1, sizeof text - 1, file)] = '\0';
  fclose(file);
  return strcmp(text, content) == 0;
}

/* The run was refused, and the file is what it was. */
static void expect(const struct cli_run *run, const char *tool, const char *path, const char *content, const char *what)
{
  if (!tap_ok(run->status == 2 && cli_is_one_sentence(run, tool) && holds(path, content), "%s", what))
    tap_note("status %d: %s", run->status, run->err);
}

static void test_solve(void)
{
  const char *matrix = in_scratch("s_matrix_istl.mm"), *rhs = in_scratch("s_rhs_istl.mm");
  tap_write("s_matrix_istl.mm", tiny, -1);
  tap_write("s_rhs_istl.mm", vector, -1);
  expect(CLI_RUN("solve", matrix, "--solution", rhs), "solve", rhs, vector, "Flow's right-hand side stays");
  const char *info = in_scratch("s_matrix_istl.mm.info");
  tap_write("s_matrix_istl.mm.info", "-matload_block_size 2\n", -1);
  expect(CLI_RUN("solve", matrix, "--history", info), "solve", info, "-matload_block_size 2\n",
         "PETSc's block size stays");
  const char *perm = in_scratch("perm.txt");
  char problem[LENGTH + 40];
  tap_write("perm.txt", "1 2 3 4\n", -1);
  snprintf(problem, sizeof problem, "blackoil:2x2x1,perm=%s,seed=2", perm);
  expect(CLI_RUN("solve", problem, "--solution", perm), "solve", perm, "1 2 3 4\n", "permeabilities stay");
  expect(CLI_RUN("solve", problem, "--history", perm), "solve", perm, "1 2 3 4\n", "and are not emptied");
  const char *old = in_scratch("old.txt");
  tap_write("old.txt", "an older history\n", -1);
  expect(CLI_RUN("solve", "/nowhere/m.mtx", "--history", old), "solve", old, "an older history\n",
         "a history stays where the matrix cannot be read");
  tap_ok(CLI_RUN("solve", "poisson2d:4x4", "--quiet", "--history", old)->status == 0 &&
             !holds(old, "an older history\n"),
         "and is replaced by that of the next solve");
  const char *first = in_scratch("first.txt"), *second = in_scratch("second.txt");
  tap_write("first.txt", "level 1\n", -1);
  tap_write("second.txt", "quiet\n", -1);
  expect(CLI_RUN("solve", "poisson2d:4x4", "--options", first, "--options", second, "--solution", first), "solve",
         first, "level 1\n", "a file of options stays, also the first of two");
}

/* A file of two names is written in place, where a failure would leave nothing of the input. */
static void test_convert(void)
{
  const char *one = in_scratch("one.mtx"), *other = in_scratch("other.mtx");
  tap_write("one.mtx", tiny, -1);
  remove(other);
  if (link(one, other) != 0) {
    tap_skip("the scratch folder takes no hard links", "the input by another name");
    return;
  }
  expect(CLI_RUN("convert", one, other), "convert", one, tiny, "the input by another name stays");
}

#ifdef HAVE_JANSSON
static void test_compare(void)
{
  const char *results = in_scratch("c.jsonl"), *matrix = in_scratch("c.mtx"), *beside = in_scratch("c_b.mtx");
  tap_write("c.mtx", tiny, -1);
  tap_write("c_b.mtx", vector, -1);
  expect(CLI_RUN("compare", matrix, "--results", results, "--csv", beside), "compare", beside, vector,
         "a right-hand side beside a matrix stays");
  const char *rhs = in_scratch("other.mtx");
  tap_write("other.mtx", vector, -1);
  expect(CLI_RUN("compare", matrix, "--rhs", rhs, "--results", results, "--json", rhs), "compare", rhs, vector,
         "a right-hand side that is named stays");
  tap_ok(access(results, F_OK) != 0, "nothing has run");
  expect(CLI_RUN("compare", matrix, "--results", matrix), "compare", matrix, tiny, "results are not the matrix");
  expect(CLI_RUN("compare", matrix, "--results", beside), "compare", beside, vector, "nor what is beside it");
  expect(CLI_RUN("compare", "poisson2d:2x1", "--rhs", rhs, "--results", rhs), "compare", rhs, vector,
         "nor a right-hand side that is named");
  const char *options = in_scratch("options.txt"), *perm = in_scratch("perm.txt");
  char problem[LENGTH + 40];
  tap_write("options.txt", "level 1\n", -1);
  tap_write("perm.txt", "1 2 3 4", -1);
  snprintf(problem, sizeof problem, "blackoil:2x2x1,perm=%s", perm);
  expect(CLI_RUN("compare", problem, "--results", perm), "compare", perm, "1 2 3 4", "nor a file of a problem");
  expect(CLI_RUN("compare", matrix, "--options", options, "--results", options), "compare", options, "level 1\n",
         "nor a file of options");
  expect(CLI_RUN("compare", matrix, "--options", options, "--results", results, "--csv", options), "compare", options,
         "level 1\n", "which is no table either");
  const struct cli_run *run = CLI_RUN("compare", matrix, "--results", results, "--quiet", "--csv", "/dev/null");
  tap_ok(run->status == 0 && access(results, F_OK) == 0, "a batch");
  expect(CLI_RUN("compare", "--tables-only", "--results", results, "--csv", matrix), "compare", matrix, tiny,
         "a matrix that the rows alone name stays");
}

/* The folder of a report holds the report, and nothing of others. */
static void test_report(void)
{
  const char *folder = in_scratch("report"), *results = in_scratch("report/index.html"), *page = results;
  if (system("command -v gnuplot >/dev/null 2>&1") != 0) { // NOLINT(cert-env33-c): a fixed command
    tap_skip("there is no gnuplot", "reports");
    return;
  }
  mkdir(folder, 0777);
  const struct cli_run *run = CLI_RUN("compare", "poisson2d:4x4", "--results", results, "--report", folder);
  tap_ok(run->status == 2 && access(results, F_OK) != 0, "results are no page of a report: %s", run->err);
  tap_write("report/index.html", "<html>mine</html>\n", -1);
  expect(CLI_RUN("compare", "poisson2d:4x4", "--results", in_scratch("r.jsonl"), "--report", folder), "compare", page,
         "<html>mine</html>\n", "a page of another program stays");
  unlink(page);
  const char *picture = in_scratch("report/best.svg");
  tap_write("report/best.svg", "<svg>mine</svg>\n", -1);
  expect(CLI_RUN("compare", "poisson2d:4x4", "--results", in_scratch("r.jsonl"), "--report", folder), "compare",
         picture, "<svg>mine</svg>\n", "a picture of another program stays");
  unlink(picture);
  const char *target = in_scratch("target.txt"), *link = in_scratch("report/best.svg");
  tap_write("target.txt", "text\n", -1);
  if (symlink(target, link) != 0) tap_note("no links here");
  expect(CLI_RUN("compare", "poisson2d:4x4", "--results", in_scratch("r.jsonl"), "--report", folder), "compare", target,
         "text\n", "what a link leads to stays");
  unlink(link);
  for (int i = 0; i < 2; i++) {
    run = CLI_RUN("compare", "poisson2d:4x4", "--level", "0,1", "--results", in_scratch("r.jsonl"), "--report", folder,
                  "--quiet");
    tap_ok(run->status == 0 && access(page, F_OK) == 0, "a report of its own is written anew: %s", run->err);
  }
  /* The scratch folder is removed with its files, which these are in a folder below it. */
  char command[LENGTH + 20];
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
