/* rrb_nodes.cu - the repeated red-black method on grids that are stored node by node: the reference that shows the gain
 * of the storage in groups. A thread takes a node of grid m; neighbouring nodes are 2^(m - grouped) apart in memory. It
 * checks for the edges of the grid. */
#include "gpu/rrb/apply.h"

namespace
{

enum { LEFT = KARST_RRB_PARTS, SCHUR = LEFT + 1, ARRAYS = SCHUR + KARST_RRB_PARTS /* couplings, 1 / d; v; S */ };

/* Nodes of a grid; node (i, j) is number (j line + i) << shift. */
struct plane {
  karst_index nx, ny;
  int64_t line, nodes; /* of grid number grouped */
  int shift;
  double *memory;
};

__device__ __forceinline__ int64_t number(const plane &g, int64_t i, int64_t j) { return (j * g.line + i) << g.shift; }

__device__ __forceinline__ bool inside(const plane &g, int64_t i, int64_t j)
{
  return i >= 0 && j >= 0 && i < g.nx && j < g.ny;
}

__device__ __forceinline__ bool find(const plane &g, int64_t *i, int64_t *j)
{
  const int64_t t = (int64_t)blockIdx.x * KARST_CUDA_THREADS + threadIdx.x;
  *j = t / g.nx;
  *i = t % g.nx;
  return *j < g.ny;
}

/* The distances along each axis to neighbour c of an eliminated node: r1 and r2, or b1. */
__device__ __forceinline__ int across(bool red, int c) { return red ? (c < 2 ? 2 * c - 1 : 0) : 2 * (c % 2) - 1; }
__device__ __forceinline__ int along(bool red, int c) { return red ? (c < 2 ? 0 : 2 * (c - 2) - 1) : 2 * (c / 2) - 1; }

__global__ void forward(const plane g, bool red)
{
  int64_t i, j;
  if (!find(g, &i, &j) || (red ? (i + j) % 2 != 0 : i % 2 != 0 || j % 2 != 0)) return;
  double *v = g.memory + LEFT * g.nodes, sum = 0;
  for (int c = 0; c < KARST_RRB_COUPLINGS; c++) {
    const int64_t ei = i - across(red, c), ej = j - along(red, c), e = number(g, ei, ej);
    if (inside(g, ei, ej)) sum += g.memory[c * g.nodes + e] * v[e];
  }
  v[number(g, i, j)] -= sum;
}

__global__ void backward(const plane g, bool red)
{
  int64_t i, j;
  if (!find(g, &i, &j) || (red ? (i + j) % 2 == 0 : i % 2 == 0 || j % 2 == 0)) return;
  double *v = g.memory + LEFT * g.nodes, sum = 0;
  const int64_t e = number(g, i, j);
  for (int c = 0; c < KARST_RRB_COUPLINGS; c++) {
    const int64_t ni = i + across(red, c), nj = j + along(red, c);
    if (inside(g, ni, nj)) sum += g.memory[c * g.nodes + e] * v[number(g, ni, nj)];
  }
  v[e] = g.memory[KARST_RRB_INVERSE * g.nodes + e] * v[e] - sum;
}

/* Arrays of the groups of grid m: vector[group], or parts of them. */
struct grouped {
  int64_t pitch, array;
};

__device__ __forceinline__ int64_t place_of(const grouped &s, int64_t i, int64_t j, int array)
{
  return s.pitch + array * s.array + (j >> 1) * s.pitch + (i >> 1);
}

__global__ void copy_in(const plane g, const grouped s, const double *vector)
{
  int64_t i, j;
  if (find(g, &i, &j)) g.memory[LEFT * g.nodes + number(g, i, j)] = vector[place_of(s, i, j, karst_rrb_group_of(i, j))];
}

__global__ void copy_out(const plane g, const grouped s, double *vector)
{
  int64_t i, j;
  if (find(g, &i, &j)) vector[place_of(s, i, j, karst_rrb_group_of(i, j))] = g.memory[LEFT * g.nodes + number(g, i, j)];
}

/* base[group]: the first array of its factor, or -1 if it has no factor here. */
__global__ void spread(const plane g, const grouped s, const double *factor, int4 base)
{
  int64_t i, j;
  if (!find(g, &i, &j)) return;
  const int group = karst_rrb_group_of(i, j);
  const int first = group == KARST_RRB_B2   ? base.x
                    : group == KARST_RRB_B1 ? base.y
                    : group == KARST_RRB_R1 ? base.z
                                            : base.w;
  if (first < 0) return;
  for (int part = 0; part < KARST_RRB_PARTS; part++)
    g.memory[part * g.nodes + number(g, i, j)] = factor[place_of(s, i, j, first + part)];
}

__global__ void spread_schur(const plane g, const grouped s, const double *schur)
{
  int64_t i, j;
  if (!find(g, &i, &j) || (i + j) % 2) return;
  for (int part = 0; part < KARST_RRB_PARTS; part++)
    g.memory[(SCHUR + part) * g.nodes + number(g, i, j)] =
        schur[place_of(s, i, j, KARST_RRB_PARTS * (int)(i & 1) + part)];
}

__global__ void multiply(const plane g, const double *x, double *y)
{
  int64_t i, j;
  if (!find(g, &i, &j)) return;
  const int64_t n = number(g, i, j);
  const double *S = g.memory + SCHUR * g.nodes;
  double sum = 0;
  if ((i + j) % 2 == 0) {
    const int di[] = {0, 1, -1, 2, 0}, dj[] = {0, 1, 1, 0, 2};
    sum = S[n] * x[n];
    for (int part = 1; part < KARST_RRB_PARTS; part++) {
      const int64_t up = number(g, i + di[part], j + dj[part]), down = number(g, i - di[part], j - dj[part]);
      if (inside(g, i + di[part], j + dj[part])) sum += S[part * g.nodes + n] * x[up];
      if (inside(g, i - di[part], j - dj[part])) sum += S[part * g.nodes + down] * x[down];
    }
  }
  y[n] = sum;
}

/* The black part of x with the red part of other, or with 0. */
__global__ void merge(const plane g, const double *x, const double *other, double *y)
{
  int64_t i, j;
  if (!find(g, &i, &j)) return;
  const int64_t n = number(g, i, j);
  y[n] = (i + j) % 2 == 0 ? x[n] : other ? other[n] : 0;
}

__global__ void scatter(int64_t rows, const karst_index *cell, const double *x, double *y)
{
  const int64_t row = (int64_t)blockIdx.x * KARST_CUDA_THREADS + threadIdx.x;
  if (row < rows) y[cell ? cell[row] : row] = x[row];
}

__global__ void gather(int64_t rows, const karst_index *cell, const double *x, double *y)
{
  const int64_t row = (int64_t)blockIdx.x * KARST_CUDA_THREADS + threadIdx.x;
  if (row < rows) y[row] = x[cell ? cell[row] : row];
}

plane plane_of(const karst_rrb *rrb, int m)
{
  const karst_index *base = rrb->shape[rrb->grouped].size, *size = rrb->shape[m].size;
  return {size[0], size[1], base[0], (int64_t)base[0] * base[1], m - rrb->grouped, karst_rrb_cuda_of(rrb)->nodes};
}

template <typename... P, typename... A>
void launch(karst_context *context, void (*kernel)(P...), int64_t threads, A... arguments)
{
  kernel<<<karst_cuda_grid(threads, KARST_CUDA_THREADS), KARST_CUDA_THREADS, 0, karst_cuda_of(context)->stream>>>(
      arguments...);
}

int64_t count(const plane &g) { return (int64_t)g.nx * g.ny; }
grouped groups_of(const karst_rrb *rrb, int m) { return {rrb->shape[m].pitch, rrb->shape[m].array}; }
double *left(const karst_rrb *rrb)
{
  const plane g = plane_of(rrb, rrb->grouped);
  return g.memory + LEFT * g.nodes;
}

void copy(karst_context *context, int64_t n, const double *from, double *to)
{
  cudaMemcpyAsync(to, from, (size_t)n * sizeof *to, cudaMemcpyDeviceToDevice, karst_cuda_of(context)->stream);
}

/* All levels from first on, in place in the vector of this grid. */
void solve_levels(karst_context *context, const karst_rrb *rrb, int first)
{
  const int last = rrb->levels / 2;
  double *vector = karst_rrb_cuda_of(rrb)->arrays.vector[last];
  for (int level = first; level <= rrb->levels; level++) {
    const plane g = plane_of(rrb, (level - 1) / 2);
    launch(context, forward, count(g), g, level % 2 != 0);
  }
  const plane g = plane_of(rrb, last);
  launch(context, copy_out, count(g), g, groups_of(rrb, last), vector);
  karst_rrb_rest_solve_cuda(context, rrb);
  launch(context, copy_in, count(g), g, groups_of(rrb, last), vector);
  for (int level = rrb->levels; level >= first; level--) {
    const plane at = plane_of(rrb, (level - 1) / 2);
    launch(context, backward, count(at), at, level % 2 != 0);
  }
}

int64_t elements(const karst_rrb *rrb)
{
  const karst_index *size = rrb->shape[rrb->grouped].size;
  return rrb->grouped < rrb->grids ? ARRAYS * (int64_t)size[0] * size[1] : 0;
}

void spread_factors(karst_context *context, const karst_rrb *rrb)
{
  const karst_rrb_arrays *arrays = &karst_rrb_cuda_of(rrb)->arrays;
  const int p = KARST_RRB_PARTS;
  for (int m = rrb->grouped; m < rrb->grids; m++) {
    const plane g = plane_of(rrb, m);
    const grouped s = groups_of(rrb, m);
    const double *factor = static_cast<const double *>(arrays->factor[m]);
    if (m > 0)
      launch(context, spread, count(g), g, s, factor, make_int4(-1, 2 * p, 0, p));
    else {
      launch(context, spread, count(g), g, s, static_cast<const double *>(arrays->first), make_int4(-1, -1, 0, p));
      launch(context, spread, count(g), g, s, factor, make_int4(-1, 0, -1, -1));
      launch(context, spread_schur, count(g), g, s, static_cast<const double *>(arrays->schur));
    }
  }
}

void solve_grids(karst_context *context, const karst_rrb *rrb)
{
  const int m = rrb->grouped;
  const plane g = plane_of(rrb, m);
  double *vector = karst_rrb_cuda_of(rrb)->arrays.vector[m];
  launch(context, copy_in, count(g), g, groups_of(rrb, m), vector);
  solve_levels(context, rrb, 2 * m + 1);
  launch(context, copy_out, count(g), g, groups_of(rrb, m), vector);
}

void solve(karst_context *context, const karst_rrb *rrb, const double *r, double *z)
{
  launch(context, scatter, rrb->rows, rrb->rows, karst_rrb_cuda_of(rrb)->cell, r, left(rrb));
  solve_levels(context, rrb, 1);
  launch(context, gather, rrb->rows, rrb->rows, karst_rrb_cuda_of(rrb)->cell, left(rrb), z);
}

void enter(karst_context *context, const karst_rrb *rrb, const double *b, const double *x, double *reduced_b,
           double *reduced_x)
{
  const plane g = plane_of(rrb, 0);
  const karst_index *cell = karst_rrb_cuda_of(rrb)->cell;
  double *const none = NULL;
  cudaMemsetAsync(reduced_x, 0, (size_t)rrb->reduced * sizeof *reduced_x, karst_cuda_of(context)->stream);
  launch(context, scatter, rrb->rows, rrb->rows, cell, x, reduced_x);
  launch(context, merge, count(g), g, reduced_x, none, reduced_x);
  launch(context, scatter, rrb->rows, rrb->rows, cell, b, left(rrb));
  launch(context, forward, count(g), g, true);
  launch(context, merge, count(g), g, left(rrb), none, reduced_b);
}

void leave(karst_context *context, const karst_rrb *rrb, const double *b, const double *reduced_x, double *x)
{
  const plane g = plane_of(rrb, 0);
  const karst_index *cell = karst_rrb_cuda_of(rrb)->cell;
  launch(context, scatter, rrb->rows, rrb->rows, cell, b, left(rrb));
  launch(context, merge, count(g), g, reduced_x, left(rrb), left(rrb));
  launch(context, backward, count(g), g, true);
  launch(context, gather, rrb->rows, rrb->rows, cell, left(rrb), x);
}

void multiply_schur(karst_context *context, const karst_rrb *rrb, const double *x, double *y, double *dot)
{
  const plane g = plane_of(rrb, 0);
  launch(context, multiply, count(g), g, x, y);
  if (dot) karst_dots_cuda(context, rrb->reduced, 1, &x, y, dot);
}

void solve_reduced(karst_context *context, const karst_rrb *rrb, const double *r, double *z, double *dot)
{
  copy(context, rrb->reduced, r, left(rrb));
  solve_levels(context, rrb, 2);
  copy(context, rrb->reduced, left(rrb), z);
  if (dot) karst_dots_cuda(context, rrb->reduced, 1, &r, z, dot);
}

} // namespace

const karst_rrb_nodes_kernels karst_rrb_nodes_kernels_cuda = {elements, spread_factors, solve_grids,    solve,
                                                              enter,    leave,          multiply_schur, solve_reduced};
