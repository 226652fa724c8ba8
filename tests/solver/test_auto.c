/* test_auto.c - the preconditioner auto: its choice for each pattern, the options that it respects, and its
 * messages. */
#include "config.h"

#include "tests/support/auto_steps.h"
#include "tests/support/cli.h"
#include "tests/support/failing_allocator.h"
#include "tests/support/machines.h"
#include "solver/auto/auto.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

/* Checks the choice, cpu on a CPU and cuda on a GPU, and that it converges. */
static void expect(karst_context *context, const char *spec, int block, const char *const (*given)[2], const char *cpu,
                   const char *cuda)
{
  struct problem p = problem_from(context, spec, block, 0);
  karst_solver *solver = set_up_by_rules(&p, given);
  char choice[VALUE], reason[VALUE];
  const char *expected = karst_context_is_host(context) ? cpu : cuda;
  text_of(solver, "auto_choice", choice);
  text_of(solver, "auto_reason", reason);
  const bool right = strcmp(choice, expected) == 0;
  if (!tap_ok(right && strlen(reason) > 10, "%s: %s", spec, expected)) tap_note("it is %s: %s", choice, reason);
  tap_ok(problem_solve(&p, solver).reason > 0, "%s: the choice converges", spec);
  problem_end(&p, solver);
}

/* A choice with the ordering of little fill: that of this build. */
#ifdef HAVE_AMD
#define LITTLE_FILL(choice) choice " --ordering amd"
#else
#define LITTLE_FILL(choice) choice " --ordering rcm"
#endif

static void test_choices(karst_context *context)
{
  const char *const rrb = "--precond rrb --ordering natural", *const jacobi = "--precond jacobi --ordering natural";
  const char *const level0 = "--precond iluk --level 0 --ordering natural";
  const char *const fgbilu = "--precond fgbilu --ordering natural";
  expect(context, "poisson2d:40x40", 0, GIVEN({"solver", "cg"}), rrb, rrb);
  expect(context, "bilinear2d:40x40", 0, NULL, rrb, rrb);
  expect(context, "poisson2d:40x40", 0, GIVEN({"solver", "bicgstab"}), "--precond iluk --level 2 --ordering rcm",
         jacobi);
  expect(context, "poisson2d:30x30", 0, GIVEN({"solver", "bicgstab"}), "--precond iluk --level 1 --ordering natural",
         jacobi);
  expect(context, "poisson2d:100x100", 0, GIVEN({"scale", "diagonal"}), "--precond iluk --level 5 --ordering rcm",
         LITTLE_FILL("--precond iluk --level 3"));
  expect(context, "poisson3d:16x16x16", 0, NULL, "--precond iluk --level 1 --ordering natural", fgbilu);
  expect(context, "convdiff:16x16x16", 0, NULL, "--precond iluk --level 1 --ordering natural", fgbilu);
  expect(context, "laplace27:10x10x10", 0, NULL, level0, jacobi);
  expect(context, "ns3d:16x16x16", 4, NULL, "--precond dilu --ordering natural", fgbilu);
}

static void test_respect(karst_context *context)
{
  const char *const given = "--precond iluk --level 3 --ordering rcm";
  expect(context, "poisson2d:40x40", 0, GIVEN({"level", "3"}, {"ordering", "rcm"}), given, given);
  expect(context, "poisson2d:40x40", 0, GIVEN({"solver", "gmres"}, {"ordering", "rcm"}),
         "--precond iluk --level 2 --ordering rcm", "--precond iluk --level 3 --ordering rcm");
  expect(context, "poisson3d:16x16x16", 0, GIVEN({"solver", "fgmres"}, {"ordering", "rcm"}),
         "--precond iluk --level 1 --ordering rcm", "--precond jacobi --ordering rcm");
  expect(context, "poisson2d:40x40", 0, GIVEN({"level", "0"}), "--precond iluk --level 0 --ordering rcm",
         LITTLE_FILL("--precond iluk --level 0"));
  expect(context, "ns3d:16x16x16", 4, GIVEN({"shift", "1e-3"}), "--precond iluk --level 1 --ordering natural",
         "--precond iluk --level 0 --ordering tiles");
}

