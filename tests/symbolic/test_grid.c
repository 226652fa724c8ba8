/* A matrix can be given a grid, with a map of cells or without, or its grid is found from the pattern. Grids are
 * checked, and copies keep them. */
#include "solver/system.h"
#include "tests/support/failing_allocator.h"
#include "tests/support/grids.h"
#include "tests/support/patterns.h"

#include "symbolic/symbolic.h"
#include "tests/support/problem.h"

#include <stdio.h>
#include <string.h>

enum { FACES = 1, CORNERS = 3 }; /* axes along which neighbours may be one apart */

/* Returns whether two cells are neighbours, from their positions alone. */
static bool coupled(const karst_index size[3], karst_index a, karst_index b, int axes)
{
  int apart = 0;
  for (int axis = 0; axis < 3; axis++) {
    long distance = labs((long)(a % size[axis]) - (long)(b % size[axis]));
    if (distance > 1) return false;
    apart += distance == 1;
    a /= size[axis];
    b /= size[axis];
  }
  return apart <= axes;
}

/* Makes a grid's matrix in natural order. Entries off the diagonal are missing with probability missing, and there is
 * one more entry at (extra[0], extra[1]) unless extra is NULL. */
static karst_matrix *make(karst_context *context, karst_index nx, karst_index ny, karst_index nz, int axes,
                          double missing, const karst_index *extra)
{
  const karst_index size[3] = {nx, ny, nz}, n = nx * ny * nz;
  struct pattern A = pattern_empty(n, 27 * (int64_t)n + 1);
  karst_index k = 0;
  for (karst_index i = 0; i < n; i++) {
    for (karst_index j = 0; j < n; j++) {
      bool is_extra = extra && i == extra[0] && j == extra[1];
      bool is_there = coupled(size, i, j, axes) && (i == j || 0.5 * (tap_random() + 1) >= missing);
      if (is_there || is_extra) A.column[k++] = j;
    }
    A.start[i + 1] = k;
  }
  double *value = tap_memory(k, sizeof *value);
  karst_matrix *matrix;
  matrix = matrix_of(context, n, 1, A.start, A.column, value);
  free(value);
  pattern_free(&A);
  return matrix;
}

/* Checks that a call failed with this status and these words in its error. */
static void refused(karst_context *context, karst_status status, karst_status expected, const char *says)
{
  if (!tap_ok(status == expected && strstr(karst_context_error(context), says), "refused: %s", says))
    tap_note("%s: %s", karst_status_text(status), karst_context_error(context));
}

static void test_set(karst_context *context)
{
  const karst_index most = KARST_INDEX_BITS == 64 ? (karst_index)INT64_MAX : (karst_index)INT32_MAX;
  karst_matrix *A = make(context, 4, 3, 2, FACES, 0, NULL);
  karst_grid grid = {{7, 7, 7}, NULL};
  tap_ok(has_grid(A, 0, 0, 0, NULL), "a matrix of arrays has no grid");
  tap_ok(!karst_matrix_set_grid(A, 4, 3, 2) && has_grid(A, 4, 3, 2, NULL), "a matrix has the grid that is set");
  tap_ok(!karst_matrix_set_grid(A, 24, 1, 1) && has_grid(A, 24, 1, 1, NULL),
         "another grid replaces it, even if the pattern does not fit");
  refused(context, karst_matrix_set_grid(A, 4, 3, 3), KARST_ERROR_ARGUMENT,
          "a grid of 4x3x3 has 36 cells, and the matrix has 24 block rows");
  refused(context, karst_matrix_set_grid(A, 0, 3, 2), KARST_ERROR_ARGUMENT, "0x3x2: each size is at least 1");
  refused(context, karst_matrix_set_grid(A, -4, -3, 2), KARST_ERROR_ARGUMENT, "-4x-3x2: each size is at least 1");
  refused(context, karst_matrix_set_grid(A, most, most, 2), KARST_ERROR_ARGUMENT, "more cells than");
  refused(context, karst_matrix_set_grid(A, most, 1, 2), KARST_ERROR_ARGUMENT, "more cells than");
  tap_ok(has_grid(A, 24, 1, 1, NULL), "a grid stays when another one is refused");
  karst_matrix_forget_grid(A);
  tap_ok(has_grid(A, 0, 0, 0, NULL), "a grid is forgotten");
  tap_ok(karst_matrix_set_grid(NULL, 1, 1, 1) == KARST_ERROR_ARGUMENT &&
             karst_matrix_set_grid_cells(NULL, 1, 1, 1, NULL) == KARST_ERROR_ARGUMENT &&
             karst_matrix_find_grid(NULL) == KARST_ERROR_ARGUMENT &&
             karst_matrix_check_grid(NULL, NULL) == KARST_ERROR_ARGUMENT &&
             karst_matrix_get_grid(A, NULL) == KARST_ERROR_ARGUMENT &&
             karst_matrix_get_grid(NULL, &grid) == KARST_ERROR_ARGUMENT && grid.size[0] == 0,
         "NULL is refused");
  karst_matrix_forget_grid(NULL);
  karst_matrix_destroy(A);
}

