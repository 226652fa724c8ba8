/* The preconditioner two-stage is z = M1^-1 r, z = z + M2^-1 (r - A z), with the options of its stages under their
 * names, with stages that are two-stage themselves, and with stages that a program has registered. */
#include "tests/support/failing_allocator.h"
#include "tests/support/problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static karst_options *make_options(karst_context *context, const char *const (*pairs)[2], int count)
{
  karst_options *options;
  tap_need(context, karst_options_create(context, &options), "options");
  for (int i = 0; i < count; i++) tap_need(context, karst_options_set(options, pairs[i][0], pairs[i][1]), pairs[i][0]);
  return options;
}

static karst_vector *make_vector(karst_context *context, const karst_matrix *A)
{
  return vector_of(context, karst_matrix_rows(A), 0);
}

static karst_precond *make_precond(const karst_matrix *A, karst_context *context, const char *const (*pairs)[2],
                                   int count)
{
  karst_options *options = make_options(context, pairs, count);
  karst_precond *M;
  tap_need(context, karst_precond_create(context, options, A, &M), "preconditioner");
  karst_options_destroy(options);
  return M;
}

/* z by public calls alone, from both stages and the product with A. */
static void compose(karst_context *context, const karst_matrix *A, const karst_precond *const stage[2],
                    const karst_vector *r, karst_vector *z)
{
  karst_vector *rest = make_vector(context, A), *step = make_vector(context, A);
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
  double norm, gap;
  tap_need(context, karst_vector_norm(y, &norm), "norm");
  tap_need(context, karst_vector_add(-1, y, x), "difference");
  tap_need(context, karst_vector_norm(x, &gap), "norm");
  return gap / norm;
}

/* Rounding of a product apart, which a GPU may fuse otherwise, both do the same operations. */
static const double tolerance = 1e-14;

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

static void test_composition(karst_context *context, const char *gallery, int b)
{
  static const char *const both[][2] = {{"precond", "two-stage"}, {"second.level", "1"}, {"level", "7"}};
  static const char *const first[][2] = {{"precond", "jacobi"}}, *const second[][2] = {{"level", "1"}};
  karst_solver_info info, part[2];
  karst_matrix *A = matrix_from(context, gallery, b);
  karst_vector *r = make_vector(context, A), *z = make_vector(context, A), *expected = make_vector(context, A);
  karst_precond *M = make_precond(A, context, both, COUNT(both));
  karst_precond *stage[] = {make_precond(A, context, first, 1), make_precond(A, context, second, 1)};
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
         "it holds what both hold");
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
  static const char *const all[][2] = {{"precond", "two-stage"},        {"first.precond", "two-stage"},
                                       {"first.first", "none"},         {"first.second", "jacobi"},
                                       {"second.precond", "two-stage"}, {"second.first.precond", "iluk"},
                                       {"second.second.level", "2"}};
  static const char *const first[][2] = {{"precond", "two-stage"}, {"first", "none"}, {"second", "jacobi"}};
  static const char *const second[][2] = {{"precond", "two-stage"}, {"first", "iluk"}, {"second.level", "2"}};
  karst_matrix *A = matrix_from(context, "convdiff:7x6x5", 1);
  karst_vector *r = make_vector(context, A), *z = make_vector(context, A), *expected = make_vector(context, A);
  karst_precond *M = make_precond(A, context, all, COUNT(all));
  karst_precond *stage[] = {make_precond(A, context, first, 3), make_precond(A, context, second, 3)};
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

