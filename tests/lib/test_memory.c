/* If any allocation fails, a solve returns the no-memory status and releases everything, also on two threads. Solve and
 * update allocate nothing. */
#include "tests/support/problem.h"
#include "tests/support/failing_allocator.h"

#include "symbolic/symbolic.h"

#include <stdio.h>
#include <string.h>

/* Multigrid smooths this one along lines. */
static const char lined[] = "poisson2d:7x5";

struct settings {
  const char *gallery, *solver, *precond, *ordering, *scale;
  int threads, step; /* every step-th allocation fails */
};

/* This problem is large enough for its sweeps to run in parallel on two threads. */
static const char large[] = "poisson3d:64x20x20";
/* This one becomes a grid of 4x3 cells, where it couples cells without a common face. */
static const char folded[] = "poisson2d:12x1";

static karst_status solve(karst_context *context, void *user)
{
  const struct settings *settings = user;
  karst_matrix *A = NULL;
  karst_vector *b = NULL, *x = NULL;
  karst_solver *solver = NULL;
  karst_result result;
  tap_settings options = settings_for(settings->solver, settings->precond);
  options.ordering = settings->ordering;
  options.scale = settings->scale;
  options.level = settings->gallery == large ? 0 : 1;
  options.max_iterations = settings->gallery == large ? 5 : 200;
  if (strcmp(settings->precond, "parilu") == 0) { /* these options allocate memory of their own */
    options.sweep_mode = "asynchronous";
    options.sweep_order = "blocks";
    options.ilu_residual = "yes";
    options.trisolve = "jacobi";
  }
  karst_status status = tap_set_threads(context, settings->threads);
  if (!status) status = karst_gallery_create(context, settings->gallery, 0, &A, NULL);
  if (!status && settings->gallery == folded) status = karst_matrix_set_grid(A, 4, 3, 1);
  if (!status) status = karst_vector_create(context, karst_matrix_rows(A), &b);
  if (!status) status = karst_vector_create(context, karst_matrix_rows(A), &x);
  if (!status) status = karst_vector_fill(b, 1);
  if (!status) status = tap_solver_setup(context, &options, A, &solver);
  if (!status) status = karst_solver_solve(solver, b, x, &result);
  if (!status) status = karst_solver_update(solver);
  karst_solver_destroy(solver);
  karst_vector_destroy(b);
  karst_vector_destroy(x);
  karst_matrix_destroy(A);
  return status;
}

/* Multigrid with a last level of few rows, so that small systems have several levels. The second update makes them
 * anew. */
static karst_status multigrid(karst_context *context, void *user)
{
  const struct settings *settings = user;
  const bool cpr = strcmp(settings->precond, "cpr") == 0;
  const char *smoother = settings->gallery == lined ? "lines" : "auto";
  const char *const pairs[][2] = {{"precond", settings->precond},
                                  {"solver", settings->solver},
                                  {"ordering", settings->ordering},
                                  {cpr ? "first.amg-coarse-rows" : "amg-coarse-rows", "4"},
                                  {cpr ? "first.amg-rebuild" : "amg-rebuild", "2"},
                                  {cpr ? "first.amg-coarsening" : "amg-coarsening", settings->scale},
                                  {cpr ? "first.amg-smoother" : "amg-smoother", smoother},
                                  {"max-iterations", "5"}};
  karst_matrix *A = NULL;
  karst_vector *b = NULL, *x = NULL;
  karst_options *options = NULL;
  karst_solver *solver = NULL;
  karst_result result;
  karst_status status = tap_set_threads(context, settings->threads);
  if (!status) status = karst_gallery_create(context, settings->gallery, 0, &A, NULL);
  if (!status) status = karst_vector_create(context, karst_matrix_rows(A), &b);
  if (!status) status = karst_vector_create(context, karst_matrix_rows(A), &x);
  if (!status) status = karst_vector_fill(b, 1);
  if (!status) status = karst_options_create(context, &options);
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs && !status; i++)
    status = karst_options_set(options, pairs[i][0], pairs[i][1]);
  if (!status) status = karst_solver_create(context, options, &solver);
  if (!status) status = karst_solver_setup(solver, A);
  if (!status) status = karst_solver_solve(solver, b, x, &result);
  for (int i = 0; i < 2 && !status; i++) status = karst_solver_update(solver);
  karst_options_destroy(options);
  karst_solver_destroy(solver);
  karst_vector_destroy(b);
  karst_vector_destroy(x);
  karst_matrix_destroy(A);
  return status;
}

