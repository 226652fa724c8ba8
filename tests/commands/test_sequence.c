/* test_sequence.c - bench --sequence: the systems of a simulation, in order, as a simulator solves them. The systems
 * are the gallery's, under names as OPM Flow gives them. The figures must be those of solve on each system alone. */
#include "config.h"

#include "tests/support/commands.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Makes a folder in the scratch folder. in_folder: a path in it, until the next call. */
static const char *new_folder(const char *name)
{
  const char *folder = scratch_path(name);
  mkdir(folder, 0700);
  return folder;
}

static char *in_folder(const char *folder, const char *file)
{
  static char path[1024];
  snprintf(path, sizeof path, "%s/%s", folder, file);
  return path;
}

/* Writes a problem of the gallery as folder/name.kbsr, with its right-hand side beside it. */
static void make(const char *folder, const char *name, const char *problem)
{
  char file[128];
  snprintf(file, sizeof file, "%s.kbsr", name);
  const struct cli_run *run = CLI_RUN("convert", problem, in_folder(folder, file), "--quiet");
  if (run->status != 0) tap_note("%s", run->err);
}

/* The same as OPM Flow writes it: ..._matrix_istl_0.mm and ..._rhs_istl_0.mm. */
static void make_istl(const char *folder, const char *step, const char *problem)
{
  static const char *const ending[][2] = {{"matrix_istl_0.mtx", "matrix_istl_0.mm"},
                                          {"matrix_istl_0_b.mtx", "rhs_istl_0.mm"}};
  char from[1024], file[128];
  snprintf(file, sizeof file, "%s_matrix_istl_0.mtx", step);
  CLI_RUN("convert", problem, in_folder(folder, file), "--quiet");
  for (int i = 0; i < 2; i++) {
    snprintf(file, sizeof file, "%s_%s", step, ending[i][0]);
    snprintf(from, sizeof from, "%s", in_folder(folder, file));
    snprintf(file, sizeof file, "%s_%s", step, ending[i][1]);
    if (rename(from, in_folder(folder, file)) != 0) tap_note("%s is not there", from);
  }
}

/* The systems of the first test in order, which that of their names as texts is not. */
enum { SYSTEMS = 7 };
static const char *const name[SYSTEMS] = {"prob_2_time_000000000864.5__nit_0", "prob_2_time_000000000864.5__nit_1",
                                          "prob_2_time_000000000864.5__nit_2", "prob_2_time_1000__nit_0",
                                          "prob_10_time_00000900__nit_0",      "prob_10_time_00000900__nit_2",
                                          "prob_10_time_00000900__nit_10"};

static const char *problem_of(int s)
{
  static char text[64];
  snprintf(text, sizeof text, "deadoil:5x4x3,seed=%d,dt=%d", s + 1, s % 3 + 1);
  return text;
}

static const char *make_sequence(void)
{
  const char *folder = new_folder("deadoil");
  for (int s = SYSTEMS - 1; s >= 0; s--) {
    char file[128];
    snprintf(file, sizeof file, "%s_matrix_istl_0", name[s]);
    if (s == 4)
      make_istl(folder, name[s], problem_of(s));
    else
      make(folder, file, problem_of(s));
  }
  tap_write("deadoil/prob_2_time_1000__nit_0_matrix_istl_0.idx", "neighbours:\n", -1);
  tap_write("deadoil/notes.txt", "not a system\n", -1);
  return folder;
}

/* The iterations that solve takes for a system alone; -1 if it fails. */
static long alone(const char *problem, const char *level)
{
  const struct cli_run *run =
      CLI_RUN("solve", problem, "--solver=bicgstab", "--rtol=1e-2", "--precond=iluk", "--threads=1", "--level", level);
  return run->status == 0 ? (long)number_after(run->out, "\niterations ") : -1;
}

