/* clock.h - seconds on a clock that only moves forward, and of a thread's own work. */
#ifndef KARST_LIB_BASE_CLOCK_H
#define KARST_LIB_BASE_CLOCK_H

#include <time.h>

static inline double karst_clock(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The seconds for which a processor has worked for this thread. */
static inline double karst_thread_clock(void)
{
  struct timespec spent = {0};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
  return (double)spent.tv_sec + 1e-9 * (double)spent.tv_nsec;
}

#endif
