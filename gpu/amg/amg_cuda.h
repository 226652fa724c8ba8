/* amg_cuda.h - the inside of the CUDA kernels of algebraic multigrid. lib/backend/amg_kernels.h says what each does.
 *
 * Memory: a hierarchy of seven levels has some 90 arrays, and cudaMalloc takes 50 to 100 us for each, as long as all
 * kernels of the set-up. So the arrays of the levels come from a memory pool of the hierarchy's own, in the order of
 * the stream, and go back to the device with it; in the context's pool they would lie between pieces of work space and
 * keep them from returning. A context waits for its stream before it changes to another one, so that memory may be
 * freed on any later stream. A device without pools uses cudaMalloc. */
#ifndef KARST_GPU_AMG_AMG_CUDA_H
#define KARST_GPU_AMG_AMG_CUDA_H

#include "gpu/launch.h"

#include <cfloat>

extern "C" {
#include "lib/backend/amg_kernels.h"
}

/* Scalars in device memory. */
typedef struct karst_amg_scalars {
  int exponent;               /* level 0 is A divided by 2^exponent */
  int entered;                /* f of level 0 is r divided by 2^entered */
  double size;                /* 1, or max |r| if that is 0 or not finite */
  int pinned;                 /* unknowns of the last level */
  unsigned long long largest; /* the bits of the largest absolute value of A, or of r during an apply; else 0 */
  unsigned long long not_finite, zero; /* the first such row of A; all ones: no row */
  unsigned long long faults;           /* not 0: a row of a level is not finite */
} karst_amg_scalars;

typedef struct karst_amg_cuda {
  cudaMemPool_t pool; /* NULL: the context's */
  karst_amg_scalars *scalars;
  double *dense; /* [rows * rows] work space of the inverse; NULL if registers have room for it */
  void *item;    /* [items] the steps as kernels see them (steps.h), host memory */
  int items;
  int entered;           /* the first of them that are done as r enters: 0 or 1 */
  int tail;              /* the first level of those whose steps a cluster of thread blocks runs */
  unsigned tail_blocks;  /* of it */
  cudaGraphExec_t graph; /* the steps; NULL: they are launched one by one */
} karst_amg_cuda;

static inline karst_amg_cuda *karst_amg_cuda_of(const karst_amg *amg)
{
  return static_cast<karst_amg_cuda *>(amg->plan);
}

/* memory.cu: bytes of the levels' memory. karst_cuda_work_release frees it. */
karst_status karst_amg_take_bytes_cuda(karst_context *context, const karst_amg *amg, int64_t bytes, const char *what,
                                       void **memory);

template <typename T>
karst_status karst_amg_take_cuda(karst_context *context, const karst_amg *amg, int64_t count, const char *what,
                                 T **memory)
{
  void *taken;
  const karst_status status =
      karst_amg_take_bytes_cuda(context, amg, (count > 0 ? count : 1) * (int64_t)sizeof(T), what, &taken);
  *memory = static_cast<T *>(taken);
  return status;
}

/* memory.cu: takes the columns and values of a matrix. KARST_ERROR_INDEX_OVERFLOW if karst_index does not count its
 * entries. */
karst_status karst_amg_take_entries_cuda(karst_context *context, const karst_amg *amg, const char *what,
                                         karst_amg_matrix *matrix);

/* strength.cu: strong [entries]; coupled [rows] whether a row has a strong coupling; the rows that depend strongly on
 * each row are added to dependents [rows], unless that is NULL. */
void karst_amg_find_strong_cuda(karst_context *context, const karst_amg *amg, const karst_amg_matrix *A,
                                double strength, unsigned char *strong, unsigned char *coupled, unsigned *dependents);

/* transpose.cu */
karst_status karst_amg_longest_row_cuda(karst_context *context, karst_index rows, const karst_index *start,
                                        karst_index *longest);

/* For kernels that collect columns in sets (sets.h): rows are sorted into bins by a bound on their columns. */
enum { KARST_AMG_BINS = 5 };

typedef struct karst_amg_tally {
  unsigned long long bin[KARST_AMG_BINS]; /* rows in each; rows with a bound of 0 in none */
  unsigned long long longest, sum;        /* of the bounds */
} karst_amg_tally;

/* Work space, and how to launch. */
typedef struct karst_amg_sets {
  karst_amg_tally found;             /* before rows move */
  karst_amg_tally *tally;            /* device memory: now */
  karst_index *list[KARST_AMG_BINS]; /* [rows] the rows of each bin, in any order; list[0] is all of the memory */
  unsigned blocks[KARST_AMG_BINS];   /* thread blocks of each */
  karst_index room;                  /* of a set in global memory; 0: no row needs one */
  karst_index *memory;               /* [blocks of the last bin * 3 room] */
} karst_amg_sets;

/* sets.cu: turns the lengths of the rows, in row_start, into their starts, and sets entries and longest. */
karst_status karst_amg_sum_rows_cuda(karst_context *context, karst_amg_matrix *matrix);
/* Sorts rows by a bound on their columns that may exceed the number of columns; waits. */
karst_status karst_amg_sort_rows_cuda(karst_context *context, karst_index rows, const karst_index *bound,
                                      karst_index columns, karst_amg_sets *sets);

/* Calls f with each bin that has rows, or may get rows of the bin before. */
template <int BIN = 0, typename F> static inline void karst_amg_each_bin(const karst_amg_sets *sets, F f)
{
  if (sets->blocks[BIN] > 0) f(std::integral_constant<int, BIN>());
  if constexpr (BIN + 1 < KARST_AMG_BINS) karst_amg_each_bin<BIN + 1>(sets, f);
}

