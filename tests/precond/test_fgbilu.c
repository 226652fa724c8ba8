/* fgbilu applies the inverse of M = (D + E) D^-1 (D + F), which is computed here block by block from its formula, on
 * grids of all shapes, with holes, other numberings and missing couplings. M lacks the couplings between cells without
 * a common face. On 7-point grids it is block ILU(0). All its styles agree. */
#include "lib/backend/backend.h"
#include "lib/grid/grid.h"
#include "solver/solver.h"
#include "tests/support/fgbilu.h"
#include "tests/support/problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- M by its formula ---- */

/* y += sign a x for a block and count columns */
static void multiply(int b, double sign, const double *a, const double *x, int count, double *y)
{
  for (int n = 0; n < count; n++)
    for (int c = 0; c < b; c++)
      for (int r = 0; r < b; r++) y[n * b + r] += sign * a[c * b + r] * x[n * b + c];
}

/* x = D^-1 x for count columns */
static void divide(int b, const double *D, double *x, int count)
{
  double *copy = malloc((size_t)(b * b) * sizeof *copy);
  for (int n = 0; n < count; n++) {
    memcpy(copy, D, (size_t)(b * b) * sizeof *copy);
    tap_dense_solve(b, copy, x + (int64_t)n * b);
  }
  free(copy);
}

/* Returns the diagonal blocks D_i = A_ii - sum_{j < i} E_ij D_j^-1 F_ji, in the order of the cells. */
static double *diagonal_blocks(const struct fgbilu_grid *grid, const struct fgbilu_system *s)
{
  const karst_index cells = karst_grid_cells(grid->size);
  const int b = s->b, bb = b * b;
  double *D = calloc((size_t)s->rows * (size_t)bb, sizeof *D), *product = malloc((size_t)bb * sizeof *product);
  karst_index *row_of = malloc((size_t)cells * sizeof *row_of);
  for (karst_index c = 0; c < cells; c++) row_of[c] = -1;
  for (karst_index i = 0; i < s->rows; i++) row_of[s->cell[i]] = i;
  for (karst_index c = 0; c < cells; c++) {
    const karst_index i = row_of[c];
    for (karst_index k = i < 0 ? 0 : s->start[i]; i >= 0 && k < s->start[i + 1]; k++) {
      const karst_index j = s->column[k];
      const double *above = fgbilu_block(s, j, i);
      if (j == i) memcpy(product, above, (size_t)bb * sizeof *product);
      if (j == i)
        for (int v = 0; v < bb; v++) D[(int64_t)i * bb + v] += product[v];
      if (s->cell[j] >= c || !above || !fgbilu_is_face(grid, s, i, j)) continue;
      memcpy(product, above, (size_t)bb * sizeof *product);
      divide(b, D + (int64_t)j * bb, product, b);
      multiply(b, -1, s->value + (int64_t)k * bb, product, b, D + (int64_t)i * bb);
    }
  }
  free(product);
  free(row_of);
  return D;
}

/* Returns |M z - r| / |r|, each the largest entry. */
static double apply_error(const struct fgbilu_grid *grid, const struct fgbilu_system *s, const double *r,
                          const double *z)
{
  const int b = s->b, bb = b * b;
  const int64_t n = (int64_t)s->rows * b;
  double *D = diagonal_blocks(grid, s), *v = calloc((size_t)n, sizeof *v), *w = calloc((size_t)n, sizeof *w);
  double error = 0, size = 0;
  for (karst_index i = 0; i < s->rows; i++) { /* v = D^-1 (D + F) z */
    for (karst_index k = s->start[i]; k < s->start[i + 1]; k++)
      if (s->cell[s->column[k]] > s->cell[i] && fgbilu_is_face(grid, s, i, s->column[k]))
        multiply(b, 1, s->value + (int64_t)k * bb, z + (int64_t)s->column[k] * b, 1, v + (int64_t)i * b);
    divide(b, D + (int64_t)i * bb, v + (int64_t)i * b, 1);
    for (int c = 0; c < b; c++) v[(int64_t)i * b + c] += z[(int64_t)i * b + c];
  }
  for (karst_index i = 0; i < s->rows; i++) { /* w = (D + E) v */
    multiply(b, 1, D + (int64_t)i * bb, v + (int64_t)i * b, 1, w + (int64_t)i * b);
    for (karst_index k = s->start[i]; k < s->start[i + 1]; k++)
      if (s->cell[s->column[k]] < s->cell[i] && fgbilu_is_face(grid, s, i, s->column[k]))
        multiply(b, 1, s->value + (int64_t)k * bb, v + (int64_t)s->column[k] * b, 1, w + (int64_t)i * b);
  }
  for (int64_t i = 0; i < n; i++) {
    error = isnan(z[i]) ? NAN : fmax(error, fabs(w[i] - r[i]));
    size = fmax(size, fabs(r[i]));
    if (isnan(error)) break;
  }
  free(D);
  free(v);
  free(w);
  return n > 0 ? error / size : 0;
}

