/* sums.cu - dot products and linear combinations on the GPU. Each vector moves through memory once.
 *
 * A sum is taken in two stages: each thread block sums its part of the vectors, and the last block to finish sums the
 * parts. The parts depend on n alone, and both stages add in a fixed order: a sum has the same bits in every run and on
 * every GPU. */
#include "gpu/reduce.h"

namespace
{

enum {
  THREADS = KARST_CUDA_THREADS,
  WARPS = THREADS / 32,
  STRIP = 4,     /* elements that a thread has under way at a time */
  COMBINED = 64, /* vectors that one launch combines */
  RESIDENT = 4   /* thread blocks on a multiprocessor at least, so that those of a reduction are all under way */
};

struct vectors {
  const double *at[COMBINED];
};

/* Calls store(v, the sum of value[v] over all threads of all blocks) for v < count, by one thread each; partial:
 * [count * KARST_CUDA_SUMS] */
template <int BATCH, typename F>
__device__ void reduce(int count, const double *value, double *partial, unsigned *ticket, const F &store)
{
  __shared__ bool last;
  const int t = (int)threadIdx.x, warp = t / 32, lane = t % 32;
  const double sum = karst_cuda_block_sum<BATCH, THREADS>(count, value);
  if (t < count) {
    __stcg(&partial[t * KARST_CUDA_SUMS + blockIdx.x], sum);
    __threadfence();
  }
  __syncthreads();
  if (t == 0) last = atomicInc(ticket, gridDim.x - 1) == gridDim.x - 1;
  __syncthreads();
  if (!last) return;
  __threadfence();
  for (int v = warp; v < count; v += WARPS) {
    double sum = 0;
    for (unsigned s = (unsigned)lane; s < gridDim.x; s += 32) sum += __ldcg(&partial[v * KARST_CUDA_SUMS + s]);
    sum = karst_cuda_warp_sum(sum);
    if (lane == 0) store(v, sum);
  }
}

template <int BATCH>
__global__ void __launch_bounds__(THREADS, RESIDENT)
    dots(int64_t n, int count, vectors x, const double *y, double *partial, unsigned *ticket, double *result)
{
  karst_cuda_begin();
  double sum[BATCH] = {};
#pragma unroll(BATCH <= 4 ? STRIP : 1)
  for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < n; i += (int64_t)gridDim.x * THREADS) {
    double yi = y[i];
#pragma unroll
    for (int v = 0; v < BATCH; v++)
      if (v < count) sum[v] += x.at[v][i] * yi;
  }
  reduce<BATCH>(count, sum, partial, ticket, [=](int v, double all) { result[v] = all; });
}

unsigned sum_grid(int64_t n)
{
  unsigned grid = karst_cuda_grid(n, THREADS * STRIP);
  return grid < KARST_CUDA_SUMS ? grid : (unsigned)KARST_CUDA_SUMS;
}

template <int BATCH>
void launch_dots(const karst_cuda *cuda, int64_t n, int count, const vectors *x, const double *y, double *result)
{
  karst_cuda_launch(cuda, dots<BATCH>, sum_grid(n), THREADS, n, count, *x, y, cuda->partial, cuda->ticket, result);
}

/* Threads that sum the parts of many thread blocks: one thread block, whose threads have a few parts each. */
enum { ADDERS = 1024 };

__global__ void __launch_bounds__(ADDERS) add_parts(unsigned parts, int count, const double *partial, double *result)
{
  karst_cuda_begin();
  const double *second = partial + (count > 1 ? parts : 0);
  double sum[2] = {};
#pragma unroll 4
  for (unsigned k = threadIdx.x; k < parts; k += ADDERS) {
    sum[0] += partial[k];
    sum[1] += second[k];
  }
  const double all = karst_cuda_block_sum<2, ADDERS>(count, sum);
  if ((int)threadIdx.x < count) result[threadIdx.x] = all;
}

