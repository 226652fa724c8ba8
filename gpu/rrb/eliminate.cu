/* eliminate.cu - see rrb.h. */
#include "rrb.h"

void karst_rrb_eliminate_cuda(karst_context *, const karst_rrb *) {}
