/* The ordering auto takes tiles where they are predicted to be faster, else natural order, and says so. */
#include "config.h"

#include "tests/support/cli.h"
#include "solver/auto/order.h"
#include "tests/support/machines.h"
#include "tests/support/named_values.h"
#include "tests/support/problem.h"

#include <string.h>

static void test_rules(karst_context *context)
{
  static const struct {
    const char *spec;
    int block, distance;
    bool host, level_sets, pay;
    const char *reason;
  } expected[] = {{"poisson3d:40x40x40", 0, 1, false, false, true, "estimated"},
                  {"poisson3d:40x40x40", 0, 1, false, true, true, "estimated"},
                  {"poisson3d:10x10x10", 0, 1, false, true, false, "estimated"},
                  {"convdiff:16x16x16", 8, 2, false, false, true, "estimated"},
                  {"poisson3d:40x40x40", 0, 1, true, false, false, "on a CPU"},
                  {"poisson2d:100x100", 0, 3, false, false, true, "estimated"},
                  {"poisson2d:30x30", 0, 1, false, false, false, "fewer than 1000 block rows"},
                  {"poisson2d:1x5000", 0, 1, false, false, false, "one by one"},
                  {"poisson2d:5000x1", 3, 1, false, false, false, "one by one"},
                  {"poisson3d:10x10x10", 0, 1, false, false, true, "estimated"}};
  for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
    karst_order_choice choice;
    karst_matrix *A = matrix_from(context, expected[i].spec, expected[i].block);
    tap_need(
        context,
        karst_order_compare(A, machine_of(expected[i].host), expected[i].distance, 0, expected[i].level_sets, &choice),
        "rule");
    tap_ok(choice.tiles == expected[i].pay && strstr(choice.reason, expected[i].reason), "%s, distance %d: %s: %s",
           expected[i].spec, expected[i].distance, choice.tiles ? "tiles" : "natural", choice.reason);
    karst_matrix_destroy(A);
  }
}

/* Sweeps of blocks of more than 8 go by level sets in tiles, too. */
static void test_large_blocks(karst_context *context)
{
  for (int block = 3; block <= 9; block += 6) {
    karst_order_choice any, level_sets;
    karst_matrix *A = matrix_from(context, "convdiff:16x16x16", block);
    tap_need(context, karst_order_compare(A, machine_of(false), 1, 0, false, &any), "rule");
    tap_need(context, karst_order_compare(A, machine_of(false), 1, 0, true, &level_sets), "rule");
    tap_ok((strcmp(any.reason, level_sets.reason) == 0) == (block == 9), "b = %d: %s; by level sets: %s", block,
           any.reason, level_sets.reason);
    karst_matrix_destroy(A);
  }
}

static bool names_dilu(const char *const *given)
{
  while (*given && strcmp(*given, "dilu") != 0) given++;
  return *given;
}