/* y = beta y + sign sum_v coefficient[v] x[v], and norm2 = y . y unless NULL */
__global__ void __launch_bounds__(THREADS, RESIDENT)
    combine(int64_t n, int count, double sign, const double *coefficient, vectors x, const double *beta, double *y,
            double *partial, unsigned *ticket, double *norm2)
{
  __shared__ double factor[COMBINED];
  karst_cuda_begin();
  const int64_t stride = (int64_t)gridDim.x * THREADS * STRIP;
  const double scale = beta ? *beta : 1;
  double sum = 0;
  for (int v = (int)threadIdx.x; v < count; v += THREADS) factor[v] = sign * coefficient[v];
  __syncthreads();
  for (int64_t first = (int64_t)blockIdx.x * THREADS * STRIP + threadIdx.x; first < n; first += stride) {
    double value[STRIP] = {};
#pragma unroll
    for (int s = 0; s < STRIP; s++)
      if (scale != 0 && first + s * THREADS < n) value[s] = scale * y[first + s * THREADS];
#pragma unroll 2
    for (int v = 0; v < count; v++)
#pragma unroll
      for (int s = 0; s < STRIP; s++)
        if (first + s * THREADS < n) value[s] += factor[v] * x.at[v][first + s * THREADS];
#pragma unroll
    for (int s = 0; s < STRIP; s++)
      if (first + s * THREADS < n) {
        y[first + s * THREADS] = value[s];
        sum += value[s] * value[s];
      }
  }
  if (norm2) reduce<1>(1, &sum, partial, ticket, [=](int, double all) { *norm2 = all; });
}

/* lib/backend/backend.h; DOT: with is not NULL. */
template <bool DOT>
__global__ void __launch_bounds__(THREADS, RESIDENT)
    take_step(int64_t n, const double *a, const double *b, double *step, const double *x, double *y, const double *with,
              double *partial, unsigned *ticket, double *norm2, double *dot)
{
  karst_cuda_begin();
  const int64_t stride = (int64_t)gridDim.x * THREADS * STRIP;
  const double length = karst_cuda_finite(*a / *b);
  double sum[2] = {};
  if (blockIdx.x == 0 && threadIdx.x == 0) *step = length;
  for (int64_t first = (int64_t)blockIdx.x * THREADS * STRIP + threadIdx.x; first < n; first += stride) {
    double value[STRIP] = {}, factor[STRIP] = {};
#pragma unroll
    for (int s = 0; s < STRIP; s++)
      if (first + s * THREADS < n) {
        value[s] = y[first + s * THREADS] - length * x[first + s * THREADS];
        if (DOT) factor[s] = with[first + s * THREADS];
      }
#pragma unroll
    for (int s = 0; s < STRIP; s++)
      if (first + s * THREADS < n) {
        y[first + s * THREADS] = value[s];
        sum[0] += value[s] * value[s];
        sum[1] += factor[s] * value[s];
      }
  }
  reduce<DOT ? 2 : 1>(DOT ? 2 : 1, sum, partial, ticket, [=](int v, double all) { *(v == 0 ? norm2 : dot) = all; });
}

/* lib/backend/backend.h */
__global__ void __launch_bounds__(THREADS, RESIDENT)
    take_turn(int64_t n, const double *step, const double *a, const double *b, const double *z, double *p, double *x)
{
  karst_cuda_begin();
  const int64_t stride = (int64_t)gridDim.x * THREADS * STRIP;
  const double length = *step, beta = karst_cuda_finite(*a / *b);
  for (int64_t first = (int64_t)blockIdx.x * THREADS * STRIP + threadIdx.x; first < n; first += stride) {
    double along[STRIP] = {}, from[STRIP] = {}, to[STRIP] = {};
#pragma unroll
    for (int s = 0; s < STRIP; s++)
      if (first + s * THREADS < n) {
        along[s] = p[first + s * THREADS];
        from[s] = x[first + s * THREADS];
        to[s] = z[first + s * THREADS];
      }
#pragma unroll
    for (int s = 0; s < STRIP; s++)
      if (first + s * THREADS < n) {
        x[first + s * THREADS] = from[s] + length * along[s];
        p[first + s * THREADS] = beta != 0 ? to[s] + beta * along[s] : to[s];
      }
  }
}

