/* solve.c - z = M^-1 r with M = (D + E) D^-1 (D + F) on the CPU, in two sweeps over one vector:
 *
 *     forward    z_i = D_i^-1 (r_i - sum_{k < i} E_ik z_k)
 *     backward   z_i = z_i - D_i^-1 sum_{j > i} F_ij z_j
 *
 * Sums end with the neighbour that is computed last, so that the others are ready when it arrives.
 *
 * E and F are read from A, or with D^-1 from copies in float. The two sweeps move D^-1 twice and E and F once; if
 * blocks are smaller than a cache line, much of the other triangle is loaded with them. r is read once, and z read and
 * written twice. */
#include "cpu/dilu/dilu_cpu.h"

#include "lib/backend/dense.h"

/* Larger blocks are streams that the processor prefetches by itself. */
enum { LARGEST_PREFETCHED = 4 };

typedef void dilu_sweep_function(const karst_matrix *A, const karst_dilu *dilu, karst_index first, karst_index last,
                                 const double *r, double *z);

#define T double
#define NAME(x) x
#define VALUE A->value
#define INVERSE dilu->inverse
#include "cpu/dilu/dilu_sweep_template.h"
#undef T
#undef NAME
#undef VALUE
#undef INVERSE
#define T float
#define NAME(x) x##_float
#define VALUE dilu->value_float
#define INVERSE dilu->inverse_float
#include "cpu/dilu/dilu_sweep_template.h"
#undef T
#undef NAME
#undef VALUE
#undef INVERSE

/* Takes the runs of one level in parallel, level after level. A single thread takes all rows in order. */
static void sweep(karst_context *context, karst_kind kind, const karst_schedule *schedule, dilu_sweep_function *rows,
                  const karst_matrix *A, const karst_dilu *dilu, const double *r, double *z)
{
  const int threads = karst_dilu_runs_of(dilu)->threads;
  karst_piece piece = karst_schedule_begin(context, kind, A->block_size, threads, schedule);
  karst_barrier barrier = {0};
  if (piece.threads == 1)
    rows(A, dilu, 0, A->block_rows, r, z);
  else
#pragma omp parallel num_threads(piece.threads)
    for (karst_index level = 0; level < schedule->levels; level++) {
      karst_index run, end;
      if (level > 0) karst_barrier_wait(&barrier, karst_team());
      karst_schedule_share(schedule, level, karst_thread(), karst_team(), &run, &end);
      for (; run < end; run++) rows(A, dilu, schedule->run_first[run], schedule->run_last[run], r, z);
    }
  karst_end(context, &piece);
}

void karst_dilu_solve_cpu(karst_context *context, const karst_matrix *A, const karst_dilu *dilu, const double *r,
                          double *z)
{
  const karst_dilu_runs *runs = karst_dilu_runs_of(dilu);
  const bool single = dilu->analysis->single;
  const int instance = A->block_size <= KARST_BLOCK_SIZE_LARGEST_INSTANCE ? A->block_size : 0;
  dilu_sweep_function *down = (single ? forwards_float : forwards)[instance];
  dilu_sweep_function *up = (single ? backwards_float : backwards)[instance];
  sweep(context, KARST_KIND_FORWARD, &runs->forward, down, A, dilu, r, z);
  sweep(context, KARST_KIND_BACKWARD, &runs->backward, up, A, dilu, r, z);
}
