/* The parts of richardson: several grids side by side that exchange the residual between corrections. Its
 * preconditioner is that of the matrix without the couplings between boxes of the grid, and its residual that of the
 * whole system. */
#include "tests/support/failing_allocator.h"

#include "lib/matrix/matrix.h"
#include "tests/support/problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 5 };

static tap_settings part_settings(int parts, int steps)
{
  tap_settings settings = settings_for("richardson", NULL);
  settings.parts = parts;
  settings.max_iterations = steps;
  settings.rtol = 1e-13;
  return settings;
}

/* A matrix with its grid, and couplings of about half the size of the diagonal block. keep: the cells that have a block
 * row, NULL: all; downwards: the last cell has the first block row. */
static karst_matrix *make_matrix(karst_context *context, const karst_index size[3], int b, const bool *keep,
                                 bool downwards)
{
  const karst_index cells = size[0] * size[1] * size[2];
  karst_index *cell = calloc((size_t)cells, sizeof *cell), *row = calloc((size_t)cells, sizeof *row);
  karst_index *start = calloc((size_t)cells + 1, sizeof *start), *column = calloc((size_t)cells * 7, sizeof *column);
  double *value = tap_memory((int64_t)cells * 7 * b * b, sizeof(double));
  karst_index rows = 0, blocks = 0;
  karst_matrix *A;
  if (!cell || !row || !start || !column) tap_need(context, KARST_ERROR_NO_MEMORY, "memory of the test");
  for (karst_index i = 0; i < cells; i++) {
    const karst_index c = downwards ? cells - 1 - i : i;
    row[c] = -1;
    if (keep && !keep[c]) continue;
    row[c] = rows;
    cell[rows++] = c;
  }
  for (karst_index i = 0; i < rows; i++) {
    const karst_index at[3] = {cell[i] % size[0], cell[i] / size[0] % size[1], cell[i] / (size[0] * size[1])};
    const karst_index stride[3] = {1, size[0], size[0] * size[1]};
    for (int f = 0; f < 7; f++) {
      const int face = downwards ? 6 - f : f, axis = face < 3 ? 2 - face : face - 4, side = face < 3 ? -1 : 1;
      karst_index j = i;
      if (face != 3 && (at[axis] + side < 0 || at[axis] + side >= size[axis])) continue;
      if (face != 3) j = row[cell[i] + side * stride[axis]];
      if (j < 0) continue;
      for (int e = 0; e < b * b; e++)
        value[blocks * b * b + e] =
            (0.1 + 0.02 * tap_random()) * (face == 3 ? 1 : -1) / b + (j == i && e % (b + 1) == 0);
      column[blocks++] = j;
    }
    start[i + 1] = blocks;
  }
  A = matrix_of(context, rows, b, start, column, value);
  tap_need(context, karst_matrix_set_grid_cells(A, size[0], size[1], size[2], cell), "grid");
  free(cell);
  free(row);
  free(start);
  free(column);
  free(value);
  return A;
}

/* Solves from zero and returns x [n], which the caller frees. */
static double *solve(karst_context *context, karst_solver *solver, const karst_vector *b, karst_result *result)
{
  karst_vector *x = vector_of(context, karst_vector_length(b), 0);
  tap_need(context, karst_solver_solve(solver, b, x, result), "solve");
  double *found = vector_on_host(x);
  karst_vector_destroy(x);
  return found;
}

static double *solve_once(karst_context *context, const tap_settings *settings, const karst_matrix *A,
                          const karst_vector *b, karst_result *result)
{
  karst_solver *solver = solver_set_up(context, settings, A);
  double *found = solve(context, solver, b, result);
  karst_solver_destroy(solver);
  return found;
}

/* The box of a cell along an axis: box p begins at cell floor(p size / boxes). */
static karst_index box_of(karst_index at, karst_index size, karst_index boxes)
{
  karst_index box = 0;
  while (box + 1 < boxes && at >= (box + 1) * size / boxes) box++;
  return box;
}

static karst_index part_of(const karst_grid *grid, karst_index row, const karst_index boxes[3])
{
  const karst_index c = grid->cell ? grid->cell[row] : row, *size = grid->size;
  return box_of(c % size[0], size[0], boxes[0]) +
         boxes[0] * (box_of(c / size[0] % size[1], size[1], boxes[1]) +
                     boxes[1] * box_of(c / (size[0] * size[1]), size[2], boxes[2]));
}

