/* parts.c - several grids side by side; see parts.h.
 *
 * Luo, Edwards, Luo and Mueller, equation (3): each grid has its own preconditioner, and grids exchange information
 * only through the residual, between two corrections. The grid is cut into N = px py pz boxes whose sides differ by at
 * most one cell along each axis, and the preconditioner's matrix lacks the couplings between boxes. */
#include "solver/parts.h"

#include "lib/grid/grid.h"

#include <math.h>
#include <string.h>

/* The grid of a matrix, not owned. */
static karst_status look_up_grid(const karst_matrix *A, karst_grid *grid)
{
  *grid = A->grid;
  return karst_has_grid(A) ? KARST_SUCCESS : karst_grid_find(A, grid);
}

/* Chooses how many boxes lie along each axis: those with the least surface, which are nearest to cubes, and among these
 * the most along z, which makes the parts most contiguous. Returns false if the axes have too few cells for every
 * product of three numbers that is count. */
static bool choose_boxes(const karst_index size[3], karst_index count, karst_index boxes[3])
{
  double least = INFINITY;
  for (karst_index z = count < size[2] ? count : size[2]; z >= 1; z--) {
    if (count % z != 0) continue;
    const karst_index rest = count / z;
    for (karst_index y = rest < size[1] ? rest : size[1]; y >= 1; y--) {
      if (rest % y != 0 || rest / y > size[0]) continue;
      const karst_index x = rest / y;
      const double surface = (double)x / (double)size[0] + (double)y / (double)size[1] + (double)z / (double)size[2];
      if (surface >= least) continue;
      least = surface;
      boxes[0] = x;
      boxes[1] = y;
      boxes[2] = z;
    }
  }
  return isfinite(least);
}

/* part[i]: the number of the box that block row i is in, counted as the cells of a grid are. */
static karst_status number_parts(const karst_matrix *A, const karst_grid *grid, int count, karst_index *part)
{
  karst_index boxes[3] = {1, 1, 1};
  if (!choose_boxes(grid->size, count, boxes))
    return karst_fail(A->context, KARST_ERROR_OPTION,
                      "a grid of %lldx%lldx%lld cells cannot be cut into %d parts: no numbers of boxes along its axes "
                      "have that product and are no larger than those of its cells",
                      (long long)grid->size[0], (long long)grid->size[1], (long long)grid->size[2], count);
  for (karst_index i = 0; i < A->block_rows; i++) {
    const karst_cell cell = karst_grid_cell(grid->size, grid->cell ? grid->cell[i] : i);
    int64_t at[3];
    for (int axis = 0; axis < 3; axis++) /* box p begins at cell floor(p size / boxes) */
      at[axis] = (((int64_t)cell.position[axis] + 1) * boxes[axis] - 1) / grid->size[axis];
    part[i] = (karst_index)(at[0] + boxes[0] * (at[1] + boxes[1] * at[2]));
  }
  return KARST_SUCCESS;
}

/* The part of block row i of the system. */
static karst_index part_of(const karst_parts *parts, const karst_system *system, karst_index i)
{
  return parts->part[karst_system_original_row(system, i)];
}

/* Sets row_start, and copies the columns of each row of the system's matrix that lie in the row's part; source[k]: the
 * number of block k there. With column NULL it only sets row_start. */
static void copy_columns(const karst_parts *parts, const karst_system *system, karst_index *row_start,
                         karst_index *column, karst_index *source)
{
  const karst_matrix *A = system->matrix;
  karst_index count = 0;
  for (karst_index i = 0; i < A->block_rows; i++) {
    row_start[i] = count;
    for (karst_index k = A->row_start[i]; k < A->row_start[i + 1]; k++) {
      if (part_of(parts, system, A->column[k]) != part_of(parts, system, i)) continue;
      if (column) column[count] = A->column[k];
      if (column) source[count] = k;
      count++;
    }
  }
  row_start[A->block_rows] = count;
}

static karst_status make_parts_pattern(karst_parts *parts, const karst_system *system)
{
  karst_context *context = parts->context;
  const karst_matrix *A = system->matrix;
  karst_index *row_start = NULL, *column = NULL, *source = NULL;
  karst_status status = karst_matrix_fetch_pattern(A);
  if (status) return status;
  status =
      karst_allocate(context, &row_start, (int64_t)A->block_rows + 1, sizeof *row_start, "the pattern of the parts");
  if (!status) copy_columns(parts, system, row_start, NULL, NULL);
  const karst_index blocks = status ? 0 : row_start[A->block_rows];
  if (!status) status = karst_allocate(context, &column, blocks, sizeof *column, "the pattern of the parts");
  if (!status) status = karst_allocate(context, &source, blocks, sizeof *source, "the pattern of the parts");
  if (!status) copy_columns(parts, system, row_start, column, source);
  if (!status)
    status = karst_device_indices(context, blocks, source, "the pattern of the parts", &parts->device_source);
  karst_release(context, source);
  if (status) {
    karst_release(context, row_start);
    karst_release(context, column);
    return status;
  }
  parts->memory += (2 * (int64_t)blocks + 2 * (int64_t)A->block_rows) * (int64_t)sizeof *source;
  return karst_matrix_adopt_pattern(context, A->block_rows, A->block_size, row_start, column, &parts->pattern);
}

