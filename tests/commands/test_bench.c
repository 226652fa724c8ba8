/* test_bench.c - what bench does with several preconditioners: one table each, the time of a cell on grids, and the
 * correction step by step. No time is checked. */
#include "tests/support/commands.h"
#include "config.h"

#include <math.h>
#include <unistd.h>

/* Returns the number after "key": that follows the first place, or -1. */
static double number_of(const char *text, const char *place, const char *key)
{
  char quoted[64];
  const char *found = strstr(text, place);
  snprintf(quoted, sizeof quoted, "\"%s\":", key);
  const double number = found ? number_after(found, quoted) : NAN;
  return isnan(number) ? -1 : number;
}

static bool is_near(double value, double expected) { return fabs(value / expected - 1) < 1e-6; }

static void test_tables(void)
{
  const struct cli_run *run = CLI_RUN("bench", "convdiff:4x4x4", "--quick", "--threads=1", "--level=0,1",
                                      "--precond=iluk,jacobi,iluk:shift=1e-3");
  check_run(run,
            run->status == 0 && count_of(run->out, "milliseconds") == 5 && count_of(run->out, "; ILU(") == 2 &&
                count_of(run->out, "; jacobi with") == 1 && count_of(run->out, "; iluk:shift=1e-3(") == 2,
            "bench --precond makes a table for each preconditioner, and each level where it has levels");
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
           "rates and shares follow from the time: %s", task[t]);
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
  check_run(run,
            run->status == 0 && strstr(run->out, "convdiff:3x4x5,peclet=5: 60 cells, blocks of 3") &&
                strstr(run->out, "convdiff:2x2x2,peclet=5: 8 cells, blocks of 4") &&
                count_of(run->out, "of floor") == 6 &&
                count_of(run->out, "jacobi, 2 threads") == (has_threads() ? 8 : 0),
            "bench --grids makes tables for each grid, with a row for each preconditioner and number of threads");
  run = CLI_RUN("bench", "convdiff", "--quick", "--threads=1", "--grids=3x4x5", "--precond=iluk", "--json");
  check_run(run,
            run->status == 0 && count_of(run->out, "\n") == 1 &&
                strstr(run->out, "\"size\":[3,4,5],\"program\":\"iluk, 1"),
            "bench --grids --json prints a line for each row");
  check_counts(run->out, 3, 60, 60 + 2 * (2 * 20 + 3 * 15 + 4 * 12));
  run = CLI_RUN("bench", "convdiff", "--quick", "--threads=1", "--grids=3x4x5", "--precond=rrb");
  check_run(run, run->status == 2 && strstr(run->err, "note: rrb") && strstr(run->err, "nothing was measured"),
            "bench --grids fails if every row is left out");
}

/* A = (2 1; 0 2) and b = (1 1). Jacobi's residuals are (1 1), (-1/2 0) and 0; ILU solves at once. */
static void test_correction(void)
{
  const char *path = scratch_file("two.mtx", GENERAL "2 2 3\n1 1 2\n1 2 1\n2 2 2\n");
  const struct cli_run *run = CLI_RUN("bench", path, "--correction=2", "--threads=1", "--precond=jacobi,iluk");
  tap_ok(run->status == 0 && strstr(run->out, "   0  0.200000000000E+01  0.200000000000E+01\n") &&
             strstr(run->out, "   1  0.250000000000E+00  0.000000000000E+00\n") &&
             strstr(run->out, "   2  0.000000000000E+00  0.000000000000E+00\n") &&
             strstr(run->out, "all 2 columns agree in all 12 digits in rows 0 to 0, where |R|^2/|R0|^2 = 1.000e+00\n"),
         "bench --correction prints sums of squares side by side, and how far they agree");
  run = CLI_RUN("bench", path, "--correction=1", "--threads=1,2", "--precond=jacobi", "--quick", "--json");
  const int columns = count_of(run->out, "\"squares\":[\"0.200000000000E+01\",\"0.250000000000E+00\"]");
  tap_ok(run->status == 0 && strstr(run->out, "\"equal_rows\":2,\"ratio\":0.125,") &&
             columns == (has_threads() ? 2 : 1),
         "bench --correction --json prints an object");
  path = scratch_file("bad.mtx", GENERAL "2 2 3\n1 1 1\n1 2 1\n2 2 0\n");
  run = CLI_RUN("bench", path, "--correction=1", "--threads=1", "--precond=none,jacobi", "--quick");
  tap_ok(run->status == 0 && strstr(run->err, "note: jacobi, 1 thread is left out") && !strstr(run->out, "jacobi"),
         "a preconditioner that fails in set-up is left out with a note: %s", run->err);
  run = CLI_RUN("bench", path, "--correction=1", "--threads=1", "--precond=jacobi", "--quick");
  tap_ok(run->status == 2, "bench fails if every preconditioner is left out");
}

