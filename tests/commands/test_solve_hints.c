/* A solve that has failed or was slow ends with a hint, and the hint helps: each one is followed here. */
#include "config.h"

#include "tests/support/commands.h"
#include "tests/support/problem.h"

#include <stdlib.h>

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

/* The Poisson problem on 10 x 10 cells, times factor, with shift added to its diagonal; row empty (-1: no row) is 0. */
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

/* Runs solve on a matrix and expects a failure with the hint, or a refusal that has it in its sentence. Then runs solve
 * as the hint says, and expects success. Up to 6 arguments each, which end with NULL. */
static void follow(const char *matrix, const char *const failing[], const char *says, const char *const better[],
                   const char *what)
{
  const char *argument[16] = {matrix};
  int count = 1;
  for (; *failing; failing++) argument[count++] = *failing;
  argument[count] = NULL;
  const struct cli_run *run = cli_run("solve", argument);
  const char *hint = strstr(run->out, "\nhint        ");
  const bool hinted = is_refused(run, "solve", says) || (run->status == 1 && hint && strstr(hint, says));
  check_run(run, hinted, "%s: the hint says \"%s\"", what, says);
  for (; *better; better++) argument[count++] = *better;
  argument[count] = NULL;
  run = cli_run("solve", argument);
  check_run(run, run->status == 0 && !strstr(run->out, "\nhint "), "%s: the hint helps", what);
}

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})
#define NONE ((const char *const[]){NULL})

static void test_made(void)
{
  const char *path = scratch_path("hint.mtx");
  struct maker maker = begin(path, 100);
  put_poisson(&maker, 0, -1, 0, -1);
  end(&maker);
  follow(path, LIST("--solver", "cg"), "try --negate", LIST("--negate"), "a negative definite matrix");
  const struct cli_run *run = CLI_RUN("solve", "poisson2d:9x9", "--solver", "cg", "--negate");
  tap_ok(run->status == 1 && strstr(run->out, "try it without --negate"),
         "the hint for a matrix that --negate has made negative definite is to leave it out");
  maker = begin(path, 100);
  put_poisson(&maker, 0, 1, -2.5, -1);
  end(&maker);
  follow(path, LIST("--solver", "cg"), "try --solver auto", LIST("--solver", "auto"), "an indefinite matrix");
  follow(path, LIST("--solver", "gmres"), "try --solver auto --precond auto",
         LIST("--solver", "auto", "--precond", "auto"), "gmres that stagnates");
  maker = begin(path, 100);
  put_poisson(&maker, 0, 1, -0.5, -1);
  end(&maker);
  follow(path, LIST("--precond", "rrb", "--grid", "10x10"), "needs a positive definite matrix: try --precond iluk",
         LIST("--precond", "iluk"), "rrb for an indefinite matrix");
  maker = begin(path, 101); /* with a pair of skew couplings, so that cg cannot solve it */
  put_poisson(&maker, 0, 1, 0, -1);
  put(&maker, 100, 100, 1);
  put(&maker, 100, 0, -1);
  put(&maker, 0, 100, 1);
  end(&maker);
  follow(path, LIST("--solver", "cg", "--precond", "none"), "try --solver auto", LIST("--solver", "auto"),
         "a matrix that is not symmetric");
  maker = begin(path, 30);
  for (int i = 0; i < 30; i++) {
    put(&maker, i, i, 0);
    if (i < 29) put(&maker, i, i + 1, 1 + i);
    if (i > 0) put(&maker, i, i - 1, -i);
  }
  end(&maker);
  follow(path, LIST("--solver", "bicgstab"), "try --solver gmres --precond none",
         LIST("--solver", "gmres", "--precond", "none", "--restart", "30"), "a diagonal of zeros");
  follow(path, LIST("--solver", "gmres", "--restart", "30"), "or try --precond none", LIST("--precond", "none"),
         "a diagonal of zeros with gmres");
  follow(path, LIST("--precond", "none", "--solver", "bicgstab"), "try --solver auto", LIST("--solver", "auto"),
         "a breakdown of bicgstab");
}

/* Writes a system whose row 37 is zero, as that of a shut well. */
static const char *write_shut_well(void)
{
  const char *path = scratch_path("shut.mtx");
  struct maker maker = begin(path, 100);
  put_poisson(&maker, 0, 1, 0, 37);
  end(&maker);
  return path;
}

