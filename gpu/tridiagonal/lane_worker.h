/* lane_worker.h - one lane computes with whole blocks, M by M, in its registers (block_worker.h). */
#ifndef KARST_GPU_LANE_WORKER_H
#define KARST_GPU_LANE_WORKER_H

#include "gpu/tridiagonal/block_worker.h"

template <typename T, int SIZE> struct karst_lane_worker {
  static constexpr int M = SIZE;
  using number = T;
  struct matrix {
    T at[M * M];
  };
  struct augmented {
    T at[M * M + M];
  };
  using whole = matrix;
  static constexpr int m = M;

  static constexpr int THREADS = 128, WORKERS = 128; /* of a thread block */
  static constexpr int RESIDENT = 2;
  static constexpr bool UNIFORM = false; /* workers may take different numbers of steps */
  static __host__ __device__ size_t shared(int) { return 0; }
  static int64_t scratch(int) { return 0; }
  __device__ karst_lane_worker(int, T *) {}
  static __device__ int local() { return (int)threadIdx.x; }
  static __device__ int locals() { return (int)blockDim.x; }
  static __device__ bool first() { return true; }

  template <typename X> static __device__ void take(X &) {}

  static __device__ void expect(karst_tri_rows<const T>, int64_t) {}
  static __device__ void expect(karst_tri_rows<const T>, karst_tri_rows<const T>, int64_t) {}
  template <typename X> static __device__ void read_entries(X &x, karst_tri_rows<const T> rows, int64_t g, bool there)
  {
    const T *from = rows.at + g * rows.row;
#pragma unroll
    for (int e = 0; e < M * M; e++) x.at[e] = there ? from[e * rows.element] : 0;
  }
  static __device__ void read(matrix &x, karst_tri_rows<const T> rows, int64_t g, bool there)
  {
    read_entries(x, rows, g, there);
  }
  static __device__ void read(augmented &x, karst_tri_rows<const T> rows, karst_tri_rows<const T> vectors, int64_t g,
                              bool = true)
  {
    read_entries(x, rows, g, true);
    const T *from = vectors.at + g * vectors.row;
#pragma unroll
    for (int r = 0; r < M; r++) x.at[M * M + r] = from[r * vectors.element];
  }
  template <typename X> static __device__ void write_matrix(const X &x, karst_tri_rows<T> rows, int64_t g, bool live)
  {
    T *to = rows.at + g * rows.row;
    if (live)
#pragma unroll
      for (int e = 0; e < M * M; e++) to[e * rows.element] = x.at[e];
  }
  static __device__ void write_vector(const augmented &x, karst_tri_rows<T> rows, int64_t g, bool live)
  {
    T *to = rows.at + g * rows.row;
    if (live)
#pragma unroll
      for (int r = 0; r < M; r++) to[r * rows.element] = x.at[M * M + r];
  }

  template <typename X> static __device__ void zero(X &x)
  {
#pragma unroll
    for (int e = 0; e < (int)(sizeof x.at / sizeof *x.at); e++) x.at[e] = 0;
  }
  template <typename X> static __device__ void identity(X &x, T value)
  {
    zero(x);
#pragma unroll
    for (int r = 0; r < M; r++) x.at[r * M + r] = value;
  }
  static __device__ void zero_matrix(augmented &x)
  {
#pragma unroll
    for (int e = 0; e < M * M; e++) x.at[e] = 0;
  }
  template <typename X> static __device__ void spread(whole &a, const X &x)
  {
#pragma unroll
    for (int e = 0; e < M * M; e++) a.at[e] = x.at[e];
  }
  template <typename X> static __device__ void subtract(X &z, const whole &a, const X &x)
  {
#pragma unroll
    for (int j = 0; j < (int)(sizeof x.at / sizeof *x.at) / M; j++)
#pragma unroll
      for (int k = 0; k < M; k++)
#pragma unroll
        for (int r = 0; r < M; r++) z.at[j * M + r] -= a.at[k * M + r] * x.at[j * M + k];
  }
  /* y -= a v for the vectors alone */
  static __device__ void subtract_vector(augmented &y, const whole &a, const augmented &v)
  {
#pragma unroll
    for (int k = 0; k < M; k++)
#pragma unroll
      for (int r = 0; r < M; r++) y.at[M * M + r] -= a.at[k * M + r] * v.at[M * M + k];
  }
  static __device__ void read_vector(augmented &x, karst_tri_rows<const T> rows, int64_t g)
  {
    const T *from = rows.at + g * rows.row;
#pragma unroll
    for (int r = 0; r < M; r++) x.at[M * M + r] = from[r * rows.element];
  }
  template <typename X> static __device__ void set_size(matrix &size, const X &x)
  {
#pragma unroll
    for (int e = 0; e < M * M; e++) size.at[e] = fabs(x.at[e]);
  }
  template <typename X> static __device__ void add_size(matrix &size, const X &x)
  {
#pragma unroll
    for (int e = 0; e < M * M; e++) size.at[e] += fabs(x.at[e]);
  }
  template <typename X> static __device__ void keep(bool live, X &x, const X &y)
  {
#pragma unroll
    for (int e = 0; e < (int)(sizeof x.at / sizeof *x.at); e++) x.at[e] = live ? y.at[e] : x.at[e];
  }

  /* Without exchanges of rows. Pivots must stand well above the sizes in their rows, so that they stand in any order of
   * rows, and no row may be subtracted many times; else solve_again decides. */
  template <bool SPIKE>
  static __device__ karst_reason solve(const augmented &d, const matrix &size, const matrix &c, matrix &p, augmented &x)
  {
    constexpr int COLUMNS = SPIKE ? 2 * M + 1 : M + 1;
    constexpr T SMALL = sizeof(T) == sizeof(float) ? (T)0x1p-5 : (T)0x1p-10, LARGE = 4;
    if (M == 1) return divide<SPIKE>(d, size, c, p, x);
    T a[M][M], y[M][COLUMNS];
    bool sound = true;
#pragma unroll
    for (int r = 0; r < M; r++) {
#pragma unroll
      for (int j = 0; j < M; j++) {
        a[r][j] = d.at[j * M + r];
        y[r][j] = c.at[j * M + r];
        if (SPIKE) y[r][M + 1 + j] = p.at[j * M + r];
      }
      y[r][M] = d.at[M * M + r];
    }
#pragma unroll
    for (int k = 0; k < M; k++) {
      T sizes = size.at[k];
#pragma unroll
      for (int j = 1; j < M; j++) sizes += size.at[j * M + k];
      const T inverse = karst_tri_reciprocal(a[k][k]);
      sound = sound && fabs(a[k][k]) > SMALL * sizes && karst_tri_is_moderate(a[k][k]);
      a[k][k] = inverse;
#pragma unroll
      for (int r = k + 1; r < M; r++) {
        const T factor = a[r][k] * inverse;
        sound = sound && fabs(factor) <= LARGE;
#pragma unroll
        for (int j = k + 1; j < M; j++) a[r][j] -= factor * a[k][j];
#pragma unroll
        for (int j = 0; j < COLUMNS; j++) y[r][j] -= factor * y[k][j];
      }
    }
#pragma unroll
    for (int r = M - 1; r >= 0; r--)
#pragma unroll
      for (int j = 0; j < COLUMNS; j++) {
#pragma unroll
        for (int k = r + 1; k < M; k++) y[r][j] -= a[r][k] * y[k][j];
        y[r][j] *= a[r][r];
      }
    matrix q;
#pragma unroll
    for (int r = 0; r < M; r++) {
#pragma unroll
      for (int j = 0; j < M; j++) {
        x.at[j * M + r] = y[r][j];
        q.at[j * M + r] = SPIKE ? y[r][M + 1 + j] : 0;
      }
      x.at[M * M + r] = y[r][M];
    }
    karst_reason reason = KARST_SOUND;
    if (!sound) { /* what a function that is not inlined sees is in memory: copies, so that nothing else is */
      const augmented own_d = d;
      const matrix own_size = size, own_c = c, own_p = SPIKE ? p : c;
      augmented own_x;
      matrix own_q;
      reason = solve_again(own_d, own_size, own_c, own_p, own_q, own_x);
      x = own_x, q = own_q;
    }
    if (SPIKE) p = q;
    return reason;
  }

private:
  /* A block of one number. */
  template <bool SPIKE>
  static __device__ __forceinline__ karst_reason divide(const augmented &d, const matrix &size, const matrix &c,
                                                        matrix &p, augmented &x)
  {
    const T a = d.at[0], inverse = karst_tri_is_moderate(a) ? karst_tri_reciprocal(a) : 1 / a;
    x.at[0] = c.at[0] * inverse;
    x.at[1] = d.at[1] * inverse;
    if (SPIKE) p.at[0] *= inverse;
    if (!(size.at[0] <= karst_tri_limits<T>::LARGEST)) return KARST_NOT_FINITE;
    return fabs(a) > karst_tri_rounding<T>(1) * size.at[0] && fabs(inverse) <= karst_tri_limits<T>::LARGEST
               ? KARST_SOUND
               : KARST_SINGULAR_BLOCK;
  }

  static __device__ __noinline__ karst_reason solve_again(const augmented &d, const matrix &size, const matrix &c,
                                                          const matrix &p, matrix &new_p, augmented &x)
  {
    T inverse[M * M];
    const karst_reason reason = karst_tri_invert<T, M>(d.at, size.at, inverse);
    for (int r = 0; r < M; r++) {
      T sum = 0;
      for (int k = 0; k < M; k++) sum += inverse[k * M + r] * d.at[M * M + k];
      x.at[M * M + r] = sum;
      for (int j = 0; j < M; j++) {
        T along = 0, across = 0;
        for (int k = 0; k < M; k++) {
          along += inverse[k * M + r] * c.at[j * M + k];
          across += inverse[k * M + r] * p.at[j * M + k];
        }
        x.at[j * M + r] = along;
        new_p.at[j * M + r] = across;
      }
    }
    return reason;
  }
};

#endif
