/* test_compare.c - the command compare: which cases a command line or a plan makes, and what it refuses. The cases are
 * those of --dry-run, one a line. */
#include "config.h"

#include "tests/support/commands.h"

#include <stdlib.h>
#include <unistd.h>

#ifdef HAVE_JANSSON
#include "tests/support/compare_rows.h"

static const char *results; /* the path of the results file */

/* Whether a dry run has these cases in this order, each with its text in its line. */
static bool lists(const struct cli_run *run, const char *const cases[])
{
  const char *line = run->out;
  int count = 0;
  for (; cases[count]; count++) {
    const char *end = strchr(line, '\n'), *place = strstr(line, cases[count]);
    const size_t length = strlen(cases[count]);
    if (!end || !place || place + length > end || (place[length] != '\n' && place[length] != ' ')) return false;
    line = end + 1;
  }
  return run->status == 0 && count_of(run->out, "\n") == count;
}
#define LISTS(run, ...) lists(run, (const char *const[]){__VA_ARGS__, NULL})
#define DRY(...) CLI_RUN("compare", "--dry-run", "--results", results, __VA_ARGS__)

static void test_product(void)
{
  const struct cli_run *run = DRY("poisson2d:4x4", "--precond", "jacobi,iluk", "--level", "0..2");
  check_run(run, LISTS(run, "precond=jacobi", "precond=iluk level=0", "precond=iluk level=1", "precond=iluk level=2"),
            "an option that makes no difference adds no cases");
  run = DRY("poisson2d:4x4", "--level=0..1", "--precond=jacobi,iluk,dilu");
  check_run(run,
            LISTS(run, "level=0 precond=iluk", "level=1 precond=iluk", "precond=jacobi", "precond=dilu") ||
                LISTS(run, "precond=jacobi", "precond=dilu", "level=0 precond=iluk", "level=1 precond=iluk"),
            "the order of the options does not matter");
  run = DRY("poisson2d:4x4", "poisson2d:5x5", "--block", "1,2", "--device=cpu,cuda:1", "--threads", "1..2");
  check_run(run,
            run->status == 0 && count_of(run->out, "\n") == 16 &&
                strstr(run->out, "1 poisson2d:4x4 block=1 device=cpu threads=1\n") &&
                strstr(run->out, "3 poisson2d:4x4 block=1 device=cuda:1 threads=1\n") &&
                strstr(run->out, "16 poisson2d:5x5 block=2 device=cuda:1 threads=2\n"),
            "matrices, blocks, devices and threads are multiplied in this order");
  run = DRY("poisson2d:4x4", "--precond=two-stage,iluk", "--first", "jacobi,iluk", "--first.level=0,1", "--level=5..6");
  check_run(run,
            LISTS(run, "precond=two-stage first=jacobi", "precond=two-stage first=iluk first.level=0",
                  "precond=two-stage first=iluk first.level=1", "precond=iluk level=5", "precond=iluk level=6"),
            "options inside a preconditioner are multiplied where it is chosen");
  run = DRY("poisson2d:4x4", "--first.precond=iluk", "--precond=two-stage", "--first.level=3");
  check_run(run, LISTS(run, "first=iluk precond=two-stage first.level=3"), "first.precond is first");
  run = DRY("poisson2d:4x4", "poisson2d:4x4", "--rtol", "1e-6,1.0E-06,0.000001,1e-7", "--max_iterations=07,7");
  check_run(run, LISTS(run, "rtol=1e-6 max-iterations=7", "rtol=1e-7 max-iterations=7"), "no case comes twice");
  run = DRY("poisson2d:4x4", "--solver", "cg,gmres", "--restart=10,20", "--norm=true,preconditioned");
  check_run(run,
            LISTS(run, "solver=cg norm=true", "solver=cg norm=preconditioned", "solver=gmres restart=10",
                  "solver=gmres restart=20"),
            "options of a solver are multiplied where it is chosen");
}

