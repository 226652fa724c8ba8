/* pairs.cu - both levels of a grid m > 0 in one pass, each way. See apply.h. */
#include "gpu/rrb/apply.h"

namespace
{

/* The places of the arrays of a factor, in arrays. */
enum {
  R1 = KARST_RRB_FACTOR_R1 * KARST_RRB_PARTS,
  R2 = KARST_RRB_FACTOR_R2 * KARST_RRB_PARTS,
  B1 = KARST_RRB_FACTOR_B1 * KARST_RRB_PARTS,
  KEPT = KARST_RRB_PARTS, /* of skew[m]: where b1 is kept */
  RESIDENT = 4            /* thread blocks on a multiprocessor */
};

/* Prefetches the factors of a row, of the parts before last, while its vector is not yet complete. The finer grids have
 * evicted them from the cache, and if a warp has one row nothing else hides the wait for them. */
template <typename F>
__device__ __forceinline__ void prefetch_row(const karst_rrb_march &march, const F *factor, int64_t at, int last)
{
  const int lane = (int)threadIdx.x % 32, line = 128 / (2 * (int)sizeof(F));
  if (march.strip > 1 || (lane % line != 1 && lane != 31)) return;
  for (int e = 0; e < KARST_RRB_FACTORS; e++)
    for (int k = 0; k < last; k++) karst_rrb_prefetch(factor + (KARST_RRB_PARTS * e + k) * march.array + at);
}

template <typename F>
__global__ void __launch_bounds__(KARST_RRB_THREADS, RESIDENT)
    forward(const karst_rrb_march march, const F *__restrict__ factor, const double *vector, double *kept, double *next)
{
  const karst_rrb_lane mine = karst_rrb_find_lane(march);
  const int64_t w = march.pitch, array = march.array;
  int64_t at = w + 2 * mine.pair + (mine.first - 1) * w;
  if (mine.first < mine.last) prefetch_row(march, factor, at + w, KARST_RRB_INVERSE);
  karst_rrb_wait();
  if (mine.first >= mine.last) return;
  const auto l = [&](int k) { return karst_rrb_load(factor + k * array + at); };
  const auto v = [&](int group) { return karst_rrb_load(vector + group * array + at); };
  double2 r1 = v(KARST_RRB_R1), south_red, south_black;
  const auto next_r1 = [&] { return karst_rrb_load(vector + KARST_RRB_R1 * array + at + w); };
  const auto next_l2 = [&] { return karst_rrb_load(factor + (R1 + 2) * array + at + w); };
  {
    const double2 r2 = v(KARST_RRB_R2), north = next_r1();
    const double2 b1 =
        v(KARST_RRB_B1) - (l(R1 + 3) * r1 + next_l2() * north + l(R2 + 1) * r2 + karst_rrb_east(l(R2) * r2));
    south_red = l(R2 + 3) * r2;
    south_black = l(B1 + 2) * b1 + karst_rrb_west(l(B1 + 3) * b1);
    r1 = north;
  }
  for (int J = mine.first; J < mine.last; J++) {
    at += w;
    const double2 r2 = v(KARST_RRB_R2), north = next_r1();
    const double2 b1 =
        v(KARST_RRB_B1) - (l(R1 + 3) * r1 + next_l2() * north + l(R2 + 1) * r2 + karst_rrb_east(l(R2) * r2));
    const double2 b2 = v(KARST_RRB_B2) - (l(R1) * r1 + karst_rrb_west(l(R1 + 1) * r1) + l(R2 + 2) * r2 + south_red) -
                       (l(B1) * b1 + karst_rrb_west(l(B1 + 1) * b1) + south_black);
    south_red = l(R2 + 3) * r2;
    south_black = l(B1 + 2) * b1 + karst_rrb_west(l(B1 + 3) * b1);
    r1 = north;
    if (mine.stores) {
      karst_rrb_store(kept + at, b1);
      karst_rrb_scatter(march, next, mine.pair, J, b2);
    }
  }
}

template <typename F>
__global__ void __launch_bounds__(KARST_RRB_THREADS, RESIDENT)
    backward(const karst_rrb_march march, const F *__restrict__ factor, double *vector, const double *kept,
             const double *next)
{
  const karst_rrb_lane mine = karst_rrb_find_lane(march);
  const int64_t w = march.pitch, array = march.array;
  int64_t at = w + 2 * mine.pair + (mine.first - 1) * w;
  if (mine.first < mine.last) prefetch_row(march, factor, at + w, KARST_RRB_PARTS);
  karst_rrb_wait();
  if (mine.first >= mine.last) return;
  const auto l = [&](int k) { return karst_rrb_load(factor + k * array + at); };
  const auto black = [&](double2 here, double2 north) {
    return l(B1 + KARST_RRB_INVERSE) * karst_rrb_load(kept + at) -
           (l(B1) * here + l(B1 + 1) * karst_rrb_east(here) + l(B1 + 2) * north + l(B1 + 3) * karst_rrb_east(north));
  };
  const double2 under = karst_rrb_gather(march, next, mine.pair, mine.first - 1);
  double2 here = karst_rrb_gather(march, next, mine.pair, mine.first), south = black(under, here);
  for (int J = mine.first; J < mine.last; J++) {
    at += w;
    double *const v = vector + at;
    const double2 zero = make_double2(0, 0), north = karst_rrb_gather(march, next, mine.pair, J + 1);
    const double2 r1 = mine.stores ? karst_rrb_load(v + KARST_RRB_R1 * array) : zero;
    const double2 r2 = mine.stores ? karst_rrb_load(v + KARST_RRB_R2 * array) : zero;
    const double2 b1 = black(here, north);
    const double2 z1 = l(R1 + KARST_RRB_INVERSE) * r1 -
                       (l(R1) * here + l(R1 + 1) * karst_rrb_east(here) + l(R1 + 2) * south + l(R1 + 3) * b1);
    const double2 z2 = l(R2 + KARST_RRB_INVERSE) * r2 -
                       (l(R2) * karst_rrb_west(b1) + l(R2 + 1) * b1 + l(R2 + 2) * here + l(R2 + 3) * north);
    if (mine.stores) {
      karst_rrb_store(v + KARST_RRB_B2 * array, here);
      karst_rrb_store(v + KARST_RRB_B1 * array, b1);
      karst_rrb_store(v + KARST_RRB_R1 * array, z1);
      karst_rrb_store(v + KARST_RRB_R2 * array, z2);
    }
    here = north;
    south = b1;
  }
}

template <typename F> void launch(karst_context *context, const karst_rrb *rrb, int m, bool up)
{
  const karst_rrb_arrays *arrays = &karst_rrb_cuda_of(rrb)->arrays;
  const karst_rrb_march march = karst_rrb_march_of(rrb, m, RESIDENT);
  const unsigned grid = karst_rrb_march_grid(&march);
  const F *factor = static_cast<const F *>(arrays->factor[m]);
  double *kept = arrays->skew[m] + KEPT * march.array;
  if (up)
    karst_rrb_launch(context, rrb, forward<F>, grid, KARST_RRB_THREADS, 0, march, factor, arrays->vector[m], kept,
                     arrays->vector[m + 1]);
  else
    karst_rrb_launch(context, rrb, backward<F>, grid, KARST_RRB_THREADS, 0, march, factor, arrays->vector[m], kept,
                     arrays->vector[m + 1]);
}

} // namespace

void karst_rrb_pairs_forward_cuda(karst_context *context, const karst_rrb *rrb, int m)
{
  (rrb->single ? launch<float> : launch<double>)(context, rrb, m, true);
}

void karst_rrb_pairs_backward_cuda(karst_context *context, const karst_rrb *rrb, int m)
{
  (rrb->single ? launch<float> : launch<double>)(context, rrb, m, false);
}
