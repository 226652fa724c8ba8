/* ordered.c - makes an ordering and the pattern that comes of it; see ordered.h. */
#include "ordered.h"

#include "grid.h"
#include "symbolic.h"

/* Makes the permutation, which is the identity where only scaling asks for a copy. */
static karst_status make_permutation(const karst_ordering_choice *choice, const karst_matrix *A, karst_ordered *o)
{
  karst_status status =
      karst_allocate(o->context, &o->permutation, A->block_rows, sizeof *o->permutation, "the ordering");
  if (status) return status;
  const karst_ordering_pattern pattern = {.context = o->context,
                                          .block_rows = A->block_rows,
                                          .row_start = A->row_start,
                                          .column = A->column,
                                          .grid = karst_has_grid(A) ? &A->grid : NULL,
                                          .matrix = A,
                                          .distance = choice->distance,
                                          .settings = choice->settings};
  if (choice->ops->compute) return choice->ops->compute(&pattern, o->permutation, &o->tiling);
  for (karst_index i = 0; i < A->block_rows; i++) o->permutation[i] = i;
  return KARST_SUCCESS;
}

/* Makes the permuted pattern, and finds where each block comes from. */
static karst_status make_pattern(const karst_matrix *A, karst_ordered *o)
{
  karst_context *context = o->context;
  karst_index *row_start = NULL, *column = NULL, *source = NULL;
  const int64_t blocks = karst_matrix_blocks(A);
  karst_status status = karst_pattern_permute(context, A->block_rows, A->row_start, A->column, o->permutation,
                                              &row_start, &column, &source);
  if (status) return status;
  status = karst_device_indices(context, blocks, source, "the ordering", &o->device_source);
  karst_release(context, source);
  if (!status)
    status = karst_device_indices(context, A->block_rows, o->permutation, "the ordering", &o->device_permutation);
  if (status) {
    karst_release(context, row_start);
    karst_release(context, column);
    return status;
  }
  const int64_t tiles = o->tiling.tiles > 0 ? (int64_t)o->tiling.tiles + o->tiling.colours + 2 : 0;
  o->memory = (2 * blocks + 3 * (int64_t)A->block_rows + tiles) * (int64_t)sizeof(karst_index);
  return karst_matrix_adopt_pattern(context, A->block_rows, A->block_size, row_start, column, &o->pattern);
}

karst_status karst_ordered_create(const karst_ordering_choice *choice, const karst_matrix *A, karst_ordered **ordered)
{
  karst_status status = karst_allocate_zero(A->context, ordered, 1, sizeof **ordered, "the ordering");
  if (status) return status;
  (*ordered)->context = A->context;
  (*ordered)->references = 1;
  status = make_permutation(choice, A, *ordered);
  if (!status) status = make_pattern(A, *ordered);
  if (status) {
    karst_ordered_release(*ordered);
    *ordered = NULL;
  }
  return status;
}

karst_ordered *karst_ordered_hold(karst_ordered *ordered)
{
  if (ordered) __atomic_fetch_add(&ordered->references, 1, __ATOMIC_RELAXED);
  return ordered;
}

void karst_ordered_release(karst_ordered *ordered)
{
  /* The one that goes last sees all that the others have done with it. */
  if (!ordered || __atomic_sub_fetch(&ordered->references, 1, __ATOMIC_ACQ_REL) > 0) return;
  karst_context *context = ordered->context;
  karst_release(context, ordered->permutation);
  karst_tiling_destroy(context, &ordered->tiling);
  context->backend->release(context, ordered->device_permutation);
  context->backend->release(context, ordered->device_source);
  karst_matrix_destroy(ordered->pattern);
  karst_release(context, ordered);
}
