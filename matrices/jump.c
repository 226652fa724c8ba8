/* jump.c - discretises -div(k diag(ax, ay) grad u) in a layer of cells with discontinuous k and a Dirichlet boundary,
 * x fastest, on a unit-spaced grid.
 *
 * jump2d: finite volumes, 5 points. Unknowns are in the cells; two cells couple by the harmonic mean
 * 2 / (1/k1 + 1/k2), a cell and the boundary by the cell's own k. bilinear2d: bilinear finite elements, 9 points.
 * Unknowns are in the nodes between (NX + 1) x (NY + 1) cells, each of which has its k. Both are symmetric positive
 * definite.
 *
 * k is 1 or contrast, by the shape: the squares of a checkerboard, or channels along x, three widths apart; or it is
 * read from a file. */
#include "config.h"

#include "matrices/gallery.h"
#include "matrices/parameters.h"
#include "matrices/permeability.h"
#include "matrices/stencil.h"

#include <string.h>

struct medium {
  karst_index size[3]; /* cells */
  double a[2];         /* ax, ay */
  double *k;           /* [cells] */
};

struct settings {
  double contrast;
  uint64_t width;
  char shape[KARST_PARAMETER_PATH_SIZE];
  char file[KARST_PARAMETER_PATH_SIZE];
};

/* Returns the coefficient of the cell in column i and row j. */
static double coefficient(const struct settings *settings, bool channels, karst_index i, karst_index j)
{
  const uint64_t column = (uint64_t)i / settings->width, row = (uint64_t)j / settings->width;
  const bool high = channels ? row % 4 == 1 : (column + row) % 2 == 1;
  return high ? settings->contrast : 1;
}

/* Fills k from the file. Refuses zeros, because they make empty rows. */
static karst_status read_medium(karst_context *context, const char *problem, const char *path, struct medium *medium)
{
  const karst_index cells = karst_grid_cells(medium->size);
  bool found;
  karst_status status = karst_permeability_read(context, path, "PERMX", true, cells, medium->k, &found);
  if (!status && !found) status = karst_fail(context, KARST_ERROR_FORMAT, "%.256s: no keyword PERMX with values", path);
  for (karst_index i = 0; !status && i < cells; i++)
    if (medium->k[i] < 1e-100)
      status = karst_fail(context, KARST_ERROR_FORMAT,
                          "%.256s: the permeability of cell %lld is 0, but %s needs positive ones", path, (long long)i,
                          problem);
  return status;
}

static karst_status make_medium(karst_context *context, const karst_gallery_spec *spec, struct settings *settings,
                                struct medium *medium)
{
  const char *problem = spec->generator->name;
  const karst_parameter parameter[] = {
      {"contrast", KARST_PARAMETER_NUMBER, &settings->contrast, 1e-100, 1e100},
      {"shape", KARST_PARAMETER_WORD, settings->shape, 0, 0},
      {"width", KARST_PARAMETER_COUNT, &settings->width, 1, 1e9},
      {"ax", KARST_PARAMETER_NUMBER, &medium->a[0], 1e-100, 1e100},
      {"ay", KARST_PARAMETER_NUMBER, &medium->a[1], 1e-100, 1e100},
      {"perm", KARST_PARAMETER_PATH, settings->file, 0, 0},
  };
  karst_status status = karst_parameters_read(context, spec, 6, parameter);
  if (status) return status;
  const bool channels = strcmp(settings->shape, "channels") == 0;
  if (!channels && strcmp(settings->shape, "checkerboard") != 0)
    return karst_fail(context, KARST_ERROR_OPTION, "%s: shape=%.64s: expected checkerboard or channels", problem,
                      settings->shape);
  status = karst_allocate(context, &medium->k, karst_grid_cells(medium->size), sizeof *medium->k, "the coefficients");
  if (status) return status;
  if (settings->file[0]) return read_medium(context, problem, settings->file, medium);
  for (karst_index j = 0; j < medium->size[1]; j++)
    for (karst_index i = 0; i < medium->size[0]; i++)
      medium->k[i + medium->size[0] * j] = coefficient(settings, channels, i, j);
  return KARST_SUCCESS;
}

static double volume_coupling(const void *problem, const karst_cell *cell, int face)
{
  const struct medium *medium = problem;
  const double here = medium->k[cell->number], a = medium->a[karst_face_axis(face)];
  const karst_index neighbour = karst_grid_neighbour(medium->size, cell, face);
  return neighbour < 0 ? a * here : a * (2 / (1 / here + 1 / medium->k[neighbour]));
}

