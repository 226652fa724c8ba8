/* matrix_cuda.cu - block CSR matrix times vector on the GPU: y = A x, or y = right - A x. There are three kernels, by
 * block size:
 *
 * 1: a thread block takes as many rows as it has threads and streams their entries through. First each thread
 * multiplies entries of any row by their scalars of x, so that neighbours read neighbouring values and many loads are
 * under way at once; then each thread adds up one row's products, from shared memory. Long rows take several chunks.
 * After Greathouse and Daga, Efficient Sparse Matrix-Vector Multiplication on GPUs using the CSR Storage Format, SC14
 * (CSR-stream).
 *
 * 2 to 8: a few lanes of a warp for each block row take its blocks in turn, two rows of a block each if its size is
 * even, so that loads are of 16 bytes. Bulk copies of blocks of odd size to shared memory first were no faster on an
 * H200: at 100^3 cells they took 1 % less time for b = 3, but 15 % more for b = 5.
 *
 * Larger: each scalar row has one thread, and is long enough for that.
 *
 * A row is summed in an order that depends on its length alone.
 *
 * The first two take dot products with y as they make it. Each thread block stores its part of these, and takes several
 * pieces of the rows if there are more pieces than thread blocks. The part of one row follows from n and b alone. */
#include "gpu/reduce.h"

