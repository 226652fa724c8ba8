/* The weights of cpr: those that a program gives, also as storage blocks and with an ordering, are those of its cells;
 * auto takes them, else column sums, or quasi-IMPES weights where column sums fail; cells with weights that cannot be
 * used are guarded and counted. */
#include "lib/backend/cpr_kernels.h"
#include "tests/support/multigrid.h"

#include <string.h>

static const char spec[] = "blackoil:24x20x8,dt=1";

static karst_solver *make_solver(const struct problem *p, const char *weights, const char *ordering)
{
  karst_solver *solver = solver_from(p->context, PAIRS("precond", "cpr", "solver", "fgmres", "restart", "60", "rtol",
                                                       "1e-8", "max-iterations", "300", "cpr-pressure", "0",
                                                       "cpr-weights", weights, "ordering", ordering));
  tap_need(p->context, karst_solver_setup(solver, p->A), "set-up");
  return solver;
}

/* Returns the iterations. used: NULL, or the weights that the report must name. */
static int count(const struct problem *p, const char *weights, const char *ordering, const char *used)
{
  karst_solver *solver = make_solver(p, weights, ordering);
  const int iterations = count_solve(p, solver);
  if (used && strcmp(tap_solver_text(solver, "cpr_weights_used"), used) != 0) {
    tap_note("the report says %s, not %s", tap_solver_text(solver, "cpr_weights_used"), used);
    karst_solver_destroy(solver);
    return -1;
  }
  karst_solver_destroy(solver);
  return iterations;
}

/* The sums of the blocks of each block column, [b*b*cells]. */
static double *column_sums(const karst_matrix *A)
{
  const int64_t bb = (int64_t)A->block_size * A->block_size;
  double *value = values_on_host(A), *sums = tap_memory(bb * A->block_rows, sizeof *sums);
  for (int64_t k = 0; k < A->blocks; k++)
    for (int64_t v = 0; v < bb; v++) sums[bb * karst_matrix_column(A)[k] + v] += value[k * bb + v];
  free(value);
  return sums;
}

/* Weights from column sums, as the library computes them. */
static double *column_sum_weights(const karst_matrix *A)
{
  const struct karst_cpr_kernels *kernels = A->context->backend->cpr;
  double *weights = tap_memory(karst_matrix_rows(A), sizeof *weights);
  karst_cpr_outcome outcome;
  karst_cpr cpr = {.pressure = 0};
  tap_need(A->context, kernels->plan(A->context, A, &cpr), "plan");
  tap_need(A->context, kernels->weigh(A->context, A, KARST_CPR_COLUMN_SUM, NULL, NULL, &cpr, &outcome), "weigh");
  tap_need(
      A->context,
      A->context->backend->download(A->context, weights, cpr.weight, (size_t)karst_matrix_rows(A) * sizeof *weights),
      "weights");
  kernels->plan_destroy(A->context, &cpr);
  return weights;
}

/* Given weights that are those of column sums give the same bits, and a copy is taken of them. */
static void given_bits(karst_context *context)
{
  karst_matrix *A = matrix_from(context, "blackoil:9x8x5,dt=1", 0);
  double *weights = column_sum_weights(A), *r;
  karst_precond *M = precond_from(context, PAIRS("precond", "cpr", "cpr-weights", "column-sum"), A);
  tap_need(context, karst_matrix_set_weights(A, weights), "weights");
  memset(weights, 0, (size_t)karst_matrix_rows(A) * sizeof *weights);
  karst_precond *given = precond_from(context, PAIRS("precond", "cpr"), A);
  double *expected = applied_to_random(M, 3, &r), *z = applied(given, r);
  tap_ok(memcmp(z, expected, (size_t)karst_matrix_rows(A) * sizeof *z) == 0,
         "given weights equal to column sums give their bits");
  free(weights);
  free(r);
  free(z);
  free(expected);
  karst_precond_destroy(M);
  karst_precond_destroy(given);
  karst_matrix_destroy(A);
}

/* Changes the sign of random equations, and of the weights and storage derivatives that belong to them. Sums over the
 * rows of a cell are meaningless then, unless each has the weights of its own cell. */
static void change_signs(struct problem *p, double *weights, double *storage)
{
  const int b = karst_matrix_block_size(p->A);
  double *sign = tap_memory(p->n, sizeof *sign);
  for (int64_t row = 0; row < p->n; row++) sign[row] = tap_random() < 0 ? -1 : 1;
  scale_rows(p->A, p->b, sign);
  for (int64_t row = 0; row < p->n; row++) {
    weights[row] *= sign[row];
    for (int c = 0; c < b; c++) storage[row / b * b * b + (int64_t)c * b + row % b] *= sign[row];
  }
  free(sign);
}

static void with_orderings(karst_context *context)
{
  static const char *const orderings[] = {"natural", "tiles", "rcm"};
  struct problem p = problem_own(context, spec);
  double *weights = column_sum_weights(p.A), *storage = column_sums(p.A);
  int expected[3];
  for (int o = 0; o < 3; o++) expected[o] = count(&p, "column-sum", orderings[o], "column-sum");
  change_signs(&p, weights, storage);
  tap_need(context, karst_matrix_set_storage(p.A, storage), "storage");
  for (int o = 0; o < 3; o++) {
    const int found = count(&p, "auto", orderings[o], "true-impes");
    tap_ok(found > 0 && abs(found - expected[o]) <= 1, "%s: storage blocks take %d iterations, column sums %d",
           orderings[o], found, expected[o]);
  }
  tap_need(context, karst_matrix_set_weights(p.A, weights), "weights");
  for (int o = 0; o < 3; o++) {
    const int found = count(&p, "auto", orderings[o], "given");
    tap_ok(found > 0 && abs(found - expected[o]) <= 1, "%s: given weights take %d iterations", orderings[o], found);
  }
  tap_ok(count(&p, "true-impes", "tiles", "true-impes") <= expected[1] + 1, "and storage blocks still do if asked for");
  free(weights);
  free(storage);
  problem_destroy(&p);
}

