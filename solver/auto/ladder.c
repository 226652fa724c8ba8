/* ladder.c - see auto.h: the place on the ladder, which updates change by what solves have cost. */
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

/* Where the residual has lost fewer decimal digits, the solve tells nothing of the preconditioner. */
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

/* The ordering that is given; auto is none. */
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
  const karst_status status = karst_order_find_needs(context, karst_precond_find(context, "iluk"), given, &needs);
  freedom->given_level = find_integer(given, "level");
  freedom->tile_size = find_integer(given, "tile-size");
  if (status || find_ordering(given)) return;
  freedom->by_tiles = needs.tiles;
  freedom->level_sets = needs.level_sets;
  freedom->tiles = needs.sweeps && !needs.natural;
}

static karst_auto_freedom find_freedom(const karst_options *given)
{
  const karst_option *const *list = karst_precond_find(karst_options_context(given), "iluk")->options;
  karst_auto_freedom freedom = {.precond = true, .level = !karst_options_find(given, "level")};
  karst_methods chosen;
  for (; *list; list++)
    for (const karst_option *row = *list; row->name; row++)
      freedom.precond = freedom.precond && !karst_options_find(given, row->name);
  karst_methods_read(given, &chosen);
  const char *driver = karst_krylov_table[chosen.solver]->name;
  freedom.recurs = strcmp(driver, "cg") == 0 || strcmp(driver, "bicgstab") == 0 || strcmp(driver, "auto") == 0;
  freedom.grid = freedom.precond && !karst_ordering_table[chosen.ordering]->compute;
  freedom.rrb = chosen.scale == KARST_SCALE_NONE && chosen.parts == 1 && strcmp(driver, "bicgstab") != 0;
  return freedom;
}

