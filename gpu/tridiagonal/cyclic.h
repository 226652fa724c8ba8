/* cyclic.h - cyclic reduction (CR), parallel cyclic reduction (PCR) and their hybrid: a thread block takes a few whole
 * systems, in shared memory, or in global memory for blocks of any size. After Stone et al., AIAA 2011-3221, equations
 * (2) and (3), with c' = -c_k b_(k+delta)^-1 c_(k+delta) in (3), where the paper misprints.
 *
 * The rows that are left at distance delta are k = delta (t + 1) - 1, t = 0, 1, ... CR eliminates those with even t:
 * they are divided by their diagonal blocks, and subtracted from their neighbours. At the end each finds its unknowns
 * from those of its neighbours. When few rows are left, PCR eliminates in each of them its neighbours at distance 1, 2,
 * 4, ... of these, until no row has a neighbour. Its rows are divided by their diagonal blocks, u_t + A u_(t-e) + C
 * u_(t+e) = F, so that a step inverts a block a row. CR alone has PCR for the last row. */
#ifndef KARST_GPU_TRIDIAGONAL_CYCLIC_H
#define KARST_GPU_TRIDIAGONAL_CYCLIC_H

#include "gpu/tridiagonal/pieces.h"

/* The records of a thread block. */
template <typename T> struct karst_tri_records {
  karst_tri_rows<T> A, B, C, F, size;            /* of CR */
  karst_tri_rows<T> left[2], right[2], known[2]; /* A, C and F of PCR, before and after a step */

  __device__ karst_tri_records(T *memory, int m, int64_t rows, const karst_tri_layout &layout)
  {
    const int64_t square = (int64_t)m * m;
    A = {memory, 1, layout.record};
    B = {memory + square, 1, layout.record};
    C = {memory + 2 * square, 1, layout.record};
    F = {memory + 3 * square, 1, layout.record};
    size = {memory + 3 * square + m, 1, layout.record};
    memory += layout.parallel < rows ? layout.per * rows * layout.record : 0;
    for (int i = 0; i < 2; i++) {
      left[i] = {memory, 1, layout.reduced};
      right[i] = {memory + square, 1, layout.reduced};
      known[i] = {memory + 2 * square, 1, layout.reduced};
      memory += layout.per * layout.parallel * layout.reduced;
    }
  }
};

/* What a worker needs. */
template <class K> struct karst_tri_desk {
  typename K::matrix P, C, size, other;
  typename K::augmented D, X, Y;
  typename K::whole A;

  __device__ explicit karst_tri_desk(K &k)
  {
    k.take(P), k.take(C), k.take(size), k.take(other), k.take(D), k.take(X), k.take(Y), k.take(A);
  }
};

/* Item number i of those that the systems of a thread block have, count of each. */
struct karst_tri_item {
  int64_t system, i; /* system: of the thread block */
  bool live;
};
static __device__ __forceinline__ karst_tri_item karst_tri_item_of(int64_t item, int64_t count, int64_t systems)
{
  const bool live = item < systems * count;
  const int64_t at = live ? item : systems * count - 1;
  return {at / count, at % count, live};
}

/* Whether a worker leaves out the item that it was given, because it is another one's. Workers of a warp that need one
 * another leave theirs out only together. Those whose item is not live read nothing that its owner may be writing. */
template <class K> static __device__ __forceinline__ bool karst_tri_rests(bool live)
{
  return K::UNIFORM ? !__any_sync(~0u, live) : !live;
}

/* Copies systems to the records of CR. The blocks outside of a system are zero. */
template <class K, typename T>
static __device__ void karst_tri_load_records(const K &k, karst_tri_desk<K> &d, const karst_tri_systems<T> &s,
                                              int64_t first, int64_t systems, const karst_tri_records<T> &at)
{
  for (int64_t base = 0; base < systems * s.rows; base += k.locals()) {
    const karst_tri_item item = karst_tri_item_of(base + k.local(), s.rows, systems);
    if (karst_tri_rests<K>(item.live)) continue;
    const int64_t to = item.system * s.rows + item.i, g = first * s.rows + to;
    k.read(d.P, s.lower, g, item.i > 0);
    k.write_matrix(d.P, at.A, to, item.live);
    k.read(d.P, s.upper, g, item.i < s.rows - 1);
    k.write_matrix(d.P, at.C, to, item.live);
    karst_tri_read_diagonal(k, s, g, d.D, d.size);
    k.write_matrix(d.D, at.B, to, item.live);
    k.write_vector(d.D, at.F, to, item.live);
    k.write_matrix(d.size, at.size, to, item.live);
  }
}

