/* ladder.c - see auto.h: moves on the ladder by what solves have cost.
 *
 * One rung is the best so far. With updates its neighbours have a trial of one solve each, until no trial is worth it:
 *
 *     begin
 *       |         a neighbour is worth a trial
 *       v      .--------------------------------> TRIAL
 *   COMPARING -'                                  |   |
 *     ^  ^  |                                     |   |
 *     |  '--|---- it costs less, becomes the best --'   |
 *     |     |                                         |
 *     |     | no neighbour is worth a trial           | it costs more, or fails
 *     |     v                                         |
 *     '-- SETTLED <-----------------------------------'
 *   iterations
 *   have changed
 *
 * If the best rung fails, another one continues, in the same solve if iterations are left. If the best one had never
 * converged, the other one becomes the best:
 *
 *   GIVEN_UP ---> SETTLED
 *
 * If it had converged before, the values may be those of one bad Newton step, and it gets a second chance:
 *
 *   FAILED ---> FALLBACK --- after one solve ---> ON_PROBATION --- it converges ---> SETTLED
 *     ^                                                |
 *     '---------------- it fails again ----------------'
 *
 * The FALLBACK rung becomes the best, and the state SETTLED, in two cases: it has cost less, or it has converged and
 * the former best one fails again.
 *
 * In every state in which the best rung is in use, a solve that takes many times the usual iterations is broken off.
 * The rung above continues from its x and becomes the best one. The state is then COMPARING, and the former best rung
 * has the first trial. Multigrid at the top has failed if it takes half of the allowed iterations and has not
 * converged before: the rung below continues. */
#include "solver/auto/auto.h"

#include "lib/base/number.h"
#include "solver/auto/cost.h"

#include <math.h>
#include <stdio.h>

enum { WORDS = 24 }; /* bytes of a description of a rung */

/* Another rung replaces the best one only if its cost is below this fraction of the best one's. */
static const double gain = 0.9;

/* A solve whose residual has fallen by fewer decimal digits says nothing about the preconditioner. */
static const double least_digits = 0.3;

/* After at most so many iterations the rung below is likely to converge too. */
static const int few_iterations = 20;

/* Neighbours are compared again once iterations have grown or fallen by this factor. */
static const double change = 2;

/* A solve is broken off after PATIENCE times the usual iterations if there is a rung above, and a trial once it costs
 * more than the best rung, but neither before LEAST iterations. */
enum { PATIENCE = 3, LEAST = 30 };

/* The most solves to wait for the next trial after one that did not lower the cost. */
enum { LONGEST_PAUSE = 64 };

/* A solve that stagnates after its residual has fallen by more decimal digits is near what rounding allows. */
static const double most_digits = 6;

/* Describes a rung, such as "iluk level 2". */
static const char *describe(const karst_auto *choice, int i, char text[WORDS])
{
  const karst_auto_rung *rung = &choice->ladder.rung[i];
  if (rung->level >= 0)
    snprintf(text, WORDS, "%s level %d", rung->precond->name, rung->level);
  else
    snprintf(text, WORDS, "%s", rung->precond->name);
  return text;
}

/* Whether the rung in use is multigrid. The way back to it takes a new hierarchy, so it is left only if it fails. */
static bool is_multigrid(const karst_auto *choice)
{
  return choice->ladder.rung[choice->at].precond->automatic == KARST_AUTO_ABOVE;
}

/* Returns by how many decimal digits the norm that judges the driver has fallen. */
static double count_digits(const karst_auto_sample *sample)
{
  const double start = sample->first->test.start_merit, end = sample->krylov->now.merit;
  if (!isgreater(start, 0)) return 0;
  if (!isgreater(end, 0)) return 16;
  return fmin(log10(start / end), 16);
}

/* Returns whether a better preconditioner could have helped. It could not if the cause is the matrix, the right-hand
 * side, a limit, the monitor, or a target below what rounding allows. */
