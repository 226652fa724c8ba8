/* next.h - the second driver of a method made of two (krylov/auto.c), which continues if the first has failed. */
#ifndef KARST_SOLVER_NEXT_H
#define KARST_SOLVER_NEXT_H

#include "solver/solver.h"

/* Before a solve: makes the first driver the running one and gives it its share of the limits. */
void karst_next_share(karst_solver *solver);
/* Whether the second driver can help after the first one's end, and has iterations left. */
bool karst_next_is_due(const karst_solver *solver, const karst_result *result);
/* Makes the second driver the running one, with the iterations that the first has left. The first call allocates its
 * vectors. If anything fails, the first driver remains the running one. */
karst_status karst_next_begin(karst_solver *solver, const karst_result *result);
/* Sets the monitor of the running driver; it counts iterations on from those of the first driver. */
void karst_next_set_monitor(karst_solver *solver);
/* Reads value i of the report; returns 0 past the last. solver_used: the driver that the last solve has ended with;
 * restart_used: its restart, if that is the second one. */
int karst_next_report(const karst_solver *solver, size_t i, karst_value *value);
/* Destroys the second driver; the next solve that needs it makes it again. */
void karst_next_clear(karst_solver *solver);

#endif
