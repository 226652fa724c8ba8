/* lines and adi with new values: an update is a set-up from the beginning, a kept factorization stays, and errors name
 * bad blocks. Both are stages of cpr and two-stage, and refuse what has no grid. */
#include "lib/backend/backend.h"
#include "tests/support/fgbilu.h"
#include "tests/support/named_values.h"
#include "tests/support/problem.h"
#include "tests/support/refusal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The preconditioners under test: a name, a direction and an order. */
static const char *const methods[][3] = {
    {"lines", "x", "jacobi"}, {"lines", "z", "zebra"}, {"lines", "auto", "jacobi"}, {"adi", "auto", "jacobi"}};
enum { METHODS = sizeof methods / sizeof *methods };

static bool lacks_kernels(const karst_context *context, const char *what)
{
  return tap_lacks_kernels(context->backend->lines, "lines", what);
}

static karst_precond *make(karst_context *context, int m, const karst_matrix *A)
{
  return precond_from(context,
                      PAIRS("precond", methods[m][0], "line-direction", methods[m][1], "line-order", methods[m][2]), A);
}

/* Makes couplings along x stronger than the others, so that auto takes that axis with any of the values. */
static void prefer_x(const struct fgbilu_system *s)
{
  const int bb = s->b * s->b;
  for (karst_index i = 0; i < s->rows; i++)
    for (karst_index k = s->start[i]; k < s->start[i + 1]; k++)
      for (int v = 0; v < bb && labs((long)(s->cell[i] - s->cell[s->column[k]])) > 1; v++)
        s->value[(int64_t)k * bb + v] *= 0.25;
}

static void check_update(karst_context *context, int m, int b)
{
  const struct fgbilu_grid grid = {.size = {19, 4, 5}, .b = b, .holes = 0.1, .missing = 0.1};
  struct fgbilu_system s = fgbilu_random_system(&grid);
  prefer_x(&s);
  const int64_t n = (int64_t)s.rows * s.b;
  const size_t bytes = (size_t)n * sizeof(double);
  karst_matrix *A = fgbilu_matrix(context, &grid, &s);
  karst_precond *P = make(context, m, A);
  double *first = applied_to_random(P, 7, NULL), *again = applied_to_random(P, 7, NULL);
  tap_ok(memcmp(first, again, bytes) == 0, "%s %s, b = %d: apply has the same bits again", methods[m][0], methods[m][1],
         b);
  for (int64_t v = 0; v < (int64_t)s.start[s.rows] * b * b; v++) s.value[v] *= 1 + 0.1 * tap_random();
  tap_need(context, karst_matrix_update_values(A, s.value), "values");
  tap_need(context, karst_precond_keep(P), "keep");
  double *kept = applied_to_random(P, 7, NULL);
  const bool zebra = strcmp(methods[m][2], "zebra") == 0;
  tap_ok((memcmp(kept, first, bytes) == 0) == !zebra, "kept, it %s", zebra ? "reads new couplings" : "stays as it was");
  tap_need(context, karst_precond_update(P), "update");
  karst_precond *fresh = make(context, m, A);
  double *updated = applied_to_random(P, 7, NULL), *made = applied_to_random(fresh, 7, NULL);
  tap_ok(memcmp(updated, made, bytes) == 0 && memcmp(updated, first, bytes) != 0,
         "an update with new values is a set-up from the beginning");
  double *const arrays[] = {first, again, kept, updated, made};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) free(arrays[i]);
  karst_precond_destroy(fresh);
  karst_precond_destroy(P);
  karst_matrix_destroy(A);
  fgbilu_forget_system(&s);
}

static void updates(karst_context *context)
{
  static const int sizes[] = {1, 3, 6, 9};
  if (lacks_kernels(context, "new values")) return;
  for (int m = 0; m < METHODS; m++)
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) check_update(context, m, sizes[i]);
}

/* ---- bad blocks ---- */

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

/* Makes the diagonal block of a row singular, without couplings, so that d is that block. */
static void make_singular(const struct fgbilu_system *s, karst_index row)
{
  const int b = s->b;
  for (karst_index k = s->start[row]; k < s->start[row + 1]; k++)
    for (int v = 0; v < b * b; v++)
      s->value[(int64_t)k * b * b + v] = s->column[k] == row && b > 1 ? 1 + (double)(v % b) : 0;
}

