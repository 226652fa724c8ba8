/* test_auto_multigrid.c - auto with multigrid: which systems get amg or cpr, which options rule them out, and what
 * follows if cpr fails. */
#include "solver/auto/auto.h"
#include "solver/auto/look.h"
#include "solver/solver.h"
#include "tests/support/auto_steps.h"
#include "tests/support/machines.h"

#include <math.h>
#include <stdlib.h>

static const char flow[] = "blackoil:16x16x10"; /* 2560 cells of three unknowns, pressures first */

/* Multiplies each row by a power of ten and, in each block, moves column q to (q + turn) % b. */
static void disguise(karst_matrix *A, int turn)
{
  const int b = karst_matrix_block_size(A);
  const karst_index *start = karst_matrix_row_start(A);
  double *value = values_on_host(A), *other = tap_memory(karst_entries(A), sizeof *other);
  for (karst_index i = 0; i < karst_matrix_block_rows(A); i++)
    for (int r = 0; r < b; r++) {
      const double scale = pow(10, floor(7 * tap_random()) - 3);
      for (karst_index k = start[i]; k < start[i + 1]; k++)
        for (int q = 0; q < b; q++)
          other[((int64_t)k * b + (q + turn) % b) * b + r] = scale * value[((int64_t)k * b + q) * b + r];
    }
  tap_need(A->context, karst_matrix_update_values(A, other), "values");
  free(value);
  free(other);
}

/* Elliptic equations are found among the unknowns of a block, wherever they are and however rows are scaled. */
static void test_unknowns(karst_context *context)
{
  static const struct {
    const char *spec;
    int block, turn, unknown;
  } expected[] = {{"blackoil:9x8x7,dt=0.00001", 0, 0, 0}, {"blackoil:9x8x7", 0, 0, 0},     {"blackoil:9x8x7", 0, 1, 1},
                  {"blackoil:9x8x7,dt=100", 0, 2, 2},     {"deadoil:9x8x7", 0, 1, 1},      {"poisson3d:9x8x7", 0, 0, 0},
                  {"poisson3d:9x8x7", 2, 0, -1},          {"convdiff:9x8x7", 0, 0, -1},    {"ns3d:6x6x6", 4, 0, -1},
                  {"poisson3d:1x1x1", 0, 0, -1},          {"discontinuous:9x8x7", 0, 0, 0}};
  for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
    karst_matrix *A = matrix_from(context, expected[i].spec, expected[i].block);
    karst_auto_look look;
    for (int disguised = 0; disguised < 2; disguised++) {
      if (disguised) disguise(A, expected[i].turn);
      tap_need(context, karst_auto_look_at(A, &look), "look");
      const int unknown = disguised || expected[i].unknown < 0 ? expected[i].unknown : 0;
      tap_ok(look.elliptic == unknown, "%s%s: unknown %d of a block is elliptic: %d", expected[i].spec,
             disguised ? ", rows scaled and columns moved" : "", unknown, look.elliptic);
    }
    karst_matrix_destroy(A);
  }
}

/* Systems that OPM Flow has dumped, whose pressure is unknown 1. */
static void test_real(void)
{
  static const char *const file[] = {"opm/opm_spe10m1_in.mtx.gz", "spe10_2layers_bsr3.kbsr.xz", "norne_bsr3.kbsr.xz"};
  karst_context *context = tap_context();
  for (size_t i = 0; i < sizeof file / sizeof *file; i++) {
    const char *path = tap_matrix_path(file[i]);
    karst_matrix *A;
    if (!path || karst_matrix_read(context, path, 0, &A)) {
      tap_skip("the real matrix is absent, or cannot be read by this build", "%s", file[i]);
      continue;
    }
    karst_options *given = make_options(context, NULL);
    karst_auto choice;
    tap_need(context, karst_auto_begin(given, true, A, &choice), "begin");
    const char *name = choice.ladder.rung[choice.at].precond->name;
    tap_ok(strcmp(name, "cpr") == 0 && strncmp(choice.reason, "unknown 1 ", 10) == 0, "%s has %s: %s", file[i], name,
           choice.reason);
    karst_options_destroy(given);
    karst_matrix_destroy(A);
  }
  karst_context_destroy(context);
}

