/* none_cuda.cu - replaces the GPU's baselines in a build without them. */
#include "gpu/fgbilu/fgbilu_cuda.h"
#include "gpu/rrb/apply.h"

const karst_fgbilu_variant karst_fgbilu_baselines_cuda[KARST_FGBILU_BASELINES] = {};
const karst_rrb_nodes_kernels karst_rrb_nodes_kernels_cuda = {};
