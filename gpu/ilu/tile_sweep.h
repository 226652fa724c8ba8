/* tile_sweep.h - what the sweeps of one triangle by tiles need besides the triangle; made by tile_halo.cu, used by
 * tile_sweep.cu.
 *
 * A tile's unknowns stand in shared memory in the order of its slots, behind them those that it needs of other tiles,
 * its halo, and behind these a block of zeros for the padding. So an entry's column is a short number. */
#ifndef KARST_GPU_ILU_TILE_SWEEP_H
#define KARST_GPU_ILU_TILE_SWEEP_H

#include "ilu.h"

/* A tile in one triangle. Its first row is the tile's, and its rows are consecutive, as its slots are. */
typedef struct alignas(16) karst_ilu_tile {
  int64_t entry;    /* the first entry of its slices (ilu.h), the outermost of which other tiles may share */
  karst_index row;  /* first row */
  karst_index slot; /* first slot */
  karst_index halo; /* where its halo begins */
  karst_index wait; /* where the tiles that it waits for begin */
  karst_index step; /* where its steps begin */
  int rows, slices;
  int entries; /* of all its slices */
  int halos, waits, steps;
} karst_ilu_tile;

/* All arrays in device memory; nothing of it changes once it is made. */
typedef struct karst_ilu_side {
  karst_ilu_tile *tile;  /* [tiles] */
  unsigned short *local; /* [blocks of the triangle + 16] where in shared memory the neighbour of each entry stands */
  unsigned short *place; /* [rows] which slot of its tile each row has */
  unsigned short *step;  /* the first slot, in the tile, of each of its steps, and behind them the number of its rows */
  karst_index *halo;     /* rows of other tiles, ascending in each tile */
  karst_index *wait;     /* tiles, ascending in each tile */
} karst_ilu_side;

/* Bytes of shared memory that a tile takes with its values, columns and halo, and without. A multiple of 16. */
static inline __host__ __device__ int64_t karst_ilu_tile_bytes(const karst_ilu_tile &tile, int b, int group,
                                                               bool with_values)
{
  const int64_t blocks = (int64_t)tile.entries * group;
  const int64_t values = blocks * b * b * (int64_t)sizeof(double);
  const int64_t columns = (blocks * (int64_t)sizeof(unsigned short) + 31) / 16 * 16;
  const int64_t starts = ((int64_t)tile.slices + 4) / 4 * 16;
  const int64_t steps = ((int64_t)tile.steps * (int64_t)sizeof(unsigned short) + 17) / 16 * 16;
  const int64_t unknowns = with_values ? (int64_t)tile.rows + tile.halos + 1 : tile.rows;
  const int64_t x = unknowns * b * (int64_t)sizeof(double);
  return (with_values ? values + columns + starts : 0) + steps + (x + 15) / 16 * 16;
}

/* tile_halo.cu: makes one side, for a pattern that still has its tiles; *bytes counts it. What is left when it fails,
 * release gives back. */
karst_status karst_ilu_make_side_cuda(karst_context *context, const karst_ilu_pattern_cuda *pattern,
                                      const karst_triangle *t, bool upper, karst_ilu_side *side, int64_t *bytes);
void karst_ilu_release_side_cuda(karst_context *context, karst_ilu_side *side);

#endif
