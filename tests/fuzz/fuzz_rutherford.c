/* Reads any bytes as a Rutherford-Boeing file, as the commands do with RBio. The result is a finite matrix, or a
 * sentence on standard error and no matrix. */
#include "config.h"

#include "tools/src/common/rutherford_boeing.h"
#include "tests/fuzz/fuzz.h"

#include <math.h>
#ifdef HAVE_SUITESPARSE
#include <SuiteSparse_config.h>

enum { LIMIT = 16 << 20 };

/* Allocates memory for RBio; a hostile size is refused at once. */
static void *allocate(size_t bytes) { return bytes > LIMIT ? NULL : malloc(bytes); }

static void *allocate_zeros(size_t count, size_t bytes)
{
  return bytes > LIMIT / (count + 1) ? NULL : calloc(count, bytes);
}

static void limit_memory(void)
{
  SuiteSparse_config.malloc_func = allocate;
  SuiteSparse_config.calloc_func = allocate_zeros;
}
#else
static void limit_memory(void) {}
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct failing_allocator memory;
  karst_context *context = fuzz_open(&memory, 16 << 20);
  karst_matrix *A = NULL;
  limit_memory();
  const char *path = fuzz_file(data, size);
  (void)is_rutherford_boeing(path);
  int status = read_rutherford_boeing(context, path, &A);
  fuzz_must((status == TOOL_GO_ON) == (A != NULL), "status %d, and %s matrix", status, A ? "a" : "no");
  for (int64_t k = 0; A && k < karst_matrix_blocks(A); k++)
    fuzz_must(isfinite(karst_matrix_value(A)[k]), "entry %lld is not finite", (long long)k);
  karst_matrix_destroy(A);
  fuzz_close(&memory, context);
  return 0;
}
