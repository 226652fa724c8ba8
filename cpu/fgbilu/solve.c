/* solve.c - z = M^-1 r with M = (D + E) D^-1 (D + F), in two sweeps over one vector (Luo, Edwards, Luo, Mueller,
 * Algorithm 3):
 *
 *     forward    z_i = D_i^-1 (r_i - sum_{j < i} E_ij z_j)
 *     backward   z_i = z_i - D_i^-1 sum_{j > i} F_ij z_j
 *
 * E and F are read from the matrix. Sums end with the neighbour along x, which is computed last. */
#include "cpu/fgbilu/fgbilu_cpu.h"

#include "cpu/fgbilu/diagonal.h"

/* Prefetches the blocks of a row that is read some whole rows later: behind value, or before it if direction is -1. A
 * sweep skips more than half of each row of A, so that the processor does not find the next blocks by itself. Larger
 * blocks are streams that it follows by itself. */
enum { LARGEST_PREFETCHED = 16 };

KARST_INLINE void prefetch(int b, const double *value, int direction)
{
  const int64_t blocks = KARST_FACES_BELOW * (int64_t)b * b * 8, row = KARST_PLACES * (int64_t)b * b * 8;
  const int64_t rows = 1 + KARST_PREFETCH_VALUES / blocks;
  if (b <= LARGEST_PREFETCHED) karst_prefetch(value, blocks, direction * rows * row);
}

/* Makes y = D_i^-1 sum. */
KARST_INLINE void multiply_inverse(int b, bool triangles, const karst_fgbilu_pass *pass, karst_index i,
                                   const double *sum, double *y)
{
  const double *diagonal = pass->factor + (int64_t)i * b * b;
  for (int c = 0; c < b; c++) y[c] = triangles ? sum[c] : 0;
  if (triangles)
    karst_block_solve(b, diagonal, pass->exchange + (int64_t)i * b, y);
  else
    karst_block_add_product(b, diagonal, sum, y);
}

KARST_INLINE void forward_line(int b, bool triangles, const karst_fgbilu_pass *pass, karst_index first,
                               karst_index last)
{
  const karst_structured *cells = pass->cells;
  const karst_matrix *A = pass->A;
  const double *r = pass->r;
  double *z = pass->z;
  const int64_t bb = (int64_t)b * b;
  for (karst_index i = first; i < last; i++) {
    const karst_index row = cells->row ? cells->row[i] : i;
    if (row < 0) continue;
    const uint32_t place = cells->place[i];
    const double *value = A->value + A->row_start[row] * bb;
    double sum[b], y[b];
    prefetch(b, value, 1);
    for (int c = 0; c < b; c++) sum[c] = r[(int64_t)row * b + c];
    KARST_UNROLL
    for (int face = 0; face < KARST_FACES_BELOW; face++) {
      const int at = karst_place(place, face);
      if (at == KARST_PLACE_NONE) continue;
      const karst_index there = i + pass->stride[face], j = cells->row ? cells->row[there] : there;
      karst_block_subtract_product(b, value + at * bb, z + (int64_t)j * b, sum);
    }
    multiply_inverse(b, triangles, pass, row, sum, y);
    for (int c = 0; c < b; c++) z[(int64_t)row * b + c] = y[c];
  }
}

KARST_INLINE void backward_line(int b, bool triangles, const karst_fgbilu_pass *pass, karst_index first,
                                karst_index last)
{
  const karst_structured *cells = pass->cells;
  const karst_matrix *A = pass->A;
  double *z = pass->z;
  const int64_t bb = (int64_t)b * b;
  for (karst_index i = last; i-- > first;) {
    const karst_index row = cells->row ? cells->row[i] : i;
    if (row < 0) continue;
    const uint32_t place = cells->place[i];
    const double *value = A->value + A->row_start[row] * bb;
    double sum[b], y[b];
    prefetch(b, value + (KARST_FACES_BELOW + 1) * bb, -1);
    for (int c = 0; c < b; c++) sum[c] = 0;
    KARST_UNROLL
    for (int face = KARST_FACES - 1; face >= KARST_FACES_BELOW; face--) {
      const int at = karst_place(place, face);
      if (at == KARST_PLACE_NONE) continue;
      const karst_index there = i + pass->stride[face], j = cells->row ? cells->row[there] : there;
      karst_block_add_product(b, value + at * bb, z + (int64_t)j * b, sum);
    }
    multiply_inverse(b, triangles, pass, row, sum, y);
    for (int c = 0; c < b; c++) z[(int64_t)row * b + c] -= y[c];
  }
}

/* Two instances for each block size: one has inverses, the other LU factors. */
#define INSTANCE(NAME, LINE, B, TRIANGLES)                                                                             \
  KARST_KERNEL static void NAME(const karst_fgbilu_pass *pass, karst_index first, karst_index last)                    \
  {                                                                                                                    \
    LINE(B, TRIANGLES, pass, first, last);                                                                             \
  }
#define INSTANCES(B)                                                                                                   \
  INSTANCE(fgbilu_forward_##B, forward_line, B, false)                                                                 \
  INSTANCE(fgbilu_backward_##B, backward_line, B, false)                                                               \
  INSTANCE(fgbilu_forward_triangles_##B, forward_line, B, true)                                                        \
  INSTANCE(fgbilu_backward_triangles_##B, backward_line, B, true)
KARST_BLOCK_SIZES(INSTANCES)
INSTANCE(fgbilu_forward_any, forward_line, pass->block_size, false)
INSTANCE(fgbilu_backward_any, backward_line, pass->block_size, false)
INSTANCE(fgbilu_forward_triangles_any, forward_line, pass->block_size, true)
INSTANCE(fgbilu_backward_triangles_any, backward_line, pass->block_size, true)
#undef INSTANCES
#undef INSTANCE

void karst_fgbilu_solve_cpu(karst_context *context, const karst_matrix *A, const karst_fgbilu *fgbilu, const double *r,
                            double *z)
{
#define FORWARD(B) [B] = {fgbilu_forward_##B, fgbilu_forward_triangles_##B},
#define BACKWARD(B) [B] = {fgbilu_backward_##B, fgbilu_backward_triangles_##B},
  static karst_fgbilu_line *const forwards[][2] = {{fgbilu_forward_any, fgbilu_forward_triangles_any},
                                                   KARST_BLOCK_SIZES(FORWARD)};
  static karst_fgbilu_line *const backwards[][2] = {{fgbilu_backward_any, fgbilu_backward_triangles_any},
                                                    KARST_BLOCK_SIZES(BACKWARD)};
#undef FORWARD
#undef BACKWARD
  const karst_fgbilu_schedule *schedule = fgbilu->analysis->plan;
  const int instance = A->block_size <= KARST_BLOCK_SIZE_LARGEST_INSTANCE ? A->block_size : 0;
  karst_fgbilu_pass pass = karst_fgbilu_begin(A, fgbilu);
  pass.r = r;
  pass.z = z;
  karst_fgbilu_traverse(context, KARST_KIND_FORWARD, fgbilu, forwards[instance][schedule->triangles], &pass, false);
  karst_fgbilu_traverse(context, KARST_KIND_BACKWARD, fgbilu, backwards[instance][schedule->triangles], &pass, true);
}
