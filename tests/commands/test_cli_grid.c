/* test_cli_grid.c - the options --grid and --actnum of solve and convert, and the grid in solve's report. */
#include "config.h"

#include "tests/support/commands.h"

/* Returns whether solve reports a matrix with this grid; "" for none. */
static bool reports(const struct cli_run *run, const char *grid)
{
  const char *says = strstr(run->out, ", grid "), *end = strchr(run->out, '\n');
  if (run->status != 0 || !end) return false;
  if (!*grid) return !says;
  return says && says < end && strncmp(says + 7, grid, strlen(grid)) == 0 && says[7 + strlen(grid)] == '\n';
}

static void test_solve(void)
{
  const char *plain =
      scratch_file("plain.mtx", GENERAL "4 4 8\n1 1 4\n1 2 1\n1 3 1\n2 2 4\n2 4 1\n3 3 4\n3 4 1\n4 4 4\n");
  tap_ok(reports(CLI_RUN("solve", "poisson3d:5x4x3"), "5x4x3"), "solve reports the grid of a gallery problem");
  tap_ok(reports(CLI_RUN("solve", "blackoil:4x3x2", "--block", "1"), ""),
         "solve reports no grid with another block size");
  tap_ok(reports(CLI_RUN("solve", "poisson2d:4x4", "--grid", "2x4x2"), "2x4x2"),
         "--grid replaces the grid of the problem");
  tap_ok(reports(CLI_RUN("solve", "poisson2d:4x4", "--grid=8x2"), "8x2x1"), "a grid of two sizes has one layer");
  tap_ok(reports(CLI_RUN("solve", plain), ""), "solve reports no grid for a file without one");
  tap_ok(reports(CLI_RUN("solve", plain, "--grid", "find"), "2x2x1"), "--grid find finds the grid");
  tap_ok(reports(CLI_RUN("solve", plain, "--grid", "find", "--ordering", "rcm", "--scale", "block"), "2x2x1"),
         "a grid is found with ordering and scaling");
}

static void refused(const struct cli_run *run, const char *tool, const char *says)
{
  check_run(run, is_refused(run, tool, says), "%s refuses: %s", tool, says);
}

static void test_refused(void)
{
  static const char *const texts[] = {"4",     "4x",    "x4",    "4x4x",   "4x4x1x1", "0x4",   "-4x-4",
                                      "4X4",   " 4x4",  "4x4 ",  "4x4,1",  "+4x4",    "finds", "99999999999999999999x1",
                                      "4.0x4", "1e1x4", "4x4x0", "0x10x10"};
  char says[100];
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    snprintf(says, sizeof says, "with sizes from 1, not '%s'", texts[i]);
    refused(CLI_RUN("solve", "poisson2d:4x4", "--grid", texts[i]), "solve", says);
  }
  refused(CLI_RUN("solve", "poisson2d:4x4", "--grid", ""), "solve", "--grid needs a value");
  refused(CLI_RUN("convert", "poisson2d:4x4", scratch_path("o.mtx"), "--grid", "4"), "convert", "not '4'");
  refused(CLI_RUN("solve", "poisson2d:4x4", "--grid", "4x5"), "solve",
          "poisson2d:4x4: a grid of 4x5x1 has 20 cells, and the matrix has 16 block rows");
  refused(CLI_RUN("solve", "blackoil:4x3x2", "--grid", "4x3x6"), "solve", "72 cells, and the matrix has 24 block rows");
  refused(CLI_RUN("solve", "poisson2d:4x4", "--grid", "2000000000x2000000000x2000000000"), "solve", "more cells than");
  tap_write("well.mtx", GENERAL "4 4 6\n1 1 4\n1 4 1\n2 2 4\n2 3 1\n3 3 4\n4 4 4\n", -1);
  refused(CLI_RUN("solve", scratch_path("well.mtx"), "--grid", "find"), "solve",
          "block row 0 has an entry in column 3");
  tap_write("line.mtx", GENERAL "%%karst grid 2 x 2\n4 4 1\n1 1 4\n", -1);
  refused(CLI_RUN("solve", scratch_path("line.mtx")), "solve",
          "line 2: size 2 of the grid, 'x', is out of range (1 to");
}

