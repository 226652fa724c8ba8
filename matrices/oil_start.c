/* oil_start.c - places the wells of a reservoir model, and fills the state from which its time step starts. */
#include "config.h"

#include "matrices/oil.h"
#include "lib/base/random.h"

static const double injection_rate = 3e-4; /* of the whole pore volume per day: SPE10's 5000 barrels */
static const double layer_head = 0.048;    /* bar, weight of the oil between two layers */

static bool is_permeable(const karst_oil_model *model, karst_index i, karst_index j)
{
  karst_index column = i + model->size[0] * j, layer = model->size[0] * model->size[1];
  for (karst_index k = 0; k < model->size[2]; k++)
    if (model->kx[column + layer * k] > 0) return true;
  return false;
}

/* Returns the permeable column nearest to a position in cells; of several, the first. */
static karst_oil_well nearest_column(const karst_oil_model *model, karst_index i0, karst_index j0)
{
  karst_oil_well nearest = {i0, j0};
  double least = -1;
  for (karst_index j = 0; j < model->size[1]; j++)
    for (karst_index i = 0; i < model->size[0]; i++) {
      double x = (double)(i - i0), y = (double)(j - j0), distance = x * x + y * y;
      if ((least >= 0 && distance >= least) || !is_permeable(model, i, j)) continue;
      nearest = (karst_oil_well){i, j};
      least = distance;
    }
  return nearest;
}

static void add_producer(karst_oil_model *model, karst_oil_well well)
{
  for (int p = 0; p < model->producers; p++)
    if (model->producer[p].i == well.i && model->producer[p].j == well.j) return;
  model->producer[model->producers++] = well;
}

void karst_oil_place_wells(karst_oil_model *model)
{
  karst_index nx = model->size[0], ny = model->size[1], layer = nx * ny;
  double sum = 0;
  model->injector = nearest_column(model, nx / 2, ny / 2);
  model->producers = 0;
  for (int corner = 0; corner < KARST_OIL_PRODUCERS_MAX; corner++)
    add_producer(model, nearest_column(model, corner % 2 ? nx - 1 : 0, corner / 2 ? ny - 1 : 0));
  for (karst_index k = 0; k < model->size[2]; k++)
    sum += model->kx[model->injector.i + nx * model->injector.j + layer * k];
  model->injection = injection_rate * (double)karst_grid_cells(model->size) / sum;
}

void karst_oil_fill_state(const karst_oil_model *model, uint64_t seed, double *state)
{
  const karst_index *size = model->size;
  karst_index cells = karst_grid_cells(size);
  for (karst_index number = 0; number < cells; number++) {
    karst_cell cell = karst_grid_cell(size, number);
    double *unknown = state + (int64_t)model->phases * number;
    double x = (double)(cell.position[0] - model->injector.i) / (double)size[0];
    double y = (double)(cell.position[1] - model->injector.j) / (double)size[1];
    double depth = ((double)cell.position[2] + 0.5) / (double)size[2]; /* from 0 to 1 */
    unknown[0] = 400 + layer_head * (double)cell.position[2] + 40 * (0.5 - x * x - y * y);
    unknown[0] += 0.1 * karst_random_uniform(&seed);
    unknown[1] = 0.2 + 0.4 * depth + 0.1 * karst_random_uniform(&seed);
    if (model->phases > 2) unknown[2] = 0.25 * (1 - depth) + 0.05 * karst_random_uniform(&seed);
  }
}