static void test_maps(karst_context *context)
{
  const karst_index natural[] = {0, 1, 2, 3, 4, 5}, holes[] = {1, 2, 4, 7, 8, 11}, order[] = {5, 0, 2, 1, 4, 3};
  const karst_index twice[] = {3, 1, 9, 0, 9, 1}, outside[] = {0, 1, 2, 3, 4, 12}, negative[] = {0, 1, -1, 3, 4, 5};
  karst_index changing[6];
  karst_matrix *A = make(context, 6, 1, 1, FACES, 0, NULL);
  memcpy(changing, holes, sizeof changing);
  tap_ok(!karst_matrix_set_grid_cells(A, 4, 3, 1, changing), "a grid with holes is set");
  memset(changing, 0, sizeof changing);
  tap_ok(has_grid(A, 4, 3, 1, holes), "the map of the matrix is a copy");
  tap_ok(!karst_matrix_set_grid_cells(A, 3, 2, 1, order) && has_grid(A, 3, 2, 1, order), "a map in another order");
  refused(context, karst_matrix_set_grid_cells(A, 4, 3, 1, twice), KARST_ERROR_ARGUMENT,
          "block row 5 is cell 1 of the grid, which block row 1 is already");
  refused(context, karst_matrix_set_grid_cells(A, 4, 3, 1, outside), KARST_ERROR_ARGUMENT,
          "block row 5 is cell 12 of a grid that has 12");
  refused(context, karst_matrix_set_grid_cells(A, 4, 3, 1, negative), KARST_ERROR_ARGUMENT,
          "block row 2 is cell -1 of a grid that has 12");
  refused(context, karst_matrix_set_grid_cells(A, 5, 1, 1, natural), KARST_ERROR_ARGUMENT, "block row 5 is cell 5");
  refused(context, karst_matrix_set_grid_cells(A, 4, 0, 1, holes), KARST_ERROR_ARGUMENT, "at least 1");
  tap_ok(has_grid(A, 3, 2, 1, order), "a map stays when another one is refused");
  tap_ok(!karst_matrix_set_grid_cells(A, 3, 2, 1, natural) && has_grid(A, 3, 2, 1, NULL),
         "a map of each block row i to cell i is not kept");
  tap_ok(!karst_matrix_set_grid_cells(A, 7, 1, 1, natural) && has_grid(A, 7, 1, 1, natural),
         "a map is kept if the grid has more cells");
  tap_ok(!karst_matrix_set_grid_cells(A, 2, 3, 1, NULL) && has_grid(A, 2, 3, 1, NULL), "a NULL map gives no map");
  karst_matrix_destroy(A);
}

/* Maps of many cells are sorted by several digits. A repeated cell is found at any place, and only if there is one. */
static void test_large_maps(karst_context *context)
{
  enum { N = 5000 };
  const karst_index side = KARST_INDEX_BITS == 64 ? 1000000 : 1200;
  karst_matrix *A = make(context, N, 1, 1, FACES, 1, NULL);
  karst_index *cell = tap_memory(N, sizeof *cell), *shuffle = pattern_shuffle(N);
  int wrong = 0;
  for (karst_index i = 0; i < N; i++)
    cell[shuffle[i]] = side * side * side / N * i + (karst_index)tap_random_index(900);
  tap_ok(!karst_matrix_set_grid_cells(A, side, side, side, cell) && has_grid(A, side, side, side, cell),
         "%d block rows can be any cells of a grid of %lld", N, (long long)side * side * side);
  for (int trial = 0; trial < 30; trial++) {
    karst_index from = (karst_index)tap_random_index(N), to = (from + 1 + (karst_index)tap_random_index(N - 1)) % N;
    karst_index before = cell[to];
    char says[160];
    cell[to] = cell[from];
    snprintf(says, sizeof says, "block row %lld is cell %lld of the grid, which block row %lld is already",
             (long long)(from > to ? from : to), (long long)cell[to], (long long)(from > to ? to : from));
    wrong += karst_matrix_set_grid_cells(A, side, side, side, cell) != KARST_ERROR_ARGUMENT ||
             !strstr(karst_context_error(context), says);
    cell[to] = before;
  }
  tap_ok(wrong == 0, "a cell that comes twice is found in 30 maps");
  free(cell);
  free(shuffle);
  karst_matrix_destroy(A);
}

