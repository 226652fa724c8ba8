/* ilu.h - the factors of block ILU as the GPU keeps them, and how its kernels hand values to each other.
 *
 * The rows of a triangle are numbered by slots, level set after level set. A slice is group = max(1, 32 / b) slots, as
 * many block rows as one warp has lanes for; lane q b + r of the warp works on scalar row r of the slice's block row q.
 * All rows of a slice have the same number of entries, the shorter ones padded with zeros. Entry e, counted over all
 * slices, of block row q has number e group + q in column, and its element (r, c) is
 *
 *     value[(e b + c) group b + q b + r]
 *
 * so that what a warp reads at once is contiguous. In U' the inverse diagonal block comes first. Neighbours stand in
 * ascending order of their slots, so that those for which a row waits longest come last. Exceptions: rows of more than
 * KARST_ILU_SORTED neighbours, and L where the pattern is not symmetric; there they stand in the order of elimination.
 * Only in a symmetric pattern do the levels of L say which pivots of a row have to be eliminated before which.
 *
 * The vectors of a sweep are in slot order too, which makes the values that a warp waits for contiguous as well. */
#ifndef KARST_GPU_ILU_H
#define KARST_GPU_ILU_H

#include "cuda.h"

#include <type_traits>

extern "C" {
#include "ilu_kernels.h"
}

/* Subtracts the product of block left of L and block right of U' from the block that the list belongs to. */
typedef struct karst_ilu_product {
  karst_index left, right;
} karst_ilu_product;

/* The same for a whole block row of A - L U at once: entry p of the row is the left factor, entry e what is made, in
 * place as p << 16 | e; entries of L first, then D and U', as in their slices. */
typedef struct karst_ilu_row_product {
  karst_index right;
  unsigned place;
} karst_ilu_row_product;

/* Where a block row stands in the two triangles: its first blocks, and how many slots for blocks it has. */
typedef struct alignas(2 * sizeof(karst_index)) karst_ilu_row {
  karst_index lower, upper;
  int lower_length, upper_length;
} karst_ilu_row;

/* One triangle; all arrays in device memory. Passed to kernels by value. */
typedef struct karst_triangle {
  karst_index rows;
  karst_index slots;   /* rows, rounded up to whole slices */
  int group;           /* block rows of a slice */
  int parts;           /* how many lanes share the neighbours of a scalar row in a sweep */
  karst_index sorted;  /* rows of at most so many neighbours have them in the order of their slots */
  karst_index *row;    /* [rows] the row in each slot */
  karst_index *other;  /* [rows] the slot of the same row in the other triangle */
  karst_index tasks;   /* a task is the part of a slice that lies in one level: its rows need nothing of each other */
  karst_index *task;   /* [tasks + 1] the first slot of each */
  int64_t *start;      /* [slots / group + 1] the first entry of each slice */
  int64_t blocks;      /* group * entries */
  karst_index *column; /* [blocks] the slot of the neighbour; slots where there is none: padding and D^-1 */
  double *value;       /* [b*b*blocks] */
  double *x;           /* [b*(slots + 1)] the vector of the sweep; the last block is 0, for the padding */
  karst_index *source; /* [blocks] the block of A that starts here, -1 for fill and padding */
  karst_index *list;   /* [blocks + 1] where the products of each block begin in product; NULL by rows */
  karst_ilu_product *product;
} karst_triangle;

/* What the factorization reports, in device memory. */
typedef struct karst_ilu_finding_cuda {
  unsigned long long first; /* the first bad row times 4 plus a karst_ilu_fault; all ones: none */
  unsigned long long shifted;
  double norm; /* not reported: the largest absolute entry of the matrix where there is a shift, which is that of a row
                * of zeros; else 0 */
} karst_ilu_finding_cuda;

enum karst_ilu_fault { KARST_FAULT_SINGULAR, KARST_FAULT_PIVOT_NOT_FINITE, KARST_FAULT_ROW_NOT_FINITE };

enum { KARST_ILU_SORTED = 64 };

/* A sweep: how many neighbours of a row a lane waits for at once, and how many lanes share them at most. */
enum { KARST_ILU_PARTS = 8 };
static constexpr int karst_ilu_neighbours_at_once(int b) { return b <= 2 ? 4 : 3; }

/* Which kernel factors: a warp for as many rows as there are lanes for (ilu_factor.cu); for one row, where rows average
 * more than so many blocks off the diagonal and none has more elements than a warp has shared memory for
 * (ilu_factor_row.cu); for one row of blocks that are 7 or 8 wide (ilu_factor_tile.cu); a block of threads for one row
 * of larger blocks (ilu_factor_large.cu). A warp makes two scalar rows where a level has more than so many for each
 * multiprocessor: then warps for the next levels are short. */
enum { KARST_ILU_ROW_AVERAGE = 10, KARST_ILU_ROW_ELEMENTS = 1536, KARST_ILU_TILE_LEAST = 7, KARST_ILU_ROWS_MANY = 7 };

