/* The pictures of solve, --plot and --spy: what they show, and what happens to files and names. Without gnuplot only
 * refusals are tested. */
#include "config.h"

#include "tests/support/commands.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_png(const char *file) { return strncmp(file_text(file), "\x89PNG\r\n\x1a\n", 8) == 0; }

static void test_plot(void)
{
  const char *svg = scratch_path("plot.svg"), *png = scratch_path("plot.png");
  const struct cli_run *run = CLI_RUN("solve", "poisson2d:20x20", "--level", "1", "--plot", svg);
  const char *text = file_text(svg);
  tap_ok(run->status == 0 && !*run->err && strstr(text, "<svg") && strstr(text, "</svg>"), "--plot writes SVG");
  tap_ok(strstr(text, "poisson2d:20x20: 400 rows, block size 1") && strstr(text, "bicgstab, iluk of level 1, cpu") &&
             strstr(text, "converged after"),
         "the title of --plot has the matrix, the method and the outcome");
  tap_ok(strstr(text, "target 1e-08") && strstr(text, "relative to the right-hand side") &&
             strstr(text, "1e-08</text>"),
         "the axis of --plot is logarithmic, and a line shows the target");
  run = CLI_RUN("solve", "poisson2d:20x20", "--plot", png, "--quiet");
  tap_ok(run->status == 0 && is_png(png), "--plot writes PNG");
  run = CLI_RUN("solve", "poisson2d:20x20", "--plot", svg, "--max-iterations", "3", "--rcm", "x");
  tap_ok(run->status == 2 && strstr(file_text(svg), "converged after"),
         "a run that is refused leaves the last picture");
  run = CLI_RUN("solve", "poisson2d:20x20", "--plot", svg, "--max-iterations", "3");
  tap_ok(run->status == 1 && strstr(file_text(svg), "not converged after 3 iterations"),
         "--plot draws a solve that fails");
  run = CLI_RUN("solve", "poisson2d:20x20", "--plot", svg, "--max-iterations", "1");
  tap_ok(run->status == 1 && strstr(file_text(svg), "after 1 iteration"), "--plot draws one iteration");
  run = CLI_RUN("solve", "poisson2d:20x20", "--plot", svg, "--atol", "1e9");
  tap_ok(run->status == 0 && strstr(file_text(svg), "target"), "--plot draws a solve without an iteration");
  run = CLI_RUN("solve", "poisson2d:20x20", "--plot", svg, "--scale", "diagonal", "--ordering", "rcm");
  text = file_text(svg);
  tap_ok(run->status == 0 && strstr(text, "residual norm of the scaled system") && strstr(text, "diagonal scaling") &&
             strstr(text, "rcm ordering"),
         "the axis of a scaled system names its norm");
  run = CLI_RUN("solve", "poisson2d:20x20", "--plot", svg, "--solver", "cg", "--norm", "preconditioned");
  tap_ok(run->status == 0 && strstr(file_text(svg), "preconditioned residual norm, relative to the start"),
         "the axis names the preconditioned norm");
}

/* Histories that a logarithmic axis cannot show. */
static void test_strange_histories(void)
{
  const char *svg = scratch_path("strange.svg");
  const char *singular = scratch_file("singular.mtx", GENERAL "2 2 4\n1 1 1\n1 2 1\n2 1 1\n2 2 1\n");
  const char *zero = scratch_file("zero.txt", "0\n0\n");
  const char *huge = scratch_file("huge.mtx", GENERAL "2 2 2\n1 1 1e300\n2 2 1e-300\n");
  const struct cli_run *run = CLI_RUN("solve", singular, "--plot", svg);
  tap_ok(run->status == 1 && strstr(file_text(svg), "not solved: the pivot block of block row 1"),
         "the picture names a factorization that fails");
  run = CLI_RUN("solve", singular, "--plot", svg, "--shift", "1", "--rhs", zero);
  tap_ok(run->status == 0 && strstr(file_text(svg), "no iteration has a residual norm to be drawn"),
         "a right-hand side of zeros has no history");
  run = CLI_RUN("solve", huge, "--plot", svg, "--rhs", "Aones");
  tap_ok(run->status < 2 && strstr(file_text(svg), "</svg>"), "a right-hand side out of range is drawn: %s", run->err);
  run = CLI_RUN("solve", huge, "--plot", svg, "--precond", "none");
  tap_ok(run->status < 2 && strstr(file_text(svg), "</svg>"), "residuals that overflow are drawn: %s", run->err);
  run = CLI_RUN("solve", "poisson2d:9x9", "--plot", svg, "--rtol", "0", "--precond", "none");
  tap_ok(run->status < 2 && strstr(file_text(svg), "</svg>") && !strstr(file_text(svg), "target"),
         "a target of 0, which no logarithmic axis has, is not drawn");
  run = CLI_RUN("solve", "poisson2d:40x40", "--plot", svg, "--rtol", "1e-300", "--solver", "richardson", "--precond",
                "jacobi", "--max-iterations", "9000", "--monitor");
  tap_ok(run->status == 1 && strstr(file_text(svg), "> 9000</text>"), "thousands of iterations are thinned");
}

