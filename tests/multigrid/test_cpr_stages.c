/* Stages of cpr: the pressure solve may be any preconditioner of one unknown a cell, also two stages or a program's
 * own, and the second stage any for the whole matrix; cpr and amg are stages of two-stage. Each gets the options under
 * its name. */
#include "tests/support/multigrid.h"

#include <string.h>

static const char spec[] = "blackoil:20x20x6,dt=1";

/* Solves with up to five more options after cpr. */
static int count(const struct problem *p, const char *const *more)
{
  const char *pairs[20] = {"solver", "fgmres", "rtol", "1e-8", "max-iterations", "200", "precond", "cpr"};
  for (int used = 8; *more; used++) pairs[used] = *more++;
  return count_iterations(p, pairs);
}

static void nested(karst_context *context)
{
  struct problem p = problem_own(context, spec);
  const int cpr = count(&p, PAIRS("ordering", "natural"));
  const int exact = count(&p, PAIRS("first", "iluk", "first.level", "100"));
  const struct {
    const char *const *more;
    const char *what;
    int least, most;
  } cases[] = {
      {PAIRS("first.amg-cycle", "w"), "a W-cycle", exact, cpr},
      {PAIRS("first.amg-smoother", "chebyshev"), "Chebyshev", exact, cpr},
      {PAIRS("first.amg-coarsening", "aggregation"), "aggregation", exact, cpr + 6},
      {PAIRS("first", "two-stage", "first.first", "amg", "first.first.amg-strength", "0.5", "first.second", "iluk"),
       "amg and iluk for the pressures", exact, cpr},
      {PAIRS("first", "jacobi"), "Jacobi for the pressures", cpr + 1, 200},
      {PAIRS("first", "dilu"), "dilu for the pressures", cpr + 1, 200},
      {PAIRS("second", "dilu"), "dilu as the second stage", cpr - 1, cpr + 1},
      {PAIRS("second", "jacobi"), "block Jacobi as the second stage", cpr + 1, 200},
      {PAIRS("second.level", "1"), "ILU(1) as the second stage", 1, cpr},
      {PAIRS("precond", "two-stage", "first", "cpr", "second", "jacobi"), "cpr inside two-stage", 1, cpr},
      {PAIRS("precond", "two-stage", "first", "jacobi", "second", "cpr", "second.first.amg-cycle", "w"),
       "cpr as its second stage", 1, cpr},
  };
  tap_ok(exact > 0 && exact <= cpr, "exact pressures take %d iterations, amg %d", exact, cpr);
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    const int found = count(&p, cases[c].more);
    tap_ok(found >= cases[c].least && found <= cases[c].most, "%s: %d iterations", cases[c].what, found);
  }
  problem_destroy(&p);
}

/* amg is a stage of two-stage for one unknown a cell, where it is told about solves and made anew too. */
static void in_two_stage(karst_context *context)
{
  struct problem p = problem_own(context, "poisson3d:14x14x14");
  karst_solver *solver =
      solver_from(context, PAIRS("precond", "two-stage", "first", "amg", "first.amg-rebuild", "2", "second", "iluk"));
  tap_need(context, karst_solver_setup(solver, p.A), "set-up");
  const int first = count_solve(&p, solver);
  for (int i = 0; i < 4; i++) tap_need(context, karst_solver_update(solver), "update");
  const int last = count_solve(&p, solver);
  tap_ok(first > 0 && last == first && tap_solver_number(solver, "first_amg_rebuilds") == 2,
         "amg and iluk: %d iterations, %d after %g rebuilds", first, last,
         tap_solver_number(solver, "first_amg_rebuilds"));
  problem_end(&p, solver);
}

/* ---- a program's own pressure solve ---- */

static struct {
  int64_t rows;
  int block_size, setups, updates, applies;
} own;

static karst_status own_setup(karst_precond *p)
{
  own.rows = karst_matrix_rows(karst_precond_matrix(p));
  own.block_size = karst_matrix_block_size(karst_precond_matrix(p));
  own.setups++;
  return KARST_SUCCESS;
}

/* It makes amg of the library for the pressure matrix that it is given. */
static karst_status own_update(karst_precond *p)
{
  karst_precond *M = karst_precond_data(p);
  karst_options *options;
  own.updates++;
  if (M) return karst_precond_update(M);
  karst_status status = karst_options_create(karst_precond_context(p), &options);
  if (status) return status;
  status = karst_options_set(options, "precond", "amg");
  if (!status) status = karst_options_set(options, "amg-strength", "0.5");
  if (!status) status = karst_precond_create(karst_precond_context(p), options, karst_precond_matrix(p), &M);
  karst_precond_set_data(p, M);
  karst_options_destroy(options);
  return status;
}