/* lib/backend/backend.h */
__global__ void __launch_bounds__(THREADS, RESIDENT)
    take_stabilised_turn(int64_t n, const double *a, const double *b, const double *alpha, const double *omega,
                         const double *v, const double *r, double *p)
{
  karst_cuda_begin();
  const int64_t stride = (int64_t)gridDim.x * THREADS * STRIP;
  const double length = *omega, beta = karst_cuda_finite(*a / *b * (*alpha / length));
  for (int64_t first = (int64_t)blockIdx.x * THREADS * STRIP + threadIdx.x; first < n; first += stride) {
    double along[STRIP] = {}, back[STRIP] = {}, to[STRIP] = {};
#pragma unroll
    for (int s = 0; s < STRIP; s++)
      if (first + s * THREADS < n) {
        along[s] = p[first + s * THREADS];
        back[s] = v[first + s * THREADS];
        to[s] = r[first + s * THREADS];
      }
#pragma unroll
    for (int s = 0; s < STRIP; s++)
      if (first + s * THREADS < n)
        p[first + s * THREADS] = beta != 0 ? to[s] + beta * (along[s] - length * back[s]) : to[s];
  }
}

} // namespace

void karst_cuda_add_parts(const karst_cuda *cuda, unsigned parts, int count, double *result)
{
  karst_cuda_launch(cuda, add_parts, 1, ADDERS, parts, count, cuda->partial, result);
}

void karst_dots_cuda(karst_context *context, int64_t n, int count, const double *const *x, const double *y,
                     double *result)
{
  const karst_cuda *cuda = karst_cuda_of(context);
  int launches = (count + KARST_CUDA_BATCH - 1) / KARST_CUDA_BATCH;
  for (int begin = 0, l = 0; l < launches; l++) {
    int batch = (count - begin + launches - l - 1) / (launches - l); /* of similar size */
    vectors some = {};
    for (int v = 0; v < batch; v++) some.at[v] = x[begin + v];
    if (batch <= 1)
      launch_dots<1>(cuda, n, batch, &some, y, result + begin);
    else if (batch <= 2)
      launch_dots<2>(cuda, n, batch, &some, y, result + begin);
    else if (batch <= 4)
      launch_dots<4>(cuda, n, batch, &some, y, result + begin);
    else if (batch <= 8)
      launch_dots<8>(cuda, n, batch, &some, y, result + begin);
    else
      launch_dots<KARST_CUDA_BATCH>(cuda, n, batch, &some, y, result + begin);
    begin += batch;
  }
}

void karst_combine_cuda(karst_context *context, int64_t n, int count, double sign, const double *coefficient,
                        const double *const *x, const double *beta, double *y, double *norm2)
{
  const karst_cuda *cuda = karst_cuda_of(context);
  int begin = 0;
  do {
    int batch = count - begin < COMBINED ? count - begin : COMBINED;
    bool last = begin + batch == count;
    vectors some = {};
    for (int v = 0; v < batch; v++) some.at[v] = x[begin + v];
    karst_cuda_launch(cuda, combine, sum_grid(n), THREADS, n, batch, sign, coefficient + begin, some,
                      begin ? NULL : beta, y, cuda->partial, cuda->ticket, last ? norm2 : NULL);
    begin += batch;
  } while (begin < count);
}

void karst_step_cuda(karst_context *context, int64_t n, const double *a, const double *b, double *step, const double *x,
                     double *y, double *norm2, const double *with, double *dot)
{
  const karst_cuda *cuda = karst_cuda_of(context);
  karst_cuda_launch(cuda, with ? take_step<true> : take_step<false>, sum_grid(n), THREADS, n, a, b, step, x, y, with,
                    cuda->partial, cuda->ticket, norm2, dot);
}

void karst_turn_cuda(karst_context *context, int64_t n, const double *step, const double *a, const double *b,
                     const double *z, double *p, double *x)
{
  karst_cuda_launch(karst_cuda_of(context), take_turn, sum_grid(n), THREADS, n, step, a, b, z, p, x);
}

void karst_turn_stabilised_cuda(karst_context *context, int64_t n, const double *a, const double *b,
                                const double *alpha, const double *omega, const double *v, const double *r, double *p)
{
  karst_cuda_launch(karst_cuda_of(context), take_stabilised_turn, sum_grid(n), THREADS, n, a, b, alpha, omega, v, r, p);
}
