/* rrb refuses each unsupported matrix in one sentence, and names the node of a pivot that fails, in each storage. */
#include "config.h"

#include "lib/backend/backend.h"
#include "tests/support/failing_allocator.h"
#include "lib/method/precond.h"
#include "tests/support/problem.h"
#include "tests/support/refusal.h"

#include <math.h>

/* A stencil of 5 points on a grid, 4 on its diagonal and -1 beside it, whose boundaries may be periodic. */
struct stencil {
  karst_index nx, ny;
  bool round_x, round_y;
};

enum { POINTS = 5 };

/* The columns of node (i, j) in ascending order. Returns how many there are. */
static karst_index find_columns(const struct stencil *s, karst_index i, karst_index j, karst_index *column)
{
  static const int beside[POINTS][2] = {{0, -1}, {-1, 0}, {0, 0}, {1, 0}, {0, 1}};
  karst_index count = 0;
  for (int p = 0; p < POINTS; p++) {
    karst_index x = i + beside[p][0], y = j + beside[p][1];
    if (s->round_x) x = (x + s->nx) % s->nx;
    if (s->round_y) y = (y + s->ny) % s->ny;
    if (x < 0 || y < 0 || x >= s->nx || y >= s->ny) continue;
    karst_index at = count++;
    for (; at > 0 && column[at - 1] > y * s->nx + x; at--) column[at] = column[at - 1];
    column[at] = y * s->nx + x;
  }
  return count;
}

/* The matrix, with its grid. */
static karst_matrix *make_matrix(karst_context *context, const struct stencil *s)
{
  const karst_index n = s->nx * s->ny;
  karst_index *start = calloc((size_t)n + 1, sizeof *start), *column = calloc((size_t)n * POINTS, sizeof *column);
  double *value = calloc((size_t)n * POINTS, sizeof *value);
  if (!start || !column || !value) exit(1);
  for (karst_index q = 0; q < n; q++) {
    start[q + 1] = start[q] + find_columns(s, q % s->nx, q / s->nx, column + start[q]);
    for (karst_index k = start[q]; k < start[q + 1]; k++) value[k] = column[k] == q ? 4 : -1;
  }
  karst_matrix *A = matrix_of(context, n, 1, start, column, value);
  tap_need(context, karst_matrix_set_grid(A, s->nx, s->ny, 1), "grid");
  free(start);
  free(column);
  free(value);
  return A;
}

static tap_settings rrb_settings(int levels, int grids, const char *precision)
{
  tap_settings settings = settings_for(NULL, "rrb");
  settings.rrb_levels = levels;
  settings.rrb_grids = grids;
  settings.rrb_precision = precision;
  return settings;
}

/* Makes rrb for a matrix, which is destroyed, and expects to be refused. */
static void refuse(karst_context *context, karst_matrix *A, karst_status expected, const char *says)
{
  const tap_settings settings = rrb_settings(0, 64, "double");
  karst_precond *M = NULL;
  const karst_status status = tap_precond_create(context, &settings, A, &M);
  check_refusal(context, status, expected, M, says, says);
  karst_matrix_destroy(A);
}

/* ---- refusals ---- */

static void grids(karst_context *context)
{
  if (tap_lacks_kernels(context->backend->rrb, "rrb", "grids")) return;
  refuse(context, matrix_from(context, "poisson3d:4x3x2", 1), KARST_ERROR_MATRIX,
         "rrb is for two-dimensional grids, not for 4x3x2");
  refuse(context, matrix_from(context, "poisson2d:4x4", 2), KARST_ERROR_MATRIX,
         "rrb is for one unknown a cell, but the block size is 2");
  karst_matrix *A = matrix_from(context, "poisson2d:6x4", 1);
  tap_need(context, karst_matrix_set_grid(A, 4, 6, 1), "another grid");
  refuse(context, A, KARST_ERROR_MATRIX,
         "rrb is for stencils of 5 or 9 points on the grid 4x6, but block row 0 has an entry in column 6");
  A = matrix_from(context, "poisson3d:5x4x3", 1);
  karst_matrix_forget_grid(A);
  refuse(context, A, KARST_ERROR_MATRIX, "rrb is for two-dimensional grids, not for 5x4x3");
  const karst_index start[] = {0, 2, 4, 6, 8, 10}, column[] = {0, 3, 0, 1, 0, 2, 3, 4, 1, 4};
  const double ones[10] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  A = matrix_of(context, 5, 1, start, column, ones);
  refuse(context, A, KARST_ERROR_MATRIX, "no grid in natural order has the matrix's pattern: block row ");
}

