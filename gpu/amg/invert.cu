/* invert.cu - the dense inverse of the last level by Gauss-Jordan elimination in place, as in cpu/amg/invert.c, which
 * explains the choice of pivots and what is pinned.
 *
 * One thread block inverts. Its warps have tiles of COLUMNS columns and SIDE rows, of which each lane has ROWS rows. Up
 * to SIDE rows of the level, the tiles stay in registers; those of a larger level are in global memory. Rows are not
 * exchanged: the place of a row says when it was a pivot row. A step has one barrier:
 *
 *     the warp that has column k    publishes it, chooses the pivot and takes it
 *     barrier
 *     all warps                     pass the pivot row from lane to lane, and update their columns
 *
 * Another two are needed where a bound does not show that a pivot is sound. The bound of a row is that of |u|'|A|, to
 * which an elimination adds as much as it may change u; without cancellation, as in an M-matrix, it is exact. */
#include "gpu/amg/group.h"

namespace
{

enum { WARP = 32, WARPS = 16, THREADS = WARPS * WARP, ROWS = 4, COLUMNS = 8, SIDE = ROWS * WARP };
static_assert((int)SIDE == WARPS * COLUMNS, "the tiles of a thread block are a square");

const char *const what = "the inverse of a level";

/* A pivot. Rows have the numbers that they have in A. */
struct choice {
  int row, own;   /* its row, and the one that holds the equation of its number, or the one at its place */
  double size;    /* of it */
  double whole;   /* the bound of |u|'|A|, with the row itself */
  bool sound;     /* by the bound */
  double inverse; /* of it, once it is taken; 0 if it is pinned */
};

template <int N> struct elimination {
  double column[2][N]; /* column k before the update, in even and odd steps */
  double sum[N];       /* of each row of |A| */
  double bound[N];     /* of |u|'|A| without the row itself */
  int origin[N];       /* the row that is at each place */
  int where[N];        /* the place of each row */
  double part[WARPS];
  double passed[WARPS][COLUMNS]; /* a row of the tile of each warp */
  choice chosen[2];              /* in even and odd steps */
};

struct tile {
  double a[ROWS][COLUMNS];
};

__device__ __forceinline__ int lane() { return (int)threadIdx.x % WARP; }
__device__ __forceinline__ int warp() { return (int)threadIdx.x / WARP; }

/* The rows that a loop over a column passes: a constant if the tiles are kept, where those beyond n are 0. */
template <int N> __device__ __forceinline__ int rows_of(int n) { return N == SIDE ? N : n; }

__device__ __forceinline__ unsigned largest_of_warp(unsigned value)
{
#if __CUDA_ARCH__ >= 800
  return __reduce_max_sync(0xffffffffu, value);
#else
  return karst_amg_group<WARP>::largest(value);
#endif
}

/* Chooses the pivot of unknown k by its column; a warp calls it. The size and the place of a candidate are one number,
 * whose last bits, those of the place, order equal sizes. */
template <int N>
__device__ void choose_pivot(int n, int k, double rounding, const double *column, const elimination<N> &all,
                             choice *chosen)
{
  enum { LAST = KARST_AMG_DENSE - 1, HIGH = 32 };
  static_assert((KARST_AMG_DENSE & LAST) == 0, "places have bits of their own");
  long long largest = LAST - k, above = 0x3ff00000; /* the first half of 1 */
#pragma unroll 4
  for (int i = lane(); i < rows_of<N>(n); i += WARP) {
    const double size = fabs(column[i]);
    const long long bits = __double_as_longlong(size);
    const int place = all.where[i];
    if (place >= k && size >= 0) largest = max(largest, (bits & ~(long long)LAST) + (LAST - place));
    if (place < k) above = max(above, bits >> HIGH);
  }
  const long long first = largest_of_warp((unsigned)above);
  const unsigned high = largest_of_warp((unsigned)(largest >> HIGH)),
                 low = largest_of_warp((unsigned)(largest >> HIGH) == high ? (unsigned)largest : 0);
  largest = (long long)high << HIGH | low;
  const double most = __longlong_as_double(((first + 1) << HIGH) - 1); /* no smaller than the numbers */
  const bool is_left = all.where[k] >= k;
  const int at = LAST - (int)(largest & LAST);
  const int row =
      is_left && fabs(column[k]) >= karst_amg_diagonal_share() * __longlong_as_double(largest & ~(long long)LAST)
          ? k
          : all.origin[at];
  const double size = fabs(column[row]), whole = all.bound[row] + all.sum[row];
  __syncwarp();
  if (lane() == 0) *chosen = {row, is_left ? k : all.origin[k], size, whole, size > 2 * rounding * most * whole, 0};
  __syncwarp();
}

/* Takes the pivot, or pins its unknown; the warp of the column calls it. */
template <int N>
__device__ void take(int n, int k, bool sound, const double *column, elimination<N> &all, choice *chosen)
{
  const int row = sound ? chosen->row : chosen->own;
  const double inverse = sound ? 1 / column[row] : 0, whole = chosen->whole;
  if (sound) {
#pragma unroll 4
    for (int i = lane(); i < rows_of<N>(n); i += WARP) all.bound[i] += i == row ? 0 : fabs(column[i] * inverse) * whole;
  }
  __syncwarp();
  if (lane() > 0) return;
  const int other = all.origin[k], place = all.where[row];
  all.origin[place] = other;
  all.where[other] = place;
  all.origin[k] = row;
  all.where[row] = k;
  chosen->row = row;
  chosen->inverse = inverse;
}

/* For a choice among elements of a tile. A condition between elements would become one between their addresses, and the
 * tile would have to be in memory. */
__device__ __forceinline__ long long bits_if(bool condition, double value)
{
  return condition ? __double_as_longlong(value) : 0;
}

/* Passes the elements of a row of a tile to all lanes, through shared memory. */
__device__ __forceinline__ void pass_row(const tile &t, int row, double *passed, double (&to)[COLUMNS])
{
  __syncwarp();
#pragma unroll
  for (int r = 0; r < ROWS; r++) {
    if (r * WARP + lane() != row) continue;
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) passed[c] = t.a[r][c];
  }
  __syncwarp();
#pragma unroll
  for (int c = 0; c < COLUMNS; c++) to[c] = passed[c];
}

