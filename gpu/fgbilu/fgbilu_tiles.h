/* fgbilu_tiles.h - fgbilu on the GPU in one launch for the factorization and one for each sweep: how the grid is cut,
 * and how cells pass values to each other.
 *
 * The grid is cut into lines of cells along one axis (along), and the lines into tiles of TA by TB lines, side by side
 * in the other two axes (a and b). A tile works in steps: step s computes the cell i = s - a - b of each line (a,b).
 * All cells of a step lie in one hyperplane, and each needs only results of the step before: the cell behind it in its
 * own line, and those in the lines at a - 1 and b - 1. Upward sweeps count cells and lines from the other end of each
 * axis.
 *
 * A tile is a thread block of W warps, which take its steps in turn: warp w the steps w, w + W, ... A warp loads the
 * blocks of its cells while the others work. Then it waits for the step before; its values are in shared memory, with
 * one mbarrier a step. So the critical path from step to step is only that wait, the products and an arrival.
 *
 * Between tiles values go by mail: a tile has an inbox in global memory, with a place for each value that the tiles at
 * a - 1 and b - 1 send it in each step. The values carry their own flag, as in gpu/ilu/ilu_cuda.h: a NaN with all bits
 * set means "absent". Each place has one reader, which marks it absent again for the next sweep. The factorization has
 * no mail: the elements of the factor itself are absent before, and are their own flags.
 *
 * Tiles are taken by tickets, diagonal by diagonal of a + b. A tile needs only tiles with earlier tickets, whose thread
 * blocks are running or done. So the number of resident thread blocks does not matter. */
#ifndef KARST_GPU_FGBILU_FGBILU_TILES_H
#define KARST_GPU_FGBILU_FGBILU_TILES_H

#include "gpu/fgbilu/fgbilu_cuda.h"
#include "gpu/queue.h"

/* The positions of the blocks of a cell; row -1 for a hole. */
typedef struct alignas(4 * sizeof(karst_index)) karst_fgbilu_cell {
  karst_index start; /* the first block of its row in A */
  karst_index row;
  uint64_t place; /* karst_place */
} karst_fgbilu_cell;

typedef struct karst_fgbilu_tile {
  karst_index a, b;
} karst_fgbilu_tile;

/* How many lines a tile has along a and b. The rows of their cells in a step are lanes of one warp. */
typedef struct karst_fgbilu_shape {
  int a, b;
} karst_fgbilu_shape;

/* For blocks of n up to 32, with and without a second axis beside the lines. */
__host__ __device__ constexpr karst_fgbilu_shape karst_fgbilu_shape_for(int n, bool flat)
{
  const int lines = 32 / n;
  if (flat || lines < 4) return {lines, 1};
  if (n == 1) return {8, 4};
  if (n == 2) return {4, 4};
  return {lines / 2, 2};
}

/* The state of the variant; arrays in device memory. */
typedef struct karst_fgbilu_tiles {
  bool flat;                /* across[1] is 1 */
  int axis[3];              /* along, a, b: which of x, y, z */
  karst_index length;       /* cells of a line */
  karst_index across[2];    /* lines along a and b */
  karst_index tiles[2];     /* tiles along a and b */
  karst_fgbilu_cell *cell;  /* [cells] by cell numbers */
  karst_fgbilu_tile *order; /* [tiles[0] tiles[1]] by diagonals */
} karst_fgbilu_tiles;

static inline const karst_fgbilu_tiles *karst_fgbilu_tiles_of(const karst_fgbilu *fgbilu)
{
  return static_cast<const karst_fgbilu_tiles *>(karst_fgbilu_cuda_of(fgbilu->analysis)->state);
}

/* The work space of a sweep or of the factorization. */
typedef struct karst_fgbilu_mail {
  double *inbox;              /* device memory, all absent between launches; NULL for tickets alone */
  unsigned long long *ticket; /* device memory: tiles taken since the beginning */
} karst_fgbilu_mail;

/* The same for kernels, counted from one end of the grid or the other. */
typedef struct karst_fgbilu_march {
  int n;
  karst_index length, across[2], tiles[2];
  int64_t first, step, beside[2]; /* the number of the first line's first cell, and what is added along, a and b */
  int face[3];                    /* behind the cell: along, a, b */
  const karst_fgbilu_cell *cell;
  const karst_fgbilu_tile *order;
  const double *value; /* of A */
  double *factor;
  double *inbox;
  unsigned long long *ticket;
  unsigned long long *first_fault;
} karst_fgbilu_march;

