/* test_bench.c - what bench does with several preconditioners: one table each, the time of a cell on grids, and the
 * correction step by step. Times are not judged. */
#include "tests/support/cli.h"
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int count(const char *text, const char *word)
{
  int found = 0;
  for (const char *next = text; (next = strstr(next, word)); next++) found++;
  return found;
}

/* Returns the number behind "key": after the first occurrence of place, or -1. */
static double number_of(const char *text, const char *place, const char *key)
{
  char quoted[64];
  const char *found = strstr(text, place);
  snprintf(quoted, sizeof quoted, "\"%s\":", key);
  found = found ? strstr(found, quoted) : NULL;
  return found ? strtod(found + strlen(quoted), NULL) : -1;
}

static bool is_near(double value, double expected) { return fabs(value / expected - 1) < 1e-6; }

static void test_tables(void)
{
  const struct cli_run *run = CLI_RUN("bench", "convdiff:4x4x4", "--quick", "--threads=1", "--level=0,1",
                                      "--precond=iluk,jacobi,iluk:shift=1e-3");
  tap_ok(run->status == 0 && count(run->out, "milliseconds") == 5 && count(run->out, "; ILU(") == 2 &&
             count(run->out, "; jacobi with") == 1 && count(run->out, "; iluk:shift=1e-3(") == 2,
         "bench --precond makes a table for each preconditioner, and each level where it has levels");
  tap_note("%s", run->err);
  static const char *const wrong[] = {"--precond=ilux",           "--precond=iluk,",
                                      "--precond=iluk:backwards", "--precond=iluk:level=1",
                                      "--precond=iluk:shift=no",  "--precond=iluk:scale=block"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    run = CLI_RUN("bench", "poisson2d:4x4", wrong[i]);
    tap_ok(run->status == 2 && cli_is_one_sentence(run, "bench"), "bench refuses %s: %s", wrong[i], run->err);
  }
}

/* The counts are those of the paper's Table 2, and of what must move; the times cancel. */
static void check_counts(const char *row, double n, double cells, double blocks)
{
  const double copy = number_of(row, "{", "copy_bandwidth");
  const char *const task[] = {"\"factorization\"", "\"sweeps\"", "\"residual\""};
  const double flops[] = {8 * n * n * n, 8 * n * n, 7 * n * n};
  const double data[] = {56 * n * n, 8 * (8 * n * n + 3 * n), 8 * (7 * n * n + 3 * n)};
  const double moved[] = {8 * n * n * (blocks + cells), 8 * (n * n * (blocks + cells) + 4 * n * cells),
                          8 * (n * n * blocks + 3 * n * cells)};
  for (int t = 0; t < 3; t++) {
    const double seconds = number_of(row, task[t], "seconds");
    tap_ok(is_near(1e9 * number_of(row, task[t], "gflops") * seconds, flops[t] * cells) &&
               is_near(1e9 * number_of(row, task[t], "gbytes") * seconds, data[t] * cells) &&
               is_near(number_of(row, task[t], "floor") * seconds * copy, moved[t]) &&
               is_near(number_of(row, task[t], "us_cell"), 1e6 * seconds / cells),
           "its rates and shares follow from its time: %s", task[t]);
  }
  tap_ok(number_of(row, task[0], "steps") == 10 && number_of(row, task[1], "steps") == 20 &&
             number_of(row, task[2], "steps") == 0,
         "a factorization has as many steps as there are hyperplanes, the sweeps twice as many");
}

/* A case that needs two threads is skipped on a machine with one. */
static int has_threads(void) { return strstr(karst_build_features(), "OpenMP") != NULL; }

