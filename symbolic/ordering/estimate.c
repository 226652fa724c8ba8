/* estimate.c - predicts the cost of natural order and tiles before any order is made.
 *
 * Level sets take a pass over the pattern, which costs as much as making tiles of a grid. But a grid in natural order
 * can be found from some rows, and its level sets follow from the reach of the factors. In ILU(k) of a 7-point grid the
 * cell (x, y, z) waits for (x - 1, y, z), (x + k, y - 1, z) and (x, y + k, z - 1), at most. So its level is at least x
 * + b y + c z with b = k + 1 and c = k b + 1: 358, 715 and 1310 levels for 120^3 cells and k = 0, 1 and 2, which are
 * the true numbers. With couplings across edges and corners each of k + 1 steps may go along x and y as well. For other
 * patterns the levels of A are counted, and fill is assumed to multiply them by k + 1 at least. */
#include "config.h"

#include "lib/backend/sweep_time.h"
#include "lib/grid/grid.h"
#include "symbolic/ordering/colouring.h"
#include "symbolic/ordering/tiles.h"
#include "symbolic/symbolic.h"

#include <math.h>

enum { NEAR_COLOURS = 8 }; /* of tiles that grow, whose neighbours lie all around */

/* The grid of a pattern. */
struct shape {
  karst_grid grid; /* size[0] = 0: no grid */
  bool corners;    /* couplings across edges and corners, too */
};

/* Finds the grid from some rows of the pattern: the matrix's own, else one in natural order. */
static struct shape find_shape(const karst_ordering_pattern *pattern)
{
  karst_matrix view = karst_pattern_view(pattern);
  karst_stencil stencil;
  struct shape shape;
  bool found = karst_grid_guess(&view, &shape.grid, &stencil);
  if (!found && pattern->grid) {
    view.grid.size[0] = 0;
    found = karst_grid_guess(&view, &shape.grid, &stencil);
  }
  if (!found) return (struct shape){.corners = false};
  shape.corners = stencil == KARST_STENCIL_CORNERS;
  return shape;
}

/* Computes the levels of a box of cells in natural order. */
static double count_box(const double size[3], bool corners, double k)
{
  const double b = corners ? k + 2 : k + 1, c = corners ? (k + 1) * (1 + b) + 1 : k * b + 1;
  return size[0] - 1 + b * (size[1] - 1) + c * (size[2] - 1) + 1;
}

/* Tiles of rows with very many couplings; each has a colour of its own. */
static double count_hub_tiles(const karst_ordering_pattern *pattern, double most)
{
  const karst_index n = pattern->block_rows;
  const karst_index degree = karst_hub_degree(n, pattern->row_start[n]);
  karst_index hubs = 0;
  for (karst_index i = 0; i < n; i++) hubs += pattern->row_start[i + 1] - pattern->row_start[i] > degree;
  return ceil((double)hubs / most);
}

/* The colours of boxes of size cells along each axis. */
static double count_box_colours(const karst_ordering_pattern *pattern, bool host, const struct shape *shape,
                                const double size[3])
{
  karst_index side[3];
  karst_tile_boxes boxes;
  for (int axis = 0; axis < 3; axis++) side[axis] = (karst_index)fmax(1, round(size[axis]));
  karst_tile_boxes_cut(&shape->grid, side, &boxes);
  karst_tile_boxes_colour(shape->corners ? KARST_STENCIL_CORNERS : KARST_STENCIL_FACES,
                          pattern->distance > 1 ? pattern->distance : 1, host, &boxes);
  return (double)boxes.colours;
}

/* Estimates the colours of tiles near to cubes, and the steps inside one. Returns the level sets of their order: a
 * chain of rows goes through a tile of each colour, but with fill it enters a box halfway on average. */