karst_status karst_auto_begin(const karst_options *given, bool orders, const karst_matrix *A, karst_auto *choice)
{
  karst_auto_freedom freedom = find_freedom(given);
  const char *learn = karst_options_find(given, "auto-learn");
  if (orders) find_tiles(given, &freedom);
  *choice = (karst_auto){.given = given, .orders = orders, .due = true, .former = -1, .stand_in = -1};
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
  status = karst_options_set(*options, "precond", rung->precond);
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
    snprintf(text, WORDS, "%s level %d", rung->precond, rung->level);
  else
    snprintf(text, WORDS, "%s", rung->precond);
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
  else if (level && strcmp(rung->precond, "iluk") == 0)
    snprintf(number, sizeof number, " --level %.10s", level);
  snprintf(text, sizeof text, "--precond %s%s%s%s", rung->precond, number, choice->orders ? " --ordering " : "",
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

/* Whether a solve has ended for want of a better preconditioner. What the matrix, the right-hand side, the limits or
 * the monitor is to blame for tells nothing, nor does a norm to reach below what rounding allows. */
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

/* The rung is not tried again. */
static void give_up(karst_auto *choice, int i)
{
  choice->cost[i] = INFINITY;
  choice->converged[i] = false;
}

/* One failure of what has converged before is laid at the door of the values. */
static void blame(karst_auto *choice)
{
  if (choice->at == choice->best && choice->converged[choice->at])
    choice->failed = true;
  else
    give_up(choice, choice->at);
}

/* The cost of an update and of a solve by as many digits as the first that was measured. */
static double find_cost(const karst_auto *choice, const karst_auto_sample *sample, double digits, double *update)
{
  const bool timed = choice->learn == BY_TIME;
  *update = timed ? sample->time_update : karst_auto_update_bytes(sample);
  return *update + (timed ? sample->time_solve : sample->result->iterations * karst_auto_iteration_bytes(sample)) *
                       choice->digits / digits;
}

/* Goes back to that rung from now on. */
static void trust(karst_auto *choice, int best)
{
  choice->best = best;
  choice->doubted = false;
  choice->stand_in = -1;
}

/* What was measured of other rungs, but for those that have failed, no longer holds. */
static void reopen(karst_auto *choice)
{
  for (int i = 0; i < choice->ladder.count; i++)
    if (i != choice->best && !isinf(choice->cost[i])) choice->cost[i] = NAN;
  choice->settled = false;
  choice->former = -1;
}

/* Whether this is the trial of the rung that the best one has replaced within a solve. In vain, it confirms that. */
static bool is_confirmation(const karst_auto *choice) { return choice->at == choice->former && !choice->doubted; }

/* A trial was in vain, or the choice has changed back: the next trial waits longer. */
static void lengthen_pause(karst_auto *choice)
{
  if (is_confirmation(choice)) return;
  choice->pause = choice->pause < LONGEST_PAUSE ? 2 * choice->pause + 1 : LONGEST_PAUSE;
}

/* Neighbours are compared no more with the best rung, which takes so many iterations. */
static void settle(karst_auto *choice)
{
  if (!choice->settled) choice->quiet = 0;
  choice->settled = true;
}

/* The nearest rung above one that has not failed, or -1. */
static int find_above(const karst_auto *choice, int i)
{
  while (++i < choice->ladder.count)
    if (!isinf(choice->cost[i])) return i;
  return -1;
}

/* The nearest rung above the best one that has not failed, else the nearest below; where all have, the best one if it
 * has converged before, else the rules' choice. */
static int find_refuge(const karst_auto *choice)
{
  const int above = find_above(choice, choice->best);
  if (above >= 0) return above;
  for (int i = choice->best - 1; i >= 0; i--)
    if (!isinf(choice->cost[i])) return i;
  return choice->failed ? choice->best : choice->ladder.start;
}

/* The best rung has failed. Where it had converged before, another one stands in for it, and it gets a second chance
 * with the next values. Where it fails again, what has stood in with success takes its place. */
static void replace(karst_auto *choice)
{
  const int stood = choice->stand_in;
  char text[WORDS];
  snprintf(choice->reason, sizeof choice->reason, "%s has failed", describe(choice, choice->best, text));
  settle(choice);
  choice->at = stood >= 0 ? stood : find_refuge(choice);
  choice->doubted = true;
  if (choice->failed && stood < 0) return;
  give_up(choice, choice->best);
  trust(choice, choice->at);
}

/* A trial, or what has stood in for the best rung, has ended. */
static void return_to_best(karst_auto *choice)
{
  char text[WORDS], other[WORDS];
  describe(choice, choice->at, text);
  if (is_confirmation(choice))
    choice->former = -1;
  else
    settle(choice);
  if (isinf(choice->cost[choice->at]))
    snprintf(choice->reason, sizeof choice->reason, "%s has failed", text);
  else if (choice->doubted)
    snprintf(choice->reason, sizeof choice->reason, "%s has converged before", describe(choice, choice->best, other));
  else
    karst_print(choice->reason, sizeof choice->reason, "measured: %s costs %.2f times as much", text,
                choice->cost[choice->at] / choice->cost[choice->best]);
  choice->at = choice->best;
}

/* The best rung takes many times its usual iterations: the next one above that has not failed takes its place, and
 * comparisons begin anew. One system may be hard among easy ones, so the former best rung has a trial with the next. */
static void climb(karst_auto *choice)
{
  char text[WORDS];
  const int above = find_above(choice, choice->best);
  snprintf(choice->reason, sizeof choice->reason, "%s took too many iterations", describe(choice, choice->best, text));
  if (above < 0) return;
  const int former = choice->best;
  choice->at = above;
  trust(choice, above);
  choice->usual = choice->bytes = 0;
  lengthen_pause(choice);
  reopen(choice);
  choice->former = former;
}

/* How many digits the limits ask for, over those that costs are for. */
static double find_scale(const karst_auto *choice, const karst_krylov_limits *limits)
{
  return limits->rtol > 0 && choice->digits > 0 ? fmax(1, -log10(limits->rtol) / choice->digits) : 1;
}

static bool is_trial(const karst_auto *choice) { return choice->at != choice->best && !choice->doubted; }

int karst_auto_allow(const karst_auto *choice, const karst_auto_sample *sample, int most)
{
  const karst_krylov_limits *limits = sample->krylov->limits;
  const bool endless = limits->rtol == 0 && limits->atol == 0;
  if (choice->learn == NEVER || !choice->due || !choice->ladder.climbs || endless) return most;
  const double scale = find_scale(choice, limits);
  double worth = most;
  if (is_trial(choice) && choice->bytes > 0)
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
  choice->replaces = !is_trial(choice);
  if (is_trial(choice)) {
    return_to_best(choice);
  } else if (choice->at != choice->best) {
    choice->at = find_refuge(choice);
  } else if (broken_off) {
    climb(choice);
  } else {
    replace(choice);
    choice->failed = false;
  }
  choice->due = choice->at != before && !isinf(choice->cost[choice->at]);
  return choice->due;
}

/* Takes the measured cost of the best rung into account: where the iterations have changed, its neighbours are worth
 * another comparison. */
static void watch(karst_auto *choice, double iterations)
{
  if (choice->settled) choice->quiet++;
  const bool changed = iterations > change * choice->usual + LEAST / 3.0 || change * iterations < choice->usual;
  if (choice->settled && changed && choice->quiet > choice->pause) reopen(choice);
  if (!choice->settled || choice->usual == 0) choice->usual = iterations;
}

/* A trial has ended with this cost; returns whether its rung is the best from now on. */
static bool judge_trial(karst_auto *choice, double cost)
{
  char text[WORDS];
  choice->stand_in = choice->doubted ? choice->at : -1;
  if (!choice->ladder.climbs || !(cost < gain * choice->cost[choice->best])) {
    lengthen_pause(choice);
    return false;
  }
  karst_print(choice->reason, sizeof choice->reason, "measured: it costs %.2f of %s", cost / choice->cost[choice->best],
              describe(choice, choice->best, text));
  return true;
}

/* A solve that has converged. */
static void learn(karst_auto *choice, const karst_auto_sample *sample)
{
  const double digits = count_digits(sample);
  const int iterations = sample->result->iterations;
  double update;
  if (iterations == 0 || !(digits >= least_digits)) return;
  choice->converged[choice->at] = true;
  if (choice->learn == NEVER) {
    choice->stand_in = choice->at != choice->best && choice->doubted ? choice->at : -1;
    if (choice->at == choice->best) choice->doubted = false;
    return;
  }
  if (choice->digits == 0) choice->digits = digits;
  const double cost = find_cost(choice, sample, digits, &update);
  choice->cost[choice->at] = cost;
  if (choice->at != choice->best && !judge_trial(choice, cost)) return;
  if (choice->at != choice->best) {
    choice->usual = 0;
    choice->former = -1;
  }
  trust(choice, choice->at);
  choice->bytes = karst_auto_update_bytes(sample) + iterations * karst_auto_iteration_bytes(sample);
  choice->step = cost - update > update ? 1 : iterations <= few_iterations ? -1 : 0;
  watch(choice, iterations * choice->digits / digits);
}

/* All rungs that were tried have failed with these values, which are to blame, as of one bad Newton step: what failed
 * is worth a trial with others, beginning with the choice of the rules. */
static void pardon(karst_auto *choice)
{
  for (int i = 0; i < choice->ladder.count; i++)
    if (isinf(choice->cost[i]) && (i != choice->at || i == choice->ladder.start)) choice->cost[i] = NAN;
  choice->failed = false;
  choice->former = -1;
  trust(choice, choice->ladder.start);
}

bool karst_auto_measure(karst_auto *choice, const karst_auto_sample *sample, int allowed, int most)
{
  if (!choice->due) return false;
  choice->due = false;
  const bool out = sample->result->reason == KARST_ITERATION_LIMIT;
  const bool broken_off = out && allowed < most && choice->learn != NEVER;
  if (broken_off && is_trial(choice)) { /* it costs more, and need not have failed */
    double update;
    choice->cost[choice->at] = fmax(find_cost(choice, sample, choice->digits, &update), choice->cost[choice->best]);
    lengthen_pause(choice);
    return go_on(choice, true);
  }
  if (!broken_off && has_failed(sample)) {
    if (choice->learn == NEVER) return false;
    blame(choice);
    if (sample->result->iterations >= most) return false;
    if (go_on(choice, false)) return true;
    if (isinf(choice->cost[choice->best])) pardon(choice);
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
  if (choice->settled || !choice->ladder.climbs || next < 0 || next >= choice->ladder.count ||
      !isnan(choice->cost[next]))
    return false;
  snprintf(choice->reason, sizeof choice->reason, "a trial for one solve, to compare it with %s",
           describe(choice, choice->best, text));
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
  choice->replaces = choice->failed || isinf(choice->cost[before]);
  if (choice->at != choice->best) {
    if (served) return_to_best(choice);
  } else if (choice->failed || isinf(choice->cost[before])) {
    replace(choice);
  } else if (!isnan(choice->cost[before]) && !begin_trial(choice)) {
    settle(choice);
  }
  choice->failed = false;
  return choice->at != before;
}

bool karst_auto_refuse(karst_auto *choice)
{
  karst_auto_rung *rung = &choice->ladder.rung[choice->at];
  if (strcmp(rung->precond, "fgbilu") == 0) { /* the rules have not looked at all rows */
    *rung = (karst_auto_rung){"iluk", rung->ordering, 0};
    snprintf(choice->reason, sizeof choice->reason, "fgbilu has failed");
    choice->replaces = true;
    return true;
  }
  const bool rrb = strcmp(rung->precond, "rrb") == 0;
  if (choice->ladder.climbs && !rrb) return false; /* all others ask the same of a matrix */
  const int before = choice->at;
  blame(choice);
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
  const bool spare = !choice->replaces; /* a trial, which what there is does without */
  const bool goes_on = is_of_choice(status) || (spare && status == KARST_ERROR_NO_MEMORY);
  char text[WORDS];
  snprintf(choice->reason, sizeof choice->reason, "%s could not be made%s", describe(choice, choice->at, text),
           status == KARST_ERROR_NO_MEMORY ? " for want of memory" : "");
  if (goes_on)
    give_up(choice, choice->at);
  else if (isinf(choice->cost[before])) /* so that the next update goes on with it */
    choice->cost[before] = NAN;
  settle(choice);
  choice->at = before;
  trust(choice, before);
  return goes_on;
}

/* The rung of a name and level as auto has it; false where it is none for what is given. */
static bool may_choose(const karst_auto *choice, const karst_auto_rung *asked, karst_auto_rung *rung)
{
  static const char *const names[] = {"jacobi", "dilu", "fgbilu", "rrb", "iluk"};
  const karst_auto_freedom freedom = find_freedom(choice->given);
  size_t i = 0;
  while (i < sizeof names / sizeof *names && strcmp(names[i], asked->precond) != 0) i++;
  if (i == sizeof names / sizeof *names) return false;
  const bool iluk = strcmp(names[i], "iluk") == 0, rrb = strcmp(names[i], "rrb") == 0;
  *rung = (karst_auto_rung){names[i], asked->ordering, iluk && freedom.level ? asked->level : -1};
  return iluk || (freedom.precond && (freedom.grid || strcmp(names[i], "fgbilu") != 0) &&
                  (!rrb || (freedom.grid && freedom.rrb)));
}

/* What rungs are ordered by: the level, where fgbilu and dilu have that of ILU(0), below it block Jacobi. rrb is the
 * lowest as on a ladder of its own, whose others are there for what it fails for. */
static int find_height(const karst_auto_rung *rung)
{
  if (strcmp(rung->precond, "iluk") == 0) return rung->level;
  return strcmp(rung->precond, "jacobi") == 0 || strcmp(rung->precond, "rrb") == 0 ? -1 : 0;
}

bool karst_auto_begin_at(karst_auto *choice, const karst_auto_rung *rung)
{
  karst_auto_ladder *ladder = &choice->ladder;
  karst_auto_rung own;
  int i = 0;
  if (!may_choose(choice, rung, &own)) return false;
  while (i < ladder->count && (strcmp(ladder->rung[i].precond, own.precond) != 0 || ladder->rung[i].level != own.level))
    i++;
  if (i < ladder->count && i == ladder->start && strcmp(ladder->rung[i].ordering, own.ordering) == 0) return true;
  if (i == ladder->count) { /* the rules leave a place for one */
    if (i == KARST_AUTO_RUNGS) return false;
    for (; i > 0 && find_height(&ladder->rung[i - 1]) > find_height(&own); i--) ladder->rung[i] = ladder->rung[i - 1];
    ladder->count++;
  }
  ladder->rung[i] = own;
  choice->at = choice->best = ladder->start = i;
  snprintf(choice->reason, sizeof choice->reason, "the analysis is of this choice");
  return true;
}