/* Gives the pattern of the parts the grid that was cut, in the order of the system, so that a preconditioner for grids
 * does not look for another one. */
static karst_status hand_down_grid(karst_parts *parts, const karst_system *system, const karst_grid *grid)
{
  const karst_index rows = parts->pattern->block_rows;
  karst_index *cell = NULL;
  if (grid->cell || system->ordered) {
    karst_status status = karst_allocate(parts->context, &cell, rows, sizeof *cell, "the cells of block rows");
    if (status) return status;
    for (karst_index i = 0; i < rows; i++) {
      const karst_index row = karst_system_original_row(system, i);
      cell[i] = grid->cell ? grid->cell[row] : row;
    }
  }
  karst_matrix_adopt_grid(parts->pattern, grid->size, cell);
  if (parts->pattern->grid.cell) parts->memory += (int64_t)rows * (int64_t)sizeof *cell;
  return KARST_SUCCESS;
}

static karst_status fill(karst_parts *parts, int count, const karst_system *system)
{
  const karst_matrix *A = system->original;
  karst_grid grid;
  karst_status status = look_up_grid(A, &grid);
  if (!status)
    status = karst_allocate(parts->context, &parts->part, A->block_rows, sizeof *parts->part, "the parts of the grid");
  if (!status) status = number_parts(A, &grid, count, parts->part);
  if (!status) status = make_parts_pattern(parts, system);
  return status ? status : hand_down_grid(parts, system, &grid);
}

karst_status karst_parts_create(int count, const karst_system *system, karst_parts **parts)
{
  karst_status status = karst_allocate_zero(system->context, parts, 1, sizeof **parts, "the parts of the grid");
  if (status) return status;
  (*parts)->context = system->context;
  (*parts)->references = 1;
  status = fill(*parts, count, system);
  if (status) {
    karst_parts_release(*parts);
    *parts = NULL;
  }
  return status;
}

karst_parts *karst_parts_hold(karst_parts *parts)
{
  if (parts) __atomic_fetch_add(&parts->references, 1, __ATOMIC_RELAXED);
  return parts;
}

void karst_parts_release(karst_parts *parts)
{
  /* The last one to release it sees all changes that the others have made. */
  if (!parts || __atomic_sub_fetch(&parts->references, 1, __ATOMIC_ACQ_REL) > 0) return;
  karst_context *context = parts->context;
  karst_release(context, parts->part);
  context->backend->release(context, parts->device_source);
  karst_matrix_destroy(parts->pattern);
  karst_release(context, parts);
}

karst_status karst_parts_check(const karst_parts *parts, int count, const karst_matrix *A)
{
  karst_grid grid;
  karst_index *part, i = 0;
  karst_status status = look_up_grid(A, &grid);
  if (!status) status = karst_allocate(A->context, &part, A->block_rows, sizeof *part, "the parts of the grid");
  if (status) return status;
  status = number_parts(A, &grid, count, part);
  while (!status && i < A->block_rows && part[i] == parts->part[i]) i++;
  karst_release(A->context, part);
  if (status || i == A->block_rows) return status;
  return karst_fail(A->context, KARST_ERROR_ARGUMENT,
                    "the grid of the matrix is cut into other parts than that of the analysis: block row %lld is in "
                    "another one",
                    (long long)i);
}

karst_status karst_parts_copy(const karst_parts *parts, const karst_system *system, karst_matrix **copy)
{
  karst_status status = karst_matrix_on_pattern(parts->pattern, system->matrix->rows_unpadded, copy);
  if (!status) status = karst_matrix_copy_grid(parts->pattern, NULL, *copy);
  if (!status) {
    (*copy)->tiling = system->matrix->tiling;
    return KARST_SUCCESS;
  }
  karst_matrix_destroy(*copy);
  *copy = NULL;
  return status;
}

int64_t karst_parts_copy_memory(const karst_matrix *copy)
{
  const int64_t cells = copy->grid.cell ? (int64_t)copy->block_rows * (int64_t)sizeof *copy->grid.cell : 0;
  return karst_entries(copy) * (int64_t)sizeof *copy->value + cells;
}

void karst_parts_update(const karst_parts *parts, const karst_system *system, const karst_matrix *copy)
{
  const karst_matrix *A = system->matrix;
  A->context->backend->gather(A->context, (karst_index)karst_matrix_blocks(copy), A->block_size * A->block_size,
                              parts->device_source, A->value, copy->value);
}
