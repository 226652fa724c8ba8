/* boxes.c - cuts a grid into boxes.
 *
 * A box that is longer in the direction of strong couplings cuts fewer of them. With sides t_a and couplings of mean
 * strength s_a along axis a, boxes cut sum_a w_a / t_a of each cell's couplings, w_a = s_a^(1/2). With w_a = s_a boxes
 * would be single lines in reservoirs of thin cells, and the rows of a line wait for each other one by one.
 *
 * The boxes of an axis are equally long except the last one, because equal boxes cost fewer iterations than nearly
 * equal ones: with 200 cells in 13 pieces of 15 or 16 cg takes 139 iterations, with the last piece shorter 120. */
#include "config.h"

#include "lib/grid/grid.h"
#include "symbolic/ordering/tiles.h"

#include <math.h>

/* Number of pieces when an axis of this many cells is cut into pieces of at most side. */
static karst_index count_pieces(karst_index size, karst_index side) { return (size - 1) / side + 1; }

/* Chooses the sides of boxes of at most most cells, no longer than needed for the number of pieces of each axis. */
static void choose_sides(const karst_index size[3], const double strength[3], karst_index most, karst_index side[3])
{
  double least = INFINITY, weight[3];
  for (int axis = 0; axis < 3; axis++) weight[axis] = sqrt(strength[axis]) / (double)size[axis];
  for (karst_index x = most < size[0] ? most : size[0]; x >= 1 && least > 0; x--)
    for (karst_index y = most / x < size[1] ? most / x : size[1]; y >= 1 && least > 0; y--) {
      const karst_index room = most / x / y, z = room < size[2] ? room : size[2], trial[3] = {x, y, z};
      double cut = 0;
      for (int axis = 0; axis < 3; axis++) cut += weight[axis] * (double)(count_pieces(size[axis], trial[axis]) - 1);
      if (cut >= least) continue;
      least = cut;
      for (int axis = 0; axis < 3; axis++) side[axis] = (size[axis] - 1) / count_pieces(size[axis], trial[axis]) + 1;
    }
}

/* Returns the axis along which couplings are much stronger than along the others, or -1. */
static int find_strong(const double strength[3])
{
  static const double much = 2;
  for (int axis = 0; axis < 3; axis++)
    if (strength[axis] >= much * fmax(strength[(axis + 1) % 3], strength[(axis + 2) % 3])) return axis;
  return -1;
}

/* tile[i]: the box of block row i. */
static void number_tiles(karst_index rows, const karst_tile_boxes *boxes, karst_index *tile)
{
  const karst_grid *grid = boxes->grid;
  for (karst_index i = 0; i < rows; i++) {
    const karst_cell cell = karst_grid_cell(grid->size, grid->cell ? grid->cell[i] : i);
    karst_index at[3];
    for (int axis = 0; axis < 3; axis++) at[axis] = cell.position[axis] / boxes->side[axis];
    tile[i] = at[0] + boxes->pieces[0] * (at[1] + boxes->pieces[1] * at[2]);
  }
}

/* Lists the rows in the order of their cells, unless they have it already. */
static karst_status list_cells(karst_context *context, karst_index rows, const karst_grid *grid, karst_tile_set *set)
{
  const karst_index cells = karst_grid_cells(grid->size);
  karst_index *row, count = 0;
  if (!grid->cell) return KARST_SUCCESS;
  karst_status status = karst_allocate(context, &set->sequence, rows, sizeof *set->sequence, "the cells of a grid");
  if (!status) status = karst_grid_map_cells(context, grid, rows, &row);
  if (status) return status;
  for (karst_index c = 0; c < cells; c++)
    if (row[c] >= 0) set->sequence[count++] = row[c];
  karst_release(context, row);
  return KARST_SUCCESS;
}

void karst_tile_boxes_cut(const karst_grid *grid, const karst_index side[3], karst_tile_boxes *boxes)
{
  *boxes = (karst_tile_boxes){.grid = grid, .strong = -1};
  for (int axis = 0; axis < 3; axis++) {
    boxes->side[axis] = side[axis];
    boxes->pieces[axis] = count_pieces(grid->size[axis], side[axis]);
  }
}

karst_status karst_tile_boxes_choose(const karst_ordering_pattern *pattern, const karst_grid *grid, karst_index most,
                                     karst_tile_boxes *boxes)
{
  karst_index side[3] = {1, 1, 1};
  double strength[3];
  karst_status status = karst_strength_along_axes(pattern, grid, strength);
  if (status) return status;
  choose_sides(grid->size, strength, most, side);
  karst_tile_boxes_cut(grid, side, boxes);
  boxes->strong = find_strong(strength);
  return KARST_SUCCESS;
}

karst_status karst_tile_set_cut(const karst_ordering_pattern *pattern, const karst_grid *grid, karst_index most,
                                karst_tile_set *set)
{
  karst_context *context = pattern->context;
  karst_tile_boxes boxes;
  karst_status status = karst_tile_boxes_choose(pattern, grid, most, &boxes);
  if (status) return status;
  set->tiles = karst_grid_cells(boxes.pieces);
  status = karst_allocate(context, &set->tile, pattern->block_rows, sizeof *set->tile, "the tiles of a grid");
  if (!status) number_tiles(pattern->block_rows, &boxes, set->tile);
  if (!status) status = list_cells(context, pattern->block_rows, grid, set);
  return status;
}
