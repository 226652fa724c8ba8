/* strength.cu - strong couplings: -s a_ij >= theta max_k -s a_ik > 0, where s is the sign of a_ii. */
#include "gpu/amg/group.h"

namespace
{

enum { THREADS = 256 };

template <int LANES, typename T>
__global__ void find_strong(karst_amg_view<T> A, double strength, unsigned char *strong, unsigned char *coupled,
                            unsigned *dependents)
{
  using group = karst_amg_group<LANES, true>;
  const int64_t i = (blockIdx.x * (int64_t)THREADS + threadIdx.x) / LANES;
  if (i >= A.rows) return;
  const karst_index begin = A.start[i] + group::lane(), end = A.start[i + 1];
  bool negative = false;
  T below = 0, above = 0;
  for (karst_index e = begin; e < end; e += LANES) {
    const T a = A.value[e];
    if (A.column[e] == i) {
      negative = a < 0;
    } else {
      below = fmax(below, -a);
      above = fmax(above, a);
    }
  }
  karst_index many;
  group::count_before(negative, &many);
  negative = many > 0;
  const double most = group::largest(negative ? above : below), least = strength * most;
  for (karst_index e = begin; e < end; e += LANES) {
    const karst_index j = A.column[e];
    const double size = negative ? A.value[e] : -A.value[e];
    const bool is_strong = j != i && size > 0 && size >= least;
    strong[e] = is_strong;
    if (is_strong && dependents) atomicAdd(dependents + j, 1u);
  }
  if (group::lane() == 0) coupled[i] = most > 0;
}

} // namespace

void karst_amg_find_strong_cuda(karst_context *context, const karst_amg *amg, const karst_amg_matrix *A,
                                double strength, unsigned char *strong, unsigned char *coupled, unsigned *dependents)
{
  karst_amg_typed(amg, [&](auto zero) {
    karst_amg_with_lanes(karst_amg_lanes(A->entries, A->rows, 4, 32), [&](auto lanes) {
      find_strong<lanes.value>
          <<<karst_cuda_grid((int64_t)A->rows * lanes.value, THREADS), THREADS, 0, karst_cuda_of(context)->stream>>>(
              karst_amg_view_of<decltype(zero)>(A), strength, strong, coupled, dependents);
    });
  });
}
