/* fgbilu refuses patterns with too many couplings off a 7-point grid, rows with too many blocks, styles that the device
 * lacks, and analyses of another grid or style. */
#include "lib/backend/backend.h"
#include "tests/support/fgbilu.h"
#include "tests/support/problem.h"
#include "tests/support/refusal.h"

static void refuse(karst_context *context, const char *ordering, const karst_matrix *A, karst_status expected,
                   const char *says)
{
  tap_settings options = settings_for(NULL, "fgbilu");
  options.ordering = ordering;
  karst_solver *solver = solver_of(context, &options);
  check_refusal(context, karst_solver_setup(solver, A), expected, NULL, says, says);
  karst_solver_destroy(solver);
}

static void wrong_grids(karst_context *context)
{
  if (fgbilu_lacks_kernels(context, "wrong grids")) return;
  karst_matrix *A = matrix_from(context, "laplace27:4x3x2", 1);
  refuse(context, "natural", A, KARST_ERROR_MATRIX,
         "block row 0 has an entry in column 5, which has no face in common with it in the grid 4x3x2, as 164 of the "
         "256 couplings");
  karst_matrix_forget_grid(A);
  refuse(context, "natural", A, KARST_ERROR_MATRIX,
         "block row 0 has an entry in column 5, which has no face in common with it in the grid 4x3x2, as 164 of");
  karst_matrix_destroy(A);
  A = matrix_from(context, "poisson2d:6x4", 1);
  tap_need(context, karst_matrix_set_grid(A, 4, 6, 1), "grid");
  refuse(context, "natural", A, KARST_ERROR_MATRIX, "block row 0 has an entry in column 6, which has no face");
  refuse(context, "rcm", A, KARST_ERROR_MATRIX, "block row 0 has an entry in column 6, which has no face");
  karst_matrix_forget_grid(A);
  refuse(context, "rcm", A, KARST_ERROR_MATRIX, "fgbilu finds the grid of a matrix only where no ordering permutes");
  karst_matrix_destroy(A);
  const karst_index start[] = {0, 2, 4, 6, 8, 10}, column[] = {0, 3, 0, 1, 0, 2, 3, 4, 1, 4};
  const double ones[10] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  A = matrix_of(context, 5, 1, start, column, ones);
  refuse(context, "natural", A, KARST_ERROR_MATRIX, "no grid in natural order has the matrix's pattern: block row ");
  karst_matrix_destroy(A);
  const karst_index hollow[] = {0, 2, 3, 5}, beside[] = {0, 1, 0, 1, 2};
  A = matrix_of(context, 3, 1, hollow, beside, ones);
  refuse(context, "natural", A, KARST_ERROR_MATRIX, "block row 1 ");
  karst_matrix_destroy(A);
}

/* A chain of cells, of which number 7 couples with 599 more. In another order it has the same number. */
static void long_row(karst_context *context)
{
  enum { ROWS = 3000, LONG = 600, AT = 7 };
  static karst_index start[ROWS + 1], column[3 * ROWS + LONG];
  static double value[3 * ROWS + LONG];
  karst_index k = 0;
  if (fgbilu_lacks_kernels(context, "a long row")) return;
  for (karst_index i = 0; i < ROWS; i++) {
    start[i] = k;
    if (i > 0) column[k++] = i - 1;
    for (karst_index j = i; j < ROWS && j < i + (i == AT ? LONG : 2); j++) column[k++] = j;
  }
  start[ROWS] = k;
  for (k = 0; k < start[ROWS]; k++) value[k] = 1;
  karst_matrix *A = matrix_of(context, ROWS, 1, start, column, value);
  tap_need(context, karst_matrix_set_grid(A, ROWS, 1, 1), "grid");
  const char *const says = "the block row of cell 7 of the grid has 601 blocks; methods on a 7-point grid take rows";
  refuse(context, "natural", A, KARST_ERROR_MATRIX, says);
  refuse(context, "rcm", A, KARST_ERROR_MATRIX, says);
  karst_matrix_destroy(A);
}

