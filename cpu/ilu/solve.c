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

struct pass {
  const karst_ilu *ilu;
  const double *r;
  double *z;
};

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

void karst_ilu_solve_cpu(karst_context *context, const karst_ilu *ilu, const double *r, double *z)
{
  const karst_ilu_plan *plan = ilu->plan;
  const int instance = ilu->block_size <= KARST_BLOCK_SIZE_LARGEST_INSTANCE ? ilu->block_size : 0;
  const int b = ilu->block_size, threads = plan->threads;
  struct pass pass = {.ilu = ilu, .r = r};
  pass.z = z;
  karst_sweep_rows *down = (ilu->single ? forwards_float : forwards)[instance];
  karst_sweep_rows *up = (ilu->single ? backwards_float : backwards)[instance];
  karst_schedule_sweep(context, KARST_KIND_FORWARD, b, threads, &plan->lower, ilu->rows, down, &pass);
  karst_schedule_sweep(context, KARST_KIND_BACKWARD, b, threads, &plan->upper, ilu->rows, up, &pass);
}
