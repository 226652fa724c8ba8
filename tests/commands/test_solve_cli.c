/* test_solve_cli.c - the command solve: exit statuses, the files it writes, and real matrices that must end in a
 * sentence. Its report is compared with products of the library and with the files that it wrote. */
#include "config.h"

#include "tests/support/commands.h"
#include "tests/support/problem.h"

#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static karst_context *context;

/* Returns whether a report contains no NaN and ends in a sentence. */
static bool is_readable(const char *report)
{
  size_t length = strlen(report);
  const char *last = report;
  if (length < 2 || report[length - 1] != '\n') return false;
  for (const char *c = report; c < report + length - 1; c++)
    if (*c == '\n') last = c + 1;
  return !strstr(report, "nan") && !strstr(report, "NaN") && !strstr(report, "inf ") && strlen(last) > 20 &&
         strchr(last, ' ');
}

static void test_exit_statuses(void)
{
  const struct cli_run *run = CLI_RUN("solve", "poisson2d:20x20");
  tap_ok(run->status == 0 && is_readable(run->out), "converged: status 0 and a report");
  run = CLI_RUN("solve", "poisson2d:20x20", "--max-iterations", "2");
  tap_ok(run->status == 1 && is_readable(run->out), "not converged: status 1 and a report");
  run = CLI_RUN("solve", "poisson2d:20x20", "--quiet");
  tap_ok(run->status == 0 && !run->out[0] && !run->err[0], "--quiet prints nothing");
  run = CLI_RUN("solve", "poisson2d:20x20", "--quiet", "--max_iterations=2");
  tap_ok(run->status == 1 && !run->out[0] && !run->err[0], "--quiet prints nothing when it does not converge");
  run = CLI_RUN("solve", "--rtol=1e-3", "poisson2d:20x20", "--rtol", "1e-30", "--max-iterations=3");
  tap_ok(run->status == 1, "the last value of an option given twice counts");
  run = CLI_RUN("solve", "poisson2d:3x3", "--block", "2");
  tap_ok(run->status == 0 && strstr(run->err, "note:") && strstr(run->err, "padded"),
         "a note on standard error reports padding");
  run = CLI_RUN("solve", "poisson2d:3x3", "--block", "2", "--quiet");
  tap_ok(run->status == 0 && !run->err[0], "--quiet drops the note of padding");
}

/* More threads than processors are accepted, with a note. */
static void test_threads(void)
{
  char as_many[20], more[20];
  const int processors = karst_processors();
  if (!strstr(karst_build_features(), "OpenMP") || processors >= 1024) {
    tap_skip("the number of threads cannot exceed the processors", "a note of threads");
    return;
  }
  snprintf(as_many, sizeof as_many, "%d", processors);
  snprintf(more, sizeof more, "%d", processors + 1);
  const struct cli_run *run = CLI_RUN("solve", "poisson2d:3x3", "--threads", as_many);
  tap_ok(run->status == 0 && !run->err[0], "--threads %s: no note", as_many);
  run = CLI_RUN("solve", "poisson2d:3x3", "--threads", more);
  tap_ok(run->status == 0 && strstr(run->err, "note: --threads") && strstr(run->err, as_many), "--threads %s: %s", more,
         run->err);
  run = CLI_RUN("solve", "poisson2d:3x3", "--threads", more, "--quiet");
  tap_ok(run->status == 0 && !run->err[0], "--quiet drops the note of --threads");
}

/* Reads a matrix (spec or file) as solve does and x from a file; returns |b - A x| with b = ones. */
static double residual_of(const char *spec, const char *solution)
{
  karst_vector *x;
  double norm;
  karst_matrix *A = matrix_from(context, spec, 1);
  tap_need(context, karst_vector_read(context, solution, &x), "the solution");
  karst_vector *b = vector_of(context, karst_matrix_rows(A), 1), *r = vector_of(context, karst_matrix_rows(A), 0);
  tap_need(context, karst_matrix_residual(A, b, x, r, &norm), "the residual");
  karst_vector_destroy(r);
  karst_vector_destroy(b);
  karst_vector_destroy(x);
  karst_matrix_destroy(A);
  return norm;
}

