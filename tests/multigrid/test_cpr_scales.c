/* cpr on equations in other units and scaled from cell to cell, on unit rows of inactive cells, and on cells in which a
 * phase is gone. */
#include "tests/support/multigrid.h"

#include <string.h>

enum { LIMIT = 100 };
static const char spec[] = "blackoil:30x40x12,dt=1";

/* Solves with so many sweeps of the balance. Returns the iterations, or LIMIT. */
static int count(const struct problem *p, const char *sweeps, const char *weights)
{
  const int found = count_iterations(p, PAIRS("precond", "cpr", "solver", "fgmres", "restart", "60", "rtol", "1e-8",
                                              "max-iterations", "100", "cpr-balance", sweeps, "cpr-weights", weights));
  return found < 0 ? LIMIT : found;
}

static karst_index cells;

/* The system with a factor for the equations of each cell. */
static struct problem scaled(karst_context *context, const char *name,
                             double (*factor_of)(karst_index cell, int equation))
{
  struct problem p = problem_own(context, name);
  cells = karst_matrix_block_rows(p.A);
  const int b = karst_matrix_block_size(p.A);
  double *factor = tap_memory(p.n, sizeof *factor);
  for (karst_index i = 0; i < karst_matrix_block_rows(p.A); i++)
    for (int r = 0; r < b; r++) factor[(int64_t)i * b + r] = factor_of(i, r);
  scale_rows(p.A, p.b, factor);
  free(factor);
  return p;
}

static double pore_volume(karst_index cell, int equation)
{
  static double factor;
  (void)cell;
  if (equation == 0) factor = pow(10, 2 * tap_random());
  return factor;
}

/* 60 of the cells, as rows of wells. */
static double few(karst_index cell, int equation)
{
  (void)equation;
  return cell % (cells / 60) == 7 ? 1e6 : 1;
}

static double units(karst_index cell, int equation)
{
  static const double unit[] = {1, 1e-3, 1e4};
  (void)cell;
  return unit[equation];
}

static void factors(karst_context *context)
{
  struct problem p = problem_own(context, spec);
  const int plain = count(&p, "0", "auto"), balanced = count(&p, "20", "auto");
  tap_ok(plain <= 20 && abs(balanced - plain) <= 2, "the gallery's equations: %d iterations, %d balanced", plain,
         balanced);
  problem_destroy(&p);
  p = scaled(context, spec, units);
  const int other = count(&p, "0", "auto");
  tap_ok(abs(other - plain) <= 1, "other units of the equations: %d iterations", other);
  problem_destroy(&p);
  for (int f = 0; f < 3; f++) {
    p = scaled(context, f < 2 ? spec : "blackoil:30x30x10,dt=10", f ? few : pore_volume);
    const int alone = count(&p, "0", "column-sum"), found = count(&p, "20", "column-sum");
    tap_ok(found <= 50 && found < alone, "%s: %d iterations balanced, %d without",
           f ? "60 cells times 1e6" : "cells times 10^U(-2,2)", found, alone);
    problem_destroy(&p);
  }
}

/* Equations u = b in 2 % of the cells, which other cells do not couple with. */
static void unit_rows(karst_context *context)
{
  for (int aggregation = 0; aggregation < 2; aggregation++) {
    struct problem p = problem_own(context, spec);
    const int bb = karst_matrix_block_size(p.A) * karst_matrix_block_size(p.A);
    double *value = values_on_host(p.A);
    for (karst_index i = 0; i < karst_matrix_block_rows(p.A); i++)
      for (karst_index k = karst_matrix_row_start(p.A)[i]; k < karst_matrix_row_start(p.A)[i + 1]; k++) {
        const karst_index j = karst_matrix_column(p.A)[k];
        for (int v = 0; v < bb && (i % 50 == 3 || j % 50 == 3); v++)
          value[(int64_t)k * bb + v] = i == j && v % (karst_matrix_block_size(p.A) + 1) == 0;
      }
    tap_need(context, karst_matrix_update_values(p.A, value), "values");
    free(value);
    karst_solver *solver =
        solver_from(context, PAIRS("precond", "cpr", "solver", "fgmres", "restart", "60", "rtol", "1e-8",
                                   "first.amg-coarsening", aggregation ? "aggregation" : "pmis"));
    tap_need(context, karst_solver_setup(solver, p.A), "set-up");
    const int found = count_solve(&p, solver);
    tap_ok(found > 0 && found <= (aggregation ? 30 : 22), "2 %% of unit rows, %s: %d iterations",
           aggregation ? "aggregation" : "pmis", found);
    tap_ok(tap_solver_number(solver, "first_amg_levels") >= 3 && tap_solver_number(solver, "cpr_singular") <= 0,
           "and levels get as small as without: %g of them", tap_solver_number(solver, "first_amg_levels"));
    problem_end(&p, solver);
  }
}

/* The last column of each block of 2 % of the cells' columns, times a factor: a phase is gone. */
static struct problem without_phase(karst_context *context, double factor)
{
  struct problem p = problem_own(context, "blackoil:12x12x8,dt=1");
  const int b = karst_matrix_block_size(p.A), bb = b * b;
  double *value = values_on_host(p.A);
  for (int64_t k = 0; k < p.A->blocks; k++)
    for (int v = bb - b; v < bb && karst_matrix_column(p.A)[k] % 50 == 8; v++) value[k * bb + v] *= factor;
  tap_need(context, karst_matrix_update_values(p.A, value), "values");
  free(value);
  return p;
}

static void phase_gone(karst_context *context)
{
  struct problem p = without_phase(context, 0);
  karst_solver *solver = solver_from(context, PAIRS("precond", "cpr", "second", "none"));
  tap_need(context, karst_solver_setup(solver, p.A), "set-up");
  tap_ok(tap_solver_number(solver, "cpr_singular") == 23, "%g of 1152 cells have a singular block",
         tap_solver_number(solver, "cpr_singular"));
  karst_solver_destroy(solver);
  solver = solver_from(context, PAIRS("precond", "cpr"));
  tap_need(context, karst_solver_setup(solver, p.A), "set-up");
  const karst_result result = problem_solve(&p, solver);
  tap_ok(result.reason == KARST_SINGULAR_BLOCK && result.block_row == 8, "the second stage names the first of them: %s",
         karst_solver_explain(solver));
  problem_end(&p, solver);
  p = without_phase(context, 1e-12); /* a unit of that unknown */
  struct problem same = without_phase(context, 1);
  const int found = count(&p, "0", "auto"), expected = count(&same, "0", "auto");
  tap_ok(found < LIMIT && abs(found - expected) <= 1,
         "an unknown in another unit is no reason: %d iterations, %d before", found, expected);
  problem_destroy(&p);
  problem_destroy(&same);
}

int main(void)
{
  tap_each_device(factors, "scaled equations");
  tap_each_device(unit_rows, "unit rows");
  tap_each_device(phase_gone, "a phase that is gone");
  return tap_done();
}