/* tiles.cu: allows a kernel that many bytes of dynamic shared memory, or as many as the GPU has. The limit holds for
 * the kernel in the whole process, so all plans that launch it ask for the same number, that of its largest blocks. */
cudaError_t karst_fgbilu_allow_shared_cuda(karst_context *context, const void *kernel, size_t largest);
karst_status karst_fgbilu_cut_tiles_cuda(karst_context *context, const karst_matrix *A,
                                         karst_fgbilu_analysis *analysis);
void karst_fgbilu_forget_tiles_cuda(karst_context *context, karst_fgbilu_cuda *plan);
/* Makes a mail with places for that many values a step and tile (0: tickets alone). */
karst_status karst_fgbilu_take_mail_cuda(karst_context *context, karst_fgbilu *fgbilu, int64_t places, void **mail);
void karst_fgbilu_release_mail_cuda(karst_context *context, void *mail);
karst_fgbilu_march karst_fgbilu_march_cuda(const karst_matrix *A, const karst_fgbilu *fgbilu, const void *mail,
                                           bool upward);

extern const karst_fgbilu_factor_variant karst_fgbilu_factor_tiles_cuda; /* tiles_factor.cu */
extern const karst_fgbilu_sweep_variant karst_fgbilu_sweep_tiles_cuda;   /* tiles_sweep.cu */

/* The most shared memory, in bytes, that a thread block of the files below has. */
size_t karst_fgbilu_sweep_large_shared_cuda(int n);
size_t karst_fgbilu_factor_large_shared_cuda(int n);

/* tiles_sweep_large.cu: a sweep for blocks of 9 to 32, and what a plan of one needs. Its mail has n times the lines of
 * a tile along both axes, (a + b) n, places. Upward, in may be out. */
karst_status karst_fgbilu_plan_sweep_large_cuda(karst_context *context, int n);
void karst_fgbilu_sweep_large_cuda(karst_context *context, const karst_fgbilu_march *march, bool upward,
                                   const double *in, double *out);

/* tiles_factor_large.cu: the factorization for blocks of 9 to 32, the factor absent before, and what a plan of it
 * needs. */
karst_status karst_fgbilu_plan_factor_large_cuda(karst_context *context, int n, bool pivoting);
void karst_fgbilu_factor_large_cuda(karst_context *context, const karst_fgbilu_march *march, bool pivoting);

#ifdef __CUDACC__
/* An mbarrier that expects one arrival of each lane of a warp a phase. One lane could arrive for all after __syncwarp,
 * which orders their stores before its arrival. That is no faster, and compute-sanitizer's racecheck, which follows
 * each lane's own arrival, reports hazards. GPUs before compute capability 8.0 have no mbarriers; there steps are
 * counted. */
static __device__ __forceinline__ void karst_step_init(uint64_t *step)
{
#if __CUDA_ARCH__ >= 800
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 32;" ::"r"(karst_shared_address(step)) : "memory");
#else
  *step = 0;
#endif
}

/* Called by the whole warp: publishes its stores to shared memory to the warps that wait for the step. */
static __device__ __forceinline__ void karst_step_done(uint64_t *step)
{
#if __CUDA_ARCH__ >= 800
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(karst_shared_address(step)) : "memory");
#else
  volatile uint64_t *steps = step;
  __syncwarp();
  if (threadIdx.x % 32 > 0) return;
  __threadfence_block();
  *steps = *steps + 1; /* no other warp counts before a warp that waits for this has gone on */
#endif
}

/* Called by the whole warp, which stays together: for shuffles after a loop that lanes leave one by one, nvcc generates
 * slow code. phase: the parity of the number, from 0, of the step to wait for among those of this mbarrier. */
static __device__ __forceinline__ void karst_step_await(uint64_t *step, uint32_t phase)
{
  uint32_t done;
  do {
#if __CUDA_ARCH__ >= 800
    asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done)
                 : "r"(karst_shared_address(step)), "r"(phase)
                 : "memory");
#else
    done = (uint32_t)(*(const volatile uint64_t *)step & 1U) != phase;
#endif
  } while (!__all_sync(~0u, done));
#if __CUDA_ARCH__ < 800
  __threadfence_block();
#endif
}

/* Takes the next tile's ticket; one thread calls it. */
static __device__ __forceinline__ karst_fgbilu_tile karst_next_tile(const karst_fgbilu_march &m)
{
  const unsigned long long tiles = (unsigned long long)m.tiles[0] * (unsigned long long)m.tiles[1];
  return m.order[atomicAdd(m.ticket, 1ULL) % tiles];
}
#endif

#endif
