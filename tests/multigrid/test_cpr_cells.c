/* cpr is z = E z_p + M2^-1 (r - A E z_p), z_p = M1^-1 W^T r, for blocks of 1 to 8, one and two cells, decoupled cells,
 * and with singular and indefinite pressure matrices. Zero blocks, NaN and infinities are outcomes with their block
 * row, and later values are used again. */
#include "tests/support/multigrid.h"

#include <string.h>

/* z by dense arithmetic, with weights 1, the pressure unknown `pressure` and without a second stage. */
static double *composed(const karst_matrix *A, int pressure, const double *r)
{
  const int b = karst_matrix_block_size(A);
  const int64_t n = karst_matrix_rows(A), cells = n / b;
  double *dense = tap_dense(A), *A_p = tap_memory(cells * cells, sizeof *A_p), *z_p = tap_memory(cells, sizeof *z_p),
         *z = tap_memory(n, sizeof *z);
  for (int64_t i = 0; i < n; i++) {
    z_p[i / b] += r[i];
    for (int64_t j = 0; j < cells; j++) A_p[j * cells + i / b] += dense[(j * b + pressure) * n + i];
  }
  tap_need(NULL, tap_dense_solve(cells, A_p, z_p) ? KARST_SUCCESS : KARST_ERROR_MATRIX, "the dense pressures");
  for (int64_t i = 0; i < n; i++) {
    z[i] = r[i];
    for (int64_t j = 0; j < cells; j++) z[i] -= dense[(j * b + pressure) * n + i] * z_p[j];
  }
  for (int64_t j = 0; j < cells; j++) z[j * b + pressure] += z_p[j];
  free(dense);
  free(A_p);
  free(z_p);
  return z;
}

/* With few cells the last level of amg is the pressure matrix, which is solved. A E is rounded to float. */
static void formula(karst_context *context)
{
  static const karst_index cells[] = {1, 2, 30};
  for (int b = 1; b <= 8; b++)
    for (int c = 0; c < 3; c++) {
      const int pressure = (int)tap_random_index(b);
      char number[8];
      snprintf(number, sizeof number, "%d", pressure);
      karst_matrix *A = tap_random_matrix(context, cells[c], b, 3, 2);
      karst_precond *M = precond_from(context,
                                      PAIRS("precond", "cpr", "cpr-pressure", number, "cpr-weights", "row-sum",
                                            "first.amg-precision", "double", "second", "none"),
                                      A);
      double *r, *z = applied_to_random(M, tap_seed(), &r), *expected = composed(A, pressure, r);
      const double error = relative_difference(karst_matrix_rows(A), z, expected);
      tap_ok(error <= 1e-5, "%d cells in blocks of %d, pressure %d: the formula up to %.1e", (int)cells[c], b, pressure,
             error);
      free(r);
      free(z);
      free(expected);
      karst_precond_destroy(M);
      karst_matrix_destroy(A);
    }
}

static int iterations_of(const struct problem *p, const char *pressure)
{
  return count_iterations(p, PAIRS("precond", "cpr", "solver", "fgmres", "rtol", "1e-8", "max-iterations", "100",
                                   "cpr-pressure", pressure));
}

static void sizes(karst_context *context)
{
  for (int b = 1; b <= 8; b++) {
    struct problem p = problem_of(context, tap_random_matrix(context, 400, b, 4, 1), 3);
    const int found = iterations_of(&p, "0");
    tap_ok(found > 0 && found <= 60, "b = %d: %d iterations", b, found);
    problem_destroy(&p);
    p = problem_of(context, tap_random_matrix(context, 300, b, 0, 1), 3);
    const int diagonal = iterations_of(&p, "auto");
    tap_ok(diagonal > 0 && diagonal <= 3, "no couplings between cells: %d iterations", diagonal);
    problem_destroy(&p);
  }
  for (int cells = 1; cells <= 2; cells++) {
    struct problem p = problem_own(context, cells == 1 ? "blackoil:1x1x1,dt=1" : "blackoil:2x1x1,dt=1");
    const int found = iterations_of(&p, "auto");
    tap_ok(found > 0 && found <= 4, "%d cell%s: %d iterations", cells, cells == 1 ? "" : "s", found);
    problem_destroy(&p);
  }
}

/* With one unknown a cell it is amg with a second stage, whose residual it leaves. */
static void one_unknown(karst_context *context)
{
  struct problem p = problem_own(context, "poisson3d:16x16x16");
  const int cpr = iterations_of(&p, "auto"),
            amg = count_iterations(&p, PAIRS("precond", "amg", "solver", "fgmres", "rtol", "1e-8"));
  tap_ok(cpr > 0 && cpr <= amg, "b = 1: %d iterations, %d with amg alone", cpr, amg);
  problem_destroy(&p);
}

/* ---- pressure matrices that are singular or indefinite ---- */

/* Two unknowns of each cell of a grid, pressure and saturation. The pressure's equation is Poisson's without a
 * boundary, and a saturation depends on it and on its neighbours upwind. shift: of the pressure's diagonal. */
static karst_matrix *incompressible(karst_context *context, karst_index n, double shift)
{
  struct pattern grid = pattern_grid(n, n, n);
  double *value = tap_memory(4 * (int64_t)grid.start[grid.n], sizeof *value);
  for (karst_index i = 0; i < grid.n; i++)
    for (karst_index k = grid.start[i]; k < grid.start[i + 1]; k++) {
      double *block = value + 4 * (int64_t)k;
      const double faces = (double)(grid.start[i + 1] - grid.start[i] - 1);
      block[0] = grid.column[k] == i ? faces + shift : -1;
      block[1] = grid.column[k] == i ? 0.1 * faces : -0.1;
      block[3] = grid.column[k] == i ? 4 : grid.column[k] < i ? -1 : 0;
    }
  karst_matrix *A = pattern_matrix(context, &grid, 2, value);
  pattern_free(&grid);
  free(value);
  return A;
}