static void test_solution(void)
{
  const char *path = scratch_path("x.mtx");
  /* 49 rows are in blocks of 2, and the padding row must not reach the file. */
  const struct cli_run *run =
      CLI_RUN("solve", "poisson2d:7x7", "--block=2", "--rhs=ones", "--rtol=1e-4", "--solution", path);
  double reported = number_after(run->out, "|b - A x| = "), computed = residual_of("poisson2d:7x7", path);
  /* The report has 4 significant digits. */
  tap_ok(run->status == 0 && fabs(computed - reported) <= 1e-3 * reported,
         "--solution has the residual reported: %g, %g", reported, computed);
}

/* A repetition in which auto tries another choice, and fails with it, leaves the solution of the first solve. */
static void test_solution_of_auto(void)
{
  const char *path = scratch_path("tried.mtx");
  const struct cli_run *run = CLI_RUN("solve", "laplace27:20x20x20", "--precond=auto", "--rhs=ones", "--rtol=1e-3",
                                      "--max-iterations=7", "--repeat=1", "--solution", path);
  const double reported = number_after(run->out, "|b - A x| = "), computed = residual_of("laplace27:20x20x20", path);
  tap_ok(run->status == 0 && fabs(computed - reported) <= 1e-3 * reported,
         "after --repeat --solution is that of the first solve: %g, %g", reported, computed);
  tap_ok(strstr(run->out, "repeated    1 time, for which auto may choose again; median") != NULL,
         "the report says that the medians may be those of other choices");
  run = CLI_RUN("solve", "laplace27:20x20x20", "--precond=auto", "--auto-learn=no", "--repeat=1");
  tap_ok(run->status == 0 && strstr(run->out, "repeated    1 time; median"),
         "with --auto-learn=no the medians are those of one choice");
}

/* The profile is that of the choice reported, where an update of auto would try another one. */
static void test_profile_of_auto(void)
{
  const struct cli_run *run = CLI_RUN("solve", "convdiff:16x16x16", "--precond=auto", "--profile", "--repeat=1");
  const double first = number_after(run->out, "\niterations");
  const long profiled = number_before(run->out, " iterations; ");
  tap_ok(run->status == 0 && (double)profiled == first, "%ld iterations in the profile of auto, %g before", profiled,
         first);
  tap_ok(strstr(run->out, "precond update (iluk)") && !strstr(run->out, "precond setup"),
         "the profile has no set-up of another choice");
}

static void test_profile(void)
{
  const struct cli_run *run = CLI_RUN("solve", "poisson2d:30x30", "--profile", "--precond=two-stage");
  tap_ok(run->status == 0 && !run->err[0] && is_readable(run->out) && strstr(run->out, "GB/s") &&
             strstr(run->out, "  matrix product\n") && strstr(run->out, "  precond apply (two-stage)\n") &&
             strstr(run->out, "  precond apply (jacobi)\n") && strstr(run->out, "  between the operations\n"),
         "--profile prints the operations");
  run = CLI_RUN("solve", "poisson2d:30x30", "--profile", "--quiet");
  tap_ok(run->status == 0 && !run->out[0] && !run->err[0], "--profile prints nothing with --quiet");
  run = CLI_RUN("solve", tap_write("zero.mtx", GENERAL "2 2 2\n1 1 0\n2 2 1\n", -1), "--profile");
  tap_ok(run->status == 1 && is_readable(run->out) && strstr(run->out, "precond update (iluk)"),
         "a factorization that fails has a profile");
}

