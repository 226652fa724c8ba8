/* tile_sweep.h - the data of the sweeps by tiles (tile_sweep.cu), which tile_order.cu, tile_halo.cu and tile_record.cu
 * make.
 *
 * One warp solves a tile of the kernels, which has consecutive block rows. Those of one level set inside the tile make
 * a step, or several if they are more than the warp has lanes for. All data of a tile for a triangle stand together, in
 * the order of the steps, so that they are copied into shared memory as a whole. Values:
 *
 *     of U' first the blocks of D^-1, as if they were a step of all rows;
 *     then step after step. A step of count rows has length blocks for each, the shorter rows padded with zeros;
 *     element (r, c) of block e of its row q has the place  (e b + c) count b + q b + r.
 *
 * The record holds the pattern, one part behind the other:
 *
 *     step   [steps + 1] karst_ilu_step, the last one where the next would begin
 *     halo   [halos] karst_index, rows of other tiles, ascending
 *     wait   [waits] karst_index, the numbers of their tiles, ascending
 *     wide   [blocks] karst_index, the neighbours of a far tile
 *     order  [rows] unsigned short, the rows in the order of the steps, counted from the tile's first
 *     local  [blocks] unsigned short, only of a near tile
 *
 * In shared memory a near tile has its part of x, then that of its halo, then a block of zeros; local says which of
 * these is the neighbour of each block. The blocks of D^-1 have none. A far tile is a single row whose values or halo
 * do not fit there; it has only its part of x. All tiles of several rows are near: those that take too much are cut. */
#ifndef KARST_GPU_ILU_TILES_TILE_SWEEP_H
#define KARST_GPU_ILU_TILES_TILE_SWEEP_H

#include "gpu/ilu/ilu_cuda.h"

extern "C" {
#include "lib/backend/sweep_time.h"
}

typedef struct alignas(16) karst_ilu_step {
  int first;     /* the place in order of its first row */
  int length;    /* blocks of each row */
  int64_t block; /* the first of its blocks among those of the tile */
} karst_ilu_step;

/* A tile in one triangle. */
typedef struct alignas(16) karst_ilu_tile {
  int64_t value;      /* the first of its blocks among those of all tiles */
  int64_t record;     /* where its record begins, in units of 16 bytes */
  int64_t blocks;     /* with those of D^-1 and the padding; whole 16 bytes, of which copies are */
  karst_index row;    /* first row */
  karst_index number; /* among the tiles in the order of their rows */
  int rows, halos, waits, steps;
  int far;
  int rounds;      /* of all steps (lib/backend/sweep_time.h) */
  int value_bytes; /* of a number that the sweeps read */
} karst_ilu_tile;

/* One triangle by tiles. All in device memory; nothing of it changes once it is made. */
typedef struct karst_ilu_tiled {
  karst_ilu_tile *tile; /* [tiles] none depends on a later one */
  int4 *record;         /* of all tiles */
  int64_t blocks;
  karst_index *from;      /* [blocks] the number of each block in the triangle; -1: it is zero. NULL: no values are
                      * copied from there */
  double chain, occupied; /* as in karst_sweep_work, of this triangle */
} karst_ilu_tiled;

/* Both triangles by tiles, which have the same tiles. */
typedef struct karst_ilu_both_tiled {
  karst_index tiles;
  karst_ilu_tiled lower, upper;
} karst_ilu_both_tiled;

/* The values of both, [b * b * blocks] each, and the same rounded for sweeps in float, else NULL; device memory. */
typedef struct karst_ilu_tile_values {
  double *lower, *upper;
  float *lower_single, *upper_single;
} karst_ilu_tile_values;

/* The tiles, of both triangles; device memory. */
typedef struct karst_ilu_tiles_cuda {
  karst_index count;
  karst_index *start; /* [count + 1] the first row of each */
  karst_index *owner; /* [rows] the tile of each row */
} karst_ilu_tiles_cuda;

/* A triangle whose tiles are under way; device memory. */
typedef struct karst_ilu_tiling_cuda {
  int block_size;
  bool upper, share; /* share: lanes share rows */
  bool single;       /* the sweeps read values in float */
  karst_index rows;
  const karst_index *row_start, *column; /* the strict triangle by rows */
  karst_ilu_tiles_cuda tiles;
  unsigned short *order; /* [rows] as in the records */
  karst_index *level;    /* [rows] the level of each row inside its tile */
} karst_ilu_tiling_cuda;

/* The rows of other tiles that each tile needs, and the tiles that own them; device memory. */
typedef struct karst_ilu_halos_cuda {
  int row_bits;
  int64_t count;
  unsigned long long *pair; /* [count] tile << row_bits | row, ascending, each once */
  karst_index *number;      /* [count + 1] how many tiles are waited for before each pair */
} karst_ilu_halos_cuda;

/* The tiles of a triangle before their records are made. */
typedef struct karst_ilu_measured_cuda {
  karst_ilu_tile *tile;      /* [tiles] by their numbers */
  karst_index *wait;         /* the tiles that each waits for, tile after tile */
  karst_ilu_tile *host_tile; /* copies in host memory */
  karst_index *host_wait;
} karst_ilu_measured_cuda;

