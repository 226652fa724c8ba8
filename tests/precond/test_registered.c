/* A preconditioner that a program registers, written against karst.h alone: point Jacobi. On each device, it iterates
 * as the library's jacobi does, in every order and scaling, and its failures and outcomes reach the caller. */
#include "tests/support/problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The instructions of the program to its method, and the counts of the method. */
static struct script {
  int setups, updates, applies, destroys;
  int fail_setup, fail_update, fail_apply; /* their status; 0: success */
  bool says_why;                           /* with an error of its own */
  bool varies, singular, nonsense;
  karst_index block_row; /* of the outcome, where it is singular */
  bool no_data;          /* destroy found no data */
  bool wrong;            /* a condition did not hold */
  karst_solver *changed; /* the solver of the method, which setup and update try to change; or NULL */
} script;

struct settings {
  double weight;
};

/* w / a_ii, and r in host memory. */
struct data {
  int64_t rows;
  double *inverse, *r;
};

static karst_status leave(karst_precond *p, int status)
{
  if (!script.says_why) return (karst_status)status;
  return karst_context_fail(karst_precond_context(p), (karst_status)status, "the licence ran out");
}

/* Calls that would change the solver during its set-up or update. */
static void change_solver(karst_precond *p)
{
  static const char busy[] = "in the middle of";
  karst_context *context = karst_precond_context(p);
  if (!script.changed) return;
  script.wrong |= karst_solver_setup(script.changed, karst_precond_matrix(p)) != KARST_ERROR_ARGUMENT ||
                  !strstr(karst_context_error(context), busy);
  script.wrong |= karst_solver_set_operator(script.changed, NULL, NULL) != KARST_ERROR_ARGUMENT;
  script.wrong |= karst_solver_update(script.changed) != KARST_ERROR_ARGUMENT;
  script.wrong |= karst_precond_keep(p) != KARST_ERROR_ARGUMENT;
}

static karst_status setup(karst_precond *p)
{
  script.setups++;
  change_solver(p);
  if (script.fail_setup) return leave(p, script.fail_setup);
  script.wrong |= karst_precond_user(p) != &script || karst_precond_data(p) != NULL;
  struct data *data = malloc(sizeof *data);
  data->rows = karst_matrix_rows(karst_precond_matrix(p));
  data->inverse = malloc((size_t)data->rows * sizeof(double));
  data->r = malloc((size_t)data->rows * sizeof(double));
  karst_precond_set_data(p, data);
  karst_precond_set_varies(p, script.varies);
  karst_precond_set_entries(p, data->rows);
  karst_precond_set_memory(p, 2 * data->rows * (int64_t)sizeof(double));
  return KARST_SUCCESS;
}

/* The diagonal of a matrix of block size 1, whose values may be in device memory. */
static karst_status update(karst_precond *p)
{
  const struct settings *settings = karst_precond_settings(p);
  const karst_matrix *A = karst_precond_matrix(p);
  const karst_index *start = karst_matrix_row_start(A), *column = karst_matrix_column(A);
  struct data *data = karst_precond_data(p);
  const int64_t entries = karst_matrix_blocks(A);
  karst_context *context = karst_precond_context(p);
  karst_vector *values;
  script.updates++;
  change_solver(p);
  if (script.fail_update) return leave(p, script.fail_update);
  double *value = malloc((size_t)entries * sizeof *value);
  karst_status status = karst_vector_wrap(context, entries, (double *)karst_matrix_value(A), &values);
  if (!status) status = karst_vector_get(values, entries, value);
  for (int64_t i = 0; i < data->rows; i++)
    for (karst_index k = start[i]; k < start[i + 1]; k++)
      if (column[k] == i) data->inverse[i] = settings->weight * (1 / value[k]);
  free(value);
  karst_vector_destroy(values);
  if (script.singular) karst_precond_set_outcome(p, KARST_SINGULAR_BLOCK, script.block_row);
  if (script.nonsense) karst_precond_set_outcome(p, KARST_CONVERGED_RTOL, -1);
  return status;
}

