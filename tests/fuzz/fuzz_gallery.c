/* Uses a line as a problem of the gallery, and the following bytes as its file of permeabilities. All entries are
 * finite, and every diagonal block is present. */
#include "tests/fuzz/fuzz.h"

#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct failing_allocator memory;
  fuzz_input input = {data, size};
  char spec[512], text[400];
  int b = fuzz_choice(&input, 6);
  fuzz_text(&input, text, sizeof text);
  if (strstr(text, "perm")) return 0; /* it would open a file of this machine */
  bool file = input.size > 0;
  if (file)
    snprintf(spec, sizeof spec, "%s,perm=%s", text, fuzz_file(input.data, input.size));
  else
    snprintf(spec, sizeof spec, "%s", text);

  karst_context *context = fuzz_open(&memory, 1 << 20);
  karst_matrix *A = NULL;
  karst_vector *rhs = NULL;
  karst_status status = karst_gallery_create(context, spec, b, &A, &rhs);
  fuzz_made(context, status, A);
  fuzz_must(!status || !rhs, "a right-hand side without a matrix");
  if (A) {
    int64_t entries = karst_matrix_blocks(A) * karst_matrix_block_size(A) * karst_matrix_block_size(A);
    fuzz_must(
        !karst_matrix_check(context, karst_matrix_block_rows(A), karst_matrix_row_start(A), karst_matrix_column(A)) &&
            !karst_matrix_check_diagonal(A),
        "'%s': %s", spec, karst_context_error(context));
    for (int64_t i = 0; i < entries; i++)
      fuzz_must(isfinite(karst_matrix_value(A)[i]), "'%s': entry %lld is not finite", spec, (long long)i);
    fuzz_must(!rhs || karst_vector_length(rhs) == karst_matrix_rows(A), "'%s': a right-hand side of another length",
              spec);
  }
  karst_vector_destroy(rhs);
  karst_matrix_destroy(A);
  fuzz_close(&memory, context);
  return 0;
}
