/* Block ILU on a device agrees with its CPU kernels. Factors and solutions are the same within rounding for every block
 * size, pattern and kind of triangular solve. A bad block gives the same reason and block row. The bits are the same
 * each time, and solves end even with NaNs. */
#include "lib/backend/backend.h"
#include "lib/matrix/matrix.h"
#include "tests/support/patterns.h"
#include "lib/method/precond.h"
#include "tests/support/named_values.h"
#include "tests/support/problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = {"auto", "level", "dataflow"};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static karst_context *cpu;

/* On the CPU these kinds are one. */
static int kinds_on(const karst_context *context) { return context->backend == cpu->backend ? 1 : KINDS; }

static karst_precond *factor(karst_context *context, const karst_matrix *A, const char *trisolve, int level,
                             double shift)
{
  tap_settings options = settings_for(NULL, NULL);
  options.trisolve = trisolve;
  options.level = level;
  options.shift = shift;
  return precond_of(context, &options, A);
}

/* The tolerance is for rounding alone: the dominant matrices here are well conditioned. */
static const double tolerance = 1e-12;

/* Compares every kind of triangular solve with the CPU, in the first application and in ten more. */
static void compare(karst_context *context, const karst_matrix *A, int level, const char *what)
{
  int64_t n = karst_matrix_rows(A);
  karst_matrix *copy = matrix_copied(cpu, A);
  karst_precond *reference = factor(cpu, copy, "auto", level, 0);
  double *r = random_on_host(n), *expected = applied(reference, r);
  for (int kind = 0; kind < kinds_on(context); kind++) {
    karst_precond *P = factor(context, A, kinds[kind], level, 0);
    double *first = applied(P, r), error = relative_difference(n, first, expected);
    int differ = 0;
    for (int again = 0; again < 10; again++) {
      double *z = applied(P, r);
      differ += memcmp(z, first, (size_t)n * sizeof *z) != 0;
      free(z);
    }
    tap_ok(error < tolerance && differ == 0, "%s, b = %d, level %d, %s: as on the CPU (%.1e), ten times the same bits",
           what, karst_matrix_block_size(A), level, kinds[kind], error);
    free(first);
    karst_precond_destroy(P);
  }
  free(r);
  free(expected);
  karst_precond_destroy(reference);
  karst_matrix_destroy(copy);
}

static void block_sizes(karst_context *context)
{
  const int sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17, 32, 33, 70};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
    for (int level = 0; level < 2; level++) {
      karst_matrix *A = tap_random_matrix(context, sizes[s] < 16 ? 400 : 60, sizes[s], 4, 2);
      compare(context, A, level, "random");
      karst_matrix_destroy(A);
    }
}

/* Makes a band with a full last row and column, which is a symmetric pattern. */
static struct pattern pattern_bordered(karst_index n, karst_index distance)
{
  struct pattern bordered = pattern_empty(n, (int64_t)n * (2 * distance + 3));
  karst_index k = 0;
  for (karst_index i = 0; i < n; i++) {
    for (karst_index j = 0; j < n; j++)
      if ((j >= i - distance && j <= i + distance) || i == n - 1 || j == n - 1) bordered.column[k++] = j;
    bordered.start[i + 1] = k;
  }
  return bordered;
}

/* Makes the entries within a distance of the diagonal, and some full rows at the end. */
static struct pattern pattern_band(karst_index n, karst_index distance, karst_index full)
{
  struct pattern band = pattern_empty(n, (int64_t)n * (2 * distance + 1) + (int64_t)n * full);
  karst_index k = 0;
  for (karst_index i = 0; i < n; i++) {
    for (karst_index j = 0; j < n; j++)
      if ((j >= i - distance && j <= i + distance) || i >= n - full) band.column[k++] = j;
    band.start[i + 1] = k;
  }
  return band;
}

