/* rrb names the node of a pivot that is not positive, on any level and in any storage, and of an entry that is not
 * finite. It refuses matrices that are not symmetric or not on a two-dimensional grid, and options that exclude each
 * other. */
#include "config.h"

#include "lib/backend/backend.h"
#include "lib/matrix/matrix.h"
#include "lib/method/precond.h"
#include "tests/support/problem.h"
#include "tests/support/refusal.h"
#include "tests/support/rrb_dense.h"

/* Makes rrb with so many levels and one more option; name NULL: no further option. */
static karst_status make(karst_context *context, const karst_matrix *A, int levels, const char *name, const char *value,
                         karst_precond **M)
{
  karst_options *options;
  tap_need(context, karst_options_create(context, &options), "options");
  karst_status status = karst_options_set(options, "precond", "rrb");
  if (!status) status = karst_options_set_integer(options, "rrb-levels", levels);
  if (!status && name) status = karst_options_set(options, name, value);
  *M = NULL;
  if (!status) status = karst_precond_create(context, options, A, M);
  karst_options_destroy(options);
  return status;
}

/* ---- pivots ---- */

/* The level, from 1, that eliminates node (i, j), counted from 0. */
static int level_of(karst_index i, karst_index j)
{
  for (int level = 1;; level += 2, i /= 2, j /= 2) {
    if ((i + j) % 2 == 1) return level;
    if (i % 2 == 1) return level + 1;
    if (i == 0 && j == 0) return 1000;
  }
}

/* Where the entry of a row and column is stored. */
static karst_index entry_of(const karst_matrix *A, karst_index row, karst_index column)
{
  karst_index k = karst_matrix_row_start(A)[row];
  while (karst_matrix_column(A)[k] != column) k++;
  return k;
}

struct fault {
  double diagonal; /* of the node */
  bool alone;      /* it has no couplings */
  karst_reason reason;
};

static void add_fault(const karst_matrix *A, karst_index row, const struct fault *fault, double *value)
{
  const karst_index *start = karst_matrix_row_start(A), *column = karst_matrix_column(A);
  for (karst_index k = start[row]; fault->alone && k < start[row + 1]; k++)
    value[k] = value[entry_of(A, column[k], row)] = 0;
  value[entry_of(A, row, row)] = fault->diagonal;
}

/* Gives each node a fault in turn. Returns whether rrb names each one, and factors the original matrix at the end. */
static bool names_each(karst_context *context, const struct rrb_system *system, int levels, const char *option,
                       const char *choice, const struct fault *fault)
{
  bool right = true;
  karst_precond *M;
  karst_index row;
  double *good = values_on_host(system->A);
  tap_need(context, make(context, system->A, levels, option, choice, &M), "rrb");
  for (karst_index q = 0; q < system->n; q++) {
    double *value = values_on_host(system->A);
    char node[100];
    const karst_index i = system->cell[q] % system->nx, j = system->cell[q] / system->nx;
    const int level = level_of(i, j);
    add_fault(system->A, q, fault, value);
    tap_need(context, karst_matrix_update_values(system->A, value), "values");
    tap_need(context, karst_precond_update(M), "update");
    const karst_reason reason = karst_precond_outcome(M, &row);
    if (fault->reason == KARST_NOT_FINITE)
      snprintf(node, sizeof node, "an entry in the row of node (%ld, %ld) is not finite", (long)i + 1, (long)j + 1);
    else
      snprintf(node, sizeof node, level > levels ? "node (%ld, %ld), left" : "node (%ld, %ld) at level %d", (long)i + 1,
               (long)j + 1, level);
    if (reason != fault->reason || row != q || !strstr(M->explanation, node)) {
      if (right)
        tap_note("%s: found reason %d, row %ld of %ld, %s", node, (int)reason, (long)row, (long)q, M->explanation);
      right = false;
    }
    tap_need(context, karst_matrix_update_values(system->A, good), "values");
    free(value);
  }
  tap_need(context, karst_precond_update(M), "update");
  right = right && karst_precond_outcome(M, &row) == KARST_SOUND;
  karst_precond_destroy(M);
  free(good);
  return right;
}

