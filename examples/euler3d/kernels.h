/* kernels.h - what is done to one cell, face or node. The C compiler makes the CPU's kernels of these functions, nvcc
 * those of the GPU.
 *
 * Finite volumes: V du/dt = -sum of (F - d) over the six faces. F is the flux of the mean of both sides' states through
 * the area vector S. d is the dissipation of Jameson, Schmidt and Turkel (AIAA 81-1259), l the spectral radius
 * |u.S| + c |S|, w the state with rho e0 + p as its last component, so that the enthalpy of a steady flow is constant:
 *
 *     d = l (e2 (w_1 - w_0) - e4 (w_2 - 3 w_1 + 3 w_0 - w_-1)),   0 and 1 the cells at the face
 *     e2 = k2 max(nu_0, nu_1),  e4 = max(0, k4 - e2),  nu_i = |p_(i+1) - 2 p_i + p_(i-1)| / (p_(i+1) + 2 p_i + p_(i-1))
 */
#ifndef EULER3D_KERNELS_H
#define EULER3D_KERNELS_H

#include "euler3d.h"

#include <math.h>

#ifdef __CUDACC__
#define EACH static __host__ __device__ inline
#else
#define EACH static inline
#endif

#define HEAT_RATIO 1.4

EACH int64_t place(const struct block *b, int i, int j, int k)
{
  return b->first + i + j * b->step[1] + k * b->step[2];
}
EACH int64_t cell_number(const struct block *b, int i, int j, int k)
{
  return i + (int64_t)b->n[0] * (j + (int64_t)b->n[1] * k);
}
EACH void load(const struct block *b, const double *u, int64_t at, double w[COMPONENTS])
{
  for (int c = 0; c < COMPONENTS; c++) w[c] = u[at + c * b->size];
}
EACH void load_area(const struct block *b, int axis, int64_t at, double s[AXES])
{
  for (int c = 0; c < AXES; c++) s[c] = b->area[at + (3 * axis + c) * b->size];
}
EACH double dot(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
EACH void cross(const double *a, const double *b, double *c)
{
  c[0] = a[1] * b[2] - a[2] * b[1];
  c[1] = a[2] * b[0] - a[0] * b[2];
  c[2] = a[0] * b[1] - a[1] * b[0];
}

/* p = (gamma - 1) (rho e0 - rho |u|^2 / 2), the equation of state. */
EACH double pressure(const double *w) { return (HEAT_RATIO - 1) * (w[4] - 0.5 * dot(w + 1, w + 1) / w[0]); }

/* |u.S| + c |S|. */
EACH double spectral_radius(const double *w, const double *s)
{
  return fabs(dot(w + 1, s)) / w[0] + sqrt(HEAT_RATIO * fmax(pressure(w), 0.0) / w[0] * dot(s, s));
}

EACH void flux(const double *w, const double *s, double f[COMPONENTS])
{
  const double p = pressure(w), q = dot(w + 1, s) / w[0];
  f[0] = w[0] * q;
  for (int c = 0; c < AXES; c++) f[1 + c] = w[1 + c] * q + p * s[c];
  f[4] = (w[4] + p) * q;
}

/* The face of nodes a, a + e, a + g and a + e + g, in the bilinear form a + b u + c v + d u v. Relative to the origin it
 * has a share of three volumes of a body that it bounds: a.S - b.(c x d) / 4. */
EACH double bilinear_face(const struct block *b, int64_t a, int64_t e, int64_t g, const double *origin, double s[AXES])
{
  double p[AXES], bu[AXES], cv[AXES], duv[AXES], t[AXES];
  for (int c = 0; c < AXES; c++) {
    const double *x = b->x + a + c * b->size;
    p[c] = x[0] - origin[c], bu[c] = x[e] - x[0], cv[c] = x[g] - x[0], duv[c] = x[e + g] - x[e] - x[g] + x[0];
  }
  cross(bu, cv, s);
  cross(bu, duv, t);
  for (int c = 0; c < AXES; c++) s[c] += 0.5 * t[c];
  cross(duv, cv, t);
  for (int c = 0; c < AXES; c++) s[c] += 0.5 * t[c];
  cross(cv, duv, t);
  return dot(p, s) - 0.25 * dot(bu, t);
}

/* The area vectors of the faces at the low sides of cell (i, j, k): the sum over a cell is 0, for whatever nodes. */
EACH void kernel_face_areas(const struct task *t, int i, int j, int k)
{
  const struct block *b = &t->b;
  const int at[AXES] = {i, j, k};
  const int64_t a = place(b, i, j, k);
  const double origin[AXES] = {0, 0, 0};
  double s[AXES];
  for (int axis = 0; axis < AXES; axis++) {
    const int e = (axis + 1) % AXES, g = (axis + 2) % AXES;
    if (at[e] == b->n[e] || at[g] == b->n[g]) continue;
    bilinear_face(b, a, b->step[e], b->step[g], origin, s);
    for (int c = 0; c < AXES; c++) b->area[a + (3 * axis + c) * b->size] = s[c];
  }
}

/* The volume of a cell, exact for bilinear faces. */
EACH void kernel_volumes(const struct task *t, int i, int j, int k)
{
  const struct block *b = &t->b;
  const int64_t a = place(b, i, j, k);
  const double origin[AXES] = {b->x[a], b->x[a + b->size], b->x[a + 2 * b->size]};
  double sum = 0, s[AXES];
  for (int axis = 0; axis < AXES; axis++) {
    const int64_t e = b->step[(axis + 1) % AXES], g = b->step[(axis + 2) % AXES];
    sum += bilinear_face(b, a + b->step[axis], e, g, origin, s) - bilinear_face(b, a, e, g, origin, s);
  }
  b->volume[a] = sum / 3;
}

/* The state at the far field of a flow with the state in the cell, through the outward unit normal: Riemann's invariants
 * u.n + 2 c / (gamma - 1) and u.n - 2 c / (gamma - 1) come along their characteristics, and entropy and tangential
 * velocity with the flow. */
EACH void far_field(const double *cell, const double *outside, const double *normal, double w[COMPONENTS])
{
  const double g = HEAT_RATIO - 1, out_c = sqrt(HEAT_RATIO * pressure(outside) / outside[0]);
  const double in_c = sqrt(HEAT_RATIO * fmax(pressure(cell), 0.0) / cell[0]);
  const double out_q = dot(outside + 1, normal) / outside[0], in_q = dot(cell + 1, normal) / cell[0];
  const double plus = in_q > -in_c ? in_q + 2 * in_c / g : out_q + 2 * out_c / g;
  const double minus = out_q < out_c ? out_q - 2 * out_c / g : in_q - 2 * in_c / g;
  const double q = 0.5 * (plus + minus), c = 0.25 * g * (plus - minus);
  const double *from = q < 0 ? outside : cell, from_q = q < 0 ? out_q : in_q;
  const double entropy = pressure(from) / pow(from[0], HEAT_RATIO);
  w[0] = pow(c * c / (HEAT_RATIO * entropy), 1 / g);
  for (int d = 0; d < AXES; d++) w[1 + d] = w[0] * (from[1 + d] / from[0] + (q - from_q) * normal[d]);
  w[4] = w[0] * c * c / (HEAT_RATIO * g) + 0.5 * dot(w + 1, w + 1) / w[0];
}

/* The ghost cells of a side of a block. The coordinate along the axis is the layer, from the block outwards. Sides of
 * axis 0 come first; those of the next axes include the ghost cells of the axes before. */
EACH int within(int i, int n) { return i < 0 ? 0 : (i < n ? i : n - 1); }
EACH void kernel_ghosts(const struct task *t, int i, int j, int k)
{
  const struct block *b = &t->b, *o = &t->other;
  const int axis = t->axis, kind = b->side[axis][t->side], n = b->n[axis];
  int at[AXES] = {i, j, k}, from[AXES] = {i, j, k}, face[AXES];
  double w[COMPONENTS], cell[COMPONENTS], s[AXES];
  const int layer = at[axis], inner = kind == FAR_FIELD ? 0 : within(layer, n);
  for (int d = 0; d < AXES; d++) face[d] = within(at[d], b->n[d]);
  at[axis] = t->side ? n + layer : -1 - layer, face[axis] = t->side ? n : 0;
  from[axis] = kind != INTERFACE ? (t->side ? n - 1 - inner : inner) : (t->side ? layer : o->n[axis] - 1 - layer);
  load(o, o->u, place(o, from[0], from[1], from[2]), cell);
  load_area(b, axis, place(b, face[0], face[1], face[2]), s);
  const double length = (t->side ? 1 : -1) * sqrt(dot(s, s));
  for (int d = 0; d < AXES; d++) s[d] /= length;
  const double q = kind == WALL ? dot(cell + 1, s) : 0;
  if (kind == FAR_FIELD)
    far_field(cell, t->free_stream, s, w);
  else
    for (int c = 0; c < COMPONENTS; c++) w[c] = cell[c] - (c % 4 ? 2 * q * s[c - 1] : 0);
  for (int c = 0; c < COMPONENTS; c++) b->u[place(b, at[0], at[1], at[2]) + c * b->size] = w[c];
}

/* Equation (11), with the sum of the spectral radii where the paper prints the smallest: the explicit scheme is stable
 * in three dimensions up to a limit of the sum. The mean of opposite faces is a cell's area vector. A cell whose state
 * is none gets -1 - its number in the block, so that the minimum finds it. */
EACH double time_step(const struct task *t, const double *w, int i, int j, int k)
{
  const struct block *b = &t->b;
  const int64_t a = place(b, i, j, k);
  double sum = 0, s[AXES], high[AXES];
  for (int axis = 0; axis < AXES; axis++) {
    load_area(b, axis, a, s);
    load_area(b, axis, a + b->step[axis], high);
    for (int c = 0; c < AXES; c++) s[c] = 0.5 * (s[c] + high[c]);
    sum += spectral_radius(w, s);
  }
  const double dt = t->cfl * b->volume[a] / sum;
  return w[0] > 0 && pressure(w) > 0 && dt < 1e300 ? dt : -1 - (double)cell_number(b, i, j, k);
}
EACH void kernel_time_steps(const struct task *t, int i, int j, int k)
{
  double w[COMPONENTS];
  load(&t->b, t->b.u, place(&t->b, i, j, k), w);
  t->b.dt[cell_number(&t->b, i, j, k)] = time_step(t, w, i, j, k);
}

/* F - d at the face on the low side of the cell at a, number face of its line. At a wall only pressure acts. */
EACH void face_flux(const struct task *t, int axis, int64_t a, int face, double f[COMPONENTS])
{
  const struct block *b = &t->b;
  const int64_t h = b->step[axis];
  double w[4][COMPONENTS], p[4], s[AXES], mean[COMPONENTS];
  for (int q = 0; q < 4; q++) {
    load(b, b->u, a + (q - 2) * h, w[q]);
    p[q] = pressure(w[q]);
  }
  load_area(b, axis, a, s);
  if ((face == 0 && b->side[axis][0] == WALL) || (face == b->n[axis] && b->side[axis][1] == WALL)) {
    const double wall = face == 0 ? 1.5 * p[2] - 0.5 * p[3] : 1.5 * p[1] - 0.5 * p[0];
    f[0] = f[4] = 0;
    for (int c = 0; c < AXES; c++) f[1 + c] = wall * s[c];
    return;
  }
  for (int c = 0; c < COMPONENTS; c++) mean[c] = 0.5 * (w[1][c] + w[2][c]);
  flux(mean, s, f);
  const double nu0 = fabs(p[2] - 2 * p[1] + p[0]) / (p[2] + 2 * p[1] + p[0]);
  const double nu1 = fabs(p[3] - 2 * p[2] + p[1]) / (p[3] + 2 * p[2] + p[1]);
  const double e2 = t->k2 * fmax(nu0, nu1), e4 = fmax(0.0, t->k4 - e2), radius = spectral_radius(mean, s);
  for (int c = 0; c < COMPONENTS; c++) {
    const double d1 = w[2][c] - w[1][c] + (c == 4 ? p[2] - p[1] : 0);
    const double d3 = w[3][c] - w[0][c] - 3 * (w[2][c] - w[1][c]) + (c == 4 ? p[3] - p[0] - 3 * (p[2] - p[1]) : 0);
    f[c] -= radius * (e2 * d1 - e4 * d3);
  }
}

/* One of the three sweeps: what flows out of the cell along the axis. */
EACH void add_outflow(const struct task *t, int64_t a, const double *low, const double *high)
{
  for (int c = 0; c < COMPONENTS; c++) {
    double *r = t->b.residual + a + c * t->b.size;
    *r = (t->axis == 0 ? 0 : *r) + (high[c] - low[c]);
  }
}
EACH void kernel_sweep(const struct task *t, int i, int j, int k)
{
  const int64_t a = place(&t->b, i, j, k);
  const int face = t->axis == 0 ? i : (t->axis == 1 ? j : k);
  double low[COMPONENTS], high[COMPONENTS];
  face_flux(t, t->axis, a, face, low);
  face_flux(t, t->axis, a + t->b.step[t->axis], face + 1, high);
  add_outflow(t, a, low, high);
}

/* A stage of the explicit scheme: u = u at the start - stage dt / V residual. */
EACH void kernel_stage(const struct task *t, int i, int j, int k)
{
  const struct block *b = &t->b;
  const int64_t a = place(b, i, j, k);
  const double dt = t->dt > 0 ? t->dt : b->dt[cell_number(b, i, j, k)], h = t->stage * dt / b->volume[a];
  for (int c = 0; c < COMPONENTS; c++)
    b->u[a + c * b->size] = b->start[a + c * b->size] - h * b->residual[a + c * b->size];
}

/* What flows out through a side of the block, in scratch: rho u.S, and its absolute value for task.stage = 1. */
EACH void kernel_boundary_flux(const struct task *t, int i, int j, int k)
{
  const struct block *b = &t->b;
  const int axis = t->axis;
  int at[AXES] = {i, j, k};
  double f[COMPONENTS];
  const int64_t to =
      axis == 0 ? j + (int64_t)b->n[1] * k : (axis == 1 ? i + (int64_t)b->n[0] * k : i + (int64_t)b->n[0] * j);
  at[axis] = t->side ? b->n[axis] : 0;
  face_flux(t, axis, place(b, at[0], at[1], at[2]), at[axis], f);
  b->scratch[to] = t->stage > 0 ? fabs(f[0]) : (t->side ? f[0] : -f[0]);
}

/* What is reduced over cells, in scratch, with dt the time step: V rho / dt; V (rho - rho at the start) / dt; the square
 * of residual / V for rho; and |sum of the area vectors| over the sum of their lengths. */
EACH void kernel_terms(const struct task *t, int i, int j, int k)
{
  const struct block *b = &t->b;
  const int64_t a = place(b, i, j, k), cell = cell_number(b, i, j, k);
  const double dt = t->dt > 0 ? t->dt : b->dt[cell], V = b->volume[a], r = b->residual[a] / V;
  double term = t->term == MASS ? V * b->u[a] / dt : (t->term == CHANGE ? V * (b->u[a] - b->start[a]) / dt : r * r);
  double sum[AXES] = {0, 0, 0}, length = 0, low[AXES], high[AXES];
  for (int axis = 0; axis < AXES && t->term == CLOSURE; axis++) {
    load_area(b, axis, a, low);
    load_area(b, axis, a + b->step[axis], high);
    for (int c = 0; c < AXES; c++) sum[c] += high[c] - low[c];
    length += sqrt(dot(low, low)) + sqrt(dot(high, high));
  }
  b->scratch[cell] = t->term == CLOSURE ? sqrt(dot(sum, sum)) / length : term;
}

/* The number of cell (i, j, k) in the order of the lines along an axis: the rows of block-tridiagonal systems. */
EACH int64_t row_number(const struct block *b, int axis, int i, int j, int k)
{
  if (axis == 0) return cell_number(b, i, j, k);
  return axis == 1 ? j + (int64_t)b->n[1] * (i + (int64_t)b->n[0] * k)
                   : k + (int64_t)b->n[2] * (i + (int64_t)b->n[0] * j);
}

/* The derivative of flux by w, column by column. */
EACH void jacobian(const double *w, const double *s, double A[COMPONENTS * COMPONENTS])
{
  const double g = HEAT_RATIO - 1, u[AXES] = {w[1] / w[0], w[2] / w[0], w[3] / w[0]}, q = dot(u, s);
  const double square = 0.5 * g * dot(u, u), enthalpy = (w[4] + pressure(w)) / w[0];
  A[0] = A[20] = 0, A[4] = q * (square - enthalpy), A[24] = HEAT_RATIO * q;
  for (int c = 0; c < AXES; c++) {
    A[1 + c] = s[c] * square - u[c] * q, A[20 + 1 + c] = g * s[c];
    A[5 * (c + 1)] = s[c], A[5 * (c + 1) + 4] = enthalpy * s[c] - g * u[c] * q;
    for (int r = 0; r < AXES; r++) A[5 * (c + 1) + 1 + r] = u[r] * s[c] - g * u[c] * s[r] + (r == c ? q : 0);
  }
}

/* The derivative of the pressure of a wall, which acts on the cell at it. */
EACH void wall_jacobian(const double *w, const double *s, double A[COMPONENTS * COMPONENTS])
{
  const double g = HEAT_RATIO - 1, by[COMPONENTS] = {0.5 * g * dot(w + 1, w + 1) / (w[0] * w[0]), -g * w[1] / w[0],
                                                     -g * w[2] / w[0], -g * w[3] / w[0], g};
  for (int c = 0; c < COMPONENTS; c++)
    for (int r = 0; r < COMPONENTS; r++) A[5 * c + r] = r % 4 ? s[r - 1] * by[c] : 0;
}

EACH void store(const struct task *t, void *array, int64_t at, double value)
{
  if (t->single)
    ((float *)array)[at] = (float)value;
  else
    ((double *)array)[at] = value;
}
EACH double fetch(const struct task *t, const void *array, int64_t at)
{
  return t->single ? ((const float *)array)[at] : ((const double *)array)[at];
}

/* A row of blocks of equation (8): I + h d/dxi (A - smoothing l d/dxi), h = dt / (1 + phi) / V, and its right-hand side:
 * that of equation (6) in the first sweep, then the solution of the last sweep. Beyond an interface and the far field
 * the change is 0. Coordinates are: along the line, then the two other axes. */
EACH void kernel_sweep_blocks(const struct task *t, int along, int second, int third)
{
  const struct block *b = &t->b;
  const int axis = t->axis;
  const int at[AXES] = {axis == 0 ? along : second, axis == 1 ? along : (axis == 0 ? second : third),
                        axis == 2 ? along : third};
  const int64_t a = place(b, at[0], at[1], at[2]), cell = cell_number(b, at[0], at[1], at[2]);
  const int64_t row = row_number(b, axis, at[0], at[1], at[2]) - t->begin;
  const double dt = t->dt > 0 ? t->dt : b->dt[cell], h = dt / (1 + t->phi) / b->volume[a];
  double w[2][COMPONENTS], s[AXES], A[COMPONENTS * COMPONENTS], D[COMPONENTS * COMPONENTS];
  for (int e = 0; e < COMPONENTS * COMPONENTS; e++) D[e] = e % (COMPONENTS + 1) ? 0 : 1;
  for (int side = 0; side < 2; side++) {
    const int wall = along == (side ? b->n[axis] - 1 : 0) && b->side[axis][side] == WALL;
    const double sign = side ? h : -h;
    double radius = 0;
    load_area(b, axis, a + side * b->step[axis], s);
    load(b, b->u, a, w[0]);
    if (wall) {
      wall_jacobian(w[0], s, A);
    } else {
      load(b, b->u, a + (side ? 1 : -1) * b->step[axis], w[1]);
      for (int c = 0; c < COMPONENTS; c++) w[0][c] = 0.5 * (w[0][c] + w[1][c]);
      jacobian(w[0], s, A);
      radius = h * t->smoothing * spectral_radius(w[0], s);
    }
    for (int e = 0; e < COMPONENTS * COMPONENTS; e++) {
      const double half = sign * (wall ? 1 : 0.5) * A[e], smooth = e % (COMPONENTS + 1) ? 0 : radius;
      D[e] += half + smooth;
      store(t, t->matrix[2 * side], e * t->rows + row, wall ? 0 : half - smooth);
    }
  }
  for (int e = 0; e < COMPONENTS * COMPONENTS; e++) store(t, t->matrix[1], e * t->rows + row, D[e]);
  for (int c = 0; c < COMPONENTS; c++) {
    const int64_t in_last = t->previous < 0 ? 0 : row_number(b, t->previous, at[0], at[1], at[2]);
    const double value = t->previous < 0
                             ? t->phi / (1 + t->phi) * b->change[a + c * b->size] - h * b->residual[a + c * b->size]
                             : fetch(t, t->solution, c * t->all_rows + in_last);
    store(t, t->matrix[3], c * t->rows + row, value);
  }
}

/* u = u + change, the solution of the last sweep. */
EACH void kernel_add_change(const struct task *t, int i, int j, int k)
{
  const struct block *b = &t->b;
  const int64_t a = place(b, i, j, k), row = row_number(b, t->previous, i, j, k);
  for (int c = 0; c < COMPONENTS; c++) {
    const double change = fetch(t, t->solution, c * t->all_rows + row);
    b->change[a + c * b->size] = change;
    b->u[a + c * b->size] = b->start[a + c * b->size] + change;
  }
}

/* Interpolation with equal weights: the mean of u at the eight corners of the box of three steps from a on; with h = 0
 * of the four of a face. */
EACH void interpolate(const struct block *b, const double *u, int64_t a, int64_t e, int64_t g, int64_t h,
                      double w[COMPONENTS])
{
  for (int c = 0; c < COMPONENTS; c++) {
    const double *v = u + a + c * b->size;
    w[c] = 0.125 * (((v[0] + v[e]) + (v[g] + v[e + g])) + ((v[h] + v[h + e]) + (v[h + g] + v[h + e + g])));
  }
}

/* The paper's kernels for quantities at nodes, in start: from cells to nodes; from nodes to cells, and time steps; from
 * nodes to faces, and a sweep of fluxes without dissipation. */
EACH void kernel_nodes_from_cells(const struct task *t, int i, int j, int k)
{
  const struct block *b = &t->b;
  const int64_t a = place(b, i, j, k);
  double w[COMPONENTS];
  interpolate(b, b->u, a, -1, -b->step[1], -b->step[2], w);
  for (int c = 0; c < COMPONENTS; c++) b->start[a + c * b->size] = w[c];
}
EACH void kernel_nodal_time_steps(const struct task *t, int i, int j, int k)
{
  double w[COMPONENTS];
  interpolate(&t->b, t->b.start, place(&t->b, i, j, k), 1, t->b.step[1], t->b.step[2], w);
  t->b.dt[cell_number(&t->b, i, j, k)] = time_step(t, w, i, j, k);
}
EACH void kernel_nodal_sweep(const struct task *t, int i, int j, int k)
{
  const struct block *b = &t->b;
  const int64_t a = place(b, i, j, k), h = b->step[t->axis];
  double w[COMPONENTS], s[AXES], f[2][COMPONENTS];
  for (int side = 0; side < 2; side++) {
    interpolate(b, b->start, a + side * h, b->step[(t->axis + 1) % AXES], b->step[(t->axis + 2) % AXES], 0, w);
    load_area(b, t->axis, a + side * h, s);
    flux(w, s, f[side]);
  }
  add_outflow(t, a, f[0], f[1]);
}

EACH double reduced(enum reduction reduction, double a, double b)
{
  return reduction == SUM ? a + b : (reduction == LEAST ? (b < a ? b : a) : (b > a ? b : a));
}

#endif
