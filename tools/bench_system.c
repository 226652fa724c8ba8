/* bench_system.c - the linear system to time, the same one for bench and its peers. */
#include "bench.h"
#include "load.h"

#include <stdlib.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

int bench_system_load(karst_context *context, const bench_case *what, karst_matrix **A, karst_vector **rhs)
{
  int exit_status = tool_load_matrix(context, what->matrix, what->block, A, rhs);
  if (exit_status != TOOL_GO_ON) return exit_status;
  if (*rhs && karst_vector_length(*rhs) == karst_matrix_rows(*A)) return TOOL_GO_ON;

  karst_vector_destroy(*rhs);
  karst_status status = karst_vector_create(context, karst_matrix_rows(*A), rhs);
  if (!status) status = karst_vector_fill(*rhs, 1.0);
  if (!status) return TOOL_GO_ON;
  exit_status = tool_fail_library(context, status);
  karst_vector_destroy(*rhs);
  karst_matrix_destroy(*A);
  *rhs = NULL;
  *A = NULL;
  return exit_status;
}

/* Else each repetition would get its large arrays from the system anew, page by page and cleared: a cost that has
 * nothing to do with the library, and that one program may be spared (Open MPI sets the like for PETSc). */
void bench_keep_memory(void)
{
#ifdef __GLIBC__
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, -1);
#endif
}
