/* level.c - the memory of a hierarchy, and the values of its finest level. */
#include "cpu/amg/amg_cpu.h"

#include <math.h>
#include <string.h>

karst_status karst_amg_take_cpu(karst_context *context, void *memory, int64_t count, size_t size, const char *what)
{
  void *taken = NULL;
  karst_status status = KARST_SUCCESS;
  if (count < 1) count = 1;
  if (count > PTRDIFF_MAX / (int64_t)size)
    status = karst_fail(context, KARST_ERROR_NO_MEMORY, "out of memory: %s need %lld elements of %zu bytes", what,
                        (long long)count, size);
  else
    status = context->backend->allocate(context, (size_t)count * size, what, &taken);
  memcpy(memory, &taken, sizeof taken);
  return status;
}

karst_status karst_amg_take_matrix_cpu(karst_context *context, const karst_amg *amg, const char *what,
                                       karst_amg_matrix *matrix)
{
  int64_t entries = 0;
  matrix->longest = 0;
  matrix->row_start[0] = 0;
  for (karst_index i = 0; i < matrix->rows; i++) {
    const karst_index length = matrix->row_start[i + 1];
    if (length > matrix->longest) matrix->longest = length;
    entries += length;
    if (entries > KARST_INDEX_MAX)
      return karst_fail(context, KARST_ERROR_INDEX_OVERFLOW, "%s have more entries than %d-bit indices can count", what,
                        KARST_INDEX_BITS);
    matrix->row_start[i + 1] = (karst_index)entries;
  }
  matrix->entries = entries;
  const karst_status status = karst_amg_take_cpu(context, &matrix->column, entries, sizeof *matrix->column, what);
  return status ? status : karst_amg_take_cpu(context, &matrix->value, entries, karst_amg_scalar(amg), what);
}

karst_status karst_amg_begin_cpu(karst_context *context, const karst_matrix *A, karst_amg *amg)
{
  static const char what[] = "the values of the finest multigrid level";
  karst_amg_cpu *plan;
  karst_status status = karst_allocate_zero(context, &plan, 1, sizeof *plan, "the plan of a multigrid hierarchy");
  if (status) return status;
  amg->plan = plan;
  amg->level[0].A = (karst_amg_matrix){.rows = A->block_rows,
                                       .columns = A->block_rows + amg->ghosts,
                                       .entries = A->blocks,
                                       .longest = karst_matrix_widest_row(A),
                                       .row_start = A->device_row_start,
                                       .column = A->device_column,
                                       .borrows = true};
  return karst_amg_take_cpu(context, &amg->level[0].A.value, A->blocks, karst_amg_scalar(amg), what);
}

void karst_amg_release_entries_cpu(karst_context *context, karst_amg_matrix *matrix)
{
  if (!matrix->borrows) context->backend->release(context, matrix->column);
  context->backend->release(context, matrix->value);
  matrix->column = NULL;
  matrix->value = NULL;
}

void karst_amg_release_matrix_cpu(karst_context *context, karst_amg_matrix *matrix)
{
  if (!matrix->borrows) context->backend->release(context, matrix->row_start);
  karst_amg_release_entries_cpu(context, matrix);
  *matrix = (karst_amg_matrix){0};
}

void karst_amg_release_product_cpu(karst_context *context, karst_amg_product *product)
{
  karst_amg_release_matrix_cpu(context, &product->C);
  context->backend->release(context, product->first);
  context->backend->release(context, product->slot);
  *product = (karst_amg_product){0};
}

void karst_amg_release_splitting_cpu(karst_context *context, karst_amg_splitting *splitting)
{
  context->backend->release(context, splitting->place);
  context->backend->release(context, splitting->strong);
  *splitting = (karst_amg_splitting){0};
}

void karst_amg_destroy_cpu(karst_context *context, karst_amg *amg)
{
  karst_amg_cpu *plan = amg->plan;
  karst_amg_release_matrix_cpu(context, &amg->level[0].A);
  for (int l = 0; l < KARST_AMG_LEVELS; l++) {
    karst_amg_level *level = &amg->level[l];
    karst_amg_release_matrix_cpu(context, &level->P);
    karst_amg_release_matrix_cpu(context, &level->R);
    if (amg->shared) level->AP.C.value = NULL;
    karst_amg_release_product_cpu(context, &level->AP);
    karst_amg_release_product_cpu(context, &level->RAP);
    karst_amg_release_product_cpu(context, &level->part);
    karst_amg_release_matrix_cpu(context, &level->S);
    *level = (karst_amg_level){0};
  }
  context->backend->release(context, amg->shared);
  context->backend->release(context, amg->inverse);
  if (plan) context->backend->release(context, plan->dense);
  if (plan) context->backend->release(context, plan->origin);
  karst_release(context, plan);
  amg->shared = amg->inverse = NULL;
  amg->plan = NULL;
}