/* Calls f with a zero of the type of the levels' values. */
template <typename F> static inline void karst_amg_typed(const karst_amg *amg, F f)
{
  if (amg->single)
    f(0.0f);
  else
    f(0.0);
}

/* The largest number and the rounding of that type. */
template <typename T> static inline __host__ __device__ T karst_amg_limit()
{
  return std::is_same<T, float>::value ? (T)FLT_MAX : (T)DBL_MAX;
}

template <typename T> static inline __host__ __device__ double karst_amg_epsilon()
{
  return std::is_same<T, float>::value ? FLT_EPSILON : DBL_EPSILON;
}

/* A matrix as kernels see it. */
template <typename T> struct karst_amg_view {
  karst_index rows, columns;
  const karst_index *start, *column;
  const T *value;
};

template <typename T> static inline karst_amg_view<T> karst_amg_view_of(const karst_amg_matrix *matrix)
{
  return {matrix->rows, matrix->columns, matrix->row_start, matrix->column, static_cast<const T *>(matrix->value)};
}

/* The lanes that share a row of a matrix: a power of two near its mean length, from least to most. */
static inline int karst_amg_lanes(int64_t entries, int64_t rows, int least, int most)
{
  int lanes = least;
  while (lanes < most && 2 * lanes * rows < entries) lanes *= 2;
  return lanes;
}

/* Calls f with lanes, one of 4, 8, 16 and 32, as a constant. */
template <typename F> static inline void karst_amg_with_lanes(int lanes, F f)
{
  switch (lanes) {
  case 4:
    return f(std::integral_constant<int, 4>());
  case 8:
    return f(std::integral_constant<int, 8>());
  case 16:
    return f(std::integral_constant<int, 16>());
  default:
    return f(std::integral_constant<int, 32>());
  }
}

/* The functions of the table. */
karst_status karst_amg_load_cuda(karst_context *context, const karst_matrix *A, karst_amg *amg,
                                 karst_amg_outcome *outcome);
karst_status karst_amg_square_cuda(karst_context *context, const karst_amg *amg, const karst_amg_matrix *A,
                                   karst_amg_matrix *square);
karst_status karst_amg_fetch_cuda(karst_context *context, const karst_amg *amg, const karst_amg_matrix *matrix,
                                  karst_index count, const karst_index *row, karst_amg_matrix *host);
karst_status karst_amg_stack_cuda(karst_context *context, const karst_amg *amg, const karst_amg_matrix *top,
                                  const karst_amg_matrix *below, karst_index columns, karst_amg_matrix *all);
karst_status karst_amg_renumber_cuda(karst_context *context, karst_index own, karst_index count,
                                     const karst_index *place, karst_amg_matrix *matrix);
void karst_amg_widen_cuda(karst_context *context, const karst_amg *amg, int64_t count, const void *from, double *to);
void karst_amg_narrow_cuda(karst_context *context, const karst_amg *amg, int64_t count, const double *from, void *to);
void karst_amg_add_cuda(karst_context *context, karst_index count, const karst_index *index, const double *x,
                        double *y);
karst_status karst_amg_split_cuda(karst_context *context, const karst_amg *amg, const karst_amg_matrix *A,
                                  const karst_amg_rule *rule, karst_amg_splitting *splitting);
void karst_amg_rescue_cuda(karst_context *context, const karst_amg_matrix *A, karst_index rows,
                           const karst_index *ghost, karst_amg_splitting *splitting);
karst_status karst_amg_interpolate_cuda(karst_context *context, const karst_amg *amg, const karst_amg_matrix *A,
                                        const karst_amg_rule *rule, const karst_amg_splitting *splitting,
                                        karst_amg_matrix *P);
karst_status karst_amg_match_cuda(karst_context *context, const karst_amg *amg, const karst_amg_matrix *A,
                                  const karst_amg_rule *rule, karst_amg_splitting *splitting);
void karst_amg_compose_cuda(karst_context *context, karst_index rows, karst_amg_splitting *splitting,
                            const karst_amg_splitting *next);
karst_status karst_amg_aggregate_cuda(karst_context *context, const karst_amg *amg, karst_index rows,
                                      const karst_amg_splitting *splitting, karst_amg_matrix *P);
karst_status karst_amg_transpose_cuda(karst_context *context, const karst_amg *amg, const karst_amg_matrix *P,
                                      karst_amg_matrix *R);
karst_status karst_amg_plan_product_cuda(karst_context *context, const karst_amg *amg, const karst_amg_matrix *A,
                                         const karst_amg_matrix *B, karst_amg_product *product);
void karst_amg_multiply_cuda(karst_context *context, const karst_amg *amg, const karst_amg_matrix *A,
                             const karst_amg_matrix *B, const karst_amg_product *product);
karst_status karst_amg_finish_cuda(karst_context *context, karst_amg *amg);
karst_status karst_amg_weigh_cuda(karst_context *context, karst_amg *amg, karst_amg_outcome *outcome);
void karst_amg_apply_cuda(karst_context *context, const karst_amg *amg, const double *r, double *z);

/* invert.cu: takes the memory of the inverse if the last level gets one, and computes it. */
karst_status karst_amg_invert_prepare_cuda(karst_context *context, karst_amg *amg);
void karst_amg_invert_cuda(karst_context *context, const karst_amg *amg);

/* cycle.cu: frees the items and the graph; launches the steps one by one. */
void karst_amg_cycle_release_cuda(karst_context *context, karst_amg *amg);
void karst_amg_launch_steps_cuda(const struct karst_cuda *cuda, const karst_amg *amg);

#endif
