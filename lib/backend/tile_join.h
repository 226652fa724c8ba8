/* tile_join.h - the tiles of a GPU's kernels, made from those of an ordering (tiling.h).
 *
 * A warp takes one tile. Small tiles of one colour are joined, because a step costs as much with one row as with rows
 * for all lanes of a warp; but only while many warps find room in the shared memory of a multiprocessor, because a
 * joined tile waits for all that its parts wait for. Large tiles are cut. The rows of a tile stay consecutive, so that
 * taking the tiles one by one keeps the order of elimination, whatever rows the fill connects. */
#ifndef KARST_LIB_BACKEND_TILE_JOIN_H
#define KARST_LIB_BACKEND_TILE_JOIN_H

#include "lib/backend/tiling.h"

/* In block rows: tiles of fewer than least are joined, up to joined rows; tiles of more than most are cut. */
typedef struct karst_tile_limits {
  karst_index least, joined, most;
} karst_tile_limits;

enum { KARST_TILE_ROWS = 1024 }; /* scalar rows of a tile at most, unless it is a single block row */

/* Returns how many rows of average length take that many bytes of values. blocks: of the longer strict triangle. */
static inline karst_index karst_tile_rows_in(int64_t bytes, int64_t block_rows, int block_size, int64_t blocks)
{
  const int64_t b = block_size, row = ((blocks + block_rows - 1) / block_rows + 1) * b * b * (int64_t)sizeof(double);
  const int64_t rows = bytes / row;
  return (karst_index)(rows < 1 ? 1 : rows * b < KARST_TILE_ROWS ? rows : KARST_TILE_ROWS / b);
}

static inline karst_tile_limits karst_tile_limits_for(const karst_tiling *tiling, int block_size, int64_t blocks)
{
  enum { LEAST = 128, JOINED_BYTES = 24 * 1024, MOST_BYTES = 48 * 1024 };
  const int64_t rows = tiling->start[tiling->tiles];
  const karst_index fitting = karst_tile_rows_in(JOINED_BYTES, rows, block_size, blocks);
  karst_tile_limits limits = {LEAST / block_size, 0, karst_tile_rows_in(MOST_BYTES, rows, block_size, blocks)};
  for (karst_index tile = 0; tile < tiling->tiles; tile++) {
    const karst_index size = tiling->start[tile + 1] - tiling->start[tile];
    if (size > limits.joined) limits.joined = size;
  }
  if (limits.joined < limits.least) limits.joined = 2 * limits.least;
  if (limits.joined > fitting) limits.joined = fitting;
  return limits;
}

/* Cuts rows begin .. end - 1 evenly into pieces, and appends their starts. Returns the new count. */
static inline karst_index karst_tile_cut(karst_index begin, karst_index end, int64_t pieces, karst_index count,
                                         karst_index *start)
{
  for (int64_t piece = 0; piece < pieces; piece++)
    start[count++] = (karst_index)(begin + piece * ((int64_t)end - begin) / pieces);
  return count;
}

/* Returns how many tiles there may be. */
static inline int64_t karst_tile_most(const karst_tiling *tiling, const karst_tile_limits *limits)
{
  return (int64_t)tiling->tiles + tiling->start[tiling->tiles] / limits->most + 2;
}

/* Joins and cuts tiles. start: [karst_tile_most] the first row of each, and the end. Returns how many tiles there
 * are. */
static inline karst_index karst_tile_join(const karst_tiling *tiling, const karst_tile_limits *limits,
                                          karst_index *start)
{
  karst_index count = 0;
  for (karst_index colour = 0; colour < tiling->colours; colour++) {
    const karst_index end = tiling->colour_start[colour + 1];
    for (karst_index tile = tiling->colour_start[colour]; tile < end;) {
      const karst_index first = tiling->start[tile++];
      while (tile < end && tiling->start[tile] - first < limits->least &&
             tiling->start[tile + 1] - first <= limits->joined)
        tile++;
      const int64_t rows = (int64_t)tiling->start[tile] - first;
      count = karst_tile_cut(first, tiling->start[tile], (rows + limits->most - 1) / limits->most, count, start);
    }
  }
  start[count] = tiling->start[tiling->tiles];
  return count;
}

#endif
