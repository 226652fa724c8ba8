/* group_worker.h - a thread block computes with blocks of any size m, in global memory (block_worker.h). */
#ifndef KARST_GPU_GROUP_WORKER_H
#define KARST_GPU_GROUP_WORKER_H

#include "gpu/block_inverse.h"
#include "gpu/tridiagonal/block_worker.h"

/* A block whose entries are as exact as those of a batch (karst_tridiagonal_coarseness). */
struct karst_block_of_batch : karst_block_in_memory {
  double coarseness;

  __device__ karst_block_of_batch(int width, double *block, const double *same, const double *size, bool single,
                                  void *shared)
      : karst_block_in_memory(width, block, width, same, size, shared), coarseness(karst_tridiagonal_coarseness(single))
  {
  }
  __device__ bool measure(int attempt)
  {
    const bool regular = karst_block_in_memory::measure(attempt);
    for (int c = (int)threadIdx.x; c < b && regular; c += (int)blockDim.x) column_size[c] *= coarseness;
    __syncthreads();
    return regular;
  }
};

template <typename T> struct karst_group_worker {
  static constexpr int M = 0;
  using number = T;
  struct matrix {
    T *at;
  };
  struct augmented {
    T *at;
  };
  using whole = matrix;

  static constexpr int THREADS = 128, WORKERS = 1;
  static constexpr int RESIDENT = 4;
  static constexpr bool UNIFORM = false;
  enum { MATRICES = 16, INVERSES = 4 };
  static __host__ __device__ size_t shared(int m) { return karst_cuda_invert_shared(m); }
  /* Scalars of T in global memory for each thread block. */
  static __host__ __device__ int64_t scratch(int m)
  {
    return (int64_t)MATRICES * m * (m + 1) + (int64_t)INVERSES * m * m * (int64_t)(sizeof(double) / sizeof(T));
  }

  int m;
  double *inverse; /* [INVERSES m m] */
  T *next;

  __device__ karst_group_worker(int size, T *memory) : m(size)
  {
    T *mine = memory + blockIdx.x * scratch(size);
    inverse = reinterpret_cast<double *>(mine);
    next = mine + (int64_t)INVERSES * size * size * (int64_t)(sizeof(double) / sizeof(T));
  }
  static __device__ int local() { return 0; }
  static __device__ int locals() { return 1; }
  static __device__ bool first() { return threadIdx.x == 0; }

  __device__ void take(matrix &x)
  {
    x.at = next;
    next += m * (m + 1);
  }
  __device__ void take(augmented &x)
  {
    x.at = next;
    next += m * (m + 1);
  }

  template <typename F> __device__ void each(int count, F f) const
  {
    __syncthreads();
    for (int e = (int)threadIdx.x; e < count; e += (int)blockDim.x) f(e);
    __syncthreads();
  }
  static __device__ void expect(karst_tri_rows<const T>, int64_t) {}
  static __device__ void expect(karst_tri_rows<const T>, karst_tri_rows<const T>, int64_t) {}
  __device__ void read(matrix &x, karst_tri_rows<const T> rows, int64_t g, bool there) const
  {
    each(m * m, [&](int e) { x.at[e] = there ? rows.at[g * rows.row + e * rows.element] : 0; });
  }
  __device__ void read(augmented &x, karst_tri_rows<const T> rows, karst_tri_rows<const T> vectors, int64_t g,
                       bool = true) const
  {
    each(m * m + m, [&](int e) {
      x.at[e] = e < m * m ? rows.at[g * rows.row + e * rows.element]
                          : vectors.at[g * vectors.row + (e - m * m) * vectors.element];
    });
  }
  template <typename X> __device__ void write_matrix(const X &x, karst_tri_rows<T> rows, int64_t g, bool live) const
  {
    each(live ? m * m : 0, [&](int e) { rows.at[g * rows.row + e * rows.element] = x.at[e]; });
  }
  __device__ void write_vector(const augmented &x, karst_tri_rows<T> rows, int64_t g, bool live) const
  {
    each(live ? m : 0, [&](int r) { rows.at[g * rows.row + r * rows.element] = x.at[m * m + r]; });
  }
  __device__ void zero(matrix &x) const
  {
    each(m * m, [&](int e) { x.at[e] = 0; });
  }
  __device__ void zero(augmented &x) const
  {
    each(m * m + m, [&](int e) { x.at[e] = 0; });
  }
  __device__ void identity(matrix &x, T value) const
  {
    each(m * m, [&](int e) { x.at[e] = e / m == e % m ? value : 0; });
  }
  __device__ void identity(augmented &x, T value) const
  {
    each(m * m + m, [&](int e) { x.at[e] = e / m == e % m ? value : 0; });
  }
  __device__ void zero_matrix(augmented &x) const
  {
    each(m * m, [&](int e) { x.at[e] = 0; });
  }
  template <typename X> __device__ void spread(whole &a, const X &x) const
  {
    each(m * m, [&](int e) { a.at[e] = x.at[e]; });
  }
  __device__ void subtract_columns(int columns, T *z, const T *a, const T *x) const
  {
    each(columns * m, [&](int e) {
      T sum = z[e];
      for (int k = 0; k < m; k++) sum -= a[k * m + e % m] * x[e / m * m + k];
      z[e] = sum;
    });
  }
  __device__ void subtract(matrix &z, const whole &a, const matrix &x) const { subtract_columns(m, z.at, a.at, x.at); }
  __device__ void subtract(augmented &z, const whole &a, const augmented &x) const
  {
    subtract_columns(m + 1, z.at, a.at, x.at);
  }
  __device__ void subtract_vector(augmented &y, const whole &a, const augmented &v) const
  {
    subtract_columns(1, y.at + m * m, a.at, v.at + m * m);
  }
  __device__ void read_vector(augmented &x, karst_tri_rows<const T> rows, int64_t g) const
  {
    each(m, [&](int r) { x.at[m * m + r] = rows.at[g * rows.row + r * rows.element]; });
  }
  template <typename X> __device__ void add_size(matrix &size, const X &x) const
  {
    each(m * m, [&](int e) { size.at[e] += fabs(x.at[e]); });
  }
  __device__ void keep(bool live, matrix &x, const matrix &y) const
  {
    each(live ? m * m : 0, [&](int e) { x.at[e] = y.at[e]; });
  }
  __device__ void keep(bool live, augmented &x, const augmented &y) const
  {
    each(live ? m * m + m : 0, [&](int e) { x.at[e] = y.at[e]; });
  }

  template <bool SPIKE>
  __device__ karst_reason solve(const augmented &d, const matrix &size, const matrix &c, matrix &p, augmented &x) const
  {
    extern __shared__ double karst_tri_shared[];
    double *a = inverse, *same = a + m * m, *sizes = same + m * m;
    T *before = reinterpret_cast<T *>(sizes + m * m); /* [m * m] of p */
    each(m * m, [&](int e) {
      a[e] = same[e] = (double)d.at[e];
      sizes[e] = (double)size.at[e];
      if (SPIKE) before[e] = p.at[e];
    });
    karst_block_of_batch block(m, a, same, sizes, sizeof(T) == sizeof(float), karst_tri_shared);
    karst_reason reason = karst_cuda_invert(block);
    __syncthreads();
    bool overflows = false;
    for (int e = (int)threadIdx.x; e < m * m && reason == KARST_SOUND && sizeof(T) == sizeof(float);
         e += (int)blockDim.x)
      overflows = overflows || karst_overflows(a[e]);
    if (__syncthreads_or(overflows)) reason = karst_block_overflow(m);
    each((SPIKE ? 2 * m + 1 : m + 1) * m, [&](int e) {
      const int j = e / m, r = e % m;
      const T *from = j < m ? c.at + j * m : j == m ? d.at + m * m : before + (j - m - 1) * m;
      double sum = 0;
      for (int k = 0; k < m; k++) sum += a[k * m + r] * (double)from[k];
      T *to = j <= m ? x.at + j * m : p.at + (j - m - 1) * m;
      to[r] = (T)sum;
    });
    return reason;
  }
};

#endif
