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
   * level adds level_step to the time at that bandwidth. By tiles, a step inside a tile takes inner_step, inner_sum
   * more where lanes add up their sums, and inner_operation for each operation of a lane that waits for the one before
   * it; outer_step leads from one tile to another. tile_memory is the shared memory of all multiprocessors in bytes,
   * which tiles under way occupy. */
  double small_sweep_bandwidth, sweep_bandwidth, level_step;
  double tile_bandwidth, tile_memory, inner_step, inner_sum, inner_operation, outer_step;
} karst_machine;

static inline double karst_machine_sweep_bandwidth(const karst_machine *machine, int block_size)
{
  return block_size <= 3 ? machine->small_sweep_bandwidth : machine->sweep_bandwidth;
}

#endif
