/* couple.c - how strongly block rows couple (lib/backend/coupling.h), on the CPU. Threads share the rows. The first row
 * of a pair computes the strength of both entries. */
#include "lib/backend/coupling.h"
#include "cpu/cpu.h"
#include "lib/matrix/matrix.h"

/* Returns the entry (j,i), or -1. Most rows are so short that to count is faster than to search. */
KARST_INLINE karst_index find_mirror(const karst_matrix *A, karst_index i, karst_index j)
{
  enum { SHORT = 16 };
  const karst_index first = A->row_start[j], end = A->row_start[j + 1];
  if (end - first > SHORT) return karst_find_column(A->column, first, end, i);
  karst_index at = first;
  for (karst_index k = first; k < end; k++) at += A->column[k] < i;
  return at < end && A->column[at] == i ? at : -1;
}

KARST_INLINE void couple_rows(int b, const karst_matrix *A, const double *inverse, karst_index first, karst_index last,
                              float *strength)
{
  for (karst_index i = first; i < last; i++)
    for (karst_index k = A->row_start[i]; k < A->row_start[i + 1]; k++) {
      const karst_index j = A->column[k], mirror = j == i ? k : find_mirror(A, i, j);
      if (j == i) strength[k] = 0;
      if (j == i || (j < i && mirror >= 0)) continue;
      strength[k] = karst_coupling(b, inverse + karst_block_offset(b, i), A->value + karst_block_offset(b, k),
                                   inverse + karst_block_offset(b, j),
                                   mirror < 0 ? NULL : A->value + karst_block_offset(b, mirror));
      if (mirror >= 0) strength[mirror] = strength[k];
    }
}

typedef void couple_function(const karst_matrix *A, const double *inverse, karst_index first, karst_index last,
                             float *strength);

#define INSTANCE(SUFFIX, B)                                                                                            \
  KARST_KERNEL static void couple_rows_##SUFFIX(const karst_matrix *A, const double *inverse, karst_index first,       \
                                                karst_index last, float *strength)                                     \
  {                                                                                                                    \
    couple_rows(B, A, inverse, first, last, strength);                                                                 \
  }
#define INSTANCE_OF(B) INSTANCE(B, B)
KARST_BLOCK_SIZES(INSTANCE_OF)
INSTANCE(any, A->block_size)
#undef INSTANCE_OF
#undef INSTANCE

void karst_couple_cpu(karst_context *context, const karst_matrix *A, const double *inverse, float *strength)
{
#define ENTRY(B) [B] = couple_rows_##B,
  static couple_function *const instance[] = {couple_rows_any, KARST_BLOCK_SIZES(ENTRY)};
#undef ENTRY
  couple_function *rows = instance[A->block_size <= KARST_BLOCK_SIZE_LARGEST_INSTANCE ? A->block_size : 0];
  karst_piece piece = karst_begin(context, KARST_KIND_ONCE, karst_entries(A));
#pragma omp parallel num_threads(piece.threads)
  {
    const karst_part part = karst_part_rows(&piece, A->block_rows, A->row_start);
    rows(A, inverse, part.first, part.last, strength);
    karst_part_end(&piece, &part);
  }
  karst_end(context, &piece);
}
