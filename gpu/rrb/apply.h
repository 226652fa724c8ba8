/* apply.h - how kernels traverse a grid in groups, and the interface of the files that apply the preconditioner.
 *
 * A warp takes two adjacent places of each row for every lane and marches along J, so that the contribution of a row to
 * the next one stays in registers. Its first and last lanes repeat work of the warps beside it, only to pass values on.
 * A row is a ring: the place before its first one is its last one, which is a pad and 0. */
#ifndef KARST_GPU_RRB_APPLY_H
#define KARST_GPU_RRB_APPLY_H

#include "gpu/launch.h"
#include "gpu/rrb/rrb_cuda.h"

enum {
  KARST_RRB_THREADS = 128,
  KARST_RRB_WARPS = KARST_RRB_THREADS / 32,
  KARST_RRB_LANES = 30,            /* lanes of a warp that store results */
  KARST_RRB_MULTIPROCESSORS = 132, /* that strips are made for: a constant, so that sums are the same on every GPU */
  KARST_RRB_BLOCKS = KARST_CUDA_BATCH * KARST_CUDA_SUMS /* thread blocks of a reduction at most */
};

typedef struct karst_rrb_march {
  int64_t pitch, array;
  int64_t next_pitch, next_array; /* of the grid that b2 is */
  int rows, pairs, chunks, strip; /* rows of the grid, pairs of places in one, warps for one, rows of a march */
} karst_rrb_march;

static inline unsigned karst_rrb_march_grid(const karst_rrb_march *march)
{
  const int64_t strips = (march->rows + march->strip - 1) / march->strip;
  return karst_cuda_grid(strips * march->chunks, KARST_RRB_WARPS);
}

/* The march over grid m of a kernel with that many thread blocks on a multiprocessor. Strips are the shortest with
 * which all thread blocks run at once, because a few late ones would take as long as all others. The march depends only
 * on the sizes, and so does the order of sums. */
static inline karst_rrb_march karst_rrb_march_of(const karst_rrb *rrb, int m, int resident)
{
  const karst_rrb_shape *shape = &rrb->shape[m], *next = &rrb->shape[m < rrb->grids ? m + 1 : m];
  karst_rrb_march march = {shape->pitch, shape->array, next->pitch, next->array};
  march.rows = (int)shape->coarse[1];
  march.pairs = (int)(shape->pitch / 2);
  march.chunks = (march.pairs + KARST_RRB_LANES - 1) / KARST_RRB_LANES;
  const int strips = resident * KARST_RRB_MULTIPROCESSORS * KARST_RRB_WARPS / march.chunks;
  march.strip = strips < 1 ? march.rows : (march.rows + strips - 1) / strips;
  return march;
}

#ifdef __CUDACC__
/* Launches a kernel that calls karst_rrb_wait before it reads or writes a vector. Its thread blocks may start while
 * those of the kernel before it on the stream end, which saves the gap between two launches. Pointers to vectors are
 * not __restrict__: the compiler could move loads of unchanged data ahead of the wait. */
template <typename... P>
static inline void karst_rrb_launch(karst_context *context, const karst_rrb *rrb, void (*kernel)(P...), unsigned grid,
                                    int threads, int shared, std::common_type_t<P>... arguments)
{
  karst_cuda_launch_with(karst_cuda_of(context), karst_rrb_cuda_of(rrb)->overlaps, kernel, grid, (unsigned)threads,
                         (size_t)shared, arguments...);
}

/* Lets the next kernel start, and waits until the results of the one before can be read. Code for devices without this
 * feature is launched after the one before has ended. */
static __device__ __forceinline__ void karst_rrb_wait()
{
#if __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
  cudaGridDependencySynchronize();
#endif
}

static __device__ __forceinline__ void karst_rrb_prefetch(const void *from)
{
  asm volatile("prefetch.global.L2 [%0];" ::"l"(from));
}

struct karst_rrb_lane {
  int pair, first, last; /* places 2 pair and 2 pair + 1 of rows first <= J < last */
  bool stores;
};

