/* lanes.h - whole systems in one pass over memory: split inside a thread block, for blocks that a lane holds in its
 * registers. After Laszlo, Giles and Appleyard, Manycore algorithms for batch scalar and block tridiagonal solvers, ACM
 * TOMS 42, 2016, who do so for scalars.
 *
 * A lane takes a piece of R consecutive rows, the last of a system perhaps fewer. All rows of a warp are first copied
 * to shared memory (lane_tile.h), where W, P and F of a row take the place of its c, a and f (tridiagonal_cuda.h). The
 * last row of each piece is a separator; the separators of a system are solved by PCR, each lane with its own in
 * registers. Then each lane finds the unknowns of its interior.
 *
 *     copy    a  b  c  f   of R rows                                       | all lanes of a warp, coalesced
 *     down    W  P  F      of R - 1 rows, and H Q G of the first, for the
 *                          lane before; equation of the separator          | each lane
 *     PCR     log2(pieces) steps                                           | the lanes of a system
 *     up      u            of R - 1 rows                                   | each lane
 *     copy    u                                                            | all lanes of a warp, coalesced
 *
 * The systems may be interiors of pieces whose separators are known. Or the separators of these pieces are to be found:
 * then the first and the last lane keep their couplings to them through PCR, and the equations of the separators are
 * stored. WARP: the lanes of a system are in one warp.
 *
 * If one thread block fills a multiprocessor, it takes system after system, and copies b of the next one while PCR and
 * what follows need only a, c and f. */
#ifndef KARST_GPU_TRIDIAGONAL_LANES_H
#define KARST_GPU_TRIDIAGONAL_LANES_H

#include "gpu/tridiagonal/lane.h"

template <typename T, int M, int R, bool AOS, bool WARP>
__global__ void __launch_bounds__(WARP ? 128 : karst_tri_lane_threads(M))
    karst_tri_lanes(karst_tri_systems<T> s, karst_tri_cut cut, karst_tri_spread spread, int64_t blocks)
{
  using L = karst_tri_lane<T, M, R, AOS, WARP>;
  using K = typename L::K;
  extern __shared__ double karst_tri_shared[];
  L l(s, spread, reinterpret_cast<T *>(karst_tri_shared));
  int64_t block = blockIdx.x;
  karst_tri_lane_place place = l.find(cut, spread, block);
  l.load_diagonal(place);
#pragma unroll 1
  do {
    l.load(place);
    K::zero(l.X), K::identity(l.P, -1);
    if (l.lane == 0) { /* the separator before the system is known, or is not there */
      K::zero(l.P);
      if (cut.separated && l.of.first > 0 && l.live) K::read_vector(l.X, karst_tri_const(s.solution), l.of.row - 1);
    }
    l.template down<true>();
    if (l.own() && l.lane == l.lanes - 1) { /* so is the one after it */
      if (cut.separated) {
        typename K::augmented known;
        K::read_vector(known, karst_tri_const(s.solution), l.of.row + l.of.count);
        K::subtract_vector(l.D, l.C, known);
      }
      K::zero(l.C);
    }
    block += gridDim.x;
    if (!WARP && block < blocks) {
      __syncwarp();
      place = l.find(cut, spread, block);
      l.load_diagonal(place);
    }
    l.link();
#pragma unroll 1
    for (int reach = 1, step = 2; reach < spread.lanes; reach *= 2) l.reach_out(reach, step++);
    l.up();
    __syncwarp();
    l.tile.store(s.solution, l.row);
    __syncwarp();
  } while (!WARP && block < blocks);
}

/* Eliminates interiors, as karst_tri_reduce (pieces.h) does: a warp takes one. */
template <typename T, int M, int R, bool AOS>
__global__ void __launch_bounds__(128) karst_tri_lane_separators(karst_tri_systems<T> s, karst_tri_cut cut,
                                                                 karst_tri_spread spread, karst_tri_reduced<T> to)
{
  using L = karst_tri_lane<T, M, R, AOS, true>;
  using K = typename L::K;
  extern __shared__ double karst_tri_shared[];
  L l(s, spread, reinterpret_cast<T *>(karst_tri_shared));
  const karst_tri_lane_place place = l.find(cut, spread, blockIdx.x);
  const T scalar = l.separator_scalar(place);
  l.load_diagonal(place);
  l.load(place);
  K::zero(l.X), K::identity(l.P, -1);
  l.template down<false>();
  l.link();
#pragma unroll 1
  for (int reach = 1, step = 2; reach < spread.lanes; reach *= 2) l.reach_out(reach, step++);
  l.condense(to, L::group_of(blockIdx.x), scalar);
}

#endif
