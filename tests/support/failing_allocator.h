/* failing_allocator.h - an allocator that fails on demand and counts blocks that were not released, for tests.
 *
 *     struct failing_allocator memory = {.fail_at = n};          the n-th allocation fails, from 1; 0: none
 *     struct failing_allocator memory = {.limit = bytes};        at most so many bytes are held at once; 0: any number
 *     karst_context *context = failing_context(&memory);
 *     ... use and destroy it ...
 *     memory.outstanding == 0, memory.calls allocations were requested, memory.peak bytes were held at once
 *
 * After Davis, CHOLMOD's Tcov/t_memory.c: each allocation fails once. */
#ifndef KARST_TESTS_SUPPORT_FAILING_ALLOCATOR_H
#define KARST_TESTS_SUPPORT_FAILING_ALLOCATOR_H

#include "tests/support/tap.h"

#include <stdlib.h>

struct failing_allocator {
  long fail_at;
  size_t limit;
  long calls;
  long outstanding;
  size_t bytes, peak; /* bytes held now, and the most held at once */
};

/* A header precedes each block, and is aligned for any type. */
union failing_allocator_header {
  size_t bytes;
  max_align_t aligned;
};

static inline void *failing_allocator_allocate(void *user, size_t bytes)
{
  struct failing_allocator *memory = user;
  if (++memory->calls == memory->fail_at) return NULL;
  if (memory->limit && bytes > memory->limit - memory->bytes) return NULL;
  union failing_allocator_header *block = malloc(sizeof *block + bytes);
  if (!block) return NULL;
  block->bytes = bytes;
  memory->outstanding++;
  memory->bytes += bytes;
  if (memory->bytes > memory->peak) memory->peak = memory->bytes;
  return block + 1;
}

static inline void failing_allocator_release(void *user, void *released)
{
  struct failing_allocator *memory = user;
  union failing_allocator_header *block = (union failing_allocator_header *)released - 1;
  memory->outstanding--;
  memory->bytes -= block->bytes;
  free(block);
}

static inline karst_allocator failing_allocator(struct failing_allocator *memory)
{
  return (karst_allocator){failing_allocator_allocate, failing_allocator_release, memory};
}

/* Returns a fresh context with this allocator, which the caller destroys. */
static inline karst_context *failing_context(struct failing_allocator *memory)
{
  const karst_allocator allocator = failing_allocator(memory);
  karst_context *context;
  tap_need(NULL, karst_context_create(&allocator, &context), "context");
  return context;
}

/* Calls run in fresh contexts. In call i allocation number 1 + i step fails, until a call makes fewer allocations. Each
 * call with the failure must end in the no-memory status, each must release everything, and the last must succeed. run
 * destroys what it makes, but not the context. Prints two test lines. */
static inline void fail_every_allocation(karst_status (*run)(karst_context *context, void *user), void *user, int step,
                                         const char *what)
{
  long wrong_status = 0, leaked = 0, tried = 0, n = 1;
  for (bool met = true; met; n += step) {
    struct failing_allocator memory = {.fail_at = n};
    karst_allocator allocator = failing_allocator(&memory);
    karst_context *context;
    karst_status status = karst_context_create(&allocator, &context);
    if (!status) status = run(context, user);
    karst_context_destroy(context);
    met = memory.calls >= n;
    tried += met;
    if (status != (met ? KARST_ERROR_NO_MEMORY : KARST_SUCCESS)) {
      tap_note("%s: with allocation %ld failing the status is %s", what, n, karst_status_text(status));
      wrong_status++;
    }
    if (memory.outstanding != 0) {
      tap_note("%s: with allocation %ld failing %ld blocks are not released", what, n, memory.outstanding);
      leaked++;
    }
  }
  tap_ok(wrong_status == 0, "%s: each of %ld allocations that fails gives the no-memory status", what, tried);
  tap_ok(leaked == 0, "%s: nothing leaks when an allocation fails", what);
}

static inline void fail_each_allocation(karst_status (*run)(karst_context *context, void *user), void *user,
                                        const char *what)
{
  fail_every_allocation(run, user, 1, what);
}

#endif
