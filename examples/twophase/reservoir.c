/* reservoir.c - a box of cells of rock, wells in a five-spot, and the connections through which fluid flows. Two cells
 * have the transmissibility T = darcy A / d * 2 / (1/k_i + 1/k_j), A the area of their face, d the distance of their
 * centres. A well in a cell has the index W = darcy 2 pi k dz / ln(r_o / r_w), r_o = 0.14 sqrt(dx^2 + dy^2) the radius
 * at which the pressure is that of the cell (Peaceman, SPE Journal 23, 1983). */
#include "twophase.h"

#include <math.h>

const double reservoir_cell_size[3] = {6.096, 3.048, 0.6096}; /* 20, 10 and 2 feet, as in SPE10 */
static const double *const d = reservoir_cell_size;
static const double darcy = 0.00852702, pi = 3.14159265358979323846, well_radius = 0.1; /* m3/day for mD m bar/cP; m */
static const double typical_permeability = 100, vertical_ratio = 0.1, typical_porosity = 0.2, least_porosity = 1e-3;

/* Reads a number for each cell, unless path is ""; what is left over belongs to layers further down. */
static void read_field(karst_context *context, const char *path, karst_index cells, double *field)
{
  karst_vector *vector;
  if (!*path) return;
  must(context, karst_vector_read(context, path, &vector));
  if (karst_vector_length(vector) < cells) stop(path, "fewer numbers than the grid has cells");
  must(context, karst_vector_get(vector, cells, field));
  karst_vector_destroy(vector);
  for (karst_index i = 0; i < cells; i++)
    if (!(field[i] >= 0 && field[i] < 1e9)) stop(path, "a number is out of range");
}

static void fill_rock(karst_context *context, const char *const file[3], uint64_t seed, struct reservoir *r)
{
  for (karst_index i = 0; i < r->cells; i++) {
    double normal = -6; /* nearly: a sum of twelve uniform random numbers, from Knuth's linear congruential generator */
    for (int k = 0; k < 12; k++, normal += (double)(seed >> 11) / 9007199254740992.0)
      seed = seed * 6364136223846793005u + 1442695040888963407u;
    r->permeability[i] = typical_permeability * exp(normal);
    r->pore_volume[i] = typical_porosity;
  }
  read_field(context, file[0], r->cells, r->permeability);
  for (karst_index i = 0; i < r->cells; i++) r->vertical[i] = vertical_ratio * r->permeability[i];
  read_field(context, file[1], r->cells, r->vertical);
  read_field(context, file[2], r->cells, r->pore_volume);
  for (karst_index i = 0; i < r->cells; i++) /* Cells of SPE10 may have no pores at all. */
    r->volume += r->pore_volume[i] = fmax(r->pore_volume[i], least_porosity) * d[0] * d[1] * d[2];
}

/* In the order of i, and those of an i in the order of j. The wells are open to all layers. */
static void connect_rows(const karst_index *top, struct reservoir *r)
{
  const double *const along[3] = {r->permeability, r->permeability, r->vertical};
  const karst_index stride[3] = {1, r->size[0], r->size[0] * r->size[1]};
  struct connection *next = r->connection;
  for (karst_index i = 0; i < r->cells; i++)
    for (int axis = 0; axis < 3; axis++) {
      const karst_index j = i + stride[axis];
      if (i / stride[axis] % r->size[axis] == r->size[axis] - 1) continue;
      const double k = 2 / (1 / along[axis][i] + 1 / along[axis][j]), area = d[0] * d[1] * d[2] / d[axis];
      *next++ = (struct connection){i, j, 0, 0, darcy * area / d[axis] * k, axis == 2 ? -d[2] : 0};
    }
  const double length = 2 * pi * d[2] / log(0.14 * sqrt(d[0] * d[0] + d[1] * d[1]) / well_radius);
  for (karst_index j = r->cells; j < r->rows; j++)
    for (karst_index k = 0, i = top[j - r->cells]; k < r->size[2]; k++, i += stride[2])
      *next++ = (struct connection){i, j, 0, 0, darcy * r->permeability[i] * length, d[2] * (double)k};
  r->connections = (karst_index)(next - r->connection);
  r->perforations = (r->rows - r->cells) * r->size[2];
}

/* Gives each row a block on the diagonal and two to each connection, whose order makes columns ascend. end[rows] is
 * work space: where the next block of a row goes. With wells beside the matrix, perforation after perforation has a
 * block in B and one in C, which follow the matrix, and D comes last. */
static void make_pattern(struct reservoir *r, karst_index *end)
{
  struct connection *const first = r->connection, *const wells = first + r->connections - r->perforations;
  struct connection *const last = r->beside ? wells : wells + r->perforations;
  r->matrix_rows = r->beside ? r->cells : r->rows;
  for (karst_index row = 0; row < r->matrix_rows; row++) end[row] = 1;
  for (struct connection *c = first; c < last; c++) end[c->i]++, end[c->j]++;
  for (karst_index row = 0; row < r->matrix_rows; row++) {
    r->row_start[row + 1] = r->row_start[row] + end[row];
    end[row] = r->row_start[row];
  }
  for (struct connection *c = first; c < last; c++) r->column[c->ji = end[c->j]++] = c->i;
  for (karst_index row = 0; row < r->matrix_rows; row++) r->column[r->diagonal[row] = end[row]++] = row;
  for (struct connection *c = first; c < last; c++) r->column[c->ij = end[c->i]++] = c->j;
  r->blocks = r->matrix_blocks = r->row_start[r->matrix_rows];
  for (karst_index k = 0; last == wells && k < r->perforations; k++) {
    wells[k].ji = r->matrix_blocks + k;
    wells[k].ij = r->matrix_blocks + r->perforations + k;
  }
  r->blocks += last == wells ? 2 * r->perforations : 0;
  for (karst_index row = r->matrix_rows; row < r->rows; row++) r->diagonal[row] = r->blocks++;
}

void reservoir_create(karst_context *context, const char *const file[3], uint64_t seed, struct reservoir *r)
{
  const karst_index nx = r->size[0], ny = r->size[1], nz = r->size[2], wells = ny > 1 ? 5 : 3; /* at both ends */
  const karst_index top[5] = {nx / 2 + nx * (ny / 2), 0, nx - 1, nx * (ny - 1), nx * ny - 1};
  r->cells = nx * ny * nz, r->rows = r->cells + wells;
  const size_t cells = (size_t)r->cells, rows = (size_t)r->rows, most = 3 * cells + (size_t)(wells * nz);
  r->pore_volume = malloc(3 * cells * sizeof(double)); /* with both permeabilities */
  r->connection = malloc(most * sizeof *r->connection);
  r->row_start = calloc(3 * rows + 1, sizeof *r->row_start); /* with diagonal, and work space */
  r->column = malloc((rows + 2 * most) * sizeof *r->column);
  if (!r->pore_volume || !r->connection || !r->row_start || !r->column) stop("--grid", "not enough memory");
  r->permeability = r->pore_volume + cells, r->vertical = r->permeability + cells,
  r->diagonal = r->row_start + rows + 1;
  fill_rock(context, file, seed, r);
  connect_rows(top, r);
  make_pattern(r, r->diagonal + rows);
}

void reservoir_destroy(struct reservoir *r)
{
  free(r->pore_volume), free(r->connection), free(r->row_start), free(r->column);
}