static void test_plan(void)
{
  const char *plan =
      scratch_file("plan.json", "{\"matrices\": [\"poisson2d:4x4\"], \"precond\": [\"iluk\", \"jacobi\"],\n"
                                " \"level\": \"0..1\", \"rtol\": 1e-6, \"negate\": false, \"block\": [1]}");
  const struct cli_run *run = DRY("--plan", plan);
  check_run(run,
            LISTS(run, "poisson2d:4x4 block=1 device=cpu precond=iluk level=0 rtol=1e-6", "level=1", "precond=jacobi"),
            "a plan names options as the command line does");
  run = DRY("--plan", plan, "poisson2d:5x5", "--precond=jacobi", "--scale", "block");
  check_run(run,
            LISTS(run, "poisson2d:4x4 block=1 device=cpu precond=jacobi rtol=1e-6 scale=block",
                  "poisson2d:5x5 block=1 device=cpu precond=jacobi rtol=1e-6 scale=block"),
            "the command line adds matrices, and its values replace the plan's");
  tap_write("plan.json",
            "{\"matrices\": \"poisson2d:4x4\", \"max_iterations\": 9, \"time_limit\": 2.5,\n"
            " \"cases\": [{\"precond\": \"iluk\", \"level\": [0, 3]},\n"
            " {\"precond\": \"jacobi\", \"matrices\": \"poisson2d:6x6\", \"negate\": true}]}",
            -1);
  run = DRY("--plan", plan);
  check_run(run,
            LISTS(run, "poisson2d:4x4 device=cpu max-iterations=9 precond=iluk level=0", "level=3",
                  "poisson2d:6x6 device=cpu negate=yes max-iterations=9 precond=jacobi"),
            "each of a plan's cases is a product of its own");
}

