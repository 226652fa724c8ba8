/* next.h - the second driver of a method made of two (krylov/auto.c), which goes on where the first has failed. */
#ifndef KARST_SOLVER_NEXT_H
#define KARST_SOLVER_NEXT_H

#include "solver/solver.h"

/* Before a solve: makes the first driver the running one and gives it its share of the limits. */
void karst_next_share(karst_solver *solver);
/* Whether the second driver can help after the first one's end, and has iterations left. */
bool karst_next_is_due(const karst_solver *solver, const karst_result *result);
/* Makes the second driver the running one, with the iterations that the first has left. The first time it allocates the
 * second driver's vectors; where that or anything else fails, the first one stays. */
karst_status karst_next_begin(karst_solver *solver, const karst_result *result);
/* The monitor of the running driver, whose iterations are counted on from the first one's. */
void karst_next_set_monitor(karst_solver *solver);
/* Value i of the report, or 0: solver_used, the driver that the last solve has ended with, and, where that is the
 * second, restart_used. */
int karst_next_report(const karst_solver *solver, size_t i, karst_value *value);
/* Gives the second driver back; the next solve that needs it makes it anew. */
void karst_next_clear(karst_solver *solver);

#endif
