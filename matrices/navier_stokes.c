/* navier_stokes.c - generates ns3d: the linear system of an implicit step in pseudo-time of the incompressible
 * Navier-Stokes equations in a channel, by Chorin's artificial compressibility (Mathematics of Computation 22, 1968),
 * as in section 4.1 of Luo, Edwards, Luo, Mueller: A fine-grained block ILU scheme on regular structures for GPGPUs.
 *
 * With n = 4 the unknowns of a cell are u = (u, v, w) and p, density 1:
 *   u_tau + div(u u) + grad(p + 2/3 k) - div((nu + nu_t) grad u) = 0
 *   p_tau / beta + div u = 0,   beta = 1
 * where k = nu_t = 0. With n = 6 the k-epsilon model of Launder and Spalding follows:
 *   k_tau + div(u k) - div((nu + nu_t) grad k) = P - epsilon
 *   epsilon_tau + div(u epsilon) - div((nu + nu_t / 1.3) grad epsilon) = (1.44 P - 1.92 epsilon) epsilon / k
 * The eddy viscosity nu_t = 0.09 k^2 / epsilon and the production P = nu_t (dU/dy)^2, U = 4 y (1 - y), are constants of
 * the linearization; all else is linearized completely.
 *
 * The cells are cubes of width h = 1/ny, and the equations those of finite volumes divided by the volume h^3. Through
 * the face to a neighbour goes F = n . (u_P + u_N) / 2, and per h
 *   max(F, 0) q_P + min(F, 0) q_N   of q = u, v, w, k, epsilon (upwind),   F in the equation of p,
 *   n (s_P + s_N) / 2, s = p + 2/3 k, in that of u (central),   D (q_P - q_N) / h, D the mean of both cells.
 * The boundary conditions are part of the diagonal block:
 *   x = 0, inflow     q is given but for p: F is constant, diffusion is D (q_P - q_B) / (h/2), and s_B = s_P
 *   x = end, outflow  p = 0 is given, all else is q_P: F = u_P, without diffusion
 *   y, walls          F = 0, u = 0 and k = 0 at half a cell's distance with D = nu, s_B = s_P, no flux of epsilon
 *   z, symmetry       F = 0, w = 0 at half a cell's distance, s_B = s_P, no other flux: one layer is a plane flow
 *
 * The matrix is dR/dq at the field q of channel.c, R being the sum of the above without pseudo-time, plus the
 * pseudo-time term: 1/dtau in the diagonal, 1/(beta dtau) in the equation of p. The time step is local,
 *   dtau = cfl h / sum over x, y, z of (|u| + sqrt(u^2 + beta)), u the velocity along the axis,
 * cfl = 3.25 by default, chosen so that each of 20 steps of x <- x + M^-1 (b - A x), M the block ILU(0) in natural
 * order, reduces |b - A x|^2 about tenfold on grids from 15^3 to 128^3, and more on those of one layer. The right-hand
 * side is -R(q).
 *
 * Any even n of 8 and more is the direct sum (section 4.3 there) of systems with 4 and 6 unknowns on the same grid, the
 * fewest possible, those with 4 first: 8 = 4 + 4, 10 = 4 + 6, 12 = 6 + 6, 14 = 4 + 4 + 6. The right-hand side is
 * stacked in the same way. Summand i is flow number flow + i, a little different from the others. */
#include "config.h"

#include "matrices/channel.h"
#include "matrices/gallery.h"
#include "matrices/parameters.h"
#include "matrices/stencil.h"

#include <math.h>
#include <string.h>

enum { SUMMANDS_MAX = KARST_BLOCK_SIZE_MAX / KARST_NS_UNKNOWNS + 2 };

static const double beta = 1;

struct sum {
  const karst_index *size;
  int n;      /* unknowns of a cell */
  double cfl; /* time step in units of cell width over wave speed */
  int count;
  karst_channel summand[SUMMANDS_MAX];
};

/* The equations of a cell in one summand. A derivative is d[row + n * column]. */
struct cell {
  const karst_channel *channel;
  int n;
  karst_channel_state here;
  double *diagonal;
  double residual[KARST_NS_UNKNOWNS];
};

/* Returns whether an unknown is carried by the flow, which the pressure is not. */
static bool is_carried(const karst_channel *channel, int unknown)
{
  return unknown < KARST_NS_P || (channel->turbulent && unknown > KARST_NS_P);
}

