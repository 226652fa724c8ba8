/* fgbilu with new values: an update is a set-up from the beginning, errors name bad blocks, and preconditioners for
 * large and for small blocks can exist at once. */
#include "lib/backend/backend.h"
#include "tests/support/fgbilu.h"
#include "tests/support/named_values.h"
#include "tests/support/problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void update(karst_context *context)
{
  const struct fgbilu_grid grid = {.size = {9, 8, 7}, .b = 3, .holes = 0.1, .missing = 0.1};
  if (fgbilu_lacks_kernels(context, "new values")) return;
  struct fgbilu_system s = fgbilu_random_system(&grid);
  const int64_t n = (int64_t)s.rows * s.b;
  karst_matrix *A = fgbilu_matrix(context, &grid, &s);
  karst_precond *P = fgbilu_make(context, "auto", "yes", A);
  double *first = applied_to_random(P, 7, NULL), *again = applied_to_random(P, 7, NULL);
  tap_ok(memcmp(first, again, (size_t)n * sizeof *first) == 0, "apply has the same bits again");
  for (int64_t v = 0; v < (int64_t)s.start[s.rows] * 9; v++) s.value[v] *= 1 + 0.1 * tap_random();
  tap_need(context, karst_matrix_update_values(A, s.value), "values");
  tap_need(context, karst_precond_update(P), "update");
  karst_precond *fresh = fgbilu_make(context, "auto", "yes", A);
  double *updated = applied_to_random(P, 7, NULL), *made = applied_to_random(fresh, 7, NULL);
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
  fgbilu_forget_system(&s);
}

/* Gives the matrix the values of the system, updates, and checks the outcome. */
static void check_outcome(karst_context *context, const struct fgbilu_system *s, karst_matrix *A, karst_precond *P,
                          karst_reason expected, karst_index row, const char *what)
{
  karst_index found;
  tap_need(context, karst_matrix_update_values(A, s->value), "values");
  tap_need(context, karst_precond_update(P), "update");
  const karst_reason reason = karst_precond_outcome(P, &found);
  tap_ok(reason == expected && found == row, "b = %d, %s: %s in block row %lld", s->b, what, karst_reason_text(reason),
         (long long)found);
}

static karst_index row_of_cell(const struct fgbilu_system *s, karst_index cell)
{
  karst_index row = 0;
  while (s->cell[row] != cell) row++;
  return row;
}

/* Makes the diagonal block of a row singular, without couplings, so that D is that block. */
static void make_singular(const struct fgbilu_system *s, karst_index row)
{
  const int b = s->b;
  for (karst_index k = s->start[row]; k < s->start[row + 1]; k++)
    for (int v = 0; v < b * b; v++)
      s->value[(int64_t)k * b * b + v] = s->column[k] == row && b > 1 ? 1 + (double)(v % b) : 0;
}

static void check_bad(karst_context *context, int b, const char *style)
{
  const struct fgbilu_grid grid = {.size = {6, 5, 4}, .b = b, .shuffled = true};
  struct fgbilu_system s = fgbilu_random_system(&grid);
  const size_t bytes = (size_t)s.start[s.rows] * (size_t)(b * b) * sizeof *s.value;
  double *good = malloc(bytes);
  memcpy(good, s.value, bytes);
  const karst_index early = row_of_cell(&s, 37), late = row_of_cell(&s, 62), next = row_of_cell(&s, 38);
  karst_matrix *A = fgbilu_matrix(context, &grid, &s);
  karst_precond *P = fgbilu_make(context, style, "yes", A);
  karst_vector *r = vector_of(context, (int64_t)s.rows * b, 0), *z = vector_of(context, (int64_t)s.rows * b, 0);
  make_singular(&s, late);
  check_outcome(context, &s, A, P, KARST_SINGULAR_BLOCK, late, "a singular block");
  tap_ok(karst_precond_apply(P, r, z) == KARST_ERROR_MATRIX, "and apply is refused");
  make_singular(&s, early);
  check_outcome(context, &s, A, P, KARST_SINGULAR_BLOCK, early, "the first of two, by cells");
  memcpy(s.value, good, bytes);
  fgbilu_block(&s, late, late)[b * b - 1] = NAN;
  check_outcome(context, &s, A, P, KARST_NOT_FINITE, late, "a NaN in a diagonal block");
  memcpy(s.value, good, bytes);
  fgbilu_block(&s, next, early)[0] = INFINITY;
  check_outcome(context, &s, A, P, KARST_NOT_FINITE, next, "an infinity below the diagonal");
  memcpy(s.value, good, bytes);
  fgbilu_block(&s, early, next)[0] = NAN;
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
  fgbilu_forget_system(&s);
  free(good);
}

