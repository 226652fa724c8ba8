/* The option --negate of solve, convert and bench: the matrix and the right-hand side that came with it change their
 * signs, so that the solution stays; another right-hand side and the rows that pad the matrix do not change. */
#include "config.h"

#include "tests/support/commands.h"
#include "tests/support/problem.h"

#include "tools/src/common/load.h"

#include <math.h>
#include <stdlib.h>

static void test_values(karst_context *context)
{
  static const int blocks[] = {1, 2, 4};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
    karst_matrix *A, *B;
    karst_vector *a, *b;
    tap_need(context, karst_gallery_create(context, "unitsquare:3x3", blocks[i], &A, &a), "matrix");
    tap_need(context, karst_gallery_create(context, "unitsquare:3x3", blocks[i], &B, &b), "matrix");
    bool same = tool_negate(context, B, b) == TOOL_GO_ON;
    const int64_t n = karst_matrix_rows(A);
    double *left = tap_dense(A), *right = tap_dense(B), *rhs = vector_on_host(a), *negated = vector_on_host(b);
    for (int64_t c = 0; c < n; c++)
      for (int64_t r = 0; r < n; r++) {
        const double sign = r < 9 && c < 9 ? -1 : 1;
        same = same && right[r + n * c] == sign * left[r + n * c];
        same = same && (right[r + n * c] != 0 || !signbit(right[r + n * c]));
      }
    tap_ok(same, "blocks of %d: all entries but the padding change their signs, and zeros stay +0", blocks[i]);
    for (int64_t r = 0; r < n; r++) same = same && negated[r] == -rhs[r];
    tap_ok(same, "blocks of %d: the right-hand side changes its sign", blocks[i]);
    tap_ok(tool_negate(context, B, NULL) == TOOL_GO_ON, "a matrix without a right-hand side is negated");
    free(left);
    free(right);
    free(rhs);
    free(negated);
    karst_matrix_destroy(A);
    karst_matrix_destroy(B);
    karst_vector_destroy(a);
    karst_vector_destroy(b);
  }
}

static bool agrees(const char *a, const char *b) { return CLI_RUN("diff", a, b, "--rtol", "1e-7")->status == 0; }

static void test_solve(void)
{
  const char *plain = scratch_path("plain.mtx"), *other = scratch_path("other.mtx"),
             *file = scratch_path("negative.mtx");
  const struct cli_run *run = CLI_RUN("solve", "unitsquare:6x5", "--solution", plain);
  tap_ok(run->status == 0 && !strstr(run->out, "negated"), "without --negate the report does not mention it");
  run = CLI_RUN("solve", "unitsquare:6x5", "--negate", "--solution", other);
  tap_ok(run->status == 0 && strstr(run->out, "unitsquare:6x5: negated, 30 rows"), "with --negate the report says so");
  tap_ok(agrees(plain, other), "a matrix with its own right-hand side keeps its solution");
  run = CLI_RUN("solve", "unitsquare:6x5", "--negate", "--solver", "cg");
  tap_ok(run->status == 1 && strstr(run->out, "not positive definite"),
         "cg reports the negated matrix as not positive definite");
  run = CLI_RUN("solve", "unitsquare:6x5", "--negate", "--rhs", "Aones", "--solution", other);
  tap_ok(run->status == 0 && CLI_RUN("solve", "unitsquare:6x5", "--rhs", "Aones", "--solution", plain)->status == 0 &&
             agrees(plain, other),
         "Aones is made with the negated matrix");
  run = CLI_RUN("convert", "unitsquare:6x5", file, "--negate");
  tap_ok(run->status == 0 && strstr(run->err, "the matrix and its right-hand side are multiplied by -1"),
         "convert says that it multiplies the matrix and its right-hand side");
  tap_ok(CLI_RUN("diff", file, "unitsquare:6x5")->status == 1, "convert writes the matrix negated");
  run = CLI_RUN("solve", file, "--negate", "--solver", "cg", "--solution", other);
  tap_ok(run->status == 0 && CLI_RUN("solve", "unitsquare:6x5", "--solution", plain)->status == 0 &&
             agrees(plain, other),
         "a negative definite file and its right-hand side are negated for cg");
  run = CLI_RUN("solve", file, "--rhs", "ones", "--solution", other);
  const bool negative = run->status == 0;
  run = CLI_RUN("solve", "unitsquare:6x5", "--negate", "--rhs", "ones", "--solution", plain);
  tap_ok(negative && run->status == 0 && agrees(plain, other), "a right-hand side of ones is not negated");
  run = CLI_RUN("convert", "poisson2d:2x2", scratch_path("quiet.mtx"), "--negate", "--quiet");
  tap_ok(run->status == 0 && !*run->err && !*run->out, "convert --quiet prints nothing");
  run = CLI_RUN("convert", "poisson2d:2x2", scratch_path("quiet.mtx"), "--negate");
  tap_ok(strstr(run->err, "note: the matrix is multiplied by -1") != NULL,
         "convert says that a matrix without a right-hand side is negated");
#ifdef HAVE_JANSSON
  tap_ok(strstr(CLI_RUN("solve", "poisson2d:2x2", "--negate", "--json")->out, "\"negated\": true") != NULL,
         "JSON says that the matrix is negated");
  tap_ok(strstr(CLI_RUN("solve", "poisson2d:2x2", "--json")->out, "\"negated\": false") != NULL,
         "JSON says that the matrix is not negated");
#endif
}

static void test_bench(void)
{
  const struct cli_run *run =
      CLI_RUN("bench", "poisson2d:4x4", "--negate", "--quick", "--level", "0", "--threads", "1");
  tap_ok(run->status == 0 && strstr(run->out, "poisson2d:4x4: negated, 16 rows"),
         "bench negates the matrix, and says so");
  expect_refused(CLI_RUN("bench", "poisson2d:4x4", "--negate", "--peer", "peer"), "bench",
                 "--negate cannot be used with --peer", "bench refuses --negate with a peer, which would not negate");
}

int main(void)
{
  cli_need("solve");
  tap_each_device(test_values, "values");
  test_solve();
  test_bench();
  return tap_done();
}
