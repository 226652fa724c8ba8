/* choice.c - the best choice of a matrix, and what all rows have in common; see compare_write.h. */
#include "config.h"

#ifdef HAVE_JANSSON
#include "tools/src/compare/report/compare_write.h"

#include <math.h>
#include <string.h>

struct compare_choice compare_choose(const struct compare_table *table, size_t matrix)
{
  struct compare_choice choice = {0};
  for (size_t i = 0; i < table->rows; i++) {
    const struct compare_row *row = &table->row[i];
    const double total = row->number[COMPARE_TOTAL];
    if (!row->line || row->matrix != matrix) continue;
    choice.cases++;
    if (row->outcome != OUTCOME_CONVERGED || !isfinite(total)) continue;
    choice.converged++;
    if (!choice.best || total < choice.best->number[COMPARE_TOTAL]) {
      choice.second = choice.best;
      choice.best = row;
    } else if (!choice.second || total < choice.second->number[COMPARE_TOTAL])
      choice.second = row;
    if (!choice.slowest || total > choice.slowest->number[COMPARE_TOTAL]) choice.slowest = row;
  }
  return choice;
}

const char *compare_common(const struct compare_table *table, const char *(*text)(const struct compare_row *row))
{
  const char *common = NULL;
  for (size_t i = 0; i < table->rows; i++) {
    const char *own = table->row[i].line ? text(&table->row[i]) : "";
    if (*own && !common) common = own;
    if (*own && strcmp(own, common) != 0) return "";
  }
  return common ? common : "";
}

void compare_dates(const struct compare_table *table, const char **first, const char **last)
{
  *first = *last = "";
  for (size_t i = 0; i < table->rows; i++) {
    const char *started = table->row[i].line ? table->row[i].started : "";
    if (!*started) continue;
    if (!**first || strcmp(started, *first) < 0) *first = started;
    if (strcmp(started, *last) > 0) *last = started;
  }
}

const char *compare_host_of(const struct compare_row *row) { return row->host; }
const char *compare_version_of(const struct compare_row *row) { return row->version; }
#endif
