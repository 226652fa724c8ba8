/* test_cli_grid.c - the option --grid of solve and convert, and what solve reports about a grid. */
#include "config.h"

#include "tests/support/cli.h"
#include "tests/support/refusal.h"

static const char *path(const char *name)
{
  static char text[2][512];
  static unsigned next;
  char *buffer = text[next++ % 2];
  snprintf(buffer, sizeof text[0], "%s", tap_scratch(name));
  return buffer;
}

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
  const char *plain = path("plain.mtx");
  tap_ok(reports(CLI_RUN("solve", "poisson3d:5x4x3"), "5x4x3"), "solve tells the grid of the gallery");
  tap_ok(reports(CLI_RUN("solve", "blackoil:4x3x2", "--block", "1"), ""),
         "solve reports no grid with another block size");
  tap_ok(reports(CLI_RUN("solve", "poisson2d:4x4", "--grid", "2x4x2"), "2x4x2"), "--grid replaces it");
  tap_ok(reports(CLI_RUN("solve", "poisson2d:4x4", "--grid=8x2"), "8x2x1"), "two sizes are one layer");
  tap_write("plain.mtx", GENERAL "4 4 8\n1 1 4\n1 2 1\n1 3 1\n2 2 4\n2 4 1\n3 3 4\n3 4 1\n4 4 4\n", -1);
  tap_ok(reports(CLI_RUN("solve", plain), ""), "a file without a grid has none");
  tap_ok(reports(CLI_RUN("solve", plain, "--grid", "find"), "2x2x1"), "it is found");
  tap_ok(reports(CLI_RUN("solve", plain, "--grid", "find", "--ordering", "rcm", "--scale", "block"), "2x2x1"),
         "a grid does not hinder ordering and scaling");
}

static void refused(const struct cli_run *run, const char *tool, const char *says)
{
  if (!tap_ok(run->status == 2 && cli_is_one_sentence(run, tool) && strstr(run->err, says), "refused: %s", says))
    tap_note("status %d: %s", run->status, run->err);
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
  refused(CLI_RUN("convert", "poisson2d:4x4", path("o.mtx"), "--grid", "4"), "convert", "not '4'");
  refused(CLI_RUN("solve", "poisson2d:4x4", "--grid", "4x5"), "solve",
          "poisson2d:4x4: a grid of 4x5x1 has 20 cells, and the matrix has 16 block rows");
  refused(CLI_RUN("solve", "blackoil:4x3x2", "--grid", "4x3x6"), "solve", "72 cells, and the matrix has 24 block rows");
  refused(CLI_RUN("solve", "poisson2d:4x4", "--grid", "2000000000x2000000000x2000000000"), "solve", "more cells than");
  tap_write("well.mtx", GENERAL "4 4 6\n1 1 4\n1 4 1\n2 2 4\n2 3 1\n3 3 4\n4 4 4\n", -1);
  refused(CLI_RUN("solve", path("well.mtx"), "--grid", "find"), "solve", "block row 0 has an entry in column 3");
  tap_write("line.mtx", GENERAL "%%karst grid 2 x 2\n4 4 1\n1 1 4\n", -1);
  refused(CLI_RUN("solve", path("line.mtx")), "solve", "line 2: size 2 of the grid, 'x', is out of range (1 to");
}

static void test_convert(void)
{
  static const char *const files[] = {"text.mtx", "binary.kbsr"};
  for (int i = 0; i < 2; i++) {
    bool written = CLI_RUN("convert", "deadoil:4x3x2", path(files[i]))->status == 0;
    tap_ok(written && reports(CLI_RUN("solve", path(files[i])), "4x3x2"), "convert writes the grid to %s", files[i]);
    written = CLI_RUN("convert", path("plain.mtx"), path(files[i]), "--grid", "find", "--force")->status == 0;
    tap_ok(written && reports(CLI_RUN("solve", path(files[i])), "2x2x1"), "convert writes the grid that it finds");
    written = CLI_RUN("convert", path("plain.mtx"), path(files[i]), "--grid", "1x4", "--force")->status == 0;
    tap_ok(written && reports(CLI_RUN("solve", path(files[i])), "1x4x1"), "or is given");
  }
  remove(path("o.kbsr"));
  refused(CLI_RUN("convert", path("plain.mtx"), path("o.kbsr"), "--grid", "3x1"), "convert", "has 3 cells");
  tap_ok(remove(path("o.kbsr")) != 0, "nothing is written with a grid that does not fit");
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
  tap_need(context, karst_matrix_write(A, path("map.kbsr")), "write");
  karst_matrix_destroy(A);
  karst_context_destroy(context);
  tap_ok(reports(CLI_RUN("solve", path("map.kbsr")), "3x2x1 with a map of its cells"), "solve tells of a map");
  const struct cli_run *run = CLI_RUN("convert", path("map.kbsr"), path("map.mtx"));
  tap_ok(run->status == 0 && strstr(run->err, "only .kbsr files can hold a map of its cells"), "%s", run->err);
  tap_ok(reports(CLI_RUN("solve", path("map.mtx")), ""), "which is so");
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
  run = CLI_RUN("solve", path("plain.mtx"), "--json");
  tap_ok(run->status == 0 && strstr(run->out, "\"grid\": null"), "or null");
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
  test_convert();
  test_map();
  test_json();
  return tap_done();
}
