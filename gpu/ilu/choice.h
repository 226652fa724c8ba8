/* choice.h - rules that choose the GPU kernels of block ILU: one for the factorization, one for the triangular solves.
 * They are functions of a few numbers and need no device. plan.cu lists the kernels in the order of the enums. The
 * header is C and C++.
 *
 * The limits were measured on an H100. */
#ifndef KARST_GPU_ILU_CHOICE_H
#define KARST_GPU_ILU_CHOICE_H

#include "lib/backend/dense.h"
#include "lib/backend/ilu_kernels.h"
#include "lib/backend/sweep_time.h"

/* The input of the choice. */
typedef struct karst_ilu_shape {
  int block_size;
  int64_t rows;       /* block rows, at least one */
  int64_t neighbours; /* blocks off the diagonal, of L and U together */
  int64_t levels;     /* level sets of L */
  int64_t longest;    /* blocks of the longest row of L, D and U'; with its padding once that is measured; 0: not yet */
  int multiprocessors;
  bool modified;                   /* dropped products are added to the diagonal */
  int64_t products, most_products; /* bounds of their number, in all and of a row; 0: not counted */
} karst_ilu_shape;

/* The factorization kernels. */
enum karst_ilu_factor_kind {
  KARST_ILU_FACTOR_ROW,   /* one warp makes one block row, or two, in shared memory: factor_row.cu */
  KARST_ILU_FACTOR_SLICE, /* one warp makes as many block rows as it has lanes for: factor_slice.cu */
  KARST_ILU_FACTOR_MMA,   /* one warp makes one block row on the matrix units: factor_mma.cu */
  KARST_ILU_FACTOR_BLOCK, /* one block of threads makes one block row of any block size: factor_search.cu */
  KARST_ILU_FACTORS
};

enum { KARST_ILU_ROW_ELEMENTS = 1536 }; /* of a row in shared memory with KARST_ILU_FACTOR_ROW, at most */

/* Returns the factorization with lists of the products. A row that was not measured is assumed to fit. If the answer is
 * KARST_ILU_FACTOR_ROW, the caller measures the longest row with its padding and calls again. */
static inline enum karst_ilu_factor_kind karst_ilu_choose_listed(const karst_ilu_shape *shape)
{
  enum { MANY = 10 }; /* neighbours of a row on average: fewer leave lanes of a warp without work */
  const int64_t elements = (int64_t)shape->block_size * shape->block_size * shape->longest;
  if (shape->modified) return KARST_ILU_FACTOR_BLOCK; /* only this one sums the dropped products */
  /* The others hold blocks in registers. */
  if (shape->block_size > KARST_BLOCK_SIZE_LARGEST_INSTANCE) return KARST_ILU_FACTOR_BLOCK;
  /* These blocks nearly fill a tile of 8 by 8. */
  if (shape->block_size > KARST_ILU_SLICE_LARGEST) return KARST_ILU_FACTOR_MMA;
  if (shape->neighbours <= MANY * shape->rows) return KARST_ILU_FACTOR_SLICE;
  return elements <= KARST_ILU_ROW_ELEMENTS ? KARST_ILU_FACTOR_ROW : KARST_ILU_FACTOR_SLICE;
}

/* Returns whether products are searched for, which only KARST_ILU_FACTOR_BLOCK does: if lists of them would take much
 * more memory than the factors, or if a few lanes would work on a long one alone. */
static inline bool karst_ilu_searches(const karst_ilu_shape *shape)
{
  enum { MANY = 64, LONG = 4096 };
  return shape->products > MANY * (shape->neighbours + shape->rows) ||
         (shape->most_products > LONG && karst_ilu_choose_listed(shape) == KARST_ILU_FACTOR_SLICE);
}

/* Returns whether a matrix that is solved tile by tile is factored so as well, if every tile fits: registers have room
 * for too few larger blocks. */
static inline bool karst_ilu_may_factor_tiles(const karst_ilu_shape *shape)
{
  return !shape->modified && shape->block_size <= KARST_ILU_SLICE_LARGEST;
}

/* Returns how many scalar rows a warp of KARST_ILU_FACTOR_ROW makes at a time: two if a level has so many rows for each
 * multiprocessor that too few warps are left for the next levels. */
static inline int karst_ilu_choose_rows_of_warp(const karst_ilu_shape *shape)
{
  enum { MANY = 7 };
  return shape->block_size == 1 && 2 * shape->longest <= KARST_ILU_ROW_ELEMENTS &&
                 shape->rows > (int64_t)MANY * shape->multiprocessors * shape->levels
             ? 2
             : 1;
}

