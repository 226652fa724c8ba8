/* load.cu - checks the pattern of A, and loads its values into the groups of grid 0, with the first level of the
 * repeated red-black method, which needs no other row. A thread has a row of A. See rrb_kernels.h for the arrays. */
#include "gpu/rrb/rrb_cuda.h"
#include "lib/base/search.h"

#include <cstdint>

namespace
{

enum { THREADS = 256, POINTS = 9, BATCH = 5 };

/* Entries of a row by (dj + 1) 3 + di + 1. */
enum { SOUTH_WEST, SOUTH, SOUTH_EAST, WEST, CENTRE, EAST, NORTH_WEST, NORTH, NORTH_EAST };

/* The arguments of kernels for A. */
struct matrix {
  karst_index rows, nx, ny;
  const karst_index *row_start, *column, *cell;
  const double *value;
};

KARST_INLINE karst_index node_of(const matrix &A, karst_index row) { return A.cell ? A.cell[row] : row; }

/* The point of the stencil of node (i, j) at which another node is, or -1 if they are not neighbours. */
KARST_INLINE int point_of(karst_index nx, karst_index node, karst_index i, karst_index other)
{
  karst_index apart = other - node, di = apart;
  int dj = 0;
  if (i + apart < 0) {
    di += nx;
    dj = -1;
  } else if (apart >= nx - i) {
    di -= nx;
    dj = 1;
  }
  const bool inside = di >= -i && di < nx - i; /* else it is two rows away, or more */
  return inside && di >= -1 && di <= 1 ? 3 * (dj + 1) + (int)di + 1 : -1;
}

__global__ void __launch_bounds__(THREADS) inspect_rows(const matrix A, unsigned long long *found)
{
  const int64_t row = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (row >= A.rows) return;
  const karst_index node = node_of(A, (karst_index)row), i = node % A.nx;
  bool corner = false;
  for (karst_index k = A.row_start[row]; k < A.row_start[row + 1]; k++) {
    const int point = point_of(A.nx, node, i, node_of(A, A.column[k]));
    if (point < 0) {
      atomicMin(found, (unsigned long long)k);
      break;
    }
    corner = corner || point % 2 == 0 && point != CENTRE;
  }
  if (corner) found[1] = 0;
}

/* As in lib/matrix/matrix_symmetry.c. */
KARST_INLINE bool differ(double a, double b, double row_diagonal, double column_diagonal)
{
  const double size = sqrt(fabs(row_diagonal)) * sqrt(fabs(column_diagonal));
  return fabs(a - b) > 1e-10 * fmax(size, fmax(fabs(a), fabs(b)));
}

/* Entry (row, column), or 0. guess: its likely distance from the end of the row. */
KARST_INLINE double entry_of(const matrix &A, karst_index row, karst_index column, karst_index guess)
{
  const karst_index begin = A.row_start[row], end = A.row_start[row + 1], k = end - 1 - guess;
  if (k >= begin && A.column[k] == column) return A.value[k];
  for (karst_index e = begin; e < end; e++)
    if (A.column[e] == column) return A.value[e];
  return 0;
}

/* A row of the matrix in the order of the stencil. */
struct row_values {
  double a[POINTS];
  bool finite, symmetric;
};

/* With 5 points only their slots are read, and all of these are registers. */
template <bool NINE> KARST_INLINE row_values read_row(const matrix &A, karst_index row, karst_index node, karst_index i)
{
  row_values r = {{0}, true, true};
  const karst_index begin = A.row_start[row], end = A.row_start[row + 1];
  for (karst_index from = begin; from < end; from += BATCH) {
    karst_index column[BATCH];
    double value[BATCH];
    for (int e = 0; e < BATCH; e++) {
      column[e] = from + e < end ? A.column[from + e] : row;
      value[e] = from + e < end ? A.value[from + e] : 0;
    }
    for (int e = 0; e < BATCH; e++) {
      if (from + e >= end) break;
      const int point = point_of(A.nx, node, i, node_of(A, column[e]));
      for (int p = 0; p < POINTS; p++)
        if (NINE || p == CENTRE || p % 2 == 1) r.a[p] = p == point ? value[e] : r.a[p];
      r.finite = r.finite && karst_rrb_is_finite(value[e]);
      if (column[e] == row) continue;
      const double image = entry_of(A, column[e], row, from + e - begin);
      if (image != value[e] && differ(value[e], image, entry_of(A, row, row, 0), entry_of(A, column[e], column[e], 0)))
        r.symmetric = false;
    }
  }
  return r;
}

/* The destinations of a row's numbers. */
struct target {
  karst_rrb_shape shape;
  double *first, *stencil; /* the stencil of black nodes: schur, or the remaining nodes' if there is one node */
  karst_rrb_nodes nodes;
  unsigned long long *unsymmetric;
};

/* Level 1: the factor of red node (i, j). */
template <bool NINE>
KARST_INLINE void put_red(const target &t, const row_values &r, karst_index node, karst_index i, karst_index j)
{
  const int64_t apart = t.shape.array;
  const double corners = NINE ? r.a[SOUTH_WEST] + r.a[SOUTH_EAST] + r.a[NORTH_WEST] + r.a[NORTH_EAST] : 0;
  const double sizes =
      NINE ? fabs(r.a[SOUTH_WEST]) + fabs(r.a[SOUTH_EAST]) + fabs(r.a[NORTH_WEST]) + fabs(r.a[NORTH_EAST]) : 0;
  const double d = karst_rrb_sum(r.a[CENTRE] + corners, fabs(r.a[CENTRE]) + sizes);
  const bool sound = karst_rrb_is_pivot(d);
  const double inverse = sound ? 1 / d : 0;
  double *to = t.first + karst_rrb_array(&t.shape, i % 2 ? 0 : KARST_RRB_PARTS) + i / 2 + j / 2 * t.shape.pitch;
  to[0] = r.a[WEST] * inverse;
  to[apart] = r.a[EAST] * inverse;
  to[2 * apart] = r.a[SOUTH] * inverse;
  to[3 * apart] = r.a[NORTH] * inverse;
  to[KARST_RRB_INVERSE * apart] = inverse;
  if (!sound) karst_rrb_keep_least(t.nodes.fault, karst_rrb_encode_pivot(1, node, karst_rrb_is_finite(d)));
}

template <bool NINE> KARST_INLINE void put_black(const target &t, const row_values &r, karst_index i, karst_index j)
{
  const int64_t apart = t.shape.array;
  double *to = t.stencil + karst_rrb_array(&t.shape, i % 2 ? KARST_RRB_PARTS : 0) + i / 2 + j / 2 * t.shape.pitch;
  to[KARST_RRB_SKEW_CENTRE * apart] = r.a[CENTRE];
  if (!NINE) return;
  to[KARST_RRB_SKEW_NORTH_EAST * apart] = r.a[NORTH_EAST];
  to[KARST_RRB_SKEW_NORTH_WEST * apart] = r.a[NORTH_WEST];
}

template <bool NINE> KARST_INLINE void load_row(const matrix &A, const target &t, karst_index row)
{
  const karst_index node = node_of(A, row), j = node / A.nx, i = node - j * A.nx;
  const row_values r = read_row<NINE>(A, row, node, i);
  if (!r.finite) karst_rrb_keep_least(t.nodes.fault, karst_rrb_encode_pivot(0, node, false));
  if (!r.symmetric) karst_rrb_keep_least(t.unsymmetric, (unsigned long long)row);
  if ((i + j) % 2 != 0)
    put_red<NINE>(t, r, node, i, j);
  else
    put_black<NINE>(t, r, i, j);
}

template <bool NINE> __global__ void __launch_bounds__(THREADS) load_rows(const matrix A, const target t)
{
  const int64_t row = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (row < A.rows) load_row<NINE>(A, t, (karst_index)row);
}

matrix matrix_of(const karst_matrix *A, const karst_rrb *rrb, const karst_index *cell)
{
  return {A->block_rows, rrb->size[0], rrb->size[1], A->device_row_start, A->device_column, cell, A->value};
}

/* The block row of entry k. */
karst_index row_of(const karst_matrix *A, karst_index k)
{
  return karst_lower_bound(A->row_start, 0, A->block_rows, k + 1) - 1;
}

} // namespace

