/* unit_square.c - generates unitsquare: -Laplace u = f on the unit square, u = 0 on its boundary, by differences of 5
 * points on NX x NY interior nodes, whose distances are hx = 1/(NX + 1) and hy = 1/(NY + 1), x fastest.
 *
 * The solution is u = x (x - 1) y (y - 1) exp(x y), and f follows from it by differentiation, so that the error of a
 * solve can be measured. The equations are multiplied by hx hy: the coefficients are 4 and -1 where hx = hy. */
#include "config.h"

#include "matrices/gallery.h"
#include "matrices/parameters.h"
#include "matrices/stencil.h"
#include "lib/base/threads.h"

#include <math.h>

/* The coordinates of a node; i and j count from 0, and node -1 is on the boundary. */
static double coordinate(karst_index i, karst_index nodes) { return (double)(i + 1) / ((double)nodes + 1); }

static double solution(double x, double y) { return x * (x - 1) * y * (y - 1) * exp(x * y); }

/* With p = x (x - 1) and q = y (y - 1), u = p q exp(x y) has u_xx = q exp(x y) (2 + 2 y (2 x - 1) + y^2 p), and u_yy is
 * the same with x and y exchanged. */
static double source(double x, double y)
{
  const double p = x * (x - 1), q = y * (y - 1);
  return -exp(x * y) * (q * (2 + 2 * y * (2 * x - 1) + y * y * p) + p * (2 + 2 * x * (2 * y - 1) + x * x * q));
}

/* The number of entries before a node; node NX NY is the end. */
static int64_t entries_before(const karst_index size[3], karst_index number)
{
  const int64_t nx = size[0], i = number % nx, j = number / nx, edges = (j > 0 ? 1 : 0) + (j == size[1] ? 1 : 0);
  const int64_t absent = (j == 0 ? 1 : 0) + (j == size[1] - 1 ? 1 : 0); /* neighbours of a node of the line */
  return j * (5 * nx - 2) - edges * nx + i * (5 - absent) - (i > 0 ? 1 : 0);
}

/* Writes the row of a node. */
static void write_node(const karst_index size[3], karst_index number, karst_grid_arrays *arrays)
{
  const double ratio = ((double)size[0] + 1) / ((double)size[1] + 1); /* hy / hx */
  const double west_east = -ratio, south_north = -1 / ratio, centre = 2 * (ratio + 1 / ratio);
  const karst_index nx = size[0], i = number % nx, j = number / nx;
  karst_index count = (karst_index)(entries_before(size, number) - entries_before(size, arrays->first));
  const struct {
    bool present;
    karst_index column;
    double value;
  } entry[] = {{j > 0, number - nx, south_north},
               {i > 0, number - 1, west_east},
               {true, number, centre},
               {i + 1 < nx, number + 1, west_east},
               {j + 1 < size[1], number + nx, south_north}};
  *karst_grid_start(arrays, number) = count;
  for (int e = 0; e < 5; e++) {
    if (!entry[e].present) continue;
    arrays->column[count] = entry[e].column;
    arrays->value[count++] = entry[e].value;
  }
}

typedef double point_function(double x, double y);

/* Makes the vector of factor function(x, y) at the nodes, all or those of the part. */
static karst_status make_vector(karst_context *context, const karst_gallery_spec *spec, point_function *function,
                                double factor, karst_vector **vector)
{
  const karst_index *size = spec->size, first = spec->part ? spec->part->first : 0;
  const karst_index nodes = (spec->part ? spec->part->end : karst_grid_cells(size)) - first;
  double *host;
  karst_status status = karst_allocate(context, &host, nodes, sizeof *host, "the values at the nodes");
  if (status) return status;
  karst_piece piece = karst_begin(context, KARST_KIND_ONCE, nodes);
#pragma omp parallel num_threads(piece.threads)
  {
    const karst_part part = karst_part_begin(&piece, nodes);
    for (karst_index k = part.first; k < part.last; k++)
      host[k] =
          factor * function(coordinate((first + k) % size[0], size[0]), coordinate((first + k) / size[0], size[1]));
    karst_part_end(&piece, &part);
  }
  karst_end(context, &piece);
  status = karst_vector_create(context, nodes, vector);
  if (!status) status = karst_vector_set(*vector, nodes, host);
  karst_release(context, host);
  return status;
}

static karst_status build(karst_context *context, const karst_gallery_spec *spec, karst_matrix **matrix,
                          karst_vector **rhs)
{
  const karst_index *size = spec->size, nodes = karst_grid_cells(size);
  const int64_t entries = entries_before(size, nodes);
  karst_grid_arrays arrays;
  karst_status status = karst_parameters_read(context, spec, 0, NULL);
  if (!status) status = karst_grid_allocate(context, nodes, spec->part, 1, entries, 5, &arrays);
  if (status) return status;
  karst_piece piece = karst_begin(context, KARST_KIND_ONCE, entries);
#pragma omp parallel num_threads(piece.threads)
  {
    const karst_part part = karst_part_begin(&piece, arrays.end - arrays.first);
    for (karst_index k = part.first; k < part.last; k++) write_node(size, arrays.first + k, &arrays);
    karst_part_end(&piece, &part);
  }
  karst_end(context, &piece);
  *karst_grid_start(&arrays, arrays.end) =
      (karst_index)(entries_before(size, arrays.end) - entries_before(size, arrays.first));
  status = karst_grid_adopt(context, size, 1, &arrays, matrix);
  if (status || !rhs) return status;
  return make_vector(context, spec, source, 1 / (((double)size[0] + 1) * ((double)size[1] + 1)), rhs);
}

static karst_status make_exact(karst_context *context, const karst_gallery_spec *spec, karst_vector **exact)
{
  karst_status status = karst_parameters_read(context, spec, 0, NULL);
  return status ? status : make_vector(context, spec, solution, 1, exact);
}

const struct karst_generator karst_unitsquare = {
    .name = "unitsquare",
    .help = "NXxNY: -Laplace u = f on NXxNY interior nodes of the unit square, multiplied by hx hy; knows its solution",
    .dimensions = 2,
    .build = build,
    .exact = make_exact,
};