static double estimate_tiles(const karst_ordering_pattern *pattern, bool host, const struct shape *shape, double k,
                             karst_order_outlook *outlook)
{
  const double most = (double)karst_tile_set_size(pattern, host);
  double side[3] = {1, 1, 1}, axes = 0;
  if (shape->grid.size[0] == 0) {
    outlook->colours = NEAR_COLOURS + count_hub_tiles(pattern, most);
    side[0] = side[1] = side[2] = cbrt(most);
  } else {
    for (int axis = 0; axis < 3; axis++) axes += shape->grid.size[axis] > 1;
    for (int axis = 0; axis < 3; axis++)
      if (shape->grid.size[axis] > 1) side[axis] = fmin(pow(most, 1 / axes), (double)shape->grid.size[axis]);
    outlook->colours = count_box_colours(pattern, host, shape, side);
  }
  outlook->depth = fmin(count_box(side, shape->corners, k), most);
  const double whole = outlook->colours * outlook->depth;
  return k > 0 && shape->grid.size[0] > 0 && !shape->corners ? whole / 2 : whole;
}

/* Estimates the seconds of a tile of most rows. blocks: of both triangles. */
static double estimate_tile(karst_index n, int b, int64_t blocks, double most, const karst_machine *machine,
                            const karst_order_outlook *outlook)
{
  const double width = b < KARST_TILE_LANES ? KARST_TILE_LANES / b : 1;
  const double steps = fmax(outlook->depth, most / width);
  const int count = (int)fmax(1, most / steps), length = (int)fmin((double)blocks / (2 * (double)n) + 1, 1e9);
  const bool share = karst_tile_rows_are_long(n, blocks);
  const int rounds = karst_tile_rounds(b, count, length, share);
  return karst_tile_seconds(machine, b, share, (int64_t)steps, (int64_t)steps * rounds);
}

/* Estimates the times of both orders. blocks: with the fill of a 7-point grid, about; levels: of the order by tiles,
 * whose sweeps go the faster way. */
static void compare_orders(const karst_ordering_pattern *pattern, int64_t blocks, double levels,
                           const karst_machine *machine, bool level_sets, karst_order_outlook *outlook)
{
  const karst_index n = pattern->block_rows;
  const int b = pattern->matrix ? pattern->matrix->block_size : 1;
  const double most = (double)karst_tile_set_size(pattern, machine->host);
  karst_sweep_work work = {n, b, blocks, 2 * outlook->levels, blocks, 0, 0, false};
  outlook->bytes = (double)karst_sweep_bytes(n, b, blocks);
  outlook->natural = karst_sweep_seconds_by_levels(machine, &work);
  work.steps = 2 * levels;
  outlook->tiles = karst_sweep_seconds_by_levels(machine, &work);
  if (level_sets || n == 0) return;
  work.chain = 2 * outlook->colours * estimate_tile(n, b, blocks, most, machine, outlook);
  outlook->tiles = fmin(outlook->tiles, karst_sweep_seconds_by_tiles(machine, &work));
}

karst_status karst_order_estimate(const karst_ordering_pattern *pattern, const karst_machine *machine, bool level_sets,
                                  karst_order_outlook *outlook)
{
  const double k = pattern->distance > 1 ? pattern->distance - 1 : 0;
  const karst_index n = pattern->block_rows;
  const struct shape shape = find_shape(pattern);
  *outlook = (karst_order_outlook){0};
  if (shape.grid.size[0] > 0 && !shape.grid.cell) {
    const karst_index *of = shape.grid.size;
    const double size[3] = {(double)of[0], (double)of[1], (double)of[2]};
    outlook->levels = count_box(size, shape.corners, k);
  } else {
    karst_index levels;
    const karst_status status =
        karst_levels_count(pattern->context, n, pattern->row_start, pattern->column, true, &levels);
    if (status) return status;
    outlook->levels = (double)levels * (k + 1);
  }
  outlook->levels = fmin(outlook->levels, (double)n);
  const int64_t blocks = pattern->row_start[n] > n ? pattern->row_start[n] - n : 0;
  const double levels = estimate_tiles(pattern, machine->host, &shape, k, outlook);
  const double filled = fmin((k + 1) * (double)blocks, (double)n * (double)n);
  compare_orders(pattern, (int64_t)filled, levels, machine, level_sets, outlook);
  return KARST_SUCCESS;
}