/* Checks that find finds the grid; axes of one cell come last. */
static void find(karst_context *context, const karst_index size[3], int axes, double missing)
{
  karst_matrix *A = make(context, size[0], size[1], size[2], axes, missing, NULL);
  karst_index expected[3] = {1, 1, 1};
  karst_stencil stencil = (karst_stencil)0;
  for (int axis = 0, used = 0; axis < 3; axis++)
    if (size[axis] > 1) expected[used++] = size[axis];
  bool found = !karst_matrix_find_grid(A) && has_grid(A, expected[0], expected[1], expected[2], NULL);
  bool fits = !karst_matrix_check_grid(A, &stencil);
  bool corners = axes == CORNERS && expected[1] > 1;
  if (!tap_ok(found && fits && stencil == (corners ? KARST_STENCIL_CORNERS : KARST_STENCIL_FACES),
              "found: %ldx%ldx%ld, %s, %g of the couplings missing", (long)size[0], (long)size[1], (long)size[2],
              axes == FACES ? "faces" : "corners", missing))
    tap_note("%ldx%ldx%ld, %s", (long)A->grid.size[0], (long)A->grid.size[1], (long)A->grid.size[2],
             karst_context_error(context));
  karst_matrix_destroy(A);
}

static void test_find(karst_context *context)
{
  const karst_index sizes[][3] = {{1, 1, 1}, {9, 1, 1}, {1, 9, 1}, {5, 4, 1}, {4, 1, 5}, {2, 7, 1},
                                  {7, 2, 1}, {2, 2, 1}, {2, 2, 2}, {3, 3, 3}, {2, 2, 5}, {2, 5, 2},
                                  {5, 2, 2}, {3, 4, 5}, {6, 2, 3}, {1, 6, 7}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    find(context, sizes[i], FACES, 0);
    find(context, sizes[i], CORNERS, 0);
  }
  find(context, (const karst_index[]){11, 7, 8}, FACES, 0.2);
  find(context, (const karst_index[]){11, 7, 8}, CORNERS, 0.2);
  find(context, (const karst_index[]){20, 15, 1}, FACES, 0.2);
  find(context, (const karst_index[]){20, 15, 1}, CORNERS, 0.2);
}

/* A rule decides between the grids that fit these patterns. */
static void test_ambiguous(karst_context *context)
{
  const karst_index layers[3] = {3, 2, 2};
  struct pattern P = pattern_empty(12, 84);
  double value[84] = {0};
  karst_index k = 0;
  for (karst_index i = 0; i < 12; i++) {
    for (karst_index j = 0; j < 12; j++)
      if (i / 6 == j / 6 && coupled(layers, i, j, FACES)) P.column[k++] = j;
    P.start[i + 1] = k;
  }
  karst_matrix *A = matrix_of(context, 12, 1, P.start, P.column, value);
  tap_ok(!karst_matrix_find_grid(A) && has_grid(A, 3, 4, 1, NULL), "layers without a coupling are one layer");
  tap_ok(!karst_matrix_set_grid(A, 3, 2, 2) && !karst_matrix_check_grid(A, NULL), "two layers fit this pattern, too");
  karst_matrix_destroy(A);
  pattern_free(&P);
}