static karst_status build_jump2d(karst_context *context, const karst_gallery_spec *spec, karst_matrix **matrix,
                                 karst_vector **rhs)
{
  struct settings settings = {.contrast = 1e6, .width = 8, .shape = "checkerboard"};
  struct medium medium = {.size = {spec->size[0], spec->size[1], 1}, .a = {1, 1}};
  (void)rhs;
  karst_status status = make_medium(context, spec, &settings, &medium);
  if (!status) status = karst_grid_diffusion(context, spec, 2, volume_coupling, &medium, matrix);
  karst_release(context, medium.k);
  return status;
}

/* Returns the entry for node (i, j) and its neighbour (i + dx, j + dy): the sum over the cells that have both as
 * corners. Along x a cell's bilinear functions have the stiffness k ax (2, -2; 1, -1)/6: for a node and itself, its
 * neighbour in x, in y, and across. */
static double element_entry(const struct medium *medium, karst_index i, karst_index j, int dx, int dy)
{
  const double along_x = (dx == 0 ? 1 : -1) * (dy == 0 ? 2 : 1), along_y = (dy == 0 ? 1 : -1) * (dx == 0 ? 2 : 1);
  const double entry = (medium->a[0] * along_x + medium->a[1] * along_y) / 6;
  double k = 0;
  for (int y = dy > 0 ? 1 : 0; y <= (dy < 0 ? 0 : 1); y++)
    for (int x = dx > 0 ? 1 : 0; x <= (dx < 0 ? 0 : 1); x++) k += medium->k[i + x + medium->size[0] * (j + y)];
  return entry * k;
}

static void fill_elements(const karst_index size[3], const struct medium *medium, karst_grid_arrays *arrays)
{
  karst_index count = 0;
  for (karst_index number = arrays->first; number < arrays->end; number++) {
    const karst_index i = number % size[0], j = number / size[0];
    *karst_grid_start(arrays, number) = count;
    for (int dy = j > 0 ? -1 : 0; dy <= (j + 1 < size[1] ? 1 : 0); dy++)
      for (int dx = i > 0 ? -1 : 0; dx <= (i + 1 < size[0] ? 1 : 0); dx++) {
        arrays->column[count] = i + dx + size[0] * (j + dy);
        arrays->value[count++] = element_entry(medium, i, j, dx, dy);
      }
  }
  *karst_grid_start(arrays, arrays->end) = count;
}

static karst_status build_bilinear2d(karst_context *context, const karst_gallery_spec *spec, karst_matrix **matrix,
                                     karst_vector **rhs)
{
  struct settings settings = {.contrast = 1, .width = 8, .shape = "checkerboard"};
  struct medium medium = {.size = {spec->size[0], spec->size[1], 1}, .a = {1, 1}};
  karst_grid_arrays arrays;
  (void)rhs;
  const int64_t cells = ((int64_t)spec->size[0] + 1) * ((int64_t)spec->size[1] + 1);
  if (cells > KARST_INDEX_MAX)
    return karst_fail(context, KARST_ERROR_INDEX_OVERFLOW,
                      "bilinear2d has %lld elements, more than %d-bit indices can count", (long long)cells,
                      KARST_INDEX_BITS);
  medium.size[0]++;
  medium.size[1]++;
  karst_status status = make_medium(context, spec, &settings, &medium);
  const int64_t entries = (3 * (int64_t)spec->size[0] - 2) * (3 * (int64_t)spec->size[1] - 2);
  if (!status) status = karst_grid_allocate(context, karst_grid_cells(spec->size), spec->part, 1, entries, 9, &arrays);
  if (!status) {
    fill_elements(spec->size, &medium, &arrays);
    status = karst_grid_adopt(context, spec->size, 1, &arrays, matrix);
  }
  karst_release(context, medium.k);
  return status;
}

const struct karst_generator karst_jump2d = {
    .name = "jump2d",
    .help = "NXxNY: 5-point diffusion, coefficient 1 or contrast=1e6 in shape=checkerboard or channels of width=8 "
            "cells, or perm=FILE; ax=1, ay=1 along x, y",
    .dimensions = 2,
    .build = build_jump2d,
};

const struct karst_generator karst_bilinear2d = {
    .name = "bilinear2d",
    .help = "NXxNY: 9-point bilinear finite elements; keys of jump2d, contrast=1",
    .dimensions = 2,
    .build = build_bilinear2d,
};
