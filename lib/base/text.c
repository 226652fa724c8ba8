/* text.c - statuses, reasons and the build as text. */
#include "config.h"

#include "karst.h"

const char *karst_status_text(karst_status status)
{
  switch (status) {
  case KARST_SUCCESS:
    return "success";
  case KARST_ERROR_NO_MEMORY:
    return "out of memory";
  case KARST_ERROR_ARGUMENT:
    return "invalid argument";
  case KARST_ERROR_OPTION:
    return "invalid option";
  case KARST_ERROR_FILE:
    return "file access failed";
  case KARST_ERROR_FORMAT:
    return "malformed file";
  case KARST_ERROR_MATRIX:
    return "invalid matrix";
  case KARST_ERROR_NOT_BUILT:
    return "not in this build";
  case KARST_ERROR_NO_DEVICE:
    return "no such device";
  case KARST_ERROR_DEVICE:
    return "device failure";
  case KARST_ERROR_INDEX_OVERFLOW:
    return "too many entries for the index type";
  case KARST_ERROR_TRANSPORT:
    return "messages between ranks failed";
  }
  return "unknown status";
}

const char *karst_reason_text(karst_reason reason)
{
  switch (reason) {
  case KARST_SOUND:
    return "sound";
  case KARST_CONVERGED_RTOL:
    return "converged: relative residual";
  case KARST_CONVERGED_ATOL:
    return "converged: absolute residual";
  case KARST_CONVERGED_MONITOR:
    return "converged: accepted by the monitor";
  case KARST_CONVERGED_PRECONDITIONED:
    return "converged in the preconditioned norm";
  case KARST_CONVERGED_ROUNDING:
    return "converged to rounding";
  case KARST_ITERATION_LIMIT:
    return "iteration limit";
  case KARST_STAGNATED:
    return "stagnated";
  case KARST_BREAKDOWN_RHO:
    return "breakdown: residual orthogonal to the shadow residual";
  case KARST_BREAKDOWN_ALPHA:
    return "breakdown: A p orthogonal to the shadow residual";
  case KARST_BREAKDOWN_OMEGA:
    return "breakdown: stabilising step is zero";
  case KARST_BREAKDOWN_ARNOLDI:
    return "breakdown: Krylov space exhausted";
  case KARST_BREAKDOWN_DIRECTION:
    return "breakdown: search direction useless";
  case KARST_INDEFINITE_OPERATOR:
    return "operator not positive definite";
  case KARST_INDEFINITE_PRECOND:
    return "preconditioner not positive definite";
  case KARST_NOT_FINITE:
    return "NaN or infinity";
  case KARST_SINGULAR_BLOCK:
    return "singular block";
  case KARST_OUT_OF_RANGE:
    return "out of range";
  case KARST_STOPPED:
    return "stopped by the monitor";
  case KARST_DIVERGED:
    return "diverged";
  }
  return "unknown reason";
}

const char *karst_version(void) { return PACKAGE_VERSION; }

const char *karst_build_features(void)
{
#if KARST_INDEX_BITS == 64
  return "64-bit indices"
#else
  return "32-bit indices"
#endif
#ifdef HAVE_OPENMP
         ", OpenMP"
#endif
#ifdef HAVE_CUDA
         ", CUDA"
#endif
#ifdef HAVE_AMD
         ", AMD"
#endif
#ifdef HAVE_METIS
         ", METIS"
#endif
#ifdef HAVE_ZLIB
         ", zlib"
#endif
#ifdef HAVE_LIBARCHIVE
         ", libarchive"
#endif
      ;
}
