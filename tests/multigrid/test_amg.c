/* amg takes the iterations of the prototype that its defaults were measured with, on elliptic problems: isotropic,
 * anisotropic, with coefficients that vary by eight orders of magnitude from cell to cell, with levels in float and in
 * double, and with each coarsening, cycle and smoother. */
#include "tests/support/multigrid.h"

/* Iterations of cg to 1e-8 with more options, from the prototype's table. */
static const struct {
  const char *spec;
  const char *more[7];
  int expected;
} cases[] = {
    {"poisson3d:64x64x64", {NULL}, 13},
    {"poisson2d:300x300", {NULL}, 13},
    {"anisotropic:40x40x40,epsz=1e-4", {NULL}, 11},
    {"poisson3d:64x64x64", {"amg-smoother", "chebyshev", NULL}, 10},
    {"poisson3d:64x64x64", {"amg-coarsening", "aggregation", NULL}, 20},
    {"poisson3d:64x64x64",
     {"amg-coarsening", "aggregation", "amg-smoother", "chebyshev", NULL},
     14}, /* the prototype: 16 */
};

static int count(const struct problem *p, const char *const *more)
{
  const char *pairs[16] = {"solver", "cg", "precond", "amg", "rtol", "1e-8"};
  int used = 6;
  while (*more) pairs[used++] = *more++;
  return count_iterations(p, pairs);
}

static void iterations(karst_context *context)
{
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    struct problem p = problem_own(context, cases[c].spec);
    const int found = count(&p, cases[c].more);
    tap_ok(is_near(found, cases[c].expected), "%s %s %s: %d iterations for %d", cases[c].spec,
           cases[c].more[0] ? cases[c].more[1] : "", cases[c].more[0] && cases[c].more[2] ? cases[c].more[3] : "",
           found, cases[c].expected);
    problem_destroy(&p);
  }
}

/* The acceptance test of a coarsening: coefficients without any correlation. */
static void high_contrast(karst_context *context)
{
  struct problem p = problem_of(context, random_field(context, 32, 4, true), 0);
  const int found = count(&p, PAIRS("amg-precision", "float")), exact = count(&p, PAIRS("amg-precision", "double"));
  tap_ok(found > 0 && found <= 22, "contrast 1e8 from cell to cell: %d iterations", found);
  tap_ok(abs(found - exact) <= 1, "and %d in double", exact);
  problem_destroy(&p);
}

/* A W-cycle takes no more iterations than a V-cycle, and two sweeps or more entries of P no more than the defaults. */
static void stronger(karst_context *context)
{
  static const char *const more[][3] = {
      {"amg-cycle", "w", NULL}, {"amg-sweeps", "2", NULL}, {"amg-max-entries", "8", NULL}, {"amg-order", "3", NULL}};
  struct problem p = problem_own(context, "poisson3d:24x24x24");
  const int plain = count(&p, PAIRS("amg-precision", "float"));
  for (int i = 0; i < 4; i++) {
    const int found = count(&p, more[i]);
    tap_ok(found > 0 && found <= plain, "%s %s: %d iterations, %d with the default", more[i][0], more[i][1], found,
           plain);
  }
  problem_destroy(&p);
}

/* It is a fixed operator, so every driver takes it, and an order of the rows changes little. */
static void drivers(karst_context *context)
{
  static const char *const solvers[] = {"cg", "gmres", "fgmres", "bicgstab", "orthomin", "richardson"};
  struct problem p = problem_own(context, "poisson3d:16x15x14");
  const int expected = count(&p, PAIRS("ordering", "natural"));
  for (int s = 0; s < 6; s++) {
    const int found = count_iterations(&p, PAIRS("solver", solvers[s], "precond", "amg", "rtol", "1e-8", "ordering",
                                                 s % 2 ? "rcm" : "natural", "scale", s == 4 ? "diagonal" : "none"));
    tap_ok(found > 0 && found <= (s == 5 ? 2 : 1) * expected + 1, "%s: %d iterations, cg: %d", solvers[s], found,
           expected);
  }
  problem_destroy(&p);
}

/* Rows of a level, from the report. */
static double rows_of(const karst_solver *solver, int level)
{
  char name[32];
  snprintf(name, sizeof name, "amg_level_%d", level);
  return strtod(tap_solver_text(solver, name), NULL);
}

/* All couplings of a row are equal here: ties must not hinder coarsening. */
static void ties(karst_context *context)
{
  struct problem p = problem_own(context, "poisson3d:30x30x30");
  for (int i = 0; i < 2; i++) {
    const char *coarsening = i ? "aggregation" : "pmis";
    karst_solver *solver = solver_from(context, PAIRS("precond", "amg", "amg-coarsening", coarsening));
    tap_need(context, karst_solver_setup(solver, p.A), "set-up");
    const int levels = (int)tap_solver_number(solver, "amg_levels");
    double smallest = 1e9;
    for (int l = 0; l + 1 < levels; l++) {
      const double ratio = rows_of(solver, l) / rows_of(solver, l + 1);
      if (ratio < smallest) smallest = ratio;
    }
    tap_ok(levels >= 3 && smallest >= 2.5 && rows_of(solver, levels - 1) <= 128 && rows_of(solver, levels) == 0,
           "%s: %d levels, each %.1f times smaller or more", coarsening, levels, smallest);
    tap_ok(tap_solver_number(solver, "grid_complexity") < 2 && tap_solver_number(solver, "operator_complexity") < 4,
           "complexities %.2f of rows and %.2f of entries", tap_solver_number(solver, "grid_complexity"),
           tap_solver_number(solver, "operator_complexity"));
    karst_solver_destroy(solver);
  }
  problem_destroy(&p);
}

int main(void)
{
  tap_each_device(iterations, "iterations of the prototype");
  tap_each_device(high_contrast, "high contrast");
  tap_each_device(stronger, "stronger settings");
  tap_each_device(drivers, "Krylov methods");
  tap_each_device(ties, "levels");
  return tap_done();
}
