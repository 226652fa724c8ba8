/* box_order.c - colours the boxes of a grid by their position, and sorts them, without a graph.
 *
 * Boxes of one colour are further apart than the fill of ILU(k) reaches, which is k + 1 couplings. A colour is a sum of
 * multiples of the numbers of a box along the axes, modulo the number of colours; if no such sum is valid, colours
 * repeat along each axis with a period.
 *
 * Along a sum with rising colours rows keep their natural order, so that sums cost fewer iterations than periods with
 * as many colours, and many colours fewer than few (Doi and Washio, "Ordering strategies and related techniques to
 * overcome the trade-off between parallelism and convergence in incomplete factorizations", Parallel Computing 25
 * (1999)). Without fill two colours suffice, as on a chessboard, and with fill twice as many for each axis. In space
 * four and twelve cost 4 to 10 % fewer iterations than two and eight, in a plane six 2 % fewer than four. Four in a
 * plane without fill gain 2 %, which does not pay for two more waits.
 *
 * Single cells of a 7-point grid get the fewest colours for which a sum is valid, up to k = 2: seven with k = 1 in
 * space (the perfect code of Golomb and Welch, "Perfect codes in the Lee metric and the packing of polyominoes", SIAM
 * J. Appl. Math. 18 (1970)). */
#include "config.h"

#include "lib/base/threads.h"

#include "symbolic/ordering/tiles.h"

#include <stdlib.h>

/* Sums for single cells are searched up to this distance, because their number grows with its sixth power. */
enum { FAR = 3 };
/* Six colours are used in a plane of a 7-point grid if this many boxes remain for each. */
enum { PLANE_BOXES = 10 };

static const char what[] = "the boxes of a grid";

/* The period of the colours along an axis: between boxes of one colour are period - 1 others, none of them the last and
 * shorter one. */
static karst_index find_period(karst_index side, karst_index pieces, int distance)
{
  const int64_t period = 1 + ((int64_t)distance + side - 1) / side;
  return period < pieces ? (karst_index)period : pieces;
}

/* The couplings along an axis from one box to another, boxes away. */
static int64_t count_steps(karst_index side, int boxes)
{
  return boxes == 0 ? 0 : 1 + (int64_t)side * (abs(boxes) - 1);
}

/* The couplings from one box to another, apart[axis] boxes away along each axis. */
static int64_t count_all_steps(const karst_tile_boxes *boxes, karst_stencil stencil, const int apart[3])
{
  int64_t sum = 0, most = 0;
  for (int axis = 0; axis < 3; axis++) {
    const int64_t steps = count_steps(boxes->side[axis], apart[axis]);
    sum += steps;
    if (steps > most) most = steps;
  }
  return stencil == KARST_STENCIL_FACES ? sum : most;
}

/* Whether no two boxes of one colour are within the distance. Half of the offsets between boxes are checked; the others
 * mirror them. */
static bool keeps_apart(const karst_tile_boxes *boxes, karst_stencil stencil, int distance)
{
  int reach[3];
  for (int axis = 0; axis < 3; axis++)
    reach[axis] = boxes->pieces[axis] > distance ? distance : (int)boxes->pieces[axis] - 1;
  for (int x = 0; x <= reach[0]; x++)
    for (int y = -reach[1]; y <= reach[1]; y++)
      for (int z = -reach[2]; z <= reach[2]; z++) {
        const int64_t steps = count_all_steps(boxes, stencil, (const int[3]){x, y, z});
        const karst_index sum = x * boxes->factor[0] + y * boxes->factor[1] + z * boxes->factor[2];
        if (steps > 0 && steps <= distance && sum % boxes->colours == 0) return false;
      }
  return true;
}

/* Finds factors that are valid with this many colours. */
static bool find_factors(karst_index colours, int distance, karst_tile_boxes *boxes)
{
  boxes->colours = colours;
  boxes->factor[0] = 1;
  for (karst_index y = 0; y < colours; y++)
    for (karst_index z = 0; z < colours; z++) {
      boxes->factor[1] = y;
      boxes->factor[2] = z;
      if (keeps_apart(boxes, KARST_STENCIL_FACES, distance)) return true;
    }
  return false;
}

/* Chooses the factors, each growth times the one before, along the axes with several boxes: an axis of strong couplings
 * first, and last the axis along which consecutive rows lie. This was the order with the fewest iterations. */
static void choose_factors(karst_index growth, karst_tile_boxes *boxes)
{
  const int sequence[] = {boxes->strong, 1, 2, 0};
  karst_index factor = 1;
  for (int i = 0; i < 4; i++) {
    const int axis = sequence[i];
    if (axis < 0 || (i > 0 && axis == boxes->strong)) continue;
    boxes->factor[axis] = boxes->pieces[axis] > 1 ? factor : 0;
    if (boxes->pieces[axis] > 1) factor *= growth;
  }
}

