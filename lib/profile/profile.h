/* profile.h - the time of a context's operations, by their names, while karst_context_profile is on.
 *
 * Meanwhile the context has a table of its own in place of the backend's, whose operations time those of the backend
 * (profile_backend.c); so a profile costs nothing while it is off. Operations outside that table, such as a
 * preconditioner's, are timed where they are called, between begin and end, which do nothing while it is off.
 *
 * An operation may call others. Each has the time that it spends itself, so that the times of all rows add up. */
#ifndef KARST_LIB_PROFILE_PROFILE_H
#define KARST_LIB_PROFILE_PROFILE_H

#include "lib/base/context.h"

struct karst_backend;

/* An operation under way, on the stack of the thread that has begun it. */
typedef struct karst_timing {
  karst_profiler *profiler;   /* NULL: nobody asks for its time */
  struct karst_timing *outer; /* the operation of this thread that has called it, of whatever context, or NULL */
  int row;
  double bytes;
  double start;            /* on the clock, where operations are complete when they return */
  struct karst_span *span; /* else its marks, or NULL where there are none left */
} karst_timing;

/* An operation begins; its row is named "WHAT", or "WHAT (METHOD)". Both live as long as the context. bytes: what the
 * operation moves at least, without what it leaves to operations that it calls; 0: not known. */
void karst_profile_begin(karst_context *context, const char *what, const char *method, double bytes,
                         karst_timing *timing);
void karst_profile_end(karst_timing *timing);

/* Whether this thread is within an operation that is timed. */
bool karst_profile_is_under_way(const karst_context *context);

/* The rows begin anew, and timed, of which the context has a copy, takes its backend's place. */
karst_status karst_profile_start(karst_context *context, const struct karst_backend *timed);
/* Ends profiling, also before the device changes; the rows stay. */
void karst_profile_stop(karst_context *context);
/* Does so, and gives the rows back. */
void karst_profile_destroy(karst_context *context);

/* The backend's own table, which is behind that of a profile. */
const struct karst_backend *karst_profile_backend(const karst_context *context);

#endif
