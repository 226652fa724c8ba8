/* sweeps_cuda.h - for all kernels of parilu and paric: the plan, the arguments of a pass over the blocks, and loads and
 * stores that may race.
 *
 * A task is the update of one block of the pattern S, in paric of the lower triangle of S. A block of sums
 *
 *     A_ij - sum_{k < min(i,j)} L_ik U_kj         paric: A_ij - sum_{k < j} L_ik L_jk^T
 *
 * is computed from the list of its products, which is found once (lists.cu). If rows are long, such lists would take
 * many times as much memory as the factors. So blocks with many products have no list, and find them in each pass
 * (match.h). */
#ifndef KARST_GPU_SWEEPS_SWEEPS_CUDA_H
#define KARST_GPU_SWEEPS_SWEEPS_CUDA_H

#include "gpu/ilu/ilu_cuda.h"

#include <limits.h>

extern "C" {
#include "lib/backend/sweep_kernels.h"
}

/* The numbers of the blocks of the factors that are multiplied. The alignment lets one load fetch both. */
typedef struct alignas(2 * sizeof(karst_index)) karst_parilu_product {
  karst_index left, right;
} karst_parilu_product;

/* The strictly upper blocks, column after column and rows ascending; arrays in device memory. */
typedef struct karst_parilu_columns_cuda {
  karst_index *start;       /* [rows + 1] */
  karst_index *row, *block; /* [start[rows]] the row of each, and its number in F */
} karst_parilu_columns_cuda;

/* The pattern of F, in which products are searched for. The columns are NULL for paric, whose rows of L replace
 * them. */
typedef struct karst_parilu_pattern_cuda {
  const karst_index *start, *column, *diagonal;
  karst_parilu_columns_cuda upper;
} karst_parilu_pattern_cuda;

enum {
  KARST_PARILU_LISTED = 16,  /* products a block in the lists at most, on average */
  KARST_PARILU_LONGEST = 256 /* products of a list at most: a warp finds more faster than one thread sums them */
};

/* The plan of an analysis, which all factorizations that share it use. All arrays are in device memory. */
typedef struct karst_parilu_cuda {
  int64_t tasks;
  int64_t listed;     /* the first of them, which have lists; the others find their products in each pass */
  int limit;          /* thread blocks of a sweep at most, 0: as many as there is work for */
  karst_index *task;  /* [tasks] the block to update */
  karst_index *row;   /* [tasks] the row i of that block (i,j) */
  karst_index *pivot; /* [tasks] the number of block (j,j) for i >= j; -1 in the strictly upper triangle */
  karst_index *list;  /* [tasks + 1] where the products of each task begin in product */
  karst_parilu_product *product;
  karst_parilu_columns_cuda upper; /* parilu, if tasks find their products, else NULL */
} karst_parilu_cuda;

/* One pass over the tasks. Kernels get it by value. */
typedef struct karst_parilu_pass_cuda {
  karst_parilu_cuda plan;
  karst_parilu_pattern_cuda S;
  const double *A;      /* the values of F */
  const double *from;   /* the factors to compute with */
  double *to;           /* where the result goes: from itself in an asynchronous sweep */
  double *inverse;      /* [b*b*rows] of the diagonal blocks of from; not used for b = 1 */
  const double *weight; /* [2*b*rows] */
  double *partial;      /* [thread blocks] sums of the squares of the residual */
} karst_parilu_pass_cuda;

/* What a pass does. */
enum {
  KARST_PARILU_UPDATE = 1,   /* the factors */
  KARST_PARILU_IN_PLACE = 2, /* while other blocks are updated from them */
  KARST_PARILU_MEASURE = 4   /* the residual of from */
};

/* Calls f with constants: [&](auto symmetric, auto how) { kernel<symmetric.value, how.value><<<...>>>(...); } */
template <typename F> static inline void karst_parilu_instance(bool symmetric, int how, F f)
{
  enum { UPDATE = KARST_PARILU_UPDATE, IN_PLACE = KARST_PARILU_IN_PLACE, MEASURE = KARST_PARILU_MEASURE };
  const auto call = [&](auto kind) { symmetric ? f(std::true_type(), kind) : f(std::false_type(), kind); };
  switch (how) {
  case UPDATE:
    return call(std::integral_constant<int, UPDATE>());
  case UPDATE | IN_PLACE:
    return call(std::integral_constant<int, UPDATE | IN_PLACE>());
  case UPDATE | MEASURE:
    return call(std::integral_constant<int, UPDATE | MEASURE>());
  default:
    return call(std::integral_constant<int, MEASURE>());
  }
}

enum {
  KARST_PARILU_THREADS = 128, /* of a block, as in the paper */
  KARST_PARILU_SUMS = 4096    /* thread blocks of a pass that measures at most; two such passes fit cuda->partial */
};