static int solve(karst_context *context, const karst_matrix *A, const char *const (*pairs)[2], int count,
                 karst_result *result)
{
  karst_options *options = make_options(context, pairs, count);
  karst_vector *b = make_vector(context, A), *x = make_vector(context, A);
  karst_solver *solver;
  tap_need(context, karst_vector_fill_random(b, 3), "b");
  tap_need(context, karst_solver_create(context, options, &solver), "solver");
  karst_options_destroy(options);
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
    const char *const pairs[][2] = {
        {"solver", solvers[i]}, {"scale", scales[i]}, {"ordering", "rcm"}, {"precond", "two-stage"}};
    const char *const single[][2] = {
        {"solver", solvers[i]}, {"scale", scales[i]}, {"ordering", "rcm"}, {"precond", "iluk"}};
    tap_need(context, solve(context, A, pairs, 4, &two), "solve");
    tap_need(context, solve(context, A, single, 4, &one), "solve");
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
  static const char *const pairs[][4][2] = {
      {{"precond", "two-stage"}, {"first", "none"}, {"second", "iluk"}, {"ordering", "natural"}},
      {{"precond", "two-stage"}, {"first", "jacobi"}, {"second", "none"}, {"ordering", "rcm"}}};
  karst_matrix *A;
  karst_result result;
  for (int i = 0; i < 2; i++) {
    tap_need(context, karst_matrix_create(context, 3, 1, start, column, value, KARST_COPY, &A), "matrix");
    tap_need(context, solve(context, A, pairs[i], 4, &result), "solve");
    tap_ok(result.reason == KARST_SINGULAR_BLOCK && result.block_row == 1, "a singular block in stage %d is named",
           2 - i);
    karst_matrix_destroy(A);
    tap_need(context, karst_matrix_create(context, 3, 1, start, hole, value, KARST_COPY, &A), "matrix");
    karst_status status = (karst_status)solve(context, A, pairs[i], 4, &result);
    tap_ok(status == KARST_ERROR_MATRIX && strstr(karst_context_error(context), "block row 2"),
           "so is a diagonal block that is missing: %s", karst_context_error(context));
    karst_matrix_destroy(A);
  }
}

/* What a stage has to add about its outcome reaches the solver. The matrix of one row is not positive. */
static void test_explanation(karst_context *context)
{
  static const karst_index start[] = {0, 1}, column[] = {0};
  static const double value[] = {-1};
  static const char *const pairs[][2] = {{"precond", "two-stage"}, {"first", "rrb"}, {"second", "none"}};
  karst_matrix *A;
  karst_solver *solver;
  karst_result result;
  tap_need(context, karst_matrix_create(context, 1, 1, start, column, value, KARST_COPY, &A), "matrix");
  tap_need(context, karst_matrix_set_grid(A, 1, 1, 1), "grid");
  karst_options *options = make_options(context, pairs, 3);
  karst_vector *b = make_vector(context, A), *x = make_vector(context, A);
  tap_need(context, karst_vector_fill(b, 1), "b");
  tap_need(context, karst_solver_create(context, options, &solver), "solver");
  if (karst_solver_setup(solver, A) == KARST_ERROR_NOT_BUILT) {
    tap_skip("the device has no kernels of rrb", "the explanation of a stage");
  } else {
    tap_need(context, karst_solver_solve(solver, b, x, &result), "solve");
    tap_ok(result.reason == KARST_INDEFINITE_PRECOND && strstr(karst_solver_explain(solver), "node (1, 1)"),
           "the node that a stage names: %s", karst_solver_explain(solver));
  }
  karst_solver_destroy(solver);
  karst_options_destroy(options);
  karst_vector_destroy(b);
  karst_vector_destroy(x);
  karst_matrix_destroy(A);
}

/* A stage of the program's: z = r / 2, in turns z = r where it varies. */
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

static void own_destroy(karst_precond *p) { (void)p; }

static void test_own_stage(karst_context *context)
{
  static const karst_precond_method half = {.name = "half",
                                            .help = "z = r / 2",
                                            .setup = own_setup,
                                            .update = own_update,
                                            .apply = own_apply,
                                            .destroy = own_destroy};
  static const char *const pairs[][2] = {{"precond", "two-stage"}, {"first", "half"}, {"solver", "gmres"}};
  static const char *const flexible[][2] = {{"precond", "two-stage"}, {"first", "half"}, {"solver", "fgmres"}};
  karst_result result;
  tap_need(context, karst_precond_register(context, &half), "registration");
  karst_matrix *A = matrix_from(context, "convdiff:6x5x4", 1);
  tap_need(context, solve(context, A, pairs, 3, &result), "solve");
  tap_ok(result.reason == KARST_CONVERGED_RTOL, "a registered method is a stage");
  karst_precond *M = make_precond(A, context, pairs, 2);
  karst_solver_info info;
  tap_need(context, karst_precond_get_info(M, &info), "info");
  tap_ok(info.factor_entries == 1000 + karst_matrix_blocks(A) && info.memory > 1000000 && info.memory < 2000000,
         "what it takes in its update counts");
  karst_precond_destroy(M);
  own.varies = 1;
  karst_status status = (karst_status)solve(context, A, pairs, 3, &result);
  tap_ok(status == KARST_ERROR_OPTION && strstr(karst_context_error(context), "two-stage varies"),
         "it varies if a stage does: %s", karst_context_error(context));
  tap_need(context, solve(context, A, flexible, 3, &result), "solve");
  tap_ok(result.reason == KARST_CONVERGED_RTOL, "and fgmres takes it");
  own.varies = 0;
  own.fail = 1;
  status = (karst_status)solve(context, A, pairs, 3, &result);
  tap_ok(status == KARST_ERROR_FILE && strstr(karst_context_error(context), "the licence ran out"),
         "a stage that fails ends the solve");
  own.fail = 0;
  karst_matrix_destroy(A);
}

