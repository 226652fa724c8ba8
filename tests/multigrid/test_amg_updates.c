/* Updates of amg and cpr keep the choice of rows and the interpolation, allocate nothing, and have the bits of levels
 * made anew on the same splitting. Levels are made anew after amg-rebuild updates, and when a solve has taken many more
 * iterations than the first one with them. */
#include "tests/support/failing_allocator.h"
#include "tests/support/multigrid.h"

#include <string.h>

enum { BIT_KINDS = 4 };
static const char *const kinds[BIT_KINDS][9] = {
    {"precond", "amg", NULL},
    {"precond", "amg", "amg-coarsening", "aggregation", NULL},
    {"precond", "amg", "amg-precision", "double", "amg-smoother", "chebyshev", NULL},
    {"precond", "cpr", "amg-rebuild", "30", NULL},
};

static void give(const karst_matrix *from, karst_matrix *to)
{
  double *value = values_on_host(from);
  tap_need(from->context, karst_matrix_update_values(to, value), "new values");
  free(value);
}

/* Values twice as large have the same splitting and interpolation, so the update of one hierarchy and another one made
 * for them have the same bits. So do values that come back after others. */
static void bits(karst_context *context)
{
  for (int kind = 0; kind < BIT_KINDS; kind++) {
    const bool cpr = kind == BIT_KINDS - 1;
    karst_matrix *A = cpr ? matrix_from(context, "blackoil:12x10x8,dt=1", 0) : random_field(context, 14, 2, true);
    karst_matrix *other = cpr ? matrix_from(context, "blackoil:12x10x8,dt=0.3", 0) : random_field(context, 14, 2, true);
    double *first = values_on_host(A), *twice = values_on_host(A), *r, *z, *found;
    const size_t bytes = (size_t)karst_matrix_rows(A) * sizeof *z;
    karst_precond *M = precond_from(context, kinds[kind], A);
    z = applied_to_random(M, 4, &r);
    found = applied(M, r);
    give(other, A);
    tap_need(context, karst_precond_update(M), "other values");
    apply_on_host(M, r, found);
    tap_ok(memcmp(found, z, bytes) != 0 && !isnan(found[0]), "%s %d: new values are used", kinds[kind][1], kind);
    tap_need(context, karst_matrix_update_values(A, first), "values");
    tap_need(context, karst_precond_update(M), "first values again");
    apply_on_host(M, r, found);
    tap_ok(memcmp(found, z, bytes) == 0, "after other values the first give the bits of set-up again");
    for (int64_t v = 0; v < karst_entries(A); v++) twice[v] *= 2;
    tap_need(context, karst_matrix_update_values(A, twice), "values");
    tap_need(context, karst_precond_update(M), "twice the values");
    karst_precond *anew = precond_from(context, kinds[kind], A);
    apply_on_host(M, r, found);
    apply_on_host(anew, r, z);
    tap_ok(memcmp(found, z, bytes) == 0, "values on the same splitting give the bits of a new set-up");
    free(first);
    free(twice);
    free(r);
    free(z);
    free(found);
    karst_precond_destroy(M);
    karst_precond_destroy(anew);
    karst_matrix_destroy(A);
    karst_matrix_destroy(other);
  }
}

/* ---- when levels are made anew ---- */

static const char *const names[] = {"amg_rebuilds", "first_amg_rebuilds"};

/* The rebuilds after each of some updates with the same values. */
static void counted(karst_context *context)
{
  static const char *const every[] = {"0", "1", "3"};
  static const int expected[][8] = {{0, 0, 0, 0, 0, 0, 0, 0}, {1, 2, 3, 4, 5, 6, 7, 8}, {0, 0, 1, 1, 1, 2, 2, 2}};
  for (int c = 0; c < 6; c++) {
    const bool cpr = c >= 3;
    struct problem p = problem_own(context, cpr ? "blackoil:6x5x4,dt=1" : "poisson3d:9x8x7");
    karst_solver *solver = solver_from(
        context, PAIRS("precond", cpr ? "cpr" : "amg", cpr ? "first.amg-rebuild" : "amg-rebuild", every[c % 3]));
    tap_need(context, karst_solver_setup(solver, p.A), "set-up");
    bool right = tap_solver_number(solver, names[cpr]) == 0;
    int found[8];
    for (int i = 0; i < 8; i++) {
      tap_need(context, karst_solver_update(solver), "update");
      right = right && count_solve(&p, solver) > 0;
      found[i] = (int)tap_solver_number(solver, names[cpr]);
    }
    tap_ok(right && memcmp(found, expected[c % 3], sizeof found) == 0,
           "%s, amg-rebuild %s: %d rebuilds after 4 updates, %d after 8", cpr ? "cpr" : "amg", every[c % 3], found[3],
           found[7]);
    problem_end(&p, solver);
  }
}

