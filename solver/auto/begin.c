/* begin.c - see auto.h: what the caller's options leave to auto, the first rung, and the rung in use as options and as
 * values of the report. */
#include "solver/auto/auto.h"
#include "solver/auto/order.h"

#include "lib/backend/backend.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool karst_auto_is_chosen(const karst_context *context, const karst_methods *chosen)
{
  return karst_precond_at(context, (size_t)chosen->precond) == &karst_precond_auto ||
         karst_ordering_table[chosen->ordering]->chooses;
}

/* Returns the value of the option ordering, or NULL if it is auto or not given. */
static const char *find_ordering(const karst_options *given)
{
  const char *ordering = karst_options_find(given, "ordering");
  return ordering && strcmp(ordering, "auto") != 0 ? ordering : NULL;
}

/* Returns the value of an option, or 0 if it is not given. */
static int find_integer(const karst_options *given, const char *name)
{
  const char *text = karst_options_find(given, name);
  return text ? (int)strtod(text, NULL) : 0;
}

/* Finds whether iluk with these options may or must use tiles, and reads the options level and tile-size. */
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
  static const karst_option *const limit_rows[] = {karst_krylov_limits_rows, NULL};
  karst_krylov_limits limits;
  karst_auto_freedom freedom = {.precond = true, .level = !karst_options_find(given, "level")};
  karst_methods chosen;
  for (; *list; list++)
    for (const karst_option *row = *list; row->name; row++)
      freedom.precond = freedom.precond && !karst_options_find(given, row->name);
  karst_methods_read(given, &chosen);
  karst_options_read(given, limit_rows, &limits);
  const struct karst_krylov_ops *driver = karst_krylov_table[chosen.solver];
  freedom.recurs = driver->short_recurrences;
  freedom.tight = limits.rtol <= 1e-4;
  freedom.grid = freedom.precond && !karst_ordering_table[chosen.ordering]->compute;
  freedom.symmetric = driver->symmetric;
  freedom.whole = chosen.scale == KARST_SCALE_NONE && chosen.parts == 1;
  freedom.rrb = freedom.whole && !driver->breaks_down;
  return freedom;
}

/* The ladder of a given preconditioner: natural order, and tiles where they may serve it. */
static karst_status make_orders(const karst_options *given, const karst_matrix *A, bool measures,
                                karst_auto_ladder *ladder)
{
  karst_methods chosen;
  karst_order_choice order;
  karst_methods_read(given, &chosen);
  const struct karst_precond_ops *ops = karst_precond_at(A->context, (size_t)chosen.precond);
  const karst_status status = karst_order_choose(given, A, ops, chosen.of_ordering.tile_size, &order);
  if (status) return status;
  *ladder = (karst_auto_ladder){.count = 1, .growth = 1};
  ladder->rung[0] = (karst_auto_rung){ops, order.tiles ? "tiles" : "natural", -1};
  if (order.open && measures) {
    ladder->climbs = true;
    ladder->rung[ladder->count++] = (karst_auto_rung){ops, order.tiles ? "natural" : "tiles", -1};
  }
  memcpy(ladder->reason, order.reason, sizeof ladder->reason);
  return KARST_SUCCESS;
}

karst_status karst_auto_begin(const karst_options *given, bool orders, const karst_matrix *A, karst_auto *choice)
{
  const char *learn = karst_options_find(given, "auto-learn");
  karst_methods chosen;
  karst_methods_read(given, &chosen);
  *choice = (karst_auto){.given = given, .orders = orders, .due = true, .proven = -1};
  choice->learns = !learn || strcmp(learn, "no") != 0;
  choice->fixed = karst_precond_at(A->context, (size_t)chosen.precond) != &karst_precond_auto;
  for (int i = 0; i < KARST_AUTO_RUNGS; i++)
    choice->figures[i] =
        (karst_auto_figures){.setup = NAN, .update = NAN, .iteration = NAN, .iterations = NAN, .patience = 1};
  karst_auto_freedom freedom = find_freedom(given);
  choice->host = A->context->backend->machine->host;
  if (orders) find_tiles(given, &freedom);
  const karst_status made = choice->fixed
                                ? make_orders(given, A, choice->learns, &choice->ladder)
                                : karst_auto_rules(A, A->context->backend->machine, &freedom, &choice->ladder);
  choice->at = choice->best = choice->ladder.start;
  memcpy(choice->reason, choice->ladder.reason, sizeof choice->reason);
  return karst_auto_share_ladder(A, made, choice);
}

