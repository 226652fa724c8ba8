/* diffusion.c - discretises -div(k grad u) on a unit-spaced Cartesian grid with Dirichlet boundaries, 7 points, x
 * fastest.
 *
 * anisotropic: k is the constant diagonal tensor diag(epsx, epsy, epsz); the coupling behind a face is its k.
 * discontinuous: k is 1 in the white and jump in the black cubes of a checkerboard whose cubes are width cells wide;
 * two cells couple by the harmonic mean 2 / (1/k1 + 1/k2), a cell and the boundary by the cell's own k. Both are
 * symmetric positive definite. */
#include "config.h"

#include "matrices/gallery.h"
#include "matrices/parameters.h"
#include "matrices/stencil.h"

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
  karst_status status = karst_parameters_read(context, "anisotropic", spec->parameters, 3, parameter);
  return status ? status : karst_grid_diffusion(context, spec->size, 3, tensor_coupling, epsilon, matrix);
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
  karst_status status = karst_parameters_read(context, "discontinuous", spec->parameters, 2, parameter);
  return status ? status : karst_grid_diffusion(context, spec->size, 3, checkerboard_coupling, &board, matrix);
}

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