/* Updates from one time step to a much longer one, with the iterations of each solve. The right-hand side stays. */
struct lengthened {
  struct problem p, longer;
  int first, aged, renewed, fresh;
  double rebuilds[2]; /* before and after the last update */
};

static struct lengthened lengthen(karst_context *context, const char *from, const char *to, const char *const *pairs,
                                  bool cpr)
{
  struct lengthened l = {.p = problem_own(context, from), .longer = problem_own(context, to)};
  karst_solver *solver = solver_from(context, pairs);
  tap_need(context, karst_solver_setup(solver, l.p.A), "set-up");
  l.first = count_solve(&l.p, solver);
  give(l.longer.A, l.p.A);
  tap_need(context, karst_vector_copy(l.longer.b, l.p.b), "right-hand side");
  tap_need(context, karst_solver_update(solver), "update");
  l.aged = count_solve(&l.p, solver);
  l.rebuilds[0] = tap_solver_number(solver, names[cpr]);
  tap_need(context, karst_solver_update(solver), "update");
  l.renewed = count_solve(&l.p, solver);
  l.rebuilds[1] = tap_solver_number(solver, names[cpr]);
  l.fresh = count_iterations(&l.longer, pairs);
  karst_solver_destroy(solver);
  problem_destroy(&l.p);
  problem_destroy(&l.longer);
  return l;
}

/* Interpolation for a short time step ages when the step is a hundred times longer. */
static void aged(karst_context *context)
{
  static const char *const rebuild[] = {"30", "0"};
  for (int i = 0; i < 2; i++) {
    const struct lengthened l = lengthen(
        context, "blackoil:30x30x10,dt=0.01", "blackoil:30x30x10,dt=1",
        PAIRS("precond", "cpr", "solver", "fgmres", "restart", "60", "rtol", "1e-8", "first.amg-rebuild", rebuild[i]),
        true);
    tap_ok(l.first > 0 && l.aged > l.fresh && l.rebuilds[0] == 0,
           "amg-rebuild %s, dt 0.01 to 1: %d, then %d iterations, %d with new levels", rebuild[i], l.first, l.aged,
           l.fresh);
    if (i == 0)
      tap_ok(l.renewed == l.fresh && l.rebuilds[1] == 1, "the next update makes levels anew: %d iterations", l.renewed);
    else
      tap_ok(l.renewed == l.aged && l.rebuilds[1] == 0, "and the next update does not: %d iterations", l.renewed);
  }
}

/* Levels of anisotropic coefficients along one axis serve those along another one badly. */
static void turned(karst_context *context)
{
  const struct lengthened l = lengthen(context, "anisotropic:24x24x24,epsx=1e-3", "anisotropic:24x24x24,epsz=1e-3",
                                       PAIRS("precond", "amg", "solver", "cg", "rtol", "1e-8"), false);
  tap_ok(l.first > 0 && l.aged > 1.25 * l.first + 2 && l.rebuilds[0] == 0,
         "other strong couplings: %d, then %d iterations, %d with new levels", l.first, l.aged, l.fresh);
  tap_ok(l.renewed == l.fresh && l.rebuilds[1] == 1, "the next update makes levels anew: %d iterations", l.renewed);
}

/* Levels of values whose solve fails serve no others. A second failure in a row does not make new ones. */
static void failed(karst_context *context)
{
  for (int cpr = 0; cpr < 2; cpr++) {
    struct problem p = problem_own(context, cpr ? "blackoil:12x10x8,dt=1" : "poisson3d:12x12x12");
    karst_solver *solver = solver_from(
        context, PAIRS("precond", cpr ? "cpr" : "amg", "solver", "bicgstab", "rtol", "1e-12", "max-iterations", "1"));
    int rebuilds[3];
    tap_need(context, karst_solver_setup(solver, p.A), "set-up");
    for (int i = 0; i < 3; i++) {
      karst_result result;
      tap_need(context, karst_vector_fill(p.x, 0), "x = 0");
      tap_need(context, karst_solver_solve(solver, p.b, p.x, &result), "solve");
      tap_need(context, karst_solver_update(solver), "update");
      rebuilds[i] = (int)tap_solver_number(solver, names[cpr]);
    }
    tap_ok(rebuilds[0] == 1 && rebuilds[2] == 1,
           "%s: after a solve that fails the next update makes levels anew, %d, but not after each of three, %d",
           cpr ? "cpr" : "amg", rebuilds[0], rebuilds[2]);
    problem_end(&p, solver);
  }
}

