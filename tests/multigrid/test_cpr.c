/* cpr takes the iterations of the prototype that its defaults were measured with, on black oil and dead oil at time
 * steps of 0.01 to 100 days, in natural order and in tiles, with each kind of multigrid. They hardly grow with the
 * number of cells. */
#include "tests/support/multigrid.h"

#include <string.h>

static int count(const struct problem *p, const char *name, const char *value)
{
  return count_iterations(p, PAIRS("precond", "cpr", "solver", "fgmres", "restart", "60", "rtol", "1e-8",
                                   name ? name : "ordering", name ? value : "natural"));
}

/* Iterations to 1e-8 in natural order, from the prototype's table. */
static void iterations(karst_context *context)
{
  static const struct {
    const char *spec, *name, *value;
    int expected;
  } cases[] = {
      {"blackoil:60x60x10,dt=0.01", NULL, NULL, 11},
      {"blackoil:60x60x10,dt=1", NULL, NULL, 24},
      {"blackoil:60x60x10,dt=1", "ordering", "tiles", 27},
      {"blackoil:60x60x10,dt=1", "first.amg-precision", "double", 24},
      {"blackoil:60x60x10,dt=1", "first.amg-coarsening", "aggregation", 28}, /* the prototype: 29 in tiles */
      {"blackoil:60x60x10,dt=1", "first.amg-smoother", "chebyshev", 23},
      {"blackoil:60x60x10,dt=10", NULL, NULL, 32},
      {"blackoil:30x40x12,dt=1", NULL, NULL, 19},
      {"blackoil:30x40x12,dt=1", "ordering", "tiles", 20},
      {"deadoil:60x60x10,dt=1", NULL, NULL, 17},
      {"deadoil:60x60x10,dt=1", "ordering", "tiles", 18}, /* 17 in the prototype, whose tiles are boxes; 19 on a GPU */
  };
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    struct problem p = problem_own(context, cases[c].spec);
    const int found = count(&p, cases[c].name, cases[c].value);
    tap_ok(is_near(found, cases[c].expected), "%s %s: %d iterations for %d", cases[c].spec,
           cases[c].name ? cases[c].value : "", found, cases[c].expected);
    problem_destroy(&p);
  }
}

/* From 36 000 cells to 132 000 at a fixed time step, and with bicgstab to 1e-6 at most the same. */
static void growth(karst_context *context)
{
  static const char *const specs[] = {"blackoil:60x60x10,dt=1", "blackoil:60x110x20,dt=1"};
  int found[2], loose[2];
  for (int i = 0; i < 2; i++) {
    struct problem p = problem_own(context, specs[i]);
    found[i] = count(&p, NULL, NULL);
    loose[i] = count_iterations(&p, PAIRS("precond", "cpr", "solver", "bicgstab", "rtol", "1e-6"));
    problem_destroy(&p);
  }
  tap_ok(found[0] > 0 && found[1] > 0 && found[1] <= 1.3 * found[0], "%s: %d iterations, %d for a fourth of the cells",
         specs[1], found[1], found[0]);
  tap_ok(loose[0] > 0 && loose[1] > 0 && loose[1] <= 1.3 * loose[0], "bicgstab to 1e-6: %d and %d", loose[1], loose[0]);
}

/* Each driver takes it as it is, and scaled equations are refused, because cpr adds them up. */
static void drivers(karst_context *context)
{
  static const char *const solvers[] = {"auto", "gmres", "fgmres", "bicgstab", "orthomin"};
  struct problem p = problem_own(context, "blackoil:20x20x6,dt=1");
  for (int s = 0; s < 5; s++) {
    const int found = count_iterations(&p, PAIRS("solver", solvers[s], "precond", "cpr", "rtol", "1e-6"));
    tap_ok(found > 0 && found <= 30, "%s: %d iterations", solvers[s], found);
  }
  int found[2];
  for (int s = 0; s < 2; s++)
    found[s] =
        count_iterations(&p, PAIRS("solver", solvers[1 + s], "precond", "cpr", "rtol", "1e-11", "restart", "60"));
  tap_ok(found[0] > 0 && abs(found[0] - found[1]) <= 1,
         "gmres, which applies it once to a sum of many vectors, takes %d iterations to 1e-11, and fgmres %d", found[0],
         found[1]);
  karst_solver *solver = solver_from(context, PAIRS("precond", "cpr", "scale", "block"));
  const karst_status status = karst_solver_setup(solver, p.A);
  tap_ok(status == KARST_ERROR_OPTION && strstr(karst_context_error(context), "scale"), "scaled equations: %s",
         karst_context_error(context));
  problem_end(&p, solver);
}

int main(void)
{
  tap_each_device(iterations, "iterations of the prototype");
  tap_each_device(growth, "growth with the cells");
  tap_each_device(drivers, "Krylov methods");
  return tap_done();
}
