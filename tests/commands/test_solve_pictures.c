/* The pictures of solve, --plot and --spy: what they show, and what happens to files and names. Drawing is left out
 * where gnuplot is missing; what is refused before it is not. */
#include "config.h"

#include "tests/support/cli.h"
#include "tests/support/refusal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BYTES = 1 << 18 };

static char content[BYTES];

/* The picture as text; "" where there is none. */
static const char *read_picture(const char *path)
{
  const long length = slurp(path, content, BYTES - 1);
  content[length] = '\0';
  return content;
}

static const char *path(const char *name)
{
  static char text[4][512];
  static unsigned next;
  char *buffer = text[next++ % 4];
  snprintf(buffer, sizeof text[0], "%s", tap_scratch(name));
  return buffer;
}

static bool is_png(const char *file)
{
  char bytes[8] = "";
  return slurp(file, bytes, sizeof bytes) == 8 && memcmp(bytes, "\x89PNG\r\n\x1a\n", 8) == 0;
}

static void test_plot(void)
{
  const char *svg = path("plot.svg"), *png = path("plot.png");
  const struct cli_run *run = CLI_RUN("solve", "poisson2d:20x20", "--level", "1", "--plot", svg);
  const char *text = read_picture(svg);
  tap_ok(run->status == 0 && !*run->err && strstr(text, "<svg") && strstr(text, "</svg>"), "--plot writes SVG");
  tap_ok(strstr(text, "poisson2d:20x20: 400 rows, block size 1") && strstr(text, "bicgstab, iluk of level 1, cpu") &&
             strstr(text, "converged after"),
         "its title has the matrix, the method and the outcome");
  tap_ok(strstr(text, "target 1e-08") && strstr(text, "relative to the right-hand side") &&
             strstr(text, "1e-08</text>"),
         "its axis is logarithmic, and a line is the target");
  run = CLI_RUN("solve", "poisson2d:20x20", "--plot", png, "--quiet");
  tap_ok(run->status == 0 && is_png(png), "or PNG");
  run = CLI_RUN("solve", "poisson2d:20x20", "--plot", svg, "--max-iterations", "3", "--rcm", "x");
  tap_ok(run->status == 2 && strstr(read_picture(svg), "converged after"), "a run that is refused leaves the last one");
  run = CLI_RUN("solve", "poisson2d:20x20", "--plot", svg, "--max-iterations", "3");
  tap_ok(run->status == 1 && strstr(read_picture(svg), "not converged after 3 iterations"), "a solve that fails");
  run = CLI_RUN("solve", "poisson2d:20x20", "--plot", svg, "--max-iterations", "1");
  tap_ok(run->status == 1 && strstr(read_picture(svg), "after 1 iteration"), "one iteration");
  run = CLI_RUN("solve", "poisson2d:20x20", "--plot", svg, "--atol", "1e9");
  tap_ok(run->status == 0 && strstr(read_picture(svg), "target"), "no iteration");
  run = CLI_RUN("solve", "poisson2d:20x20", "--plot", svg, "--scale", "diagonal", "--ordering", "rcm");
  text = read_picture(svg);
  tap_ok(run->status == 0 && strstr(text, "residual norm of the scaled system") && strstr(text, "diagonal scaling") &&
             strstr(text, "rcm ordering"),
         "a scaled system says so");
  run = CLI_RUN("solve", "poisson2d:20x20", "--plot", svg, "--solver", "cg", "--norm", "preconditioned");
  tap_ok(run->status == 0 && strstr(read_picture(svg), "preconditioned residual norm, relative to the start"),
         "and so does another norm");
}