static void test_no_grid(karst_context *context)
{
  const karst_index none = 0, well[] = {25, 100}, wrap[] = {4, 5}, self[] = {0, 0};
  karst_matrix *A = make(context, 6, 5, 4, FACES, 0, well);
  tap_need(context, karst_matrix_set_grid(A, 120, 1, 1), "grid");
  refused(context, karst_matrix_find_grid(A), KARST_ERROR_MATRIX,
          "block row 25 has an entry in column 100, which is not its neighbour in the grid 6x5x4");
  tap_ok(has_grid(A, 120, 1, 1, NULL), "the earlier grid stays if no grid is found");
  tap_need(context, karst_matrix_set_grid(A, 6, 5, 4), "grid");
  refused(context, karst_matrix_check_grid(A, NULL), KARST_ERROR_MATRIX,
          "block row 25 has an entry in column 100, which is not its neighbour in the grid 6x5x4");
  karst_matrix_forget_grid(A);
  refused(context, karst_matrix_check_grid(A, NULL), KARST_ERROR_ARGUMENT, "the matrix has no grid");
  karst_matrix_destroy(A);
  A = make(context, 5, 4, 1, FACES, 0, wrap); /* couples the end of a line and the beginning of the next */
  refused(context, karst_matrix_find_grid(A), KARST_ERROR_MATRIX, "block row 4 has an entry in column 5");
  karst_matrix_destroy(A);
  A = make(context, 11, 1, 1, FACES, 0, (const karst_index[]){2, 7});
  refused(context, karst_matrix_find_grid(A), KARST_ERROR_MATRIX, "block row 2 has an entry in column 7");
  karst_matrix_destroy(A);
  A = make(context, 40, 1, 1, CORNERS, 0, self);
  tap_need(context, karst_matrix_find_grid(A), "a line");
  karst_matrix_destroy(A);
  A = tap_random_matrix(context, 60, 2, 20, 1); /* has more distances than a stencil */
  refused(context, karst_matrix_find_grid(A), KARST_ERROR_MATRIX, "no grid in natural order has the matrix's pattern");
  karst_matrix_destroy(A);
  A = make(context, 12, 1, 1, FACES, 1, NULL);
  refused(context, karst_matrix_find_grid(A), KARST_ERROR_MATRIX,
          "no block row couples with another one, so that the pattern shows no grid");
  karst_matrix_destroy(A);
  tap_need(context, karst_matrix_create(context, 0, 1, &none, NULL, NULL, KARST_COPY, &A), "matrix");
  refused(context, karst_matrix_find_grid(A), KARST_ERROR_MATRIX, "without block rows");
  refused(context, karst_matrix_set_grid(A, 1, 1, 1), KARST_ERROR_ARGUMENT, "1 cells, and the matrix has 0 block rows");
  tap_ok(!karst_matrix_set_grid_cells(A, 2, 2, 2, &none), "a grid of holes alone");
  karst_matrix_destroy(A);
}

/* Ordered and scaled copies have the cell of each block row, so that each coupling still joins neighbours. */
static void test_ordered(karst_context *context)
{
  const karst_index holes[] = {0, 1, 2, 4, 6, 7};
  const char *const orderings[] = {"natural", "rcm"};
  for (int i = 0; i < 4; i++) {
    karst_matrix *A = make(context, 6, 1, 1, FACES, 0, NULL);
    karst_system system;
    bool mapped = i % 2;
    tap_need(context, mapped ? karst_matrix_set_grid_cells(A, 4, 2, 1, holes) : karst_matrix_set_grid(A, 3, 2, 1),
             "grid");
    const struct karst_ordering_ops *ordering = karst_ordering_table[0];
    for (size_t o = 0; strcmp(ordering->name, orderings[i / 2]) != 0; o++) ordering = karst_ordering_table[o + 1];
    const karst_ordering_choice choice = {.ops = ordering, .distance = 1};
    tap_need(context, karst_system_setup(&choice, KARST_SCALE_DIAGONAL, A, NULL, NULL, &system), "system");
    bool right = karst_matrix_block_rows(system.copy) == 6;
    for (int row = 0; row < 6; row++) {
      karst_index old = system.ordered->permutation[row], cell = mapped ? holes[old] : old;
      right = right && (system.copy->grid.cell ? system.copy->grid.cell[row] : row) == cell;
    }
    tap_ok(right, "the system in order %s has the cells of %s", orderings[i / 2], mapped ? "a map" : "a grid");
    karst_system_destroy(&system);
    karst_matrix_destroy(A);
  }
}

static void test_converted(karst_context *context)
{
  const karst_index cell[] = {3, 1, 0, 2};
  karst_matrix *A = tap_random_matrix(context, 4, 3, 1, 1), *B, *scalar;
  tap_need(context, karst_matrix_set_grid_cells(A, 2, 2, 1, cell), "grid");
  tap_need(context, karst_matrix_convert(A, 3, &B), "copy");
  tap_ok(has_grid(B, 2, 2, 1, cell) && B->grid.cell != A->grid.cell, "a copy keeps the grid");
  karst_matrix_destroy(B);
  tap_need(context, karst_matrix_convert(A, 2, &B), "convert");
  tap_ok(has_grid(B, 0, 0, 0, NULL), "blocks of another size have no grid");
  karst_matrix_destroy(B);
  tap_need(context, karst_matrix_convert(A, 1, &scalar), "convert");
  tap_ok(has_grid(scalar, 0, 0, 0, NULL), "nor are scalar rows");
  tap_need(context, karst_matrix_set_grid(scalar, 12, 1, 1), "grid");
  tap_need(context, karst_matrix_convert(scalar, 3, &B), "convert");
  tap_ok(has_grid(B, 0, 0, 0, NULL), "blocks gathered from scalar rows have no grid");
  karst_matrix_destroy(B);
  karst_matrix_destroy(scalar);
  karst_matrix_destroy(A);
}