karst_status karst_rrb_inspect_cuda(karst_context *context, const karst_matrix *A, const karst_rrb *rrb,
                                    karst_rrb_pattern *pattern)
{
  struct karst_cuda *cuda = karst_cuda_of(context);
  unsigned long long found[2] = {~0ULL, ~0ULL}; /* the first entry that is not a neighbour; 0: some cross corners */
  unsigned long long *misfit = reinterpret_cast<unsigned long long *>(cuda->partial);
  karst_index *cell = nullptr;
  karst_status status = KARST_SUCCESS;
  *pattern = {false, {-1, -1}};
  if (A->block_rows == 0) return KARST_SUCCESS;
  if (rrb->cell) status = karst_device_indices(context, A->block_rows, rrb->cell, "the cells of rrb", &cell);
  if (status) return status;
  cudaMemsetAsync(misfit, 0xff, sizeof found, cuda->stream);
  inspect_rows<<<karst_cuda_grid(A->block_rows, THREADS), THREADS, 0, cuda->stream>>>(matrix_of(A, rrb, cell), misfit);
  status = context->backend->download(context, found, misfit, sizeof found);
  if (cell) context->backend->release(context, cell);
  if (status) return status;
  pattern->nine_point = found[1] == 0;
  if (found[0] == ~0ULL) return KARST_SUCCESS;
  const karst_index k = (karst_index)found[0];
  pattern->misfit[0] = row_of(A, k);
  pattern->misfit[1] = A->column[k];
  return KARST_SUCCESS;
}

void karst_rrb_load_cuda(karst_context *context, const karst_matrix *A, const karst_rrb *rrb)
{
  if (A->block_rows == 0) return;
  const karst_rrb_cuda *plan = karst_rrb_cuda_of(rrb);
  double *stencil = rrb->levels > 0 ? plan->arrays.schur : plan->arrays.straight[0];
  const target t = {rrb->shape[0], plan->arrays.first, stencil, karst_rrb_nodes_of(rrb), plan->faults};
  const matrix seen = matrix_of(A, rrb, plan->cell);
  const unsigned blocks = karst_cuda_grid(A->block_rows, THREADS);
  const cudaStream_t stream = karst_cuda_of(context)->stream;
  if (rrb->nine_point)
    load_rows<true><<<blocks, THREADS, 0, stream>>>(seen, t);
  else
    load_rows<false><<<blocks, THREADS, 0, stream>>>(seen, t);
}
