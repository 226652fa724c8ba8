/* amd.c - orders by approximate minimum degree (Amestoy, Davis and Duff, SIAM J. Matrix Anal. Appl. 17 (1996)) through
 * SuiteSparse's AMD, which orders A + A^T itself and takes its work space from malloc. */
#include "config.h"

#include "symbolic/symbolic.h"

#ifdef HAVE_AMD

#include <amd.h>

#if KARST_INDEX_BITS == 64
#define order_by_amd amd_l_order
#else
#define order_by_amd amd_order
#endif

karst_status karst_order_amd(const karst_ordering_pattern *pattern, karst_index *permutation, karst_tiling *tiling)
{
  (void)tiling;
  karst_context *context = pattern->context;
  const karst_index n = pattern->block_rows;
  int outcome = (int)order_by_amd(n, pattern->row_start, pattern->column, permutation, NULL, NULL);
  if (outcome == AMD_OUT_OF_MEMORY)
    return karst_fail(context, KARST_ERROR_NO_MEMORY, "out of memory: AMD could not order %lld block rows",
                      (long long)n);
  if (outcome < 0)
    return karst_fail(context, KARST_ERROR_MATRIX, "AMD refused the pattern of %lld block rows with its status %d",
                      (long long)n, outcome);
  return KARST_SUCCESS;
}

#else

karst_status karst_order_amd(const karst_ordering_pattern *pattern, karst_index *permutation, karst_tiling *tiling)
{
  (void)tiling;
  (void)permutation;
  return karst_fail(pattern->context, KARST_ERROR_NOT_BUILT,
                    "ordering amd needs SuiteSparse's AMD, and Karst was built without it");
}

#endif
