/* system.c - see system.h. */
#include "solver/system.h"

#include "lib/base/clock.h"
#include "lib/grid/grid.h"
#include "lib/matrix/cell_values.h"
#include "lib/ranks/halo.h"

#include <string.h>

/* Makes the ordered pattern with room for values, which are undefined. */
static karst_status make_copy(karst_system *s, bool scaled)
{
  const karst_matrix *A = s->original;
  karst_status status = karst_matrix_on_pattern(s->ordered->pattern, A->rows_unpadded, &s->copy);
  if (!status) status = karst_matrix_copy_grid(A, s->ordered->permutation, s->copy);
  if (!status && A->halo)
    status = karst_halo_permute(A->halo, A->block_rows, s->ordered->permutation, scaled, &s->copy->halo);
  if (status) return status;
  if (s->copy->halo) s->memory += karst_halo_memory(s->copy->halo);
  if (s->ordered->tiling.tiles > 0) s->copy->tiling = &s->ordered->tiling;
  s->matrix = s->copy;
  s->memory += karst_entries(A) * (int64_t)sizeof(double) + s->ordered->memory;
  if (s->copy->grid.cell && !s->copy->borrows_cells) s->memory += (int64_t)A->block_rows * (int64_t)sizeof(karst_index);
  return KARST_SUCCESS;
}

static karst_status make_vectors(karst_system *s, karst_scale scale)
{
  karst_context *context = s->context;
  int64_t rows = karst_matrix_rows(s->original), bb = (int64_t)s->original->block_size * s->original->block_size;
  karst_status status = karst_device_doubles(context, rows, "the ordered right-hand side", &s->rhs);
  if (!status) status = karst_device_doubles(context, rows, "the ordered solution", &s->solution);
  s->memory += 2 * rows * (int64_t)sizeof(double);
  if (!status && scale == KARST_SCALE_DIAGONAL) {
    status = karst_device_doubles(context, rows, "the ordered start", &s->start);
    s->memory += rows * (int64_t)sizeof(double);
  }
  if (status || scale == KARST_SCALE_NONE) return status;
  status = karst_matrix_locate_diagonal(s->copy, &s->diagonal);
  const bool block = scale == KARST_SCALE_BLOCK;
  int64_t scalars = block ? bb * s->original->block_rows : rows;
  if (!status)
    status = karst_device_doubles(context, scalars, "the scaling", block ? &s->block_scale : &s->diagonal_scale);
  if (!status && block) status = karst_device_doubles(context, scalars, "the scaling", &s->block_unscale);
  s->memory += (block ? 2 : 1) * scalars * (int64_t)sizeof(double);
  return status;
}

/* Makes the views of the wells in both orders. */
static karst_status view_wells(const karst_wells *wells, karst_system *s)
{
  if (!wells) return KARST_SUCCESS;
  karst_status status = karst_wells_view_make(wells, &s->caller_wells);
  if (!status && s->copy)
    status = karst_wells_view_permute(&s->caller_wells, s->ordered->permutation, &s->wells);
  else if (!status)
    s->wells = karst_wells_view_of(wells, s->caller_wells.space);
  s->memory += karst_wells_view_memory(&s->caller_wells) + karst_wells_view_memory(&s->wells);
  return status;
}

karst_status karst_system_setup(const karst_ordering_choice *ordering, karst_scale scale, const karst_matrix *A,
                                const karst_wells *wells, karst_ordered *ordered, karst_system *system)
{
  karst_context *context = A->context;
  double begin = karst_clock();
  *system = (karst_system){.context = context, .original = A, .matrix = A, .block_row = -1};
  const bool scaled = scale != KARST_SCALE_NONE;
  if (!ordering->ops->compute && !scaled) return view_wells(wells, system);
  if (scaled) {
    karst_status missing =
        karst_matrix_check_diagonal(A); /* before the ordering, so that the error has the caller's row */
    if (missing) return missing;
  }
  karst_status status = KARST_SUCCESS;
  system->ordered = karst_ordered_hold(ordered);
  if (!ordered) {
    karst_notify(context, KARST_MESSAGE_PHASE, "ordering (%s)", ordering->ops->name);
    status = karst_ordered_create(ordering, A, &system->ordered);
  }
  if (!status) status = make_copy(system, scaled);
  if (!status) status = make_vectors(system, scale);
  if (!status) status = view_wells(wells, system);
  system->time_order = karst_clock() - begin;
  return status;
}

