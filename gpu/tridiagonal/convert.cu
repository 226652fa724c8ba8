/* convert.cu - arrays of structures made of structures of arrays, and back. */
#include "gpu/tridiagonal/workers.h"

namespace
{

enum { TILE = 32, TILE_THREADS = 256 };

/* Transposes entries by rows to rows by entries, or back, by tiles in shared memory. */
template <typename T>
__global__ void __launch_bounds__(TILE_THREADS)
    transpose(int64_t height, int64_t width, const T *from, T *to) /* from: [height][width] */
{
  __shared__ T tile[TILE][TILE + 1];
  const int64_t across = (width + TILE - 1) / TILE, down = (height + TILE - 1) / TILE;
  const int x = (int)threadIdx.x % TILE, y = (int)threadIdx.x / TILE;
  for (int64_t t = blockIdx.x; t < across * down; t += gridDim.x) {
    const int64_t left = t % across * TILE, top = t / across * TILE;
    for (int k = y; k < TILE; k += TILE_THREADS / TILE)
      if (top + k < height && left + x < width) tile[k][x] = from[(top + k) * width + left + x];
    __syncthreads();
    for (int k = y; k < TILE; k += TILE_THREADS / TILE)
      if (left + k < width && top + x < height) to[(left + k) * height + top + x] = tile[x][k];
    __syncthreads();
  }
}

template <typename T>
void launch_convert(const karst_cuda *cuda, int64_t rows, int entries, bool to_entries, const T *from, T *to)
{
  const int64_t height = to_entries ? rows : entries, width = to_entries ? entries : rows;
  const int64_t tiles = ((height + TILE - 1) / TILE) * ((width + TILE - 1) / TILE);
  karst_tri_launch(cuda, transpose<T>, (unsigned)(tiles < INT32_MAX ? tiles : INT32_MAX), TILE_THREADS, 0, height,
                   width, from, to);
}

} // namespace

void karst_tri_launch_convert(const karst_cuda *cuda, int64_t rows, int entries, bool to_entries, const float *from,
                              float *to)
{
  launch_convert(cuda, rows, entries, to_entries, from, to);
}
void karst_tri_launch_convert(const karst_cuda *cuda, int64_t rows, int entries, bool to_entries, const double *from,
                              double *to)
{
  launch_convert(cuda, rows, entries, to_entries, from, to);
}
