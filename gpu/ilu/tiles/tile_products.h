/* tile_products.h - the products of each row of a factorization by tiles, for tile_products.cu, which measures them,
 * and tile_lists.cu, which lists them.
 *
 * A warp takes the steps of a tile, a lane a row of the step. So when it comes to a row, it has visited the rows of the
 * tile that this one depends on. */
#ifndef KARST_GPU_ILU_TILES_TILE_PRODUCTS_H
#define KARST_GPU_ILU_TILES_TILE_PRODUCTS_H

#include "lib/base/search.h"
#include "gpu/ilu/tiles/tile_factor.h"
#include "gpu/ilu/tiles/tile_walk.h"

/* The strict triangle by rows, and by tiles. */
typedef struct karst_ilu_products_half {
  const karst_index *start, *column;
  karst_ilu_tiled tiled;
} karst_ilu_products_half;

/* The place of a row's blocks of U' in its tile's part of the triangle. */
typedef struct karst_ilu_row_place {
  int first;                /* block of the tile */
  unsigned short apart, of; /* blocks from one to the next; which row of the step it is */
} karst_ilu_row_place;

/* The jobs of a block have the numbers 2 n and 2 n + 1: products inside the tile, and products with other tiles. */
enum { KARST_ILU_INNER, KARST_ILU_OUTER };

/* How many numbers list a product. */
static constexpr __host__ __device__ int karst_ilu_product_length(int kind) { return kind == KARST_ILU_INNER ? 3 : 2; }

/* The data of the kernels; device memory. Blocks are numbered through all rows as tile_factor.h does through those of a
 * tile. */
typedef struct karst_ilu_products_view {
  karst_index tiles;
  int block_size;
  bool diagonal_alone;                   /* only products for diagonal blocks count */
  const karst_index *row_start, *column; /* of A */
  karst_ilu_products_half lower, upper;
  karst_index *owner;         /* [rows] the tile of each row */
  karst_index *position;      /* [tiles] the place of each tile, by its number, in the upper triangle */
  karst_ilu_row_place *place; /* [rows] */
  unsigned short *ready;      /* [2 blocks] one more than the wave of each job; 0: no job */
  int *count;                 /* [2 blocks] its products; then the place of the next one to be written */
  int64_t *halo;  /* [tiles + 1] where the halo of each tile in the forward sweep begins, counted through all tiles */
  uint64_t *used; /* [halo[tiles]] which blocks of U' of each row of a halo are needed */
  int *outside;   /* [halo[tiles]] the number of its block of D^-1 */
} karst_ilu_products_view;

/* tile_lists.cu: queues the writing of all records, which begin at units; their beginnings go to the lists. */
void karst_ilu_write_tile_lists_cuda(cudaStream_t stream, const karst_ilu_products_view *v,
                                     const karst_ilu_tile_lists *lists, const int64_t *units);

