/* load.cu - see rrb.h. */
#include "rrb.h"

karst_status karst_rrb_inspect_cuda(karst_context *, const karst_matrix *, const karst_rrb *,
                                    karst_rrb_pattern *pattern)
{
  *pattern = {false, {-1, -1}};
  return KARST_SUCCESS;
}
void karst_rrb_load_cuda(karst_context *, const karst_matrix *, const karst_rrb *) {}