static karst_status apply(karst_precond *p, const karst_vector *r, karst_vector *z)
{
  struct data *data = karst_precond_data(p);
  script.applies++;
  karst_precond_set_outcome(p, KARST_NOT_FINITE, 0); /* ignored: only update reports an outcome */
  if (script.fail_apply) return leave(p, script.fail_apply);
  script.wrong |= karst_vector_length(r) != data->rows || karst_vector_length(z) != data->rows ||
                  (karst_context_is_host(karst_precond_context(p)) && !karst_vector_const_values(r));
  karst_status status = karst_vector_get(r, data->rows, data->r);
  for (int64_t i = 0; i < data->rows; i++) data->r[i] *= data->inverse[i];
  return status ? status : karst_vector_set(z, data->rows, data->r);
}

static void destroy(karst_precond *p)
{
  struct data *data = karst_precond_data(p);
  script.destroys++;
  script.no_data = !data;
  if (!data) return;
  free(data->inverse);
  free(data->r);
  free(data);
}

static const karst_option rows[] = {{"weight", KARST_OPTION_REAL, 0, offsetof(struct settings, weight), NULL, 0, "1",
                                     "the inverse diagonal times R", NULL},
                                    {0}};

static const karst_precond_method point = {.name = "point",
                                           .help = "point Jacobi of the program's own",
                                           .needs_diagonal = 1,
                                           .options = rows,
                                           .settings = sizeof(struct settings),
                                           .user = &script,
                                           .setup = setup,
                                           .update = update,
                                           .apply = apply,
                                           .destroy = destroy};

struct system {
  struct problem p;
  karst_options *options;
};

static struct system make_system(karst_context *context, const char *gallery)
{
  script = (struct script){.setups = 0};
  return (struct system){problem_from(context, gallery, 1, 7), options_of(context, PAIRS("precond", "point"))};
}

static void destroy_system(struct system *s)
{
  karst_options_destroy(s->options);
  problem_destroy(&s->p);
}

static void set(struct system *s, const char *name, const char *value)
{
  tap_need(s->p.context, karst_options_set(s->options, name, value), name);
}

static karst_status solve(struct system *s, karst_solver *solver, karst_result *result)
{
  tap_need(s->p.context, karst_vector_fill(s->p.x, 0), "start");
  return karst_solver_solve(solver, s->p.b, s->p.x, result);
}

static karst_solver *make_solver(struct system *s)
{
  karst_solver *solver;
  tap_need(s->p.context, karst_solver_create(s->p.context, s->options, &solver), "solver");
  tap_need(s->p.context, karst_solver_setup(solver, s->p.A), "setup");
  return solver;
}

static void test_like_ours(karst_context *context)
{
  static const char *const trials[][3] = {{"gmres", "natural", "none"},
                                          {"bicgstab", "rcm", "none"},
                                          {"fgmres", "rcm", "diagonal"},
                                          {"orthomin", "natural", "block"},
                                          {"richardson", "rcm", "block"}};
  struct system s = make_system(context, "convdiff:8x7x6");
  for (int t = 0; t < 5; t++) {
    karst_result own, ours;
    set(&s, "solver", trials[t][0]);
    set(&s, "ordering", trials[t][1]);
    set(&s, "scale", trials[t][2]);
    set(&s, "precond", "point");
    karst_solver *solver = make_solver(&s);
    tap_need(context, solve(&s, solver, &own), "solve");
    const karst_solver_info info = info_of(solver);
    karst_solver_destroy(solver);
    set(&s, "precond", "jacobi");
    solver = make_solver(&s);
    tap_need(context, solve(&s, solver, &ours), "solve");
    karst_solver_destroy(solver);
    tap_ok(own.reason == KARST_CONVERGED_RTOL && own.iterations == ours.iterations &&
               fabs(own.residual - ours.residual) <= 1e-6 * ours.residual,
           "%s, %s, scale %s: %d iterations to %.6e as under jacobi, %d to %.6e", trials[t][0], trials[t][1],
           trials[t][2], own.iterations, own.residual, ours.iterations, ours.residual);
    tap_ok(info.factor_entries == karst_matrix_rows(s.p.A), "the entries that it reports are counted");
  }
  tap_ok(script.setups == 5 && script.updates == 5 && script.destroys == 5 && script.applies > 20 && !script.wrong,
         "each was set up and destroyed once, with the promised arguments");
  destroy_system(&s);
}

