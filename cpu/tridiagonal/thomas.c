/* thomas.c - Thomas's algorithm for groups of block-tridiagonal systems on the CPU:
 *
 *     d_0 = b_0,   d_k = b_k - a_k W_(k-1),   W_k = d_k^-1 c_k
 *     y_k = d_k^-1 (f_k - a_k y_(k-1)),       u_k = y_k - W_k u_(k+1)
 *
 * Stone and others (karst.h), equation (2). W and y of a group are in the work space of its thread. Kept factors are
 * d_k^-1, a_k and W_k: a solve reads each once, 3 m m scalars a row, as few as any form of the factors has. */
#include "cpu/cpu.h"
#include "cpu/tridiagonal/tridiagonal_cpu.h"

#define TEMPLATE "cpu/tridiagonal/thomas_template.h"
#include "cpu/tridiagonal/instances.h"

karst_tridiagonal_instance karst_tridiagonal_thomas(bool single, int m)
{
  const int size = karst_tridiagonal_instance_size(m);
  return single ? thomas_instances_float[size] : thomas_instances[size];
}

static karst_tridiagonal_needs needs(const karst_tridiagonal_shape *shape)
{
  const int64_t m = shape->block_size, groups = karst_tridiagonal_group_count(shape);
  return (karst_tridiagonal_needs){
      .groups = groups, .rows = shape->rows * (m * m + m), .kept = groups * shape->rows * 3 * m * m};
}

static void solve(karst_context *context, karst_tridiagonal_plan *plan, const karst_tridiagonal_pass *pass)
{
  const karst_tridiagonal_instance instance = karst_tridiagonal_thomas(pass->single, pass->block_size);
  karst_tridiagonal_run(context, plan, instance.solve, pass, plan->needs.groups, &plan->failure);
}

static void apply(karst_context *context, karst_tridiagonal_plan *plan, const karst_tridiagonal_pass *pass)
{
  const karst_tridiagonal_instance instance = karst_tridiagonal_thomas(pass->single, pass->block_size);
  karst_tridiagonal_run(context, plan, instance.apply, pass, plan->needs.groups, &plan->failure);
}

const karst_tridiagonal_way karst_tridiagonal_way_thomas = {"thomas", needs, solve, apply};