static void test_bad_plans(void)
{
  static const struct {
    const char *text, *says;
  } bad[] = {
      {"{\"matrices\": \"poisson2d:4x4\", \"levle\": 1}", "\"levle\" is unknown: a plan has matrices"},
      {"{\"matrices\": \"poisson2d:4x4\", \"level\": {}}", "\"level\" takes"},
      {"{\"matrices\": \"poisson2d:4x4\", \"level\": [[1]]}", "\"level\" takes"},
      {"{\"matrices\": \"poisson2d:4x4\", \"level\": null}", "\"level\" takes"},
      {"{\"matrices\": \"poisson2d:4x4\", \"level\": []}", "is an empty array"},
      {"{\"matrices\": \"poisson2d:4x4\", \"level\": 1.5}", "level \"1.5\" is not a whole number"},
      {"{\"matrices\": \"poisson2d:4x4\", \"precond\": \"ilu\"}", "precond \"ilu\" is unknown"},
      {"{\"matrices\": \"poisson2d:4x4\", \"block\": \"a\"}", "block 'a'"},
      {"{\"matrices\": \"poisson2d:4x4\", \"negate\": 1}", "true or false"},
      {"{\"matrices\": \"poisson2d:4x4\", \"rhs\": [\"ones\", \"Aones\"]}", "one value"},
      {"{\"matrices\": \"poisson2d:4x4\", \"results\": 5}", "\"results\" takes one text"},
      {"{\"matrices\": \"poisson2d:4x4\", \"cases\": []}", "\"cases\" takes"},
      {"{\"matrices\": \"poisson2d:4x4\", \"cases\": [1]}", "must be an object"},
      {"{\"matrices\": \"poisson2d:4x4\", \"cases\": [{\"results\": \"x\"}]}", "\"results\" is unknown"},
      {"{\"matrices\": \"poisson2d:4x4\"\n \"level\": 1}", "line 2"},
      {"{\"level\": 1, \"level\": 2}", "duplicate"},
      {"{\"matrices\": \"poisson2d:4x4\", \"time-limit\": -1}", "bad.json: time-limit takes"},
      {"{\"matrices\": \"poisson2d:4x4\", \"memory_limit\": \"4X\"}", "bad.json: memory-limit takes"},
      {"{\"max-iterations\": 1, \"max_iterations\": 2}",
       "\"max-iterations\" and \"max_iterations\" name the same option"},
      {"{\"first\": \"jacobi\", \"first.precond\": \"rrb\"}", "\"first\" and \"first.precond\" name the same option"},
      {"{\"time-limit\": 1, \"time_limit\": 2}", "\"time-limit\" and \"time_limit\" name the same option"},
      {"{\"cases\": [{\"insert_diagonal\": true, \"insert-diagonal\": false}]}", "name the same option"},
      {"{\"matrices\": \"poisson2d:4x4\", \"memory-limit\": [1]}", "\"memory-limit\" takes one text"},
      {"{\"matrices\": \"poisson2d:4x4\\u0000\"}", "column 34: a string contains a NUL"},
      {"[]", "must be an object"},
      {"", "line 1"},
      {"{}", "no matrix"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    const struct cli_run *run = DRY("--plan", tap_write("bad.json", bad[i].text, -1));
    check_run(run, is_refused(run, "compare", bad[i].says), "a bad plan: %s", bad[i].says);
  }
  const struct cli_run *run = DRY("--plan", tap_scratch("absent.json"));
  expect_refused(run, "compare", "", "a missing plan is refused");
  expect_refused(DRY("--plan", tap_write("bad.json", "{\"matrices\":\n \"poisson2d:4x4\"}\0", 31)), "compare",
                 "line 2 contains a NUL byte", "a plan with a NUL after its end is refused");
  expect_refused(DRY("--plan", "/tmp"), "compare", "", "a folder as plan is refused");
}

static void test_bad_arguments(void)
{
  static const char *const bad[][3] = {
      {"--level", "0,,1", "empty"},
      {"--level", "3..1", "the first number of the range is larger"},
      {"--level", "0..1000000", "too many"},
      {"--level", "0..two", "range"},
      {"--level", "x", "whole number"},
      {"--precond", "jacobi,ilu", "precond \"ilu\" is unknown"},
      {"--rtol", "1..3", "finite number"},
      {"--block", "0", "integer from 1"},
      {"--threads", "1,many", "integer from 1, a list"},
      {"--repeat", "1,2", "it takes one integer from 1\n"},
      {"--device", "gpu", "cpu, cuda or cuda:N"},
      {"--time-limit", "0", "above 0"},
      {"--memory-limit", "4X", "500M or 4G"},
      {"--baseline", "device", "NAME=VALUE"},
      {"--baseline", "levle=1", "NAME=VALUE"},
      {"--retry", "sometimes", "converged, not-converged, failed, no-device, crashed, out-of-time, out-of-memory\n"},
      {"--retry", "crashed,", "--retry takes outcomes"},
      {"--baseline", "level=1", "no case sets level"},
      {"--baseline", "device=cuda", "no case has this value; the cases have cpu"},
      {"--levle", "1", "did you mean --level"},
  };
  const struct cli_run *run;
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    run = DRY("poisson2d:4x4", bad[i][0], bad[i][1]);
    check_run(run, is_refused(run, "compare", bad[i][2]), "%s %s is refused", bad[i][0], bad[i][1]);
  }
  expect_refused(DRY("poisson2d:4x4", "--precond=jacobi,iluk", "--level=0", "--baseline=precond=jacobi,level=0"),
                 "compare", "no case has all of these", "a baseline whose values no case has together is refused");
  expect_refused(DRY("--level=1"), "compare", "no matrix", "no matrix is refused");
  expect_refused(DRY("nowhere.mtx"), "compare", "no file named 'nowhere.mtx'", "a missing matrix is refused");
  expect_refused(DRY(""), "compare", "compare: matrices ''", "a matrix without a name is refused");
  expect_refused(DRY("--", "--level=1"), "compare", "no file named '--level=1'", "after -- every argument is a matrix");
  expect_refused(DRY("-"), "compare", "", "standard input is refused");
  expect_refused(DRY("poisson2d:4x4", "--solver=gmres", "--level=0..999", "--restart=1..100", "--shift=0,1"), "compare",
                 "more than 100000 cases", "too many cases are refused");
  run = DRY("poisson2d:4x4", "--precond=jacobi", "--solver=cg", "--level=0..999", "--restart=1..100", "--shift=0,1");
  check_run(run, LISTS(run, "precond=jacobi solver=cg"), "long lists that make no difference add no cases");
}