static void check_grid(karst_context *context, const struct fgbilu_grid *grid, const char *style, const char *pivoting)
{
  struct fgbilu_system s = fgbilu_random_system(grid);
  karst_matrix *A = fgbilu_matrix(context, grid, &s);
  karst_precond *P = fgbilu_make(context, style, pivoting, A);
  double *r, *z = applied_to_random(P, 7, &r);
  const double error = apply_error(grid, &s, r, z);
  /* The blocks are well conditioned, so that the error is some roundings of sums of 7 b products. */
  tap_ok(error < 1e-12 * grid->b, "%s, pivoting %s: %lldx%lldx%lld, b = %d, %lld rows%s%s, missing %.1f (%.1e)", style,
         pivoting, (long long)grid->size[0], (long long)grid->size[1], (long long)grid->size[2], grid->b,
         (long long)s.rows, grid->shuffled ? " shuffled" : "", grid->faulted ? " faulted" : "", grid->missing, error);
  free(r);
  free(z);
  karst_precond_destroy(P);
  karst_matrix_destroy(A);
  fgbilu_forget_system(&s);
}

/* The condition of a block of size b bounds its rounding errors, so that not each size needs a dense reference. */
static void sizes(karst_context *context)
{
  static const int all[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 16, 17, 32};
  if (fgbilu_lacks_kernels(context, "block sizes")) return;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    struct fgbilu_grid grid = {.size = {4, 3, 3}, .b = all[i], .turned = true, .given = true};
    check_grid(context, &grid, "auto", "yes");
    grid.turned = false;
    check_grid(context, &grid, "auto", "no");
    for (size_t j = 0; j < FGBILU_GPU_STYLES; j++) {
      const char *style = context->backend->host_memory ? "sequential" : fgbilu_gpu_styles[j];
      grid.turned = false;
      check_grid(context, &grid, style, "no");
      grid.turned = true;
      check_grid(context, &grid, style, "yes");
      if (context->backend->host_memory) break;
    }
  }
}

static void shapes(karst_context *context)
{
  static const karst_index size[][3] = {{1, 1, 1}, {7, 1, 1}, {1, 9, 1},  {1, 1, 5}, {5, 7, 1},   {6, 1, 4},
                                        {1, 5, 6}, {3, 5, 7}, {11, 2, 3}, {2, 2, 2}, {140, 2, 2}, {3, 40, 3}};
  static const char *const styles[] = {"auto", "sequential", "wavefront", "lines"};
  const int count = context->backend->host_memory ? 4 : 1 + FGBILU_GPU_STYLES;
  if (fgbilu_lacks_kernels(context, "shapes of grids")) return;
  for (int number = 0; number < count; number++) {
    const char *style = context->backend->host_memory ? styles[number]
                        : number > 0                  ? fgbilu_gpu_styles[number - 1]
                                                      : "auto";
    for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
      struct fgbilu_grid grid = {.size = {size[i][0], size[i][1], size[i][2]}, .b = 1 + (int)(i + (size_t)number) % 4};
      check_grid(context, &grid, style, "yes"); /* the grid is found */
      grid.missing = 0.3;
      grid.given = true;
      check_grid(context, &grid, style, "yes");
      grid.holes = 0.25;
      check_grid(context, &grid, style, "yes");
      grid.shuffled = true;
      grid.turned = true;
      check_grid(context, &grid, style, "yes");
      grid.missing = 1;
      check_grid(context, &grid, style, "yes");
    }
  }
}