/* b = A x with a random x, so that it is consistent. */
static struct problem consistent(karst_context *context, karst_matrix *A)
{
  struct problem p = problem_of(context, A, 0);
  karst_vector *x = vector_random(context, p.n, 12);
  tap_need(context, karst_matrix_multiply(A, x, p.b), "b");
  karst_vector_destroy(x);
  return p;
}

static void singular(karst_context *context)
{
  for (int i = 0; i < 4; i++) {
    struct problem p = consistent(context, incompressible(context, 10, 0));
    karst_solver *solver = solver_from(context, PAIRS("precond", "cpr", "solver", i % 2 ? "fgmres" : "bicgstab", "rtol",
                                                      "1e-8", "cpr-pressure", "0", "max-iterations", "100",
                                                      "first.amg-coarsening", i < 2 ? "pmis" : "aggregation"));
    tap_need(context, karst_solver_setup(solver, p.A), "set-up");
    const int found = count_solve(&p, solver);
    tap_ok(found > 0 && found <= 40 && tap_solver_number(solver, "first_amg_pinned") == 1,
           "no boundary, incompressible: %d iterations, %g unknown pinned", found,
           tap_solver_number(solver, "first_amg_pinned"));
    problem_end(&p, solver);
  }
}

static void indefinite(karst_context *context)
{
  static const double shifts[] = {-0.05, -1}; /* a few negative eigenvalues; a tenth of them */
  for (int s = 0; s < 2; s++) {
    struct problem p = consistent(context, incompressible(context, 10, shifts[s]));
    const int found = count_iterations(
        &p, PAIRS("precond", "cpr", "solver", "fgmres", "restart", "100", "rtol", "1e-8", "cpr-pressure", "0"));
    tap_ok(found > 0 && found <= (s ? 400 : 60), "pressures shifted by %g: %d iterations", shifts[s], found);
    problem_destroy(&p);
  }
  struct problem p = consistent(context, incompressible(context, 10, 0.1));
  set_entry(p.A, 500, 500, 0, -6); /* one diagonal entry of the wrong sign */
  const int found = iterations_of(&p, "0");
  tap_ok(found > 0 && found <= 60, "a negative diagonal entry: %d iterations", found);
  problem_destroy(&p);
}

/* ---- outcomes ---- */

/* Bad values in set-up and in an update; good ones later are as good as at first. */
static void outcomes(karst_context *context)
{
  static const double bad[] = {NAN, INFINITY, 0};
  static const double zeros[9];
  const karst_index row = 77;
  for (int i = 0; i < 12; i++) {
    struct problem p = problem_own(context, "blackoil:8x7x5,dt=1");
    const char *weights = i < 6 ? "auto" : "quasi-impes";
    karst_solver *solver = solver_from(context, PAIRS("precond", "cpr", "solver", "fgmres", "ordering",
                                                      i % 2 ? "rcm" : "natural", "cpr-weights", weights));
    double *good = values_on_host(p.A);
    const int expected = iterations_of(&p, "0");
    if (i / 3 % 2) tap_need(context, karst_solver_setup(solver, p.A), "set-up");
    if (bad[i % 3] != 0)
      set_entry(p.A, row, row + 1, 4, bad[i % 3]);
    else
      replace_row(p.A, row, zeros);
    tap_need(context, i / 3 % 2 ? karst_solver_update(solver) : karst_solver_setup(solver, p.A), "bad values");
    const karst_result result = problem_solve(&p, solver);
    tap_ok(result.reason == (bad[i % 3] == 0 ? KARST_SINGULAR_BLOCK : KARST_NOT_FINITE) && result.block_row == row,
           "%s: %g in block row %d of %s: %s", weights, bad[i % 3], (int)result.block_row,
           i / 3 % 2 ? "an update" : "set-up", karst_solver_explain(solver));
    tap_need(context, karst_matrix_update_values(p.A, good), "good values");
    tap_need(context, karst_solver_update(solver), "update");
    const int iterations = count_solve(&p, solver);
    tap_ok(iterations > 0 && iterations <= expected + 3, "good values are solved: %d iterations", iterations);
    free(good);
    problem_end(&p, solver);
  }
}

/* Blocks of zeros off the diagonal are stored entries like others. */
static void zero_blocks(karst_context *context)
{
  struct problem p = problem_own(context, "blackoil:10x10x6,dt=1");
  double *value = values_on_host(p.A);
  for (karst_index i = 0; i < karst_matrix_block_rows(p.A); i++)
    for (karst_index k = karst_matrix_row_start(p.A)[i]; k < karst_matrix_row_start(p.A)[i + 1]; k++)
      if (karst_matrix_column(p.A)[k] != i && (i + karst_matrix_column(p.A)[k]) % 3 == 0)
        memset(value + 9 * (int64_t)k, 0, 9 * sizeof *value);
  tap_need(context, karst_matrix_update_values(p.A, value), "values");
  free(value);
  const int found = iterations_of(&p, "auto");
  tap_ok(found > 0 && found <= 30, "a third of the blocks are zero: %d iterations", found);
  problem_destroy(&p);
}

int main(void)
{
  tap_each_device(formula, "the formula");
  tap_each_device(sizes, "sizes");
  tap_each_device(one_unknown, "one unknown a cell");
  tap_each_device(singular, "a null space");
  tap_each_device(indefinite, "indefinite pressures");
  tap_each_device(outcomes, "outcomes");
  tap_each_device(zero_blocks, "zero blocks");
  return tap_done();
}
