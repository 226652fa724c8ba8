/* crew.h - chooses how many threads a piece of work gets, from the measured cost of such pieces.
 *
 * If another program occupies a processor, threads that depend on each other in every step wait for time slices of some
 * milliseconds, and one thread alone is faster. Results do not depend on the number of threads, so that it may change
 * from one piece to the next. To know the cost on one thread, the crew gives a piece of each kind of work to one thread
 * now and then, ever more rarely. It adds up the time that several threads take beyond this cost and deducts time
 * saved, down to a limit (the cumulative sum test: Page, Biometrika 41 (1954)). When the sum reaches another limit, the
 * number of threads is halved. After a pause it is doubled, a moment later also for work whose threads wait for each
 * other many times. Pauses grow as long as this fails. So in each pause, several threads lose at most the limit and the
 * time of the last piece against one thread.
 *
 * Two kinds of work have no trial on one thread: pieces of the analysis, which are made once and differ in cost, and
 * factorizations, which are too long and too rare. For them the time of one thread is taken to be the processor time of
 * all threads together. It is less than the elapsed time if the threads have waited for other programs.
 *
 * Several threads may use objects of one context at a time, so that the fields are loaded and stored atomically. The
 * order is relaxed: no other data depend on them, and a lost update changes times but no results. */
#ifndef KARST_LIB_BASE_CREW_H
#define KARST_LIB_BASE_CREW_H

#include <stdbool.h>
#include <stdint.h>

/* The kinds of work. Pieces of one kind and of about equal amounts cost about as much per unit. */
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
  KARST_KIND_FORWARD, /* in this kind and the next, threads wait for each other many times in a piece */
  KARST_KIND_BACKWARD,
  KARST_KIND_FACTOR, /* in this kind and the next, no piece is spent on one thread as a trial */
  KARST_KIND_ONCE,   /* the analysis and whatever else is done once, of unlike cost */
  KARST_KINDS
} karst_kind;

enum {
  KARST_CREW_LEAST = 8192, /* scalars: starting threads takes as long as some thousand additions */
  KARST_CREW_ONCE = 16,    /* times as much in the kind of that name, whose threads sleep before each piece */
  KARST_CREW_SIZES = 12    /* classes of amounts, each up to four times the one before */
};

/* What is known about the pieces of one kind and class of amounts. */
typedef struct karst_crew_record {
  float alone;     /* smoothed seconds of one thread for a unit of work; 0: unknown */
  uint32_t pieces; /* number of pieces begun while several threads were available */
} karst_crew_record;

/* The state of a crew, which is zero at the start. */
typedef struct karst_crew {
  bool steady;          /* uses all threads whatever they cost, for tests of threaded code */
  int halvings;         /* how often the number of threads is halved at present */
  double lost;          /* sum of seconds lost against one thread */
  double pause, resume; /* seconds: length of the last pause, and the time it ends */
  double raised;        /* time of the last rise of the number of threads */
  karst_crew_record record[KARST_KINDS][KARST_CREW_SIZES];
} karst_crew;

/* Returns threads if the work, in scalars, is worth them, else 1. Numbers between are not used, because OpenMP ends the
 * threads that a team leaves out and starts them again for the next team. */
static inline int karst_crew_worth(const karst_crew *crew, int threads, karst_kind kind, int64_t work)
{
  if (kind == KARST_KIND_ONCE && !crew->steady) work /= KARST_CREW_ONCE;
  return work / KARST_CREW_LEAST + 1 >= (threads + 1) / 2 && work >= KARST_CREW_LEAST ? threads : 1;
}

/* Returns how many of these threads are to be used at present. */
int karst_crew_present(const karst_crew *crew, int threads);

/* Returns how many of these threads a piece of work gets that begins at time now, in seconds on some clock. */
int karst_crew_choose(karst_crew *crew, int threads, karst_kind kind, int64_t work, double now);

/* The cost of a piece. */
typedef struct karst_crew_cost {
  int used;          /* threads */
  double start, now; /* seconds on the clock of karst_crew_choose */
  double own;        /* seconds that the processors have worked for it in all, 0: not known */
} karst_crew_cost;

void karst_crew_note(karst_crew *crew, int threads, karst_kind kind, int64_t work, const karst_crew_cost *cost);

#endif
