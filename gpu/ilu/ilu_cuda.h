/* ilu_cuda.h - the factors of block ILU on the GPU, and how its kernels pass values to each other.
 *
 * The rows of a triangle are numbered by slots, level set after level set. A slice is group = max(1, 32 / b) slots, as
 * many block rows as one warp has lanes for; lane q b + r of the warp works on scalar row r of the slice's block row q.
 * All rows of a slice have the same number of entries, the shorter ones padded with zeros. Entry e, counted over all
 * slices, of block row q has number e group + q in column, and its element (r, c) is
 *
 *     value[(e b + c) group b + q b + r]
 *
 * so that a warp reads contiguous memory. In U' the inverse diagonal block comes first. Neighbours are in ascending
 * order of their slots, so that those for which a row waits longest come last. They are in the order of elimination
 * instead in rows of more than KARST_ILU_SORTED neighbours, in L if the pattern is not symmetric, and in both triangles
 * if products are not listed (search/factor_search.cu). Only in a symmetric pattern do the levels of L determine which
 * pivots of a row have to be eliminated before which.
 *
 * The vectors of a sweep are in slot order too, which makes the values that a warp waits for contiguous as well. */
#ifndef KARST_GPU_ILU_ILU_CUDA_H
#define KARST_GPU_ILU_ILU_CUDA_H

#include "gpu/cuda.h"

#include <type_traits>

extern "C" {
#include "gpu/ilu/choice.h"
#include "lib/backend/ilu_kernels.h"
}

/* Subtracts the product of block left of L and block right of U' from the block that the list belongs to. */
typedef struct karst_ilu_product {
  karst_index left, right;
} karst_ilu_product;

/* The same for a whole block row of A - L U: entry p of the row is the left factor and entry e the result, in place as
 * p << 16 | e; entries of L first, then D and U', as in their slices. */
typedef struct karst_ilu_row_product {
  karst_index right;
  unsigned place;
} karst_ilu_row_product;

/* The dropped products, which the pattern has no block for, by the slots of L: those of a row are numbers list[slot] up
 * to list[slot + 1]. Device memory. */
typedef struct karst_ilu_dropped_list {
  int64_t *list; /* [rows + 1] */
  karst_ilu_product *product;
} karst_ilu_dropped_list;

/* The position of a block row in the two triangles: its first blocks, and its number of block slots. */
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
  karst_index sorted;  /* rows of no more neighbours have them in the order of their slots */
  karst_index *row;    /* [rows] the row in each slot */
  karst_index *other;  /* [rows] the slot of the same row in the other triangle */
  karst_index tasks;   /* a task is the part of a slice that lies in one level: its rows are independent */
  karst_index *task;   /* [tasks + 1] the first slot of each */
  int64_t *start;      /* [slots / group + 1] the first entry of each slice */
  int64_t blocks;      /* group * entries */
  karst_index *column; /* [blocks] the slot of the neighbour; slots for padding and D^-1 */
  double *value;       /* [b*b*blocks] */
  float *single;       /* [b*b*blocks] the same rounded, for sweeps in float; else NULL */
  double *x;           /* [b*(slots + 1)] the vector of the sweep; the last block is 0, for the padding */
  karst_index *source; /* [blocks] the block of A that starts here, -1 for fill and padding */
  karst_index *list;   /* [blocks + 1] where the products of each block begin in product; NULL by rows */
  karst_ilu_product *product;
} karst_triangle;

/* The report of the factorization, in device memory. */
typedef struct karst_ilu_statistics_cuda {
  unsigned long long first; /* the first bad row times 4 plus a karst_ilu_fault; all ones: no bad row */
  unsigned long long shifted;
  double norm; /* not reported: with a shift the largest absolute entry of the matrix, which replaces that of a row of
                * zeros; else 0 */
} karst_ilu_statistics_cuda;

enum karst_ilu_fault {
  KARST_FAULT_SINGULAR,
  KARST_FAULT_PIVOT_NOT_FINITE,
  KARST_FAULT_ROW_NOT_FINITE,
  KARST_FAULT_OUT_OF_RANGE
};

enum { KARST_ILU_SORTED = 64 };

struct karst_ilu_factor_variant;
struct karst_ilu_sweep_variant;

/* The plan. All kernels share the values of both triangles and the statistics. A factorization or a solve keeps its
 * other data in a state of its own, which depends on the pattern, and in work space; no other file reads these. The
 * plan of an analysis has no value, x, statistics and work. That of a factorization has these, and refers to the
 * analysis's arrays for all else. */