/* STEPS steps of x = x + M^-1 (b - A x), dense, with M = A but for the couplings between boxes, inverted exactly. */
static void iterate(const karst_matrix *A, const karst_index boxes[3], const double *b, double *x)
{
  karst_grid grid;
  const int64_t n = karst_matrix_rows(A), size = karst_matrix_block_size(A);
  double *dense = tap_dense(A), *M = tap_memory(n * n, sizeof(double)), *r = tap_memory(n, sizeof(double));
  tap_need(NULL, karst_matrix_get_grid(A, &grid), "grid");
  for (int step = 0; step < STEPS; step++) {
    for (int64_t i = 0; i < n; i++) {
      r[i] = b[i];
      for (int64_t j = 0; j < n; j++) {
        const bool together =
            part_of(&grid, (karst_index)(i / size), boxes) == part_of(&grid, (karst_index)(j / size), boxes);
        r[i] -= dense[j * n + i] * x[j];
        M[j * n + i] = together ? dense[j * n + i] : 0;
      }
    }
    if (!tap_dense_solve(n, M, r)) tap_ok(false, "the matrix of the parts is singular");
    for (int64_t i = 0; i < n; i++) x[i] += r[i];
  }
  free(dense);
  free(M);
  free(r);
}

/* The expected cuts of a grid: into boxes that are nearly cubes. */
static const struct cut {
  karst_index size[3];
  int parts;
  karst_index boxes[3];
} cuts[] = {{{4, 4, 8}, 2, {1, 1, 2}},  {{8, 3, 2}, 4, {4, 1, 1}}, {{6, 6, 2}, 4, {2, 2, 1}},
            {{5, 5, 5}, 8, {2, 2, 2}},  {{7, 5, 1}, 6, {3, 2, 1}}, {{5, 2, 3}, 5, {5, 1, 1}},
            {{3, 3, 3}, 27, {3, 3, 3}}, {{11, 1, 1}, 3, {3, 1, 1}}};

/* iluk with a level that drops nothing has M = L D U = A. */
static void test_dense(karst_context *context)
{
  static const char *const orderings[] = {"natural", "rcm"};
  static const char *const scales[] = {"none", "block", "diagonal"};
  for (size_t c = 0; c < sizeof cuts / sizeof cuts[0]; c++)
    for (int way = 0; way < 4; way++) {
      const int b = 1 + ((int)c + way) % 3;
      bool keep[5 * 5 * 6];
      for (size_t i = 0; i < sizeof keep / sizeof keep[0]; i++) keep[i] = tap_random() < 0.7;
      keep[0] = true;
      karst_matrix *A = make_matrix(context, cuts[c].size, b, way % 2 ? keep : NULL, way >= 2);
      const int64_t n = karst_matrix_rows(A);
      tap_settings settings = part_settings(cuts[c].parts, STEPS);
      karst_result result;
      double *x = tap_memory(n, sizeof(double)), *load = tap_memory(n, sizeof(double)), worst = 0, largest = 0;
      settings.level = 150;
      settings.ordering = orderings[way / 2];
      settings.scale = scales[((size_t)way + c) % 3];
      karst_vector *rhs = vector_random(context, n, tap_seed());
      tap_need(context, karst_vector_get(rhs, n, load), "b");
      double *found = solve_once(context, &settings, A, rhs, &result);
      iterate(A, cuts[c].boxes, load, x);
      for (int64_t i = 0; i < n; i++) {
        worst = fmax(worst, fabs(found[i] - x[i]));
        largest = fmax(largest, fabs(x[i]));
      }
      /* Both eliminate diagonally dominant blocks: rounding alone, of at most n products. */
      tap_ok(worst <= 1e-12 * largest, "%dx%dx%d in %d parts, b = %d, %s, ordering %s, scale %s: %.1e",
             (int)cuts[c].size[0], (int)cuts[c].size[1], (int)cuts[c].size[2], cuts[c].parts, b,
             way % 2 ? "with holes" : "whole", settings.ordering, settings.scale, worst / largest);
      karst_vector_destroy(rhs);
      karst_matrix_destroy(A);
      free(x);
      free(load);
      free(found);
    }
}

/* One part gives the bits of a solve without parts, and a grid that is found those of a given one. A driver without
 * parts ignores the option. */
