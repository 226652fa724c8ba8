/* cost.c - see cost.h. Preconditioners say how much they move and wait for (karst_traffic, karst_waits). */
#include "solver/auto/cost.h"

#include "lib/backend/backend.h"

/* Returns the bytes that a device could move while an application waits for level sets. In tiles a level set is a step
 * inside a multiprocessor, and each colour of each triangle is one step through the device's memory. */
static double wait_bytes(const karst_auto_sample *sample, const karst_machine *machine)
{
  const karst_waits *waits = &sample->first->M->waits;
  const double levels = (double)waits->levels;
  if (!sample->A->tiling || !waits->by_tiles) return machine->copy_bandwidth * machine->level_wait * levels;
  const double colours = (double)sample->A->tiling->colours;
  return machine->copy_bandwidth * (machine->inner_step * levels + machine->outer_step * 2 * colours);
}

/* Returns the bytes that a product and an application move. A preconditioner that states no traffic, such as jacobi,
 * reads its factors once. */
static double product_bytes(const karst_auto_sample *sample)
{
  const karst_matrix *A = sample->A;
  const karst_precond *M = sample->first->M;
  if (sample->first->A.precondition) return M->traffic.multiply_reduced + M->traffic.apply_reduced;
  const double product = karst_traffic_of(karst_entries(A), karst_matrix_blocks(A));
  const double own = karst_traffic_of(M->factor_entries + 2 * karst_matrix_rows(A), 0);
  return product + (M->traffic.apply > 0 ? M->traffic.apply : own);
}

double karst_auto_iteration_bytes(const karst_auto_sample *sample)
{
  const karst_krylov *krylov = sample->first;
  const karst_machine *machine = sample->A->context->backend->machine;
  const double times = krylov->ops->applies_twice ? 2 : 1;
  const double vectors = karst_traffic_of(karst_matrix_rows(sample->A) * krylov->work.need.vectors, 0);
  return times * (product_bytes(sample) + wait_bytes(sample, machine)) + vectors +
         machine->copy_bandwidth * machine->launches;
}

/* As measured on 20 systems, a factorization takes as long as moving 10 to 20 times its least bytes, and longer with
 * longer rows. */
double karst_auto_update_bytes(const karst_auto_sample *sample)
{
  const karst_precond *M = sample->first->M;
  const double entries = (double)M->factor_entries, rows = (double)karst_matrix_rows(sample->A);
  const double moved = M->traffic.update > 0 ? M->traffic.update : 2 * karst_traffic_of(M->factor_entries, 0);
  return moved * (8 + entries / (2 * rows));
}
