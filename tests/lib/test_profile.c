/* karst_context_profile reports, by name, the time, calls and bytes of each operation of a solve, and changes no
 * result. */
#include "tests/support/profile_rows.h"

/* The operations of each method in an iteration. The residuals before and after have names of their own. Right
 * preconditioning applies once more for the x of each cycle; here there is one cycle. */
static void counts_calls(karst_context *context)
{
  static const struct {
    const char *solver;
    int products, applies, more;
  } method[] = {{"cg", 1, 1, 0}, {"gmres", 1, 1, 1}, {"fgmres", 1, 1, 0}, {"bicgstab", 2, 2, 0}};
  for (size_t i = 0; i < sizeof method / sizeof *method; i++) {
    tap_settings settings = settings_for(method[i].solver, NULL);
    settings.restart = 100;
    struct problem p = problem_from(context, "poisson2d:20x20", 0, 0);
    karst_solver *solver = problem_solver(&p, &settings);
    const int iterations = solve_profiled(&p, solver, method[i].solver);
    const int64_t n = iterations, products = calls_of(context, "matrix product");
    const int64_t applies = calls_of(context, "precond apply (iluk)"), half = method[i].products - 1;
    tap_ok(products <= method[i].products * n && products >= method[i].products * n - half,
           "%s: %lld products in %lld iterations", method[i].solver, (long long)products, (long long)n);
    tap_ok(applies <= method[i].applies * n + method[i].more && applies >= method[i].applies * n - half,
           "%s: %lld applies", method[i].solver, (long long)applies);
    tap_ok(calls_of(context, "precond update (iluk)") == 0 && calls_of(context, "download") >= n &&
               calls_of(context, "dot products") > 0,
           "%s: no update, and a download in each iteration", method[i].solver);
    karst_solver_destroy(solver);
    problem_destroy(&p);
  }
}

/* A preconditioner of two stages has a row, as has each stage. */
static void counts_stages(karst_context *context)
{
  tap_settings settings = settings_for(NULL, "two-stage");
  struct problem p = problem_from(context, "deadoil:6x5x4", 0, 0);
  karst_solver *solver = problem_solver(&p, &settings);
  const int iterations = solve_profiled(&p, solver, "two-stage");
  const int64_t both = calls_of(context, "precond apply (two-stage)");
  tap_ok(both > iterations && calls_of(context, "precond apply (jacobi)") == both &&
             calls_of(context, "precond apply (iluk)") == both &&
             calls_of(context, "diagonal blocks product") == both && calls_of(context, "residual") >= both,
         "two-stage: each of %lld applies calls that of both stages", (long long)both);
  tap_ok(row_of(context, "precond apply (two-stage)").bytes == 0 &&
             row_of(context, "precond apply (jacobi)").bytes == 0 &&
             row_of(context, "precond apply (iluk)").bytes > 0 && row_of(context, "diagonal blocks product").bytes > 0,
         "and only the operations that move bytes report them");
  tap_need(context, karst_context_profile(context, 1), "profile");
  tap_need(context, karst_solver_update(solver), "update");
  tap_ok(calls_of(context, "precond update (two-stage)") == 1 && calls_of(context, "precond update (iluk)") == 1 &&
             calls_of(context, "invert diagonal") == 1 && calls_of(context, "matrix product") == 0,
         "an update is counted, and the rows of the earlier profile are removed");
  tap_need(context, karst_solver_setup(solver, p.A), "setup");
  tap_ok(calls_of(context, "precond setup (two-stage)") == 1 && calls_of(context, "precond setup (jacobi)") == 1,
         "and so is a set-up");
  karst_solver_destroy(solver);
  problem_destroy(&p);
}

