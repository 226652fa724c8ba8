/* multigrid.h - for tests of amg and cpr: systems with their own right-hand sides, iterations, and warnings. */
#ifndef KARST_TESTS_SUPPORT_MULTIGRID_H
#define KARST_TESTS_SUPPORT_MULTIGRID_H

#include "lib/matrix/matrix.h"
#include "tests/support/named_values.h"
#include "tests/support/patterns.h"
#include "tests/support/problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The system of the gallery with its right-hand side, or one of ones. */
static inline struct problem problem_own(karst_context *context, const char *spec)
{
  struct problem p = {.context = context};
  tap_need(context, karst_gallery_create(context, spec, 0, &p.A, &p.b), spec);
  p.n = karst_matrix_rows(p.A);
  if (!p.b) p.b = vector_of(context, p.n, 1);
  p.x = vector_of(context, p.n, 0);
  return p;
}

/* A system of a file, with a right-hand side among the real matrices. If path is NULL or this build cannot read the
 * files, it prints that the test is skipped, and A is NULL. */
static inline struct problem problem_read(karst_context *context, const char *path, const char *rhs, int block)
{
  char matrix[1024] = "";
  struct problem p = {.context = context};
  if (path) snprintf(matrix, sizeof matrix, "%s", path); /* it may be the memory of the next path */
  karst_status status = path ? karst_vector_read(context, tap_matrix_path(rhs), &p.b) : KARST_ERROR_FILE;
  if (!status) status = karst_matrix_read(context, matrix, block, &p.A);
  if (!path || status == KARST_ERROR_NOT_BUILT) {
    tap_skip(path ? karst_context_error(context) : "the matrix is not there", "the system of %s", rhs);
    karst_vector_destroy(p.b);
    p.b = NULL;
    return p;
  }
  tap_need(context, status, rhs);
  p.n = karst_matrix_rows(p.A);
  p.x = vector_of(context, p.n, 0);
  return p;
}

/* Solves from zero. Returns the iterations, or -1 after a note if the solve does not converge. */
static inline int count_solve(const struct problem *p, karst_solver *solver)
{
  const karst_result result = problem_solve(p, solver);
  if (result.reason > 0) return result.iterations;
  tap_note("%d iterations, %s: %s", result.iterations, karst_reason_text(result.reason), karst_solver_explain(solver));
  return -1;
}

/* The same with a new solver. */
static inline int count_iterations(const struct problem *p, const char *const *pairs)
{
  karst_solver *solver = solver_from(p->context, pairs);
  tap_need(p->context, karst_solver_setup(solver, p->A), "set-up");
  const int iterations = count_solve(p, solver);
  karst_solver_destroy(solver);
  return iterations;
}

/* Whether iterations differ by at most a tenth, or one, from those expected. */
static inline bool is_near(int iterations, int expected)
{
  const double most = expected > 10 ? 0.1 * expected : 1;
  return iterations >= expected - most && iterations <= expected + most;
}

/* Warnings of a context. */
struct warnings {
  int count;
  char text[512]; /* the last one */
};

static inline void keep_warning(void *user, karst_message_kind kind, const char *text)
{
  struct warnings *warnings = user;
  if (kind != KARST_MESSAGE_WARNING) return;
  warnings->count++;
  snprintf(warnings->text, sizeof warnings->text, "%s", text);
}

/* Multiplies the scalar rows of a matrix, b rows a cell, and of a vector unless it is NULL, by factors [n]. */
static inline void scale_rows(karst_matrix *A, karst_vector *b, const double *factor)
{
  const int size = karst_matrix_block_size(A);
  const karst_index *start = karst_matrix_row_start(A);
  double *value = values_on_host(A), *host = b ? vector_on_host(b) : NULL;
  for (karst_index i = 0; i < karst_matrix_block_rows(A); i++)
    for (int64_t v = (int64_t)start[i] * size * size; v < (int64_t)start[i + 1] * size * size; v++)
      value[v] *= factor[(int64_t)i * size + v % size];
  tap_need(A->context, karst_matrix_update_values(A, value), "values");
  for (int64_t r = 0; b && r < karst_matrix_rows(A); r++) host[r] *= factor[r];
  if (b) tap_need(A->context, karst_vector_set(b, karst_matrix_rows(A), host), "right-hand side");
  free(value);
  free(host);
}

/* Adds the coupling of cells i and j, or of cell i with the boundary if j < 0, to the values of row i. */
static inline void couple(const struct pattern *grid, karst_index i, karst_index j, const double *k, double *value)
{
  const double coupling = j < 0 ? k[i] : 2 / (1 / k[i] + 1 / k[j]);
  for (karst_index e = grid->start[i]; e < grid->start[i + 1]; e++) {
    if (grid->column[e] == i) value[e] += coupling;
    if (grid->column[e] == j) value[e] -= coupling;
  }
}

/* -div(k grad u) on n x n x n cells with k = 10^U(-exponent, exponent) in each: cells couple by the harmonic mean, and
 * with a boundary of Dirichlet's, if there is one, by their own k. */
static inline karst_matrix *random_field(karst_context *context, karst_index n, double exponent, bool boundary)
{
  const karst_index stride[3] = {1, n, n * n};
  struct pattern grid = pattern_grid(n, n, n);
  double *value = tap_memory(grid.start[grid.n], sizeof *value), *k = tap_memory(grid.n, sizeof *k);
  for (karst_index i = 0; i < grid.n; i++) k[i] = pow(10, exponent * tap_random());
  for (karst_index i = 0; i < grid.n; i++)
    for (int face = 0; face < 6; face++) {
      const karst_index step = stride[face / 2], place = i / step % n, to = face % 2 ? place + 1 : place - 1;
      const bool outside = to < 0 || to >= n;
      if (!outside || boundary) couple(&grid, i, outside ? -1 : i + (to - place) * step, k, value);
    }
  karst_matrix *A = pattern_matrix(context, &grid, 1, value);
  pattern_free(&grid);
  free(value);
  free(k);
  return A;
}

#endif
