/* crew.h - how many threads a piece of work gets, from what such pieces have cost.
 *
 * Where another program has taken a processor, threads that need each other at every step wait a time slice, some
 * milliseconds, again and again, and one thread alone is faster. Results do not depend on the number of threads, so it
 * may change from one piece to the next. The crew knows what each kind of work costs one thread, since it leaves a
 * piece now and then, ever more rarely, to one thread. What several threads need beyond that adds up, what they save is
 * deducted, but no more than makes up for one loss (the cumulative sum test: Page, Biometrika 41 (1954)). When it
 * reaches a limit, the number of threads is halved; after a pause, which grows as long as that does not go well, it is
 * doubled again, a moment later also for work whose threads wait for each other many times. So several threads lose the
 * limit at most, and what the last piece took, against one thread in each pause.
 *
 * Objects of one context may be at work in several threads, so fields are loaded and stored atomically, in relaxed
 * order: nothing else is read on the strength of them, and an update that is lost changes the time that work takes and
 * no result. */
#ifndef KARST_LIB_CREW_H
#define KARST_LIB_CREW_H

#include <stdbool.h>
#include <stdint.h>

/* Work that costs about as much per unit, for like amounts. */
typedef enum karst_kind {
  KARST_KIND_FILL,
  KARST_KIND_COPY,
  KARST_KIND_DOTS,
  KARST_KIND_COMBINE,
  KARST_KIND_NORMALISE,
  KARST_KIND_GATHER,
  KARST_KIND_SCATTER,
  KARST_KIND_ELEMENTS,
  KARST_KIND_DIAGONAL,
  KARST_KIND_PRODUCT,
  KARST_KIND_PRECISE,
  KARST_KIND_FORWARD, /* from here on threads wait for each other many times in a piece */
  KARST_KIND_BACKWARD,
  KARST_KIND_FACTOR, /* too long and too rare to be left to one thread in order to learn */
  KARST_KINDS
} karst_kind;

enum {
  KARST_CREW_LEAST = 8192, /* scalars: starting threads takes as long as some thousand additions */
  KARST_CREW_SIZES = 12    /* pieces of like amounts: each up to four times the one before */
};

/* What is known of the pieces of one kind and like amounts. */
typedef struct karst_crew_record {
  float alone;     /* seconds of one thread for a unit of work, smoothed; 0: unknown */
  uint32_t pieces; /* begun while there were several threads to do them */
} karst_crew_record;

/* Zero at the start. */
typedef struct karst_crew {
  bool steady;          /* all threads whatever they cost, for tests of what threads compute */
  int halvings;         /* of the number of threads, at present */
  double lost;          /* seconds against one thread */
  double pause, resume; /* seconds: how long the last pause is, and when it ends */
  double raised;        /* when the number of threads rose last */
  karst_crew_record record[KARST_KINDS][KARST_CREW_SIZES];
} karst_crew;

/* All of these threads where the work, in scalars, is worth them, else 1. Nothing between, for OpenMP ends threads
 * that a team has no use for, and starts them anew for the next one. */
static inline int karst_crew_worth(int threads, int64_t work)
{
  return work / KARST_CREW_LEAST + 1 >= (threads + 1) / 2 && work >= KARST_CREW_LEAST ? threads : 1;
}

/* How many of these threads are to be used at present. */
int karst_crew_present(const karst_crew *crew, int threads);

/* How many of these threads a piece of work gets that begins now, in seconds on some clock. */
int karst_crew_choose(karst_crew *crew, int threads, karst_kind kind, int64_t work, double now);

/* Takes note of what a piece of work cost that began at start and had this many of these threads. */
void karst_crew_note(karst_crew *crew, int threads, karst_kind kind, int64_t work, int used, double start, double now);

#endif
