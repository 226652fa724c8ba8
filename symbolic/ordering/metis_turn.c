/* metis_turn.c - see metis_turn.h. */
#include "config.h"

#ifdef HAVE_METIS

#include "symbolic/ordering/metis_turn.h"

#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char state[128]; /* static: another thread that changes the state meanwhile may keep it */

char *karst_metis_begin(void)
{
  pthread_mutex_lock(&lock);
  return initstate(1, state, sizeof state);
}

void karst_metis_end(char *of_program)
{
  if (of_program) setstate(of_program);
  pthread_mutex_unlock(&lock);
}

static karst_status no_memory(karst_context *context, int64_t vertices)
{
  return karst_fail(context, KARST_ERROR_NO_MEMORY, "out of memory: METIS could not take a graph of %lld block rows",
                    (long long)vertices);
}

karst_status karst_metis_check_size(karst_context *context, int64_t vertices, int64_t edges)
{
  if (edges <= IDX_MAX && vertices <= IDX_MAX) return KARST_SUCCESS;
  return karst_fail(context, KARST_ERROR_INDEX_OVERFLOW,
                    "METIS was built for graphs of at most %lld vertices or edges, not %lld", (long long)IDX_MAX,
                    (long long)(vertices > edges ? vertices : edges));
}

/* The lists of edges of all coarser graphs are at most twice those of this one, with weights, and the rest is generous.
 * memory is volatile, because compilers remove an unused malloc. */
karst_status karst_metis_check_room(karst_context *context, int64_t vertices, int64_t edges)
{
  void *volatile memory = malloc((10 * (size_t)edges + 50 * (size_t)vertices + 4096) * 2 * sizeof(idx_t));
  free(memory);
  return memory ? KARST_SUCCESS : no_memory(context, vertices);
}

karst_status karst_metis_check(karst_context *context, int outcome, int64_t vertices)
{
  if (outcome == METIS_OK) return KARST_SUCCESS;
  if (outcome == METIS_ERROR_MEMORY) return no_memory(context, vertices);
  return karst_fail(context, KARST_ERROR_MATRIX, "METIS refused a graph of %lld vertices with its status %d",
                    (long long)vertices, outcome);
}

#else

typedef int karst_metis_is_missing; /* a file must have a declaration */

#endif