/* New values are an update, and weight is read from the options. */
static void test_alone(karst_context *context)
{
  struct system s = make_system(context, "poisson2d:5x4");
  karst_precond *M, *jacobi;
  double z[20], expected[20];
  set(&s, "weight", "0.5");
  tap_need(context, karst_precond_create(context, s.options, s.p.A, &M), "preconditioner");
  tap_need(context, karst_precond_update(M), "update");
  tap_need(context, karst_precond_apply(M, s.p.b, s.p.x), "apply");
  tap_need(context, karst_vector_get(s.p.x, 20, z), "z");
  set(&s, "precond", "jacobi");
  tap_need(context, karst_precond_create(context, s.options, s.p.A, &jacobi), "jacobi");
  tap_need(context, karst_precond_apply(jacobi, s.p.b, s.p.x), "apply");
  tap_need(context, karst_vector_get(s.p.x, 20, expected), "z");
  bool half = true;
  for (int i = 0; i < 20; i++) half = half && fabs(z[i] - 0.5 * expected[i]) <= 1e-15 * fabs(expected[i]);
  tap_ok(half && script.updates == 2, "without a solver it applies its option");
  tap_ok(!karst_precond_data(jacobi) && !karst_precond_user(jacobi) && karst_precond_matrix(jacobi) == s.p.A &&
             karst_precond_context(jacobi) == context,
         "the data of the library's own preconditioners are hidden");
  karst_precond_destroy(jacobi);
  karst_precond_destroy(M);
  destroy_system(&s);
}

static void expect(karst_context *context, karst_status status, karst_status expected, const char *says,
                   const char *what)
{
  const char *sentence = karst_context_error(context);
  tap_ok(status == expected && strstr(sentence, says), "%s: %s", what, sentence);
}

static void test_failures(karst_context *context)
{
  struct system s = make_system(context, "poisson2d:5x4");
  karst_solver *solver;
  karst_result result;
  tap_need(context, karst_solver_create(context, s.options, &solver), "solver");
  script.fail_setup = KARST_ERROR_NO_MEMORY;
  expect(context, karst_solver_setup(solver, s.p.A), KARST_ERROR_NO_MEMORY, "setup of the preconditioner point failed",
         "a setup that fails without a sentence");
  tap_ok(script.destroys == 1 && script.no_data, "is destroyed, and has no data");
  script.says_why = true;
  expect(context, karst_solver_setup(solver, s.p.A), KARST_ERROR_NO_MEMORY, "the licence ran out",
         "a setup that fails with a sentence");
  script.says_why = false;
  script.fail_setup = 3;
  expect(context, karst_solver_setup(solver, s.p.A), KARST_ERROR_ARGUMENT, "returned 3, which is no status",
         "a setup that returns no status");
  script.fail_setup = -1000;
  expect(context, karst_solver_setup(solver, s.p.A), KARST_ERROR_ARGUMENT, "returned -1000, which is no status",
         "a setup that returns a negative number");
  script.fail_setup = 0;
  script.fail_update = KARST_ERROR_DEVICE;
  expect(context, karst_solver_setup(solver, s.p.A), KARST_ERROR_DEVICE, "update of the preconditioner point failed",
         "an update that fails in setup");
  script.fail_update = 0;
  tap_need(context, karst_solver_setup(solver, s.p.A), "setup");
  script.fail_update = KARST_ERROR_FILE;
  expect(context, karst_solver_update(solver), KARST_ERROR_FILE, "update of the preconditioner point failed",
         "an update that fails");
  tap_ok(solve(&s, solver, &result) == KARST_ERROR_ARGUMENT, "prevents the next solve");
  script.fail_update = 0;
  tap_need(context, karst_solver_update(solver), "update");
  script.fail_apply = KARST_ERROR_DEVICE;
  expect(context, solve(&s, solver, &result), KARST_ERROR_DEVICE, "apply of the preconditioner point failed",
         "an apply that fails");
  script.fail_apply = 0;
  tap_ok(solve(&s, solver, &result) == KARST_SUCCESS && result.reason == KARST_CONVERGED_RTOL,
         "the next solve is sound");
  karst_solver_destroy(solver);
  tap_ok(script.destroys == script.setups && !script.wrong, "as many were destroyed as were set up: %d",
         script.destroys);
  destroy_system(&s);
}

