/* lane_tile.h - the rows of a warp in shared memory, for lanes that take up to R rows each (lanes.h).
 *
 * The rows of the lanes follow one another in memory, and a warp copies them as they lie there. R rows make a chunk, of
 * which there is one for each lane:
 *
 *     a of R rows | b of R rows | c of R rows | f of R rows | perhaps one scalar that is not used
 *
 * with the layout of the batch in each of the four. A chunk has an odd number of scalars, so that lanes that read the
 * same element R rows apart use different banks. A lane's rows are those of its chunk, unless systems of a number of
 * rows that is no multiple of R share the warp. */
#ifndef KARST_GPU_TRIDIAGONAL_LANE_TILE_H
#define KARST_GPU_TRIDIAGONAL_LANE_TILE_H

#include "gpu/queue.h"
#include "gpu/tridiagonal/tridiagonal_cuda.h"

/* The first rows of systems among the rows of a warp, or the last ones: rows that have no a, or no c. Row i of the warp
 * is one if a number of rows divides i + shift, which is so if their product with inverse, 2^32 divided by that number
 * and rounded up, is less than inverse in 32 bits (Lemire, Kaser and Kurz, Faster remainder by direct computation, 2019).
 */
struct karst_tri_breaks {
  int first; /* more than any row of the warp if there is none */
  unsigned inverse, begin;

  /* row: in 0..rows, the place in its system of the warp's first row, for first rows, or of the row after it, for last
   * rows. rows: of a system. */
  __device__ karst_tri_breaks(int64_t row, int64_t rows)
  {
    enum { FAR = 1 << 14 }; /* more rows than a warp has */
    const int64_t ahead = row > 0 ? rows - row : 0;
    const unsigned period = rows < FAR ? (unsigned)rows : (unsigned)FAR;
    first = ahead < FAR ? (int)ahead : (int)FAR;
    inverse = ~0u / period + 1;
    begin = (period - (unsigned)first) * inverse;
  }
  __device__ __forceinline__ bool all() const { return inverse == 0; }
  __device__ __forceinline__ bool has(unsigned i) const { return begin + i * inverse < inverse; }
};

__host__ __device__ constexpr int karst_tri_divisor(int a, int b) { return b == 0 ? a : karst_tri_divisor(b, a % b); }

/* A row of a tile: where the elements of its blocks begin, and those of its vectors. */
template <typename T> struct karst_tri_tile_row {
  T *square, *vector;
};

template <typename T, int M, int R, bool AOS> struct karst_tri_tile {
  static constexpr int SQUARE = M * M;
  static constexpr int STRIDE = (R * (3 * SQUARE + M)) | 1; /* scalars of a chunk */
  static constexpr int LOWER = 0, DIAGONAL = R * SQUARE, UPPER = 2 * R * SQUARE, RIGHT = 3 * R * SQUARE;
  static constexpr int STEP = AOS ? 1 : R; /* from one element of a row to the next */

  T *chunks; /* of the warp */
  int rows;  /* of its lanes together */

  /* Row i of the warp's. */
  __device__ __forceinline__ karst_tri_tile_row<T> row(unsigned i) const
  {
    T *const chunk = chunks + i / R * STRIDE;
    return {chunk + i % R * (AOS ? SQUARE : 1), chunk + i % R * (AOS ? M : 1)};
  }
  template <int ARRAY, typename X> static __device__ __forceinline__ void read(X &x, const karst_tri_tile_row<T> &from)
  {
#pragma unroll
    for (int e = 0; e < SQUARE; e++) x.at[e] = from.square[ARRAY + e * STEP];
  }
  template <int ARRAY, typename X>
  static __device__ __forceinline__ void write(const X &x, const karst_tri_tile_row<T> &to)
  {
#pragma unroll
    for (int e = 0; e < SQUARE; e++) to.square[ARRAY + e * STEP] = x.at[e];
  }
  template <typename X> static __device__ __forceinline__ void read_vector(X &x, const karst_tri_tile_row<T> &from)
  {
#pragma unroll
    for (int r = 0; r < M; r++) x.at[SQUARE + r] = from.vector[RIGHT + r * STEP];
  }
  template <typename X> static __device__ __forceinline__ void write_vector(const X &x, const karst_tri_tile_row<T> &to)
  {
#pragma unroll
    for (int r = 0; r < M; r++) to.vector[RIGHT + r * STEP] = x.at[SQUARE + r];
  }

  /* Calls f for each scalar of an array of ENTRIES a row that is the lane's to copy: with its place in the chunks, the
   * entry (0 in AOS), its place after the lane's first one in the array, its row, and whether it is there. The places in
   * the chunks repeat after a whole number of chunks. */
  template <int ENTRIES, typename F> __device__ __forceinline__ void each(int array, F f) const
  {
    constexpr int ARRAYS = AOS ? 1 : ENTRIES, WIDTH = ENTRIES / ARRAYS, CHUNK = R * WIDTH;
    constexpr int TIMES = karst_tri_divisor(CHUNK, 32), PERIOD = CHUNK / TIMES;
    const unsigned lane = threadIdx.x % 32;
    const int left = rows * WIDTH - (int)lane;
    T *place[PERIOD];
    unsigned row[PERIOD];
#pragma unroll
    for (int q = 0; q < PERIOD; q++) {
      const unsigned number = q * 32 + lane;
      place[q] = chunks + array + number / CHUNK * STRIDE + number % CHUNK;
      row[q] = number / WIDTH;
    }
#pragma unroll
    for (int k = 0; k < ARRAYS; k++)
#pragma unroll
      for (int j = 0; j < CHUNK; j++) {
        const int whole = j / PERIOD, q = j % PERIOD;
        f(place[q] + whole * (32 / TIMES) * STRIDE + k * R, k, j * 32, row[q] + whole * (32 / TIMES) * R,
          left > j * 32);
      }
  }
  template <int ENTRIES> __device__ __forceinline__ void load(int array, karst_tri_rows<const T> from, int64_t g) const
  {
    const T *const mine = from.at + g * from.row + (int)threadIdx.x % 32;
    each<ENTRIES>(array, [&](T *to, int k, int at, unsigned, bool there) {
      karst_queue_number(to, there, mine + k * from.element + at);
    });
  }
  /* The same without the rows that are breaks. */
  template <int ENTRIES>
  __device__ __forceinline__ void load(int array, karst_tri_rows<const T> from, int64_t g,
                                       const karst_tri_breaks &breaks) const
  {
    if (breaks.first >= rows) return load<ENTRIES>(array, from, g);
    if (breaks.all()) return;
    const T *const mine = from.at + g * from.row + (int)threadIdx.x % 32;
    each<ENTRIES>(array, [&](T *to, int k, int at, unsigned row, bool there) {
      karst_queue_number(to, there & !breaks.has(row), mine + k * from.element + at);
    });
  }
  /* Stores the vectors. */
  __device__ __forceinline__ void store(karst_tri_rows<T> to, int64_t g) const
  {
    T *const mine = to.at + g * to.row + (int)threadIdx.x % 32;
    each<M>(RIGHT, [&](const T *from, int k, int at, unsigned, bool there) {
      if (there) mine[k * to.element + at] = *from;
    });
  }
};

#endif