static void test_grids(void)
{
  const struct cli_run *run = CLI_RUN("bench", "convdiff,peclet=5", "--quick", "--threads=1,2", "--block=3",
                                      "--grids=3x4x5,2/4", "--precond=iluk,jacobi");
  tap_ok(run->status == 0 && strstr(run->out, "convdiff:3x4x5,peclet=5: 60 cells, blocks of 3") &&
             strstr(run->out, "convdiff:2x2x2,peclet=5: 8 cells, blocks of 4") && count(run->out, "of floor") == 6 &&
             count(run->out, "jacobi, 2 threads") == (has_threads() ? 8 : 0),
         "bench --grids makes tables for each grid, with a row for each preconditioner and number of threads");
  tap_note("%s", run->err);
  run = CLI_RUN("bench", "convdiff", "--quick", "--threads=1", "--grids=3x4x5", "--precond=iluk", "--json");
  tap_ok(run->status == 0 && count(run->out, "\n") == 1 && strstr(run->out, "\"size\":[3,4,5],\"program\":\"iluk, 1"),
         "and with --json a line for each row");
  check_counts(run->out, 3, 60, 60 + 2 * (2 * 20 + 3 * 15 + 4 * 12));
  run = CLI_RUN("bench", "convdiff", "--quick", "--threads=1", "--grids=3x4x5", "--precond=rrb");
  tap_ok(run->status == 2 && strstr(run->err, "note: rrb") && strstr(run->err, "nothing was measured"),
         "a grid without a row is an error: %s", run->err);
  static const char *const wrong[] = {"--grids=5x5",  "--grids=0",       "--grids=5/0",
                                      "--grids=5,,6", "--grids=5x5x5x5", "--grids=x"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    run = CLI_RUN("bench", "convdiff", wrong[i]);
    tap_ok(run->status == 2 && cli_is_one_sentence(run, "bench"), "bench refuses %s: %s", wrong[i], run->err);
  }
  run = CLI_RUN("bench", "convdiff:5x5x5", "--grids=5");
  tap_ok(run->status == 2 && cli_is_one_sentence(run, "bench"), "and a grid given twice: %s", run->err);
  run = CLI_RUN("bench", "convdiff", "--grids=5", "--correction=2");
  tap_ok(run->status == 2 && cli_is_one_sentence(run, "bench"), "and two things to do: %s", run->err);
  run = CLI_RUN("bench", "convdiff", "--grids=5", "--precond=cusparse");
  tap_ok(run->status == 2 && cli_is_one_sentence(run, "bench"), "and what runs on no device asked for: %s", run->err);
}

/* A = (2 1; 0 2) and b = (1 1). Jacobi's residuals are (1 1), (-1/2 0) and 0; ILU solves at once. */
static void test_correction(void)
{
  char path[512];
  snprintf(path, sizeof path, "%s",
           tap_write("two.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 2\n1 2 1\n2 2 2\n", -1));
  const struct cli_run *run = CLI_RUN("bench", path, "--correction=2", "--threads=1", "--precond=jacobi,iluk");
  tap_ok(run->status == 0 && strstr(run->out, "   0  0.200000000000E+01  0.200000000000E+01\n") &&
             strstr(run->out, "   1  0.250000000000E+00  0.000000000000E+00\n") &&
             strstr(run->out, "   2  0.000000000000E+00  0.000000000000E+00\n") &&
             strstr(run->out, "all 2 columns agree in all 12 digits in rows 0 to 0, where |R|^2/|R0|^2 = 1.000e+00\n"),
         "bench --correction prints sums of squares side by side, and how far they agree");
  run = CLI_RUN("bench", path, "--correction=1", "--threads=1,2", "--precond=jacobi", "--quick", "--json");
  tap_ok(run->status == 0 && strstr(run->out, "\"equal_rows\":2,\"ratio\":0.125,") &&
             count(run->out, "\"squares\":[\"0.200000000000E+01\",\"0.250000000000E+00\"]") == (has_threads() ? 2 : 1),
         "and with --json as an object");
  snprintf(path, sizeof path, "%s",
           tap_write("bad.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 1\n1 2 1\n2 2 0\n", -1));
  run = CLI_RUN("bench", path, "--correction=1", "--threads=1", "--precond=none,jacobi", "--quick");
  tap_ok(run->status == 0 && strstr(run->err, "note: jacobi, 1 thread is left out") && !strstr(run->out, "jacobi"),
         "what cannot be set up is left out: %s", run->err);
  run = CLI_RUN("bench", path, "--correction=1", "--threads=1", "--precond=jacobi", "--quick");
  tap_ok(run->status == 2, "and where nothing is left it is an error");
}

