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

struct pass {
  const karst_matrix *A;
  const karst_dilu *dilu;
  const double *r;
  double *z;
};

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

void karst_dilu_solve_cpu(karst_context *context, const karst_matrix *A, const karst_dilu *dilu, const double *r,
                          double *z)
{
  const karst_dilu_runs *runs = karst_dilu_runs_of(dilu);
  const bool single = dilu->analysis->single;
  const int instance = A->block_size <= KARST_BLOCK_SIZE_LARGEST_INSTANCE ? A->block_size : 0;
  const int b = A->block_size, threads = runs->threads;
  struct pass pass = {.A = A, .dilu = dilu, .r = r};
  pass.z = z;
  karst_sweep_rows *down = (single ? forwards_float : forwards)[instance];
  karst_sweep_rows *up = (single ? backwards_float : backwards)[instance];
  karst_schedule_sweep(context, KARST_KIND_FORWARD, b, threads, &runs->forward, A->block_rows, down, &pass);
  karst_schedule_sweep(context, KARST_KIND_BACKWARD, b, threads, &runs->backward, A->block_rows, up, &pass);
}
