/* Uses any numbers as a pattern. karst_matrix_create accepts exactly the patterns that pass a separate check here. An
 * accepted matrix is converted to another block size and back. */
#include "tests/fuzz/fuzz.h"

enum { MOST_ROWS = 12, MOST_BLOCKS = 64, MOST_SIZE = 4 };

static karst_index number(fuzz_input *input)
{
  unsigned byte = fuzz_byte(input);
  if (byte < 240) return (karst_index)(byte % 16) - (byte / 16 == 7); /* rarely -1 */
  return byte % 2 ? (karst_index)(((uint64_t)1 << (KARST_INDEX_BITS - 1)) - 1)
                  : -(karst_index)fuzz_byte(input) * 8000001;
}

static bool valid(karst_index rows, const karst_index *start, const karst_index *column)
{
  if (start[0] != 0) return false;
  for (karst_index i = 0; i < rows; i++)
    if (start[i + 1] < start[i]) return false;
  for (karst_index i = 0; i < rows; i++)
    for (karst_index k = start[i]; k < start[i + 1]; k++)
      if (column[k] < 0 || column[k] >= rows || (k > start[i] && column[k] <= column[k - 1])) return false;
  return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  karst_index start[MOST_ROWS + 1] = {0}, column[MOST_BLOCKS];
  double value[MOST_BLOCKS * MOST_SIZE * MOST_SIZE];
  fuzz_input input = {data, size};
  karst_index rows = fuzz_choice(&input, MOST_ROWS + 1);
  int b = 1 + fuzz_choice(&input, MOST_SIZE), other = 1 + fuzz_choice(&input, MOST_SIZE);
  karst_ownership ownership = fuzz_choice(&input, 2) ? KARST_REFERENCE : KARST_COPY;
  bool running = fuzz_choice(&input, 4) != 0; /* makes row starts from lengths, or each independently */
  if (!running) start[0] = number(&input);
  for (karst_index i = 0; i < rows; i++) start[i + 1] = running ? start[i] + fuzz_choice(&input, 6) : number(&input);
  for (karst_index k = 0; k < MOST_BLOCKS; k++) column[k] = number(&input);
  for (int v = 0; v < MOST_BLOCKS * MOST_SIZE * MOST_SIZE; v++) value[v] = fuzz_value(&input, true);
  if (start[rows] > MOST_BLOCKS) return 0; /* the arrays would be shorter than announced, which is the caller's error */

  struct failing_allocator memory;
  karst_context *context = fuzz_open(&memory, 16 << 20);
  karst_matrix *A = NULL, *converted = NULL, *back = NULL;
  /* The arrays end at the last element, so that reading past it is detected. */
  karst_index blocks = start[rows] > 0 ? start[rows] : 0;
  const karst_index *columns = column + (MOST_BLOCKS - blocks);
  const double *values = value + (ptrdiff_t)(MOST_BLOCKS * MOST_SIZE * MOST_SIZE) - (ptrdiff_t)blocks * b * b;
  karst_status status = karst_matrix_create(context, rows, b, start, columns, values, ownership, &A);
  fuzz_made(context, status, A);
  fuzz_must((status == 0) == valid(rows, start, columns), "status %d for a pattern that is %s", (int)status,
            status ? "valid" : "not valid");
  if (A && !karst_matrix_convert(A, other, &converted) && !karst_matrix_convert(converted, 1, &back))
    fuzz_must(karst_matrix_rows(back) == karst_matrix_rows(A), "the padding was not taken away again");
  karst_matrix_destroy(back);
  karst_matrix_destroy(converted);
  karst_matrix_destroy(A);
  fuzz_close(&memory, context);
  return 0;
}