/* Where the parts of a tile's record begin, in bytes, and how many bytes there are, a multiple of 16. */
typedef struct karst_ilu_record {
  int64_t halo, wait, wide, order, local, bytes;
} karst_ilu_record;

static inline __host__ __device__ karst_ilu_record karst_ilu_record_of(const karst_ilu_tile &tile)
{
  karst_ilu_record r;
  const int64_t index = sizeof(karst_index), few = sizeof(unsigned short);
  r.halo = (tile.steps + (int64_t)1) * (int64_t)sizeof(karst_ilu_step);
  r.wait = r.halo + tile.halos * index;
  r.wide = r.wait + tile.waits * index;
  r.order = r.wide + (tile.far ? tile.blocks * index : 0);
  r.local = r.order + tile.rows * few;
  r.bytes = (r.local + (tile.far ? 0 : tile.blocks * few) + 15) / 16 * 16;
  return r;
}

/* Bytes of shared memory that hold a tile's part of x, and its halo and the zeros where it is near. */
static inline __host__ __device__ int64_t karst_ilu_tile_vector(const karst_ilu_tile &tile, int b)
{
  const int64_t unknowns = tile.far ? tile.rows : (int64_t)tile.rows + tile.halos + 1;
  return (unknowns * b * (int64_t)sizeof(double) + 15) / 16 * 16;
}

/* Bytes of shared memory that a tile takes. */
static inline __host__ __device__ int64_t karst_ilu_tile_bytes(const karst_ilu_tile &tile, int b)
{
  const int64_t x = karst_ilu_tile_vector(tile, b);
  return tile.far ? x : x + karst_ilu_record_of(tile).bytes + tile.blocks * b * b * tile.value_bytes;
}

/* tile_order.cu: the tiles of the kernels, from those of the analysis; those of several rows that take more than shared
 * bytes in a triangle are cut, and *cut says whether there were any; then the rows in the order of the steps. After a
 * failure the caller releases what they have made. */
karst_status karst_ilu_join_tiles_cuda(karst_context *context, const karst_ilu_analysis *analysis,
                                       karst_ilu_tiles_cuda *tiles);
karst_status karst_ilu_cut_tiles_cuda(karst_context *context, int b, int64_t shared, const karst_ilu_tile *lower,
                                      const karst_ilu_tile *upper, karst_ilu_tiles_cuda *tiles, bool *cut);
karst_status karst_ilu_order_tiles_cuda(karst_context *context, karst_ilu_tiling_cuda *tiling);
/* tile_halo.cu; the second function releases what the first has made, also after a failure. */
karst_status karst_ilu_find_halos_cuda(karst_context *context, const karst_ilu_tiling_cuda *tiling,
                                       karst_ilu_halos_cuda *halos);
void karst_ilu_release_halos_cuda(karst_context *context, karst_ilu_halos_cuda *halos);
/* tile_record.cu: measures the tiles; makes the triangle by tiles, those of more than shared bytes of shared memory
 * far. *bytes counts the memory. The other functions release what they have made, also after a failure. */
karst_status karst_ilu_measure_tiles_cuda(karst_context *context, const karst_ilu_tiling_cuda *tiling,
                                          const karst_ilu_halos_cuda *halos, karst_ilu_measured_cuda *measured);
karst_status karst_ilu_make_tiled_cuda(karst_context *context, const karst_ilu_tiling_cuda *tiling,
                                       const karst_ilu_halos_cuda *halos, const karst_ilu_measured_cuda *measured,
                                       int64_t shared, karst_ilu_tiled *tiled, int64_t *bytes);
void karst_ilu_release_measured_cuda(karst_context *context, karst_ilu_measured_cuda *measured);
void karst_ilu_release_tiled_cuda(karst_context *context, karst_ilu_tiled *tiled);

/* tile_sweep.cu: the bytes of shared memory that a block of threads may request, less some for what its kernel has
 * anyway. */
int karst_ilu_tile_room(const karst_context *context);

/* tile_copy.cu, for factors that are made in slices: finds where the blocks of the tiles stand in the triangles of the
 * analysis, once these are laid out; and queues the copying of their values. */
karst_status karst_ilu_find_blocks_cuda(karst_context *context, const karst_ilu_pattern_cuda *pattern,
                                        karst_ilu_analysis *analysis, karst_ilu_both_tiled *both);
void karst_ilu_copy_values_cuda(karst_context *context, const karst_ilu_cuda *plan, const karst_ilu_both_tiled *both,
                                karst_ilu_tile_values value);

/* tile_sweep.cu: the tiles of a plan that solves by tiles, and its values if it is of a factorization. */
karst_ilu_both_tiled *karst_ilu_tiled_of(const karst_ilu_cuda *plan);
karst_ilu_tile_values karst_ilu_tile_values_of(const karst_ilu_cuda *plan);

#endif
