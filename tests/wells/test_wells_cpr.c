/* test_wells_cpr.c - cpr with wells beside the matrix: with rows of wells in the pressure system it takes about the
 * iterations of a matrix with the wells in it, also if some of the wells are shut, or nearly so. */
#include "tests/support/multigrid.h"
#include "tests/support/random_wells.h"

static struct well_arrays w;

/* Solves with more options after cpr, with wells beside A or NULL. */
static int count(const struct problem *p, const karst_matrix *A, const karst_wells *wells, const char *choice,
                 const char *ordering)
{
  karst_solver *solver = solver_from(p->context, PAIRS("solver", "bicgstab", "rtol", "1e-8", "precond", "cpr",
                                                       "cpr-wells", choice, "ordering", ordering));
  tap_need(p->context, karst_solver_set_wells(solver, wells), "set wells");
  tap_need(p->context, karst_solver_setup(solver, A), "set-up");
  const int iterations = count_solve(p, solver);
  karst_solver_destroy(solver);
  return iterations;
}

/* Multiplies B and C of every second well, whose D becomes the identity. */
static void scale_wells(karst_wells *wells, double B_factor, double C_factor)
{
  for (karst_index i = 0; i < w.wells; i += 2) {
    for (int64_t v = well_entry(&w, i, w.start[i]); v < well_entry(&w, i, w.start[i + 1]); v++)
      w.B[v] *= B_factor, w.C[v] *= C_factor;
    memcpy(w.D + 4 * i, ((const double[]){1, 0, 0, 1}), 4 * sizeof *w.D);
  }
  karst_wells_update_values(wells, w.B, w.C, w.D);
}

static void iterations(karst_context *context)
{
  struct problem p = problem_own(context, "blackoil:16x16x8,dt=10");
  draw_flowing_wells(context, &w, p.A, 8, 16 * 16, 8, 10);
  karst_wells *wells = make_wells(context, karst_matrix_block_rows(p.A), &w);
  karst_matrix *inside = with_wells_inside(context, p.A, &w);
  /* 300 draws had at most 2.1 times the iterations of bicgstab with the wells inside */
  const int in = count(&p, inside, NULL, "rows", "natural"), rows = count(&p, p.A, wells, "rows", "natural");
  const int none = count(&p, p.A, wells, "none", "natural"), ordered = count(&p, p.A, wells, "rows", "rcm");
  tap_ok(in > 0 && rows > 0 && rows <= 2 * in + 4, "%d iterations with rows of wells, %d with wells in the matrix",
         rows, in);
  tap_ok(ordered > 0 && ordered <= 2 * in + 4, "%d in another order", ordered);
  tap_ok(none > rows, "%d without the rows", none);
  karst_matrix_destroy(inside);
  const double factor[][2] = {{1e-60, 1}, {1e60, 1e-60}, {0, 0}}; /* almost shut by B, by C, and shut */
  for (int i = 0; i < 3; i++) {
    scale_wells(wells, factor[i][0], factor[i][1]);
    inside = with_wells_inside(context, p.A, &w);
    const int left = count(&p, p.A, wells, "rows", "natural"), half = count(&p, inside, NULL, "rows", "natural");
    tap_ok(left > 0 && left <= 2 * half + 4, "half of them with %g B, %g C: %d, %d", factor[i][0], factor[i][1], left,
           half);
    karst_matrix_destroy(inside);
  }
  karst_wells_destroy(wells);
  problem_destroy(&p);
}

/* One cell and one well whose row of the pressure system is singular: [1 1; 1 1]. It is no block row of the matrix. */
static void singular(karst_context *context)
{
  static const karst_index start[] = {0, 1}, cell[] = {0};
  const double identity[] = {1, 0, 0, 1}, B[] = {1, 0}, D[] = {1};
  const int one = 1;
  struct problem p = problem_of(context, matrix_of(context, 1, 2, start, cell, identity), tap_seed());
  karst_wells *wells;
  tap_need(context, karst_wells_create(context, 1, 2, 1, &one, start, cell, &wells), "wells");
  tap_need(context, karst_wells_update_values(wells, B, B, D), "values");
  karst_solver *solver =
      solver_from(context, PAIRS("precond", "cpr", "cpr-pressure", "0", "cpr-weights", "quasi-impes", "first", "iluk"));
  tap_need(context, karst_solver_set_wells(solver, wells), "set wells");
  tap_need(context, karst_solver_setup(solver, p.A), "set-up");
  const karst_result result = solved(solver, p.b, p.x);
  tap_ok(result.reason == KARST_SINGULAR_BLOCK && result.block_row == -1 &&
             strstr(karst_solver_explain(solver), "singular: in the row of well 0 of the pressure system"),
         "%s", karst_solver_explain(solver));
  karst_solver_destroy(solver);
  karst_wells_destroy(wells);
  problem_destroy(&p);
}

int main(void)
{
  tap_each_device(iterations, "cpr with wells");
  tap_each_device(singular, "a singular row of a well");
  return tap_done();
}