namespace
{

/* TOGETHER: thread blocks that a multiprocessor has to hold, because the kernels mostly wait for memory. */
enum { THREADS = 128, WARPS = THREADS / 32, TOGETHER = 8 };

/* The numbers of the first block of a row, of its diagonal one, and one past its last. */
__device__ __forceinline__ int64_t first_block(const karst_ilu_products_view &v, karst_index i)
{
  return (int64_t)v.lower.start[i] + v.upper.start[i] + i;
}

__device__ __forceinline__ int64_t diagonal_block(const karst_ilu_products_view &v, karst_index i)
{
  return (int64_t)v.lower.start[i + 1] + v.upper.start[i] + i;
}

/* Returns one more than the wave of the last job of a block, once all its products are known; 0: it has no job. */
__device__ __forceinline__ int ready_at(const karst_ilu_products_view &v, int64_t block)
{
  return max((int)v.ready[2 * block + KARST_ILU_INNER], (int)v.ready[2 * block + KARST_ILU_OUTER]);
}

/* A row, and its parts of the patterns of L and U. */
struct row_view {
  karst_index number;
  karst_index lower, lower_end, upper, upper_end;
  int64_t first, diagonal; /* numbers of its first block and of its diagonal one */
};

__device__ __forceinline__ row_view row_at(const karst_ilu_products_view &v, karst_index i)
{
  const karst_index lower = v.lower.start[i], upper = v.upper.start[i], lower_end = v.lower.start[i + 1];
  return {i, lower, lower_end, upper, v.upper.start[i + 1], (int64_t)lower + upper + i, (int64_t)lower_end + upper + i};
}

/* Returns the number of the block of a row in column j, or -1 where it is not in the pattern. */
__device__ int64_t find_block(const karst_ilu_products_view &v, const row_view &row, karst_index j)
{
  if (j == row.number) return row.diagonal;
  const bool lower = j < row.number;
  const karst_index first = lower ? row.lower : row.upper, end = lower ? row.lower_end : row.upper_end;
  const karst_index k = karst_find_column(lower ? v.lower.column : v.upper.column, first, end, j);
  return k < 0 ? -1 : (lower ? row.first : row.diagonal + 1) + (k - first);
}

/* Calls visit(e, target) for each product of a row with block e of the pivot's row of U', which is subtracted from
 * block target. */
template <typename visitor>
__device__ __forceinline__ void each_product(const karst_ilu_products_view &v, const row_view &row, karst_index pivot,
                                             visitor visit)
{
  const karst_index begin = v.upper.start[pivot], end = v.upper.start[pivot + 1];
  for (karst_index n = begin; n < end; n++) {
    const karst_index j = v.upper.column[n];
    if (v.diagonal_alone && j != row.number) continue;
    const int64_t target = find_block(v, row, j);
    if (target >= 0) visit((int)(n - begin), target);
  }
}

/* Bit e of used says that block e of a halo's row of U' is needed; the last bit, that all blocks from there on are.
 * used_before: how many blocks are needed before block e. */
enum { LAST_BIT = 63 };

__device__ __forceinline__ int used_before(uint64_t used, int e)
{
  const int few = e < LAST_BIT ? e : (int)LAST_BIT;
  return __popcll(used & (((uint64_t)1 << few) - 1)) + (e > LAST_BIT && used >> LAST_BIT ? e - LAST_BIT : 0);
}

__device__ __forceinline__ void use(uint64_t *used, int e)
{
  atomicOr((unsigned long long *)used, 1ull << (e < LAST_BIT ? e : (int)LAST_BIT));
}

/* A tile of the lower triangle, and the rows of other tiles that it needs. */
struct tile_view {
  karst_ilu_tile tile;
  const karst_index *halo; /* [tile.halos] */
  uint64_t *used;
  int *outside;
};

__device__ tile_view tile_at(const karst_ilu_products_view &v, int64_t n)
{
  const karst_ilu_tile tile = v.lower.tiled.tile[n];
  const char *record = record_of_tile(v.lower.tiled, tile);
  return {tile, (const karst_index *)(record + karst_ilu_record_of(tile).halo), v.used + v.halo[n],
          v.outside + v.halo[n]};
}

/* Returns the place of a pivot in the halo, or -1 where it is a row of the tile. */
__device__ int find_outside(const karst_ilu_products_view &v, const tile_view &t, karst_index pivot)
{
  return v.owner[pivot] == t.tile.number ? -1 : (int)karst_find_column(t.halo, 0, t.tile.halos, pivot);
}

/* The numbers of the blocks of a tile: first .. end - 1. */
struct range {
  int64_t first, end;
};

__device__ __forceinline__ range blocks_of(const karst_ilu_products_view &v, const karst_ilu_tile &tile)
{
  return {first_block(v, tile.row), first_block(v, tile.row + tile.rows)};
}

/* Returns how many blocks of row k of the halo are needed, with that of D^-1. */
__device__ __forceinline__ int count_outside(const karst_ilu_products_view &v, const tile_view &t, int k)
{
  return 1 + used_before(t.used[k], (int)(v.upper.start[t.halo[k] + 1] - v.upper.start[t.halo[k]]));
}

} // namespace

#endif
