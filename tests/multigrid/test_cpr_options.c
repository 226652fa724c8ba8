/* amg and cpr refuse what they cannot do with one sentence: options out of range, blocks for amg, a pressure that a
 * cell does not have, weights that the program did not give, a diagonal block that is missing, and stages that need
 * more. */
#include "tests/support/multigrid.h"
#include "tests/support/refusal.h"

#include <string.h>

/* Expects that set-up with the options is refused. */
static void refuse(karst_context *context, const karst_matrix *A, const char *const *pairs, karst_status expected,
                   const char *says)
{
  karst_options *options = options_of(context, pairs);
  karst_precond *M = (karst_precond *)context;
  const karst_status status = karst_precond_create(context, options, A, &M);
  check_refusal(context, status, expected, M, says, says);
  karst_options_destroy(options);
  karst_solver *solver = solver_from(context, pairs);
  const karst_status again = karst_solver_setup(solver, A);
  tap_ok(again == expected && strstr(karst_context_error(context), says), "and by a solver: %s",
         karst_context_error(context));
  karst_solver_destroy(solver);
}

static void ranges(karst_context *context)
{
  karst_matrix *A = matrix_from(context, "poisson3d:5x5x5", 1), *B = matrix_from(context, "blackoil:4x4x3", 0),
               *two = matrix_from(context, "deadoil:4x4x3", 0);
  refuse(context, A, PAIRS("precond", "amg", "amg-levels", "26"), KARST_ERROR_OPTION,
         "amg-levels 26 is out of range: at most 25");
  refuse(context, A, PAIRS("precond", "amg", "amg-strength", "2"), KARST_ERROR_OPTION,
         "amg-strength 2 is out of range: at most 1");
  refuse(context, A, PAIRS("precond", "amg", "amg-coarse-rows", "1000"), KARST_ERROR_OPTION,
         "amg-coarse-rows 1000 is out of range: at most 512");
  refuse(context, A, PAIRS("precond", "amg", "amg-sweeps", "1073741824"), KARST_ERROR_OPTION,
         "amg-sweeps 1073741824 is out of range: at most 100");
  refuse(context, A, PAIRS("precond", "amg", "amg-smoother", "chebyshev", "amg-order", "101"), KARST_ERROR_OPTION,
         "amg-order 101 is out of range: at most 100");
  refuse(context, B, PAIRS("precond", "cpr", "first.amg-levels", "26"), KARST_ERROR_OPTION, "amg-levels 26");
  refuse(context, B, PAIRS("precond", "amg"), KARST_ERROR_MATRIX, "the block size is 3: cpr uses it");
  refuse(context, B, PAIRS("precond", "two-stage", "first", "amg"), KARST_ERROR_MATRIX, "the block size is 3");
  refuse(context, B, PAIRS("precond", "cpr", "second", "amg"), KARST_ERROR_MATRIX, "the block size is 3");
  refuse(context, B, PAIRS("precond", "cpr", "cpr-pressure", "3"), KARST_ERROR_OPTION,
         "cpr-pressure 3: unknowns are numbered from 0, and a cell of this matrix has 3");
  refuse(context, two, PAIRS("precond", "cpr", "cpr-pressure", "2"), KARST_ERROR_OPTION, "has 2");
  karst_matrix_destroy(A);
  karst_matrix_destroy(B);
  karst_matrix_destroy(two);
}

