/* rest.cu - see rrb.h. */
#include "rrb.h"

void karst_rrb_rest_factor_cuda(karst_context *, const karst_rrb *) {}
void karst_rrb_rest_solve_cuda(karst_context *, const karst_rrb *) {}
