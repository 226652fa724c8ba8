/* lines applies the inverse of the matrix of the couplings along the lines of a grid, which is made here from its
 * definition: on grids of all shapes, with holes, faults, missing couplings and any numbering, for each direction and
 * both orders. auto takes the direction of the strongest couplings. */
#include "lib/backend/backend.h"
#include "tests/support/line_dense.h"
#include "tests/support/multigrid.h"
#include "tests/support/named_values.h"
#include "tests/support/problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const directions[] = {"x", "y", "z"}, *const orders[] = {"jacobi", "zebra"};

static bool lacks_kernels(const karst_context *context, const char *what)
{
  return tap_lacks_kernels(context->backend->lines, "lines", what);
}

static karst_precond *make(karst_context *context, const char *direction, const char *order, const karst_matrix *A)
{
  return precond_from(context, PAIRS("precond", "lines", "line-direction", direction, "line-order", order), A);
}

static const char *text_of(const karst_precond *P, const char *name)
{
  karst_value value;
  for (size_t i = 0; karst_precond_report(P, i, &value); i++)
    if (strcmp(value.name, name) == 0 && value.text) return value.text;
  return "";
}

/* Blocks are well conditioned, so that the error is some roundings of b products a step of the longest line. */
static void check_grid(karst_context *context, const struct fgbilu_grid *grid, int axis, bool zebra)
{
  struct fgbilu_system s = fgbilu_random_system(grid);
  karst_matrix *A = fgbilu_matrix(context, grid, &s);
  karst_precond *P = make(context, directions[axis], orders[zebra], A);
  double *dense = line_dense(grid, &s, axis, zebra);
  const double error = applied_error(P, dense);
  tap_ok(s.rows == 0 || error < 1e-12 * grid->b, "%s, %s: %lldx%lldx%lld, b = %d, %lld rows%s%s, missing %.1f (%.1e)",
         directions[axis], orders[zebra], (long long)grid->size[0], (long long)grid->size[1], (long long)grid->size[2],
         grid->b, (long long)s.rows, grid->shuffled ? " shuffled" : "", grid->faulted ? " faulted" : "", grid->missing,
         error);
  free(dense);
  karst_precond_destroy(P);
  karst_matrix_destroy(A);
  fgbilu_forget_system(&s);
}

static void sizes(karst_context *context)
{
  static const int all[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 16, 17, 33};
  if (lacks_kernels(context, "block sizes")) return;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    for (int axis = 0; axis < 3; axis++) {
      struct fgbilu_grid grid = {.size = {4, 3, all[i] > 8 ? 2 : 5}, .b = all[i], .turned = true};
      check_grid(context, &grid, axis, false);
      grid.holes = 0.2;
      check_grid(context, &grid, axis, true);
    }
}

static void shapes(karst_context *context)
{
  static const karst_index size[][3] = {{1, 1, 1}, {7, 1, 1},  {1, 9, 1},  {1, 1, 5},  {5, 7, 1},  {6, 1, 4},
                                        {1, 5, 6}, {3, 5, 7},  {11, 2, 3}, {2, 2, 2},  {70, 2, 2}, {3, 40, 3},
                                        {9, 8, 3}, {2, 3, 50}, {34, 3, 2}, {2, 33, 2}, {17, 9, 1}};
  if (lacks_kernels(context, "shapes of grids")) return;
  for (size_t i = 0; i < sizeof size / sizeof *size; i++)
    for (int axis = 0; axis < 3; axis++)
      for (int zebra = 0; zebra < 2; zebra++) {
        struct fgbilu_grid grid = {.size = {size[i][0], size[i][1], size[i][2]}, .b = 1 + (int)(i + (size_t)axis) % 2};
        /* A grid that is found has its axes of one cell last. */
        grid.given = size[i][0] == 1 || size[i][1] == 1 || size[i][2] == 1;
        check_grid(context, &grid, axis, zebra);
        grid.missing = 0.3;
        grid.holes = 0.25;
        grid.shuffled = true;
        grid.turned = true;
        check_grid(context, &grid, axis, zebra);
        grid.missing = 1;
        check_grid(context, &grid, axis, zebra);
      }
}

