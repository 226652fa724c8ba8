/* choice.h - which kernels factor block ILU on a GPU, and which solve with its triangles: the rules alone. They are
 * functions of a few numbers and need no device. plan.cu lists the kernels in the same order. The header is C and C++.
 *
 * The limits in it were measured on an H100. */
#ifndef KARST_GPU_ILU_CHOICE_H
#define KARST_GPU_ILU_CHOICE_H

#include "lib/backend/dense.h"
#include "lib/backend/ilu_kernels.h"

/* What the choice depends on. */
typedef struct karst_ilu_shape {
  int block_size;
  int64_t rows;       /* block rows, at least one */
  int64_t neighbours; /* blocks off the diagonal, of L and U together */
  int64_t levels;     /* level sets of L */
  int64_t longest;    /* blocks of the longest row of L, D and U'; with its padding once that is measured; 0: not yet */
  int multiprocessors;
  bool modified;                   /* dropped products are added to the diagonal */
  int64_t products, most_products; /* there are at most so many, and of one row; 0: not counted */
} karst_ilu_shape;

/* The ways to factor, in the order in which they are tried. */
enum karst_ilu_factor_kind {
  KARST_ILU_FACTOR_ROW,      /* one warp makes one block row, or two, in shared memory: factor_row.cu */
  KARST_ILU_FACTOR_SLICE,    /* one warp makes as many block rows as it has lanes for: factor_slice.cu */
  KARST_ILU_FACTOR_MMA,      /* one warp makes one block row on the matrix units: factor_mma.cu */
  KARST_ILU_FACTOR_LARGE,    /* one block of threads makes one block row: factor_large.cu */
  KARST_ILU_FACTOR_MODIFIED, /* the same with the dropped products, for any block size, and never tried without them */
  KARST_ILU_FACTOR_SEARCH,   /* either, without lists of the products: factor_search.cu */
  KARST_ILU_FACTORS
};

/* What each of them is for. Blocks of more than KARST_ILU_SLICE_LARGEST nearly fill a tile of 8 by 8. */
typedef struct karst_ilu_factor_rule {
  const char *name;
  int largest_block; /* 0: any */
  int average;       /* rows have more than so many neighbours on average; -1: any number */
  int elements;      /* the longest row has at most so many, for each warp has so much shared memory; 0: any number */
} karst_ilu_factor_rule;

static const karst_ilu_factor_rule karst_ilu_factor_rules[KARST_ILU_FACTORS] = {
    {"row", KARST_ILU_SLICE_LARGEST, 10, 1536},
    {"slice", KARST_ILU_SLICE_LARGEST, -1, 0},
    {"mma", KARST_BLOCK_SIZE_LARGEST_INSTANCE, -1, 0},
    {"large", 0, -1, 0},
    {"modified", 0, -1, 0},
    {"search", 0, -1, 0},
};

/* Tells whether the rule lets the shape pass. A limit on the longest row lets pass what has not been measured. */
static inline bool karst_ilu_factor_fits(const karst_ilu_factor_rule *rule, const karst_ilu_shape *shape)
{
  const int64_t elements = (int64_t)shape->block_size * shape->block_size * shape->longest;
  return (rule->largest_block == 0 || shape->block_size <= rule->largest_block) &&
         shape->neighbours > rule->average * shape->rows && (rule->elements == 0 || elements <= rule->elements);
}

/* Returns the first way that fits of those that have lists of the products. Where its rule limits the longest row, and
 * this has not been measured, the caller measures it and asks again. */
static inline enum karst_ilu_factor_kind karst_ilu_choose_listed(const karst_ilu_shape *shape)
{
  int kind = 0;
  if (shape->modified) return KARST_ILU_FACTOR_MODIFIED;
  while (kind < KARST_ILU_FACTOR_LARGE && !karst_ilu_factor_fits(&karst_ilu_factor_rules[kind], shape)) kind++;
  return (enum karst_ilu_factor_kind)kind;
}

/* Tells whether products are looked for, as KARST_ILU_FACTOR_SEARCH does: where lists of them would take much more
 * memory than the factors, or where a few lanes would go through a long one alone. */
static inline bool karst_ilu_searches(const karst_ilu_shape *shape)
{
  enum { MANY = 64, LONG = 4096 };
  return shape->products > MANY * (shape->neighbours + shape->rows) ||
         (shape->most_products > LONG && karst_ilu_choose_listed(shape) == KARST_ILU_FACTOR_SLICE);
}

/* Tells whether a matrix that is solved tile by tile is to be factored so as well, if every tile finds room: of larger
 * blocks too few find room in registers. */
