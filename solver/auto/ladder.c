/* ladder.c - see auto.h: the place on the ladder, which updates change by what solves have cost.
 *
 * A rung is a preconditioner with its level and ordering. An upper rung costs more to make and to apply, and needs
 * fewer iterations.
 *
 * One rung is the best so far. Updates let its neighbours try one solve each, until none is worth it:
 *
 *     begin
 *       |         a neighbour is worth a trial
 *       v      .--------------------------------> TRIAL
 *   COMPARING -'                                  |   |
 *     ^  ^  |                                     |   |
 *     |  '--|---- it costs less, and is the best -'   |
 *     |     |                                         |
 *     |     | no neighbour is worth a trial           | it costs more, or fails
 *     |     v                                         |
 *     '-- SETTLED <-----------------------------------'
 *   iterations
 *   have changed
 *
 * If the best rung fails, another one goes on, within the same solve where iterations are left. Where the best one had
 * never converged, the other takes its place:
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
 * The rung above goes on from its x, is the best from then on, and COMPARING: the former best one has the first trial.
 */
#include "solver/auto/auto.h"

#include "lib/backend/backend.h"
#include "lib/base/number.h"
#include "solver/auto/cost.h"
#include "solver/auto/order.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The numbers of the names that the option auto-learn takes. */
enum { BY_ITERATIONS, BY_TIME, NEVER };

enum { WORDS = 24 }; /* bytes for a rung in words */

/* Another rung replaces the best one where it costs less than this part of it: what is next to equal stays. */
static const double gain = 0.9;

/* A solve whose residual has lost fewer decimal digits is no measure of the preconditioner. */
static const double least_digits = 0.3;

/* With at most so many iterations the rung below is likely to converge, too. */
static const int few_iterations = 20;

/* Neighbours are compared anew where iterations have become so many times more or fewer. */
static const double change = 2;

/* A rung goes on only so many times beyond its usual iterations where there is one above, and a trial up to what the
 * best rung costs; neither ends before it has had a few. */
enum { PATIENCE = 3, LEAST = 30 };

/* Solves between a trial in vain and the next at most. */
enum { LONGEST_PAUSE = 64 };

/* Where the residual has lost more, a solve that stagnates is near what rounding allows. */
static const double most_digits = 6;

bool karst_auto_is_chosen(const karst_context *context, const karst_methods *chosen)
{
  return karst_precond_at(context, (size_t)chosen->precond) == &karst_precond_auto;
}

/* Returns the ordering that the caller has chosen, or NULL for auto or if there is none. */
static const char *find_ordering(const karst_options *given)
{
  const char *ordering = karst_options_find(given, "ordering");
  return ordering && strcmp(ordering, "auto") != 0 ? ordering : NULL;
}

/* The value of an option that is given, else 0. */
static int find_integer(const karst_options *given, const char *name)
{
  const char *text = karst_options_find(given, name);
  return text ? (int)strtod(text, NULL) : 0;
}

/* Whether iluk with these options may be in tiles, and whether it must; and the size of tiles and the level that are
 * given. */
static void find_tiles(const karst_options *given, karst_auto_freedom *freedom)
{
  karst_context *context = karst_options_context(given);
  karst_order_needs needs;
  const karst_status status = karst_order_find_needs(context, &karst_precond_iluk, given, &needs);
  freedom->given_level = find_integer(given, "level");
  freedom->tile_size = find_integer(given, "tile-size");
  if (status || find_ordering(given)) return;
  freedom->by_tiles = needs.tiles;
  freedom->level_sets = needs.level_sets;
  freedom->tiles = needs.sweeps && !needs.natural;
}

