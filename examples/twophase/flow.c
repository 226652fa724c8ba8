/* flow.c - the residual and the Jacobian of a fully implicit time step of water and oil (Aziz, Settari, Petroleum
 * Reservoir Simulation, 1979). The balance of phase a in cell i, m3/day at the reference pressure, q out of the cell:
 *
 *   R_ai = (V_i b_a(p_i) S_ai - amount_ai) / dt + sum_j q_aij = 0,   S_oil = 1 - S_water
 *   q_aij = T_ij m_a (p_i - p_j - g rho_a (D_i - D_j))    into cell j
 *
 *   b_a(p)    = 1 + c_a (p - p_ref)          volume at p_ref for a volume in place
 *   m_a(p, S) = b_a(p) s_a^2 / mu_a          Corey mobility, of the cell that the phase comes from
 *   s_a       = (S_a - S_ra) / (1 - S_rwater - S_roil), from 0 to 1
 *   V pore volume, D depth, rho_a density at p_ref, g gravity
 *
 * A well with the bottom-hole pressure P and the rate Q has two equations: its control, and its balance Q + sum q = 0.
 * In cell i the pressure in the well is P_i = P + g rho_a (D_i - D_top).
 *
 *   injector   max(Q - rate, P - pressure) = 0   q_water = W_i (m_water + m_oil) (p_i - P_i)
 *   producer   P - pressure = 0                  q_a = W_i m_a max(p_i - P_i, 0) */
#include "twophase.h"

#include <math.h>
#include <string.h>

static const struct {
  double viscosity, density, compressibility, residual; /* cP, kg/m3, 1/bar, S_ra */
} phases[PHASES] = {[WATER] = {0.3, 1026, 4.5e-5, 0.2}, [OIL] = {3, 849, 1e-4, 0.2}};
static const double reference_pressure = 414; /* bar, and that at the start */
static const double gravity = 9.80665e-5;     /* bar m2/kg */

static double expansion(int a, const double *cell)
{
  return 1 + phases[a].compressibility * (cell[PRESSURE] - reference_pressure);
}

static double saturation(int a, const double *cell) { return a == WATER ? cell[SATURATION] : 1 - cell[SATURATION]; }

/* The mobility of a phase in a cell, and its derivatives. */
static double mobility(int a, const double *cell, double by[2])
{
  const double span = 1 - phases[WATER].residual - phases[OIL].residual, b = expansion(a, cell);
  const double s = fmin(fmax((saturation(a, cell) - phases[a].residual) / span, 0), 1);
  by[PRESSURE] = phases[a].compressibility * s * s / phases[a].viscosity;
  by[SATURATION] = s < 1 ? (a == WATER ? 2 : -2) * b * s / span / phases[a].viscosity : 0;
  return b * s * s / phases[a].viscosity;
}

void flow_start(const struct reservoir *r, double *x)
{
  for (karst_index i = 0; i < r->rows; i++) {
    x[2 * i + PRESSURE] = reference_pressure;
    x[2 * i + SATURATION] = i < r->cells ? phases[WATER].residual : 0;
  }
}

void flow_amount(const struct reservoir *r, const double *x, double *amount, double total[PHASES])
{
  total[WATER] = total[OIL] = 0;
  for (karst_index i = 0; i < r->cells; i++)
    for (int a = 0; a < PHASES; total[a] += amount[2 * i + a], a++)
      amount[2 * i + a] = r->pore_volume[i] * expansion(a, x + 2 * i) * saturation(a, x + 2 * i);
}

/* Adds what the mobility of phase a lets flow from row i to row j to the equations of both; well: that of row j, or NULL
 * for a cell. by_i and by_j are the derivatives of this flow by the unknowns of the rows. */
static void add_flow(const struct reservoir *r, const struct connection *c, const struct well *well, int a,
                     const double *x, double *residual, double *value, double outflow[PHASES])
{
  const double *const xi = x + 2 * c->i, *const xj = x + 2 * c->j;
  const int phase = well && well->injects ? WATER : a, j_equation = well ? BALANCE : phase;
  const double drive = xi[PRESSURE] - xj[PRESSURE] - gravity * phases[phase].density * c->drop;
  const bool from_i = well || drive > 0;
  if (well && !well->injects && drive < 0) return;
  double mobility_by[2], by_i[2] = {0, 0}, by_j[2] = {0, 0};
  const double m = c->factor * mobility(a, from_i ? xi : xj, mobility_by), flow = m * drive;
  by_i[PRESSURE] = m, by_j[PRESSURE] = -m;
  for (int u = 0; u < 2; u++) *(from_i ? &by_i[u] : &by_j[u]) += c->factor * mobility_by[u] * drive;
  residual[2 * c->i + phase] += flow;
  residual[2 * c->j + j_equation] -= flow;
  if (well) outflow[phase] += flow;
  for (int u = 0; u < 2; u++) {
    value[4 * r->diagonal[c->i] + phase + 2 * u] += by_i[u];
    value[4 * c->ij + phase + 2 * u] += by_j[u];
    value[4 * c->ji + j_equation + 2 * u] -= by_i[u];
    value[4 * r->diagonal[c->j] + j_equation + 2 * u] -= by_j[u];
  }
}

/* The equations of a well without its flows; the balance is -Q - sum q = 0. */
static void add_control(const struct well *well, const double *unknown, double *residual, double *block)
{
  const double over_pressure = unknown[BHP] - well->pressure, over_rate = unknown[RATE] - well->rate;
  const int controlled = well->injects && over_rate > over_pressure ? RATE : BHP;
  residual[CONTROL] = controlled == RATE ? over_rate : over_pressure;
  residual[BALANCE] = -unknown[RATE];
  block[CONTROL + 2 * controlled] = 1;
  block[BALANCE + 2 * RATE] = -1;
}

void flow_assemble(const struct reservoir *r, const double *x, const double *amount, double dt, double *residual,
                   double *value, double outflow[PHASES])
{
  memset(value, 0, sizeof(double) * 4 * (size_t)r->row_start[r->rows]);
  flow_amount(r, x, residual, outflow);
  for (karst_index i = 0; i < r->cells; i++)
    for (int a = 0; a < PHASES; a++) {
      const double *const cell = x + 2 * i, by_s = (a == WATER ? 1 : -1) * expansion(a, cell);
      double *const block = value + 4 * r->diagonal[i];
      residual[2 * i + a] = (residual[2 * i + a] - amount[2 * i + a]) / dt;
      block[a + 2 * PRESSURE] = r->pore_volume[i] * phases[a].compressibility * saturation(a, cell) / dt;
      block[a + 2 * SATURATION] = r->pore_volume[i] * by_s / dt;
    }
  for (karst_index w = 0, i = r->cells; w < r->wells; w++, i++)
    add_control(&r->well[w], x + 2 * i, residual + 2 * i, value + 4 * r->diagonal[i]);
  outflow[WATER] = outflow[OIL] = 0;
  for (karst_index k = 0; k < r->connections; k++)
    for (int a = 0; a < PHASES; a++) {
      const struct connection *c = &r->connection[k];
      add_flow(r, c, k < r->faces ? NULL : &r->well[c->j - r->cells], a, x, residual, value, outflow);
    }
}
