/* cusparse_plan.h - what the files on cuSPARSE's incomplete LU share: the library's functions, the plan, errors. C++
 * under nvcc.
 *
 * The library is opened by name when a preconditioner needs it, not linked: it is 160 MB that only a comparison needs,
 * and a program that links it does not start where it is missing. Types of the functions come from cuSPARSE's header,
 * and the header's version names the library, so the two fit. It stays open: CUDA's libraries are not made to be
 * unloaded. */
#ifndef KARST_GPU_CUSPARSE_PLAN_H
#define KARST_GPU_CUSPARSE_PLAN_H

#define DISABLE_CUSPARSE_DEPRECATED /* the factorizations have no successor in the generic interface */

#include "cuda.h"

#include <cusparse.h>

extern "C" {
#include "cusparse_kernels.h"
}

#define KARST_CUSPARSE_FUNCTIONS(X)                                                                                    \
  X(cusparseCreate)                                                                                                    \
  X(cusparseDestroy)                                                                                                   \
  X(cusparseSetStream)                                                                                                 \
  X(cusparseGetErrorString)                                                                                            \
  X(cusparseCreateMatDescr)                                                                                            \
  X(cusparseDestroyMatDescr)                                                                                           \
  X(cusparseSetMatFillMode)                                                                                            \
  X(cusparseSetMatDiagType)                                                                                            \
  X(cusparseCreateCsrilu02Info)                                                                                        \
  X(cusparseDestroyCsrilu02Info)                                                                                       \
  X(cusparseDcsrilu02_bufferSize)                                                                                      \
  X(cusparseDcsrilu02_analysis)                                                                                        \
  X(cusparseDcsrilu02)                                                                                                 \
  X(cusparseXcsrilu02_zeroPivot)                                                                                       \
  X(cusparseCreateCsr)                                                                                                 \
  X(cusparseDestroySpMat)                                                                                              \
  X(cusparseSpMatSetAttribute)                                                                                         \
  X(cusparseCreateDnVec)                                                                                               \
  X(cusparseDestroyDnVec)                                                                                              \
  X(cusparseDnVecSetValues)                                                                                            \
  X(cusparseSpSV_createDescr)                                                                                          \
  X(cusparseSpSV_destroyDescr)                                                                                         \
  X(cusparseSpSV_bufferSize)                                                                                           \
  X(cusparseSpSV_analysis)                                                                                             \
  X(cusparseSpSV_updateMatrix)                                                                                         \
  X(cusparseSpSV_solve)                                                                                                \
  X(cusparseCreateBsrilu02Info)                                                                                        \
  X(cusparseDestroyBsrilu02Info)                                                                                       \
  X(cusparseDbsrilu02_bufferSize)                                                                                      \
  X(cusparseDbsrilu02_analysis)                                                                                        \
  X(cusparseDbsrilu02)                                                                                                 \
  X(cusparseXbsrilu02_zeroPivot)                                                                                       \
  X(cusparseCreateBsrsv2Info)                                                                                          \
  X(cusparseDestroyBsrsv2Info)                                                                                         \
  X(cusparseDbsrsv2_bufferSize)                                                                                        \
  X(cusparseDbsrsv2_analysis)                                                                                          \
  X(cusparseDbsrsv2_solve)

/* cuSPARSE's functions by their own names, and why they are not there. */
struct karst_cusparse_library {
#define DECLARE(name) decltype(&::name) name;
  KARST_CUSPARSE_FUNCTIONS(DECLARE)
#undef DECLARE
  char missing[256]; /* "" where all is well */
};

const karst_cusparse_library &karst_cusparse_functions();

/* One triangle of the factors: SpSV's objects for b = 1, bsrsv2's for blocks. */
struct karst_cusparse_triangle {
  cusparseSpMatDescr_t matrix;
  cusparseSpSVDescr_t scalar;
  cusparseMatDescr_t description;
  bsrsv2Info_t block;
  void *buffer;
};

struct karst_cusparse_plan {
  cusparseHandle_t handle;
  cusparseMatDescr_t description;
  csrilu02Info_t scalar;
  bsrilu02Info_t block;
  void *buffer;
  cusparseDnVecDescr_t from, to; /* vectors of SpSV, pointed to new values in each solve */
  karst_cusparse_triangle lower, upper;
  int *first; /* device memory: the first row with an entry that is not finite */
};

static inline karst_cusparse_plan *karst_cusparse_plan_of(const karst_cusparse *factors)
{
  return static_cast<karst_cusparse_plan *>(factors->plan);
}

/* The status for an error of cuSPARSE, with a sentence that names what failed. */
karst_status karst_cusparse_status(karst_context *context, cusparseStatus_t status, const char *what);

/* The same for what cuSPARSE says of zero pivots: that there is one is no error. */
karst_status karst_cusparse_pivot_status(karst_context *context, cusparseStatus_t status);

/* Work space of a plan. */
karst_status karst_cusparse_take(karst_context *context, size_t bytes, karst_cusparse *factors, void **buffer);

/* What differs between scalars and blocks. */
struct karst_cusparse_kind {
  /* The analysis of the factorization, and vectors for that of the solves where these want any. */
  karst_status (*plan_factor)(karst_context *context, karst_cusparse *factors);
  karst_status (*plan_solve)(karst_context *context, karst_cusparse *factors, cusparseFillMode_t fill,
                             cusparseDiagType_t diagonal, karst_cusparse_triangle *triangle);
  /* In place; *pivot: the row of the first zero pivot, or -1. Waits for the device. */
  karst_status (*factor)(karst_context *context, const karst_cusparse *factors, int *pivot);
  /* After a factorization without one: hands the new factors to the solves. */
  karst_status (*renew)(karst_context *context, const karst_cusparse *factors);
  void (*solve)(const karst_cusparse *factors, const karst_cusparse_triangle *triangle, const double *from, double *to);
};

extern const karst_cusparse_kind karst_cusparse_scalar; /* csrilu02 and SpSV: cusparse_scalar.cu */
extern const karst_cusparse_kind karst_cusparse_block;  /* bsrilu02 and bsrsv2: cusparse_block.cu */

#endif