static karst_auto_freedom find_freedom(const karst_options *given)
{
  const karst_option *const *list = karst_precond_iluk.options;
  karst_auto_freedom freedom = {.precond = true, .level = !karst_options_find(given, "level")};
  karst_methods chosen;
  for (; *list; list++)
    for (const karst_option *row = *list; row->name; row++)
      freedom.precond = freedom.precond && !karst_options_find(given, row->name);
  karst_methods_read(given, &chosen);
  const struct karst_krylov_ops *driver = karst_krylov_table[chosen.solver];
  freedom.recurs = driver->short_recurrences;
  freedom.grid = freedom.precond && !karst_ordering_table[chosen.ordering]->compute;
  freedom.rrb = chosen.scale == KARST_SCALE_NONE && chosen.parts == 1 && !driver->breaks_down;
  return freedom;
}

karst_status karst_auto_begin(const karst_options *given, bool orders, const karst_matrix *A, karst_auto *choice)
{
  karst_auto_freedom freedom = find_freedom(given);
  const char *learn = karst_options_find(given, "auto-learn");
  if (orders) find_tiles(given, &freedom);
  *choice = (karst_auto){.given = given, .orders = orders, .due = true, .former = -1, .fallback = -1};
  choice->learn = !learn || strcmp(learn, "iterations") == 0 ? BY_ITERATIONS
                  : strcmp(learn, "time") == 0               ? BY_TIME
                                                             : NEVER;
  for (int i = 0; i < KARST_AUTO_RUNGS; i++) choice->cost[i] = NAN;
  karst_status status = karst_auto_rules(A, A->context->backend->machine, &freedom, &choice->ladder);
  choice->at = choice->best = choice->ladder.start;
  memcpy(choice->reason, choice->ladder.reason, sizeof choice->reason);
  return status;
}

karst_status karst_auto_options(const karst_auto *choice, karst_context *context, karst_options **options)
{
  const karst_auto_rung *rung = &choice->ladder.rung[choice->at];
  karst_status status = karst_options_copy(context, choice->given, options);
  if (status) return status;
  status = karst_options_set(*options, "precond", rung->precond->name);
  if (!status && rung->level >= 0) status = karst_options_set_integer(*options, "level", rung->level);
  if (!status && choice->orders && !find_ordering(choice->given))
    status = karst_options_set(*options, "ordering", rung->ordering);
  if (!status) return KARST_SUCCESS;
  karst_options_destroy(*options);
  *options = NULL;
  return status;
}

/* A rung in words, such as "iluk level 2". */
static const char *describe(const karst_auto *choice, int i, char text[WORDS])
{
  const karst_auto_rung *rung = &choice->ladder.rung[i];
  if (rung->level >= 0)
    snprintf(text, WORDS, "%s level %d", rung->precond->name, rung->level);
  else
    snprintf(text, WORDS, "%s", rung->precond->name);
  return text;
}

karst_status karst_auto_report(const karst_auto *choice, karst_precond *precond)
{
  const karst_auto_rung *rung = &choice->ladder.rung[choice->at];
  const char *level = karst_options_find(choice->given, "level");
  const char *ordering = find_ordering(choice->given);
  char text[KARST_REPORT_TEXT], number[24] = "";
  if (rung->level >= 0)
    snprintf(number, sizeof number, " --level %d", rung->level);
  else if (level && rung->precond->automatic == KARST_AUTO_LEVELS)
    snprintf(number, sizeof number, " --level %.10s", level);
  snprintf(text, sizeof text, "--precond %s%s%s%s", rung->precond->name, number, choice->orders ? " --ordering " : "",
           !choice->orders ? ""
           : ordering      ? ordering
                           : rung->ordering);
  karst_status status = karst_precond_put_text(precond, "auto_choice", text);
  return status ? status : karst_precond_put_text(precond, "auto_reason", choice->reason);
}

/* The decimal digits that the norm which the drivers judge by has lost. */
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

/* The rung is not tried again, unless all others fail as well. */
static void give_up(karst_auto *choice, int i)
{
  choice->cost[i] = INFINITY;
  choice->converged[i] = false;
}

/* The rung in use has failed. The best one keeps its place at first if it had converged before: the values may be those
 * of one bad Newton step. */
static void count_failure(karst_auto *choice)
{
  if (choice->at == choice->best && choice->converged[choice->at]) {
    choice->state = KARST_AUTO_FAILED;
    return;
  }
  give_up(choice, choice->at);
  if (choice->at == choice->best) choice->state = KARST_AUTO_GIVEN_UP;
}

