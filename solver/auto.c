/* auto.c - see auto.h: the place on the ladder, which updates change by what solves have cost. */
#include "auto.h"

#include <math.h>
#include <stdio.h>
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

/* Bytes that a GPU moves while it waits for a level set of a triangle: 0.4 us at 4 TB/s. */
static const double level_bytes = 1.6e6;

extern const struct karst_precond_ops karst_precond_auto;

bool karst_auto_is_chosen(const karst_context *context, const karst_methods *chosen)
{
  return karst_precond_at(context, (size_t)chosen->precond) == &karst_precond_auto;
}

static karst_auto_freedom find_freedom(const karst_options *given)
{
  static const char *const of_iluk[] = {"level", "trisolve", "trisolve-sweeps", "shift", "modified"};
  karst_auto_freedom freedom = {.precond = true, .level = !karst_options_find(given, "level")};
  karst_methods chosen;
  for (size_t i = 0; i < sizeof of_iluk / sizeof *of_iluk; i++)
    freedom.precond = freedom.precond && !karst_options_find(given, of_iluk[i]);
  karst_methods_read(given, &chosen);
  freedom.rrb = freedom.precond && chosen.scale == KARST_SCALE_NONE && chosen.parts == 1 &&
                !karst_ordering_table[chosen.ordering]->compute &&
                strcmp(karst_krylov_table[chosen.solver]->name, "bicgstab") != 0;
  return freedom;
}