/* Values that no matrix allows are refused when they are set. */
static void values(karst_context *context)
{
  static const char *const wrong[][2] = {
      {"cpr-pressure", "-1"},       {"cpr-pressure", "16"},   {"cpr-pressure", "p"},   {"cpr-weights", "sum"},
      {"cpr-balance", "-1"},        {"amg-coarsening", "rs"}, {"amg-cycle", "k"},      {"amg-smoother", "ilu"},
      {"amg-precision", "half"},    {"amg-sweeps", "0"},      {"amg-levels", "0"},     {"amg-strength", "-0.1"},
      {"amg-max-entries", "0"},     {"amg-coarse-rows", "0"}, {"amg-rebuild", "-1"},   {"amg-omega", "-1"},
      {"first.amg-cycle", "vv"},    {"amg-order", "0"},       {"amg-strength", "nan"}, {"first.first", "precious"},
      {"amg-over-correction", "-1"}};
  karst_options *options = options_of(context, PAIRS("precond", "cpr"));
  for (size_t w = 0; w < sizeof wrong / sizeof *wrong; w++) {
    const karst_status status = karst_options_set(options, wrong[w][0], wrong[w][1]);
    tap_ok(status == KARST_ERROR_OPTION &&
               strstr(karst_context_error(context),
                      strrchr(wrong[w][0], '.') ? strrchr(wrong[w][0], '.') + 1 : wrong[w][0]),
           "%s %s: %s", wrong[w][0], wrong[w][1], karst_context_error(context));
  }
  karst_options_destroy(options);
}

static void missing(karst_context *context)
{
  static const karst_index start[] = {0, 2, 3, 5}, column[] = {0, 1, 0, 1, 2};
  static const double value[5 * 4] = {1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1};
  const double ones[64] = {1};
  karst_matrix *A = matrix_from(context, "deadoil:4x4x2", 0), *hole = matrix_of(context, 3, 2, start, column, value);
  refuse(context, A, PAIRS("precond", "cpr", "cpr-weights", "true-impes"), KARST_ERROR_ARGUMENT,
         "karst_matrix_set_storage");
  refuse(context, A, PAIRS("precond", "cpr", "cpr-weights", "given"), KARST_ERROR_ARGUMENT, "karst_matrix_set_weights");
  tap_need(context, karst_matrix_set_weights(A, ones), "weights");
  refuse(context, A, PAIRS("precond", "cpr", "cpr-weights", "true-impes"), KARST_ERROR_ARGUMENT,
         "karst_matrix_set_storage");
  tap_ok(karst_matrix_set_weights(NULL, ones) == KARST_ERROR_ARGUMENT &&
             karst_matrix_set_storage(NULL, ones) == KARST_ERROR_ARGUMENT,
         "and a matrix that is NULL has neither");
  refuse(context, hole, PAIRS("precond", "cpr"), KARST_ERROR_MATRIX, "block row 1");
  karst_matrix_destroy(A);
  karst_matrix_destroy(hole);
}

/* If the weights go away, the update says so, and later ones serve again. */
static void taken_away(karst_context *context)
{
  struct problem p = problem_own(context, "blackoil:5x5x4,dt=1");
  double *ones = tap_memory(p.n, sizeof *ones);
  for (int64_t i = 0; i < p.n; i++) ones[i] = 1;
  karst_solver *solver = solver_from(context, PAIRS("precond", "cpr", "cpr-weights", "given", "ordering", "rcm"));
  tap_need(context, karst_matrix_set_weights(p.A, ones), "weights");
  tap_need(context, karst_solver_setup(solver, p.A), "set-up");
  const int first = count_solve(&p, solver);
  tap_need(context, karst_matrix_set_weights(p.A, NULL), "no weights");
  const karst_status status = karst_solver_update(solver);
  tap_ok(first > 0 && status == KARST_ERROR_ARGUMENT && strstr(karst_context_error(context), "set_weights"),
         "an update without the weights: %s", karst_context_error(context));
  tap_need(context, karst_matrix_set_weights(p.A, ones), "weights");
  tap_need(context, karst_solver_update(solver), "update");
  tap_ok(count_solve(&p, solver) == first, "and with them again");
  ones[7] = NAN;
  tap_need(context, karst_matrix_set_weights(p.A, ones), "a weight that is no number");
  tap_need(context, karst_solver_update(solver), "update");
  const karst_result result = problem_solve(&p, solver);
  tap_ok(result.reason == KARST_NOT_FINITE && result.block_row == 2, "a NaN among them is an outcome: %s",
         karst_solver_explain(solver));
  free(ones);
  problem_end(&p, solver);
}

int main(void)
{
  tap_each_device(ranges, "ranges");
  tap_each_device(values, "values");
  tap_each_device(missing, "missing weights and blocks");
  tap_each_device(taken_away, "weights that go away");
  return tap_done();
}