static void test_solves(void)
{
  const struct cli_run *run = CLI_RUN("bench", "poisson2d:9x8", "--solves=cg", "--quick", "--threads=1", "--level=0,2",
                                      "--precond=iluk:modified=0/1:shift=0/1e-3/1e-2,jacobi,none", "--rtol=1e-9");
  check_run(run,
            run->status == 0 &&
                strstr(run->out, "poisson2d:9x8: 72 rows, 326 blocks of 1; cg to a residual of 1e-09") &&
                count_of(run->out, "converged") == 14 && strstr(run->out, "iluk:modified=1:shift=1e-2(2), 1 thread") &&
                strstr(run->out, "jacobi, 1 thread"),
            "bench --solves has a row for each preconditioner, each level and each value of a list A/B");
  run = CLI_RUN("bench", "poisson2d:9x8", "--solves=cg", "--quick", "--threads=1,2", "--precond=jacobi", "--json");
  const double residual = number_of(run->out, "{", "residual");
  tap_ok(run->status == 0 && count_of(run->out, "\n") == (has_threads() ? 2 : 1) && residual > 0 && residual <= 1e-6 &&
             number_of(run->out, "{", "speedup") == 1 && number_of(run->out, "{", "rtol") == 1e-6 &&
             is_near(number_of(run->out, "{", "total"),
                     number_of(run->out, "{", "setup") + number_of(run->out, "{", "solve")),
         "bench --solves --json prints a line for each row, with the residual computed from x");
  run = CLI_RUN("bench", "convdiff:5x5x5", "--solves=bicgstab", "--quick", "--threads=1", "--precond=jacobi,rrb");
  check_run(run,
            run->status == 0 && strstr(run->err, "note: rrb, 1 thread is left out") && !strstr(run->out, "rrb") &&
                strstr(run->out, "jacobi, 1 thread"),
            "a preconditioner that refuses the matrix is left out with a note");
  run = CLI_RUN("bench", "convdiff:5x5x5", "--solves=cg", "--quick", "--threads=1", "--precond=rrb");
  check_run(run,
            run->status == 2 && strstr(run->err, "note: rrb, 1 thread is left out") && !*run->out &&
                strstr(run->err, "nothing was measured"),
            "bench --solves fails if every row is left out");
}

/* A peer is a program, here a shell's. */
static void test_peers(void)
{
  const char *script = "#!/bin/sh\necho \"Peer $6 $7\"\nwhile read -r line; do echo 1 nan 2 3 1e-7; done\n";
  const char *path = scratch_script("peer.sh", script);
  char option[1200];
  tap_ok(access(path, X_OK) == 0, "the test's own peer is executable");
  snprintf(option, sizeof option, "--peer=%s,%s:fast", path, path);
  const struct cli_run *run = CLI_RUN("bench", "poisson2d:5x5", "--solves=cg", "--quick", "--threads=1",
                                      "--precond=jacobi", "--rtol=0.25", option, "--json");
  tap_ok(run->status == 0 && count_of(run->out, "\n") == 3 && strstr(run->out, "\"program\":\"Peer 0.25 default\"") &&
             number_of(run->out, "Peer 0.25 fast", "total") == 3 &&
             number_of(run->out, "Peer 0.25 fast", "iterations") == 3,
         "bench --solves runs each peer, in the style that is named: %s", run->err);
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
  check_run(run, run->status == 2 && strstr(run->err, "not 'ruge'") && strstr(run->err, "before its first answer"),
            "bench_hypre refuses a style that hypre lacks, and bench names the peer");
#else
  tap_ok(run->status == 2 && strstr(run->err, "--peer hypre: not in this build; configure --with-hypre"),
         "the error says that this build lacks hypre: %s", run->err);
#endif
}