typedef struct karst_ilu_cuda {
  karst_triangle lower, upper; /* upper: D^-1 and U' */
  int block_size;
  bool by_levels;
  int factor_grid, lower_grid, upper_grid; /* blocks of threads that are resident together */
  cudaGraphExec_t graph;                   /* both sweeps by levels, from lower.x to upper.x */
  karst_ilu_finding_cuda *finding;
  int *done; /* [rows] large blocks: which slots of lower are factored */
  int jacobi_sweeps;
  double *jacobi; /* [2][b*(slots + 1)] the vectors of Jacobi sweeps where these solve the triangles, else NULL */
  /* Where warps make whole rows: */
  int longest;           /* blocks of the longest row of L, D and U'; 0: they do not */
  int rows_of_warp;      /* at a time at most, 1 or 2 */
  karst_index row_tasks; /* one or two rows of one level of L */
  karst_index *row_task; /* [row_tasks + 1] the first slot of each */
  karst_ilu_row *row;    /* [rows] by the slots of lower */
  int64_t *row_list;     /* [rows + 1] where the products of each begin in row_product */
  karst_ilu_row_product *row_product;
} karst_ilu_cuda;

/* The largest number that a karst_index holds. */
static const int64_t KARST_ILU_INDEX_MAX = (int64_t)(((uint64_t)1 << (8 * sizeof(karst_index) - 1)) - 1);

static inline karst_ilu_cuda *karst_ilu_cuda_of(const karst_ilu *ilu) { return (karst_ilu_cuda *)ilu->plan; }

/* Level l of a triangle has the slots start[l] .. start[l + 1] - 1. */
typedef struct karst_ilu_levels_cuda {
  karst_index count;
  karst_index *start; /* [count + 1] host memory */
} karst_ilu_levels_cuda;

/* Rows and columns of L and U in device memory. */
typedef struct karst_ilu_pattern_cuda {
  karst_index *lower_start, *lower_column, *upper_start, *upper_column;
  karst_index *lower_slot, *upper_slot; /* [rows] where each row stands */
  karst_ilu_levels_cuda lower, upper;
} karst_ilu_pattern_cuda;

/* ilu.cu: the grids of the kernels whose warps wait for each other. */
karst_status karst_ilu_resident_cuda(karst_context *context, const karst_ilu_pattern_cuda *pattern,
                                     karst_ilu_cuda *plan);
/* ilu_pattern.cu: rows and columns, from the host's or from A; level sets, and the rows by levels into arrays [rows].
 * What is left when they fail, release gives back. */
karst_status karst_ilu_pattern_create_cuda(karst_context *context, const karst_matrix *A, karst_ilu *ilu,
                                           karst_ilu_pattern_cuda *pattern);
karst_status karst_ilu_find_levels_cuda(karst_context *context, karst_index rows, karst_ilu_pattern_cuda *pattern,
                                        karst_index *lower_row, karst_index *upper_row);
void karst_ilu_pattern_release_cuda(karst_context *context, karst_ilu_pattern_cuda *pattern);
/* Counts, the last of which is 0, become starts. */
karst_status karst_ilu_sum_indices_cuda(karst_context *context, int64_t count, karst_index *list);
karst_status karst_ilu_sum_offsets_cuda(karst_context *context, int64_t count, int64_t *list);
/* ilu_plan.cu */
karst_status karst_ilu_plan_cuda(karst_context *context, const karst_ilu_analysis *analysis, karst_ilu *ilu);
void karst_ilu_plan_destroy_cuda(karst_context *context, karst_ilu *ilu);
/* Cuts the levels' slots where their numbers are multiples of step: the first slot of each part, [*parts + 1] in device
 * memory, which counts in *bytes. */
karst_status karst_ilu_cut_levels_cuda(karst_context *context, const karst_ilu_levels_cuda *levels, int step,
                                       karst_index *parts, karst_index **first, int64_t *bytes);
/* ilu_lists.cu: source, list and product of both triangles, or row_list and row_product. */
karst_status karst_ilu_lists_cuda(karst_context *context, const karst_matrix *A, const karst_ilu_pattern_cuda *pattern,
                                  karst_ilu *ilu);
/* ilu_factor.cu for blocks up to KARST_BLOCK_SIZE_LARGEST_INSTANCE, for the largest of them with the kernel of
 * ilu_factor_tile.cu; ilu_factor_row.cu; ilu_factor_large.cu */
void karst_ilu_factor_small_cuda(karst_context *context, const karst_matrix *A, double shift,
                                 const karst_ilu_cuda *plan);
void karst_ilu_factor_large_cuda(karst_context *context, const karst_matrix *A, double shift,
                                 const karst_ilu_cuda *plan);
void karst_ilu_factor_row_cuda(karst_context *context, const karst_matrix *A, double shift, const karst_ilu_cuda *plan);
const void *karst_ilu_factor_small_kernel_cuda(int block_size);
const void *karst_ilu_factor_tile_kernel_cuda(int block_size);
const void *karst_ilu_factor_row_kernel_cuda(int block_size, int rows_of_warp);
const void *karst_ilu_factor_large_kernel_cuda(void);
size_t karst_ilu_factor_row_shared_cuda(const karst_ilu_cuda *plan);
size_t karst_ilu_factor_large_shared_cuda(int block_size);
/* ilu_level.cu */
karst_status karst_ilu_level_graph_cuda(karst_context *context, const karst_ilu_pattern_cuda *pattern,
                                        karst_ilu_cuda *plan);
