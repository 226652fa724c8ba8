/* compare_outcomes.c - the outcomes of cases; see compare_outcomes.h. */
#include "tools/src/compare/report/compare_outcomes.h"

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

/* Prints a word as it is typed without quotes; returns how many letters it has. */
static int print_word(FILE *file, const char *word)
{
  int letters = 0;
  for (; *word; word++, letters++) fputc(*word == ' ' ? '-' : *word, file);
  return letters;
}

void compare_explain_outcomes(FILE *file)
{
  for (int i = 0; i < OUTCOME_NOT_RUN; i++) {
    fputs("  ", file);
    const int letters = print_word(file, outcomes[i].word);
    fprintf(file, "%*s%s\n", 20 - letters, "", outcomes[i].meaning);
  }
}

void compare_print_outcomes(FILE *file)
{
  for (int i = 0; i < OUTCOME_NOT_RUN; i++) {
    if (i > 0) fputs(", ", file);
    print_word(file, outcomes[i].word);
  }
}
