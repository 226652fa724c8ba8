/* Whichever allocation fails, a small solve ends in the no-memory status and gives everything back. Solving and updating
 * allocate nothing at all. */
#include "failing_allocator.h"

#include <stdio.h>
#include <string.h>

struct settings {
  const char *gallery, *solver, *precond, *ordering, *scale;
};

static karst_status solve(karst_context *context, void *user)
{
  const struct settings *settings = user;
  karst_options options;
  karst_matrix *A = NULL;
  karst_vector *b = NULL, *x = NULL;
  karst_solver *solver = NULL;
  karst_result result;
  karst_options_default(&options);
  options.solver = settings->solver;
  options.precond = settings->precond;
  options.ordering = settings->ordering;
  options.scale = settings->scale;
  options.level = 1;
  options.max_iterations = 200;
  karst_status status = karst_gallery_create(context, settings->gallery, 0, &A, NULL);
  if (!status) status = karst_vector_create(context, karst_matrix_rows(A), &b);
  if (!status) status = karst_vector_create(context, karst_matrix_rows(A), &x);
  if (!status) status = karst_vector_fill(b, 1);
  if (!status) status = karst_solver_create(context, &options, &solver);
  if (!status) status = karst_solver_setup(solver, A);
  if (!status) status = karst_solver_solve(solver, b, x, &result);
  if (!status) status = karst_solver_update(solver);
  karst_solver_destroy(solver);
  karst_vector_destroy(b);
  karst_vector_destroy(x);
  karst_matrix_destroy(A);
  return status;
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

/* Allocations of setup against those after ten more updates and solves. */
static void solving_allocates_nothing(void)
{
  const char *const solvers[] = {"gmres", "bicgstab", "cg", "orthomin"};
  for (int s = 0; s < 4; s++) {
    struct failing_allocator memory = {0};
    karst_allocator allocator = failing_allocator(&memory);
    karst_context *context;
    karst_matrix *A;
    karst_vector *b, *x;
    karst_solver *solver;
    karst_result result;
    karst_options options;
    karst_options_default(&options);
    options.solver = solvers[s];
    options.ordering = "rcm";
    tap_need(NULL, karst_context_create(&allocator, &context), "context");
    tap_need(context, karst_gallery_create(context, "poisson2d:9x9", 0, &A, NULL), "matrix");
    tap_need(context, karst_vector_create(context, karst_matrix_rows(A), &b), "b");
    tap_need(context, karst_vector_create(context, karst_matrix_rows(A), &x), "x");
    tap_need(context, karst_vector_fill(b, 1), "fill");
    tap_need(context, karst_solver_create(context, &options, &solver), "solver");
    tap_need(context, karst_solver_setup(solver, A), "setup");
    long before = memory.calls;
    for (int i = 0; i < 10; i++) {
      tap_need(context, karst_solver_update(solver), "update");
      tap_need(context, karst_solver_solve(solver, b, x, &result), "solve");
    }
    tap_ok(memory.calls == before, "%s: update and solve allocate nothing", solvers[s]);
    karst_solver_destroy(solver);
    karst_vector_destroy(b);
    karst_vector_destroy(x);
    karst_matrix_destroy(A);
    karst_context_destroy(context);
    tap_ok(memory.outstanding == 0, "and everything is given back");
  }
}

int main(void)
{
  struct settings settings[] = {
      {"poisson2d:5x5", "gmres", "iluk", "natural", "none"},
      {"poisson2d:5x5", "cg", "iluk", "rcm", "diagonal"},
      {"blackoil:3x3x2", "bicgstab", "iluk", "rcm", "block"},
      {"deadoil:3x3x2", "orthomin", "jacobi", "natural", "none"},
      {"convdiff:3x3x2", "gmres", "jacobi", "natural", "block"},
      {"laplace27:3x3x3", "gmres", "none", "natural", "none"},
  };
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
    char what[128];
    snprintf(what, sizeof what, "%s, %s, %s, %s, scale %s", settings[i].gallery, settings[i].solver,
             settings[i].precond, settings[i].ordering, settings[i].scale);
    fail_each_allocation(solve, &settings[i], what);
  }
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
  solving_allocates_nothing();
  return tap_done();
}
