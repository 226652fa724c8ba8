/* trials.c - see trials.h: the choice among the rungs by what they have cost.
 *
 * One rung is the best so far. Each solve with it adds to what every other rung would have saved at best (outlook.c).
 * Once that pays for making the other rung, a solve with it, and making the best one again, the next update makes the
 * other and measures a product and an application. Unless these alone make it too dear, it has a trial of two solves,
 * which ends early when it costs more than the best rung. The cheaper of the two is then the best. After a trial in vain
 * the rung has to promise twice as much.
 *
 *     BEST -- another rung promises enough ------------> TRIAL ---- two solves ---> BEST
 *     BEST -- it fails or takes too many iterations ---> STAND_IN -- one solve ---> BEST */
#include "solver/auto/order.h"
#include "solver/auto/trials.h"

#include "lib/base/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Another rung replaces the best one only if its cost is below this fraction of the best one's. */
static const double gain = 0.9;

/* A solve whose residual has fallen by fewer decimal digits says nothing about the preconditioner. */
static const double least_digits = 0.3;

/* The best rung is broken off after PATIENCE times its usual iterations, or, before it has converged, after HOPELESS a
 * digit if multigrid may continue. Neither happens before LEAST iterations. */
enum { PATIENCE = 3, LEAST = 30, HOPELESS = 15, LEAST_TRIAL = 2 };

/* Systems of a sequence differ, so the mean of the last MEAN solves counts, about. A trial has TRIAL of them, and ends
 * early in one that costs more than most_dear times as much as with the best rung. */
enum { MEAN = 4, TRIAL = 2 };
static const double most_dear = 1.2;

/* What was measured of other rungs fades with each solve. */
static const double fade = 0.98;

/* Returns the digits that the limits ask for. */
static double find_digits(const karst_krylov_limits *limits)
{
  return limits->rtol > 0 && limits->rtol < 0.5 ? -log10(limits->rtol) : 1;
}

/* Ends a trial in vain. */
static void refuse_trial(karst_auto *choice)
{
  choice->figures[choice->at].saved = 0;
  choice->figures[choice->at].patience *= 2;
}

/* Follows a measurement down at once, and up by half, because a busy machine makes some of them too long. */
static void follow(double *figure, double cost)
{
  if (!isnan(cost)) *figure = isnan(*figure) ? cost : fmin(cost, (*figure + cost) / 2);
}

/* Takes note of the cost of an update, and of an iteration, of which the sample shows the least before a solve. */
static void record(karst_auto *choice, const karst_auto_sample *sample)
{
  karst_auto_figures *own = &choice->figures[choice->at];
  const int iterations = sample->result ? sample->result->iterations : 0;
  if (sample->setup > 0) follow(&own->setup, sample->setup);
  follow(&own->update, sample->update);
  if (iterations > 0) {
    if (isnan(own->iterations)) own->iteration = NAN; /* it was that of a product and an application */
    follow(&own->iteration, sample->solve / iterations);
    const double needed = iterations / find_digits(sample->krylov->limits);
    if (own->solves < MEAN) own->solves++;
    own->iterations = own->solves > 1 ? own->iterations + (needed - own->iterations) / own->solves : needed;
  } else if (isnan(own->iteration) && sample->step > 0) {
    own->iteration = (sample->first->ops->applies_twice ? 2 : 1) * sample->step;
  }
}

bool karst_auto_challenge(karst_auto *choice)
{
  if (!choice->fixed || choice->ladder.count < 2) return false;
  karst_auto_move(choice, 1, KARST_AUTO_TRIAL);
  return true;
}

/* Judges the other order by a product and an application. */
static bool judge_order(karst_auto *choice)
{
  const char *const order = choice->ladder.rung[choice->at].ordering;
  const double own = choice->figures[choice->at].iteration, other = choice->figures[choice->best].iteration;
  karst_print(choice->reason, sizeof choice->reason, "measured: an iteration takes %.2g ms in %s order, %.2g ms in %s",
              1e3 * own, order, 1e3 * other, choice->ladder.rung[choice->best].ordering);
  const double more = KARST_ORDER_MORE_ITERATIONS;
  return strcmp(order, "tiles") == 0 ? more * own < gain * other : gain * own < more * other;
}

