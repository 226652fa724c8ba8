/* oil.h - a reservoir model and its discrete balance equations; oil.c states them. */
#ifndef KARST_MATRICES_OIL_H
#define KARST_MATRICES_OIL_H

#include "matrices/stencil.h"

enum { KARST_OIL_PHASES_MAX = 3, KARST_OIL_PRODUCERS_MAX = 4 };

/* A vertical well through all cells of a column of the grid. */
typedef struct karst_oil_well {
  karst_index i, j;
} karst_oil_well;

typedef struct karst_oil_model {
  int phases; /* 2: oil and water; 3: oil, water and gas */
  karst_index size[3];
  double time_step; /* days */
  double *kx;       /* [cells] permeability along x and y, mD */
  double *kz;       /* [cells] permeability along z, mD */
  karst_oil_well injector;
  double injection; /* water for each mD of a perforated cell's kx, in pore volumes of a cell per day */
  int producers;
  karst_oil_well producer[KARST_OIL_PRODUCERS_MAX];
} karst_oil_model;

/* Puts the wells into permeable columns: the injector near the middle of the grid, the producers near its corners. At
 * least one kx must be positive. */
void karst_oil_place_wells(karst_oil_model *model);

/* Fills the initial state, [phases * cells]: for each cell the pressure, then the saturations of water and gas. The
 * pressure is hydrostatic and higher around the injector, the saturations follow the depth, and all have a small random
 * part. */
void karst_oil_fill_state(const karst_oil_model *model, uint64_t seed, double *state);

/* Returns whether anything flows between a cell and its neighbour, which has a block in the pattern only then. For
 * karst_grid_pattern. */
bool karst_oil_coupled(const void *model, const karst_cell *cell, int face);

/* Computes the residual of the time step from old to state, for each cell oil, water and gas: residual[phases * cells].
 * Unless arrays is NULL, it is that of the cells of the arrays, and its derivatives with respect to state go to
 * arrays->value, on the model's pattern. */
void karst_oil_assemble(const karst_oil_model *model, const double *state, const double *old, double *residual,
                        const karst_grid_arrays *arrays);

#endif
