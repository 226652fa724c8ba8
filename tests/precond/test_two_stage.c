/* The preconditioner two-stage is z = M1^-1 r, z = z + M2^-1 (r - A z), with the options of its stages under their
 * names, with stages that are two-stage themselves, and with stages that a program has registered. */
#include "tests/support/failing_allocator.h"
#include "tests/support/named_values.h"
#include "tests/support/problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Computes z by public calls from both stages and the product with A. */
static void compose(karst_context *context, const karst_matrix *A, const karst_precond *const stage[2],
                    const karst_vector *r, karst_vector *z)
{
  karst_vector *rest = vector_of(context, karst_matrix_rows(A), 0), *step = vector_of(context, karst_matrix_rows(A), 0);
  tap_need(context, karst_precond_apply(stage[0], r, z), "first stage");
  tap_need(context, karst_matrix_residual(A, r, z, rest, NULL), "residual");
  tap_need(context, karst_precond_apply(stage[1], rest, step), "second stage");
  tap_need(context, karst_vector_add(1, step, z), "sum");
  karst_vector_destroy(rest);
  karst_vector_destroy(step);
}

/* |x - y| / |y|; x is lost. */
static double difference(karst_context *context, karst_vector *x, const karst_vector *y)
{
  const double norm = vector_norm(y);
  tap_need(context, karst_vector_add(-1, y, x), "difference");
  const double gap = vector_norm(x);
  return gap / norm;
}

/* Both do the same operations, but a GPU may fuse a product otherwise, which changes its rounding. */
static const double tolerance = 1e-14;

static void test_composition(karst_context *context, const char *gallery, int b)
{
  static const char *const both[] = {"precond", "two-stage", "second.level", "1", "level", "7", NULL};
  static const char *const first[] = {"precond", "jacobi", NULL};
  static const char *const second[] = {"level", "1", NULL};
  karst_solver_info info, part[2];
  karst_matrix *A = matrix_from(context, gallery, b);
  karst_vector *r = vector_of(context, karst_matrix_rows(A), 0), *z = vector_of(context, karst_matrix_rows(A), 0),
               *expected = vector_of(context, karst_matrix_rows(A), 0);
  karst_precond *M = precond_from(context, both, A);
  karst_precond *stage[] = {precond_from(context, first, A), precond_from(context, second, A)};
  tap_need(context, karst_vector_fill_random(r, 5), "r");
  for (int values = 0; values < 2; values++) {
    tap_need(context, karst_precond_apply(M, r, z), "apply");
    compose(context, A, (const karst_precond *const *)stage, r, expected);
    double gap = difference(context, z, expected);
    tap_ok(gap <= tolerance, "%s in blocks of %d%s: both stages one after the other, up to %.1e", gallery, b,
           values ? ", with new values" : "", gap);
    if (values) break;
    const int64_t entries = (int64_t)b * b * karst_matrix_blocks(A);
    double *value = values_on_host(A);
    for (int64_t i = 0; i < entries; i++) value[i] *= 1 + 0.1 * sin((double)i);
    tap_need(context, karst_matrix_update_values(A, value), "new values");
    tap_ok(karst_precond_apply(M, r, z) == KARST_ERROR_ARGUMENT, "new values need an update");
    tap_need(context, karst_precond_update(M), "update");
    for (int i = 0; i < 2; i++) tap_need(context, karst_precond_update(stage[i]), "update");
    free(value);
  }
  tap_need(context, karst_precond_get_info(M, &info), "info");
  for (int i = 0; i < 2; i++) tap_need(context, karst_precond_get_info(stage[i], &part[i]), "info");
  tap_ok(info.factor_entries == part[0].factor_entries + part[1].factor_entries &&
             info.memory > part[0].memory + part[1].memory,
         "its memory and entries are those of both stages");
  for (int i = 0; i < 2; i++) karst_precond_destroy(stage[i]);
  karst_precond_destroy(M);
  karst_vector_destroy(r);
  karst_vector_destroy(z);
  karst_vector_destroy(expected);
  karst_matrix_destroy(A);
}