/* The right-hand side of row 37 is zero too. */
static void test_shut_well(void)
{
  const char *path = write_shut_well();
  struct maker maker;
  follow(path, LIST("--rhs", "Aones"), "as for a shut well: try --shift 1", LIST("--shift", "1"), "a row of zeros");
  maker = begin(path, 3); /* no row before the first one fills its zero */
  put(&maker, 0, 0, 0);
  put(&maker, 0, 1, 1);
  put(&maker, 1, 0, 1);
  put(&maker, 1, 1, 2);
  put(&maker, 1, 2, 1);
  put(&maker, 2, 1, 1);
  put(&maker, 2, 2, 3);
  end(&maker);
  follow(path, LIST("--precond", "lines", "--grid", "3x1"), "try --precond iluk --shift 1",
         LIST("--precond", "iluk", "--shift", "1"), "a first diagonal entry of zero");
  maker = begin(path, 3);
  for (int i = 0; i < 3; i++) put(&maker, i, i, i);
  end(&maker);
  follow(path, LIST("--rhs", "Aones", "--precond", "two-stage"), "try --precond iluk --shift 1",
         LIST("--precond", "iluk", "--shift", "1"), "a pivot of a stage");
  maker = begin(path, 100);
  put_poisson(&maker, 0, 1e200, 0, -1);
  end(&maker);
  follow(path, LIST("--scale", "block"), "try --scale diagonal", LIST("--scale", "diagonal"), "a large matrix");
  const struct cli_run *run = CLI_RUN("solve", path, "--rhs", "Aones");
  tap_ok(run->status == 1 && strstr(run->out, "the right-hand side is 2e+200: divide"),
         "the hint for a right-hand side that is too large is to divide it");
}

static void test_slow(void)
{
  follow("poisson2d:30x30", LIST("--max-iterations", "10"), "try --solver cg --precond amg, or more --max-iterations",
         LIST("--max-iterations", "200"), "too few iterations");
  follow("poisson2d:30x30", LIST("--rtol", "1e-30", "--max-iterations", "500"), "try --rtol 1e-12",
         LIST("--rtol", "1e-12"), "a target that no double can reach");
  follow("convdiff:8x8x8", LIST("--max-iterations", "9", "--solver", "richardson"), "try --solver auto --precond auto",
         LIST("--solver", "auto", "--precond", "auto"), "richardson");
  follow("poisson2d:30x30", LIST("--max-iterations", "40", "--precond", "none", "--solver", "cg"), "try --precond amg",
         LIST("--precond", "amg"), "no preconditioner");
  follow("poisson2d:30x30", LIST("--max-iterations", "15", "--precond", "dilu"), "try --solver cg --precond amg",
         LIST("--solver", "cg", "--precond", "amg"), "a cheap preconditioner");
  follow("poisson2d:30x30", LIST("--max-iterations", "25", "--trisolve", "jacobi", "--trisolve-sweeps", "1"),
         "try --trisolve auto", LIST("--trisolve", "auto"), "approximate triangular solves");
}

/* Runs solve with the arguments, which converges and has a hint, and then as the hint says, in fewer iterations. */
static void speed_up(const char *matrix, const char *const slow[], const char *says, const char *const better[],
                     const char *what)
{
  const char *argument[16] = {matrix};
  int count = 1;
  for (; *slow; slow++) argument[count++] = *slow;
  argument[count] = NULL;
  const struct cli_run *run = cli_run("solve", argument);
  const char *hint = strstr(run->out, "\nhint        ");
  const double before = number_after(run->out, "\niterations ");
  check_run(run, run->status == 0 && hint && strstr(hint, says), "%s: the hint says \"%s\"", what, says);
  for (; *better; better++) argument[count++] = *better;
  argument[count] = NULL;
  run = cli_run("solve", argument);
  const double after = number_after(run->out, "\niterations ");
  check_run(run, run->status == 0 && after < 0.6 * before, "%s: %g iterations become %g", what, before, after);
}

/* Writes a Newton step of a black-oil model, the equations of each 20th cell times factor. */
static const char *write_scaled(double factor)
{
  karst_context *context = tap_context();
  karst_matrix *A = matrix_from(context, "blackoil:20x20x5,dt=1", 0);
  const char *path = scratch_path("scaled.kbsr");
  double *value = values_on_host(A);
  for (karst_index i = 0; i < karst_matrix_block_rows(A); i += 20)
    for (int64_t e = 9 * karst_matrix_row_start(A)[i]; e < 9 * karst_matrix_row_start(A)[i + 1]; e++)
      value[e] *= factor;
  tap_need(context, karst_matrix_update_values(A, value), "values");
  tap_need(context, karst_matrix_write(A, path), "a file");
  free(value);
  karst_matrix_destroy(A);
  karst_context_destroy(context);
  return path;
}