static void patterns(karst_context *context)
{
  struct pattern cases[] = {pattern_grid(1, 1, 1),
                            pattern_band(500, 0, 0),
                            pattern_grid(700, 1, 1),
                            pattern_grid(40, 31, 1),
                            pattern_grid(17, 13, 11),
                            pattern_bordered(150, 1),
                            pattern_stencil((const karst_index[3]){7, 6, 5}, true)}; /* of many products an entry */
  const char *const names[] = {"one row",      "diagonal", "tridiagonal",  "5-point grid",
                               "7-point grid", "arrow",    "27-point grid"};
  const int sizes[] = {1, 2, 3, 6, 7, 8, 9};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
      for (int level = 0; level < 2; level++) {
        karst_matrix *A = pattern_random_matrix(context, &cases[c], sizes[s], 1.5);
        compare(context, A, level, names[c]);
        karst_matrix_destroy(A);
      }
    pattern_free(&cases[c]);
  }
}

/* The rows have more entries than a warp has lanes and more than are kept in the order of their levels. The last has
 * more than a warp takes into shared memory. */
static void long_rows(karst_context *context)
{
  struct pattern cases[] = {pattern_band(120, 20, 0), pattern_band(90, 3, 2), pattern_bordered(90, 6),
                            pattern_band(1300, 6, 1), pattern_band(2000, 6, 1)};
  const char *const names[] = {"wide band", "two full rows", "full border", "a long row", "a very long row"};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    for (int b = 1; b <= (c < 3 ? 9 : 1); b += 3) {
      karst_matrix *A = pattern_random_matrix(context, &cases[c], b, 1.5);
      compare(context, A, 0, names[c]);
      karst_matrix_destroy(A);
    }
    pattern_free(&cases[c]);
  }
}

/* r has NaNs of several payloads. The solve ends with a NaN in z, and the next solve is not affected. */
static void not_finite(karst_context *context)
{
  const uint64_t payloads[] = {UINT64_MAX, UINT64_C(0x7ff8000000000000), UINT64_C(0xffffffff00000001),
                               UINT64_C(0x7ff0000000000000)};
  struct pattern grid = pattern_grid(9, 8, 7);
  for (int b = 1; b <= 9; b += 2) {
    karst_matrix *A = pattern_random_matrix(context, &grid, b, 1.5);
    int64_t n = karst_matrix_rows(A);
    for (int kind = 0; kind < kinds_on(context); kind++) {
      karst_precond *P = factor(context, A, kinds[kind], 0, 0);
      double *r = random_on_host(n), *before = applied(P, r);
      bool all = true;
      for (size_t p = 0; p < sizeof payloads / sizeof *payloads; p++) {
        int64_t at = tap_random_index(n);
        double keep = r[at], *z;
        memcpy(&r[at], &payloads[p], sizeof r[at]);
        z = applied(P, r);
        bool found = false;
        for (int64_t i = 0; i < n; i++) found = found || !isfinite(z[i]);
        all = all && found;
        r[at] = keep;
        free(z);
      }
      double *after = applied(P, r);
      tap_ok(all && memcmp(before, after, (size_t)n * sizeof *after) == 0,
             "b = %d, %s: a NaN reaches z, and does not affect the next solve", b, kinds[kind]);
      free(r);
      free(before);
      free(after);
      karst_precond_destroy(P);
    }
    karst_matrix_destroy(A);
  }
  pattern_free(&grid);
}

/* Gives each element of the diagonal block of a row this value, and each other element of the row 0. */
static void replace(karst_matrix *A, karst_index row, double diagonal)
{
  double *block = tap_memory((int64_t)A->block_size * A->block_size, sizeof *block);
  for (int v = 0; v < A->block_size * A->block_size; v++) block[v] = diagonal;
  replace_row(A, row, block);
  free(block);
}

enum fault { SINGULAR, NOT_A_NUMBER, SHIFTED };
static const char *const fault_name[] = {"singular", "NaN", "shift"};

/* Two rows have bad blocks: the reason and the first row, or the number of replaced blocks, is that of the CPU. Then
 * the values are sound again. */
