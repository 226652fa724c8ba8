/* Solvers with rrb converge to the solution of dense LU factors: cg on stencils of 5 points, where it works on the
 * first Schur complement, and of 9 points, and others with rrb as a preconditioner or a part of one. cg needs as many
 * iterations as in the paper's Table 5.3. */
#include "config.h"

#include "lib/backend/backend.h"
#include "tests/support/problem.h"
#include "tests/support/rrb_dense.h"

#include <string.h>

enum { MOST = 8 /* options of a solver, besides the preconditioner */ };

typedef const char *pairs[MOST][2];

/* Makes a solver with rrb and some more options, up to the first name that is NULL, and sets it up. */
static karst_solver *make(karst_context *context, const karst_matrix *A, const pairs more)
{
  karst_options *options = options_of(context, PAIRS("precond", "rrb"));
  karst_solver *solver;
  for (int i = 0; i < MOST && more[i][0]; i++)
    tap_need(context, karst_options_set(options, more[i][0], more[i][1]), more[i][0]);
  tap_need(context, karst_solver_create(context, options, &solver), "solver");
  karst_options_destroy(options);
  tap_need(context, karst_solver_setup(solver, A), "set-up");
  return solver;
}

/* Solves A x = b from x, which gets the solution. */
static karst_result solve(karst_context *context, karst_solver *solver, int64_t n, const double *b, double *x)
{
  karst_vector *of_b = vector_from(context, n, b), *of_x = vector_from(context, n, x);
  const karst_result result = solved(solver, of_b, of_x);
  tap_need(context, karst_vector_get(of_x, n, x), "x");
  karst_vector_destroy(of_b);
  karst_vector_destroy(of_x);
  return result;
}

/* Solves with a random right-hand side, from a start that is not zero, and compares with dense LU factors. */
static void check_solution(karst_context *context, const karst_matrix *A, karst_solver *solver, const char *what)
{
  const int64_t n = karst_matrix_rows(A);
  double *dense = tap_dense(A), *b = random_on_host(n), *x = random_on_host(n), *expected = random_on_host(n);
  memcpy(expected, b, (size_t)n * sizeof *b);
  tap_dense_solve(n, dense, expected);
  const karst_result result = solve(context, solver, n, b, x);
  const double error = relative_difference(n, x, expected);
  if (!tap_ok(result.reason > 0 && error < 1e-6, "%s: %d iterations, error %.1e", what, result.iterations, error))
    tap_note("%s", karst_solver_explain(solver));
  free(dense);
  free(b);
  free(x);
  free(expected);
}

/* ---- cg ---- */

static const struct rrb_kind kinds[] = {
    {false, false, 0, 1}, {true, false, 0, 1}, {false, true, 0.15, 1}, {true, true, 0.15, 1}, {false, false, 0, 20}};
enum { KINDS = sizeof kinds / sizeof *kinds };

static void cg(karst_context *context)
{
  static const karst_index sizes[][2] = {{1, 1}, {1, 9}, {12, 1}, {2, 2}, {13, 11}, {8, 16}, {17, 9}};
  static const pairs options[] = {{{"solver", "cg"}, {"rtol", "1e-10"}, {"rrb-levels", "20"}},
                                  {{"solver", "cg"}, {"rtol", "1e-10"}, {"rrb-levels", "1"}},
                                  {{"solver", "cg"}, {"rtol", "1e-10"}, {"rrb-levels", "2"}},
                                  {{"solver", "cg"}, {"rtol", "1e-10"}, {"rrb-precision", "float"}},
                                  {{"solver", "cg"}, {"rtol", "1e-10"}, {"rrb-levels", "3"}, {"rrb-grids", "0"}},
                                  {{"solver", "cg"}, {"rtol", "1e-10"}, {"rrb-levels", "5"}, {"rrb-grids", "1"}}};
  const size_t count = sizeof options / sizeof *options - (KARST_BASELINES ? 0 : 2);
  if (tap_lacks_kernels(context->backend->rrb, "rrb", "cg")) return;
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
    for (int k = 0; k < KINDS; k++) {
      struct rrb_system system = rrb_random_system(context, sizes[s][0], sizes[s][1], &kinds[k]);
      for (size_t o = 0; o < count; o++) {
        char what[100];
        karst_solver *solver = make(context, system.A, options[o]);
        snprintf(what, sizeof what, "cg on %ldx%ld, kind %d, options %d", (long)system.nx, (long)system.ny, k, (int)o);
        check_solution(context, system.A, solver, what);
        karst_solver_destroy(solver);
      }
      rrb_system_free(&system);
    }
}

