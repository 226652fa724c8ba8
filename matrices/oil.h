/* oil.h - a reservoir model and its discrete balance equations, which oil.c states. */
#ifndef KARST_MATRICES_OIL_H
#define KARST_MATRICES_OIL_H

#include "stencil.h"

enum { KARST_OIL_PHASES_MAX = 3, KARST_OIL_PRODUCERS_MAX = 4 };

/* A vertical well through all cells of a column. */
typedef struct karst_oil_well {
  karst_index i, j;
} karst_oil_well;

typedef struct karst_oil_model {
  int phases; /* 2: oil and water; 3: oil, water and gas */
  karst_index size[3];
  double time_step; /* days */
  double *kx;       /* [cells] permeability along x and y, mD */
  double *kz;       /* [cells] along z, mD */
  karst_oil_well injector;
  double injection; /* water for each mD of a perforated cell's kx, in pore volumes of a cell a day */
  int producers;
  karst_oil_well producer[KARST_OIL_PRODUCERS_MAX];
} karst_oil_model;

/* Puts the wells where columns are permeable: the injector by the middle of the grid, producers by its corners. At
 * least one kx must be positive. */
void karst_oil_place_wells(karst_oil_model *model);

/* A state to begin with: [phases * cells], cell by cell pressure, then the saturations of water and gas. Pressure is
 * hydrostatic but higher around the injector, the saturations follow the depth, and all vary at random a little. */
void karst_oil_fill_state(const karst_oil_model *model, uint64_t seed, double *state);

/* Whether a cell exchanges anything with its neighbour; the pattern has no other blocks. For karst_grid_pattern. */
bool karst_oil_coupled(const void *model, const karst_cell *cell, int face);

/* residual[phases * cells] of the time step from the state old to state, cell by cell for oil, water and gas; and its
 * derivatives with respect to state in arrays->value, on the model's pattern, unless arrays is NULL. */
void karst_oil_assemble(const karst_oil_model *model, const double *state, const double *old, double *residual,
                        const karst_grid_arrays *arrays);

#endif