static bool has_failed(const karst_auto_sample *sample)
{
  const karst_result *result = sample->result;
  const karst_krylov_limits *limits = sample->krylov->limits;
  switch (result->reason) {
  case KARST_NOT_FINITE:
  case KARST_OUT_OF_RANGE:
  case KARST_STOPPED:
  case KARST_INDEFINITE_OPERATOR:
    return false;
  case KARST_SINGULAR_BLOCK:
  case KARST_INDEFINITE_PRECOND:
    return true;
  default:
    break;
  }
  if (result->reason >= 0 || (limits->rtol == 0 && limits->atol == 0)) return false;
  if (result->reason == KARST_ITERATION_LIMIT) return result->iterations > 0;
  return !(result->reason == KARST_STAGNATED && count_digits(sample) > most_digits);
}

/* Excludes a rung unless all others fail too. */
static void give_up(karst_auto *choice, int i)
{
  choice->cost[i] = INFINITY;
  choice->converged[i] = false;
}

/* Records that the rung in use has failed. The best rung is not given up yet if it had converged before: the values may
 * be those of one bad Newton step. */
static void count_failure(karst_auto *choice)
{
  if (choice->at == choice->best && choice->converged[choice->at]) {
    choice->state = KARST_AUTO_FAILED;
    return;
  }
  give_up(choice, choice->at);
  if (choice->at == choice->best) choice->state = KARST_AUTO_GIVEN_UP;
}

/* Returns the cost of an update and a solve, scaled to choice->digits. *update: the cost of the update alone. */
static double find_cost(const karst_auto *choice, const karst_auto_sample *sample, double digits, double *update)
{
  const bool timed = choice->learn == KARST_AUTO_BY_TIME;
  *update = timed ? sample->time_update : karst_auto_update_bytes(sample);
  return *update + (timed ? sample->time_solve : sample->result->iterations * karst_auto_iteration_bytes(sample)) *
                       choice->digits / digits;
}

static void set_best(karst_auto *choice, int best)
{
  choice->best = best;
  choice->fallback = -1;
  choice->state = isinf(choice->cost[best]) ? KARST_AUTO_GIVEN_UP : KARST_AUTO_SETTLED;
}

/* Begins comparisons again: forgets the costs of the other rungs, except those that have failed. */
static void compare_again(karst_auto *choice)
{
  for (int i = 0; i < choice->ladder.count; i++)
    if (i != choice->best && !isinf(choice->cost[i])) choice->cost[i] = NAN;
  choice->state = KARST_AUTO_COMPARING;
  choice->quiet = 0;
  choice->former = -1;
}

/* Returns whether this is the trial of the rung that the best one has replaced within a solve. */
static bool is_confirmation(const karst_auto *choice)
{
  return choice->at == choice->former && choice->state != KARST_AUTO_FALLBACK;
}

/* Makes the next trial wait longer, after one that did not lower the cost and after a rung was replaced in a solve. */
static void lengthen_pause(karst_auto *choice)
{
  if (is_confirmation(choice)) return;
  choice->pause = choice->pause < LONGEST_PAUSE ? 2 * choice->pause + 1 : LONGEST_PAUSE;
}

/* Returns the nearest rung above rung i that has not failed, or -1. */
static int find_above(const karst_auto *choice, int i)
{
  while (++i < choice->ladder.count)
    if (!isinf(choice->cost[i])) return i;
  return -1;
}

/* Returns the nearest rung above the best one that has not failed, else the nearest below. If all have failed, returns
 * the best one if that had converged before, else the rules' choice. */
static int find_replacement(const karst_auto *choice)
{
  const int above = find_above(choice, choice->best);
  if (above >= 0) return above;
  for (int i = choice->best - 1; i >= 0; i--)
    if (!isinf(choice->cost[i])) return i;
  return choice->state == KARST_AUTO_FAILED ? choice->best : choice->ladder.start;
}

/* Replaces the best rung, which has failed: for good, unless this is its first failure after it had converged. */
static void replace_best(karst_auto *choice)
{
  const int proven = choice->fallback;
  const bool again = choice->state == KARST_AUTO_GIVEN_UP || proven >= 0;
  char text[WORDS];
  snprintf(choice->reason, sizeof choice->reason, "%s has failed", describe(choice, choice->best, text));
  choice->at = proven >= 0 ? proven : find_replacement(choice);
  if (again) {
    give_up(choice, choice->best);
    set_best(choice, choice->at);
  } else {
    choice->state = choice->at == choice->best ? KARST_AUTO_ON_PROBATION : KARST_AUTO_FALLBACK;
  }
}

