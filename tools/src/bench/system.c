/* system.c - loads the linear system to time, which is the same for bench and its peers. */
#include "tools/src/bench/bench.h"
#include "tools/src/common/load.h"

#include <stdio.h>
#include <stdlib.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

int bench_system_load(karst_context *context, const bench_case *what, karst_matrix **A, karst_vector **rhs)
{
  const struct tool_request request = {.name = what->matrix, .block = what->block, .negate = what->negate};
  int exit_status = tool_load(context, &request, A, rhs, NULL);
  if (exit_status == TOOL_GO_ON && !(*rhs && karst_vector_length(*rhs) == karst_matrix_rows(*A))) {
    karst_vector_destroy(*rhs);
    karst_status status = karst_vector_create(context, karst_matrix_rows(*A), rhs);
    if (!status) status = karst_vector_fill(*rhs, 1.0);
    if (status) exit_status = tool_fail_library(context, status);
  }
  if (exit_status == TOOL_GO_ON) return TOOL_GO_ON;
  karst_vector_destroy(*rhs);
  karst_matrix_destroy(*A);
  *rhs = NULL;
  *A = NULL;
  return exit_status;
}

void bench_peer_load(const bench_case *what, karst_context **context, karst_matrix **A, karst_vector **rhs)
{
  if (karst_context_create(NULL, context)) exit(tool_fail_memory("the context"));
  const int exit_status = bench_system_load(*context, what, A, rhs);
  if (exit_status != TOOL_GO_ON) exit(exit_status);
}

bool bench_peer_requested(void)
{
  int c = getchar();
  while (c != EOF && c != '\n') c = getchar();
  return c != EOF;
}

void bench_peer_answer(int count, const double *value)
{
  for (int i = 0; i < count; i++) printf("%.17g%c", value[i], i + 1 < count ? ' ' : '\n');
  fflush(stdout);
}

/* Without this, the system would hand out and clear the pages of large arrays again in each repetition. This cost has
 * nothing to do with the library, and a peer may avoid it (Open MPI sets the same for PETSc). */
void bench_keep_memory(void)
{
#ifdef __GLIBC__
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, -1);
#endif
}
