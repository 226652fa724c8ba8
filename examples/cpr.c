/* CPR over time steps of a black-oil reservoir, as a simulator uses it: one pattern, one solver, and for each step new
 * values, an update and a solve from zero. Each cell has a pressure and two other unknowns. The method finds which one
 * is the pressure, and makes true-IMPES weights from the storage blocks, the derivatives of what a cell stores, which a
 * simulator knows from its accumulation terms. Here they are the diagonal blocks of a step so short that nothing flows.
 * Other weights need no such blocks. The simulator is on the CPU; "cpr cuda" solves on a GPU. */
#include <karst.h>
#include <stdio.h>
#include <string.h>

#define RESERVOIR "blackoil:30x30x10,dt="
enum { CELLS = 30 * 30 * 10, BLOCK = 3, ENTRIES = BLOCK * BLOCK, STEPS = 5 };
static const char *const days[STEPS] = {"0.1", "0.3", "1", "3", "10"};

/* The system of a step, by a simulator in a context of its own. */
static karst_status assemble(karst_context *simulator, const char *step, karst_matrix **J, karst_vector **residual)
{
  char name[64];
  snprintf(name, sizeof name, RESERVOIR "%s", step);
  karst_matrix_destroy(*J);
  karst_vector_destroy(*residual);
  *J = NULL, *residual = NULL;
  return karst_gallery_create(simulator, name, BLOCK, J, residual);
}

static void get_diagonal(const karst_matrix *J, double *block)
{
  const karst_index *start = karst_matrix_row_start(J), *column = karst_matrix_column(J);
  for (karst_index i = 0; i < CELLS; i++)
    for (karst_index k = start[i]; k < start[i + 1]; k++)
      if (column[k] == i) memcpy(block + ENTRIES * i, karst_matrix_value(J) + ENTRIES * k, ENTRIES * sizeof *block);
}

/* What cpr has found and made: which unknown is the pressure and why, the weights, the levels of its multigrid. */
static void report(const karst_solver *solver)
{
  karst_value value;
  for (size_t i = 0; karst_solver_report(solver, i, &value); i++) {
    if (strncmp(value.name, "cpr_", 4) != 0 && strncmp(value.name, "first_", 6) != 0) continue;
    if (value.text)
      printf("  %-28s %s\n", value.name, value.text);
    else
      printf("  %-28s %.4g %s\n", value.name, value.number, value.unit);
  }
}

int main(int argc, char **argv)
{
  static double storage[ENTRIES * CELLS];
  karst_context *simulator = NULL, *context = NULL;
  karst_options *options = NULL;
  karst_matrix *J = NULL, *A = NULL;
  karst_vector *residual = NULL, *b = NULL, *x = NULL;
  karst_solver *solver = NULL;
  karst_result result = {KARST_SOUND, 0, -1, 0, 0};
  karst_status status = karst_context_create(NULL, &simulator);
  if (!status) status = karst_context_create(NULL, &context);
  if (!status) status = karst_context_set_device(context, argc > 1 ? argv[1] : "cpu");
  if (!status) status = assemble(simulator, "1e-6", &J, &residual);
  if (!status) get_diagonal(J, storage);
  if (!status)
    status = karst_matrix_create(context, CELLS, BLOCK, karst_matrix_row_start(J), karst_matrix_column(J),
                                 karst_matrix_value(J), KARST_COPY, &A);
  if (!status) status = karst_vector_create(context, karst_matrix_rows(A), &b);
  if (!status) status = karst_vector_create(context, karst_matrix_rows(A), &x);
  if (!status) status = karst_options_create(context, &options);
  if (!status) status = karst_options_set(options, "precond", "cpr");
  if (!status) status = karst_options_set(options, "solver", "bicgstab");
  if (!status) status = karst_options_set(options, "rtol", "1e-6");
  if (!status) status = karst_solver_create(context, options, &solver);
  for (int i = 0; i < STEPS && !status && result.reason >= 0; i++) {
    status = assemble(simulator, days[i], &J, &residual);
    if (!status) status = karst_matrix_update_values(A, karst_matrix_value(J));
    if (!status) status = karst_matrix_set_storage(A, storage);
    if (!status) status = i == 0 ? karst_solver_setup(solver, A) : karst_solver_update(solver);
    if (!status) status = karst_vector_set(b, karst_matrix_rows(A), karst_vector_const_values(residual));
    if (!status) status = karst_vector_fill(x, 0);
    if (!status) status = karst_solver_solve(solver, b, x, &result);
    if (!status) printf("%4s days: %s\n", days[i], karst_solver_explain(solver));
  }
  if (!status) report(solver);
  if (status) fprintf(stderr, "%s\n", context ? karst_context_error(context) : karst_status_text(status));

  karst_solver_destroy(solver);
  karst_options_destroy(options);
  karst_vector_destroy(x);
  karst_vector_destroy(b);
  karst_matrix_destroy(A);
  karst_vector_destroy(residual);
  karst_matrix_destroy(J);
  karst_context_destroy(context);
  karst_context_destroy(simulator);
  return status || result.reason < 0;
}