static void test_solves(void)
{
  const struct cli_run *run = CLI_RUN("bench", "poisson2d:9x8", "--solves=cg", "--quick", "--threads=1", "--level=0,2",
                                      "--precond=iluk:modified=0/1:shift=0/1e-3/1e-2,jacobi,none", "--rtol=1e-9");
  tap_ok(run->status == 0 && strstr(run->out, "poisson2d:9x8: 72 rows, 326 blocks of 1; cg to a residual of 1e-09") &&
             count(run->out, "converged") == 14 && strstr(run->out, "iluk:modified=1:shift=1e-2(2), 1 thread") &&
             strstr(run->out, "jacobi, 1 thread"),
         "bench --solves has a row for each preconditioner, each level and each value of a list A/B");
  tap_note("%s", run->err);
  run = CLI_RUN("bench", "poisson2d:9x8", "--solves=cg", "--quick", "--threads=1,2", "--precond=jacobi", "--json");
  const double residual = number_of(run->out, "{", "residual");
  tap_ok(run->status == 0 && count(run->out, "\n") == (has_threads() ? 2 : 1) && residual > 0 && residual <= 1e-6 &&
             number_of(run->out, "{", "speedup") == 1 && number_of(run->out, "{", "rtol") == 1e-6 &&
             is_near(number_of(run->out, "{", "total"),
                     number_of(run->out, "{", "setup") + number_of(run->out, "{", "solve")),
         "and with --json a line each, with the residual computed from x");
  run = CLI_RUN("bench", "poisson2d:9x8", "--solves=cg", "--quick", "--threads=1", "--precond=jacobi,iluk:shift=-1");
  tap_ok(run->status == 2 && cli_is_one_sentence(run, "bench"), "a wrong value of a preconditioner's option: %s",
         run->err);
  run = CLI_RUN("bench", "convdiff:5x5x5", "--solves=bicgstab", "--quick", "--threads=1", "--precond=jacobi,rrb");
  tap_ok(run->status == 0 && strstr(run->err, "note: rrb, 1 thread is left out") && !strstr(run->out, "rrb") &&
             strstr(run->out, "jacobi, 1 thread"),
         "what cannot be solved is left out with a note: %s", run->err);
  run = CLI_RUN("bench", "convdiff:5x5x5", "--solves=none", "--quick", "--threads=1", "--precond=jacobi");
  tap_ok(run->status == 2 && strstr(run->err, "note: jacobi, 1 thread is left out") && !*run->out &&
             strstr(run->err, "nothing was measured"),
         "and where no row is left it is an error: %s", run->err);
  run = CLI_RUN("bench", "poisson2d:9x8", "--solves=cg", "--grids=5");
  tap_ok(run->status == 2 && cli_is_one_sentence(run, "bench"), "two things to do are refused: %s", run->err);
  run = CLI_RUN("bench", "poisson2d:9x8", "--profile");
  tap_ok(run->status == 2 && cli_is_one_sentence(run, "bench"), "and --profile without --solves: %s", run->err);
}

/* A peer is a program, here a shell's. */
static void test_peers(void)
{
  const char *script = "#!/bin/sh\necho \"Peer $6 $7\"\nwhile read -r line; do echo 1 nan 2 3 1e-7; done\n";
  char path[512], option[1200];
  snprintf(path, sizeof path, "%s", tap_write("peer.sh", script, -1));
  tap_ok(chmod(path, 0700) == 0, "a peer of the test's own");
  snprintf(option, sizeof option, "--peer=%s,%s:fast", path, path);
  const struct cli_run *run = CLI_RUN("bench", "poisson2d:5x5", "--solves=cg", "--quick", "--threads=1",
                                      "--precond=jacobi", "--rtol=0.25", option, "--json");
  tap_ok(run->status == 0 && count(run->out, "\n") == 3 && strstr(run->out, "\"program\":\"Peer 0.25 default\"") &&
             number_of(run->out, "Peer 0.25 fast", "total") == 3 &&
             number_of(run->out, "Peer 0.25 fast", "iterations") == 3,
         "bench --solves asks each peer, in the style that is named: %s", run->err);
  run = CLI_RUN("bench", "poisson2d:5x5", "--solves=cg", "--quick", "--threads=1", "--peer=/nowhere/peer");
  tap_ok(run->status == 2 && cli_is_one_sentence(run, "bench"), "a peer that does not start is an error: %s", run->err);
  run = CLI_RUN("bench", "poisson2d:5x5", "--quick", "--threads=1", "--peer=a,b");
  tap_ok(run->status == 2 && cli_is_one_sentence(run, "bench"), "and so is more than one without --solves: %s",
         run->err);
}

/* A bundle leaves hypre out, though the build has it. */
static void test_hypre(void)
{
#ifdef HAVE_HYPRE
  if (!cli_has("bench_hypre")) {
    tap_skip("bench_hypre is not beside bench", "BoomerAMG");
    return;
  }
#endif
  const struct cli_run *run = CLI_RUN("bench", "poisson2d:5x5", "--solves=cg", "--quick", "--threads=1",
                                      "--precond=jacobi", "--peer=hypre", "--json");
#ifdef HAVE_HYPRE
  const double residual = number_of(run->out, "BoomerAMG", "residual");
  tap_ok(run->status == 0 && residual > 0 && residual <= 1e-6, "BoomerAMG solves the same system: %s", run->err);
  run = CLI_RUN("bench", "poisson2d:5x5", "--solves=cg", "--quick", "--threads=1", "--peer=hypre:ruge");
  tap_ok(run->status == 2 && strstr(run->err, "not 'ruge'"), "in a style that it has: %s", run->err);
#else
  tap_ok(run->status == 2 && strstr(run->err, "--peer hypre: not in this build; configure --with-hypre"),
         "hypre, which this build has not, is named so: %s", run->err);
#endif
}

