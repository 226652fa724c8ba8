/* fuzz.h - what the harnesses share. Each is a file with one function, LLVMFuzzerTestOneInput, which feeds the bytes of
 * an input to a part of the library and aborts if a property does not hold. "make fuzz" runs them under libFuzzer,
 * which invents inputs; "make check" replays the inputs of corpus/ with any compiler (replay.c). */
#ifndef KARST_TESTS_FUZZ_FUZZ_H
#define KARST_TESTS_FUZZ_FUZZ_H

#include "tests/support/failing_allocator.h"

#include <stdio.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define fuzz_must(condition, ...)                                                                                      \
  do {                                                                                                                 \
    if (!(condition)) {                                                                                                \
      fprintf(stderr, __VA_ARGS__);                                                                                    \
      fprintf(stderr, "\n");                                                                                           \
      abort();                                                                                                         \
    }                                                                                                                  \
  } while (0)

/* The bytes of the input that are left. */
typedef struct fuzz_input {
  const uint8_t *data;
  size_t size;
} fuzz_input;

/* Returns the next byte, or 0 past the last. */
static inline unsigned fuzz_byte(fuzz_input *input)
{
  if (!input->size) return 0;
  input->size--;
  return *input->data++;
}

/* Returns a number in 0 .. count - 1. */
static inline int fuzz_choice(fuzz_input *input, int count) { return (int)fuzz_byte(input) % count; }

/* Returns a number that is usually small. If wild is set, it is sometimes at an end of the range of doubles, or
 * beyond. */
double fuzz_value(fuzz_input *input, bool wild);

/* Copies text up to the next newline or the end, without zeros, and removes it from the input with the newline. */
void fuzz_text(fuzz_input *input, char *text, size_t size);

/* Opens a context that may hold at most limit bytes, so that a hostile size is refused at once. */
karst_context *fuzz_open(struct failing_allocator *memory, size_t limit);
/* Destroys the context and checks that all memory was released. */
void fuzz_close(struct failing_allocator *memory, karst_context *context);

/* Returns the path of a file in memory with this content; it is valid until the next call. */
const char *fuzz_file(const void *data, size_t size);

/* Checks that a call made a handle, or failed with a sentence and made none. */
void fuzz_made(const karst_context *context, karst_status status, const void *handle);

#endif
