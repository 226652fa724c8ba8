/* test_solve_cli.c - the command solve: exit statuses, the JSON report, the files it writes, and the real matrices that
 * must end in a sentence. What it reports is checked against the library's own products with the files it wrote. */
#include "config.h"

#include "cli.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static karst_context *context;

/* A report names no value that is not a number, and ends in a sentence. */
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
  tap_ok(run->status == 1, "of an option given twice the last one counts");
  run = CLI_RUN("solve", "poisson2d:3x3", "--block", "2");
  tap_ok(run->status == 0 && strstr(run->err, "note:") && strstr(run->err, "padded"), "padding is told on stderr");
  run = CLI_RUN("solve", "poisson2d:3x3", "--block", "2", "--quiet");
  tap_ok(run->status == 0 && !run->err[0], "--quiet drops the note");
}

/* Reads a matrix (spec or file) as solve does, b = ones, and x from a file: |b - A x|. */
static double residual_of(const char *spec, const char *solution)
{
  karst_matrix *A;
  karst_vector *b, *x, *r;
  double norm;
  tap_need(context, karst_gallery_create(context, spec, 1, &A, NULL), "the matrix");
  tap_need(context, karst_vector_read(context, solution, &x), "the solution");
  tap_need(context, karst_vector_create(context, karst_matrix_rows(A), &b), "b");
  tap_need(context, karst_vector_fill(b, 1), "b");
  tap_need(context, karst_vector_create(context, karst_matrix_rows(A), &r), "r");
  tap_need(context, karst_matrix_residual(A, b, x, r, &norm), "the residual");
  karst_vector_destroy(r);
  karst_vector_destroy(b);
  karst_vector_destroy(x);
  karst_matrix_destroy(A);
  return norm;
}

/* A line "NAME  ... = VALUE" of the report. */
static double report_number(const char *report, const char *before)
{
  const char *place = strstr(report, before);
  return place ? strtod(place + strlen(before), NULL) : NAN;
}

static void test_solution(void)
{
  char path[512];
  snprintf(path, sizeof path, "%s", tap_scratch("x.mtx"));
  /* 49 rows in blocks of 2: the padding row must not reach the file. */
  const struct cli_run *run =
      CLI_RUN("solve", "poisson2d:7x7", "--block=2", "--rhs=ones", "--rtol=1e-4", "--solution", path);
  double reported = report_number(run->out, "|b - A x| = "), computed = residual_of("poisson2d:7x7", path);
  /* The report has 4 digits. */
  tap_ok(run->status == 0 && fabs(computed - reported) <= 1e-3 * reported,
         "--solution has the residual reported: %g, %g", reported, computed);
}

static void test_history(void)
{
  char path[512], line[128];
  double residual, previous = INFINITY;
  int lines = 0;
  bool ordered = true;
  snprintf(path, sizeof path, "%s", tap_scratch("history"));
  const struct cli_run *run = CLI_RUN("solve", "poisson2d:20x20", "--rhs=ones", "--repeat=2", "--history", path);
  FILE *file = fopen(path, "r");
  bool header = file && fgets(line, sizeof line, file) && strcmp(line, "iteration\tresidual\n") == 0;
  for (; file && fgets(line, sizeof line, file); lines++) {
    char *end;
    ordered &= strtol(line, &end, 10) == lines && *end == '\t';
    residual = strtod(end, NULL);
    ordered &= residual > 0 && residual <= previous;
    previous = residual; /* gmres never raises it */
  }
  if (file) fclose(file);
  tap_ok(run->status == 0 && header && ordered && lines == (int)report_number(run->out, "iterations  ") + 1,
         "--history has a header and a line for the start and each iteration: %d lines", lines);
  run = CLI_RUN("solve", "poisson2d:60x60", "--precond=parilu", "--sweeps=1", "--max-iterations=75", "--repeat=4");
  tap_ok(run->status == 1 && !run->err[0] && strstr(run->out, "repeated    4 times") &&
             strstr(run->out, "not converged"),
         "factors made from the last ones may do better than the first: the report is of the first solve");
}