/* Other solvers, and other preconditioners with rrb inside. With two stages M^-1 A may be indefinite, and gmres may
 * stagnate where it is restarted. */
static void others(karst_context *context)
{
  static const pairs options[] = {{{"solver", "gmres"}, {"rtol", "1e-11"}},
                                  {{"solver", "gmres"}, {"rtol", "1e-11"}, {"side", "left"}},
                                  {{"solver", "fgmres"}, {"rtol", "1e-11"}},
                                  {{"solver", "bicgstab"}, {"rtol", "1e-11"}},
                                  {{"solver", "orthomin"}, {"rtol", "1e-11"}},
                                  {{"solver", "gmres"},
                                   {"rtol", "1e-11"},
                                   {"precond", "two-stage"},
                                   {"first", "rrb"},
                                   {"first.rrb-levels", "4"},
                                   {"second", "jacobi"},
                                   {"restart", "200"}}};
  if (tap_lacks_kernels(context->backend->rrb, "rrb", "others")) return;
  for (int k = 0; k < KINDS; k++) {
    struct rrb_system system = rrb_random_system(context, 13, 12, &kinds[k]);
    for (size_t o = 0; o < sizeof options / sizeof *options; o++) {
      char what[100];
      karst_solver *solver = make(context, system.A, options[o]);
      snprintf(what, sizeof what, "%s %s, kind %d", options[o][0][1], options[o][2][0] ? options[o][2][1] : "", k);
      check_solution(context, system.A, solver, what);
      karst_solver_destroy(solver);
    }
    rrb_system_free(&system);
  }
}

/* Multiplies the diagonal by 1.5. */
static void grow(karst_context *context, karst_matrix *A)
{
  const karst_index *start = karst_matrix_row_start(A), *column = karst_matrix_column(A);
  const karst_index n = karst_matrix_block_rows(A);
  double *dense = tap_dense(A), *value = tap_memory(karst_matrix_blocks(A), sizeof *value);
  for (karst_index q = 0; q < n; q++)
    for (karst_index k = start[q]; k < start[q + 1]; k++)
      value[k] = dense[(int64_t)column[k] * n + q] * (column[k] == q ? 1.5 : 1);
  tap_need(context, karst_matrix_update_values(A, value), "values");
  free(dense);
  free(value);
}

/* New values, with new factors and with the earlier ones, which are not exact then. */
static void new_values(karst_context *context)
{
  static const pairs options = {{"solver", "cg"}, {"rtol", "1e-10"}};
  if (tap_lacks_kernels(context->backend->rrb, "rrb", "new values")) return;
  for (int k = 0; k < KINDS; k++) {
    char what[100];
    struct rrb_system system = rrb_random_system(context, 14, 11, &kinds[k]);
    karst_solver *solver = make(context, system.A, options);
    for (int step = 0; step < 3; step++) {
      snprintf(what, sizeof what, "kind %d, %s", k, step == 0 ? "first" : step == 1 ? "kept" : "updated");
      check_solution(context, system.A, solver, what);
      grow(context, system.A);
      tap_need(context, step == 0 ? karst_solver_keep(solver) : karst_solver_update(solver), "new values");
    }
    karst_solver_destroy(solver);
    rrb_system_free(&system);
  }
}

/* Kept factors reduce nothing, so that cg's vectors are those of all unknowns until the update. */
static void kept_memory(karst_context *context)
{
  static const pairs options = {{"solver", "cg"}, {"rtol", "1e-10"}};
  if (tap_lacks_kernels(context->backend->rrb, "rrb", "memory")) return;
  const struct rrb_kind kind = {.anisotropic = 1};
  struct rrb_system system = rrb_random_system(context, 31, 32, &kind);
  karst_solver *solver = make(context, system.A, options);
  const int64_t before = info_of(solver).memory;
  for (int round = 0; round < 2; round++) {
    tap_need(context, karst_solver_keep(solver), "keep");
    const int64_t kept = info_of(solver).memory;
    tap_ok(kept != before, "kept factors: %lld bytes and not %lld", (long long)kept, (long long)before);
    check_solution(context, system.A, solver, "kept");
    tap_need(context, karst_solver_update(solver), "update");
    const int64_t after = info_of(solver).memory;
    tap_ok(after == before, "updated: %lld bytes as before", (long long)after);
    check_solution(context, system.A, solver, "updated");
  }
  karst_solver_destroy(solver);
  rrb_system_free(&system);
}

