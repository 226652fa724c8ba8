/* test_bench_batches.c - bench tridiagonal: the paper's systems over n, batches against the copy bandwidth, the
 * picture, and what is refused. No time is checked. The CPU is measured, and the GPU where one is asked for. */
#include "tests/support/commands.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The CPU, and the GPU where there is one. */
static const char *device(void)
{
  karst_context *context = tap_context();
  const bool gpu = !karst_context_set_device(context, "cuda");
  karst_context_destroy(context);
  return gpu ? "--device=cpu,cuda" : "--device=cpu";
}

/* In double the errors are those of equation (10), of second order in h, by all methods and layouts; in float those of
 * rounding come to exceed them before n = 1024, where rounding 2 u alone is worth 6e-8 / h^2. */
static void test_figures(void)
{
  const struct cli_run *run = CLI_RUN("bench", "tridiagonal", "--batches=3x16,3x31,2x16/4,2x33/4", "--repeat=2",
                                      "--precision=double", "--threads=1", device());
  check_run(run,
            run->status == 0 && count_of(run->out, "systems of d2u/dx2 = e^x in double") == 2 &&
                count_of(run->out, "order 2.0") + count_of(run->out, "order 1.9") >= 18 &&
                !strstr(run->out, "rounding"),
            "errors of all methods and layouts are of order h^2 in double");
  run = CLI_RUN("bench", "tridiagonal", "--batches=2x16,2x1024", "--repeat=1", "--precision=float", "--threads=1",
                "--methods=thomas", device());
  check_run(run, run->status == 0 && strstr(run->out, "rounding from n = 1024"),
            "in float the table says from which n on rounding exceeds the error of the equation");
  run = CLI_RUN("bench", "tridiagonal", "--batches=5x7/3", "--quick", "--threads=1", "--methods=pcr:aos,thomas",
                "--json", device());
  check_run(run,
            run->status == 0 && count_of(run->out, "\"program\":\"pcr aos, 1 thread\"") == 2 &&
                count_of(run->out, "\"program\":\"thomas soa, 1 thread\"") == 2 &&
                count_of(run->out, "1 thread\"") == 6,
            "bench --json prints a line for each method, layout and precision");
}

/* Of 3 systems of 5 rows with blocks of 2 in double: 15 rows with 3 blocks, and f and u, or each twice. */
static void test_rates(void)
{
  const struct cli_run *run = CLI_RUN("bench", "tridiagonal", "--rows=13", "--batches=5/2", "--quick", "--threads=1",
                                      "--precision=double", "--json", device());
  const double seconds = number_after(run->out, "\"solve\":"), kept = number_after(run->out, "\"factored\":");
  const double copy = number_after(run->out, "\"copy_bandwidth\":");
  check_run(run,
            run->status == 0 && number_after(run->out, "\"systems\":") == 3 &&
                number_after(run->out, "\"bytes\":") == 15 * (12 + 4) * 8 &&
                fabs(number_after(run->out, "\"share\":") * seconds * copy / (15 * (12 + 4) * 8) - 1) < 1e-4 &&
                fabs(number_after(run->out, "\"factored_share\":") * kept * copy / (15 * (12 + 8) * 8) - 1) < 1e-4,
            "bench --rows makes as many systems as needed, and shares follow from bytes and times");
  tap_ok(number_after(run->out, "\"error\":") < 1e-14, "random systems have the solution that they were made from");
  run = CLI_RUN("bench", "tridiagonal", "--rows=40", "--batches=7,9/3", "--quick", "--threads=1", device());
  check_run(run,
            run->status == 0 && count_of(run->out, "auto soa, 1 thread") == 4 && strstr(run->out, "1 thread: copies"),
            "bench --rows prints a line for each size and precision");
}

static void test_picture(void)
{
  const char *path = scratch_path("batches.svg");
  char option[1200];
  if (system("command -v gnuplot >/dev/null 2>&1") != 0) { // NOLINT(cert-env33-c): a fixed command
    tap_skip("there is no gnuplot", "the picture");
    return;
  }
  snprintf(option, sizeof option, "--plot=%s", path);
  const struct cli_run *run = CLI_RUN("bench", "tridiagonal", "--batches=2x4,2x8,2x4/2", "--quick", "--threads=1",
                                      "--methods=thomas,cr", option, device());
  const char *text = file_text(path);
  check_run(run,
            run->status == 0 && strstr(text, "</svg>") && strstr(text, "blocks of 1, float") &&
                strstr(text, "blocks of 2, float") && strstr(text, "cr aos, 1 thread"),
            "bench --plot draws a panel for each block size");
}

static void test_refusals(void)
{
  static const char *const wrong[][4] = {{"tridiagonal", "--batches=0"},
                                         {"tridiagonal", "--batches=4/0"},
                                         {"tridiagonal", "--batches=4,"},
                                         {"tridiagonal", "--batches=0x4"},
                                         {"tridiagonal", "--batches=4x"},
                                         {"tridiagonal", "--methods=lu"},
                                         {"tridiagonal", "--methods=cr:csr"},
                                         {"tridiagonal", "--precision=half"},
                                         {"tridiagonal", "--solves=cg"},
                                         {"tridiagonal", "--errors=iluk"},
                                         {"tridiagonal", "--plot=batches.pdf", "--batches=4", "--quick"},
                                         {"poisson2d:4x4", "--rows=5"},
                                         {"poisson2d:4x4", "--batches=5"}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    const struct cli_run *run = CLI_RUN("bench", wrong[i][0], wrong[i][1], wrong[i][2], wrong[i][3]);
    check_run(run, is_refused(run, "bench", ""), "bench refuses %s %s: %s", wrong[i][0], wrong[i][1], run->err);
  }
  static const char *const others[][2] = {
      {"--block=4", "--block is not for tridiagonal: --batches=ROWS/M makes blocks of M by M"},
      {"--precond=dilu", "are not for tridiagonal"},
      {"--set=sweeps=2", "are not for tridiagonal"},
      {"--ordering=rcm", "are not for tridiagonal"},
      {"--rtol=1e-3", "are not for tridiagonal"},
      {"--peer=./bench", "are not for tridiagonal"},
      {"--negate", "are not for tridiagonal"}};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    const struct cli_run *run = CLI_RUN("bench", "tridiagonal", "--batches=2x4", "--quick", others[i][0]);
    check_run(run, is_refused(run, "bench", others[i][1]), "bench refuses tridiagonal %s", others[i][0]);
  }
  /* Products that wrap around to small numbers or 0, or pass 2^63 with the last factor alone. */
  static const char *const large[] = {"--batches=1073741824x1073741824/1024", "--batches=1099511627776x1073741824",
                                      "--batches=4398046511x65536/64"};
  for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
    const struct cli_run *run = CLI_RUN("bench", "tridiagonal", large[i], "--methods=thomas", "--threads=1");
    check_run(run, is_refused(run, "bench", "2^63 bytes"), "bench refuses %s before it takes memory", large[i]);
  }
}

static void test_help(void)
{
  const struct cli_run *run = CLI_RUN("bench", "--help=options");
  check_run(run, run->status == 0 && strstr(run->out, "16/4,32/4,64/4,128/4") && strstr(run->out, "48 sizes"),
            "bench --help=options names the default sizes and how many there may be");
}

int main(void)
{
  cli_need("bench");
  test_figures();
  test_rates();
  test_picture();
  test_refusals();
  test_help();
  return tap_done();
}