static void test_same_bits(karst_context *context)
{
  karst_result result[2];
  karst_matrix *A = matrix_from(context, "convdiff:6x5x4", 0);
  const int64_t n = karst_matrix_rows(A);
  const size_t bytes = (size_t)n * sizeof(double);
  karst_vector *b = vector_random(context, n, tap_seed());
  tap_settings settings = part_settings(1, 20), plain = settings_for(settings.solver, NULL);
  plain.max_iterations = settings.max_iterations;
  plain.rtol = settings.rtol;
  double *one = solve_once(context, &settings, A, b, &result[0]), *none = solve_once(context, &plain, A, b, &result[1]);
  tap_ok(memcmp(one, none, bytes) == 0, "one part: the same bits as without");
  plain.solver = "gmres";
  settings.solver = "gmres";
  settings.parts = 8;
  free(one);
  free(none);
  one = solve_once(context, &settings, A, b, &result[0]);
  none = solve_once(context, &plain, A, b, &result[1]);
  tap_ok(memcmp(one, none, bytes) == 0, "gmres ignores parts");
  free(one);
  free(none);
  settings.solver = "richardson";
  one = solve_once(context, &settings, A, b, &result[0]);
  karst_matrix_forget_grid(A);
  none = solve_once(context, &settings, A, b, &result[1]);
  tap_ok(memcmp(one, none, bytes) == 0 && result[0].iterations == result[1].iterations,
         "8 parts of a grid that is found: the same bits as with one that is given");
  free(one);
  free(none);
  karst_vector_destroy(b);
  karst_matrix_destroy(A);
}

/* A smooth load has the slowest error, which the couplings between parts would carry away. */
static void test_growth(karst_context *context)
{
  static const char *const preconds[] = {"iluk", "parilu", "two-stage"};
  static const int parts[] = {1, 2, 4, 8, 64};
  karst_matrix *A = matrix_from(context, "poisson3d:8x8x8", 1);
  karst_vector *b = vector_of(context, karst_matrix_rows(A), 0);
  tap_need(context, karst_vector_fill(b, 1), "b");
  for (int m = 0; m < 3; m++) {
    int steps[5];
    bool grows = true;
    for (int i = 0; i < 5; i++) {
      tap_settings settings = part_settings(parts[i], 1000);
      karst_result result;
      settings.precond = preconds[m];
      settings.rtol = 1e-6;
      free(solve_once(context, &settings, A, b, &result));
      steps[i] = result.reason > 0 ? result.iterations : 0;
      grows = grows && steps[i] > 0 && (i == 0 || steps[i] >= steps[i - 1]);
    }
    tap_ok(grows && steps[4] > steps[0], "%s: steps with 1, 2, 4, 8 and 64 parts: %d, %d, %d, %d, %d", preconds[m],
           steps[0], steps[1], steps[2], steps[3], steps[4]);
  }
  karst_vector_destroy(b);
  karst_matrix_destroy(A);
}

/* Without the couplings between parts, a 7-point grid is one with missing faces. Block ILU(0) changes only the diagonal
 * blocks there, so methods that factor only those take as many steps. */
static void test_diagonal_factors(karst_context *context)
{
  static const char *const preconds[] = {"iluk", "dilu", "fgbilu"};
  static const karst_index size[3] = {6, 5, 4};
  bool keep[6 * 5 * 4];
  for (size_t i = 0; i < sizeof keep / sizeof keep[0]; i++) keep[i] = i == 0 || tap_random() < 0.8;
  for (int g = 0; g < 4; g++) {
    karst_matrix *A = make_matrix(context, size, 1 + g, g % 2 ? keep : NULL, false);
    karst_vector *b = vector_random(context, karst_matrix_rows(A), tap_seed());
    int steps[3];
    for (int m = 0; m < 3; m++) {
      tap_settings settings = part_settings(4, 1000);
      karst_result result;
      settings.precond = preconds[m];
      settings.rtol = 1e-6;
      free(solve_once(context, &settings, A, b, &result));
      steps[m] = result.reason > 0 ? result.iterations : 0;
    }
    tap_ok(steps[0] > 0 && steps[1] == steps[0] && steps[2] == steps[0],
           "4 parts, b = %d, %s: as many steps with iluk, dilu and fgbilu: %d, %d, %d", 1 + g,
           g % 2 ? "with holes" : "whole", steps[0], steps[1], steps[2]);
    karst_vector_destroy(b);
    karst_matrix_destroy(A);
  }
}