/* Couplings along x change the layer at the fault, and those of a well are between any cells. */
static void faults(karst_context *context)
{
  static const karst_index size[][3] = {{4, 3, 3}, {9, 4, 5}, {6, 7, 1}, {12, 3, 10}};
  if (lacks_kernels(context, "faults")) return;
  for (size_t i = 0; i < sizeof size / sizeof *size; i++)
    for (int axis = 0; axis < 3; axis++)
      for (int zebra = 0; zebra < 2; zebra++) {
        struct fgbilu_grid grid = {
            .size = {size[i][0], size[i][1], size[i][2]}, .b = 1 + (int)(i + (size_t)axis) % 3, .faulted = true};
        check_grid(context, &grid, axis, zebra);
        grid.shuffled = true;
        check_grid(context, &grid, axis, zebra);
      }
}

/* A coupling in one direction alone ends a line. */
static void one_sided(karst_context *context)
{
  static const karst_index start[] = {0, 2, 5, 8, 9}, column[] = {0, 1, 0, 1, 2, 1, 2, 3, 3};
  static const double value[] = {4, -1, -2, 5, -1, -2, 6, -3, 7};
  static const double r[] = {1, 2, 3, 4};
  if (lacks_kernels(context, "a coupling in one direction")) return;
  karst_matrix *A = matrix_of(context, 4, 1, start, column, value);
  tap_need(context, karst_matrix_set_grid(A, 4, 1, 1), "grid");
  karst_precond *P = make(context, "x", "jacobi", A);
  double *z = applied(P, r);
  tap_ok(tap_precond_number(P, "lines") == 2 && tap_precond_number(P, "longest_line") == 3,
         "2 lines, the longest of 3");
  tap_ok(fabs(z[3] - 4.0 / 7) < 1e-15 && fabs(6 * z[2] - 2 * z[1] - 3) < 1e-14, "the last cell is a line by itself");
  free(z);
  karst_precond_destroy(P);
  karst_matrix_destroy(A);
}

/* All 26 neighbours are allowed; those off the lines are left out. */
static void many_neighbours(karst_context *context)
{
  if (lacks_kernels(context, "27 points")) return;
  for (int axis = 0; axis < 3; axis++) {
    karst_matrix *A = matrix_from(context, "laplace27:5x4x3", 1);
    const int64_t n = karst_matrix_rows(A), step[] = {1, 5, 20};
    double *dense = tap_dense(A);
    for (int64_t c = 0; c < n; c++)
      for (int64_t r = 0; r < n; r++)
        if (r != c && llabs(r - c) != step[axis]) dense[c * n + r] = 0;
    karst_precond *P = make(context, directions[axis], "jacobi", A);
    const double error = applied_error(P, dense);
    tap_ok(error < 1e-14, "lines along %s of a 27-point stencil (%.1e)", directions[axis], error);
    free(dense);
    karst_precond_destroy(P);
    karst_matrix_destroy(A);
  }
}

/* Where all couplings are along one line, M is A. */
static void exact(karst_context *context)
{
  static const char *const problems[] = {"convdiff:1x1x60", "poisson2d:50x1", "blackoil:1x40x1"};
  if (lacks_kernels(context, "one line")) return;
  for (int i = 0; i < 3; i++)
    for (int zebra = 0; zebra < 2; zebra++) {
      struct problem p = problem_from(context, problems[i], 0, 3);
      karst_solver *solver = solver_from(
          context, PAIRS("solver", "gmres", "precond", "lines", "line-order", orders[zebra], "rtol", "1e-9"));
      tap_need(context, karst_solver_setup(solver, p.A), "setup");
      const karst_result result = problem_solve(&p, solver);
      tap_ok(result.reason == KARST_CONVERGED_RTOL && result.iterations == 1, "%s, %s: %d iteration", problems[i],
             orders[zebra], result.iterations);
      problem_end(&p, solver);
    }
}

