/* test_auto_trials.c - the choice of auto by what it has measured, in sequences whose costs are made up: with no matrix
 * and no clock. Over a sequence it costs at most 1.4 times as much as the best fixed choice. */
#include "tests/support/tap.h"

#include "solver/auto/auto.h"

#include <math.h>
#include <string.h>

enum { RUNGS = 4, SYSTEMS = 60 };

/* What the rungs cost, in seconds, and their iterations in a system of difficulty 1 and how these grow with it. */
struct world {
  const char *name;
  double setup[RUNGS], update[RUNGS], iteration[RUNGS], iterations[RUNGS], growth[RUNGS];
  double easiest, hardest; /* difficulties of systems: each is drawn between them */
  int hard_from;           /* systems from this one on have the hardest */
};

static const struct karst_krylov_ops driver = {.name = "driver"};

/* The ladder: block Jacobi, ILU(0), ILU(1) and cpr. */
static void begin(karst_auto *choice, int start)
{
  static const struct karst_precond_ops jacobi = {.name = "jacobi", .automatic = KARST_AUTO_BELOW},
                                        iluk = {.name = "iluk", .automatic = KARST_AUTO_LEVELS},
                                        cpr = {.name = "cpr", .automatic = KARST_AUTO_ABOVE, .unsymmetric = true};
  *choice = (karst_auto){.learns = true, .host = true, .due = true, .proven = -1, .at = start, .best = start};
  choice->ladder = (karst_auto_ladder){
      .rung = {{&jacobi, "natural", -1}, {&iluk, "natural", 0}, {&iluk, "natural", 1}, {&cpr, "natural", -1}},
      .count = RUNGS,
      .start = start,
      .climbs = true,
      .growth = 1.9};
  for (int i = 0; i < KARST_AUTO_RUNGS; i++)
    choice->figures[i] =
        (karst_auto_figures){.setup = NAN, .update = NAN, .iteration = NAN, .iterations = NAN, .patience = 1};
}

static int count_iterations(const struct world *w, int rung, double difficulty)
{
  return (int)fmax(1, round(w->iterations[rung] * pow(difficulty, w->growth[rung])));
}

/* Runs the sequence and returns its cost. */
static double run(const struct world *w, karst_auto *choice, const double difficulty[SYSTEMS])
{
  const karst_krylov_limits limits = {1e-2, 0, 200};
  karst_krylov krylov = {.ops = &driver, .limits = &limits};
  double cost = w->setup[choice->at] + w->update[choice->at];
  krylov.test.start_merit = 1;
  krylov.now.merit = 1e-3;
  for (int t = 0; t < SYSTEMS; t++) {
    karst_auto_sample sample = {.first = &krylov, .krylov = &krylov};
    const int former = choice->at;
    bool made = t == 0, goes_on = true;
    if (t > 0 && karst_auto_advance(choice)) {
      made = true;
      cost += w->setup[choice->at] + w->update[choice->at];
    }
    sample.setup = made ? w->setup[choice->at] : 0;
    sample.update = w->update[choice->at];
    sample.step = 0.8 * w->iteration[choice->at];
    if (made && !karst_auto_judge(choice, &sample)) cost += w->update[former];
    if (t > 0 && !made) cost += sample.update;
    for (int before = 0; goes_on;) {
      const int needed = count_iterations(w, choice->at, difficulty[t]);
      const int most = limits.max_iterations - before;
      sample.update = w->update[choice->at];
      const int allowed = karst_auto_allow(choice, &sample, most);
      karst_result result = {.iterations = needed <= allowed ? needed : allowed,
                             .reason = needed <= allowed ? KARST_CONVERGED_RTOL : KARST_ITERATION_LIMIT};
      sample.result = &result;
      sample.solve = result.iterations * w->iteration[choice->at];
      cost += sample.solve;
      before += result.iterations;
      goes_on = karst_auto_measure(choice, &sample, allowed, most);
      sample = (karst_auto_sample){.first = &krylov, .krylov = &krylov};
      if (!goes_on) break;
      cost += w->setup[choice->at] + w->update[choice->at];
      sample.setup = w->setup[choice->at];
      sample.update = w->update[choice->at];
      sample.step = 0.8 * w->iteration[choice->at];
      karst_auto_judge(choice, &sample);
    }
  }
  return cost;
}

static double run_fixed(const struct world *w, int rung, const double difficulty[SYSTEMS])
{
  double cost = w->setup[rung];
  for (int t = 0; t < SYSTEMS; t++)
    cost += w->update[rung] + count_iterations(w, rung, difficulty[t]) * w->iteration[rung];
  return cost;
}

