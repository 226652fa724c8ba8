/* test_solve_cli.c - the command solve: exit statuses, the JSON report, the files it writes, and the real matrices that
 * must end in a sentence. Its report is checked with the library's own products and the files that it wrote. */
#include "config.h"

#include "tests/support/cli.h"
#include "tests/support/problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
  tap_ok(run->status == 1, "of an option given twice the last one counts");
  run = CLI_RUN("solve", "poisson2d:3x3", "--block", "2");
  tap_ok(run->status == 0 && strstr(run->err, "note:") && strstr(run->err, "padded"), "padding is told on stderr");
  run = CLI_RUN("solve", "poisson2d:3x3", "--block", "2", "--quiet");
  tap_ok(run->status == 0 && !run->err[0], "--quiet drops the note");
}

/* More threads than processors are taken, with a note. */
static void test_threads(void)
{
  char as_many[20], more[20];
  const int processors = karst_processors();
  if (!strstr(karst_build_features(), "OpenMP") || processors >= 1024) {
    tap_skip("no more threads than processors can be had", "a note of threads");
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
  tap_ok(run->status == 0 && !run->err[0], "--quiet drops that note");
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

/* Returns the value in a line "NAME ... = VALUE" of the report. */
static double report_number(const char *report, const char *before)
{
  const char *place = strstr(report, before);
  return place ? strtod(place + strlen(before), NULL) : NAN;
}

static void test_solution(void)
{
  char path[512];
  snprintf(path, sizeof path, "%s", tap_scratch("x.mtx"));
  /* 49 rows are in blocks of 2, and the padding row must not reach the file. */
  const struct cli_run *run =
      CLI_RUN("solve", "poisson2d:7x7", "--block=2", "--rhs=ones", "--rtol=1e-4", "--solution", path);
  double reported = report_number(run->out, "|b - A x| = "), computed = residual_of("poisson2d:7x7", path);
  /* The report has 4 significant digits. */
  tap_ok(run->status == 0 && fabs(computed - reported) <= 1e-3 * reported,
         "--solution has the residual reported: %g, %g", reported, computed);
}

/* A repetition in which auto tries another choice, and fails with it, leaves the solution of the first solve. */
static void test_solution_of_auto(void)
{
  char path[512];
  snprintf(path, sizeof path, "%s", tap_scratch("tried.mtx"));
  const struct cli_run *run = CLI_RUN("solve", "laplace27:20x20x20", "--precond=auto", "--rhs=ones", "--rtol=1e-3",
                                      "--max-iterations=7", "--repeat=1", "--solution", path);
  const double reported = report_number(run->out, "|b - A x| = "), computed = residual_of("laplace27:20x20x20", path);
  tap_ok(run->status == 0 && fabs(computed - reported) <= 1e-3 * reported,
         "--solution after --repeat is that of the first solve: %g, %g", reported, computed);
  tap_ok(strstr(run->out, "repeated    1 time, for which auto may choose anew; median") != NULL,
         "the report says that the medians may be those of other choices");
  run = CLI_RUN("solve", "laplace27:20x20x20", "--precond=auto", "--auto-learn=no", "--repeat=1");
  tap_ok(run->status == 0 && strstr(run->out, "repeated    1 time; median"), "unless auto learns nothing");
}

/* The profile is that of the choice reported, where an update of auto would try another one. */
static void test_profile_of_auto(void)
{
  const struct cli_run *run = CLI_RUN("solve", "convdiff:16x16x16", "--precond=auto", "--profile", "--repeat=1");
  const double first = report_number(run->out, "\niterations");
  const char *end = strstr(run->out, " iterations; ");
  const long profiled = end ? strtol(end - 3, NULL, 10) : -1;
  tap_ok(run->status == 0 && (double)profiled == first, "%ld iterations in the profile of auto, %g before", profiled,
         first);
  tap_ok(strstr(run->out, "precond update (iluk)") && !strstr(run->out, "precond setup"),
         "no set-up of another choice is in it");
}

static void test_profile(void)
{
  const struct cli_run *run = CLI_RUN("solve", "poisson2d:30x30", "--profile", "--precond=two-stage");
  tap_ok(run->status == 0 && !run->err[0] && is_readable(run->out) && strstr(run->out, "GB/s") &&
             strstr(run->out, "  matrix product\n") && strstr(run->out, "  precond apply (two-stage)\n") &&
             strstr(run->out, "  precond apply (jacobi)\n") && strstr(run->out, "  between the operations\n"),
         "--profile prints the operations");
  run = CLI_RUN("solve", "poisson2d:30x30", "--profile", "--quiet");
  tap_ok(run->status == 0 && !run->out[0] && !run->err[0], "but not where nothing is to be printed");
  run = CLI_RUN("solve",
                tap_write("zero.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 0\n2 2 1\n", -1),
                "--profile");
  tap_ok(run->status == 1 && is_readable(run->out) && strstr(run->out, "precond update (iluk)"),
         "a factorization that fails has a profile too");
}

static void test_history(void)
{
  char path[512], line[128];
  double residual, previous = INFINITY;
  int lines = 0;
  bool ordered = true;
  snprintf(path, sizeof path, "%s", tap_scratch("history"));
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
  tap_ok(run->status == 0 && header && ordered && lines == (int)report_number(run->out, "iterations  ") + 1,
         "--history has a header and a line for the start and each iteration: %d lines", lines);
  run = CLI_RUN("solve", "poisson2d:60x60", "--solver=gmres", "--precond=parilu", "--sweeps=1", "--max-iterations=75",
                "--repeat=4");
  tap_ok(run->status == 1 && !run->err[0] && strstr(run->out, "repeated    4 times") &&
             strstr(run->out, "not converged"),
         "factors made from the last ones may do better than the first: the report is of the first solve");
}

/* No output overwrites the matrix, which is in a file m.mtx, nor a right-hand side. */
static void test_inputs_kept(const char *matrix)
{
  static const char *const outputs[] = {"--history", "--solution"}, *const beside[] = {"m_b.mtx", "m_b.mtx.gz"};
  char b[512];
  for (int i = 0; i < 4; i++) {
    const char *option = outputs[i % 2];
    struct stat before, after;
    snprintf(b, sizeof b, "%s", tap_write(beside[i / 2], "8\n", -1));
    const struct cli_run *run = CLI_RUN("solve", matrix, option, b);
    tap_ok(run->status == 2 && cli_is_one_sentence(run, "solve") && strstr(run->err, "beside the matrix") &&
               stat(b, &after) == 0 && after.st_size == 2,
           "%s does not overwrite %s: %s", option, beside[i / 2], run->err);
    unlink(b);
    snprintf(b, sizeof b, "%s", tap_write("rhs.txt", "8\n", -1));
    run = CLI_RUN("solve", matrix, "--rhs", b, option, b);
    tap_ok(run->status == 2 && cli_is_one_sentence(run, "solve") && stat(b, &after) == 0 && after.st_size == 2,
           "nor what --rhs names: %s", run->err);
    stat(matrix, &before);
    run = CLI_RUN("solve", matrix, option, matrix);
    tap_ok(run->status == 2 && cli_is_one_sentence(run, "solve") && stat(matrix, &after) == 0 &&
               before.st_size == after.st_size && before.st_ino == after.st_ino,
           "nor the matrix: %s", run->err);
  }
}

/* Files that would overwrite each other or an input are refused. */
static void test_outputs(void)
{
  char path[512], other[512], name[512];
  const struct cli_run *run;
  snprintf(path, sizeof path, "%s", tap_scratch("same"));
  snprintf(other, sizeof other, "%s", tap_scratch("./same"));
  for (int i = 0; i < 2; i++) {
    run = CLI_RUN("solve", "poisson2d:4x4", "--history", path, "--solution", i ? other : path);
    tap_ok(run->status == 2 && cli_is_one_sentence(run, "solve") && strstr(run->err, "--history and --solution") &&
               access(path, F_OK) != 0,
           "--history and --solution of one name are refused: %s", run->err);
  }
  snprintf(name, sizeof name, "%s",
           tap_write("m.mtx", "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 4\n", -1));
  run = CLI_RUN("solve", name, "--history", name);
  tap_ok(run->status == 2 && cli_is_one_sentence(run, "solve") && CLI_RUN("solve", name)->status == 0,
         "--history does not overwrite the matrix");
  test_inputs_kept(name);
  run = CLI_RUN("solve", "poisson2d:4x4", "--history=-", "--quiet");
  tap_ok(run->status == 0 && strncmp(run->out, "iteration\tresidual\n0\t", 21) == 0 && access("-", F_OK) != 0,
         "--history - is standard output");
  run = CLI_RUN("solve", "poisson2d:4x4", "--history=-");
  tap_ok(run->status == 0 && strncmp(run->out, "iteration\tresidual\n0\t", 21) == 0 && is_readable(run->out),
         "before the report");
  run = CLI_RUN("solve", "poisson2d:4x4", "--history=-", "--json");
  tap_ok(run->status == 2 && (strstr(run->err, "standard output") || strstr(run->err, "jansson")),
         "but not within JSON");
  tap_ok(symlink("made.mtx", path) == 0 && CLI_RUN("solve", "poisson2d:4x4", "--solution", path)->status == 0 &&
             access(tap_scratch("made.mtx"), R_OK) == 0,
         "--solution through a link to nothing makes what it names");
  run = CLI_RUN("solve", name);
  tap_ok(strstr(run->out, "converged after 1 iteration:") != NULL, "one iteration is no plural");
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
  tap_ok(CLI_RUN("diff", path, solution, "--rtol=0")->status == 0, "a seed gives the same bits again");
  CLI_RUN("solve", "poisson2d:9x9", "--rhs=random:8", "--quiet", "--solution", solution);
  tap_ok(CLI_RUN("diff", path, solution)->status == 1, "another seed gives another right-hand side");
}

/* Returns the library that a file needs if this build lacks it, else NULL. */
static const char *missing_library(const char *file)
{
  const char *features = karst_build_features();
  if (strstr(file, ".tar") && !strstr(features, "libarchive")) return "built without libarchive";
  return strstr(file, ".gz") && !strstr(features, "zlib") ? "built without zlib" : NULL;
}

/* Runs solve on a real matrix; skips if the file is absent or cannot be read. */
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

/* Returns the text of a key, or "" if there is none. */
static const char *text_of(const json_t *object, const char *key)
{
  const char *text = json_string_value(json_object_get(object, key));
  return text ? text : "";
}

/* Returns whether a table of bench has a negative figure or a NaN. */
static bool has_nonsense(const char *table)
{
  for (const char *c = strchr(table, '\n'); c && *c; c++)
    if (c[0] == ' ' && c[1] == '-' && c[2] != '\n' && c[2] != ' ') return true;
  return strstr(table, "nan") || strstr(table, "inf ");
}

/* Times as short as these often leave a negative rest. */
static void test_bench_table(void)
{
  const char *path = tap_write("unit.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n2 2 1\n", -1);
  const struct cli_run *run = CLI_RUN("bench", path, "--quick", "--level=0", "--threads=1");
  tap_ok(run->status == 0 && !has_nonsense(run->out) && strstr(run->out, "         -") &&
             strstr(run->out, "no figure for \"vectors\": the solve ended"),
         "bench prints a dash for what was not measured, and says why");
  bool sound = true;
  for (int i = 0; i < 10 && sound; i++) {
    run = CLI_RUN("bench", "poisson2d:2x2", "--quick", "--level=3", "--threads=1,2", "--restart=3");
    sound = run->status == 0 && !has_nonsense(run->out);
  }
  tap_ok(sound, "bench prints no negative figure");
  if (!sound) tap_note("%s", run->out);
}

/* With --json an error is also an object, beside its sentence. */
static void test_json_errors(void)
{
  char good[512];
  snprintf(good, sizeof good, "%s",
           tap_write("good.mtx", "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 4\n", -1));
  const char *const bad[][4] = {{"solve", "/nonexistent/\"\x01\xff.mtx", "--json", "no file"},
                                {"solve", "--frobnicate", "--json", "unknown option --frobnicate"},
                                {"bench", "/nonexistent/matrix", "--json", "no file"},
                                {"bench", "--json", "--level=0", "it takes MATRIX"}};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    const struct cli_run *run = CLI_RUN(bad[i][0], bad[i][1], bad[i][2], bad[i][0][0] == 's' ? "--quiet" : "--quick");
    json_t *object = parse(run->out);
    tap_ok(run->status == 2 && strstr(text_of(object, "error"), bad[i][3]) &&
               json_integer_value(json_object_get(object, "status")) == 2 && strchr(run->err, '\n'),
           "%s %s %s: an object with the error", bad[i][0], bad[i][1], bad[i][2]);
    json_decref(object);
  }
  static const char *const values[][5] = {{"poisson2d:4x4", "--history", "--json", "--level=-1", NULL},
                                          {"poisson2d:4x4", "--solver", "--json", NULL},
                                          {"--max_iterations", "--json", "poisson2d:4x4", NULL}};
  for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
    const struct cli_run *plain = cli_run("solve", values[i]);
    tap_ok(plain->status == 2 && cli_is_one_sentence(plain, "solve"),
           "--json as the value of another option asks for none: %s", plain->err);
  }
  const struct cli_run *run = CLI_RUN("solve", good, "--json", "--device=cuda:99");
  json_t *object = parse(run->out);
  tap_ok(run->status == 3 && *text_of(object, "error") && json_integer_value(json_object_get(object, "status")) == 3,
         "and with status 3");
  json_decref(object);
  run = CLI_RUN("solve", good, "--json", "--solution=/dev/full");
  object = parse(run->out);
  tap_ok(run->status == 2 && strstr(text_of(object, "error"), "/dev/full") &&
             json_is_true(json_object_get(object, "converged")),
         "an error after the solve is in its report");
  json_decref(object);
}

