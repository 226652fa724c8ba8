/* sweep_time.h - predicts the time of the triangular solves of block ILU from the figures of a device (machine.h), for
 * the choice of their kernel (gpu/ilu/choice.h) and the cost of an order (symbolic/ordering/cost.c). No clock is read,
 * so equal patterns give equal choices.
 *
 * A sweep takes as long as its longest chain of steps that wait for each other, plus its bytes over the bandwidth of
 * such sweeps, which was measured with waits. In tiles a chain leads from tile to tile: a tile begins when all tiles
 * that it waits for are done, and takes all of its steps, one after the other. If the shared memory has room for few
 * tiles at a time, their time counts instead of the bytes. */
#ifndef KARST_LIB_BACKEND_SWEEP_TIME_H
#define KARST_LIB_BACKEND_SWEEP_TIME_H

#include "lib/backend/dense.h"
#include "lib/backend/machine.h"
#include "lib/base/inline.h"
#include "karst.h"

/* Up to so many lanes of a warp share a row in a step of a tile, if rows are long or steps have few. */
enum { KARST_TILE_SHARES = 8, KARST_TILE_LANES = 32 };

/* Returns how many blocks a lane takes in a step of count rows of at most length blocks. share: lanes share rows. */
KARST_INLINE int karst_tile_rounds(int block_size, int count, int length, bool share)
{
  int lanes = 1;
  while (share && lanes < KARST_TILE_SHARES && 2 * lanes * count * block_size <= KARST_TILE_LANES) lanes *= 2;
  return (length + lanes - 1) / lanes;
}

/* Whether rows are so long on average that lanes share them. neighbours: of all rows in both triangles. */
static inline bool karst_tile_rows_are_long(int64_t rows, int64_t neighbours)
{
  enum { LONG = 8 };
  return neighbours > LONG * rows;
}

/* Returns the seconds from the begin of a tile to that of the tiles that wait for it. rounds: of all its steps, each a
 * block of which a lane needs the place of the neighbour, its unknowns, and one product after another. */
static inline double karst_tile_seconds(const karst_machine *machine, int block_size, bool share, int64_t steps,
                                        int64_t rounds)
{
  return machine->outer_step + (machine->inner_step + (share ? machine->inner_sum : 0)) * (double)steps +
         machine->inner_operation * (block_size + 2) * (double)rounds;
}

/* ---- sweeps by level sets (gpu/ilu/sweeps/dataflow.cu) ----
 *
 * How many neighbours of a row a lane waits for at once, and how many lanes share them at most. */
enum { KARST_ILU_PARTS = 8 };

/* A macro, because C++ needs it as a constant for lengths of arrays, and C has no constant functions. */
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

/* Returns how often a warp waits for neighbours of its rows, of which the longest has length. */
KARST_INLINE int karst_sweep_rounds(int block_size, int parts, int64_t length)
{
  const int at_once = KARST_ILU_NEIGHBOURS_AT_ONCE(block_size) * parts;
  return length > at_once ? (int)((length + at_once - 1) / at_once) : 1;
}

/* The work of both sweeps. */
typedef struct karst_sweep_work {
  int64_t block_rows;
  int block_size;
  int64_t blocks;      /* off the diagonal, of both triangles */
  double steps;        /* level sets of both triangles, each times the rounds of a warp on average */
  int64_t tile_blocks; /* as blocks, with the padding of the steps */
  double chain;        /* seconds of the longest chains of tiles of both triangles */
  double occupied;     /* the seconds of all tiles, times the bytes of shared memory of each */
  bool single;         /* the sweeps read the factors in float */
} karst_sweep_work;

/* Returns the bytes that both sweeps move: blocks off the diagonal, D^-1, and a vector that is read and written
 * twice. */
static inline int64_t karst_sweep_bytes(int64_t block_rows, int block_size, int64_t blocks)
{
  const int64_t n = block_rows, b = block_size;
  return ((blocks + n) * b * b + 4 * n * b) * (int64_t)sizeof(double) +
         (blocks + 2 * (n + 1)) * (int64_t)sizeof(karst_index);
}

static inline double karst_sweep_moved(const karst_sweep_work *w, int64_t blocks)
{
  const double values = (double)(blocks + w->block_rows) * w->block_size * w->block_size;
  const double saved = w->single ? values * (double)(sizeof(double) - sizeof(float)) : 0;
  return (double)karst_sweep_bytes(w->block_rows, w->block_size, blocks) - saved;
}

/* Each triangle is a launch of its own. */
static inline double karst_sweep_seconds_by_levels(const karst_machine *machine, const karst_sweep_work *w)
{
  return karst_sweep_moved(w, w->blocks) / karst_machine_sweep_bandwidth(machine, w->block_size) +
         machine->level_step * w->steps + 2 * machine->outer_step;
}

static inline double karst_sweep_seconds_by_tiles(const karst_machine *machine, const karst_sweep_work *w)
{
  const double moved = karst_sweep_moved(w, w->tile_blocks) / machine->tile_bandwidth;
  const double waves = w->occupied / machine->tile_memory;
  return w->chain + (moved > waves ? moved : waves);
}

#endif
