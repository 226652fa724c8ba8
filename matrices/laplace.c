/* laplace.c - the Laplacian on a unit-spaced Cartesian grid with Dirichlet boundaries, x fastest.
 *
 * poisson2d: 5 points, 4 and -1. poisson3d: 7 points, 6 and -1. laplace27: the 26 neighbours of a cube, 26 and -1. All
 * are symmetric positive definite. */
#include "config.h"

#include "matrices/gallery.h"
#include "matrices/parameters.h"
#include "matrices/stencil.h"

static double unit_coupling(const void *problem, const karst_cell *cell, int face)
{
  (void)problem, (void)cell, (void)face;
  return 1;
}

static karst_status build_poisson2d(karst_context *context, const karst_gallery_spec *spec, karst_matrix **matrix,
                                    karst_vector **rhs)
{
  (void)rhs;
  karst_status status = karst_parameters_read(context, "poisson2d", spec->parameters, 0, NULL);
  return status ? status : karst_grid_diffusion(context, spec->size, 2, unit_coupling, NULL, matrix);
}

static karst_status build_poisson3d(karst_context *context, const karst_gallery_spec *spec, karst_matrix **matrix,
                                    karst_vector **rhs)
{
  (void)rhs;
  karst_status status = karst_parameters_read(context, "poisson3d", spec->parameters, 0, NULL);
  return status ? status : karst_grid_diffusion(context, spec->size, 3, unit_coupling, NULL, matrix);
}

/* Writes one row of laplace27 from entry count on and returns the end of the row. */
static karst_index cube_row(const karst_index size[3], const karst_cell *cell, karst_index count,
                            karst_grid_arrays *arrays)
{
  for (int dz = -1; dz <= 1; dz++)
    for (int dy = -1; dy <= 1; dy++)
      for (int dx = -1; dx <= 1; dx++) {
        karst_index i = cell->position[0] + dx, j = cell->position[1] + dy, k = cell->position[2] + dz;
        if (i < 0 || i >= size[0] || j < 0 || j >= size[1] || k < 0 || k >= size[2]) continue;
        arrays->column[count] = i + size[0] * (j + size[1] * k);
        arrays->value[count] = dx == 0 && dy == 0 && dz == 0 ? 26 : -1;
        count++;
      }
  return count;
}

static karst_status build_laplace27(karst_context *context, const karst_gallery_spec *spec, karst_matrix **matrix,
                                    karst_vector **rhs)
{
  karst_grid_arrays arrays;
  karst_index cells = karst_grid_cells(spec->size), count = 0;
  int64_t entries = 1;
  (void)rhs;
  for (int axis = 0; axis < 3; axis++) entries *= 3 * (int64_t)spec->size[axis] - 2;
  karst_status status = karst_parameters_read(context, "laplace27", spec->parameters, 0, NULL);
  if (!status) status = karst_grid_allocate(context, cells, 1, entries, &arrays);
  if (status) return status;
  for (karst_index number = 0; number < cells; number++) {
    karst_cell cell = karst_grid_cell(spec->size, number);
    arrays.row_start[number] = count;
    count = cube_row(spec->size, &cell, count, &arrays);
  }
  arrays.row_start[cells] = count;
  return karst_grid_adopt(context, spec->size, 1, &arrays, matrix);
}

const struct karst_generator karst_poisson2d = {
    .name = "poisson2d",
    .help = "NXxNY: 5-point Laplacian, Dirichlet boundary",
    .dimensions = 2,
    .build = build_poisson2d,
};

const struct karst_generator karst_poisson3d = {
    .name = "poisson3d",
    .help = "NXxNYxNZ: 7-point Laplacian, Dirichlet boundary",
    .dimensions = 3,
    .build = build_poisson3d,
};

const struct karst_generator karst_laplace27 = {
    .name = "laplace27",
    .help = "NXxNYxNZ: 27-point Laplacian, Dirichlet boundary",
    .dimensions = 3,
    .build = build_laplace27,
};