/* A solve with kept levels, in which all is older than the values, is no measure of their age. */
static void kept(karst_context *context)
{
  struct problem p = problem_own(context, "anisotropic:16x16x16,epsx=1e-3");
  karst_matrix *turned = matrix_from(context, "anisotropic:16x16x16,epsz=1e-3", 1);
  karst_solver *solver = solver_from(context, PAIRS("precond", "amg", "solver", "cg", "max-iterations", "500"));
  double *first = values_on_host(p.A);
  tap_need(context, karst_solver_setup(solver, p.A), "set-up");
  const int fresh = count_solve(&p, solver);
  give(turned, p.A);
  tap_need(context, karst_solver_keep(solver), "keep");
  const int lagged = count_solve(&p, solver);
  tap_need(context, karst_matrix_update_values(p.A, first), "values");
  tap_need(context, karst_solver_update(solver), "update");
  const int again = count_solve(&p, solver);
  tap_ok(lagged > 2 * fresh && again == fresh && tap_solver_number(solver, "amg_rebuilds") == 0,
         "kept levels take %d iterations and are not made anew for that: %d, then %d again", lagged, fresh, again);
  free(first);
  karst_matrix_destroy(turned);
  problem_end(&p, solver);
}

/* What cpr keeps for a hundred times shorter step says little about the longer one. */
static void kept_cpr(karst_context *context)
{
  struct problem p = problem_own(context, "blackoil:24x24x8,dt=0.01"),
                 longer = problem_own(context, "blackoil:24x24x8,dt=1");
  karst_solver *solver =
      solver_from(context, PAIRS("precond", "cpr", "solver", "fgmres", "ordering", "tiles", "max-iterations", "300"));
  tap_need(context, karst_solver_setup(solver, p.A), "set-up");
  const int fresh = count_solve(&p, solver);
  give(longer.A, p.A);
  tap_need(context, karst_vector_copy(longer.b, p.b), "right-hand side");
  tap_need(context, karst_solver_keep(solver), "keep");
  const int lagged = count_solve(&p, solver);
  tap_need(context, karst_solver_update(solver), "update");
  const int updated = count_solve(&p, solver);
  tap_ok(fresh > 0 && updated > 0 && (lagged < 0 || lagged > 3 * updated) &&
             tap_solver_number(solver, "first_amg_rebuilds") == 0,
         "cpr, dt 0.01 to 1: %d iterations, with all kept %d, after the update %d", fresh, lagged, updated);
  problem_destroy(&longer);
  problem_end(&p, solver);
}

/* What a stage chose for values that another stage has refused does not serve other values. */
static void refused(karst_context *context)
{
  static const char *const kind[][3] = {{"amg", "anisotropic:12x12x12,epsx=1e-3", "anisotropic:12x12x12,epsz=1e-3"},
                                        {"cpr", "blackoil:12x12x6,dt=0.01", "blackoil:12x12x6,dt=1"}};
  for (int k = 0; k < 2; k++) {
    const char *const *pairs =
        PAIRS("precond", "two-stage", "first", "jacobi", "second", kind[k][0], "solver", "fgmres");
    struct problem p = problem_own(context, kind[k][2]);
    karst_matrix *bad = matrix_from(context, kind[k][1], 0);
    const int expected = count_iterations(&p, pairs), b = karst_matrix_block_size(bad);
    double *good = values_on_host(p.A);
    for (int r = 0; r < b; r++) set_entry(bad, 0, 0, r, 0);
    give(bad, p.A);
    karst_solver *solver = solver_from(context, pairs);
    tap_need(context, karst_solver_setup(solver, p.A), "set-up");
    const karst_result result = problem_solve(&p, solver);
    tap_need(context, karst_matrix_update_values(p.A, good), "values");
    tap_need(context, karst_solver_update(solver), "update");
    const int found = count_solve(&p, solver);
    tap_ok(result.reason == KARST_SINGULAR_BLOCK && expected > 0 && found == expected,
           "%s beside a singular block, then other values: %d iterations as after a new set-up, %d", kind[k][0], found,
           expected);
    free(good);
    karst_matrix_destroy(bad);
    problem_end(&p, solver);
  }
}

