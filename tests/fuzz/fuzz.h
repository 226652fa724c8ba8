/* fuzz.h - what the harnesses share. Each is a file with one function, LLVMFuzzerTestOneInput, which feeds the bytes of
 * an input to a part of the library and aborts where something does not hold. "make fuzz" runs them under libFuzzer,
 * which invents inputs; "make check" replays the inputs of corpus/ with any compiler (replay.c). */
#ifndef KARST_TESTS_FUZZ_FUZZ_H
#define KARST_TESTS_FUZZ_FUZZ_H

#include "../failing_allocator.h"

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

/* The bytes that are left. */
typedef struct fuzz_input {
  const uint8_t *data;
  size_t size;
} fuzz_input;

/* The next byte; 0 past the last. */
static inline unsigned fuzz_byte(fuzz_input *input)
{
  if (!input->size) return 0;
  input->size--;
  return *input->data++;
}

/* 0 .. count - 1 */
static inline int fuzz_choice(fuzz_input *input, int count) { return (int)fuzz_byte(input) % count; }

/* A small number mostly; where it is wild, now and then one at an end of the range of doubles, or beyond. */
double fuzz_value(fuzz_input *input, bool wild);

/* Text up to the next newline or the end, without zeros; newline and zeros are taken from the input. */
void fuzz_text(fuzz_input *input, char *text, size_t size);

/* A context that may hold at most limit bytes, so that a hostile size is refused and not tried. */
karst_context *fuzz_open(struct failing_allocator *memory, size_t limit);
/* Destroys it and looks for memory that was not given back. */
void fuzz_close(struct failing_allocator *memory, karst_context *context);

/* The path of a file in memory with this content; valid until the next call. */
const char *fuzz_file(const void *data, size_t size);

/* A call that made a handle, or failed with a sentence and made none. */
void fuzz_made(const karst_context *context, karst_status status, const void *handle);

#endif