/* Ends a trial, or the use of a fallback. */
static void return_to_best(karst_auto *choice)
{
  const bool trial = choice->state == KARST_AUTO_TRIAL, confirmed = is_confirmation(choice);
  char text[WORDS], other[WORDS];
  describe(choice, choice->at, text);
  if (isinf(choice->cost[choice->at]))
    snprintf(choice->reason, sizeof choice->reason, "%s has failed", text);
  else if (!trial)
    snprintf(choice->reason, sizeof choice->reason, "%s has converged before", describe(choice, choice->best, other));
  else
    karst_print(choice->reason, sizeof choice->reason, "measured: %s costs %.2f times as much", text,
                choice->cost[choice->at] / choice->cost[choice->best]);
  choice->state = !trial ? KARST_AUTO_ON_PROBATION : confirmed ? KARST_AUTO_COMPARING : KARST_AUTO_SETTLED;
  if (confirmed) choice->former = -1;
  choice->at = choice->best;
}

/* Replaces the best rung, which takes many times its usual iterations, by the next one above. Because one system may be
 * hard among easy ones, the former best rung has the next trial. */
static void climb(karst_auto *choice)
{
  char text[WORDS];
  const int above = find_above(choice, choice->best), former = choice->best;
  snprintf(choice->reason, sizeof choice->reason, "%s took too many iterations", describe(choice, choice->best, text));
  choice->at = above;
  set_best(choice, above);
  choice->usual = choice->bytes = 0;
  lengthen_pause(choice);
  compare_again(choice);
  choice->former = former;
}

/* Returns the digits that the limits ask for, over the digits that costs are scaled to, at least 1. */
static double find_scale(const karst_auto *choice, const karst_krylov_limits *limits)
{
  return limits->rtol > 0 && choice->digits > 0 ? fmax(1, -log10(limits->rtol) / choice->digits) : 1;
}

int karst_auto_allow(const karst_auto *choice, const karst_auto_sample *sample, int most)
{
  const karst_krylov_limits *limits = sample->krylov->limits;
  const bool endless = limits->rtol == 0 && limits->atol == 0;
  if (choice->learn == KARST_AUTO_BY_NOTHING || !choice->due || !choice->ladder.climbs || endless) return most;
  const double scale = find_scale(choice, limits);
  double worth = most;
  if (choice->state == KARST_AUTO_TRIAL && choice->bytes > 0)
    worth = (choice->bytes - karst_auto_update_bytes(sample)) / karst_auto_iteration_bytes(sample);
  else if (choice->at == choice->best && find_above(choice, choice->best) >= 0)
    worth = choice->usual > 0 ? PATIENCE * choice->usual : floor(most / 2.0);
  else if (choice->at == choice->best && is_multigrid(choice) && !choice->converged[choice->best])
    worth = floor(most / 2.0);
  return (int)fmin(most, fmax(scale * worth, LEAST));
}

/* Moves to the rung that continues the solve after the one in use has failed or was broken off. Returns false if there
 * is no such rung. */
static bool go_on(karst_auto *choice, bool broken_off)
{
  const int before = choice->at;
  choice->after_failure = choice->state != KARST_AUTO_TRIAL;
  if (choice->state == KARST_AUTO_TRIAL) {
    return_to_best(choice);
  } else if (choice->state == KARST_AUTO_FALLBACK) {
    choice->at = find_replacement(choice);
    if (choice->at == choice->best) choice->state = KARST_AUTO_ON_PROBATION;
  } else if (broken_off && find_above(choice, choice->best) >= 0) {
    climb(choice);
  } else {
    if (broken_off) count_failure(choice);
    replace_best(choice);
  }
  choice->due = choice->at != before && !isinf(choice->cost[choice->at]);
  return choice->due;
}