static double diffusivity(const karst_channel *channel, int unknown, double eddy_viscosity)
{
  return channel->viscosity + (unknown == KARST_NS_EPSILON ? eddy_viscosity / 1.3 : eddy_viscosity);
}

/* Adds the derivatives of convection through a face: flux times the carried quantities, where the flux is weight times
 * the velocity along the axis of the cell that the block belongs to, and upwind is what the flux carries. */
static void add_flux(const karst_channel *channel, int n, int axis, double weight, const double *upwind, double *block)
{
  for (int m = 0; m < KARST_NS_UNKNOWNS; m++)
    if (is_carried(channel, m)) block[m + n * axis] += weight * upwind[m];
  block[KARST_NS_P + n * axis] += weight;
}

/* Adds the derivatives of the force by which p + 2/3 k pushes along an axis. */
static void add_push(const karst_channel *channel, int n, int axis, double p_weight, double k_weight, double *block)
{
  block[axis + n * KARST_NS_P] += p_weight;
  if (channel->turbulent) block[axis + n * KARST_NS_K] += 2.0 / 3 * k_weight;
}

/* Adds the fluxes through the face to a neighbour; next is the block of their derivatives. */
static void add_neighbour(struct cell *cell, int face, const karst_channel_state *there, double *next)
{
  const karst_channel *channel = cell->channel;
  const double *q = cell->here.q, *r = there->q;
  int n = cell->n, axis = karst_face_axis(face);
  double h = channel->h, side = karst_face_side(face) / h, flux = side * (q[axis] + r[axis]) / 2;
  double out = flux > 0 ? flux : 0, in = flux > 0 ? 0 : flux;
  double eddy_viscosity = (cell->here.eddy_viscosity + there->eddy_viscosity) / 2;
  for (int m = 0; m < KARST_NS_UNKNOWNS; m++) {
    if (!is_carried(channel, m)) continue;
    double diffusion = diffusivity(channel, m, eddy_viscosity) / (h * h);
    cell->residual[m] += out * q[m] + in * r[m] + diffusion * (q[m] - r[m]);
    cell->diagonal[m + n * m] += out + diffusion;
    next[m + n * m] += in - diffusion;
  }
  cell->residual[KARST_NS_P] += flux;
  cell->residual[axis] += side * (q[KARST_NS_P] + r[KARST_NS_P] + 2.0 / 3 * (q[KARST_NS_K] + r[KARST_NS_K])) / 2;
  add_flux(channel, n, axis, side / 2, flux > 0 ? q : r, cell->diagonal);
  add_flux(channel, n, axis, side / 2, flux > 0 ? q : r, next);
  add_push(channel, n, axis, side / 2, side / 2, cell->diagonal);
  add_push(channel, n, axis, side / 2, side / 2, next);
}

/* Adds the diffusion of an unknown to a value at half a cell's distance. */
static void add_half_cell(struct cell *cell, int unknown, double eddy_viscosity, double value)
{
  double h = cell->channel->h, diffusion = 2 * diffusivity(cell->channel, unknown, eddy_viscosity) / (h * h);
  cell->residual[unknown] += diffusion * (cell->here.q[unknown] - value);
  cell->diagonal[unknown + cell->n * unknown] += diffusion;
}

static void add_inflow(struct cell *cell, const karst_channel_state *inlet)
{
  double flux = -inlet->q[KARST_NS_U] / cell->channel->h;
  for (int m = 0; m < KARST_NS_UNKNOWNS; m++) {
    if (!is_carried(cell->channel, m)) continue;
    cell->residual[m] += flux * inlet->q[m];
    add_half_cell(cell, m, cell->here.eddy_viscosity, inlet->q[m]);
  }
  cell->residual[KARST_NS_P] += flux;
}

static void add_outflow(struct cell *cell)
{
  const double *q = cell->here.q;
  double side = 1 / cell->channel->h, flux = side * q[KARST_NS_U];
  for (int m = 0; m < KARST_NS_UNKNOWNS; m++) {
    if (!is_carried(cell->channel, m)) continue;
    cell->residual[m] += flux * q[m];
    cell->diagonal[m + cell->n * m] += flux;
  }
  cell->residual[KARST_NS_P] += flux;
  cell->residual[KARST_NS_U] += side * 2.0 / 3 * q[KARST_NS_K];
  add_flux(cell->channel, cell->n, KARST_NS_U, side, q, cell->diagonal);
  add_push(cell->channel, cell->n, KARST_NS_U, 0, side, cell->diagonal);
}

