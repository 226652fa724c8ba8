/* A failed solve ends with a line on what to try, and what it says helps: each hint is followed here. */
#include "config.h"

#include "cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A matrix in a file, made entry by entry. */
struct maker {
  FILE *stream;
  long place; /* of the number of entries, written in the end */
  int rows, entries;
};

static struct maker begin(const char *path, int rows)
{
  struct maker maker = {fopen(path, "w"), 0, rows, 0};
  if (!maker.stream) exit(99);
  fprintf(maker.stream, "%%%%MatrixMarket matrix coordinate real general\n");
  maker.place = ftell(maker.stream);
  fprintf(maker.stream, "%40s\n", "");
  return maker;
}

static void put(struct maker *maker, int row, int column, double value)
{
  fprintf(maker->stream, "%d %d %.17g\n", row + 1, column + 1, value);
  maker->entries++;
}

static void end(struct maker *maker)
{
  char sizes[41];
  snprintf(sizes, sizeof sizes, "%d %d %d", maker->rows, maker->rows, maker->entries);
  fseek(maker->stream, maker->place, SEEK_SET);
  fprintf(maker->stream, "%-40s", sizes);
  fclose(maker->stream);
}

/* The Poisson problem on 10 x 10 cells, times factor, with shift added to its diagonal; row empty is zeros. */
static void put_poisson(struct maker *maker, int first, double factor, double shift, int empty)
{
  static const int side = 10, step[4][2] = {{1, 0}, {-1, 0}, {0, 1}, {0, -1}};
  for (int i = 0; i < side * side; i++) {
    put(maker, first + i, first + i, i == empty ? 0 : factor * 4 + shift);
    for (int s = 0; s < 4; s++) {
      const int x = i % side + step[s][0], y = i / side + step[s][1];
      const double value = i == empty ? 0 : -factor;
      if (x >= 0 && x < side && y >= 0 && y < side) put(maker, first + i, first + x + side * y, value);
    }
  }
}

/* Runs solve on a matrix and expects a failure with the hint; then with what the hint says, and expects success. Up to
 * 6 arguments each, which end with NULL. */
static void follow(const char *matrix, const char *const failing[], const char *says, const char *const better[],
                   const char *what)
{
  const char *argument[16] = {matrix};
  int count = 1;
  for (; *failing; failing++) argument[count++] = *failing;
  argument[count] = NULL;
  const struct cli_run *run = cli_run("solve", argument);
  const char *hint = strstr(run->out, "\nhint        ");
  const bool told = run->status == 1 && hint && strstr(hint, says);
  if (!tap_ok(told, "%s: the hint says \"%s\"", what, says)) tap_note("%d %s%s", run->status, run->out, run->err);
  for (; *better; better++) argument[count++] = *better;
  argument[count] = NULL;
  run = cli_run("solve", argument);
  if (!tap_ok(run->status == 0 && !strstr(run->out, "\nhint "), "and that helps"))
    tap_note("%d %s%s", run->status, run->out, run->err);
}

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})
#define NONE ((const char *const[]){NULL})

static void test_made(void)
{
  char path[512];
  struct maker maker;
  snprintf(path, sizeof path, "%s", tap_scratch("hint.mtx"));
  maker = begin(path, 100);
  put_poisson(&maker, 0, -1, 0, -1);
  end(&maker);
  follow(path, LIST("--solver", "cg"), "try --negate", LIST("--negate"), "a negative definite matrix");
  const struct cli_run *run = CLI_RUN("solve", "poisson2d:9x9", "--solver", "cg", "--negate");
  tap_ok(run->status == 1 && strstr(run->out, "try it without --negate"), "and one that the option has made so");
  maker = begin(path, 100);
  put_poisson(&maker, 0, 1, -2.5, -1);
  end(&maker);
  follow(path, LIST("--solver", "cg"), "try --solver gmres --restart 100",
         LIST("--solver", "gmres", "--restart", "100"), "an indefinite matrix");
  follow(path, NONE, "or --restart 100", LIST("--restart", "100"), "gmres that stagnates");
  maker = begin(path, 101); /* and a pair of skew couplings, so that cg is of no use */
  put_poisson(&maker, 0, 1, 0, -1);
  put(&maker, 100, 100, 1);
  put(&maker, 100, 0, -1);
  put(&maker, 0, 100, 1);
  end(&maker);
  follow(path, LIST("--solver", "cg", "--precond", "none"), "try --solver gmres", LIST("--solver", "gmres"),
         "a matrix that is not symmetric");
  maker = begin(path, 30);
  for (int i = 0; i < 30; i++) {
    put(&maker, i, i, 0);
    if (i < 29) put(&maker, i, i + 1, 1 + i);
    if (i > 0) put(&maker, i, i - 1, -i);
  }
  end(&maker);
  follow(path, NONE, "try --solver gmres --precond none", LIST("--precond", "none", "--restart", "30"),
         "a diagonal of zeros");
  follow(path, LIST("--precond", "none", "--solver", "bicgstab"), "try --solver gmres", LIST("--solver", "gmres"),
         "a breakdown of bicgstab");
}

