/* clock.h - seconds on a clock that only moves forward. */
#ifndef KARST_LIB_CLOCK_H
#define KARST_LIB_CLOCK_H

#include <time.h>

static inline double karst_clock(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

#endif