/* Multigrid, for a scalar matrix and for the pressures of cells. */
static void test_multigrid(void)
{
  static const char reservoir[] = "blackoil:20x20x5,dt=1";
  follow(reservoir, LIST("--max-iterations", "30", "--solver", "gmres"), "try --solver auto --precond cpr",
         LIST("--solver", "auto", "--precond", "cpr"), "a reservoir with ILU");
  speed_up(reservoir, LIST("--precond", "jacobi"), "try --precond cpr", LIST("--precond", "cpr"), "a slow reservoir");
  speed_up("deadoil:20x20x5,dt=10", LIST("--solver", "gmres", "--precond", "dilu"), "try --solver auto --precond cpr",
           LIST("--solver", "auto", "--precond", "cpr"), "a slow reservoir of two phases");
  speed_up("poisson2d:150x150", LIST("--precond", "jacobi"), "try --solver cg --precond amg",
           LIST("--solver", "cg", "--precond", "amg"), "a slow scalar matrix");
  speed_up("blackoil:20x20x5,dt=100", LIST("--precond", "cpr", "--second", "jacobi"),
           "try --second iluk --second.level 1", LIST("--second", "iluk", "--second.level", "1"),
           "a weak second stage of cpr");
  speed_up(write_scaled(1e6), LIST("--precond", "cpr"), "try --cpr-balance 20", LIST("--cpr-balance", "20"),
           "equations of different scales");
  const struct cli_run *run = CLI_RUN("solve", reservoir, "--precond", "cpr");
  tap_ok(run->status == 0 && !strstr(run->out, "\nhint "), "a solve by cpr needs no hint");
  run = CLI_RUN("solve", "convdiff:12x12x12,peclet=1", "--precond", "jacobi", "--solver", "gmres", "--restart", "5");
  tap_ok(run->status == 0 && number_after(run->out, "\niterations ") > 100 && !strstr(run->out, "\nhint "),
         "a slow solve without a pressure has no hint");
}

/* A right-hand side that is not zero in a row of zeros: the first hint leads to a second one, and that to a
 * solution. */
static void test_no_solution(void)
{
  const char *path = write_shut_well();
  static const char says[] =
      "row 37 (counted from 0) is all zeros, but its right-hand side is 1: set that to 0, as --rhs "
      "Aones does";
  follow(path, LIST("--shift", "1"), says, LIST("--rhs", "Aones"), "a shut well with a right-hand side");
  follow(path, LIST("--precond", "none"), says, LIST("--rhs", "Aones"), "a shut well without preconditioner");
  const struct cli_run *run = CLI_RUN("solve", path);
  tap_ok(run->status == 1 && strstr(run->out, says), "a shut well whose pivot has failed has the same hint");
  follow(path, LIST("--rhs", "Aones", "--precond", "jacobi"), "try --precond iluk --shift 1",
         LIST("--precond", "iluk", "--shift", "1"), "a preconditioner that replaces no pivots");
  follow(path, LIST("--rhs", "Aones", "--precond", "jacobi", "--shift", "1"),
         "try --precond iluk, which replaces singular pivot blocks by the shift given", LIST("--precond", "iluk"),
         "a shift with a preconditioner that replaces no pivots");
  follow(path, LIST("--rhs", "Aones", "--precond", "lines", "--grid", "10x10", "--shift", "1"),
         "try --precond iluk, which replaces singular pivot blocks by the shift given", LIST("--precond", "iluk"),
         "a shift with lines");
  follow(path, LIST("--rhs", "Aones", "--precond", "adi", "--grid", "10x10", "--shift", "1"),
         "try --precond iluk, which replaces singular pivot blocks by the shift given", LIST("--precond", "iluk"),
         "a shift with adi");
  follow(path, LIST("--rhs", "Aones", "--precond", "auto"), "try --precond iluk --shift 1",
         LIST("--precond", "iluk", "--shift", "1"), "a singular pivot of auto's factors");
}

/* Cells on a line, each with two unknowns whose equations are exchanged: scalars have no diagonal entry, and neither do
 * blocks that begin inside a cell. */
