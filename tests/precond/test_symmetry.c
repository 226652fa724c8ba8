/* paric warns of values that are not symmetric, once for a set-up and its updates, with the caller's row. It does not
 * warn of rounding errors. */
#include "tests/support/problem.h"
#include "tests/support/parilu_dense.h"
#include "lib/base/search.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The last warning, and the number of warnings. */
struct warned {
  int count;
  char text[256];
};

static void note_warning(void *user, karst_message_kind kind, const char *text)
{
  struct warned *warned = user;
  if (kind != KARST_MESSAGE_WARNING) return;
  warned->count++;
  snprintf(warned->text, sizeof warned->text, "%s", text);
}

/* Adds to entry v of a block. */
static void change_entry(karst_context *context, karst_matrix *A, karst_index row, karst_index column, int64_t v,
                         double change)
{
  double *changed = values_on_host(A);
  const karst_index k = karst_find_column(A->column, A->row_start[row], A->row_start[row + 1], column);
  changed[karst_block_offset(A->block_size, k) + v] += change;
  tap_need(context, karst_matrix_update_values(A, changed), "update");
  free(changed);
}

/* Sets paric up and updates it, and expects one warning in all with this ending; NULL: none. */
static void warns(karst_context *context, const char *ordering, const karst_matrix *A, const char *ending,
                  const char *what)
{
  struct warned warned = {.count = 0};
  tap_settings options = settings_for(NULL, "paric");
  options.level = 1;
  options.sweeps = 2;
  options.ordering = ordering;
  karst_solver *solver = solver_of(context, &options);
  karst_context_set_message(context, note_warning, &warned);
  tap_need(context, karst_solver_setup(solver, A), "set-up");
  tap_need(context, karst_solver_update(solver), "update");
  karst_context_set_message(context, NULL, NULL);
  karst_solver_destroy(solver);
  const size_t length = strlen(warned.text), wanted = ending ? strlen(ending) : 0;
  tap_ok(warned.count == (ending ? 1 : 0) && length >= wanted &&
             (!ending || strcmp(warned.text + length - wanted, ending) == 0),
         "b = %d, %s: %s: %s", A->block_size, ordering, what, warned.count ? warned.text : "no warning");
}

/* paric reports where values are not symmetric, once and with the caller's row; it ignores rounding errors. */
static void unsymmetric_values(karst_context *context)
{
  const int sizes[] = {1, 3};
  const char *const orderings[] = {"natural", "rcm"};
  for (int t = 0; t < 4; t++) {
    struct pattern grid = pattern_grid(5, 4, 3);
    karst_matrix *A = symmetric_matrix(context, &grid, sizes[t / 2], 1);
    const char *ordering = orderings[t % 2];
    warns(context, ordering, A, NULL, "symmetric values");
    multiply_values(context, A, 1e-9);
    change_entry(context, A, 7, 8, 0, 1e-23);
    warns(context, ordering, A, NULL, "symmetric but for rounding");
    change_entry(context, A, 59, 58, 0, 1e-15);
    warns(context, ordering, A, "block row 58", "unsymmetric below the diagonal");
    change_entry(context, A, 7, 8, 0, 1e-15);
    warns(context, ordering, A, "block row 7", "unsymmetric above it");
    if (A->block_size > 1) {
      change_entry(context, A, 3, 3, 1, 1e-15);
      warns(context, ordering, A, "block row 3", "an unsymmetric diagonal block");
    }
    karst_matrix_destroy(A);
    pattern_free(&grid);
  }
}

/* Rounding errors are ignored also beside a diagonal entry of 0. */
static void rounding_beside_zero(karst_context *context)
{
  const karst_index start[] = {0, 2, 4}, column[] = {0, 1, 0, 1};
  const double value[] = {0, 1 + 2.5e-16, 1, 4}, other[] = {0, 1 + 1e-6, 1, 4};
  karst_index row;
  karst_matrix *A = matrix_of(context, 2, 1, start, column, value);
  tap_need(context, karst_matrix_find_asymmetry(A, &row), "rounding");
  tap_ok(row == -1, "rounding beside a diagonal entry of 0");
  tap_need(context, karst_matrix_update_values(A, other), "update");
  tap_need(context, karst_matrix_find_asymmetry(A, &row), "a difference");
  tap_ok(row == 0, "a difference beside it");
  karst_matrix_destroy(A);
}

int main(void)
{
  tap_each_device(unsymmetric_values, "values that are not symmetric");
  tap_each_device(rounding_beside_zero, "rounding beside zero");
  return tap_done();
}