/* Returns the sum of squares of the caller's values, whose bits change only if the values do. */
static double fingerprint(const karst_system *s)
{
  const double *value = s->original->value;
  double sum = 0;
  s->context->backend->dots(s->context, karst_entries(s->original), 1, &value, value, &sum);
  return sum;
}

/* Whether the values are in the caller's own array; on a GPU the matrix has its own copy. */
static bool follows_caller(const karst_system *s)
{
  return s->copy && s->original->references_value && s->original->value == s->original->source;
}

bool karst_system_is_current(const karst_system *s)
{
  if (!follows_caller(s)) return true;
  const double now = fingerprint(s);
  return memcmp(&now, &s->fingerprint, sizeof now) == 0;
}

/* Scales rows and columns. Collective among neighbours, also after a failure on one of them. */
static karst_status scale_diagonal(const karst_system *s)
{
  const struct karst_backend *backend = s->context->backend;
  backend->diagonal_scale(s->context, s->copy, s->diagonal, s->diagonal_scale);
  backend->scale_symmetric(s->context, s->copy, s->diagonal_scale);
  return s->copy->halo ? karst_halo_scale_symmetric(s->copy->halo, s->diagonal_scale) : KARST_SUCCESS;
}

/* What a rank tells the others of its diagonal blocks. */
struct outcome {
  karst_reason reason;
  karst_index block_row; /* among those of all ranks, or -1 */
};

/* Takes the outcome of the first rank whose diagonal blocks are not sound. */
static karst_status agree_on_outcome(karst_system *s, karst_status status)
{
  karst_context *context = s->context;
  const struct outcome own = {s->reason, karst_halo_global(s->original->halo, s->block_row)};
  status = karst_ranks_agree(context, status);
  if (status || !s->original->halo) return status;
  struct outcome *const all = (void *)context->ranks->words;
  status = karst_ranks_gather(context, &own, sizeof own, all);
  for (int r = karst_context_ranks(context) - 1; r >= 0 && !status; r--) {
    if (all[r].reason == KARST_SOUND) continue;
    s->reason = all[r].reason;
    s->block_row = all[r].block_row;
  }
  return status;
}

/* Multiplies rows by the inverse of their diagonal blocks, unless one of any rank is singular. */
static karst_status scale_blocks(karst_system *s, karst_status status)
{
  const struct karst_backend *backend = s->context->backend;
  const karst_matrix *A = s->original;
  if (!status) {
    backend->gather(s->context, A->block_rows, A->block_size * A->block_size, s->diagonal, s->copy->value,
                    s->block_unscale);
    status = backend->invert_diagonal(s->context, s->copy, s->diagonal, s->block_scale, &s->reason, &s->block_row);
    s->block_row = karst_system_original_row(s, s->block_row);
  }
  status = agree_on_outcome(s, status);
  if (status) return status;
  if (s->reason != KARST_SOUND) {
    if (s->copy->halo) karst_halo_copy_values(s->copy->halo);
    return KARST_SUCCESS;
  }
  backend->scale_rows(s->context, s->copy, s->block_scale);
  if (s->copy->halo) karst_halo_scale_rows(s->copy->halo, s->block_scale);
  return KARST_SUCCESS;
}

