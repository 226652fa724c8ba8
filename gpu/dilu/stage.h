/* stage.h - copies blocks of A into shared memory while a warp waits for their factors.
 *
 * If each lane loaded its own elements, the lanes of one load would touch as many lines of memory as the warp has block
 * rows, and sweeps would be limited by the load units. Here consecutive lanes copy consecutive elements. The blocks of
 * a row, which are adjacent in A, are copied together. */
#ifndef KARST_GPU_DILU_STAGE_H
#define KARST_GPU_DILU_STAGE_H

#include "gpu/dilu/dilu_cuda.h"

#include "gpu/queue.h"

/* The distance of two blocks in shared memory: an odd number of words of 8 or, for even b, 16 bytes, so that the lanes
 * of different block rows read from different banks. */
template <int B> constexpr int karst_dilu_stride = B == 1 || B % 2 ? B *B : B *B + 2;

#ifdef __CUDACC__
/* Queues the copies of the blocks of these numbers; -1: zeros. Called by the whole warp. number, in shared memory, is
 * not written again before the next __syncwarp. */
template <int B, int BLOCKS>
static __device__ __forceinline__ void karst_dilu_stage(const double *value, const karst_index *number, double *staged)
{
  constexpr int BB = B * B;
  const unsigned lane = threadIdx.x % 32;
#pragma unroll
  for (unsigned first = 0; first < BLOCKS * BB; first += 32) {
    const unsigned v = first + lane, block = v / BB, element = v % BB;
    if (v < BLOCKS * BB) {
      const karst_index source = number[block];
      karst_queue_copy<sizeof(double)>(staged + block * karst_dilu_stride<B> + element, source >= 0,
                                       value + (source >= 0 ? (int64_t)source * BB + element : 0));
    }
  }
}
#endif

#endif
