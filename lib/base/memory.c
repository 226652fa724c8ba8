/* memory.c - allocates host memory through a context's allocator, and arrays in device memory; has the default
 * allocator. */
#include "config.h"

#include "lib/backend/backend.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Large arrays ask for huge pages: touching 4 KiB pages for the first time costs more than filling them. */
enum { HUGE_PAGE = 2 << 20 };

static void *allocate_malloc(void *user, size_t bytes)
{
  (void)user;
#ifdef MADV_HUGEPAGE
  if (bytes >= 4 * (size_t)HUGE_PAGE) {
    void *memory;
    if (posix_memalign(&memory, HUGE_PAGE, bytes) != 0) return NULL;
    madvise(memory, bytes / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE); /* this is advice, and a refusal changes nothing */
    return memory;
  }
#endif
  return malloc(bytes);
}

static void release_free(void *user, void *memory)
{
  (void)user;
  free(memory);
}

karst_allocator karst_allocator_standard(void) { return (karst_allocator){allocate_malloc, release_free, NULL}; }

karst_status karst_short_of_memory(karst_context *context, size_t bytes, const char *what)
{
  if (bytes > PTRDIFF_MAX)
    return karst_fail(context, KARST_ERROR_NO_MEMORY, "out of memory: %s needs more bytes than can be counted", what);
  return karst_fail(context, KARST_ERROR_NO_MEMORY, "out of memory: %s needs %zu bytes", what, bytes);
}

/* The bytes of an array, or SIZE_MAX if they cannot be counted. */
static size_t bytes_of(int64_t count, size_t size)
{
  size_t bytes;
  return count < 0 || __builtin_mul_overflow((size_t)count, size, &bytes) ? SIZE_MAX : bytes;
}

karst_status karst_allocate(karst_context *context, void *memory, int64_t count, size_t size, const char *what)
{
  void *block = NULL;
  const size_t bytes = bytes_of(count, size);
  if (bytes <= PTRDIFF_MAX) block = context->allocator.allocate(context->allocator.user, bytes ? bytes : 1);
  memcpy(memory, &block, sizeof block);
  return block ? KARST_SUCCESS : karst_short_of_memory(context, bytes, what);
}

karst_status karst_allocate_zero(karst_context *context, void *memory, int64_t count, size_t size, const char *what)
{
  void *block;
  karst_status status = karst_allocate(context, memory, count, size, what);
  if (status) return status;
  memcpy(&block, memory, sizeof block);
  memset(block, 0, (size_t)count * size);
  return KARST_SUCCESS;
}

void karst_release(karst_context *context, void *memory)
{
  if (memory) context->allocator.release(context->allocator.user, memory);
}

/* Takes count scalars of size bytes each. */
static karst_status take_scalars(karst_context *context, int64_t count, size_t size, const char *what, void **memory)
{
  const size_t bytes = bytes_of(count ? count : 1, size);
  *memory = NULL;
  if (bytes > PTRDIFF_MAX) return karst_short_of_memory(context, bytes, what);
  return context->backend->allocate(context, bytes, what, memory);
}

karst_status karst_device_doubles(karst_context *context, int64_t count, const char *what, double **memory)
{
  void *block = NULL;
  const karst_status status = take_scalars(context, count, sizeof **memory, what, &block);
  *memory = block;
  return status;
}

karst_status karst_device_floats(karst_context *context, int64_t count, const char *what, float **memory)
{
  void *block = NULL;
  const karst_status status = take_scalars(context, count, sizeof **memory, what, &block);
  *memory = block;
  return status;
}

karst_status karst_device_indices(karst_context *context, int64_t count, const karst_index *host, const char *what,
                                  karst_index **memory)
{
  void *block = NULL;
  size_t bytes = (size_t)count * sizeof *host;
  karst_status status = context->backend->allocate(context, bytes ? bytes : 1, what, &block);
  *memory = block;
  return status ? status : context->backend->upload(context, block, host, bytes);
}

void karst_release_placed(karst_context *context, void *host, void *placed)
{
  if (placed != host) context->backend->release(context, placed);
  karst_release(context, host);
}

void karst_count_object(karst_context *context, int change)
{
  __atomic_fetch_add(&context->objects, change, __ATOMIC_RELAXED);
}