bool karst_auto_judge(karst_auto *choice, const karst_auto_sample *sample)
{
  const double digits = find_digits(sample->krylov->limits);
  char text[KARST_AUTO_WORDS];
  record(choice, sample);
  if (choice->role != KARST_AUTO_TRIAL) return true;
  if (isnan(choice->figures[choice->best].iterations)) {
    if (judge_order(choice)) {
      karst_auto_set_best(choice, choice->at);
      return true;
    }
  } else {
    const double own = karst_auto_outlook(choice, choice->at, digits);
    const double best = karst_auto_cost(choice, choice->best, digits);
    if (own < gain * best) return true;
    refuse_trial(choice);
    karst_print(choice->reason, sizeof choice->reason, "measured: %s costs at least %.2f times as much",
                karst_auto_describe(choice, choice->at, text), own / best);
  }
  karst_auto_move(choice, choice->best, KARST_AUTO_BEST);
  return false;
}

int karst_auto_allow(const karst_auto *choice, const karst_auto_sample *sample, int most)
{
  const karst_krylov_limits *limits = sample->krylov->limits;
  const bool endless = limits->rtol == 0 && limits->atol == 0;
  const karst_auto_figures *own = &choice->figures[choice->at];
  const double digits = find_digits(limits);
  if (!choice->learns || !choice->due || !choice->ladder.climbs || endless) return most;
  if (choice->role == KARST_AUTO_TRIAL) {
    const double worth = most_dear * karst_auto_cost(choice, choice->best, digits) - own->update;
    return (int)fmin(most, fmax(isnan(worth) ? LEAST : ceil(worth / own->iteration), LEAST_TRIAL));
  }
  const int next = choice->role == KARST_AUTO_BEST && !choice->fixed ? karst_auto_find_next(choice) : -1;
  if (next < 0 || (own->converged && next < choice->best)) return most;
  const bool hopeless = karst_auto_is_multigrid(&choice->ladder.rung[next]);
  const double worth = own->converged ? PATIENCE * own->iterations * digits
                       : hopeless     ? HOPELESS * digits
                                      : floor(most / 2.0);
  return (int)fmin(most, fmax(worth, LEAST));
}

/* Adds what the other rungs would have saved in a solve with the best one. */
static void count_savings(karst_auto *choice, double digits)
{
  const double best = gain * karst_auto_cost(choice, choice->best, digits);
  for (int i = 0; i < choice->ladder.count; i++) {
    if (i == choice->best) continue;
    const double saved = choice->figures[i].saved + best - karst_auto_outlook(choice, i, digits);
    choice->figures[i].saved = fmax(0, saved);
    choice->figures[i].iterations *= fade;
  }
}

/* Compares a trial with the best rung, and takes the cheaper one. */
static void compare(karst_auto *choice, double digits)
{
  const double ratio = karst_auto_cost(choice, choice->at, digits) / karst_auto_cost(choice, choice->best, digits);
  char text[KARST_AUTO_WORDS];
  choice->served = choice->solves == TRIAL || ratio > most_dear;
  if (choice->served && ratio < gain) {
    karst_print(choice->reason, sizeof choice->reason, "measured: it costs %.2f of %s", ratio,
                karst_auto_describe(choice, choice->best, text));
    karst_auto_set_best(choice, choice->at);
    return;
  }
  if (!choice->served) return;
  refuse_trial(choice);
  karst_print(choice->reason, sizeof choice->reason, "measured: %s costs %.2f times as much",
              karst_auto_describe(choice, choice->at, text), ratio);
}

