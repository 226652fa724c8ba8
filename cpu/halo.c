/* halo.c - the columns of ghosts in the products and scalings of a distributed matrix, on the CPU.
 * Threads share the rows of the boundary; each row is summed by one thread in storage order. */
#include "cpu/cpu.h"
#include "lib/backend/dense.h"
#include "lib/backend/halo_kernels.h"
#include "lib/backend/precise_sum.h"

#include <math.h>

/* One row of the boundary: y = y + sign G g, size = size + |G| |g|. */
KARST_KERNEL static void add_halo_row(const karst_halo *halo, karst_index k, double sign, const double *restrict g,
                                      double *restrict y, double *restrict size)
{
  const int b = halo->block_size;
  for (karst_index at = halo->device.row_start[k]; at < halo->device.row_start[k + 1]; at++) {
    const double *block = halo->value + karst_block_offset(b, at), *x = g + (int64_t)halo->device.column[at] * b;
    for (int c = 0; c < b; c++)
      for (int r = 0; r < b; r++) {
        const double product = block[c * b + r] * x[c];
        y[r] += sign * product;
        if (size) size[r] += fabs(product);
      }
  }
}

static void add(karst_context *context, const karst_halo *halo, double sign, const double *g, double *y, double *size)
{
  karst_piece piece = karst_begin(context, KARST_KIND_PRODUCT, karst_block_offset(halo->block_size, halo->blocks));
#pragma omp parallel for num_threads(piece.threads) schedule(static)
  for (karst_index k = 0; k < halo->rows; k++) {
    const int64_t first = (int64_t)halo->device.row[k] * halo->block_size;
    add_halo_row(halo, k, sign, g, y + first, size ? size + first : NULL);
  }
  karst_end(context, &piece);
}

/* Element r of row k of the boundary. */
static double residual_row(const karst_matrix *A, karst_index k, int r, const double *right, const double *x,
                           const double *g)
{
  const karst_halo *halo = A->halo;
  const int b = A->block_size;
  const karst_index i = halo->device.row[k];
  karst_precise_sum s = {right[(int64_t)i * b + r], 0};
  for (karst_index at = A->row_start[i]; at < A->row_start[i + 1]; at++)
    for (int c = 0; c < b; c++)
      karst_precise_add(&s, -A->value[karst_block_offset(b, at) + (int64_t)c * b + r],
                        x[(int64_t)A->column[at] * b + c]);
  for (karst_index at = halo->device.row_start[k]; at < halo->device.row_start[k + 1]; at++)
    for (int c = 0; c < b; c++)
      karst_precise_add(&s, -halo->value[karst_block_offset(b, at) + (int64_t)c * b + r],
                        g[(int64_t)halo->device.column[at] * b + c]);
  return s.sum + s.error;
}

static void residual_precise(karst_context *context, const karst_matrix *A, const double *b, const double *x,
                             const double *g, double *r)
{
  const karst_halo *halo = A->halo;
  const int size = A->block_size;
  karst_piece piece = karst_begin(context, KARST_KIND_PRECISE, karst_block_offset(size, halo->blocks));
#pragma omp parallel for num_threads(piece.threads) schedule(static)
  for (karst_index k = 0; k < halo->rows; k++)
    for (int e = 0; e < size; e++) r[(int64_t)halo->device.row[k] * size + e] = residual_row(A, k, e, b, x, g);
  karst_end(context, &piece);
}

static void scale_symmetric(karst_context *context, const karst_halo *halo, const double *d, const double *g)
{
  const int b = halo->block_size;
  karst_piece piece = karst_begin(context, KARST_KIND_ONCE, karst_block_offset(b, halo->blocks));
#pragma omp parallel for num_threads(piece.threads) schedule(static)
  for (karst_index k = 0; k < halo->rows; k++)
    for (karst_index at = halo->device.row_start[k]; at < halo->device.row_start[k + 1]; at++) {
      const double *left = d + (int64_t)halo->device.row[k] * b, *right = g + (int64_t)halo->device.column[at] * b;
      const double *from = halo->origin->value + karst_block_offset(b, at);
      for (int c = 0; c < b; c++)
        for (int r = 0; r < b; r++)
          halo->value[karst_block_offset(b, at) + c * b + r] = from[c * b + r] * (left[r] * right[c]);
    }
  karst_end(context, &piece);
}

static void scale_rows(karst_context *context, const karst_halo *halo, const double *S)
{
  const int b = halo->block_size;
  karst_piece piece = karst_begin(context, KARST_KIND_ONCE, karst_block_offset(b, halo->blocks));
#pragma omp parallel for num_threads(piece.threads) schedule(static)
  for (karst_index k = 0; k < halo->rows; k++)
    for (karst_index at = halo->device.row_start[k]; at < halo->device.row_start[k + 1]; at++) {
      const double *scale = S + karst_block_offset(b, halo->device.row[k]);
      const double *from = halo->origin->value + karst_block_offset(b, at);
      double *to = halo->value + karst_block_offset(b, at);
      for (int e = 0; e < b * b; e++) to[e] = 0;
      for (int c = 0; c < b; c++) karst_block_add_product(b, scale, from + (int64_t)c * b, to + (int64_t)c * b);
    }
  karst_end(context, &piece);
}

const struct karst_halo_kernels karst_halo_kernels_cpu = {
    .add = add, .residual_precise = residual_precise, .scale_symmetric = scale_symmetric, .scale_rows = scale_rows};
