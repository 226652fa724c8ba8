/* machine.h - figures of a device, used to choose methods, orders and kernels and to predict their times. Each backend
 * has its own (struct karst_backend, backend.h); no rule contains figures of a chip. */
#ifndef KARST_LIB_BACKEND_MACHINE_H
#define KARST_LIB_BACKEND_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

/* Bandwidths are in bytes per second, times in seconds. */
typedef struct karst_machine {
  bool host;             /* a CPU: its threads wait little, and its tiles have other sizes than those of a GPU */
  double copy_bandwidth; /* of products and vectors */
  double launches;       /* to queue one iteration from the host */

  /* Triangular solves. Level by level, the bandwidth depends on the block size: small is for blocks of at most 3. Each
   * level adds level_step to the time at that bandwidth, or level_wait to the time at copy_bandwidth. By tiles,
   * inner_step leads to the next rows of a tile, and outer_step from one tile to another. */
  double small_sweep_bandwidth, sweep_bandwidth, level_step, level_wait;
  double tile_bandwidth, inner_step, outer_step;

  /* Sweeps by tiles are faster than level by level if rows have at most short_row neighbours in both triangles; or at
   * most long_row, in tiles of at least large_tile rows. */
  int short_row, long_row, large_tile;
} karst_machine;

static inline double karst_machine_sweep_bandwidth(const karst_machine *machine, int block_size)
{
  return block_size <= 3 ? machine->small_sweep_bandwidth : machine->sweep_bandwidth;
}

/* Whether sweeps by tiles are at least as fast as by level sets in the same order. neighbours: total of all rows. */
static inline bool karst_tiles_suit_sweeps(const karst_machine *machine, int64_t rows, int64_t tiles,
                                           int64_t neighbours)
{
  return machine->host ||
         (tiles <= rows / 2 && (neighbours <= machine->short_row * rows ||
                                (neighbours <= machine->long_row * rows && rows >= machine->large_tile * tiles)));
}

#endif