static void pivots(karst_context *context)
{
  static const struct fault faults[] = {{-1e6, false, KARST_INDEFINITE_PRECOND},
                                        {0, true, KARST_INDEFINITE_PRECOND},
                                        {NAN, false, KARST_NOT_FINITE},
                                        {INFINITY, false, KARST_NOT_FINITE}};
  static const char *const options[][2] = {
      {"rrb-grids", "64"}, {"rrb-precision", "float"}, {"rrb-grids", "0"}, {"rrb-grids", "1"}};
  static const int numbers[] = {1, 2, 3, 6};
  static const karst_index sizes[][2] = {{7, 5}, {3, 11}}; /* the second is stored with its axes exchanged */
  if (tap_lacks_kernels(context->backend->rrb, "rrb", "pivots")) return;
  for (int o = 0; o < (KARST_BASELINES ? 4 : 2); o++)
    for (int f = 0; f < 4; f++)
      for (int k = 0; k < 8; k++) {
        const int l = k % 4;
        const karst_index *size = sizes[k / 4];
        const struct rrb_kind kind = {l % 2 == 0, l == 3, l == 3 ? 0.2 : 0, 1};
        struct rrb_system system = rrb_random_system(context, size[0], size[1], &kind);
        tap_ok(names_each(context, &system, numbers[l], options[o][0], options[o][1], &faults[f]),
               "%s %s, %ldx%ld, %d levels, diagonal entry %g: the node is named", options[o][0], options[o][1],
               (long)size[0], (long)size[1], numbers[l], faults[f].diagonal);
        rrb_system_free(&system);
      }
}

/* A pivot that is sound in double, and has no finite inverse in float. Node (2, 2) is the first of level 2. */
static void beyond_float(karst_context *context)
{
  static const double diagonals[] = {1e50, 1e-42};
  if (tap_lacks_kernels(context->backend->rrb, "rrb", "beyond float")) return;
  for (int k = 0; k < 2; k++)
    for (int single = 0; single < 2; single++) {
      const struct rrb_kind kind = {.anisotropic = 1};
      const struct fault fault = {diagonals[k], true, KARST_SOUND};
      struct rrb_system system = rrb_random_system(context, 7, 5, &kind);
      double *value = values_on_host(system.A);
      karst_precond *M;
      karst_index row = -1;
      add_fault(system.A, 8, &fault, value);
      tap_need(context, karst_matrix_update_values(system.A, value), "values");
      tap_need(context, make(context, system.A, 4, "rrb-precision", single ? "float" : "double", &M), "rrb");
      const karst_reason reason = karst_precond_outcome(M, &row);
      tap_ok(single ? reason == KARST_NOT_FINITE && row == 8 &&
                          strcmp(M->explanation, "the pivot of node (2, 2) at level 2 is not finite") == 0
                    : reason == KARST_SOUND,
             "a pivot of %g in %s: %s", diagonals[k], single ? "float" : "double", M->explanation);
      karst_precond_destroy(M);
      free(value);
      rrb_system_free(&system);
    }
}

/* ---- refusals ---- */

static void refuse(karst_context *context, const karst_matrix *A, const char *name, const char *value,
                   karst_status expected, const char *says)
{
  karst_precond *M;
  const karst_status status = make(context, A, 4, name, value, &M);
  check_refusal(context, status, expected, M, says, says);
  karst_precond_destroy(M);
}

