/* team_worker.h - M + 1 lanes of a warp compute with blocks, M by M (block_worker.h). Lane j of a team holds column j
 * of each matrix; lane M holds the vectors. So a product a x needs a in shared memory, which the lanes read together,
 * and nothing else of other lanes. To solve, each lane eliminates the whole block B, without exchanges of rows, beside
 * its own columns: more arithmetic than if lanes shared it, but no waiting for one another. If a pivot is much smaller
 * than an entry below it, or too small, karst_tri_invert takes over.
 *
 * The lanes of a warp that are left over after the last whole team compute too, in a place of their own, and store
 * nothing. */
#ifndef KARST_GPU_TEAM_WORKER_H
#define KARST_GPU_TEAM_WORKER_H

#include "gpu/tridiagonal/block_worker.h"

template <typename T, int SIZE, int WHOLES = 3> struct karst_team_worker {
  static constexpr int M = SIZE;
  using number = T;
  struct matrix {
    T at[M];
  };
  struct augmented {
    T at[M];
  };
  struct whole {
    T *at; /* [M][COLUMN] shared memory */
  };
  static constexpr int m = M, LANES = M + 1, TEAMS = 32 / LANES, WARPS = 4;
  static constexpr int THREADS = 32 * WARPS, WORKERS = TEAMS * WARPS;
  static constexpr bool UNIFORM = true;
  /* Columns in shared memory are COLUMN apart: even if M is, for loads of two scalars, and spread over the banks. */
  static constexpr int COLUMN = M % 4 == 0 ? M + 2 : M, BLOCK = (M * COLUMN + 1) / 2 * 2;
  static constexpr int EACH = (2 + WHOLES) * BLOCK + 2 * (M + 1), PLACES = TEAMS + (32 % LANES > 0);
  static __host__ __device__ size_t shared(int) { return (size_t)WARPS * PLACES * EACH * sizeof(T); }
  static int64_t scratch(int) { return 0; }

  T *place; /* [EACH] shared memory: a block, its size, wholes, scales */
  int lane, wholes;

  __device__ karst_team_worker(int, T *) : wholes(0)
  {
    extern __shared__ double karst_tri_shared[];
    const int warp = (int)threadIdx.x / 32, t = (int)threadIdx.x % 32;
    lane = t % LANES;
    place = reinterpret_cast<T *>(karst_tri_shared) + (warp * PLACES + t / LANES) * EACH;
  }
  static __device__ int local()
  {
    const int t = (int)threadIdx.x % 32;
    return t / LANES < TEAMS ? (int)threadIdx.x / 32 * TEAMS + t / LANES : 1 << 30;
  }
  static __device__ int locals() { return (int)blockDim.x / 32 * TEAMS; }
  static __device__ int64_t index()
  {
    return local() < locals() ? (int64_t)blockIdx.x * locals() + local() : (int64_t)1 << 62;
  }
  __device__ bool first() const { return lane == 0; }

  static __device__ void take(matrix &) {}
  static __device__ void take(augmented &) {}
  __device__ void take(whole &a) { a.at = place + (2 + wholes++) * BLOCK; }

  __device__ void read(matrix &x, karst_tri_rows<const T> rows, int64_t g, bool there) const
  {
    const int j = lane < M ? lane : 0;
    const T *from = rows.at + g * rows.row + j * M * rows.element;
#pragma unroll
    for (int r = 0; r < M; r++) x.at[r] = there ? from[r * rows.element] : 0;
  }
  __device__ void read(whole &a, karst_tri_rows<const T> rows, int64_t g, bool there) const
  {
    matrix x;
    read(x, rows, g, there);
    spread(a, x);
  }
  __device__ void read(augmented &x, karst_tri_rows<const T> rows, karst_tri_rows<const T> vectors, int64_t g) const
  {
    const T *from = lane < M ? rows.at + g * rows.row + lane * M * rows.element : vectors.at + g * vectors.row;
    const int64_t step = lane < M ? rows.element : vectors.element;
#pragma unroll
    for (int r = 0; r < M; r++) x.at[r] = from[r * step];
  }
  template <typename X> __device__ void write_matrix(const X &x, karst_tri_rows<T> rows, int64_t g, bool live) const
  {
    if (!live || lane >= M) return;
    T *to = rows.at + g * rows.row + lane * M * rows.element;
#pragma unroll
    for (int r = 0; r < M; r++) to[r * rows.element] = x.at[r];
  }
  __device__ void write_vector(const augmented &x, karst_tri_rows<T> rows, int64_t g, bool live) const
  {
    if (!live || lane != M) return;
    T *to = rows.at + g * rows.row;
#pragma unroll
    for (int r = 0; r < M; r++) to[r * rows.element] = x.at[r];
  }

  static __device__ void zero(matrix &x)
  {
#pragma unroll
    for (int r = 0; r < M; r++) x.at[r] = 0;
  }
  static __device__ void zero(augmented &x)
  {
#pragma unroll
    for (int r = 0; r < M; r++) x.at[r] = 0;
  }
  template <typename X> __device__ void identity(X &x, T value) const
  {
#pragma unroll
    for (int r = 0; r < M; r++) x.at[r] = r == lane ? value : 0;
  }
  __device__ void zero_matrix(augmented &x) const
  {
#pragma unroll
    for (int r = 0; r < M; r++) x.at[r] = lane < M ? 0 : x.at[r];
  }
  template <typename X> __device__ void spread(whole &a, const X &x) const
  {
    __syncwarp();
    if (lane < M)
#pragma unroll
      for (int r = 0; r < M; r++) a.at[lane * COLUMN + r] = x.at[r];
    __syncwarp();
  }
  template <typename X> __device__ void subtract(X &z, const whole &a, const X &x) const
  {
#pragma unroll
    for (int k = 0; k < M; k++) {
      T column[M];
      load(column, a.at + k * COLUMN);
#pragma unroll
      for (int r = 0; r < M; r++) z.at[r] -= column[r] * x.at[k];
    }
  }
  /* In the other lanes it computes numbers that nobody uses. */
  __device__ void subtract_vector(augmented &y, const whole &a, const augmented &v) const
  {
#pragma unroll
    for (int k = 0; k < M; k++)
#pragma unroll
      for (int r = 0; r < M; r++) y.at[r] -= lane == M ? a.at[k * COLUMN + r] * v.at[k] : 0;
  }
  __device__ void read_vector(augmented &x, karst_tri_rows<const T> rows, int64_t g) const
  {
    const T *from = rows.at + g * rows.row;
#pragma unroll
    for (int r = 0; r < M; r++) x.at[r] = lane == M ? from[r * rows.element] : x.at[r];
  }
  template <typename X> static __device__ void add_size(matrix &size, const X &x)
  {
#pragma unroll
    for (int r = 0; r < M; r++) size.at[r] += fabs(x.at[r]);
  }
  template <typename X> static __device__ void keep(bool live, X &x, const X &y)
  {
#pragma unroll
    for (int r = 0; r < M; r++) x.at[r] = live ? y.at[r] : x.at[r];
  }

  template <bool SPIKE>
  __device__ karst_reason solve(const augmented &d, const matrix &size, const matrix &c, matrix &p, augmented &x) const
  {
    T *block = place, *sizes = place + BLOCK;
    T *row_scale = place + (2 + WHOLES) * BLOCK, *column_size = row_scale + M + 1;
    const int mine = lane < M ? lane : 0;
    T a[M][M], y[M], q[M];
    __syncwarp();
    if (lane < M)
#pragma unroll
      for (int r = 0; r < M; r++) {
        block[lane * COLUMN + r] = d.at[r];
        sizes[lane * COLUMN + r] = size.at[r];
      }
    __syncwarp();
    T largest = 0;
    bool finite = true;
#pragma unroll
    for (int j = 0; j < M; j++) {
      const T entry = sizes[j * COLUMN + mine];
      finite = finite && entry <= karst_tri_limits<T>::LARGEST;
      largest = fmax(largest, entry);
    }
    if (lane < M) row_scale[lane] = finite ? karst_tri_reciprocal(fmax(largest, karst_tri_limits<T>::LEAST)) : -1;
    __syncwarp();
    T own = 0;
    bool ordered = true, sound = true;
#pragma unroll
    for (int r = 0; r < M; r++) {
      const T scale = row_scale[r];
      finite = finite && scale >= 0;
      own = fmax(own, size.at[r] * scale);
    }
    if (lane < M) column_size[lane] = own;
    __syncwarp();
#pragma unroll
    for (int j = 0; j < M; j++) {
      T column[M];
      load(column, block + j * COLUMN);
#pragma unroll
      for (int r = 0; r < M; r++) a[r][j] = column[r];
    }
#pragma unroll
    for (int r = 0; r < M; r++) {
      y[r] = lane < M ? c.at[r] : d.at[r];
      q[r] = SPIKE ? p.at[r] : 0;
    }
#pragma unroll
    for (int k = 0; k < M; k++) {
      const T pivot = fabs(a[k][k]) * row_scale[k], inverse = karst_tri_reciprocal(a[k][k]);
      sound = sound && karst_tri_is_moderate(a[k][k]) && pivot > karst_tri_rounding<T>(M) * column_size[k];
#pragma unroll
      for (int r = k + 1; r < M; r++) ordered = ordered && fabs(a[r][k]) * row_scale[r] <= 4 * pivot;
      a[k][k] = inverse;
#pragma unroll
      for (int r = k + 1; r < M; r++) {
        const T factor = a[r][k] * inverse;
#pragma unroll
        for (int j = k + 1; j < M; j++) a[r][j] -= factor * a[k][j];
        y[r] -= factor * y[k];
        if (SPIKE) q[r] -= factor * q[k];
      }
    }
#pragma unroll
    for (int r = M - 1; r >= 0; r--) {
#pragma unroll
      for (int k = r + 1; k < M; k++) {
        y[r] -= a[r][k] * y[k];
        if (SPIKE) q[r] -= a[r][k] * q[k];
      }
      y[r] *= a[r][r];
      if (SPIKE) q[r] *= a[r][r];
    }
    karst_reason reason = finite ? KARST_SOUND : KARST_NOT_FINITE;
    const bool again = finite && !(sound && ordered);
    if (__any_sync(~0u, again) && again) reason = solve_again(block, sizes, lane < M ? c.at : d.at, p.at, y, q);
    __syncwarp();
#pragma unroll
    for (int r = 0; r < M; r++) {
      x.at[r] = y[r];
      if (SPIKE) p.at[r] = q[r];
    }
    return reason;
  }

  /* Loads a column from shared memory. */
  static __device__ __forceinline__ void load(T (&to)[M], const T *from)
  {
    if (M % 2 == 0) {
      karst_tri_load_pairs(to, from);
    } else {
#pragma unroll
      for (int r = 0; r < M; r++) to[r] = from[r];
    }
  }

private:
  static __device__ __noinline__ karst_reason solve_again(const T *block, const T *sizes, const T *c, const T *p, T *y,
                                                          T *q)
  {
    T a[M * M], size[M * M], inverse[M * M];
    for (int e = 0; e < M * M; e++) {
      a[e] = block[e / M * COLUMN + e % M];
      size[e] = sizes[e / M * COLUMN + e % M];
    }
    const karst_reason reason = karst_tri_invert<T, M>(a, size, inverse);
    for (int r = 0; r < M; r++) {
      T along = 0, across = 0;
      for (int k = 0; k < M; k++) {
        along += inverse[k * M + r] * c[k];
        across += inverse[k * M + r] * p[k];
      }
      y[r] = along;
      q[r] = across;
    }
    return reason;
  }
};

#endif
