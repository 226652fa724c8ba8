/* machine_cuda.c - the figures of a GPU: those of an H200. Builds without CUDA have it too: their tests check the
 * choices of the rules for a GPU with these figures.
 *
 * Sweeps level by level match M^-1 r in natural order of doc/benchmarks.md: the bandwidth is lower for small blocks,
 * whose lanes have little to load at a time. That fits the measured times for b = 1 to 8 and k = 0 to 2 within a factor
 * of 1.5. Sweeps by tiles reach half of the copy bandwidth.
 *
 * If a tile has few rows with many neighbours, its warp goes from row to row, and its lanes share the neighbours of one
 * row; level sets have rows of many tiles under way. Milliseconds of M^-1 r in tiles, by tiles and by level sets: 0.086
 * and 0.153 for 120^3, b = 1, k = 0, with 6 neighbours; 0.192 and 0.260 for k = 1, with 12; 0.494 and 0.423 for k = 2,
 * with 24 and tiles of 27; but 0.66 and 0.87 for 100^3, k = 3, with tiles of 64; 0.122 and 0.078 for 27 points on 64^3,
 * with fill 1.31 and 0.16; 3.74 and 0.19 for bcsstk16. */
#include "lib/backend/machine.h"

extern const karst_machine karst_machine_cuda;

const karst_machine karst_machine_cuda = {
    .copy_bandwidth = 4e12,
    .launches = 70e-6,
    .small_sweep_bandwidth = 2e12,
    .sweep_bandwidth = 3e12,
    .level_step = 0.5e-6,
    .level_wait = 0.4e-6,
    .tile_bandwidth = 2.2e12,
    .inner_step = 0.1e-6,
    .outer_step = 2e-6,
    .short_row = 16,
    .long_row = 64,
    .large_tile = 48,
};