static inline bool karst_ilu_may_factor_tiles(const karst_ilu_shape *shape)
{
  return !shape->modified && shape->block_size <= KARST_ILU_SLICE_LARGEST;
}

/* Returns how many scalar rows a warp of KARST_ILU_FACTOR_ROW makes at a time. There are two where a level has so many
 * rows for each multiprocessor that warps for the next levels are short. */
static inline int karst_ilu_choose_rows_of_warp(const karst_ilu_shape *shape)
{
  enum { MANY = 7 };
  return shape->block_size == 1 && 2 * shape->longest <= karst_ilu_factor_rules[KARST_ILU_FACTOR_ROW].elements &&
                 shape->rows > (int64_t)MANY * shape->multiprocessors * shape->levels
             ? 2
             : 1;
}

/* The ways to solve with the triangles. */
enum karst_ilu_sweep_kind {
  KARST_ILU_SWEEP_DATAFLOW, /* one launch, warps wait for each other: dataflow.cu */
  KARST_ILU_SWEEP_LEVEL,    /* a launch for each level: level.cu */
  KARST_ILU_SWEEP_JACOBI,   /* Jacobi sweeps in the triangles' place: jacobi.cu */
  KARST_ILU_SWEEP_TILES,    /* one launch for both triangles, a warp a tile: tile_sweep.cu */
  KARST_ILU_SWEEPS
};

/* Chooses by the option trisolve and the number of levels of both triangles. Launches by levels pay where there are few
 * of them: then nothing waits for long, and they keep no state. */
static inline enum karst_ilu_sweep_kind karst_ilu_choose_sweep(karst_trisolve trisolve, int64_t levels)
{
  enum { FEW = 8 };
  if (trisolve == KARST_TRISOLVE_JACOBI) return KARST_ILU_SWEEP_JACOBI;
  if (trisolve == KARST_TRISOLVE_LEVEL) return KARST_ILU_SWEEP_LEVEL;
  return trisolve == KARST_TRISOLVE_AUTO && levels <= FEW ? KARST_ILU_SWEEP_LEVEL : KARST_ILU_SWEEP_DATAFLOW;
}

/* Tells whether rows are to be solved tile by tile: where the user asks for it, or leaves the choice and that suits.
 * neighbours: of L and U together. tiling NULL: none. */
static inline bool karst_ilu_choose_tiles(karst_trisolve trisolve, int64_t rows, int64_t neighbours, int block_size,
                                          const karst_tiling *tiling)
{
  if (!tiling || tiling->tiles == 0 || block_size > KARST_BLOCK_SIZE_LARGEST_INSTANCE) return false;
  return trisolve == KARST_TRISOLVE_TILES ||
         (trisolve == KARST_TRISOLVE_AUTO && karst_tiles_suit_sweeps(rows, tiling->tiles, neighbours));
}

/* KARST_ILU_SWEEP_DATAFLOW: how many neighbours of a row a lane waits for at once, and how many lanes share them at
 * most. */
enum { KARST_ILU_PARTS = 8 };

/* A macro, for kernels' array lengths are made of it in C++ and C has no constant functions. */
#define KARST_ILU_NEIGHBOURS_AT_ONCE(b) ((b) <= 2 ? 4 : 3)

/* Returns how many lanes share the neighbours of a row: enough for a lane to wait for all of its own at once. slots
 * counts the rows of the triangle with the padding, neighbours those of all rows. */
static inline int karst_ilu_choose_parts(int b, int64_t slots, int64_t neighbours)
{
  int parts = 1;
  while (b <= KARST_BLOCK_SIZE_LARGEST_INSTANCE && parts < KARST_ILU_PARTS && 2 * parts * b <= 32 &&
         parts * KARST_ILU_NEIGHBOURS_AT_ONCE(b) * slots < neighbours)
    parts *= 2;
  return parts;
}

/* Rows that are long: a block of threads makes each of them. The limits that are tried are KARST_ILU_LONG neighbours
 * and twice as many each time. */
enum { KARST_ILU_LONG = 64, KARST_ILU_LONG_LIMITS = 24 };

/* What the choice of a limit depends on. For each limit: how many rows have more neighbours, and how many these have
 * together. */
typedef struct karst_ilu_long_rows {
  unsigned long long rows[KARST_ILU_LONG_LIMITS], neighbours[KARST_ILU_LONG_LIMITS];
} karst_ilu_long_rows;

/* Returns the number of the limit beyond which rows are long, or -1 where none is long. A level is to have few of them,
 * for else the others fill the device; or they are to be much longer than the average row. */
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
