/* reds.cu - one level of r1 and r2 by itself: the first one if the system has all nodes, and the last one if the number
 * of levels is odd. A thread takes a place, with its pads. Guards and pads stay 0, because they have no factors. */
#include "gpu/rrb/apply.h"

namespace
{

enum { R1 = KARST_RRB_FACTOR_R1 * KARST_RRB_PARTS, R2 = KARST_RRB_FACTOR_R2 * KARST_RRB_PARTS };

/* black may be vector: only the thread that writes an element of b1 and b2 reads it. */
template <typename F>
__global__ void __launch_bounds__(KARST_CUDA_THREADS)
    forward(int64_t pitch, int64_t array, const F *__restrict__ factor, const double *vector, double *black)
{
  const int64_t p = pitch + (int64_t)blockIdx.x * KARST_CUDA_THREADS + threadIdx.x;
  karst_rrb_wait();
  if (p >= array) return;
  const F *l1 = factor + R1 * array + p, *l2 = factor + R2 * array + p;
  const double *r1 = vector + KARST_RRB_R1 * array + p, *r2 = vector + KARST_RRB_R2 * array + p;
  const double b2 = l1[0] * r1[0] + l1[array - 1] * r1[-1] + l2[2 * array] * r2[0] + l2[3 * array - pitch] * r2[-pitch];
  const double b1 = l1[3 * array] * r1[0] + l1[2 * array + pitch] * r1[pitch] + l2[array] * r2[0] + l2[1] * r2[1];
  black[p] = vector[p] - b2;
  black[array + p] = vector[array + p] - b1;
}

template <typename F>
__global__ void __launch_bounds__(KARST_CUDA_THREADS)
    backward(int64_t pitch, int64_t array, const F *__restrict__ factor, double *vector)
{
  const int64_t p = pitch + (int64_t)blockIdx.x * KARST_CUDA_THREADS + threadIdx.x;
  karst_rrb_wait();
  if (p >= array) return;
  const F *l1 = factor + R1 * array + p, *l2 = factor + R2 * array + p;
  const double *b2 = vector + p, *b1 = b2 + array;
  double *r1 = vector + KARST_RRB_R1 * array + p, *r2 = vector + KARST_RRB_R2 * array + p;
  *r1 = l1[KARST_RRB_INVERSE * array] * *r1 -
        (l1[0] * b2[0] + l1[array] * b2[1] + l1[2 * array] * b1[-pitch] + l1[3 * array] * b1[0]);
  *r2 = l2[KARST_RRB_INVERSE * array] * *r2 -
        (l2[0] * b1[-1] + l2[array] * b1[0] + l2[2 * array] * b2[0] + l2[3 * array] * b2[pitch]);
}

template <typename F> void launch(karst_context *context, const karst_rrb *rrb, int m, const F *factor, double *black)
{
  const karst_rrb_shape *shape = &rrb->shape[m];
  const unsigned grid = karst_cuda_grid(shape->array - shape->pitch, KARST_CUDA_THREADS);
  double *vector = karst_rrb_cuda_of(rrb)->arrays.vector[m];
  if (black)
    karst_rrb_launch(context, rrb, forward<F>, grid, KARST_CUDA_THREADS, 0, shape->pitch, shape->array, factor, vector,
                     black);
  else
    karst_rrb_launch(context, rrb, backward<F>, grid, KARST_CUDA_THREADS, 0, shape->pitch, shape->array, factor,
                     vector);
}

void launch_level(karst_context *context, const karst_rrb *rrb, int m, double *black)
{
  const karst_rrb_arrays *arrays = &karst_rrb_cuda_of(rrb)->arrays;
  if (m == 0)
    launch<double>(context, rrb, m, arrays->first, black);
  else if (rrb->single)
    launch<float>(context, rrb, m, static_cast<const float *>(arrays->factor[m]), black);
  else
    launch<double>(context, rrb, m, static_cast<const double *>(arrays->factor[m]), black);
}

} // namespace

void karst_rrb_reds_forward_cuda(karst_context *context, const karst_rrb *rrb, int m, double *black)
{
  launch_level(context, rrb, m, black);
}

void karst_rrb_reds_backward_cuda(karst_context *context, const karst_rrb *rrb, int m)
{
  launch_level(context, rrb, m, NULL);
}