karst_status karst_system_update(karst_system *s)
{
  const struct karst_backend *backend = s->context->backend;
  const karst_matrix *A = s->original;
  s->reason = KARST_SOUND;
  s->block_row = -1;
  if (s->wells.wells) s->wells_generation = s->wells.wells->generation;
  if (!s->copy) return KARST_SUCCESS;
  if (follows_caller(s)) s->fingerprint = fingerprint(s);
  backend->gather(s->context, (karst_index)karst_matrix_blocks(A), A->block_size * A->block_size,
                  s->ordered->permuted.device_source, A->value, s->copy->value);
  const karst_status status = karst_matrix_permute_cells(A, s->ordered->device_permutation, s->copy);
  if (s->block_scale) return scale_blocks(s, status);
  const karst_status scaled = s->diagonal_scale ? scale_diagonal(s) : KARST_SUCCESS;
  return status ? status : scaled;
}

void karst_system_destroy(karst_system *s)
{
  karst_context *context = s->context;
  if (!context) return;
  context->backend->release(context, s->diagonal);
  context->backend->release(context, s->diagonal_scale);
  context->backend->release(context, s->block_scale);
  context->backend->release(context, s->block_unscale);
  context->backend->release(context, s->rhs);
  context->backend->release(context, s->solution);
  context->backend->release(context, s->start);
  karst_wells_view_release(context, &s->wells);
  karst_wells_view_release(context, &s->caller_wells);
  karst_matrix_destroy(s->copy);
  karst_ordered_release(s->ordered);
  *s = (karst_system){0};
}

void karst_system_enter_rhs(const karst_system *s, const double *b, double *space, double *rhs)
{
  const struct karst_backend *backend = s->context->backend;
  const karst_index rows = s->original->block_rows;
  const int size = s->original->block_size;
  if (s->block_scale) { /* S A x = S b */
    backend->gather(s->context, rows, size, s->ordered->device_permutation, b, space);
    backend->multiply_diagonal(s->context, rows, size, s->block_scale, space, rhs);
  } else {
    backend->gather(s->context, rows, size, s->ordered->device_permutation, b, rhs);
  }
  if (s->diagonal_scale) /* (D A D) (D^-1 x) = D b */
    backend->multiply_elements(s->context, karst_matrix_rows(s->original), s->diagonal_scale, rhs, rhs);
}

void karst_system_enter(const karst_system *s, const double *b, const double *x)
{
  const struct karst_backend *backend = s->context->backend;
  const karst_matrix *A = s->original;
  double *start = s->start ? s->start : s->solution;
  karst_system_enter_rhs(s, b, s->solution, s->rhs);
  backend->gather(s->context, A->block_rows, A->block_size, s->ordered->device_permutation, x, start);
  if (s->diagonal_scale)
    backend->divide_elements(s->context, karst_matrix_rows(A), s->diagonal_scale, start, s->solution);
}

void karst_system_leave(const karst_system *s, const double *solution, double *space, double *x)
{
  const struct karst_backend *backend = s->context->backend;
  if (s->diagonal_scale) {
    backend->multiply_elements(s->context, karst_matrix_rows(s->original), s->diagonal_scale, solution, space);
    solution = space;
  }
  backend->scatter(s->context, s->original->block_rows, s->original->block_size, s->ordered->device_permutation,
                   solution, x);
}

void karst_system_restore(const karst_system *s, const double *solution, double *x)
{
  s->context->backend->scatter(s->context, s->original->block_rows, s->original->block_size,
                               s->ordered->device_permutation, s->start ? s->start : solution, x);
}

void karst_system_unscale(const karst_system *s, const double *r, double *unscaled)
{
  const struct karst_backend *backend = s->context->backend;
  const karst_matrix *A = s->original;
  if (s->diagonal_scale)
    backend->divide_elements(s->context, karst_matrix_rows(A), s->diagonal_scale, r, unscaled);
  else
    backend->multiply_diagonal(s->context, A->block_rows, A->block_size, s->block_unscale, r, unscaled);
}

karst_index karst_system_original_row(const karst_system *s, karst_index block_row)
{
  return block_row >= 0 && s->ordered ? s->ordered->permutation[block_row] : block_row;
}
