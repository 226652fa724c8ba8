/* solve_refusal.h - what solve says of a matrix that set-up refuses. */
#ifndef KARST_TOOLS_SRC_SOLVE_SOLVE_REFUSAL_H
#define KARST_TOOLS_SRC_SOLVE_SOLVE_REFUSAL_H

#include "tools/src/solve/solve_report.h"

enum { REFUSAL_SIZE = 2 * SOLVE_HINT_SIZE };

/* With --ranks, notes on rank 0, while it has the whole matrix, what to say if a method needs a diagonal block that is
 * missing; text stays as it is if none is, or whole is NULL. */
void refusal_note_missing(karst_context *reader, const karst_matrix *whole, const struct solve_report *report,
                          char text[REFUSAL_SIZE]);
/* Reports that set-up has refused A, and what to try where that is known. noted: the text of refusal_note_missing, or
 * "". Returns an exit status. */
int refusal_report(karst_context *context, karst_status status, const karst_matrix *A, const char *noted,
                   const struct solve_report *report);

#endif
