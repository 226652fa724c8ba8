/* problem.c - systems, solvers, preconditioners and vectors for tests; see problem.h. */
#include "tests/support/problem.h"

#include "lib/matrix/matrix.h"
#include "lib/method/precond.h"
#include "lib/vector/vector.h"
#include "solver/solver.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct problem problem_of(karst_context *context, karst_matrix *A, uint64_t seed)
{
  struct problem p = {.context = context, .A = A, .n = karst_matrix_rows(A)};
  p.b = seed ? vector_random(context, p.n, seed) : vector_of(context, p.n, 1);
  p.x = vector_of(context, p.n, 0);
  return p;
}

struct problem problem_from(karst_context *context, const char *spec, int block, uint64_t seed)
{
  return problem_of(context, matrix_from(context, spec, block), seed);
}

void problem_destroy(struct problem *p)
{
  karst_matrix_destroy(p->A);
  karst_vector_destroy(p->b);
  karst_vector_destroy(p->x);
}

void problem_end(struct problem *p, karst_solver *solver)
{
  karst_solver_destroy(solver);
  problem_destroy(p);
}

karst_solver *problem_solver(const struct problem *p, const tap_settings *settings)
{
  return solver_set_up(p->context, settings, p->A);
}

karst_result problem_solve(const struct problem *p, karst_solver *solver) { return problem_solve_from(p, solver, 0); }

karst_result problem_solve_from(const struct problem *p, karst_solver *solver, double start)
{
  tap_need(p->context, karst_vector_fill(p->x, start), "start");
  return solved(solver, p->b, p->x);
}

karst_result solved(karst_solver *solver, const karst_vector *b, karst_vector *x)
{
  karst_result result;
  tap_need(x->context, karst_solver_solve(solver, b, x, &result), "solve");
  return result;
}

karst_solver_info info_of(const karst_solver *solver)
{
  karst_solver_info info;
  tap_need(solver->context, karst_solver_get_info(solver, &info), "info");
  return info;
}

karst_options *options_of(karst_context *context, const char *const *pairs)
{
  karst_options *options;
  tap_need(context, karst_options_create(context, &options), "options");
  for (; pairs[0]; pairs += 2) tap_need(context, karst_options_set(options, pairs[0], pairs[1]), pairs[0]);
  return options;
}

karst_solver *solver_from(karst_context *context, const char *const *pairs)
{
  karst_options *options = options_of(context, pairs);
  karst_solver *solver;
  tap_need(context, karst_solver_create(context, options, &solver), "solver");
  karst_options_destroy(options);
  return solver;
}

karst_solver *solver_of(karst_context *context, const tap_settings *settings)
{
  karst_solver *solver;
  tap_need(context, tap_solver_create(context, settings, &solver), "solver");
  return solver;
}

karst_solver *solver_set_up(karst_context *context, const tap_settings *settings, const karst_matrix *A)
{
  karst_solver *solver = solver_of(context, settings);
  tap_need(context, karst_solver_setup(solver, A), "set-up");
  return solver;
}

karst_precond *precond_from(karst_context *context, const char *const *pairs, const karst_matrix *A)
{
  karst_options *options = options_of(context, pairs);
  karst_precond *M;
  tap_need(context, karst_precond_create(context, options, A, &M), "preconditioner");
  karst_options_destroy(options);
  return M;
}

karst_precond *precond_of(karst_context *context, const tap_settings *settings, const karst_matrix *A)
{
  karst_precond *M;
  tap_need(context, tap_precond_create(context, settings, A, &M), settings->precond);
  return M;
}

karst_status precond_succeed(karst_precond *p)
{
  (void)p;
  return KARST_SUCCESS;
}

static karst_status copy(karst_precond *p, const karst_vector *r, karst_vector *z)
{
  (void)p;
  return karst_vector_copy(r, z);
}

static void keep_nothing(karst_precond *p) { (void)p; }

karst_precond_method copying_method(const char *name)
{
  return (karst_precond_method){.name = name,
                                .help = "z = r",
                                .setup = precond_succeed,
                                .update = precond_succeed,
                                .apply = copy,
                                .destroy = keep_nothing};
}

karst_status multiply_by_matrix(void *user, const karst_vector *x, karst_vector *y)
{
  return karst_matrix_multiply(user, x, y);
}

karst_matrix *matrix_from(karst_context *context, const char *spec, int block)
{
  karst_matrix *A;
  tap_need(context, karst_gallery_create(context, spec, block, &A, NULL), spec);
  return A;
}

karst_matrix *matrix_of(karst_context *context, karst_index rows, int b, const karst_index *start,
                        const karst_index *column, const double *value)
{
  karst_matrix *A;
  tap_need(context, karst_matrix_create(context, rows, b, start, column, value, KARST_COPY, &A), "matrix");
  return A;
}

karst_matrix *matrix_from_rows(karst_context *context, karst_index n, int b, const double *rows)
{
  karst_index *start = tap_memory((int64_t)n + 1, sizeof *start), *column = tap_memory((int64_t)n * n, sizeof *column);
  double *value = tap_memory((int64_t)n * n, sizeof *value);
  for (karst_index i = 0; i < n; i++) {
    karst_index k = start[i];
    for (karst_index j = 0; j < n; j++) {
      if (i != j && rows[i * n + j] == 0) continue;
      column[k] = j;
      value[k++] = rows[i * n + j];
    }
    start[i + 1] = k;
  }
  karst_matrix *scalar = matrix_of(context, n, 1, start, column, value), *A;
  tap_need(context, karst_matrix_convert(scalar, b, &A), "blocks");
  karst_matrix_destroy(scalar);
  free(start);
  free(column);
  free(value);
  return A;
}