static void periodic(karst_context *context)
{
  if (tap_lacks_kernels(context->backend->rrb, "rrb", "periodic boundaries")) return;
  refuse(context, make_matrix(context, &(struct stencil){5, 4, true, false}), KARST_ERROR_MATRIX,
         "rrb is not for periodic boundaries, but block row 0 has an entry in column 4, which joins the first and the "
         "last node of an axis of the grid 5x4");
  refuse(context, make_matrix(context, &(struct stencil){5, 4, false, true}), KARST_ERROR_MATRIX,
         "rrb is not for periodic boundaries, but block row 0 has an entry in column 15");
  refuse(context, make_matrix(context, &(struct stencil){3, 3, true, true}), KARST_ERROR_MATRIX,
         "rrb is not for periodic boundaries, but block row 0 has an entry in column 2");
}

static void options(karst_context *context)
{
  static const struct {
    int levels, grids;
    const char *says;
  } bad[] = {{131, 64, "rrb-levels 131 is out of range: at most 130"},
             {0, 65, "rrb-grids 65 is out of range: at most 64"}};
  if (tap_lacks_kernels(context->backend->rrb, "rrb", "options")) return;
  karst_matrix *A = make_matrix(context, &(struct stencil){9, 9, false, false});
  karst_precond *M = NULL;
  for (size_t b = 0; b < sizeof bad / sizeof *bad; b++) {
    const tap_settings settings = rrb_settings(bad[b].levels, bad[b].grids, "double");
    const karst_status status = tap_precond_create(context, &settings, A, &M);
    check_refusal(context, status, KARST_ERROR_OPTION, M, bad[b].says, bad[b].says);
  }
  const tap_settings settings = rrb_settings(8, 1, "float");
  const karst_status status = tap_precond_create(context, &settings, A, &M);
  if (KARST_BASELINES)
    check_refusal(context, status, KARST_ERROR_OPTION, M, "rrb-precision float is for grids that are stored in groups",
                  "float numbers node by node");
  else
    check_refusal(context, status, KARST_ERROR_NOT_BUILT, M,
                  "rrb-grids 1 stores grids node by node, which needs a build with --enable-baselines",
                  "grids node by node");
  karst_options *set = options_of(context, PAIRS("precond", "rrb"));
  check_refusal(context, karst_options_set(set, "rrb-levels", "-1"), KARST_ERROR_OPTION, NULL, "rrb-levels",
                "levels below 0");
  check_refusal(context, karst_options_set(set, "rrb-precision", "half"), KARST_ERROR_OPTION, NULL, "rrb-precision",
                "an unknown precision");
  karst_options_destroy(set);
  karst_matrix_destroy(A);
}

static void unsymmetric(karst_context *context)
{
  static const struct {
    karst_index row, column;
    const char *says;
  } cases[] = {{24, 25, "an entry of block row 24, node (4, 4), differs from its mirror image"},
               {25, 24, "an entry of block row 24, node (4, 4), differs"},
               {30, 37, "an entry of block row 30, node (3, 5), differs"},
               {37, 30, "an entry of block row 30, node (3, 5), differs"}};
  if (tap_lacks_kernels(context->backend->rrb, "rrb", "unsymmetric values")) return;
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
    for (int grouped = !KARST_BASELINES; grouped < 2; grouped++) {
      karst_matrix *A = make_matrix(context, &(struct stencil){7, 9, false, false});
      const tap_settings settings = rrb_settings(0, grouped ? 64 : 0, "double");
      karst_precond *M = NULL;
      set_entry(A, cases[c].row, cases[c].column, 0, -1.001);
      const karst_status status = tap_precond_create(context, &settings, A, &M);
      check_refusal(context, status, KARST_ERROR_MATRIX, M, cases[c].says, grouped ? "in groups" : "node by node");
      karst_matrix_destroy(A);
    }
}

