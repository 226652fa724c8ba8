/* machine_cuda.c - the figures of a GPU: those of an H200. Builds without CUDA have it too: their tests check the
 * choices of the rules for a GPU with these figures.
 *
 * Sweeps level by level match M^-1 r in natural order of doc/benchmarks.md: the bandwidth is lower for small blocks,
 * whose lanes have little to load at a time. That fits the measured times for b = 1 to 8 and k = 0 to 2 within a factor
 * of 1.5.
 *
 * The steps by tiles are those of a warp whose data are in shared memory. Milliseconds of M^-1 r in tiles, measured by
 * tiles and by level sets, and predicted:
 *
 *     120^3, b = 1, k = 0 (H200)                         0.086 and 0.153    0.11 and 0.14
 *     k = 1                                              0.192 and 0.260    0.24 and 0.28
 *     k = 2, tiles of 27                                 0.494 and 0.423    0.38 and 0.49
 *     27 points on 64^3 (H200)                           0.122 and 0.078    0.12 and 0.13
 *     Norne-like with wells, b = 3, k = 0 (H100)         0.17  and 0.17     0.19 and 0.13
 *     k = 1                                              0.37  and 0.31     0.38 and 0.32
 *     k = 1, tiles of 16                                 0.28               0.28 and 0.21
 *     two layers of SPE10, b = 3, k = 0 (H100)           0.023 and 0.028    0.025 and 0.037
 *     k = 1                                              0.11  and 0.12     0.10 and 0.11 */
#include "lib/backend/machine.h"

extern const karst_machine karst_machine_cuda;

const karst_machine karst_machine_cuda = {
    .copy_bandwidth = 4e12,
    .launches = 70e-6,
    .small_sweep_bandwidth = 2e12,
    .sweep_bandwidth = 3e12,
    .level_step = 0.5e-6,
    .tile_bandwidth = 3e12,
    .tile_memory = 132 * 227e3,
    .inner_step = 0.12e-6,
    .inner_sum = 0.2e-6,
    .inner_operation = 0.01e-6,
    .outer_step = 1.5e-6,
};