/* Histories that a logarithmic axis cannot show. */
static void test_strange_histories(void)
{
  const char *svg = path("strange.svg");
  const char *singular = path("singular.mtx"), *zero = path("zero.txt"), *huge = path("huge.mtx");
  tap_write("singular.mtx", GENERAL "2 2 4\n1 1 1\n1 2 1\n2 1 1\n2 2 1\n", -1);
  tap_write("zero.txt", "0\n0\n", -1);
  tap_write("huge.mtx", GENERAL "2 2 2\n1 1 1e300\n2 2 1e-300\n", -1);
  const struct cli_run *run = CLI_RUN("solve", singular, "--plot", svg);
  tap_ok(run->status == 1 && strstr(read_picture(svg), "not solved: the pivot block of block row 1"),
         "a factorization that failed leaves the start");
  run = CLI_RUN("solve", singular, "--plot", svg, "--shift", "1", "--rhs", zero);
  tap_ok(run->status == 0 && strstr(read_picture(svg), "no iteration has a residual norm to be drawn"),
         "a right-hand side of zeros has no history");
  run = CLI_RUN("solve", huge, "--plot", svg, "--rhs", "Aones");
  tap_ok(run->status < 2 && strstr(read_picture(svg), "</svg>"), "a right-hand side out of range: %s", run->err);
  run = CLI_RUN("solve", huge, "--plot", svg, "--precond", "none");
  tap_ok(run->status < 2 && strstr(read_picture(svg), "</svg>"), "residuals that overflow: %s", run->err);
  run = CLI_RUN("solve", "poisson2d:9x9", "--plot", svg, "--rtol", "0", "--precond", "none");
  tap_ok(run->status < 2 && strstr(read_picture(svg), "</svg>") && !strstr(content, "target"),
         "a target of 0, which no logarithmic axis has");
  run = CLI_RUN("solve", "poisson2d:40x40", "--plot", svg, "--rtol", "1e-300", "--solver", "richardson", "--precond",
                "jacobi", "--max-iterations", "9000", "--monitor");
  tap_ok(run->status == 1 && strstr(read_picture(svg), "> 9000</text>"), "thousands of iterations are thinned");
}

static void test_spy(void)
{
  const char *svg = path("spy.svg"), *png = path("spy.png");
  const struct cli_run *run = CLI_RUN("solve", "poisson2d:5x4", "--block", "2", "--level", "1", "--spy", svg);
  const char *text = read_picture(svg);
  tap_ok(run->status == 0 && !*run->err && strstr(text, "<image") && strstr(text, "</svg>"), "--spy writes SVG");
  tap_ok(strstr(text, ">zero in a block</text>") && strstr(text, ">fill</text>") && strstr(text, ">stored</text>") &&
             strstr(text, "56 blocks and 2 of fill"),
         "with blocks, the zeros in them, and fill");
  tap_ok(strstr(text, "10 level sets of the lower triangle") && strstr(run->out, "level sets: 10 lower"),
         "and as many level sets as the solver reports");
  run = CLI_RUN("solve", "poisson3d:9x8x7", "--level", "3", "--spy", svg);
  text = read_picture(svg);
  const char *told = strstr(run->out, "level sets: "), *drawn = strstr(text, " level sets of the lower");
  while (drawn && drawn > text && drawn[-1] != ' ') drawn--;
  tap_ok(told && drawn && atoi(told + 12) == atoi(drawn) && atoi(drawn) > 1, "also where fill joins rows");
  run = CLI_RUN("solve", "poisson2d:5x4", "--precond", "jacobi", "--level", "2", "--spy", svg);
  tap_ok(run->status == 0 && !strstr(read_picture(svg), ">fill</text>"), "a method without fill has none");
  run = CLI_RUN("solve", "poisson3d:9x8x7", "--precond", "auto", "--spy", svg);
  text = read_picture(svg);
  told = strstr(run->out, "level sets: "), drawn = strstr(text, " level sets of the lower");
  while (drawn && drawn > text && drawn[-1] != ' ') drawn--;
  tap_ok(run->status == 0 && strstr(text, "bicgstab, auto: iluk of level 1, cpu") && strstr(text, ">fill</text>") &&
             told && drawn && atoi(told + 12) == atoi(drawn),
         "with auto it shows the fill and the level sets of its choice");
  run = CLI_RUN("solve", "poisson2d:1200x5", "--spy", png, "--quiet");
  struct stat file;
  tap_ok(run->status == 0 && is_png(png) && stat(png, &file) == 0 && file.st_size < 300000,
         "a large matrix is a raster");
  run = CLI_RUN("solve", "poisson2d:1x1", "--spy", svg);
  tap_ok(run->status == 0 && strstr(read_picture(svg), "1 block, 1 level set of"), "one is not several");
  run = CLI_RUN("solve", "poisson2d:1x1", "--spy", png);
  tap_ok(run->status == 0 && is_png(png), "a single entry");
  const char *missing = path("missing.mtx");
  tap_write("missing.mtx", GENERAL "2 2 2\n1 2 1\n2 1 1\n", -1);
  unlink(svg);
  run = CLI_RUN("solve", missing, "--spy", svg, "--level", "1");
  tap_ok(run->status == 2 && strstr(read_picture(svg), "2 blocks, 2 level sets"),
         "a matrix that is refused is drawn all the same");
  const char *empty = path("empty.mtx");
  tap_write("empty.mtx", GENERAL "3 3 0\n", -1);
  run = CLI_RUN("solve", empty, "--spy", svg, "--precond", "none");
  tap_ok(run->status < 3 && strstr(read_picture(svg), "0 blocks, 1 level set of"), "and so is one of no entries: %s",
         run->err);
}