karst_status karst_auto_options(const karst_auto *choice, karst_context *context, karst_options **options)
{
  const karst_auto_rung *rung = &choice->ladder.rung[choice->at];
  karst_status status = karst_options_copy(context, choice->given, options);
  if (status) return status;
  if (!choice->fixed) status = karst_options_set(*options, "precond", rung->precond->name);
  if (!status && rung->level >= 0) status = karst_options_set_integer(*options, "level", rung->level);
  if (!status && choice->orders && !find_ordering(choice->given))
    status = karst_options_set(*options, "ordering", rung->ordering);
  if (!status) return KARST_SUCCESS;
  karst_options_destroy(*options);
  *options = NULL;
  return status;
}

karst_status karst_auto_report(const karst_auto *choice, karst_precond *precond)
{
  const karst_auto_rung *rung = &choice->ladder.rung[choice->at];
  const char *level = karst_options_find(choice->given, "level");
  const char *ordering = find_ordering(choice->given);
  char text[KARST_REPORT_TEXT], number[24] = "";
  if (choice->fixed) return KARST_SUCCESS;
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

int karst_auto_report_order(const karst_auto *choice, size_t i, karst_value *value)
{
  if (!choice->fixed || i > 1) return 0;
  *value = (karst_value){.name = i == 0 ? "ordering_used" : "ordering_reason",
                         .unit = "",
                         .number = NAN,
                         .text = i == 0 ? choice->ladder.rung[choice->at].ordering : choice->reason};
  return 1;
}

/* Returns whether the caller's options let auto choose a preconditioner. */
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
  case KARST_AUTO_ABOVE:
    return freedom->precond && !(precond->unsymmetric && (freedom->symmetric || !freedom->whole));
  case KARST_AUTO_LEVELS:
    break;
  }
  return true;
}

/* Returns the height of a rung: its level; -1 for preconditioners below ILU(0) and those that stand alone. */
static int find_height(const karst_auto_rung *rung)
{
  if (rung->precond->automatic == KARST_AUTO_LEVELS) return rung->level;
  if (rung->precond->automatic == KARST_AUTO_ABOVE) return INT_MAX;
  return rung->precond->automatic == KARST_AUTO_LEVEL_0 ? 0 : -1;
}

bool karst_auto_begin_at(karst_auto *choice, const karst_auto_rung *rung)
{
  karst_auto_ladder *ladder = &choice->ladder;
  const karst_auto_freedom freedom = find_freedom(choice->given);
  const bool orders = strcmp(rung->ordering, "natural") == 0 || strcmp(rung->ordering, "tiles") == 0;
  karst_auto_rung own = *rung;
  int i = 0;
  if (choice->fixed ? !orders || own.precond != ladder->rung[0].precond : !may_choose(&freedom, own.precond))
    return false;
  if (choice->fixed || own.precond->automatic != KARST_AUTO_LEVELS || !freedom.level) own.level = -1;
  if (choice->fixed) ladder->count = 1;
  while (i < ladder->count && (ladder->rung[i].precond != own.precond || ladder->rung[i].level != own.level)) i++;
  if (!choice->fixed && i < ladder->count && i == ladder->start && strcmp(ladder->rung[i].ordering, own.ordering) == 0)
    return true;
  if (i == ladder->count) { /* the rules' ladder has room for one more rung */
    if (i == KARST_AUTO_RUNGS) return false;
    for (; i > 0 && find_height(&ladder->rung[i - 1]) > find_height(&own); i--) ladder->rung[i] = ladder->rung[i - 1];
    ladder->count++;
  }
  ladder->rung[i] = own;
  choice->at = choice->best = ladder->start = i;
  snprintf(choice->reason, sizeof choice->reason, "the analysis given to set-up was made with this choice");
  return true;
}
