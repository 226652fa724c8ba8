/* cost.c - see cost.h. Preconditioners say how much they move and wait for (karst_traffic, karst_waits). */
#include "solver/auto/cost.h"

#include "lib/backend/backend.h"

/* An update takes as long as moving its least bytes several times: a factorization FACTOR times and once more for each
 * LONGER blocks of a row of its factors, the sparse products of multigrid PRODUCTS times, the weights of cpr WEIGHTS
 * times. Measured on one core on 14 systems, over an iteration: within 1.8 times, but dilu takes up to 3 times more. */
enum { FACTOR = 2, LONGER = 3, PRODUCTS = 5, WEIGHTS = 2 };

static double factorization(const karst_precond *M)
{
  const double blocks = (double)M->factor_entries / ((double)karst_matrix_rows(M->A) * M->A->block_size);
  const double moved = M->traffic.update > 0 ? M->traffic.update : 2 * karst_traffic_of(M->factor_entries, 0);
  return moved * (FACTOR + blocks / LONGER);
}

/* The bytes of updates, with those of stages, as the next two. */
static double sum_updates(const karst_precond *M)
{
  double sum = 0;
  for (int i = 0; i < M->stages; i++) sum += sum_updates(M->stage[i]);
  if (M->ops->automatic != KARST_AUTO_ABOVE) return sum + (M->stages > 0 ? 0 : factorization(M));
  return sum + M->traffic.update * (M->stages > 0 ? WEIGHTS : PRODUCTS);
}

/* The bytes of applications. A preconditioner that states no traffic, such as jacobi, reads its factors once. */
static double sum_applies(const karst_precond *M)
{
  const double own = karst_traffic_of(M->factor_entries + 2 * karst_matrix_rows(M->A), 0);
  double sum = M->traffic.apply > 0 ? M->traffic.apply : M->stages > 0 ? 0 : own;
  for (int i = 0; i < M->stages; i++) sum += sum_applies(M->stage[i]);
  return sum;
}

/* The level sets of sweeps. */
static karst_waits sum_waits(const karst_precond *M)
{
  karst_waits sum = M->waits;
  for (int i = 0; i < M->stages; i++) {
    const karst_waits stage = sum_waits(M->stage[i]);
    sum.levels += stage.levels;
    sum.by_tiles = sum.by_tiles || stage.by_tiles;
  }
  return sum;
}

/* Returns the bytes that a device could move while an application waits for level sets. In tiles a level set is a step
 * inside a multiprocessor, and each colour of each triangle is one step through the device's memory. */
static double wait_bytes(const karst_auto_sample *sample, const karst_machine *machine)
{
  const karst_waits waits = sum_waits(sample->first->M);
  const double levels = (double)waits.levels;
  if (!sample->A->tiling || !waits.by_tiles) return machine->copy_bandwidth * machine->level_wait * levels;
  const double colours = (double)sample->A->tiling->colours;
  return machine->copy_bandwidth * (machine->inner_step * levels + machine->outer_step * 2 * colours);
}

/* Returns the bytes that a product and an application move. */
static double product_bytes(const karst_auto_sample *sample)
{
  const karst_matrix *A = sample->A;
  const karst_precond *M = sample->first->M;
  if (sample->first->A.precondition) return M->traffic.multiply_reduced + M->traffic.apply_reduced;
  return karst_traffic_of(karst_entries(A), karst_matrix_blocks(A)) + sum_applies(M);
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

double karst_auto_update_bytes(const karst_auto_sample *sample) { return sum_updates(sample->first->M); }