static void test_rhs(void)
{
  char path[512], solution[512];
  karst_vector *x;
  snprintf(solution, sizeof solution, "%s", tap_scratch("ones.mtx"));
  const struct cli_run *run =
      CLI_RUN("solve", "poisson2d:9x9", "--rhs=Aones", "--rtol=1e-12", "--quiet", "--solution", solution);
  double values[81], worst = 0;
  tap_need(context, karst_vector_read(context, solution, &x), "the solution");
  bool whole = karst_vector_length(x) == 81;
  if (whole) tap_need(context, karst_vector_get(x, 81, values), "its values");
  for (int i = 0; whole && i < 81; i++) worst = fmax(worst, fabs(values[i] - 1));
  karst_vector_destroy(x);
  tap_ok(run->status == 0 && whole && worst < 1e-9, "the solution for Aones is ones: %g", worst);

  snprintf(path, sizeof path, "%s", tap_scratch("first.mtx"));
  snprintf(solution, sizeof solution, "%s", tap_scratch("second.mtx"));
  CLI_RUN("solve", "poisson2d:9x9", "--rhs=random:7", "--quiet", "--solution", path);
  CLI_RUN("solve", "poisson2d:9x9", "--rhs=random:7", "--quiet", "--solution", solution);
  tap_ok(CLI_RUN("compare", path, solution, "--rtol=0")->status == 0, "a seed gives the same bits again");
  CLI_RUN("solve", "poisson2d:9x9", "--rhs=random:8", "--quiet", "--solution", solution);
  tap_ok(CLI_RUN("compare", path, solution)->status == 1, "another seed gives another right-hand side");
}

/* The library that a file needs, if this build does not have it. */
static const char *missing_library(const char *file)
{
  const char *features = karst_build_features();
  if (strstr(file, ".tar") && !strstr(features, "libarchive")) return "built without libarchive";
  return strstr(file, ".gz") && !strstr(features, "zlib") ? "built without zlib" : NULL;
}

/* Runs solve on a file of the real matrices; skips where it is absent or cannot be read. */
static const struct cli_run *solve_real(const char *file, const char *what, const char *const extra[])
{
  const char *path = tap_matrix_path(file), *argument[16] = {path};
  if (!path) {
    tap_skip("the matrices are not there", "%s", what);
    return NULL;
  }
  if (missing_library(file)) {
    tap_skip(missing_library(file), "%s", what);
    return NULL;
  }
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
    tap_ok(run->status == 0 && strstr(run->out, "block size 3"), "matr33 with rhs3 as b = 3, not named by the user");
  run = solve_real("1138_bus.tar.gz", "1138_bus from its archive", (const char *[]){"--solver=cg", NULL});
  if (run) tap_ok(run->status == 0 && strstr(run->out, "1138 rows"), "1138_bus from its archive");
  run = solve_real("sherman5.mtx.gz", "sherman5, b = 3", (const char *[]){"--block=3", NULL});
  if (run) tap_ok(run->status == 0 && strstr(run->out, "came with the matrix"), "sherman5 with its right-hand side");

  run = solve_real("rajat01.mtx.gz", "rajat01 ends in a sentence", none);
  if (run) {
    tap_ok(run->status == 2 && cli_is_one_sentence(run, "solve"), "rajat01 ends in a sentence");
    tap_note("%s", run->err);
  }
  static const char *const singular[] = {"west0479.mtx", "e05r0500.mtx"};
  for (size_t i = 0; i < 2; i++) {
    run = solve_real(singular[i], "a matrix with zero diagonals ends in a sentence", none);
    if (!run) continue;
    tap_ok((run->status == 1 && is_readable(run->out)) || (run->status == 2 && cli_is_one_sentence(run, "solve")),
           "%s ends in a sentence and without NaN", singular[i]);
    tap_note("%s%s", run->out, run->err);
  }
}

#ifdef HAVE_JANSSON
#include <jansson.h>

static bool has_keys(const json_t *object, const char *const keys[], const char *what)
{
  bool all = json_is_object(object);
  for (size_t i = 0; keys[i]; i++)
    if (!json_object_get(object, keys[i])) {
      tap_note("%s: the key %s is missing", what, keys[i]);
      all = false;
    }
  return all;
}

static json_t *parse(const char *text)
{
  json_error_t error;
  json_t *object = json_loads(text, JSON_REJECT_DUPLICATES, &error);
  if (!object) tap_note("JSON line %d: %s", error.line, error.text);
  return object;
}