namespace
{

enum {
  THREADS = KARST_CUDA_THREADS,
  DEPTH = 8,          /* entries that a thread multiplies in a chunk: rows of a 7-point stencil make one chunk */
  SMALL_THREADS = 128 /* of a thread block for small blocks */
};

/* The vectors that y is multiplied by in dot products, and the partial sums. */
struct factors {
  const double *with[2]; /* NULL: y itself */
  double *part;          /* [COUNT][thread blocks] */
};

/* A thread's part of COUNT dot products with y. */
template <int COUNT> struct dot_sums {
  double sum[COUNT] = {};

  __device__ void add(const factors &f, int64_t at, double y)
  {
#pragma unroll
    for (int v = 0; v < COUNT; v++) sum[v] += (f.with[v] ? f.with[v][at] : y) * y;
  }

  template <int THREADS> __device__ void store(const factors &f) const
  {
    const double all = karst_cuda_block_sum<COUNT, THREADS>(COUNT, sum);
    if (threadIdx.x < COUNT) f.part[threadIdx.x * gridDim.x + blockIdx.x] = all;
  }
};

template <> struct dot_sums<0> {
  __device__ void add(const factors &, int64_t, double) {}
  template <int THREADS> __device__ void store(const factors &) const {}
};

/* Returns the sum of this thread's row. first: of the rows that the thread block takes at a time. */
__device__ __forceinline__ double sum_row(int64_t first, karst_index rows, const karst_index *__restrict__ start,
                                          const karst_index *__restrict__ column, const double *__restrict__ value,
                                          const double *__restrict__ x)
{
  enum { CHUNK = THREADS * DEPTH };
  __shared__ double product[CHUNK];
  const int t = (int)threadIdx.x;
  const int64_t i = first + t; /* 64 bits: sums beyond the last row or entry */
  const int64_t tile_end = start[rows - first < THREADS ? rows : first + THREADS];
  const int64_t begin = i < rows ? start[i] : tile_end, end = i < rows ? start[i + 1] : tile_end;
  double sum = 0;
  for (int64_t chunk = start[first]; chunk < tile_end; chunk += CHUNK) {
    const int entries = tile_end - chunk < CHUNK ? (int)(tile_end - chunk) : CHUNK;
    double a[DEPTH];
    karst_index from[DEPTH];
#pragma unroll
    for (int s = 0; s < DEPTH; s++) {
      const int p = s * THREADS + t;
      from[s] = p < entries ? column[chunk + p] : 0;
      a[s] = p < entries ? value[chunk + p] : 0;
    }
#pragma unroll
    for (int s = 0; s < DEPTH; s++) {
      const int p = s * THREADS + t;
      if (p < entries) product[p] = a[s] * x[from[s]];
    }
    __syncthreads();
    const int low = begin > chunk ? (int)(begin - chunk) : 0, high = end - chunk < CHUNK ? (int)(end - chunk) : CHUNK;
    for (int p = low; p < high; p++) sum += product[p];
    __syncthreads();
  }
  return sum;
}

template <int COUNT>
__global__ void __launch_bounds__(THREADS)
    multiply_scalar(karst_index rows, const karst_index *__restrict__ start, const karst_index *__restrict__ column,
                    const double *__restrict__ value, const double *__restrict__ x, const double *__restrict__ right,
                    factors f, double *__restrict__ y)
{
  karst_cuda_begin();
  dot_sums<COUNT> dots;
  int64_t first = (int64_t)blockIdx.x * THREADS;
  do {
    const double sum = sum_row(first, rows, start, column, value, x);
    const int64_t i = first + threadIdx.x;
    if (i < rows) {
      const double result = right ? right[i] - sum : sum;
      y[i] = result;
      dots.add(f, i, result);
    }
    first += (int64_t)gridDim.x * THREADS;
  } while (COUNT > 0 && first < rows);
  dots.template store<THREADS>(f);
}

/* How lanes share block rows. SPLITS has the fastest for b = 2 to 8 on an H200 and 7-point grids. */
struct split {
  int lanes;    /* that take a row's blocks in turn; a power of two */
  int ahead;    /* blocks that a lane loads before it uses the first */
  int resident; /* thread blocks of a multiprocessor: without a bound the compiler delays loads to save registers */
};
constexpr split SPLITS[] = {{4, 2, 8}, {1, 4, 7}, {4, 1, 8}, {1, 2, 5}, {4, 2, 6}, {2, 2, 8}, {4, 1, 8}};

template <int B> struct shape { /* EACH: rows of a block for each lane */
  static constexpr split S = SPLITS[B - 2];
  static constexpr int EACH = B % 2 == 0 ? 2 : 1, LANES = S.lanes, AHEAD = S.ahead, RESIDENT = S.resident;
  static constexpr int STEP = B / EACH, WIDTH = STEP * LANES; /* lanes of a block, of a block row */
  static constexpr int WARP_ROWS = 32 / WIDTH, ROWS = WARP_ROWS * (SMALL_THREADS / 32);
};

/* Loads COUNT scalars. PAIRED says that from is a multiple of 16 bytes, so that two are loaded at a time. */
template <int COUNT, bool PAIRED> __device__ __forceinline__ void load(const double *from, double *to)
{
  if constexpr (PAIRED) {
#pragma unroll
    for (int i = 0; i < COUNT; i += 2) {
      const double2 two = *(const double2 *)(from + i);
      to[i] = two.x, to[i + 1] = two.y;
    }
  } else {
#pragma unroll
    for (int i = 0; i < COUNT; i++) to[i] = from[i];
  }
}

/* Adds to sum the contribution of every LANES-th of the count blocks of a row. value and column are those of the
 * first. */
template <int B, bool PAIRED>
__device__ __forceinline__ void add_blocks(int64_t count, const double *__restrict__ value,
                                           const karst_index *__restrict__ column, const double *__restrict__ x,
                                           double (&sum)[shape<B>::EACH])
{
  constexpr int EACH = shape<B>::EACH, LANES = shape<B>::LANES, AHEAD = shape<B>::AHEAD;
#pragma unroll 1
  for (int64_t k = 0; k < count; k += LANES * AHEAD) {
    karst_index from[AHEAD];
    double a[AHEAD][B][EACH] = {}, v[AHEAD][B] = {};
#pragma unroll
    for (int u = 0; u < AHEAD; u++) from[u] = k + u * LANES < count ? column[k + u * LANES] : 0;
#pragma unroll
    for (int u = 0; u < AHEAD; u++)
#pragma unroll
      for (int c = 0; c < B; c++)
        if (k + u * LANES < count) load<EACH, EACH == 2>(value + karst_cuda_offset(B, k + u * LANES) + c * B, a[u][c]);
#pragma unroll
    for (int u = 0; u < AHEAD; u++)
      if (k + u * LANES < count) load<B, PAIRED>(x + (int64_t)from[u] * B, v[u]);
#pragma unroll
    for (int u = 0; u < AHEAD; u++)
#pragma unroll
      for (int c = 0; c < B; c++)
#pragma unroll
        for (int e = 0; e < EACH; e++) sum[e] += a[u][c][e] * v[u][c];
  }
}

/* PAIRED says that x begins at a multiple of 16 bytes. */
template <int B, bool PAIRED, int COUNT>
__global__ void __launch_bounds__(SMALL_THREADS, shape<B>::RESIDENT)
    multiply_small(karst_index rows, const karst_index *__restrict__ start, const karst_index *__restrict__ column,
                   const double *__restrict__ value, const double *__restrict__ x, const double *__restrict__ right,
                   factors f, double *__restrict__ y)
{
  using S = shape<B>;
  karst_cuda_begin();
  const int lane = (int)threadIdx.x % 32, r = lane % S::STEP * S::EACH, turn = lane % S::WIDTH / S::STEP;
  dot_sums<COUNT> dots;
  int64_t first = (int64_t)blockIdx.x * S::ROWS;
  do {
    const int64_t i = first + threadIdx.x / 32 * S::WARP_ROWS + lane / S::WIDTH;
    const bool mine = lane < S::WARP_ROWS * S::WIDTH && i < rows;
    const int64_t k = mine ? start[i] + turn : 0, end = mine ? start[i + 1] : 0;
    double sum[S::EACH] = {};
    add_blocks<B, PAIRED>(end - k, value + karst_cuda_offset(B, k) + r, column + k, x, sum);
#pragma unroll
    for (int distance = S::LANES / 2; distance > 0; distance /= 2)
#pragma unroll
      for (int e = 0; e < S::EACH; e++) sum[e] += __shfl_down_sync(0xffffffff, sum[e], distance * S::STEP);
#pragma unroll
    for (int e = 0; e < S::EACH && mine && turn == 0; e++) {
      const int64_t at = i * B + r + e;
      const double result = right ? right[at] - sum[e] : sum[e];
      y[at] = result;
      dots.add(f, at, result);
    }
    first += (int64_t)gridDim.x * S::ROWS;
  } while (COUNT > 0 && first < rows);
  dots.template store<SMALL_THREADS>(f);
}

__global__ void __launch_bounds__(1024)
    multiply_large(int b, karst_index rows, const karst_index *__restrict__ start,
                   const karst_index *__restrict__ column, const double *__restrict__ value,
                   const double *__restrict__ x, const double *__restrict__ right, double *__restrict__ y)
{
  karst_index i;
  int r;
  karst_cuda_begin();
  if (!karst_cuda_row(b, rows, &i, &r)) return;
  double sum = 0;
  for (karst_index k = start[i]; k < start[i + 1]; k++) {
    const double *block = value + karst_cuda_offset(b, k) + r, *part = x + (int64_t)column[k] * b;
#pragma unroll 8
    for (int c = 0; c < b; c++) sum += block[c * b] * part[c];
  }
  const int64_t at = (int64_t)i * b + r;
  y[at] = right ? right[at] - sum : sum;
}

/* Returns the grid if a thread block takes at_a_time rows at a time: all at once, or, with sums, so that there is room
 * for the parts and all thread blocks have as much to do. */
template <int COUNT> unsigned grid_for(karst_index rows, int at_a_time)
{
  const unsigned pieces = karst_cuda_grid(rows, at_a_time);
  return COUNT == 0 ? pieces : karst_cuda_grid(pieces, karst_cuda_grid(pieces, KARST_CUDA_PARTS));
}

/* Returns how many parts there are of each dot product. COUNT > 0: b has an instance of its own. */
template <int COUNT>
unsigned multiply(karst_context *context, const karst_matrix *A, const double *x, const double *right, const factors &f,
                  double *y)
{
  const karst_cuda *cuda = karst_cuda_of(context);
  const karst_index rows = A->block_rows, *start = A->device_row_start, *column = A->device_column;
  const int b = A->block_size;
  unsigned grid = 0;
  if (rows == 0) return grid;
  karst_cuda_instance(b, [&](auto size) {
    constexpr int B = decltype(size)::value;
    if constexpr (B == 1) {
      grid = grid_for<COUNT>(rows, THREADS);
      karst_cuda_launch_after(cuda, multiply_scalar<COUNT>, grid, THREADS, rows, start, column, A->value, x, right, f,
                              y);
    } else if constexpr (B > 1) {
      const bool paired = B % 2 == 0 && (uintptr_t)x % sizeof(double2) == 0; /* a caller's vector may begin anywhere */
      grid = grid_for<COUNT>(rows, shape<B>::ROWS);
      karst_cuda_launch_after(cuda, paired ? multiply_small<B, B % 2 == 0, COUNT> : multiply_small<B, false, COUNT>,
                              grid, SMALL_THREADS, rows, start, column, A->value, x, right, f, y);
    } else if constexpr (COUNT == 0)
      karst_cuda_launch_after(cuda, multiply_large, karst_cuda_row_grid(rows, b), karst_cuda_row_threads(b), b, rows,
                              start, column, A->value, x, right, y);
  });
  return grid;
}

} // namespace