static void test_order(const char *folder)
{
  char expected[64];
  long sum[2] = {0, 0};
  static char text[65536];
  const struct cli_run *run =
      CLI_RUN("bench", "--sequence", folder, "--precond=iluk", "--level=0,1", "--threads=1", "--errors=iluk", "--json");
  check_run(run, run->status == 0 && count_of(run->out, "\n") == 2 && count_of(run->out, "\"systems\":7,") == 2,
            "bench --sequence --json prints a line for each level");
  snprintf(text, sizeof text, "%s", run->out);
  const char *place = text;
  bool in_order = true, equal = true;
  for (int i = 0; i < 2 * SYSTEMS && place; i++) {
    const long iterations = alone(problem_of(i % SYSTEMS), i < SYSTEMS ? "0" : "1");
    sum[i / SYSTEMS] += iterations;
    place = strstr(place, "{\"name\":");
    snprintf(expected, sizeof expected, "{\"name\":\"%s\",", name[i % SYSTEMS]);
    in_order &= place && strncmp(place, expected, strlen(expected)) == 0;
    equal &= place && number_after(place, "\"iterations\":") == (double)iterations;
    place = place ? place + 1 : NULL;
  }
  tap_ok(in_order, "the systems are in order of report step, time and Newton iteration as numbers");
  tap_ok(equal, "each takes the iterations of solve on it alone, though all but the first are updates");
  place = strstr(text, "\n");
  tap_ok(number_after(text, "\"iterations\":") == (double)sum[0] && place &&
             number_after(place, "\"iterations\":") == (double)sum[1] && sum[0] > sum[1],
         "the totals are their sums, %ld and %ld", sum[0], sum[1]);
  tap_ok(count_of(text, "\"setups\":1,") == 2 && count_of(text, "\"failures\":0,") == 2 &&
             count_of(text, "\"references\":7,") == 2,
         "one set-up serves a row, and no solve fails");
}

/* The errors are those of the residual: small to 1e-8, and large to 1e-1. */
static void test_errors(const char *folder)
{
  static const char *const tolerance[] = {"--rtol=1e-8", "--rtol=1e-1"};
  double error[2];
  for (int i = 0; i < 2; i++) {
    const struct cli_run *run = CLI_RUN("bench", "--sequence", folder, "--precond=iluk", "--level=0", "--threads=1",
                                        "--errors=iluk", "--json", tolerance[i]);
    error[i] = 0;
    for (const char *place = run->out; (place = strstr(place, "\"errors\":["));) {
      place += strlen("\"errors\":[");
      const double first = strtod(place, NULL), second = number_after(place, ",");
      error[i] = fmax(error[i], fmax(first, second));
    }
  }
  /* An error is at most the condition number, here below 1e5 for each unknown, times the residual. */
  tap_ok(error[0] > 0 && error[0] < 1e-3 && error[1] > 100 * error[0],
         "the largest error of an unknown is %.1e at 1e-8, %.1e at 1e-1", error[0], error[1]);
  const struct cli_run *run =
      CLI_RUN("bench", "--sequence", folder, "--precond=iluk", "--level=0", "--threads=1", "--errors=iluk");
  check_run(run, run->status == 0 && strstr(run->out, "relative to 7 of 7 systems") && strstr(run->out, "unknown 1"),
            "the table has the errors of each unknown");
}

/* Block Jacobi cannot invert the zeros on the diagonal of (0 1; 1 0). */
static void test_no_reference(void)
{
  const char *folder = new_folder("singular");
  tap_write("singular/prob_0_time_0__nit_0_matrix_istl.mm", GENERAL "2 2 4\n1 1 0\n1 2 1\n2 1 1\n2 2 0\n", -1);
  tap_write("singular/prob_0_time_0__nit_0_rhs_istl.mm", ARRAY "2 1\n1\n2\n", -1);
  const struct cli_run *run = CLI_RUN("bench", "--sequence", folder, "--precond=none", "--solves=gmres", "--threads=1",
                                      "--block=1", "--errors=jacobi");
  check_run(run,
            run->status == 0 && strstr(run->err, "note: prob_0_time_0__nit_0: no errors, because the reference") &&
                strstr(run->out, "relative to 0 of 1 systems"),
            "a system whose reference does not converge has a note and no errors");
}

/* Solves that fail are counted, with the reason, and the sequence goes on. */
static void test_failures(const char *folder)
{
  const struct cli_run *run = CLI_RUN("bench", "--sequence", folder, "--precond=iluk,jacobi", "--level=0",
                                      "--threads=1", "--iterations=1", "--rtol=1e-9");
  check_run(run,
            run->status == 0 &&
                strstr(run->out, "jacobi, 1 thread failed in 7 systems: iteration limit; first prob_2_") &&
                strstr(run->out, "iluk(0), 1 thread failed in 7 systems"),
            "failed solves are counted with their reason and the first of them");
  run = CLI_RUN("bench", "--sequence", folder, "--precond=rrb,jacobi", "--threads=1");
  check_run(run, run->status == 0 && strstr(run->err, "note: rrb, 1 thread is left out") && strstr(run->out, "jacobi"),
            "a preconditioner that does not fit the matrices is left out with a note");
}