/* The grid of 2x2 cells is a corner of one of 3x3, as a deck, a formatted grid file and plain values say it. */
static void test_actnum(void)
{
  static const char *const texts[] = {
      "-- ACTNUM 4*1 /\nPORO\n9*0.25 /\nACTNUM -- of 9\n 2*1 0\r\n1 1\n -- 1 0\n 0 3*0/\n",
      "'ZCORN   '  1 'REAL'\n 0.0\n 'ACTNUM  '    9 'INTE'\n 1 1 0 1 1 0\n 0 0 0\n 'ENDGRID '  0 'INTE'\n",
      "''\nACTNUM 1 1 0 1 1 0 3*0 ''", "1 1 0 1 1 0 3*0", "1*1 1 0 2*1 4*0\n/ 17"};
  const char *plain = scratch_path("plain.mtx"), *cells = scratch_path("a.inc"), *made = scratch_path("made.kbsr");
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    tap_write("a.inc", texts[i], -1);
    tap_ok(reports(CLI_RUN("solve", plain, "--grid", "3x3", "--actnum", cells, "--precond", "fgbilu"),
                   "3x3x1 with a map of its cells"),
           "active cells, text %d", (int)i);
  }
  tap_ok(CLI_RUN("convert", plain, made, "--grid", "3x3", "--actnum", cells)->status == 0 &&
             reports(CLI_RUN("solve", made), "3x3x1 with a map of its cells"),
         "convert keeps the active cells");
  refused(CLI_RUN("convert", plain, cells, "--grid", "3x3", "--actnum", cells), "convert",
          "which would be overwritten");
  refused(CLI_RUN("solve", plain, "--grid", "3x3", "--actnum", cells, "--solution", cells), "solve",
          "--solution and --actnum name the same file");
  tap_write("a.inc", "4*1", -1);
  tap_ok(reports(CLI_RUN("solve", plain, "--grid", "2x2", "--actnum", cells), "2x2x1"),
         "a grid all of whose cells are active has no map");
}

static void test_wrong_actnum(void)
{
  static const char *const wrong[][2] = {
      {"ACTNUM\n4*1\n0 2 /\n", ":3: '2' is neither 0 nor 1, nor n*0 or n*1"},
      {"ACTNUM\n4*1 0\n0*1 4*0/\n", ":3: '0*1' is neither 0 nor 1"},
      {"4*1 0\n1.0 3*0\n", ":2: '1.0' is neither 0 nor 1"},
      {"4*1 0 -1", ":1: '-1' is neither 0 nor 1"},
      {"4*1 0\n*1", ":2: '*1' is neither 0 nor 1"},
      {"ACTNUM\n4*1\n4*0 /\n0", ":3: ACTNUM has 8 values, and the grid 3x3x1 has 9 cells"},
      {"4*1 4*0\n\n", ":3: ACTNUM has 8 values, and the grid 3x3x1 has 9 cells"},
      {"4*1\n6*0", ":2: ACTNUM has more than 9 values, the cells of the grid 3x3x1"},
      {"4*1 5*0 1", ":1: ACTNUM has more than 9 values"},
      {"3*1 6*0", ": 3 active cells, and the matrix has 4 block rows; a simulator may switch off more cells"},
      {"6*1 3*0", ": 6 active cells, and the matrix has 4 block rows"},
      {"'ACTNUM'    8 'INTE'\n 1 1 0 1 1 0\n 0 0 0\n", ":1: ACTNUM has 8 values, and the grid 3x3x1 has 9 cells"},
      {"'ACTNUM'\n 9 'INTE'\n 1 1 0 1 1 0\n 0 0\n'END' 0 'INTE'", ":5: ACTNUM has 8 values, and the grid 3x3x1 has"},
      {"'ACTNUM' 9 'INTE' 1 1 0 1 1 0\n 0 0 0 0", ":2: ACTNUM has more than 9 values"},
      {"'ACTNUM' 9\n 1 1 0 1 1 0 3*0", ":2: 'ACTNUM' is not followed by a number of values and 'INTE'"},
      {"'ACTNUM' '' 'INTE' 4*1 5*0", ":1: 'ACTNUM' is not followed by a number"},
      {"'ACTNUM'", ":1: 'ACTNUM' is not followed by a number"},
      {"ACTNUM\n4*1 '' 5*0", ":2: ACTNUM has 4 values, and the grid 3x3x1 has 9 cells"},
      {"PORO\n9*0.25 /\n", ": no values of the keyword ACTNUM"},
      {"ACTNUM\n", ": no values of the keyword ACTNUM"},
      {"", ": no values of the keyword ACTNUM"}};
  const char *plain = scratch_path("plain.mtx"), *cells = scratch_path("a.inc");
  char says[160];
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    tap_write("a.inc", wrong[i][0], -1);
    snprintf(says, sizeof says, "a.inc%s", wrong[i][1]);
    refused(CLI_RUN("solve", plain, "--grid", "3x3", "--actnum", cells), "solve", says);
  }
  tap_write("a.inc", "\0\0\0\020ACTNUM  ", 12);
  refused(CLI_RUN("solve", plain, "--grid", "3x3", "--actnum", cells), "solve", "of a binary .EGRID");
  refused(CLI_RUN("solve", plain, "--grid", "3x3", "--actnum", scratch_path("none")), "solve", "none: No such file");
  refused(CLI_RUN("solve", plain, "--grid", "3x3", "--actnum", "/"), "solve", "/: Is a directory");
  refused(CLI_RUN("solve", plain, "--actnum", cells), "solve", "--actnum needs the sizes of the grid");
  refused(CLI_RUN("convert", plain, scratch_path("o.mtx"), "--grid", "find", "--actnum", cells), "convert",
          "--actnum needs the sizes of the grid");
  refused(CLI_RUN("solve", scratch_path("well.mtx"), "--precond", "fgbilu"), "solve",
          "and other grids fit no further; give it with --grid NXxNYxNZ, and its active cells with --actnum FILE");
}