/* A shut well: its row is zero and its right-hand side too. */
static void test_shut_well(void)
{
  char path[512];
  struct maker maker;
  snprintf(path, sizeof path, "%s", tap_scratch("shut.mtx"));
  maker = begin(path, 100);
  put_poisson(&maker, 0, 1, 0, 37);
  end(&maker);
  follow(path, LIST("--rhs", "Aones"), "as of a shut well: try --shift 1", LIST("--shift", "1"), "a row of zeros");
  maker = begin(path, 100);
  put_poisson(&maker, 0, 1e200, 0, -1);
  end(&maker);
  follow(path, LIST("--scale", "block"), "try --scale diagonal", LIST("--scale", "diagonal"), "a large matrix");
  const struct cli_run *run = CLI_RUN("solve", path, "--rhs", "Aones");
  tap_ok(run->status == 1 && strstr(run->out, "as large as 2e+200: divide it by that"), "a right-hand side too large");
}

static void test_slow(void)
{
  follow("poisson2d:30x30", LIST("--max-iterations", "20"), "try --level 1 or --restart 100, or more --max-iterations",
         LIST("--max-iterations", "200"), "too few iterations");
  follow("poisson2d:30x30", LIST("--rtol", "1e-30", "--max-iterations", "500"), "try --rtol 1e-12",
         LIST("--rtol", "1e-12"), "a target that no double can reach");
  follow("poisson2d:30x30", LIST("--max-iterations", "30", "--solver", "richardson"), "try --solver gmres",
         LIST("--solver", "gmres", "--level", "1"), "richardson");
  follow("poisson2d:30x30", LIST("--max-iterations", "40", "--precond", "none", "--solver", "cg"), "try --precond iluk",
         LIST("--precond", "iluk"), "no preconditioner");
  follow("poisson2d:30x30", LIST("--max-iterations", "24", "--precond", "dilu"), "try --precond iluk --level 1",
         LIST("--precond", "iluk", "--level", "1"), "a cheap one");
  follow("poisson2d:30x30", LIST("--max-iterations", "40", "--trisolve", "jacobi", "--trisolve-sweeps", "1"),
         "try --trisolve auto", LIST("--trisolve", "auto"), "approximate triangular solves");
}

static void test_refusal(void)
{
  char path[512];
  snprintf(path, sizeof path, "%s",
           tap_write("missing.mtx",
                     "%%MatrixMarket matrix coordinate real general\n3 3 6\n1 1 4\n1 2 1\n2 1 1\n2 3 1\n3 2 1\n3 3 4\n",
                     -1));
  const struct cli_run *run = CLI_RUN("solve", path);
  tap_ok(run->status == 2 && cli_is_one_sentence(run, "solve") &&
             strstr(run->err, "block row 1 has no diagonal entry; try --insert-diagonal, which adds 1 zero block"),
         "a missing diagonal block: %s", run->err);
  run = CLI_RUN("solve", path, "--precond", "fgbilu", "--grid", "1x1x3");
  tap_ok(run->status == 2 && cli_is_one_sentence(run, "solve"), "another refusal is one sentence: %s", run->err);
  run = CLI_RUN("solve", "poisson2d:3x3");
  tap_ok(run->status == 0 && !strstr(run->out, "hint"), "a solve that converges needs no hint");
#ifdef HAVE_JANSSON
  run = CLI_RUN("solve", "poisson2d:3x3", "--json");
  tap_ok(strstr(run->out, "\"hint\": null") != NULL, "nor in JSON");
  run = CLI_RUN("solve", "poisson2d:30x30", "--json", "--max-iterations", "3");
  tap_ok(strstr(run->out, "\"hint\": \"stronger factors: try --level 1") != NULL, "which has it of one that fails");
#endif
  run = CLI_RUN("solve", "poisson2d:30x30", "--quiet", "--max-iterations", "3");
  tap_ok(run->status == 1 && !*run->out && !*run->err, "--quiet has none");
}

/* Matrices from practice, where they are there. */
static void test_real(void)
{
  static const struct {
    const char *file;
    const char *failing[4], *says, *better[6];
  } cases[] = {
      {"spe10_layer_dirichlet.mtx.gz", {"--solver", "cg"}, "try --negate", {"--negate"}},
      {"e05r0500.mtx", {"--insert-diagonal"}, "try --level 1", {"--level", "1"}},
      {"sherman3.mtx.gz", {"--max-iterations", "100"}, "try --level 1", {"--level", "1"}},
      {"pores_3.mtx", {"--solver", "cg"}, "try --solver gmres", {"--solver", "gmres"}},
      {"west0479.mtx",
       {"--insert-diagonal"},
       "try --solver gmres --precond none --restart 479",
       {"--precond", "none", "--restart", "479"}},
      {"SPE01_bsr3.mtx.gz", {"--solver", "cg"}, "try --solver gmres", {"--solver", "gmres"}},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const char *found = tap_matrix_path(cases[i].file);
    const bool packed = strstr(cases[i].file, ".gz") != NULL;
    char path[1024];
    if (!found || (packed && !strstr(karst_build_features(), "zlib"))) {
      tap_skip(found ? "built without zlib" : "the matrix is not there", "hints for %s", cases[i].file);
      continue;
    }
    snprintf(path, sizeof path, "%s", found);
    follow(path, cases[i].failing, cases[i].says, cases[i].better, cases[i].file);
  }
}

int main(void)
{
  cli_need("solve");
  test_made();
  test_shut_well();
  test_slow();
  test_refusal();
  test_real();
  return tap_done();
}
