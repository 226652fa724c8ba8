/* A steady flow in one dimension, solved with ILU(0) and BiCGSTAB; then again with new values on the same pattern. */
#include <karst.h>
#include <stdio.h>

enum { ROWS = 1000 };

int main(void)
{
  static karst_index row_start[ROWS + 1], column[3 * ROWS];
  static double value[3 * ROWS];
  karst_context *context = NULL;
  karst_matrix *A = NULL;
  karst_vector *b = NULL, *x = NULL;
  karst_solver *solver = NULL;
  karst_result result = {.reason = KARST_SOUND};
  for (karst_index i = 0, k = 0; i < ROWS; row_start[++i] = k)
    for (karst_index j = i > 0 ? i - 1 : 0; j < ROWS && j <= i + 1; column[k++] = j++) value[k] = i == j ? 2.1 : -1;

  karst_status status = karst_context_create(NULL, &context);
  if (!status) status = karst_matrix_create(context, ROWS, 1, row_start, column, value, KARST_COPY, &A);
  if (!status) status = karst_vector_create(context, ROWS, &b);
  if (!status) status = karst_vector_fill(b, 1);
  if (!status) status = karst_vector_create(context, ROWS, &x);
  if (!status) status = karst_solver_create(context, NULL, &solver);
  if (!status) status = karst_solver_setup(solver, A);
  for (int step = 0; step < 2 && !status && result.reason >= 0; step++) {
    status = karst_solver_solve(solver, b, x, &result);
    if (!status) printf("%s; iterations: %d\n", karst_solver_explain(solver), result.iterations);
    for (karst_index k = 0; k < row_start[ROWS]; k++) value[k] *= 1.5;
    if (!status) status = karst_matrix_update_values(A, value);
    if (!status) status = karst_solver_update(solver);
  }
  if (status) fprintf(stderr, "%s\n", context ? karst_context_error(context) : karst_status_text(status));

  karst_solver_destroy(solver);
  karst_vector_destroy(x);
  karst_vector_destroy(b);
  karst_matrix_destroy(A);
  karst_context_destroy(context);
  return status || result.reason < 0;
}