/* Natural order and tiles of a given preconditioner: set-up takes the faster one, by a product and an application, and
 * solves take the other one if it needs many fewer iterations. */
static void test_orders(void)
{
  static const struct {
    double natural, tiles; /* seconds of a product and an application */
    int iterations[2];
    const char *first, *last;
  } cases[] = {{1, 0.5, {10, 11}, "tiles", "tiles"},
               {1, 0.9, {10, 11}, "natural", "natural"},
               {1, 2, {10, 11}, "natural", "natural"},
               {1, 0.7, {10, 25}, "tiles", "natural"}};
  static const struct karst_precond_ops iluk = {.name = "iluk", .automatic = KARST_AUTO_LEVELS};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const double step[2] = {cases[i].natural, cases[i].tiles};
    const struct world w = {"orders",
                            {1, 1},
                            {1, 1},
                            {step[0] * 1.25, step[1] * 1.25},
                            {cases[i].iterations[0], cases[i].iterations[1]},
                            {0, 0},
                            1,
                            1,
                            0};
    const karst_krylov_limits limits = {1e-2, 0, 200};
    const karst_krylov krylov = {.ops = &driver, .limits = &limits};
    double difficulty[SYSTEMS];
    karst_auto choice;
    for (int t = 0; t < SYSTEMS; t++) difficulty[t] = 1;
    begin(&choice, 0);
    choice.fixed = true;
    choice.ladder = (karst_auto_ladder){
        .rung = {{&iluk, "natural", -1}, {&iluk, "tiles", -1}}, .count = 2, .climbs = true, .growth = 1};
    karst_auto_sample sample = {.first = &krylov, .krylov = &krylov, .setup = 1, .update = 1, .step = step[0]};
    karst_auto_judge(&choice, &sample);
    sample.step = step[1];
    if (karst_auto_challenge(&choice)) karst_auto_judge(&choice, &sample);
    const char *first = choice.ladder.rung[choice.at].ordering;
    tap_ok(strcmp(first, cases[i].first) == 0, "set-up takes %s: %s", first, choice.reason);
    run(&w, &choice, difficulty);
    tap_ok(strcmp(choice.ladder.rung[choice.best].ordering, cases[i].last) == 0, "solves end with %s: %s",
           cases[i].last, choice.reason);
  }
}

/* Sequences like those of OPM Flow: the costs of an update and an iteration over an iteration of ILU(0). */
static void test_sequences(void)
{
  static const struct world worlds[] = {
      {"cpr is much better",
       {0, 2, 6, 18},
       {.2, 2, 4, 4.6},
       {.6, 1, 1.5, 2.6},
       {60, 25, 12, 2},
       {1, 1, 1, .3},
       .3,
       6,
       60},
      {"few iterations",
       {0, 2, 5, 16},
       {.2, 3, 7, 7},
       {.6, 1, 1.5, 2.9},
       {15, 5, 3.3, 1.6},
       {1, 1, 1, .5},
       .7,
       1.4,
       60},
      {"level 1 is better", {0, 2, 5, 20}, {.2, 1, 2, 9}, {.6, 1, 1.2, 5}, {80, 30, 13, 5}, {1, 1, 1, 1}, .7, 1.4, 60},
      {"hard from the tenth on",
       {0, 2, 6, 18},
       {.2, 2, 4, 4.6},
       {.6, 1, 1.5, 2.6},
       {12, 4, 2, 1.5},
       {1, 1, 1, .3},
       1,
       10,
       10}};
  for (size_t i = 0; i < sizeof worlds / sizeof *worlds; i++) {
    const struct world *w = &worlds[i];
    for (int start = 1; start < RUNGS; start += 2) {
      double difficulty[SYSTEMS], best = INFINITY;
      karst_auto choice;
      int fixed = 0;
      for (int t = 0; t < SYSTEMS; t++)
        difficulty[t] = t >= w->hard_from        ? w->hardest
                        : w->hard_from < SYSTEMS ? w->easiest
                                                 : w->easiest * pow(w->hardest / w->easiest, fabs(tap_random()));
      for (int rung = 0; rung < RUNGS; rung++) {
        const double cost = run_fixed(w, rung, difficulty);
        if (cost < best) fixed = rung;
        best = fmin(best, cost);
      }
      begin(&choice, start);
      const double cost = run(w, &choice, difficulty);
      tap_ok(cost <= 1.4 * best, "%s, from rung %d: %.2f of the cost of rung %d, the best; ends with rung %d", w->name,
             start, cost / best, fixed, choice.best);
    }
  }
}

int main(void)
{
  test_sequences();
  test_orders();
  return tap_done();
}