void karst_multiply_cuda(karst_context *context, const karst_matrix *A, const double *x, double *y)
{
  multiply<0>(context, A, x, NULL, {}, y);
}

void karst_multiply_dots_cuda(karst_context *context, const karst_matrix *A, const double *x, double *y, int count,
                              const double *const *with, double *result)
{
  const karst_cuda *cuda = karst_cuda_of(context);
  factors f = {{}, cuda->partial};
  if (A->block_rows == 0 || A->block_size > KARST_BLOCK_SIZE_LARGEST_INSTANCE) {
    karst_multiply_cuda(context, A, x, y);
    karst_dots_cuda(context, (int64_t)A->block_rows * A->block_size, count, with, y, result);
    return;
  }
  for (int v = 0; v < count; v++) f.with[v] = with[v] == y ? NULL : with[v];
  const unsigned parts = count == 1 ? multiply<1>(context, A, x, NULL, f, y) : multiply<2>(context, A, x, NULL, f, y);
  karst_cuda_add_parts(cuda, parts, count, result);
}

void karst_residual_cuda(karst_context *context, const karst_matrix *A, const double *b, const double *x, double *r,
                         double *norm2)
{
  const double *const vector = r;
  multiply<0>(context, A, x, b, {}, r);
  if (norm2) karst_dots_cuda(context, (int64_t)A->block_rows * A->block_size, 1, &vector, r, norm2);
}