/* The reason must not name levels, because the rule has chosen none. */
static void test_given_level(karst_context *context)
{
  struct problem p = problem_from(context, "poisson3d:16x16x16", 0, 0);
  karst_solver *solver = set_up_by_rules(&p, GIVEN({"level", "0"}));
  char reason[VALUE];
  text_of(solver, "auto_reason", reason);
  tap_ok(strcmp(reason, "the level is given") == 0, "the reason says that the level is given: %s", reason);
  problem_end(&p, solver);
}

/* Makes a 27-point Laplacian with the absolute values of its entries. Its last entry is multiplied by last. */
static karst_matrix *make_strong(karst_context *context, const char *spec, double last)
{
  karst_matrix *A = matrix_from(context, spec, 0);
  const int64_t blocks = karst_matrix_blocks(A);
  double *value = values_on_host(A);
  for (int64_t k = 0; k < blocks; k++) value[k] = fabs(value[k]);
  value[blocks - 1] *= last; /* the last diagonal entry, because columns ascend */
  tap_need(context, karst_matrix_update_values(A, value), "values");
  free(value);
  return A;
}

/* Strong couplings unlike those of a diffusion, in few rows on few diagonals, need level 2. If a diagonal entry is 0,
 * the order is the natural one, because orderings for little fill would leave the 0. */
static void test_strong_couplings(void)
{
  const karst_auto_freedom freedom = {.precond = true, .level = true, .grid = true};
  karst_auto_ladder ladder;
  karst_context *context = tap_context();
  karst_matrix *A = make_strong(context, "laplace27:9x9x9", 1), *gap = make_strong(context, "laplace27:7x7x7", 0);
  tap_need(context, karst_auto_rules(A, machine_of(true), &freedom, &ladder), "rules");
  const karst_auto_rung *rung = &ladder.rung[ladder.start];
  tap_ok(rung->level == 2 && strcmp(rung->ordering, "natural") != 0,
         "a matrix of few rows with strong couplings has %s %d, %s", rung->precond->name, rung->level, rung->ordering);
  for (int host = 0; host < 2; host++) {
    tap_need(context, karst_auto_rules(gap, machine_of(host), &freedom, &ladder), "rules");
    rung = &ladder.rung[ladder.start];
    tap_ok(rung->level == 2 && strcmp(rung->ordering, "natural") == 0, "a diagonal of 0 on a %s: %s %d, %s",
           host ? "CPU" : "GPU", rung->precond->name, rung->level, rung->ordering);
  }
  karst_matrix_destroy(A);
  karst_matrix_destroy(gap);
  karst_context_destroy(context);
}