/* What the rules of a CPU and a GPU begin with, and the top of the ladder; freedom is that of gmres. */
static void test_rules(void)
{
  static const struct {
    const char *spec;
    int block;
    bool host;
    const char *start, *top, *ordering; /* ordering: of the top */
  } expected[] = {
      {flow, 0, true, "cpr", "cpr", "natural"},
      {"blackoil:12x12x12", 0, true, "iluk", "cpr", "natural"},
      {"deadoil:20x20x8,dt=10", 0, true, "cpr", "cpr", "natural"},
      {"blackoil:40x50x2", 0, false, "fgbilu", "cpr", "tiles"},
      {"blackoil:28x28x28", 0, false, "cpr", "cpr", "tiles"},
      {"ns3d:14x14x14", 4, true, "dilu", "iluk", "natural"},
      {"poisson3d:16x16x16", 0, true, "iluk", "amg", "natural"},
      {"poisson3d:32x32x32", 0, true, "iluk", "amg", "natural"},
      {"poisson3d:28x28x28", 0, false, "amg", "amg", "natural"},
      {"laplace27:28x28x28", 0, false, "amg", "amg", "natural"},
      {"jump2d:320x320", 0, true, "amg", "amg", "natural"},
  };
  karst_context *context = tap_context();
  for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
    const karst_auto_freedom freedom = {
        .precond = true, .level = true, .grid = true, .whole = true, .tight = true, .tiles = true};
    karst_auto_ladder ladder, again;
    karst_matrix *A = matrix_from(context, expected[i].spec, expected[i].block);
    tap_need(context, karst_auto_rules(A, machine_of(expected[i].host), &freedom, &ladder), "rules");
    tap_need(context, karst_auto_rules(A, machine_of(expected[i].host), &freedom, &again), "rules");
    const karst_auto_rung *start = &ladder.rung[ladder.start], *top = &ladder.rung[ladder.count - 1];
    tap_ok(strcmp(start->precond->name, expected[i].start) == 0 && strcmp(top->precond->name, expected[i].top) == 0 &&
               strcmp(top->ordering, expected[i].ordering) == 0,
           "%s on a %s begins with %s, below %s in %s order", expected[i].spec, expected[i].host ? "CPU" : "GPU",
           start->precond->name, top->precond->name, top->ordering);
    tap_ok(again.start == ladder.start && again.count == ladder.count, "%s: the same choice again", expected[i].spec);
    karst_matrix_destroy(A);
  }
  karst_context_destroy(context);
}

/* With scaling or parts a GPU takes amg if the diagonal entries are alike, and never cpr. */
static void test_scaled(void)
{
  static const char *const expected[][2] = {
      {"unitsquare:150x150", "amg"}, {"jump2d:150x150,contrast=1e6", "iluk"}, {"deadoil:60x60x10", "fgbilu"}};
  const karst_auto_freedom freedom = {.precond = true, .level = true, .grid = true, .recurs = true};
  karst_context *context = tap_context();
  for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
    karst_auto_ladder ladder;
    karst_matrix *A = matrix_from(context, expected[i][0], 0);
    tap_need(context, karst_auto_rules(A, machine_of(false), &freedom, &ladder), "rules");
    const char *name = ladder.rung[ladder.start].precond->name;
    tap_ok(strcmp(name, expected[i][1]) == 0, "with scaling %s begins with %s", expected[i][0], name);
    karst_matrix_destroy(A);
  }
  karst_context_destroy(context);
}

/* Options that rule cpr out, and an analysis of it, which is taken only without them. */
static void test_options(void)
{
  static const struct {
    const char *name, *value;
    bool cpr;
  } option[] = {{"rtol", "1e-4", true},   {"solver", "gmres", true},   {"ordering", "rcm", true},
                {"solver", "cg", false},  {"level", "1", false},       {"scale", "block", false},
                {"shift", "1e-3", false}, {"trisolve", "level", false}};
  karst_context *context = tap_context();
  karst_matrix *A = matrix_from(context, flow, 0);
  for (size_t i = 0; i < sizeof option / sizeof *option; i++) {
    karst_options *given = make_options(context, GIVEN({option[i].name, option[i].value}));
    karst_auto choice;
    tap_need(context, karst_auto_begin(given, true, A, &choice), "begin");
    const char *name = choice.ladder.rung[choice.at].precond->name;
    tap_ok((strcmp(name, "cpr") == 0) == option[i].cpr, "with %s %s auto begins with %s", option[i].name,
           option[i].value, name);
    const bool taken = karst_auto_begin_at(&choice, &(karst_auto_rung){&karst_precond_cpr, "natural", 0});
    tap_ok(taken == option[i].cpr, "an analysis of cpr is %s", taken ? "taken" : "refused");
    karst_options_destroy(given);
  }
  karst_matrix_destroy(A);
  karst_context_destroy(context);
}