static void bad_blocks(karst_context *context)
{
  static const int all[] = {1, 3, 6, 9, 17};
  if (fgbilu_lacks_kernels(context, "bad blocks")) return;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    check_bad(context, all[i], "auto");
    if (context->backend->host_memory) check_bad(context, all[i], "sequential");
    for (size_t j = 0; j < FGBILU_GPU_STYLES && !context->backend->host_memory; j++)
      check_bad(context, all[i], fgbilu_gpu_styles[j]);
  }
}

/* Without row exchanges a zero on the diagonal cannot be divided by. */
static void without_pivoting(karst_context *context)
{
  static const karst_index start[] = {0, 1}, column[] = {0};
  static const double exchange[] = {0, 1, 1, 0}, nearly[] = {1e-300, 1, 1, 1e-300};
  static const double *const values[] = {exchange, nearly};
  if (fgbilu_lacks_kernels(context, "without pivoting")) return;
  for (int v = 0; v < 2; v++) {
    karst_index row;
    karst_matrix *A = matrix_of(context, 1, 2, start, column, values[v]);
    for (int style = 0; style < (context->backend->host_memory ? 2 : 1); style++) {
      karst_precond *with = fgbilu_make(context, style ? "sequential" : "auto", "yes", A);
      karst_precond *without = fgbilu_make(context, style ? "sequential" : "auto", "no", A);
      tap_ok(karst_precond_outcome(with, &row) == KARST_SOUND && row == -1, "rows are exchanged");
      tap_ok(karst_precond_outcome(without, &row) == KARST_SINGULAR_BLOCK && row == 0,
             "and without row exchanges the block is singular");
      karst_precond_destroy(with);
      karst_precond_destroy(without);
    }
    karst_matrix_destroy(A);
  }
}

static bool all_finite(int64_t n, const double *x)
{
  bool finite = true;
  for (int64_t i = 0; i < n; i++) finite = finite && isfinite(x[i]);
  return finite;
}

/* Kernels for several block sizes still apply a preconditioner for large blocks after a set-up for smaller blocks. */
static void side_by_side(karst_context *context)
{
  if (fgbilu_lacks_kernels(context, "a large and a small block size side by side")) return;
  karst_matrix *large = matrix_from(context, "ns3d:4x3x3", 32), *small = matrix_from(context, "ns3d:4x3x3", 10);
  const int64_t n = karst_matrix_rows(large);
  karst_precond *P = fgbilu_make(context, "auto", "yes", large);
  double *before = applied_to_random(P, 7, NULL);
  karst_precond *other = fgbilu_make(context, "auto", "yes", small);
  tap_ok(!karst_precond_update(P) && karst_precond_outcome(P, NULL) == KARST_SOUND,
         "blocks of 32 are factored after a set-up for blocks of 10");
  tap_ok(!karst_precond_update(other) && karst_precond_outcome(other, NULL) == KARST_SOUND, "and those of 10");
  double *after = applied_to_random(P, 7, NULL);
  tap_ok(all_finite(n, before) && all_finite(n, after), "blocks of 32 are applied before and after it");
  free(before);
  free(after);
  karst_precond_destroy(other);
  karst_precond_destroy(P);
  karst_matrix_destroy(small);
  karst_matrix_destroy(large);
}

int main(void)
{
  tap_each_device(update, "new values");
  tap_each_device(bad_blocks, "bad blocks");
  tap_each_device(without_pivoting, "without pivoting");
  tap_each_device(side_by_side, "block sizes side by side");
  return tap_done();
}
