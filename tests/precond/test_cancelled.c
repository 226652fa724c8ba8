/* Every factorization finds two rows that are singular together, in any order and beside any other rows, although
 * rounding leaves a remainder of the second pivot. With blocks D, R, C of small integers,
 *
 *     ( 5 D    5 D S )
 *     ( C      C S   )      has the pivots 5 D and C S - C (5 D)^-1 5 D S = 0, or C S and 5 D - 5 D S (C S)^-1 C = 0.
 *
 * All other rows are regular. Their couplings are blocks of zeros, which make a device take one kernel or another: rows
 * of few blocks and of many, products inside a tile and between tiles. */
#include "lib/method/precond.h"
#include "tests/support/problem.h"
#include "tests/support/tile_systems.h"
#include "tests/support/named_values.h"

enum { FEW, MANY, ALL, PATTERNS };
static const char *const pattern_name[] = {"few couplings", "many couplings", "all couplings"};

/* Small integers whose rows are dominated by the diagonal. */
static void draw_regular(int b, double *x)
{
  for (int v = 0; v < b * b; v++)
    x[v] = v % (b + 1) == 0 ? (double)(3 * b + tap_random_index(8)) : (double)tap_random_index(5) - 2;
}

static void multiply(int b, const double *x, const double *y, double *z)
{
  for (int c = 0; c < b; c++)
    for (int r = 0; r < b; r++) {
      z[c * b + r] = 0;
      for (int k = 0; k < b; k++) z[c * b + r] += x[k * b + r] * y[c * b + k];
    }
}

static double *find(const karst_matrix *A, double *value, karst_index i, karst_index j)
{
  karst_index k = A->row_start[i];
  while (A->column[k] != j) k++;
  return value + (int64_t)k * A->block_size * A->block_size;
}

/* Couples p with q in both directions, and others at random. */
static struct pattern draw_pattern(int kind, karst_index n, karst_index p, karst_index q)
{
  const double density = kind == FEW ? 0.06 : kind == MANY ? 0.4 : 1;
  struct pattern random = pattern_empty(n, (int64_t)n * n);
  karst_index end = 0;
  for (karst_index i = 0; i < n; i++) {
    for (karst_index j = 0; j < n; j++) {
      const bool pair = (i == p && j == q) || (i == q && j == p);
      if (pair || 0.5 * (tap_random() + 1) < density) random.column[end++] = j;
    }
    random.start[i + 1] = end;
  }
  return random;
}

/* Puts the blocks of rows p and q, and regular ones on the diagonal, among zeros. */
static void fill(karst_context *context, karst_matrix *A, karst_index p, karst_index q)
{
  const int b = A->block_size;
  const int64_t bb = (int64_t)b * b;
  double *value = tap_memory(karst_entries(A), sizeof *value), D[81], S[81], C[81];
  memset(value, 0, (size_t)karst_entries(A) * sizeof *value);
  for (karst_index i = 0; i < A->block_rows; i++) draw_regular(b, find(A, value, i, i));
  draw_regular(b, D);
  draw_regular(b, S);
  draw_regular(b, C);
  for (int64_t v = 0; v < bb; v++) D[v] *= 5;
  memcpy(find(A, value, p, p), D, (size_t)bb * sizeof *D);
  multiply(b, D, S, find(A, value, p, q));
  memcpy(find(A, value, q, p), C, (size_t)bb * sizeof *C);
  multiply(b, C, S, find(A, value, q, q));
  tap_need(context, karst_matrix_update_values(A, value), "values");
  free(value);
}

static bool is_found(karst_context *context, tap_settings *settings, const karst_matrix *A, karst_index p,
                     karst_index q)
{
  karst_index row = -1;
  settings->shift = 0;
  struct tile_system s = tile_system_make(context, settings, A);
  const bool named = karst_precond_outcome(s.P, &row) == KARST_SINGULAR_BLOCK;
  const karst_index *place = s.system.ordered ? s.system.ordered->permutation : NULL;
  const karst_index mine = place && row >= 0 ? place[row] : row;
  tile_system_free(&s);
  settings->shift = 0.5;
  s = tile_system_make(context, settings, A);
  const bool replaced = karst_precond_outcome(s.P, NULL) == KARST_SOUND && tap_precond_number(s.P, "shifted") == 1;
  tile_system_free(&s);
  return named && (mine == p || mine == q) && replaced;
}

static void check(karst_context *context, const char *precond, const char *ordering, int kind, int b, int level)
{
  enum { TRIALS = 5, ROWS = 36 };
  int found = 0;
  for (int trial = 0; trial < TRIALS; trial++) {
    const karst_index p = (karst_index)tap_random_index(ROWS),
                      q = (p + 1 + (karst_index)tap_random_index(ROWS - 1)) % ROWS;
    struct pattern pattern = draw_pattern(kind, ROWS, p, q);
    karst_matrix *A = pattern_random_matrix(context, &pattern, b, 1.5);
    tap_settings settings = settings_for(NULL, precond);
    settings.ordering = ordering;
    settings.tile_size = trial % 2 ? 7 : 64;
    settings.level = level;
    fill(context, A, p, q);
    found += is_found(context, &settings, A, p, q);
    pattern_free(&pattern);
    karst_matrix_destroy(A);
  }
  tap_ok(found == TRIALS, "%s, b = %d, level %d, %s, %s: a lost pivot is singular (%d of %d)", precond, b, level,
         ordering, pattern_name[kind], found, TRIALS);
}

static void pairs(karst_context *context)
{
  for (int b = 1; b <= 9; b++)
    for (int kind = 0; kind < PATTERNS; kind++) {
      check(context, "iluk", "natural", kind, b, kind == FEW ? b % 3 : 0);
      check(context, "iluk", "tiles", kind, b, kind == FEW ? (b + 1) % 3 : 0);
      if (!context->backend->dilu) continue;
      check(context, "dilu", "natural", kind, b, 0);
      check(context, "dilu", "tiles", kind, b, 0);
    }
}

/* A row of so many couplings that a GPU searches for its products, among rows of one block. */
static void long_row(karst_context *context)
{
  enum { ROWS = 5000 };
  karst_index start[ROWS + 1], column[3 * ROWS], end = 0, row = -1;
  static double value[3 * ROWS];
  karst_matrix *A;
  for (karst_index i = 0; i < ROWS; i++) {
    start[i] = end;
    for (karst_index j = i < ROWS - 1 ? i : 0; j < ROWS; j += i < ROWS - 1 ? ROWS - 1 - i : 1) {
      column[end] = j;
      value[end++] = i == j ? (i < ROWS - 1 ? 5 : (double)(ROWS - 1) / 5) : 1;
    }
  }
  start[ROWS] = end;
  tap_settings settings = settings_for(NULL, NULL);
  A = matrix_of(context, ROWS, 1, start, column, value);
  karst_precond *P = precond_of(context, &settings, A);
  tap_ok(karst_precond_outcome(P, &row) == KARST_SINGULAR_BLOCK && row == ROWS - 1,
         "a pivot lost in %d products is singular", ROWS - 1);
  karst_precond_destroy(P);
  karst_matrix_destroy(A);
}

int main(void)
{
  tap_each_device(pairs, "pairs");
  tap_each_device(long_row, "a long row");
  return tap_done();
}
