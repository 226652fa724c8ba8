/* machine_cuda.c - the figures of a GPU: those of an H200. Builds without CUDA have it too: their tests check the
 * choices of the rules for a GPU with these figures.
 *
 * Sweeps level by level match M^-1 r in natural order of doc/benchmarks.md: the bandwidth is lower for small blocks,
 * whose lanes have little to load at a time. That fits the measured times for b = 1 to 8 and k = 0 to 2 within a factor
 * of 1.5.
 *
 * The steps by tiles are those of a warp whose data are in shared memory. Milliseconds of M^-1 r in tiles, measured by
 * tiles and by level sets: 0.086 and 0.153 for 120^3, b = 1, k = 0; 0.192 and 0.260 for k = 1; 0.494 and 0.423 for
 * k = 2, with 24 neighbours and tiles of 27; 0.122 and 0.078 for 27 points on 64^3. Predicted are 0.13 and 0.17, 0.22
 * and 0.27, 0.41 and 0.44, 0.12 and 0.11.
 *
 * On a Norne-like field with wells in the matrix, b = 3, level sets took about 0.25 ms in natural order and 0.17 in
 * tiles, with fill 0.55 and 0.32; predicted are 0.21, 0.13, 0.48 and 0.32. */
#include "lib/backend/machine.h"

extern const karst_machine karst_machine_cuda;

const karst_machine karst_machine_cuda = {
    .copy_bandwidth = 4e12,
    .launches = 70e-6,
    .small_sweep_bandwidth = 2e12,
    .sweep_bandwidth = 3e12,
    .level_step = 0.5e-6,
    .level_wait = 0.4e-6,
    .tile_bandwidth = 3e12,
    .tile_memory = 132 * 227e3,
    .inner_step = 0.17e-6,
    .inner_round = 0.05e-6,
    .outer_step = 1.5e-6,
};
