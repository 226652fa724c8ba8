/* test_auto.c - the preconditioner auto: what it chooses for which pattern, what it respects, what it says, and how it
 * learns between updates. */
#include "config.h"

#include "cli.h"
#include "failing_allocator.h"
#include "settings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VALUE = 96, CYCLES = 12 };

struct problem {
  karst_context *context;
  karst_matrix *A;
  karst_vector *b, *x;
};

static karst_options *make_options(karst_context *context, const char *const (*given)[2])
{
  karst_options *options;
  tap_need(context, karst_options_create(context, &options), "options");
  tap_need(context, karst_options_set(options, "precond", "auto"), "auto");
  for (; given && (*given)[0]; given++)
    tap_need(context, karst_options_set(options, (*given)[0], (*given)[1]), "option");
  return options;
}

static struct problem make_problem(karst_context *context, const char *spec, int block)
{
  struct problem p = {.context = context};
  tap_need(context, karst_gallery_create(context, spec, block, &p.A, NULL), "matrix");
  tap_need(context, karst_vector_create(context, karst_matrix_rows(p.A), &p.b), "b");
  tap_need(context, karst_vector_create(context, karst_matrix_rows(p.A), &p.x), "x");
  tap_need(context, karst_vector_fill(p.b, 1), "b");
  return p;
}

static void destroy_problem(struct problem *p)
{
  karst_matrix_destroy(p->A);
  karst_vector_destroy(p->b);
  karst_vector_destroy(p->x);
}

static karst_solver *make_solver(const struct problem *p, const char *const (*given)[2])
{
  karst_solver *solver;
  karst_options *options = make_options(p->context, given);
  tap_need(p->context, karst_solver_create(p->context, options, &solver), "solver");
  karst_options_destroy(options);
  return solver;
}

/* Copies a text of the solver's report, "" where there is none. */
static const char *text_of(const karst_solver *solver, const char *name, char text[VALUE])
{
  karst_value value;
  text[0] = '\0';
  for (size_t i = 0; karst_solver_report(solver, i, &value); i++)
    if (strcmp(value.name, name) == 0 && value.text) snprintf(text, VALUE, "%s", value.text);
  return text;
}

static karst_result solve(const struct problem *p, karst_solver *solver)
{
  karst_result result;
  tap_need(p->context, karst_vector_fill(p->x, 0), "start");
  tap_need(p->context, karst_solver_solve(solver, p->b, p->x, &result), "solve");
  return result;
}

/* cpu, cuda: what is chosen on each. */
static void expect(karst_context *context, const char *spec, int block, const char *const (*given)[2], const char *cpu,
                   const char *cuda)
{
  struct problem p = make_problem(context, spec, block);
  karst_solver *solver = make_solver(&p, given);
  char choice[VALUE], reason[VALUE];
  const char *expected = karst_context_is_host(context) ? cpu : cuda;
  tap_need(context, karst_solver_setup(solver, p.A), "setup");
  text_of(solver, "auto_choice", choice);
  text_of(solver, "auto_reason", reason);
  const bool right = strcmp(choice, expected) == 0;
  if (!tap_ok(right && strlen(reason) > 10, "%s: %s", spec, expected)) tap_note("it is %s: %s", choice, reason);
  const karst_result result = solve(&p, solver);
  tap_ok(result.reason > 0, "it converges");
  karst_solver_destroy(solver);
  destroy_problem(&p);
}

/* A choice with the ordering of little fill: that of this build. */
#ifdef HAVE_AMD
#define LITTLE_FILL(choice) choice " --ordering amd"
#else
#define LITTLE_FILL(choice) choice " --ordering rcm"
#endif

#define GIVEN(...)                                                                                                     \
  (const char *const[][2])                                                                                             \
  {                                                                                                                    \
    __VA_ARGS__, { NULL, NULL }                                                                                        \
  }

static void test_choices(karst_context *context)
{
  const char *const rrb = "--precond rrb --ordering natural";
  const char *const level0 = "--precond iluk --level 0 --ordering natural";
  expect(context, "poisson2d:40x40", 0, GIVEN({"solver", "cg"}), rrb, rrb);
  expect(context, "bilinear2d:40x40", 0, NULL, rrb, rrb);
  expect(context, "poisson2d:40x40", 0, GIVEN({"solver", "bicgstab"}), "--precond iluk --level 2 --ordering rcm",
         LITTLE_FILL("--precond iluk --level 3"));
  expect(context, "poisson2d:30x30", 0, GIVEN({"solver", "bicgstab"}), "--precond iluk --level 1 --ordering natural",
         LITTLE_FILL("--precond iluk --level 3"));
  expect(context, "poisson2d:100x100", 0, GIVEN({"scale", "diagonal"}), "--precond iluk --level 5 --ordering rcm",
         LITTLE_FILL("--precond iluk --level 3"));
  expect(context, "poisson3d:16x16x16", 0, NULL, "--precond iluk --level 1 --ordering natural", level0);
  expect(context, "convdiff:16x16x16", 0, NULL, "--precond iluk --level 1 --ordering natural", level0);
  expect(context, "laplace27:10x10x10", 0, NULL, level0, level0);
  expect(context, "ns3d:16x16x16", 4, NULL, "--precond dilu --ordering natural", level0);
}

