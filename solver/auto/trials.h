/* trials.h - moves of auto from rung to rung: trials (trials.c), and what follows a failure (failures.c). */
#ifndef KARST_SOLVER_AUTO_TRIALS_H
#define KARST_SOLVER_AUTO_TRIALS_H

#include "solver/auto/auto.h"

enum { KARST_AUTO_WORDS = 48 }; /* bytes of a description of a rung */

/* Describes a rung, such as "iluk level 2". */
const char *karst_auto_describe(const karst_auto *choice, int i, char text[KARST_AUTO_WORDS]);
/* Returns by how many decimal digits the norm that judges the driver has fallen. */
double karst_auto_count_digits(const karst_auto_sample *sample);
/* Returns whether a better preconditioner could have helped. */
bool karst_auto_has_failed(const karst_auto_sample *sample);

/* Puts a rung into use, or makes it the best one. */
void karst_auto_move(karst_auto *choice, int to, karst_auto_role role);
void karst_auto_set_best(karst_auto *choice, int best);

/* Returns the rung that would replace the one in use; -1: all others have failed. */
int karst_auto_find_next(const karst_auto *choice);
/* Counts a failure of the rung in use, or that it was broken off. */
void karst_auto_strike(karst_auto *choice, bool failed);
/* Moves to the rung that replaces the one in use, which has had a strike. Returns false if there is none. */
bool karst_auto_replace(karst_auto *choice);

#endif
