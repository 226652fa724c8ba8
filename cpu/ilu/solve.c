/* solve.c - z = (L D U')^-1 r on the CPU, in two sweeps over one vector:
 *
 *     forward    z_i = r_i - sum_{p < i} L_ip z_p
 *     backward   z_i = D_i^-1 z_i - sum_{j > i} U'_ij z_j
 *
 * The multiplication by D_i^-1 is in the backward sweep, where it does not depend on other rows. So in both sweeps a
 * row waits for the row before it with a single block product only. Sums end with the neighbour that is computed last,
 * so that the others are ready when it arrives.
 *
 * The two sweeps move L, D^-1 and U' with their columns once, read r once, and read and write z twice. With factors in
 * float the products and sums are double, so that M^-1 is the same linear operator in each apply. */
#include "cpu/ilu/ilu_cpu.h"

#include "cpu/cpu.h"
#include "lib/backend/dense.h"

/* Larger blocks are streams that the processor prefetches by itself. */
enum { LARGEST_PREFETCHED = 4 };

typedef void sweep_function(const karst_ilu *ilu, karst_index first, karst_index last, const double *r, double *z);

#define T double
#define NAME(x) x
#include "cpu/ilu/ilu_sweep_template.h"
#undef T
#undef NAME
#define T float
#define NAME(x) x##_float
#include "cpu/ilu/ilu_sweep_template.h"
#undef T
#undef NAME

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
  const karst_ilu_plan *plan = ilu->plan;
  const int instance = ilu->block_size <= KARST_BLOCK_SIZE_LARGEST_INSTANCE ? ilu->block_size : 0;
  sweep_function *down = (ilu->single ? forwards_float : forwards)[instance];
  sweep_function *up = (ilu->single ? backwards_float : backwards)[instance];
  sweep_runs(context, KARST_KIND_FORWARD, &plan->lower, down, ilu, r, z);
  sweep_runs(context, KARST_KIND_BACKWARD, &plan->upper, up, ilu, r, z);
}