static void test_respect(karst_context *context)
{
  const char *const given = "--precond iluk --level 3 --ordering rcm";
  expect(context, "poisson2d:40x40", 0, GIVEN({"level", "3"}, {"ordering", "rcm"}), given, given);
  expect(context, "poisson2d:40x40", 0, GIVEN({"solver", "cg"}, {"ordering", "rcm"}),
         "--precond iluk --level 2 --ordering rcm", "--precond iluk --level 3 --ordering rcm");
  expect(context, "poisson2d:40x40", 0, GIVEN({"level", "0"}), "--precond iluk --level 0 --ordering rcm",
         LITTLE_FILL("--precond iluk --level 0"));
  expect(context, "ns3d:16x16x16", 4, GIVEN({"shift", "1e-3"}), "--precond iluk --level 1 --ordering natural",
         "--precond iluk --level 0 --ordering natural");
}

/* A tree whose root couples to all others: it is to be eliminated last. */
static void test_hub(karst_context *context)
{
  enum { ROWS = 600 };
  karst_index *start = calloc(ROWS + 1, sizeof *start), *column = calloc(3 * ROWS, sizeof *column), n = 0;
  double *value = calloc(3 * (size_t)ROWS, sizeof *value);
  karst_matrix *A;
  struct problem p = {.context = context};
  char choice[VALUE];
  for (karst_index i = 0; i < ROWS; i++) {
    for (karst_index j = 0; j < ROWS; j++) {
      if (i != j && i != 0 && j != 0) continue;
      column[n] = j;
      value[n++] = i == j ? ROWS : -1;
    }
    start[i + 1] = n;
  }
  tap_need(context, karst_matrix_create(context, ROWS, 1, start, column, value, KARST_COPY, &A), "matrix");
  p.A = A;
  karst_solver *solver = make_solver(&p, NULL);
  tap_need(context, karst_solver_setup(solver, A), "setup");
  text_of(solver, "auto_choice", choice);
  if (!tap_ok(strcmp(choice, LITTLE_FILL("--precond iluk --level 0")) == 0, "a hub is eliminated last"))
    tap_note("%s", choice);
  karst_solver_destroy(solver);
  karst_matrix_destroy(A);
  free(start);
  free(column);
  free(value);
}

/* A preconditioner alone has no ordering to choose. */
static void test_alone(karst_context *context)
{
  struct problem p = make_problem(context, "poisson3d:16x16x16", 0);
  karst_options *options = make_options(context, NULL);
  karst_precond *precond;
  karst_value value;
  bool told = false;
  tap_need(context, karst_precond_create(context, options, p.A, &precond), "precond");
  tap_need(context, karst_precond_update(precond), "update");
  const char *expected = karst_context_is_host(context) ? "--precond iluk --level 1" : "--precond iluk --level 0";
  for (size_t i = 0; karst_precond_report(precond, i, &value); i++)
    told = told || (strcmp(value.name, "auto_choice") == 0 && strcmp(value.text, expected) == 0);
  tap_ok(told, "alone it is %s, after an update too", expected);
  tap_ok(karst_precond_apply(precond, p.b, p.x) == KARST_SUCCESS, "it is applied");
  karst_precond_destroy(precond);
  karst_options_destroy(options);
  destroy_problem(&p);
}

static void test_inside(karst_context *context)
{
  struct problem p = make_problem(context, "poisson2d:9x9", 0);
  karst_solver *solver = make_solver(&p, GIVEN({"precond", "two-stage"}, {"second", "auto"}));
  const karst_status status = karst_solver_setup(solver, p.A);
  tap_ok(status == KARST_ERROR_OPTION && strstr(karst_context_error(context), "inside another"),
         "inside another preconditioner it is refused: %s", karst_context_error(context));
  karst_solver_destroy(solver);
  destroy_problem(&p);
}

