/* solve.c - z = M^-1 r with M = (D + E) D^-1 (D + F), in two sweeps over one vector (Luo, Edwards, Luo, Mueller,
 * Algorithm 3):
 *
 *     forward    z_i = D_i^-1 (r_i - sum_{j < i} E_ij z_j)
 *     backward   z_i = z_i - D_i^-1 sum_{j > i} F_ij z_j
 *
 * E and F are read from the matrix, or with D^-1 from copies in float. Sums end with the neighbour along x, which is
 * computed last. */
#include "cpu/fgbilu/fgbilu_cpu.h"

#include "cpu/fgbilu/diagonal.h"

/* Prefetches the blocks of a row that is read some whole rows later: behind value, or before it if direction is -1. A
 * sweep skips more than half of each row of A, so that the processor does not find the next blocks by itself. Larger
 * blocks are streams that it follows by itself. */
enum { LARGEST_PREFETCHED = 16 };

KARST_INLINE void prefetch(int b, int64_t bytes, const void *value, int direction)
{
  const int64_t blocks = KARST_FACES_BELOW * bytes * b * b, row = KARST_PLACES * bytes * b * b;
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

/* The factor in float has inverses alone. */
KARST_INLINE void multiply_inverse_float(int b, bool triangles, const karst_fgbilu_pass *pass, karst_index i,
                                         const double *sum, double *y)
{
  (void)triangles;
  for (int c = 0; c < b; c++) y[c] = 0;
  karst_block_add_product_float(b, pass->factor_float + (int64_t)i * b * b, sum, y);
}

#define T double
#define NAME(x) x
#include "cpu/fgbilu/line_template.h"
#undef T
#undef NAME
#define T float
#define NAME(x) x##_float
#include "cpu/fgbilu/line_template.h"
#undef T
#undef NAME

/* Three instances for each block size: with inverses, with LU factors, and with inverses in float. */
#define INSTANCE(NAME, LINE, B, TRIANGLES)                                                                             \
  KARST_KERNEL static void NAME(const karst_fgbilu_pass *pass, karst_index first, karst_index last)                    \
  {                                                                                                                    \
    LINE(B, TRIANGLES, pass, first, last);                                                                             \
  }
#define INSTANCES(B)                                                                                                   \
  INSTANCE(fgbilu_forward_##B, forward_line, B, false)                                                                 \
  INSTANCE(fgbilu_backward_##B, backward_line, B, false)                                                               \
  INSTANCE(fgbilu_forward_triangles_##B, forward_line, B, true)                                                        \
  INSTANCE(fgbilu_backward_triangles_##B, backward_line, B, true)                                                      \
  INSTANCE(fgbilu_forward_float_##B, forward_line_float, B, false)                                                     \
  INSTANCE(fgbilu_backward_float_##B, backward_line_float, B, false)
KARST_BLOCK_SIZES(INSTANCES)
INSTANCE(fgbilu_forward_any, forward_line, pass->block_size, false)
INSTANCE(fgbilu_backward_any, backward_line, pass->block_size, false)
INSTANCE(fgbilu_forward_triangles_any, forward_line, pass->block_size, true)
INSTANCE(fgbilu_backward_triangles_any, backward_line, pass->block_size, true)
INSTANCE(fgbilu_forward_float_any, forward_line_float, pass->block_size, false)
INSTANCE(fgbilu_backward_float_any, backward_line_float, pass->block_size, false)
#undef INSTANCES
#undef INSTANCE

void karst_fgbilu_solve_cpu(karst_context *context, const karst_matrix *A, const karst_fgbilu *fgbilu, const double *r,
                            double *z)
{
#define FORWARD(B) [B] = {fgbilu_forward_##B, fgbilu_forward_triangles_##B, fgbilu_forward_float_##B},
#define BACKWARD(B) [B] = {fgbilu_backward_##B, fgbilu_backward_triangles_##B, fgbilu_backward_float_##B},
  static karst_fgbilu_line *const forwards[][3] = {
      {fgbilu_forward_any, fgbilu_forward_triangles_any, fgbilu_forward_float_any}, KARST_BLOCK_SIZES(FORWARD)};
  static karst_fgbilu_line *const backwards[][3] = {
      {fgbilu_backward_any, fgbilu_backward_triangles_any, fgbilu_backward_float_any}, KARST_BLOCK_SIZES(BACKWARD)};
#undef FORWARD
#undef BACKWARD
  const karst_fgbilu_schedule *schedule = fgbilu->analysis->plan;
  const int instance = A->block_size <= KARST_BLOCK_SIZE_LARGEST_INSTANCE ? A->block_size : 0;
  const int kind = fgbilu->analysis->single ? 2 : schedule->triangles;
  karst_fgbilu_pass pass = karst_fgbilu_begin(A, fgbilu);
  pass.r = r;
  pass.z = z;
  karst_fgbilu_traverse(context, KARST_KIND_FORWARD, fgbilu, forwards[instance][kind], &pass, false);
  karst_fgbilu_traverse(context, KARST_KIND_BACKWARD, fgbilu, backwards[instance][kind], &pass, true);
}
