/* multiply.cu - the first Schur complement times a vector. Half of its entries are stored, and each is loaded once: the
 * entries of the upper row that the lower one needs too stay in registers. See apply.h. */
#include "gpu/rrb/apply.h"

namespace
{

enum { C, NE, NW, EE, NN, RESIDENT = 4 /* thread blocks on a multiprocessor */ };

__global__ void __launch_bounds__(KARST_RRB_THREADS, RESIDENT)
    multiply(const karst_rrb_march march, const double *__restrict__ schur, const double *x, double *y, double *partial,
             unsigned *ticket, double *dot)
{
  const karst_rrb_lane mine = karst_rrb_find_lane(march);
  const int64_t w = march.pitch, array = march.array, up = KARST_RRB_PARTS * array;
  const int64_t row = w + 2 * mine.pair + (mine.first - 1) * w;
  const double *s2 = schur + row, *s1 = s2 + up, *x2 = x + row, *x1 = x2 + array;
  double *y2 = y + row, *y1 = y2 + array;
  double sum = 0;
  karst_rrb_wait();
  if (mine.first < mine.last) { /* the same for all lanes of a warp */
    const double2 under2 = karst_rrb_load(x2), under1 = karst_rrb_load(x1);
    double2 south2 = karst_rrb_load(s2 + NN * array) * under2 + karst_rrb_load(s1 + NW * array) * under1 +
                     karst_rrb_west(karst_rrb_load(s1 + NE * array) * under1);
    double2 south1 = karst_rrb_load(s1 + NN * array) * under1;
    double2 here2 = karst_rrb_load(x2 + w), here1 = karst_rrb_load(x1 + w);
    for (int J = mine.first; J < mine.last; J++) {
      s2 += w, s1 += w, x2 += w, x1 += w, y2 += w, y1 += w;
      const double2 north2 = karst_rrb_load(x2 + w), north1 = karst_rrb_load(x1 + w);
      const double2 c2 = karst_rrb_load(s2), c1 = karst_rrb_load(s1);
      const double2 ne2 = karst_rrb_load(s2 + NE * array), ne1 = karst_rrb_load(s1 + NE * array);
      const double2 nw2 = karst_rrb_load(s2 + NW * array), nw1 = karst_rrb_load(s1 + NW * array);
      const double2 ee2 = karst_rrb_load(s2 + EE * array), ee1 = karst_rrb_load(s1 + EE * array);
      const double2 nn2 = karst_rrb_load(s2 + NN * array), nn1 = karst_rrb_load(s1 + NN * array);
      const double2 result2 = c2 * here2 + ne2 * here1 + nw2 * karst_rrb_west(here1) + ee2 * karst_rrb_east(here2) +
                              karst_rrb_west(ee2 * here2) + nn2 * north2 + south2;
      const double2 result1 = c1 * here1 + ne1 * karst_rrb_east(north2) + nw1 * north2 + ee1 * karst_rrb_east(here1) +
                              karst_rrb_west(ee1 * here1) + nn1 * north1 + ne2 * here2 + karst_rrb_east(nw2 * here2) +
                              south1;
      if (mine.stores) {
        karst_rrb_store(y2, result2);
        karst_rrb_store(y1, result1);
        sum += here2.x * result2.x + here2.y * result2.y + here1.x * result1.x + here1.y * result1.y;
      }
      south2 = nn2 * here2 + nw1 * here1 + karst_rrb_west(ne1 * here1);
      south1 = nn1 * here1;
      here2 = north2;
      here1 = north1;
    }
  }
  karst_rrb_write_guards(march, mine, y);
  if (dot) karst_rrb_reduce(sum, partial, ticket, dot);
}

} // namespace

void karst_rrb_multiply_cuda(karst_context *context, const karst_rrb *rrb, const double *x, double *y, double *dot)
{
  if (rrb->grouped == 0 && rrb->grids > 0) {
    karst_rrb_nodes_kernels_cuda.multiply(context, rrb, x, y, dot);
    return;
  }
  const karst_cuda *cuda = karst_cuda_of(context);
  const karst_rrb_march march = karst_rrb_march_of(rrb, 0, RESIDENT);
  const unsigned grid = karst_rrb_march_grid(&march);
  const bool sums = dot && grid <= KARST_RRB_BLOCKS;
  karst_rrb_launch(context, rrb, multiply, grid, KARST_RRB_THREADS, 0, march, karst_rrb_cuda_of(rrb)->arrays.schur, x,
                   y, cuda->partial, cuda->ticket, sums ? dot : nullptr);
  if (dot && !sums) karst_dots_cuda(context, rrb->reduced, 1, &x, y, dot);
}