/* These names are valid in a file system, but not for a terminal or in JSON. */
static void test_names(void)
{
  char path[512];
  snprintf(path, sizeof path, "%s",
           tap_write("odd\n\x1b[2J\xff\xc2\x9b\xc3\xa4.mtx",
                     "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 4\n", -1));
  const struct cli_run *run = CLI_RUN("solve", path, "--json");
  json_t *report = parse(run->out);
  tap_ok(run->status == 0 && strstr(text_of(report, "matrix"), "/odd\n\x1b[2J\xef\xbf\xbd\xc2\x9b\xc3\xa4.mtx"),
         "a name that is no UTF-8 is in the report");
  json_decref(report);
  run = CLI_RUN("solve", path);
  tap_ok(run->status == 0 && strstr(run->out, "/odd\\x0a\\x1b[2J\\xff\\xc2\\x9b\xc3\xa4.mtx: 1 row, 1 entry"),
         "control characters are escaped in the text");
  run = CLI_RUN("solve", path, "--rhs", "/nonexistent\n\x1b[2J");
  tap_ok(run->status == 2 && cli_is_one_sentence(run, "solve") && strstr(run->err, "/nonexistent\\x0a\\x1b[2J"),
         "and in errors");
  run = CLI_RUN("bench", path, "--quick", "--level=0", "--threads=1");
  tap_ok(run->status == 0 && strstr(run->out, "/odd\\x0a\\x1b[2J") && !strchr(run->out, '\x1b'), "and by bench");
}

