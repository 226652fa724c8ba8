/* reduce.c - cyclic reduction (CR), parallel cyclic reduction (PCR) and their hybrid for groups of block-tridiagonal
 * systems on the CPU. A step subtracts from row k multiples of the rows k - s and k + s that it is coupled to:
 *
 *     alpha = a_k b_(k-s)^-1,  gamma = c_k b_(k+s)^-1
 *     a_k' = -alpha a_(k-s),   c_k' = -gamma c_(k+s)
 *     b_k' = b_k - alpha c_(k-s) - gamma a_(k+s),   f_k' = f_k - alpha f_(k-s) - gamma f_(k+s)
 *
 * Stone and others (karst.h), equation (3) with a misprint in c_k' repaired. CR does it to every second row of those
 * left, until one is left, and substitutes back; PCR to all rows, until no row is coupled to another; the hybrid begins
 * as CR and ends as PCR. Any n: row j of those left is row (j + 1) s - 1, so that floor(n / s) are left, and a last row
 * without a row behind is like any row without a neighbour. Kept factors are a, b^-1 and c of each row when it was
 * eliminated, and alpha and gamma of each step: at most n pairs for CR, n log2(n) for PCR.
 *
 * Thomas's algorithm is faster on a CPU; these are for comparison, and have instances for m = 1 and 4 alone, which Stone
 * and others measure. */
#include "cpu/cpu.h"
#include "cpu/tridiagonal/tridiagonal_cpu.h"

/* Rows that the hybrid leaves to PCR. */
enum { HYBRID_REST = 32 };

/* Returns the rows at which CR ends. */
static int64_t karst_tridiagonal_reduce_rest(karst_tridiagonal_method method, int64_t n)
{
  if (method == KARST_TRIDIAGONAL_CR) return 1;
  return method == KARST_TRIDIAGONAL_PCR ? n : HYBRID_REST;
}

/* Returns the rows that get multipliers, in all steps. */
static int64_t count_multipliers(karst_tridiagonal_method method, int64_t n)
{
  const int64_t rest = karst_tridiagonal_reduce_rest(method, n);
  int64_t count = 0;
  for (; n > rest; n /= 2) count += n / 2;
  for (int64_t distance = 1; distance < n; distance *= 2) count += n;
  return count;
}

/* What m-by-m systems of n rows in so many groups need. Only CR has no second set of rows. */
static karst_tridiagonal_needs karst_tridiagonal_reduce_needs(karst_tridiagonal_method method, int64_t n, int64_t m,
                                                              int64_t groups)
{
  const int64_t rows = n * (4 * m * m + m);
  return (karst_tridiagonal_needs){.groups = groups,
                                   .rows = method == KARST_TRIDIAGONAL_CR ? rows + n * m : 2 * rows,
                                   .kept = groups * m * m * (3 * n + 2 * count_multipliers(method, n))};
}

#define TEMPLATE "cpu/tridiagonal/reduce_template.h"
#include "cpu/tridiagonal/instances.h"

static karst_tridiagonal_needs needs(const karst_tridiagonal_shape *shape)
{
  return karst_tridiagonal_reduce_needs(shape->method, shape->rows, shape->block_size,
                                        karst_tridiagonal_group_count(shape));
}

static karst_tridiagonal_instance instance_of(const karst_tridiagonal_pass *pass)
{
  const karst_tridiagonal_instance *instances = pass->single ? reduce_instances_float : reduce_instances;
  const int size = karst_tridiagonal_instance_size(pass->block_size);
  return instances[instances[size].solve ? size : 0];
}

static void solve(karst_context *context, karst_tridiagonal_plan *plan, const karst_tridiagonal_pass *pass)
{
  karst_tridiagonal_run(context, plan, instance_of(pass).solve, pass, plan->needs.groups, &plan->failure);
}

static void apply(karst_context *context, karst_tridiagonal_plan *plan, const karst_tridiagonal_pass *pass)
{
  karst_tridiagonal_run(context, plan, instance_of(pass).apply, pass, plan->needs.groups, &plan->failure);
}

const karst_tridiagonal_way karst_tridiagonal_way_cr = {"cr", needs, solve, apply};
const karst_tridiagonal_way karst_tridiagonal_way_pcr = {"pcr", needs, solve, apply};
const karst_tridiagonal_way karst_tridiagonal_way_hybrid = {"hybrid", needs, solve, apply};