/* Follows the iterations of the best rung, and begins comparisons again if they have changed much. */
static void follow_iterations(karst_auto *choice, double iterations)
{
  const bool settled = choice->state == KARST_AUTO_SETTLED;
  if (settled) choice->quiet++;
  const bool changed = iterations > change * choice->usual + LEAST / 3.0 || change * iterations < choice->usual;
  if (settled && changed && choice->quiet > choice->pause) compare_again(choice);
  if (choice->state == KARST_AUTO_COMPARING || choice->usual == 0) choice->usual = iterations;
}

/* Judges a trial or the solve of a fallback by its cost; returns whether its rung becomes the best. */
static bool judge_trial(karst_auto *choice, double cost)
{
  char text[WORDS];
  if (choice->state == KARST_AUTO_FALLBACK) choice->fallback = choice->at;
  if (!choice->ladder.climbs || !(cost < gain * choice->cost[choice->best])) {
    lengthen_pause(choice);
    return false;
  }
  karst_print(choice->reason, sizeof choice->reason, "measured: it costs %.2f of %s", cost / choice->cost[choice->best],
              describe(choice, choice->best, text));
  return true;
}

/* Records that a solve has converged, if costs are not measured. */
static void count_success(karst_auto *choice)
{
  if (choice->state == KARST_AUTO_FALLBACK) choice->fallback = choice->at;
  if (choice->state == KARST_AUTO_ON_PROBATION) set_best(choice, choice->best);
}

/* Learns from a solve that has converged. */
static void learn(karst_auto *choice, const karst_auto_sample *sample)
{
  const bool compares = choice->state == KARST_AUTO_COMPARING || choice->state == KARST_AUTO_TRIAL;
  const double digits = count_digits(sample);
  const int iterations = sample->result->iterations;
  double update;
  if (iterations == 0 || !(digits >= least_digits)) return;
  choice->converged[choice->at] = true;
  if (choice->learn == KARST_AUTO_BY_NOTHING) {
    count_success(choice);
    return;
  }
  if (choice->digits == 0) choice->digits = digits;
  const double cost = find_cost(choice, sample, digits, &update);
  choice->cost[choice->at] = cost;
  if (choice->at != choice->best) {
    if (!judge_trial(choice, cost)) return;
    choice->usual = 0;
    choice->former = -1;
  }
  set_best(choice, choice->at);
  if (compares) choice->state = KARST_AUTO_COMPARING;
  choice->bytes = karst_auto_update_bytes(sample) + iterations * karst_auto_iteration_bytes(sample);
  const bool below = iterations <= few_iterations && !is_multigrid(choice);
  choice->step = cost - update > update ? 1 : below ? -1 : 0;
  follow_iterations(choice, iterations * choice->digits / digits);
}

/* All rungs that were tried have failed with these values, which may be those of one bad Newton step. With other values
 * each may have a trial again, first the rules' choice. */
static void clear_failures(karst_auto *choice)
{
  for (int i = 0; i < choice->ladder.count; i++)
    if (isinf(choice->cost[i]) && (i != choice->at || i == choice->ladder.start)) choice->cost[i] = NAN;
  choice->former = -1;
  set_best(choice, choice->ladder.start);
  if (choice->at != choice->best) choice->state = KARST_AUTO_TRIAL; /* a failed one: the next update ends it */
}

bool karst_auto_measure(karst_auto *choice, const karst_auto_sample *sample, int allowed, int most)
{
  if (!choice->due) return false;
  choice->due = false;
  const bool out = sample->result->reason == KARST_ITERATION_LIMIT;
  const bool broken_off = out && allowed < most && choice->learn != KARST_AUTO_BY_NOTHING;
  if (broken_off && choice->state == KARST_AUTO_TRIAL) { /* it costs more, and need not have failed */
    double update;
    choice->cost[choice->at] = fmax(find_cost(choice, sample, choice->digits, &update), choice->cost[choice->best]);
    lengthen_pause(choice);
    return go_on(choice, true);
  }
  if (!broken_off && has_failed(sample)) {
    if (choice->learn == KARST_AUTO_BY_NOTHING) return false;
    count_failure(choice);
    if (sample->result->iterations >= most) return false;
    if (go_on(choice, false)) return true;
    if (isinf(choice->cost[choice->best])) clear_failures(choice);
    return false;
  }
  if (broken_off) return go_on(choice, true);
  if (sample->result->reason > 0) learn(choice, sample);
  return false;
}

