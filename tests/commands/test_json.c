/* test_json.c - what solve and bench print with --json: the keys of their objects, errors as objects, names that are
 * not valid text, and values that only --json reports, such as the fill and the reference solution. */
#include "config.h"

#include "tests/support/commands.h"

#include <math.h>

#ifdef HAVE_JANSSON
#include "tests/support/json_values.h"

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

/* Returns whether a table of bench has a negative figure or a NaN. */
static bool has_bad_figure(const char *table)
{
  for (const char *c = strchr(table, '\n'); c && *c; c++)
    if (c[0] == ' ' && c[1] == '-' && c[2] != '\n' && c[2] != ' ') return true;
  return strstr(table, "nan") || strstr(table, "inf ");
}

/* Times as short as these often leave a negative difference. */
static void test_bench_table(void)
{
  const char *path = tap_write("unit.mtx", GENERAL "2 2 2\n1 1 1\n2 2 1\n", -1);
  const struct cli_run *run = CLI_RUN("bench", path, "--quick", "--level=0", "--threads=1");
  tap_ok(run->status == 0 && !has_bad_figure(run->out) && strstr(run->out, "         -") &&
             strstr(run->out, "no figure for \"vectors\": the solve ended"),
         "bench prints a dash for a figure that was not measured, and the reason");
  bool sound = true;
  for (int i = 0; i < 10 && sound; i++) {
    run = CLI_RUN("bench", "poisson2d:2x2", "--quick", "--level=3", "--threads=1,2", "--restart=3");
    sound = run->status == 0 && !has_bad_figure(run->out);
  }
  tap_ok(sound, "bench prints no negative figure");
  if (!sound) tap_note("%s", run->out);
}

/* With --json an error is also an object, beside its sentence. */
static void test_json_errors(void)
{
  const char *good = scratch_file("good.mtx", GENERAL "1 1 1\n1 1 4\n");
  const char *const bad[][4] = {{"solve", "/nonexistent/\"\x01\xff.mtx", "--json", "no file"},
                                {"solve", "--frobnicate", "--json", "unknown option --frobnicate"},
                                {"bench", "/nonexistent/matrix", "--json", "no file"},
                                {"bench", "--json", "--level=0", "the command takes MATRIX"}};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    const struct cli_run *run = CLI_RUN(bad[i][0], bad[i][1], bad[i][2], bad[i][0][0] == 's' ? "--quiet" : "--quick");
    json_t *object = parse_json(run->out);
    tap_ok(run->status == 2 && strstr(text_at(object, "error"), bad[i][3]) && number_at(object, "status") == 2 &&
               strchr(run->err, '\n'),
           "%s %s %s: an object with the error", bad[i][0], bad[i][1], bad[i][2]);
    json_decref(object);
  }
  static const char *const values[][5] = {{"poisson2d:4x4", "--history", "--json", "--level=-1", NULL},
                                          {"poisson2d:4x4", "--solver", "--json", NULL},
                                          {"--max_iterations", "--json", "poisson2d:4x4", NULL}};
  for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
    const struct cli_run *plain = cli_run("solve", values[i]);
    tap_ok(plain->status == 2 && cli_is_one_sentence(plain, "solve"),
           "--json as the value of another option is not --json: %s", plain->err);
  }
  const struct cli_run *run = CLI_RUN("solve", good, "--json", "--device=cuda:99");
  json_t *object = parse_json(run->out);
  tap_ok(run->status == 3 && *text_at(object, "error") && number_at(object, "status") == 3,
         "an error with status 3 is an object");
  json_decref(object);
  run = CLI_RUN("solve", good, "--json", "--solution=/dev/full");
  object = parse_json(run->out);
  tap_ok(run->status == 2 && strstr(text_at(object, "error"), "/dev/full") &&
             json_is_true(json_object_get(object, "converged")),
         "an error after the solve is in its report");
  json_decref(object);
}

