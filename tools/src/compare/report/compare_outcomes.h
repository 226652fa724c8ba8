/* compare_outcomes.h - how a case of compare can end: the words of the results file, and what they mean. */
#ifndef KARST_TOOLS_SRC_COMPARE_REPORT_COMPARE_OUTCOMES_H
#define KARST_TOOLS_SRC_COMPARE_REPORT_COMPARE_OUTCOMES_H

#include <stdbool.h>
#include <stddef.h>

enum compare_outcome {
  OUTCOME_CONVERGED,
  OUTCOME_NOT_CONVERGED,
  OUTCOME_FAILED,
  OUTCOME_NO_DEVICE,
  OUTCOME_CRASHED,
  OUTCOME_OUT_OF_TIME,
  OUTCOME_OUT_OF_MEMORY,
  OUTCOME_NOT_RUN, /* of a table alone: no row has it */
  OUTCOME_COUNT
};

/* What the outcome is called in the results file, and in a cell. */
const char *compare_outcome_word(enum compare_outcome outcome);
/* The outcome that a row's text names, or OUTCOME_NOT_RUN, which no row has. text may be NULL. */
enum compare_outcome compare_find_outcome(const char *text);

/* Which outcomes a list such as "crashed,out-of-time" names, with '-', '_' or a blank between words: listed[outcome].
 * Returns false where a part of it is no outcome. */
bool compare_list_outcomes(const char *list, bool listed[OUTCOME_COUNT]);
/* Appends the outcomes of rows as such lists name them: with their meanings, one a line, or with commas between
 * them. */
void compare_append_outcomes(char *text, size_t size, bool explained);

#endif