/* The kernels of the triangular solves. */
enum karst_ilu_sweep_kind {
  KARST_ILU_SWEEP_DATAFLOW, /* one launch, warps wait for each other: dataflow.cu */
  KARST_ILU_SWEEP_LEVEL,    /* a launch for each level: level.cu */
  KARST_ILU_SWEEP_JACOBI,   /* Jacobi sweeps replace the triangular solves: jacobi.cu */
  KARST_ILU_SWEEP_TILES,    /* one launch for both triangles, a warp a tile: tile_sweep.cu */
  KARST_ILU_SWEEPS
};

/* Chooses by the option trisolve and the number of levels of both triangles. A launch for each level pays if there are
 * few levels, because nothing then waits for long. */
static inline enum karst_ilu_sweep_kind karst_ilu_choose_sweep(karst_trisolve trisolve, int64_t levels)
{
  enum { FEW = 8 };
  if (trisolve == KARST_TRISOLVE_JACOBI) return KARST_ILU_SWEEP_JACOBI;
  if (trisolve == KARST_TRISOLVE_LEVEL) return KARST_ILU_SWEEP_LEVEL;
  return trisolve == KARST_TRISOLVE_AUTO && levels <= FEW ? KARST_ILU_SWEEP_LEVEL : KARST_ILU_SWEEP_DATAFLOW;
}

/* Returns whether rows may be solved tile by tile: if the user asks for it, or auto has tiles of several rows. tiling
 * may be NULL. */
static inline bool karst_ilu_may_solve_tiles(karst_trisolve trisolve, int64_t rows, int block_size,
                                             const karst_tiling *tiling)
{
  if (!tiling || tiling->tiles == 0 || block_size > KARST_BLOCK_SIZE_LARGEST_INSTANCE) return false;
  return trisolve == KARST_TRISOLVE_TILES || (trisolve == KARST_TRISOLVE_AUTO && tiling->tiles <= rows / 2);
}

/* Returns whether they are, once their tiles are made: auto takes the way that is predicted to be faster. */
static inline bool karst_ilu_solves_tiles(const karst_machine *machine, karst_trisolve trisolve,
                                          const karst_sweep_work *work)
{
  return trisolve == KARST_TRISOLVE_TILES ||
         karst_sweep_seconds_by_tiles(machine, work) <= karst_sweep_seconds_by_levels(machine, work);
}

/* The same for DILU, whose sweeps by level sets read A in place and take about twice as long as those of block ILU. */
static inline bool karst_dilu_solves_tiles(const karst_machine *machine, const karst_sweep_work *work)
{
  return karst_sweep_seconds_by_tiles(machine, work) <= 2 * karst_sweep_seconds_by_levels(machine, work);
}

/* Rows that are long: a block of threads makes each of them. The limits that are tried are KARST_ILU_LONG neighbours
 * and twice as many each time. */
enum { KARST_ILU_LONG = 64, KARST_ILU_LONG_LIMITS = 24 };

/* The input of the choice of a limit. For each limit: the number of rows with more neighbours, and the sum of these
 * neighbours. */
typedef struct karst_ilu_long_rows {
  unsigned long long rows[KARST_ILU_LONG_LIMITS], neighbours[KARST_ILU_LONG_LIMITS];
} karst_ilu_long_rows;

/* Returns the number of the limit beyond which rows are long, or -1 if no row is. Either a level has few such rows on
 * average, because many would fill the device by themselves; or they are much longer than the average row. */
static inline int karst_ilu_choose_long(const karst_ilu_long_rows *found, int64_t rows, int64_t neighbours,
                                        int64_t levels)
{
  enum { FEW = 16, MUCH = 8 };
  for (int l = 0; l < KARST_ILU_LONG_LIMITS && found->rows[l] > 0; l++)
    if ((int64_t)found->rows[l] <= FEW * levels || ((int64_t)KARST_ILU_LONG << l) * rows >= MUCH * neighbours) return l;
  return -1;
}

/* Returns how many lanes share the neighbours of a row that is not long, beside rows that are. Two lanes are left out,
 * so that there are fewer kernels. */
static inline int karst_ilu_choose_parts_beside_long(int b, int64_t slots, int64_t neighbours)
{
  const int parts = karst_ilu_choose_parts(b, slots, neighbours);
  return parts == 2 ? 4 : parts;
}

#endif