/* Returns the thread blocks of a pass over that many tasks, each of which takes per tasks at a time. */
static inline unsigned karst_parilu_grid(int how, const karst_parilu_cuda *plan, int64_t tasks, int64_t per)
{
  int64_t blocks = (tasks + per - 1) / per, most = INT_MAX;
  if (how & KARST_PARILU_MEASURE) most = tasks < plan->tasks ? KARST_PARILU_SUMS / 2 : KARST_PARILU_SUMS;
  if ((how & KARST_PARILU_IN_PLACE) && plan->limit > 0) most = plan->limit;
  return (unsigned)(blocks < most ? blocks : most);
}

static inline karst_parilu_cuda *karst_parilu_cuda_of(const karst_parilu *parilu)
{
  return (karst_parilu_cuda *)parilu->plan;
}

/* lists.cu */
karst_status karst_parilu_analyse_cuda(karst_context *context, const karst_matrix *F, karst_parilu_analysis *analysis);
void karst_parilu_analysis_destroy_cuda(karst_context *context, karst_parilu_analysis *analysis);
/* columns.cu: the strictly upper blocks by columns, whose bytes are added to *bytes. row: [blocks] of F, the row of
 * each. release frees them, also after a failure. */
karst_status karst_parilu_make_columns_cuda(karst_context *context, const karst_matrix *F, const karst_index *row,
                                            karst_parilu_columns_cuda *columns, int64_t *bytes);
void karst_parilu_release_columns_cuda(karst_context *context, karst_parilu_columns_cuda *columns);
/* split.cu: how many products a list has at most. tasks: [KARST_PARILU_LONGEST + 2] the number of tasks with each
 * number of products, the last: more. The next function puts the tasks with more than most products (see list) last, in
 * their order, and sets their numbers to 0. */
karst_index karst_parilu_longest_list(const unsigned long long *tasks);
karst_status karst_parilu_split_cuda(karst_context *context, karst_index most, karst_parilu_cuda *plan);
/* Passes over the tasks that have lists, for blocks up to KARST_BLOCK_SIZE_LARGEST_INSTANCE (sweep.cu) and for larger
 * ones (large.cu), and over those that find their products (search.cu and large.cu). how is UPDATE, UPDATE | IN_PLACE,
 * UPDATE | MEASURE or MEASURE. Each returns the thread blocks of its pass. */
unsigned karst_parilu_pass_small_cuda(karst_context *context, const karst_parilu *parilu, int how,
                                      const karst_parilu_pass_cuda *pass);
unsigned karst_parilu_search_small_cuda(karst_context *context, const karst_parilu *parilu, int how,
                                        const karst_parilu_pass_cuda *pass);
unsigned karst_parilu_pass_large_cuda(karst_context *context, const karst_parilu *parilu, int how,
                                      const karst_parilu_pass_cuda *pass);
unsigned karst_parilu_search_large_cuda(karst_context *context, const karst_parilu *parilu, int how,
                                        const karst_parilu_pass_cuda *pass);
/* pivots.cu. For b > 1, makes the inverses of the diagonal blocks of from, which is ordered as F. For paric it makes
 * the inverses of their Cholesky factors, and stores these in value unless the blocks are Cholesky factors already. */
void karst_parilu_pivots_cuda(karst_context *context, const karst_parilu *parilu, const double *from, bool factored);

#ifdef __CUDACC__
/* Loads an element of the factors. racing says that other threads may be changing it. */
template <bool racing> static __device__ __forceinline__ double karst_parilu_load(const double *x)
{
  if constexpr (racing)
    return karst_look(x);
  else
    return __ldg(x);
}

template <bool racing> static __device__ __forceinline__ void karst_parilu_store(double *x, double value)
{
  if constexpr (racing)
    karst_publish(x, value);
  else
    *x = value;
}

static __device__ __forceinline__ double karst_parilu_nan() { return __longlong_as_double(0x7ff8000000000000ll); }

/* Stores the sum of the threads' values in *partial. The order of the sum is fixed. All threads of the block take
 * part. */
static __device__ __forceinline__ void karst_parilu_sum(double mine, double *partial)
{
  __shared__ double part[KARST_PARILU_THREADS / 32];
  const int warp = (int)threadIdx.x / 32;
  for (int distance = 16; distance > 0; distance /= 2) mine += __shfl_down_sync(~0u, mine, distance);
  if (threadIdx.x % 32 == 0) part[warp] = mine;
  __syncthreads();
  if (threadIdx.x > 0) return;
  for (int other = 1; other < KARST_PARILU_THREADS / 32; other++) mine += part[other];
  *partial = mine;
}
#endif

#endif
