/* tridiagonal_cuda.h - what the kernels of batches of block-tridiagonal systems share: systems in device memory, their
 * cut into pieces, and the plan of a batch.
 *
 * Long systems are split after Wang, A parallel method for tridiagonal equations, ACM TOMS 7, 1981. A system is cut
 * into pieces of consecutive rows. The last row l of a piece is a separator; the rows before it are its interior, which
 * couples to its own separator and to that of the piece before, at p. Elimination of an interior row after row gives
 *
 *     u_k = F_k - W_k u_(k+1) - P_k u_p,     and for its first row     u_first = G - H u_l - Q u_p
 *
 * and with these the equation of a separator becomes one of separators alone:
 *
 *     -a_l P u_p + (b_l - a_l W - c_l Q') u_l - c_l H' u_l' = f_l - a_l F - c_l G'
 *
 * where W, P and F are those of row l - 1, and primes are of the next piece. These equations make systems of as many
 * rows as there are pieces, which are solved in the same way. Then each interior is a system of its own with known
 * neighbours, which Thomas's algorithm solves, or lanes do. So a, b, c and f are read twice: (6 m^2 + 3 m) scalars a row
 * are moved for (3 m^2 + 2 m). Keeping W, P and F instead would move (7 m^2 + 4 m). The paper splits by steps of
 * parallel cyclic reduction, which move (6 m^2 + 2 m) each. */
#ifndef KARST_GPU_TRIDIAGONAL_CUDA_H
#define KARST_GPU_TRIDIAGONAL_CUDA_H

#include "gpu/tridiagonal/block_worker.h"

extern "C" {
#include "lib/backend/backend.h"
#include "lib/backend/tridiagonal_kernels.h"
}

/* Systems in device memory. Those of separators know the sizes of their diagonal blocks, and where their rows are in
 * the batch: row j there is row min((j + 1) spread, rows) - 1. */
template <typename T> struct karst_tri_systems {
  int64_t systems, rows;
  int m;
  karst_tri_rows<const T> lower, diagonal, upper, right;
  karst_tri_rows<const T> size; /* NULL: |b| */
  karst_tri_rows<T> solution;   /* may be right */
  int64_t spread, batch_rows;
  int step;                    /* of karst_tridiagonal_failure */
  unsigned long long *failure; /* device memory */
};

/* Keeps the failure of a row. */
template <typename T>
static __device__ inline void karst_tri_record(const karst_tri_systems<T> &s, int64_t system, int64_t row, int step,
                                               karst_reason reason)
{
  const int64_t place = (row + 1) * s.spread < s.batch_rows ? (row + 1) * s.spread : s.batch_rows;
  atomicMin(s.failure,
            (unsigned long long)karst_tridiagonal_failure(s.batch_rows, system, s.step + step, place - 1, reason));
}

/* The pieces of systems: pieces of each, of length rows, the last perhaps shorter. */
struct karst_tri_cut {
  int64_t length, pieces;
  bool separated; /* the last row of a piece is a separator */
};

/* The rows of a piece, or of its interior. */
struct karst_tri_piece {
  int64_t system, first, count; /* first: of the system */
  int64_t row;                  /* first, of all systems */
};

static __device__ __forceinline__ karst_tri_piece karst_tri_find(karst_tri_cut cut, int64_t rows, int64_t index)
{
  karst_tri_piece piece;
  piece.system = cut.pieces == 1 ? index : index / cut.pieces; /* a division takes as long as a row of a small block */
  piece.first = (index - piece.system * cut.pieces) * cut.length;
  const int64_t end = piece.first + cut.length < rows ? piece.first + cut.length : rows;
  piece.count = end - piece.first - (cut.separated ? 1 : 0);
  piece.row = piece.system * rows + piece.first;
  return piece;
}

/* What the elimination of interiors leaves: a row for each piece of all systems. */
template <typename T> struct karst_tri_reduced {
  karst_tri_rows<T> lower, diagonal, upper, right, size; /* of the systems of separators */
  karst_tri_rows<T> H, Q, G;
};

/* Numbers of a row of a piece: element e of row i of piece number p is at[e * element + i * row + p * piece]. */
template <typename T> struct karst_tri_kept {
  T *at;
  int64_t element, row, piece;

  __device__ karst_tri_rows<T> of(int64_t p) const { return {at + p * piece, element, row}; }
};

template <typename T>
static __host__ __device__ __forceinline__ karst_tri_rows<const T> karst_tri_const(karst_tri_rows<T> rows)
{
  return {rows.at, rows.element, rows.row};
}

template <typename T> struct karst_tri_factors {
  karst_tri_kept<T> L, D, W; /* factors.h */
};

/* How a thread block holds its systems for cyclic reduction (cyclic.h): [per systems][rows] records of CR, each A, B,
 * C, F and the size of B, unless PCR takes all rows; then twice [per systems][parallel rows] records of PCR, each A, C
 * and F. */
struct karst_tri_layout {
  int64_t per;             /* systems of a thread block */
  int64_t left;            /* CR ends when so many rows or fewer are left of each */
  int64_t parallel;        /* rows that are left then */
  int64_t record, reduced; /* scalars of a record of CR and of PCR, odd: neighbours are in different banks */
  int64_t scalars;         /* in all */
};

