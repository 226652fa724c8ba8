/* cpr on whole fields: systems of OPM Flow on Norne and on two layers of SPE10, with the wells in the matrix, whose
 * rows are longer than others. It finds the pressure, guards few cells, and takes the iterations of the prototype. */
#include "tests/support/multigrid.h"

#include <string.h>

/* Unpacks a matrix by the program xz. NULL if there is no such file, or no xz. The next call overwrites the path. */
static const char *unpacked(const char *packed)
{
  static char path[512];
  char command[1600];
  const char *from = tap_matrix_path(packed);
  if (!from) return NULL;
  snprintf(path, sizeof path, "%s", tap_scratch("field.kbsr"));
  snprintf(command, sizeof command, "xz -dc '%s' > '%s' 2> /dev/null", from, path);
  return system(command) == 0 ? path : NULL; // NOLINT(cert-env33-c): a command of the test's own
}

struct field {
  const char *name, *packed, *rhs;
  int iterations, loose; /* of fgmres(60) to 1e-8 and of bicgstab to 1e-2 */
};

static void solve_field(karst_context *context, const struct field *field)
{
  struct problem p = problem_read(context, unpacked(field->packed), field->rhs, 0);
  if (!p.A) return;
  karst_solver *solver = solver_from(
      context, PAIRS("precond", "cpr", "solver", "fgmres", "restart", "60", "rtol", "1e-8", "ordering", "natural"));
  tap_need(context, karst_solver_setup(solver, p.A), "set-up");
  const int found = count_solve(&p, solver);
  tap_ok(found > 0 && found <= field->iterations, "%s: %d iterations to 1e-8", field->name, found);
  tap_ok(tap_solver_number(solver, "cpr_pressure") == 1, "the pressure is unknown 1");
  tap_ok(tap_solver_number(solver, "cpr_guarded") <= 0.01 * (double)karst_matrix_block_rows(p.A) &&
             strcmp(tap_solver_text(solver, "cpr_weights_used"), "column-sum") == 0,
         "column sums, with %g cells guarded", tap_solver_number(solver, "cpr_guarded"));
  tap_ok(tap_solver_number(solver, "first_operator_complexity") < 4, "operator complexity %.2f",
         tap_solver_number(solver, "first_operator_complexity"));
  karst_solver_destroy(solver);
  const int loose = count_iterations(&p, PAIRS("precond", "cpr", "solver", "bicgstab", "rtol", "1e-2"));
  tap_ok(loose > 0 && loose <= field->loose, "bicgstab takes %d iterations to 1e-2", loose);
  problem_destroy(&p);
}

static void fields(karst_context *context)
{
  static const struct field each[] = {
      {"Norne", "norne_bsr3.kbsr.xz", "norne_bsr3_b.mtx.gz", 14, 2},
      {"SPE10, two layers", "spe10_2layers_bsr3.kbsr.xz", "spe10_2layers_bsr3_b.mtx.gz", 13, 2},
  };
  for (int f = 0; f < 2; f++) solve_field(context, &each[f]);
}

int main(void)
{
  tap_each_device(fields, "fields");
  return tap_done();
}