/* Colours boxes by sums, and returns whether that keeps those of one colour apart. */
static bool colour_by_sums(karst_stencil stencil, int distance, bool host, karst_tile_boxes *boxes)
{
  const karst_index tiles = karst_grid_cells(boxes->pieces);
  const bool touch = stencil == KARST_STENCIL_FACES && distance == 1; /* only boxes with a common face couple */
  const karst_index space_colours = touch ? 4 : 12, plane_colours = 6;
  const karst_index least = karst_tile_set_least(host, touch);
  const karst_index least_of_plane = stencil == KARST_STENCIL_FACES ? PLANE_BOXES : least;
  int axes = 0;
  for (int axis = 0; axis < 3; axis++) axes += boxes->pieces[axis] > 1;
  boxes->colours = touch ? 2 : 1 << axes;
  if (axes == 3 && tiles / space_colours >= least) boxes->colours = space_colours;
  if (axes == 2 && !touch && tiles / plane_colours >= least_of_plane) boxes->colours = plane_colours;
  choose_factors(touch ? 1 : 2, boxes);
  return axes > 0 && keeps_apart(boxes, stencil, distance);
}

void karst_tile_boxes_colour(karst_stencil stencil, int distance, bool host, karst_tile_boxes *boxes)
{
  karst_index most = 1;
  for (int axis = 0; axis < 3; axis++) {
    boxes->period[axis] = find_period(boxes->side[axis], boxes->pieces[axis], distance);
    most *= boxes->period[axis];
  }
  if (karst_grid_cells(boxes->side) > 1) {
    if (colour_by_sums(stencil, distance, host, boxes)) return;
  } else if (stencil == KARST_STENCIL_FACES && distance <= FAR) {
    for (karst_index colours = 1; colours < most; colours++)
      if (find_factors(colours, distance, boxes)) return;
  }
  for (int axis = 0; axis < 3; axis++) boxes->factor[axis] = 0;
  boxes->colours = most;
}

static karst_index colour_of(const karst_tile_boxes *boxes, const karst_index at[3])
{
  const karst_index *factor = boxes->factor, *period = boxes->period;
  if (factor[0] + factor[1] + factor[2] > 0) {
    const int64_t sum = (int64_t)at[0] * factor[0] + (int64_t)at[1] * factor[1] + (int64_t)at[2] * factor[2];
    return (karst_index)(sum % boxes->colours);
  }
  return at[0] % period[0] + period[0] * (at[1] % period[1] + period[1] * (at[2] % period[2]));
}

/* Boxes that are being sorted. */
struct sorting {
  const karst_tile_boxes *boxes;
  karst_index tiles;
  karst_index *row;    /* [cells] the block row of each cell, or -1; NULL: its number */
  karst_index *size;   /* [tiles] the block rows of each box */
  karst_index *colour; /* [tiles] */
  karst_index *box;    /* [tiles] the boxes in the new order */
  karst_index *cursor; /* [parts][colours] the next place of a box in the new order */
  int parts;
};

/* Lists the block rows of a box by their cells, unless list is NULL; returns their number. */
static karst_index list_rows(const struct sorting *s, const karst_index at[3], karst_index *list)
{
  const karst_index *size = s->boxes->grid->size;
  karst_index begin[3], end[3], count = 0;
  for (int axis = 0; axis < 3; axis++) {
    const karst_index side = s->boxes->side[axis];
    begin[axis] = at[axis] * side;
    end[axis] = size[axis] - begin[axis] < side ? size[axis] : begin[axis] + side;
  }
  if (!s->row && !list) return (end[0] - begin[0]) * (end[1] - begin[1]) * (end[2] - begin[2]);
  for (karst_index z = begin[2]; z < end[2]; z++)
    for (karst_index y = begin[1]; y < end[1]; y++) {
      const karst_index line = size[0] * (y + size[1] * z);
      for (karst_index x = begin[0]; x < end[0]; x++) {
        const karst_index i = s->row ? s->row[line + x] : line + x;
        if (i >= 0 && list) list[count] = i;
        count += i >= 0;
      }
    }
  return count;
}

/* Measures and colours the boxes of a part, and counts those of each colour that have rows. */
static void measure_boxes(struct sorting *s, int part)
{
  const karst_index end = (karst_index)karst_share(s->tiles, part + 1, s->parts);
  karst_index *count = s->cursor + (int64_t)part * s->boxes->colours;
  for (karst_index c = 0; c < s->boxes->colours; c++) count[c] = 0;
  for (karst_index t = (karst_index)karst_share(s->tiles, part, s->parts); t < end; t++) {
    const karst_cell box = karst_grid_cell(s->boxes->pieces, t);
    s->colour[t] = colour_of(s->boxes, box.position);
    s->size[t] = list_rows(s, box.position, NULL);
    count[s->colour[t]] += s->size[t] > 0;
  }
}

