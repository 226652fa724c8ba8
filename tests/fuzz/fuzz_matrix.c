/* Reads any bytes as a matrix file: Matrix Market, gzip, archive or binary, recognised by content. Entries
 * that come twice are summed or refused. A matrix that is read can be written in the binary form and read again, with
 * the same bits and the same grid. */
#include "tests/fuzz/fuzz.h"

#include <unistd.h>

static void same_grid(const karst_matrix *A, const karst_matrix *B)
{
  karst_grid a, b;
  fuzz_must(!karst_matrix_get_grid(A, &a) && !karst_matrix_get_grid(B, &b), "a matrix does not return its grid");
  fuzz_must(!memcmp(a.size, b.size, sizeof a.size) && !a.cell == !b.cell, "the matrix read again has another grid");
  for (karst_index i = 0; a.cell && i < karst_matrix_block_rows(A); i++)
    fuzz_must(a.cell[i] == b.cell[i] && a.cell[i] >= 0 && a.cell[i] < a.size[0] * a.size[1] * a.size[2],
              "the matrix read again has another map of its cells, or no map");
}

static void same(const karst_matrix *A, const karst_matrix *B)
{
  size_t rows = (size_t)karst_matrix_block_rows(A), blocks = (size_t)karst_matrix_blocks(A);
  size_t b = (size_t)karst_matrix_block_size(A);
  fuzz_must(karst_matrix_block_rows(B) == (karst_index)rows && karst_matrix_blocks(B) == (int64_t)blocks &&
                karst_matrix_rows_unpadded(A) == karst_matrix_rows_unpadded(B),
            "the matrix read again has another size");
  fuzz_must(!memcmp(karst_matrix_row_start(A), karst_matrix_row_start(B), (rows + 1) * sizeof(karst_index)) &&
                (!blocks || (!memcmp(karst_matrix_column(A), karst_matrix_column(B), blocks * sizeof(karst_index)) &&
                             !memcmp(karst_matrix_value(A), karst_matrix_value(B), blocks * b * b * sizeof(double)))),
            "the matrix read again is another one");
  same_grid(A, B);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static char written[64];
  struct failing_allocator memory;
  karst_context *context = fuzz_open(&memory, 16 << 20);
  karst_matrix *A = NULL, *again = NULL;
  karst_vector *beside = NULL;
  fuzz_input input = {data, size};
  const int choice = fuzz_choice(&input, 12), b = choice % 6;
  const char *path = fuzz_file(input.data, input.size);
  karst_status status =
      karst_context_set_duplicates(context, choice < 6 ? KARST_DUPLICATES_SUM : KARST_DUPLICATES_REFUSE);
  fuzz_must(!status, "duplicates are refused");
  status = karst_matrix_read(context, path, b, &A);
  fuzz_made(context, status, A);
  if (A) {
    fuzz_must(
        !karst_matrix_check(context, karst_matrix_block_rows(A), karst_matrix_row_start(A), karst_matrix_column(A)),
        "the pattern that was read is invalid: %s", karst_context_error(context));
    if (!written[0]) snprintf(written, sizeof written, "/dev/shm/karst-fuzz-%ld.kbsr", (long)getpid());
    if (!karst_matrix_write(A, written)) {
      status = karst_matrix_read(context, written, karst_matrix_block_size(A), &again);
      fuzz_must(status == KARST_ERROR_NO_MEMORY || !status, "the matrix that was written is refused: %s",
                karst_context_error(context));
      if (again) same(A, again);
      if (again && !karst_matrix_find_grid(again))
        fuzz_must(!karst_matrix_check_grid(again, NULL), "the grid that was found does not fit: %s",
                  karst_context_error(context));
      remove(written);
    }
  }
  status = karst_vector_read_beside(context, path, &beside);
  if (status) fuzz_made(context, status, beside);
  karst_vector_destroy(beside);
  karst_matrix_destroy(again);
  karst_matrix_destroy(A);
  fuzz_close(&memory, context);
  return 0;
}