karst_status karst_auto_begin(const karst_options *given, bool orders, const karst_matrix *A, karst_auto *choice)
{
  const karst_auto_freedom freedom = find_freedom(given);
  const char *learn = karst_options_find(given, "auto-learn");
  *choice = (karst_auto){.given = given, .orders = orders, .due = true};
  choice->learn = !learn || strcmp(learn, "iterations") == 0 ? BY_ITERATIONS
                  : strcmp(learn, "time") == 0               ? BY_TIME
                                                             : NEVER;
  for (int i = 0; i < KARST_AUTO_RUNGS; i++) choice->cost[i] = NAN;
  karst_status status = karst_auto_rules(A, &freedom, &choice->ladder);
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
  if (!status && choice->orders && !karst_options_find(choice->given, "ordering"))
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
  const char *ordering = karst_options_find(choice->given, "ordering");
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

static double find_number(const karst_precond *precond, const char *name)
{
  karst_value value;
  for (size_t i = 0; karst_precond_report(precond, i, &value); i++)
    if (strcmp(value.name, name) == 0) return value.number;
  return 0;
}

/* Bytes that an iteration moves: A, the factors, and the driver's vectors once. */
static double iteration_bytes(const karst_auto_sample *sample)
{
  const karst_matrix *A = sample->A;
  const karst_precond *M = sample->krylov->M;
  const double block = (double)A->block_size * A->block_size, width = 8 + sizeof(karst_index) / block;
  const double matrix = width * (double)karst_entries(A);
  const double vectors = 8.0 * (double)karst_matrix_rows(A) * (double)sample->krylov->need.vectors;
  const double factors = width * (double)M->factor_entries + (strcmp(M->ops->name, "dilu") == 0 ? matrix : 0);
  const double levels = find_number(M, "levels_lower") + find_number(M, "levels_upper");
  return matrix + vectors + factors + (karst_context_is_host(A->context) ? 0 : level_bytes * levels);
}

/* What a factorization takes, in the bytes that would take as long: measured on 20 systems as 20 to 40 times the bytes
 * of the factors, more where their rows are longer. */
static double update_bytes(const karst_auto_sample *sample)
{
  const double entries = (double)sample->krylov->M->factor_entries;
  return 8 * entries * (16 + entries / (double)karst_matrix_rows(sample->A));
}

/* How a solve has ended for want of a better preconditioner. What the matrix, the right-hand side or the monitor is to
 * blame for tells nothing. */
static bool has_failed(karst_reason reason)
{
  return reason < 0 && reason != KARST_NOT_FINITE && reason != KARST_OUT_OF_RANGE && reason != KARST_STOPPED &&
         reason != KARST_INDEFINITE_OPERATOR;
}

/* The decimal digits that the norm which the driver judges by has lost. */
static double count_digits(const karst_krylov *krylov)
{
  if (!(krylov->start_merit > 0)) return 0;
  return fmin(log10(krylov->start_merit / krylov->merit), 16);
}

void karst_auto_measure(karst_auto *choice, const karst_auto_sample *sample)
{
  if (!choice->due || choice->learn == NEVER) return;
  choice->due = false;
  if (has_failed(sample->result->reason)) {
    choice->cost[choice->at] = INFINITY;
    return;
  }
  const double digits = count_digits(sample->krylov);
  if (sample->result->reason <= 0 || sample->result->iterations == 0 || !(digits >= least_digits)) return;
  if (choice->digits == 0) choice->digits = digits;
  const bool timed = choice->learn == BY_TIME;
  const double update = timed ? sample->time_update : update_bytes(sample);
  const double solve = timed ? sample->time_solve : sample->result->iterations * iteration_bytes(sample);
  const double cost = update + solve * choice->digits / digits;
  char text[WORDS];
  choice->cost[choice->at] = cost;
  if (choice->at != choice->best) {
    if (!(cost < gain * choice->cost[choice->best])) return;
    snprintf(choice->reason, sizeof choice->reason, "measured: it costs %.2f of %s", cost / choice->cost[choice->best],
             describe(choice, choice->best, text));
    choice->best = choice->at;
  }
  choice->step = cost - update > update ? 1 : sample->result->iterations <= few_iterations ? -1 : 0;
}

/* The rung above one that has failed, else the one below, which has not failed; else the rules' choice. */
static int find_refuge(const karst_auto *choice)
{
  for (int i = choice->at + 1; i < choice->ladder.count; i++)
    if (!isinf(choice->cost[i])) return i;
  for (int i = choice->at - 1; i >= 0; i--)
    if (!isinf(choice->cost[i])) return i;
  return choice->ladder.start;
}

/* The rung in use has failed, or is a trial that has ended. */
static void leave(karst_auto *choice)
{
  const bool failed = isinf(choice->cost[choice->at]);
  char text[WORDS];
  describe(choice, choice->at, text);
  choice->settled = true;
  if (failed)
    snprintf(choice->reason, sizeof choice->reason, "%s has failed", text);
  else
    snprintf(choice->reason, sizeof choice->reason, "measured: %s costs %.2f times as much", text,
             choice->cost[choice->at] / choice->cost[choice->best]);
  if (choice->at == choice->best) choice->best = find_refuge(choice);
  choice->at = choice->best;
}

/* Whether a neighbour of the best rung is worth a trial: the one above where solves cost most, else the one below where
 * few iterations say that it will not fail either. */
static bool begin_trial(karst_auto *choice)
{
  const int next = choice->best + choice->step;
  char text[WORDS];
  if (choice->settled || !choice->ladder.climbs || next < 0 || next >= choice->ladder.count ||
      !isnan(choice->cost[next]))
    return false;
  snprintf(choice->reason, sizeof choice->reason, "a trial for one solve, to compare it with %s",
           describe(choice, choice->best, text));
  choice->at = next;
  return true;
}

bool karst_auto_advance(karst_auto *choice)
{
  const int before = choice->at;
  const double cost = choice->cost[before];
  choice->due = true;
  if (isnan(cost)) return false;
  if (isinf(cost) || before != choice->best)
    leave(choice);
  else if (!begin_trial(choice))
    choice->settled = true;
  return choice->at != before;
}

bool karst_auto_refuse(karst_auto *choice)
{
  const int before = choice->at;
  if (choice->ladder.climbs) return false; /* all rungs ask the same of a matrix */
  choice->cost[before] = INFINITY;
  leave(choice);
  return !isinf(choice->cost[choice->at]);
}

void karst_auto_retreat(karst_auto *choice, int before)
{
  char text[WORDS];
  snprintf(choice->reason, sizeof choice->reason, "%s could not be made", describe(choice, choice->at, text));
  choice->cost[choice->at] = INFINITY;
  choice->settled = true;
  choice->at = choice->best = before;
}
