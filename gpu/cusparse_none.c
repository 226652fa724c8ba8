/* cusparse_none.c - stands in for cuSPARSE in a build without it: the preconditioner cusparse says so. */
#include "cusparse_kernels.h"

extern const struct karst_cusparse_kernels karst_cusparse_kernels_cuda;

const struct karst_cusparse_kernels karst_cusparse_kernels_cuda = {.plan = NULL};
