/* fine.cu - level 2: the b1 of grid 0. See apply.h. */
#include "gpu/rrb/apply.h"

namespace
{

enum { FORWARD = 6, BACKWARD = 5 /* thread blocks on a multiprocessor */ };

template <typename F>
__global__ void __launch_bounds__(KARST_RRB_THREADS, FORWARD)
    forward(const karst_rrb_march march, const F *__restrict__ factor, const double *r, double *next)
{
  const karst_rrb_lane mine = karst_rrb_find_lane(march);
  const int64_t w = march.pitch, array = march.array, row = w + 2 * mine.pair + (mine.first - 1) * w;
  const double *r2 = r + row, *r1 = r2 + array;
  const F *l = factor + row;
  karst_rrb_wait();
  if (mine.first >= mine.last) return;
  const double2 under = karst_rrb_load(r1);
  double2 south = karst_rrb_load(l + 2 * array) * under + karst_rrb_west(karst_rrb_load(l + 3 * array) * under);
#pragma unroll 2
  for (int J = mine.first; J < mine.last; J++) {
    r2 += w, r1 += w, l += w;
    const double2 b2 = karst_rrb_load(r2), b1 = karst_rrb_load(r1);
    const double2 sw = karst_rrb_load(l), se = karst_rrb_load(l + array);
    const double2 nw = karst_rrb_load(l + 2 * array), ne = karst_rrb_load(l + 3 * array);
    const double2 result = b2 - (sw * b1 + karst_rrb_west(se * b1) + south);
    if (mine.stores) karst_rrb_scatter(march, next, mine.pair, J, result);
    south = nw * b1 + karst_rrb_west(ne * b1);
  }
}

/* z may be r: only the thread that writes an element reads it. */
template <typename F>
__global__ void __launch_bounds__(KARST_RRB_THREADS, BACKWARD)
    backward(const karst_rrb_march march, const F *__restrict__ factor, const double *r, const double *next, double *z,
             double *partial, unsigned *ticket, double *dot)
{
  const karst_rrb_lane mine = karst_rrb_find_lane(march);
  const int64_t w = march.pitch, array = march.array, row = w + 2 * mine.pair + mine.first * w;
  const double *r2 = r + row, *r1 = r2 + array;
  double *z2 = z + row, *z1 = z2 + array, sum = 0;
  const F *l = factor + row;
  karst_rrb_wait();
  if (mine.first < mine.last) { /* the same for all lanes of a warp */
    double2 here = karst_rrb_gather(march, next, mine.pair, mine.first);
#pragma unroll 2
    for (int J = mine.first; J < mine.last; J++) {
      const double2 north = karst_rrb_gather(march, next, mine.pair, J + 1);
      const double2 b1 = mine.stores ? karst_rrb_load(r1) : make_double2(0, 0);
      const double2 b2 = mine.stores && dot ? karst_rrb_load(r2) : make_double2(0, 0);
      const double2 sw = karst_rrb_load(l), se = karst_rrb_load(l + array);
      const double2 nw = karst_rrb_load(l + 2 * array), ne = karst_rrb_load(l + 3 * array);
      const double2 inverse = karst_rrb_load(l + KARST_RRB_INVERSE * array);
      const double2 result =
          inverse * b1 - (sw * here + se * karst_rrb_east(here) + nw * north + ne * karst_rrb_east(north));
      if (mine.stores) {
        karst_rrb_store(z2, here);
        karst_rrb_store(z1, result);
        sum += b2.x * here.x + b2.y * here.y + b1.x * result.x + b1.y * result.y;
      }
      here = north;
      r2 += w, r1 += w, l += w, z2 += w, z1 += w;
    }
  }
  karst_rrb_write_guards(march, mine, z);
  if (dot) karst_rrb_reduce(sum, partial, ticket, dot);
}

template <typename F> void launch_forward(karst_context *context, const karst_rrb *rrb, const double *r)
{
  const karst_rrb_arrays *arrays = &karst_rrb_cuda_of(rrb)->arrays;
  const karst_rrb_march march = karst_rrb_march_of(rrb, 0, FORWARD);
  karst_rrb_launch(context, rrb, forward<F>, karst_rrb_march_grid(&march), KARST_RRB_THREADS, 0, march,
                   static_cast<const F *>(arrays->factor[0]), r, arrays->vector[1]);
}

template <typename F>
void launch_backward(karst_context *context, const karst_rrb *rrb, const double *r, double *z, double *dot)
{
  const karst_cuda *cuda = karst_cuda_of(context);
  const karst_rrb_arrays *arrays = &karst_rrb_cuda_of(rrb)->arrays;
  const karst_rrb_march march = karst_rrb_march_of(rrb, 0, BACKWARD);
  const unsigned grid = karst_rrb_march_grid(&march);
  const bool sums = dot && grid <= KARST_RRB_BLOCKS;
  karst_rrb_launch(context, rrb, backward<F>, grid, KARST_RRB_THREADS, 0, march,
                   static_cast<const F *>(arrays->factor[0]), r, arrays->vector[1], z, cuda->partial, cuda->ticket,
                   sums ? dot : nullptr);
  if (dot && !sums) karst_dots_cuda(context, rrb->reduced, 1, &r, z, dot);
}

} // namespace

void karst_rrb_fine_forward_cuda(karst_context *context, const karst_rrb *rrb, const double *r)
{
  (rrb->single ? launch_forward<float> : launch_forward<double>)(context, rrb, r);
}

void karst_rrb_fine_backward_cuda(karst_context *context, const karst_rrb *rrb, const double *r, double *z, double *dot)
{
  (rrb->single ? launch_backward<float> : launch_backward<double>)(context, rrb, r, z, dot);
}