/* ---- pivots ---- */

/* A node with a changed diagonal entry, and the fault to be reported. */
struct pivot {
  karst_index i, j; /* from 1 */
  double entry;
  int levels;
  karst_reason reason;
  const char *says;
};

static void check_pivot(karst_context *context, const struct pivot *pivot, int grids, const char *precision)
{
  karst_matrix *A = make_matrix(context, &(struct stencil){9, 7, false, false});
  const tap_settings settings = rrb_settings(pivot->levels, grids, precision);
  const karst_index row = (pivot->j - 1) * 9 + pivot->i - 1;
  karst_index found = -1;
  set_entry(A, row, row, 0, pivot->entry);
  karst_precond *M = precond_of(context, &settings, A);
  const karst_reason reason = karst_precond_outcome(M, &found);
  if (!tap_ok(reason == pivot->reason && found == row && strcmp(M->explanation, pivot->says) == 0,
              "%g at node (%ld, %ld), %d levels, %d grids in groups, %s: %s", pivot->entry, (long)pivot->i,
              (long)pivot->j, pivot->levels, grids, precision, pivot->says))
    tap_note("%s, block row %ld: \"%s\"", karst_reason_text(reason), (long)found, M->explanation);
  karst_precond_destroy(M);
  karst_matrix_destroy(A);
}

static void pivots(karst_context *context)
{
  static const struct pivot cases[] = {
      {4, 3, -1, 8, KARST_INDEFINITE_PRECOND, "the pivot of node (4, 3) at level 1 is not positive"},
      {3, 4, 0, 8, KARST_INDEFINITE_PRECOND, "the pivot of node (3, 4) at level 1 is not positive"},
      {4, 4, -50, 8, KARST_INDEFINITE_PRECOND, "the pivot of node (4, 4) at level 2 is not positive"},
      {3, 1, -90, 8, KARST_INDEFINITE_PRECOND, "the pivot of node (3, 1) at level 3 is not positive"},
      {3, 3, -90, 8, KARST_INDEFINITE_PRECOND, "the pivot of node (3, 3) at level 4 is not positive"},
      {1, 1, -500, 8, KARST_INDEFINITE_PRECOND, "the pivot of node (1, 1), left after 8 levels, is not positive"},
      {5, 3, -90, 3, KARST_INDEFINITE_PRECOND, "the pivot of node (5, 3) at level 3 is not positive"},
      {9, 5, -90, 3, KARST_INDEFINITE_PRECOND, "the pivot of node (9, 5), left after 3 levels, is not positive"},
      {4, 3, NAN, 8, KARST_NOT_FINITE, "an entry in the row of node (4, 3) is not finite"},
      {4, 4, NAN, 8, KARST_NOT_FINITE, "an entry in the row of node (4, 4) is not finite"},
      {3, 4, INFINITY, 8, KARST_NOT_FINITE, "an entry in the row of node (3, 4) is not finite"},
  };
  if (tap_lacks_kernels(context->backend->rrb, "rrb", "pivots")) return;
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    check_pivot(context, &cases[c], 64, "double");
    check_pivot(context, &cases[c], 64, "float");
    for (int grids = 0; grids < (KARST_BASELINES ? 2 : 0); grids++) check_pivot(context, &cases[c], grids, "double");
  }
}

/* A coupling that is not finite is reported for the node of its row, red or black. */
static void check_couplings(karst_context *context, int grids)
{
  karst_matrix *A = make_matrix(context, &(struct stencil){9, 7, false, false});
  const tap_settings settings = rrb_settings(8, grids, "double");
  karst_index row = -1;
  set_entry(A, 30, 31, 0, NAN);
  karst_precond *M = precond_of(context, &settings, A);
  tap_ok(karst_precond_outcome(M, &row) == KARST_NOT_FINITE && row == 30 &&
             strcmp(M->explanation, "an entry in the row of node (4, 4) is not finite") == 0,
         "a coupling of a black node, %d grids in groups: %s", grids, M->explanation);
  set_entry(A, 30, 31, 0, -1);
  set_entry(A, 31, 30, 0, INFINITY);
  tap_need(context, karst_precond_update(M), "update");
  tap_ok(karst_precond_outcome(M, &row) == KARST_NOT_FINITE && row == 31 &&
             strcmp(M->explanation, "an entry in the row of node (5, 4) is not finite") == 0,
         "a coupling of a red node, %d grids in groups: %s", grids, M->explanation);
  set_entry(A, 31, 30, 0, -1);
  tap_need(context, karst_precond_update(M), "update");
  tap_ok(karst_precond_outcome(M, NULL) == KARST_SOUND && M->explanation[0] == '\0', "new values have no fault");
  karst_precond_destroy(M);
  karst_matrix_destroy(A);
}