typedef struct karst_ilu_cuda {
  karst_triangle lower, upper; /* upper: D^-1 and U' */
  int block_size;
  double modified; /* R of the factorization that is under way */
  karst_ilu_statistics_cuda *statistics;
  const struct karst_ilu_factor_variant *factor;
  int factor_grid; /* blocks of threads that factor, all resident together; not of the factorization by tiles */
  void *factor_state, *factor_work;
  const struct karst_ilu_sweep_variant *sweep;
  void *sweep_state, *sweep_work;
  int trisolve_sweeps; /* of the kernel table, for KARST_ILU_SWEEP_JACOBI */
} karst_ilu_cuda;

/* The largest number that a karst_index holds. */
static const int64_t KARST_ILU_INDEX_MAX = (int64_t)(((uint64_t)1 << (8 * sizeof(karst_index) - 1)) - 1);

static inline karst_ilu_cuda *karst_ilu_cuda_of(const karst_ilu *ilu) { return (karst_ilu_cuda *)ilu->plan; }

static inline karst_ilu_cuda *karst_ilu_cuda_of(const karst_ilu_analysis *analysis)
{
  return (karst_ilu_cuda *)analysis->plan;
}

/* Level l of a triangle has the slots start[l] .. start[l + 1] - 1. */
typedef struct karst_ilu_levels_cuda {
  karst_index count;
  karst_index *start; /* [count + 1] host memory */
} karst_ilu_levels_cuda;

/* Rows and columns of L and U in device memory. */
typedef struct karst_ilu_pattern_cuda {
  karst_index *lower_start, *lower_column, *upper_start, *upper_column;
  karst_index *lower_slot, *upper_slot; /* [rows] the slot of each row */
  karst_ilu_levels_cuda lower, upper;
} karst_ilu_pattern_cuda;

/* A factorization. choice.h has the rule that chooses one; tile_factor.cu is tried first. */
typedef struct karst_ilu_factor_variant {
  /* Makes the inputs of launch besides the triangles, from their pattern, that of A and the shape: the lists of
   * products, the grid, and factor_state. forget frees them, also after analyse has failed; NULL without
   * factor_state. */
  karst_status (*analyse)(karst_context *context, const karst_matrix *A, const karst_ilu_pattern_cuda *pattern,
                          const karst_ilu_shape *shape, karst_ilu_analysis *analysis);
  void (*forget)(karst_context *context, karst_ilu_cuda *plan);
  /* Queues the factorization of A, which reports into statistics. shift is that of the kernel table. */
  void (*launch)(karst_context *context, const karst_matrix *A, double shift, const karst_ilu_cuda *plan);
  /* Takes work space into factor_work, and frees it, also after a failure; both NULL without work space. */
  karst_status (*plan)(karst_context *context, karst_ilu *ilu);
  void (*destroy)(karst_context *context, karst_ilu_cuda *plan);
  bool by_tiles; /* the values are stored for the sweeps by tiles, and the triangles have no memory for them */
} karst_ilu_factor_variant;

/* A kernel for the triangular solves, under its name for users. */
typedef struct karst_ilu_sweep_variant {
  const char *name;
  const char *help; /* some words on it for a message */
  /* Makes the inputs of solve besides the triangles, from their pattern, in sweep_state. forget frees them, also after
   * analyse has failed. Both NULL without sweep_state. */
  karst_status (*analyse)(karst_context *context, const karst_ilu_pattern_cuda *pattern, karst_ilu_analysis *analysis);
  void (*forget)(karst_context *context, karst_ilu_cuda *plan);
  /* Queues the work that has to follow new values of the triangles; NULL: nothing. */
  void (*load)(karst_context *context, const karst_ilu_cuda *plan);
  /* Queues z = (L D U')^-1 r, or an approximation of it. */
  void (*solve)(karst_context *context, const karst_ilu_cuda *plan, const double *r, double *z);
  /* Makes the data of the factorization in sweep_work; its triangles have the memory of their values by now. destroy
   * frees them, also after plan has failed. Both NULL without sweep_work. */
  karst_status (*plan)(karst_context *context, karst_ilu *ilu);
  void (*destroy)(karst_context *context, karst_ilu_cuda *plan);
} karst_ilu_sweep_variant;

extern const karst_ilu_factor_variant karst_ilu_factor_row_cuda;   /* factor_row.cu */
extern const karst_ilu_factor_variant karst_ilu_factor_slice_cuda; /* factor_slice.cu */
extern const karst_ilu_factor_variant karst_ilu_factor_mma_cuda;   /* factor_mma.cu */
extern const karst_ilu_factor_variant karst_ilu_factor_block_cuda; /* factor_search.cu */
/* tile_factor.cu, for plans that solve by tiles. If a tile does not fit, its analyse leaves factor_state NULL, and
 * another factorization has to be chosen. */
