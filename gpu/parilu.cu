/* parilu.cu - the CUDA instance of the kernels of parilu and paric. */
#include "cuda.h"

extern "C" {
extern const struct karst_parilu_kernels karst_parilu_kernels_cuda;
const struct karst_parilu_kernels karst_parilu_kernels_cuda = {};
}
