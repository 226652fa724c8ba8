/* eliminate.cu - the levels of the repeated red-black method after the loading of A: pivots, factors, and the stencils
 * of the remaining nodes. A thread has a place (I, J) of a grid's groups; small grids share a thread block. See
 * rrb_kernels.h for groups, couplings and arrays. */
#include "gpu/rrb/rrb_cuda.h"

namespace
{

enum { WIDTH = 32, HEIGHT = 8, TALL = 16, TILE = WIDTH * TALL, SMALL = 1024, SMALL_GRIDS = 16 };

/* A grid with the stencils that its levels read and write, and its factor. T is float or double. */
template <typename T> struct grid {
  karst_rrb_shape shape;
  karst_rrb_shape next_shape;
  double *straight; /* NULL on grid 0, whose red nodes the loading has factored */
  double *skew;
  T *factor;
  double *next; /* the straight stencil of the next grid; NULL: b1 stays */
};

/* The data shared by all grids. */
struct setting {
  karst_rrb_nodes nodes;
  bool nine_point;
};

/* Stores the factor of a node, 1 / d and l for each coupling a, and reports a bad pivot; 0 if there is no node. at: in
 * the first of the arrays; apart: from one array to the next. */
template <typename T>
KARST_INLINE void put_factor(const karst_rrb_nodes *nodes, bool there, int level, int64_t node, double d,
                             const double a[KARST_RRB_COUPLINGS], T *at, int64_t apart)
{
  const bool sound = there && karst_rrb_is_pivot(d);
  const T inverse = sound ? (T)(1 / d) : (T)0;
  const bool kept = inverse > 0 && karst_rrb_is_finite(inverse); /* a float may have underflowed */
  for (int c = 0; c < KARST_RRB_COUPLINGS; c++) at[c * apart] = kept ? (T)(a[c] * (1 / d)) : (T)0;
  at[KARST_RRB_INVERSE * apart] = kept ? inverse : (T)0;
  if (there && !kept)
    karst_rrb_keep_least(nodes->fault, karst_rrb_encode_pivot(level, node, !sound && karst_rrb_is_finite(d)));
}

KARST_INLINE int64_t node_of(const karst_rrb_nodes *nodes, int m, karst_index i, karst_index j)
{
  return ((int64_t)j << m) * nodes->size[0] + ((int64_t)i << m);
}

/* The positions of a grid's factors: those of a place; the first one is of r1 or of b1. */
template <typename T> struct factors {
  T *at, *second; /* second: of r2 */
  int64_t apart, up;
};

template <typename T> KARST_INLINE factors<T> red_factors(const karst_rrb_shape &shape, T *factor, int64_t at)
{
  return {factor + karst_rrb_array(&shape, 0) + at, factor + karst_rrb_array(&shape, KARST_RRB_PARTS) + at, shape.array,
          shape.pitch};
}

template <typename T> KARST_INLINE factors<T> b1_factors(const karst_rrb_shape &shape, T *factor, int m, int64_t at)
{
  T *first = factor + karst_rrb_array(&shape, m == 0 ? 0 : KARST_RRB_PARTS * KARST_RRB_FACTOR_B1) + at;
  return {first, nullptr, shape.array, shape.pitch};
}

/* The sum of a centre and the lumped entries, or 0 if it is lost in rounding. */
KARST_INLINE double lump(double centre, double a0, double a1, double a2, double a3)
{
  return karst_rrb_sum(centre + ((a0 + a1) + (a2 + a3)),
                       fabs(centre) + ((fabs(a0) + fabs(a1)) + (fabs(a2) + fabs(a3))));
}

/* A centre minus the contributions of eliminated nodes; these are positive if their pivots are. */
KARST_INLINE double less(double centre, double taken)
{
  return karst_rrb_sum(centre - taken, fabs(centre) + fabs(taken));
}

/* Level 2m + 1 on grids m > 0: the factor of r1(I, J) and r2(I, J). */
template <typename T>
KARST_INLINE void factor_red(const grid<T> &g, const setting &s, int m, karst_index I, karst_index J,
                             const factors<T> &to)
{
  const karst_rrb_shape &shape = g.shape;
  const int64_t at = I + J * shape.pitch, apart = shape.array, up = shape.pitch;
  const double *group[KARST_RRB_GROUPS];
  for (int k = 0; k < KARST_RRB_GROUPS; k++) group[k] = g.straight + karst_rrb_array(&shape, KARST_RRB_PARTS * k) + at;
  const double *b2 = group[KARST_RRB_B2], *b1 = group[KARST_RRB_B1], *r1 = group[KARST_RRB_R1],
               *r2 = group[KARST_RRB_R2];
  const int64_t east = KARST_RRB_EAST * apart, north = KARST_RRB_NORTH * apart,
                north_east = KARST_RRB_NORTH_EAST * apart, north_west = KARST_RRB_NORTH_WEST * apart;
  const double a1[] = {b2[east], r1[east], b1[north - up], r1[north]};
  const double a2[] = {b1[east - 1], r2[east], b2[north], r2[north]};
  const double d1 = lump(r1[0], r1[north_east], r1[north_west], r2[north_east - up], r2[north_west + 1 - up]);
  const double d2 = lump(r2[0], r2[north_east], r2[north_west], r1[north_east - 1], r1[north_west]);
  const karst_index i = 2 * I, j = 2 * J;
  const karst_rrb_nodes *nodes = &s.nodes;
  put_factor(nodes, karst_rrb_has_node(nodes, shape.size, m, i + 1, j), 2 * m + 1, node_of(nodes, m, i + 1, j), d1, a1,
             to.at, to.apart);
  put_factor(nodes, karst_rrb_has_node(nodes, shape.size, m, i, j + 1), 2 * m + 1, node_of(nodes, m, i, j + 1), d2, a2,
             to.second, to.apart);
}

template <typename T> KARST_INLINE double pivot_of(T inverse) { return inverse > 0 ? 1 / (double)inverse : 0; }

/* The stencil of a black node after the elimination of its red neighbours, whose factors begin at the given places.
 * centre, north_east and north_west are the stencil before. */
template <typename T>
KARST_INLINE void subtract_red(const T *east, const T *west, const T *north, const T *south, int64_t apart, bool there,
                               double centre, double north_east, double north_west, double *skew, int64_t skew_apart)
{
  const double e0 = east[0], e1 = east[apart], e3 = east[3 * apart];
  const double w1 = west[apart], w3 = west[3 * apart];
  const double n0 = north[0], n1 = north[apart], n2 = north[2 * apart], n3 = north[3 * apart], s3 = south[3 * apart];
  const double de = pivot_of(east[KARST_RRB_INVERSE * apart]) * e0, dw = pivot_of(west[KARST_RRB_INVERSE * apart]) * w1;
  const double dn = pivot_of(north[KARST_RRB_INVERSE * apart]) * n2,
               ds = pivot_of(south[KARST_RRB_INVERSE * apart]) * s3;
  skew[KARST_RRB_SKEW_CENTRE * skew_apart] = there ? less(centre, de * e0 + dw * w1 + (dn * n2 + ds * s3)) : 0;
  skew[KARST_RRB_SKEW_NORTH_EAST * skew_apart] = there ? north_east - (de * e3 + dn * n1) : 0;
  skew[KARST_RRB_SKEW_NORTH_WEST * skew_apart] = there ? north_west - (dw * w3 + dn * n0) : 0;
  skew[KARST_RRB_SKEW_EAST * skew_apart] = there ? -(de * e1) : 0;
  skew[KARST_RRB_SKEW_NORTH * skew_apart] = there ? -(dn * n3) : 0;
}

/* The stencil on b2(I, J) and b1(I, J) from that before level 2m + 1: of grid 0 what was loaded, in place. red: the
 * factors of r1(I, J) and r2(I, J). */
template <typename T>
KARST_INLINE void eliminate_red(const karst_rrb_shape &shape, const factors<T> &red, const double *straight,
                                double *skew, const setting &s, int m, karst_index I, karst_index J)
{
  const int64_t at = I + J * shape.pitch, apart = shape.array;
  const double *start = straight ? straight : skew;
  const int north_east = straight ? (int)KARST_RRB_NORTH_EAST : (int)KARST_RRB_SKEW_NORTH_EAST;
  const int north_west = straight ? (int)KARST_RRB_NORTH_WEST : (int)KARST_RRB_SKEW_NORTH_WEST;
  const bool corners = straight || s.nine_point;
  const T *r1 = red.at, *r2 = red.second;
  for (int k = 0; k < 2; k++) {
    const int64_t black = karst_rrb_array(&shape, KARST_RRB_PARTS * k) + at;
    const double *before = start + black;
    const bool there = karst_rrb_has_node(&s.nodes, shape.size, m, 2 * I + k, 2 * J + k);
    subtract_red(k ? r2 + 1 : r1, k ? r2 : r1 - 1, k ? r1 + red.up : r2, k ? r1 : r2 - red.up, red.apart, there,
                 before[0], corners ? before[north_east * apart] : 0, corners ? before[north_west * apart] : 0,
                 skew + black, apart);
  }
}

/* Level 2m + 2: the factor of b1(I, J). */
template <typename T>
KARST_INLINE void factor_b1(const grid<T> &g, const setting &s, int m, karst_index I, karst_index J,
                            const factors<T> &to)
{
  const karst_rrb_shape &shape = g.shape;
  const int64_t at = I + J * shape.pitch, apart = shape.array, up = shape.pitch;
  const double *b2 = g.skew + karst_rrb_array(&shape, 0) + at;
  const double *b1 = g.skew + karst_rrb_array(&shape, KARST_RRB_PARTS) + at;
  const int64_t north_east = KARST_RRB_SKEW_NORTH_EAST * apart, north_west = KARST_RRB_SKEW_NORTH_WEST * apart,
                east = KARST_RRB_SKEW_EAST * apart, north = KARST_RRB_SKEW_NORTH * apart;
  const double a[] = {b2[north_east], b2[north_west + 1], b1[north_west], b1[north_east]};
  const double d = lump(b1[0], b1[east], b1[east - 1], b1[north], b1[north - up]);
  const karst_index i = 2 * I + 1, j = 2 * J + 1;
  put_factor(&s.nodes, karst_rrb_has_node(&s.nodes, shape.size, m, i, j), 2 * m + 2, node_of(&s.nodes, m, i, j), d, a,
             to.at, to.apart);
}

/* The stencil on b2(I, J), which is node (I, J) of the next grid. b1: the factors of b1(I, J). */
template <typename T>
KARST_INLINE void eliminate_b1(const grid<T> &g, const setting &s, int m, karst_index I, karst_index J,
                               const factors<T> &b1)
{
  const karst_rrb_shape &shape = g.shape, &next = g.next_shape;
  const int64_t at = I + J * shape.pitch, apart = shape.array;
  const T *ne = b1.at;
  const T *nw = ne - 1, *se = ne - b1.up, *sw = ne - b1.up - 1;
  const double *b2 = g.skew + karst_rrb_array(&shape, 0) + at;
  const double ne0 = ne[0], ne1 = ne[b1.apart], ne2 = ne[2 * b1.apart], ne3 = ne[3 * b1.apart];
  const double nw1 = nw[b1.apart], nw2 = nw[2 * b1.apart], nw3 = nw[3 * b1.apart];
  const double se2 = se[2 * b1.apart], se3 = se[3 * b1.apart], sw3 = sw[3 * b1.apart];
  const double dne = pivot_of(ne[KARST_RRB_INVERSE * b1.apart]) * ne0,
               dnw = pivot_of(nw[KARST_RRB_INVERSE * b1.apart]) * nw1;
  const double dse = pivot_of(se[KARST_RRB_INVERSE * b1.apart]) * se2,
               dsw = pivot_of(sw[KARST_RRB_INVERSE * b1.apart]) * sw3;
  const bool there = karst_rrb_has_node(&s.nodes, next.size, m + 1, I, J);
  double *to = g.next + karst_rrb_element(&next, KARST_RRB_PARTS, I, J);
  to[KARST_RRB_CENTRE * next.array] = there ? less(b2[0], dne * ne0 + dnw * nw1 + (dse * se2 + dsw * sw3)) : 0;
  to[KARST_RRB_EAST * next.array] = there ? b2[KARST_RRB_SKEW_EAST * apart] - (dne * ne1 + dse * se3) : 0;
  to[KARST_RRB_NORTH * next.array] = there ? b2[KARST_RRB_SKEW_NORTH * apart] - (dne * ne2 + dnw * nw3) : 0;
  to[KARST_RRB_NORTH_EAST * next.array] = there ? -(dne * ne3) : 0;
  to[KARST_RRB_NORTH_WEST * next.array] = there ? -(dnw * nw2) : 0;
}

/* The place that a thread has in a launch over one grid. */
__device__ bool find_place(const karst_rrb_shape &shape, karst_index *I, karst_index *J)
{
  const unsigned across = (unsigned)((shape.coarse[0] + WIDTH - 1) / WIDTH);
  *I = (karst_index)(blockIdx.x % across) * WIDTH + (karst_index)(threadIdx.x % WIDTH);
  *J = (karst_index)(blockIdx.x / across) * HEIGHT + (karst_index)(threadIdx.x / WIDTH);
  return *I < shape.coarse[0] && *J < shape.coarse[1];
}

unsigned blocks_of(const karst_rrb_shape &shape)
{
  return (unsigned)((shape.coarse[0] + WIDTH - 1) / WIDTH * ((shape.coarse[1] + HEIGHT - 1) / HEIGHT));
}

__global__ void __launch_bounds__(WIDTH *HEIGHT)
    eliminate_first(const karst_rrb_shape shape, const double *first, double *schur, const setting s)
{
  karst_index I, J;
  if (find_place(shape, &I, &J))
    eliminate_red(shape, red_factors(shape, first, I + J * shape.pitch), nullptr, schur, s, 0, I, J);
}

enum step { FACTOR_RED, ELIMINATE_RED, FACTOR_B1, ELIMINATE_B1, STEPS };

template <int STEP, typename T>
KARST_INLINE void take_step(const grid<T> &g, const setting &s, int m, karst_index I, karst_index J)
{
  const int64_t at = I + J * g.shape.pitch;
  const factors<T> red = red_factors(g.shape, g.factor, at), b1 = b1_factors(g.shape, g.factor, m, at);
  if (STEP == FACTOR_RED) factor_red(g, s, m, I, J, red);
  if (STEP == ELIMINATE_RED) eliminate_red(g.shape, red, g.straight, g.skew, s, m, I, J);
  if (STEP == FACTOR_B1) factor_b1(g, s, m, I, J, b1);
  if (STEP == ELIMINATE_B1) eliminate_b1(g, s, m, I, J, b1);
}

/* The work of a thread in a tile of places. Places on the rim are only factored, for the places inside. The tile begins
 * a place before its first inner one; rim: places of the rim on an axis. */
struct tile_place {
  karst_index I, J;
  bool valid, inside;
};

__device__ tile_place find_in_tile(const karst_rrb_shape &shape, int rim)
{
  const int width = WIDTH - rim, height = TALL - rim, x = (int)threadIdx.x % WIDTH, y = (int)threadIdx.x / WIDTH;
  const unsigned across = (unsigned)((shape.coarse[0] + width - 1) / width);
  const karst_index I = (karst_index)(blockIdx.x % across) * width + x - 1;
  const karst_index J = (karst_index)(blockIdx.x / across) * height + y - 1;
  const bool valid = I >= 0 && J >= 0 && I < shape.coarse[0] && J < shape.coarse[1];
  return {I, J, valid, valid && x > 0 && y > 0 && x <= width && y <= height};
}

unsigned tiles_of(const karst_rrb_shape &shape, int rim)
{
  const int width = WIDTH - rim, height = TALL - rim;
  return (unsigned)((shape.coarse[0] + width - 1) / width * ((shape.coarse[1] + height - 1) / height));
}

/* Stores the factors of a thread's place in the grid; places without a factor are 0 in the tile. */
template <typename T> __device__ void share_factors(const tile_place &p, T *from, T *to, int64_t apart)
{
  for (int k = 0; k < KARST_RRB_PARTS; k++)
    if (!p.valid)
      from[k * TILE] = 0;
    else if (p.inside)
      to[k * apart] = from[k * TILE];
}

template <typename T> __global__ void __launch_bounds__(TILE, 2) eliminate_reds(const grid<T> g, const setting s, int m)
{
  __shared__ T tile[2 * KARST_RRB_PARTS * TILE];
  const tile_place p = find_in_tile(g.shape, 2);
  const factors<T> mine = {tile + threadIdx.x, tile + KARST_RRB_PARTS * TILE + threadIdx.x, TILE, WIDTH};
  if (p.valid) factor_red(g, s, m, p.I, p.J, mine);
  const factors<T> to = red_factors(g.shape, g.factor, p.I + p.J * g.shape.pitch);
  share_factors(p, mine.at, to.at, to.apart);
  share_factors(p, mine.second, to.second, to.apart);
  __syncthreads();
  if (p.inside) eliminate_red(g.shape, mine, g.straight, g.skew, s, m, p.I, p.J);
}

template <typename T> __global__ void __launch_bounds__(TILE, 2) eliminate_b1s(const grid<T> g, const setting s, int m)
{
  __shared__ T tile[KARST_RRB_PARTS * TILE];
  const tile_place p = find_in_tile(g.shape, 1);
  const factors<T> mine = {tile + threadIdx.x, nullptr, TILE, WIDTH};
  if (p.valid) factor_b1(g, s, m, p.I, p.J, mine);
  const factors<T> to = b1_factors(g.shape, g.factor, m, p.I + p.J * g.shape.pitch);
  share_factors(p, mine.at, to.at, to.apart);
  __syncthreads();
  if (p.inside) eliminate_b1(g, s, m, p.I, p.J, mine);
}

/* The grids from number first on, each of at most SMALL places. */
template <typename T> struct small_grids {
  int first, count;
  grid<T> grids[SMALL_GRIDS];
};

template <int STEP, typename T> __device__ void step_together(const grid<T> &g, const setting &s, int m)
{
  const int across = (int)g.shape.coarse[0], t = (int)threadIdx.x;
  if (t < across * (int)g.shape.coarse[1]) take_step<STEP>(g, s, m, t % across, t / across);
  __syncthreads();
}

template <typename T>
__global__ void __launch_bounds__(SMALL) eliminate_small(const small_grids<T> small, const setting s)
{
  for (int k = 0; k < small.count; k++) {
    const grid<T> &g = small.grids[k];
    const int m = small.first + k;
    if (g.straight) {
      step_together<FACTOR_RED>(g, s, m);
      step_together<ELIMINATE_RED>(g, s, m);
    }
    if (!g.next) return;
    step_together<FACTOR_B1>(g, s, m);
    step_together<ELIMINATE_B1>(g, s, m);
  }
}

template <typename T> grid<T> grid_of(const karst_rrb *rrb, int m)
{
  const karst_rrb_arrays *arrays = &karst_rrb_cuda_of(rrb)->arrays;
  const bool last = 2 * m + 1 == rrb->levels;
  return {rrb->shape[m],
          rrb->shape[m + 1],
          m > 0 ? arrays->straight[m] : nullptr,
          arrays->skew[m],
          static_cast<T *>(arrays->factor[m]),
          last ? nullptr : arrays->straight[m + 1]};
}

/* The first of the grids that share one launch; grids if none do. */
int first_small(const karst_rrb *rrb)
{
  int first = rrb->grids;
  while (first > 0 && rrb->grids - first < SMALL_GRIDS &&
         (int64_t)rrb->shape[first - 1].coarse[0] * rrb->shape[first - 1].coarse[1] <= SMALL)
    first--;
  return first;
}

template <typename T> void eliminate_grid(cudaStream_t stream, const grid<T> &g, const setting &s, int m)
{
  if (g.straight) eliminate_reds<<<tiles_of(g.shape, 2), TILE, 0, stream>>>(g, s, m);
  if (g.next) eliminate_b1s<<<tiles_of(g.shape, 1), TILE, 0, stream>>>(g, s, m);
}

template <typename T> void eliminate_grids(cudaStream_t stream, const karst_rrb *rrb, const setting &s)
{
  const int first = first_small(rrb);
  for (int m = 0; m < first; m++) eliminate_grid(stream, grid_of<T>(rrb, m), s, m);
  small_grids<T> small = {first, rrb->grids - first, {}};
  if (small.count == 0) return;
  for (int k = 0; k < small.count; k++) small.grids[k] = grid_of<T>(rrb, first + k);
  eliminate_small<<<1, SMALL, 0, stream>>>(small, s);
}

} // namespace

void karst_rrb_eliminate_cuda(karst_context *context, const karst_rrb *rrb)
{
  if (rrb->grids == 0) return;
  const karst_rrb_arrays *arrays = &karst_rrb_cuda_of(rrb)->arrays;
  const cudaStream_t stream = karst_cuda_of(context)->stream;
  const setting s = {karst_rrb_nodes_of(rrb), rrb->nine_point};
  eliminate_first<<<blocks_of(rrb->shape[0]), WIDTH * HEIGHT, 0, stream>>>(rrb->shape[0], arrays->first, arrays->schur,
                                                                           s);
  if (rrb->single)
    eliminate_grids<float>(stream, rrb, s);
  else
    eliminate_grids<double>(stream, rrb, s);
}