/* The number and the share of the couplings that M lacks. */
static void check_report(const struct fgbilu_grid *grid, const struct fgbilu_system *s, const karst_precond *P)
{
  const int bb = s->b * s->b;
  double expected = 0, without = 0, all = 0, found[2] = {0, 0};
  karst_value value;
  for (karst_index i = 0; i < s->rows; i++)
    for (karst_index k = s->start[i]; k < s->start[i + 1]; k++) {
      double sum = 0;
      const bool face = fgbilu_is_face(grid, s, i, s->column[k]);
      for (int v = 0; v < bb; v++) sum += fabs(s->value[(int64_t)k * bb + v]);
      expected += !face;
      without += face ? 0 : sum;
      all += s->column[k] == i ? 0 : sum;
    }
  for (size_t v = 0; karst_precond_report(P, v, &value); v++) {
    if (strcmp(value.name, "remainder_couplings") == 0) found[0] = value.number;
    if (strcmp(value.name, "remainder_share") == 0) found[1] = value.number;
  }
  /* Both sums have a few thousand terms, so that they agree to a few thousand roundings. */
  tap_ok(found[0] == expected && fabs(found[1] * all - without) <= 1e-12 * all,
         "the report has %.0f couplings without a common face, %.4f of all", found[0], found[1]);
}

/* Rows have up to 27 blocks. A NaN in a block that M lacks is found, too. */
static void faults(karst_context *context)
{
  static const karst_index size[][3] = {{4, 3, 3}, {9, 4, 5}, {6, 7, 1}, {12, 3, 20}};
  static const char *const host[] = {"auto", "sequential", "wavefront", "lines"};
  const int styles = context->backend->host_memory ? 4 : FGBILU_GPU_STYLES;
  if (fgbilu_lacks_kernels(context, "faults")) return;
  for (size_t i = 0; i < sizeof size / sizeof *size; i++)
    for (int number = 0; number < 2 * styles; number++) {
      const char *style = context->backend->host_memory ? host[number / 2] : fgbilu_gpu_styles[number / 2];
      struct fgbilu_grid grid = {
          .size = {size[i][0], size[i][1], size[i][2]}, .b = 1 + (int)(4 * i + (size_t)number) % 10, .faulted = true};
      if (number % 2 > 0) grid.holes = 0.2, grid.shuffled = grid.turned = true;
      check_grid(context, &grid, style, "yes");
    }
  const struct fgbilu_grid grid = {.size = {8, 5, 6}, .b = 3, .holes = 0.1, .faulted = true};
  struct fgbilu_system s = fgbilu_random_system(&grid);
  karst_matrix *A = fgbilu_matrix(context, &grid, &s);
  karst_precond *P = fgbilu_make(context, "auto", "yes", A);
  check_report(&grid, &s, P);
  karst_index i = 0, k = 0, row;
  while (fgbilu_is_face(&grid, &s, i, s.column[k])) i += ++k == s.start[i + 1];
  s.value[(int64_t)k * s.b * s.b] = NAN;
  tap_need(context, karst_matrix_update_values(A, s.value), "values");
  tap_need(context, karst_precond_update(P), "update");
  const karst_reason reason = karst_precond_outcome(P, &row);
  tap_ok(reason == KARST_NOT_FINITE && row == i, "a NaN among the couplings that M lacks: block row %lld",
         (long long)row);
  karst_precond_destroy(P);
  karst_matrix_destroy(A);
  fgbilu_forget_system(&s);
}

/* No structure depends on values, so that the first factorization has a time of its own, which auto compares. */
static void times(karst_context *context)
{
  if (fgbilu_lacks_kernels(context, "times")) return;
  struct problem p = problem_from(context, "poisson2d:6x5", 1, 1);
  tap_settings options = settings_for(NULL, "fgbilu");
  karst_solver *solver = problem_solver(&p, &options);
  tap_ok(solver->time_update >= 0, "the first update takes %g s", solver->time_update);
  problem_end(&p, solver);
}