static void couplings(karst_context *context)
{
  if (tap_lacks_kernels(context->backend->rrb, "rrb", "couplings")) return;
  check_couplings(context, 64);
  if (KARST_BASELINES) check_couplings(context, 0);
}

/* Errors name the block row of the matrix, also where a map assigns another node to it. */
static void maps(karst_context *context)
{
  const karst_index start[] = {0, 2, 5, 7}, column[] = {0, 1, 0, 1, 2, 1, 2}, cell[] = {6, 7, 8};
  const double value[] = {4, -1, -1, -2, -1, -1, 4};
  karst_index row = -1;
  if (tap_lacks_kernels(context->backend->rrb, "rrb", "a map")) return;
  karst_matrix *A = matrix_of(context, 3, 1, start, column, value);
  tap_need(context, karst_matrix_set_grid_cells(A, 3, 3, 1, cell), "cells");
  const tap_settings settings = rrb_settings(4, 64, "double");
  karst_precond *M = precond_of(context, &settings, A);
  tap_ok(karst_precond_outcome(M, &row) == KARST_INDEFINITE_PRECOND && row == 1 &&
             strcmp(M->explanation, "the pivot of node (2, 3) at level 1 is not positive") == 0,
         "with a map block row %ld is named: %s", (long)row, M->explanation);
  karst_precond_destroy(M);
  karst_matrix_destroy(A);
}

/* ---- memory ---- */

static karst_status create(karst_context *context, void *user)
{
  karst_matrix *A;
  karst_options *options = NULL;
  karst_precond *M = NULL;
  karst_status status = karst_gallery_create(context, "poisson2d:9x8", 1, &A, NULL);
  if (!status) status = karst_options_create(context, &options);
  if (!status) status = karst_options_set(options, "precond", "rrb");
  if (!status) status = karst_options_set_integer(options, "rrb-grids", *(const int *)user);
  if (!status) status = karst_precond_create(context, options, A, &M);
  karst_precond_destroy(M);
  karst_options_destroy(options);
  karst_matrix_destroy(A);
  return status;
}

/* With one level a grid leaves half of its nodes, whose band is too large. */
static void large_band(void)
{
  struct failing_allocator memory = {.limit = (size_t)1 << 28};
  karst_context *context = failing_context(&memory);
  karst_precond *M = NULL;
  karst_matrix *A = make_matrix(context, &(struct stencil){400, 400, false, false});
  const tap_settings settings = rrb_settings(1, 64, "double");
  const karst_status status = tap_precond_create(context, &settings, A, &M);
  check_refusal(context, status, KARST_ERROR_NO_MEMORY, M, "the band of rrb", "a band that is too large");
  karst_matrix_destroy(A);
  karst_context_destroy(context);
  tap_ok(memory.outstanding == 0, "and all memory is released");
}

int main(void)
{
  int in_groups = 64, node_by_node = 0, both = 1;
  tap_each_device(grids, "grids");
  tap_each_device(periodic, "periodic boundaries");
  tap_each_device(options, "options");
  tap_each_device(unsymmetric, "unsymmetric values");
  tap_each_device(pivots, "pivots");
  tap_each_device(couplings, "couplings that are not finite");
  tap_each_device(maps, "a map");
  fail_each_allocation(create, &in_groups, "rrb in groups");
  if (KARST_BASELINES) {
    fail_each_allocation(create, &node_by_node, "rrb node by node");
    fail_each_allocation(create, &both, "rrb in both storages");
  }
  large_band();
  return tap_done();
}