/* The results file must be a file of its own: not a table, a folder or a device. */
static void test_bad_files(void)
{
  expect_refused(CLI_RUN("compare", "poisson2d:4x4", "--results", scratch_folder()), "compare", "",
                 "a folder as results file is refused");
  expect_refused(CLI_RUN("compare", "poisson2d:4x4", "--results", "/dev/full"), "compare", "",
                 "a device as results file is refused");
  expect_refused(CLI_RUN("compare", "poisson2d:4x4", "--results", "/nowhere/results"), "compare", "",
                 "results in a missing folder are refused");
  const struct cli_run *run = CLI_RUN("compare", "poisson2d:4x4", "--results", results, "--csv", results);
  check_run(run, run->status == 2 && strstr(run->err, "overwrite the results"),
            "a table does not overwrite the results");
  expect_refused(CLI_RUN("compare", "poisson2d:4x4", "--results", results, "--csv", "-", "--json=-"), "compare", "",
                 "two tables for standard output are refused");
  expect_refused(CLI_RUN("compare", "--tables-only", "--results", results), "compare", "without --tables-only",
                 "tables of a missing results file are refused");
  expect_refused(CLI_RUN("compare", "poisson2d:4x4", "--tables-only", "--results", results), "compare",
                 "without --tables-only", "tables of a missing results file are refused even if the cases are named");
  expect_refused(CLI_RUN("compare", "--tables-only", "--results", tap_write("none.jsonl", "", 0)), "compare",
                 "no rows yet", "tables of an empty results file are refused");
  tap_ok(access(results, F_OK) != 0, "no refused run makes a results file");
}

static const char tiny[] = GENERAL "2 2 2\n1 1 1\n2 2 1\n";

/* The matrices of a folder are sorted, with any names, and right-hand sides are not taken for matrices. */
static void test_folder(void)
{
  static const char *const names[] = {"-x.mtx", "a b'\"\\.mtx", "n\nl.mtx", "z.mtx"};
  const char *folder = scratch_folder();
  for (int i = 0; i < 4; i++) tap_write(names[i], tiny, -1);
  tap_write("z_b.mtx", ARRAY "2 1\n1\n2\n", -1);
  tap_write("y.mtx", ARRAY "2 1\n1\n2\n", -1);
  tap_write("README.md", "no matrix", -1);
  const struct cli_run *run = DRY(folder);
  check_run(run, LISTS(run, "/-x.mtx", "/a b'\"\\.mtx", "/n\\x0al.mtx", "/z.mtx"), "a folder's matrices are compared");
  run = CLI_RUN("compare", folder, "--results", results, "--quiet");
  json_t *rows = read_rows(results), *row;
  size_t i, fine = 0;
  json_array_foreach(rows, i, row) fine += strcmp(row_text(row, "outcome"), "converged") == 0;
  check_run(run, run->status == 0 && json_array_size(rows) == 4 && fine == 4, "matrices of any name are solved");
  check_run(run, strstr(run->err, "with another ending are skipped; matrix files end in .mtx "),
            "a note says how many files are skipped");
  json_decref(rows);
  tap_write("z.mtx", GENERAL "2 2 2\n1 1 1\n2 2 5\n", -1);
  run = CLI_RUN("compare", folder, "--results", results, "--quiet");
  check_run(run, run->status == 0 && count_of(file_text(results), "\n") == 5,
            "only the file that has changed is solved again");
  unlink(results);
  for (int k = 0; k < 4; k++) unlink(tap_scratch(names[k]));
}