/* Weights that come, change and go between updates. */
static void updated(karst_context *context)
{
  static const char *const orderings[] = {"natural", "tiles"};
  for (int o = 0; o < 2; o++) {
    struct problem p = problem_own(context, spec);
    double *weights = column_sum_weights(p.A), *storage = column_sums(p.A);
    karst_solver *solver = make_solver(&p, "auto", orderings[o]);
    const int expected = count_solve(&p, solver);
    change_signs(&p, weights, storage);
    for (int step = 0; step < 3; step++) {
      static const char *const used[] = {"true-impes", "given", "column-sum"};
      const karst_status set = step == 0   ? karst_matrix_set_storage(p.A, storage)
                               : step == 1 ? karst_matrix_set_weights(p.A, weights)
                                           : karst_matrix_set_weights(p.A, NULL);
      tap_need(context, set, "what a simulator knows");
      if (step == 2) tap_need(context, karst_matrix_set_storage(p.A, NULL), "no storage");
      tap_need(context, karst_solver_update(solver), "update");
      const int found = count_solve(&p, solver);
      tap_ok(strcmp(tap_solver_text(solver, "cpr_weights_used"), used[step]) == 0 && found > 0 &&
                 (step == 2 || abs(found - expected) <= 1),
             "%s, update %d: %s, %d iterations, %d with column sums before", orderings[o], step + 1,
             tap_solver_text(solver, "cpr_weights_used"), found, expected);
    }
    free(weights);
    free(storage);
    problem_end(&p, solver);
  }
}

/* Balances of the gallery are in volumes, so that their plain sums are nearly column sums. Quasi-IMPES weights take
 * more iterations at long time steps. */
static void kinds(karst_context *context)
{
  struct problem p = problem_own(context, "blackoil:60x60x10,dt=100");
  const int sums = count(&p, "auto", "natural", "column-sum"), plain = count(&p, "row-sum", "natural", "row-sum"),
            quasi = count(&p, "quasi-impes", "natural", "quasi-impes");
  tap_ok(sums > 0 && sums <= 54, "dt = 100: column sums take %d iterations", sums); /* 49 in tiles in the prototype */
  tap_ok(plain > 0 && abs(plain - sums) <= 2, "plain sums %d", plain);
  tap_ok(quasi < 0 || quasi > 1.1 * sums, "quasi-IMPES %d", quasi);
  problem_destroy(&p);
}

/* Column sums fail in most cells if each equation has a factor and a sign of its own. */
static void failing_sums(karst_context *context)
{
  struct problem p = problem_own(context, spec);
  double *factor = tap_memory(p.n, sizeof *factor);
  for (int64_t row = 0; row < p.n; row++) factor[row] = pow(10, 3 * tap_random()) * (tap_random() < 0 ? -1 : 1);
  scale_rows(p.A, p.b, factor);
  karst_solver *solver = make_solver(&p, "auto", "natural"), *sums = make_solver(&p, "column-sum", "natural");
  const double cells = (double)karst_matrix_block_rows(p.A);
  tap_ok(strcmp(tap_solver_text(solver, "cpr_weights_used"), "quasi-impes") == 0 &&
             tap_solver_number(solver, "cpr_balance_used") == 20,
         "auto takes quasi-IMPES weights, balanced");
  const int iterations = count_solve(&p, solver);
  tap_ok(iterations > 0, "and converges in %d iterations", iterations);
  tap_ok(tap_solver_number(sums, "cpr_guarded") > 0.1 * cells, "because column sums fail in %.0f of %.0f cells",
         tap_solver_number(sums, "cpr_guarded"), cells);
  free(factor);
  karst_solver_destroy(sums);
  problem_end(&p, solver);
}

/* Wells in the matrix spoil the column sums of the cells around them. */
static void guarded(karst_context *context)
{
  struct problem p = problem_own(context, spec);
  karst_solver *solver = make_solver(&p, "auto", "natural");
  tap_ok(tap_solver_number(solver, "cpr_guarded") == 0, "the gallery: no cell is guarded");
  problem_end(&p, solver);
  p = problem_read(context, tap_matrix_path("opm/opm_spe10m1_in.mtx.gz"), "opm/opm_spe10m1_in_b.mtx.gz", 0);
  if (!p.A) return;
  solver = solver_from(context, PAIRS("precond", "cpr", "solver", "fgmres", "rtol", "1e-8", "max-iterations", "300"));
  tap_need(context, karst_solver_setup(solver, p.A), "set-up");
  const double cells = tap_solver_number(solver, "cpr_guarded");
  const int iterations = count_solve(&p, solver);
  tap_ok(cells > 0 && cells <= 200 && strcmp(tap_solver_text(solver, "cpr_weights_used"), "column-sum") == 0,
         "SPE10 model 1: %g of 2000 cells are guarded", cells);
  tap_ok(iterations > 0 && iterations <= 12, "and %d iterations", iterations);
  problem_end(&p, solver);
}

int main(void)
{
  tap_each_device(given_bits, "given weights");
  tap_each_device(with_orderings, "weights and orderings");
  tap_each_device(updated, "weights and updates");
  tap_each_device(kinds, "kinds of weights");
  tap_each_device(failing_sums, "column sums that fail");
  tap_each_device(guarded, "guarded cells");
  return tap_done();
}