/* ---- iluk and fgbilu, and the styles of fgbilu ---- */

static int iterations(const struct problem *p, const tap_settings *options)
{
  karst_solver *solver = problem_solver(p, options);
  const karst_result result = problem_solve(p, solver);
  karst_solver_destroy(solver);
  return result.reason == KARST_CONVERGED_RTOL ? result.iterations : -1;
}

static void like_iluk(karst_context *context)
{
  static const char *const problems[] = {"poisson3d:11x10x9", "poisson2d:23x17", "convdiff:9x8x7", "blackoil:8x7x5"};
  static const char *const drivers[] = {"gmres", "fgmres", "bicgstab", "orthomin", "cg"};
  if (fgbilu_lacks_kernels(context, "the same iterations as iluk")) return;
  for (int p = 0; p < 4; p++) {
    struct problem problem = problem_from(context, problems[p], 0, 0);
    for (int d = 0; d < (p < 2 ? 5 : 4); d++) {
      tap_settings options = settings_for(drivers[d], NULL);
      const int expected = iterations(&problem, &options);
      options.precond = "fgbilu";
      const int found = iterations(&problem, &options);
      tap_ok(found == expected && found > 0, "%s, %s: %d iterations, iluk %d", problems[p], drivers[d], found,
             expected);
      options.ordering = "rcm"; /* M follows the cells and not the rows */
      const int ordered = iterations(&problem, &options);
      tap_ok(ordered == expected, "and %d with the rows in another order", ordered);
    }
    problem_destroy(&problem);
  }
}

static void check_styles(const struct fgbilu_grid *grid)
{
  static const char *const styles[] = {"lines", "wavefront"};
  const int most = strstr(karst_build_features(), "OpenMP") ? 3 : 1; /* threads */
  struct fgbilu_system s = fgbilu_random_system(grid);
  const int64_t n = (int64_t)s.rows * s.b;
  double *first = NULL;
  for (int threads = 1; threads <= most; threads++)
    for (int i = 0; i < 2; i++) {
      karst_context *context = tap_context();
      tap_need(context, tap_set_threads(context, threads), "threads");
      karst_matrix *A = fgbilu_matrix(context, grid, &s);
      karst_precond *P = fgbilu_make(context, styles[i], "yes", A);
      double *z = applied_to_random(P, 7, NULL);
      if (first)
        tap_ok(memcmp(z, first, (size_t)n * sizeof *z) == 0, "%s, %d threads: %lldx%lldx%lld, b = %d, the same bits",
               styles[i], threads, (long long)grid->size[0], (long long)grid->size[1], (long long)grid->size[2],
               grid->b);
      if (first) free(z);
      if (!first) first = z;
      karst_precond_destroy(P);
      karst_matrix_destroy(A);
      karst_context_destroy(context);
    }
  free(first);
  fgbilu_forget_system(&s);
}

/* The grids are large enough for threads. Lines are cut in two in the second, and joined in the third. */
static void styles_agree(void)
{
  static const struct fgbilu_grid grids[] = {{.size = {40, 23, 13}, .b = 3},
                                             {.size = {150, 20, 8}, .b = 1, .holes = 0.1, .missing = 0.1},
                                             {.size = {5, 50, 40}, .b = 2, .given = true},
                                             {.size = {12, 10, 9}, .b = 9}};
  if (!strstr(karst_build_features(), "OpenMP"))
    tap_skip("built without OpenMP", "lines and wavefront have the same bits with 2 and 3 threads");
  for (size_t i = 0; i < sizeof grids / sizeof *grids; i++) check_styles(&grids[i]);
}

int main(void)
{
  tap_each_device(sizes, "block sizes");
  tap_each_device(shapes, "shapes of grids");
  tap_each_device(faults, "faults");
  tap_each_device(times, "times");
  tap_each_device(like_iluk, "the same iterations as iluk");
  styles_agree();
  return tap_done();
}