/* Adds the fluxes through a face at the boundary of the grid. */
static void add_boundary(struct cell *cell, const karst_index position[3], int face)
{
  const double *q = cell->here.q;
  int axis = karst_face_axis(face);
  double side = karst_face_side(face) / cell->channel->h;
  if (axis == 0 && side > 0) {
    add_outflow(cell);
    return;
  }
  if (axis == 0) {
    karst_channel_state inlet =
        karst_channel_evaluate(cell->channel, (const karst_index[]){-1, position[1], position[2]});
    add_inflow(cell, &inlet);
  } else if (axis == 1) {
    for (int m = 0; m < KARST_NS_EPSILON; m++)
      if (is_carried(cell->channel, m)) add_half_cell(cell, m, 0, 0);
  } else {
    add_half_cell(cell, KARST_NS_W, cell->here.eddy_viscosity, 0);
  }
  cell->residual[axis] += side * (q[KARST_NS_P] + 2.0 / 3 * q[KARST_NS_K]);
  add_push(cell->channel, cell->n, axis, side, side, cell->diagonal);
}

/* Adds production and dissipation of k and epsilon. */
static void add_sources(struct cell *cell, karst_index y)
{
  const karst_channel *channel = cell->channel;
  double k = cell->here.q[KARST_NS_K], epsilon = cell->here.q[KARST_NS_EPSILON];
  double shear = 4 - 8 * channel->point[1][y + 1].t, production = cell->here.eddy_viscosity * shear * shear;
  double growth = (1.44 * production - 1.92 * epsilon) / k;
  int n = cell->n;
  cell->residual[KARST_NS_K] += epsilon - production;
  cell->residual[KARST_NS_EPSILON] -= growth * epsilon;
  cell->diagonal[KARST_NS_K + n * KARST_NS_EPSILON] += 1;
  cell->diagonal[KARST_NS_EPSILON + n * KARST_NS_K] += growth * epsilon / k;
  cell->diagonal[KARST_NS_EPSILON + n * KARST_NS_EPSILON] += 1.92 * epsilon / k - growth;
}

static void add_pseudo_time(struct cell *cell, double cfl)
{
  const karst_channel *channel = cell->channel;
  double speed = 0;
  for (int axis = 0; axis < 3; axis++) {
    double u = cell->here.q[axis];
    speed += fabs(u) + sqrt(u * u + beta);
  }
  double rate = speed / (cfl * channel->h);
  for (int m = 0; m < KARST_NS_UNKNOWNS; m++)
    if (is_carried(channel, m)) cell->diagonal[m + cell->n * m] += rate;
  cell->diagonal[KARST_NS_P + cell->n * KARST_NS_P] += rate / beta;
}

/* Computes the equations of a cell in one summand. block: where the summand begins in the first block of the row. rhs:
 * its part of the right-hand side, or NULL. */
static void fill_summand(const struct sum *sum, const karst_channel *channel, const karst_cell *place, double *block,
                         double *rhs)
{
  struct cell cell = {.channel = channel, .n = sum->n, .here = karst_channel_evaluate(channel, place->position)};
  int64_t step = (int64_t)sum->n * sum->n;
  double *next = block;
  cell.diagonal = block;
  for (int face = 0; face < KARST_FACES_BELOW; face++)
    if (karst_grid_neighbour(sum->size, place, face) >= 0) cell.diagonal += step;
  for (int face = 0; face < KARST_FACES; face++) {
    int axis = karst_face_axis(face);
    karst_index position[3] = {place->position[0], place->position[1], place->position[2]};
    if (face == KARST_FACES_BELOW) next += step;
    if (karst_grid_neighbour(sum->size, place, face) < 0) {
      add_boundary(&cell, position, face);
      continue;
    }
    position[axis] += karst_face_side(face);
    karst_channel_state there = karst_channel_evaluate(channel, position);
    add_neighbour(&cell, face, &there, next);
    next += step;
  }
  if (channel->turbulent) add_sources(&cell, place->position[1]);
  add_pseudo_time(&cell, sum->cfl);
  int unknowns = channel->turbulent ? KARST_NS_UNKNOWNS : KARST_NS_K;
  for (int m = 0; rhs && m < unknowns; m++) rhs[m] = -cell.residual[m];
}