/* The message of each preconditioner about orderings. */
static void test_needs(karst_context *context)
{
  static const struct {
    const char *given[9];
    bool sweeps, tiles, natural, level_sets;
  } expected[] = {
      {{"precond", "none"}, false, false, false, false},
      {{"precond", "jacobi"}, false, false, false, false},
      {{"precond", "iluk"}, true, false, false, false},
      {{"precond", "dilu"}, true, false, false, false},
      {{"precond", "parilu"}, true, false, false, false},
      {{"precond", "paric"}, true, false, false, false},
      {{"precond", "fgbilu"}, false, false, true, false},
      {{"precond", "rrb"}, false, false, true, false},
      {{"precond", "iluk", "trisolve", "jacobi"}, false, false, false, false},
      {{"precond", "dilu", "trisolve", "jacobi"}, true, false, false, false},
      {{"precond", "parilu", "trisolve", "tiles"}, true, true, false, false},
      {{"precond", "iluk", "trisolve", "level"}, true, false, false, true},
      {{"precond", "parilu", "trisolve", "dataflow"}, true, false, false, true},
      {{"precond", "two-stage", "second", "dilu"}, true, false, false, false},
      {{"precond", "iluk", "modified", "0.9"}, true, false, true, false},
      {{"precond", "two-stage"}, true, false, false, false},
      {{"precond", "two-stage", "trisolve", "tiles"}, true, false, false, false},
      {{"precond", "two-stage", "second.trisolve", "tiles"}, true, true, false, false},
      {{"precond", "two-stage", "second", "jacobi"}, false, false, false, false},
      {{"precond", "two-stage", "first", "rrb"}, true, false, true, false},
      {{"precond", "two-stage", "first", "two-stage", "first.second.modified", "1"}, true, false, true, false}};
  for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
    karst_options *options = options_of(context, expected[i].given);
    karst_order_needs needs;
    const struct karst_precond_ops *ops = karst_precond_find(context, expected[i].given[1]);
    tap_need(context, karst_order_find_needs(context, ops, options, &needs), "needs");
    tap_ok(needs.sweeps == expected[i].sweeps && needs.tiles == expected[i].tiles &&
               (needs.natural != NULL) == expected[i].natural && needs.level_sets == expected[i].level_sets &&
               needs.largest_block == (names_dilu(expected[i].given) ? 6 : 8),
           "%s with %s: %ssweeps%s%s", ops->name, expected[i].given[2] ? expected[i].given[2] : "defaults",
           needs.sweeps ? "" : "no ", needs.tiles ? " by tiles" : "", needs.natural ? ", natural order" : "");
    karst_options_destroy(options);
  }
}

static int count_iterations(const struct problem *p, karst_solver *solver)
{
  const karst_result result = problem_solve(p, solver);
  return result.reason > 0 ? result.iterations : -1;
}

/* Without measurements auto takes the order that is predicted to be faster. */
#define SOLVER(...) solver_from(context, PAIRS("auto-learn", "no", __VA_ARGS__))

/* A set-up with auto takes the iterations of one with the ordering that auto chooses. */
static void test_solver(karst_context *context)
{
  static const struct {
    const char *spec, *option, *value, *cpu, *cuda;
  } expected[] = {{"poisson2d:40x40", "level", "0", "natural", "tiles"},
                  {"poisson2d:12x12", "level", "0", "natural", "natural"},
                  {"poisson2d:40x40", "trisolve", "jacobi", "natural", "natural"},
                  {"poisson2d:40x40", "modified", "0.5", "natural", "natural"},
                  {"poisson2d:40x40", "precond", "jacobi", "natural", "natural"},
                  {"poisson2d:40x40", "precond", "fgbilu", "natural", "natural"},
                  {"poisson2d:40x40", "precond", "dilu", "natural", "tiles"},
                  {"poisson2d:40x40", "precond", "parilu", "natural", "tiles"},
                  {"poisson2d:40x40", "precond", "two-stage", "natural", "tiles"},
                  {"poisson2d:40x40", "trisolve", "tiles", "tiles", "tiles"},
                  {"poisson2d:12x12", "trisolve", "tiles", "tiles", "tiles"}};
  for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
    const char *wanted = karst_context_is_host(context) ? expected[i].cpu : expected[i].cuda;
    karst_solver *chosen = SOLVER("ordering", "auto", expected[i].option, expected[i].value);
    karst_solver *fixed = SOLVER("ordering", wanted, expected[i].option, expected[i].value);
    struct problem p = problem_from(context, expected[i].spec, 0, 0);
    tap_need(context, karst_solver_setup(chosen, p.A), "setup");
    tap_need(context, karst_solver_setup(fixed, p.A), "setup");
    tap_ok(strcmp(tap_solver_text(chosen, "ordering_used"), wanted) == 0 && *tap_solver_text(chosen, "ordering_reason"),
           "%s, %s %s: %s, %s", expected[i].spec, expected[i].option, expected[i].value,
           tap_solver_text(chosen, "ordering_used"), tap_solver_text(chosen, "ordering_reason"));
    const int iterations = count_iterations(&p, chosen);
    tap_ok(iterations > 0 && iterations == count_iterations(&p, fixed), "it takes the same %d iterations", iterations);
    tap_ok(!*tap_solver_text(fixed, "ordering_used"), "a solver with a given ordering reports no choice");
    tap_need(context, karst_solver_update(chosen), "update");
    tap_ok(strcmp(tap_solver_text(chosen, "ordering_used"), wanted) == 0, "an update keeps the order");
    karst_solver_destroy(chosen);
    karst_solver_destroy(fixed);
    problem_destroy(&p);
  }
}