/* cpr has a row, as has each of its stages, and making levels anew has one of its own. */
static void counts_cpr(karst_context *context)
{
  struct problem p = problem_from(context, "deadoil:8x7x6", 0, 0);
  karst_solver *solver = solver_from(context, PAIRS("precond", "cpr", "solver", "gmres", "first.amg-rebuild", "3"));
  tap_need(context, karst_solver_setup(solver, p.A), "set-up");
  const int iterations = solve_profiled(&p, solver, "cpr");
  const int64_t both = calls_of(context, "precond apply (cpr)");
  tap_ok(both > iterations && calls_of(context, "precond apply (amg)") == both &&
             calls_of(context, "precond apply (iluk)") == both,
         "cpr: each of %lld applies calls that of both stages", (long long)both);
  tap_ok(row_of(context, "precond apply (cpr)").bytes > 0 && row_of(context, "precond apply (amg)").bytes > 0,
         "and each reports bytes");
  tap_need(context, karst_context_profile(context, 1), "profile");
  for (int i = 0; i < 3; i++) tap_need(context, karst_solver_update(solver), "update");
  tap_ok(calls_of(context, "precond update (cpr)") == 3 && calls_of(context, "precond update (amg)") == 3 &&
             calls_of(context, "precond choose (amg)") == 1,
         "of three updates one makes levels anew");
  karst_solver_destroy(solver);
  problem_destroy(&p);
}

/* cg on the unknowns that rrb leaves has operations of its own. */
static void counts_reduced(karst_context *context)
{
  tap_settings settings = settings_for("cg", "rrb");
  struct problem p = problem_from(context, "jump2d:40x40", 0, 0);
  karst_solver *solver = problem_solver(&p, &settings);
  const int iterations = solve_profiled(&p, solver, "rrb");
  const int64_t products = calls_of(context, "reduced matrix product (rrb)");
  tap_ok(products >= iterations && products <= iterations + 4 &&
             calls_of(context, "reduced precond apply (rrb)") == iterations &&
             calls_of(context, "enter reduced system (rrb)") == 1 &&
             calls_of(context, "leave reduced system (rrb)") == 1 && calls_of(context, "matrix product") == 0,
         "a reduced system: %lld products with its matrix, and one return to the whole system", (long long)products);
  tap_ok(row_of(context, "reduced matrix product (rrb)").bytes >= (double)products * 800 * 7 * sizeof(double),
         "whose bytes are counted");
  karst_solver_destroy(solver);
  problem_destroy(&p);
}

/* The solution of a scaled system goes into the caller's order to be measured, and not once more at the end.
 * Comparisons of norms during the solve combine the basis, but fill nothing. */
static void counts_scaled(karst_context *context)
{
  tap_settings settings = settings_for(NULL, NULL);
  settings.scale = "diagonal";
  settings.restart = 100;
  struct problem p = problem_from(context, "jump2d:20x20", 0, 0);
  karst_solver *solver = problem_solver(&p, &settings);
  const int iterations = solve_profiled(&p, solver, "a scaled system");
  const int64_t n = iterations, combinations = calls_of(context, "linear combination");
  tap_ok(calls_of(context, "scatter") == 1, "a scaled system: its solution is taken to the caller's order once");
  tap_ok(calls_of(context, "fill") == 1, "and only the start is filled");
  tap_ok(combinations > n + 2, "and norms are compared, in %lld combinations of %lld iterations",
         (long long)combinations, (long long)n);
  karst_solver_destroy(solver);
  problem_destroy(&p);
}

static void counts_operator(karst_context *context)
{
  tap_settings settings = settings_for(NULL, NULL);
  struct problem p = problem_from(context, "poisson2d:12x12", 0, 0);
  karst_solver *solver = problem_solver(&p, &settings);
  tap_need(context, karst_solver_set_operator(solver, multiply_by_matrix, p.A), "the operator");
  const int iterations = solve_profiled(&p, solver, "an operator");
  tap_ok(calls_of(context, "operator") > iterations &&
             calls_of(context, "operator") == calls_of(context, "matrix product"),
         "the caller's operator has a row, and so has the product that it calls");
  karst_solver_destroy(solver);
  problem_destroy(&p);
}