/* The choices of the rules of a GPU, computed on the host. */
static void test_device_rules(void)
{
  static const struct {
    const char *spec;
    int block;
    bool rrb, recurs; /* gmres: true and false; bicgstab: false and true; cg: both true */
    const char *precond;
    int level;
  } expected[] = {
      {"poisson2d:63x63", 0, true, true, "rrb", -1},
      {"unitsquare:63x63", 0, true, false, "rrb", -1},
      {"jump2d:63x63", 0, true, true, "rrb", -1},
      {"poisson2d:63x63", 0, false, true, "jacobi", -1},
      {"poisson2d:63x63", 0, false, false, "iluk", 3},
      {"jump2d:63x63", 0, false, true, "iluk", 3},
      {"poisson3d:16x16x16", 0, true, false, "fgbilu", -1},
      {"anisotropic:16x16x16", 0, false, true, "lines", -1},
      {"laplace27:16x16x16", 0, true, true, "jacobi", -1},
      {"laplace27:16x16x16", 0, true, false, "jacobi", -1},
      {"convdiff:16x16x16", 0, true, false, "fgbilu", -1},
      {"blackoil:20x30x5", 0, false, true, "fgbilu", -1},
      {"blackoil:20x30x1", 0, true, false, "fgbilu", -1},
      {"ns3d:12x12x12", 6, true, false, "fgbilu", -1},
      {"anisotropic:9x8x7,epsx=1,epsy=8,epsz=1", 0, true, false, "lines", -1},
      {"anisotropic:9x8x7,epsx=1,epsy=1,epsz=8", 0, true, true, "lines", -1},
      {"anisotropic:9x8x7,epsx=1,epsy=1,epsz=7", 0, true, true, "fgbilu", -1},
      {"anisotropic:9x8x7,epsx=9,epsy=9,epsz=1", 0, true, true, "fgbilu", -1},
      {"anisotropic:2x2x40,epsx=1,epsy=9,epsz=1", 0, true, true, "lines", -1},
      {"laplace27:16x16x16", 2, true, false, "iluk", 0},
      {"poisson3d:16x1x1", 2, true, false, "iluk", 3},
  };
  karst_context *context = tap_context();
  for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
    const karst_auto_freedom freedom = {
        .precond = true, .level = true, .grid = true, .rrb = expected[i].rrb, .recurs = expected[i].recurs};
    karst_auto_ladder ladder;
    karst_matrix *A = matrix_from(context, expected[i].spec, expected[i].block);
    tap_need(context, karst_auto_rules(A, machine_of(false), &freedom, &ladder), "rules");
    const karst_auto_rung *rung = &ladder.rung[ladder.start];
    tap_ok(strcmp(rung->precond->name, expected[i].precond) == 0 && rung->level == expected[i].level,
           "on a GPU %s has %s (%d)", expected[i].spec, rung->precond->name, rung->level);
    tap_ok(ladder.start + 1 < ladder.count, "the ladder has a rung above the choice for %s", expected[i].spec);
    karst_matrix_destroy(A);
  }
  karst_context_destroy(context);
}

/* On a GPU iluk is in tiles if its level sets would take most of an iteration and the given options allow tiles. */
static void test_device_tiles(void)
{
  static const struct {
    const char *spec;
    int block;
    bool host, tiles, by_tiles, level_sets;
    int tile_size;
    const char *first, *ordering; /* the order of the lowest iluk */
  } expected[] = {
      {"poisson3d:40x40x40", 0, false, true, false, false, 0, "amg", "tiles"},
      {"poisson3d:40x40x40", 0, false, false, false, false, 0, "amg", "natural"},
      {"poisson3d:40x40x40", 0, true, true, false, false, 0, "iluk", "natural"},
      {"poisson3d:8x8x8", 0, false, true, false, false, 0, "fgbilu", "natural"},
      {"laplace27:20x20x20", 2, false, true, false, false, 0, "iluk", "tiles"},
      {"laplace27:20x20x20", 0, true, true, true, false, 0, "iluk", "tiles"},
      {"poisson3d:12x12x12", 0, false, true, false, true, 0, "fgbilu", "natural"},
      {"poisson3d:12x12x12", 0, false, true, false, true, 8, "fgbilu", "tiles"},
  };
  karst_context *context = tap_context();
  for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
    const karst_auto_freedom freedom = {.precond = true,
                                        .level = true,
                                        .grid = true,
                                        .tiles = expected[i].tiles,
                                        .by_tiles = expected[i].by_tiles,
                                        .level_sets = expected[i].level_sets,
                                        .tile_size = expected[i].tile_size};
    karst_auto_ladder ladder;
    karst_matrix *A = matrix_from(context, expected[i].spec, expected[i].block);
    int lowest = 0;
    tap_need(context, karst_auto_rules(A, machine_of(expected[i].host), &freedom, &ladder), "rules");
    while (strcmp(ladder.rung[lowest].precond->name, "iluk") != 0) lowest++;
    const karst_auto_rung *rung = &ladder.rung[lowest], *start = &ladder.rung[ladder.start];
    tap_ok(strcmp(start->precond->name, expected[i].first) == 0 && strcmp(rung->ordering, expected[i].ordering) == 0,
           "%s on %s: %s, and iluk level %d, %s", expected[i].spec, expected[i].host ? "a CPU" : "a GPU",
           start->precond->name, rung->level, rung->ordering);
    karst_matrix_destroy(A);
  }
  karst_context_destroy(context);
}

