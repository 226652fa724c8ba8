/* flow.c - the residual and the Jacobian of a fully implicit time step of water and oil (Aziz, Settari, Petroleum
 * Reservoir Simulation, 1979). The balance of phase a in cell i, m3/day at the reference pressure, q out of the cell:
 *
 *   R_ai = (V_i b_a(p_i) S_ai - that at the start) / dt + sum_j q_aij = 0,   S_oil = 1 - S_water
 *   q_aij = T_ij m_a (p_i - p_j - g rho_a (D_i - D_j))    into cell j
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
static const double p_ref = 414, injector_pressure = 700, producer_pressure = 275; /* bar; p_ref at the start, too */
static const double gravity = 9.80665e-5;                                          /* bar m2/kg */

/* Of a phase in a cell: volume at p_ref of a volume in place; its saturation; its volume at p_ref in a pore volume. */
static double expansion(int a, const double *cell) { return 1 + phases[a].compressibility * (cell[PRESSURE] - p_ref); }
static double saturation(int a, const double *cell) { return a == WATER ? cell[SATURATION] : 1 - cell[SATURATION]; }
static double content(int a, const double *cell) { return expansion(a, cell) * saturation(a, cell); }

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
  for (karst_index u = 0; u < 2 * r->rows; u++)
    x[u] = u % 2 == PRESSURE ? p_ref : (u < 2 * r->cells ? phases[WATER].residual : 0);
}

double flow_amount(const struct reservoir *r, int a, const double *x)
{
  double total = 0;
  for (karst_index i = 0; i < r->cells; i++) total += r->pore_volume[i] * content(a, x + 2 * i);
  return total;
}

/* Adds what the mobility of phase a lets flow from row i to row j to the equations of both. by[0] and by[1] are the
 * derivatives of this flow by the unknowns of i and of j. An injector replaces what it displaces by water. */
static void add_flow(const struct reservoir *r, const struct connection *c, int a, const double *x, double *residual,
                     double *value, double outflow[PHASES])
{
  const double *const end[2] = {x + 2 * c->i, x + 2 * c->j};
  const bool well = c->j >= r->cells, injector = c->j == r->cells, in_C = well && r->beside;
  const int phase = injector ? WATER : a, j_equation = well ? BALANCE : phase;
  const double drive = end[0][PRESSURE] - end[1][PRESSURE] - gravity * phases[phase].density * c->drop;
  const int from = well || drive > 0 ? 0 : 1;
  if (well && !injector && drive < 0) return;
  double mobility_by[2];
  const double m = c->factor * mobility(a, end[from], mobility_by), flow = m * drive;
  double by[2][2] = {{m, 0}, {-m, 0}};
  for (int u = 0; u < 2; u++) by[from][u] += c->factor * mobility_by[u] * drive;
  residual[2 * c->i + phase] += flow;
  residual[2 * c->j + j_equation] -= flow;
  if (well) outflow[phase] += flow;
  for (int u = 0; u < 2; u++) { /* Blocks are stored column by column. */
    value[4 * r->diagonal[c->i] + phase + 2 * u] += by[0][u];
    value[4 * c->ij + (in_C ? 2 * phase + u : phase + 2 * u)] += by[1][u];
    value[4 * c->ji + j_equation + 2 * u] -= by[0][u];
    value[4 * r->diagonal[c->j] + j_equation + 2 * u] -= by[1][u];
  }
}

/* The equations of a well without its flows; the balance is -Q - sum q = 0. */
static void add_control(const struct reservoir *r, karst_index row, const double *x, double *residual, double *value)
{
  const bool injector = row == r->cells;
  const double over_pressure = x[2 * row + BHP] - (injector ? injector_pressure : producer_pressure);
  const double over_rate = injector ? x[2 * row + RATE] - r->most_rate : -INFINITY;
  residual[2 * row + CONTROL] = fmax(over_rate, over_pressure);
  residual[2 * row + BALANCE] = -x[2 * row + RATE];
  value[4 * r->diagonal[row] + CONTROL + 2 * (over_rate > over_pressure ? RATE : BHP)] = 1;
  value[4 * r->diagonal[row] + BALANCE + 2 * RATE] = -1;
}

void flow_assemble(const struct reservoir *r, const double *start, double dt, const double *x, double *residual,
                   double *value, double outflow[PHASES])
{
  memset(value, 0, sizeof(double) * 4 * (size_t)r->blocks);
  for (karst_index i = 0; i < r->cells; i++)
    for (int a = 0; a < PHASES; a++) {
      const double *const cell = x + 2 * i, by_s = (a == WATER ? 1 : -1) * expansion(a, cell);
      double *const block = value + 4 * r->diagonal[i];
      residual[2 * i + a] = r->pore_volume[i] * (content(a, cell) - content(a, start + 2 * i)) / dt;
      block[a + 2 * PRESSURE] = r->pore_volume[i] * phases[a].compressibility * saturation(a, cell) / dt;
      block[a + 2 * SATURATION] = r->pore_volume[i] * by_s / dt;
    }
  for (karst_index row = r->cells; row < r->rows; row++) add_control(r, row, x, residual, value);
  outflow[WATER] = outflow[OIL] = 0;
  for (const struct connection *c = r->connection; c < r->connection + r->connections; c++)
    for (int a = 0; a < PHASES; a++) add_flow(r, c, a, x, residual, value, outflow);
}