/* Bench also times Karst in another order, beside natural order and in whole solves. */
static void test_orders(void)
{
  const struct cli_run *run = CLI_RUN("bench", "poisson2d:16x16", "--quick", "--threads=1", "--level=0,1",
                                      "--ordering=tiles", "--tile-size=16");
  check_run(run,
            run->status == 0 && count_of(run->out, "\nkarst tiles, 1 thread  ") == 2 &&
                count_of(run->out, "\nkarst tiles, 1 thread: ordered in") == 2 &&
                count_of(run->out, "  / karst, 1 thread ") == 2 &&
                strstr(run->out, "; 16 tiles in 2 colours, 2 levels of tiles; solved by "),
            "bench --ordering times Karst in that order too, and describes the order");
#ifdef HAVE_JANSSON
  run = CLI_RUN("bench", "convdiff:4x3x3", "--quick", "--threads=1", "--level=0", "--ordering=colour", "--block=2",
                "--precond=iluk,dilu,jacobi", "--json");
  const char *reordered = strstr(run->out, "\"karst colour, 1 thread\"");
  tap_ok(run->status == 0 && count_of(run->out, "\n") == 6 && count_of(run->out, "\"order\":null") == 3 && reordered &&
             number_of(reordered, "\"order\"", "levels") == 2 && number_of(reordered, "\"order\"", "tiles") == 36 &&
             number_of(reordered, "\"order\"", "natural_levels") == 8 &&
             number_of(reordered, "\"times\"", "apply") > 0 && number_of(reordered, "\"times\"", "multiply") > 0,
         "bench --ordering --json prints colours and levels for each preconditioner");
#endif
  run = CLI_RUN("bench", "poisson2d:9x8", "--solves=cg", "--quick", "--threads=1", "--level=0,2", "--ordering=tiles",
                "--precond=iluk,jacobi");
  tap_ok(run->status == 0 && count_of(run->out, "converged") == 6 && strstr(run->out, "iluk(2) tiles, 1 thread") &&
             strstr(run->out, "jacobi tiles, 1 thread") && count_of(run->out, "milliseconds of set-up") == 1,
         "bench --solves --ordering has a row for each order, and the parts of set-up");
  run = CLI_RUN("bench", "poisson2d:9x8", "--solves=cg", "--quick", "--threads=1", "--level=1", "--ordering=rcm",
                "--json");
  tap_ok(run->status == 0 && count_of(run->out, "\n") == 2 && number_of(run->out, "iluk(1), 1", "order") == 0 &&
             number_of(run->out, "iluk(1) rcm, 1", "order") > 0 && number_of(run->out, "{", "symbolic") > 0,
         "bench --solves --ordering --json prints a line for each order, with the time of ordering");
  run = CLI_RUN("bench", "poisson2d:9x8", "--quick", "--threads=1", "--level=1", "--ordering=natural");
  tap_ok(run->status == 0 && count_of(run->out, "\nkarst, 1 thread  ") == 1, "natural order alone is timed once");
  run = CLI_RUN("bench", "poisson2d:9x8", "--quick", "--threads=1", "--level=1", "--tile-size=8");
  tap_ok(run->status == 0 && count_of(run->out, "\nkarst, 1 thread  ") == 1, "natural order ignores --tile-size");
  run = CLI_RUN("bench", "poisson2d:16x16", "--quick", "--threads=1", "--level=0", "--ordering=tiles", "--tile-size=0");
  tap_ok(run->status == 0 && strstr(run->out, " tiles in "), "with --tile-size=0 the order chooses the size");
}

static void test_refusals(void)
{
  static const char *const wrong[][4] = {{"poisson2d:4x4", "--precond=ilux"},
                                         {"poisson2d:4x4", "--precond=iluk,"},
                                         {"poisson2d:4x4", "--precond=iluk:backwards"},
                                         {"poisson2d:4x4", "--precond=iluk:level=1"},
                                         {"poisson2d:4x4", "--precond=iluk:shift=no"},
                                         {"poisson2d:4x4", "--precond=iluk:scale=block"},
                                         {"convdiff", "--grids=5x5"},
                                         {"convdiff", "--grids=0"},
                                         {"convdiff", "--grids=5/0"},
                                         {"convdiff", "--grids=5,,6"},
                                         {"convdiff", "--grids=5x5x5x5"},
                                         {"convdiff", "--grids=x"},
                                         {"convdiff:5x5x5", "--grids=5"}, /* two grids */
                                         {"convdiff", "--grids=5", "--correction=2"},
                                         {"convdiff", "--grids=5", "--precond=cusparse"}, /* on no device given */
                                         {"poisson2d:9x8", "--solves=cg", "--precond=jacobi,iluk:shift=-1", "--quick"},
                                         {"poisson2d:9x8", "--solves=cg", "--grids=5"},
                                         {"poisson2d:9x8", "--profile"}, /* without --solves */
                                         {"poisson2d:4x4", "--ordering=auto", "--quick"},
                                         {"poisson2d:4x4", "--ordering=tile", "--quick"},
                                         {"poisson2d:4x4", "--ordering=colour", "--tile-size=-1"},
                                         {"poisson2d:4x4", "--ordering=tiles", "--correction=2"},
                                         {"poisson2d:4x4", "--ordering=tiles", "--tile-size=none"},
                                         {"poisson2d:5x5", "--solves=foo"},
                                         {"poisson2d:5x5", "--solves=cg", "--peer=/nowhere/peer", "--quick"},
                                         {"poisson2d:5x5", "--peer=a,b", "--quick"}}; /* two without --solves */
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    const struct cli_run *run = CLI_RUN("bench", wrong[i][0], wrong[i][1], wrong[i][2], wrong[i][3]);
    check_run(run, is_refused(run, "bench", ""), "bench refuses %s %s %s: %s", wrong[i][0], wrong[i][1],
              wrong[i][2] ? wrong[i][2] : "", run->err);
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
  test_refusals();
  return tap_done();
}
