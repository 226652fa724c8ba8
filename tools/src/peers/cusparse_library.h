/* cusparse_library.h - the functions of cuSPARSE that the tools call. C++ under nvcc.
 *
 * The library is opened by name when something needs it, not linked: it is 160 MB that only a comparison needs, and a
 * program that links it does not start where it is missing. The types of the functions come from cuSPARSE's header, and
 * the header's version names the library, so that the two fit. It stays open: CUDA's libraries are not made to be
 * unloaded. */
#ifndef KARST_TOOLS_SRC_PEERS_CUSPARSE_LIBRARY_H
#define KARST_TOOLS_SRC_PEERS_CUSPARSE_LIBRARY_H

#define DISABLE_CUSPARSE_DEPRECATED /* the functions for blocks and the factorizations have no successors */

#include <cusparse.h>

#define TOOL_CUSPARSE_FUNCTIONS(X)                                                                                     \
  X(cusparseCreate)                                                                                                    \
  X(cusparseDestroy)                                                                                                   \
  X(cusparseSetStream)                                                                                                 \
  X(cusparseGetVersion)                                                                                                \
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
  X(cusparseSpMV_bufferSize)                                                                                           \
  X(cusparseSpMV_preprocess)                                                                                           \
  X(cusparseSpMV)                                                                                                      \
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
  X(cusparseDbsrsv2_solve)                                                                                             \
  X(cusparseDbsrmv)                                                                                                    \
  X(cusparseDgtsv2StridedBatch_bufferSizeExt)                                                                          \
  X(cusparseDgtsv2StridedBatch)

/* cuSPARSE's functions by their own names, and why they are missing. */
struct tool_cusparse_library {
#define TOOL_CUSPARSE_DECLARE(name) decltype(&::name) name;
  TOOL_CUSPARSE_FUNCTIONS(TOOL_CUSPARSE_DECLARE)
#undef TOOL_CUSPARSE_DECLARE
  char missing[256]; /* "" where all is well */
};

/* Opens the library in the first call. */
const tool_cusparse_library &tool_cusparse_functions();

#endif