/* rrb wants all values symmetric, and the rules look at some rows, of which 4 and 5 are none. */
static void test_refusal(karst_context *context)
{
  struct problem p = make_problem(context, "poisson2d:40x40", 0);
  karst_solver *solver = make_solver(&p, NULL);
  char choice[VALUE], reason[VALUE];
  const int64_t entries = karst_matrix_blocks(p.A);
  double *value = calloc((size_t)entries, sizeof *value);
  for (karst_index i = 0; i < karst_matrix_block_rows(p.A); i++)
    for (karst_index k = karst_matrix_row_start(p.A)[i]; k < karst_matrix_row_start(p.A)[i + 1]; k++)
      value[k] = karst_matrix_column(p.A)[k] == i ? 4 : i == 4 && karst_matrix_column(p.A)[k] == 5 ? -0.5 : -1;
  tap_need(context, karst_matrix_update_values(p.A, value), "values");
  tap_need(context, karst_solver_setup(solver, p.A), "setup");
  text_of(solver, "auto_choice", choice);
  text_of(solver, "auto_reason", reason);
  tap_ok(strstr(choice, "iluk") && strcmp(reason, "rrb has failed") == 0, "a matrix that rrb refuses: %s", choice);
  tap_ok(solve(&p, solver).reason > 0, "it is solved");
  free(value);
  karst_solver_destroy(solver);
  destroy_problem(&p);
}

/* What a loop of updates has chosen. */
struct cycle {
  char choice[CYCLES][VALUE];
  int iterations[CYCLES], changes;
  double last; /* of x, so that bits can be compared */
};

static void run_cycles(const struct problem *p, const char *const (*given)[2], struct cycle *cycle)
{
  karst_solver *solver = make_solver(p, given);
  *cycle = (struct cycle){.changes = 0};
  tap_need(p->context, karst_solver_setup(solver, p->A), "setup");
  for (int i = 0; i < CYCLES; i++) {
    if (i > 0) tap_need(p->context, karst_solver_update(solver), "update");
    cycle->iterations[i] = solve(p, solver).iterations;
    text_of(solver, "auto_choice", cycle->choice[i]);
    cycle->changes += i > 0 && strcmp(cycle->choice[i], cycle->choice[i - 1]) != 0;
  }
  tap_need(p->context, karst_vector_norm(p->x, &cycle->last), "norm");
  karst_solver_destroy(solver);
}

static void test_learning(karst_context *context)
{
  struct problem p = make_problem(context, "convdiff:16x16x16", 0);
  struct cycle one, other, still;
  run_cycles(&p, NULL, &one);
  run_cycles(&p, NULL, &other);
  bool same = one.last == other.last;
  for (int i = 0; i < CYCLES; i++)
    same = same && strcmp(one.choice[i], other.choice[i]) == 0 && one.iterations[i] == other.iterations[i];
  tap_ok(same, "each run makes the same choices, and has the same bits");
  tap_ok(one.changes >= 1 && one.changes <= 7, "some neighbours are tried: %d changes", one.changes);
  tap_ok(strcmp(one.choice[CYCLES - 1], one.choice[CYCLES - 4]) == 0, "then it stays: %s", one.choice[CYCLES - 1]);
  run_cycles(&p, GIVEN({"auto-learn", "no"}), &still);
  tap_ok(still.changes == 0 && strcmp(still.choice[0], one.choice[0]) == 0, "auto-learn no changes nothing");
  run_cycles(&p, GIVEN({"level", "1"}), &still);
  tap_ok(still.changes == 0, "nor are there trials where the level is given");
  run_cycles(&p, GIVEN({"auto-learn", "time"}), &still);
  tap_ok(still.changes <= 7 && strcmp(still.choice[0], one.choice[0]) == 0, "auto-learn time ends too");
  destroy_problem(&p);
}

static void test_failures(karst_context *context)
{
  struct problem p = make_problem(context, "poisson3d:16x16x16", 0);
  karst_solver *solver = make_solver(&p, GIVEN({"max-iterations", "2"}));
  char choice[VALUE], reason[VALUE];
  tap_need(context, karst_solver_setup(solver, p.A), "setup");
  tap_ok(solve(&p, solver).reason == KARST_ITERATION_LIMIT, "the first choice fails");
  tap_need(context, karst_solver_update(solver), "update");
  text_of(solver, "auto_choice", choice);
  text_of(solver, "auto_reason", reason);
  tap_ok(strcmp(choice, karst_context_is_host(context) ? "--precond iluk --level 2 --ordering natural"
                                                       : "--precond iluk --level 1 --ordering natural") == 0 &&
             strstr(reason, "has failed"),
         "the next level takes its place: %s: %s", choice, reason);
  for (int i = 0; i < CYCLES; i++) {
    solve(&p, solver);
    tap_need(context, karst_solver_update(solver), "update");
  }
  tap_need(context, karst_solver_set_tolerances(solver, 1e-8, 0, 1000), "limits");
  tap_ok(solve(&p, solver).reason > 0, "when all have failed there is still one to solve with");
  karst_solver_destroy(solver);
  destroy_problem(&p);
}