void karst_ilu_solve_level_cuda(karst_context *context, const karst_ilu_cuda *plan, const double *r, double *z);
/* ilu_load.cu */
void karst_ilu_load_cuda(karst_context *context, const double *value, const karst_ilu_cuda *plan);
/* ilu_jacobi.cu */
karst_status karst_ilu_jacobi_plan_cuda(karst_context *context, const karst_ilu_analysis *analysis,
                                        karst_ilu_cuda *plan, int64_t *bytes);
void karst_ilu_solve_jacobi_cuda(karst_context *context, const karst_ilu_cuda *plan, const double *r, double *z);
/* ilu_dataflow.cu */
const void *karst_ilu_sweep_kernel_cuda(int block_size, int parts, bool upper);
void karst_ilu_solve_dataflow_cuda(karst_context *context, const karst_ilu_cuda *plan, const double *r, double *z);

/* Device memory of count elements, added to *bytes. */
template <typename T>
karst_status karst_ilu_take(karst_context *context, int64_t count, const char *what, T **memory, int64_t *bytes)
{
  size_t size = (size_t)(count > 0 ? count : 1) * sizeof(T);
  void *taken;
  karst_status status = context->backend->allocate(context, size, what, &taken);
  *memory = (T *)taken;
  if (!status) *bytes += (int64_t)size;
  return status;
}

/* Blocks of threads for count items, one each. */
static inline unsigned karst_ilu_grid(int64_t count, int threads)
{
  return (unsigned)((count + threads - 1) / threads);
}

enum { KARST_ILU_THREADS = 128 }; /* of a block, in kernels of warps that wait for each other */

#ifdef __CUDACC__
/* ---- values that carry their own flag ----
 *
 * A NaN with all bits set stands for "not there yet". 8-byte stores are indivisible, so whoever reads something else
 * has the value, and no fence is needed. A NaN that was computed is stored with other bits. */

static __device__ __forceinline__ bool karst_is_absent(double x) { return __double2hiint(x) == -1; }

static __device__ __forceinline__ double karst_absent() { return __longlong_as_double(-1); }

/* Past the first-level cache, which does not see what other multiprocessors store. */
static __device__ __forceinline__ double karst_look(const double *x)
{
  double value;
#if __CUDA_ARCH__ >= 700
  asm volatile("ld.relaxed.gpu.global.f64 %0, [%1];" : "=d"(value) : "l"(x) : "memory");
#else
  asm volatile("ld.volatile.global.f64 %0, [%1];" : "=d"(value) : "l"(x) : "memory");
#endif
  return value;
}

static __device__ __forceinline__ void karst_publish(double *x, double value)
{
  if (karst_is_absent(value)) value = __hiloint2double(0x7ff80000, 0);
#if __CUDA_ARCH__ >= 700
  asm volatile("st.relaxed.gpu.global.f64 [%0], %1;" ::"l"(x), "d"(value) : "memory");
#else
  asm volatile("st.volatile.global.f64 [%0], %1;" ::"l"(x), "d"(value) : "memory");
#endif
}

/* Element (r, c) of a block. Its number is not negative: division by constants is cheaper then. */
template <int B>
static __device__ __forceinline__ double *karst_ilu_element(const karst_triangle &t, karst_index block, int r, int c)
{
  constexpr unsigned R = 32 / B;
  using number = std::make_unsigned<karst_index>::type;
  const number slice = (number)block / R, q = (number)block % R;
  return t.value + (int64_t)slice * (B * R * B) + q * B + r + c * (int)(R * B);
}

static __device__ __forceinline__ unsigned karst_largest_of_warp(unsigned mine)
{
#if __CUDA_ARCH__ >= 800
  return __reduce_max_sync(~0u, mine);
#else
  for (int distance = 16; distance > 0; distance /= 2) mine = max(mine, __shfl_xor_sync(~0u, mine, distance));
  return mine;
#endif
}

/* Waits until every lane of the warp has its N values; from NULL stands for 0. */
template <int N> static __device__ __forceinline__ void karst_await(const double *const (&from)[N], double (&x)[N])
{
  bool waiting = false;
#pragma unroll
  for (int k = 0; k < N; k++) x[k] = from[k] ? karst_look(from[k]) : 0;
#pragma unroll
  for (int k = 0; k < N; k++) waiting |= karst_is_absent(x[k]);
  while (__any_sync(~0u, waiting)) {
    waiting = false;
#pragma unroll
    for (int k = 0; k < N; k++)
      if (karst_is_absent(x[k])) x[k] = karst_look(from[k]);
#pragma unroll
    for (int k = 0; k < N; k++) waiting |= karst_is_absent(x[k]);
  }
}
#endif

#endif