/* ---- the direction ---- */

static void direction(karst_context *context)
{
  static const char *const problems[][2] = {{"anisotropic:9x8x7,epsx=1,epsy=0.1,epsz=0.1", "x"},
                                            {"anisotropic:9x8x7,epsx=0.1,epsy=1,epsz=0.1", "y"},
                                            {"anisotropic:9x8x7,epsx=0.1,epsy=0.1,epsz=1", "z"},
                                            {"poisson3d:8x8x8", "x"}};
  if (lacks_kernels(context, "the direction")) return;
  for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
    karst_matrix *A = matrix_from(context, problems[i][0], 1);
    karst_precond *P = make(context, "auto", "jacobi", A), *given = make(context, problems[i][1], "jacobi", A);
    tap_ok(strcmp(text_of(P, "line_direction_used"), problems[i][1]) == 0, "%s: lines along %s", problems[i][0],
           text_of(P, "line_direction_used"));
    double *z = applied_to_random(P, 7, NULL), *expected = applied_to_random(given, 7, NULL);
    tap_ok(memcmp(z, expected, (size_t)karst_matrix_rows(A) * sizeof *z) == 0, "as with that direction");
    tap_need(context, karst_precond_update(P), "update");
    tap_ok(strcmp(text_of(P, "line_direction_used"), problems[i][1]) == 0 && tap_precond_number(P, "lines") > 0,
           "also after an update");
    free(z);
    free(expected);
    karst_precond_destroy(P);
    karst_precond_destroy(given);
    karst_matrix_destroy(A);
  }
}

/* A singular diagonal block has no strengths: the axis of the most couplings is taken. It does no harm behind the first
 * position of a line. */
static void direction_by_number(karst_context *context)
{
  if (lacks_kernels(context, "a singular diagonal block")) return;
  karst_matrix *A = matrix_from(context, "poisson2d:3x9", 1);
  set_entry(A, 13, 13, 0, 0);
  karst_precond *P = make(context, "auto", "jacobi", A);
  karst_index row;
  tap_ok(karst_precond_outcome(P, &row) == KARST_SOUND && strcmp(text_of(P, "line_direction_used"), "y") == 0,
         "a zero inside a line: lines along %s, sound", text_of(P, "line_direction_used"));
  karst_precond_destroy(P);
  karst_matrix_destroy(A);
}

/* Gives A the values of a problem, updates, and returns the direction in use. */
static const char *direction_for(karst_context *context, karst_matrix *A, karst_precond *P, const char *problem)
{
  karst_context *host = tap_context();
  karst_matrix *other = matrix_from(host, problem, 1);
  tap_need(context, karst_matrix_update_values(A, karst_matrix_values(other)), "values");
  tap_need(context, karst_precond_update(P), "update");
  karst_matrix_destroy(other);
  karst_context_destroy(host);
  return text_of(P, "line_direction_used");
}

/* Values that could not be factored have chosen nothing; the first sound ones have. */
static void direction_again(karst_context *context)
{
  static const double bad[] = {0, NAN};
  if (lacks_kernels(context, "the direction after bad values")) return;
  for (int i = 0; i < 2; i++) {
    karst_matrix *A = matrix_from(context, "poisson3d:9x8x7", 1);
    const int64_t entries = karst_matrix_blocks(A);
    double *value = tap_memory(entries, sizeof *value);
    for (int64_t k = 0; k < entries; k++) value[k] = bad[i];
    tap_need(context, karst_matrix_update_values(A, value), "values");
    karst_precond *P = make(context, "auto", "jacobi", A);
    bool failed = karst_precond_outcome(P, NULL) < 0;
    tap_need(context, karst_precond_update(P), "update");
    failed = failed && karst_precond_outcome(P, NULL) < 0;
    tap_ok(failed && strcmp(direction_for(context, A, P, "anisotropic:9x8x7,epsx=0.1,epsy=0.1,epsz=1"), "z") == 0 &&
               karst_precond_outcome(P, NULL) == KARST_SOUND,
           "after values of %g the first sound ones choose", bad[i]);
    tap_need(context, karst_matrix_update_values(A, value), "values");
    tap_need(context, karst_precond_update(P), "update");
    tap_ok(strcmp(direction_for(context, A, P, "anisotropic:9x8x7,epsx=1,epsy=0.1,epsz=0.1"), "z") == 0,
           "and that direction stays");
    free(value);
    karst_precond_destroy(P);
    karst_matrix_destroy(A);
  }
}

