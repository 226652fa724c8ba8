/* Sweeps on a GPU are those of the CPU, sweep for sweep, for blocks that a whole block of threads works on too: the
 * same norms and, with Jacobi sweeps for the triangles, the same products with the preconditioner, within rounding. */
#include "patterns.h"
#include "precond.h"
#include "settings.h"
#include "tap.h"
#include "values.h"

#include <math.h>

static karst_context *cpu;

/* Symmetric positive definite, on a grid. */
static karst_matrix *make_matrix(karst_context *context, const struct pattern *grid, int b)
{
  const int64_t bb = (int64_t)b * b;
  double *value = pattern_memory(grid->start[grid->n] * bb, sizeof *value);
  karst_matrix *A;
  for (karst_index i = 0; i < grid->n; i++)
    for (karst_index k = grid->start[i]; k < grid->start[i + 1]; k++)
      for (int c = 0; c < b; c++)
        for (int r = 0; r < b; r++) {
          const karst_index j = grid->column[k];
          value[k * bb + c * b + r] = i == j && r == c ? 7.385 * b : sin((double)((i + j) * 7 + (r + c) * 3));
        }
  tap_need(context, karst_matrix_create(context, grid->n, b, grid->start, grid->column, value, KARST_COPY, &A),
           "matrix");
  free(value);
  return A;
}

/* z = P^-1 r, and the norms; the caller frees z. */
static double *run(karst_context *context, const karst_matrix *A, const char *precond, int sweeps, double norm[2])
{
  const int64_t n = karst_matrix_rows(A);
  double *host = pattern_memory(n, sizeof *host);
  tap_settings options;
  karst_precond *P;
  karst_vector *r, *z;
  tap_settings_default(&options);
  options.precond = precond;
  options.sweeps = sweeps;
  options.trisolve = "jacobi";
  options.trisolve_sweeps = 3;
  tap_need(context, tap_precond_create(context, &options, A, &P), "factors");
  tap_need(context, karst_vector_create(context, n, &r), "r");
  tap_need(context, karst_vector_create(context, n, &z), "z");
  tap_need(context, karst_vector_fill_random(r, 7), "random");
  tap_need(context, karst_precond_apply(P, r, z), "apply");
  tap_need(context, karst_vector_get(z, n, host), "get");
  norm[0] = tap_precond_number(P, "sweep_residual_before");
  norm[1] = tap_precond_number(P, "sweep_residual_after");
  karst_vector_destroy(r);
  karst_vector_destroy(z);
  karst_precond_destroy(P);
  return host;
}

static void compare(karst_context *context, const struct pattern *grid, int b, const char *precond, int sweeps)
{
  karst_matrix *A = make_matrix(context, grid, b), *reference = make_matrix(cpu, grid, b);
  const int64_t n = karst_matrix_rows(A);
  double norm[2], expected_norm[2], error = 0, size = 0;
  double *z = run(context, A, precond, sweeps, norm), *expected = run(cpu, reference, precond, sweeps, expected_norm);
  for (int64_t i = 0; i < n; i++) {
    if (!(fabs(z[i] - expected[i]) <= error)) error = fabs(z[i] - expected[i]);
    size = fmax(size, fabs(expected[i]));
  }
  tap_ok(error <= 1e-11 * size && fabs(norm[0] - expected_norm[0]) <= 1e-11 * expected_norm[0] &&
             fabs(norm[1] - expected_norm[1]) <= 1e-11 * expected_norm[0],
         "%s, b = %d, %d sweeps: as on the CPU (%.1e), norms %.6e and %.6e", precond, b, sweeps, error / size, norm[0],
         norm[1]);
  free(z);
  free(expected);
  karst_matrix_destroy(A);
  karst_matrix_destroy(reference);
}

static void sweep_for_sweep(karst_context *context)
{
  const int sizes[] = {1, 3, 6, 7, 8, 9, 16, 20, 31, 32, 33, 70};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    struct pattern grid = sizes[s] < 16 ? pattern_grid(9, 8, 7) : pattern_grid(4, 3, 2);
    for (int sweeps = 0; sweeps < 4; sweeps++) {
      compare(context, &grid, sizes[s], "parilu", sweeps);
      compare(context, &grid, sizes[s], "paric", sweeps);
    }
    pattern_free(&grid);
  }
}

int main(void)
{
  tap_need(NULL, karst_context_create(NULL, &cpu), "context");
  tap_each_device(sweep_for_sweep, "sweep for sweep");
  karst_context_destroy(cpu);
  return tap_done();
}
