/* profile.c - see profile.h: the rows of a profile, and the time between the beginning and the end of an operation.
 *
 * On a device with a queue the host does not wait for an operation. It sets a mark before and after it, and reads the
 * time between both marks later, when it runs out of marks or the caller asks for the profile. If an operation is
 * called within another, its time is deducted from the outer one's. */
#include "lib/profile/profile.h"

#include "lib/backend/backend.h"
#include "lib/base/clock.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum {
  ROWS = 128, /* the last one is for operations without a row */
  SPANS = 512 /* operations with unread marks: the host waits for the device once in so many */
};

/* The two marks of an operation, in one of two lists. */
struct karst_span {
  void *from, *to;
  int row, outer; /* rows of the operation and of the one that has called it, or -1 */
  struct karst_span *next;
};

struct row {
  char name[72];
  const char *what, *method; /* method may be NULL */
  int64_t calls;
  double seconds, bytes;
};

struct karst_profiler {
  karst_context *context;
  const struct karst_backend *backend;
  struct karst_backend timed;
  pthread_mutex_t lock; /* of all below: threads of the CPU may use them at once */
  int rows;
  struct row row[ROWS];
  struct karst_span *unused, *ended;
  struct karst_span span[SPANS];
};

/* The innermost operation that this thread is in. */
static _Thread_local karst_timing *innermost;

static karst_timing *find_under_way(const karst_profiler *profiler)
{
  karst_timing *timing = innermost;
  while (timing && timing->profiler != profiler) timing = timing->outer;
  return timing;
}

/* The row of that name, made if it is missing. The caller has the lock. */
static int find_row(karst_profiler *profiler, const char *what, const char *method)
{
  int i = 0;
  for (; i < profiler->rows; i++) {
    const struct row *row = &profiler->row[i];
    const bool same = row->method && method ? strcmp(row->method, method) == 0 : row->method == method;
    if (same && strcmp(row->what, what) == 0) return i;
  }
  if (i == ROWS) return ROWS - 1;
  struct row *row = &profiler->row[i];
  *row = (struct row){.what = what, .method = method};
  profiler->rows++;
  if (i == ROWS - 1)
    snprintf(row->name, sizeof row->name, "other operations");
  else if (method)
    snprintf(row->name, sizeof row->name, "%s (%s)", what, method);
  else
    snprintf(row->name, sizeof row->name, "%s", what);
  return i;
}

static void add(karst_profiler *profiler, int row, int outer, double seconds)
{
  profiler->row[row].seconds += seconds;
  if (outer >= 0) profiler->row[outer].seconds -= seconds;
}

/* Waits for the operations that have ended, and adds up their times. The caller has the lock. */
static void read_marks(karst_profiler *profiler)
{
  for (struct karst_span *span = profiler->ended, *next; span; span = next) {
    next = span->next;
    add(profiler, span->row, span->outer, profiler->backend->mark_seconds(profiler->context, span->from, span->to));
    span->next = profiler->unused;
    profiler->unused = span;
  }
  profiler->ended = NULL;
}

static struct karst_span *take_span(karst_profiler *profiler)
{
  if (!profiler->unused) read_marks(profiler);
  struct karst_span *span = profiler->unused;
  if (span) profiler->unused = span->next;
  return span;
}

void karst_profile_begin(karst_context *context, const char *what, const char *method, double bytes,
                         karst_timing *timing)
{
  karst_profiler *profiler = context->profiler;
  *timing = (karst_timing){.profiler = context->profiling ? profiler : NULL, .bytes = bytes};
  if (!timing->profiler) return; /* a function that was called within a solve has stopped the profile */
  timing->outer = innermost;
  innermost = timing;
  const bool marks = profiler->backend->mark_set != NULL;
  pthread_mutex_lock(&profiler->lock);
  timing->row = find_row(profiler, what, method);
  timing->span = marks ? take_span(profiler) : NULL;
  pthread_mutex_unlock(&profiler->lock);
  if (timing->span) profiler->backend->mark_set(context, timing->span->from);
  timing->start = karst_clock();
}

