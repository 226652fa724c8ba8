/* threads.h - divides work among threads, for loops without time measurements and for the CPU's kernels. Results do not
 * depend on the number of threads. */
#ifndef KARST_LIB_THREADS_H
#define KARST_LIB_THREADS_H

#include "config.h"

#include "context.h"
#include "search.h"

#ifdef HAVE_OPENMP
#include <omp.h>
#endif

/* The number of this thread in a parallel region and the number of threads, which is smaller than requested if the
 * system refuses some. */
static inline int karst_thread(void)
{
#ifdef HAVE_OPENMP
  return omp_get_thread_num();
#else
  return 0;
#endif
}

static inline int karst_team(void)
{
#ifdef HAVE_OPENMP
  return omp_get_num_threads();
#else
  return 1;
#endif
}

/* Returns how many threads a loop without time measurements gets for this many scalars. */
static inline int karst_threads_for(const karst_context *context, int64_t work)
{
  return karst_crew_worth(karst_crew_present(&context->crew, context->threads), work);
}

/* Returns the first item of share number part, when count items are divided into parts shares that differ by at most
 * one. */
static inline int64_t karst_share(int64_t count, int part, int parts)
{
  return count / parts * part + (count % parts) * part / parts;
}

/* Returns the first row of share number part of parts, for shares of about equal work. running[i] entries precede row
 * i. */
static inline karst_index karst_share_rows(karst_index rows, const karst_index *running, int part, int parts)
{
  if (part == parts) return rows;
  return karst_lower_bound(running, 0, rows, (karst_index)karst_share(running[rows], part, parts));
}

#endif
