/* failures.c - Karst's statuses and reasons in the words of PETSc. */
#include "plugins/petsc/plugin.h"

PetscErrorCode karst_petsc_error(karst_status status)
{
  switch (status) {
  case KARST_SUCCESS:
    return 0;
  case KARST_ERROR_NO_MEMORY:
    return PETSC_ERR_MEM;
  case KARST_ERROR_OPTION:
    return PETSC_ERR_USER_INPUT;
  case KARST_ERROR_MATRIX:
    return PETSC_ERR_ARG_WRONG;
  case KARST_ERROR_NOT_BUILT:
  case KARST_ERROR_NO_DEVICE:
    return PETSC_ERR_SUP_SYS;
  case KARST_ERROR_DEVICE:
    return PETSC_ERR_GPU;
  default:
    return PETSC_ERR_LIB;
  }
}

const char *karst_petsc_sentence(const karst_context *context, karst_status status)
{
  const char *sentence = karst_context_error(context);
  return *sentence ? sentence : karst_status_text(status);
}

PCFailedReason karst_petsc_failed_reason(karst_reason reason)
{
  switch (reason) {
  case KARST_SOUND:
    return PC_NOERROR;
  case KARST_SINGULAR_BLOCK:
    return PC_FACTOR_NUMERIC_ZEROPIVOT;
  default:
    return PC_FACTOR_OTHER;
  }
}

KSPConvergedReason karst_petsc_converged_reason(karst_reason reason)
{
  switch (reason) {
  case KARST_CONVERGED_RTOL:
  case KARST_CONVERGED_PRECONDITIONED:
  case KARST_CONVERGED_ROUNDING:
    return KSP_CONVERGED_RTOL;
  case KARST_CONVERGED_ATOL:
    return KSP_CONVERGED_ATOL;
  case KARST_ITERATION_LIMIT:
    return KSP_DIVERGED_ITS;
  case KARST_INDEFINITE_OPERATOR:
    return KSP_DIVERGED_INDEFINITE_MAT;
  case KARST_INDEFINITE_PRECOND:
    return KSP_DIVERGED_INDEFINITE_PC;
  case KARST_NOT_FINITE:
  case KARST_OUT_OF_RANGE:
    return KSP_DIVERGED_NANORINF;
  case KARST_SINGULAR_BLOCK:
    return KSP_DIVERGED_PC_FAILED;
  case KARST_DIVERGED:
    return KSP_DIVERGED_DTOL;
  default:
    return KSP_DIVERGED_BREAKDOWN;
  }
}