/* For multigrid, scale is the coarsening. */
static void fail_multigrid(void)
{
  struct settings settings[] = {
      {"poisson2d:7x6", "cg", "amg", "natural", "pmis", 1, 1},
      {"poisson2d:7x6", "gmres", "amg", "rcm", "aggregation", 1, 1},
      {lined, "cg", "amg", "natural", "pmis", 1, 1},
      {"blackoil:4x3x3", "bicgstab", "cpr", "natural", "pmis", 1, 1},
      {"blackoil:4x3x3", "fgmres", "cpr", "tiles", "aggregation", 1, 1},
      {large, "cg", "amg", "natural", "pmis", 2, 61},
      {large, "cg", "amg", "natural", "aggregation", 2, 61},
      {"blackoil:16x16x8", "bicgstab", "cpr", "natural", "pmis", 2, 31},
  };
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
    char what[128];
    snprintf(what, sizeof what, "%s, %s, %s, %s, %s, threads %d", settings[i].gallery, settings[i].solver,
             settings[i].precond, settings[i].ordering, settings[i].scale, settings[i].threads);
    if (settings[i].threads > 1 && !strstr(karst_build_features(), "OpenMP"))
      tap_skip("this build has no threads", "%s", what);
    else
      fail_every_allocation(multigrid, &settings[i], settings[i].step, what);
  }
}

static karst_status files(karst_context *context, void *user)
{
  const char *path = user;
  karst_matrix *A = NULL, *B = NULL;
  karst_vector *x = NULL, *y = NULL;
  char vector_path[512];
  snprintf(vector_path, sizeof vector_path, "%s.vector.mtx", path);
  karst_status status = karst_gallery_create(context, "poisson2d:4x4", 0, &A, NULL);
  if (!status) status = karst_matrix_write(A, path);
  if (!status) status = karst_matrix_read(context, path, 3, &B);
  if (!status) status = karst_vector_create(context, 16, &x);
  if (!status) status = karst_vector_write(x, vector_path);
  if (!status) status = karst_vector_read(context, vector_path, &y);
  karst_vector_destroy(x);
  karst_vector_destroy(y);
  karst_matrix_destroy(A);
  karst_matrix_destroy(B);
  return status;
}

/* Compares the allocations of setup with those after more updates and solves. */
static void solving_allocates_nothing(const struct settings *settings, const char *what)
{
  struct failing_allocator memory = {0};
  tap_settings options = settings_for(settings->solver, settings->precond);
  options.ordering = settings->ordering;
  options.scale = settings->scale;
  options.max_iterations = 20;
  karst_context *context = failing_context(&memory);
  tap_need(context, tap_set_threads(context, settings->threads), "threads");
  struct problem p = problem_from(context, settings->gallery, 0, 0);
  karst_solver *solver = problem_solver(&p, &options);
  const long before = memory.calls;
  for (int i = 0; i < 3; i++) {
    tap_need(context, karst_solver_update(solver), "update");
    problem_solve(&p, solver);
  }
  tap_ok(memory.calls == before, "%s: update and solve allocate nothing", what);
  karst_solver_destroy(solver);
  problem_destroy(&p);
  karst_context_destroy(context);
  tap_ok(memory.outstanding == 0, "all memory is released");
}

/* Tests each method with each preconditioner and scaling. */
static void no_solve_allocates(int threads)
{
  const char *const solvers[] = {"gmres", "fgmres", "bicgstab", "cg", "orthomin", "richardson"};
  const char *const preconds[] = {"none", "jacobi", "iluk", "dilu", "parilu", "paric", "fgbilu", "lines", "adi"};
  const char *const scales[] = {"none", "diagonal", "block"};
  for (int i = 0; i < 6 * 9 * 3; i++) {
    char what[128];
    struct settings settings = {
        "poisson2d:9x9", solvers[i / 27], preconds[i / 3 % 9], "rcm", scales[i % 3], threads, 1};
    const bool unsymmetric = strcmp(settings.scale, "block") == 0 || strcmp(settings.precond, "adi") == 0;
    if (strcmp(settings.solver, "cg") == 0 && unsymmetric) continue;
    snprintf(what, sizeof what, "%s, %s, scale %s, threads %d", settings.solver, settings.precond, settings.scale,
             threads);
    solving_allocates_nothing(&settings, what);
  }
  struct settings settings = {large, "bicgstab", "iluk", "natural", "none", threads, 1};
  solving_allocates_nothing(&settings, large);
}