/* With the ordering auto the preconditioner auto chooses the order, and triangular solves by tiles need tiles. */
static void test_orders(karst_context *context)
{
  const char *const by_tiles = "--precond iluk --level 1 --ordering tiles";
  const char *const natural = "--precond iluk --level 1 --ordering natural";
  expect(context, "poisson3d:16x16x16", 0, GIVEN({"ordering", "auto"}), natural, "--precond fgbilu --ordering natural");
  expect(context, "poisson3d:16x16x16", 0, GIVEN({"level", "1"}, {"trisolve", "tiles"}), by_tiles, by_tiles);
  expect(context, "poisson3d:16x16x16", 0, GIVEN({"level", "1"}, {"trisolve", "jacobi"}), natural, natural);
  expect(context, "poisson3d:16x16x16", 0, GIVEN({"level", "1"}, {"modified", "0.5"}), natural, natural);
  expect(context, "poisson3d:12x12x12", 0, GIVEN({"level", "1"}, {"trisolve", "level"}), natural, natural);
  expect(context, "poisson3d:12x12x12", 0, GIVEN({"level", "1"}, {"trisolve", "level"}, {"tile-size", "8"}), natural,
         by_tiles);
}

/* A file holds no grid; Karst finds it in the pattern, unless the pattern was renumbered. */
static void test_found_grid(void)
{
  const karst_auto_freedom freedom = {.precond = true, .level = true, .grid = true};
  karst_auto_ladder ladder;
  karst_matrix *plain;
  karst_context *context = tap_context();
  karst_options *given = make_options(context, NULL);
  karst_matrix *A = matrix_from(context, "poisson3d:10x8x7", 2);
  tap_need(context,
           karst_matrix_create(context, karst_matrix_block_rows(A), 2, karst_matrix_row_start(A),
                               karst_matrix_column(A), karst_matrix_value(A), KARST_COPY, &plain),
           "matrix");
  tap_need(context, karst_auto_rules(plain, machine_of(false), &freedom, &ladder), "rules");
  tap_ok(strcmp(ladder.rung[ladder.start].precond->name, "fgbilu") == 0, "a grid is found");
  karst_auto choice = {.ladder = ladder, .at = ladder.start, .best = ladder.start, .proven = -1};
  tap_ok(karst_auto_refuse(&choice) && strcmp(choice.ladder.rung[choice.at].precond->name, "iluk") == 0 &&
             choice.ladder.rung[choice.at].level == 0,
         "if set-up refuses the choice, ILU(0) replaces it");
  tap_ok(!karst_auto_refuse(&choice), "no choice has fewer requirements than ILU(0)");
  choice = (karst_auto){.given = given, .ladder = ladder, .at = ladder.start, .best = ladder.start, .proven = -1};
  tap_ok(karst_auto_begin_at(&choice, &(karst_auto_rung){&karst_precond_iluk, "natural", 0}) &&
             strcmp(choice.ladder.rung[choice.at].precond->name, "iluk") == 0 &&
             choice.ladder.rung[choice.at].level == 0 &&
             strcmp(choice.ladder.rung[choice.at - 1].precond->name, "fgbilu") == 0,
         "an analysis of that ILU(0) is one of auto's choices");
  tap_ok(!karst_auto_begin_at(&choice, &(karst_auto_rung){karst_precond_find(context, "parilu"), "natural", 0}),
         "an analysis of parilu is not one of auto's choices");
  karst_options_destroy(given);
  karst_matrix_destroy(A);
  karst_matrix_destroy(plain);
  karst_context_destroy(context);
}

/* A tree whose root couples to all other nodes: the root has to be eliminated last. */
static void test_hub(karst_context *context)
{
  enum { ROWS = 600 };
  karst_index *start = tap_memory(ROWS + 1, sizeof *start), *column = tap_memory(3 * ROWS, sizeof *column), n = 0;
  double *value = tap_memory(3 * ROWS, sizeof *value);
  karst_matrix *A;
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
  struct problem p = problem_of(context, A, 0);
  karst_solver *solver = set_up(&p, NULL);
  text_of(solver, "auto_choice", choice);
  const char *expected =
      karst_context_is_host(context) ? LITTLE_FILL("--precond iluk --level 0") : "--precond jacobi --ordering natural";
  tap_ok(strcmp(choice, expected) == 0, "a hub is eliminated last, or the choice has no order: %s", choice);
  problem_end(&p, solver);
  free(start);
  free(column);
  free(value);
}