static karst_status own_apply(karst_precond *p, const karst_vector *r, karst_vector *z)
{
  own.applies++;
  return karst_precond_apply(karst_precond_data(p), r, z);
}

static void own_destroy(karst_precond *p) { karst_precond_destroy(karst_precond_data(p)); }

static void registered(karst_context *context)
{
  karst_precond_method method = copying_method("own-pressures");
  method.setup = own_setup;
  method.update = own_update;
  method.apply = own_apply;
  method.destroy = own_destroy;
  memset(&own, 0, sizeof own);
  tap_need(context, karst_precond_register(context, &method), "registration");
  struct problem p = problem_own(context, spec);
  for (int o = 0; o < 2; o++) {
    const char *ordering = o ? "tiles" : "natural";
    const int expected = count(&p, PAIRS("ordering", ordering));
    karst_solver *solver = solver_from(context, PAIRS("precond", "cpr", "first", "own-pressures", "solver", "fgmres",
                                                      "rtol", "1e-8", "ordering", ordering));
    tap_need(context, karst_solver_setup(solver, p.A), "set-up");
    tap_need(context, karst_solver_update(solver), "update");
    const int found = count_solve(&p, solver);
    tap_ok(found == expected && own.block_size == 1 && own.rows == karst_matrix_block_rows(p.A),
           "%s: a program's method takes the pressures: %d iterations, amg %d", ordering, found, expected);
    tap_ok(own.setups == o + 1 && own.updates == 2 * (o + 1) && own.applies >= found, "it was updated with the rest");
    karst_solver_destroy(solver);
  }
  problem_destroy(&p);
}

/* ---- options ---- */

static void defaults(karst_context *context)
{
  static const char *const expected[][4] = {
      {"cpr", "first", "amg", "1"},           {"two-stage", "first", "jacobi", "1"},
      {"cpr", "second", "iluk", "1"},         {"two-stage", "second", "iluk", "1"},
      {"cpr", "cpr-pressure", "auto", "1"},   {"two-stage", "cpr-pressure", "auto", "0"},
      {"cpr", "cpr-weights", "auto", "1"},    {"amg", "cpr-weights", "auto", "0"},
      {"cpr", "cpr-balance", "0", "1"},       {"cpr", "first.amg-cycle", "auto", "1"},
      {"cpr", "amg-cycle", "auto", "0"},      {"amg", "amg-cycle", "auto", "1"},
      {"amg", "amg-coarse-rows", "128", "1"}, {"amg", "amg-levels", "20", "1"},
      {"amg", "amg-max-entries", "4", "1"},   {"amg", "amg-rebuild", "30", "1"},
      {"cpr", "second.level", "0", "1"},      {"cpr", "first.level", "0", "0"},
      {"iluk", "amg-rebuild", "30", "0"},     {"two-stage", "first.amg-cycle", "auto", "0"},
  };
  for (size_t e = 0; e < sizeof expected / sizeof *expected; e++) {
    const char *const *row = expected[e], *value = "";
    karst_options *options = options_of(context, PAIRS("precond", row[0]));
    const karst_status status = karst_options_get(options, row[1], &value);
    tap_ok(status == KARST_SUCCESS && strcmp(value, row[2]) == 0 &&
               karst_options_used(options, row[1]) == (row[3][0] == '1'),
           "%s: %s is %s by default and is%s used", row[0], row[1], value, row[3][0] == '1' ? "" : " not");
    karst_options_destroy(options);
  }
}

/* A program's set of options stays as it was after a solver has been made from it. */
static void unchanged(karst_context *context)
{
  const char *value;
  karst_solver *solver;
  karst_options *options = options_of(context, PAIRS("precond", "cpr"));
  karst_matrix *A = matrix_from(context, "blackoil:5x5x4,dt=1", 0);
  tap_need(context, karst_solver_create(context, options, &solver), "solver");
  tap_need(context, karst_solver_setup(solver, A), "set-up");
  tap_need(context, karst_options_get(options, "first.amg-strength", &value), "option");
  tap_ok(strcmp(value, "0") == 0, "the caller's options are unchanged: first.amg-strength is %s", value);
  karst_options_destroy(options);
  karst_solver_destroy(solver);
  karst_matrix_destroy(A);
}

int main(void)
{
  tap_each_device(nested, "stages");
  tap_each_device(in_two_stage, "amg inside two-stage");
  tap_each_device(registered, "a method of the program's");
  tap_each_device(defaults, "defaults of options");
  tap_each_device(unchanged, "the caller's options");
  return tap_done();
}
