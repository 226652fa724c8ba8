/* adi applies the inverse of M = Tx D^-1 Ty D^-1 Tz, where T is the matrix of the couplings along the lines of an axis
 * with the diagonal blocks D, all made here from their definitions. Axes of one cell are left out. */
#include "lib/backend/backend.h"
#include "tests/support/line_dense.h"
#include "tests/support/named_values.h"
#include "tests/support/problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool lacks_kernels(const karst_context *context, const char *what)
{
  return tap_lacks_kernels(context->backend->lines, "adi", what);
}

static karst_precond *make(karst_context *context, const karst_matrix *A)
{
  return precond_from(context, PAIRS("precond", "adi"), A);
}

/* Returns Tz^-1 D Ty^-1 D Tx^-1 r by dense solves. */
static void solve_dense(const struct fgbilu_grid *grid, const struct fgbilu_system *s, double *r)
{
  const int64_t n = (int64_t)s->rows * s->b;
  double *D = line_dense(grid, s, -1, false), *x = tap_memory(n, sizeof *x);
  bool first = true;
  for (int axis = 0; axis < 3; axis++) {
    if (grid->size[axis] == 1 && !(axis == 0 && grid->size[1] * grid->size[2] == 1)) continue;
    double *T = line_dense(grid, s, axis, false);
    memcpy(x, r, (size_t)n * sizeof *x);
    for (int64_t i = 0; i < n && !first; i++) x[i] = 0;
    for (int64_t c = 0; c < n && !first; c++)
      for (int64_t i = 0; i < n; i++) x[i] += D[c * n + i] * r[c];
    tap_dense_solve(n, T, x);
    memcpy(r, x, (size_t)n * sizeof *x);
    free(T);
    first = false;
  }
  free(D);
  free(x);
}

static void check_grid(karst_context *context, const struct fgbilu_grid *grid)
{
  struct fgbilu_system s = fgbilu_random_system(grid);
  const int64_t n = (int64_t)s.rows * s.b;
  karst_matrix *A = fgbilu_matrix(context, grid, &s);
  karst_precond *P = make(context, A);
  double *r, *z = applied_to_random(P, 7, &r);
  solve_dense(grid, &s, r);
  const double error = relative_difference(n, z, r);
  /* The blocks are well conditioned, so that the error is some roundings of sums of b products. */
  tap_ok(s.rows == 0 || error < 1e-12 * grid->b, "%lldx%lldx%lld, b = %d, %lld rows%s%s, missing %.1f (%.1e)",
         (long long)grid->size[0], (long long)grid->size[1], (long long)grid->size[2], grid->b, (long long)s.rows,
         grid->shuffled ? " shuffled" : "", grid->faulted ? " faulted" : "", grid->missing, error);
  free(r);
  free(z);
  karst_precond_destroy(P);
  karst_matrix_destroy(A);
  fgbilu_forget_system(&s);
}

static void sizes(karst_context *context)
{
  static const int all[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 16, 17, 33};
  if (lacks_kernels(context, "block sizes")) return;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    struct fgbilu_grid grid = {.size = {4, 3, all[i] > 8 ? 2 : 5}, .b = all[i], .turned = true};
    check_grid(context, &grid);
    grid.holes = 0.2;
    check_grid(context, &grid);
  }
}

static void shapes(karst_context *context)
{
  static const karst_index size[][3] = {{1, 1, 1}, {7, 1, 1}, {1, 9, 1},  {1, 1, 5}, {5, 7, 1}, {6, 1, 4},
                                        {1, 5, 6}, {3, 5, 7}, {11, 2, 3}, {2, 2, 2}, {70, 2, 2}};
  if (lacks_kernels(context, "shapes of grids")) return;
  for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
    struct fgbilu_grid grid = {.size = {size[i][0], size[i][1], size[i][2]}, .b = 1 + (int)i % 3};
    grid.given = i % 2; /* else it is found */
    check_grid(context, &grid);
    grid.missing = 0.3;
    grid.holes = 0.25;
    grid.shuffled = true;
    grid.turned = true;
    check_grid(context, &grid);
    grid.faulted = true;
    check_grid(context, &grid);
  }
}

/* Where all couplings are along one axis, M is A. */
static void exact(karst_context *context)
{
  static const char *const problems[] = {"convdiff:1x1x60", "poisson2d:50x1", "blackoil:1x40x1"};
  if (lacks_kernels(context, "one line")) return;
  for (int i = 0; i < 3; i++) {
    struct problem p = problem_from(context, problems[i], 0, 3);
    karst_solver *solver = solver_from(context, PAIRS("solver", "gmres", "precond", "adi", "rtol", "1e-9"));
    tap_need(context, karst_solver_setup(solver, p.A), "setup");
    const karst_result result = problem_solve(&p, solver);
    tap_ok(result.reason == KARST_CONVERGED_RTOL && result.iterations == 1, "%s: %d iteration", problems[i],
           result.iterations);
    problem_end(&p, solver);
  }
}

/* The lines of each axis of more than one cell. */
static void report(karst_context *context)
{
  if (lacks_kernels(context, "the report")) return;
  karst_matrix *A = matrix_from(context, "convdiff:5x4x1", 2);
  karst_precond *P = make(context, A);
  tap_ok(tap_precond_number(P, "lines_x") == 4 && tap_precond_number(P, "lines_y") == 5 &&
             tap_precond_number(P, "lines_z") == -1,
         "4 lines along x, 5 along y, and none along z");
  karst_solver_info info;
  tap_need(context, karst_precond_get_info(P, &info), "information");
  tap_ok(info.factor_entries == (int64_t)4 * (3 * 20 - 2 * 4 + 3 * 20 - 2 * 5) &&
             info.memory >= 8 * info.factor_entries,
         "the factors are three blocks a cell and axis, less two a line");
  karst_precond_destroy(P);
  karst_matrix_destroy(A);
}

int main(void)
{
  tap_each_device(sizes, "block sizes");
  tap_each_device(shapes, "shapes of grids");
  tap_each_device(exact, "one line");
  tap_each_device(report, "the report");
  return tap_done();
}
