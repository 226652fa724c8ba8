/* cpr finds the pressure among the unknowns of a cell: 0 in the gallery's systems, 1 in those of OPM Flow, 0 in those
 * of another simulator. A wrong one costs iterations, so it is warned of. Once found it stays. */
#include "lib/backend/cpr_kernels.h"
#include "tests/support/multigrid.h"

#include <string.h>

static const char *const numbers[] = {"0", "1", "2"};

/* Solves with cpr, with pressure NULL for auto. Counts warnings. Returns the iterations to 1e-6 or, if the solve does
 * not converge, the limit. */
enum { LIMIT = 150 };
static int count(const struct problem *p, const char *pressure, double *found, struct warnings *warnings)
{
  karst_solver *solver =
      solver_from(p->context, PAIRS("precond", "cpr", "solver", "bicgstab", "rtol", "1e-6", "max-iterations", "150",
                                    "cpr-pressure", pressure ? pressure : "auto"));
  *warnings = (struct warnings){0};
  karst_context_set_message(p->context, keep_warning, warnings);
  tap_need(p->context, karst_solver_setup(solver, p->A), "set-up");
  karst_context_set_message(p->context, NULL, NULL);
  const karst_result result = problem_solve(p, solver);
  *found = tap_solver_number(solver, "cpr_pressure");
  karst_solver_destroy(solver);
  return result.reason > 0 ? result.iterations : LIMIT;
}

/* Destroys p. */
static void check(struct problem *p, const char *name, int pressure, bool costs)
{
  struct warnings warnings;
  double found;
  const int right = count(p, NULL, &found, &warnings);
  tap_ok(found == pressure && right < LIMIT && warnings.count == 0,
         "%s: the pressure is unknown %g, found without a warning: %d iterations", name, found, right);
  for (int u = 0; u < karst_matrix_block_size(p->A); u++) {
    const int iterations = count(p, numbers[u], &found, &warnings);
    tap_ok(found == u && (u == pressure ? iterations == right && warnings.count == 0 : !costs || iterations > right),
           "cpr-pressure %d: %d iterations", u, iterations);
    if (u != pressure) tap_ok(warnings.count == 1, "a wrong one is warned of: %s", warnings.text);
  }
  problem_destroy(p);
}

static void gallery(karst_context *context)
{
  static const char *const specs[] = {"blackoil:16x16x6,dt=1", "blackoil:16x16x6,dt=0.01", "blackoil:16x16x6,dt=100",
                                      "deadoil:16x16x6,dt=1"};
  for (int s = 0; s < 4; s++) {
    struct problem p = problem_own(context, specs[s]);
    check(&p, specs[s], 0, s != 1);
  }
}

static void simulators(karst_context *context)
{
  static const char *const files[][2] = {{"opm/opm_spe1_in.mtx.gz", "opm/opm_spe1_in_b.mtx.gz"},
                                         {"opm/opm_spe10m1_in.mtx.gz", "opm/opm_spe10m1_in_b.mtx.gz"},
                                         {"opm/opm_spe10sub2p_in.mtx.gz", "opm/opm_spe10sub2p_in_b.mtx.gz"},
                                         {"SPE01_bsr3.mtx.gz", "SPE01_bsr3_b.mtx"}}; /* not of Flow */
  for (int f = 0; f < 4; f++) {
    struct problem p = problem_read(context, tap_matrix_path(files[f][0]), files[f][1], f == 3 ? 3 : 0);
    if (p.A) check(&p, files[f][0], f == 3 ? 0 : 1, true);
  }
}

/* ---- what is made how often ---- */

/* A backend that counts the pressure matrices that are made. */
static struct {
  struct karst_backend backend;
  struct karst_cpr_kernels cpr;
  const struct karst_cpr_kernels *own;
  int made;
} counting;

static karst_status count_pressure(karst_context *context, const karst_matrix *A, karst_cpr *cpr,
                                   karst_matrix *pressure, karst_cpr_outcome *outcome)
{
  counting.made++;
  return counting.own->pressure(context, A, cpr, pressure, outcome);
}

/* Exchanges the first two unknowns of each cell. */
static void exchange(karst_matrix *A)
{
  const int b = karst_matrix_block_size(A);
  double *value = values_on_host(A);
  for (int64_t k = 0; k < karst_matrix_blocks(A); k++)
    for (int r = 0; r < b; r++) {
      double *first = value + k * b * b + r, *second = first + b, moved = *first;
      *first = *second;
      *second = moved;
    }
  tap_need(A->context, karst_matrix_update_values(A, value), "values");
  free(value);
}

static void kept(karst_context *context)
{
  const struct karst_backend *before = context->backend;
  if (tap_lacks_kernels(before->cpr, "cpr", "what is kept")) return;
  counting.backend = *before;
  counting.own = before->cpr;
  counting.cpr = *before->cpr;
  counting.cpr.pressure = count_pressure;
  counting.backend.cpr = &counting.cpr;
  counting.made = 0;
  context->backend = &counting.backend;
  struct problem p = problem_own(context, "blackoil:12x12x6,dt=1");
  karst_solver *solver = solver_from(context, PAIRS("precond", "cpr", "first.amg-rebuild", "2"));
  tap_need(context, karst_solver_setup(solver, p.A), "set-up");
  const int found = counting.made;
  for (int i = 0; i < 3; i++) tap_need(context, karst_solver_update(solver), "update");
  tap_ok(
      found == 3 + 1 && counting.made == found + 3 && tap_solver_number(solver, "first_amg_rebuilds") == 1,
      "set-up makes a pressure matrix for each unknown and one to use, and each update one, also with new levels: %d, "
      "then %d",
      found, counting.made - found);
  exchange(p.A);
  for (int i = 0; i < 2; i++) tap_need(context, karst_solver_update(solver), "update");
  const double stays = tap_solver_number(solver, "cpr_pressure");
  tap_need(context, karst_solver_setup(solver, p.A), "set-up");
  tap_ok(stays == 0 && tap_solver_number(solver, "cpr_pressure") == 1,
         "the pressure stays unknown 0 after new levels, and a new set-up finds unknown %g",
         tap_solver_number(solver, "cpr_pressure"));
  problem_end(&p, solver);
  context->backend = before;
}

int main(void)
{
  tap_each_device(gallery, "the gallery");
  tap_each_device(simulators, "systems of simulators");
  tap_each_device(kept, "what is kept");
  return tap_done();
}