static void options(karst_context *context)
{
  karst_options *set;
  karst_precond *P;
  tap_need(context, karst_options_create(context, &set), "options");
  check_refusal(context, karst_options_set(set, "fgbilu-style", "columns"), KARST_ERROR_OPTION, NULL, "fgbilu-style",
                "an unknown style");
  check_refusal(context, karst_options_set(set, "pivoting", "maybe"), KARST_ERROR_OPTION, NULL, "pivoting",
                "pivoting is yes or no");
  karst_matrix *A = matrix_from(context, "poisson3d:4x4x4", 1);
  tap_need(context, karst_options_set(set, "precond", "fgbilu"), "fgbilu");
  tap_need(context, karst_options_set(set, "fgbilu-style", context->backend->host_memory ? "tiles" : "lines"), "style");
  if (!fgbilu_lacks_kernels(context, "a style of other devices"))
    check_refusal(context, karst_precond_create(context, set, A, &P), KARST_ERROR_OPTION, NULL, "fgbilu-style",
                  "a style of other devices");
  if (!KARST_BASELINES && !context->backend->host_memory) {
    tap_need(context, karst_options_set(set, "fgbilu-style", "cl"), "style");
    check_refusal(context, karst_precond_create(context, set, A, &P), KARST_ERROR_NOT_BUILT, NULL,
                  "fgbilu-style cl needs a build with --enable-baselines", "a style of the baselines");
  }
  karst_matrix_destroy(A);
  karst_options_destroy(set);
}

static void without_kernels(void)
{
  karst_precond *P = NULL;
  karst_context *context = tap_context();
  karst_matrix *A = matrix_from(context, "poisson2d:3x3", 1);
  struct karst_backend bare = *context->backend;
  bare.fgbilu = NULL;
  context->backend = &bare;
  tap_settings settings = settings_for(NULL, "fgbilu");
  check_refusal(context, tap_precond_create(context, &settings, A, &P), KARST_ERROR_NOT_BUILT, P,
                "fgbilu is not available on cpu", "a device without kernels");
  context->backend = karst_backends[0];
  karst_matrix_destroy(A);
  karst_context_destroy(context);
}

static void shared_analysis(karst_context *context)
{
  karst_analysis *analysis;
  if (fgbilu_lacks_kernels(context, "a shared analysis")) return;
  tap_settings settings = settings_for(NULL, "fgbilu");
  karst_matrix *A = matrix_from(context, "poisson2d:12x1", 1), *B = matrix_from(context, "poisson2d:12x1", 1);
  karst_solver *first = solver_of(context, &settings), *second = solver_of(context, &settings);
  tap_need(context, karst_solver_setup(first, A), "setup");
  tap_need(context, karst_solver_get_analysis(first, &analysis), "analysis");
  tap_ok(!karst_solver_setup_with(second, B, analysis), "an analysis fits a matrix of the same grid");
  tap_need(context, karst_matrix_set_grid(B, 1, 1, 12), "grid");
  check_refusal(context, karst_solver_setup_with(second, B, analysis), KARST_ERROR_ARGUMENT, NULL,
                "the grid of the matrix is not that of the analysis", "an analysis for another grid");
  karst_solver_destroy(second);
  settings.fgbilu_style = context->backend->host_memory ? "wavefront" : "acc";
  tap_need(context, karst_matrix_set_grid(B, 12, 1, 1), "grid");
  tap_need(context, tap_solver_create(context, &settings, &second), "solver");
  check_refusal(context, karst_solver_setup_with(second, B, analysis), KARST_ERROR_ARGUMENT, NULL, "fgbilu-style",
                "an analysis for another style");
  karst_analysis_destroy(analysis);
  karst_solver_destroy(first);
  karst_solver_destroy(second);
  karst_matrix_destroy(A);
  karst_matrix_destroy(B);
}

int main(void)
{
  tap_each_device(wrong_grids, "wrong grids");
  tap_each_device(long_row, "a long row");
  tap_each_device(options, "options");
  without_kernels();
  tap_each_device(shared_analysis, "a shared analysis");
  return tap_done();
}
