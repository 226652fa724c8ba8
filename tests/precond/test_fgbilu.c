/* fgbilu applies the inverse of M = (D + E) D^-1 (D + F), which is computed here block by block from its formula, on
 * grids of all shapes, with holes, other numberings and missing couplings. On 7-point grids it is block ILU(0). All its
 * styles agree, bad blocks are named, and what is no 7-point grid is refused. */
#include "lib/backend/backend.h"
#include "lib/backend/fgbilu_kernels.h"
#include "tests/support/refusal.h"
#include "tests/support/settings.h"
#include "tests/support/named_values.h"

#include <math.h>
#include <stdlib.h>

static bool lacks_kernels(const karst_context *context, const char *what)
{
  if (context->backend->fgbilu) return false;
  tap_skip("the device has no kernels of fgbilu", "%s", what);
  return true;
}

/* ---- systems ---- */

/* What a test's matrix is to be. */
struct grid {
  karst_index size[3];
  int b;
  double holes, missing; /* the probabilities of a cell and of a coupling to be left out */
  bool shuffled;         /* block rows in a random order */
  bool turned;           /* the scalar rows of each block row are rotated, so that elimination has to exchange rows */
  bool told;             /* the matrix knows its grid; always so with holes or another order */
};

struct system {
  karst_index rows, *cell, *start, *column;
  int b;
  double *value;
};

static karst_index random_cells(const struct grid *grid, karst_index *cell)
{
  const karst_index cells = karst_grid_cells(grid->size);
  karst_index rows = 0;
  for (karst_index i = 0; i < cells; i++)
    if (0.5 * (tap_random() + 1) >= grid->holes) cell[rows++] = i;
  for (karst_index i = rows - 1; i > 0 && grid->shuffled; i--) {
    const karst_index j = (karst_index)tap_random_index((int64_t)i + 1), kept = cell[i];
    cell[i] = cell[j];
    cell[j] = kept;
  }
  return rows;
}

/* Blocks are random; the diagonal outweighs its scalar row. */
static void random_block(const struct grid *grid, bool diagonal, double *block)
{
  const int b = grid->b;
  for (int c = 0; c < b; c++)
    for (int r = 0; r < b; r++) {
      const int heavy = grid->turned ? (c + 1) % b : c;
      block[c * b + r] = tap_random() + (diagonal && r == heavy ? 8 * b : 0);
    }
}

static void random_row(const struct grid *grid, const karst_index *row_of, karst_index i, struct system *s)
{
  const karst_cell here = karst_grid_cell(grid->size, s->cell[i]);
  karst_index found[KARST_PLACES], count = 0;
  found[count++] = i;
  for (int face = 0; face < KARST_FACES; face++) {
    const karst_index there = karst_grid_neighbour(grid->size, &here, face);
    if (there < 0 || row_of[there] < 0 || 0.5 * (tap_random() + 1) < grid->missing) continue;
    karst_index at = count++;
    for (; at > 0 && found[at - 1] > row_of[there]; at--) found[at] = found[at - 1];
    found[at] = row_of[there];
  }
  for (karst_index k = 0; k < count; k++) {
    const karst_index at = s->start[i] + k;
    s->column[at] = found[k];
    random_block(grid, found[k] == i, s->value + (int64_t)at * s->b * s->b);
  }
  s->start[i + 1] = s->start[i] + count;
}

static struct system random_system(const struct grid *grid)
{
  const karst_index cells = karst_grid_cells(grid->size);
  const size_t most = KARST_PLACES * (size_t)cells;
  struct system s = {.b = grid->b};
  karst_index *row_of = malloc((size_t)cells * sizeof *row_of);
  s.cell = malloc((size_t)cells * sizeof *s.cell);
  s.start = malloc(((size_t)cells + 1) * sizeof *s.start);
  s.column = malloc(most * sizeof *s.column);
  s.value = malloc(most * (size_t)(s.b * s.b) * sizeof *s.value);
  s.rows = random_cells(grid, s.cell);
  for (karst_index i = 0; i < cells; i++) row_of[i] = -1;
  for (karst_index i = 0; i < s.rows; i++) row_of[s.cell[i]] = i;
  s.start[0] = 0;
  for (karst_index i = 0; i < s.rows; i++) random_row(grid, row_of, i, &s);
  free(row_of);
  return s;
}