/* Updates the rows from top on; row: the pivot row's elements in the columns of the tile, scaled. pivot and k: its row
 * and column in the tile. */
__device__ __forceinline__ void update(tile *t, int rows, int pivot, int k, bool sound, const double *column,
                                       const double (&row)[COLUMNS])
{
  if (k >= 0 && k < COLUMNS) {
#pragma unroll
    for (int c = 0; c < COLUMNS; c++)
#pragma unroll
      for (int r = 0; r < ROWS; r++) t->a[r][c] = c == k ? 0 : t->a[r][c];
  }
#pragma unroll
  for (int r = 0; r < ROWS; r++) {
    const int i = r * WARP + lane();
    if (r * WARP >= rows) continue;
    const double factor = sound && i < rows ? column[i] : 0;
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) t->a[r][c] -= factor * row[c];
    if (pivot < r * WARP || pivot >= (r + 1) * WARP) continue;
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) t->a[r][c] = i == pivot ? row[c] : t->a[r][c];
  }
}

/* The matrix: in registers, or column by column in global memory. */
template <bool KEPT> struct matrix {
  tile kept;
  double *passed; /* [COLUMNS] shared memory of the warp */
  double *dense;
  int n;

  __device__ __forceinline__ void load(int top, int base)
  {
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
      for (int c = 0; c < COLUMNS; c++) {
        const int i = top + r * WARP + lane(), j = base + c;
        kept.a[r][c] = i < n && j < n ? dense[(int64_t)j * n + i] : 0;
      }
  }

  __device__ __forceinline__ void store(int top, int base) const
  {
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
      for (int c = 0; c < COLUMNS; c++) {
        const int i = top + r * WARP + lane(), j = base + c;
        if (i < n && j < n) dense[(int64_t)j * n + i] = kept.a[r][c];
      }
  }

  /* Calls f with the first column of each of the warp's tiles of columns. */
  template <typename F> __device__ __forceinline__ void each_base(F f)
  {
    if (KEPT)
      f(warp() * COLUMNS);
    else
      for (int base = warp() * COLUMNS; base < n; base += SIDE) f(base);
  }

  /* The elements of a row in columns base .. base + COLUMNS - 1, in all lanes. */
  __device__ __forceinline__ void get_row(int i, int base, double (&row)[COLUMNS]) const
  {
    if (KEPT) {
      pass_row(kept, i, passed, row);
    } else {
#pragma unroll
      for (int c = 0; c < COLUMNS; c++) row[c] = base + c < n ? dense[(int64_t)(base + c) * n + i] : 0;
    }
  }

  __device__ __forceinline__ void get_column(int k, double *column) const
  {
    if (!KEPT) {
      for (int i = lane(); i < n; i += WARP) column[i] = dense[(int64_t)k * n + i];
    } else {
#pragma unroll
      for (int r = 0; r < ROWS; r++) {
        long long bits = 0;
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) bits |= bits_if(c == k % COLUMNS, kept.a[r][c]);
        column[r * WARP + lane()] = __longlong_as_double(bits);
      }
    }
    __syncwarp();
  }

  __device__ __forceinline__ void eliminate(int k, const choice &pivot, const double *column)
  {
    const bool sound = pivot.inverse != 0;
    each_base([&](int base) {
      double row[COLUMNS] = {};
      get_row(pivot.row, base, row);
#pragma unroll
      for (int c = 0; c < COLUMNS; c++) row[c] = !sound ? 0 : base + c == k ? pivot.inverse : row[c] * pivot.inverse;
      __syncwarp();
      for (int top = 0; top < (KEPT ? 1 : n); top += SIDE) {
        if (!KEPT) load(top, base);
        update(&kept, n - top, pivot.row - top, k - base, sound, column + top, row);
        if (!KEPT) store(top, base);
      }
      __syncwarp();
    });
  }
};