/* Computes the cost of an update and of a solve, for the number of digits of the first solve that was measured. */
static double find_cost(const karst_auto *choice, const karst_auto_sample *sample, double digits, double *update)
{
  const bool timed = choice->learn == BY_TIME;
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

/* Comparisons begin anew: what was measured of other rungs, but for those that have failed, no longer holds. */
static void compare_anew(karst_auto *choice)
{
  for (int i = 0; i < choice->ladder.count; i++)
    if (i != choice->best && !isinf(choice->cost[i])) choice->cost[i] = NAN;
  choice->state = KARST_AUTO_COMPARING;
  choice->quiet = 0;
  choice->former = -1;
}

/* Returns whether this is the trial of the rung that the best one has replaced within a solve. If the trial costs more,
 * the replacement stays. */
static bool is_confirmation(const karst_auto *choice)
{
  return choice->at == choice->former && choice->state != KARST_AUTO_FALLBACK;
}

/* A trial was in vain, or the choice has changed back: the next trial waits longer. */
static void lengthen_pause(karst_auto *choice)
{
  if (is_confirmation(choice)) return;
  choice->pause = choice->pause < LONGEST_PAUSE ? 2 * choice->pause + 1 : LONGEST_PAUSE;
}

/* Returns the nearest rung above one that has not failed, or -1. */
static int find_above(const karst_auto *choice, int i)
{
  while (++i < choice->ladder.count)
    if (!isinf(choice->cost[i])) return i;
  return -1;
}

/* Returns the nearest rung above the best one that has not failed, else the nearest below; where all have, the best one
 * if it had converged before, else the rules' choice. */
static int find_replacement(const karst_auto *choice)
{
  const int above = find_above(choice, choice->best);
  if (above >= 0) return above;
  for (int i = choice->best - 1; i >= 0; i--)
    if (!isinf(choice->cost[i])) return i;
  return choice->state == KARST_AUTO_FAILED ? choice->best : choice->ladder.start;
}

/* The best rung has failed, and another one is used. That one takes its place for good unless this is the first failure
 * of a rung that had converged before. */
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

/* A trial, or what has served in place of the best rung, has ended. */
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

/* The best rung takes many times its usual iterations: the next one above that has not failed takes its place, and
 * comparisons begin anew. One system may be hard among easy ones, so the former best rung has a trial with the next. */
static void climb(karst_auto *choice)
{
  char text[WORDS];
  const int above = find_above(choice, choice->best), former = choice->best;
  snprintf(choice->reason, sizeof choice->reason, "%s took too many iterations", describe(choice, choice->best, text));
  if (above < 0) return;
  choice->at = above;
  set_best(choice, above);
  choice->usual = choice->bytes = 0;
  lengthen_pause(choice);
  compare_anew(choice);
  choice->former = former;
}

/* Returns how many digits the limits ask for, over those that costs are for. */
static double find_scale(const karst_auto *choice, const karst_krylov_limits *limits)
{
  return limits->rtol > 0 && choice->digits > 0 ? fmax(1, -log10(limits->rtol) / choice->digits) : 1;
}

int karst_auto_allow(const karst_auto *choice, const karst_auto_sample *sample, int most)
{
  const karst_krylov_limits *limits = sample->krylov->limits;
  const bool endless = limits->rtol == 0 && limits->atol == 0;
  if (choice->learn == NEVER || !choice->due || !choice->ladder.climbs || endless) return most;
  const double scale = find_scale(choice, limits);
  double worth = most;
  if (choice->state == KARST_AUTO_TRIAL && choice->bytes > 0)
    worth = (choice->bytes - karst_auto_update_bytes(sample)) / karst_auto_iteration_bytes(sample);
  else if (choice->at == choice->best && find_above(choice, choice->best) >= 0)
    worth = choice->usual > 0 ? PATIENCE * choice->usual : floor(most / 2.0);
  return (int)fmin(most, fmax(scale * worth, LEAST));
}

/* Moves to the rung that goes on with the same values where the one in use has failed or was broken off. Returns false
 * where there is none. */
static bool go_on(karst_auto *choice, bool broken_off)
{
  const int before = choice->at;
  choice->after_failure = choice->state != KARST_AUTO_TRIAL;
  if (choice->state == KARST_AUTO_TRIAL) {
    return_to_best(choice);
  } else if (choice->state == KARST_AUTO_FALLBACK) {
    choice->at = find_replacement(choice);
    if (choice->at == choice->best) choice->state = KARST_AUTO_ON_PROBATION;
  } else if (broken_off) {
    climb(choice);
  } else {
    replace_best(choice);
  }
  choice->due = choice->at != before && !isinf(choice->cost[choice->at]);
  return choice->due;
}

/* Takes the iterations of the best rung into account: where they have changed, its neighbours are worth another
 * comparison. */
static void follow_iterations(karst_auto *choice, double iterations)
{
  const bool settled = choice->state == KARST_AUTO_SETTLED;
  if (settled) choice->quiet++;
  const bool changed = iterations > change * choice->usual + LEAST / 3.0 || change * iterations < choice->usual;
  if (settled && changed && choice->quiet > choice->pause) compare_anew(choice);
  if (choice->state == KARST_AUTO_COMPARING || choice->usual == 0) choice->usual = iterations;
}

/* A trial, or a solve in place of the best rung, has ended with this cost; returns whether its rung is the best from
 * now on. */
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

/* A solve has converged where costs are not measured. */
static void count_success(karst_auto *choice)
{
  if (choice->state == KARST_AUTO_FALLBACK) choice->fallback = choice->at;
  if (choice->state == KARST_AUTO_ON_PROBATION) set_best(choice, choice->best);
}

/* A solve has converged. */
static void learn(karst_auto *choice, const karst_auto_sample *sample)
{
  const bool compares = choice->state == KARST_AUTO_COMPARING || choice->state == KARST_AUTO_TRIAL;
  const double digits = count_digits(sample);
  const int iterations = sample->result->iterations;
  double update;
  if (iterations == 0 || !(digits >= least_digits)) return;
  choice->converged[choice->at] = true;
  if (choice->learn == NEVER) {
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
  choice->step = cost - update > update ? 1 : iterations <= few_iterations ? -1 : 0;
  follow_iterations(choice, iterations * choice->digits / digits);
}

/* All rungs that were tried have failed with these values, as of one bad Newton step: what failed is worth a trial with
 * others, beginning with the choice of the rules. */
static void clear_failures(karst_auto *choice)
{
  for (int i = 0; i < choice->ladder.count; i++)
    if (isinf(choice->cost[i]) && (i != choice->at || i == choice->ladder.start)) choice->cost[i] = NAN;
  choice->former = -1;
  set_best(choice, choice->ladder.start);
  if (choice->at != choice->best) choice->state = KARST_AUTO_TRIAL; /* one in vain, which the next update ends */
}

bool karst_auto_measure(karst_auto *choice, const karst_auto_sample *sample, int allowed, int most)
{
  if (!choice->due) return false;
  choice->due = false;
  const bool out = sample->result->reason == KARST_ITERATION_LIMIT;
  const bool broken_off = out && allowed < most && choice->learn != NEVER;
  if (broken_off && choice->state == KARST_AUTO_TRIAL) { /* it costs more, and need not have failed */
    double update;
    choice->cost[choice->at] = fmax(find_cost(choice, sample, choice->digits, &update), choice->cost[choice->best]);
    lengthen_pause(choice);
    return go_on(choice, true);
  }
  if (!broken_off && has_failed(sample)) {
    if (choice->learn == NEVER) return false;
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

/* Whether another rung is worth a trial: the one that the best has replaced within a solve; then of its neighbours the
 * one above where solves cost most, else the one below where few iterations say that it will not fail either. */
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

/* Whether the rung in use, in the place of the best one, has had its solve: one that was measured or failed, or any
 * where solves teach nothing. */
static bool has_served(const karst_auto *choice)
{
  return !isnan(choice->cost[choice->at]) || (choice->learn == NEVER && !choice->due);
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
  if (rung->precond->needs_grid) { /* the rules have not looked at all rows */
    snprintf(choice->reason, sizeof choice->reason, "%s has failed", rung->precond->name);
    *rung = (karst_auto_rung){&karst_precond_iluk, rung->ordering, 0};
    choice->after_failure = true;
    return true;
  }
  const bool alone = rung->precond->automatic == KARST_AUTO_ALONE;
  if (choice->ladder.climbs && !alone) return false; /* all other rungs would fail for the same reason */
  const int before = choice->at;
  count_failure(choice);
  karst_auto_advance(choice);
  return choice->at != before && !isinf(choice->cost[choice->at]);
}

/* Errors that speak of the choice, and not of the machine or the call. */
static bool is_of_choice(karst_status status)
{
  return status == KARST_ERROR_MATRIX || status == KARST_ERROR_OPTION || status == KARST_ERROR_NOT_BUILT ||
         status == KARST_ERROR_INDEX_OVERFLOW;
}

bool karst_auto_retreat(karst_auto *choice, int before, karst_status status)
{
  const bool spare = !choice->after_failure; /* a trial has failed: the factors in use still serve */
  const bool goes_on = is_of_choice(status) || (spare && status == KARST_ERROR_NO_MEMORY);
  char text[WORDS];
  snprintf(choice->reason, sizeof choice->reason, "%s could not be made%s", describe(choice, choice->at, text),
           status == KARST_ERROR_NO_MEMORY ? ": not enough memory" : "");
  if (goes_on)
    give_up(choice, choice->at);
  else if (isinf(choice->cost[before])) /* so that the next update goes on with it */
    choice->cost[before] = NAN;
  choice->at = before;
  set_best(choice, before);
  return goes_on;
}

/* Whether auto may choose a preconditioner for what is given. */
static bool may_choose(const karst_auto_freedom *freedom, const struct karst_precond_ops *precond)
{
  switch (precond->automatic) {
  case KARST_AUTO_NEVER:
    return false;
  case KARST_AUTO_ALONE:
    return freedom->grid && freedom->rrb;
  case KARST_AUTO_BELOW:
  case KARST_AUTO_LEVEL_0:
    return freedom->precond && (freedom->grid || !precond->needs_grid);
  case KARST_AUTO_LEVELS:
    break;
  }
  return true;
}

/* Returns the height of a rung: its level; -1 for preconditioners below ILU(0) and those that stand alone. */
static int find_height(const karst_auto_rung *rung)
{
  if (rung->precond->automatic == KARST_AUTO_LEVELS) return rung->level;
  return rung->precond->automatic == KARST_AUTO_LEVEL_0 ? 0 : -1;
}

bool karst_auto_begin_at(karst_auto *choice, const karst_auto_rung *rung)
{
  karst_auto_ladder *ladder = &choice->ladder;
  const karst_auto_freedom freedom = find_freedom(choice->given);
  karst_auto_rung own = *rung;
  int i = 0;
  if (!may_choose(&freedom, own.precond)) return false;
  if (own.precond->automatic != KARST_AUTO_LEVELS || !freedom.level) own.level = -1;
  while (i < ladder->count && (ladder->rung[i].precond != own.precond || ladder->rung[i].level != own.level)) i++;
  if (i < ladder->count && i == ladder->start && strcmp(ladder->rung[i].ordering, own.ordering) == 0) return true;
  if (i == ladder->count) { /* the rules leave a place for one */
    if (i == KARST_AUTO_RUNGS) return false;
    for (; i > 0 && find_height(&ladder->rung[i - 1]) > find_height(&own); i--) ladder->rung[i] = ladder->rung[i - 1];
    ladder->count++;
  }
  ladder->rung[i] = own;
  choice->at = choice->best = ladder->start = i;
  snprintf(choice->reason, sizeof choice->reason, "the analysis given to set-up was made with this choice");
  return true;
}