/* Whatever a file is called, its name is drawn and means nothing to gnuplot or a shell. */
static void test_names(void)
{
  static const char name[] = "a'b\"c`touch GOTCHA`$(touch GOTCHA)\\{x}^2_b<&>\n@z \xff.mtx";
  const char *svg = path("quote'`touch GOTCHA`\".svg");
  char matrix[1024];
  snprintf(matrix, sizeof matrix, "%s", tap_write(name, GENERAL "2 2 2\n1 1 1\n2 2 1\n", -1));
  const struct cli_run *run = CLI_RUN("solve", matrix, "--plot", svg);
  tap_ok(run->status == 0 && strstr(read_picture(svg), "c`touch GOTCHA`$(touch GOTCHA)\\{x}^2_b&lt;&amp;>@z "),
         "a name with marks of all kinds is drawn as it is");
  tap_ok(strstr(content, "\xef\xbf\xbd.mtx") != NULL, "what is not UTF-8 is replaced");
  tap_ok(access("GOTCHA", F_OK) != 0, "and no command in it is run");
  char longest[400];
  memset(longest, 'n', 240);
  strcpy(longest + 240, "\xc3\xa4.mtx");
  snprintf(matrix, sizeof matrix, "%s", tap_write(longest, GENERAL "2 2 2\n1 1 1\n2 2 1\n", -1));
  run = CLI_RUN("solve", matrix, "--spy", svg);
  tap_ok(run->status == 0 && strstr(read_picture(svg), "...nnn") && strstr(content, "\xc3\xa4.mtx: 2 rows"),
         "of a long name the end is drawn");
}