/* Along an axis of one cell lines are cells, which the caller is told, unless auto has taken the axis. */
static void direction_of_one_cell(karst_context *context)
{
  static const struct {
    const char *problem, *direction;
    int warnings;
  } cases[] = {
      {"poisson2d:6x5", "z", 1}, {"poisson2d:6x5", "y", 0}, {"poisson2d:6x1", "y", 1}, {"poisson2d:6x5", "auto", 0}};
  if (lacks_kernels(context, "an axis of one cell")) return;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct warnings warnings = {0};
    karst_matrix *A = matrix_from(context, cases[i].problem, 1);
    karst_context_set_message(context, keep_warning, &warnings);
    karst_precond *P = make(context, cases[i].direction, "jacobi", A);
    karst_context_set_message(context, NULL, NULL);
    tap_ok(warnings.count == cases[i].warnings && (!warnings.count || strstr(warnings.text, "one cell along")),
           "%s along %s: %d warnings %s", cases[i].problem, cases[i].direction, warnings.count, warnings.text);
    karst_precond_destroy(P);
    karst_matrix_destroy(A);
  }
}

/* Lines follow the grid, whatever the order of the rows, and fewer iterations the strong couplings. */
static void orderings(karst_context *context)
{
  static const char *const orders_of_rows[] = {"natural", "rcm", "tiles"};
  int iterations[3][3];
  if (lacks_kernels(context, "orderings")) return;
  struct problem p = problem_from(context, "anisotropic:9x8x20,epsx=0.01,epsy=0.01,epsz=1", 1, 3);
  for (int o = 0; o < 3; o++)
    for (int d = 0; d < 3; d++) {
      const char *const direction_of[] = {"auto", "z", "x"};
      karst_solver *solver = solver_from(context, PAIRS("solver", "cg", "precond", "lines", "ordering",
                                                        orders_of_rows[o], "line-direction", direction_of[d]));
      tap_need(context, karst_solver_setup(solver, p.A), "setup");
      const karst_result result = problem_solve(&p, solver);
      iterations[o][d] = result.reason == KARST_CONVERGED_RTOL ? result.iterations : 10000;
      karst_solver_destroy(solver);
    }
  for (int o = 0; o < 3; o++)
    tap_ok(iterations[o][0] == iterations[0][1] && iterations[o][1] == iterations[0][1] &&
               2 * iterations[o][0] < iterations[o][2],
           "%s: %d iterations of cg along the strong couplings, %d across", orders_of_rows[o], iterations[o][0],
           iterations[o][2]);
  problem_destroy(&p);
}

int main(void)
{
  tap_each_device(sizes, "block sizes");
  tap_each_device(shapes, "shapes of grids");
  tap_each_device(faults, "faults");
  tap_each_device(one_sided, "a coupling in one direction");
  tap_each_device(many_neighbours, "27 points");
  tap_each_device(exact, "one line");
  tap_each_device(direction, "the direction");
  tap_each_device(direction_of_one_cell, "an axis of one cell");
  tap_each_device(direction_again, "the direction after bad values");
  tap_each_device(direction_by_number, "a singular diagonal block");
  tap_each_device(orderings, "orderings");
  return tap_done();
}