/* Solvers of one pattern, a kept factorization, and a set-up for another matrix. */
static void test_sharing(karst_context *context)
{
  struct problem p = make_problem(context, "poisson3d:16x16x16", 0), q = make_problem(context, "poisson2d:30x30", 0);
  karst_solver *one = make_solver(&p, NULL), *other = make_solver(&p, NULL);
  karst_analysis *analysis;
  char before[VALUE], after[VALUE];
  tap_need(context, karst_solver_setup(one, p.A), "setup");
  tap_need(context, karst_solver_get_analysis(one, &analysis), "analysis");
  tap_ok(karst_solver_setup_with(other, q.A, analysis) == KARST_ERROR_ARGUMENT, "another pattern is refused");
  tap_need(context, karst_solver_setup_with(other, p.A, analysis), "setup with an analysis");
  const int iterations = solve(&p, one).iterations;
  tap_ok(solve(&p, other).iterations == iterations, "what shares the analysis iterates alike");
  text_of(one, "auto_choice", before);
  tap_need(context, karst_solver_keep(one), "keep");
  tap_ok(solve(&p, one).iterations == iterations, "kept factors are those of before");
  tap_ok(strcmp(text_of(one, "auto_choice", after), before) == 0, "and so is the choice");
  tap_need(context, karst_solver_setup(one, q.A), "setup");
  tap_ok(strstr(text_of(one, "auto_choice", after), "rrb") && solve(&q, one).reason > 0,
         "set-up for another matrix chooses anew");
  karst_analysis_destroy(analysis);
  karst_solver_destroy(one);
  karst_solver_destroy(other);
  destroy_problem(&p);
  destroy_problem(&q);
}

static karst_status set_up(karst_context *context, void *user)
{
  karst_matrix *A = NULL;
  karst_options *options = NULL;
  karst_solver *solver = NULL;
  karst_status status = karst_gallery_create(context, user, 0, &A, NULL);
  if (!status) status = karst_options_create(context, &options);
  if (!status) status = karst_options_set(options, "precond", "auto");
  if (!status) status = karst_solver_create(context, options, &solver);
  if (!status) status = karst_solver_setup(solver, A);
  karst_solver_destroy(solver);
  karst_options_destroy(options);
  karst_matrix_destroy(A);
  return status;
}

/* An update that finds no memory for a trial goes on with what there is. */
static void test_update_without_memory(void)
{
  bool sound = true;
  long n = 0;
  for (bool met = true; met && sound; n++) {
    struct failing_allocator memory = {.fail_at = 0};
    karst_allocator allocator = failing_allocator(&memory);
    karst_context *context;
    tap_need(NULL, karst_context_create(&allocator, &context), "context");
    struct problem p = make_problem(context, "convdiff:5x5x5", 0);
    karst_solver *solver = make_solver(&p, NULL);
    tap_need(context, karst_solver_setup(solver, p.A), "setup");
    solve(&p, solver);
    memory.fail_at = memory.calls + n + 1;
    sound = karst_solver_update(solver) == KARST_SUCCESS;
    met = memory.calls >= memory.fail_at;
    memory.fail_at = 0;
    sound = sound && solve(&p, solver).reason > 0;
    for (int i = 0; i < 3 && sound; i++)
      sound = karst_solver_update(solver) == KARST_SUCCESS && solve(&p, solver).reason > 0;
    karst_solver_destroy(solver);
    destroy_problem(&p);
    karst_context_destroy(context);
    sound = sound && memory.outstanding == 0;
  }
  tap_ok(sound && n > 3, "an update is made whichever of its %ld allocations fails", n - 1);
}

static void test_command(void)
{
  cli_need("solve");
  const struct cli_run *run = CLI_RUN("solve", "poisson3d:16x16x16", "--precond", "auto");
  tap_ok(run->status == 0 && strstr(run->out, "auto_choice --precond iluk --level 1 --ordering natural") &&
             strstr(run->out, "auto_reason ILU(1) has "),
         "solve tells the choice and its reason");
  run = CLI_RUN("solve", "poisson3d:16x16x16", "--precond", "auto", "--auto-learn", "perhaps");
  tap_ok(run->status == 2 && strstr(run->err, "iterations|time|no"), "another way to learn is refused: %s", run->err);
}

int main(void)
{
  char plane[] = "poisson2d:8x8", box[] = "poisson3d:4x4x4";
  tap_each_device(test_choices, "choices");
  tap_each_device(test_respect, "given options");
  tap_each_device(test_hub, "a hub");
  tap_each_device(test_alone, "alone");
  tap_each_device(test_inside, "inside another");
  tap_each_device(test_refusal, "a refusal");
  tap_each_device(test_learning, "learning");
  tap_each_device(test_failures, "failures");
  tap_each_device(test_sharing, "sharing");
  fail_each_allocation(set_up, plane, "auto for a plane");
  fail_each_allocation(set_up, box, "auto for a box");
  test_update_without_memory();
  test_command();
  return tap_done();
}
