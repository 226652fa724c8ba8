/* tile_factor.h - the data of the factorization by tiles (tile_factor.cu), which tile_products.cu and tile_lists.cu
 * make.
 *
 * A block of threads makes the factors of one tile (tile_sweep.h) in shared memory. The tile's blocks are there row
 * after row, those of L, D and U' of a row in the order of their columns. Numbered behind them are the blocks of D^-1
 * and U' of other tiles that it needs, row after row, D^-1 first in each; small ones are fetched there, larger ones are
 * read in place. The record of a tile has, one part behind the other:
 *
 *     wave      [waves + 1] karst_ilu_wave, the first jobs of each
 *     job       [jobs + 1] karst_ilu_job, the blocks that products are subtracted from. A wave first has those of
 *               products with blocks of other tiles, then those of products inside the tile. Each diagonal block has a
 *               job, and is inverted in its last
 *     wait      [waits] karst_index, the numbers of the tiles that are waited for
 *     product   [products] unsigned short: of each product the left block, the right block and, inside the tile, the
 *               diagonal block whose inverse stands between them, because blocks of U' are multiplied by it only when
 *               they are stored
 *
 * and the parts that are used before and after the waves:
 *
 *     outside   [outside] unsigned long long, the place of each block of another tile among the values, times 2^16,
 *               plus the distance of its columns
 *     step      [lower_steps + 1] and then [upper_steps + 1] karst_ilu_short_step, as the sweeps have them
 *     row       [rows + 1] unsigned short, the first block of each
 *     place     [lower_blocks] and then [upper_blocks] unsigned short, the number of each block as the sweeps have them
 *     divisor   [lower_blocks] and then [upper_blocks] unsigned short, the block of D^-1 by which each is multiplied
 *               when it is stored
 *     source    [blocks] unsigned short, the block of A that each starts from, counted from the tile's first; only if
 *               there is fill, because otherwise they are the blocks of A in their order
 *
 * KARST_ILU_NO_BLOCK marks an empty place: padding; a fill block, which has no source in A; a block that is not divided
 * by D; a job without pivot.
 *
 * A job needs blocks of earlier waves only. A block with jobs of both kinds has them in two waves. The last job of a
 * diagonal block is in no earlier wave than those of its row, because the whole row determines the replacement of a
 * failed pivot. */
#ifndef KARST_GPU_ILU_TILES_TILE_FACTOR_H
#define KARST_GPU_ILU_TILES_TILE_FACTOR_H

#include "gpu/ilu/tiles/tile_sweep.h"

enum { KARST_ILU_NO_BLOCK = 0xffff, KARST_ILU_EARLY = 0x8000 };

typedef struct alignas(8) karst_ilu_wave {
  int outer, inner; /* its first jobs of each kind */
} karst_ilu_wave;

typedef struct alignas(8) karst_ilu_job {
  int product; /* where its products begin */
  unsigned short block;
  /* Of a diagonal block its row in the tile, with KARST_ILU_EARLY if a later job inverts it; else
   * KARST_ILU_NO_BLOCK. */
  unsigned short pivot;
} karst_ilu_job;

typedef struct karst_ilu_short_step {
  unsigned short first, length;
  int block;
} karst_ilu_short_step;

/* A tile to factor. */
typedef struct alignas(16) karst_ilu_factor_tile {
  int64_t record;       /* where its record begins, in units of 16 bytes */
  int64_t lower, upper; /* the first of its blocks among those of all tiles, in each triangle */
  int64_t source;       /* the first block of its rows in A */
  karst_index row;      /* first row */
  karst_index number;
  int rows, waits, waves, jobs;
  int products; /* the length of their list */
  int blocks;   /* its own */
  int outside;  /* of other tiles */
  int lower_steps, upper_steps, lower_blocks, upper_blocks;
  int fill; /* whether it has blocks that A lacks */
} karst_ilu_factor_tile;

/* Where the parts of a record begin, in bytes, where those for the waves end, and the size of all. waves_end and bytes
 * are multiples of 16. */
typedef struct karst_ilu_factor_record {
  int job, wait, product, waves_end, outside, step, row, place, divisor, source, bytes;
} karst_ilu_factor_record;

static inline __host__ __device__ karst_ilu_factor_record karst_ilu_factor_record_of(const karst_ilu_factor_tile &m)
{
  karst_ilu_factor_record r;
  const int few = sizeof(unsigned short), index = sizeof(karst_index);
  r.job = (m.waves + 1) * (int)sizeof(karst_ilu_wave);
  r.wait = r.job + (m.jobs + 1) * (int)sizeof(karst_ilu_job);
  r.product = r.wait + m.waits * index;
  r.waves_end = (r.product + m.products * few + 15) / 16 * 16;
  r.outside = r.waves_end;
  r.step = r.outside + m.outside * (int)sizeof(unsigned long long);
  r.row = r.step + (m.lower_steps + m.upper_steps + 2) * (int)sizeof(karst_ilu_short_step);
  r.place = r.row + (m.rows + 1) * few;
  r.divisor = r.place + (m.lower_blocks + m.upper_blocks) * few;
  r.source = r.divisor + (m.lower_blocks + m.upper_blocks) * few;
  r.bytes = (r.source + (m.fill ? m.blocks * few : 0) + 15) / 16 * 16;
  return r;
}

/* Whether blocks of other tiles are fetched into shared memory. */
static constexpr __host__ __device__ bool karst_ilu_fetches_outside(int b) { return b <= 2; }

/* Whether the record's parts for before and after the waves are read in place: then a multiprocessor holds more tiles
 * and waits less. With larger blocks they are a small part of a tile. */
static constexpr __host__ __device__ bool karst_ilu_reads_in_place(int b) { return b == 1; }

/* How much of a record is copied into shared memory. */
static inline __host__ __device__ int karst_ilu_factor_copied(const karst_ilu_factor_record &r, int b)
{
  return karst_ilu_reads_in_place(b) ? r.waves_end : r.bytes;
}

/* Bytes of shared memory for a tile. Its blocks begin one number later if A's are not at a multiple of 16 bytes. */
static inline __host__ __device__ int64_t karst_ilu_factor_bytes(const karst_ilu_factor_tile &m, int b)
{
  const int64_t blocks = m.blocks + (int64_t)(karst_ilu_fetches_outside(b) ? m.outside : 0),
                numbers = blocks * b * b + 1;
  return karst_ilu_factor_copied(karst_ilu_factor_record_of(m), b) + numbers * (int64_t)sizeof(double);
}

/* The lists from which the tiles of an analysis are factored; device memory, and constant once made. */
typedef struct karst_ilu_tile_lists {
  karst_ilu_factor_tile *tile; /* [tiles] none depends on a later one */
  int4 *record;
  int64_t shared; /* bytes of shared memory that the largest takes */
} karst_ilu_tile_lists;

/* tile_products.cu: makes the lists for the tiles of the sweeps. They are NULL if a tile takes more than limit bytes of
 * shared memory, and after a failure. */
karst_status karst_ilu_list_by_tiles_cuda(karst_context *context, const karst_matrix *A,
                                          const karst_ilu_pattern_cuda *pattern, int64_t limit,
                                          karst_ilu_analysis *analysis, karst_ilu_tile_lists *lists);
void karst_ilu_release_tile_lists_cuda(karst_context *context, karst_ilu_tile_lists *lists);

#endif
