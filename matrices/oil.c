/* oil.c - computes the residual and the Jacobian of a fully implicit time step for the flow of immiscible, slightly
 * compressible oil, water and gas in a porous medium (Aziz, Settari, Petroleum Reservoir Simulation, 1979).
 *
 * Unknowns of a cell: the pressure p [bar], common to all phases (no capillary forces), and the saturations of water
 * and gas; oil fills the rest. The balance of phase a in cell i is in volumes at the reference pressure, divided by the
 * pore volume V phi so that it has no unit:
 *
 *   r_ai = c(p_i) b_a(p_i) S_ai - (this product in the old state) - dt / (V phi) (sum_j F_aij + q_ai)
 *
 *   c(p)   = 1 + c_rock (p - p_ref)                      relative pore volume
 *   b_a(p) = 1 + x + x^2 / 2, x = c_a (p - p_ref)        reference volume per volume in place
 *   F_aij  = T_ij (l_a)_up (p_j - p_i - g rho_a (b_a(p_i) + b_a(p_j)) / 2 (D_j - D_i))    flux from j to i [m3/day]
 *   T_ij   = 0.008527 A / d * 2 / (1/k_i + 1/k_j)        mD m cP to m3/day/bar; A face area, d distance [m]
 *   l_a(p, S) = b_a(p) s^2 / mu_a                        Corey mobility of the upwind cell [1/cP],
 *   s = (S - S_ra) / (1 - sum of all S_r), from 0 to 1
 *   D depth [m], rho_a density at p_ref [kg/m3], g = 9.80665e-5 bar m2/kg
 *
 * Wells neglect the head within the well. The injector brings q_wi proportional to kx_i, with a given total rate. A
 * producer at the pressure p_well has q_ai = -W_i l_a(p_i, S_ai) max(p_i - p_well, 0) with Peaceman's W_i = 0.008527 *
 * 2 pi kx_i h / ln(r_o / r_w), r_o = 0.14 sqrt(dx^2 + dy^2) (SPE Journal 23, 1983).
 *
 * Blocks are phases-by-phases, with rows oil, water, gas and columns p, S_w, S_g. Their diagonal holds each phase's own
 * unknown. */
#include "config.h"

#include "matrices/oil.h"

#include <string.h>

struct phase {
  double compressibility; /* 1/bar */
  double viscosity;       /* cP */
  double density;         /* kg/m3 at the reference pressure */
  double residual;        /* saturation below which the phase does not flow */
};

enum { WATER = 1 };

static const struct phase phases[KARST_OIL_PHASES_MAX] = {
    {1.5e-4, 2.0, 800, 0.15}, /* oil */
    {4.5e-5, 0.5, 1020, 0.2}, /* water */
    {2.0e-3, 0.03, 200, 0.03} /* gas */
};

static const double cell_size[3] = {6.096, 3.048, 0.6096}; /* m: 20, 10 and 2 feet, as in SPE10 */
static const double porosity = 0.2;
static const double rock_compressibility = 5e-5;         /* 1/bar */
static const double reference_pressure = 400;            /* bar */
static const double well_pressure = 275;                 /* bar, of the producers */
static const double well_logarithm = 2.2556768306626633; /* ln(r_o / r_w), r_w = 0.1 m */
static const double darcy = 0.008527;                    /* m3/day for mD m bar/cP */
static const double two_pi = 6.283185307179586;
static const double gravity = 9.80665e-5; /* bar m2/kg */

/* The properties of a phase in a cell that its equations need, with derivatives. */
struct phase_state {
  double expansion, expansion_p; /* b and db/dp */
  double mobility, mobility_p, mobility_s;
  double saturation;
};

static double saturation_of(const karst_oil_model *model, int phase, const double *unknown)
{
  double others = 0;
  if (phase > 0) return unknown[phase];
  for (int other = 1; other < model->phases; other++) others += unknown[other];
  return 1 - others;
}