/* These names are valid in a file system, but not for a terminal or in JSON. */
static void test_names(void)
{
  const char *path = scratch_file("odd\n\x1b[2J\xff\xc2\x9b\xc3\xa4.mtx", GENERAL "1 1 1\n1 1 4\n");
  const struct cli_run *run = CLI_RUN("solve", path, "--json");
  json_t *report = parse_json(run->out);
  tap_ok(run->status == 0 && strstr(text_at(report, "matrix"), "/odd\n\x1b[2J\xef\xbf\xbd\xc2\x9b\xc3\xa4.mtx"),
         "a name that is not UTF-8 is in the report");
  json_decref(report);
  run = CLI_RUN("solve", path);
  tap_ok(run->status == 0 && strstr(run->out, "/odd\\x0a\\x1b[2J\\xff\\xc2\\x9b\xc3\xa4.mtx: 1 row, 1 entry"),
         "control characters are escaped in the text");
  expect_refused(CLI_RUN("solve", path, "--rhs", "/nonexistent\n\x1b[2J"), "solve", "/nonexistent\\x0a\\x1b[2J",
                 "control characters are escaped in errors");
  run = CLI_RUN("bench", path, "--quick", "--level=0", "--threads=1");
  tap_ok(run->status == 0 && strstr(run->out, "/odd\\x0a\\x1b[2J") && !strchr(run->out, '\x1b'),
         "control characters are escaped by bench");
}

/* The fill is the entries of the factors over those of the file, for any block size. */
static void test_fill(void)
{
  double fill[5] = {0}, fill_file[5] = {0};
  for (int b = 1; b < 5; b++) {
    char block[16];
    snprintf(block, sizeof block, "--block=%d", b);
    const struct cli_run *run = CLI_RUN("solve", "poisson2d:12x12", "--json", block);
    json_t *report = parse_json(run->out);
    fill[b] = number_at(report, "fill");
    fill_file[b] = number_at(report, "fill_file");
    bool right = number_at(report, "file_entries") == 5 * 144 - 4 * 12 &&
                 fill_file[b] * 672 == number_at(report, "factor_entries");
    tap_ok(right, "%s: fill %g, and %g of the 672 entries before blocking", block, fill[b], fill_file[b]);
    json_decref(report);
  }
  tap_ok(fill[1] == 1 && fill_file[1] == 1 && fill[4] == 1 && fill_file[2] > 1.2 && fill_file[4] > fill_file[2],
         "the zeros that fill up blocks are counted");
  const struct cli_run *run = CLI_RUN("solve", "poisson2d:12x12", "--block=4");
  tap_ok(strstr(run->out, "entries, 672 before blocking, block size 4") &&
             strstr(run->out, "times those before blocking"),
         "the text has the entries before blocking too");
  run = CLI_RUN("solve", "blackoil:2x2x2");
  tap_ok(run->status == 0 && !strstr(run->out, "before blocking"),
         "the text has no entries before blocking for a problem in blocks");
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
  json_t *report = parse_json(run->out);
  tap_ok(run->status == 0 && !run->err[0] && has_keys(report, keys, "report"), "--json has its keys");
  tap_ok(has_keys(json_object_get(report, "times"), times, "times"), "times has its keys");
  tap_ok(number_at(report, "rows") == 120 && number_at(report, "block") == 1 &&
             number_at(report, "nnz") == 5 * 120 - 2 * 12 - 2 * 10 &&
             json_is_true(json_object_get(report, "converged")) && is_null(report, "block_row") &&
             is_null(report, "reference"),
         "--json counts rows and entries");
  const json_t *repeat = json_object_get(report, "repeat");
  tap_ok(number_at(repeat, "count") == 3 && number_at(repeat, "solve") > 0, "--json has the medians of --repeat");
  json_decref(report);
  run = CLI_RUN("solve", "poisson2d:12x10", "--json", "--precond=parilu", "--sweeps=3", "--ilu-residual=yes");
  report = parse_json(run->out);
  tap_ok(number_at(report, "sweeps") == 3 && number_at(report, "fallbacks") == 0 &&
             number_at(report, "sweep_residual_before") > number_at(report, "sweep_residual_after") &&
             number_at(report, "ilu_residual") > 0,
         "--json has the norms of sweeps");
  json_decref(report);
  run = CLI_RUN("solve", "poisson2d:12x10", "--precond=parilu", "--ilu-residual=yes", "--trisolve=jacobi");
  tap_ok(run->status == 0 && strstr(run->out, "nonlinear residual norm") && strstr(run->out, "|A - LU|") &&
             strstr(run->out, "5 Jacobi sweeps"),
         "the text has the norms of sweeps");
  run = CLI_RUN("solve", "poisson2d:12x10", "--json", "--max-iterations=1", "--rtol=1e-14");
  report = parse_json(run->out);
  tap_ok(run->status == 1 && json_is_false(json_object_get(report, "converged")) &&
             number_at(report, "relative_residual") > 1e-14,
         "--json says that a solve does not converge");
  json_decref(report);
}