/* The bytes of operations on known sizes. */
static void counts_bytes(karst_context *context)
{
  enum { N = 1000 };
  double dot;
  karst_matrix *A = matrix_from(context, "poisson2d:40x25", 0);
  karst_vector *x = vector_of(context, N, 0), *y = vector_of(context, N, 0);
  tap_need(context, karst_context_profile(context, 1), "profile");
  tap_need(context, karst_vector_copy(x, y), "copy");
  tap_need(context, karst_vector_copy(x, y), "copy");
  tap_need(context, karst_vector_fill(x, 1), "fill");
  vector_norm(x);
  tap_need(context, karst_vector_dot(x, y, &dot), "dot");
  tap_need(context, karst_vector_add(2, x, y), "add");
  tap_need(context, karst_vector_scale(2, x), "scale");
  tap_need(context, karst_matrix_multiply(A, x, y), "multiply");
  const double blocks = 5 * N - 2 * 40 - 2 * 25, index = sizeof(karst_index);
  const karst_profile copy = row_of(context, "copy"), product = row_of(context, "matrix product");
  tap_ok(copy.calls == 2 && copy.bytes == 2 * 2 * 8.0 * N, "a copy reads and writes");
  tap_ok(row_of(context, "fill").bytes == 8.0 * N, "to fill is to write");
  tap_ok(row_of(context, "dot products").bytes == 8.0 * (N + 2 * N), "a norm reads one vector, a dot product two");
  tap_ok(row_of(context, "linear combination").bytes == 8.0 * (3 * N + 2 * N), "sums read and write y");
  tap_ok(product.calls == 1 && product.bytes == blocks * (8 + index) + (N + 1) * index + 2 * 8.0 * N,
         "a product reads the matrix once");
  karst_matrix_destroy(A);
  karst_vector_destroy(y);
  karst_vector_destroy(x);
}

/* Set-up with an ordering permutes the pattern once, and an update permutes the values alone. */
static void counts_permutation(karst_context *context)
{
  tap_settings settings = settings_for(NULL, NULL);
  settings.ordering = "rcm";
  struct problem p = problem_from(context, "poisson2d:40x25", 0, 0);
  karst_solver *solver = problem_solver(&p, &settings);
  tap_need(context, karst_context_profile(context, 1), "profile");
  tap_need(context, karst_solver_setup(solver, p.A), "setup");
  tap_need(context, karst_solver_update(solver), "update");
  const karst_profile row = row_of(context, "permute pattern");
  const double rows = 1000, blocks = 5 * rows - 2 * 40 - 2 * 25;
  tap_ok(row.calls == 1 && row.bytes == (3 * blocks + 2 * (rows + 1) + rows) * (double)sizeof(karst_index),
         "the pattern is permuted once, by set-up");
  karst_solver_destroy(solver);
  problem_destroy(&p);
}

/* Each time is that of its operation alone, and their sum is at most the time of the solve. */
static void adds_up(karst_context *context)
{
  karst_profile row;
  double sum = 0;
  bool sane = true;
  tap_settings settings = settings_for(NULL, "two-stage");
  struct problem p = problem_from(context, "deadoil:8x8x4", 0, 0);
  karst_solver *solver = problem_solver(&p, &settings);
  tap_need(context, karst_context_profile(context, 1), "profile");
  problem_solve(&p, solver);
  tap_need(context, karst_context_profile(context, 0), "no profile");
  const karst_solver_info info = info_of(solver);
  for (size_t i = 0; karst_context_profile_row(context, i, &row); i++) {
    sane = sane && row.calls > 0 && row.seconds >= 0 && row.bytes >= 0 && *row.name;
    sum += row.seconds;
  }
  /* A GPU's clock is another one; the CPU's differs by its resolution. */
  tap_ok(sane && sum > 0 && sum <= 1.05 * info.time_solve + 1e-6, "the rows take %g of %g seconds", sum,
         info.time_solve);
  karst_solver_destroy(solver);
  problem_destroy(&p);
}

int main(void)
{
  tap_each_device(counts_calls, "calls of the methods");
  tap_each_device(counts_stages, "stages");
  tap_each_device(counts_cpr, "cpr");
  tap_each_device(counts_reduced, "a reduced system");
  tap_each_device(counts_scaled, "a scaled system");
  tap_each_device(counts_operator, "an operator");
  tap_each_device(counts_bytes, "bytes");
  tap_each_device(counts_permutation, "a permutation");
  tap_each_device(adds_up, "the sum of times");
  return tap_done();
}
