/* solve_pictures.h - the pictures of solve. Functions that return an int report their own errors, and return TOOL_GO_ON
 * or an exit status. */
#ifndef KARST_TOOLS_SRC_SOLVE_SOLVE_PICTURES_H
#define KARST_TOOLS_SRC_SOLVE_SOLVE_PICTURES_H

#include "tools/src/common/gnuplot.h"
#include "tools/src/solve/solve_report.h"
#include "tools/src/solve/watch.h"

/* Draws what the monitor has recorded of a solve for a right-hand side of this norm, to the file of --plot. */
int solve_plot(const struct solve_report *report, const struct watch_record *record, double norm);

/* Draws the pattern of A, with its blocks, the fill of the factors and the level sets, to the file of --spy: in the
 * order of a solver that has been set up, or with NULL in that of the file. */
int solve_spy(karst_context *context, const struct solve_report *report, const karst_solver *solver,
              const karst_matrix *A);

/* Sets a title: lines for the matrix, the method, and last. */
void solve_write_title(struct tool_gnuplot *plot, const struct solve_report *report, const char *last);

#endif