/* Stages that are two-stage: the same as composing one with the other by hand. */
static void test_nested(karst_context *context)
{
  static const char *const all[] = {"precond",
                                    "two-stage",
                                    "first.precond",
                                    "two-stage",
                                    "first.first",
                                    "none",
                                    "first.second",
                                    "jacobi",
                                    "second.precond",
                                    "two-stage",
                                    "second.first.precond",
                                    "iluk",
                                    "second.second.level",
                                    "2",
                                    NULL};
  static const char *const first[] = {"precond", "two-stage", "first", "none", "second", "jacobi", NULL};
  static const char *const second[] = {"precond", "two-stage", "first", "iluk", "second.level", "2", NULL};
  karst_matrix *A = matrix_from(context, "convdiff:7x6x5", 1);
  karst_vector *r = vector_of(context, karst_matrix_rows(A), 0), *z = vector_of(context, karst_matrix_rows(A), 0),
               *expected = vector_of(context, karst_matrix_rows(A), 0);
  karst_precond *M = precond_from(context, all, A);
  karst_precond *stage[] = {precond_from(context, first, A), precond_from(context, second, A)};
  tap_need(context, karst_vector_fill_random(r, 6), "r");
  tap_need(context, karst_precond_apply(M, r, z), "apply");
  compose(context, A, (const karst_precond *const *)stage, r, expected);
  double gap = difference(context, z, expected);
  tap_ok(gap <= tolerance, "four stages, two and two: up to %.1e", gap);
  for (int i = 0; i < 2; i++) karst_precond_destroy(stage[i]);
  karst_precond_destroy(M);
  karst_vector_destroy(r);
  karst_vector_destroy(z);
  karst_vector_destroy(expected);
  karst_matrix_destroy(A);
}

static karst_status solve(karst_context *context, const karst_matrix *A, const char *const *pairs, karst_result *result)
{
  karst_solver *solver = solver_from(context, pairs);
  karst_vector *b = vector_of(context, karst_matrix_rows(A), 0), *x = vector_of(context, karst_matrix_rows(A), 0);
  tap_need(context, karst_vector_fill_random(b, 3), "b");
  karst_status status = karst_solver_setup(solver, A);
  *result = (karst_result){.reason = KARST_SOUND};
  if (!status) status = karst_solver_solve(solver, b, x, result);
  karst_solver_destroy(solver);
  karst_vector_destroy(b);
  karst_vector_destroy(x);
  return status;
}

static void test_in_solvers(karst_context *context)
{
  static const char *const solvers[] = {"gmres", "fgmres", "bicgstab", "orthomin", "richardson"};
  static const char *const scales[] = {"none", "diagonal", "block", "none", "block"};
  karst_result two, one;
  karst_matrix *A = matrix_from(context, "blackoil:6x6x4", 0);
  for (int i = 0; i < 5; i++) {
    const char *pairs[] = {"solver", solvers[i], "scale", scales[i], "ordering", "rcm", "precond", "two-stage", NULL};
    tap_need(context, solve(context, A, pairs, &two), "solve");
    pairs[7] = "iluk";
    tap_need(context, solve(context, A, pairs, &one), "solve");
    tap_ok(two.reason == KARST_CONVERGED_RTOL && two.iterations <= one.iterations,
           "%s, scale %s: %d iterations, %d with the second stage alone", solvers[i], scales[i], two.iterations,
           one.iterations);
  }
  karst_matrix_destroy(A);
}

/* The outcome of a stage is that of the whole. The second block row is singular. */
static void test_outcome(karst_context *context)
{
  static const karst_index start[] = {0, 1, 2, 3}, column[] = {0, 1, 2}, hole[] = {0, 1, 1};
  static const double value[] = {2, 0, 3};
  static const char *const pairs[][9] = {
      {"precond", "two-stage", "first", "none", "second", "iluk", "ordering", "natural", NULL},
      {"precond", "two-stage", "first", "jacobi", "second", "none", "ordering", "rcm", NULL}};
  karst_matrix *A;
  karst_result result;
  for (int i = 0; i < 2; i++) {
    A = matrix_of(context, 3, 1, start, column, value);
    tap_need(context, solve(context, A, pairs[i], &result), "solve");
    tap_ok(result.reason == KARST_SINGULAR_BLOCK && result.block_row == 1, "a singular block in stage %d is named",
           2 - i);
    karst_matrix_destroy(A);
    A = matrix_of(context, 3, 1, start, hole, value);
    const karst_status status = solve(context, A, pairs[i], &result);
    tap_ok(status == KARST_ERROR_MATRIX && strstr(karst_context_error(context), "block row 2"),
           "so is a diagonal block that is missing: %s", karst_context_error(context));
    karst_matrix_destroy(A);
  }
}