static void refuse(karst_context *context, const karst_matrix *A, int parts, karst_status expected, const char *says)
{
  const tap_settings settings = part_settings(parts, STEPS);
  karst_solver *solver = solver_of(context, &settings);
  const karst_status status = karst_solver_setup(solver, A);
  tap_ok(status == expected && strstr(karst_context_error(context), says), "%d parts are refused: %s", parts,
         status ? karst_context_error(context) : "no");
  karst_solver_destroy(solver);
}

static void test_refusals(karst_context *context)
{
  karst_matrix *B = tap_random_matrix(context, 50, 2, 8, 1.2);
  karst_matrix *A = matrix_from(context, "poisson3d:4x3x2", 1);
  refuse(context, B, 2, KARST_ERROR_MATRIX, "no grid in natural order");
  refuse(context, A, 5, KARST_ERROR_OPTION, "a grid of 4x3x2 cells cannot be cut into 5 parts");
  refuse(context, A, 25, KARST_ERROR_OPTION, "cannot be cut into 25 parts");
  refuse(context, A, 2147483647, KARST_ERROR_OPTION, "cannot be cut into 2147483647 parts");
  karst_matrix_destroy(A);
  karst_matrix_destroy(B);
}

/* New values: an update is a set-up from the beginning; after karst_solver_keep the old factors solve the new system,
 * and an operator replaces A alone. */
static void test_new_values(karst_context *context)
{
  static const char *const orderings[] = {"natural", "rcm"};
  static const karst_index size[3] = {5, 4, 3};
  for (int o = 0; o < 2; o++) {
    karst_matrix *A = make_matrix(context, size, 2, NULL, false), *B = make_matrix(context, size, 2, NULL, false);
    const int64_t n = karst_matrix_rows(A);
    karst_vector *b = vector_random(context, n, tap_seed());
    tap_settings settings = part_settings(6, 100);
    karst_result result[4];
    double *value;
    settings.ordering = orderings[o];
    settings.rtol = 1e-10;
    karst_solver *solver = solver_set_up(context, &settings, A), *other = solver_set_up(context, &settings, A);
    double *fresh = solve_once(context, &settings, B, b, &result[0]);
    tap_need(context, karst_solver_set_operator(other, multiply_by_matrix, B), "operator");
    double *operated = solve(context, other, b, &result[3]);
    tap_need(context, karst_matrix_host_value(B, &value), "values");
    tap_need(context, karst_matrix_update_values(A, value), "values");
    karst_matrix_host_value_done(B, value);
    tap_need(context, karst_solver_keep(solver), "keep");
    double *kept = solve(context, solver, b, &result[1]);
    tap_need(context, karst_solver_update(solver), "update");
    double *updated = solve(context, solver, b, &result[2]);
    tap_ok(memcmp(fresh, updated, (size_t)n * sizeof *fresh) == 0 && result[0].iterations == result[2].iterations &&
               result[2].reason > 0,
           "ordering %s: an update gives the bits of a set-up: %d steps", orderings[o], result[2].iterations);
    tap_ok(result[1].reason > 0 && result[3].reason > 0 && result[1].iterations == result[3].iterations,
           "kept factors take as many steps as an operator of the new values: %d, %d", result[1].iterations,
           result[3].iterations);
    const karst_solver_info cut = info_of(solver);
    karst_solver_destroy(solver);
    settings.parts = 1;
    solver = solver_set_up(context, &settings, A);
    const karst_solver_info whole = info_of(solver);
    /* 6 parts of 5x4x3 cells are 2x1x3 or the like, which cut fewer than half of the couplings; factors without the cut
     * couplings may take less. */
    tap_ok(cut.memory > whole.memory, "the copy counts as memory: %lld bytes, %lld without", (long long)cut.memory,
           (long long)whole.memory);
    karst_solver_destroy(solver);
    karst_solver_destroy(other);
    karst_vector_destroy(b);
    karst_matrix_destroy(A);
    karst_matrix_destroy(B);
    free(fresh);
    free(operated);
    free(kept);
    free(updated);
  }
}