/* The operations of --profile take no more than the solve that it repeats, the longest first, and its iterations are
 * those of the first solve, whose residual is reported. */
static void test_json_profile(void)
{
  static const char *const keys[] = {"copy_bandwidth", "iterations", "update", "solve", "rows", NULL};
  static const char *const row_keys[] = {"name", "calls", "seconds", "bytes", "bandwidth", "share", NULL};
  const struct cli_run *run = CLI_RUN("solve", "poisson2d:40x40", "--solver", "gmres", "--json");
  json_t *report = parse_json(run->out);
  tap_ok(has_keys(report, (const char *const[]){"profile", NULL}, "report") && is_null(report, "profile"),
         "without --profile the profile is null");
  const double residual = number_at(report, "residual");
  json_decref(report);
  run = CLI_RUN("solve", "poisson2d:40x40", "--solver", "gmres", "--json", "--profile");
  report = parse_json(run->out);
  const json_t *profile = json_object_get(report, "profile"), *rows = json_object_get(profile, "rows");
  tap_ok(run->status == 0 && !run->err[0] && has_keys(profile, keys, "profile"), "--profile has its keys");
  const double all = number_at(profile, "update") + number_at(profile, "solve");
  const double iterations = number_at(report, "iterations");
  double sum = 0, last = INFINITY, products = 0, updates = 0;
  bool sorted = true, whole = json_array_size(rows) > 5;
  for (size_t i = 0; i < json_array_size(rows); i++) {
    const json_t *row = json_array_get(rows, i);
    const char *name = text_at(row, "name");
    const double seconds = number_at(row, "seconds"), calls = number_at(row, "calls");
    whole = whole && has_keys(row, row_keys, "row") && *name && calls > 0;
    sorted = sorted && seconds <= last;
    last = seconds;
    sum += seconds;
    if (strcmp(name, "matrix product") == 0) products = calls;
    if (strcmp(name, "precond update (iluk)") == 0) updates = calls;
  }
  tap_ok(whole && sorted, "the rows of a profile have their keys, and the longest comes first");
  tap_ok(sum > 0 && sum <= 1.01 * all + 1e-6, "the rows of a profile take %g of %g seconds", sum, all);
  tap_ok(products == iterations && updates == 1 && number_at(profile, "iterations") == iterations,
         "the profile has %g products in %g iterations, and one factorization", products, iterations);
  tap_ok(number_at(report, "residual") == residual, "with --profile the residual is that of the first solve");
  json_decref(report);
}

/* The matrix has a singular pivot, and no NaN. The report has no number that JSON cannot hold, and names the row. */
static void test_json_singular(void)
{
  const char *path = tap_write("singular.mtx", GENERAL "3 3 5\n1 1 1\n2 2 0\n3 3 1\n2 3 1\n3 2 1\n", -1);
  const struct cli_run *run = CLI_RUN("solve", path, "--json");
  json_t *report = parse_json(run->out);
  const json_t *row = json_object_get(report, "block_row");
  tap_ok(run->status == 1 && json_is_integer(row) && json_integer_value(row) == 1,
         "--json names the block row of a singular pivot");
  json_decref(report);
}