/* A stage's explanation of its outcome reaches the solver. The matrix of one row is not positive. */
static void test_explanation(karst_context *context)
{
  static const karst_index start[] = {0, 1}, column[] = {0};
  static const double value[] = {-1};
  static const char *const pairs[] = {"precond", "two-stage", "first", "rrb", "second", "none", NULL};
  struct problem p = problem_of(context, matrix_of(context, 1, 1, start, column, value), 0);
  tap_need(context, karst_matrix_set_grid(p.A, 1, 1, 1), "grid");
  karst_solver *solver = solver_from(context, pairs);
  if (karst_solver_setup(solver, p.A) == KARST_ERROR_NOT_BUILT) {
    tap_skip("the device has no kernels of rrb", "the explanation of a stage");
  } else {
    const karst_result result = problem_solve(&p, solver);
    tap_ok(result.reason == KARST_INDEFINITE_PRECOND && strstr(karst_solver_explain(solver), "node (1, 1)"),
           "the node that a stage names: %s", karst_solver_explain(solver));
  }
  karst_solver_destroy(solver);
  problem_destroy(&p);
}

/* A stage of the program's: z = r / 2, or in turns z = r if it varies. */
static struct {
  int varies, fail, calls;
} own;

static karst_status own_setup(karst_precond *p)
{
  karst_precond_set_varies(p, own.varies);
  return KARST_SUCCESS;
}

static karst_status own_update(karst_precond *p)
{
  karst_precond_set_entries(p, 1000);
  karst_precond_set_memory(p, 1000000);
  return KARST_SUCCESS;
}

static karst_status own_apply(karst_precond *p, const karst_vector *r, karst_vector *z)
{
  if (own.fail) return karst_context_fail(karst_precond_context(p), KARST_ERROR_FILE, "the licence ran out");
  karst_status status = karst_vector_copy(r, z);
  return status || (own.varies && own.calls++ % 2) ? status : karst_vector_scale(0.5, z);
}

static void test_own_stage(karst_context *context)
{
  karst_precond_method half = copying_method("half");
  half.setup = own_setup;
  half.update = own_update;
  half.apply = own_apply;
  static const char *const pairs[] = {"precond", "two-stage", "first", "half", "solver", "gmres", NULL};
  static const char *const flexible[] = {"precond", "two-stage", "first", "half", "solver", "fgmres", NULL};
  karst_result result;
  tap_need(context, karst_precond_register(context, &half), "registration");
  karst_matrix *A = matrix_from(context, "convdiff:6x5x4", 1);
  tap_need(context, solve(context, A, pairs, &result), "solve");
  tap_ok(result.reason == KARST_CONVERGED_RTOL, "a registered method is a stage");
  karst_precond *M = precond_from(context, pairs, A);
  karst_solver_info info;
  tap_need(context, karst_precond_get_info(M, &info), "info");
  tap_ok(info.factor_entries == 1000 + karst_matrix_blocks(A) && info.memory > 1000000 && info.memory < 2000000,
         "memory and entries of its update are counted");
  karst_precond_destroy(M);
  own.varies = 1;
  karst_status status = solve(context, A, pairs, &result);
  tap_ok(status == KARST_ERROR_OPTION && strstr(karst_context_error(context), "two-stage varies"),
         "it varies if a stage does: %s", karst_context_error(context));
  tap_need(context, solve(context, A, flexible, &result), "solve");
  tap_ok(result.reason == KARST_CONVERGED_RTOL, "and fgmres accepts it");
  own.varies = 0;
  own.fail = 1;
  status = solve(context, A, pairs, &result);
  tap_ok(status == KARST_ERROR_FILE && strstr(karst_context_error(context), "the licence ran out"),
         "a stage that fails ends the solve");
  own.fail = 0;
  karst_matrix_destroy(A);
}

/* A method of the program's that calls an inner preconditioner. The first update makes it, because the matrix has
 * values then. */
static karst_status through_update(karst_precond *p)
{
  karst_options *const *inner = karst_precond_settings(p);
  karst_precond *made = karst_precond_data(p);
  if (made) return karst_precond_update(made);
  karst_status status = karst_precond_create(karst_precond_context(p), *inner, karst_precond_matrix(p), &made);
  karst_precond_set_data(p, made);
  return status;
}

