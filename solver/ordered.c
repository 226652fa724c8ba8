/* ordered.c - see ordered.h. */
#include "solver/ordered.h"

#include "lib/grid/grid.h"
#include "symbolic/symbolic.h"

/* Makes the permutation; it is the identity if only scaling needs a copy. */
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

/* Makes the permuted pattern, and finds the source of each block. */
static karst_status make_ordered_pattern(const karst_matrix *A, karst_ordered *o)
{
  karst_context *context = o->context;
  const struct karst_backend *backend = context->backend;
  const int64_t rows = A->block_rows, blocks = karst_matrix_blocks(A);
  void *placed = NULL;
  karst_status status =
      backend->place(context, o->permutation, (size_t)rows * sizeof *o->permutation, "the ordering", &placed);
  o->device_permutation = placed;
  if (!status) status = backend->permute(context, A, o->device_permutation, &o->permuted);
  if (status) return status;
  const int64_t tiles = o->tiling.tiles > 0 ? (int64_t)o->tiling.tiles + o->tiling.colours + 2 : 0;
  const int64_t permutations = o->device_permutation == o->permutation ? 1 : 2;
  o->memory = (2 * blocks + (1 + permutations) * rows + tiles) * (int64_t)sizeof(karst_index);
  return karst_matrix_adopt_permuted(A, &o->permuted, &o->pattern);
}

karst_status karst_ordered_create(const karst_ordering_choice *choice, const karst_matrix *A, karst_ordered **ordered)
{
  karst_status status = karst_allocate_zero(A->context, ordered, 1, sizeof **ordered, "the ordering");
  if (status) return status;
  (*ordered)->context = A->context;
  (*ordered)->references = 1;
  status = make_permutation(choice, A, *ordered);
  if (!status) status = make_ordered_pattern(A, *ordered);
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
  /* The last one to release it sees all changes that the others have made. */
  if (!ordered || __atomic_sub_fetch(&ordered->references, 1, __ATOMIC_ACQ_REL) > 0) return;
  karst_context *context = ordered->context;
  karst_permuted *permuted = &ordered->permuted;
  karst_release_placed(context, ordered->permutation, ordered->device_permutation);
  karst_tiling_destroy(context, &ordered->tiling);
  karst_release_placed(context, permuted->source, permuted->device_source);
  karst_release_placed(context, permuted->row_start, permuted->device_row_start);
  karst_release_placed(context, permuted->column, permuted->device_column);
  karst_matrix_destroy(ordered->pattern);
  karst_release(context, ordered);
}
