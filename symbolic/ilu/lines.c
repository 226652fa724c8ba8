/* lines.c - the lines of a grid: runs of consecutive active cells along an axis, each coupled with the next one in both
 * directions. A hole, a fault or a missing coupling ends a line. All other couplings of the pattern are allowed, and
 * belong to no line. lib/backend/lines_kernels.h describes the result. */
#include "symbolic/symbolic.h"

#include "lib/base/threads.h"

#include <string.h>

static const char what[] = "the lines of a grid";

/* The links of each block row along the axis, and the lines by the block row that they begin with. */
struct links {
  karst_index *diagonal, *lower, *upper; /* [rows] numbers of blocks; -1: none */
  karst_index *left;                     /* [rows] the cells from each block row to the end of its line */
  karst_index *first;                    /* [lines] the first block row of each line */
  karst_index *order;                    /* [lines] the same by colour and descending length */
};

karst_status karst_line_grid_create(karst_context *context, const karst_matrix *A, karst_line_grid *grid)
{
  *grid = (karst_line_grid){.grid = A->grid};
  karst_status status = karst_has_grid(A) ? KARST_SUCCESS : karst_grid_find(A, &grid->grid);
  return status ? status : karst_grid_map_cells(context, &grid->grid, A->block_rows, &grid->row);
}

void karst_line_grid_destroy(karst_context *context, karst_line_grid *grid)
{
  karst_release(context, grid->row);
  grid->row = NULL;
}

/* Returns the block row of the next cell along an axis, or -1. */
static karst_index row_ahead(const karst_line_grid *grid, karst_index i, int axis)
{
  static const int face[KARST_AXES] = {3, 4, 5};
  const karst_cell here = karst_grid_cell(grid->grid.size, grid->grid.cell ? grid->grid.cell[i] : i);
  const karst_index there = karst_grid_neighbour(grid->grid.size, &here, face[axis]);
  return there < 0 || !grid->row ? there : grid->row[there];
}

static karst_index find_block(const karst_matrix *A, karst_index i, karst_index j)
{
  return karst_find_column(A->column, A->row_start[i], A->row_start[i + 1], j);
}

/* Finds the blocks of each position. Only block row i writes upper[i], and lower of the row ahead. */
static void link_rows(karst_context *context, const karst_matrix *A, const karst_line_grid *grid, int axis,
                      struct links *links)
{
  for (karst_index i = 0; i < A->block_rows; i++) links->lower[i] = -1;
  karst_piece piece = karst_begin(context, KARST_KIND_ONCE, A->row_start[A->block_rows]);
#pragma omp parallel num_threads(piece.threads)
  {
    const karst_part part = karst_part_rows(&piece, A->block_rows, A->row_start);
    for (karst_index i = part.first; i < part.last; i++) {
      const karst_index ahead = row_ahead(grid, i, axis), up = ahead < 0 ? -1 : find_block(A, i, ahead);
      const karst_index back = up < 0 ? -1 : find_block(A, ahead, i);
      links->diagonal[i] = find_block(A, i, i);
      links->upper[i] = back < 0 ? -1 : up;
      if (back >= 0) links->lower[ahead] = back;
    }
    karst_part_end(&piece, &part);
  }
  karst_end(context, &piece);
}

/* Lists the lines in the order of their first cells, so that lines side by side have neighbouring cells. Cells come
 * before those ahead of them: a pass from the last cell counts what is left of each line, without a walk along it. */
static void list_lines(const karst_matrix *A, const karst_line_grid *grid, const struct links *links,
                       karst_lines *lines)
{
  const karst_index cells = karst_grid_cells(grid->grid.size);
  for (karst_index c = cells; c-- > 0;) {
    const karst_index row = grid->row ? grid->row[c] : c;
    if (row < 0) continue;
    links->left[row] = links->upper[row] < 0 ? 1 : 1 + links->left[A->column[links->upper[row]]];
    if (links->left[row] > lines->longest) lines->longest = links->left[row];
  }
  for (karst_index c = 0; c < cells; c++) {
    const karst_index row = grid->row ? grid->row[c] : c;
    if (row >= 0 && links->lower[row] < 0) links->first[lines->lines++] = row;
  }
}

/* Returns the parity of the positions of a cell along the other axes. */
static int colour_of(const karst_line_grid *grid, karst_index row, int axis)
{
  const karst_cell cell = karst_grid_cell(grid->grid.size, grid->grid.cell ? grid->grid.cell[row] : row);
  karst_index sum = 0;
  for (int other = 0; other < KARST_AXES; other++)
    if (other != axis) sum += cell.position[other] % 2;
  return (int)(sum % 2);
}