/* The name is not UTF-8, and the matrix is the identity, so that the timed iterations have nothing to do. */
static void test_bench(void)
{
  const char *path = tap_write("unit\xff.mtx", GENERAL "2 2 2\n1 1 1\n2 2 1\n", -1);
  const struct cli_run *run = CLI_RUN("bench", path, "--quick", "--level=0", "--threads=1", "--json");
  json_t *report = parse_json(run->out);
  check_run(run,
            run->status == 0 && number_at(report, "rows") == 2 &&
                strstr(text_at(report, "matrix"), "/unit\xef\xbf\xbd.mtx") && is_null(report, "last_residual") &&
                is_null(json_object_get(report, "times"), "orthogonalise") &&
                strstr(text_at(json_object_get(report, "not_measured"), "orthogonalise"), "ended before"),
            "bench --json has a name that is not UTF-8, and null with a reason for what was not measured");
  json_decref(report);
  run = CLI_RUN("bench", "poisson2d:8x8", "--quick", "--level=1", "--threads=1", "--block=2", "--rtol=1e-6", "--json");
  report = parse_json(run->out);
  const json_t *whole = json_object_get(json_object_get(report, "whole"), "bicgstab");
  check_run(run,
            run->status == 0 && number_at(report, "block") == 2 &&
                number_at(json_object_get(report, "times"), "update") > 0 && number_at(whole, "iterations") > 0 &&
                number_at(whole, "solve") > 0,
            "bench --rtol times whole solves, with the given block size");
  json_decref(report);
  run = CLI_RUN("bench", "poisson2d:8x8", "--quick", "--level=1", "--threads=1", "--json",
                "--set=precond=paric,sweep-mode=asynchronous,sweep-order=random,sweeps=7");
  report = parse_json(run->out);
  const json_t *sweeps = json_object_get(report, "sweeps");
  tap_ok(run->status == 0 && number_at(sweeps, "count") == 7 &&
             number_at(sweeps, "residual_after") < 1e-3 * number_at(sweeps, "residual_before"),
         "bench --set takes options of the library, and those for experiments");
  json_decref(report);
  const char *const wrong[] = {"--set=level=1",      "--set=precond",     "--set=sweep-order=up", "--set=sweep=1",
                               "--set=ordering=rcm", "--set=damping=0.5", "--set=parts=2"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    run = CLI_RUN("bench", "poisson2d:8x8", wrong[i]);
    tap_ok(is_refused(run, "bench", ""), "bench refuses %s: %s", wrong[i], run->err);
  }
  expect_refused(CLI_RUN("bench", "poisson2d:8x8", "--device=gpu"), "bench", "", "bench refuses an unknown device");
  run = CLI_RUN("bench", "poisson2d:8x8", "--quick", "--level=0", "--threads=1", "--device=cpu,cuda", "--json");
  check_run(run, run->status == 0 || (run->status == 3 && strchr(run->err, '\n') == run->err + strlen(run->err) - 1),
            "bench --device cpu,cuda runs, or one sentence says why it does not");
}

static void test_reference(void)
{
#ifdef HAVE_SUITESPARSE
  const struct cli_run *run = CLI_RUN("solve", "poisson2d:15x15", "--block=2", "--rtol=1e-12", "--reference", "--json");
  json_t *report = parse_json(run->out);
  const json_t *reference = json_object_get(report, "reference");
  double difference = number_at(reference, "difference");
  double residual = number_at(reference, "residual");
  double rcond = number_at(reference, "rcond");
  /* The condition number of this matrix is about 100. */
  tap_ok(run->status == 0 && difference < 1e-10 && residual < 1e-13 && rcond > 1e-3,
         "--reference agrees: difference %g, residual %g, rcond %g", difference, residual, rcond);
  json_decref(report);
  const char *path = tap_write("rank.mtx", GENERAL "2 2 4\n1 1 1\n1 2 1\n2 1 1\n2 2 1\n", -1);
  run = CLI_RUN("solve", path, "--precond=none", "--reference");
  tap_ok(strstr(run->out, "singular"), "--reference says that a matrix is singular");
  path = tap_write("nothing.mtx", GENERAL "0 0 0\n", -1);
  run = CLI_RUN("solve", path, "--rhs=ones", "--reference", "--json");
  report = parse_json(run->out);
  reference = json_object_get(report, "reference");
  check_run(run,
            run->status == 0 && json_is_false(json_object_get(reference, "singular")) &&
                json_is_real(json_object_get(reference, "difference")) && number_at(reference, "difference") == 0,
            "--reference of a matrix without rows differs by 0");
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
  cli_need("bench");
  test_json();
  test_json_profile();
  test_json_singular();
  test_json_errors();
  test_names();
  test_fill();
  test_bench();
  test_bench_table();
  test_reference();
  return tap_done();
}