/* What solve reads beside a matrix is part of the case: Flow's right-hand side, PETSc's block size. */
static void test_files_beside(void)
{
  const char *matrix = scratch_file("p_matrix_istl.mm", tiny);
  tap_write("p_rhs_istl.mm", ARRAY "2 1\n1\n2\n", -1);
  for (int i = 0; i < 3; i++) {
    const struct cli_run *run = CLI_RUN("compare", matrix, "--results", results, "--quiet");
    check_run(run, run->status == 0 && count_of(file_text(results), "\n") == i + 1,
              "a file beside the matrix is part of its case");
    if (i == 0) tap_write("p_rhs_istl.mm", ARRAY "2 1\n1\n3\n", -1);
    if (i == 1) tap_write("p_matrix_istl.mm.info", "-matload_block_size 2\n", -1);
  }
  unlink(results);
}

/* --actnum goes to solve, and the file that it names is part of the case. */
static void test_actnum(void)
{
  const char *matrix = scratch_file("t.mtx", tiny), *cells = scratch_file("a.inc", "ACTNUM\n 1 1 2*0 /\n");
  for (int i = 0; i < 2; i++) {
    const struct cli_run *run =
        CLI_RUN("compare", matrix, "--grid=2x2", "--actnum", cells, "--results", results, "--quiet");
    json_t *rows = read_rows(results), *row = json_array_get(rows, (size_t)i);
    const json_t *size = json_array_get(json_object_get(json_object_get(row, "solve"), "grid"), 1);
    check_run(run, run->status == 0 && json_array_size(rows) == (size_t)i + 1 && json_integer_value(size) == 2,
              "active cells, file %d", i);
    json_decref(rows);
    tap_write("a.inc", "1 0 0 1", -1);
  }
  expect_refused(CLI_RUN("compare", matrix, "--grid=2x2", "--actnum", cells, "--results", results, "--csv", cells),
                 "compare", "--csv would overwrite --actnum", "a table is not written over the active cells");
  unlink(results);
}

/* For auto, an option at its default differs from one that is left out. */
static void test_auto(void)
{
  CLI_RUN("compare", "poisson2d:30x30", "--precond=auto", "--results", results, "--quiet");
  const struct cli_run *run = CLI_RUN("compare", "poisson2d:30x30", "--precond=auto", "--level=0", "--ordering=natural",
                                      "--results", results, "--quiet");
  json_t *rows = read_rows(results);
  check_run(run,
            run->status == 0 && json_array_size(rows) == 2 &&
                row_iterations(json_array_get(rows, 0)) < row_iterations(json_array_get(rows, 1)),
            "auto with options at their defaults is a case of its own");
  run = DRY("poisson2d:4x4", "--precond=iluk,auto", "--level=0..2", "--rtol=0.0001,1e-8");
  check_run(run,
            LISTS(run, "precond=iluk level=0 rtol=0.0001", "precond=iluk level=0 rtol=1e-8",
                  "precond=iluk level=1 rtol=0.0001", "precond=iluk level=1 rtol=1e-8",
                  "precond=iluk level=2 rtol=0.0001", "precond=iluk level=2 rtol=1e-8", "precond=auto rtol=0.0001",
                  "precond=auto rtol=1e-8"),
            "beside other preconditioners auto is given no level");
  run = DRY("poisson2d:4x4", "--ordering=natural,rcm", "--trisolve=auto,jacobi", "--trisolve-sweeps=2,3", "--shift=0,1",
            "--modified=0,1", "--precond=jacobi,auto");
  check_run(run, LISTS(run, "precond=auto", "ordering=natural precond=jacobi", "ordering=rcm precond=jacobi"),
            "beside other preconditioners auto is given no option that it chooses");
  run = DRY("poisson2d:4x4", "--precond=auto", "--level=0..2");
  check_run(run, LISTS(run, "level=0", "level=1", "level=2"), "auto alone is given the options");
  json_decref(rows);
  unlink(results);
}

