/* compare_outcomes.c - the outcomes of cases; see compare_outcomes.h. */
#include "tools/src/compare/report/compare_outcomes.h"
#include "tools/src/common/text.h"

#include <string.h>

static const struct {
  const char *word, *meaning;
} outcomes[OUTCOME_COUNT] = {
    [OUTCOME_CONVERGED] = {"converged", "the residual, computed from the solution, is as small as asked for"},
    [OUTCOME_NOT_CONVERGED] = {"not converged", "solve ended without that; the row has the reason"},
    [OUTCOME_FAILED] = {"failed", "solve refused the matrix or an option, or ended without a report"},
    [OUTCOME_NO_DEVICE] = {"no device", "the device is not available or has failed"},
    [OUTCOME_CRASHED] = {"crashed", "solve was ended by a signal, or with any other status"},
    [OUTCOME_OUT_OF_TIME] = {"out of time", "it took longer than --time-limit"},
    [OUTCOME_OUT_OF_MEMORY] = {"out of memory", "it took more than --memory-limit, or than the machine or device has"},
    [OUTCOME_NOT_RUN] = {"not run", "it has no row yet"},
};

const char *compare_outcome_word(enum compare_outcome outcome) { return outcomes[outcome].word; }

enum compare_outcome compare_find_outcome(const char *text)
{
  int i = 0;
  while (i < OUTCOME_NOT_RUN && !(text && strcmp(text, outcomes[i].word) == 0)) i++;
  return (enum compare_outcome)i;
}

/* Whether the part of a list at this place is the word. */
static bool is_word(const char *part, const char *word)
{
  for (; *word && (*part == *word || (*word == ' ' && (*part == '-' || *part == '_'))); word++) part++;
  return !*word && (!*part || *part == ',');
}

bool compare_list_outcomes(const char *list, bool listed[OUTCOME_COUNT])
{
  bool known = true;
  for (int i = 0; i < OUTCOME_COUNT; i++) listed[i] = false;
  for (const char *part = list; part; part = strchr(part, ',') ? strchr(part, ',') + 1 : NULL) {
    int i = 0;
    while (i < OUTCOME_NOT_RUN && !is_word(part, outcomes[i].word)) i++;
    known = known && i < OUTCOME_NOT_RUN;
    listed[i] = true;
  }
  return known;
}

void compare_append_outcomes(char *text, size_t size, bool explained)
{
  for (int i = 0; i < OUTCOME_NOT_RUN; i++) {
    char word[32];
    snprintf(word, sizeof word, "%s", outcomes[i].word);
    for (char *blank = word; (blank = strchr(blank, ' '));) *blank = '-';
    if (explained)
      tool_append(text, size, "  %-20s%s\n", word, outcomes[i].meaning);
    else
      tool_append(text, size, "%s%s", i > 0 ? ", " : "", word);
  }
}
