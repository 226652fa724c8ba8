/* failures.c - see trials.h: the rung that continues after one has failed or was broken off.
 *
 * A stand-in continues within the same solve. It becomes the best rung if it promises to be cheaper, or if the former
 * one had never converged, or fails or is broken off twice in a row: one bad Newton step changes nothing else. */
#include "solver/auto/trials.h"

#include <math.h>
#include <stdio.h>

/* A solve that stagnates after its residual has fallen by more decimal digits is near what rounding allows. */
static const double most_digits = 6;

/* Describes a rung, such as "iluk level 2". */
const char *karst_auto_describe(const karst_auto *choice, int i, char text[KARST_AUTO_WORDS])
{
  const karst_auto_rung *rung = &choice->ladder.rung[i], *best = &choice->ladder.rung[choice->best];
  const bool other = i != choice->best && rung->precond == best->precond && rung->level == best->level;
  const char *const ordering = other ? rung->ordering : "", *const space = other ? " " : "";
  if (rung->level >= 0)
    snprintf(text, KARST_AUTO_WORDS, "%.16s level %d%s%.8s", rung->precond->name, rung->level, space, ordering);
  else
    snprintf(text, KARST_AUTO_WORDS, "%.16s%s%.8s", rung->precond->name, space, ordering);
  return text;
}

/* Returns by how many decimal digits the norm that judges the driver has fallen. */
double karst_auto_count_digits(const karst_auto_sample *sample)
{
  const double start = sample->first->test.start_merit, end = sample->krylov->now.merit;
  if (!isgreater(start, 0)) return 0;
  if (!isgreater(end, 0)) return 16;
  return fmin(log10(start / end), 16);
}

/* Returns whether a better preconditioner could have helped. It could not if the cause is the matrix, the right-hand
 * side, a limit, the monitor, or a target below what rounding allows. */
bool karst_auto_has_failed(const karst_auto_sample *sample)
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
  return !(result->reason == KARST_STAGNATED && karst_auto_count_digits(sample) > most_digits);
}

void karst_auto_move(karst_auto *choice, int to, karst_auto_role role)
{
  choice->at = to;
  choice->role = role;
  choice->solves = 0;
  choice->served = false;
}

void karst_auto_set_best(karst_auto *choice, int best)
{
  choice->best = best;
  choice->strikes = 0;
  choice->proven = -1;
  if (choice->at == best) choice->role = KARST_AUTO_BEST;
}

/* Excludes a rung unless all others fail too. */
static void exclude(karst_auto *choice, int i)
{
  choice->figures[i].excluded = true;
  choice->figures[i].converged = false;
}

/* Returns the rung that continues after the one in use: the one that has stood in before, else multigrid, else the
 * nearest above the best one, else the nearest below; -1: all others have failed. */
int karst_auto_find_next(const karst_auto *choice)
{
  const karst_auto_ladder *ladder = &choice->ladder;
  int next = -1;
  if (choice->proven >= 0 && choice->proven != choice->at) return choice->proven;
  for (int i = 0; i < ladder->count; i++) {
    if (choice->figures[i].excluded || i == choice->at) continue;
    if (karst_auto_is_multigrid(&ladder->rung[i])) return i;
    if (i < choice->best || next < choice->best) next = i;
  }
  return next >= 0 || choice->at == choice->best || choice->figures[choice->best].excluded ? next : choice->best;
}

/* All rungs have failed with these values, which may be those of one bad Newton step. With other values each may be
 * used again, first the rules' choice. */
static void forgive(karst_auto *choice)
{
  for (int i = 0; i < choice->ladder.count; i++) choice->figures[i].excluded = false;
  karst_auto_set_best(choice, choice->ladder.start);
  choice->role = choice->at == choice->best ? KARST_AUTO_BEST : KARST_AUTO_STAND_IN;
  choice->served = true;
}

/* Counts a failure of the rung in use, or that it was broken off. */
void karst_auto_strike(karst_auto *choice, bool failed)
{
  char text[KARST_AUTO_WORDS];
  const bool best = choice->role == KARST_AUTO_BEST;
  choice->served = true;
  if (best) choice->strikes = choice->figures[choice->at].converged ? choice->strikes + 1 : 2;
  snprintf(choice->reason, sizeof choice->reason, "%s %s", karst_auto_describe(choice, choice->at, text),
           failed ? "has failed" : "took too many iterations");
  if (failed && (!best || choice->strikes > 1)) exclude(choice, choice->at);
}

/* Moves to the rung that replaces the one in use, which has had a strike. Returns false if there is none. */
bool karst_auto_replace(karst_auto *choice)
{
  const int next = choice->role == KARST_AUTO_TRIAL ? choice->best : karst_auto_find_next(choice);
  if (next < 0) {
    if (choice->figures[choice->best].excluded) forgive(choice);
    return false;
  }
  karst_auto_move(choice, next, next == choice->best ? KARST_AUTO_BEST : KARST_AUTO_STAND_IN);
  if (choice->figures[choice->best].excluded) karst_auto_set_best(choice, next);
  return true;
}

bool karst_auto_refuse(karst_auto *choice)
{
  karst_auto_rung *rung = &choice->ladder.rung[choice->at];
  if (choice->fixed) return false;
  if (rung->precond->needs_grid) { /* the rules have looked at some rows only */
    snprintf(choice->reason, sizeof choice->reason, "%s has failed", rung->precond->name);
    *rung = (karst_auto_rung){&karst_precond_iluk, rung->ordering, 0};
    return true;
  }
  const karst_auto_place place = rung->precond->automatic;
  const bool other = place == KARST_AUTO_ALONE || place == KARST_AUTO_ABOVE;
  if (choice->ladder.climbs && !other) return false; /* every other rung would fail for the same reason */
  karst_auto_strike(choice, true);
  return karst_auto_replace(choice);
}

/* Returns whether an error is about the rung, and not about the machine or the call. */
static bool is_of_choice(karst_status status)
{
  return status == KARST_ERROR_MATRIX || status == KARST_ERROR_OPTION || status == KARST_ERROR_NOT_BUILT ||
         status == KARST_ERROR_INDEX_OVERFLOW;
}

bool karst_auto_retreat(karst_auto *choice, int before, karst_status status)
{
  const bool spare = choice->role == KARST_AUTO_TRIAL; /* the present factors can still be used */
  const bool goes_on = is_of_choice(status) || (spare && status == KARST_ERROR_NO_MEMORY);
  char text[KARST_AUTO_WORDS];
  snprintf(choice->reason, sizeof choice->reason, "%s could not be made%s",
           karst_auto_describe(choice, choice->at, text), status == KARST_ERROR_NO_MEMORY ? ": not enough memory" : "");
  if (goes_on) exclude(choice, choice->at);
  choice->figures[before].excluded = false; /* it is all that there is */
  karst_auto_move(choice, before, KARST_AUTO_BEST);
  karst_auto_set_best(choice, before);
  return goes_on;
}