/* Returns u |A_i||v|, in parts. */
template <typename T, int N>
__device__ __noinline__ double add_row(const karst_amg_view<T> &A, int k, int i, double u, const double *column,
                                       const elimination<N> &all)
{
  double sum = 0;
  for (karst_index e = A.start[i] + lane(); e < A.start[i + 1] && u > 0; e += WARP) {
    const int j = (int)A.column[e];
    if (j <= k) sum += u * fabs((double)A.value[e]) * (j == k ? 1 : fabs(column[all.origin[j]]));
  }
  return sum;
}

/* Returns |u|'|A||v| for a pivot of unknown k, in all threads. */
template <bool KEPT, typename T, int N>
__device__ __forceinline__ double perturbation(const karst_amg_view<T> &A, matrix<KEPT> &M, int k, int pivot,
                                               const double *column, elimination<N> &all)
{
  double sum = warp() == 0 ? add_row(A, k, pivot, 1, column, all) : 0;
  M.each_base([&](int base) {
    double row[COLUMNS] = {};
    M.get_row(pivot, base, row);
#pragma unroll
    for (int c = 0; c < COLUMNS; c++)
      if (base + c < k) sum += add_row(A, k, all.origin[base + c], fabs(row[c]), column, all);
  });
  sum = karst_amg_group<WARP>::sum(sum);
  if (lane() == 0) all.part[warp()] = sum;
  __syncthreads();
  sum = 0;
  for (int w = 0; w < WARPS; w++) sum += all.part[w];
  return sum;
}

/* Spreads the rows from top on over an array that is 0: the element in row i and column j is at (i - top) down +
 * j across. */
template <typename T, typename V, int N>
__device__ void spread(const karst_amg_view<T> &A, int top, int rows, V *array, int down, int across,
                       elimination<N> &all)
{
  for (int i = warp(); i < rows; i += WARPS) {
    double sum = 0;
    for (karst_index e = A.start[top + i] + lane(); e < A.start[top + i + 1]; e += WARP) {
      array[i * (int64_t)down + A.column[e] * (int64_t)across] = A.value[e];
      sum += fabs((double)A.value[e]);
    }
    sum = karst_amg_group<WARP>::sum(sum);
    if (lane() > 0) continue;
    all.sum[top + i] = sum;
    all.bound[top + i] = 0;
    all.origin[top + i] = all.where[top + i] = top + i;
  }
}

/* Some rows of a matrix that is kept in registers, between them and global memory. */
template <typename T> struct slab {
  T a[WARP][SIDE + 1];

  __device__ void clear()
  {
    for (int v = (int)threadIdx.x; v < WARP * (SIDE + 1); v += THREADS) a[v / (SIDE + 1)][v % (SIDE + 1)] = 0;
  }
};

template <typename T, int N>
__device__ __forceinline__ void load_kept(const karst_amg_view<T> &A, matrix<true> &M, elimination<N> &all,
                                          slab<T> &rows)
{
#pragma unroll
  for (int r = 0; r < ROWS; r++) {
    rows.clear();
    __syncthreads();
    spread(A, r * WARP, min((int)WARP, M.n - r * WARP), &rows.a[0][0], SIDE + 1, 1, all);
    __syncthreads();
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) M.kept.a[r][c] = rows.a[lane()][warp() * COLUMNS + c];
    __syncthreads();
  }
}

template <typename T, int N>
__device__ __forceinline__ void store_kept(const matrix<true> &M, const elimination<N> &all, slab<T> &rows, T *inverse)
{
#pragma unroll
  for (int r = 0; r < ROWS; r++) {
#pragma unroll
    for (int c = 0; c < COLUMNS; c++)
      if (warp() * COLUMNS + c < M.n) rows.a[lane()][all.origin[warp() * COLUMNS + c]] = (T)M.kept.a[r][c];
    __syncthreads();
    for (int i = warp(); i < WARP && r * WARP + i < M.n; i += WARPS)
      for (int j = lane(); j < M.n; j += WARP) inverse[all.where[r * WARP + i] * M.n + j] = rows.a[i][j];
    __syncthreads();
  }
}