static void check_bad(karst_context *context, karst_matrix *A, int level, karst_index at, karst_index other,
                      enum fault how)
{
  karst_matrix *sound = matrix_copied(cpu, A);
  const double shift = how == SHIFTED ? 0.5 : 0;
  const int b = karst_matrix_block_size(A);
  karst_precond *P = factor(context, A, "auto", level, shift);
  karst_index row, expected_row;
  replace(A, at, how == NOT_A_NUMBER ? NAN : 0);
  replace(A, other, how == NOT_A_NUMBER ? NAN : 0);
  if (how == SHIFTED) { /* the row keeps an entry, whose size scales the shift */
    double *value = values_on_host(A);
    for (karst_index k = A->row_start[at]; k < A->row_start[at + 1]; k++)
      if (A->column[k] > at) value[karst_block_offset(b, k)] = 2.385;
    tap_need(context, karst_matrix_update_values(A, value), "update");
    free(value);
  }
  karst_matrix *copy = matrix_copied(cpu, A);
  karst_precond *reference = factor(cpu, copy, "auto", level, shift);
  tap_need(context, karst_precond_update(P), "update");
  karst_reason reason = karst_precond_outcome(P, &row);
  karst_reason expected = karst_precond_outcome(reference, &expected_row);
  const double shifted = tap_precond_number(P, "shifted"), expected_shifted = tap_precond_number(reference, "shifted");
  tap_ok(reason == expected && row == expected_row && shifted >= 0 && shifted == expected_shifted,
         "b = %d, %s: %s in block row %lld and %.0f replaced, as on the CPU (%s, %lld, %.0f)", b, fault_name[how],
         karst_reason_text(reason), (long long)row, shifted, karst_reason_text(expected), (long long)expected_row,
         expected_shifted);
  tap_need(context, karst_matrix_update_values(A, sound->value), "update");
  tap_need(context, karst_precond_update(P), "update");
  karst_precond *fresh = factor(cpu, sound, "auto", level, 0);
  int64_t n = karst_matrix_rows(A);
  double *r = random_on_host(n), *z = applied(P, r), *expected_z = applied(fresh, r);
  tap_ok(relative_difference(n, z, expected_z) < tolerance, "b = %d: sound again with sound values", b);
  free(r);
  free(z);
  free(expected_z);
  karst_precond_destroy(P);
  karst_precond_destroy(reference);
  karst_precond_destroy(fresh);
  karst_matrix_destroy(copy);
  karst_matrix_destroy(sound);
}

static void bad_blocks(karst_context *context)
{
  const int sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 17, 33};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
    for (int how = SINGULAR; how <= SHIFTED; how++) {
      karst_matrix *A = tap_random_matrix(context, 90, sizes[s], 3, 2);
      karst_index at = (karst_index)tap_random_index(90);
      check_bad(context, A, 1, at, (at + 31) % 90, (enum fault)how);
      karst_matrix_destroy(A);
    }
}

/* Makes cliques that nothing connects: there are as many levels as a clique has rows, each with a row of every
 * clique. */
static struct pattern pattern_cliques(karst_index cliques, karst_index size)
{
  struct pattern all = pattern_empty(cliques * size, (int64_t)cliques * size * size);
  for (karst_index i = 0; i < all.n; i++) {
    for (karst_index j = 0; j < size; j++) all.column[i * size + j] = i / size * size + j;
    all.start[i + 1] = (i + 1) * size;
  }
  return all;
}

/* The levels have so many rows with so many products that a GPU computes two rows at a time for b = 1; their number is
 * odd. */
static void large_levels(karst_context *context)
{
  enum { CLIQUES = 1501, SIZE = 12 };
  struct pattern cliques = pattern_cliques(CLIQUES, SIZE);
  for (int b = 1; b <= 2; b++) {
    karst_matrix *A = pattern_random_matrix(context, &cliques, b, 1.5);
    compare(context, A, 0, "cliques");
    karst_matrix_destroy(A);
  }
  for (int how = SINGULAR; how <= SHIFTED; how++) {
    karst_matrix *A = pattern_random_matrix(context, &cliques, 1, 1.5);
    karst_index at = (karst_index)tap_random_index(CLIQUES - 1) * SIZE + (karst_index)tap_random_index(SIZE - 1);
    check_bad(context, A, 0, at, at + SIZE, (enum fault)how);
    karst_matrix_destroy(A);
  }
  pattern_free(&cliques);
}

int main(void)
{
  cpu = tap_context();
  tap_each_device(block_sizes, "block sizes");
  tap_each_device(patterns, "patterns");
  tap_each_device(long_rows, "long rows");
  tap_each_device(not_finite, "NaN");
  tap_each_device(bad_blocks, "bad blocks");
  tap_each_device(large_levels, "large levels");
  karst_context_destroy(cpu);
  return tap_done();
}
