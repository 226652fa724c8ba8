/* cost.h - what solves and updates cost auto (ladder.c) without a clock: in bytes. */
#ifndef KARST_SOLVER_AUTO_COST_H
#define KARST_SOLVER_AUTO_COST_H

#include "solver/auto/auto.h"

/* Bytes that an iteration moves: those of its products and applications, those of the driver's vectors once, and those
 * that the device could move while it waits. */
double karst_auto_iteration_bytes(const karst_auto_sample *sample);

/* The bytes that move as long as an update takes. */
double karst_auto_update_bytes(const karst_auto_sample *sample);

#endif
