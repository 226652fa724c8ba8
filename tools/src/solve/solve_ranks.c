/* solve_ranks.c - see solve_ranks.h. libkarst_mpi is opened only with --ranks, so that solve needs no MPI. */
#include "tools/src/solve/solve_ranks.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if KARST_INDEX_BITS == 64
#define LIBRARY "libkarst_mpi-int64.so.0"
#else
#define LIBRARY "libkarst_mpi.so.0"
#endif

/* Where the library is installed. */
#ifndef KARST_LIBDIR
#define KARST_LIBDIR "/usr/local/lib"
#endif

int ranks_check(const struct solve_settings *settings)
{
  const struct {
    const char *name;
    bool given;
  } alone[] = {{"exact", settings->exact},
               {"reference", settings->reference},
               {"repeat", settings->repeat > 0},
               {"view", settings->view},
               {"spy", settings->spy != NULL},
               {"plot", settings->plot != NULL},
               {"solution", settings->solution != NULL}};
  for (size_t i = 0; i < sizeof alone / sizeof *alone; i++)
    if (alone[i].given)
      return tool_fail(TOOL_FAILED, "--%s needs the whole system in one process: it cannot be used with --ranks",
                       alone[i].name);
  return TOOL_GO_ON;
}

int ranks_join(karst_context *context, const char *device)
{
  karst_status (*world)(karst_context *, const char *) = NULL;
  /* MPI looks for its own parts among the symbols of all libraries. */
  void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_GLOBAL);
  if (!library) library = dlopen(KARST_LIBDIR "/" LIBRARY, RTLD_NOW | RTLD_GLOBAL);
  void *function = library ? dlsym(library, "karst_mpi_world") : NULL;
  if (!function)
    return tool_fail(TOOL_FAILED, "--ranks needs the library %s, which configure --with-mpi makes: %s", LIBRARY,
                     dlerror());
  memcpy(&world, &function, sizeof world);
  const karst_status status = world(context, device);
  if (status) {
    const int exit_status = tool_fail_library(context, status);
    return status == KARST_ERROR_NOT_BUILT ? TOOL_NO_DEVICE : exit_status;
  }
  if (karst_context_rank(context) > 0 && (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr)))
    abort();
  return TOOL_GO_ON;
}

int ranks_agree(karst_context *context, int status)
{
  karst_vector *failed = NULL;
  double failures = 0;
  karst_status made = karst_vector_create(context, 1, &failed);
  if (!made) made = karst_vector_fill(failed, status == TOOL_GO_ON ? 0 : 1);
  if (!made) made = karst_vector_norm(failed, &failures);
  karst_vector_destroy(failed);
  if (made) return tool_fail_library(context, made);
  if (status != TOOL_GO_ON || failures == 0) return status;
  return tool_fail(TOOL_FAILED, "another rank cannot read the system or has no memory for it");
}

int ranks_cut(karst_context *context, const karst_matrix *whole, const karst_vector *whole_b, karst_matrix **A,
              karst_vector **b, karst_vector **x)
{
  const int64_t all = karst_matrix_block_rows(whole), rank = karst_context_rank(context);
  const int64_t first = all * rank / karst_context_ranks(context);
  const karst_index rows = (karst_index)(all * (rank + 1) / karst_context_ranks(context) - first);
  const int size = karst_matrix_block_size(whole);
  const karst_index *start = karst_matrix_row_start(whole) + first;
  karst_index *own = malloc(((size_t)rows + 1) * sizeof *own);
  const int agreed = ranks_agree(context, own ? TOOL_GO_ON : tool_fail_memory("the rows of a rank"));
  if (agreed != TOOL_GO_ON || !own) {
    free(own);
    return agreed;
  }
  for (karst_index i = 0; i <= rows; i++) own[i] = start[i] - start[0];
  karst_status status = karst_matrix_create_distributed(context, rows, size, own, karst_matrix_column(whole) + start[0],
                                                        karst_matrix_value(whole) + (int64_t)size * size * start[0], A);
  if (!status) status = karst_vector_create(context, (int64_t)size * rows, b);
  if (!status) status = karst_vector_set(*b, (int64_t)size * rows, karst_vector_const_values(whole_b) + size * first);
  if (!status) status = karst_vector_create(context, (int64_t)size * rows, x);
  free(own);
  return ranks_agree(context, status ? tool_fail_library(context, status) : TOOL_GO_ON);
}