/* Learns from a solve that has converged. */
static void learn(karst_auto *choice, const karst_auto_sample *sample)
{
  const double digits = find_digits(sample->krylov->limits);
  if (sample->result->iterations == 0 || !(karst_auto_count_digits(sample) >= least_digits)) return;
  choice->figures[choice->at].converged = choice->served = true;
  choice->digits = digits;
  choice->solves++;
  if (choice->learns && !choice->continues) record(choice, sample);
  if (choice->role == KARST_AUTO_STAND_IN) {
    choice->proven = choice->at;
    const double outlook = karst_auto_outlook(choice, choice->at, digits);
    const bool cheaper =
        choice->learns && choice->ladder.climbs && outlook < gain * karst_auto_cost(choice, choice->best, digits);
    if (choice->strikes > 1 || cheaper) karst_auto_set_best(choice, choice->at);
  } else if (choice->role == KARST_AUTO_BEST) {
    karst_auto_set_best(choice, choice->best);
    const bool warm = choice->host || choice->figures[choice->at].solves > 1; /* the first loads a GPU's kernels */
    if (choice->learns && choice->ladder.climbs && !choice->continues && warm) count_savings(choice, digits);
  } else if (choice->learns) {
    compare(choice, digits);
  }
}

bool karst_auto_measure(karst_auto *choice, const karst_auto_sample *sample, int allowed, int most)
{
  if (!choice->due) return false;
  choice->due = false;
  const bool broken_off = sample->result->reason == KARST_ITERATION_LIMIT && allowed < most && choice->learns;
  if (!broken_off && !karst_auto_has_failed(sample)) {
    if (sample->result->reason > 0) learn(choice, sample);
    return false;
  }
  if (!choice->learns || (choice->fixed && !broken_off && choice->role == KARST_AUTO_BEST)) return false;
  if (broken_off && !choice->continues) record(choice, sample);
  if (choice->role == KARST_AUTO_TRIAL) refuse_trial(choice);
  const bool hopeless = karst_auto_is_multigrid(&choice->ladder.rung[choice->at]);
  karst_auto_strike(
      choice, !broken_off || (hopeless && choice->role == KARST_AUTO_BEST && !choice->figures[choice->at].converged));
  if (sample->result->iterations >= most) return false;
  choice->due = choice->continues = karst_auto_replace(choice);
  return choice->due;
}

/* Returns the rung that has promised the most for the price of a trial, if it has promised enough, else -1. */
static int find_trial(const karst_auto *choice)
{
  const double back = karst_auto_outlook_setup(choice, choice->best);
  double largest = 1;
  int trial = -1;
  for (int i = 0; choice->ladder.climbs && i < choice->ladder.count; i++) {
    const double made = karst_auto_outlook_setup(choice, i) + karst_auto_outlook(choice, i, choice->digits) + back;
    const double promise = choice->figures[i].saved / (choice->figures[i].patience * made);
    if (i == choice->best || choice->figures[i].excluded || !(promise >= largest)) continue;
    largest = promise;
    trial = i;
  }
  return trial;
}

bool karst_auto_advance(karst_auto *choice)
{
  const int before = choice->at;
  const bool served = choice->served || (!choice->learns && !choice->due);
  char text[KARST_AUTO_WORDS];
  choice->due = true;
  choice->continues = false;
  if (choice->role != KARST_AUTO_BEST) {
    if (!served) return false;
    if (choice->role == KARST_AUTO_STAND_IN)
      snprintf(choice->reason, sizeof choice->reason, "%s has converged before",
               karst_auto_describe(choice, choice->best, text));
    karst_auto_move(choice, choice->best, KARST_AUTO_BEST);
  } else if (choice->strikes > 0 && choice->served) {
    karst_auto_replace(choice);
  } else {
    const int trial = find_trial(choice);
    if (trial < 0) return false;
    snprintf(choice->reason, sizeof choice->reason, "a trial, to compare it with %s",
             karst_auto_describe(choice, choice->best, text));
    karst_auto_move(choice, trial, KARST_AUTO_TRIAL);
  }
  return choice->at != before;
}
