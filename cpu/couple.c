/* couple.c - how strongly block rows couple (lib/backend/coupling.h), on the CPU. Threads share the rows. First the
 * matrix is read once, row by row, for what each entry tells of one way; then the first row of a pair computes the
 * strength of both entries. */
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

/* Computes way[b*k + c] = x_cc of entries k of the rows first to last - 1, and the inverse of their diagonal blocks.
 * Returns whether these are all regular. */
KARST_INLINE bool divide_rows(int b, const karst_matrix *A, const karst_index *diagonal, karst_index first,
                              karst_index last, double *inverse, float *way)
{
  double work[2 * b];
  int pivot[b];
  for (karst_index i = first; i < last; i++) {
    double *own = inverse + karst_block_offset(b, i);
    const double *from = A->value + karst_block_offset(b, diagonal[i]);
    if (karst_block_inverse(b, from, from, own, work, pivot) != KARST_SOUND) return false;
    for (karst_index k = A->row_start[i]; k < A->row_start[i + 1]; k++) {
      KARST_UNROLL
      for (int c = 0; c < b; c++)
        way[(int64_t)b * k + c] = (float)karst_coupling_one_way(b, own, A->value + karst_block_offset(b, k), c);
    }
  }
  return true;
}

KARST_INLINE void couple_rows(int b, const karst_matrix *A, const float *way, karst_index first, karst_index last,
                              float *strength)
{
  for (karst_index i = first; i < last; i++)
    for (karst_index k = A->row_start[i]; k < A->row_start[i + 1]; k++) {
      const karst_index j = A->column[k], mirror = j == i ? k : find_mirror(A, i, j);
      double both = 0, most = 0;
      if (j == i) strength[k] = 0;
      if (j == i || (j < i && mirror >= 0)) continue;
      KARST_UNROLL
      for (int c = 0; c < b; c++)
        karst_coupling_add((double)way[(int64_t)b * k + c], mirror < 0 ? 0 : (double)way[(int64_t)b * mirror + c],
                           &both, &most);
      strength[k] = karst_coupling_strength(b, both, most);
      if (mirror >= 0) strength[mirror] = strength[k];
    }
}

typedef bool divide_function(const karst_matrix *A, const karst_index *diagonal, karst_index first, karst_index last,
                             double *inverse, float *way);
typedef void couple_function(const karst_matrix *A, const float *way, karst_index first, karst_index last,
                             float *strength);

#define INSTANCE(SUFFIX, B)                                                                                            \
  KARST_KERNEL static bool divide_rows_##SUFFIX(const karst_matrix *A, const karst_index *diagonal, karst_index first, \
                                                karst_index last, double *inverse, float *way)                         \
  {                                                                                                                    \
    return divide_rows(B, A, diagonal, first, last, inverse, way);                                                     \
  }                                                                                                                    \
  KARST_KERNEL static void couple_rows_##SUFFIX(const karst_matrix *A, const float *way, karst_index first,            \
                                                karst_index last, float *strength)                                     \
  {                                                                                                                    \
    couple_rows(B, A, way, first, last, strength);                                                                     \
  }
#define INSTANCE_OF(B) INSTANCE(B, B)
KARST_BLOCK_SIZES(INSTANCE_OF)
INSTANCE(any, A->block_size)
#undef INSTANCE_OF
#undef INSTANCE

karst_status karst_couple_cpu(karst_context *context, const karst_matrix *A, const karst_index *diagonal,
                              double *inverse, float *strength, bool *sound)
{
#define ENTRY(B) [B] = divide_rows_##B,
  static divide_function *const divide[] = {divide_rows_any, KARST_BLOCK_SIZES(ENTRY)};
#undef ENTRY
#define ENTRY(B) [B] = couple_rows_##B,
  static couple_function *const couple[] = {couple_rows_any, KARST_BLOCK_SIZES(ENTRY)};
#undef ENTRY
  const int size = A->block_size <= KARST_BLOCK_SIZE_LARGEST_INSTANCE ? A->block_size : 0;
  bool regular = true;
  float *way;
  karst_status status =
      karst_allocate(context, &way, A->blocks * (int64_t)A->block_size, sizeof *way, "the strength of couplings");
  if (status) return status;
  karst_piece dividing = karst_begin(context, KARST_KIND_ONCE, karst_entries(A));
#pragma omp parallel num_threads(dividing.threads) reduction(&& : regular)
  {
    const karst_part part = karst_part_rows(&dividing, A->block_rows, A->row_start);
    regular = divide[size](A, diagonal, part.first, part.last, inverse, way);
    karst_part_end(&dividing, &part);
  }
  karst_end(context, &dividing);
  karst_piece coupling = karst_begin(context, KARST_KIND_ONCE, A->blocks);
#pragma omp parallel num_threads(coupling.threads)
  {
    const karst_part part = karst_part_rows(&coupling, A->block_rows, A->row_start);
    if (regular) couple[size](A, way, part.first, part.last, strength);
    karst_part_end(&coupling, &part);
  }
  karst_end(context, &coupling);
  karst_release(context, way);
  *sound = regular;
  return KARST_SUCCESS;
}