template <bool KEPT, typename T, int N>
__device__ __forceinline__ int eliminate_all(const karst_amg_view<T> &A, matrix<KEPT> &M, elimination<N> &all)
{
  const double rounding = karst_amg_roundings(M.n) * karst_amg_epsilon<T>();
  int pinned = 0;
  for (int k = 0; k < M.n; k++) {
    double *column = all.column[k % 2];
    choice *chosen = &all.chosen[k % 2];
    const bool has = warp() == k / COLUMNS % WARPS;
    if (has) {
      M.get_column(k, column);
      choose_pivot(M.n, k, rounding, column, all, chosen);
      if (chosen->sound) take(M.n, k, true, column, all, chosen);
    }
    __syncthreads();
    if (!chosen->sound) {
      const double size = chosen->size;
      const bool sound = size > rounding * perturbation(A, M, k, chosen->row, column, all);
      if (has) take(M.n, k, sound, column, all, chosen);
      __syncthreads();
    }
    pinned += chosen->inverse == 0;
    M.eliminate(k, *chosen, column);
  }
  __syncthreads();
  return pinned;
}

template <typename T>
__global__ void __launch_bounds__(THREADS, 1) invert_kept(karst_amg_view<T> A, T *inverse, karst_amg_scalars *s)
{
  __shared__ elimination<SIDE> all;
  __shared__ slab<T> rows;
  matrix<true> M;
  M.n = (int)A.rows;
  M.passed = all.passed[warp()];
  if (threadIdx.x < SIDE) {
    all.bound[threadIdx.x] = 0;
    all.where[threadIdx.x] = (int)threadIdx.x;
  }
  load_kept(A, M, all, rows);
  const int pinned = eliminate_all(A, M, all);
  store_kept(M, all, rows, inverse);
  if (threadIdx.x == 0) s->pinned = pinned;
}

/* dense: [rows * rows] */
template <typename T>
__global__ void __launch_bounds__(THREADS, 1)
    invert_large(karst_amg_view<T> A, double *dense, T *inverse, karst_amg_scalars *s)
{
  __shared__ elimination<KARST_AMG_DENSE> all;
  matrix<false> M;
  M.n = (int)A.rows;
  M.dense = dense;
  for (int v = (int)threadIdx.x; v < M.n * M.n; v += THREADS) dense[v] = 0;
  __syncthreads();
  spread(A, 0, M.n, dense, 1, M.n, all);
  __syncthreads();
  const int pinned = eliminate_all(A, M, all);
  for (int v = (int)threadIdx.x; v < M.n * M.n; v += THREADS) {
    const int i = v / M.n, j = v % M.n;
    inverse[i * M.n + all.origin[j]] = (T)dense[(int64_t)j * M.n + all.origin[i]];
  }
  if (threadIdx.x == 0) s->pinned = pinned;
}

template <typename T> void launch(karst_context *context, const karst_amg *amg)
{
  const karst_amg_cuda *plan = karst_amg_cuda_of(amg);
  const karst_amg_view<T> A = karst_amg_view_of<T>(&amg->level[amg->levels - 1].A);
  cudaStream_t stream = karst_cuda_of(context)->stream;
  if (plan->dense)
    invert_large<<<1, THREADS, 0, stream>>>(A, plan->dense, static_cast<T *>(amg->inverse), plan->scalars);
  else
    invert_kept<<<1, THREADS, 0, stream>>>(A, static_cast<T *>(amg->inverse), plan->scalars);
}

} // namespace

karst_status karst_amg_invert_prepare_cuda(karst_context *context, karst_amg *amg)
{
  karst_amg_cuda *plan = karst_amg_cuda_of(amg);
  const karst_index rows = amg->level[amg->levels - 1].A.rows;
  const int64_t elements = rows * (int64_t)rows, scalar = amg->single ? sizeof(float) : sizeof(double);
  if (rows > KARST_AMG_DENSE || amg->call) return KARST_SUCCESS;
  karst_status status = karst_amg_take_bytes_cuda(context, amg, (elements + 1) * scalar, what, &amg->inverse);
  amg->plan_memory += elements * scalar;
  if (status || rows <= SIDE) return status;
  amg->plan_memory += elements * (int64_t)sizeof(double);
  return karst_amg_take_cuda(context, amg, elements, what, &plan->dense);
}

void karst_amg_invert_cuda(karst_context *context, const karst_amg *amg)
{
  if (amg->single)
    launch<float>(context, amg);
  else
    launch<double>(context, amg);
}
