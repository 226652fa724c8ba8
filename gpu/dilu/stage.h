/* stage.h - blocks of A on their way into shared memory while a warp waits for what it multiplies them by.
 *
 * Where each lane loads its elements itself, the lanes of one load touch as many lines of memory as the warp has block
 * rows, and the load units are what a sweep waits for. Here consecutive lanes copy consecutive elements, and the blocks
 * of a row, which stand beside each other in A, are copied together. */
#ifndef KARST_GPU_DILU_STAGE_H
#define KARST_GPU_DILU_STAGE_H

#include "gpu/dilu/dilu_cuda.h"

#include "gpu/queue.h"

/* From one block to the next in shared memory: an odd number of words of 8 or, for even b, 16 bytes, so that the lanes
 * of different block rows find their elements in different banks. */
template <int B> constexpr int karst_dilu_stride = B == 1 || B % 2 ? B *B : B *B + 2;

#ifdef __CUDACC__
/* Queues the copies of the blocks of these numbers, of which -1 stands for zeros. By the whole warp; number, in shared
 * memory, is not written again before the next __syncwarp. */
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