void karst_profile_end(karst_timing *timing)
{
  karst_profiler *profiler = timing->profiler;
  if (!profiler) return;
  const double now = karst_clock();
  struct karst_span *span = timing->span;
  if (span) profiler->backend->mark_set(profiler->context, span->to);
  innermost = timing->outer;
  const karst_timing *outer = find_under_way(profiler);
  pthread_mutex_lock(&profiler->lock);
  profiler->row[timing->row].calls++;
  profiler->row[timing->row].bytes += timing->bytes;
  if (span) {
    span->row = timing->row;
    span->outer = outer ? outer->row : -1;
    span->next = profiler->ended;
    profiler->ended = span;
  } else if (!profiler->backend->mark_set) {
    add(profiler, timing->row, outer ? outer->row : -1, now - timing->start);
  }
  pthread_mutex_unlock(&profiler->lock);
}

static void destroy_marks(karst_profiler *profiler)
{
  for (int i = 0; i < SPANS; i++) {
    struct karst_span *span = &profiler->span[i];
    if (span->from) profiler->backend->mark_destroy(profiler->context, span->from);
    if (span->to) profiler->backend->mark_destroy(profiler->context, span->to);
    *span = (struct karst_span){0};
  }
  profiler->unused = profiler->ended = NULL;
}

static karst_status make_marks(karst_profiler *profiler)
{
  const struct karst_backend *backend = profiler->backend;
  karst_status status = KARST_SUCCESS;
  if (!backend->mark_create) return KARST_SUCCESS;
  for (int i = 0; i < SPANS && !status; i++) {
    struct karst_span *span = &profiler->span[i];
    status = backend->mark_create(profiler->context, &span->from);
    if (!status) status = backend->mark_create(profiler->context, &span->to);
    span->next = profiler->unused;
    profiler->unused = span;
  }
  if (status) destroy_marks(profiler);
  return status;
}

static karst_status create(karst_context *context)
{
  karst_profiler *profiler;
  karst_status status = karst_allocate_zero(context, &profiler, 1, sizeof *profiler, "the profile");
  if (status) return status;
  if (pthread_mutex_init(&profiler->lock, NULL) != 0) {
    karst_release(context, profiler);
    return karst_fail(context, KARST_ERROR_NO_MEMORY, "out of memory: the lock of the profile");
  }
  profiler->context = context;
  context->profiler = profiler;
  return KARST_SUCCESS;
}

void karst_profile_stop(karst_context *context)
{
  karst_profiler *profiler = context->profiler;
  if (!context->profiling) return;
  read_marks(profiler);
  destroy_marks(profiler);
  context->backend = profiler->backend;
  context->profiling = false;
}

void karst_profile_destroy(karst_context *context)
{
  if (!context->profiler) return;
  karst_profile_stop(context);
  pthread_mutex_destroy(&context->profiler->lock);
  karst_release(context, context->profiler);
  context->profiler = NULL;
}

const struct karst_backend *karst_profile_backend(const karst_context *context) { return context->profiler->backend; }

bool karst_profile_is_under_way(const karst_context *context)
{
  return context->profiling && find_under_way(context->profiler);
}

karst_status karst_profile_start(karst_context *context, const struct karst_backend *timed)
{
  karst_status status = context->profiler ? KARST_SUCCESS : create(context);
  if (status) return status;
  karst_profiler *profiler = context->profiler;
  profiler->rows = 0;
  profiler->backend = context->backend;
  profiler->timed = *timed;
  status = make_marks(profiler);
  if (status) return status;
  context->backend = &profiler->timed;
  context->profiling = true;
  return KARST_SUCCESS;
}

int karst_context_profile_row(const karst_context *context, size_t i, karst_profile *row)
{
  karst_profiler *profiler = context ? context->profiler : NULL;
  if (!profiler || !row) return 0;
  pthread_mutex_lock(&profiler->lock);
  read_marks(profiler);
  const bool found = i < (size_t)profiler->rows;
  if (found) {
    const struct row *from = &profiler->row[i];
    *row = (karst_profile){from->name, from->calls, fmax(from->seconds, 0), from->bytes};
  }
  pthread_mutex_unlock(&profiler->lock);
  return found;
}