/* Solvers that cut the grid in the same way share an analysis; others refuse it. */
static void test_analysis(karst_context *context)
{
  static const karst_index size[3] = {6, 4, 3};
  karst_matrix *A = make_matrix(context, size, 2, NULL, false), *B = make_matrix(context, size, 2, NULL, false);
  const int64_t n = karst_matrix_rows(A);
  karst_vector *b = vector_random(context, n, tap_seed());
  tap_settings settings = part_settings(4, 50);
  karst_analysis *analysis;
  karst_result result[2];
  settings.ordering = "rcm";
  karst_solver *first = solver_set_up(context, &settings, A);
  tap_need(context, karst_solver_get_analysis(first, &analysis), "analysis");
  karst_solver_destroy(first);
  karst_matrix_destroy(A);
  karst_solver *second = solver_of(context, &settings);
  tap_need(context, karst_solver_setup_with(second, B, analysis), "set-up with an analysis");
  double *shared = solve(context, second, b, &result[0]), *full = solve_once(context, &settings, B, b, &result[1]);
  tap_ok(memcmp(shared, full, (size_t)n * sizeof *full) == 0 && result[0].reason > 0,
         "with an analysis of as many parts: the bits of a full set-up");
  tap_need(context, karst_matrix_set_grid(B, 72, 1, 1), "grid");
  karst_status status = karst_solver_setup_with(second, B, analysis);
  tap_ok(status == KARST_ERROR_ARGUMENT && strstr(karst_context_error(context), "other parts"), "refused: %s",
         karst_context_error(context));
  karst_solver_destroy(second);
  tap_need(context, karst_matrix_set_grid(B, 6, 4, 3), "grid");
  settings.parts = 1;
  tap_need(context, tap_solver_create(context, &settings, &second), "solver");
  status = karst_solver_setup_with(second, B, analysis);
  tap_ok(status == KARST_ERROR_ARGUMENT && strstr(karst_context_error(context), "made with parts 4"), "refused: %s",
         karst_context_error(context));
  karst_solver_destroy(second);
  karst_analysis_destroy(analysis);
  karst_vector_destroy(b);
  karst_matrix_destroy(B);
  free(shared);
  free(full);
}

static void test(karst_context *context)
{
  test_dense(context);
  test_same_bits(context);
  test_growth(context);
  test_diagonal_factors(context);
  test_refusals(context);
  test_new_values(context);
  test_analysis(context);
}

/* Set-up, an analysis and a set-up with it, an update and a solve. */
static karst_status run(karst_context *context, void *user)
{
  const tap_settings *settings = user;
  karst_matrix *A = NULL;
  karst_solver *solver = NULL, *second = NULL;
  karst_analysis *analysis = NULL;
  karst_vector *b = NULL, *x = NULL;
  karst_result result;
  karst_status status = karst_gallery_create(context, "poisson2d:5x4", 1, &A, NULL);
  if (!status) karst_matrix_forget_grid(A);
  if (!status) status = karst_vector_create(context, karst_matrix_rows(A), &b);
  if (!status) status = karst_vector_fill(b, 1);
  if (!status) status = karst_vector_create(context, karst_matrix_rows(A), &x);
  if (!status) status = tap_solver_setup(context, settings, A, &solver);
  if (!status) status = karst_solver_get_analysis(solver, &analysis);
  if (!status) status = tap_solver_create(context, settings, &second);
  if (!status) status = karst_solver_setup_with(second, A, analysis);
  if (!status) status = karst_solver_update(second);
  if (!status) status = karst_vector_fill(x, 0);
  if (!status) status = karst_solver_solve(second, b, x, &result);
  karst_analysis_destroy(analysis);
  karst_solver_destroy(solver);
  karst_solver_destroy(second);
  karst_vector_destroy(b);
  karst_vector_destroy(x);
  karst_matrix_destroy(A);
  return status;
}

static void nothing_is_allocated(void)
{
  struct failing_allocator memory = {0};
  const tap_settings settings = part_settings(4, 20);
  karst_context *context = failing_context(&memory);
  struct problem p = problem_from(context, "poisson2d:9x9", 1, tap_seed());
  karst_solver *solver = problem_solver(&p, &settings);
  const long before = memory.calls;
  for (int i = 0; i < 2; i++) {
    tap_need(context, karst_solver_update(solver), "update");
    problem_solve(&p, solver);
  }
  tap_ok(memory.calls == before, "update and solve with parts allocate nothing");
  karst_solver_destroy(solver);
  problem_destroy(&p);
  karst_context_destroy(context);
}

int main(void)
{
  tap_settings settings = part_settings(4, 20);
  tap_each_device(test, "parts of a grid");
  nothing_is_allocated();
  fail_each_allocation(run, &settings, "parts");
  settings.ordering = "rcm";
  fail_each_allocation(run, &settings, "parts of an ordered system");
  return tap_done();
}