extern const karst_ilu_factor_variant karst_ilu_factor_tiles_cuda;
extern const karst_ilu_sweep_variant karst_ilu_sweep_dataflow_cuda; /* dataflow.cu */
extern const karst_ilu_sweep_variant karst_ilu_sweep_level_cuda;    /* level.cu */
extern const karst_ilu_sweep_variant karst_ilu_sweep_jacobi_cuda;   /* jacobi.cu */
extern const karst_ilu_sweep_variant karst_ilu_sweep_tiles_cuda;    /* tile_sweep.cu */

/* The position and the products of each row, for a warp that makes whole rows; arrays in device memory. */
typedef struct karst_ilu_row_lists {
  karst_index tasks;  /* one or two rows of one level of L */
  karst_index *task;  /* [tasks + 1] the first slot of each */
  karst_ilu_row *row; /* [rows] by the slots of lower */
  int64_t *list;      /* [rows + 1] where the products of each begin in product */
  karst_ilu_row_product *product;
} karst_ilu_row_lists;

/* pattern.cu: rows and columns, from the host or from A; level sets, and the rows by levels, in arrays [rows]. After a
 * failure the caller calls release. Like every part of an analysis they take work space, whose use their callers
 * end. */
karst_status karst_ilu_pattern_create_cuda(karst_context *context, const karst_matrix *A, karst_ilu_analysis *analysis,
                                           karst_ilu_pattern_cuda *pattern);
karst_status karst_ilu_find_levels_cuda(karst_context *context, karst_index rows, karst_ilu_pattern_cuda *pattern,
                                        karst_index *lower_row, karst_index *upper_row);
void karst_ilu_pattern_release_cuda(karst_context *context, karst_ilu_pattern_cuda *pattern);
/* Turns counts into starts. The last count is 0. */
karst_status karst_ilu_sum_indices_cuda(karst_context *context, int64_t count, karst_index *list);
karst_status karst_ilu_sum_offsets_cuda(karst_context *context, int64_t count, int64_t *list);
/* Cuts the levels' slots where their numbers are multiples of step: the first slot of each part, [*parts + 1] in device
 * memory, which is added to *bytes. */
karst_status karst_ilu_cut_levels_cuda(karst_context *context, const karst_ilu_levels_cuda *levels, int step,
                                       karst_index *parts, karst_index **first, int64_t *bytes);
/* lay_out.cu: makes the pattern, its level sets and the rows by levels, for an analysis whose plan is zero, and then
 * both triangles without values. sorted: rows may have their neighbours sorted. karst_ilu_release_triangle_cuda, for
 * the arrays of a triangle without values, and karst_ilu_pattern_release_cuda free them, also after a failure. */
karst_status karst_ilu_find_pattern_cuda(karst_context *context, const karst_matrix *A, karst_ilu_pattern_cuda *pattern,
                                         karst_ilu_analysis *analysis);
karst_status karst_ilu_lay_out_cuda(karst_context *context, const karst_matrix *A, bool sorted,
                                    karst_ilu_pattern_cuda *pattern, karst_ilu_analysis *analysis);
void karst_ilu_release_triangle_cuda(karst_context *context, karst_triangle *t);
/* Makes the vector of a sweep, absent, and a block of zeros after it. what: for the error. */
karst_status karst_ilu_make_vector_cuda(karst_context *context, int b, const char *what, karst_triangle *t,
                                        int64_t *bytes);
/* plan.cu */
karst_status karst_ilu_analyse_cuda(karst_context *context, const karst_matrix *A, karst_trisolve trisolve,
                                    karst_ilu_analysis *analysis);
/* The same by the tiles of the analysis, for DILU and blocks of up to KARST_ILU_SLICE_LARGEST. *fits: whether each tile
 * fits and tiles are faster; if not, the caller destroys the analysis. */
karst_status karst_ilu_analyse_by_tiles_cuda(karst_context *context, const karst_matrix *A,
                                             karst_ilu_analysis *analysis, bool *fits);
void karst_ilu_analysis_destroy_cuda(karst_context *context, karst_ilu_analysis *analysis);
karst_status karst_ilu_plan_cuda(karst_context *context, const karst_ilu_analysis *analysis, int trisolve_sweeps,
                                 karst_ilu *ilu);