/* Returns the largest absolute value of rows first .. last - 1, and reports the first row that is not finite. */
static double measure_values(const karst_matrix *A, karst_index first, karst_index last, karst_amg_outcome *outcome)
{
  double largest = 0;
  for (karst_index i = first; i < last; i++) {
    bool finite = true;
    for (karst_index k = A->device_row_start[i]; k < A->device_row_start[i + 1]; k++) {
      const double size = fabs(A->value[k]);
      if (size > largest) largest = size;
      finite = finite && isfinite(size);
    }
    if (!finite) {
      *outcome = (karst_amg_outcome){.reason = KARST_NOT_FINITE, .block_row = i};
      return largest;
    }
  }
  return largest;
}

/* Scales rows first .. last - 1 into level 0, and reports the first one that is zero there. */
KARST_INLINE void scale_values(bool single, const karst_matrix *A, karst_index first, karst_index last, double factor,
                               void *value, karst_amg_outcome *outcome)
{
  for (karst_index i = first; i < last; i++) {
    bool zero = true;
    for (karst_index k = A->device_row_start[i]; k < A->device_row_start[i + 1]; k++) {
      karst_amg_store(single, value, k, A->value[k] * factor);
      zero = zero && karst_amg_value(single, value, k) == 0;
    }
    if (!zero) continue;
    *outcome = (karst_amg_outcome){.reason = KARST_SINGULAR_BLOCK, .block_row = i};
    return;
  }
}

/* Keeps the outcome of the first row. */
static void combine(const karst_amg_outcome *mine, karst_amg_outcome *all)
{
  if (mine->block_row >= 0 && (all->block_row < 0 || mine->block_row < all->block_row)) *all = *mine;
}

/* Measures all rows. */
static double measure_matrix(karst_context *context, const karst_matrix *A, karst_amg_outcome *outcome)
{
  double largest = 0;
  karst_piece piece = karst_begin(context, KARST_KIND_FACTOR, A->blocks);
#pragma omp parallel num_threads(piece.threads)
  {
    const karst_part part = karst_part_rows(&piece, A->block_rows, A->device_row_start);
    karst_amg_outcome mine = {.reason = KARST_SOUND, .block_row = -1};
    const double size = measure_values(A, part.first, part.last, &mine);
    karst_part_end(&piece, &part);
#pragma omp critical(karst_amg_load)
    {
      if (size > largest) largest = size;
      combine(&mine, outcome);
    }
  }
  karst_end(context, &piece);
  return largest;
}

karst_status karst_amg_load_cpu(karst_context *context, const karst_matrix *A, karst_amg *amg,
                                karst_amg_outcome *outcome)
{
  *outcome = (karst_amg_outcome){.reason = KARST_SOUND, .block_row = -1};
  const double largest = measure_matrix(context, A, outcome);
  if (outcome->reason != KARST_SOUND) return KARST_SUCCESS;
  if (!amg->has_exponent) frexp(largest, &amg->exponent);
  if (amg->exponent < -1000) amg->exponent = -1000; /* or its power would be infinite */
  const double factor = ldexp(1, -amg->exponent);
  karst_piece piece = karst_begin(context, KARST_KIND_FACTOR, A->blocks);
#pragma omp parallel num_threads(piece.threads)
  {
    const karst_part part = karst_part_rows(&piece, A->block_rows, A->device_row_start);
    karst_amg_outcome mine = {.reason = KARST_SOUND, .block_row = -1};
    if (amg->single)
      scale_values(true, A, part.first, part.last, factor, amg->level[0].A.value, &mine);
    else
      scale_values(false, A, part.first, part.last, factor, amg->level[0].A.value, &mine);
    karst_part_end(&piece, &part);
#pragma omp critical(karst_amg_load)
    combine(&mine, outcome);
  }
  karst_end(context, &piece);
  return KARST_SUCCESS;
}