/* cpr stays through updates, and two runs have the same bits. */
static void test_stays(void)
{
  karst_context *context = tap_context();
  struct problem p = problem_from(context, flow, 0, 1);
  double norm[2];
  bool stays = true;
  for (int run = 0; run < 2; run++) {
    karst_solver *solver = set_up(&p, GIVEN({"auto-learn", "no"}));
    for (int i = 0; i < 4; i++) {
      stays = stays && problem_solve(&p, solver).reason > 0 && chooses(solver, "--precond cpr --ordering natural");
      tap_need(context, karst_solver_update(solver), "update");
    }
    tap_need(context, karst_vector_norm(p.x, &norm[run]), "norm");
    karst_solver_destroy(solver);
  }
  tap_ok(stays, "cpr stays while it converges");
  tap_ok(norm[0] == norm[1], "two runs have the same bits: %.17g", norm[1]);
  problem_destroy(&p);
  karst_context_destroy(context);
}

/* On a CPU the set-up of amg takes as long as several solves: an update tries it, and it stays. */
static void test_trial(void)
{
  karst_context *context = tap_context();
  struct problem p = problem_from(context, "discontinuous:32x32x32", 0, 1);
  karst_solver *solver = set_up(&p, NULL);
  bool stays = true;
  tap_ok(problem_solve(&p, solver).reason > 0 && chooses(solver, "iluk"), "auto begins with iluk");
  for (int i = 0; i < 5; i++) {
    tap_need(context, karst_solver_update(solver), "update");
    stays = problem_solve(&p, solver).reason > 0 && stays && (i == 0 || chooses(solver, "amg"));
  }
  tap_ok(stays, "updates choose amg, which stays");
  problem_end(&p, solver);
  karst_context_destroy(context);
}

/* cg refuses amg with the smoother adi: the trial ends before it begins, and its choice stays. */
static void test_refused_trial(void)
{
  karst_context *context = tap_context();
  struct problem p = problem_from(context, "discontinuous:32x32x32", 0, 1);
  karst_solver *solver = set_up(&p, GIVEN({"solver", "cg"}, {"amg-smoother", "adi"}));
  bool stays = true;
  for (int i = 0; i < 4; i++) {
    stays = problem_solve(&p, solver).reason > 0 && chooses(solver, "iluk") && stays;
    tap_need(context, karst_solver_update(solver), "update");
  }
  tap_ok(stays && strstr(tap_solver_text(solver, "auto_reason"), "amg could not be made"), "iluk stays: %s",
         tap_solver_text(solver, "auto_reason"));
  problem_end(&p, solver);
  karst_context_destroy(context);
}

/* A wrong pressure makes cpr fail: levels of fill end the solve, and replace it. */
static void test_failure(void)
{
  karst_context *context = tap_context();
  struct problem p = problem_from(context, "blackoil:16x16x10,dt=0.01", 0, 1);
  karst_solver *solver =
      set_up(&p, GIVEN({"solver", "richardson"}, {"cpr-pressure", "1"}, {"max-iterations", "500"}, {"rtol", "1e-4"}));
  tap_ok(chooses(solver, "cpr"), "auto begins with cpr");
  const karst_result result = problem_solve(&p, solver);
  tap_ok(result.reason > 0 && chooses(solver, "iluk"), "iluk ends the solve after %d iterations: %s", result.iterations,
         karst_solver_explain(solver));
  tap_need(context, karst_solver_update(solver), "update");
  problem_solve(&p, solver);
  tap_ok(!chooses(solver, "cpr"), "cpr does not come back: %s: %s", tap_solver_text(solver, "auto_choice"),
         karst_solver_explain(solver));
  problem_end(&p, solver);
  karst_context_destroy(context);
}

int main(void)
{
  tap_each_device(test_unknowns, "unknowns");
  test_real();
  test_rules();
  test_scaled();
  test_options();
  test_stays();
  test_trial();
  test_refused_trial();
  test_failure();
  return tap_done();
}
