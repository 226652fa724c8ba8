/* context.c - the context as an object: made and destroyed, its device, stream and threads. */
#include "config.h"

#include "lib/backend/backend.h"
#include "lib/method/precond.h"
#include "lib/profile/profile.h"
#include "lib/ranks/ranks.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

karst_status karst_context_create(const karst_allocator *allocator, karst_context **context)
{
  const karst_allocator standard = karst_allocator_standard();
  if (!context) return KARST_ERROR_ARGUMENT;
  *context = NULL;
  if (!allocator) allocator = &standard;
  if (!allocator->allocate || !allocator->release) return KARST_ERROR_ARGUMENT;
  karst_context *created = allocator->allocate(allocator->user, sizeof *created);
  if (!created) return KARST_ERROR_NO_MEMORY;
  *created =
      (karst_context){.allocator = *allocator, .backend = karst_backends[0], .threads = 1, .process = (int)getpid()};
  if (pthread_mutex_init(&created->failing, NULL) != 0) {
    allocator->release(allocator->user, created);
    return KARST_ERROR_NO_MEMORY;
  }
  created->backend->describe(created);
  *context = created;
  return KARST_SUCCESS;
}

void karst_context_destroy(karst_context *context)
{
  if (!context) return;
  karst_profile_destroy(context);
  karst_ranks_destroy(context);
  if (context->backend->close) context->backend->close(context);
  karst_precond_forget(context);
  pthread_mutex_destroy(&context->failing);
  context->allocator.release(context->allocator.user, context);
}

static int64_t count_objects(const karst_context *context)
{
  return __atomic_load_n(&context->objects, __ATOMIC_RELAXED);
}

karst_status karst_context_set_device(karst_context *context, const char *device)
{
  char known[128];
  int number;
  if (!context || !device) return karst_missing(context, "the device's name");
  int64_t objects = count_objects(context);
  if (objects > 0)
    return karst_fail(context, KARST_ERROR_ARGUMENT, "the device cannot change while %lld objects use it",
                      (long long)objects);
  if (context->ranks)
    return karst_fail(context, KARST_ERROR_ARGUMENT, "the device cannot change after the transport was set");
  const struct karst_backend *backend = karst_backend_find(device, &number);
  if (!backend) {
    karst_backend_list(known, sizeof known);
    return karst_fail(context, KARST_ERROR_OPTION, "device \"%s\" is unknown: %s", device, known);
  }
  karst_profile_stop(context);
  if (context->backend->close) context->backend->close(context);
  context->backend = karst_backends[0];
  karst_status status = backend->open ? backend->open(context, number) : KARST_SUCCESS;
  if (!status) context->backend = backend;
  context->backend->describe(context);
  return status;
}

int karst_device_count(const char *device)
{
  int number;
  const struct karst_backend *backend = device ? karst_backend_find(device, &number) : NULL;
  if (!backend || strcmp(device, backend->name) != 0) return 0;
  return backend->count ? backend->count() : 1;
}

const char *karst_context_device(karst_context *context) { return context ? context->device_text : ""; }

int karst_context_is_host(const karst_context *context) { return context && context->backend->host_memory; }

void *karst_context_stream(const karst_context *context)
{
  return context && context->backend->stream ? context->backend->stream(context) : NULL;
}

karst_status karst_context_set_stream(karst_context *context, void *stream)
{
  if (!context) return KARST_ERROR_ARGUMENT;
  int64_t objects = count_objects(context);
  if (!context->backend->set_stream)
    return stream ? karst_fail(context, KARST_ERROR_ARGUMENT, "a stream was given, but the context is on the CPU")
                  : KARST_SUCCESS;
  if (objects > 0)
    return karst_fail(context, KARST_ERROR_ARGUMENT, "the stream cannot change while %lld objects use it",
                      (long long)objects);
  return context->backend->set_stream(context, stream);
}

karst_status karst_context_synchronize(karst_context *context)
{
  if (!context) return KARST_ERROR_ARGUMENT;
  return context->backend->synchronize ? context->backend->synchronize(context) : KARST_SUCCESS;
}

#ifdef HAVE_OPENMP
static void *wait_for_all(void *started)
{
  pthread_mutex_lock(started); /* held until all have been started */
  pthread_mutex_unlock(started);
  return NULL;
}

/* Whether the system can start this many threads at once. If it cannot, OpenMP ends the program. */
static bool can_start(karst_context *context, int threads)
{
  pthread_mutex_t started = PTHREAD_MUTEX_INITIALIZER;
  pthread_t *thread;
  int running = 0;
  if (karst_allocate(context, &thread, threads, sizeof *thread, "the threads")) return false;
  pthread_mutex_lock(&started);
  while (running < threads && pthread_create(&thread[running], NULL, wait_for_all, &started) == 0) running++;
  pthread_mutex_unlock(&started);
  for (int t = 0; t < running; t++) pthread_join(thread[t], NULL);
  karst_release(context, thread);
  return running == threads;
}
#endif

karst_status karst_context_set_threads(karst_context *context, int threads)
{
  if (!context) return KARST_ERROR_ARGUMENT;
  if (threads < 1 || threads > 1024)
    return karst_fail(context, KARST_ERROR_OPTION, "%d threads were asked for: 1 to 1024 are possible", threads);
#ifndef HAVE_OPENMP
  if (threads > 1)
    return karst_fail(context, KARST_ERROR_NOT_BUILT, "%d threads were asked for, but Karst was built without OpenMP",
                      threads);
#else
  if (threads > 1 && !can_start(context, threads))
    return karst_fail(context, KARST_ERROR_NO_MEMORY, "the system does not start %d threads", threads);
#endif
  context->threads = threads;
  context->backend->describe(context);
  context->crew = (karst_crew){0};
  return KARST_SUCCESS;
}

int karst_context_threads(const karst_context *context) { return context ? context->threads : 0; }

karst_status karst_context_set_duplicates(karst_context *context, karst_duplicates duplicates)
{
  if (!context) return KARST_ERROR_ARGUMENT;
  if (duplicates != KARST_DUPLICATES_SUM && duplicates != KARST_DUPLICATES_REFUSE)
    return karst_fail(context, KARST_ERROR_ARGUMENT, "duplicates %d is unknown: %d sums them, %d refuses them",
                      (int)duplicates, KARST_DUPLICATES_SUM, KARST_DUPLICATES_REFUSE);
  context->duplicates = duplicates;
  return KARST_SUCCESS;
}
