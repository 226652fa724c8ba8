/* Reads any bytes as a vector file: a Matrix Market array, also gzipped, or plain numbers. All numbers that are read
 * are finite. */
#include "tests/fuzz/fuzz.h"

#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct failing_allocator memory;
  karst_context *context = fuzz_open(&memory, 16 << 20);
  karst_vector *vector = NULL;
  karst_status status = karst_vector_read(context, fuzz_file(data, size), &vector);
  fuzz_made(context, status, vector);
  for (int64_t i = 0; vector && i < karst_vector_length(vector); i++)
    fuzz_must(isfinite(karst_vector_values(vector)[i]), "number %lld is not finite", (long long)i);
  karst_vector_destroy(vector);
  fuzz_close(&memory, context);
  return 0;
}