/* Two patterns of 36 cells: A B B A takes three set-ups. */
static void test_patterns(void)
{
  static const char *const problem[] = {"deadoil:6x6x1", "deadoil:12x3x1,seed=2", "deadoil:12x3x1,seed=3",
                                        "deadoil:6x6x1,seed=4"};
  const char *folder = new_folder("patterns");
  long sum = 0;
  for (int s = 0; s < 4; s++) {
    char file[64];
    snprintf(file, sizeof file, "prob_%d_time_0__nit_0_matrix_istl", 8 + s);
    make(folder, file, problem[s]);
    sum += alone(problem[s], "0");
  }
  const struct cli_run *run = CLI_RUN("bench", "--sequence", folder, "--level=0", "--threads=1", "--json");
  check_run(run, run->status == 0 && number_after(run->out, "\"setups\":") == 3,
            "another pattern is set up, and the same one is updated");
  tap_ok(number_after(run->out, "\"iterations\":") == (double)sum, "with the iterations of solve, %ld", sum);
}

static void test_picture(const char *folder)
{
  const char *picture = scratch_path("iterations.svg");
  if (system("command -v gnuplot >/dev/null 2>&1") != 0) { // NOLINT(cert-env33-c): a fixed command
    tap_skip("there is no gnuplot", "the picture of the iterations");
    return;
  }
  const struct cli_run *run =
      CLI_RUN("bench", "--sequence", folder, "--precond=iluk,dilu", "--level=0", "--threads=1", "--plot", picture);
  check_run(run,
            run->status == 0 && strstr(file_text(picture), ">dilu, 1 thread<") && strstr(file_text(picture), "</svg>"),
            "--plot draws a line for each row");
  run = CLI_RUN("bench", "--sequence", folder, "--plot=picture.txt");
  expect_refused(run, "bench", ".svg or .png", "a picture of another ending");
}

static void expect_fault(const char *folder, const char *words, const char *what)
{
  expect_refused(CLI_RUN("bench", "--sequence", folder, "--threads=1", "--level=0"), "bench", words, what);
}

static void test_refusals(const char *whole)
{
  const char *folder = new_folder("faults");
  expect_fault(scratch_path("nowhere"), "nowhere", "no folder");
  expect_fault(folder, "faults: no matrix prob_R_time_S__nit_N", "a folder without systems");
  make(folder, "prob_1_time_0__nit_0_matrix_istl_0", "deadoil:3x3x3");
  make(folder, "prob_1_time_0__nit_1_matrix_istl_0", "deadoil:4x3x3");
  expect_fault(folder, "prob_1_time_0__nit_1_matrix_istl_0.kbsr has 36 block rows of 2, but the first", "other sizes");
  unlink(in_folder(folder, "prob_1_time_0__nit_1_matrix_istl_0_b.mtx"));
  expect_fault(folder, "nit_1_matrix_istl_0.kbsr: its right-hand side", "no right-hand side");
  tap_write("faults/prob_1_time_0__nit_1_matrix_istl_0_b.mtx", ARRAY "2 1\n1\n2\n", -1);
  expect_fault(folder, "nit_1_matrix_istl_0_b.mtx", "a right-hand side of another length");
  tap_write("faults/prob_1_time_0__nit_1_matrix_istl_0.kbsr", "nonsense", -1);
  expect_fault(folder, "nit_1_matrix_istl_0.kbsr", "a matrix that cannot be read");
  make(folder, "prob_1_time_0__nit_1_matrix_istl_1", "deadoil:3x3x3");
  expect_fault(folder, "the same report step, time and Newton iteration", "two files of one system");
  expect_refused(CLI_RUN("bench", "--sequence", whole, "--grids=5"), "bench", "only one of", "--grids");
  expect_refused(CLI_RUN("bench", "--sequence", whole, "--quick"), "bench", "--quick", "--quick");
  expect_refused(CLI_RUN("bench", "--sequence", whole, "--errors=ilux"), "bench", "ilux", "an unknown reference");
  expect_refused(CLI_RUN("bench", "poisson2d:4x4", "--errors=iluk"), "bench", "--sequence", "errors without sequence");
}

int main(void)
{
  cli_need("bench");
  const char *folder = make_sequence();
  test_order(folder);
  test_errors(folder);
  test_no_reference();
  test_failures(folder);
  test_patterns();
  test_picture(folder);
  test_refusals(folder);
  return tap_done();
}
