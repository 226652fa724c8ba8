/* team_worker.h - M + 1 lanes of a warp compute with blocks, M by M (block_worker.h). Lane j of a team holds column j
 * of each matrix; lane M holds the vectors. So a product a x needs a in shared memory, which the lanes read together,
 * and nothing else of other lanes.
 *
 * To solve B x = [c | y], the lanes eliminate two unknowns at a time, k and k + 1. Lanes k and k + 1 put their columns
 * u and v of B into shared memory, and then each lane solves for its own columns
 *
 *     | u_k      v_k     | | s |   | x_k     |
 *     |                  | |   | = |         |     and sets x_r to x_r - u_r s - v_r t for all other rows r.
 *     | u_(k+1)  v_(k+1) | | t |   | x_(k+1) |
 *
 * The second pivot, v_(k+1) - u_(k+1) v_k / u_k, is the determinant over u_k, so that the reciprocals of both are found
 * at the same time. So lanes wait for one another, and for reciprocals, once for two unknowns, and not again for a
 * substitution on the way back. Rows are not exchanged: a block whose pivots do not bear that is inverted once more by
 * solve_again.
 *
 * The lanes of a warp that are left over after the last whole team look into the place of the last team, as if they
 * held vectors, and store nothing. */
#ifndef KARST_GPU_TEAM_WORKER_H
#define KARST_GPU_TEAM_WORKER_H

#include "gpu/tridiagonal/block_worker.h"

#include <limits.h>

/* Inverts a[m*m] with row exchanges. Behind a: its sizes [m*m], place for the inverse [m*m] and for work [2 m], and for
 * m integers. All that is in memory, and m is no constant, so that the kernel keeps its registers. */
