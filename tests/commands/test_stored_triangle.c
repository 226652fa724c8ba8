/* The option --stored-triangle of solve and convert: the triangle that a symmetric file stores is the whole matrix. */
#include "config.h"

#include "tests/support/commands.h"

int main(void)
{
  cli_need("solve");
  const char *file = scratch_file("symmetric.mtx", "%%MatrixMarket matrix coordinate real symmetric\n3 3 5\n"
                                                   "1 1 4\n2 1 1\n2 2 5\n3 2 2\n3 3 6\n");
  const char *triangle = scratch_file("lower.mtx", GENERAL "3 3 5\n1 1 4\n2 1 1\n2 2 5\n3 2 2\n3 3 6\n");
  const char *copy = scratch_path("copy.mtx");
  const struct cli_run *run = CLI_RUN("solve", file, "--stored-triangle");
  tap_ok(run->status == 0 && strstr(run->out, "the stored triangle, 3 rows, 5 entries"),
         "solve takes the stored triangle, and says so");
  tap_ok(strstr(run->out, "iterations  1\n") != NULL, "ILU(0) factors the triangle completely");
  run = CLI_RUN("solve", file);
  tap_ok(run->status == 0 && strstr(run->out, "3 rows, 7 entries"),
         "without --stored-triangle solve adds the mirror image");
  run = CLI_RUN("convert", file, copy, "--stored-triangle");
  tap_ok(run->status == 0 && CLI_RUN("diff", copy, triangle)->status == 0, "convert writes the triangle");
  tap_ok(CLI_RUN("diff", file, triangle)->status == 1, "the triangle differs from the symmetric matrix");
  run = CLI_RUN("solve", triangle, "--stored-triangle");
  tap_ok(run->status == 0 && strstr(run->out, "3 rows, 5 entries"), "a general file is read as it is");
  expect_refused(CLI_RUN("solve", "poisson2d:4x4", "--stored-triangle"), "solve", "poisson2d:4x4 is not one",
                 "a problem of the gallery is refused");
  expect_refused(CLI_RUN("solve", "nowhere.mtx", "--stored-triangle"), "solve", "no file named 'nowhere.mtx'",
                 "a missing file is refused");
#ifdef HAVE_JANSSON
  run = CLI_RUN("solve", file, "--stored-triangle", "--json");
  tap_ok(strstr(run->out, "\"stored_triangle\": true") != NULL, "JSON says that the triangle is the matrix");
  run = CLI_RUN("solve", file, "--json");
  tap_ok(strstr(run->out, "\"stored_triangle\": false") != NULL, "JSON says that the triangle is not the matrix");
#endif
  return tap_done();
}
