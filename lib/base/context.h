/* context.h - the context: device, threads, host memory, messages and the last error. */
#ifndef KARST_LIB_BASE_CONTEXT_H
#define KARST_LIB_BASE_CONTEXT_H

#include "lib/base/crew.h"
#include "karst.h"

#include <pthread.h>
#include <stdbool.h>

struct karst_backend;
typedef struct karst_profiler karst_profiler; /* profile.c */
struct karst_ranks;
struct karst_registered;

/* How many error sentences a context keeps. A failing call may leave two. */
enum { KARST_SENTENCES = 8 };

struct karst_context {
  karst_allocator allocator;
  const struct karst_backend *backend;
  void *device; /* the backend's own state, or NULL */
  int threads;
  int process;                      /* that made the context, by its number; threads.h */
  bool reported_fork;               /* whether the use of this context in a forked process was reported */
  karst_crew crew;                  /* how many of the threads work at present */
  int64_t objects;                  /* made with this context and not yet destroyed; karst_count_object changes it */
  struct karst_registered *methods; /* registered by the caller, the first of a list; precond.h */
  karst_profiler *profiler;         /* the rows of the last profile, or NULL; profile.h */
  bool profiling;                   /* whether backend is the profiler's table, which times the device's operations */
  struct karst_ranks *ranks;        /* of which this context is one; NULL: there is no transport; ranks.h */
  karst_duplicates duplicates;      /* of the files that are read */
  karst_message_function message;
  void *message_user;
  char device_text[128];
  pthread_mutex_t failing; /* held while a sentence is written: calls in several threads may fail at once */
  unsigned last_failure;   /* how many sentences were written; the last one's place is that modulo KARST_SENTENCES */
  char sentence[KARST_SENTENCES][1024];
};

/* Counts an object that was made (1) or destroyed (-1). Several threads may call it at once. */
void karst_count_object(karst_context *context, int change);

/* Records the sentence of an error and returns status, so that a function can end with "return karst_fail(...)". */
karst_status karst_fail(karst_context *context, karst_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The number of sentences so far; it shows whether a call has left one. */
unsigned karst_failures(const karst_context *context);
/* Turns the return value of a caller's function into a status with a sentence: the function's own if karst_failures
 * exceeds failures, the number before the call; else one that names it as function followed by owner. A value that is
 * not a status becomes KARST_ERROR_ARGUMENT. */
karst_status karst_check_returned(karst_context *context, int returned, unsigned failures, const char *function,
                                  const char *owner);

/* Returns KARST_ERROR_ARGUMENT for a NULL argument, with a sentence if there is a context to keep it. */
karst_status karst_missing(karst_context *context, const char *what);

/* Calls the caller's message function, if there is one. */
void karst_notify(karst_context *context, karst_message_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The default allocator of a context. */
karst_allocator karst_allocator_standard(void);

/* KARST_ERROR_NO_MEMORY with the sentence that what needs so many bytes; more than PTRDIFF_MAX: too many to be counted. */
karst_status karst_short_of_memory(karst_context *context, size_t bytes, const char *what);

/* Host memory through the context's allocator. count * size is checked for overflow; a count of 0 gives a pointer
 * that may be released. On failure *memory is NULL and the error names the size. what: "the factors", for the error. */
karst_status karst_allocate(karst_context *context, void *memory /* T ** */, int64_t count, size_t size,
                            const char *what);
karst_status karst_allocate_zero(karst_context *context, void *memory, int64_t count, size_t size, const char *what);
void karst_release(karst_context *context, void *memory);

#endif
