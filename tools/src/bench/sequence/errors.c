/* errors.c - the error of each unknown of a cell, such as pressure and saturation, against a solve of the same system
 * to 1e-10. At one residual of the whole system the pressure can be right or wrong by a factor, which decides whether
 * Newton's method goes on. */
#include "tools/src/bench/sequence/sequence.h"
#include "tools/src/common/load.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_ITERATIONS = 5000 };
static const double tolerance = 1e-10;

/* Sets up and solves by the solver auto, bicgstab and then gmres(100). */
static karst_status solve(const bench_settings *settings, karst_context *context, const karst_matrix *A,
                          const karst_vector *b, karst_vector *x, karst_result *result)
{
  karst_options *options;
  karst_solver *solver = NULL;

  karst_status status = karst_options_copy(context, settings->reference, &options);
  if (!status) status = karst_options_set_integer(options, "max-iterations", MAX_ITERATIONS);
  if (!status) status = karst_options_set_real(options, "rtol", tolerance);
  if (!status) status = karst_context_set_threads(context, tool_threads());
  if (!status) status = karst_solver_create(context, options, &solver);
  karst_options_destroy(options);
  if (!status) status = karst_solver_setup(solver, A);
  if (!status) status = karst_solver_solve(solver, b, x, result);
  karst_solver_destroy(solver);
  return status;
}

int bench_sequence_refer(const bench_settings *settings, karst_context *context, const karst_matrix *A,
                         const karst_vector *b, const char *name, double **x)
{
  karst_vector *solution = NULL;
  karst_result result = {.reason = KARST_SOUND};
  int exit_status = TOOL_GO_ON;

  *x = NULL;
  if (!settings->reference) return TOOL_GO_ON;
  karst_status status = karst_vector_create(context, karst_matrix_rows(A), &solution);
  if (!status) status = solve(settings, context, A, b, solution, &result);
  if (status)
    exit_status = tool_fail_library(context, status);
  else if (result.reason > 0)
    exit_status = tool_vector_to_host(context, solution, karst_matrix_rows(A), x);
  else
    fprintf(stderr, "%s: note: %s: no errors, because the reference of --errors ended at %.1e: %s\n", tool_name(), name,
            result.relative_residual, karst_reason_text(result.reason));
  karst_vector_destroy(solution);
  return exit_status;
}

void bench_sequence_compare(const karst_matrix *A, const double *x, const double *y, double *error)
{
  const int b = karst_matrix_block_size(A);
  const int64_t rows = karst_matrix_rows_unpadded(A);

  for (int u = 0; u < b; u++) {
    double difference = 0, norm = 0;
    for (int64_t i = u; y && i < rows; i += b) {
      difference += (x[i] - y[i]) * (x[i] - y[i]);
      norm += y[i] * y[i];
    }
    error[u] = !y ? NAN : difference > 0 ? sqrt(difference / norm) : 0;
  }
}
