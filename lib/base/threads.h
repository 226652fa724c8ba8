/* threads.h - divides work among threads: every parallel region of the library is a piece of work that karst_begin
 * gives its number of threads and karst_end judges. Results do not depend on that number. */
#ifndef KARST_LIB_BASE_THREADS_H
#define KARST_LIB_BASE_THREADS_H

#include "config.h"

#include "lib/base/clock.h"
#include "lib/base/context.h"
#include "lib/base/search.h"

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

/* A piece of work, measured from karst_begin to karst_end around its parallel region. threads may be lowered before the
 * region. work counts scalars, or for the kind KARST_KIND_ONCE the entries that are read. */
typedef struct karst_piece {
  karst_kind kind;
  int threads;
  int64_t work;
  double start; /* seconds on some clock; 0: not measured */
  double own;   /* processor time of its threads, as far as they have reported it */
} karst_piece;

/* The two halves of the functions below, without the shortcut for small work. */
void karst_piece_start(karst_context *context, karst_piece *piece);
void karst_piece_finish(karst_context *context, const karst_piece *piece);

static inline karst_piece karst_begin(karst_context *context, karst_kind kind, int64_t work)
{
  karst_piece piece = {kind, 1, work, 0, 0};
  if (karst_crew_worth(&context->crew, context->threads, kind, work) > 1) karst_piece_start(context, &piece);
  return piece;
}

/* Returns the largest number of threads for repeated work on this many scalars, for plans and for memory of each
 * thread. */
static inline int karst_threads_worth(const karst_context *context, int64_t scalars)
{
  return karst_crew_worth(&context->crew, context->threads, KARST_KIND_FACTOR, scalars);
}

/* Begins a piece for which there is memory for most threads only. */
static inline karst_piece karst_begin_at_most(karst_context *context, karst_kind kind, int64_t work, int most)
{
  karst_piece piece = karst_begin(context, kind, work);
  if (piece.threads > most) piece.threads = most;
  return piece;
}

static inline void karst_end(karst_context *context, const karst_piece *piece)
{
  if (piece->start > 0) karst_piece_finish(context, piece);
}

/* A thread's part of a piece: the items first .. last - 1 of its share. All threads of the region call karst_part_begin
 * and karst_part_end. The time between them shows the cost of the piece on one thread. */
typedef struct karst_part {
  karst_index first, last;
  double start; /* seconds on the thread's clock */
} karst_part;

static inline karst_part karst_part_begin(const karst_piece *piece, karst_index count)
{
  return (karst_part){(karst_index)karst_share(count, karst_thread(), karst_team()),
                      (karst_index)karst_share(count, karst_thread() + 1, karst_team()),
                      piece->threads > 1 ? karst_thread_clock() : 0};
}

/* The same for rows, in shares of about as many entries. */
static inline karst_part karst_part_rows(const karst_piece *piece, karst_index rows, const karst_index *row_start)
{
  return (karst_part){karst_share_rows(rows, row_start, karst_thread(), karst_team()),
                      karst_share_rows(rows, row_start, karst_thread() + 1, karst_team()),
                      piece->threads > 1 ? karst_thread_clock() : 0};
}

static inline void karst_part_end(karst_piece *piece, const karst_part *part)
{
  if (piece->threads == 1) return;
  const double own = karst_thread_clock() - part->start;
#pragma omp atomic
  piece->own += own;
}

/* Returns the largest number of threads for a piece of the kind KARST_KIND_ONCE of this much work, for memory of each
 * thread. */
int karst_threads_for(karst_context *context, int64_t work);

#endif