static void test_block(void)
{
  enum { CELLS = 49 };
  const char *path = scratch_path("cells.mtx");
  struct maker maker = begin(path, 2 * CELLS);
  for (int i = 0; i < CELLS; i++)
    for (int r = 0; r < 2; r++) {
      put(&maker, 2 * i + r, 2 * i + 1 - r, 5);
      if (i > 0) put(&maker, 2 * i + r, 2 * i - 1 - r, -1);
      if (i + 1 < CELLS) put(&maker, 2 * i + r, 2 * i + 3 - r, -1);
    }
  end(&maker);
  follow(path, LIST("--block", "3"), "the block size 3 does not divide the 98 rows, which were padded: try --block 2",
         LIST("--block", "2"), "a block size that does not fit");
  follow(path, LIST("--block", "7"), "try --block 2, which leaves no diagonal block singular", LIST("--block", "2"),
         "a block size that divides the rows and no cell");
  follow(path, NONE, "98 of 98 rows lack one: try --block 2", LIST("--block", "2"), "no blocks");
  follow(path, LIST("--block", "2", "--precond", "fgbilu", "--grid", "49x1x1", "--pivoting", "no"),
         "try --pivoting yes", LIST("--pivoting", "yes"), "no exchange of rows");
  maker = begin(path, 31); /* a prime number of rows, in a circle without a diagonal */
  for (int i = 0; i < 31; i++) put(&maker, i, (i + 1) % 31, 1 + i);
  end(&maker);
  follow(path, LIST("--rhs", "random"), "or try --solver gmres --precond none --restart 31",
         LIST("--solver", "gmres", "--precond", "none", "--restart", "31"), "no block size fits");
}

static void test_stored(void)
{
  const char *path = scratch_file(
      "stored.mtx", "%%MatrixMarket matrix coordinate real symmetric\n3 3 4\n1 1 4\n2 1 1\n3 2 2\n3 3 6\n");
  const struct cli_run *run = CLI_RUN("solve", path, "--stored-triangle");
  expect_refused(run, "solve", "singular without it: try --insert-diagonal without --stored-triangle",
                 "a stored triangle without a diagonal entry is refused with a hint");
  run = CLI_RUN("solve", path, "--stored-triangle", "--insert-diagonal");
  tap_ok(run->status == 1 &&
             strstr(run->out, "the matrix is singular: 1 diagonal entry of the stored triangle is zero: try it "
                              "without --stored-triangle"),
         "the hint for a stored triangle with a zero diagonal entry is to leave the option out");
  tap_ok(!strstr(run->out, "before blocking"), "a stored triangle of scalars is not blocked");
  run = CLI_RUN("solve", path, "--insert-diagonal");
  tap_ok(run->status == 0, "the whole matrix has a solution");
}

