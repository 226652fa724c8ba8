/* outlook.c - see auto.h: what a rung is expected to cost at best, before it is worth a trial.
 *
 * An update and a solve cost u + n i: an update, and n iterations. What was measured of a rung counts; what was not is
 * the best rung's, times a ratio that sequences of simulators have shown. n is the least to hope for. */
#include "solver/auto/auto.h"

#include <math.h>

/* Costs over those of ILU(0), and the least and the most iterations over its. */
struct ratios {
  double setup, update, iteration, least, most;
};

/* The iterations with a level of fill over those with the level below. */
static const double level_least = 0.45, level_most = 0.7;

/* A set-up with tiles takes so many times as long. */
static const double tiles_setup = 10;

/* One iteration of multigrid gains at most a digit. */
static const double multigrid_least = 1;

/* A rung for which nothing was measured: iterations that an update of ILU(0) costs, and for a digit. */
static const double update_unknown = 3, iterations_unknown = 5;

/* What was measured in earlier solves counts in part, since systems of one sequence differ. */
static const double trust = 0.9;

bool karst_auto_is_multigrid(const karst_auto_rung *rung) { return rung->precond->automatic == KARST_AUTO_ABOVE; }

static struct ratios find_ratios(const karst_auto *choice, int i)
{
  const karst_auto_rung *rung = &choice->ladder.rung[i];
  const double k = rung->level > 0 ? rung->level : 0, fill = pow(choice->ladder.growth, k);
  const bool alone = !rung->precond->unsymmetric; /* multigrid is not a stage of cpr */
  switch (rung->precond->automatic) {
  case KARST_AUTO_BELOW:
    return (struct ratios){0.5, 0.1, choice->host ? 0.6 : 0.3, 3, 5};
  case KARST_AUTO_LEVEL_0:
    return (struct ratios){1, 0.6, 1, 1, 1.2};
  case KARST_AUTO_LEVELS:
    return (struct ratios){pow(fill, 1.5), fill, 1 + 0.4 * (fill - 1), pow(level_least, k), pow(level_most, k)};
  case KARST_AUTO_ABOVE:
    return choice->host ? (struct ratios){alone ? 30 : 6, 2.2, 2.4, 0.02, 0.4}
                        : (struct ratios){alone ? 30 : 2.5, 2.2, 1.5, 0.02, 0.4};
  default:
    return (struct ratios){1, 1, 1, 1, 1};
  }
}

/* The least iterations of rung i over the most of rung j. Natural order takes as few as 0.4 of those of tiles. */
static double find_least(const karst_auto *choice, int i, int j)
{
  const karst_auto_rung *own = &choice->ladder.rung[i], *other = &choice->ladder.rung[j];
  if (own->precond != other->precond) return find_ratios(choice, i).least / find_ratios(choice, j).most;
  if (own->level != other->level)
    return pow(own->level > other->level ? level_least : level_most, own->level - other->level);
  return i == j ? 1 : own->ordering[0] == 't' ? 0.95 : 0.4;
}

/* Returns the cost of a set-up with the first update over that of ILU(0) in natural order. */
static double find_setup(const karst_auto *choice, int i)
{
  return find_ratios(choice, i).setup * (choice->ladder.rung[i].ordering[0] == 't' ? tiles_setup : 1);
}

double karst_auto_outlook_setup(const karst_auto *choice, int i)
{
  const karst_auto_figures *own = &choice->figures[i], *best = &choice->figures[choice->best];
  const double with_analysis = best->update / find_ratios(choice, choice->best).update; /* no set-up was measured */
  const double measured = (best->setup + best->update) / find_setup(choice, choice->best);
  const double first = isnan(best->setup) ? with_analysis : measured;
  return isnan(own->setup) ? first * find_setup(choice, i) : own->setup;
}

/* Returns the cost of an update and n iterations of rung i. */
static double price(const karst_auto *choice, int i, double n)
{
  const karst_auto_figures *own = &choice->figures[i], *best = &choice->figures[choice->best];
  const struct ratios mine = find_ratios(choice, i), theirs = find_ratios(choice, choice->best);
  const bool known = !isnan(best->iteration) && !isnan(best->update);
  const double update = known ? best->update / theirs.update : update_unknown;
  const double iteration = known ? best->iteration / theirs.iteration : 1;
  return (isnan(own->update) ? update * mine.update : own->update) +
         fmax(n, 1) * (isnan(own->iteration) ? iteration * mine.iteration : own->iteration);
}

double karst_auto_cost(const karst_auto *choice, int i, double digits)
{
  return price(choice, i, choice->figures[i].iterations * digits);
}

double karst_auto_outlook(const karst_auto *choice, int i, double digits)
{
  const karst_auto_figures *own = &choice->figures[i], *best = &choice->figures[choice->best];
  const double most = isnan(best->iterations) ? iterations_unknown : best->iterations;
  double least = most * find_least(choice, i, choice->best);
  if (i == choice->best) return price(choice, i, digits * least);
  if (karst_auto_is_multigrid(&choice->ladder.rung[i])) least = fmax(least, multigrid_least);
  if (!isnan(own->iterations)) least = trust * own->iterations;
  return price(choice, i, digits * least);
}