/* Sorts the lines of each colour by descending length, stably, by counting. Sets count to the lines of each colour. */
static karst_status sort_lines(karst_context *context, const karst_line_grid *grid, const struct links *links,
                               const karst_lines *lines, karst_index count[KARST_LINE_COLOURS])
{
  const int64_t keys = (int64_t)lines->longest * lines->colours;
  karst_index *start, place = 0;
  karst_status status = karst_allocate_zero(context, &start, keys + 1, sizeof *start, what);
  if (status) return status;
  for (int pass = 0; pass < 2; pass++) {
    for (karst_index l = 0; l < lines->lines; l++) {
      const int colour = lines->colours > 1 ? colour_of(grid, links->first[l], lines->axis) : 0;
      const int64_t key = (int64_t)colour * lines->longest + (lines->longest - links->left[links->first[l]]);
      if (pass == 0) start[key]++, count[colour]++;
      if (pass > 0) links->order[start[key]++] = links->first[l];
    }
    for (int64_t key = 0; key < keys && pass == 0; key++) {
      const karst_index here = start[key];
      start[key] = place;
      place += here;
    }
  }
  karst_release(context, start);
  return KARST_SUCCESS;
}

/* Makes the slices of the sorted lines: the first line of each is its longest. */
static karst_status cut_slices(karst_context *context, const struct links *links,
                               const karst_index count[KARST_LINE_COLOURS], karst_lines *lines)
{
  karst_index line = 0, slice = 0;
  karst_index most = 1;
  for (int colour = 0; colour < lines->colours; colour++)
    if (count[colour] > most) most = count[colour];
  if (most < lines->width) lines->width = (int)most;
  for (int colour = 0; colour < lines->colours; colour++)
    lines->slices += count[colour] / lines->width + (count[colour] % lines->width > 0);
  karst_status status = karst_allocate(context, &lines->step, (int64_t)lines->slices + 1, sizeof *lines->step, what);
  if (status) return status;
  lines->step[0] = 0;
  for (int colour = 0; colour < lines->colours; colour++) {
    const karst_index end = line + count[colour];
    lines->first_slice[colour] = slice;
    for (; line<end; line = end - line> lines->width ? line + lines->width : end) {
      lines->step[slice + 1] = lines->step[slice] + links->left[links->order[line]];
      slice++;
    }
  }
  for (int colour = lines->colours; colour <= KARST_LINE_COLOURS; colour++) lines->first_slice[colour] = slice;
  lines->slots = (int64_t)lines->step[slice] * lines->width;
  return KARST_SUCCESS;
}

/* Fills the slots of a slice, and colours its block rows. Step by step, because lines side by side have their blocks
 * side by side. */
static void fill_slice(const karst_matrix *A, const struct links *links, karst_index slice, int colour,
                       const karst_index *first, karst_index count, karst_lines *lines)
{
  const int width = lines->width;
  karst_index row[width];
  for (int lane = 0; lane < width; lane++) row[lane] = lane < count ? first[lane] : -1;
  for (karst_index k = lines->step[slice]; k < lines->step[slice + 1]; k++)
    for (int lane = 0; lane < width; lane++) {
      const int64_t at = (int64_t)k * width + lane;
      const karst_index i = row[lane];
      lines->row[at] = i;
      if (i < 0) continue;
      lines->diagonal[at] = links->diagonal[i];
      lines->lower[at] = links->lower[i];
      lines->upper[at] = links->upper[i];
      if (lines->colour) lines->colour[i] = (unsigned char)colour;
      row[lane] = links->upper[i] < 0 ? -1 : A->column[links->upper[i]];
    }
}

static karst_status fill_slots(karst_context *context, const karst_matrix *A, const struct links *links,
                               const karst_index count[KARST_LINE_COLOURS], karst_lines *lines)
{
  karst_status status = karst_allocate(context, &lines->row, lines->slots, sizeof *lines->row, what);
  if (!status) status = karst_allocate(context, &lines->diagonal, lines->slots, sizeof *lines->diagonal, what);
  if (!status) status = karst_allocate(context, &lines->lower, lines->slots, sizeof *lines->lower, what);
  if (!status) status = karst_allocate(context, &lines->upper, lines->slots, sizeof *lines->upper, what);
  if (!status && lines->colours > 1)
    status = karst_allocate(context, &lines->colour, lines->rows, sizeof *lines->colour, what);
  if (status) return status;
  karst_piece piece = karst_begin(context, KARST_KIND_ONCE, lines->slots);
#pragma omp parallel num_threads(piece.threads)
  {
    const karst_part part = karst_part_begin(&piece, lines->slices);
    for (karst_index slice = part.first; slice < part.last; slice++) {
      const int colour = slice >= lines->first_slice[1];
      const karst_index before = (slice - lines->first_slice[colour]) * lines->width;
      fill_slice(A, links, slice, colour, links->order + (colour > 0 ? count[0] : 0) + before, count[colour] - before,
                 lines);
    }
    karst_part_end(&piece, &part);
  }
  karst_end(context, &piece);
  return KARST_SUCCESS;
}