/* A set-up for another matrix chooses anew. */
static void test_again(karst_context *context)
{
  karst_solver *solver = SOLVER("ordering", "auto");
  struct problem p = problem_from(context, "poisson2d:50x50", 0, 0), q = problem_from(context, "poisson2d:12x12", 0, 0);
  tap_need(context, karst_solver_setup(solver, p.A), "setup");
  const bool host = karst_context_is_host(context);
  tap_ok(strcmp(tap_solver_text(solver, "ordering_used"), host ? "natural" : "tiles") == 0, "a large matrix");
  tap_need(context, karst_solver_setup(solver, q.A), "setup");
  tap_ok(strcmp(tap_solver_text(solver, "ordering_used"), "natural") == 0 && count_iterations(&q, solver) > 0,
         "then a small one");
  tap_need(context, karst_solver_setup(solver, p.A), "setup");
  tap_ok(strcmp(tap_solver_text(solver, "ordering_used"), host ? "natural" : "tiles") == 0 &&
             count_iterations(&p, solver) > 0,
         "and the large one again");
  karst_solver_destroy(solver);
  problem_destroy(&p);
  problem_destroy(&q);
}

/* With an analysis, auto takes the ordering of the analysis. */
static void test_analysis(karst_context *context)
{
  static const char *const orderings[] = {"natural", "tiles", "auto", "rcm"};
  struct problem p = problem_from(context, "poisson2d:40x40", 0, 0);
  for (size_t i = 0; i < sizeof orderings / sizeof *orderings; i++) {
    karst_solver *made = SOLVER("ordering", orderings[i], "tile-size", "16");
    karst_solver *automatic = SOLVER("ordering", "auto", "tile-size", "16"), *other = SOLVER("ordering", "auto");
    karst_analysis *analysis;
    tap_need(context, karst_solver_setup(made, p.A), "setup");
    tap_need(context, karst_solver_get_analysis(made, &analysis), "analysis");
    const karst_status status = karst_solver_setup_with(automatic, p.A, analysis);
    const char *used = strcmp(orderings[i], "auto") == 0 ? tap_solver_text(made, "ordering_used") : orderings[i];
    if (strcmp(used, "rcm") == 0) {
      tap_ok(status == KARST_ERROR_ARGUMENT, "auto refuses an analysis with rcm: %s", karst_context_error(context));
    } else {
      tap_ok(!status && strcmp(tap_solver_text(automatic, "ordering_used"), used) == 0 &&
                 count_iterations(&p, automatic) == count_iterations(&p, made),
             "auto takes the order of an analysis with %s: %s", orderings[i],
             tap_solver_text(automatic, "ordering_used"));
      const bool tiles = strcmp(used, "tiles") == 0;
      tap_ok(karst_solver_setup_with(other, p.A, analysis) == (tiles ? KARST_ERROR_ARGUMENT : KARST_SUCCESS),
             tiles ? "but not with tiles of another size" : "natural order has no tile size to differ");
    }
    karst_analysis_destroy(analysis);
    karst_solver_destroy(made);
    karst_solver_destroy(automatic);
    karst_solver_destroy(other);
  }
  problem_destroy(&p);
}

