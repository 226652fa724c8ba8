/* diffusion.c - discretises -div(k grad u) on a unit-spaced Cartesian grid with Dirichlet boundaries, x fastest. All
 * matrices are symmetric positive definite.
 *
 * poisson2d: 5 points, 4 and -1. poisson3d: 7 points, 6 and -1. laplace27: the 26 neighbours of a cube, 26 and -1.
 * anisotropic: 7 points, k is the constant diagonal tensor diag(epsx, epsy, epsz); the coupling behind a face is its k.
 * discontinuous: 7 points, k is 1 in the white and jump in the black cubes of a checkerboard whose cubes are width
 * cells wide; two cells couple by the harmonic mean 2 / (1/k1 + 1/k2), a cell and the boundary by the cell's own k. */
#include "config.h"

#include "matrices/gallery.h"
#include "matrices/parameters.h"
#include "matrices/stencil.h"

static double unit_coupling(const void *problem, const karst_cell *cell, int face)
{
  (void)problem, (void)cell, (void)face;
  return 1;
}

static karst_status build_poisson(karst_context *context, const karst_gallery_spec *spec, karst_matrix **matrix,
                                  karst_vector **rhs)
{
  (void)rhs;
  karst_status status = karst_parameters_read(context, spec, 0, NULL);
  return status ? status
                : karst_grid_diffusion(context, spec, spec->generator->dimensions, unit_coupling, NULL, matrix);
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
  karst_status status = karst_parameters_read(context, spec, 0, NULL);
  if (!status) status = karst_grid_allocate(context, cells, spec->part, 1, entries, 27, &arrays);
  if (status) return status;
  for (karst_index number = arrays.first; number < arrays.end; number++) {
    karst_cell cell = karst_grid_cell(spec->size, number);
    *karst_grid_start(&arrays, number) = count;
    count = cube_row(spec->size, &cell, count, &arrays);
  }
  *karst_grid_start(&arrays, arrays.end) = count;
  return karst_grid_adopt(context, spec->size, 1, &arrays, matrix);
}

static double tensor_coupling(const void *problem, const karst_cell *cell, int face)
{
  const double *epsilon = problem;
  (void)cell;
  return epsilon[karst_face_axis(face)];
}

static karst_status build_anisotropic(karst_context *context, const karst_gallery_spec *spec, karst_matrix **matrix,
                                      karst_vector **rhs)
{
  double epsilon[3] = {1, 0.1, 0.01};
  const karst_parameter parameter[] = {
      {"epsx", KARST_PARAMETER_NUMBER, &epsilon[0], 1e-100, 1e100},
      {"epsy", KARST_PARAMETER_NUMBER, &epsilon[1], 1e-100, 1e100},
      {"epsz", KARST_PARAMETER_NUMBER, &epsilon[2], 1e-100, 1e100},
  };
  (void)rhs;
  karst_status status = karst_parameters_read(context, spec, 3, parameter);
  return status ? status : karst_grid_diffusion(context, spec, 3, tensor_coupling, epsilon, matrix);
}

struct checkerboard {
  const karst_index *size;
  double jump;
  uint64_t width;
};

static double checkerboard_coefficient(const struct checkerboard *board, const karst_cell *cell)
{
  uint64_t cubes = 0;
  for (int axis = 0; axis < 3; axis++) cubes += (uint64_t)cell->position[axis] / board->width;
  return cubes % 2 ? board->jump : 1;
}

static double checkerboard_coupling(const void *problem, const karst_cell *cell, int face)
{
  const struct checkerboard *board = problem;
  double here = checkerboard_coefficient(board, cell);
  karst_index neighbour = karst_grid_neighbour(board->size, cell, face);
  if (neighbour < 0) return here;
  karst_cell other = karst_grid_cell(board->size, neighbour);
  double beyond = checkerboard_coefficient(board, &other);
  return 2 / (1 / here + 1 / beyond);
}

static karst_status build_discontinuous(karst_context *context, const karst_gallery_spec *spec, karst_matrix **matrix,
                                        karst_vector **rhs)
{
  struct checkerboard board = {.size = spec->size, .jump = 1e3, .width = 8};
  const karst_parameter parameter[] = {
      {"jump", KARST_PARAMETER_NUMBER, &board.jump, 1e-100, 1e100},
      {"width", KARST_PARAMETER_COUNT, &board.width, 1, 1e9},
  };
  (void)rhs;
  karst_status status = karst_parameters_read(context, spec, 2, parameter);
  return status ? status : karst_grid_diffusion(context, spec, 3, checkerboard_coupling, &board, matrix);
}

const struct karst_generator karst_poisson2d = {
    .name = "poisson2d",
    .help = "NXxNY: 5-point Laplacian, Dirichlet boundary",
    .dimensions = 2,
    .build = build_poisson,
};

const struct karst_generator karst_poisson3d = {
    .name = "poisson3d",
    .help = "NXxNYxNZ: 7-point Laplacian, Dirichlet boundary",
    .dimensions = 3,
    .build = build_poisson,
};

const struct karst_generator karst_laplace27 = {
    .name = "laplace27",
    .help = "NXxNYxNZ: 27-point Laplacian, Dirichlet boundary",
    .dimensions = 3,
    .build = build_laplace27,
};

const struct karst_generator karst_anisotropic = {
    .name = "anisotropic",
    .help = "NXxNYxNZ: 7-point diffusion with the tensor diag(epsx, epsy, epsz); epsx=1, epsy=0.1, epsz=0.01",
    .dimensions = 3,
    .build = build_anisotropic,
};

const struct karst_generator karst_discontinuous = {
    .name = "discontinuous",
    .help = "NXxNYxNZ: 7-point diffusion, coefficient 1 or jump in a checkerboard of cubes; jump=1e3, width=8 cells",
    .dimensions = 3,
    .build = build_discontinuous,
};