void karst_ilu_plan_destroy_cuda(karst_context *context, karst_ilu *ilu);
/* resident.cu: the number of blocks of threads for a kernel whose warps wait for each other. All are resident
 * together, and hold the tasks of a few levels, one a warp. shared: bytes of shared memory of each block. */
enum karst_ilu_held { KARST_ILU_HELD_SLICES = 12, KARST_ILU_HELD_ROWS = 4 }; /* levels, of tasks that are ... */
karst_status karst_ilu_resident_cuda(karst_context *context, const void *kernel, size_t shared,
                                     enum karst_ilu_held held, int64_t tasks, int64_t levels, int *grid);
/* Launches a kernel that factors A with (lower, upper, values of A, shift, statistics). Makes the blocks of U' absent
 * first. */
void karst_ilu_launch_cuda(karst_context *context, const void *kernel, const karst_matrix *A, double shift,
                           const karst_ilu_cuda *plan);
/* lists.cu: the bounds in the shape for the lists of the rows; source of both triangles; the blocks of the longest row,
 * padding included; list and product of both triangles; the same by rows, rows_of_warp a task; the dropped products. */
karst_status karst_ilu_bound_rows_cuda(karst_context *context, const karst_ilu_pattern_cuda *pattern,
                                       const karst_ilu_analysis *analysis, karst_ilu_shape *shape);
karst_status karst_ilu_find_sources_cuda(karst_context *context, const karst_matrix *A, karst_ilu_analysis *analysis);
karst_status karst_ilu_measure_rows_cuda(karst_context *context, const karst_ilu_cuda *plan, int64_t *longest);
karst_status karst_ilu_list_by_blocks_cuda(karst_context *context, const karst_ilu_pattern_cuda *pattern,
                                           karst_ilu_analysis *analysis);
karst_status karst_ilu_list_by_rows_cuda(karst_context *context, const karst_ilu_pattern_cuda *pattern,
                                         int rows_of_warp, karst_ilu_analysis *analysis, karst_ilu_row_lists *lists);
karst_status karst_ilu_list_dropped_cuda(karst_context *context, const karst_ilu_pattern_cuda *pattern,
                                         karst_ilu_analysis *analysis, karst_ilu_dropped_list *dropped);
/* table.cu: prepares *statistics for a factorization of A with that shift; makes the outcome from them. */
karst_status karst_ilu_start_statistics_cuda(karst_context *context, const karst_matrix *A, double shift,
                                             karst_ilu_statistics_cuda *statistics);
karst_status karst_ilu_report_cuda(karst_context *context, const karst_ilu_statistics_cuda *statistics,
                                   karst_factor_outcome *outcome);
/* Whether the sweeps in slices have an instance for blocks of b: other sizes take one kernel. In float fewer have one,
 * because they gain little: sweeps wait most of the time. */
enum { KARST_ILU_FLOAT_LARGEST = 4 };
static constexpr bool karst_ilu_has_instance(int b, bool single)
{
  return b > 0 && b <= (single ? KARST_ILU_FLOAT_LARGEST : KARST_BLOCK_SIZE_LARGEST_INSTANCE);
}

/* round.cu: queues the rounding of new values to float, if the sweeps read them so. */
void karst_ilu_round_cuda(karst_context *context, const karst_ilu_cuda *plan);
/* load.cu */
void karst_ilu_load_cuda(karst_context *context, const double *A, const double *value, const karst_ilu_cuda *plan);

enum { KARST_ILU_THREADS = 128 }; /* of a block, in kernels of warps that wait for each other */

#ifdef __CUDACC__
/* ---- values that carry their own flag ----
 *
 * A NaN with all bits set means "absent". 8-byte stores are indivisible, so a thread that reads anything else has the
 * value, and no fence is needed. A NaN that was computed is stored with other bits. */

static __device__ __forceinline__ bool karst_is_absent(double x) { return __double2hiint(x) == -1; }

static __device__ __forceinline__ double karst_absent() { return __longlong_as_double(-1); }

/* Bypasses the first-level cache, which does not see the stores of other multiprocessors. */
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

/* The values of a triangle that a sweep reads, which are of type T. */
template <typename T> static __device__ __forceinline__ const T *karst_ilu_values(const karst_triangle &t)
{
  if constexpr (std::is_same<T, float>::value)
    return t.single;
  else
    return t.value;
}

/* Element (r, c) of a block. Its number is not negative, which makes division by constants cheaper. */
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

/* Waits until every lane of the warp has its N values; a value is 0 if its from is NULL. */
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
