/* vector.cu - operations on the elements of vectors on the GPU. A thread does one element. */
#include "gpu/launch.h"

#include <limits.h>

namespace
{

template <typename F> __global__ void each(int64_t n, F f)
{
  karst_cuda_begin();
  int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) f(i);
}

template <typename F> void run(karst_context *context, int64_t n, const F &f)
{
  karst_cuda_launch(karst_cuda_of(context), each<F>, karst_cuda_grid(n, KARST_CUDA_THREADS), KARST_CUDA_THREADS, n, f);
}

struct fill {
  double value, *x;
  __device__ void operator()(int64_t i) const { x[i] = value; }
};

struct normalise {
  const double *norm2, *x;
  double *y;
  __device__ void operator()(int64_t i) const
  {
    double norm = sqrt(*norm2);
    y[i] = norm > 0 && norm <= DBL_MAX ? x[i] * (1 / norm) : 0;
  }
};

struct quotient {
  double sign;
  const double *a, *b, *c, *d;
  double *result;
  __device__ void operator()(int64_t) const
  {
    double value = sign * (*a / *b);
    if (c && d) value *= *c / *d;
    *result = karst_cuda_finite(value);
  }
};

/* Moves scalar i. For blocks k that is y(k) = x(index[k]) if gathered, else y(index[k]) = x(k). */
struct permute {
  int b;
  bool gathered;
  const karst_index *index;
  const double *x;
  double *y;
  __device__ void operator()(int64_t i) const
  {
    int64_t k = i <= UINT_MAX ? (unsigned)i / (unsigned)b : i / b; /* 64-bit division is slow */
    int64_t elsewhere = (int64_t)index[k] * b + (i - k * b);
    if (gathered)
      y[i] = x[elsewhere];
    else
      y[elsewhere] = x[i];
  }
};

struct multiply_elements {
  const double *d, *x;
  double *y;
  __device__ void operator()(int64_t i) const { y[i] = d[i] * x[i]; }
};

struct divide_elements {
  const double *d, *x;
  double *y;
  __device__ void operator()(int64_t i) const { y[i] = x[i] / d[i]; }
};

} // namespace

void karst_fill_cuda(karst_context *context, int64_t n, double value, double *x) { run(context, n, fill{value, x}); }

void karst_normalise_cuda(karst_context *context, int64_t n, const double *norm2, const double *x, double *y)
{
  run(context, n, normalise{norm2, x, y});
}

void karst_quotient_cuda(karst_context *context, double sign, const double *a, const double *b, const double *c,
                         const double *d, double *result)
{
  run(context, 1, quotient{sign, a, b, c, d, result});
}

void karst_gather_cuda(karst_context *context, karst_index count, int b, const karst_index *index, const double *x,
                       double *y)
{
  run(context, (int64_t)count * b, permute{b, true, index, x, y});
}

void karst_scatter_cuda(karst_context *context, karst_index count, int b, const karst_index *index, const double *x,
                        double *y)
{
  run(context, (int64_t)count * b, permute{b, false, index, x, y});
}

void karst_multiply_elements_cuda(karst_context *context, int64_t n, const double *d, const double *x, double *y)
{
  run(context, n, multiply_elements{d, x, y});
}

void karst_divide_elements_cuda(karst_context *context, int64_t n, const double *d, const double *x, double *y)
{
  run(context, n, divide_elements{d, x, y});
}