static void test_outcomes(karst_context *context)
{
  struct system s = make_system(context, "poisson2d:5x4");
  karst_solver *solver;
  karst_result result;
  set(&s, "ordering", "rcm");
  script.singular = true;
  script.block_row = 2;
  solver = make_solver(&s);
  tap_need(context, solve(&s, solver, &result), "solve");
  tap_ok(result.reason == KARST_SINGULAR_BLOCK && result.block_row >= 0 && result.block_row < 20,
         "a singular outcome is the result's: %s", karst_solver_explain(solver));
  script.singular = false;
  tap_need(context, karst_solver_update(solver), "update");
  tap_need(context, solve(&s, solver, &result), "solve");
  tap_ok(result.reason == KARST_CONVERGED_RTOL, "until the next update");
  script.nonsense = true;
  expect(context, karst_solver_update(solver), KARST_ERROR_ARGUMENT, "left the outcome 1",
         "an invalid outcome is an error");
  script.nonsense = false;
  script.singular = true;
  script.block_row = 20;
  expect(context, karst_solver_update(solver), KARST_ERROR_ARGUMENT, "named block row 20 of 20",
         "so is a block row out of range");
  karst_solver_destroy(solver);
  destroy_system(&s);
}

static void test_varies(karst_context *context)
{
  struct system s = make_system(context, "poisson2d:5x4");
  karst_solver *solver;
  karst_result result;
  script.varies = true;
  tap_need(context, karst_solver_create(context, s.options, &solver), "solver");
  expect(context, karst_solver_setup(solver, s.p.A), KARST_ERROR_OPTION, "point varies",
         "gmres refuses a method that varies");
  karst_solver_destroy(solver);
  set(&s, "solver", "fgmres");
  solver = make_solver(&s);
  tap_need(context, solve(&s, solver, &result), "solve");
  tap_ok(result.reason == KARST_CONVERGED_RTOL, "fgmres accepts it");
  karst_solver_destroy(solver);
  destroy_system(&s);
}

/* A method cannot change the solver that calls it, and absurd counts are bounded. */
static void test_changes_within(karst_context *context)
{
  struct system s = make_system(context, "poisson2d:8x8");
  karst_solver *solver;
  karst_result result;
  tap_need(context, karst_solver_create(context, s.options, &solver), "solver");
  script.changed = solver;
  tap_need(context, karst_solver_setup(solver, s.p.A), "setup");
  tap_need(context, karst_solver_update(solver), "update");
  script.changed = NULL;
  karst_status status = solve(&s, solver, &result);
  tap_ok(!status && result.reason > 0 && !script.wrong && script.setups == 1 && script.updates == 2,
         "a method cannot change the solver that calls it");
  karst_solver_destroy(solver);
  destroy_system(&s);
}

static void test_counts(karst_context *context)
{
  struct system s = make_system(context, "poisson2d:8x8");
  karst_precond *M;
  karst_solver_info info;
  tap_need(context, karst_precond_create(context, s.options, s.p.A, &M), "preconditioner");
  karst_precond_set_entries(M, -1);
  karst_precond_set_memory(M, INT64_MAX);
  tap_need(context, karst_precond_get_info(M, &info), "info");
  tap_ok(info.factor_entries == 0 && info.memory > 0 && info.memory < INT64_MAX / 64, "absurd counts are bounded");
  karst_precond_destroy(M);
  destroy_system(&s);
}

static void test_all(karst_context *context)
{
  tap_need(context, karst_precond_register(context, &point), "registration");
  test_like_ours(context);
  test_alone(context);
  test_failures(context);
  test_outcomes(context);
  test_varies(context);
  test_changes_within(context);
  test_counts(context);
}

int main(void)
{
  tap_each_device(test_all, "a registered preconditioner");
  return tap_done();
}