static struct phase_state evaluate(const karst_oil_model *model, int phase, const double *unknown)
{
  struct phase_state state;
  double movable = 1, x = phases[phase].compressibility * (unknown[0] - reference_pressure);
  for (int other = 0; other < model->phases; other++) movable -= phases[other].residual;
  state.saturation = saturation_of(model, phase, unknown);
  state.expansion = 1 + x + x * x / 2;
  state.expansion_p = phases[phase].compressibility * (1 + x);
  double s = (state.saturation - phases[phase].residual) / movable, s_s = 1 / movable;
  if (s < 0 || s > 1) {
    s = s > 1;
    s_s = 0;
  }
  state.mobility = state.expansion * s * s / phases[phase].viscosity;
  state.mobility_p = state.expansion_p * s * s / phases[phase].viscosity;
  state.mobility_s = state.expansion * 2 * s * s_s / phases[phase].viscosity;
  return state;
}

static double depth_of(const karst_oil_model *model, karst_index cell)
{
  karst_index layer = cell / (model->size[0] * model->size[1]);
  return cell_size[2] * (double)layer;
}

/* Returns T of two neighbours along an axis, which is 0 if one of them is impermeable. */
static double transmissibility(const karst_oil_model *model, karst_index cell, karst_index neighbour, int axis)
{
  const double *k = axis == 2 ? model->kz : model->kx;
  double area = cell_size[(axis + 1) % 3] * cell_size[(axis + 2) % 3];
  if (k[cell] == 0 || k[neighbour] == 0) return 0;
  return darcy * area / cell_size[axis] * 2 / (1 / k[cell] + 1 / k[neighbour]);
}

bool karst_oil_coupled(const void *problem, const karst_cell *cell, int face)
{
  const karst_oil_model *model = problem;
  karst_index neighbour = karst_grid_neighbour(model->size, cell, face);
  return neighbour >= 0 && transmissibility(model, cell->number, neighbour, karst_face_axis(face)) > 0;
}

/* The equations of one cell. Block f < 6 is the contribution of the neighbour behind face f, block 6 is the
 * diagonal. */
enum { DIAGONAL = KARST_FACES, ENTRIES = KARST_OIL_PHASES_MAX * KARST_OIL_PHASES_MAX };
struct cell_equations {
  karst_cell cell;
  double residual[KARST_OIL_PHASES_MAX];
  double block[KARST_FACES + 1][ENTRIES];
};

/* Adds a derivative with respect to a phase's saturation to that phase's row. Oil's saturation is 1 minus the
 * others. */
static void add_saturation(int b, int phase, double derivative, double *block)
{
  if (phase > 0)
    block[phase + b * phase] += derivative;
  else
    for (int other = 1; other < b; other++) block[b * other] -= derivative;
}

static void add_accumulation(const karst_oil_model *model, int phase, const struct phase_state *here,
                             const double *unknown, const double *old, struct cell_equations *equations)
{
  double *block = equations->block[DIAGONAL];
  double rock = 1 + rock_compressibility * (unknown[0] - reference_pressure);
  double old_rock = 1 + rock_compressibility * (old[0] - reference_pressure);
  struct phase_state before = evaluate(model, phase, old);
  equations->residual[phase] +=
      rock * here->expansion * here->saturation - old_rock * before.expansion * before.saturation;
  block[phase] += (rock_compressibility * here->expansion + rock * here->expansion_p) * here->saturation;
  add_saturation(model->phases, phase, rock * here->expansion, block);
}

/* Subtracts weight times the flux of a phase into the cell, where weight is dt T / (V phi). */
static void subtract_flux(const karst_oil_model *model, int phase, int face, karst_index neighbour, double weight,
                          const struct phase_state *here, const double *state, struct cell_equations *equations)
{
  int b = model->phases;
  karst_index cell = equations->cell.number;
  const double *beyond = state + (int64_t)b * neighbour;
  double *diagonal = equations->block[DIAGONAL], *block = equations->block[face];
  struct phase_state there = evaluate(model, phase, beyond);
  double weight_of_column = gravity * phases[phase].density * (depth_of(model, neighbour) - depth_of(model, cell));
  double head = beyond[0] - state[(int64_t)b * cell] - weight_of_column * (here->expansion + there.expansion) / 2;
  double head_here = -1 - weight_of_column * here->expansion_p / 2;
  double head_there = 1 - weight_of_column * there.expansion_p / 2;
  bool inward = head > 0;
  const struct phase_state *up = inward ? &there : here;
  double *up_block = inward ? block : diagonal;
  equations->residual[phase] -= weight * up->mobility * head;
  diagonal[phase] -= weight * up->mobility * head_here;
  block[phase] -= weight * up->mobility * head_there;
  up_block[phase] -= weight * up->mobility_p * head;
  add_saturation(b, phase, -weight * up->mobility_s * head, up_block);
}