static void not_symmetric(karst_context *context)
{
  if (tap_lacks_kernels(context->backend->rrb, "rrb", "not symmetric")) return;
  for (int k = 0; k < 4; k++) {
    const struct rrb_kind kind = {.corners = k % 2, .shuffled = k >= 2, .anisotropic = 1};
    struct rrb_system system = rrb_random_system(context, 9, 6, &kind);
    double *value = values_on_host(system.A);
    const karst_index row = system.row[9 + 4], column = system.row[k == 0 ? 9 + 5 : k == 1 ? 2 * 9 + 5 : 2 * 9 + 4];
    const karst_index entry = entry_of(system.A, row, column);
    char says[100];
    snprintf(says, sizeof says, "an entry of block row %ld,", (long)(row < column ? row : column));
    value[entry] *= 1 + 1e-14;
    tap_need(context, karst_matrix_update_values(system.A, value), "values");
    karst_precond *M;
    tap_ok(!make(context, system.A, 4, NULL, NULL, &M), "rounding errors are no asymmetry");
    karst_precond_destroy(M);
    value[entry] *= 1.01;
    tap_need(context, karst_matrix_update_values(system.A, value), "values");
    refuse(context, system.A, NULL, NULL, KARST_ERROR_MATRIX, says);
    if (KARST_BASELINES) refuse(context, system.A, "rrb-grids", "0", KARST_ERROR_MATRIX, says);
    free(value);
    rrb_system_free(&system);
  }
}

/* A ring of nodes, which is a periodic grid of one line. */
static karst_matrix *make_ring(karst_context *context, karst_index n)
{
  double rows[400] = {0};
  for (karst_index q = 0; q < n; q++) {
    rows[q * n + q] = 3;
    rows[q * n + (q + 1) % n] = rows[(q + 1) % n * n + q] = -1;
  }
  karst_matrix *A = matrix_from_rows(context, n, 1, rows);
  tap_need(context, karst_matrix_set_grid(A, n, 1, 1), "grid");
  return A;
}

static void refusals(karst_context *context)
{
  if (tap_lacks_kernels(context->backend->rrb, "rrb", "refusals")) return;
  karst_matrix *A = make_ring(context, 11);
  refuse(context, A, NULL, NULL, KARST_ERROR_MATRIX, "rrb is not for periodic boundaries");
  karst_matrix_destroy(A);
  A = matrix_from(context, "poisson3d:4x3x2", 0);
  refuse(context, A, NULL, NULL, KARST_ERROR_MATRIX, "rrb is for two-dimensional grids, not for 4x3x2");
  karst_matrix_destroy(A);
  A = matrix_from(context, "poisson2d:6x4", 2);
  refuse(context, A, NULL, NULL, KARST_ERROR_MATRIX, "rrb is for one unknown a cell, but the block size is 2");
  karst_matrix_destroy(A);
  A = matrix_from(context, "poisson2d:6x4", 0);
  refuse(context, A, "rrb-precision", "half", KARST_ERROR_OPTION, "half");
  refuse(context, A, "rrb-levels", "1000", KARST_ERROR_OPTION, "rrb-levels");
  refuse(context, A, "rrb-levels", "-1", KARST_ERROR_OPTION, "rrb-levels");
  refuse(context, A, "rrb-grids", "65", KARST_ERROR_OPTION, "rrb-grids");
  tap_need(context, karst_matrix_set_grid(A, 4, 6, 1), "grid");
  refuse(context, A, NULL, NULL, KARST_ERROR_MATRIX, "rrb is for stencils of 5 or 9 points on the grid 4x6");
  karst_matrix_destroy(A);
}

/* Storage node by node is in double precision alone. */
static void mixed(karst_context *context)
{
  karst_precond *M = NULL;
  if (tap_lacks_kernels(context->backend->rrb, "rrb", "mixed precision")) return;
  karst_matrix *A = matrix_from(context, "poisson2d:6x4", 0);
  tap_settings settings = settings_for(NULL, "rrb");
  settings.rrb_precision = "float";
  settings.rrb_grids = 0;
  const karst_status status = tap_precond_create(context, &settings, A, &M);
  check_refusal(context, status, KARST_BASELINES ? KARST_ERROR_OPTION : KARST_ERROR_NOT_BUILT, M,
                KARST_BASELINES ? "rrb-precision float is for grids that are stored in groups" : "--enable-baselines",
                "float node by node");
  karst_matrix_destroy(A);
}

int main(void)
{
  tap_each_device(pivots, "pivots");
  tap_each_device(beyond_float, "pivots beyond float");
  tap_each_device(not_symmetric, "matrices that are not symmetric");
  tap_each_device(refusals, "refusals");
  tap_each_device(mixed, "options that exclude each other");
  return tap_done();
}