static karst_status make_links(karst_context *context, karst_index rows, struct links *links)
{
  *links = (struct links){0};
  karst_status status = karst_allocate(context, &links->diagonal, rows, sizeof *links->diagonal, what);
  if (!status) status = karst_allocate(context, &links->lower, rows, sizeof *links->lower, what);
  if (!status) status = karst_allocate(context, &links->upper, rows, sizeof *links->upper, what);
  if (!status) status = karst_allocate(context, &links->first, rows, sizeof *links->first, what);
  if (!status) status = karst_allocate(context, &links->left, rows, sizeof *links->left, what);
  return status ? status : karst_allocate(context, &links->order, rows, sizeof *links->order, what);
}

static void release_links(karst_context *context, const struct links *links)
{
  karst_release(context, links->diagonal);
  karst_release(context, links->lower);
  karst_release(context, links->upper);
  karst_release(context, links->first);
  karst_release(context, links->left);
  karst_release(context, links->order);
}

/* Gives the device an array, and drops the host's if the device has a copy. */
static karst_status place(karst_context *context, int64_t bytes, void *host /* T ** */, void *device /* T ** */,
                          int64_t *memory)
{
  void *from, *to = NULL;
  memcpy(&from, host, sizeof from);
  if (!from || bytes == 0) return KARST_SUCCESS;
  const karst_status status = context->backend->place(context, from, (size_t)bytes, what, &to);
  memcpy(device, &to, sizeof to);
  if (status) return status;
  *memory += bytes;
  if (to != from) {
    karst_release(context, from);
    from = NULL;
    memcpy(host, &from, sizeof from);
  }
  return KARST_SUCCESS;
}

static karst_status place_all(karst_context *context, karst_lines *lines)
{
  const int64_t bytes = lines->slots * (int64_t)sizeof(karst_index), steps = (int64_t)lines->slices + 1;
  karst_status status =
      place(context, steps * (int64_t)sizeof *lines->step, &lines->step, &lines->device.step, &lines->memory);
  if (!status) status = place(context, bytes, &lines->row, &lines->device.row, &lines->memory);
  if (!status) status = place(context, bytes, &lines->diagonal, &lines->device.diagonal, &lines->memory);
  if (!status) status = place(context, bytes, &lines->lower, &lines->device.lower, &lines->memory);
  if (!status) status = place(context, bytes, &lines->upper, &lines->device.upper, &lines->memory);
  return status ? status : place(context, lines->rows, &lines->colour, &lines->device.colour, &lines->memory);
}

karst_status karst_lines_create(karst_context *context, const karst_matrix *A, const karst_line_grid *grid, int axis,
                                int colours, karst_lines *lines)
{
  struct links links;
  karst_index count[KARST_LINE_COLOURS] = {0};
  *lines = (karst_lines){.axis = axis,
                         .block_size = A->block_size,
                         .width = context->backend->lines->width(A->block_size),
                         .colours = colours,
                         .rows = A->block_rows};
  karst_status status = make_links(context, A->block_rows, &links);
  if (!status) {
    link_rows(context, A, grid, axis, &links);
    list_lines(A, grid, &links, lines);
    status = sort_lines(context, grid, &links, lines, count);
  }
  if (!status) status = cut_slices(context, &links, count, lines);
  if (!status) status = fill_slots(context, A, &links, count, lines);
  release_links(context, &links);
  if (!status) status = place_all(context, lines);
  if (status) karst_lines_destroy(context, lines);
  return status;
}

void karst_lines_destroy(karst_context *context, karst_lines *lines)
{
  karst_release_placed(context, lines->step, lines->device.step);
  karst_release_placed(context, lines->row, lines->device.row);
  karst_release_placed(context, lines->diagonal, lines->device.diagonal);
  karst_release_placed(context, lines->lower, lines->device.lower);
  karst_release_placed(context, lines->upper, lines->device.upper);
  karst_release_placed(context, lines->colour, lines->device.colour);
  *lines = (karst_lines){.lines = 0};
}

karst_status karst_line_strengths(karst_context *context, const karst_matrix *A, const karst_line_grid *grid,
                                  double strength[KARST_AXES])
{
  float *of_entry;
  for (int axis = 0; axis < KARST_AXES; axis++) strength[axis] = 0;
  const karst_status status = karst_strength_of_entries(A, &of_entry);
  if (status) return status;
  for (karst_index i = 0; i < A->block_rows; i++)
    for (int axis = 0; axis < KARST_AXES; axis++) {
      const karst_index ahead = row_ahead(grid, i, axis), up = ahead < 0 ? -1 : find_block(A, i, ahead);
      if (up >= 0 && find_block(A, ahead, i) >= 0) strength[axis] += of_entry ? (double)of_entry[up] : 1;
    }
  karst_release(context, of_entry);
  return KARST_SUCCESS;
}