static __device__ __forceinline__ karst_rrb_lane karst_rrb_find_lane(const karst_rrb_march &march)
{
  const int warp = (int)(blockIdx.x * KARST_RRB_WARPS + threadIdx.x / 32), lane = (int)threadIdx.x % 32;
  const int place = warp % march.chunks * KARST_RRB_LANES - 1 + lane, strip = warp / march.chunks;
  const int64_t first = (int64_t)strip * march.strip, last = first + march.strip;
  karst_rrb_lane mine;
  mine.pair = (place + march.pairs) % march.pairs;
  mine.first = first < march.rows ? (int)first : march.rows;
  mine.last = last < march.rows ? (int)last : march.rows;
  mine.stores = lane > 0 && lane <= KARST_RRB_LANES && place < march.pairs;
  return mine;
}

static __device__ __forceinline__ double2 karst_rrb_load(const double *from)
{
  return *reinterpret_cast<const double2 *>(from);
}

static __device__ __forceinline__ double2 karst_rrb_load(const float *from)
{
  const float2 two = *reinterpret_cast<const float2 *>(from);
  return make_double2(two.x, two.y);
}

static __device__ __forceinline__ void karst_rrb_store(double *to, double2 two)
{
  *reinterpret_cast<double2 *>(to) = two;
}

static __device__ __forceinline__ double2 operator*(double2 a, double2 b) { return make_double2(a.x * b.x, a.y * b.y); }
static __device__ __forceinline__ double2 operator+(double2 a, double2 b) { return make_double2(a.x + b.x, a.y + b.y); }
static __device__ __forceinline__ double2 operator-(double2 a, double2 b) { return make_double2(a.x - b.x, a.y - b.y); }

/* The values at the places one to the west, one to the east. */
static __device__ __forceinline__ double2 karst_rrb_west(double2 two)
{
  return make_double2(__shfl_up_sync(0xffffffff, two.y, 1), two.x);
}

static __device__ __forceinline__ double2 karst_rrb_east(double2 two)
{
  return make_double2(two.y, __shfl_down_sync(0xffffffff, two.x, 1));
}

/* The element of a vector of the next grid for the even one of the pair in row J; the odd one is an array further on in
 * odd rows and two in even ones: b2 has r1 to its east, and r2 has b1. */
static __device__ __forceinline__ int64_t karst_rrb_even(const karst_rrb_march &march, int pair, int J)
{
  return march.next_pitch + (J & 1 ? KARST_RRB_R2 : KARST_RRB_B2) * march.next_array + (J >> 1) * march.next_pitch +
         pair;
}

static __device__ __forceinline__ int64_t karst_rrb_odd(const karst_rrb_march &march, int J)
{
  return (J & 1 ? KARST_RRB_B1 - KARST_RRB_R2 : KARST_RRB_R1 - KARST_RRB_B2) * march.next_array;
}

static __device__ __forceinline__ double2 karst_rrb_gather(const karst_rrb_march &march, const double *next, int pair,
                                                           int J)
{
  const double *even = next + karst_rrb_even(march, pair, J);
  return make_double2(even[0], even[karst_rrb_odd(march, J)]);
}

static __device__ __forceinline__ void karst_rrb_scatter(const karst_rrb_march &march, double *next, int pair, int J,
                                                         double2 two)
{
  double *even = next + karst_rrb_even(march, pair, J);
  even[0] = two.x;
  even[karst_rrb_odd(march, J)] = two.y;
}

/* Writes zeros into the guards of a vector of two groups next to the rows of this march. */
static __device__ __forceinline__ void karst_rrb_write_guards(const karst_rrb_march &march, const karst_rrb_lane &mine,
                                                              double *y)
{
  const double2 zero = make_double2(0, 0);
  if (!mine.stores || mine.first >= mine.last) return;
  if (mine.first == 0) karst_rrb_store(y + 2 * mine.pair, zero);
  if (mine.last < march.rows) return;
  karst_rrb_store(y + march.array + 2 * mine.pair, zero);
  karst_rrb_store(y + 2 * march.array + 2 * mine.pair, zero);
}

static __device__ __forceinline__ double karst_rrb_warp_sum(double value)
{
  for (int distance = 16; distance > 0; distance /= 2) value += __shfl_down_sync(0xffffffff, value, distance);
  return value;
}