static void test_spy(void)
{
  const char *svg = scratch_path("spy.svg"), *png = scratch_path("spy.png");
  const struct cli_run *run = CLI_RUN("solve", "poisson2d:5x4", "--block", "2", "--level", "1", "--spy", svg);
  const char *text = file_text(svg);
  tap_ok(run->status == 0 && !*run->err && strstr(text, "<image") && strstr(text, "</svg>"), "--spy writes SVG");
  tap_ok(strstr(text, ">zero in a block</text>") && strstr(text, ">fill</text>") && strstr(text, ">stored</text>") &&
             strstr(text, "56 blocks and 2 of fill"),
         "--spy shows blocks, the zeros in them, and fill");
  tap_ok(strstr(text, "10 level sets of the lower triangle") && strstr(run->out, "level sets: 10 lower"),
         "--spy draws as many level sets as the solver reports");
  run = CLI_RUN("solve", "poisson3d:9x8x7", "--level", "3", "--spy", svg);
  text = file_text(svg);
  const long drawn = number_before(text, " level sets of the lower");
  tap_ok(drawn > 1 && number_after(run->out, "level sets: ") == (double)drawn,
         "--spy draws as many level sets as the solver reports with fill");
  run = CLI_RUN("solve", "poisson2d:5x4", "--precond", "jacobi", "--level", "2", "--spy", svg);
  tap_ok(run->status == 0 && !strstr(file_text(svg), ">fill</text>"), "--spy draws no fill of a method without fill");
  run = CLI_RUN("solve", "poisson3d:9x8x7", "--precond", "auto", "--spy", svg);
  text = file_text(svg);
  tap_ok(run->status == 0 && strstr(text, "bicgstab, auto: iluk of level 1, cpu") && strstr(text, ">fill</text>") &&
             number_after(run->out, "level sets: ") == (double)number_before(text, " level sets of the lower"),
         "with auto it shows the fill and the level sets of its choice");
  run = CLI_RUN("solve", "poisson2d:1200x5", "--spy", png, "--quiet");
  struct stat file;
  tap_ok(run->status == 0 && is_png(png) && stat(png, &file) == 0 && file.st_size < 300000,
         "a large matrix is drawn as a raster");
  run = CLI_RUN("solve", "poisson2d:1x1", "--spy", svg);
  tap_ok(run->status == 0 && strstr(file_text(svg), "1 block, 1 level set of"),
         "a matrix of one block has singular words");
  run = CLI_RUN("solve", "poisson2d:1x1", "--spy", png);
  tap_ok(run->status == 0 && is_png(png), "a single entry is drawn");
  const char *missing = scratch_file("missing.mtx", GENERAL "2 2 2\n1 2 1\n2 1 1\n");
  unlink(svg);
  run = CLI_RUN("solve", missing, "--spy", svg, "--level", "1");
  tap_ok(run->status == 2 && strstr(file_text(svg), "2 blocks, 2 level sets"), "a matrix that is refused is drawn");
  const char *empty = scratch_file("empty.mtx", GENERAL "3 3 0\n");
  run = CLI_RUN("solve", empty, "--spy", svg, "--precond", "none");
  tap_ok(run->status < 3 && strstr(file_text(svg), "0 blocks, 1 level set of"), "a matrix without entries is drawn: %s",
         run->err);
}

/* Any name of a file is drawn, and neither gnuplot nor a shell interprets it. */
static void test_names(void)
{
  static const char name[] = "a'b\"c`touch GOTCHA`$(touch GOTCHA)\\{x}^2_b<&>\n@z \xff.mtx";
  const char *svg = scratch_path("quote'`touch GOTCHA`\".svg");
  const char *matrix = scratch_file(name, GENERAL "2 2 2\n1 1 1\n2 2 1\n");
  const struct cli_run *run = CLI_RUN("solve", matrix, "--plot", svg);
  tap_ok(run->status == 0 && strstr(file_text(svg), "c`touch GOTCHA`$(touch GOTCHA)\\{x}^2_b&lt;&amp;>@z "),
         "a name with special characters is drawn as it is");
  tap_ok(strstr(file_text(svg), "\xef\xbf\xbd.mtx") != NULL, "bytes that are not UTF-8 are replaced");
  tap_ok(access("GOTCHA", F_OK) != 0, "no command in a name is run");
  char longest[400];
  memset(longest, 'n', 240);
  strcpy(longest + 240, "\xc3\xa4.mtx");
  matrix = scratch_file(longest, GENERAL "2 2 2\n1 1 1\n2 2 1\n");
  run = CLI_RUN("solve", matrix, "--spy", svg);
  tap_ok(run->status == 0 && strstr(file_text(svg), "...nnn") && strstr(file_text(svg), "\xc3\xa4.mtx: 2 rows"),
         "the end of a long name is drawn");
}