static void test_options(karst_context *context)
{
  karst_options *options = options_of(context, PAIRS(NULL)), *copy;
  const char *text;
  tap_need(context, karst_options_get(options, "ordering", &text), "ordering");
  tap_ok(strcmp(text, "natural") == 0, "the default is natural order");
  tap_need(context, karst_options_set(options, "ordering", "auto"), "auto");
  tap_need(context, karst_options_copy(context, options, &copy), "copy");
  tap_need(context, karst_options_get(copy, "ordering", &text), "ordering");
  tap_ok(strcmp(text, "auto") == 0 && karst_options_used(copy, "tile-size"), "auto is kept, and reads tile-size");
  const karst_status status = karst_options_set(options, "ordering", "automatic");
  tap_ok(status == KARST_ERROR_OPTION && strstr(karst_context_error(context), "tiles|auto"), "%s",
         karst_context_error(context));
  karst_options_destroy(options);
  karst_options_destroy(copy);
}

static void test_commands(void)
{
  cli_need("solve");
  const struct cli_run *run =
      CLI_RUN("solve", "poisson2d:20x20", "--ordering", "auto", "--trisolve", "tiles", "--view");
  tap_ok(run->status == 0 && strstr(run->out, ", ordering tiles, scale none\n") &&
             strstr(run->out, "ordering_used tiles\n") && strstr(run->out, "ordering_reason trisolve tiles asks"),
         "solve reports the order that was used, and why");
  tap_ok(strstr(run->out, "  ordering                     tiles (chosen by auto)\n"),
         "its view says that auto chose it");
  tap_ok(strstr(run->out, "; in natural order 39 levels, about "), "and the cost of natural order");
  run = CLI_RUN("solve", "poisson2d:20x20", "--ordering", "auto", "--device", "cpu");
  tap_ok(run->status == 0 && strstr(run->out, ", ordering natural, scale none\n"), "natural order is reported too");
  run = CLI_RUN("solve", "poisson3d:9x9x9", "--ordering", "auto", "--precond", "auto", "--device", "cpu");
  tap_ok(run->status == 0 && strstr(run->out, "auto_choice --precond iluk --level 1 --ordering natural\n") &&
             !strstr(run->out, "ordering_used"),
         "the preconditioner auto chooses the ordering itself");
  run = CLI_RUN("solve", "poisson2d:9x9", "--ordering", "automatic");
  tap_ok(run->status == 2 && cli_is_one_sentence(run, "solve") && strstr(run->err, "natural|rcm|"), "%s", run->err);
  run = CLI_RUN("solve", "poisson2d:20x20", "--ordering", "natural", "--trisolve", "tiles");
  tap_ok(run->status == 2 && strstr(run->err, "an ordering that makes tiles"), "natural order has no tiles: %s",
         run->err);
#ifdef HAVE_JANSSON
  run = CLI_RUN("solve", "poisson2d:20x20", "--ordering", "auto", "--trisolve", "tiles", "--json");
  tap_ok(run->status == 0 && strstr(run->out, "\"ordering\": \"tiles\"") &&
             strstr(run->out, "\"ordering_used\": \"tiles\""),
         "and so does JSON");
  cli_need("compare");
  run = CLI_RUN("compare", "poisson2d:9x9", "--ordering", "natural,auto", "--dry-run");
  tap_ok(run->status == 0 && strstr(run->out, "ordering=auto"), "compare accepts it: %s", run->err);
#else
  tap_skip("built without jansson", "JSON and compare");
#endif
}

int main(void)
{
  karst_context *context = tap_context();
  test_rules(context);
  test_large_blocks(context);
  test_needs(context);
  test_options(context);
  karst_context_destroy(context);
  tap_each_device(test_solver, "solvers");
  tap_each_device(test_again, "another matrix");
  tap_each_device(test_analysis, "analyses");
  test_commands();
  return tap_done();
}
