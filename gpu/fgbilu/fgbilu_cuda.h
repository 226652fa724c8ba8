/* fgbilu_cuda.h - block ILU(0) on structured grids on the GPU: the plans, the variants of factorization and solve, and
 * the access of kernels to the blocks of a cell.
 *
 * Luo, Edwards, Luo, Mueller: A fine-grained block ILU scheme on regular structures for GPGPUs. M = (D + E) D^-1 (D +
 * F) where E and F are the blocks of A before and after the diagonal, and
 *
 *     D(c) = A(c,c) - sum over the cells m behind faces 0 to 2 of c: E(c,m) D(m)^-1 F(m,c)
 *     y(c) = D(c)^-1 (r(c) - sum over faces 0 to 2: E(c,m) y(m)),     forward, over ascending i + j + k
 *     z(c) = y(c) - D(c)^-1 sum over faces 3 to 5: F(c,m) z(m),       backward
 *
 * The factor stores D^-1, one block a row of A. Its block size, b, is the paper's n. */
#ifndef KARST_GPU_FGBILU_FGBILU_CUDA_H
#define KARST_GPU_FGBILU_FGBILU_CUDA_H

#include "gpu/cuda.h"

extern "C" {
#include "lib/backend/fgbilu_kernels.h"
}

/* The faults of a cell. If a cell has several, the smallest is reported. The factorizations check only D and D^-1;
 * table.cu finds the cell whose entry of A is not finite. */
enum karst_fgbilu_fault {
  KARST_FGBILU_NOT_FINITE, /* D has an entry that is not finite, or the block row of A */
  KARST_FGBILU_SINGULAR,   /* D has a row of zeros or loses a pivot */
  KARST_FGBILU_OVERFLOW    /* D^-1 has an entry that is not finite */
};

struct karst_fgbilu_variant;

/* The plan of an analysis. */
typedef struct karst_fgbilu_cuda {
  karst_index *row; /* [cells] as in karst_structured, in device memory; NULL: the cell's number */
  uint64_t *place;  /* [cells] the same */
  bool unread;      /* whether some coupling has no place or no mirror image, and so does not contribute to D */
  const struct karst_fgbilu_variant *variant;
  void *state; /* the variant's data that depend on the pattern */
} karst_fgbilu_cuda;

/* The plan of a factorization. */
typedef struct karst_fgbilu_work_cuda {
  unsigned long long *first_fault; /* [1] device memory: the first bad cell times 4 plus its karst_fgbilu_fault; all
                                      ones: none */
  void *factor, *sweep;            /* the variant's work space */
} karst_fgbilu_work_cuda;

static inline karst_fgbilu_cuda *karst_fgbilu_cuda_of(const karst_fgbilu_analysis *analysis)
{
  return static_cast<karst_fgbilu_cuda *>(analysis->plan);
}

static inline karst_fgbilu_work_cuda *karst_fgbilu_work_of(const karst_fgbilu *fgbilu)
{
  return static_cast<karst_fgbilu_work_cuda *>(fgbilu->plan);
}

/* A variant of the factorization, and one of the solve. plan takes work space into the factor or sweep of a
 * karst_fgbilu_work_cuda and counts it in plan_memory; destroy frees it, also after plan has failed. Both are NULL if
 * there is no work space. Nothing else is allocated, and nothing waits. */
typedef struct karst_fgbilu_factor_variant {
  karst_status (*plan)(karst_context *context, karst_fgbilu *fgbilu);
  void (*destroy)(karst_context *context, karst_fgbilu *fgbilu);
  /* Queues the factorization, which reports into first_fault. */
  void (*launch)(karst_context *context, const karst_matrix *A, karst_fgbilu *fgbilu);
} karst_fgbilu_factor_variant;

typedef struct karst_fgbilu_sweep_variant {
  karst_status (*plan)(karst_context *context, karst_fgbilu *fgbilu);
  void (*destroy)(karst_context *context, karst_fgbilu *fgbilu);
  /* Queues both sweeps. */
  void (*solve)(karst_context *context, const karst_matrix *A, const karst_fgbilu *fgbilu, const double *r, double *z);
} karst_fgbilu_sweep_variant;

/* A style: its factorization, its solve, and their common data. */
typedef struct karst_fgbilu_variant {
  karst_fgbilu_style style;
  const char *name;
  int largest; /* block size; 0: any */
  /* Makes the data that depend on the pattern in state, and counts them in plan_memory. forget frees them, also after
   * analyse has failed. */
  karst_status (*analyse)(karst_context *context, const karst_matrix *A, karst_fgbilu_analysis *analysis);
  void (*forget)(karst_context *context, karst_fgbilu_cuda *plan);
  const karst_fgbilu_factor_variant *factor;
  const karst_fgbilu_sweep_variant *sweep;
} karst_fgbilu_variant;

extern const karst_fgbilu_factor_variant karst_fgbilu_factor_acc_cuda; /* acc.cu */
extern const karst_fgbilu_sweep_variant karst_fgbilu_sweep_acc_cuda;
/* The styles that only reproduce the paper: baselines/fgbilu_cl.cu. In a build without baselines their names are
 * NULL. */
enum { KARST_FGBILU_BASELINES = 2 };
extern const karst_fgbilu_variant karst_fgbilu_baselines_cuda[KARST_FGBILU_BASELINES];

/* plan.cu */
karst_status karst_fgbilu_analyse_cuda(karst_context *context, const karst_matrix *A, karst_fgbilu_style style,
                                       karst_fgbilu_analysis *analysis);