static __device__ __forceinline__ double karst_rrb_block_sum(double value)
{
  __shared__ double part[KARST_RRB_WARPS];
  value = karst_rrb_warp_sum(value);
  __syncthreads();
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = value;
  __syncthreads();
  double sum = 0;
  for (int w = 0; w < KARST_RRB_WARPS; w++) sum += part[w];
  return sum;
}

/* *result = the sum over all threads: each thread block adds up its own, and the last one to finish adds up their
 * sums. */
static __device__ __forceinline__ void karst_rrb_reduce(double value, double *partial, unsigned *ticket, double *result)
{
  __shared__ bool last;
  double sum = karst_rrb_block_sum(value);
  if (threadIdx.x == 0) {
    __stcg(&partial[blockIdx.x], sum);
    __threadfence();
    last = atomicInc(ticket, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  __threadfence();
  sum = 0;
  for (unsigned s = threadIdx.x; s < gridDim.x; s += KARST_RRB_THREADS) sum += __ldcg(&partial[s]);
  sum = karst_rrb_block_sum(sum);
  if (threadIdx.x == 0) *result = sum;
}
#endif

/* fine.cu: level 2, between a vector of two groups and vector[1]. z may be r. */
void karst_rrb_fine_forward_cuda(karst_context *context, const karst_rrb *rrb, const double *r);
void karst_rrb_fine_backward_cuda(karst_context *context, const karst_rrb *rrb, const double *r, double *z,
                                  double *dot);
/* pairs.cu: levels 2m + 1 and 2m + 2 of grid m > 0, between vector[m] and vector[m + 1]. Between the two ways b1 is in
 * skew[m]. Only a factorization uses skew[m] otherwise, and it writes it first. In vector[m] warps would overwrite
 * values that the warps beside them read. */
void karst_rrb_pairs_forward_cuda(karst_context *context, const karst_rrb *rrb, int m);
void karst_rrb_pairs_backward_cuda(karst_context *context, const karst_rrb *rrb, int m);
/* reds.cu: level 2m + 1 by itself, in vector[m]. black: a vector of two groups that gets the black part of it. */
void karst_rrb_reds_forward_cuda(karst_context *context, const karst_rrb *rrb, int m, double *black);
void karst_rrb_reds_backward_cuda(karst_context *context, const karst_rrb *rrb, int m);
/* enter.cu: copies a vector over the block rows of A to the first count groups of a vector over grid 0, and all groups
 * back. Nodes without a block row are unchanged. */
void karst_rrb_scatter_cuda(karst_context *context, const karst_rrb *rrb, int count, const double *x, double *vector);
void karst_rrb_gather_cuda(karst_context *context, const karst_rrb *rrb, const double *vector, double *x);
/* Grids that are stored node by node, from number grouped on: baselines/rrb_nodes.cu. In a build without baselines all
 * are NULL, and precond/rrb.c refuses the options that need them. */
struct karst_rrb_nodes_kernels {
  /* The elements of karst_rrb_cuda's nodes; 0 with grouped = grids. */
  int64_t (*elements)(const karst_rrb *rrb);
  /* Copies the factors there from their groups. */
  void (*spread)(karst_context *context, const karst_rrb *rrb);
  /* vector[grouped] = M^-1 vector from grid grouped on. */
  void (*grids)(karst_context *context, const karst_rrb *rrb);
  /* With grouped = 0, what solve.cu and multiply.cu give. */
  void (*solve)(karst_context *context, const karst_rrb *rrb, const double *r, double *z);
  void (*enter)(karst_context *context, const karst_rrb *rrb, const double *b, const double *x, double *reduced_b,
                double *reduced_x);
  void (*leave)(karst_context *context, const karst_rrb *rrb, const double *b, const double *reduced_x, double *x);
  void (*multiply)(karst_context *context, const karst_rrb *rrb, const double *x, double *y, double *dot);
  void (*solve_reduced)(karst_context *context, const karst_rrb *rrb, const double *r, double *z, double *dot);
};
extern const karst_rrb_nodes_kernels karst_rrb_nodes_kernels_cuda;
/* coarse.cu: the first grid from which all levels and the remaining nodes are one launch, or grids + 1 without such a
 * grid; and that launch, on vector[m] in place. */
int karst_rrb_coarse_begin_cuda(const karst_rrb *rrb);
void karst_rrb_coarse_cuda(karst_context *context, const karst_rrb *rrb, int m);

#endif
