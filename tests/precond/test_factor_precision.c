/* factor-precision float: M^-1 r solves with factors that are those of double but for their rounding, for each method,
 * block size, level, order of the rows and kind of sweeps. A factor that float cannot hold names its block row. */
#include "lib/method/precond.h"
#include "tests/support/problem.h"
#include "tests/support/tile_reference.h"
#include "tests/support/tile_systems.h"

#include <float.h>
#include <math.h>

struct kind {
  const char *precond, *ordering, *trisolve;
  int tile_size, level;
};

static tap_settings settings_of(const struct kind *kind, const char *precision)
{
  tap_settings settings = settings_for(NULL, kind->precond);
  settings.factor_precision = precision;
  settings.ordering = kind->ordering;
  settings.tile_size = kind->tile_size;
  settings.level = kind->level;
  settings.sweeps = 60; /* of parilu: by then it has the factors of iluk */
  if (kind->trisolve) settings.trisolve = kind->trisolve;
  return settings;
}

/* z += |x| y for blocks; y is a column. */
static void add_size(int b, const double *x, const double *y, double *z)
{
  for (int c = 0; c < b; c++)
    for (int r = 0; r < b; r++) z[r] += fabs(x[c * b + r]) * y[c];
}

/* Returns the largest |M z - r|_i over what the rounding of M = (D + L) D^-1 (D + U) makes of z. The sweeps have L
 * D^-1, D^-1 and D^-1 U, or L, D^-1 and U, each entry within u = 2^-24. So to first order |M z - r| is at most
 *
 *     u (2 + 1 + 2) (I + |L| |D^-1|) |D| |D^-1| |D| (I + |D^-1| |U|) |z|. */
static double rounding_of(const struct tile_reference *f, const double *r, const double *z)
{
  const int64_t b = f->b, bb = b * b, n = b * f->rows;
  double *w = tap_memory(2 * n, sizeof *w), *size = w + n, *block = tap_memory(6 * b, sizeof *block), worst = 0;
  for (int64_t i = 0; i < f->rows; i++) {
    double *all = block, *part = block + b, *one = block + 2 * b, *two = block + 3 * b;
    memset(block, 0, (size_t)(6 * b) * sizeof *block);
    for (int64_t j = i; j < f->rows; j++)
      if (*tile_kept(f, i, j)) tile_multiply(f->b, 1, 1, tile_block(f, i, j), z + b * j, all);
    for (int64_t j = i + 1; j < f->rows; j++)
      for (int64_t c = 0; *tile_kept(f, i, j) && c < b; c++)
        for (int64_t v = 0; v < b; v++) part[v] += fabs(tile_block(f, i, j)[c * b + v] * z[b * j + c]);
    for (int64_t v = 0; v < b; v++) one[v] = fabs(z[b * i + v]);
    add_size(f->b, f->inverse + bb * i, part, one);
    add_size(f->b, tile_block(f, i, i), one, two);
    memset(part, 0, (size_t)b * sizeof *part);
    add_size(f->b, f->inverse + bb * i, two, part);
    memset(size + b * i, 0, (size_t)b * sizeof *size);
    add_size(f->b, tile_block(f, i, i), part, size + b * i);
    memcpy(w + b * i, all, (size_t)b * sizeof *w);
  }
  for (int64_t i = 0; i < f->rows; i++) {
    double *product = block, *bound = block + b, *divided = block + 2 * b;
    memcpy(product, w + b * i, (size_t)b * sizeof *w);
    memcpy(bound, size + b * i, (size_t)b * sizeof *w);
    for (int64_t k = 0; k < i; k++) {
      if (!*tile_kept(f, i, k)) continue;
      memset(divided, 0, (size_t)(2 * b) * sizeof *divided);
      tile_multiply(f->b, 1, 1, f->inverse + bb * k, w + b * k, divided);
      tile_multiply(f->b, 1, 1, tile_block(f, i, k), divided, product);
      add_size(f->b, f->inverse + bb * k, size + b * k, divided + b);
      add_size(f->b, tile_block(f, i, k), divided + b, bound);
    }
    for (int64_t v = 0; v < b; v++) worst = fmax(worst, fabs(product[v] - r[b * i + v]) / bound[v]);
  }
  free(w);
  free(block);
  return worst;
}

