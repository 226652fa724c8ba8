/* test_wells_memory.c - if any allocation of a solve with wells fails, the call returns the no-memory status and all is
 * released; new values of wells and solves allocate nothing. */
#include "tests/support/failing_allocator.h"
#include "tests/support/problem.h"

static const karst_index start[] = {0, 2, 2, 5}, cell[] = {3, 9, 17, 3, 17};
static const int equations[] = {2, 1, 3};
static const double D[] = {1, 0, 2, 1, 1, 3, 0, 0, 0, 3, 0, 0, 0, 3};
static double B[39];

/* ordering: NULL: natural */
static karst_status solve(karst_context *context, void *ordering)
{
  karst_matrix *A = NULL;
  karst_wells *wells = NULL;
  karst_options *options = NULL;
  karst_solver *solver = NULL;
  karst_vector *b = NULL, *x = NULL;
  karst_result result;
  karst_status status = karst_gallery_create(context, "blackoil:3x3x2", 3, &A, NULL);
  if (!status) status = karst_wells_create(context, 18, 3, 3, equations, start, cell, &wells);
  if (!status) status = karst_vector_create(context, karst_matrix_rows(A), &b);
  if (!status) status = karst_vector_create(context, karst_matrix_rows(A), &x);
  if (!status) status = karst_vector_fill(b, 1);
  if (!status) status = karst_options_create(context, &options);
  if (!status) status = karst_options_set(options, "precond", "cpr");
  if (!status) status = karst_options_set(options, "ordering", ordering);
  if (!status) status = karst_solver_create(context, options, &solver);
  if (!status) status = karst_solver_set_wells(solver, wells);
  if (!status) status = karst_wells_update_values(wells, B, B, D);
  if (!status) status = karst_solver_setup(solver, A);
  if (!status) status = karst_solver_update(solver);
  if (!status) status = karst_solver_solve(solver, b, x, &result);
  karst_solver_destroy(solver);
  karst_options_destroy(options);
  karst_vector_destroy(b);
  karst_vector_destroy(x);
  karst_wells_destroy(wells);
  karst_matrix_destroy(A);
  return status;
}

static void allocate_nothing(void)
{
  struct failing_allocator memory = {.fail_at = 0};
  karst_context *context = failing_context(&memory);
  struct problem p = problem_from(context, "blackoil:3x3x2", 3, 1);
  karst_wells *wells;
  tap_need(context, karst_wells_create(context, 18, 3, 3, equations, start, cell, &wells), "wells");
  tap_need(context, karst_wells_update_values(wells, B, B, D), "values");
  karst_solver *solver = solver_from(context, PAIRS("precond", "cpr", "ordering", "rcm"));
  tap_need(context, karst_solver_set_wells(solver, wells), "set wells");
  tap_need(context, karst_solver_setup(solver, p.A), "set-up");
  const long before = memory.calls;
  tap_need(context, karst_wells_update_values(wells, B, B, D), "values");
  tap_need(context, karst_solver_update(solver), "update");
  const karst_result result = problem_solve(&p, solver);
  tap_ok(result.reason > 0 && memory.calls == before, "values, update and solve allocate nothing: %ld allocations",
         memory.calls - before);
  problem_end(&p, solver);
  karst_wells_destroy(wells);
  karst_context_destroy(context);
  tap_ok(memory.outstanding == 0, "all is released");
}

int main(void)
{
  for (size_t v = 0; v < sizeof B / sizeof *B; v++) B[v] = 0.1 * (double)(v % 7) - 0.2;
  fail_each_allocation(solve, "natural", "wells and cpr in natural order");
  fail_each_allocation(solve, "rcm", "wells and cpr in another order");
  allocate_nothing();
  return tap_done();
}
