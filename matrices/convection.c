/* convection.c - generates convdiff: convection and diffusion of b coupled unknowns, a nonsymmetric block system.
 *
 * On the unit-spaced grid with Dirichlet boundaries, for unknowns m = 0 .. b-1:
 *   -div grad u_m + div(v_m u_m) + coupling (u_m - sum_n w_n u_n) = f_m,   w_n = 2 (n + 1) / (b (b + 1))
 *   v_m = peclet (m + 1) / b (y, -x, 1/2),   x and y from -1 to 1 across the grid
 * The last term exchanges matter with the weighted mean of all unknowns (sum_n w_n = 1) and fills the diagonal block.
 * The stencil has seven points and upwind convection. The block behind a face with outward velocity F has -1 + min(F,
 * 0) on its diagonal; the cell's own diagonal gains 1 + max(F, 0), at the boundary too. F is constant along its axis,
 * so that rows away from the boundary sum to zero and the matrix is a weakly diagonally dominant M-matrix. b is the
 * requested block size, or 3. */
#include "config.h"

#include "matrices/gallery.h"
#include "matrices/parameters.h"
#include "matrices/stencil.h"

#include <string.h>

struct convection {
  const karst_index *size;
  int b;
  double peclet;   /* of the last unknown at the rim of the vortex */
  double coupling; /* strength of the exchange */
};

/* Returns the velocity of unknown m out of a face. */
static double outward_velocity(const struct convection *problem, const karst_cell *cell, int face, int m)
{
  double x = (2.0 * (double)cell->position[0] + 1) / (double)problem->size[0] - 1;
  double y = (2.0 * (double)cell->position[1] + 1) / (double)problem->size[1] - 1;
  double direction[3] = {y, -x, 0.5};
  return karst_face_side(face) * direction[karst_face_axis(face)] * problem->peclet * (m + 1) / problem->b;
}

/* Starts the diagonal block with the exchange term, which is dense. */
static void fill_exchange(const struct convection *problem, double *block)
{
  int b = problem->b;
  for (int column = 0; column < b; column++) {
    double weight = 2.0 * (column + 1) / ((double)b * (b + 1));
    for (int row = 0; row < b; row++) block[row + b * column] = problem->coupling * ((row == column ? 1 : 0) - weight);
  }
}

/* Computes the blocks of one block row. */
static void fill_row(const struct convection *problem, const karst_cell *cell, double *block)
{
  int b = problem->b;
  double *diagonal = block, *next = block;
  for (int face = 0; face < KARST_FACES_BELOW; face++)
    if (karst_grid_neighbour(problem->size, cell, face) >= 0) diagonal += b * b;
  fill_exchange(problem, diagonal);
  for (int face = 0; face < KARST_FACES; face++) {
    bool inside = karst_grid_neighbour(problem->size, cell, face) >= 0;
    if (face == KARST_FACES_BELOW) next += b * b;
    if (inside) memset(next, 0, sizeof *next * (size_t)b * (size_t)b);
    for (int m = 0; m < b; m++) {
      double velocity = outward_velocity(problem, cell, face, m);
      diagonal[m + b * m] += 1 + (velocity > 0 ? velocity : 0);
      if (inside) next[m + b * m] = -1 + (velocity < 0 ? velocity : 0);
    }
    if (inside) next += b * b;
  }
}

static karst_status build_convdiff(karst_context *context, const karst_gallery_spec *spec, karst_matrix **matrix,
                                   karst_vector **rhs)
{
  struct convection problem = {
      .size = spec->size, .b = spec->block_size > 0 ? spec->block_size : 3, .peclet = 10, .coupling = 1};
  const karst_parameter parameter[] = {
      {"peclet", KARST_PARAMETER_NUMBER, &problem.peclet, 0, 1e100},
      {"coupling", KARST_PARAMETER_NUMBER, &problem.coupling, 0, 1e100},
  };
  karst_grid_arrays arrays;
  (void)rhs;
  karst_status status = karst_parameters_read(context, spec, 2, parameter);
  if (!status) status = karst_grid_pattern(context, spec->size, spec->part, problem.b, NULL, NULL, &arrays);
  if (status) return status;
  for (karst_index number = arrays.first; number < arrays.end; number++) {
    karst_cell cell = karst_grid_cell(spec->size, number);
    fill_row(&problem, &cell, karst_grid_value(&arrays, problem.b, number));
  }
  return karst_grid_adopt(context, spec->size, problem.b, &arrays, matrix);
}

const struct karst_generator karst_convdiff = {
    .name = "convdiff",
    .help = "NXxNYxNZ: upwind convection-diffusion of b coupled unknowns, b = 3 or --block; peclet=10, coupling=1",
    .dimensions = 3,
    .build = build_convdiff,
};