static void test_json(void)
{
  static const char *const keys[] = {
      "matrix",       "rows",         "block",         "nnz",     "solver",   "precond",           "level",
      "ordering",     "device",       "threads",       "rhs",     "side",     "restart",           "rtol",
      "atol",         "scale",        "shift",         "reason",  "residual", "relative_residual", "converged",
      "iterations",   "explanation",  "block_row",     "shifted", "memory",   "factor_entries",    "fill",
      "levels_lower", "levels_upper", "trisolve_used", "times",   "repeat",   "reference",         NULL};
  static const char *const times[] = {"read", "order", "symbolic", "factor", "transfer", "solve", NULL};
  const struct cli_run *run = CLI_RUN("solve", "poisson2d:12x10", "--rhs=ones", "--json", "--repeat=3");
  json_t *report = parse(run->out);
  tap_ok(run->status == 0 && !run->err[0] && has_keys(report, keys, "report"), "--json has its keys");
  tap_ok(has_keys(json_object_get(report, "times"), times, "times"), "times has its keys");
  tap_ok(json_integer_value(json_object_get(report, "rows")) == 120 &&
             json_integer_value(json_object_get(report, "block")) == 1 &&
             json_integer_value(json_object_get(report, "nnz")) == 5 * 120 - 2 * 12 - 2 * 10 &&
             json_is_true(json_object_get(report, "converged")) && json_is_null(json_object_get(report, "block_row")) &&
             json_is_null(json_object_get(report, "reference")),
         "--json counts rows and entries");
  const json_t *repeat = json_object_get(report, "repeat");
  tap_ok(json_integer_value(json_object_get(repeat, "count")) == 3 &&
             json_real_value(json_object_get(repeat, "solve")) > 0,
         "--json has the medians of --repeat");
  json_decref(report);
  run = CLI_RUN("solve", "poisson2d:12x10", "--json", "--precond=parilu", "--sweeps=3", "--ilu-residual=yes");
  report = parse(run->out);
  tap_ok(json_integer_value(json_object_get(report, "sweeps")) == 3 &&
             json_integer_value(json_object_get(report, "fallbacks")) == 0 &&
             json_real_value(json_object_get(report, "sweep_residual_before")) >
                 json_real_value(json_object_get(report, "sweep_residual_after")) &&
             json_real_value(json_object_get(report, "ilu_residual")) > 0,
         "--json has the norms of sweeps");
  json_decref(report);
  run = CLI_RUN("solve", "poisson2d:12x10", "--precond=parilu", "--ilu-residual=yes", "--trisolve=jacobi");
  tap_ok(run->status == 0 && strstr(run->out, "nonlinear residual norm") && strstr(run->out, "|A - LU|") &&
             strstr(run->out, "5 Jacobi sweeps"),
         "and so has the text");
  run = CLI_RUN("solve", "poisson2d:12x10", "--json", "--max-iterations=1", "--rtol=1e-14");
  report = parse(run->out);
  tap_ok(run->status == 1 && json_is_false(json_object_get(report, "converged")) &&
             json_real_value(json_object_get(report, "relative_residual")) > 1e-14,
         "--json of a solve that does not converge");
  json_decref(report);
}

/* A matrix with a NaN-free but singular pivot: the report has no number that JSON cannot hold, and names the row. */
static void test_json_singular(void)
{
  const char *path = tap_write("singular.mtx",
                               "%%MatrixMarket matrix coordinate real general\n"
                               "3 3 5\n1 1 1\n2 2 0\n3 3 1\n2 3 1\n3 2 1\n",
                               -1);
  const struct cli_run *run = CLI_RUN("solve", path, "--json");
  json_t *report = parse(run->out);
  const json_t *row = json_object_get(report, "block_row");
  tap_ok(run->status == 1 && json_is_integer(row) && json_integer_value(row) == 1,
         "--json names the block row of a singular pivot");
  json_decref(report);
}

/* A name that is no UTF-8, and a unit matrix, whose timed iterations have nothing to do: what JSON cannot hold is
 * null. */
