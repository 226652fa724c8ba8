/* The option --stored-triangle of solve and convert: the triangle that a symmetric file stores is the whole matrix. */
#include "config.h"

#include "tests/support/cli.h"

#include <stdio.h>
#include <string.h>

static const char symmetric[] = "%%MatrixMarket matrix coordinate real symmetric\n3 3 5\n"
                                "1 1 4\n2 1 1\n2 2 5\n3 2 2\n3 3 6\n";
static const char lower[] = "%%MatrixMarket matrix coordinate real general\n3 3 5\n"
                            "1 1 4\n2 1 1\n2 2 5\n3 2 2\n3 3 6\n";

int main(void)
{
  char file[512], triangle[512], copy[512];
  cli_need("solve");
  snprintf(file, sizeof file, "%s", tap_write("symmetric.mtx", symmetric, -1));
  snprintf(triangle, sizeof triangle, "%s", tap_write("lower.mtx", lower, -1));
  snprintf(copy, sizeof copy, "%s", tap_scratch("copy.mtx"));
  const struct cli_run *run = CLI_RUN("solve", file, "--stored-triangle");
  tap_ok(run->status == 0 && strstr(run->out, "the stored triangle, 3 rows, 5 entries"),
         "solve takes the stored triangle, and says so");
  tap_ok(strstr(run->out, "iterations  1\n") != NULL, "which ILU(0) factors completely");
  run = CLI_RUN("solve", file);
  tap_ok(run->status == 0 && strstr(run->out, "3 rows, 7 entries"), "without it the mirror image is there");
  run = CLI_RUN("convert", file, copy, "--stored-triangle");
  tap_ok(run->status == 0 && CLI_RUN("diff", copy, triangle)->status == 0, "convert writes the triangle");
  tap_ok(CLI_RUN("diff", file, triangle)->status == 1, "which is another matrix");
  run = CLI_RUN("solve", triangle, "--stored-triangle");
  tap_ok(run->status == 0 && strstr(run->out, "3 rows, 5 entries"), "a general file is read as ever");
  run = CLI_RUN("solve", "poisson2d:4x4", "--stored-triangle");
  tap_ok(run->status == 2 && cli_is_one_sentence(run, "solve") && strstr(run->err, "poisson2d:4x4 is not one"),
         "a problem of the gallery is refused: %s", run->err);
  run = CLI_RUN("solve", "nowhere.mtx", "--stored-triangle");
  tap_ok(run->status == 2 && cli_is_one_sentence(run, "solve") && strstr(run->err, "no file named 'nowhere.mtx'"),
         "and what is not there: %s", run->err);
#ifdef HAVE_JANSSON
  run = CLI_RUN("solve", file, "--stored-triangle", "--json");
  tap_ok(strstr(run->out, "\"stored_triangle\": true") != NULL, "JSON says so too");
  run = CLI_RUN("solve", file, "--json");
  tap_ok(strstr(run->out, "\"stored_triangle\": false") != NULL, "or that it was not asked for");
#endif
  return tap_done();
}