/* ---- the paper's problem ---- */

/* -Laplace u = f on the unit square with u = x (x - 1) y (y - 1) exp(x y), N interior nodes along each axis, times the
 * square of their distance. */
static karst_matrix *unit_square(karst_context *context, karst_index N, double *b)
{
  const karst_index n = N * N;
  karst_index *start = tap_memory((int64_t)n + 1, sizeof *start), *column = tap_memory(5 * (int64_t)n, sizeof *column);
  karst_index entries = 0;
  double *value = tap_memory(5 * (int64_t)n, sizeof *value);
  for (karst_index q = 0; q < n; q++) {
    const karst_index i = q % N, j = q / N;
    const double h = 1.0 / (double)(N + 1), x = h * (double)(i + 1), y = h * (double)(j + 1);
    const double X = x * (x - 1), Y = y * (y - 1);
    b[q] =
        -h * h * exp(x * y) * (Y * (2 + 2 * (2 * x - 1) * y + X * y * y) + X * (2 + 2 * (2 * y - 1) * x + Y * x * x));
    const struct {
      bool there;
      karst_index at;
    } row[5] = {{j > 0, q - N}, {i > 0, q - 1}, {true, q}, {i + 1 < N, q + 1}, {j + 1 < N, q + N}};
    for (int k = 0; k < 5; k++)
      if (row[k].there) {
        column[entries] = row[k].at;
        value[entries++] = k == 2 ? 4 : -1;
      }
    start[q + 1] = entries;
  }
  karst_matrix *A = matrix_of(context, n, 1, start, column, value);
  tap_need(context, karst_matrix_set_grid(A, N, N, 1), "grid");
  free(start);
  free(column);
  free(value);
  return A;
}

static void check_square(karst_context *context, karst_index N, int expected, const pairs options)
{
  const int64_t n = (int64_t)N * N;
  double *b = tap_memory(n, sizeof *b), *x = tap_memory(n, sizeof *x), error = 0;
  karst_matrix *A = unit_square(context, N, b);
  karst_solver *solver = make(context, A, options);
  const karst_result result = solve(context, solver, n, b, x);
  for (int64_t q = 0; q < n; q++) {
    const karst_index i = (karst_index)(q % N), j = (karst_index)(q / N);
    const double h = 1.0 / (double)(N + 1), at = h * (double)(i + 1), up = h * (double)(j + 1);
    error = fmax(error, fabs(x[q] - at * (at - 1) * up * (up - 1) * exp(at * up)));
  }
  if (expected > 0)
    tap_ok(result.reason > 0 && abs(result.iterations - expected) <= 1,
           "%ldx%ld, %s grids: %d iterations, the paper %d", (long)N, (long)N, options[4][1], result.iterations,
           expected);
  else
    tap_ok(result.reason > 0 && error * (double)(N + 1) * (double)(N + 1) < 0.02, "%ldx%ld: the error is %.2e, O(h^2)",
           (long)N, (long)N, error);
  karst_solver_destroy(solver);
  karst_matrix_destroy(A);
  free(b);
  free(x);
}

static void table_5_3(karst_context *context)
{
  static const pairs counted[] = {
      {{"solver", "cg"}, {"norm", "preconditioned"}, {"rtol", "1e-6"}, {"rrb-levels", "12"}, {"rrb-grids", "64"}},
      {{"solver", "cg"}, {"norm", "preconditioned"}, {"rtol", "1e-6"}, {"rrb-levels", "12"}, {"rrb-grids", "0"}}};
  static const pairs solved = {{"solver", "cg"}, {"rtol", "1e-11"}};
  if (tap_lacks_kernels(context->backend->rrb, "rrb", "the paper's table")) return;
  for (int grouped = 0; grouped < 1 + KARST_BASELINES; grouped++) {
    check_square(context, 63, 13, counted[grouped]);
    check_square(context, 127, 16, counted[grouped]);
    check_square(context, 255, 19, counted[grouped]);
  }
  check_square(context, 63, 0, solved);
  check_square(context, 127, 0, solved);
}

int main(void)
{
  tap_each_device(cg, "cg");
  tap_each_device(others, "other solvers");
  tap_each_device(new_values, "new values");
  tap_each_device(kept_memory, "memory of kept factors");
  tap_each_device(table_5_3, "Table 5.3");
  return tap_done();
}
