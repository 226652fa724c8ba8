/* a stand-in while the kernel is being written */
#include "tiles.h"
static void nothing(karst_context *c, const karst_matrix *A, karst_fgbilu *f) { (void)c; (void)A; (void)f; }
const karst_fgbilu_factor_variant karst_fgbilu_factor_tiles_cuda = {nullptr, nullptr, nothing};