/* Checks that the sweeps of the large problem do run in parallel. */
static void sweeps_are_parallel(void)
{
  karst_ilu_pattern pattern;
  karst_schedule schedule;
  karst_context *context = tap_context();
  karst_matrix *A = matrix_from(context, large, 0);
  karst_index n = karst_matrix_block_rows(A);
  tap_need(context, karst_ilu_symbolic(context, n, karst_matrix_row_start(A), karst_matrix_column(A), 0, &pattern),
           "L");
  tap_need(context,
           karst_schedule_create(context, NULL, n, pattern.lower_start, pattern.lower_column, true, 2, &schedule),
           "schedule");
  tap_ok(schedule.levels > 1, "%s: two threads share the sweeps, in %ld levels", large, (long)schedule.levels);
  karst_schedule_destroy(context, &schedule);
  karst_ilu_pattern_destroy(context, &pattern);
  karst_matrix_destroy(A);
  karst_context_destroy(context);
}

static bool is_built(const struct settings *settings)
{
  const char *features = karst_build_features();
  if (strcmp(settings->ordering, "amd") == 0 && !strstr(features, "AMD")) return false;
  if (strcmp(settings->ordering, "metis") == 0 && !strstr(features, "METIS")) return false;
  return settings->threads == 1 || strstr(features, "OpenMP");
}

int main(void)
{
  struct settings settings[] = {
      {"poisson2d:5x5", "gmres", "iluk", "natural", "none", 1, 1},
      {"poisson2d:5x5", "cg", "iluk", "rcm", "diagonal", 1, 1},
      {"blackoil:3x3x2", "bicgstab", "iluk", "rcm", "block", 1, 1},
      {"blackoil:3x3x2", "fgmres", "iluk", "natural", "none", 1, 1},
      {"deadoil:3x3x2", "orthomin", "jacobi", "natural", "none", 1, 1},
      {"deadoil:3x3x2", "richardson", "iluk", "rcm", "block", 1, 1},
      {"convdiff:3x3x2", "gmres", "jacobi", "natural", "block", 1, 1},
      {"laplace27:3x3x3", "gmres", "none", "natural", "none", 1, 1},
      {"convdiff:4x3x2", "gmres", "iluk", "amd", "none", 1, 1},
      {"convdiff:4x3x2", "gmres", "iluk", "metis", "block", 1, 1},
      {"blackoil:3x3x2", "gmres", "iluk", "rcm", "block", 2, 1},
      {"blackoil:3x3x2", "gmres", "parilu", "rcm", "none", 1, 1},
      {"poisson2d:5x5", "cg", "paric", "natural", "none", 1, 1},
      {"blackoil:3x3x2", "gmres", "fgbilu", "rcm", "none", 1, 1},
      {folded, "gmres", "fgbilu", "natural", "none", 1, 1},
      {large, "bicgstab", "fgbilu", "natural", "none", 2, 3},
      {large, "cg", "paric", "natural", "none", 2, 3},
      {large, "cg", "parilu", "natural", "none", 2, 3},
      {large, "bicgstab", "iluk", "natural", "none", 2, 3},
      {large, "gmres", "iluk", "rcm", "block", 2, 3},
      {"blackoil:3x3x2", "gmres", "lines", "natural", "none", 1, 1},
      {"blackoil:3x3x2", "gmres", "adi", "rcm", "none", 1, 1},
      {large, "cg", "lines", "natural", "none", 2, 3},
      {"blackoil:3x3x2", "gmres", "dilu", "rcm", "none", 1, 1},
      {large, "bicgstab", "dilu", "natural", "none", 2, 3},
      {large, "cg", "jacobi", "natural", "diagonal", 2, 3},
  };
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
    char what[128];
    snprintf(what, sizeof what, "%s, %s, %s, %s, scale %s, threads %d", settings[i].gallery, settings[i].solver,
             settings[i].precond, settings[i].ordering, settings[i].scale, settings[i].threads);
    if (is_built(&settings[i]))
      fail_every_allocation(solve, &settings[i], settings[i].step, what);
    else
      tap_skip("this build has no such ordering, or no threads", "%s", what);
  }
  fail_multigrid();
  const char *const endings[] = {"memory.mtx", "memory.mtx.gz", "memory.kbsr"};
  for (int i = 0; i < 3; i++) {
    char path[256];
    if (i == 1 && !strstr(karst_build_features(), "zlib")) {
      tap_skip("built without zlib", "%s", endings[i]);
      continue;
    }
    snprintf(path, sizeof path, "%s", tap_scratch(endings[i]));
    fail_each_allocation(files, path, endings[i]);
  }
  no_solve_allocates(1);
  if (is_built(&(struct settings){.ordering = "natural", .threads = 2})) {
    sweeps_are_parallel();
    no_solve_allocates(2);
  } else {
    tap_skip("this build has no threads", "two threads");
  }
  return tap_done();
}