static inline __device__ __noinline__ karst_reason karst_tri_invert_again(int m, bool single, double *a)
{
  double *const sizes = a + m * m, *const inverse = sizes + m * m, *const work = inverse + m * m;
  return karst_tridiagonal_invert(m, single, a, sizes, inverse, work, reinterpret_cast<int *>(work + 2 * m));
}

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
  static constexpr int RESIDENT = M == 4 ? 3 : 2;
  static constexpr bool UNIFORM = true;
  /* Shared memory is read and written in units of 16 bytes. Columns are an odd number of units apart, as places are, so
   * that those of several lanes are in different banks. The teams of a warp share memory for the second attempt. */
  static constexpr int UNIT = 16 / sizeof(T), COLUMN = ((M + UNIT - 1) / UNIT | 1) * UNIT, BLOCK = M * COLUMN;
  static constexpr int INTEGERS = M <= 4 ? 4 : 12; /* of a column, or one for each of M columns */
  static constexpr int OWN = BLOCK + (M + 1) * INTEGERS * (int)sizeof(int) / (int)sizeof(T);
  static constexpr int PLACES = TEAMS, STEP = ((OWN + WHOLES * BLOCK) / UNIT | 1) * UNIT;
  static constexpr int AGAIN = 3 * M * M + 2 * M + (M + 1) / 2 + 1; /* double, of karst_tri_invert_again */
  static constexpr int SHARE = (AGAIN + 2 * PLACES - 1) / (2 * PLACES) * 2 * (int)sizeof(double) / (int)sizeof(T);
  static constexpr int EACH = STEP + SHARE; /* scalars of a team */
  static __host__ __device__ size_t shared(int) { return (size_t)WARPS * PLACES * EACH * sizeof(T); }
  static int64_t scratch(int) { return 0; }

  T *place; /* [STEP] shared memory: columns of a block, integers that judge it, wholes */
  int lane, wholes;

  __device__ karst_team_worker(int, T *) : wholes(0)
  {
    extern __shared__ double karst_tri_shared[];
    const int warp = (int)threadIdx.x / 32, team = (int)threadIdx.x % 32 / LANES;
    lane = team < TEAMS ? (int)threadIdx.x % 32 - team * LANES : M;
    place = reinterpret_cast<T *>(karst_tri_shared) + warp * (PLACES * EACH) + (team < TEAMS ? team : TEAMS - 1) * STEP;
  }
  static __device__ int local()
  {
    const int t = (int)threadIdx.x % 32;
    return t / LANES < TEAMS ? (int)threadIdx.x / 32 * TEAMS + t / LANES : 1 << 30;
  }
  static __device__ int locals() { return (int)blockDim.x / 32 * TEAMS; }
  __device__ bool first() const { return lane == 0; }

  static __device__ void take(matrix &) {}
  static __device__ void take(augmented &) {}
  __device__ void take(whole &a) { a.at = place + OWN + wholes++ * BLOCK; }

  /* Has the level 2 cache fetch a block and a vector, or the block alone, that are read a few rows later. There are no
   * registers left for that where blocks are large. */
  __device__ __forceinline__ void expect(karst_tri_rows<const T> rows, karst_tri_rows<const T> vectors, int64_t g) const
  {
    constexpr int SECTOR = 32 / sizeof(T);
    const karst_tri_rows<const T> &of = lane < M ? rows : vectors;
    const int64_t each = of.element;
    const T *const from = of.at + g * of.row + (lane < M ? lane : 0) * M * each;
#pragma unroll
    for (int r = 0; r < M && M <= 6; r++)
      if (each != 1 || r % SECTOR == 0) asm volatile("prefetch.global.L2 [%0];" ::"l"(from + r * each));
  }
  __device__ __forceinline__ void expect(karst_tri_rows<const T> rows, int64_t g) const
  {
    if (lane < M) expect(rows, rows, g);
  }

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
  __device__ void read(augmented &x, karst_tri_rows<const T> rows, karst_tri_rows<const T> vectors, int64_t g,
                       bool there = true) const
  {
    const T *from = lane < M ? rows.at + g * rows.row + lane * M * rows.element : vectors.at + g * vectors.row;
    const int64_t step = lane < M ? rows.element : vectors.element;
#pragma unroll
    for (int r = 0; r < M; r++) x.at[r] = there ? from[r * step] : r == lane;
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
    if (lane < M) store(a.at + lane * COLUMN, x.at);
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
  __device__ void subtract_vector(augmented &y, const whole &a, const augmented &v) const { subtract(y, a, v); }
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
    T a[M], y[M], q[M];
    judge of(*this);
#pragma unroll
    for (int r = 0; r < M; r++) {
      a[r] = d.at[r];
      y[r] = lane < M ? c.at[r] : d.at[r];
      q[r] = SPIKE ? p.at[r] : 0;
    }
    of.show(size);
#pragma unroll
    for (int k = 0; k < M; k += 2) {
      const bool pair = k + 1 < M;
      T u[M], v[M];
      if (lane == k || (pair && lane == k + 1)) store(place + lane * COLUMN, a);
      __syncwarp();
      load(u, place + k * COLUMN);
      if (pair) load(v, place + (k + 1) * COLUMN);
      const pivots of_pair(k, u, v);
      if (k == 0) of.measure();
      if (k + 2 < M) eliminate(k, u, v, of_pair, a);
      eliminate(k, u, v, of_pair, y);
      if (SPIKE) eliminate(k, u, v, of_pair, q);
      of.look(k, of_pair, u, v, a);
    }
    const unsigned refused = __ballot_sync(~0u, of.refuses());
    karst_reason reason = KARST_SOUND;
    if (refused) reason = solve_again<SPIKE>(refused, d, size, c, p, y, q);
#pragma unroll
    for (int r = 0; r < M; r++) {
      x.at[r] = y[r];
      if (SPIKE) p.at[r] = q[r];
    }
    return reason;
  }

  /* Copies a column from or to shared memory. */
  template <typename N, int COUNT> static __device__ __forceinline__ void load(N (&to)[COUNT], const N *from)
  {
    constexpr int EACH_UNIT = 16 / sizeof(N);
#pragma unroll
    for (int r = 0; r < COUNT; r += EACH_UNIT) {
      const unit<N> some = *reinterpret_cast<const unit<N> *>(from + r);
#pragma unroll
      for (int i = 0; i < EACH_UNIT && r + i < COUNT; i++) to[r + i] = some.at[i];
    }
  }
  template <typename N, int COUNT> static __device__ __forceinline__ void store(N *to, const N (&from)[COUNT])
  {
    constexpr int EACH_UNIT = 16 / sizeof(N);
#pragma unroll
    for (int r = 0; r < COUNT; r += EACH_UNIT) {
      unit<N> some;
#pragma unroll
      for (int i = 0; i < EACH_UNIT; i++) some.at[i] = r + i < COUNT ? from[r + i] : 0;
      *reinterpret_cast<unit<N> *>(to + r) = some;
    }
  }