static void check(karst_context *context, const karst_matrix *A, const struct kind *kind, const char *what)
{
  const int64_t n = karst_matrix_rows(A);
  const tap_settings single = settings_of(kind, "float"), other = settings_of(kind, "double");
  const bool dilu = strcmp(kind->precond, "dilu") == 0 || strcmp(kind->precond, "fgbilu") == 0;
  struct tile_system s = tile_system_make(context, &single, A), d = tile_system_make(context, &other, A);
  double *r = random_on_host(n), *z = tile_apply(&s, r), *exact = tile_apply(&d, r);
  double *right = tap_memory(n, sizeof *right), *ordered = tap_memory(n, sizeof *ordered);
  tile_system_update(&s);
  double *again = tile_apply(&s, r);
  const bool same = memcmp(again, z, (size_t)n * sizeof *z) == 0;
  karst_index *order = tap_memory(karst_matrix_block_rows(A), sizeof *order);
  for (karst_index i = 0; i < karst_matrix_block_rows(A); i++) order[i] = tile_row(&s.system, i);
  struct tile_reference f = tile_reference_make(A, order, dilu, kind->level, 0);
  tile_order(&s.system, r, false, right);
  tile_order(&s.system, z, false, ordered);
  const double rounding = rounding_of(&f, right, ordered), difference = relative_difference(n, z, exact);
  /* The first order is 5 u, and the second far below u. */
  tap_ok(rounding < 6 * 0.5 * FLT_EPSILON && difference > 1e-11 && same,
         "%s, b = %d, %s of level %d, %s of %d, %s: rounding %.2f u, %.0e from double, the same bits again", what,
         karst_matrix_block_size(A), kind->precond, kind->level, kind->ordering, kind->tile_size,
         kind->trisolve ? kind->trisolve : "", rounding / (0.5 * FLT_EPSILON), difference);
  free(r);
  free(z);
  free(exact);
  free(again);
  free(order);
  free(right);
  free(ordered);
  tile_reference_free(&f);
  tile_system_free(&s);
  tile_system_free(&d);
}

/* Whether the device refuses factors in float, as a GPU does for dilu outside tiles and for fgbilu. */
static bool is_refused(karst_context *context, const karst_matrix *A, const struct kind *kind)
{
  const tap_settings single = settings_of(kind, "float");
  karst_solver *solver;
  const karst_status status = tap_solver_setup(context, &single, A, &solver);
  const bool refused = status == KARST_ERROR_OPTION;
  if (refused)
    tap_ok(context->backend != karst_backends[0] && strstr(karst_context_error(context), "factor-precision float"),
           "%s of blocks of %d: %s", kind->precond, karst_matrix_block_size(A), karst_context_error(context));
  karst_solver_destroy(solver);
  return refused;
}

static void methods(karst_context *context)
{
  static const struct kind kinds[] = {
      {"iluk", "natural", "level", 0, 0},    {"iluk", "natural", "dataflow", 0, 0}, {"iluk", "natural", "level", 0, 1},
      {"iluk", "natural", "dataflow", 0, 1}, {"iluk", "tiles", "tiles", 4, 0},      {"iluk", "tiles", "tiles", 16, 1},
      {"iluk", "colour", NULL, 0, 0},        {"parilu", "natural", NULL, 0, 0},     {"parilu", "tiles", NULL, 8, 1},
      {"dilu", "natural", NULL, 0, 0},       {"dilu", "tiles", NULL, 8, 0},         {"fgbilu", "natural", NULL, 0, 0}};
  for (int b = 1; b <= 9; b++)
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
      const bool grid = b % 2 || strcmp(kinds[k].precond, "fgbilu") == 0;
      struct pattern pattern = grid ? pattern_grid(5, 4, 3) : pattern_random(60, 0.06);
      karst_matrix *A = pattern_random_matrix(context, &pattern, b, 1.5);
      if (!is_refused(context, A, &kinds[k])) check(context, A, &kinds[k], grid ? "grid" : "random");
      karst_matrix_destroy(A);
      pattern_free(&pattern);
    }
}

/* ---- what float cannot hold ---- */

/* The first two also on a GPU. */
static const char *const names[] = {"iluk", "parilu", "dilu", "fgbilu"};
enum { NAMES = sizeof names / sizeof *names, ON_GPU = 2, ROWS = 5 };