static void test_history(void)
{
  char line[128];
  double residual, previous = INFINITY;
  int lines = 0;
  bool ordered = true;
  const char *path = scratch_path("history");
  const struct cli_run *run =
      CLI_RUN("solve", "poisson2d:20x20", "--solver=gmres", "--rhs=ones", "--repeat=2", "--history", path);
  FILE *file = fopen(path, "r");
  bool header = file && fgets(line, sizeof line, file) && strcmp(line, "iteration\tresidual\n") == 0;
  for (; file && fgets(line, sizeof line, file); lines++) {
    char *end;
    ordered &= strtol(line, &end, 10) == lines && *end == '\t';
    residual = strtod(end, NULL);
    ordered &= residual > 0 && residual <= previous;
    previous = residual; /* gmres never raises the residual */
  }
  if (file) fclose(file);
  tap_ok(run->status == 0 && header && ordered && lines == (int)number_after(run->out, "iterations  ") + 1,
         "--history has a header and a line for the start and each iteration: %d lines", lines);
  run = CLI_RUN("solve", "poisson2d:60x60", "--solver=gmres", "--precond=parilu", "--sweeps=1", "--max-iterations=75",
                "--repeat=4");
  tap_ok(run->status == 1 && !run->err[0] && strstr(run->out, "repeated    4 times") &&
             strstr(run->out, "not converged"),
         "the report is that of the first solve, even if repetitions with better factors converge");
}

/* No output overwrites the matrix, which is in a file m.mtx, nor a right-hand side. */
static void test_inputs_kept(const char *matrix)
{
  static const char *const outputs[] = {"--history", "--solution"}, *const beside[] = {"m_b.mtx", "m_b.mtx.gz"};
  for (int i = 0; i < 4; i++) {
    const char *option = outputs[i % 2];
    struct stat before, after;
    const char *b = scratch_file(beside[i / 2], "8\n");
    const struct cli_run *run = CLI_RUN("solve", matrix, option, b);
    tap_ok(is_refused(run, "solve", "beside the matrix") && stat(b, &after) == 0 && after.st_size == 2,
           "%s does not overwrite %s: %s", option, beside[i / 2], run->err);
    unlink(b);
    b = scratch_file("rhs.txt", "8\n");
    run = CLI_RUN("solve", matrix, "--rhs", b, option, b);
    tap_ok(is_refused(run, "solve", "") && stat(b, &after) == 0 && after.st_size == 2,
           "%s does not overwrite the right-hand side of --rhs: %s", option, run->err);
    stat(matrix, &before);
    run = CLI_RUN("solve", matrix, option, matrix);
    tap_ok(is_refused(run, "solve", "") && stat(matrix, &after) == 0 && before.st_size == after.st_size &&
               before.st_ino == after.st_ino,
           "%s does not overwrite the matrix: %s", option, run->err);
  }
}

/* Files that would overwrite each other or an input are refused. */
static void test_outputs(void)
{
  const char *path = scratch_path("same"), *other = scratch_path("./same");
  const struct cli_run *run;
  for (int i = 0; i < 2; i++) {
    run = CLI_RUN("solve", "poisson2d:4x4", "--history", path, "--solution", i ? other : path);
    tap_ok(is_refused(run, "solve", "--history and --solution") && access(path, F_OK) != 0,
           "--history and --solution of one name are refused: %s", run->err);
  }
  const char *name = scratch_file("m.mtx", GENERAL "1 1 1\n1 1 4\n");
  run = CLI_RUN("solve", name, "--history", name);
  tap_ok(is_refused(run, "solve", "") && CLI_RUN("solve", name)->status == 0,
         "--history does not overwrite the matrix");
  test_inputs_kept(name);
  run = CLI_RUN("solve", "poisson2d:4x4", "--history=-", "--quiet");
  tap_ok(run->status == 0 && strncmp(run->out, "iteration\tresidual\n0\t", 21) == 0 && access("-", F_OK) != 0,
         "--history=- writes to standard output");
  run = CLI_RUN("solve", "poisson2d:4x4", "--history=-");
  tap_ok(run->status == 0 && strncmp(run->out, "iteration\tresidual\n0\t", 21) == 0 && is_readable(run->out),
         "--history=- writes before the report");
  run = CLI_RUN("solve", "poisson2d:4x4", "--history=-", "--json");
  tap_ok(run->status == 2 && (strstr(run->err, "standard output") || strstr(run->err, "jansson")),
         "--history=- with --json is refused");
  tap_ok(symlink("made.mtx", path) == 0 && CLI_RUN("solve", "poisson2d:4x4", "--solution", path)->status == 0 &&
             access(tap_scratch("made.mtx"), R_OK) == 0,
         "--solution through a link makes the missing file");
  run = CLI_RUN("solve", name);
  tap_ok(strstr(run->out, "converged after 1 iteration:") != NULL, "the report says '1 iteration'");
}