/* A batch of levels by blocks. */
static void test_levels_by_blocks(void)
{
  const struct cli_run *run =
      CLI_RUN("compare", "poisson2d:12x12", "blackoil:4x4x2", "--block=1,2,3", "--level=0..2", "--results", results);
  json_t *rows = read_rows(results), *row;
  size_t i, fine = 0;
  json_array_foreach(rows, i, row)
  {
    json_t *solve = json_object_get(row, "solve"), *what = json_object_get(row, "case");
    const char *level = row_text(json_object_get(what, "options"), "level");
    fine += strcmp(row_text(row, "outcome"), "converged") == 0 && json_is_true(json_object_get(solve, "converged")) &&
            json_integer_value(json_object_get(solve, "level")) == atoi(level) &&
            json_equal(json_object_get(solve, "block"), json_object_get(what, "block")) &&
            json_array_size(json_object_get(row, "history")) == (size_t)row_iterations(row) + 1 &&
            json_number_value(json_object_get(row, "wall")) > 0 && row_text(row, "host")[0] &&
            row_text(row, "version")[0];
  }
  check_run(run, run->status == 0 && json_array_size(rows) == 18 && fine == 18,
            "levels by blocks: each case converges, and its row has the settings of the case");
  tap_ok(count_of(run->err, "\n") == 18 &&
             strstr(run->err, "18/18 blackoil:4x4x2 block=3 device=cpu level=2: converged"),
         "the log has a line for each case");
  json_decref(rows);
  run = CLI_RUN("compare", "poisson2d:12x12", "blackoil:4x4x2", "--block=1,2,3", "--precond=iluk", "--results", results,
                "--level=0..2");
  check_run(run, run->status == 0 && count_of(file_text(results), "\n") == 18 && !run->err[0],
            "a finished case is not run again, even if a default is named");
  run = CLI_RUN("compare", "--tables-only", "--results", results);
  check_run(run, run->status == 0 && run->out[0] && !run->err[0], "--tables-only makes tables of all rows");
  run = CLI_RUN("compare", "--tables-only", "--results", results, "--baseline=block=2,level=01");
  check_run(run, run->status == 0 && run->out[0] && !run->err[0], "a baseline that some case has is accepted");
  expect_refused(CLI_RUN("compare", "--tables-only", "--results", results, "--baseline=level=7"), "compare",
                 "the cases have 0, 1, 2\n", "a baseline that no row has is refused");
  expect_refused(CLI_RUN("compare", "--tables-only", "--results", results, "--baseline=block=1,level=1,block=2"),
                 "compare", "no case has all of these", "a baseline whose values no row has together is refused");
  expect_refused(CLI_RUN("compare", "poisson2d:13x13", "poisson2d:14x14", "--tables-only", "--results", results),
                 "compare", "no row of these 2 cases", "tables of other cases than those of the rows are refused");
  unlink(results);
}

static void test_all(void)
{
  results = scratch_path("results.jsonl");
  test_product();
  test_plan();
  test_bad_plans();
  test_bad_arguments();
  test_bad_files();
  test_folder();
  test_files_beside();
  test_actnum();
  test_auto();
  test_levels_by_blocks();
}
#else
static void test_all(void)
{
  const struct cli_run *run = CLI_RUN("compare", "poisson2d:4x4");
  expect_refused(run, "compare", "jansson", "compare without jansson is refused");
}
#endif

int main(void)
{
  cli_need("compare");
  cli_need("solve");
  test_all();
  return tap_done();
}
