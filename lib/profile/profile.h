/* profile.h - the time of a context's operations, by their names, while karst_context_profile is on.
 *
 * Meanwhile a table of the context's own replaces the backend's; its operations time those of the backend
 * (profile_backend.c). So a profile costs nothing while it is off. Operations outside that table, such as a
 * preconditioner's, are timed where they are called, between begin and end, which do nothing while it is off.
 *
 * An operation may call others. Each row has only the operation's own time, so that the times of all rows add up. */
#ifndef KARST_LIB_PROFILE_PROFILE_H
#define KARST_LIB_PROFILE_PROFILE_H

#include "lib/base/context.h"

struct karst_backend;

/* An operation under way, on the stack of the thread that has begun it. */
typedef struct karst_timing {
  karst_profiler *profiler;   /* NULL: it is not timed */
  struct karst_timing *outer; /* the operation that called it in this thread, of any context, or NULL */
  int row;
  double bytes;
  double start;            /* on the clock, where operations are complete when they return */
  struct karst_span *span; /* else its marks, or NULL if none were left */
} karst_timing;

/* Begins an operation. Its row is named "WHAT", or "WHAT (METHOD)"; both texts live as long as the context. bytes: the
 * least that the operation itself moves, without the operations that it calls; 0: not known. */
void karst_profile_begin(karst_context *context, const char *what, const char *method, double bytes,
                         karst_timing *timing);
void karst_profile_end(karst_timing *timing);

/* Whether this thread is within a timed operation. */
bool karst_profile_is_under_way(const karst_context *context);

/* Clears the rows, and puts a copy of timed in the place of the context's backend. */
karst_status karst_profile_start(karst_context *context, const struct karst_backend *timed);
/* Ends profiling, also before the device changes; the rows are kept. */
void karst_profile_stop(karst_context *context);
/* Ends profiling and frees the rows. */
void karst_profile_destroy(karst_context *context);

/* The backend's own table, also while the profile replaces it. */
const struct karst_backend *karst_profile_backend(const karst_context *context);

#endif
