/* long.cu - the sweeps of dataflow.cu for a triangle with long rows: a block of threads makes each long row, and its
 * warps make the other rows as there. All rows of a level come before those of the next, so the first round that is not
 * done can always go on. */
#include "gpu/ilu/sweeps/long.h"
#include "gpu/ilu/sweeps/sweep.h"

namespace
{

/* Block rows of any size: a round makes 32 scalar rows of one, long or not. Lane q width + r has scalar row r of every
 * 32 / width-th of its warp's neighbours. */
template <bool upper, typename T>
__global__ void __launch_bounds__(KARST_ILU_LONG_THREADS)
    sweep_any(const karst_triangle t, int b, const double *in, double *out, const karst_ilu_rounds rounds)
{
  constexpr int WARPS = KARST_ILU_LONG_WARPS;
  __shared__ double partial[2][KARST_ILU_LONG_THREADS];
  const int width = b < 32 ? b : 32, parts = (b + 31) / 32, groups = 32 / width;
  const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32, q = lane / width, component = lane % width;
  const int64_t stride = (int64_t)t.group * b;
  int number = 0;
  for (int64_t round = rounds.first + blockIdx.x; round < rounds.last; round += gridDim.x, number++) {
    const int64_t slot = round / parts, slice = slot / t.group, start = t.start[slice], end = t.start[slice + 1];
    const int r = (int)(round % parts) * 32 + component;
    const bool active = q < groups && r < b, first = active && warp == 0 && q == 0;
    const T *value = karst_ilu_values<T>(t) + slot % t.group * b + r;
    double sum = first && !upper ? in[(int64_t)t.row[slot] * b + r] : 0;
    /* The diagonal block goes to the first group of the first warp. */
    for (int64_t e = start + (int64_t)warp * groups; e < end; e += WARPS * groups) {
      const int64_t mine = e + q;
      const bool there = q < groups && mine < end, diagonal = upper && mine == start;
      int64_t block = t.slots;
      if (there) block = diagonal ? t.other[slot] : t.column[mine * t.group + slot % t.group];
      for (int begin = 0; begin < b; begin += width) {
        const bool read = there && begin + component < b;
        const double *from[1] = {read && !diagonal ? t.x + block * b + begin + component : NULL};
        double x[1];
        karst_await<1>(from, x);
        if (read && diagonal) x[0] = in[block * b + begin + component];
        for (int c = 0; c < width && begin + c < b; c++) {
          double entry = there && active ? value[(mine * b + begin + c) * stride] : 0;
          entry *= __shfl_sync(~0u, x[0], q * width + c);
          if (there && active) sum += diagonal ? entry : -entry;
        }
      }
    }
    partial[number % 2][threadIdx.x] = sum;
    __syncthreads();
    if (first) {
      for (int other = 1; other < WARPS * groups; other++)
        sum += partial[number % 2][other / groups * 32 + other % groups * width + component];
      karst_publish(&t.x[slot * b + r], sum);
      if (upper && out) out[(int64_t)t.row[slot] * b + r] = sum;
    }
  }
}

template <int B, bool upper, typename T> const void *kernel_by(int parts)
{
  if constexpr (8 * B <= 32)
    if (parts == 8) return (const void *)sweep<B, 8, upper, T, karst_ilu_rounds>;
  return parts == 4 ? (const void *)sweep<B, 4, upper, T, karst_ilu_rounds>
                    : (const void *)sweep<B, 1, upper, T, karst_ilu_rounds>;
}

template <typename T> const void *kernel_of(int b, int parts, bool is_upper)
{
  const void *kernel = NULL;
  karst_cuda_instance(b, [&](auto size) {
    constexpr int B = decltype(size)::value;
    if constexpr (!karst_ilu_has_instance(B, std::is_same<T, float>::value))
      kernel = is_upper ? (const void *)sweep_any<true, T> : (const void *)sweep_any<false, T>;
    else
      kernel = is_upper ? kernel_by<B, true, T>(parts) : kernel_by<B, false, T>(parts);
  });
  return kernel;
}

const void *kernel_for(int b, const karst_ilu_long_cuda *rows, bool is_upper)
{
  return (rows->single ? kernel_of<float> : kernel_of<double>)(b, rows->parts, is_upper);
}

} // namespace

karst_status karst_ilu_long_resident_cuda(karst_context *context, int b, bool is_upper, karst_ilu_long_cuda *rows)
{
  int each = 0;
  cudaError_t error =
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel_for(b, rows, is_upper), KARST_ILU_LONG_THREADS, 0);
  const int64_t processors = karst_cuda_of(context)->multiprocessors, most = (each > 0 ? each : 1) * processors;
  int64_t useful = KARST_ILU_HELD_SLICES * rows->level_start[rows->levels] / rows->levels;
  if (useful < processors) useful = processors;
  rows->grid = (int)(useful < most ? useful : most);
  return karst_cuda_status(context, error, "the launch of block ILU");
}

void karst_ilu_long_sweep_cuda(cudaStream_t stream, const karst_ilu_long_cuda *rows, const karst_triangle *t, int b,
                               bool is_upper, karst_index first, karst_index last, const double *in, double *reset,
                               double *out)
{
  const void *kernel = kernel_for(b, rows, is_upper);
  karst_triangle triangle = *t;
  karst_ilu_rounds rounds = {rows->unit, rows->level_start[first], rows->level_start[last]};
  const int64_t count = rounds.last - rounds.first;
  const dim3 grid((unsigned)(count < rows->grid ? count : rows->grid)), threads(KARST_ILU_LONG_THREADS);
  void *sized[] = {&triangle, &in, &reset, &out, &rounds}, *any[] = {&triangle, &b, &in, &out, &rounds};
  void **arguments = karst_ilu_has_instance(b, rows->single) ? sized : any;
  if (last - first > 1)
    cudaLaunchCooperativeKernel(kernel, grid, threads, arguments, 0, stream);
  else
    cudaLaunchKernel(kernel, grid, threads, arguments, 0, stream);
}
