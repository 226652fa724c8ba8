/* factor_small.cu - DILU as in factor.cu, for blocks so small that a lane can hold a few of them whole.
 *
 * Lane q b + r sums the contributions of the rows r of all D_k^-1 to block row q, from column r of E_ik and all of
 * F_ki:
 *
 *     P_r = sum_k E_ik[:, r] (D_k^-1[r, :] F_ki)
 *
 * so that lanes exchange nothing until all neighbours are done. Then every lane of the block row gets the sum A_ii -
 * P_0 - ... and computes row r of its inverse by Gauss-Jordan elimination without row exchanges, again by itself. If
 * karst_block_inverse would or might exchange rows, or finds the block singular or not finite, the warp uses the steps
 * of karst_ilu_invert instead.
 *
 * The blocks of A come through shared memory (stage.h), and are in registers when the warp begins to wait. */
#include "gpu/dilu/fallback_inverse.h"
#include "gpu/dilu/stage.h"

namespace
{

/* Neighbours of a row that are processed together. */
enum { K = 3 };

/* Staged blocks: K blocks of E and the diagonal block of each block row, side by side, then the K mirror images, and
 * the sums of their rows. */
template <int B, bool MODIFIED> struct layout {
  static constexpr int R = 32 / B, OWN = (K + 1) * R, BLOCKS = OWN + K * R * (MODIFIED ? 2 : 1),
                       STRIDE = karst_dilu_stride<B>;
};

/* Shared memory of a warp. addend: the P_r, in pairs of doubles. */
template <int B, bool MODIFIED> struct staging {
  static constexpr int ADDEND = B == 1 ? 0 : B * B / 2 + 1;
  double2 addend[32 * ADDEND + 1];
  double value[layout<B, MODIFIED>::BLOCKS * layout<B, MODIFIED>::STRIDE];
  karst_index number[layout<B, MODIFIED>::BLOCKS];
};

/* The blocks E_ik and F_ki of A, and the slot of D_k^-1; -1 if missing. */
struct links {
  karst_index source[K], mirror[K], pivot[K];
};

struct work {
  karst_index slot, row, diagonal;
  bool active;
  int64_t e, end;
  links first;
};

template <int B>
__device__ __forceinline__ links fetch_links(const karst_dilu_cuda &plan, int64_t e, int64_t end, int q, bool active)
{
  constexpr int R = 32 / B;
  links found;
#pragma unroll
  for (int k = 0; k < K; k++, e++) {
    const bool there = active && e < end;
    found.source[k] = there ? plan.lower.source[e * R + q] : -1;
    found.mirror[k] = there ? plan.mirror[e * R + q] : -1;
    found.pivot[k] = there ? plan.pivot[e * R + q] : -1;
  }
  return found;
}

template <int B> __device__ __forceinline__ work find_work(const karst_dilu_cuda &plan, const karst_dilu_task &task)
{
  constexpr int R = 32 / B;
  const int q = (int)threadIdx.x % 32 / B;
  work found;
  found.slot = task.first / R * R + q;
  found.active = q < R && found.slot >= task.first && found.slot < task.end;
  found.e = task.begin;
  found.end = task.stop;
  found.first = fetch_links<B>(plan, found.e, found.end, q, found.active);
  found.row = found.active ? plan.lower.row[found.slot] : 0;
  found.diagonal = found.active ? plan.diagonal[found.slot] : -1;
  return found;
}

/* Queues the copies of the links' blocks, and of the diagonal block unless it is -1. */
template <int B, bool MODIFIED>
__device__ __forceinline__ void stage(const karst_dilu_cuda &plan, const karst_dilu_matrix &m, const links &link,
                                      karst_index diagonal, staging<B, MODIFIED> &staged)
{
  using all = layout<B, MODIFIED>;
  const int lane = (int)threadIdx.x % 32, q = lane / B;
  __syncwarp();
  if (q < all::R && lane % B == 0) {
#pragma unroll
    for (int k = 0; k < K; k++) {
      const bool there = MODIFIED ? link.pivot[k] >= 0 : link.mirror[k] >= 0;
      staged.number[q * (K + 1) + k] = there ? link.source[k] : -1;
      staged.number[all::OWN + q * K + k] = link.mirror[k];
      if (MODIFIED) staged.number[all::OWN + (K * all::R) + q * K + k] = there ? plan.lower.row[link.pivot[k]] : -1;
    }
    staged.number[q * (K + 1) + K] = diagonal;
  }
  __syncwarp();
  karst_dilu_stage<B, all::OWN + K * all::R>(m.value, staged.number, staged.value);
  if constexpr (MODIFIED)
    karst_dilu_stage<B, K * all::R>(plan.sum, staged.number + all::OWN + K * all::R,
                                    staged.value + (all::OWN + K * all::R) * all::STRIDE);
}

/* Waits until every lane of the warp has its rows of the blocks; zeros if from is NULL. Their columns are one constant
 * distance apart. */
template <int B> __device__ __forceinline__ void await_rows(const double *const (&from)[K], double (&row)[K][B])
{
  constexpr int NEXT = KARST_DILU_GROUP * B;
  bool waiting = false;
#pragma unroll
  for (int v = 0; v < K * B; v++) row[v / B][v % B] = from[v / B] ? karst_look(from[v / B] + v % B * NEXT) : 0;
#pragma unroll
  for (int v = 0; v < K * B; v++) waiting |= karst_is_absent(row[v / B][v % B]);
  while (__any_sync(~0u, waiting)) {
    waiting = false;
#pragma unroll
    for (int v = 0; v < K * B; v++)
      if (karst_is_absent(row[v / B][v % B])) row[v / B][v % B] = karst_look(from[v / B] + v % B * NEXT);
#pragma unroll
    for (int v = 0; v < K * B; v++) waiting |= karst_is_absent(row[v / B][v % B]);
  }
}

/* Replaces part by the sum over the lanes of the block row, the same in all of them. */
template <int B, bool MODIFIED>
__device__ __forceinline__ void add_lanes(int q, double (&part)[B][B], staging<B, MODIFIED> &staged)
{
  constexpr int BB = B * B, PAIRS = (BB + 1) / 2, STRIDE = staging<B, MODIFIED>::ADDEND;
  double all[2 * PAIRS];
#pragma unroll
  for (int v = 0; v < 2 * PAIRS; v++) all[v] = v < BB ? part[v / B][v % B] : 0;
#pragma unroll
  for (int v = 0; v < PAIRS; v++)
    staged.addend[threadIdx.x % 32 * STRIDE + v] = make_double2(all[2 * v], all[2 * v + 1]);
  __syncwarp();
#pragma unroll
  for (int v = 0; v < PAIRS; v++) {
    double2 sum = staged.addend[q * B * STRIDE + v];
#pragma unroll
    for (int j = 1; j < B; j++) {
      const double2 next = staged.addend[(q * B + j) * STRIDE + v];
      sum.x += next.x;
      sum.y += next.y;
    }
    all[2 * v] = sum.x;
    all[2 * v + 1] = sum.y;
  }
#pragma unroll
  for (int v = 0; v < BB; v++) part[v / B][v % B] = all[v];
}

/* Whether the lane's sums were so large that the pivots of the block need a careful check. size: of its P_r
 * (gpu/size.h). */
template <int B> __device__ __forceinline__ bool is_lost(const float (&size)[B][B], const karst_ilu_extent<B> &extent)
{
  bool lost = false;
#pragma unroll
  for (int i = 0; i < B; i++) lost = lost || karst_ilu_is_lost<B>(size[i], extent.row[i], extent.column);
  return lost;
}

/* Row r of the inverse of a, or of its replacement, in the steps of karst_block_inverse; lanes whose row is sound keep
 * it. size: of the lane's sums. */
template <int B>
__device__ __forceinline__ void invert_with_care(const karst_dilu_cuda &plan, const karst_dilu_matrix &m,
                                                 const work &here, const double (&a)[B][B], const float (&size)[B][B],
                                                 bool sound, double (&y)[B])
{
  const int lane = (int)threadIdx.x % 32;
  karst_ilu_place at = {lane / B, lane % B, here.active, 0};
  double row[B], largest = 0;
  float whole[B]; /* the size of the row */
  at.group = ((1u << B) - 1) << (at.q * B);
#pragma unroll
  for (int c = 0; c < B; c++) {
    row[c] = a[0][c];
#pragma unroll
    for (int i = 1; i < B; i++) row[c] = at.r == i ? a[i][c] : row[c];
    largest = fmax(largest, fabs(row[c]));
    whole[c] = karst_size(row[c]);
#pragma unroll
    for (int i = 0; i < B; i++)
#pragma unroll
      for (int j = 0; j < B; j++) {
        const float part = __shfl_sync(~0u, size[i][c], at.q * B + j);
        if (at.r == i) whole[c] = fmaxf(whole[c], part);
      }
    whole[c] = karst_size_of_many(whole[c], (int)(here.end - here.e));
  }
  const karst_reason reason = karst_ilu_invert<B>(at, whole, row);
  const double replacement = karst_dilu_replace<B>(sound ? KARST_SOUND : reason, m.start, m.value, m.shift, at,
                                                   here.row, here.diagonal, largest, plan.statistics);
#pragma unroll
  for (int c = 0; c < B; c++) {
    if (reason != KARST_SOUND) row[c] = c == at.r ? replacement : 0;
    if (!sound) y[c] = row[c];
  }
}

/* Initializes the sums of a lane: with A_ii in the first lane of a block row, with zeros in the others. */
template <int B, bool MODIFIED>
__device__ __forceinline__ void start_sums(const staging<B, MODIFIED> &staged, int q, int r, double (&part)[B][B],
                                           float (&size)[B][B])
{
#pragma unroll
  for (int v = 0; v < B * B; v++) {
    part[v % B][v / B] = r == 0 ? staged.value[(q * (K + 1) + K) * layout<B, MODIFIED>::STRIDE + v] : 0;
    size[v % B][v / B] = karst_size(part[v % B][v / B]);
  }
}

/* The factors of a lane: column r of E_ik, the elements of D_k^-1 at from, and F_ki. nonfinite: 0 unless an entry of
 * F_ki is NaN or infinite. */
template <int B> struct operands {
  const double *from[K];
  double left[K][B], right[K][B][B], nonfinite[K];
};

/* Loads the blocks of the links into registers. own: 0 unless an entry of E_ik is not finite. */
template <int B, bool MODIFIED>
__device__ __forceinline__ void read_blocks(const karst_dilu_matrix &m, const links &link, int q, int r,
                                            const staging<B, MODIFIED> &staged, operands<B> &to, double &own)
{
  using all = layout<B, MODIFIED>;
#pragma unroll
  for (int k = 0; k < K; k++) {
    const bool there = MODIFIED ? link.pivot[k] >= 0 : link.mirror[k] >= 0;
    const double *E = staged.value + (q * (K + 1) + k) * all::STRIDE,
                 *F = staged.value + (all::OWN + q * K + k) * all::STRIDE;
    to.from[k] = there ? m.inverse + karst_dilu_element<B>(link.pivot[k], r, 0) : NULL;
    to.nonfinite[k] = 0;
#pragma unroll
    for (int i = 0; i < B; i++) {
      to.left[k][i] = E[r * B + i];
      own += to.left[k][i] * 0;
      to.nonfinite[k] += F[r * B + i] * 0;
    }
#pragma unroll
    for (int v = 0; v < B * B; v++) {
      double entry = F[v];
      if (MODIFIED) entry += m.modified * (F[v + K * all::R * all::STRIDE] - entry);
      to.right[k][v % B][v / B] = entry;
    }
  }
}

/* Reports the rows of blocks F_ki that are not finite. */
template <int B>
__device__ __forceinline__ void check_mirrors(const karst_dilu_cuda &plan, const links &link, bool active,
                                              const operands<B> &of)
{
#pragma unroll
  for (int k = 0; k < K; k++)
    if (__any_sync(~0u, of.nonfinite[k] != 0 && active)) {
      if (active && link.mirror[k] >= 0) karst_dilu_check(plan, plan.lower.row[link.pivot[k]], of.nonfinite[k]);
    }
}

/* Subtracts the products, with row r of each D_k^-1. */
template <int B>
__device__ __forceinline__ void subtract(const operands<B> &of, const double (&inverse)[K][B], double (&part)[B][B],
                                         float (&size)[B][B])
{
#pragma unroll
  for (int k = 0; k < K; k++)
#pragma unroll
    for (int d = 0; d < B; d++) {
      double factor = 0;
#pragma unroll
      for (int c = 0; c < B; c++) factor += inverse[k][c] * of.right[k][c][d];
#pragma unroll
      for (int i = 0; i < B; i++) {
        part[i][d] -= of.left[k][i] * factor;
        size[i][d] = karst_size_after(size[i][d], part[i][d]);
      }
    }
}

/* Computes row r of the inverse of D_i; each lane of the block row has all of D_i. size: of the lane's sums. */
template <int B>
__device__ __forceinline__ void invert(const karst_dilu_cuda &plan, const karst_dilu_matrix &m, const work &here, int r,
                                       double (&sum)[B][B], const float (&size)[B][B], double (&y)[B])
{
  double block[B][B];
#pragma unroll
  for (int v = 0; v < B * B; v++) block[v / B][v % B] = sum[v / B][v % B];
  karst_ilu_extent<B> extent;
  bool sound = karst_ilu_solve_row<B>(sum, r, extent, y);
  sound = sound && !is_lost<B>(size, extent);
  const unsigned unsound = __ballot_sync(~0u, here.active && !sound);
  if (!unsound) return;
  sound = (unsound >> (threadIdx.x % 32 / B * B) & ((1u << B) - 1)) == 0; /* the lanes of a block agree */
  invert_with_care<B>(plan, m, here, block, size, sound, y);
}

template <int B, bool MODIFIED>
__global__ void __launch_bounds__(KARST_ILU_THREADS) factor_small(const karst_dilu_cuda plan, const karst_dilu_matrix m)
{
  __shared__ staging<B, MODIFIED> shared[KARST_ILU_THREADS / 32];
  staging<B, MODIFIED> &staged = shared[threadIdx.x / 32];
  const int lane = (int)threadIdx.x % 32, r = lane % B, q = min(lane / B, layout<B, MODIFIED>::R - 1);
  const int64_t warps = (int64_t)gridDim.x * (KARST_ILU_THREADS / 32), tasks = plan.lower.tasks;
  int64_t number = ((int64_t)blockIdx.x * KARST_ILU_THREADS + threadIdx.x) / 32;
  auto record = [&](int64_t of) { return karst_dilu_find_task(plan.lower_task, plan.lower.tasks, of); };
  work now = find_work<B>(plan, record(number)), next = find_work<B>(plan, record(number + warps));
  karst_dilu_task ahead = record(number + 2 * warps);
  stage<B, MODIFIED>(plan, m, now.first, now.diagonal, staged);
  for (; number < tasks; number += warps) {
    const work here = now;
    links link = here.first;
    double part[B][B], y[B], own = 0;
    float size[B][B]; /* of part */
    for (int64_t e = here.e;;) {
      const bool beginning = e == here.e;
      operands<B> of;
      double inverse[K][B];
      e += K;
      const bool last = e >= here.end;
      karst_await_copies();
      __syncwarp();
      if (beginning) start_sums<B, MODIFIED>(staged, q, r, part, size);
      read_blocks<B, MODIFIED>(m, link, q, r, staged, of, own);
      const links current = link;
      if (last)
        link = next.first;
      else
        link = fetch_links<B>(plan, e, here.end, lane / B, here.active);
      stage<B, MODIFIED>(plan, m, link, last ? next.diagonal : -1, staged);
      if (last) {
        now = next;
        next = find_work<B>(plan, ahead);
        ahead = record(number + 3 * warps);
      }
      check_mirrors<B>(plan, current, here.active, of);
      await_rows<B>(of.from, inverse);
      subtract<B>(of, inverse, part, size);
      if (last) break;
    }
    if constexpr (B > 1) add_lanes<B, MODIFIED>(q, part, staged);
    invert<B>(plan, m, here, r, part, size, y);
#pragma unroll
    for (int c = 0; c < B; c++)
      if (here.active) karst_publish(m.inverse + karst_dilu_element<B>(here.slot, r, c), y[c]);
    if (here.active) karst_dilu_check(plan, here.row, own);
  }
}

} // namespace

const void *karst_dilu_factor_small_cuda(int block_size, bool modified)
{
  const void *kernel = NULL;
  karst_cuda_instance(block_size, [&](auto size) {
    constexpr int B = decltype(size)::value;
    if constexpr (B > 0 && B <= KARST_DILU_SMALL)
      kernel = modified ? (const void *)factor_small<B, true> : (const void *)factor_small<B, false>;
  });
  return kernel;
}