static void forget_system(struct system *s)
{
  free(s->cell);
  free(s->start);
  free(s->column);
  free(s->value);
}

static karst_matrix *matrix_of(karst_context *context, const struct grid *grid, const struct system *s)
{
  karst_matrix *A;
  const karst_index *size = grid->size;
  tap_need(context, karst_matrix_create(context, s->rows, s->b, s->start, s->column, s->value, KARST_COPY, &A),
           "matrix");
  if (grid->told || grid->shuffled || grid->holes > 0)
    tap_need(context, karst_matrix_set_grid_cells(A, size[0], size[1], size[2], s->cell), "grid");
  return A;
}

static double *block_of(const struct system *s, karst_index i, karst_index j)
{
  for (karst_index k = s->start[i]; k < s->start[i + 1]; k++)
    if (s->column[k] == j) return s->value + (int64_t)k * s->b * s->b;
  return NULL;
}

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
static double *diagonal_blocks(const struct system *s, karst_index cells)
{
  const int b = s->b, bb = b * b;
  double *D = calloc((size_t)s->rows * (size_t)bb, sizeof *D), *product = malloc((size_t)bb * sizeof *product);
  karst_index *row_of = malloc((size_t)cells * sizeof *row_of);
  for (karst_index c = 0; c < cells; c++) row_of[c] = -1;
  for (karst_index i = 0; i < s->rows; i++) row_of[s->cell[i]] = i;
  for (karst_index c = 0; c < cells; c++) {
    const karst_index i = row_of[c];
    for (karst_index k = i < 0 ? 0 : s->start[i]; i >= 0 && k < s->start[i + 1]; k++) {
      const karst_index j = s->column[k];
      const double *above = block_of(s, j, i);
      if (j == i) memcpy(product, above, (size_t)bb * sizeof *product);
      if (j == i)
        for (int v = 0; v < bb; v++) D[(int64_t)i * bb + v] += product[v];
      if (s->cell[j] >= c || !above) continue;
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
static double apply_error(const struct system *s, karst_index cells, const double *r, const double *z)
{
  const int b = s->b, bb = b * b;
  const int64_t n = (int64_t)s->rows * b;
  double *D = diagonal_blocks(s, cells), *v = calloc((size_t)n, sizeof *v), *w = calloc((size_t)n, sizeof *w);
  double error = 0, size = 0;
  for (karst_index i = 0; i < s->rows; i++) { /* v = D^-1 (D + F) z */
    for (karst_index k = s->start[i]; k < s->start[i + 1]; k++)
      if (s->cell[s->column[k]] > s->cell[i])
        multiply(b, 1, s->value + (int64_t)k * bb, z + (int64_t)s->column[k] * b, 1, v + (int64_t)i * b);
    divide(b, D + (int64_t)i * bb, v + (int64_t)i * b, 1);
    for (int c = 0; c < b; c++) v[(int64_t)i * b + c] += z[(int64_t)i * b + c];
  }
  for (karst_index i = 0; i < s->rows; i++) { /* w = (D + E) v */
    multiply(b, 1, D + (int64_t)i * bb, v + (int64_t)i * b, 1, w + (int64_t)i * b);
    for (karst_index k = s->start[i]; k < s->start[i + 1]; k++)
      if (s->cell[s->column[k]] < s->cell[i])
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

/* ---- preconditioners ---- */

static karst_precond *make(karst_context *context, const char *style, const char *pivoting, const karst_matrix *A)
{
  tap_settings options;
  karst_precond *P;
  tap_settings_default(&options);
  options.precond = "fgbilu";
  options.fgbilu_style = style;
  options.pivoting = pivoting;
  tap_need(context, tap_precond_create(context, &options, A, &P), style);
  return P;
}

/* Returns z = M^-1 r for the r of a seed, and r itself unless it is NULL. The caller frees both. */
static double *applied(karst_context *context, const karst_precond *P, int64_t n, double **of_r)
{
  karst_vector *r, *z;
  double *result = malloc((size_t)n * sizeof *result);
  tap_need(context, karst_vector_create(context, n, &r), "r");
  tap_need(context, karst_vector_create(context, n, &z), "z");
  tap_need(context, karst_vector_fill_random(r, 7), "random");
  tap_need(context, karst_vector_fill(z, NAN), "poison");
  tap_need(context, karst_precond_apply(P, r, z), "apply");
  karst_vector_get(z, n, result);
  if (of_r) {
    *of_r = malloc((size_t)n * sizeof **of_r);
    karst_vector_get(r, n, *of_r);
  }
  karst_vector_destroy(r);
  karst_vector_destroy(z);
  return result;
}

static void check_grid(karst_context *context, const struct grid *grid, const char *style, const char *pivoting)
{
  struct system s = random_system(grid);
  karst_matrix *A = matrix_of(context, grid, &s);
  karst_precond *P = make(context, style, pivoting, A);
  double *r, *z = applied(context, P, (int64_t)s.rows * s.b, &r);
  const double error = apply_error(&s, karst_grid_cells(grid->size), r, z);
  /* The blocks are well conditioned, so that the error is some roundings of sums of 7 b products. */
  tap_ok(error < 1e-12 * grid->b, "%s, pivoting %s: %lldx%lldx%lld, b = %d, %lld rows%s, missing %.1f (%.1e)", style,
         pivoting, (long long)grid->size[0], (long long)grid->size[1], (long long)grid->size[2], grid->b,
         (long long)s.rows, grid->shuffled ? " shuffled" : "", grid->missing, error);
  free(r);
  free(z);
  karst_precond_destroy(P);
  karst_matrix_destroy(A);
  forget_system(&s);
}

static const char *const gpu_styles[] = {"acc", "cl", "mixed", "tiles"};

/* Rounding errors of a block of size b are judged by its condition, so that the sizes need no dense reference each. */
static void sizes(karst_context *context)
{
  static const int all[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 16, 17, 32};
  if (lacks_kernels(context, "block sizes")) return;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    struct grid grid = {.size = {4, 3, 3}, .b = all[i], .turned = true, .told = true};
    check_grid(context, &grid, "auto", "yes");
    grid.turned = false;
    check_grid(context, &grid, "auto", "no");
    for (size_t j = 0; j < sizeof gpu_styles / sizeof *gpu_styles; j++) {
      const char *style = context->backend->host_memory ? "sequential" : gpu_styles[j];
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
  if (lacks_kernels(context, "shapes of grids")) return;
  for (int number = 0; number < 4; number++) {
    const char *style = context->backend->host_memory ? styles[number] : number > 0 ? gpu_styles[number - 1] : "auto";
    for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
      struct grid grid = {.size = {size[i][0], size[i][1], size[i][2]}, .b = 1 + (int)(i + (size_t)number) % 4};
      check_grid(context, &grid, style, "yes"); /* the grid is found */
      grid.missing = 0.3;
      grid.told = true;
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

/* ---- against iluk, and styles among each other ---- */

static int iterations(karst_context *context, const tap_settings *options, const karst_matrix *A)
{
  const int64_t n = karst_matrix_rows(A);
  karst_solver *solver;
  karst_vector *b, *x;
  karst_result result;
  tap_need(context, tap_solver_setup(context, options, A, &solver), "solver");
  tap_need(context, karst_vector_create(context, n, &b), "b");
  tap_need(context, karst_vector_create(context, n, &x), "x");
  tap_need(context, karst_vector_fill(b, 1), "b");
  tap_need(context, karst_vector_fill(x, 0), "x");
  tap_need(context, karst_solver_solve(solver, b, x, &result), "solve");
  karst_vector_destroy(b);
  karst_vector_destroy(x);
  karst_solver_destroy(solver);
  return result.reason == KARST_CONVERGED_RTOL ? result.iterations : -1;
}

static void like_iluk(karst_context *context)
{
  static const char *const problems[] = {"poisson3d:11x10x9", "poisson2d:23x17", "convdiff:9x8x7", "blackoil:8x7x5"};
  static const char *const drivers[] = {"gmres", "fgmres", "bicgstab", "orthomin", "cg"};
  if (lacks_kernels(context, "the same iterations as iluk")) return;
  for (int p = 0; p < 4; p++) {
    karst_matrix *A;
    tap_need(context, karst_gallery_create(context, problems[p], 0, &A, NULL), problems[p]);
    for (int d = 0; d < (p < 2 ? 5 : 4); d++) {
      tap_settings options;
      tap_settings_default(&options);
      options.solver = drivers[d];
      const int expected = iterations(context, &options, A);
      options.precond = "fgbilu";
      const int found = iterations(context, &options, A);
      tap_ok(found == expected && found > 0, "%s, %s: %d iterations, iluk %d", problems[p], drivers[d], found,
             expected);
      options.ordering = "rcm"; /* M follows the cells and not the rows */
      const int ordered = iterations(context, &options, A);
      tap_ok(ordered == expected, "and %d of the rows in another order", ordered);
    }
    karst_matrix_destroy(A);
  }
}

static void check_styles(const struct grid *grid)
{
  static const char *const styles[] = {"lines", "wavefront"};
  const int most = strstr(karst_build_features(), "OpenMP") ? 3 : 1; /* threads */
  struct system s = random_system(grid);
  const int64_t n = (int64_t)s.rows * s.b;
  double *first = NULL;
  for (int threads = 1; threads <= most; threads++)
    for (int i = 0; i < 2; i++) {
      karst_context *context;
      tap_need(NULL, karst_context_create(NULL, &context), "context");
      tap_need(context, tap_set_threads(context, threads), "threads");
      karst_matrix *A = matrix_of(context, grid, &s);
      karst_precond *P = make(context, styles[i], "yes", A);
      double *z = applied(context, P, n, NULL);
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
  forget_system(&s);
}

/* The grids are large enough for threads. Lines are cut in two in the second, and joined in the third. */
static void styles_agree(void)
{
  static const struct grid grids[] = {{.size = {40, 23, 13}, .b = 3},
                                      {.size = {150, 20, 8}, .b = 1, .holes = 0.1, .missing = 0.1},
                                      {.size = {5, 50, 40}, .b = 2, .told = true},
                                      {.size = {12, 10, 9}, .b = 9}};
  if (!strstr(karst_build_features(), "OpenMP"))
    tap_skip("built without OpenMP", "lines and wavefront have the same bits with 2 and 3 threads");
  for (size_t i = 0; i < sizeof grids / sizeof *grids; i++) check_styles(&grids[i]);
}

/* ---- values ---- */

static void update(karst_context *context)
{
  const struct grid grid = {.size = {9, 8, 7}, .b = 3, .holes = 0.1, .missing = 0.1};
  if (lacks_kernels(context, "new values")) return;
  struct system s = random_system(&grid);
  const int64_t n = (int64_t)s.rows * s.b;
  karst_matrix *A = matrix_of(context, &grid, &s);
  karst_precond *P = make(context, "auto", "yes", A);
  double *first = applied(context, P, n, NULL), *again = applied(context, P, n, NULL);
  tap_ok(memcmp(first, again, (size_t)n * sizeof *first) == 0, "apply has the same bits again");
  for (int64_t v = 0; v < (int64_t)s.start[s.rows] * 9; v++) s.value[v] *= 1 + 0.1 * tap_random();
  tap_need(context, karst_matrix_update_values(A, s.value), "values");
  tap_need(context, karst_precond_update(P), "update");
  karst_precond *fresh = make(context, "auto", "yes", A);
  double *updated = applied(context, P, n, NULL), *made = applied(context, fresh, n, NULL);
  tap_ok(memcmp(updated, made, (size_t)n * sizeof *made) == 0 && memcmp(updated, first, (size_t)n * sizeof *made) != 0,
         "an update with new values is a set-up from the beginning");
  karst_solver_info info;
  tap_need(context, karst_precond_get_info(P, &info), "information");
  tap_ok(info.factor_entries == (int64_t)9 * s.rows && info.memory >= 8 * info.factor_entries,
         "the factor is one block a cell");
  tap_ok(tap_precond_number(P, "hyperplanes") == 9 + 8 + 7 - 2, "the hyperplanes are reported");
  free(first);
  free(again);
  free(updated);
  free(made);
  karst_precond_destroy(fresh);
  karst_precond_destroy(P);
  karst_matrix_destroy(A);
  forget_system(&s);
}

/* Gives the matrix the values of the system, updates, and checks the outcome. */
static void check_outcome(karst_context *context, const struct system *s, karst_matrix *A, karst_precond *P,
                          karst_reason expected, karst_index row, const char *what)
{
  karst_index found;
  tap_need(context, karst_matrix_update_values(A, s->value), "values");
  tap_need(context, karst_precond_update(P), "update");
  const karst_reason reason = karst_precond_outcome(P, &found);
  tap_ok(reason == expected && found == row, "b = %d, %s: %s in block row %lld", s->b, what, karst_reason_text(reason),
         (long long)found);
}

static karst_index row_of_cell(const struct system *s, karst_index cell)
{
  karst_index row = 0;
  while (s->cell[row] != cell) row++;
  return row;
}

/* Makes the diagonal block of a row singular, without couplings, so that D is that block. */
static void make_singular(const struct system *s, karst_index row)
{
  const int b = s->b;
  for (karst_index k = s->start[row]; k < s->start[row + 1]; k++)
    for (int v = 0; v < b * b; v++)
      s->value[(int64_t)k * b * b + v] = s->column[k] == row && b > 1 ? 1 + (double)(v % b) : 0;
}

static void check_bad(karst_context *context, int b, const char *style)
{
  const struct grid grid = {.size = {6, 5, 4}, .b = b, .shuffled = true};
  struct system s = random_system(&grid);
  const size_t bytes = (size_t)s.start[s.rows] * (size_t)(b * b) * sizeof *s.value;
  double *good = malloc(bytes);
  memcpy(good, s.value, bytes);
  const karst_index early = row_of_cell(&s, 37), late = row_of_cell(&s, 62), next = row_of_cell(&s, 38);
  karst_matrix *A = matrix_of(context, &grid, &s);
  karst_precond *P = make(context, style, "yes", A);
  karst_vector *r, *z;
  tap_need(context, karst_vector_create(context, (int64_t)s.rows * b, &r), "r");
  tap_need(context, karst_vector_create(context, (int64_t)s.rows * b, &z), "z");
  make_singular(&s, late);
  check_outcome(context, &s, A, P, KARST_SINGULAR_BLOCK, late, "a singular block");
  tap_ok(karst_precond_apply(P, r, z) == KARST_ERROR_MATRIX, "and apply is refused");
  make_singular(&s, early);
  check_outcome(context, &s, A, P, KARST_SINGULAR_BLOCK, early, "the first of two, by cells");
  memcpy(s.value, good, bytes);
  block_of(&s, late, late)[b * b - 1] = NAN;
  check_outcome(context, &s, A, P, KARST_NOT_FINITE, late, "a NaN in a diagonal block");
  memcpy(s.value, good, bytes);
  block_of(&s, next, early)[0] = INFINITY;
  check_outcome(context, &s, A, P, KARST_NOT_FINITE, next, "an infinity below the diagonal");
  memcpy(s.value, good, bytes);
  block_of(&s, early, next)[0] = NAN;
  check_outcome(context, &s, A, P, KARST_NOT_FINITE, early, "a NaN above the diagonal");
  memcpy(s.value, good, bytes);
  for (size_t v = 0; v < bytes / sizeof *good; v++) s.value[v] *= 1e-200;
  check_outcome(context, &s, A, P, KARST_SOUND, -1, "values near 1e-200");
  memcpy(s.value, good, bytes);
  check_outcome(context, &s, A, P, KARST_SOUND, -1, "good values again");
  tap_ok(!karst_precond_apply(P, r, z), "and apply works again");
  karst_vector_destroy(r);
  karst_vector_destroy(z);
  karst_precond_destroy(P);
  karst_matrix_destroy(A);
  forget_system(&s);
  free(good);
}

static void bad_blocks(karst_context *context)
{
  static const int all[] = {1, 3, 6, 9, 17};
  if (lacks_kernels(context, "bad blocks")) return;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    check_bad(context, all[i], "auto");
    if (context->backend->host_memory) check_bad(context, all[i], "sequential");
    for (size_t j = 0; j < sizeof gpu_styles / sizeof *gpu_styles && !context->backend->host_memory; j++)
      check_bad(context, all[i], gpu_styles[j]);
  }
}

/* Without row exchanges a zero on the diagonal cannot be divided by. */
static void without_pivoting(karst_context *context)
{
  static const karst_index start[] = {0, 1}, column[] = {0};
  static const double exchange[] = {0, 1, 1, 0}, nearly[] = {1e-300, 1, 1, 1e-300};
  static const double *const values[] = {exchange, nearly};
  if (lacks_kernels(context, "without pivoting")) return;
  for (int v = 0; v < 2; v++) {
    karst_matrix *A;
    karst_index row;
    tap_need(context, karst_matrix_create(context, 1, 2, start, column, values[v], KARST_COPY, &A), "matrix");
    for (int style = 0; style < (context->backend->host_memory ? 2 : 1); style++) {
      karst_precond *with = make(context, style ? "sequential" : "auto", "yes", A);
      karst_precond *without = make(context, style ? "sequential" : "auto", "no", A);
      tap_ok(karst_precond_outcome(with, &row) == KARST_SOUND && row == -1, "rows are exchanged");
      tap_ok(karst_precond_outcome(without, &row) == KARST_SINGULAR_BLOCK && row == 0,
             "and without that the block is singular");
      karst_precond_destroy(with);
      karst_precond_destroy(without);
    }
    karst_matrix_destroy(A);
  }
}

/* ---- refusals ---- */

static void refuse(karst_context *context, const char *ordering, const karst_matrix *A, karst_status expected,
                   const char *says)
{
  tap_settings options;
  karst_solver *solver;
  tap_settings_default(&options);
  options.precond = "fgbilu";
  options.ordering = ordering;
  tap_need(context, tap_solver_create(context, &options, &solver), "solver");
  check_refusal(context, karst_solver_setup(solver, A), expected, NULL, says, says);
  karst_solver_destroy(solver);
}

static void wrong_grids(karst_context *context)
{
  karst_matrix *A;
  if (lacks_kernels(context, "wrong grids")) return;
  tap_need(context, karst_gallery_create(context, "laplace27:4x3x2", 1, &A, NULL), "matrix");
  refuse(context, "natural", A, KARST_ERROR_MATRIX,
         "block row 0 has an entry in column 5, which has no face in common with it in the grid 4x3x2, and a 7-point");
  karst_matrix_forget_grid(A);
  refuse(context, "natural", A, KARST_ERROR_MATRIX,
         "block row 0 has an entry in column 5, which has no face in common with it in the grid 4x3x2, and a 7-point");
  karst_matrix_destroy(A);
  tap_need(context, karst_gallery_create(context, "poisson2d:6x4", 1, &A, NULL), "matrix");
  tap_need(context, karst_matrix_set_grid(A, 4, 6, 1), "grid");
  refuse(context, "natural", A, KARST_ERROR_MATRIX, "block row 0 has an entry in column 6, which has no face");
  refuse(context, "rcm", A, KARST_ERROR_MATRIX, "block row 0 has an entry in column 6, which has no face");
  karst_matrix_forget_grid(A);
  refuse(context, "rcm", A, KARST_ERROR_MATRIX, "fgbilu finds the grid of a matrix only where no ordering permutes");
  karst_matrix_destroy(A);
  const karst_index start[] = {0, 2, 4, 6, 8, 10}, column[] = {0, 3, 0, 1, 0, 2, 3, 4, 1, 4};
  const double ones[10] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  tap_need(context, karst_matrix_create(context, 5, 1, start, column, ones, KARST_COPY, &A), "matrix");
  refuse(context, "natural", A, KARST_ERROR_MATRIX, "no grid in natural order has the matrix's pattern: block row ");
  karst_matrix_destroy(A);
  const karst_index hollow[] = {0, 2, 3, 5}, beside[] = {0, 1, 0, 1, 2};
  tap_need(context, karst_matrix_create(context, 3, 1, hollow, beside, ones, KARST_COPY, &A), "matrix");
  refuse(context, "natural", A, KARST_ERROR_MATRIX, "block row 1 ");
  karst_matrix_destroy(A);
}

static void options(karst_context *context)
{
  karst_options *set;
  karst_matrix *A;
  karst_precond *P;
  tap_need(context, karst_options_create(context, &set), "options");
  check_refusal(context, karst_options_set(set, "fgbilu-style", "columns"), KARST_ERROR_OPTION, NULL, "fgbilu-style",
                "an unknown style");
  check_refusal(context, karst_options_set(set, "pivoting", "maybe"), KARST_ERROR_OPTION, NULL, "pivoting",
                "pivoting is yes or no");
  tap_need(context, karst_gallery_create(context, "poisson3d:4x4x4", 1, &A, NULL), "matrix");
  tap_need(context, karst_options_set(set, "precond", "fgbilu"), "fgbilu");
  tap_need(context, karst_options_set(set, "fgbilu-style", context->backend->host_memory ? "tiles" : "lines"), "style");
  if (!lacks_kernels(context, "a style of other devices"))
    check_refusal(context, karst_precond_create(context, set, A, &P), KARST_ERROR_OPTION, NULL, "fgbilu-style",
                  "a style of other devices");
  karst_matrix_destroy(A);
  karst_options_destroy(set);
}

static void without_kernels(void)
{
  karst_context *context;
  karst_matrix *A;
  karst_precond *P = NULL;
  tap_settings settings;
  tap_need(NULL, karst_context_create(NULL, &context), "context");
  tap_need(context, karst_gallery_create(context, "poisson2d:3x3", 1, &A, NULL), "matrix");
  struct karst_backend bare = *context->backend;
  bare.fgbilu = NULL;
  context->backend = &bare;
  tap_settings_default(&settings);
  settings.precond = "fgbilu";
  check_refusal(context, tap_precond_create(context, &settings, A, &P), KARST_ERROR_NOT_BUILT, P,
                "fgbilu is not available on cpu", "a device without kernels");
  context->backend = karst_backends[0];
  karst_matrix_destroy(A);
  karst_context_destroy(context);
}

/* ---- shared analyses ---- */

static void shared_analysis(karst_context *context)
{
  tap_settings settings;
  karst_matrix *A, *B;
  karst_solver *first, *second;
  karst_analysis *analysis;
  if (lacks_kernels(context, "a shared analysis")) return;
  tap_settings_default(&settings);
  settings.precond = "fgbilu";
  tap_need(context, karst_gallery_create(context, "poisson2d:12x1", 1, &A, NULL), "matrix");
  tap_need(context, karst_gallery_create(context, "poisson2d:12x1", 1, &B, NULL), "matrix");
  tap_need(context, tap_solver_create(context, &settings, &first), "solver");
  tap_need(context, tap_solver_create(context, &settings, &second), "solver");
  tap_need(context, karst_solver_setup(first, A), "setup");
  tap_need(context, karst_solver_get_analysis(first, &analysis), "analysis");
  tap_ok(!karst_solver_setup_with(second, B, analysis), "an analysis serves a matrix of the same grid");
  tap_need(context, karst_matrix_set_grid(B, 1, 1, 12), "grid");
  check_refusal(context, karst_solver_setup_with(second, B, analysis), KARST_ERROR_ARGUMENT, NULL,
                "the grid of the matrix is not that of the analysis", "an analysis for another grid");
  karst_solver_destroy(second);
  settings.fgbilu_style = context->backend->host_memory ? "wavefront" : "cl";
  tap_need(context, karst_matrix_set_grid(B, 12, 1, 1), "grid");
  tap_need(context, tap_solver_create(context, &settings, &second), "solver");
  check_refusal(context, karst_solver_setup_with(second, B, analysis), KARST_ERROR_ARGUMENT, NULL, "fgbilu-style",
                "an analysis for another style");
  karst_analysis_destroy(analysis);
  karst_solver_destroy(first);
  karst_solver_destroy(second);
  karst_matrix_destroy(A);
  karst_matrix_destroy(B);
}

static bool all_finite(int64_t n, const double *x)
{
  bool finite = true;
  for (int64_t i = 0; i < n; i++) finite = finite && isfinite(x[i]);
  return finite;
}

/* Kernels that serve several block sizes serve a preconditioner for large blocks still when one for smaller blocks has
 * been made after it. */
static void side_by_side(karst_context *context)
{
  if (lacks_kernels(context, "a large and a small block size side by side")) return;
  karst_matrix *large, *small;
  tap_need(context, karst_gallery_create(context, "ns3d:4x3x3", 32, &large, NULL), "matrix");
  tap_need(context, karst_gallery_create(context, "ns3d:4x3x3", 10, &small, NULL), "matrix");
  const int64_t n = karst_matrix_rows(large);
  karst_precond *P = make(context, "auto", "yes", large);
  double *before = applied(context, P, n, NULL);
  karst_precond *other = make(context, "auto", "yes", small);
  tap_ok(!karst_precond_update(P) && karst_precond_outcome(P, NULL) == KARST_SOUND,
         "blocks of 32 are factored after a set-up for blocks of 10");
  tap_ok(!karst_precond_update(other) && karst_precond_outcome(other, NULL) == KARST_SOUND, "and those of 10");
  double *after = applied(context, P, n, NULL);
  tap_ok(all_finite(n, before) && all_finite(n, after), "those of 32 are applied before and after");
  free(before);
  free(after);
  karst_precond_destroy(other);
  karst_precond_destroy(P);
  karst_matrix_destroy(small);
  karst_matrix_destroy(large);
}

int main(void)
{
  tap_each_device(sizes, "block sizes");
  tap_each_device(shapes, "shapes of grids");
  tap_each_device(like_iluk, "the same iterations as iluk");
  styles_agree();
  tap_each_device(update, "new values");
  tap_each_device(bad_blocks, "bad blocks");
  tap_each_device(without_pivoting, "without pivoting");
  tap_each_device(wrong_grids, "wrong grids");
  tap_each_device(options, "options");
  without_kernels();
  tap_each_device(shared_analysis, "a shared analysis");
  tap_each_device(side_by_side, "block sizes side by side");
  return tap_done();
}