/* How lanes share pieces in shared memory (lanes.h): the lanes of a piece, the pieces of a warp or, if they have more
 * than 32 lanes, of a thread block, its threads, and the lanes that have a place. */
struct karst_tri_spread {
  int lanes, per, threads, places;
};

/* Threads of a thread block in lanes.h at most: as many as have registers for blocks of size m. */
constexpr int karst_tri_lane_threads(int m) { return m == 1 ? 768 : 256; }

/* How pieces are solved from both ends (ends.h). */
struct karst_tri_ends_plan {
  int per;        /* pieces of a thread block at a time; 0 for other variants */
  int blocks;     /* thread blocks at most */
  int inner;      /* rows of a piece that are kept in shared memory */
  int64_t shared; /* bytes of a thread block */
  int64_t outer;  /* scalars of global memory of a thread block, for its other rows */
};

template <typename T> struct karst_tri_variant;

/* A level of systems: those of the batch, or the separators of the level above. */
template <typename T> struct karst_tri_level {
  int64_t rows; /* of a system */
  karst_tri_cut cut;
  const karst_tri_variant<T> *variant; /* what solves the pieces (choose.h) */
  karst_tri_spread spread;             /* of lanes.h; lanes is 0 for other variants */
  karst_tri_ends_plan ends;            /* of ends.h */
  T *outer;                            /* [blocks][outer] of ends.h */
  karst_tri_kept<T> W;                 /* of a sweep over the pieces; NULL without one */
  karst_tri_factors<T> factors;
  T *y;                           /* [systems rows m] the solution of interiors; NULL without separators */
  karst_tri_rows<T> lower, upper; /* a and c of the separators, kept */
  karst_tri_reduced<T> reduced;   /* the level below */
  karst_tri_rows<T> unknowns;     /* of the level below */
};

enum {
  KARST_TRI_LEVELS = 24,
  KARST_TRI_LANES = 3,    /* the largest m of lanes */
  KARST_TRI_TEAMS = 8,    /* and of teams */
  KARST_TRI_LANE_ROWS = 8 /* of a lane in lanes.h */
};

/* The plan of a batch, in struct karst_tridiagonal. */
template <typename T> struct karst_tri_plan {
  int64_t systems;
  int m, levels;
  karst_tri_level<T> level[KARST_TRI_LEVELS];
  karst_tri_layout layout;     /* of cyclic reduction, which solves the last level; zero for other variants */
  int64_t blocks;              /* thread blocks of a launch at most */
  T *records, *scratch;        /* of thread blocks in global memory, for large blocks */
  unsigned long long *failure; /* [2] of the last solve, and of the kept factors */
  T *kept[3], *trial; /* copies of a, b and c instead of factors, if lanes solve the systems, and a vector; plan.cu */
  bool has_factors;   /* memory of factors was taken */
  bool converts;      /* the batch has structures of arrays, and is solved as arrays of structures: */
  T *arranged[4];     /* a, b, c and f of these */
  T *memory[2];       /* of solve and of factors */
};

/* Launches. separators copies entries scalars a row from rows of separators to rows of their own, or back. convert
 * transposes [entries][rows] to [rows][entries], or back if to_entries. */
#define KARST_TRI_LAUNCHES(T)                                                                                          \
  void karst_tri_launch_reduce(const karst_cuda *cuda, const karst_tri_plan<T> &plan, int level,                       \
                               const karst_tri_systems<T> &s);                                                         \
  void karst_tri_launch_sweep(const karst_cuda *cuda, const karst_tri_plan<T> &plan, int level,                        \
                              const karst_tri_systems<T> &s);                                                          \
  void karst_tri_launch_lanes(const karst_cuda *cuda, const karst_tri_plan<T> &plan, int level,                        \
                              const karst_tri_systems<T> &s);                                                          \
  void karst_tri_launch_ends(const karst_cuda *cuda, const karst_tri_plan<T> &plan, int level,                         \
                             const karst_tri_systems<T> &s);                                                           \
  void karst_tri_launch_cyclic(const karst_cuda *cuda, const karst_tri_plan<T> &plan, int level,                       \
                               const karst_tri_systems<T> &s);                                                         \
  void karst_tri_launch_factor(const karst_cuda *cuda, const karst_tri_plan<T> &plan, int level,                       \
                               const karst_tri_systems<T> &s);                                                         \
  void karst_tri_launch_substitute(const karst_cuda *cuda, const karst_tri_plan<T> &plan, int level, bool bounded,     \
                                   karst_tri_rows<const T> right, karst_tri_rows<T> solution);                         \
  void karst_tri_launch_condense(const karst_cuda *cuda, const karst_tri_plan<T> &plan, int level,                     \
                                 karst_tri_rows<const T> right);                                                       \
  void karst_tri_launch_separators(const karst_cuda *cuda, const karst_tri_plan<T> &plan, int level, int entries,      \
                                   karst_tri_rows<const T> from, karst_tri_rows<T> to, bool back);                     \
  void karst_tri_launch_convert(const karst_cuda *cuda, int64_t rows, int entries, bool to_entries, const T *from,     \
                                T *to);
KARST_TRI_LAUNCHES(float)
KARST_TRI_LAUNCHES(double)
#undef KARST_TRI_LAUNCHES

#endif