/* Divides the rows with even t by their diagonal blocks. */
template <class K, typename T>
static __device__ void karst_tri_divide(const K &k, karst_tri_desk<K> &d, const karst_tri_systems<T> &s, int64_t first,
                                        int64_t systems, const karst_tri_records<T> &at, int64_t distance, int step)
{
  const int64_t count = (s.rows / distance + 1) / 2;
  for (int64_t base = 0; base < systems * count; base += k.locals()) {
    const karst_tri_item item = karst_tri_item_of(base + k.local(), count, systems);
    if (karst_tri_rests<K>(item.live)) continue;
    const int64_t row = distance * (2 * item.i + 1) - 1, to = item.system * s.rows + row;
    k.read(d.D, karst_tri_const(at.B), karst_tri_const(at.F), to, item.live);
    k.read(d.size, karst_tri_const(at.size), to, item.live);
    k.read(d.P, karst_tri_const(at.A), to, item.live);
    k.read(d.C, karst_tri_const(at.C), to, item.live);
    const karst_reason reason = k.template solve<true>(d.D, d.size, d.C, d.P, d.X);
    if (reason != KARST_SOUND && item.live && k.first()) karst_tri_record(s, first + item.system, row, step, reason);
    k.write_matrix(d.P, at.A, to, item.live);
    k.write_matrix(d.X, at.C, to, item.live);
    k.write_vector(d.X, at.F, to, item.live);
  }
}

/* Eliminates the neighbours of the rows with odd t. */
template <class K, typename T>
static __device__ void karst_tri_eliminate_neighbours(const K &k, karst_tri_desk<K> &d, const karst_tri_systems<T> &s,
                                                      int64_t systems, const karst_tri_records<T> &at, int64_t distance)
{
  const int64_t count = s.rows / distance / 2;
  for (int64_t base = 0; base < systems * count; base += k.locals()) {
    const karst_tri_item item = karst_tri_item_of(base + k.local(), count, systems);
    if (karst_tri_rests<K>(item.live)) continue;
    const int64_t row = 2 * distance * (item.i + 1) - 1, to = item.system * s.rows + row, before = to - distance;
    const bool there = row + distance < s.rows;
    const int64_t after = there ? to + distance : to;
    k.read(d.D, karst_tri_const(at.B), karst_tri_const(at.F), to, item.live);
    k.read(d.size, karst_tri_const(at.size), to, item.live);
    k.read(d.A, karst_tri_const(at.A), to, item.live);
    k.read(d.X, karst_tri_const(at.C), karst_tri_const(at.F), before);
    k.subtract(d.D, d.A, d.X);
    k.add_size(d.size, d.D);
    k.read(d.C, karst_tri_const(at.A), before, true);
    k.zero(d.P);
    k.subtract(d.P, d.A, d.C);
    k.write_matrix(d.P, at.A, to, item.live);
    k.read(d.A, karst_tri_const(at.C), to, there && item.live);
    k.read(d.X, karst_tri_const(at.A), karst_tri_const(at.F), after, there);
    k.subtract(d.D, d.A, d.X);
    k.add_size(d.size, d.D);
    k.read(d.C, karst_tri_const(at.C), after, there);
    k.zero(d.P);
    k.subtract(d.P, d.A, d.C);
    k.write_matrix(d.P, at.C, to, item.live);
    k.write_matrix(d.D, at.B, to, item.live);
    k.write_vector(d.D, at.F, to, item.live);
    k.write_matrix(d.size, at.size, to, item.live);
  }
}