void karst_fgbilu_analysis_destroy_cuda(karst_context *context, karst_fgbilu_analysis *analysis);
karst_status karst_fgbilu_plan_cuda(karst_context *context, karst_fgbilu *fgbilu);
void karst_fgbilu_plan_destroy_cuda(karst_context *context, karst_fgbilu *fgbilu);

/* The state of a variant that goes from hyperplane to hyperplane: the cells with equal i + j + k, without the holes.
 * The cells of hyperplane p, by ascending numbers, are cell[start[p]] .. cell[start[p + 1] - 1]. */
typedef struct karst_fgbilu_hyperplanes {
  karst_index count;
  karst_index *start;  /* [count + 1] host memory */
  karst_index *cell;   /* [rows] device memory */
  karst_index largest; /* cells of the largest */
} karst_fgbilu_hyperplanes;

static inline const karst_fgbilu_hyperplanes *karst_fgbilu_hyperplanes_of(const karst_fgbilu *fgbilu)
{
  return static_cast<const karst_fgbilu_hyperplanes *>(karst_fgbilu_cuda_of(fgbilu->analysis)->state);
}

/* hyperplanes.cu: analyse and forget of such a variant. */
karst_status karst_fgbilu_list_hyperplanes_cuda(karst_context *context, const karst_matrix *A,
                                                karst_fgbilu_analysis *analysis);
void karst_fgbilu_forget_hyperplanes_cuda(karst_context *context, karst_fgbilu_cuda *plan);

/* find_faults.cu: whether there is a coupling without its mirror image. */
karst_status karst_fgbilu_find_one_sided_cuda(karst_context *context, const karst_matrix *A,
                                              const karst_fgbilu_analysis *analysis, bool *found);
/* Queues a check of all entries of A; it reports cells with one that is not finite. */
void karst_fgbilu_find_not_finite_cuda(karst_context *context, const karst_matrix *A, const karst_fgbilu *fgbilu);

/* measure.cu */
void karst_fgbilu_measure_cuda(karst_context *context, const karst_matrix *A, const karst_fgbilu_analysis *analysis,
                               double *remainder, double *couplings);

/* The matrix, its cells and the factor, as kernels take them by value. */
typedef struct karst_fgbilu_view {
  karst_index step[KARST_FACES]; /* the number of the cell behind each face, less the cell's own */
  const karst_index *row;
  const uint64_t *place;
  const karst_index *row_start;
  const double *value;
  double *factor;
  unsigned long long *first_fault;
  int b;
} karst_fgbilu_view;

/* Returns a view with the data that depend on the pattern alone. */
static inline karst_fgbilu_view karst_fgbilu_view_of(const karst_matrix *A, const karst_fgbilu_analysis *analysis)
{
  const karst_fgbilu_cuda *plan = karst_fgbilu_cuda_of(analysis);
  const karst_index *size = analysis->cells.size, line = size[0], layer = size[0] * size[1];
  karst_fgbilu_view view = {{-layer, -line, -1, 1, line, layer}};
  view.row = plan->row;
  view.place = plan->place;
  view.row_start = A->device_row_start;
  view.b = A->block_size;
  return view;
}

static inline karst_fgbilu_view karst_fgbilu_view_of(const karst_matrix *A, const karst_fgbilu *fgbilu)
{
  karst_fgbilu_view view = karst_fgbilu_view_of(A, fgbilu->analysis);
  view.value = A->value;
  view.factor = fgbilu->factor;
  view.first_fault = karst_fgbilu_work_of(fgbilu)->first_fault;
  return view;
}

static __device__ __forceinline__ karst_index karst_fgbilu_row(const karst_fgbilu_view &m, karst_index cell)
{
  return m.row ? m.row[cell] : cell;
}

/* Returns the block of A that couples a cell with the one behind a face, or the diagonal block, for
 * KARST_PLACE_DIAGONAL. NULL: a zero block. */
static __device__ __forceinline__ const double *karst_fgbilu_block(const karst_fgbilu_view &m, int b, karst_index cell,
                                                                   int face)
{
  const int place = karst_place(m.place[cell], face);
  if (place == KARST_PLACE_NONE) return nullptr;
  return m.value + karst_cuda_offset(b, (int64_t)m.row_start[karst_fgbilu_row(m, cell)] + place);
}

/* Returns the factor's block of a cell that is no hole. */
static __device__ __forceinline__ double *karst_fgbilu_inverse(const karst_fgbilu_view &m, int b, karst_index cell)
{
  return m.factor + karst_cuda_offset(b, karst_fgbilu_row(m, cell));
}

/* Returns the number of a face as seen from the cell behind it. */
static __device__ __forceinline__ int karst_fgbilu_opposite(int face) { return KARST_FACES - 1 - face; }

static __device__ __forceinline__ void karst_fgbilu_report(const karst_fgbilu_view &m, karst_index cell,
                                                           enum karst_fgbilu_fault fault)
{
  atomicMin(m.first_fault, (unsigned long long)cell * 4 + fault);
}

/* karst_block_inverse_by, for blocks on which the first attempt, by many threads, fails. Not inlined, so that it takes
 * no registers from the rest. */
static inline __device__ __noinline__ karst_reason karst_fgbilu_invert(int b, bool pivoting, const double *block,
                                                                       const double *size, double *inverse,
                                                                       double *row_scale, double *column_size,
                                                                       int *pivot)
{
  return karst_block_inverse_by(b, pivoting, block, size, inverse, row_scale, column_size, pivot);
}

#endif
