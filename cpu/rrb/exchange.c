/* exchange.c - copies vectors over the block rows of A to vectors over the nodes of grid 0, and back. Without a map
 * from block rows to nodes they are split into groups and joined row by row. */
#include "cpu/rrb/rows.h"
#include "cpu/rrb/rrb_cpu.h"

/* Returns the element of the place's vector for the node of a block row, or -1. */
static int64_t element_of(const karst_rrb_place *place, int64_t row)
{
  const karst_rrb *rrb = place->rrb;
  const karst_index cell = rrb->cell ? rrb->cell[row] : (karst_index)row;
  const karst_index i = cell % rrb->size[0], j = cell / rrb->size[0];
  const bool black = (i + j) % 2 == 0;
  if (!black && (place->groups == 1 || place->groups == 2)) return -1;
  if (place->groups < 2) return cell;
  return karst_rrb_element(&rrb->shape[0], 1, i, j);
}

static int64_t elements(const karst_rrb_place *place)
{
  if (place->groups < 2) return (int64_t)place->rrb->size[0] * place->rrb->size[1];
  return karst_rrb_elements(&place->rrb->shape[0], place->groups);
}

/* Whether block rows are in the order of the nodes, and all groups are stored: rows of nodes are then split as a
 * whole. */
static bool by_rows(const karst_rrb_place *place) { return !place->rrb->cell && place->groups == KARST_RRB_GROUPS; }

/* The groups of row j of nodes, those at even places and those at odd ones. */
static void row_groups(const karst_rrb_place *place, int64_t j, double **even, double **odd)
{
  const karst_rrb_shape *shape = &place->rrb->shape[0];
  double *row = place->vector + j / 2 * shape->pitch;
  *even = row + karst_rrb_array(shape, j % 2 ? KARST_RRB_R2 : KARST_RRB_B2);
  *odd = row + karst_rrb_array(shape, j % 2 ? KARST_RRB_B1 : KARST_RRB_R1);
}

void karst_rrb_put_cpu(karst_context *context, const karst_rrb_place *place, const double *x)
{
  const karst_rrb *rrb = place->rrb;
  const int64_t nx = rrb->size[0], ny = rrb->size[1], rows = rrb->rows;
  if (place->groups == 1 || place->groups == 2 || rows < nx * ny)
    karst_fill_cpu(context, elements(place), 0, place->vector);
  karst_piece piece = karst_begin(context, KARST_KIND_SCATTER, rows);
  if (by_rows(place)) {
#pragma omp parallel for num_threads(piece.threads) schedule(static)
    for (int64_t j = 0; j < ny; j++) {
      double *even, *odd;
      row_groups(place, j, &even, &odd);
      karst_rrb_split(nx, x + j * nx, even, odd);
    }
  } else {
#pragma omp parallel for num_threads(piece.threads) schedule(static)
    for (int64_t row = 0; row < rows; row++) {
      const int64_t at = element_of(place, row);
      if (at >= 0) place->vector[at] = x[row];
    }
  }
  karst_end(context, &piece);
}

void karst_rrb_get_cpu(karst_context *context, const karst_rrb_place *place, double *x)
{
  const karst_rrb *rrb = place->rrb;
  const int64_t nx = rrb->size[0], ny = rrb->size[1], rows = rrb->rows;
  karst_piece piece = karst_begin(context, KARST_KIND_GATHER, rows);
  if (by_rows(place)) {
#pragma omp parallel for num_threads(piece.threads) schedule(static)
    for (int64_t j = 0; j < ny; j++) {
      double *even, *odd;
      row_groups(place, j, &even, &odd);
      karst_rrb_join(nx, even, odd, x + j * nx);
    }
  } else {
#pragma omp parallel for num_threads(piece.threads) schedule(static)
    for (int64_t row = 0; row < rows; row++) {
      const int64_t at = element_of(place, row);
      if (at >= 0) x[row] = place->vector[at];
    }
  }
  karst_end(context, &piece);
}