/* A program called gnuplot that fails, in place of the real one. */
static void test_failure(void)
{
  const char *svg = scratch_file("kept.svg", "the last picture"), *folder = scratch_path("bin");
  char search[1024], *before = strdup(getenv("PATH") ? getenv("PATH") : "");
  mkdir(folder, 0700);
  scratch_script("bin/gnuplot", "#!/bin/sh\necho >&2\necho '         line 7: cannot draw' >&2\necho >&2\nexit 1\n");
  snprintf(search, sizeof search, "%s:/bin:/usr/bin", folder);
  setenv("PATH", search, 1);
  const struct cli_run *run = CLI_RUN("solve", "poisson2d:5x4", "--plot", svg);
  tap_ok(run->status == 2 && strstr(run->err, "gnuplot could not draw the picture: line 7: cannot draw\n") &&
             strchr(run->err, '\n')[1] == '\0' && strstr(run->out, "converged after"),
         "an error of gnuplot is one sentence, and the report is printed: %s", run->err);
  tap_ok(strcmp(file_text(svg), "the last picture") == 0, "an error of gnuplot leaves the last picture");
  setenv("PATH", "/nowhere", 1);
  expect_refused(CLI_RUN("solve", "poisson2d:5x4", "--plot", svg), "solve",
                 "gnuplot not found; it is needed for pictures", "without gnuplot solve stops before any work");
  tap_ok(strcmp(file_text(svg), "the last picture") == 0, "without gnuplot the last picture stays");
  setenv("PATH", before, 1);
  free(before);
}

/* A link is followed, also to a file that is not there, and a file with two names keeps both. */
static void test_places(void)
{
  struct stat a, b;
  const char *target = scratch_path("target.svg"), *link_path = scratch_path("link.svg");
  const char *one = scratch_file("one.svg", "text"), *other = scratch_path("other.svg");
  bool fine = symlink("target.svg", link_path) == 0;
  for (int i = 0; i < 2; i++) {
    const struct cli_run *run = CLI_RUN("solve", "poisson2d:5x4", "--plot", link_path, "--quiet");
    fine = fine && run->status == 0 && lstat(link_path, &a) == 0 && S_ISLNK(a.st_mode) && lstat(target, &b) == 0 &&
           S_ISREG(b.st_mode) && strstr(file_text(target), "</svg>");
    tap_ok(fine, "a link leads to the picture, %s: %s", i ? "to replace" : "new", run->err);
  }
  fine = link(one, other) == 0;
  const struct cli_run *run = CLI_RUN("solve", "poisson2d:5x4", "--spy", other, "--quiet");
  tap_ok(fine && run->status == 0 && stat(one, &a) == 0 && stat(other, &b) == 0 && a.st_ino == b.st_ino &&
             strstr(file_text(one), "</svg>"),
         "a picture with two names keeps both: %s", run->err);
}

/* Solve refuses these before any work. */
static void test_refusals(void)
{
  const char *svg = scratch_path("same.svg");
  static const struct {
    const char *option, *name, *says;
  } cases[] = {{"--plot", "plot.pdf", "the name of a picture must end in .svg or .png"},
               {"--spy", ".svg", "the name of a picture must end in .svg or .png"},
               {"--spy", "svg", "the name of a picture must end in .svg or .png"},
               {"--plot", "/no/such/folder/x.svg", "/no/such/folder/x.svg: No such file"},
               {"--spy", "/no/such/folder/x.png", "/no/such/folder/x.png: No such file"},
               {"--plot", "", "--plot needs a value"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const struct cli_run *run = CLI_RUN("solve", "poisson2d:5x4", cases[i].option, cases[i].name);
    tap_ok(is_refused(run, "solve", cases[i].says), "%s '%s': %s", cases[i].option, cases[i].name, run->err);
  }
  const struct cli_run *run = CLI_RUN("solve", "poisson2d:5x4", "--plot", svg, "--spy", svg);
  tap_ok(run->status == 2 && strstr(run->err, "--plot and --spy name the same file"),
         "one file for two pictures is refused");
  expect_refused(CLI_RUN("solve", "poisson2d:5x4", "--plot", svg, "--history", svg), "solve",
                 "--history and --plot name the same file", "one file for a picture and a history is refused");
  const char *matrix = scratch_file("matrix.png", GENERAL "2 2 2\n1 1 1\n2 2 1\n");
  run = CLI_RUN("solve", matrix, "--spy", matrix);
  tap_ok(run->status == 2 && strstr(run->err, "--spy and the matrix name the same file") &&
             strncmp(file_text(matrix), "%%MatrixMarket", 14) == 0,
         "a picture does not overwrite the matrix");
}

int main(void)
{
  cli_need("solve");
  test_refusals();
  if (system("command -v gnuplot >/dev/null 2>&1") != 0) { // NOLINT(cert-env33-c): a fixed command
    tap_skip("gnuplot is not there", "pictures");
    return tap_done();
  }
  test_plot();
  test_strange_histories();
  test_spy();
  test_names();
  test_places();
  test_failure();
  return tap_done();
}