private:
  template <typename N> struct alignas(16) unit {
    N at[16 / sizeof(N)];
  };

  /* The pivots of unknowns k and k + 1. u_k and u_(k+1) are multiplied by a power of two, scale, that brings the larger
   * one to between 1 and 2: so products with them overflow or vanish no sooner than the numbers that they multiply. */
  struct pivots {
    T scale, u[2], determinant, first, second; /* of u scaled; 1 / u_k unscaled, and 1 / determinant */

    __device__ __forceinline__ pivots(int k, const T (&column)[M], const T (&next)[M])
        : scale(1), u{column[k], 0}, determinant(column[k]), first(karst_tri_reciprocal(column[k])), second(0)
    {
      if (k + 1 == M) return;
      scale = inverse_power(fmax(fabs(column[k]), fabs(column[k + 1])));
      u[0] = scale * column[k], u[1] = scale * column[k + 1];
      determinant = u[0] * next[k + 1] - u[1] * next[k];
      second = karst_tri_reciprocal(determinant);
    }
    /* 2^-e for x in 2^e to 2^(e + 1). */
    static __device__ __forceinline__ double inverse_power(double x)
    {
      return __hiloint2double(0x7fe00000 - (__double2hiint(x) & 0x7ff00000), 0);
    }
    static __device__ __forceinline__ float inverse_power(float x)
    {
      return __int_as_float(0x7f000000 - (__float_as_int(x) & 0x7f800000));
    }
  };

  /* Eliminates unknowns k and k + 1 from a column. */
  static __device__ __forceinline__ void eliminate(int k, const T (&u)[M], const T (&v)[M], const pivots &of, T (&x)[M])
  {
    const bool pair = k + 1 < M;
    const int l = pair ? k + 1 : k;
    const T t = pair ? (of.u[0] * x[l] - of.u[1] * x[k]) * of.second : 0;
    const T s = (pair ? x[k] - v[k] * t : x[k]) * of.first;
#pragma unroll
    for (int r = 0; r < M; r++)
      if (r != k && r != l) {
        if (pair) x[r] -= v[r] * t;
        x[r] -= u[r] * s;
      }
    x[k] = s;
    if (pair) x[l] = t;
  }

  /* Whether the elimination of a block can be trusted. Let c_j be the largest size in column j, and e_r the largest one
   * in row r after the columns are divided by c: no size in row r and column j is larger than e_r c_j. A block is
   * refused unless
   *     - all sizes are finite, and determinants and u_k are within the range of the reciprocal,
   *     - each determinant is larger than 2^9 rounding errors of e_k c_k e_(k+1) c_(k+1): at least four times
   *       karst_tri_rounding, so that solve_again decides of all that may be singular,
   *     - v_k / u_k is at most 4 c_(k+1) / c_k, and s and t of a column j of B that is not eliminated yet are at most
   *       4 c_j / c_k and 4 c_j / c_(k+1), so that what is left of a column grows little.
   * Logarithms serve for that: read as an integer, the exponent and the first digits of |x| are 2^DIGITS (log2 |x| +
   * BIAS), with an error of less than 0.09 2^DIGITS. A lane judges its own column, and what it needs of others is put
   * into shared memory before the first barrier of the elimination. */
  struct judge {
    static constexpr bool SINGLE = sizeof(T) == sizeof(float);
    static constexpr int DIGITS = SINGLE ? 23 : 20, BIAS = SINGLE ? 127 : 1023, RANGE = SINGLE ? 120 : 1000;
    static constexpr int ROUNDINGS = SINGLE ? 9 - 23 : 9 - 52, GROWTH = 2 << DIGITS;
    const karst_team_worker &team;
    int *sizes, *columns;                      /* [M][INTEGERS]: sizes over c of their column; [M]: c */
    int of_columns[M], column, partner, limit; /* c; that of this lane and of the first one of its pair */
    int pivot, determinant, scale, between;    /* of this lane's pair: u_k, the scaled determinant and its scale */
    int grown[M];                              /* s and t of this lane's column */

    __device__ __forceinline__ explicit judge(const karst_team_worker &worker)
        : team(worker), pivot(INT_MIN), determinant(INT_MIN), scale(0), between(INT_MIN)
    {
      sizes = reinterpret_cast<int *>(team.place + BLOCK);
      columns = sizes + M * INTEGERS;
    }
    static __device__ __forceinline__ int logarithm(double x)
    {
      return (__double2hiint(x) & INT_MAX) - (BIAS << DIGITS);
    }
    static __device__ __forceinline__ int logarithm(float x)
    {
      return (__float_as_int(x) & INT_MAX) - (BIAS << DIGITS);
    }

    __device__ __forceinline__ void show(const matrix &size)
    {
      int scaled[M];
      column = INT_MIN;
#pragma unroll
      for (int r = 0; r < M; r++) column = max(column, logarithm(size.at[r]));
#pragma unroll
      for (int r = 0; r < M; r++) scaled[r] = logarithm(size.at[r]) - column;
      if (team.lane >= M) return;
      store(sizes + team.lane * INTEGERS, scaled);
      columns[team.lane] = column;
    }
    /* Finds the limit of the determinant, a quarter of it, lest the sum overflows. */
    __device__ __forceinline__ void measure()
    {
      struct alignas(8) two {
        int first, second;
      };
      const int k = team.lane < M ? team.lane & ~1 : 0;
      int row[2] = {INT_MIN, INT_MIN};
#pragma unroll
      for (int j = 0; j < M; j++) {
        const two size = *reinterpret_cast<const two *>(sizes + j * INTEGERS + k);
        row[0] = max(row[0], size.first);
        row[1] = max(row[1], size.second);
      }
      load(of_columns, columns);
      const two c = *reinterpret_cast<const two *>(columns + k);
      partner = c.first;
      limit = (c.first >> 2) + (row[0] >> 2) + (ROUNDINGS << (DIGITS - 2));
      if (k + 1 < M) limit += (c.second >> 2) + (row[1] >> 2);
    }
    /* Takes what it needs of the elimination of unknowns k and k + 1. x: this lane's column of B after it. */
    __device__ __forceinline__ void look(int k, const pivots &of, const T (&u)[M], const T (&v)[M], const T (&x)[M])
    {
      if (team.lane / 2 == k / 2)
        pivot = logarithm(u[k]), determinant = logarithm(of.determinant), scale = logarithm(of.scale);
      grown[k] = logarithm(x[k]);
      if (k + 1 == M) return;
      if (team.lane == k + 1) between = (logarithm(v[k]) >> 1) - (logarithm(u[k]) >> 1);
      grown[k + 1] = logarithm(x[k + 1]);
    }
    __device__ __forceinline__ bool refuses() const
    {
      int largest = INT_MIN;
#pragma unroll
      for (int k = 0; k + 2 < M; k++) largest = max(largest, team.lane > (k | 1) ? grown[k] + of_columns[k] : INT_MIN);
      const bool stands = (column <= RANGE << DIGITS) & (min(pivot, determinant) >= -(RANGE << DIGITS)) &
                          (max(pivot, determinant) <= RANGE << DIGITS) & ((determinant >> 2) - (scale >> 2) > limit);
      const bool grows = (largest > column + GROWTH) | (between > ((column - partner) >> 1) + GROWTH / 2);
      return (team.lane < M) & (!stands | grows);
    }
  };

  /* Solves the blocks of the teams whose lanes are in refused once more, with row exchanges: one team of a warp after
   * the other, and one lane inverts. */
  template <bool SPIKE>
  __device__ __forceinline__ karst_reason solve_again(unsigned refused, const augmented &d, const matrix &size,
                                                      const matrix &c, const matrix &p, T (&y)[M], T (&q)[M]) const
  {
    extern __shared__ double karst_tri_shared[];
    karst_reason reason = KARST_SOUND;
    const int warp = (int)threadIdx.x / 32, mine = (int)threadIdx.x % 32 / LANES;
    T *const after = reinterpret_cast<T *>(karst_tri_shared) + warp * (PLACES * EACH) + PLACES * STEP;
    double *const a = reinterpret_cast<double *>(after), *const sizes = a + M * M, *const inverse = sizes + M * M;
#pragma unroll 1
    for (int team = 0; team < TEAMS; team++) {
      if (!(refused >> team * LANES & ((1u << LANES) - 1))) continue;
      __syncwarp();
      if (mine == team && lane < M)
#pragma unroll
        for (int r = 0; r < M; r++) {
          a[lane * M + r] = (double)d.at[r];
          sizes[lane * M + r] = (double)size.at[r];
        }
      __syncwarp();
      if (mine == team && lane == 0) a[AGAIN - 1] = karst_tri_invert_again(M, sizeof(T) == sizeof(float), a);
      __syncwarp();
      if (mine != team) continue;
      reason = (karst_reason)a[AGAIN - 1];
#pragma unroll
      for (int r = 0; r < M; r++) y[r] = q[r] = 0;
#pragma unroll
      for (int k = 0; k < M && reason == KARST_SOUND; k++)
#pragma unroll
        for (int r = 0; r < M; r++) {
          const T entry = (T)inverse[k * M + r];
          y[r] += entry * (lane < M ? c.at[k] : d.at[k]);
          if (SPIKE) q[r] += entry * p.at[k];
        }
    }
    return reason;
  }
};

#endif
