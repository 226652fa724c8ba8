/* metis_turn.h - what every call of METIS needs: a turn, room, and its status as a sentence.
 *
 * METIS draws from rand(), which has one state for the whole process, and seeds it itself. Here one thread at a time
 * calls METIS, with a state of its own in the C library; afterwards the program's state is restored. So a result depends
 * on the graph alone, and the program's random numbers do not depend on METIS, as long as no other thread calls rand(),
 * random() or their relatives, or METIS itself, at the same time. */
#ifndef KARST_SYMBOLIC_ORDERING_METIS_TURN_H
#define KARST_SYMBOLIC_ORDERING_METIS_TURN_H

#include "lib/base/context.h"

#include <metis.h>

/* Waits for this thread's turn. Returns the program's state of rand(), for the end of the turn. */
char *karst_metis_begin(void);
void karst_metis_end(char *of_program);

/* KARST_ERROR_INDEX_OVERFLOW if METIS cannot count the vertices or the edges, each of which counts twice. */
karst_status karst_metis_check_size(karst_context *context, int64_t vertices, int64_t edges);
/* Fails if METIS will not find the memory that it takes for the graph, for then it may end the process. That is no proof
 * if the system promises more memory than it has, or another thread takes memory meanwhile. */
karst_status karst_metis_check_room(karst_context *context, int64_t vertices, int64_t edges);
/* The status for what METIS has returned for a graph of so many vertices. */
karst_status karst_metis_check(karst_context *context, int outcome, int64_t vertices);

#endif
