/* cost.h - the costs of solves and updates for auto (ladder.c), in bytes and so without a clock. */
#ifndef KARST_SOLVER_AUTO_COST_H
#define KARST_SOLVER_AUTO_COST_H

#include "solver/auto/auto.h"

/* Returns the bytes that an iteration moves in its products and applications and, once, in the driver's vectors, plus
 * those that the device could move while it waits. */
double karst_auto_iteration_bytes(const karst_auto_sample *sample);

/* Returns the bytes that the device could move in the time of an update. */
double karst_auto_update_bytes(const karst_auto_sample *sample);

#endif