/* The fill counts the entries of the factors over those of the file, whatever the block size. */
static void test_fill(void)
{
  double fill[5] = {0}, fill_file[5] = {0};
  for (int b = 1; b < 5; b++) {
    char block[16];
    snprintf(block, sizeof block, "--block=%d", b);
    const struct cli_run *run = CLI_RUN("solve", "poisson2d:12x12", "--json", block);
    json_t *report = parse(run->out);
    fill[b] = json_number_value(json_object_get(report, "fill"));
    fill_file[b] = json_number_value(json_object_get(report, "fill_file"));
    bool right = json_integer_value(json_object_get(report, "file_entries")) == 5 * 144 - 4 * 12 &&
                 fill_file[b] * 672 == (double)json_integer_value(json_object_get(report, "factor_entries"));
    tap_ok(right, "%s: fill %g, and %g of the 672 entries before blocking", block, fill[b], fill_file[b]);
    json_decref(report);
  }
  tap_ok(fill[1] == 1 && fill_file[1] == 1 && fill[4] == 1 && fill_file[2] > 1.2 && fill_file[4] > fill_file[2],
         "the zeros that fill up blocks are counted");
  const struct cli_run *run = CLI_RUN("solve", "poisson2d:12x12", "--block=4");
  tap_ok(strstr(run->out, "entries, 672 before blocking, block size 4") &&
             strstr(run->out, "times those before blocking"),
         "and told in the text");
  run = CLI_RUN("solve", "blackoil:2x2x2");
  tap_ok(run->status == 0 && !strstr(run->out, "before blocking"), "but not where the problem comes in blocks");
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

/* The operations of --profile take no more than the solve that it repeats, the longest first, and its iterations are
 * those of the first solve, whose residual is reported. */
static void test_json_profile(void)
{
  static const char *const keys[] = {"copy_bandwidth", "iterations", "update", "solve", "rows", NULL};
  static const char *const row_keys[] = {"name", "calls", "seconds", "bytes", "bandwidth", "share", NULL};
  const struct cli_run *run = CLI_RUN("solve", "poisson2d:40x40", "--solver", "gmres", "--json");
  json_t *report = parse(run->out);
  tap_ok(has_keys(report, (const char *const[]){"profile", NULL}, "report") &&
             json_is_null(json_object_get(report, "profile")),
         "without --profile there is none");
  const double residual = json_real_value(json_object_get(report, "residual"));
  json_decref(report);
  run = CLI_RUN("solve", "poisson2d:40x40", "--solver", "gmres", "--json", "--profile");
  report = parse(run->out);
  const json_t *profile = json_object_get(report, "profile"), *rows = json_object_get(profile, "rows");
  tap_ok(run->status == 0 && !run->err[0] && has_keys(profile, keys, "profile"), "--profile has its keys");
  const double all =
      json_real_value(json_object_get(profile, "update")) + json_real_value(json_object_get(profile, "solve"));
  const json_int_t iterations = json_integer_value(json_object_get(report, "iterations"));
  double sum = 0, last = INFINITY;
  json_int_t products = 0, updates = 0;
  bool sorted = true, whole = json_array_size(rows) > 5;
  for (size_t i = 0; i < json_array_size(rows); i++) {
    const json_t *row = json_array_get(rows, i);
    const char *name = json_string_value(json_object_get(row, "name"));
    const double seconds = json_real_value(json_object_get(row, "seconds"));
    const json_int_t calls = json_integer_value(json_object_get(row, "calls"));
    whole = whole && has_keys(row, row_keys, "row") && name && calls > 0;
    sorted = sorted && seconds <= last;
    last = seconds;
    sum += seconds;
    if (name && strcmp(name, "matrix product") == 0) products = calls;
    if (name && strcmp(name, "precond update (iluk)") == 0) updates = calls;
  }
  tap_ok(whole && sorted, "its rows have theirs, and the longest comes first");
  tap_ok(sum > 0 && sum <= 1.01 * all + 1e-6, "they take %g of %g seconds", sum, all);
  tap_ok(products == iterations && updates == 1 &&
             json_integer_value(json_object_get(profile, "iterations")) == iterations,
         "%ld products in %ld iterations, and one factorization", (long)products, (long)iterations);
  tap_ok(json_real_value(json_object_get(report, "residual")) == residual, "the residual is that of the first solve");
  json_decref(report);
}

/* The matrix has a singular pivot, and no NaN. The report has no number that JSON cannot hold, and names the row. */
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

/* The name is not UTF-8, and the matrix is the identity, so that the timed iterations have nothing to do. */
static void test_bench(void)
{
  const char *path =
      tap_write("unit\xff.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n2 2 1\n", -1);
  const struct cli_run *run = CLI_RUN("bench", path, "--quick", "--level=0", "--threads=1", "--json");
  json_t *report = parse(run->out);
  tap_ok(run->status == 0 && json_integer_value(json_object_get(report, "rows")) == 2 &&
             strstr(text_of(report, "matrix"), "/unit\xef\xbf\xbd.mtx") &&
             json_is_null(json_object_get(report, "last_residual")) &&
             json_is_null(json_object_get(json_object_get(report, "times"), "orthogonalise")) &&
             strstr(text_of(json_object_get(report, "not_measured"), "orthogonalise"), "ended before"),
         "bench --json has a name that is no UTF-8, null for what was not measured, and why");
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
  const char *const wrong[] = {"--set=level=1",      "--set=precond",     "--set=sweep-order=up", "--set=sweep=1",
                               "--set=ordering=rcm", "--set=damping=0.5", "--set=parts=2"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    run = CLI_RUN("bench", "poisson2d:8x8", wrong[i]);
    tap_ok(run->status == 2 && cli_is_one_sentence(run, "bench"), "bench refuses %s: %s", wrong[i], run->err);
  }
  run = CLI_RUN("bench", "poisson2d:8x8", "--device=gpu");
  tap_ok(run->status == 2 && cli_is_one_sentence(run, "bench"), "bench refuses a device that there is not: %s",
         run->err);
  run = CLI_RUN("bench", "poisson2d:8x8", "--quick", "--level=0", "--threads=1", "--device=cpu,cuda", "--json");
  tap_ok(run->status == 0 || (run->status == 3 && strchr(run->err, '\n') == run->err + strlen(run->err) - 1),
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
  tap_ok(run->status == 2 && strstr(run->err, "jansson"), "--json without jansson is refused");
}
static void test_json_profile(void) { tap_skip("built without jansson", "--profile in JSON"); }
static void test_json_singular(void) { tap_skip("built without jansson", "--json of a singular matrix"); }
static void test_json_errors(void) { tap_skip("built without jansson", "errors as JSON"); }
static void test_names(void) { tap_skip("built without jansson", "names in JSON"); }
static void test_fill(void) { tap_skip("built without jansson", "fill in JSON"); }
static void test_bench(void) { tap_skip("built without jansson", "bench --json"); }
static void test_bench_table(void) { tap_skip("built without jansson", "tables of bench"); }
static void test_reference(void) { tap_skip("built without jansson", "--reference"); }
#endif

int main(void)
{
  cli_need("solve");
  cli_need("diff");
  cli_need("bench");
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
  test_json();
  test_json_profile();
  test_json_singular();
  test_json_errors();
  test_names();
  test_fill();
  test_bench();
  test_bench_table();
  test_reference();
  test_real_matrices();
  karst_context_destroy(context);
  return tap_done();
}