static karst_index row_of_cell(const struct fgbilu_system *s, karst_index cell)
{
  karst_index row = 0;
  while (s->cell[row] != cell) row++;
  return row;
}

/* Rows are shuffled. Cells 37 and 38 are neighbours along x, and 32 and 62 along z. */
static void check_bad(karst_context *context, int m, int b)
{
  const struct fgbilu_grid grid = {.size = {6, 5, 4}, .b = b, .shuffled = true};
  const bool along_z = methods[m][1][0] == 'z';
  struct fgbilu_system s = fgbilu_random_system(&grid);
  const size_t bytes = (size_t)s.start[s.rows] * (size_t)(b * b) * sizeof *s.value;
  double *good = tap_memory((int64_t)(bytes / sizeof *good), sizeof *good);
  memcpy(good, s.value, bytes);
  const karst_index one = row_of_cell(&s, along_z ? 32 : 37), next = row_of_cell(&s, along_z ? 62 : 38),
                    far = row_of_cell(&s, 119), first = one < far ? one : far;
  karst_matrix *A = fgbilu_matrix(context, &grid, &s);
  karst_precond *P = make(context, m, A);
  karst_vector *r = vector_of(context, (int64_t)s.rows * b, 0), *z = vector_of(context, (int64_t)s.rows * b, 0);
  make_singular(&s, far);
  check_outcome(context, &s, A, P, KARST_SINGULAR_BLOCK, far, "a singular block");
  tap_ok(karst_precond_apply(P, r, z) == KARST_ERROR_MATRIX, "and apply is refused");
  make_singular(&s, one);
  check_outcome(context, &s, A, P, KARST_SINGULAR_BLOCK, first, "the first of two");
  memcpy(s.value, good, bytes);
  fgbilu_block(&s, far, far)[b * b - 1] = NAN;
  check_outcome(context, &s, A, P, KARST_NOT_FINITE, far, "a NaN in a diagonal block");
  memcpy(s.value, good, bytes);
  fgbilu_block(&s, next, one)[0] = INFINITY;
  check_outcome(context, &s, A, P, KARST_NOT_FINITE, next, "an infinity below the diagonal");
  memcpy(s.value, good, bytes);
  fgbilu_block(&s, one, next)[b * b - 1] = NAN;
  check_outcome(context, &s, A, P, KARST_NOT_FINITE, one, "a NaN above the diagonal");
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

/* With direction auto the axis would follow from the values. */
static void bad_blocks(karst_context *context)
{
  static const int sizes[] = {1, 3, 6, 9, 17};
  if (lacks_kernels(context, "bad blocks")) return;
  for (int m = 0; m < METHODS; m++)
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
      if (m != 2) check_bad(context, m, sizes[i]);
}

/* A d that is zero but for rounding is judged beside its sums: 7 - 35 / 5. */
static void cancelled(karst_context *context)
{
  static const karst_index start[] = {0, 2, 4}, column[] = {0, 1, 0, 1};
  static const double value[] = {5.1, 7 * 1.7, 5.1 / 1.7, 7};
  karst_index row;
  if (lacks_kernels(context, "a pivot that cancels")) return;
  karst_matrix *A = matrix_of(context, 2, 1, start, column, value);
  karst_precond *P = make(context, 0, A);
  const karst_reason reason = karst_precond_outcome(P, &row);
  tap_ok(reason == KARST_SINGULAR_BLOCK && row == 1, "a pivot of rounding errors: row %lld", (long long)row);
  karst_precond_destroy(P);
  karst_matrix_destroy(A);
}

/* d = 1e-300 is sound, but not its quotient with 1e300. */
static void overflow(karst_context *context)
{
  static const karst_index start[] = {0, 2, 4}, column[] = {0, 1, 0, 1};
  static const double value[] = {1e-300, 1e300, 0, 1};
  karst_index row;
  if (lacks_kernels(context, "an overflow")) return;
  karst_matrix *A = matrix_of(context, 2, 1, start, column, value);
  karst_precond *P = make(context, 0, A);
  const karst_reason reason = karst_precond_outcome(P, &row);
  tap_ok(reason == KARST_NOT_FINITE && row == 0, "factors that overflow: row %lld", (long long)row);
  karst_precond_destroy(P);
  karst_matrix_destroy(A);
}

/* A block of D that is singular, in rows that their couplings make regular along each axis: M of adi has its inverse,
 * unless there is one axis. */
static void singular_diagonal(karst_context *context)
{
  static const struct {
    int b;
    karst_index size[3];
    bool sound;
  } cases[] = {{1, {6, 5, 4}, false}, {3, {6, 5, 4}, false}, {9, {6, 5, 4}, false}, {1, {12, 1, 1}, true}};
  if (lacks_kernels(context, "a singular diagonal block")) return;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct fgbilu_grid grid = {.b = cases[i].b};
    memcpy(grid.size, cases[i].size, sizeof grid.size);
    struct fgbilu_system s = fgbilu_random_system(&grid);
    karst_matrix *A = fgbilu_matrix(context, &grid, &s);
    karst_precond *P = make(context, 3, A);
    const karst_index last = s.rows - 1, middle = s.rows / 2;
    double *const blocks[] = {fgbilu_block(&s, last, last), fgbilu_block(&s, middle, middle)};
    for (int j = 0; j < 2; j++) {
      for (int v = 0; v < s.b * s.b; v++) blocks[j][v] = 0;
      const karst_index row = j == 0 ? last : middle;
      check_outcome(context, &s, A, P, cases[i].sound ? KARST_SOUND : KARST_SINGULAR_BLOCK, cases[i].sound ? -1 : row,
                    "zero diagonal blocks");
    }
    karst_precond *fresh = make(context, 3, A);
    karst_index found;
    tap_ok(karst_precond_outcome(fresh, &found) == (cases[i].sound ? KARST_SOUND : KARST_SINGULAR_BLOCK) &&
               found == (cases[i].sound ? -1 : middle),
           "and a set-up finds the same");
    karst_precond_destroy(fresh);
    karst_precond_destroy(P);
    karst_matrix_destroy(A);
    fgbilu_forget_system(&s);
  }
}