/* Karst in another order stands beside itself in natural order; orders count in whole solves too. */
static void test_orders(void)
{
  const struct cli_run *run = CLI_RUN("bench", "poisson2d:16x16", "--quick", "--threads=1", "--level=0,1",
                                      "--ordering=tiles", "--tile-size=16");
  tap_ok(run->status == 0 && count(run->out, "\nkarst tiles, 1 thread  ") == 2 &&
             count(run->out, "\nkarst tiles, 1 thread: ordered in") == 2 &&
             count(run->out, "  / karst, 1 thread ") == 2 &&
             strstr(run->out, "; 16 tiles in 2 colours, 2 levels of tiles; solved by "),
         "bench --ordering times Karst in that order too, and says what the order is made of");
  tap_note("%s", run->err);
#ifdef HAVE_JANSSON
  run = CLI_RUN("bench", "convdiff:4x3x3", "--quick", "--threads=1", "--level=0", "--ordering=colour", "--block=2",
                "--precond=iluk,dilu,jacobi", "--json");
  const char *reordered = strstr(run->out, "\"karst colour, 1 thread\"");
  tap_ok(run->status == 0 && count(run->out, "\n") == 6 && count(run->out, "\"order\":null") == 3 && reordered &&
             number_of(reordered, "\"order\"", "levels") == 2 && number_of(reordered, "\"order\"", "tiles") == 36 &&
             number_of(reordered, "\"order\"", "natural_levels") == 8 &&
             number_of(reordered, "\"times\"", "apply") > 0 && number_of(reordered, "\"times\"", "multiply") > 0,
         "and with --json so do lines with colours and levels, for each preconditioner");
#endif
  run = CLI_RUN("bench", "poisson2d:9x8", "--solves=cg", "--quick", "--threads=1", "--level=0,2", "--ordering=tiles",
                "--precond=iluk,jacobi");
  tap_ok(run->status == 0 && count(run->out, "converged") == 6 && strstr(run->out, "iluk(2) tiles, 1 thread") &&
             strstr(run->out, "jacobi tiles, 1 thread") && count(run->out, "milliseconds of set-up") == 1,
         "bench --solves --ordering has a row for each order, and the parts of set-up");
  run = CLI_RUN("bench", "poisson2d:9x8", "--solves=cg", "--quick", "--threads=1", "--level=1", "--ordering=rcm",
                "--json");
  tap_ok(run->status == 0 && count(run->out, "\n") == 2 && number_of(run->out, "iluk(1), 1", "order") == 0 &&
             number_of(run->out, "iluk(1) rcm, 1", "order") > 0 && number_of(run->out, "{", "symbolic") > 0,
         "and with --json");
  run = CLI_RUN("bench", "poisson2d:9x8", "--quick", "--threads=1", "--level=1", "--ordering=natural");
  tap_ok(run->status == 0 && count(run->out, "\nkarst, 1 thread  ") == 1, "natural order alone is timed once");
  run = CLI_RUN("bench", "poisson2d:9x8", "--quick", "--threads=1", "--level=1", "--tile-size=8");
  tap_ok(run->status == 0 && count(run->out, "\nkarst, 1 thread  ") == 1, "and reads no size of tiles");
  run = CLI_RUN("bench", "poisson2d:16x16", "--quick", "--threads=1", "--level=0", "--ordering=tiles", "--tile-size=0");
  tap_ok(run->status == 0 && strstr(run->out, " tiles in "), "a size of 0 leaves it to the order");
  static const char *const wrong[][2] = {{"--ordering=auto", "--quick"},
                                         {"--ordering=tile", "--quick"},
                                         {"--ordering=colour", "--tile-size=-1"},
                                         {"--ordering=tiles", "--correction=2"},
                                         {"--ordering=tiles", "--tile-size=none"}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    run = CLI_RUN("bench", "poisson2d:4x4", wrong[i][0], wrong[i][1]);
    tap_ok(run->status == 2 && cli_is_one_sentence(run, "bench"), "bench refuses %s %s: %s", wrong[i][0], wrong[i][1],
           run->err);
  }
}

int main(void)
{
  cli_need("bench");
  test_tables();
  test_grids();
  test_correction();
  test_solves();
  test_orders();
  test_peers();
  test_hypre();
  return tap_done();
}
