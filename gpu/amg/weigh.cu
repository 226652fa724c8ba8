/* weigh.cu - the weights of the smoother on all levels; then the inverse of the last one. */
#include "gpu/amg/group.h"

namespace
{

enum { THREADS = 256 };

template <int LANES, typename T>
__global__ void weigh_rows(karst_amg_view<T> A, bool l1, T *weight, karst_amg_scalars *s)
{
  using group = karst_amg_group<LANES, true>;
  const int64_t i = (blockIdx.x * (int64_t)THREADS + threadIdx.x) / LANES;
  if (i >= A.rows) return;
  double diagonal = 0, others = 0;
  for (karst_index e = A.start[i] + group::lane(); e < A.start[i + 1]; e += LANES) {
    if (A.column[e] == i)
      diagonal = A.value[e];
    else
      others += fabs((double)A.value[e]);
  }
  others = group::sum(others);
  const int negative = group::sum(signbit(diagonal) ? 1 : 0); /* in a sum with 0, -0 would lose its sign */
  diagonal = copysign(group::sum(fabs(diagonal)), negative ? -1.0 : 1.0);
  if (group::lane() > 0) return;
  const double d = l1 ? diagonal + copysign(others, diagonal) : diagonal, w = d == 0 ? 0 : 1 / d;
  weight[i] = fabs(w) <= karst_amg_limit<T>() ? (T)w : (T)0;
  if (!(fabs(diagonal) + others <= DBL_MAX)) s->faults = 1;
}

} // namespace

karst_status karst_amg_weigh_cuda(karst_context *context, karst_amg *amg, karst_amg_outcome *outcome)
{
  karst_amg_scalars *s = karst_amg_cuda_of(amg)->scalars, found;
  cudaStream_t stream = karst_cuda_of(context)->stream;
  cudaMemsetAsync(&s->faults, 0, sizeof s->faults, stream);
  cudaMemsetAsync(&s->pinned, 0, sizeof s->pinned, stream);
  for (int l = 0; l < amg->levels; l++) {
    const karst_amg_matrix *A = &amg->level[l].A;
    karst_amg_typed(amg, [&](auto zero) {
      using T = decltype(zero);
      karst_amg_with_lanes(karst_amg_lanes(A->entries, A->rows, 4, 32), [&](auto lanes) {
        weigh_rows<lanes.value><<<karst_cuda_grid((int64_t)A->rows * lanes.value, THREADS), THREADS, 0, stream>>>(
            karst_amg_view_of<T>(A), amg->l1, static_cast<T *>(amg->level[l].weight), s);
      });
    });
  }
  if (amg->inverse) karst_amg_invert_cuda(context, amg);
  const karst_status status = karst_cuda_fetch(context, &found, s, sizeof found);
  if (status) return status;
  *outcome = {found.faults ? KARST_NOT_FINITE : KARST_SOUND, -1, found.faults ? 0 : found.pinned};
  return status;
}