/* A preconditioner alone has no ordering to choose. */
static void test_alone(karst_context *context)
{
  struct problem p = problem_from(context, "poisson3d:16x16x16", 0, 0);
  karst_options *options = make_options(context, NULL);
  karst_precond *precond;
  karst_value value;
  bool reported = false;
  tap_need(context, karst_precond_create(context, options, p.A, &precond), "precond");
  tap_need(context, karst_precond_update(precond), "update");
  const char *expected = karst_context_is_host(context) ? "--precond iluk --level 1" : "--precond fgbilu";
  for (size_t i = 0; karst_precond_report(precond, i, &value); i++)
    reported = reported || (strcmp(value.name, "auto_choice") == 0 && strcmp(value.text, expected) == 0);
  tap_ok(reported, "auto alone is %s, also after an update", expected);
  tap_ok(karst_precond_apply(precond, p.b, p.x) == KARST_SUCCESS, "auto alone is applied");
  karst_precond_destroy(precond);
  karst_options_destroy(options);
  problem_destroy(&p);
}

static void test_inside(karst_context *context)
{
  struct problem p = problem_from(context, "poisson2d:9x9", 0, 0);
  karst_solver *solver = make_solver(&p, GIVEN({"precond", "two-stage"}, {"second", "auto"}));
  const karst_status status = karst_solver_setup(solver, p.A);
  tap_ok(status == KARST_ERROR_OPTION && strstr(karst_context_error(context), "inside another"),
         "auto inside another preconditioner is refused: %s", karst_context_error(context));
  problem_end(&p, solver);
}

/* rrb needs symmetric values. The rules sample some rows; rows 4 and 5 are not among them. */
static void test_refusal(karst_context *context)
{
  struct problem p = problem_from(context, "poisson2d:40x40", 0, 0);
  karst_solver *solver = make_solver(&p, NULL);
  char choice[VALUE], reason[VALUE];
  double *value = values_on_host(p.A);
  for (karst_index i = 0; i < karst_matrix_block_rows(p.A); i++)
    for (karst_index k = karst_matrix_row_start(p.A)[i]; k < karst_matrix_row_start(p.A)[i + 1]; k++)
      value[k] = karst_matrix_column(p.A)[k] == i ? 4 : i == 4 && karst_matrix_column(p.A)[k] == 5 ? -0.5 : -1;
  tap_need(context, karst_matrix_update_values(p.A, value), "values");
  tap_need(context, karst_solver_setup(solver, p.A), "setup");
  text_of(solver, "auto_choice", choice);
  text_of(solver, "auto_reason", reason);
  tap_ok(strstr(choice, "iluk") && strcmp(reason, "rrb has failed") == 0, "%s replaces rrb, which refuses", choice);
  tap_ok(problem_solve(&p, solver).reason > 0, "the choice that replaces rrb converges");
  free(value);
  problem_end(&p, solver);
}

/* Solvers of one pattern, a kept factorization, and a set-up for another matrix. */
static void test_sharing(karst_context *context)
{
  struct problem p = problem_from(context, "poisson3d:16x16x16", 0, 0),
                 q = problem_from(context, "poisson2d:30x30", 0, 0);
  karst_solver *one = set_up_by_rules(&p, NULL), *other = make_solver(&p, NULL);
  karst_analysis *analysis;
  char before[VALUE], after[VALUE];
  tap_need(context, karst_solver_get_analysis(one, &analysis), "analysis");
  tap_ok(karst_solver_setup_with(other, q.A, analysis) == KARST_ERROR_ARGUMENT,
         "an analysis of another pattern is refused");
  tap_need(context, karst_solver_setup_with(other, p.A, analysis), "setup with an analysis");
  const int iterations = problem_solve(&p, one).iterations;
  tap_ok(problem_solve(&p, other).iterations == iterations,
         "a solver that shares the analysis takes as many iterations");
  text_of(one, "auto_choice", before);
  tap_need(context, karst_solver_keep(one), "keep");
  tap_ok(problem_solve(&p, one).iterations == iterations, "kept factors take as many iterations as before");
  tap_ok(strcmp(text_of(one, "auto_choice", after), before) == 0, "kept factors keep the choice");
  tap_need(context, karst_solver_setup(one, q.A), "setup");
  tap_ok(chooses(one, "rrb") && problem_solve(&q, one).reason > 0, "set-up for another matrix chooses again");
  karst_analysis_destroy(analysis);
  problem_end(&p, other);
  problem_end(&q, one);
}