/* A tridiagonal matrix, 4 on the diagonal and 1 beside it. b = 2 puts it on the diagonals of the blocks. */
static karst_matrix *chain(karst_context *context, int b)
{
  struct pattern pattern = pattern_grid(ROWS, 1, 1);
  karst_matrix *A = pattern_random_matrix(context, &pattern, b, 1.5);
  for (karst_index i = 0; i < ROWS; i++)
    for (karst_index j = i > 0 ? i - 1 : 0; j < ROWS && j <= i + 1; j++)
      for (int v = 0; v < b * b; v++) set_entry(A, i, j, v, v / b != v % b ? 0 : i == j ? 4 : 1);
  pattern_free(&pattern);
  return A;
}

static void expect(karst_context *context, karst_precond *P, karst_reason reason, karst_index row, const char *what)
{
  karst_index found;
  tap_need(context, karst_precond_update(P), "update");
  const karst_reason outcome = karst_precond_outcome(P, &found);
  tap_ok(outcome == reason && found == row, "%s: %s, block row %ld", what, karst_reason_text(outcome), (long)found);
}

static void out_of_range(karst_context *context)
{
  const karst_index row = 2;
  for (int n = 0; n < (context->backend == karst_backends[0] ? NAMES : ON_GPU); n++)
    for (int b = 1; b <= 2; b++) {
      karst_matrix *A = chain(context, b);
      karst_precond *P = precond_from(context, PAIRS("precond", names[n], "factor-precision", "float"), A);
      const int last = b * b - 1;
      set_entry(A, row, row - 1, last, 1e40);
      expect(context, P, KARST_OUT_OF_RANGE, row, "L is too large");
      set_entry(A, row, row - 1, last, 1e-50);
      expect(context, P, KARST_SOUND, -1, "an entry of L vanishes");
      set_entry(A, row, row, last, 1e40);
      expect(context, P, KARST_OUT_OF_RANGE, row, "a row of D^-1 has fewer digits");
      set_entry(A, row, row, last, 1e60);
      expect(context, P, KARST_OUT_OF_RANGE, row, "a row of D^-1 vanishes");
      set_entry(A, row, row, last, 1e-60);
      expect(context, P, KARST_OUT_OF_RANGE, row, "D^-1 is too large");
      set_entry(A, row, row, last, 4);
      set_entry(A, row, row + 1, last, 1e40);
      expect(context, P, KARST_OUT_OF_RANGE, row, "U' is too large");
      set_entry(A, row, row + 1, last, NAN);
      expect(context, P, KARST_NOT_FINITE, row, "a NaN");
      set_entry(A, row, row + 1, last, 1);
      expect(context, P, KARST_SOUND, -1, "sound values again");
      karst_precond_destroy(P);
      karst_matrix_destroy(A);
    }
}

/* A solve says what to do; the row is that of the caller. */
static void explains(karst_context *context)
{
  karst_matrix *A = chain(context, 1);
  struct problem p = problem_of(context, A, 0);
  set_entry(A, 3, 2, 0, 1e50);
  karst_solver *solver =
      solver_from(context, PAIRS("precond", "iluk", "factor-precision", "float", "ordering", "rcm", "scale", "none"));
  tap_need(context, karst_solver_setup(solver, A), "setup");
  const karst_result result = solved(solver, p.b, p.x);
  tap_ok(result.reason == KARST_OUT_OF_RANGE && strstr(karst_solver_explain(solver), "block row") &&
             strstr(karst_solver_explain(solver), "use factor-precision double"),
         "%s", karst_solver_explain(solver));
  problem_end(&p, solver);
}

static void refused(karst_context *context)
{
  karst_matrix *A = chain(context, 1);
  karst_solver *solver =
      solver_from(context, PAIRS("precond", "iluk", "factor-precision", "float", "trisolve", "jacobi"));
  const karst_status status = karst_solver_setup(solver, A);
  tap_ok(status == KARST_ERROR_OPTION && strstr(karst_context_error(context), "factor-precision float"), "%s",
         karst_context_error(context));
  karst_solver_destroy(solver);
  karst_matrix_destroy(A);
}

int main(void)
{
  tap_each_device(methods, "methods");
  tap_each_device(out_of_range, "out of range");
  tap_each_device(explains, "explanation");
  tap_each_device(refused, "refusal");
  return tap_done();
}