static bool perforates(const karst_oil_well *well, const karst_cell *cell)
{
  return well->i == cell->position[0] && well->j == cell->position[1];
}

static void subtract_wells(const karst_oil_model *model, int phase, const struct phase_state *here, double pressure,
                           struct cell_equations *equations)
{
  double *block = equations->block[DIAGONAL], kx = model->kx[equations->cell.number],
         drawdown = pressure - well_pressure;
  double weight = model->time_step / (porosity * cell_size[0] * cell_size[1]) * darcy * two_pi * kx / well_logarithm;
  if (phase == WATER && perforates(&model->injector, &equations->cell))
    equations->residual[phase] -= model->time_step * model->injection * kx;
  for (int p = 0; p < model->producers && drawdown > 0; p++) {
    if (!perforates(&model->producer[p], &equations->cell)) continue;
    equations->residual[phase] += weight * here->mobility * drawdown;
    block[phase] += weight * (here->mobility + here->mobility_p * drawdown);
    add_saturation(model->phases, phase, weight * here->mobility_s * drawdown, block);
  }
}

static void assemble_cell(const karst_oil_model *model, const double *state, const double *old,
                          struct cell_equations *equations)
{
  const karst_cell *cell = &equations->cell;
  const double *unknown = state + (int64_t)model->phases * cell->number;
  const double *old_unknown = old + (int64_t)model->phases * cell->number;
  double scale = model->time_step / (porosity * cell_size[0] * cell_size[1] * cell_size[2]);
  struct phase_state here[KARST_OIL_PHASES_MAX];
  memset(equations->residual, 0, sizeof equations->residual);
  memset(equations->block, 0, sizeof equations->block);
  for (int phase = 0; phase < model->phases; phase++) {
    here[phase] = evaluate(model, phase, unknown);
    add_accumulation(model, phase, &here[phase], unknown, old_unknown, equations);
    subtract_wells(model, phase, &here[phase], unknown[0], equations);
  }
  for (int face = 0; face < KARST_FACES; face++) {
    karst_index neighbour = karst_grid_neighbour(model->size, cell, face);
    if (neighbour < 0) continue;
    double weight = scale * transmissibility(model, cell->number, neighbour, karst_face_axis(face));
    for (int phase = 0; phase < model->phases && weight > 0; phase++)
      subtract_flux(model, phase, face, neighbour, weight, &here[phase], state, equations);
  }
}

/* Stores a cell's blocks in the order of its pattern. */
static void store_blocks(const karst_oil_model *model, const struct cell_equations *equations, double *value)
{
  int bb = model->phases * model->phases;
  for (int face = 0; face < KARST_FACES; face++) {
    if (face == KARST_FACES_BELOW) {
      memcpy(value, equations->block[DIAGONAL], sizeof *value * (size_t)bb);
      value += bb;
    }
    if (!karst_oil_coupled(model, &equations->cell, face)) continue;
    memcpy(value, equations->block[face], sizeof *value * (size_t)bb);
    value += bb;
  }
}

void karst_oil_assemble(const karst_oil_model *model, const double *state, const double *old, double *residual,
                        const karst_grid_arrays *arrays)
{
  int b = model->phases;
  const karst_index first = arrays ? arrays->first : 0;
  const karst_index end = arrays ? arrays->end : karst_grid_cells(model->size);
  struct cell_equations equations;
  for (karst_index number = first; number < end; number++) {
    equations.cell = karst_grid_cell(model->size, number);
    assemble_cell(model, state, old, &equations);
    memcpy(residual + (int64_t)b * (number - first), equations.residual, sizeof *residual * (size_t)b);
    if (arrays) store_blocks(model, &equations, karst_grid_value(arrays, b, number));
  }
}