/* Each problem of the gallery has its grid, which the search in its pattern finds, too. */
static void test_gallery(karst_context *context)
{
  const char *name;
  for (size_t i = 0; (name = karst_gallery_name(i)); i++) {
    char spec[100];
    karst_stencil stencil;
    bool flat = strstr(name, "2d") || strcmp(name, "unitsquare") == 0;
    bool corners = strcmp(name, "laplace27") == 0 || strcmp(name, "bilinear2d") == 0;
    karst_index nz = flat ? 1 : 4;
    snprintf(spec, sizeof spec, "%s:6x5%s", name, flat ? "" : "x4");
    karst_matrix *A = matrix_from(context, spec, 0);
    bool known = has_grid(A, 6, 5, nz, NULL) && !karst_matrix_check_grid(A, &stencil) &&
                 stencil == (corners ? KARST_STENCIL_CORNERS : KARST_STENCIL_FACES);
    karst_matrix_forget_grid(A);
    tap_ok(known && !karst_matrix_find_grid(A) && has_grid(A, 6, 5, nz, NULL), "%s has its grid", spec);
    karst_matrix_destroy(A);
  }
  karst_matrix *A = matrix_from(context, "poisson2d:4x4", 3);
  tap_ok(has_grid(A, 0, 0, 0, NULL), "with another block size it has no grid");
  karst_matrix_destroy(A);
}

/* These are reservoir matrices of the Harwell-Boeing collection, whose guide names their grids. */
static void test_collection(karst_context *context)
{
  static const struct {
    const char *file;
    int block_size;
    karst_index size[3];
  } cases[] = {
      {"sherman1.mtx", 1, {10, 10, 10}}, {"sherman3.mtx.gz", 1, {35, 11, 13}}, {"sherman5.mtx.gz", 3, {16, 23, 3}}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const char *path = tap_matrix_path(cases[i].file);
    const karst_index *size = cases[i].size;
    karst_matrix *A;
    karst_status status = path ? karst_matrix_read(context, path, cases[i].block_size, &A) : KARST_SUCCESS;
    if (!path || status == KARST_ERROR_NOT_BUILT) {
      tap_skip(path ? karst_context_error(context) : "the matrix is absent", "%s", cases[i].file);
      continue;
    }
    tap_need(context, status, path);
    tap_ok(!karst_matrix_find_grid(A) && has_grid(A, size[0], size[1], size[2], NULL), "found: the grid of %s",
           cases[i].file);
    karst_matrix_destroy(A);
  }
}

/* Makes every call that allocates memory for a grid. */
static karst_status use_grids(karst_context *context, void *user)
{
  const karst_index row_start[] = {0, 2, 4, 5}, column[] = {0, 1, 0, 1, 2}, cell[] = {2, 0, 5};
  const double value[] = {2, 1, 1, 2, 2};
  karst_matrix *A = NULL, *B = NULL;
  karst_options *options = NULL;
  karst_solver *solver = NULL;
  (void)user;
  karst_status status = karst_matrix_create(context, 3, 1, row_start, column, value, KARST_COPY, &A);
  if (!status) status = karst_matrix_find_grid(A);
  if (!status) status = karst_matrix_set_grid_cells(A, 3, 2, 1, cell);
  if (!status) status = karst_matrix_convert(A, 1, &B);
  if (!status) status = karst_options_create(context, &options);
  if (!status) status = karst_options_set(options, "ordering", "rcm");
  if (!status) status = karst_solver_create(context, options, &solver);
  if (!status) status = karst_solver_setup(solver, A);
  karst_solver_destroy(solver);
  karst_options_destroy(options);
  karst_matrix_destroy(A);
  karst_matrix_destroy(B);
  return status;
}

static void test_device(karst_context *context)
{
  test_set(context);
  test_ordered(context);
  test_converted(context);
}

int main(void)
{
  karst_context *context = tap_context();
  test_maps(context);
  test_large_maps(context);
  test_find(context);
  test_ambiguous(context);
  test_no_grid(context);
  test_gallery(context);
  test_collection(context);
  karst_context_destroy(context);
  tap_each_device(test_device, "grids");
  fail_each_allocation(use_grids, NULL, "grids");
  return tap_done();
}