static void test_rhs(void)
{
  const char *solution = scratch_path("ones.mtx");
  karst_vector *x;
  const struct cli_run *run =
      CLI_RUN("solve", "poisson2d:9x9", "--rhs=Aones", "--rtol=1e-12", "--quiet", "--solution", solution);
  double values[81], worst = 0;
  tap_need(context, karst_vector_read(context, solution, &x), "the solution");
  bool whole = karst_vector_length(x) == 81;
  if (whole) tap_need(context, karst_vector_get(x, 81, values), "its values");
  for (int i = 0; whole && i < 81; i++) worst = fmax(worst, fabs(values[i] - 1));
  karst_vector_destroy(x);
  tap_ok(run->status == 0 && whole && worst < 1e-9, "the solution for Aones is ones: %g", worst);

  const char *path = scratch_path("first.mtx");
  solution = scratch_path("second.mtx");
  CLI_RUN("solve", "poisson2d:9x9", "--rhs=random:7", "--quiet", "--solution", path);
  CLI_RUN("solve", "poisson2d:9x9", "--rhs=random:7", "--quiet", "--solution", solution);
  tap_ok(CLI_RUN("diff", path, solution, "--rtol=0")->status == 0, "a seed gives the same bits again");
  CLI_RUN("solve", "poisson2d:9x9", "--rhs=random:8", "--quiet", "--solution", solution);
  tap_ok(CLI_RUN("diff", path, solution)->status == 1, "another seed gives another right-hand side");
}

/* Runs solve on a real matrix; skips if the file is absent or cannot be read. */
static const struct cli_run *solve_real(const char *file, const char *what, const char *const extra[])
{
  const char *argument[16] = {real_matrix(file, what)};
  if (!argument[0]) return NULL;
  for (size_t i = 0; i < 14 && extra[i]; i++) argument[i + 1] = extra[i];
  return cli_run("solve", argument);
}

static void test_real_matrices(void)
{
  static const char *const none[] = {NULL};
  char rhs[1024];
  const char *path = tap_matrix_path("rhs3.txt");
  if (path) snprintf(rhs, sizeof rhs, "%s", path);
  const struct cli_run *run =
      solve_real("matr33.txt", "matr33 with rhs3 as b = 3", (const char *[]){"--rhs", rhs, NULL});
  if (run)
    tap_ok(run->status == 0 && strstr(run->out, "block size 3"),
           "matr33 with rhs3 has blocks of 3 that the user does not name");
  run = solve_real("1138_bus.tar.gz", "1138_bus from its archive", (const char *[]){"--solver=cg", NULL});
  if (run) tap_ok(run->status == 0 && strstr(run->out, "1138 rows"), "1138_bus from its archive");
  run = solve_real("sherman5.mtx.gz", "sherman5, b = 3", (const char *[]){"--block=3", NULL});
  if (run) tap_ok(run->status == 0 && strstr(run->out, "came with the matrix"), "sherman5 with its right-hand side");

  run = solve_real("rajat01.mtx.gz", "rajat01 ends in a sentence", none);
  if (run) expect_refused(run, "solve", "", "rajat01 ends in a sentence");
  static const char *const singular[] = {"west0479.mtx", "e05r0500.mtx"};
  for (size_t i = 0; i < 2; i++) {
    run = solve_real(singular[i], "a matrix with zero diagonals ends in a sentence", none);
    if (!run) continue;
    check_run(run, (run->status == 1 && is_readable(run->out)) || is_refused(run, "solve", ""),
              "%s ends in a sentence and without NaN", singular[i]);
  }
}

int main(void)
{
  cli_need("solve");
  cli_need("diff");
  tap_need(NULL, karst_context_create(NULL, &context), "context");
  test_exit_statuses();
  test_threads();
  test_solution();
  test_solution_of_auto();
  test_profile();
  test_profile_of_auto();
  test_history();
  test_outputs();
  test_rhs();
  test_real_matrices();
  karst_context_destroy(context);
  return tap_done();
}