static karst_status choose(karst_context *context, void *user)
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

static void test_command(void)
{
  cli_need("solve");
  const struct cli_run *run = CLI_RUN("solve", "poisson3d:16x16x16", "--precond", "auto");
  tap_ok(run->status == 0 && strstr(run->out, "auto_choice --precond iluk --level 1 --ordering natural") &&
             strstr(run->out, "auto_reason ILU(1) has "),
         "solve reports the choice and its reason");
  run = CLI_RUN("solve", "poisson3d:16x16x16", "--precond", "auto", "--auto-learn", "perhaps");
  tap_ok(run->status == 2 && strstr(run->err, "time|no"), "another way to learn is refused: %s", run->err);
}

/* When compare runs auto beside other preconditioners, it leaves the options to auto that auto chooses: those of iluk,
 * listed by the library, and the ordering. */
static void test_left_to_auto(void)
{
#ifdef HAVE_JANSSON
  karst_context *context = tap_context();
  karst_options *defaults = make_options(context, NULL);
  const karst_option *const *list = karst_precond_find(context, "iluk")->options;
  cli_need("compare");
  for (; *list; list++)
    for (const karst_option *row = *list; row->name; row++) {
      char option[128], setting[128];
      const char *text;
      tap_need(context, karst_options_get(defaults, row->name, &text), "a default");
      snprintf(option, sizeof option, "--%s=%s", row->name, text);
      snprintf(setting, sizeof setting, " %s=%s", row->name, text);
      const struct cli_run *run =
          CLI_RUN("compare", "poisson2d:9x9", "--precond", "iluk,auto", option, "--ordering=rcm", "--dry-run");
      const char *own = strstr(run->out, "precond=auto"), *first = strstr(run->out, setting);
      const char *ordered = strstr(run->out, " ordering=rcm");
      const bool twice = (first && strstr(first + 1, setting)) || (ordered && strstr(ordered + 1, " ordering=rcm"));
      tap_ok(run->status == 0 && own && first && ordered && !twice, "%s is given to iluk, and not to auto beside it",
             row->name);
    }
  karst_options_destroy(defaults);
  karst_context_destroy(context);
#else
  tap_skip("this build is without jansson", "options that compare leaves to auto");
#endif
}

/* The plan with which doc/tables/README.md measures auto. */
static void test_plan(void)
{
#ifdef HAVE_JANSSON
  const char *source = getenv("srcdir");
  char plan[512];
  cli_need("compare");
  snprintf(plan, sizeof plan, "%s/doc/tables/auto.json", source ? source : ".");
  if (access(plan, R_OK) != 0) {
    tap_skip("the source tree is not here", "the plan of the tables");
    return;
  }
  const struct cli_run *run = CLI_RUN("compare", "--plan", plan, "--device", "cpu", "--solver", "gmres", "--dry-run");
  int cases = 0, automatic = 0;
  for (const char *at = run->out; (at = strstr(at, "precond=")); at++, cases++)
    automatic += strncmp(at, "precond=auto", 12) == 0;
  tap_ok(run->status == 0 && automatic == 15 && cases == 12 * automatic, "the plan of the tables has %d cases", cases);
#else
  tap_skip("this build is without jansson", "the plan of the tables");
#endif
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
  tap_each_device(test_sharing, "sharing");
  tap_each_device(test_given_level, "a given level");
  test_strong_couplings();
  tap_each_device(test_orders, "orders");
  test_device_rules();
  test_device_tiles();
  test_found_grid();
  fail_each_allocation(choose, plane, "auto for a plane");
  fail_each_allocation(choose, box, "auto for a box");
  test_command();
  test_left_to_auto();
  test_plan();
  return tap_done();
}