static void test_convert(void)
{
  static const char *const files[] = {"text.mtx", "binary.kbsr"};
  const char *plain = scratch_path("plain.mtx"), *made = scratch_path("o.kbsr");
  for (int i = 0; i < 2; i++) {
    const char *file = scratch_path(files[i]);
    bool written = CLI_RUN("convert", "deadoil:4x3x2", file)->status == 0;
    tap_ok(written && reports(CLI_RUN("solve", file), "4x3x2"), "convert writes the grid to %s", files[i]);
    written = CLI_RUN("convert", plain, file, "--grid", "find", "--force")->status == 0;
    tap_ok(written && reports(CLI_RUN("solve", file), "2x2x1"), "convert writes the grid that it finds");
    written = CLI_RUN("convert", plain, file, "--grid", "1x4", "--force")->status == 0;
    tap_ok(written && reports(CLI_RUN("solve", file), "1x4x1"), "convert writes the grid that it is given");
  }
  remove(made);
  refused(CLI_RUN("convert", plain, made, "--grid", "3x1"), "convert", "has 3 cells");
  tap_ok(remove(made) != 0, "nothing is written with a grid that does not fit");
}

/* For a grid with holes, solve reports the map, and convert notes that a text file cannot hold it. */
static void test_map(void)
{
  const karst_index cell[] = {0, 1, 3, 5}, row_start[] = {0, 1, 2, 3, 4}, column[] = {0, 1, 2, 3};
  const double value[] = {1, 2, 3, 4};
  karst_context *context;
  karst_matrix *A;
  tap_need(NULL, karst_context_create(NULL, &context), "context");
  tap_need(context, karst_matrix_create(context, 4, 1, row_start, column, value, KARST_COPY, &A), "matrix");
  tap_need(context, karst_matrix_set_grid_cells(A, 3, 2, 1, cell), "map");
  const char *map = scratch_path("map.kbsr"), *text = scratch_path("map.mtx");
  tap_need(context, karst_matrix_write(A, map), "write");
  karst_matrix_destroy(A);
  karst_context_destroy(context);
  tap_ok(reports(CLI_RUN("solve", map), "3x2x1 with a map of its cells"), "solve reports a map");
  const struct cli_run *run = CLI_RUN("convert", map, text);
  tap_ok(run->status == 0 && strstr(run->err, "only .kbsr files can hold a map of its cells"), "%s", run->err);
  tap_ok(reports(CLI_RUN("solve", text), ""), "the text file has no grid");
}

static void test_json(void)
{
#ifdef HAVE_JANSSON
  const struct cli_run *run = CLI_RUN("solve", "poisson3d:5x4x3", "--json");
  const char *key = strstr(run->out, "\"grid\": [");
  int size[3] = {0};
  tap_ok(run->status == 0 && key && sscanf(key, "\"grid\": [ %d, %d, %d ]", &size[0], &size[1], &size[2]) == 3 &&
             size[0] == 5 && size[1] == 4 && size[2] == 3,
         "--json has the grid");
  run = CLI_RUN("solve", scratch_path("plain.mtx"), "--json");
  tap_ok(run->status == 0 && strstr(run->out, "\"grid\": null"), "--json has null without a grid");
#else
  tap_skip("built without jansson", "--json has the grid");
#endif
}

int main(void)
{
  cli_need("solve");
  cli_need("convert");
  test_solve();
  test_refused();
  test_actnum();
  test_wrong_actnum();
  test_convert();
  test_map();
  test_json();
  return tap_done();
}
