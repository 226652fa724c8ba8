/* fuzz.c - helps the harnesses; see fuzz.h. */
#define _GNU_SOURCE /* memfd_create. NOLINT(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */
#include "tests/fuzz/fuzz.h"

#include <float.h>
#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

double fuzz_value(fuzz_input *input, bool wild)
{
  static const double extreme[] = {0,        -0.0,    DBL_MAX, -DBL_MAX, 1e300,  -1e300,      1e160,     1e-160,
                                   -1e-165,  DBL_MIN, 5e-324,  -5e-324,  1e-300, DBL_EPSILON, 1e16,      -1e16,
                                   INFINITY, NAN,     1e100,   1e-100,   1e8,    -1e-8,       -INFINITY, 1e154};
  enum { EXTREMES = sizeof extreme / sizeof extreme[0] };
  unsigned byte = fuzz_byte(input);
  if (wild && byte >= 256 - EXTREMES) return extreme[byte - (256 - EXTREMES)];
  return ((double)byte - 112) / 16 + (double)fuzz_byte(input) / 4096;
}

void fuzz_text(fuzz_input *input, char *text, size_t size)
{
  size_t length = 0;
  while (input->size && length + 1 < size) {
    char next = (char)fuzz_byte(input);
    if (next == '\n') break;
    if (next) text[length++] = next;
  }
  text[length] = 0;
}

karst_context *fuzz_open(struct failing_allocator *memory, size_t limit)
{
  karst_context *context = NULL;
  *memory = (struct failing_allocator){.limit = limit};
  karst_allocator allocator = failing_allocator(memory);
  karst_status status = karst_context_create(&allocator, &context);
  fuzz_must(!status && context, "no context: %s", karst_status_text(status));
  return context;
}

void fuzz_close(struct failing_allocator *memory, karst_context *context)
{
  karst_context_destroy(context);
  fuzz_must(memory->outstanding == 0, "%ld allocations were not given back", memory->outstanding);
}

const char *fuzz_file(const void *data, size_t size)
{
  static char path[64];
  static int file = -1;
  if (file < 0) {
    file = memfd_create("input", 0);
    fuzz_must(file >= 0, "no file in memory");
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  }
  fuzz_must(ftruncate(file, 0) == 0 && pwrite(file, data, size, 0) == (ssize_t)size, "the file was not written");
  return path;
}

void fuzz_made(const karst_context *context, karst_status status, const void *handle)
{
  if (status)
    fuzz_must(status < 0 && !handle && *karst_context_error(context), "status %d without a sentence, or with a handle",
              (int)status);
  else
    fuzz_must(handle, "success, and no handle");
}
