/* speed_ups.c - speed-ups: the total time of the baseline's case over that of a case. The baseline's case has the
 * values that the baseline names, such as device=cpu, and is equal to the case in all other options that both read; if
 * there are several, the one with most in common counts. Both must have converged, because the time of a failed solve
 * says nothing. */
#include "tools/src/compare/report/compare_write.h"

#include <string.h>

/* The values that the baseline names: wanted[d] is NULL for a dimension that it does not. */
static int parse(const struct compare_table *table, const char **wanted)
{
  char *text = strcpy(compare_room(strlen(table->baseline) + 1, 1), table->baseline), *next = NULL;
  bool is_whole = table->outcomes[OUTCOME_NOT_RUN] == 0; /* else the cases that have the name may be still to come */
  for (char *item = strtok_r(text, ",", &next); item; item = strtok_r(NULL, ",", &next)) {
    char *value = strchr(item, '=');
    if (!value || value == item || !value[1])
      return tool_fail(TOOL_FAILED, "--baseline %s: '%s' is not NAME=VALUE", table->baseline, item);
    *value++ = '\0';
    const size_t d = compare_find_dimension(table, item);
    if (d < table->dimensions)
      wanted[d] = value;
    else if (is_whole && table->rows > 0)
      return tool_fail(TOOL_FAILED, "--baseline %s: no case has the option '%s'", table->baseline, item);
    else
      wanted[table->dimensions] = value; /* no case can have it */
  }
  return TOOL_GO_ON;
}

static bool has_values(const struct compare_table *table, const struct compare_row *row, const char **wanted)
{
  if (!row->line || wanted[table->dimensions]) return false;
  for (size_t d = 0; d < table->dimensions; d++)
    if (wanted[d] && !compare_same_value(wanted[d], row->value[d])) return false;
  return true;
}

/* The number of equal values of the two, except those that the baseline names; -1 if they differ in one. */
static int agreement(const struct compare_table *table, const struct compare_row *a, const struct compare_row *b,
                     const char **wanted)
{
  int agree = 0;
  if (a->matrix != b->matrix) return -1;
  for (size_t d = 0; d < table->dimensions; d++) {
    if (wanted[d] || !a->value[d] || !b->value[d]) continue;
    if (!compare_same_value(a->value[d], b->value[d])) return -1;
    agree++;
  }
  return agree;
}

static void set_speed_up(const struct compare_table *table, struct compare_row *row, const char **wanted)
{
  const struct compare_row *baseline = row->is_baseline ? row : NULL;
  int most = -1;
  for (size_t i = 0; i < table->rows && !row->is_baseline; i++) {
    const int agree = table->row[i].is_baseline ? agreement(table, row, &table->row[i], wanted) : -1;
    if (agree > most) baseline = &table->row[i];
    if (agree > most) most = agree;
  }
  if (baseline && baseline->outcome == OUTCOME_CONVERGED && row->outcome == OUTCOME_CONVERGED &&
      row->number[COMPARE_TOTAL] > 0)
    row->number[COMPARE_SPEED_UP] = baseline->number[COMPARE_TOTAL] / row->number[COMPARE_TOTAL];
}

int compare_speed_ups(struct compare_table *table)
{
  if (!table->baseline) return TOOL_GO_ON;
  const char **wanted = compare_room(table->dimensions + 1, sizeof *wanted);
  const int status = parse(table, wanted);
  if (status != TOOL_GO_ON) return status;
  for (size_t i = 0; i < table->rows; i++) table->row[i].is_baseline = has_values(table, &table->row[i], wanted);
  for (size_t i = 0; i < table->rows; i++)
    if (table->row[i].line) set_speed_up(table, &table->row[i], wanted);
  return TOOL_GO_ON;
}