/* Fills the values of the matrix and, unless rhs is NULL, the right-hand side, [n] for each cell of the arrays. */
static void fill_system(const struct sum *sum, const karst_grid_arrays *arrays, double *rhs)
{
  for (karst_index number = arrays->first; number < arrays->end; number++) {
    karst_cell place = karst_grid_cell(sum->size, number);
    double *start = karst_grid_value(arrays, sum->n, number), *end = karst_grid_value(arrays, sum->n, number + 1);
    memset(start, 0, sizeof *start * (size_t)(end - start));
    int first = 0;
    for (int i = 0; i < sum->count; i++) {
      const karst_channel *channel = &sum->summand[i];
      fill_summand(sum, channel, &place, start + first + (int64_t)sum->n * first,
                   rhs ? rhs + (int64_t)sum->n * (number - arrays->first) + first : NULL);
      first += channel->turbulent ? KARST_NS_UNKNOWNS : KARST_NS_K;
    }
  }
}

/* Makes the summands of n unknowns: the fewest, those with 4 unknowns first. */
static karst_status make_summands(karst_context *context, double reynolds, uint64_t flow, struct sum *sum)
{
  int laminar = sum->n % 6 == 0 ? 0 : sum->n % 6 == 4 ? 1 : 2;
  int count = laminar + (sum->n - 4 * laminar) / 6;
  karst_status status = KARST_SUCCESS;
  for (int i = 0; i < count && !status; i++) {
    status = karst_channel_create(context, sum->size, reynolds, flow + (uint64_t)i, i >= laminar, &sum->summand[i]);
    if (!status) sum->count++;
  }
  return status;
}

static karst_status make_system(karst_context *context, const struct sum *sum, karst_gallery_part *part,
                                karst_matrix **matrix, karst_vector **rhs)
{
  double *source = NULL;
  karst_grid_arrays arrays;
  karst_status status = karst_grid_pattern(context, sum->size, part, sum->n, NULL, NULL, &arrays);
  if (status) return status;
  const int64_t rows = (int64_t)(arrays.end - arrays.first) * sum->n;
  if (rhs) status = karst_allocate(context, &source, rows, sizeof *source, "the right-hand side");
  if (status) {
    karst_grid_release(context, &arrays);
    return status;
  }
  fill_system(sum, &arrays, source);
  status = karst_grid_adopt(context, sum->size, sum->n, &arrays, matrix);
  if (!status && rhs) status = karst_vector_create(context, rows, rhs);
  if (!status && rhs) status = karst_vector_set(*rhs, rows, source);
  karst_release(context, source);
  return status;
}

static karst_status build_ns3d(karst_context *context, const karst_gallery_spec *spec, karst_matrix **matrix,
                               karst_vector **rhs)
{
  double reynolds = 1000;
  uint64_t flow = 0;
  struct sum sum = {.size = spec->size, .n = spec->block_size > 0 ? spec->block_size : 4, .cfl = 3.25};
  const karst_parameter parameter[] = {
      {"re", KARST_PARAMETER_NUMBER, &reynolds, 1e-6, 1e12},
      {"cfl", KARST_PARAMETER_NUMBER, &sum.cfl, 1e-6, 1e12},
      {"flow", KARST_PARAMETER_COUNT, &flow, 0, 1e6},
  };
  if (sum.n < 4 || sum.n % 2 != 0)
    return karst_fail(context, KARST_ERROR_ARGUMENT,
                      "ns3d has no blocks of %d: a cell has 4 or 6 unknowns, or any even number above as a direct sum",
                      sum.n);
  karst_status status = karst_parameters_read(context, spec, 3, parameter);
  if (!status) status = make_summands(context, reynolds, flow, &sum);
  if (!status) status = make_system(context, &sum, spec->part, matrix, rhs);
  for (int i = 0; i < sum.count; i++) karst_channel_destroy(context, &sum.summand[i]);
  return status;
}

const struct karst_generator karst_ns3d = {
    .name = "ns3d",
    .help = "NXxNYxNZ: step in pseudo-time of Navier-Stokes, b = 4, 6 (k-epsilon) or even (sums of both); re=1000, "
            "cfl=3.25, flow=0",
    .dimensions = 3,
    .build = build_ns3d,
};