static void test_bench(void)
{
  const char *path =
      tap_write("unit\xff.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n2 2 1\n", -1);
  const struct cli_run *run = CLI_RUN("bench", path, "--quick", "--level=0", "--threads=1", "--json");
  json_t *report = parse(run->out);
  tap_ok(run->status == 0 && json_integer_value(json_object_get(report, "rows")) == 2 &&
             json_is_null(json_object_get(report, "matrix")) && json_object_get(report, "last_residual") &&
             json_is_object(json_object_get(report, "times")),
         "bench --json writes null for what JSON cannot hold");
  tap_note("%s", run->err);
  json_decref(report);
  run = CLI_RUN("bench", "poisson2d:8x8", "--quick", "--level=1", "--threads=1", "--block=2", "--rtol=1e-6", "--json");
  report = parse(run->out);
  const json_t *whole = json_object_get(json_object_get(report, "whole"), "bicgstab");
  tap_ok(run->status == 0 && json_integer_value(json_object_get(report, "block")) == 2 &&
             json_number_value(json_object_get(json_object_get(report, "times"), "update")) > 0 &&
             json_number_value(json_object_get(whole, "iterations")) > 0 &&
             json_number_value(json_object_get(whole, "solve")) > 0,
         "bench --rtol times whole solves, with the block size asked for");
  tap_note("%s", run->err);
  json_decref(report);
  run = CLI_RUN("bench", "poisson2d:8x8", "--quick", "--level=1", "--threads=1", "--json",
                "--set=precond=paric,sweep-mode=asynchronous,sweep-order=random,sweeps=7");
  report = parse(run->out);
  const json_t *sweeps = json_object_get(report, "sweeps");
  tap_ok(run->status == 0 && json_integer_value(json_object_get(sweeps, "count")) == 7 &&
             json_real_value(json_object_get(sweeps, "residual_after")) <
                 1e-3 * json_real_value(json_object_get(sweeps, "residual_before")),
         "bench --set takes options of the library, those for experiments too");
  json_decref(report);
  const char *const wrong[] = {"--set=level=1", "--set=precond", "--set=sweep-order=up", "--set=sweep=1",
                               "--set=ordering=rcm"};
  for (int i = 0; i < 4; i++) {
    run = CLI_RUN("bench", "poisson2d:8x8", wrong[i]);
    tap_ok(run->status == 2 && cli_is_one_sentence(run, "bench"), "bench refuses %s: %s", wrong[i], run->err);
  }
  run = CLI_RUN("bench", "poisson2d:8x8", "--device=gpu");
  tap_ok(run->status == 2 && cli_is_one_sentence(run, "bench"), "bench refuses a device that there is not: %s",
         run->err);
  run = CLI_RUN("bench", "poisson2d:8x8", "--quick", "--level=0", "--threads=1", "--device=cpu,cuda", "--json");
  tap_ok(run->status == 0 || (run->status == 3 && cli_is_one_sentence(run, "bench")),
         "bench --device cpu,cuda runs, or says in one sentence why not");
  tap_note("%s", run->err);
}

static void test_reference(void)
{
#ifdef HAVE_SUITESPARSE
  const struct cli_run *run = CLI_RUN("solve", "poisson2d:15x15", "--block=2", "--rtol=1e-12", "--reference", "--json");
  json_t *report = parse(run->out);
  const json_t *reference = json_object_get(report, "reference");
  double difference = json_number_value(json_object_get(reference, "difference"));
  double residual = json_number_value(json_object_get(reference, "residual"));
  double rcond = json_number_value(json_object_get(reference, "rcond"));
  /* The condition number of this matrix is about 100. */
  tap_ok(run->status == 0 && difference < 1e-10 && residual < 1e-13 && rcond > 1e-3,
         "--reference agrees: difference %g, residual %g, rcond %g", difference, residual, rcond);
  json_decref(report);
  const char *path = tap_write("rank.mtx",
                               "%%MatrixMarket matrix coordinate real general\n"
                               "2 2 4\n1 1 1\n1 2 1\n2 1 1\n2 2 1\n",
                               -1);
  run = CLI_RUN("solve", path, "--precond=none", "--reference");
  tap_ok(strstr(run->out, "singular"), "--reference says that a matrix is singular");
  path = tap_write("nothing.mtx", "%%MatrixMarket matrix coordinate real general\n0 0 0\n", -1);
  run = CLI_RUN("solve", path, "--rhs=ones", "--reference", "--json");
  report = parse(run->out);
  reference = json_object_get(report, "reference");
  tap_ok(run->status == 0 && json_is_false(json_object_get(reference, "singular")) &&
             json_is_real(json_object_get(reference, "difference")) &&
             json_real_value(json_object_get(reference, "difference")) == 0,
         "--reference of a matrix without rows differs by 0");
  tap_note("%s", run->err);
  json_decref(report);
#else
  tap_skip("built without SuiteSparse", "--reference agrees");
#endif
}

#else
static void test_json(void)
{
  const struct cli_run *run = CLI_RUN("solve", "poisson2d:4x4", "--json");
  tap_ok(run->status == 2 && cli_is_one_sentence(run, "solve"), "--json without jansson is refused");
}
static void test_json_singular(void) { tap_skip("built without jansson", "--json of a singular matrix"); }
static void test_bench(void) { tap_skip("built without jansson", "bench --json"); }
static void test_reference(void) { tap_skip("built without jansson", "--reference"); }
#endif

int main(void)
{
  cli_need("solve");
  cli_need("compare");
  cli_need("bench");
  tap_need(NULL, karst_context_create(NULL, &context), "context");
  test_exit_statuses();
  test_solution();
  test_history();
  test_rhs();
  test_json();
  test_json_singular();
  test_bench();
  test_reference();
  test_real_matrices();
  karst_context_destroy(context);
  return tap_done();
}