/* ---- beside other methods ---- */

static void as_stages(karst_context *context)
{
  static const char *const stages[][2] = {
      {"cpr", "lines"}, {"cpr", "adi"}, {"two-stage", "lines"}, {"two-stage", "adi"}};
  if (lacks_kernels(context, "as stages")) return;
  struct problem p = problem_from(context, "blackoil:7x6x5", 0, 3);
  for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
    karst_solver *solver = solver_from(context, PAIRS("solver", "fgmres", "precond", stages[i][0], "second.precond",
                                                      stages[i][1], "ordering", i % 2 ? "rcm" : "natural"));
    tap_need(context, karst_solver_setup(solver, p.A), "setup");
    const karst_result result = problem_solve(&p, solver);
    tap_ok(result.reason == KARST_CONVERGED_RTOL, "%s with %s: %d iterations", stages[i][0], stages[i][1],
           result.iterations);
    tap_ok(i % 2 ? tap_solver_number(solver, "second_lines_x") == 30
                 : strlen(tap_solver_text(solver, "second_line_direction_used")) == 1,
           "and its report");
    tap_need(context, karst_solver_update(solver), "update");
    tap_ok(problem_solve(&p, solver).iterations == result.iterations, "the same after an update");
    karst_solver_destroy(solver);
  }
  karst_solver *solver = solver_from(context, PAIRS("precond", "cpr", "first.precond", "lines", "first.line-order",
                                                    "zebra", "second.precond", "lines"));
  tap_need(context, karst_solver_setup(solver, p.A), "setup");
  const karst_result result = problem_solve(&p, solver);
  tap_ok(result.reason == KARST_CONVERGED_RTOL, "lines for the pressures: %d iterations", result.iterations);
  problem_end(&p, solver);
}