/* A program called gnuplot that fails, in place of the real one. */
static void test_failure(void)
{
  const char *svg = path("kept.svg");
  char folder[512], program[600], search[1024];
  snprintf(folder, sizeof folder, "%s", tap_scratch("bin"));
  snprintf(program, sizeof program, "%s/gnuplot", folder);
  mkdir(folder, 0700);
  FILE *script = fopen(program, "w");
  if (!script) exit(99);
  fputs("#!/bin/sh\necho >&2\necho '         line 7: cannot draw' >&2\necho >&2\nexit 1\n", script);
  fclose(script);
  chmod(program, 0700);
  char *before = strdup(getenv("PATH") ? getenv("PATH") : "");
  snprintf(search, sizeof search, "%s:/bin:/usr/bin", folder);
  tap_write("kept.svg", "the last picture", -1);
  setenv("PATH", search, 1);
  const struct cli_run *run = CLI_RUN("solve", "poisson2d:5x4", "--plot", svg);
  tap_ok(run->status == 2 && strstr(run->err, "gnuplot could not draw the picture: line 7: cannot draw\n") &&
             strchr(run->err, '\n')[1] == '\0' && strstr(run->out, "converged after"),
         "gnuplot's complaint is one sentence, and the report comes: %s", run->err);
  tap_ok(strcmp(read_picture(svg), "the last picture") == 0, "the picture that was there stays");
  setenv("PATH", "/nowhere", 1);
  run = CLI_RUN("solve", "poisson2d:5x4", "--plot", svg);
  tap_ok(run->status == 2 && cli_is_one_sentence(run, "solve") &&
             strstr(run->err, "gnuplot not found; it is needed for pictures"),
         "without gnuplot nothing is begun: %s", run->err);
  tap_ok(strcmp(read_picture(svg), "the last picture") == 0, "and nothing is lost");
  setenv("PATH", before, 1);
  free(before);
}

/* A link is followed, also to a file that is not there, and a file with two names keeps both. */
static void test_places(void)
{
  struct stat a, b;
  char target[512], link_path[512], one[512], other[512];
  snprintf(target, sizeof target, "%s", path("target.svg"));
  snprintf(link_path, sizeof link_path, "%s", path("link.svg"));
  snprintf(one, sizeof one, "%s", path("one.svg"));
  snprintf(other, sizeof other, "%s", path("other.svg"));
  bool fine = symlink("target.svg", link_path) == 0;
  for (int i = 0; i < 2; i++) {
    const struct cli_run *run = CLI_RUN("solve", "poisson2d:5x4", "--plot", link_path, "--quiet");
    fine = fine && run->status == 0 && lstat(link_path, &a) == 0 && S_ISLNK(a.st_mode) && lstat(target, &b) == 0 &&
           S_ISREG(b.st_mode) && strstr(read_picture(target), "</svg>");
    tap_ok(fine, "a link leads to the picture, %s: %s", i ? "to replace" : "new", run->err);
  }
  tap_write("one.svg", "text", -1);
  fine = link(one, other) == 0;
  const struct cli_run *run = CLI_RUN("solve", "poisson2d:5x4", "--spy", other, "--quiet");
  tap_ok(fine && run->status == 0 && stat(one, &a) == 0 && stat(other, &b) == 0 && a.st_ino == b.st_ino &&
             strstr(read_picture(one), "</svg>"),
         "a picture with two names keeps both: %s", run->err);
}

/* What is refused before any work. */
static void test_refusals(void)
{
  const char *svg = path("same.svg");
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
    tap_ok(run->status == 2 && cli_is_one_sentence(run, "solve") && strstr(run->err, cases[i].says), "%s '%s': %s",
           cases[i].option, cases[i].name, run->err);
  }
  const struct cli_run *run = CLI_RUN("solve", "poisson2d:5x4", "--plot", svg, "--spy", svg);
  tap_ok(run->status == 2 && strstr(run->err, "--plot and --spy name the same file"), "one file for two pictures");
  run = CLI_RUN("solve", "poisson2d:5x4", "--plot", svg, "--history", svg);
  tap_ok(run->status == 2 && strstr(run->err, "--history and --plot name the same file"), "or for a history");
  const char *matrix = path("matrix.png");
  tap_write("matrix.png", GENERAL "2 2 2\n1 1 1\n2 2 1\n", -1);
  run = CLI_RUN("solve", matrix, "--spy", matrix);
  tap_ok(run->status == 2 && strstr(run->err, "--spy and the matrix name the same file") &&
             strncmp(read_picture(matrix), "%%MatrixMarket", 14) == 0,
         "the matrix itself is not drawn over");
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