/* Hints on options that let the solve go on. */
static void test_going_on(void)
{
  const char *path = scratch_path("neumann.mtx");
  struct maker maker;
  follow("convdiff:8x8x8", LIST("--max-iterations", "3"), "try --precond auto, or more --max-iterations",
         LIST("--max-iterations", "200"), "an early end");
  follow("poisson2d:30x30", LIST("--max-iterations", "0"), "try more --max-iterations", LIST("--max-iterations", "200"),
         "no iteration");
  follow("poisson2d:30x30", LIST("--rtol", "0", "--atol", "1e-40", "--max-iterations", "300"), "try --rtol 1e-12",
         LIST("--rtol", "1e-12"), "an absolute target that no double can reach");
  follow("poisson2d:30x30", LIST("--precond", "ras", "--max-iterations", "8"), "try --local.level 1",
         LIST("--local.level", "4"), "Schwarz");
  follow("poisson2d:30x30", LIST("--precond", "two-stage", "--max-iterations", "8"), "try --second.level 1",
         LIST("--second", "iluk", "--second.level", "3"), "two stages");
  follow("poisson2d:30x30", LIST("--precond", "parilu", "--sweeps", "1", "--max-iterations", "15"),
         "try --solver cg --precond amg", LIST("--solver", "cg", "--precond", "amg"), "swept factors");
  follow("convdiff:8x8x8", LIST("--precond", "auto", "--max-iterations", "4"), "stronger factors: try --level 2",
         LIST("--level", "4"), "the hint names the level that auto has chosen");
  follow("poisson2d:30x30", LIST("--solver", "cg", "--precond", "auto", "--max-iterations", "4"),
         "stronger factors: try --precond iluk --level 0, or more --max-iterations", LIST("--max-iterations", "100"),
         "the hint names another of auto's choices");
  maker = begin(path, 30);
  for (int i = 0; i < 30; i++) {
    put(&maker, i, i, i % 29 == 0 ? 1 : 2);
    if (i > 0) put(&maker, i, i - 1, -1);
    if (i < 29) put(&maker, i, i + 1, -1);
  }
  end(&maker);
  const struct cli_run *run = CLI_RUN("solve", path);
  tap_ok(run->status == 1 && strstr(run->out, "singular because each row sums to zero: fix one unknown"),
         "the hint for rows that sum to zero is to fix one unknown");
  maker = begin(path, 3); /* a triangle with a zero on its diagonal */
  put(&maker, 0, 0, 4);
  put(&maker, 1, 0, 1);
  put(&maker, 2, 1, 2);
  put(&maker, 2, 2, 6);
  end(&maker);
  run = CLI_RUN("solve", path, "--solver", "gmres", "--insert-diagonal", "--shift", "1");
  tap_ok(run->status == 1 && strstr(run->out, "the matrix may be singular: --reference finds out"),
         "the hint for a matrix that may be singular is --reference");
  run = CLI_RUN("solve", path, "--insert-diagonal", "--shift", "1", "--solver", "fgmres");
  tap_ok(run->status == 1 && strstr(run->out, "the matrix may be singular: --reference finds out"),
         "the hint for fgmres does not name gmres");
  run = CLI_RUN("solve", path, "--insert-diagonal", "--shift", "1", "--reference");
  tap_ok(
      strstr(run->status == 1 ? run->out : run->err, run->status == 1 ? "UMFPACK: the matrix is singular" : "UMFPACK"),
      "--reference finds the singular matrix, or says that it needs UMFPACK");
  tap_ok(run->status != 1 || strstr(run->out, "the matrix is singular: rows depend on each other"),
         "the hint with --reference does not name --reference");
}

static void test_refusal(void)
{
  const char *path = scratch_file("missing.mtx", GENERAL "3 3 6\n1 1 4\n1 2 1\n2 1 1\n2 3 1\n3 2 1\n3 3 4\n");
  const struct cli_run *run = CLI_RUN("solve", path);
  expect_refused(run, "solve", "block row 1 has no diagonal entry; try --insert-diagonal, which adds 1 zero block",
                 "a missing diagonal block is refused with a hint");
  expect_refused(CLI_RUN("solve", path, "--precond", "fgbilu", "--grid", "1x1x3"), "solve", "",
                 "another refusal is one sentence");
  run = CLI_RUN("solve", "poisson2d:3x3");
  tap_ok(run->status == 0 && !strstr(run->out, "hint"), "a solve that converges needs no hint");
#ifdef HAVE_JANSSON
  run = CLI_RUN("solve", "poisson2d:3x3", "--json");
  tap_ok(strstr(run->out, "\"hint\": null") != NULL, "the hint of a solve that converges is null in JSON");
  run = CLI_RUN("solve", "poisson2d:30x30", "--json", "--max-iterations", "3");
  tap_ok(strstr(run->out, "\"hint\": \"methods that fit the matrix: try --solver cg") != NULL,
         "JSON has the hint of a solve that fails");
#endif
  run = CLI_RUN("solve", "poisson2d:30x30", "--quiet", "--max-iterations", "3");
  tap_ok(run->status == 1 && !*run->out && !*run->err, "--quiet prints no hint");
}

/* Hints for real matrices. */
static void test_real(void)
{
  static const struct {
    const char *file;
    const char *failing[6], *says, *better[8];
  } cases[] = {
      {"spe10_layer_dirichlet.mtx.gz", {"--solver", "cg"}, "try --negate", {"--negate"}},
      {"e05r0500.mtx", {"--insert-diagonal", "--ordering", "rcm"}, "try --ordering natural", {"--ordering", "natural"}},
      {"west0479.mtx",
       {"--insert-diagonal"},
       "try --solver gmres --precond none --restart 479",
       {"--solver", "gmres", "--precond", "none", "--restart", "479"}},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const char *path = real_matrix(cases[i].file, cases[i].file);
    if (path) follow(path, cases[i].failing, cases[i].says, cases[i].better, cases[i].file);
  }
}

int main(void)
{
  cli_need("solve");
  test_made();
  test_shut_well();
  test_slow();
  test_multigrid();
  test_no_solution();
  test_block();
  test_stored();
  test_going_on();
  test_refusal();
  test_real();
  return tap_done();
}
