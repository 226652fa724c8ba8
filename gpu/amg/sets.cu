/* sets.cu - thread blocks, and memory of the long rows, for kernels that collect columns in sets. */
#include "gpu/amg/group.h"

karst_status karst_amg_take_sets_cuda(karst_context *context, karst_index rows,
                                      const unsigned long long count[KARST_AMG_BINS], unsigned long long bound,
                                      karst_amg_sets *sets)
{
  enum { SHARE = 16 /* thread blocks of a multiprocessor */, MOST = 1 << 26 /* elements for the long rows */ };
  static const int threads[] = {karst_amg_bin<0>::THREADS, karst_amg_bin<1>::THREADS, karst_amg_bin<2>::THREADS};
  const int64_t most = (int64_t)SHARE * karst_cuda_of(context)->multiprocessors;
  *sets = {};
  for (int bin = 0; bin < KARST_AMG_BINS - 1; bin++) {
    const int64_t blocks = karst_cuda_grid(rows, threads[bin]);
    sets->blocks[bin] = count[bin] == 0 ? 0 : (unsigned)(blocks < most ? blocks : most);
  }
  if (count[KARST_AMG_BINS - 1] == 0) return KARST_SUCCESS;
  int64_t room = 1;
  while (room < (int64_t)bound) room *= 2;
  if (room > KARST_INDEX_MAX / 4)
    return karst_fail(context, KARST_ERROR_INDEX_OVERFLOW, "a row of the next level may have %llu entries", bound);
  int64_t blocks = MOST / (3 * room);
  if (blocks > karst_cuda_grid(rows, KARST_AMG_GLOBAL_THREADS))
    blocks = karst_cuda_grid(rows, KARST_AMG_GLOBAL_THREADS);
  if (blocks < 1) blocks = 1;
  sets->room = (karst_index)room;
  sets->blocks[KARST_AMG_BINS - 1] = (unsigned)blocks;
  return karst_cuda_take_work(context, 3 * room * blocks, "the columns of long rows", &sets->memory);
}