/* Turns the counts into cursors, and fills the colours of the tiling. */
static void place_colours(struct sorting *s, karst_tiling *tiling)
{
  tiling->colour_start[0] = 0;
  for (karst_index c = 0; c < s->boxes->colours; c++) {
    const karst_index before = tiling->tiles;
    for (int part = 0; part < s->parts; part++) {
      karst_index *count = &s->cursor[(int64_t)part * s->boxes->colours + c];
      const karst_index first = tiling->tiles;
      tiling->tiles += *count;
      *count = first;
    }
    if (tiling->tiles > before) tiling->colour_start[++tiling->colours] = tiling->tiles;
  }
}

/* Puts the boxes of a part into their places. start[t + 1] becomes the size of tile t. */
static void place_boxes(struct sorting *s, int part, karst_index *start)
{
  const karst_index end = (karst_index)karst_share(s->tiles, part + 1, s->parts);
  karst_index *cursor = s->cursor + (int64_t)part * s->boxes->colours;
  for (karst_index t = (karst_index)karst_share(s->tiles, part, s->parts); t < end; t++) {
    if (s->size[t] == 0) continue;
    const karst_index place = cursor[s->colour[t]]++;
    s->box[place] = t;
    start[place + 1] = s->size[t];
  }
}

/* Measures the boxes of all parts or, if start is given, puts them in their places. */
static void go_through_boxes(karst_context *context, int64_t work, struct sorting *s, karst_index *start)
{
  karst_piece piece = karst_begin_at_most(context, KARST_KIND_ONCE, work, s->parts);
#pragma omp parallel num_threads(piece.threads)
  {
    const karst_part part = karst_part_begin(&piece, s->parts);
    for (int p = (int)part.first; p < (int)part.last; p++)
      if (start)
        place_boxes(s, p, start);
      else
        measure_boxes(s, p);
    karst_part_end(&piece, &part);
  }
  karst_end(context, &piece);
}

static void list_all_rows(karst_context *context, karst_index rows, const struct sorting *s, const karst_tiling *tiling,
                          karst_index *permutation)
{
  karst_piece piece = karst_begin(context, KARST_KIND_ONCE, rows);
#pragma omp parallel num_threads(piece.threads)
  {
    const karst_part part = karst_part_begin(&piece, tiling->tiles);
    for (karst_index place = part.first; place < part.last; place++) {
      const karst_cell box = karst_grid_cell(s->boxes->pieces, s->box[place]);
      list_rows(s, box.position, permutation + tiling->start[place]);
    }
    karst_part_end(&piece, &part);
  }
  karst_end(context, &piece);
}

karst_status karst_tile_boxes_sort(karst_context *context, karst_index rows, const karst_tile_boxes *boxes,
                                   karst_index *permutation, karst_tiling *tiling)
{
  struct sorting s = {.boxes = boxes, .tiles = karst_grid_cells(boxes->pieces)};
  karst_status status;
  /* A box is little work, unless its rows are looked at. */
  const int64_t work = boxes->grid->cell ? rows : s.tiles;
  s.parts = karst_threads_for(context, work);
  if ((status = karst_grid_map_cells(context, boxes->grid, rows, &s.row)) ||
      (status = karst_allocate(context, &s.size, s.tiles, sizeof *s.size, what)) ||
      (status = karst_allocate(context, &s.colour, s.tiles, sizeof *s.colour, what)) ||
      (status = karst_allocate(context, &s.box, s.tiles, sizeof *s.box, what)) ||
      (status = karst_allocate(context, &s.cursor, (int64_t)s.parts * boxes->colours, sizeof *s.cursor, what)) ||
      (status = karst_allocate(context, &tiling->colour_start, (int64_t)boxes->colours + 1,
                               sizeof *tiling->colour_start, what)))
    goto finish;
  go_through_boxes(context, work, &s, NULL);
  place_colours(&s, tiling);
  if ((status = karst_allocate(context, &tiling->start, (int64_t)tiling->tiles + 1, sizeof *tiling->start, what)))
    goto finish;
  go_through_boxes(context, work, &s, tiling->start);
  if ((status = karst_counts_to_starts(context, tiling->tiles, tiling->start, "the tiles of a grid"))) goto finish;
  list_all_rows(context, rows, &s, tiling, permutation);

finish:
  karst_release(context, s.row);
  karst_release(context, s.size);
  karst_release(context, s.colour);
  karst_release(context, s.box);
  karst_release(context, s.cursor);
  return status;
}