/* Finds the unknowns of the rows with even t. */
template <class K, typename T>
static __device__ void karst_tri_substitute(const K &k, karst_tri_desk<K> &d, const karst_tri_systems<T> &s,
                                            int64_t systems, const karst_tri_records<T> &at, int64_t distance)
{
  const int64_t count = (s.rows / distance + 1) / 2;
  for (int64_t base = 0; base < systems * count; base += k.locals()) {
    const karst_tri_item item = karst_tri_item_of(base + k.local(), count, systems);
    if (karst_tri_rests<K>(item.live)) continue;
    const int64_t row = distance * (2 * item.i + 1) - 1, to = item.system * s.rows + row;
    const bool before = row >= distance, after = row + distance < s.rows;
    k.zero(d.D), k.zero(d.X), k.zero(d.Y);
    if (item.live) k.read_vector(d.D, karst_tri_const(at.F), to);
    if (before) k.read_vector(d.X, karst_tri_const(at.F), to - distance);
    if (after) k.read_vector(d.Y, karst_tri_const(at.F), to + distance);
    k.read(d.A, karst_tri_const(at.A), to, before);
    k.subtract_vector(d.D, d.A, d.X);
    k.read(d.A, karst_tri_const(at.C), to, after);
    k.subtract_vector(d.D, d.A, d.Y);
    k.write_vector(d.D, at.F, to, item.live);
  }
}

/* Divides the rows that are left by their diagonal blocks, for PCR. They come from the records of CR or, if PCR takes
 * all rows, from the systems. */
template <class K, typename T>
static __device__ void karst_tri_enter(const K &k, karst_tri_desk<K> &d, const karst_tri_systems<T> &s, int64_t first,
                                       int64_t systems, const karst_tri_records<T> &at, int64_t distance, int step)
{
  const int64_t count = s.rows / distance;
  for (int64_t base = 0; base < systems * count; base += k.locals()) {
    const karst_tri_item item = karst_tri_item_of(base + k.local(), count, systems);
    if (karst_tri_rests<K>(item.live)) continue;
    const int64_t row = distance * (item.i + 1) - 1, from = item.system * s.rows + row,
                  to = item.system * count + item.i;
    if (distance > 1) {
      k.read(d.D, karst_tri_const(at.B), karst_tri_const(at.F), from);
      k.read(d.size, karst_tri_const(at.size), from, true);
      k.read(d.P, karst_tri_const(at.A), from, item.i > 0);
      k.read(d.C, karst_tri_const(at.C), from, item.i < count - 1);
    } else {
      karst_tri_read_diagonal(k, s, first * s.rows + from, d.D, d.size);
      k.read(d.P, s.lower, first * s.rows + from, item.i > 0);
      k.read(d.C, s.upper, first * s.rows + from, item.i < count - 1);
    }
    const karst_reason reason = k.template solve<true>(d.D, d.size, d.C, d.P, d.X);
    if (reason != KARST_SOUND && item.live && k.first()) karst_tri_record(s, first + item.system, row, step, reason);
    k.write_matrix(d.P, at.left[0], to, item.live);
    k.write_matrix(d.X, at.right[0], to, item.live);
    k.write_vector(d.X, at.known[0], to, item.live);
  }
}

/* A step of PCR from records in to records 1 - in. */
template <class K, typename T>
static __device__ void karst_tri_double(const K &k, karst_tri_desk<K> &d, const karst_tri_systems<T> &s, int64_t first,
                                        int64_t systems, const karst_tri_records<T> &at, int64_t distance,
                                        int64_t reach, int in, int step)
{
  const int64_t count = s.rows / distance;
  const karst_tri_rows<const T> left = karst_tri_const(at.left[in]), right = karst_tri_const(at.right[in]),
                                known = karst_tri_const(at.known[in]);
  for (int64_t base = 0; base < systems * count; base += k.locals()) {
    const karst_tri_item item = karst_tri_item_of(base + k.local(), count, systems);
    if (karst_tri_rests<K>(item.live)) continue;
    const int64_t to = item.system * count + item.i;
    const bool before = item.i >= reach, after = item.i + reach < count;
    const int64_t l = before ? to - reach : to, r = after ? to + reach : to;
    k.identity(d.D, 1), k.zero(d.size);
    k.read_vector(d.D, known, to);
    k.add_size(d.size, d.D);
    k.read(d.A, left, to, before);
    k.read(d.X, right, known, l);
    k.subtract(d.D, d.A, d.X);
    k.add_size(d.size, d.D);
    k.read(d.C, left, l, before);
    k.zero(d.P);
    k.subtract(d.P, d.A, d.C);
    k.read(d.A, right, to, after);
    k.read(d.X, left, known, r);
    k.subtract(d.D, d.A, d.X);
    k.add_size(d.size, d.D);
    k.read(d.other, right, r, after);
    k.zero(d.C);
    k.subtract(d.C, d.A, d.other);
    const karst_reason reason = k.template solve<true>(d.D, d.size, d.C, d.P, d.X);
    if (reason != KARST_SOUND && item.live && k.first())
      karst_tri_record(s, first + item.system, distance * (item.i + 1) - 1, step, reason);
    k.write_matrix(d.P, at.left[1 - in], to, item.live);
    k.write_matrix(d.X, at.right[1 - in], to, item.live);
    k.write_vector(d.X, at.known[1 - in], to, item.live);
  }
}

