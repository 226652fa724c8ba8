/* threads.h - the division of work among threads, for loops that are not measured and for the CPU's kernels. Work is
 * divided so that results do not depend on the number of threads. */
#ifndef KARST_LIB_THREADS_H
#define KARST_LIB_THREADS_H

#include "config.h"

#include "context.h"
#include "search.h"

#ifdef HAVE_OPENMP
#include <omp.h>
#endif

/* The number of this thread in a parallel region, and how many there are (fewer than asked for where the system
 * refuses). */
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

/* How many threads a loop over this many scalars gets that is not measured. */
static inline int karst_threads_for(const karst_context *context, int64_t work)
{
  return karst_crew_worth(karst_crew_present(&context->crew, context->threads), work);
}

/* The first of count items that share number part of parts begins with; parts differ by one item at most. */
static inline int64_t karst_share(int64_t count, int part, int parts)
{
  return count / parts * part + (count % parts) * part / parts;
}

/* The first row of share number part of parts, where running[i] entries come before row i: shares of like work. */
static inline karst_index karst_share_rows(karst_index rows, const karst_index *running, int part, int parts)
{
  if (part == parts) return rows;
  return karst_lower_bound(running, 0, rows, (karst_index)karst_share(running[rows], part, parts));
}

#endif
