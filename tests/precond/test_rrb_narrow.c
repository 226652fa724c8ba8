/* rrb takes no more memory for a narrow grid than for the same grid turned, and solves both in as many iterations to
 * the same solution. Errors name nodes of the matrix's grid. */
#include "lib/backend/backend.h"
#include "lib/matrix/matrix.h"
#include "lib/method/precond.h"
#include "tests/support/problem.h"
#include "tests/support/rrb_dense.h"
#include "lib/backend/rrb_kernels.h"

#include <string.h>

/* The result of a solve with a right-hand side of ones. */
struct solve {
  int64_t memory; /* of the preconditioner */
  karst_result result;
  double *x; /* [nx ny] */
};

static struct solve solve(karst_context *context, const char *problem, karst_index nx, karst_index ny)
{
  struct solve made;
  char spec[60];
  tap_settings settings = settings_for("cg", "rrb");
  settings.rtol = 1e-10;
  snprintf(spec, sizeof spec, "%s:%ldx%ld", problem, (long)nx, (long)ny);
  struct problem p = problem_from(context, spec, 0, 0);
  karst_precond *M = precond_of(context, &settings, p.A);
  made.memory = M->memory;
  karst_precond_destroy(M);
  karst_solver *solver = problem_solver(&p, &settings);
  made.result = problem_solve(&p, solver);
  made.x = vector_on_host(p.x);
  karst_solver_destroy(solver);
  problem_destroy(&p);
  return made;
}

/* The largest distance of the two solutions over the largest element. */
static double distance(karst_index nx, karst_index ny, const double *x, const double *turned)
{
  double apart = 0, size = 0;
  for (karst_index i = 0; i < nx; i++)
    for (karst_index j = 0; j < ny; j++) {
      apart = fmax(apart, fabs(x[j * nx + i] - turned[i * ny + j]));
      size = fmax(size, fabs(x[j * nx + i]));
    }
  return apart / size;
}

/* Where a grid is turned, the map of its rows comes on top of the memory: once for the host, once for the kernels.
 * Where it is not, gaps take at most half of the memory of the rows, and a turned grid must save at least this. */
static void check_grid(karst_context *context, const char *problem, karst_index nx, karst_index ny)
{
  const struct solve narrow = solve(context, problem, nx, ny), wide = solve(context, problem, ny, nx);
  const karst_index size[2] = {nx, ny};
  const double allowed = karst_rrb_turns(size)
                             ? (double)wide.memory + 2.0 * sizeof(karst_index) * (double)nx * (double)ny
                             : 1.5 * (double)wide.memory;
  tap_ok((double)narrow.memory <= allowed, "%s:%ldx%ld takes %.3g MiB, turned %.3g", problem, (long)nx, (long)ny,
         (double)narrow.memory / 1048576, (double)wide.memory / 1048576);
  tap_ok(narrow.result.reason > 0 && wide.result.reason > 0 &&
             abs(narrow.result.iterations - wide.result.iterations) <= 1,
         "%s:%ldx%ld takes %d iterations, turned %d", problem, (long)nx, (long)ny, narrow.result.iterations,
         wide.result.iterations);
  /* Both residuals are 1e-10 of b, and the condition of these grids is 1e4 or less. */
  const double apart = distance(nx, ny, narrow.x, wide.x);
  tap_ok(apart < 1e-6, "the solutions are the same (%.1e)", apart);
  free(narrow.x);
  free(wide.x);
}

static void grids(karst_context *context)
{
  if (tap_lacks_kernels(context->backend->rrb, "rrb", "narrow grids")) return;
  for (karst_index nx = 2; nx <= 75; nx = nx < 5 ? nx + 1 : 2 * nx + 1) {
    check_grid(context, "poisson2d", nx, 1500);
    check_grid(context, "bilinear2d", nx, 700);
  }
}

/* ---- sentences ---- */

/* Makes rrb of a matrix with a changed entry. */
static karst_status make_changed(karst_context *context, const char *spec, karst_index row, karst_index column,
                                 double entry, karst_precond **M, karst_matrix **A)
{
  *M = NULL;
  *A = matrix_from(context, spec, 0);
  set_entry(*A, row, column, 0, entry);
  const tap_settings settings = settings_for(NULL, "rrb");
  return tap_precond_create(context, &settings, *A, M);
}

/* Row 100 of a grid of three lines is that of node (2, 34) counted from 1. */
static void sentences(karst_context *context)
{
  karst_matrix *A;
  karst_precond *M;
  karst_index row;
  if (tap_lacks_kernels(context->backend->rrb, "rrb", "sentences")) return;
  karst_status status = make_changed(context, "poisson2d:3x500", 100, 100, -1, &M, &A);
  tap_ok(!status && karst_precond_outcome(M, &row) == KARST_INDEFINITE_PRECOND && row == 100 &&
             strstr(M->explanation, "node (2, 34)"),
         "a pivot: %s", status ? karst_context_error(context) : M->explanation);
  karst_precond_destroy(M);
  karst_matrix_destroy(A);
  status = make_changed(context, "poisson2d:3x500", 100, 103, -2, &M, &A);
  tap_ok(status == KARST_ERROR_MATRIX && strstr(karst_context_error(context), "block row 100, node (2, 34)"),
         "an entry that differs from its mirror image: %s", karst_context_error(context));
  karst_precond_destroy(M);
  karst_matrix_destroy(A);
  A = matrix_from(context, "poisson2d:3x500", 0);
  tap_need(context, karst_matrix_set_grid(A, 2, 750, 1), "another grid");
  const tap_settings settings = settings_for(NULL, "rrb");
  status = tap_precond_create(context, &settings, A, &M);
  tap_ok(status == KARST_ERROR_MATRIX && strstr(karst_context_error(context), "the grid 2x750"), "another grid: %s",
         karst_context_error(context));
  karst_precond_destroy(M);
  karst_matrix_destroy(A);
}

int main(void)
{
  tap_each_device(grids, "narrow grids");
  tap_each_device(sentences, "sentences");
  return tap_done();
}