static karst_status through_apply(karst_precond *p, const karst_vector *r, karst_vector *z)
{
  return karst_precond_apply(karst_precond_data(p), r, z);
}

static void through_destroy(karst_precond *p) { karst_precond_destroy(karst_precond_data(p)); }

static void test_through(karst_context *context)
{
  static const karst_option rows[] = {{"inner", KARST_OPTION_PRECOND, 0, 0, NULL, 0, "jacobi", "what is inside", NULL},
                                      {0}};
  karst_precond_method through = copying_method("through");
  through.options = rows;
  through.settings = sizeof(karst_options *);
  through.setup = own_update;
  through.update = through_update;
  through.apply = through_apply;
  through.destroy = through_destroy;
  static const char *const pairs[] = {"ordering", "rcm",  "scale",       "diagonal", "precond", "through",
                                      "inner",    "iluk", "inner.level", "1",        NULL};
  static const char *const plain[] = {"ordering", "rcm", "scale", "diagonal", "precond", "iluk", "level", "1", NULL};
  karst_result results[2];
  tap_need(context, karst_precond_register(context, &through), "registration");
  struct problem p = problem_from(context, "blackoil:5x5x4", 0, 3);
  for (int i = 0; i < 2; i++) {
    karst_solver *solver = solver_from(context, i ? plain : pairs);
    tap_need(context, karst_solver_setup(solver, p.A), "setup");
    tap_need(context, karst_solver_update(solver), "update");
    results[i] = problem_solve(&p, solver);
    karst_solver_destroy(solver);
  }
  tap_ok(results[0].reason == KARST_CONVERGED_RTOL && results[0].iterations == results[1].iterations,
         "a method takes the iterations of its inner preconditioner: %d and %d", results[0].iterations,
         results[1].iterations);
  problem_destroy(&p);
}

/* If the first stage fails, the second is not updated, and reports nothing of its last update. */
static void test_report_of_failure(karst_context *context)
{
  static const karst_index start[] = {0, 1, 2}, column[] = {0, 1};
  static const double value[] = {2, 3}, singular[] = {2, 0};
  static const char *const pairs[] = {"precond", "two-stage", "first", "jacobi", "second", "iluk", NULL};
  karst_matrix *A = matrix_of(context, 2, 1, start, column, value);
  karst_precond *M = precond_from(context, pairs, A);
  const double before = tap_precond_number(M, "second_shifted");
  tap_need(context, karst_matrix_update_values(A, singular), "values");
  tap_need(context, karst_precond_update(M), "update");
  karst_index row;
  tap_ok(before >= 0 && karst_precond_outcome(M, &row) == KARST_SINGULAR_BLOCK && row == 1 &&
             tap_precond_number(M, "second_shifted") < 0,
         "the second stage's values of an earlier update are not reported");
  karst_precond_destroy(M);
  karst_matrix_destroy(A);
}

static void test_all(karst_context *context)
{
  test_composition(context, "convdiff:7x6x5", 1);
  test_composition(context, "blackoil:5x4x3", 3);
  test_nested(context);
  test_in_solvers(context);
  test_outcome(context);
  test_explanation(context);
  test_own_stage(context);
  test_through(context);
  test_report_of_failure(context);
}

/* Each allocation fails once. */
static void test_memory(void)
{
  static const char *const pairs[] = {"precond", "two-stage", "first", "two-stage", "second.level", "1", NULL};
  int failures = 0, leaks = 0, others = 0;
  for (bool done = false; !done;) {
    struct failing_allocator memory = {.fail_at = 0};
    karst_precond *M;
    karst_context *context = failing_context(&memory);
    karst_matrix *A = matrix_from(context, "poisson2d:4x4", 1);
    karst_options *options = options_of(context, pairs);
    memory.fail_at = memory.calls + ++failures;
    karst_status status = karst_precond_create(context, options, A, &M);
    done = status == KARST_SUCCESS;
    others += !done && status != KARST_ERROR_NO_MEMORY;
    karst_precond_destroy(M);
    karst_options_destroy(options);
    karst_matrix_destroy(A);
    karst_context_destroy(context);
    leaks += memory.outstanding != 0;
  }
  tap_ok(failures > 20 && leaks == 0 && others == 0, "each of %d allocations fails once, and nothing leaks", failures);
}

int main(void)
{
  tap_each_device(test_all, "two stages");
  test_memory();
  return tap_done();
}