/* A method of the program's that hands all to a preconditioner inside, made in the first update: its matrix has values
 * then. */
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
  static const karst_precond_method through = {.name = "through",
                                               .help = "what is inside",
                                               .options = rows,
                                               .settings = sizeof(karst_options *),
                                               .setup = own_update,
                                               .update = through_update,
                                               .apply = through_apply,
                                               .destroy = through_destroy};
  static const char *const pairs[][2] = {
      {"ordering", "rcm"}, {"scale", "diagonal"}, {"precond", "through"}, {"inner", "iluk"}, {"inner.level", "1"}};
  static const char *const plain[][2] = {
      {"ordering", "rcm"}, {"scale", "diagonal"}, {"precond", "iluk"}, {"level", "1"}};
  karst_result results[2];
  tap_need(context, karst_precond_register(context, &through), "registration");
  karst_matrix *A = matrix_from(context, "blackoil:5x5x4", 0);
  karst_vector *b = make_vector(context, A), *x = make_vector(context, A);
  tap_need(context, karst_vector_fill_random(b, 3), "b");
  for (int i = 0; i < 2; i++) {
    karst_options *options =
        i ? make_options(context, plain, COUNT(plain)) : make_options(context, pairs, COUNT(pairs));
    karst_solver *solver;
    tap_need(context, karst_solver_create(context, options, &solver), "solver");
    tap_need(context, karst_solver_setup(solver, A), "setup");
    tap_need(context, karst_solver_update(solver), "update");
    tap_need(context, karst_vector_fill(x, 0), "start");
    tap_need(context, karst_solver_solve(solver, b, x, &results[i]), "solve");
    karst_solver_destroy(solver);
    karst_options_destroy(options);
  }
  tap_ok(results[0].reason == KARST_CONVERGED_RTOL && results[0].iterations == results[1].iterations,
         "a method with a preconditioner inside is that one: %d iterations and %d", results[0].iterations,
         results[1].iterations);
  karst_vector_destroy(b);
  karst_vector_destroy(x);
  karst_matrix_destroy(A);
}

/* Returns whether the preconditioner reports a value of that name. */
static bool reports(const karst_precond *M, const char *name)
{
  karst_value value;
  for (size_t i = 0; karst_precond_report(M, i, &value); i++)
    if (strcmp(value.name, name) == 0) return true;
  return false;
}

/* If the first stage fails, the second is not updated, and reports nothing of its last update. */
static void test_report_of_failure(karst_context *context)
{
  static const karst_index start[] = {0, 1, 2}, column[] = {0, 1};
  static const double value[] = {2, 3}, singular[] = {2, 0};
  static const char *const pairs[][2] = {{"precond", "two-stage"}, {"first", "jacobi"}, {"second", "iluk"}};
  karst_matrix *A;
  tap_need(context, karst_matrix_create(context, 2, 1, start, column, value, KARST_COPY, &A), "matrix");
  karst_precond *M = make_precond(A, context, pairs, 3);
  const bool before = reports(M, "second_shifted");
  tap_need(context, karst_matrix_update_values(A, singular), "values");
  tap_need(context, karst_precond_update(M), "update");
  karst_index row;
  tap_ok(before && karst_precond_outcome(M, &row) == KARST_SINGULAR_BLOCK && row == 1 && !reports(M, "second_shifted"),
         "what the second stage found in an earlier update is forgotten");
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
  static const char *const pairs[][2] = {{"precond", "two-stage"}, {"first", "two-stage"}, {"second.level", "1"}};
  int failures = 0, leaks = 0, others = 0;
  for (bool done = false; !done;) {
    struct failing_allocator memory = {.fail_at = 0};
    karst_allocator allocator = failing_allocator(&memory);
    karst_context *context;
    karst_precond *M;
    tap_need(NULL, karst_context_create(&allocator, &context), "context");
    karst_matrix *A = matrix_from(context, "poisson2d:4x4", 1);
    karst_options *options = make_options(context, pairs, 3);
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
