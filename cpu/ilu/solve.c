/* solve.c - z = (L D U')^-1 r on the CPU, in two sweeps over one vector:
 *
 *     forward    z_i = r_i - sum_{p < i} L_ip z_p
 *     backward   z_i = D_i^-1 z_i - sum_{j > i} U'_ij z_j
 *
 * The multiplication by D_i^-1 is in the backward sweep, where it does not depend on other rows. So in both sweeps a
 * row waits for the row before it with a single block product only. Sums end with the neighbour that is computed last,
 * so that the others are ready when it arrives.
 *
 * The two sweeps move L, D^-1 and U' with their columns once, read r once, and read and write z twice. */
#include "cpu/ilu/ilu_cpu.h"

#include "cpu/cpu.h"
#include "lib/backend/dense.h"

/* Larger blocks are streams that the processor prefetches by itself. */
enum { LARGEST_PREFETCHED = 4 };

typedef void sweep_function(const karst_ilu *ilu, karst_index first, karst_index last, const double *r, double *z);

KARST_INLINE void forward(int b, const karst_ilu *ilu, karst_index first, karst_index last, const double *r, double *z)
{
  const int64_t bb = (int64_t)b * b;
  const karst_index *start = ilu->lower_start, *column = ilu->lower_column;
  for (karst_index i = first; i < last; i++) {
    const int64_t blocks = start[i + 1] - start[i];
    double sum[b];
    if (b <= LARGEST_PREFETCHED) karst_prefetch(ilu->lower + start[i] * bb, blocks * bb * 8, KARST_PREFETCH_VALUES);
    for (int c = 0; c < b; c++) sum[c] = r[(int64_t)i * b + c];
    for (karst_index k = start[i]; k < start[i + 1]; k++)
      karst_block_subtract_product(b, ilu->lower + k * bb, z + (int64_t)column[k] * b, sum);
    for (int c = 0; c < b; c++) z[(int64_t)i * b + c] = sum[c];
  }
}

KARST_INLINE void backward(int b, const karst_ilu *ilu, karst_index first, karst_index last, double *z)
{
  const int64_t bb = (int64_t)b * b;
  const karst_index *start = ilu->upper_start, *column = ilu->upper_column;
  for (karst_index i = last; i-- > first;) {
    const int64_t blocks = start[i + 1] - start[i];
    double sum[b];
    if (b <= LARGEST_PREFETCHED) karst_prefetch(ilu->upper + start[i] * bb, blocks * bb * 8, -KARST_PREFETCH_VALUES);
    for (int c = 0; c < b; c++) sum[c] = 0;
    karst_block_add_product(b, ilu->inverse_diagonal + i * bb, z + (int64_t)i * b, sum);
    for (karst_index k = start[i + 1]; k-- > start[i];)
      karst_block_subtract_product(b, ilu->upper + k * bb, z + (int64_t)column[k] * b, sum);
    for (int c = 0; c < b; c++) z[(int64_t)i * b + c] = sum[c];
  }
}

#define INSTANCE(NAME, B)                                                                                              \
  KARST_KERNEL static void forward_##NAME(const karst_ilu *ilu, karst_index first, karst_index last, const double *r,  \
                                          double *z)                                                                   \
  {                                                                                                                    \
    forward(B, ilu, first, last, r, z);                                                                                \
  }                                                                                                                    \
  KARST_KERNEL static void backward_##NAME(const karst_ilu *ilu, karst_index first, karst_index last, const double *r, \
                                           double *z)                                                                  \
  {                                                                                                                    \
    (void)r;                                                                                                           \
    backward(B, ilu, first, last, z);                                                                                  \
  }
#define INSTANCES(B) INSTANCE(B, B)
KARST_BLOCK_SIZES(INSTANCES)
INSTANCE(any, ilu->block_size)
#undef INSTANCES
#undef INSTANCE

/* Takes the runs of one level in parallel, level after level. A single thread takes all rows in order. */
static void sweep_runs(karst_context *context, karst_kind kind, const karst_schedule *schedule, sweep_function *rows,
                       const karst_ilu *ilu, const double *r, double *z)
{
  karst_piece piece = karst_ilu_begin(context, kind, ilu, schedule);
  karst_barrier barrier = {0};
  if (piece.threads == 1)
    rows(ilu, 0, ilu->rows, r, z);
  else
#pragma omp parallel num_threads(piece.threads)
    for (karst_index level = 0; level < schedule->levels; level++) {
      karst_index run, end;
      if (level > 0) karst_barrier_wait(&barrier, karst_team());
      karst_schedule_share(schedule, level, karst_thread(), karst_team(), &run, &end);
      for (; run < end; run++) rows(ilu, schedule->run_first[run], schedule->run_last[run], r, z);
    }
  karst_end(context, &piece);
}

void karst_ilu_solve_cpu(karst_context *context, const karst_ilu *ilu, const double *r, double *z)
{
#define FORWARD(B) [B] = forward_##B,
#define BACKWARD(B) [B] = backward_##B,
  static sweep_function *const forwards[] = {forward_any, KARST_BLOCK_SIZES(FORWARD)};
  static sweep_function *const backwards[] = {backward_any, KARST_BLOCK_SIZES(BACKWARD)};
#undef FORWARD
#undef BACKWARD
  const karst_ilu_plan *plan = ilu->plan;
  int instance = ilu->block_size <= KARST_BLOCK_SIZE_LARGEST_INSTANCE ? ilu->block_size : 0;
  sweep_runs(context, KARST_KIND_FORWARD, &plan->lower, forwards[instance], ilu, r, z);
  sweep_runs(context, KARST_KIND_BACKWARD, &plan->upper, backwards[instance], ilu, r, z);
}