/* Begins a trial if one is worth it: of the rung that the best one has replaced within a solve, else of the neighbour
 * above if solves cost more than updates, else of the one below if solves take few iterations. */
static bool begin_trial(karst_auto *choice)
{
  const bool again = choice->former >= 0 && isnan(choice->cost[choice->former]);
  const int next = again ? choice->former : choice->best + choice->step;
  char text[WORDS];
  if (!choice->ladder.climbs || next < 0 || next >= choice->ladder.count || !isnan(choice->cost[next])) return false;
  snprintf(choice->reason, sizeof choice->reason, "a trial for one solve, to compare it with %s",
           describe(choice, choice->best, text));
  choice->state = KARST_AUTO_TRIAL;
  choice->at = next;
  return true;
}

/* Returns whether a trial or fallback has had its solve: one that was measured or failed, or any if solves are not
 * compared. */
static bool has_served(const karst_auto *choice)
{
  return !isnan(choice->cost[choice->at]) || (choice->learn == KARST_AUTO_BY_NOTHING && !choice->due);
}

bool karst_auto_advance(karst_auto *choice)
{
  const int before = choice->at;
  const bool served = has_served(choice);
  choice->due = true;
  choice->after_failure = choice->state == KARST_AUTO_FAILED || isinf(choice->cost[before]);
  switch (choice->state) {
  case KARST_AUTO_COMPARING:
    if (!isnan(choice->cost[before]) && !begin_trial(choice)) choice->state = KARST_AUTO_SETTLED;
    break;
  case KARST_AUTO_TRIAL:
  case KARST_AUTO_FALLBACK:
    if (served) return_to_best(choice);
    break;
  case KARST_AUTO_FAILED:
  case KARST_AUTO_GIVEN_UP:
    replace_best(choice);
    break;
  case KARST_AUTO_SETTLED:
  case KARST_AUTO_ON_PROBATION:
    break;
  }
  return choice->at != before;
}

bool karst_auto_refuse(karst_auto *choice)
{
  karst_auto_rung *rung = &choice->ladder.rung[choice->at];
  if (rung->precond->needs_grid) { /* the rules have looked at some rows only */
    snprintf(choice->reason, sizeof choice->reason, "%s has failed", rung->precond->name);
    *rung = (karst_auto_rung){&karst_precond_iluk, rung->ordering, 0};
    choice->after_failure = true;
    return true;
  }
  const karst_auto_place place = rung->precond->automatic;
  const bool other = place == KARST_AUTO_ALONE || place == KARST_AUTO_ABOVE;
  if (choice->ladder.climbs && !other) return false; /* every other rung would fail for the same reason */
  const int before = choice->at;
  count_failure(choice);
  karst_auto_advance(choice);
  return choice->at != before && !isinf(choice->cost[choice->at]);
}

/* Returns whether an error is about the rung, and not about the machine or the call. */
static bool is_of_choice(karst_status status)
{
  return status == KARST_ERROR_MATRIX || status == KARST_ERROR_OPTION || status == KARST_ERROR_NOT_BUILT ||
         status == KARST_ERROR_INDEX_OVERFLOW;
}

bool karst_auto_retreat(karst_auto *choice, int before, karst_status status)
{
  const bool spare = !choice->after_failure; /* a trial: the present factors can still be used */
  const bool goes_on = is_of_choice(status) || (spare && status == KARST_ERROR_NO_MEMORY);
  char text[WORDS];
  snprintf(choice->reason, sizeof choice->reason, "%s could not be made%s", describe(choice, choice->at, text),
           status == KARST_ERROR_NO_MEMORY ? ": not enough memory" : "");
  if (goes_on)
    give_up(choice, choice->at);
  else if (isinf(choice->cost[before])) /* the next update uses it again */
    choice->cost[before] = NAN;
  choice->at = before;
  set_best(choice, before);
  return goes_on;
}
