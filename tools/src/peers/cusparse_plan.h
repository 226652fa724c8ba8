/* cusparse_plan.h - what the files on cuSPARSE's incomplete LU share: the state of the preconditioner, errors. C++
 * under nvcc. */
#ifndef KARST_TOOLS_SRC_PEERS_CUSPARSE_PLAN_H
#define KARST_TOOLS_SRC_PEERS_CUSPARSE_PLAN_H

#include "tools/src/peers/cusparse_device.h"
#include "tools/src/peers/cusparse_library.h"
#include "karst.h"

#include <cuda_runtime.h>

/* One triangle of the factors: SpSV's objects for b = 1, bsrsv2's for blocks. */
struct tool_cusparse_triangle {
  cusparseSpMatDescr_t matrix;
  cusparseSpSVDescr_t scalar;
  cusparseMatDescr_t description;
  bsrsv2Info_t block;
  void *buffer;
};

/* L and U in one matrix, on the pattern of A or, for levels of fill, on a larger one; and cuSPARSE's objects. Members
 * that are not needed are NULL. */
struct tool_cusparse {
  karst_context *context; /* not owned */
  CUcontext gpu;          /* that all of it is in: not owned */
  cudaStream_t stream;    /* of the context: not owned */
  int rows, block_size;
  int64_t blocks;
  const int *row_start;  /* [rows + 1] device memory, of A or of filled */
  const int *column;     /* [blocks] device memory, of the same matrix */
  double *value;         /* [b*b*blocks] those of factors: A's values in, L and U out */
  karst_matrix *filled;  /* level > 0: a matrix on the pattern of ILU(level) */
  karst_vector *factors; /* level > 0: the values of filled as a vector; else memory of its own */
  int *position;         /* [blocks of A] level > 0: where each stands in filled, device memory */
  karst_vector *middle;  /* [b*rows] between the two triangular solves */
  int *first;            /* [1] device memory: the first row with an entry that is not finite */
  int64_t memory;        /* bytes held */

  cusparseHandle_t handle;
  cusparseMatDescr_t description;
  csrilu02Info_t scalar;
  bsrilu02Info_t block;
  void *buffer;
  cusparseDnVecDescr_t from, to; /* vectors of SpSV, pointed to other values in each solve */
  tool_cusparse_triangle lower, upper;
};

/* The status for an error, KARST_ERROR_NO_MEMORY or KARST_ERROR_DEVICE, and a sentence that names what failed. */
karst_status tool_cusparse_status(const tool_cusparse *f, cusparseStatus_t status, const char *what);
karst_status tool_cusparse_cuda_status(const tool_cusparse *f, cudaError_t error, const char *what);

/* The same for what cuSPARSE says of zero pivots: that there is one is no error. */
karst_status tool_cusparse_pivot_status(const tool_cusparse *f, cusparseStatus_t status);

/* Device memory, which counts as held. cuSPARSE wants a place for no bytes, too. */
karst_status tool_cusparse_take(tool_cusparse *f, size_t bytes, const char *what, void **memory);

/* A's values become those of the factors, with zeros where A has no block. Queued in the stream. */
karst_status tool_cusparse_load(const tool_cusparse *f, const karst_matrix *A);
/* The first block row with an entry that is not finite, of a matrix of f's size in device memory; rows where there is
 * none. Waits for the device. */
karst_status tool_cusparse_look(const tool_cusparse *f, int64_t blocks, const int *row_start, const double *value,
                                int *first);

/* What differs between scalars and blocks. */
struct tool_cusparse_kind {
  /* The analysis of the factorization, and vectors for that of the solves where these want any. */
  karst_status (*plan_factor)(tool_cusparse *f);
  karst_status (*plan_solve)(tool_cusparse *f, cusparseFillMode_t fill, cusparseDiagType_t diagonal,
                             tool_cusparse_triangle *triangle);
  /* In place; *pivot: the row of the first zero pivot, or -1. Waits for the device. */
  karst_status (*factor)(const tool_cusparse *f, int *pivot);
  /* After a factorization without one: hands the new factors to the solves. */
  karst_status (*renew)(const tool_cusparse *f);
  karst_status (*solve)(const tool_cusparse *f, const tool_cusparse_triangle *triangle, const double *from, double *to);
};

extern const tool_cusparse_kind tool_cusparse_scalar; /* csrilu02 and SpSV: cusparse_scalar.cu */
extern const tool_cusparse_kind tool_cusparse_block;  /* bsrilu02 and bsrsv2: cusparse_block.cu */

#endif