karst_matrix *matrix_copied(karst_context *context, const karst_matrix *A)
{
  double *value = values_on_host(A);
  karst_grid grid;
  karst_matrix *copy =
      matrix_of(context, A->block_rows, A->block_size, karst_matrix_row_start(A), karst_matrix_column(A), value);
  free(value);
  if (karst_matrix_get_grid(A, &grid) == KARST_SUCCESS && grid.size[0] > 0)
    tap_need(context, karst_matrix_set_grid_cells(copy, grid.size[0], grid.size[1], grid.size[2], grid.cell), "grid");
  return copy;
}

double *values_on_host(const karst_matrix *A)
{
  const int64_t entries = karst_entries(A);
  double *host, *value = tap_memory(entries, sizeof *value);
  tap_need(A->context, karst_matrix_host_value(A, &host), "values");
  memcpy(value, host, (size_t)entries * sizeof *value);
  karst_matrix_host_value_done(A, host);
  return value;
}

void replace_row(karst_matrix *A, karst_index row, const double *block)
{
  const int64_t bb = (int64_t)A->block_size * A->block_size;
  const karst_index *start = karst_matrix_row_start(A), *column = karst_matrix_column(A);
  double *value = values_on_host(A);
  for (karst_index k = start[row]; k < start[row + 1]; k++)
    for (int64_t v = 0; v < bb; v++) value[k * bb + v] = column[k] == row ? block[v] : 0;
  tap_need(A->context, karst_matrix_update_values(A, value), "values");
  free(value);
}

void set_entry(karst_matrix *A, karst_index row, karst_index column, int64_t v, double entry)
{
  double *value = values_on_host(A);
  const karst_index *start = karst_matrix_row_start(A);
  for (karst_index k = start[row]; k < start[row + 1]; k++)
    if (karst_matrix_column(A)[k] == column) value[karst_block_offset(A->block_size, k) + v] = entry;
  tap_need(A->context, karst_matrix_update_values(A, value), "values");
  free(value);
}

bool same_dense(const karst_matrix *A, const karst_matrix *B)
{
  const size_t rows = (size_t)karst_matrix_rows(A);
  double *a = tap_dense(A), *b = tap_dense(B);
  const bool same = rows == (size_t)karst_matrix_rows(B) && memcmp(a, b, rows * rows * sizeof *a) == 0;
  free(a);
  free(b);
  return same;
}

karst_vector *vector_of(karst_context *context, int64_t n, double value)
{
  karst_vector *x;
  tap_need(context, karst_vector_create(context, n, &x), "vector");
  tap_need(context, karst_vector_fill(x, value), "vector");
  return x;
}

karst_vector *vector_random(karst_context *context, int64_t n, uint64_t seed)
{
  karst_vector *x = vector_of(context, n, 0);
  tap_need(context, karst_vector_fill_random(x, seed), "random vector");
  return x;
}

karst_vector *vector_from(karst_context *context, int64_t n, const double *host)
{
  karst_vector *x = vector_of(context, n, 0);
  tap_need(context, karst_vector_set(x, n, host), "vector");
  return x;
}

double *vector_on_host(const karst_vector *x)
{
  const int64_t n = karst_vector_length(x);
  double *host = tap_memory(n, sizeof *host);
  tap_need(x->context, karst_vector_get(x, n, host), "vector");
  return host;
}

double vector_norm(const karst_vector *x)
{
  double norm;
  tap_need(x->context, karst_vector_norm(x, &norm), "norm");
  return norm;
}

double *random_on_host(int64_t n)
{
  double *x = tap_memory(n, sizeof *x);
  for (int64_t i = 0; i < n; i++) x[i] = tap_random();
  return x;
}

/* Destroys r. */
static void apply(const karst_precond *M, karst_vector *r, double *result)
{
  karst_vector *z = vector_of(M->context, karst_vector_length(r), NAN);
  tap_need(M->context, karst_precond_apply(M, r, z), "apply");
  tap_need(M->context, karst_vector_get(z, karst_vector_length(z), result), "z");
  karst_vector_destroy(r);
  karst_vector_destroy(z);
}

void apply_on_host(const karst_precond *M, const double *r, double *z)
{
  apply(M, vector_from(M->context, karst_matrix_rows(M->A), r), z);
}

double *applied(const karst_precond *M, const double *r)
{
  double *z = tap_memory(karst_matrix_rows(M->A), sizeof *z);
  apply_on_host(M, r, z);
  return z;
}

double *applied_to_random(const karst_precond *M, uint64_t seed, double **r)
{
  karst_vector *random = vector_random(M->context, karst_matrix_rows(M->A), seed);
  double *z = tap_memory(karst_matrix_rows(M->A), sizeof *z);
  if (r) *r = vector_on_host(random);
  apply(M, random, z);
  return z;
}

static double largest(int64_t n, const double *x, const double *y)
{
  double largest = 0;
  for (int64_t i = 0; i < n; i++) {
    const double distance = fabs(x[i] - (y ? y[i] : 0));
    if (!(distance <= largest)) largest = distance;
    if (isnan(largest)) break;
  }
  return largest;
}

double applied_error(const karst_precond *M, double *dense)
{
  const int64_t n = karst_matrix_rows(karst_precond_matrix(M));
  double *expected, *found = applied_to_random(M, tap_seed(), &expected);
  tap_dense_solve(n, dense, expected);
  const double error = relative_difference(n, found, expected);
  free(expected);
  free(found);
  return error;
}

double largest_difference(int64_t n, const double *x, const double *y) { return largest(n, x, y); }

double relative_difference(int64_t n, const double *x, const double *y)
{
  const double size = largest(n, y, NULL), difference = largest(n, x, y);
  return difference / size;
}