static void refusals(karst_context *context)
{
  static const karst_index start[] = {0, 2, 4, 6, 8, 10}, column[] = {0, 3, 0, 1, 0, 2, 3, 4, 1, 4};
  static const double ones[10] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  if (lacks_kernels(context, "refusals")) return;
  for (int m = 0; m < METHODS; m++) {
    karst_matrix *A = matrix_of(context, 5, 1, start, column, ones), *B = matrix_from(context, "poisson2d:6x4", 1);
    karst_solver *solver = solver_from(
        context, PAIRS("precond", methods[m][0], "line-direction", methods[m][1], "line-order", methods[m][2]));
    check_refusal(context, karst_solver_setup(solver, A), KARST_ERROR_MATRIX, NULL,
                  "no grid in natural order has the matrix's pattern", "a matrix without a grid");
    karst_solver_destroy(solver);
    karst_matrix_forget_grid(B);
    solver = solver_from(context, PAIRS("precond", methods[m][0], "ordering", "rcm"));
    check_refusal(context, karst_solver_setup(solver, B), KARST_ERROR_MATRIX, NULL,
                  "finds the grid of a matrix only where no ordering permutes", "an ordering without a grid");
    karst_solver_destroy(solver);
    karst_matrix_destroy(A);
    karst_matrix_destroy(B);
  }
}

static void without_kernels(void)
{
  karst_context *context = tap_context();
  karst_matrix *A = matrix_from(context, "poisson2d:3x3", 1);
  struct karst_backend bare = *context->backend;
  bare.lines = NULL;
  for (int m = 0; m < METHODS; m++) {
    karst_precond *P = NULL;
    karst_options *options =
        options_of(context, PAIRS("precond", methods[m][0], "line-direction", methods[m][1], "line-order", "jacobi"));
    context->backend = &bare;
    check_refusal(context, karst_precond_create(context, options, A, &P), KARST_ERROR_NOT_BUILT, P,
                  "is not available on cpu", methods[m][0]);
    context->backend = karst_backends[0];
    karst_options_destroy(options);
  }
  karst_matrix_destroy(A);
  karst_context_destroy(context);
}

static void shared_analysis(karst_context *context)
{
  if (lacks_kernels(context, "a shared analysis")) return;
  for (int m = 0; m < METHODS; m++) {
    karst_analysis *analysis;
    const char *const *pairs =
        PAIRS("precond", methods[m][0], "line-direction", methods[m][1], "line-order", methods[m][2]);
    struct problem p = problem_from(context, "poisson3d:6x5x4", 1, 3);
    karst_matrix *B = matrix_from(context, "poisson3d:6x5x4", 1);
    karst_solver *first = solver_from(context, pairs), *second = solver_from(context, pairs);
    tap_need(context, karst_solver_setup(first, p.A), "setup");
    tap_need(context, karst_solver_get_analysis(first, &analysis), "analysis");
    const karst_result alone = problem_solve(&p, first);
    karst_solver_destroy(first);
    tap_need(context, karst_solver_setup_with(second, B, analysis), "setup with an analysis");
    tap_ok(problem_solve(&p, second).iterations == alone.iterations, "%s, %s, %s: an analysis is shared", methods[m][0],
           methods[m][1], methods[m][2]);
    karst_solver_destroy(second);
    if (m < 2) {
      second = solver_from(context, PAIRS("precond", "lines", "line-direction", "y", "line-order", methods[m][2]));
      check_refusal(context, karst_solver_setup_with(second, B, analysis), KARST_ERROR_ARGUMENT, NULL, "line-direction",
                    "an analysis for another direction");
      karst_solver_destroy(second);
      second = solver_from(context,
                           PAIRS("precond", "lines", "line-direction", methods[m][1], "line-order", methods[1 - m][2]));
      check_refusal(context, karst_solver_setup_with(second, B, analysis), KARST_ERROR_ARGUMENT, NULL, "line-order",
                    "an analysis for another order");
      karst_solver_destroy(second);
    }
    karst_analysis_destroy(analysis);
    karst_matrix_destroy(B);
    problem_destroy(&p);
  }
}

int main(void)
{
  tap_each_device(updates, "new values");
  tap_each_device(bad_blocks, "bad blocks");
  tap_each_device(singular_diagonal, "a singular diagonal block");
  tap_each_device(cancelled, "a pivot that cancels");
  tap_each_device(overflow, "an overflow");
  tap_each_device(as_stages, "as stages");
  tap_each_device(refusals, "refusals");
  without_kernels();
  tap_each_device(shared_analysis, "a shared analysis");
  return tap_done();
}