/* Copies the unknowns that PCR found to the records of CR and to the solution. */
template <class K, typename T>
static __device__ void karst_tri_leave(const K &k, karst_tri_desk<K> &d, const karst_tri_systems<T> &s, int64_t first,
                                       int64_t systems, const karst_tri_records<T> &at, int64_t distance, int in)
{
  const int64_t count = s.rows / distance;
  for (int64_t base = 0; base < systems * count; base += k.locals()) {
    const karst_tri_item item = karst_tri_item_of(base + k.local(), count, systems);
    if (karst_tri_rests<K>(item.live)) continue;
    const int64_t to = item.system * s.rows + distance * (item.i + 1) - 1;
    k.zero(d.D);
    k.read_vector(d.D, karst_tri_const(at.known[in]), item.system * count + item.i);
    if (distance > 1) k.write_vector(d.D, at.F, to, item.live);
    if (distance == 1) k.write_vector(d.D, s.solution, first * s.rows + to, item.live);
  }
}

/* memory: of all thread blocks; NULL: shared memory, after the workers' own. */
template <class K, typename T = typename K::number>
__global__ void __launch_bounds__(K::THREADS)
    karst_tri_cyclic(karst_tri_systems<T> s, karst_tri_layout layout, T *memory, T *scratch)
{
  extern __shared__ double karst_tri_shared[];
  K k(s.m, scratch);
  karst_tri_desk<K> d(k);
  T *mine = memory ? memory + blockIdx.x * layout.scalars
                   : reinterpret_cast<T *>(karst_tri_shared) + K::shared(s.m) / sizeof(T);
  const karst_tri_records<T> at(mine, s.m, s.rows, layout);
#pragma unroll 1
  for (int64_t first = blockIdx.x * layout.per; first < s.systems; first += gridDim.x * layout.per) {
    const int64_t systems = s.systems - first < layout.per ? s.systems - first : layout.per;
    int64_t distance = 1;
    int step = 0, in = 0;
    if (layout.parallel < s.rows) karst_tri_load_records(k, d, s, first, systems, at);
    for (; s.rows / distance > layout.left; distance *= 2) {
      __syncthreads();
      karst_tri_divide(k, d, s, first, systems, at, distance, step++);
      __syncthreads();
      karst_tri_eliminate_neighbours(k, d, s, systems, at, distance);
    }
    __syncthreads();
    karst_tri_enter(k, d, s, first, systems, at, distance, step++);
    for (int64_t reach = 1; reach < s.rows / distance; reach *= 2, in = 1 - in) {
      __syncthreads();
      karst_tri_double(k, d, s, first, systems, at, distance, reach, in, step++);
    }
    __syncthreads();
    karst_tri_leave(k, d, s, first, systems, at, distance, in);
    const bool copies = distance > 1;
    while (distance > 1) {
      distance /= 2;
      __syncthreads();
      karst_tri_substitute(k, d, s, systems, at, distance);
    }
    __syncthreads();
    for (int64_t base = 0; base < systems * s.rows && copies; base += k.locals()) {
      const karst_tri_item item = karst_tri_item_of(base + k.local(), s.rows, systems);
      if (karst_tri_rests<K>(item.live)) continue;
      const int64_t from = item.system * s.rows + item.i;
      k.zero(d.D);
      k.read_vector(d.D, karst_tri_const(at.F), from);
      k.write_vector(d.D, s.solution, first * s.rows + from, item.live);
    }
    __syncthreads();
  }
}

#endif
