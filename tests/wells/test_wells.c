/* test_wells.c - a solver with wells beside its matrix solves [A C'; B D] [x; w] = [b; g], as a dense solve does, with
 * every kind of driver and order; x is the same as with the wells in the matrix. */
#include "tests/support/random_wells.h"

static struct well_arrays w;

/* Solves with wells beside A to 1e-12, and compares x and w with the dense solution xw. */
static void compare(const struct problem *p, karst_wells *wells, const char *const *pairs, const karst_vector *g,
                    const double *xw, int64_t unknowns)
{
  karst_solver *solver = solver_from(p->context, pairs);
  karst_vector *rhs = vector_of(p->context, p->n, 0), *found = vector_of(p->context, unknowns, 0);
  tap_need(p->context, karst_vector_copy(p->b, rhs), "copy");
  tap_need(p->context, karst_wells_eliminate(wells, g, rhs), "eliminate");
  tap_need(p->context, karst_solver_set_wells(solver, wells), "set wells");
  tap_need(p->context, karst_solver_setup(solver, p->A), "set-up");
  tap_need(p->context, karst_vector_fill(p->x, 0), "start");
  const karst_result result = solved(solver, rhs, p->x);
  tap_need(p->context, karst_wells_recover(wells, g, p->x, found), "recover");
  double *x = vector_on_host(p->x), *own = vector_on_host(found);
  const double error = relative_difference(p->n, x, xw), of_wells = relative_difference(unknowns, own, xw + p->n);
  /* conditions are below 1e3, and the residual is 1e-12 of b */
  tap_ok(result.reason > 0 && error < 1e-8 && of_wells < 1e-8, "b = %d, %s %s %s: %d iterations, errors %.1e and %.1e",
         karst_matrix_block_size(p->A), pairs[1], pairs[3], pairs[5], result.iterations, error, of_wells);
  free(x), free(own);
  karst_vector_destroy(rhs);
  karst_vector_destroy(found);
  karst_solver_destroy(solver);
}

static void solve(karst_context *context, int b)
{
  struct problem p = problem_of(context, tap_random_matrix(context, 30, b, 4, 1.2), tap_seed());
  int64_t size;
  draw_wells(&w, 30, b, 6, 0.3);
  karst_wells *wells = make_wells(context, 30, &w);
  double *dense = dense_with_wells(p.A, &w, &size);
  const int64_t unknowns = size - p.n;
  tap_ok(karst_wells_unknowns(wells) == unknowns, "%lld unknowns of wells", (long long)unknowns);
  double *host = random_on_host(unknowns), *right = vector_on_host(p.b), *xw = tap_memory(size, sizeof *xw);
  memcpy(xw, right, sizeof *xw * (size_t)p.n);
  memcpy(xw + p.n, host, sizeof *xw * (size_t)unknowns);
  tap_need(context, tap_dense_solve(size, dense, xw) ? KARST_SUCCESS : KARST_ERROR_ARGUMENT, "dense solve");
  karst_vector *g = vector_from(context, unknowns, host);
  const char *const drivers[] = {"auto", "bicgstab", "gmres", "fgmres", "orthomin", "richardson"};
  for (size_t d = 0; d < sizeof drivers / sizeof *drivers; d++)
    compare(&p, wells, PAIRS("solver", drivers[d], "precond", "iluk", "ordering", "natural", "rtol", "1e-12"), g, xw,
            unknowns);
  const char *const orders[] = {"rcm", "colour", "tiles", "auto"};
  for (size_t o = 0; o < sizeof orders / sizeof *orders; o++)
    compare(&p, wells, PAIRS("solver", "bicgstab", "precond", "auto", "ordering", orders[o], "rtol", "1e-12"), g, xw,
            unknowns);
  compare(&p, wells, PAIRS("solver", "bicgstab", "precond", "cpr", "ordering", "rcm", "rtol", "1e-12"), g, xw,
          unknowns);
  karst_wells_destroy(wells);
  karst_vector_destroy(g);
  free(dense), free(host), free(right), free(xw);
  problem_destroy(&p);
}

static void solves(karst_context *context)
{
  const int sizes[] = {1, 2, 3, 9};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) solve(context, sizes[s]);
}

/* The iterations are those of a matrix with the wells in it, with a preconditioner that is the same for both. */
static void as_inside(karst_context *context)
{
  struct problem p = problem_of(context, tap_random_matrix(context, 40, 2, 4, 1.2), tap_seed());
  draw_wells(&w, 40, 2, 8, 0.3);
  karst_wells *wells = make_wells(context, 40, &w);
  karst_matrix *inside = with_wells_inside(context, p.A, &w);
  const char *const *pairs = PAIRS("solver", "gmres", "precond", "none", "rtol", "1e-10", "restart", "100");
  karst_solver *beside = solver_from(context, pairs), *reference = solver_from(context, pairs);
  tap_need(context, karst_solver_set_wells(beside, wells), "set wells");
  tap_need(context, karst_solver_setup(beside, p.A), "set-up");
  tap_need(context, karst_solver_setup(reference, inside), "set-up");
  const karst_result with = problem_solve(&p, beside);
  double *x = vector_on_host(p.x);
  const double residual = tap_residual(inside, p.b, p.x), norm = vector_norm(p.b);
  const karst_result same = problem_solve(&p, reference);
  double *y = vector_on_host(p.x);
  tap_ok(with.reason > 0 && abs(with.iterations - same.iterations) <= 1, "%d iterations beside the matrix, %d in it",
         with.iterations, same.iterations);
  tap_ok(residual <= 1.0001e-10 * norm && fabs(residual - with.residual) <= 1e-13 * norm,
         "the residual is that with the wells in the matrix: %.3e, %.3e", with.residual, residual);
  tap_ok(relative_difference(p.n, x, y) < 1e-7, "x is the same");
  free(x), free(y);
  karst_solver_destroy(reference);
  karst_solver_destroy(beside);
  karst_matrix_destroy(inside);
  karst_wells_destroy(wells);
  problem_destroy(&p);
}

int main(void)
{
  tap_each_device(solves, "wells beside the matrix against a dense solve");
  tap_each_device(as_inside, "wells beside the matrix and in it");
  return tap_done();
}
