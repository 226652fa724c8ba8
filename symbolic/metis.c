/* metis.c - nested dissection (Karypis and Kumar, SIAM J. Sci. Comput. 20 (1998)) through METIS_NodeND on the graph of
 * A + A^T. METIS takes its work space from malloc. Its seed is fixed, so that a pattern always gets the same order. */
#include "config.h"

#include "symbolic.h"

#ifdef HAVE_METIS

#include <metis.h>

/* METIS is built with indices of 32 or 64 bits, whatever Karst has. */
static void to_metis(int64_t count, const karst_index *from, idx_t *to)
{
  for (int64_t i = 0; i < count; i++) to[i] = (idx_t)from[i];
}

static karst_status dissect(karst_context *context, idx_t n, idx_t *start, idx_t *neighbour, idx_t *permutation,
                            idx_t *inverse)
{
  idx_t options[METIS_NOPTIONS];
  METIS_SetDefaultOptions(options);
  options[METIS_OPTION_NUMBERING] = 0;
  options[METIS_OPTION_SEED] = 1;
  int outcome = METIS_NodeND(&n, start, neighbour, NULL, options, permutation, inverse);
  if (outcome == METIS_OK) return KARST_SUCCESS;
  if (outcome == METIS_ERROR_MEMORY)
    return karst_fail(context, KARST_ERROR_NO_MEMORY, "out of memory: METIS could not order %lld block rows",
                      (long long)n);
  return karst_fail(context, KARST_ERROR_MATRIX, "METIS refused the pattern of %lld block rows with its status %d",
                    (long long)n, outcome);
}

karst_status karst_order_metis(karst_context *context, karst_index n, const karst_index *row_start,
                               const karst_index *column, karst_index *permutation)
{
  const char *what = "the graph for METIS";
  karst_index *start = NULL, *neighbour = NULL;
  idx_t *metis_start = NULL, *metis_neighbour = NULL, *order = NULL, *inverse = NULL;
  karst_status status;
  if ((status = karst_pattern_symmetrise(context, n, row_start, column, &start, &neighbour))) return status;
  karst_index edges = start[n];
  if (edges > IDX_MAX) {
    status =
        karst_fail(context, KARST_ERROR_INDEX_OVERFLOW, "METIS was built for graphs of at most %lld edges, not %lld",
                   (long long)IDX_MAX, (long long)edges);
    goto finish;
  }
  if ((status = karst_allocate(context, &metis_start, (int64_t)n + 1, sizeof *metis_start, what)) ||
      (status = karst_allocate(context, &metis_neighbour, edges, sizeof *metis_neighbour, what)) ||
      (status = karst_allocate(context, &order, n, sizeof *order, what)) ||
      (status = karst_allocate(context, &inverse, n, sizeof *inverse, what)))
    goto finish;
  for (karst_index i = 0; i < n; i++) order[i] = (idx_t)i;
  to_metis((int64_t)n + 1, start, metis_start);
  to_metis(edges, neighbour, metis_neighbour);
  /* METIS's perm is permutation[new] = old. It is not asked about a graph without edges. */
  if (edges > 0 && (status = dissect(context, (idx_t)n, metis_start, metis_neighbour, order, inverse))) goto finish;
  for (karst_index i = 0; i < n; i++) permutation[i] = (karst_index)order[i];

finish:
  karst_release(context, start);
  karst_release(context, neighbour);
  karst_release(context, metis_start);
  karst_release(context, metis_neighbour);
  karst_release(context, order);
  karst_release(context, inverse);
  return status;
}

#else

karst_status karst_order_metis(karst_context *context, karst_index n, const karst_index *row_start,
                               const karst_index *column, karst_index *permutation)
{
  (void)n, (void)row_start, (void)column, (void)permutation;
  return karst_fail(context, KARST_ERROR_NOT_BUILT, "ordering metis needs METIS, and Karst was built without it");
}

#endif