/* ---- memory ---- */

/* Updates that keep the levels allocate nothing, and one that makes them anew releases the old ones. */
static void allocations(const char *const *pairs, const char *spec, int threads)
{
  struct failing_allocator memory = {0};
  karst_context *context = failing_context(&memory);
  tap_need(context, tap_set_threads(context, threads), "threads");
  struct problem p = problem_own(context, spec);
  karst_solver *solver = solver_from(context, pairs);
  tap_need(context, karst_solver_setup(solver, p.A), "set-up");
  long calls = memory.calls;
  for (int i = 0; i < 2; i++) {
    tap_need(context, karst_solver_update(solver), "update");
    count_solve(&p, solver);
  }
  tap_ok(memory.calls == calls, "%s, threads %d: update and solve allocate nothing", pairs[1], threads);
  calls = memory.calls;
  const size_t bytes = memory.bytes;
  const long outstanding = memory.outstanding;
  for (int i = 0; i < 3; i++) tap_need(context, karst_solver_update(solver), "update");
  tap_ok(memory.calls > calls && memory.bytes == bytes && memory.outstanding == outstanding,
         "levels made anew take the place of the old ones");
  problem_end(&p, solver);
  karst_context_destroy(context);
  tap_ok(memory.outstanding == 0, "all memory is released");
}

/* Levels that could not be made anew for lack of memory are made by the next update. */
static void repeated(void)
{
  struct failing_allocator memory = {0};
  karst_context *context = failing_context(&memory);
  struct problem p = problem_own(context, "blackoil:12x12x6,dt=1");
  karst_solver *solver = solver_from(context, PAIRS("precond", "cpr", "first.amg-rebuild", "1"));
  tap_need(context, karst_solver_setup(solver, p.A), "set-up");
  const int expected = count_solve(&p, solver);
  for (long allocation = 1; allocation <= 41; allocation += 8) {
    memory.fail_at = memory.calls + allocation;
    const karst_status failed = karst_solver_update(solver);
    memory.fail_at = 0;
    karst_result result;
    const bool refused = karst_solver_solve(solver, p.b, p.x, &result) != KARST_SUCCESS;
    const bool kept = karst_solver_keep(solver) != KARST_SUCCESS;
    tap_need(context, karst_solver_update(solver), "update");
    const int found = count_solve(&p, solver);
    tap_ok(failed == KARST_ERROR_NO_MEMORY && refused && kept && found == expected,
           "allocation %ld of an update fails, which leaves no levels, and the next takes %d iterations", allocation,
           found);
  }
  problem_end(&p, solver);
  karst_context_destroy(context);
  tap_ok(memory.outstanding == 0, "all memory is released");
}

int main(void)
{
  tap_each_device(bits, "the bits of updates");
  tap_each_device(counted, "rebuilds by updates");
  tap_each_device(aged, "rebuilds by iterations");
  tap_each_device(failed, "rebuilds after a failure");
  tap_each_device(turned, "turned anisotropy");
  tap_each_device(kept, "kept levels");
  tap_each_device(kept_cpr, "cpr kept");
  tap_each_device(refused, "values that a stage refuses");
  for (int threads = 1; threads <= (strstr(karst_build_features(), "OpenMP") ? 2 : 1); threads++) {
    allocations(PAIRS("precond", "amg", "solver", "cg", "amg-rebuild", "3"), "poisson3d:14x14x14", threads);
    allocations(PAIRS("precond", "amg", "solver", "cg", "amg-rebuild", "3", "amg-coarsening", "aggregation"),
                "poisson3d:14x14x14", threads);
    allocations(PAIRS("precond", "cpr", "first.amg-rebuild", "3"), "blackoil:12x12x6,dt=1", threads);
    allocations(PAIRS("precond", "cpr", "first.amg-rebuild", "3", "cpr-weights", "quasi-impes", "cpr-balance", "20"),
                "blackoil:12x12x6,dt=1", threads);
  }
  repeated();
  return tap_done();
}
