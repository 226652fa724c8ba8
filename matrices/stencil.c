/* stencil.c - builds block patterns and scalar diffusion matrices on Cartesian grids; see stencil.h. */
#include "config.h"

#include "matrices/stencil.h"

void karst_grid_release(karst_context *context, karst_grid_arrays *arrays)
{
  karst_release(context, arrays->row_start);
  karst_release(context, arrays->column);
  karst_release(context, arrays->value);
  *arrays = (karst_grid_arrays){0};
}

karst_status karst_grid_allocate(karst_context *context, karst_index cells, karst_gallery_part *part, int block_size,
                                 int64_t blocks, int widest, karst_grid_arrays *arrays)
{
  karst_status status;
  *arrays = (karst_grid_arrays){.end = cells, .part = part};
  if (part) {
    arrays->first = part->first;
    arrays->end = part->end;
  }
  const int64_t rows = arrays->end - arrays->first;
  if (part && rows * widest < blocks) blocks = rows * widest;
  if (blocks > KARST_INDEX_MAX)
    return karst_fail(context, KARST_ERROR_INDEX_OVERFLOW,
                      "a matrix of %lld blocks is more than %d-bit indices can count: configure with --enable-int64",
                      (long long)blocks, KARST_INDEX_BITS);
  status = karst_allocate(context, &arrays->row_start, rows + 1, sizeof *arrays->row_start, "the matrix's row starts");
  if (!status)
    status = karst_allocate(context, &arrays->column, blocks, sizeof *arrays->column, "the matrix's columns");
  if (!status)
    status = karst_allocate(context, &arrays->value, blocks, sizeof(double) * (size_t)block_size * (size_t)block_size,
                            "the matrix's values");
  if (status) karst_grid_release(context, arrays);
  return status;
}

karst_status karst_grid_pattern(karst_context *context, const karst_index size[3], karst_gallery_part *part,
                                int block_size, bool (*coupled)(const void *problem, const karst_cell *cell, int face),
                                const void *problem, karst_grid_arrays *arrays)
{
  karst_index cells = karst_grid_cells(size);
  int64_t blocks = cells;
  for (int axis = 0; axis < 3; axis++) blocks += 2 * (int64_t)(cells / size[axis]) * (size[axis] - 1);
  karst_status status = karst_grid_allocate(context, cells, part, block_size, blocks, KARST_FACES + 1, arrays);
  if (status) return status;
  karst_index count = 0;
  for (karst_index number = arrays->first; number < arrays->end; number++) {
    karst_cell cell = karst_grid_cell(size, number);
    *karst_grid_start(arrays, number) = count;
    for (int face = 0; face < KARST_FACES; face++) {
      karst_index neighbour = karst_grid_neighbour(size, &cell, face);
      if (face == KARST_FACES_BELOW) arrays->column[count++] = number;
      if (neighbour >= 0 && (!coupled || coupled(problem, &cell, face))) arrays->column[count++] = neighbour;
    }
  }
  *karst_grid_start(arrays, arrays->end) = count;
  return KARST_SUCCESS;
}

karst_status karst_grid_adopt(karst_context *context, const karst_index size[3], int block_size,
                              karst_grid_arrays *arrays, karst_matrix **matrix)
{
  karst_index cells = karst_grid_cells(size);
  karst_gallery_part *part = arrays->part;
  if (part) {
    part->block_size = block_size;
    part->row_start = arrays->row_start;
    part->column = arrays->column;
    part->value = arrays->value;
    *matrix = NULL;
    return KARST_SUCCESS;
  }
  karst_status status = karst_matrix_adopt(context, cells, block_size, (int64_t)cells * block_size, arrays->row_start,
                                           arrays->column, arrays->value, matrix);
  if (!status) karst_matrix_adopt_grid(*matrix, size, NULL);
  return status;
}

karst_status karst_grid_diffusion(karst_context *context, const karst_gallery_spec *spec, int dimensions,
                                  karst_grid_coupling *coupling, const void *problem, karst_matrix **matrix)
{
  karst_grid_arrays arrays;
  const karst_index *size = spec->size;
  karst_status status = karst_grid_pattern(context, size, spec->part, 1, NULL, NULL, &arrays);
  if (status) return status;
  for (karst_index number = arrays.first; number < arrays.end; number++) {
    karst_cell cell = karst_grid_cell(size, number);
    double *value = karst_grid_value(&arrays, 1, number), *diagonal = NULL, sum = 0;
    for (int face = 0; face < KARST_FACES; face++) {
      double c = karst_face_axis(face) < dimensions ? coupling(problem, &cell, face) : 0;
      if (face == KARST_FACES_BELOW) diagonal = value++;
      if (karst_grid_neighbour(size, &cell, face) >= 0) *value++ = -c;
      sum += c;
    }
    *diagonal = sum;
  }
  return karst_grid_adopt(context, size, 1, &arrays, matrix);
}
