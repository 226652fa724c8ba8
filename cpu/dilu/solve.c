/* solve.c - z = M^-1 r with M = (D + E) D^-1 (D + F) on the CPU, in two sweeps over one vector:
 *
 *     forward    z_i = D_i^-1 (r_i - sum_{k < i} E_ik z_k)
 *     backward   z_i = z_i - D_i^-1 sum_{j > i} F_ij z_j
 *
 * Sums end with the neighbour that is computed last, so that the others are ready when it arrives.
 *
 * E and F are read from A. The two sweeps move D^-1 twice and E and F once; if blocks are smaller than a cache line,
 * much of the other triangle is loaded with them. r is read once, and z read and written twice. */
#include "cpu/dilu/dilu_cpu.h"

#include "lib/backend/dense.h"

/* Larger blocks are streams that the processor prefetches by itself. */
enum { LARGEST_PREFETCHED = 4 };

typedef void dilu_sweep_function(const karst_matrix *A, const karst_dilu *dilu, karst_index first, karst_index last,
                                 const double *r, double *z);

KARST_INLINE void forward(int b, const karst_matrix *A, const karst_dilu *dilu, karst_index first, karst_index last,
                          const double *r, double *z)
{
  const int64_t bb = (int64_t)b * b;
  const karst_index *lower = karst_dilu_runs_of(dilu)->lower, *start = A->row_start, *column = A->column;
  for (karst_index i = first; i < last; i++) {
    const karst_index diagonal = start[i] + (lower[i + 1] - lower[i]);
    double sum[b], product[b];
    if (b <= LARGEST_PREFETCHED)
      karst_prefetch(A->value + start[i] * bb, (int64_t)(start[i + 1] - start[i]) * bb * 8, KARST_PREFETCH_VALUES);
    for (int c = 0; c < b; c++) sum[c] = r[(int64_t)i * b + c];
    for (karst_index e = start[i]; e < diagonal; e++)
      karst_block_subtract_product(b, A->value + e * bb, z + (int64_t)column[e] * b, sum);
    for (int c = 0; c < b; c++) product[c] = 0;
    karst_block_add_product(b, dilu->inverse + i * bb, sum, product);
    for (int c = 0; c < b; c++) z[(int64_t)i * b + c] = product[c];
  }
}

KARST_INLINE void backward(int b, const karst_matrix *A, const karst_dilu *dilu, karst_index first, karst_index last,
                           double *z)
{
  const int64_t bb = (int64_t)b * b;
  const karst_index *lower = karst_dilu_runs_of(dilu)->lower, *start = A->row_start, *column = A->column;
  for (karst_index i = last; i-- > first;) {
    const karst_index diagonal = start[i] + (lower[i + 1] - lower[i]);
    double sum[b], product[b];
    if (b <= LARGEST_PREFETCHED)
      karst_prefetch(A->value + start[i] * bb, (int64_t)(start[i + 1] - start[i]) * bb * 8, -KARST_PREFETCH_VALUES);
    for (int c = 0; c < b; c++) sum[c] = 0;
    for (karst_index e = start[i + 1]; e-- > diagonal + 1;)
      karst_block_add_product(b, A->value + e * bb, z + (int64_t)column[e] * b, sum);
    for (int c = 0; c < b; c++) product[c] = z[(int64_t)i * b + c];
    karst_block_subtract_product(b, dilu->inverse + i * bb, sum, product);
    for (int c = 0; c < b; c++) z[(int64_t)i * b + c] = product[c];
  }
}

#define INSTANCE(NAME, B)                                                                                              \
  KARST_KERNEL static void dilu_forward_##NAME(const karst_matrix *A, const karst_dilu *dilu, karst_index first,       \
                                               karst_index last, const double *r, double *z)                           \
  {                                                                                                                    \
    forward(B, A, dilu, first, last, r, z);                                                                            \
  }                                                                                                                    \
  KARST_KERNEL static void dilu_backward_##NAME(const karst_matrix *A, const karst_dilu *dilu, karst_index first,      \
                                                karst_index last, const double *r, double *z)                          \
  {                                                                                                                    \
    (void)r;                                                                                                           \
    backward(B, A, dilu, first, last, z);                                                                              \
  }
#define INSTANCES(B) INSTANCE(B, B)
KARST_BLOCK_SIZES(INSTANCES)
INSTANCE(any, A->block_size)
#undef INSTANCES
#undef INSTANCE

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
#define FORWARD(B) [B] = dilu_forward_##B,
#define BACKWARD(B) [B] = dilu_backward_##B,
  static dilu_sweep_function *const forwards[] = {dilu_forward_any, KARST_BLOCK_SIZES(FORWARD)};
  static dilu_sweep_function *const backwards[] = {dilu_backward_any, KARST_BLOCK_SIZES(BACKWARD)};
#undef FORWARD
#undef BACKWARD
  const karst_dilu_runs *runs = karst_dilu_runs_of(dilu);
  const int instance = A->block_size <= KARST_BLOCK_SIZE_LARGEST_INSTANCE ? A->block_size : 0;
  sweep(context, KARST_KIND_FORWARD, &runs->forward, forwards[instance], A, dilu, r, z);
  sweep(context, KARST_KIND_BACKWARD, &runs->backward, backwards[instance], A, dilu, r, z);
}
