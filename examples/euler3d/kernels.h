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

/* A kernel may use the task, its block, three coordinates at, and the place of this cell, node or face in arrays. */
#define MAY __attribute__((unused))
#define KERNEL(name)                                                                                                   \
  EACH void kernel_##name(MAY const struct task *t, MAY const struct block *b, MAY const int *at, MAY int64_t a)

#define HEAT_RATIO 1.4

EACH int64_t place(const struct block *b, const int *at)
{
  return b->first + at[0] + at[1] * b->step[1] + at[2] * b->step[2];
}

/* The number of a cell in the order of the lines along an axis: the rows of block-tridiagonal systems. */
EACH int64_t row_number(const struct block *b, int axis, const int *at)
{
  const int second = axis == 0 ? 1 : 0, third = axis == 2 ? 1 : 2, along = axis == 0 ? at[0] : at[axis];
  return along + (int64_t)b->n[axis] * (at[second] + (int64_t)b->n[second] * at[third]);
}
EACH int64_t cell_number(const struct block *b, const int *at) { return row_number(b, 0, at); }
EACH double step_of(const struct task *t, const int *at) { return t->dt > 0 ? t->dt : t->b.dt[cell_number(&t->b, at)]; }

EACH void load(const struct block *b, const double *u, int64_t a, double *w)
{
  for (int c = 0; c < COMPONENTS; c++) w[c] = u[a + c * b->size];
}
EACH void load_area(const struct block *b, int axis, int64_t a, double *s)
{
  for (int c = 0; c < AXES; c++) s[c] = b->area[a + (3 * axis + c) * b->size];
}
EACH double dot(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
EACH void cross(const double *a, const double *b, double *c)
{
  for (int i = 0; i < 3; i++) c[i] = a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3];
}

/* p = (gamma - 1) (rho e0 - rho |u|^2 / 2), the equation of state; and the flux through S, with |u.S| + c |S|. */
EACH double pressure(const double *w) { return (HEAT_RATIO - 1) * (w[4] - 0.5 * dot(w + 1, w + 1) / w[0]); }
EACH double flux(const double *w, const double *s, double *f)
{
  const double specific = 1 / w[0], q = dot(w + 1, s) * specific;
  const double p = (HEAT_RATIO - 1) * (w[4] - 0.5 * dot(w + 1, w + 1) * specific);
  for (int c = 0; c < COMPONENTS; c++) f[c] = q * w[c] + (c == 0 ? 0 : p * (c < 4 ? s[c - 1] : q));
  return fabs(q) + sqrt(HEAT_RATIO * fmax(p, 0.0) * specific * dot(s, s));
}

/* The area vector of the face of the nodes a, a + e, a + g and a + e + g: half the product of its diagonals. Returns
 * the face's share of three volumes of a body that it bounds, exact for the bilinear face x_a + b u + c v + d u v,
 * relative to the origin: x_a.S - b.(c x d) / 4. */
EACH double bilinear_face(const struct block *b, int64_t a, int64_t e, int64_t g, const double *origin, double *s)
{
  double p[3], along_e[3], along_g[3], diagonal[3], other[3], product[3];
  for (int c = 0; c < 3; c++) {
    const double *x = b->x + a + c * b->size;
    p[c] = x[0] - origin[c], along_e[c] = x[e] - x[0], along_g[c] = x[g] - x[0];
    diagonal[c] = x[e + g] - x[0], other[c] = x[g] - x[e];
  }
  cross(diagonal, other, s);
  cross(along_g, diagonal, product);
  for (int c = 0; c < 3; c++) s[c] *= 0.5;
  return dot(p, s) - 0.25 * dot(along_e, product);
}

/* For each node: the area vectors of the faces above it, whose sum over a cell is 0, and the volume of its cell. */
KERNEL(geometry)
{
  const double origin[AXES] = {b->x[a], b->x[a + b->size], b->x[a + 2 * b->size]};
  double sum = 0, s[AXES], high[AXES];
  for (int axis = 0; axis < AXES; axis++) {
    const int e = (axis + 1) % AXES, g = (axis + 2) % AXES;
    if (at[e] == b->n[e] || at[g] == b->n[g]) continue;
    const double low = bilinear_face(b, a, b->step[e], b->step[g], origin, s);
    for (int c = 0; c < AXES; c++) b->area[a + (3 * axis + c) * b->size] = s[c];
    if (at[axis] < b->n[axis]) sum += bilinear_face(b, a + b->step[axis], b->step[e], b->step[g], origin, high) - low;
  }
  if (at[0] < b->n[0] && at[1] < b->n[1] && at[2] < b->n[2]) b->volume[a] = sum / 3;
}

/* The state at the far field of a flow with the state in the cell, through the outward unit normal: Riemann's
 * invariants u.n + 2 c / (gamma - 1) and u.n - 2 c / (gamma - 1) come along their characteristics, and entropy and
 * tangential velocity with the flow. */
EACH void far_field(const double *cell, const double *outside, const double *normal, double *w)
{
  const double g = HEAT_RATIO - 1, out_c = sqrt(HEAT_RATIO * pressure(outside) / outside[0]);
  const double in_c = sqrt(HEAT_RATIO * fmax(pressure(cell), 0.0) / cell[0]);
  const double out_q = dot(outside + 1, normal) / outside[0], in_q = dot(cell + 1, normal) / cell[0];
  const double plus = in_q > -in_c ? in_q + 2 * in_c / g : out_q + 2 * out_c / g;
  const double minus = out_q < out_c ? out_q - 2 * out_c / g : in_q - 2 * in_c / g;
  const double q = 0.5 * (plus + minus), c = 0.25 * g * (plus - minus);
  const double *from = q < 0 ? outside : cell, from_q = q < 0 ? out_q : in_q;
  w[0] = pow(c * c * pow(from[0], HEAT_RATIO) / (HEAT_RATIO * pressure(from)), 1 / g);
  for (int d = 0; d < AXES; d++) w[1 + d] = w[0] * (from[1 + d] / from[0] + (q - from_q) * normal[d]);
  w[4] = w[0] * c * c / (HEAT_RATIO * g) + 0.5 * dot(w + 1, w + 1) / w[0];
}

/* The ghost cells of a side of a block. The coordinate along the axis is the layer, from the block outwards. Sides of
 * axis 0 come first; those of the next axes include the ghost cells of the axes before. A wall mirrors the flow. */
EACH int within(int i, int n) { return i < 0 ? 0 : (i < n ? i : n - 1); }
KERNEL(ghosts)
{
  const struct block *o = &t->other;
  const int axis = t->axis, kind = b->side[axis][t->side], n = b->n[axis], layer = at[axis];
  const int inner = kind == FAR_FIELD ? 0 : within(layer, n), opposite = t->side ? layer : o->n[axis] - 1 - layer;
  int to[AXES], from[AXES], face[AXES];
  double w[COMPONENTS], cell[COMPONENTS], s[AXES];
  for (int d = 0; d < AXES; d++) to[d] = from[d] = at[d], face[d] = within(at[d], b->n[d]);
  to[axis] = t->side ? n + layer : -1 - layer, face[axis] = t->side ? n : 0;
  from[axis] = kind == INTERFACE ? opposite : (t->side ? n - 1 - inner : inner);
  load(o, o->u, place(o, from), cell);
  load_area(b, axis, place(b, face), s);
  const double length = (t->side ? 1 : -1) * sqrt(dot(s, s)), q = kind == WALL ? dot(cell + 1, s) / length : 0;
  for (int d = 0; d < AXES; d++) s[d] /= length;
  for (int c = 0; c < COMPONENTS; c++) w[c] = cell[c] - (c % 4 ? 2 * q * s[c - 1] : 0);
  if (kind == FAR_FIELD) far_field(cell, t->free_stream, s, w);
  for (int c = 0; c < COMPONENTS; c++) b->u[place(b, to) + c * b->size] = w[c];
}

/* Interpolation with equal weights: the mean of u at the eight corners of the box of three steps from a on; with h = 0
 * of the four of a face. In kernels with task.nodal, quantities are at nodes, in start, as the paper has them. */
EACH void interpolate(const struct block *b, const double *u, int64_t a, int64_t e, int64_t g, int64_t h, double *w)
{
  for (int c = 0; c < COMPONENTS; c++) {
    const double *v = u + a + c * b->size;
    w[c] = 0.125 * (((v[0] + v[e]) + (v[g] + v[e + g])) + ((v[h] + v[h + e]) + (v[h + g] + v[h + e + g])));
  }
}
KERNEL(nodes_from_cells)
{
  double w[COMPONENTS];
  interpolate(b, b->u, a, -1, -b->step[1], -b->step[2], w);
  for (int c = 0; c < COMPONENTS; c++) b->start[a + c * b->size] = w[c];
}

/* Equation (11), with the sum of the spectral radii where the paper prints the smallest: the explicit scheme is stable
 * in three dimensions up to a limit of the sum. The mean of opposite faces is a cell's area vector. A cell whose state
 * is none gets -1 - its number in the block, so that the minimum finds it. */
KERNEL(time_steps)
{
  double sum = 0, w[COMPONENTS], s[AXES], high[AXES], f[COMPONENTS];
  if (t->nodal)
    interpolate(b, b->start, a, 1, b->step[1], b->step[2], w);
  else
    load(b, b->u, a, w);
  for (int axis = 0; axis < AXES; axis++) {
    load_area(b, axis, a, s);
    load_area(b, axis, a + b->step[axis], high);
    for (int c = 0; c < AXES; c++) s[c] = 0.5 * (s[c] + high[c]);
    sum += flux(w, s, f);
  }
  const double dt = t->cfl * b->volume[a] / sum, number = (double)cell_number(b, at);
  b->dt[cell_number(b, at)] = w[0] > 0 && pressure(w) > 0 && dt < 1e300 ? dt : -1 - number;
}

/* F - d at the face on the low side of the cell at a, number face of its line. At a wall only pressure acts. Quantities
 * at nodes are interpolated to the face, and have no dissipation. */
EACH void face_flux(const struct task *t, const struct block *b, int64_t a, int face, double *f)
{
  const int axis = t->axis;
  double w[4][COMPONENTS], p[4], s[AXES], mean[COMPONENTS];
  load_area(b, axis, a, s);
  if (t->nodal) {
    interpolate(b, b->start, a, b->step[axis == 0 ? 1 : 0], b->step[axis == 2 ? 1 : 2], 0, mean);
    flux(mean, s, f);
    return;
  }
  for (int q = 0; q < 4; q++) load(b, b->u, a + (q - 2) * b->step[axis], w[q]), p[q] = pressure(w[q]);
  if ((face == 0 && b->side[axis][0] == WALL) || (face == b->n[axis] && b->side[axis][1] == WALL)) {
    const double wall = face == 0 ? 1.5 * p[2] - 0.5 * p[3] : 1.5 * p[1] - 0.5 * p[0];
    for (int c = 0; c < COMPONENTS; c++) f[c] = c % 4 ? wall * s[c - 1] : 0;
    return;
  }
  for (int c = 0; c < COMPONENTS; c++) mean[c] = 0.5 * (w[1][c] + w[2][c]);
  const double radius = flux(mean, s, f), over[2] = {fabs(p[2] - 2 * p[1] + p[0]), fabs(p[3] - 2 * p[2] + p[1])};
  const double under[2] = {p[2] + 2 * p[1] + p[0], p[3] + 2 * p[2] + p[1]};
  const bool larger = over[1] * under[0] > over[0] * under[1];
  const double e2 = t->k2 * (larger ? over[1] : over[0]) / (larger ? under[1] : under[0]), e4 = fmax(0.0, t->k4 - e2);
  for (int q = 0; q < 4; q++) w[q][4] += p[q];
  for (int c = 0; c < COMPONENTS; c++)
    f[c] -= radius * (e2 * (w[2][c] - w[1][c]) - e4 * (w[3][c] - w[0][c] - 3 * (w[2][c] - w[1][c])));
}

/* One of the three sweeps adds what flows out of the cell along the axis. */
KERNEL(sweep)
{
  const int axis = t->axis, face = axis == 0 ? at[0] : (axis == 1 ? at[1] : at[2]);
  double low[COMPONENTS], high[COMPONENTS];
  face_flux(t, b, a, face, low), face_flux(t, b, a + b->step[axis], face + 1, high);
  for (int64_t c = 0, to = a; c < COMPONENTS; c++, to += b->size)
    b->residual[to] = (axis == 0 ? 0 : b->residual[to]) + (high[c] - low[c]);
}

/* A stage of the explicit scheme: u = u at the start - stage dt / V residual. */
KERNEL(stage)
{
  const double h = t->stage * step_of(t, at) / b->volume[a];
  for (int64_t c = 0, to = a; c < COMPONENTS; c++, to += b->size) b->u[to] = b->start[to] - h * b->residual[to];
}

/* What flows out through a side of the block, in scratch in the order of the third coordinate and the second: rho
 * u.S. */
KERNEL(boundary_flux)
{
  const int axis = t->axis, side = t->side, second = axis == 0 ? 1 : 0, third = axis == 2 ? 1 : 2;
  double f[COMPONENTS];
  face_flux(t, b, a + (side ? b->n[axis] * b->step[axis] : 0), side ? b->n[axis] : 0, f);
  b->scratch[at[second] + (int64_t)b->n[second] * at[third]] = side ? f[0] : -f[0];
}

/* What is reduced over cells, in scratch, with dt the time step: V rho / dt; V (rho - rho at the start) / dt; the
 * square of residual / V for rho; V; and |sum of the area vectors| over the sum of their lengths. */
KERNEL(terms)
{
  const double dt = step_of(t, at), V = b->volume[a], r = b->residual[a] / V;
  const double term[] = {V * b->u[a] / dt, V * (b->u[a] - b->start[a]) / dt, r * r, V};
  double sum[AXES] = {0, 0, 0}, length = 0, low[AXES], high[AXES];
  for (int axis = 0; axis < AXES && t->term == CLOSURE; axis++) {
    load_area(b, axis, a, low);
    load_area(b, axis, a + b->step[axis], high);
    for (int c = 0; c < AXES; c++) sum[c] += high[c] - low[c];
    length += sqrt(dot(low, low)) + sqrt(dot(high, high));
  }
  b->scratch[cell_number(b, at)] = t->term == CLOSURE ? sqrt(dot(sum, sum)) / length : term[t->term];
}

/* The derivative of flux by w, column by column; at a wall that of the pressure of the cell that it is in. */
EACH void jacobian(const double *w, const double *s, int wall, double *A)
{
  const double g = HEAT_RATIO - 1, u[AXES] = {w[1] / w[0], w[2] / w[0], w[3] / w[0]}, q = wall ? 0 : dot(u, s);
  const double square = 0.5 * g * dot(u, u), enthalpy = wall ? 0 : (w[4] + pressure(w)) / w[0];
  A[0] = A[20] = 0, A[4] = wall ? 0 : q * (square - enthalpy), A[24] = HEAT_RATIO * q;
  for (int c = 0; c < AXES; c++) {
    double *column = A + 5 * (c + 1);
    A[1 + c] = s[c] * square - u[c] * q, A[21 + c] = g * s[c];
    column[0] = wall ? 0 : s[c], column[4] = enthalpy * s[c] - g * u[c] * q;
    for (int r = 0; r < AXES; r++) column[1 + r] = (wall ? 0 : u[r] * s[c]) - g * u[c] * s[r] + (r == c ? q : 0);
  }
}

/* Element e of a row in an array of rows with entries elements each, in the layout that Karst calls AOS or SOA. */
EACH int64_t element(const struct task *t, int64_t rows, int entries, int e, int64_t row)
{
  return t->structures ? row * entries + e : e * rows + row;
}
EACH void store(const struct task *t, int array, int entries, int e, int64_t row, double value)
{
  const int64_t to = element(t, t->rows, entries, e, row);
  if (t->single)
    ((float *)t->matrix[array])[to] = (float)value;
  else
    ((double *)t->matrix[array])[to] = value;
}
EACH double fetch(const struct task *t, int c, int64_t row)
{
  const int64_t from = element(t, t->b.cells, COMPONENTS, c, row);
  return t->single ? ((const float *)t->solution)[from] : ((const double *)t->solution)[from];
}

/* A row of blocks of equation (8): I + h d/dxi (A - smoothing l d/dxi), h = dt / (1 + phi) / V, and its right-hand
 * side: that of equation (6) in the first sweep, then the solution of the previous one. Beyond an interface and the far
 * field the change is 0. The coordinates are that along the line, and the others. */
KERNEL(sweep_blocks)
{
  const int axis = t->axis;
  const int cell[AXES] = {at[axis == 0 ? 0 : 1], at[axis == 0 ? 1 : (axis == 1 ? 0 : 2)], at[axis == 2 ? 0 : 2]};
  const int64_t row = row_number(b, axis, cell) - t->begin, middle = place(b, cell);
  const int64_t from = t->previous < 0 ? 0 : row_number(b, t->previous, cell);
  const double h = step_of(t, cell) / (1 + t->phi) / b->volume[middle], kept = t->phi / (1 + t->phi);
  double w[COMPONENTS], beside[COMPONENTS], s[AXES], f[COMPONENTS], A[SQUARE], D[SQUARE];
  for (int e = 0; e < SQUARE; e++) D[e] = e % (COMPONENTS + 1) ? 0 : 1;
  for (int side = 0; side < 2; side++) {
    const int wall = at[0] == (side ? b->n[axis] - 1 : 0) && b->side[axis][side] == WALL;
    const double part = (side ? h : -h) * (wall ? 1 : 0.5);
    load_area(b, axis, middle + side * b->step[axis], s);
    load(b, b->u, middle, w);
    load(b, b->u, middle + (side ? 1 : -1) * b->step[axis], beside);
    for (int c = 0; c < COMPONENTS && !wall; c++) w[c] = 0.5 * (w[c] + beside[c]);
    const double radius = wall ? 0 : h * t->smoothing * flux(w, s, f);
    jacobian(w, s, wall, A);
    for (int e = 0; e < SQUARE; e++) {
      const double smooth = e % (COMPONENTS + 1) ? 0 : radius;
      D[e] += part * A[e] + smooth;
      store(t, 2 * side, SQUARE, e, row, wall ? 0 : part * A[e] - smooth);
    }
  }
  for (int e = 0; e < SQUARE; e++) store(t, 1, SQUARE, e, row, D[e]);
  for (int c = 0; c < COMPONENTS; c++) {
    const int64_t to = middle + c * b->size;
    const double first = t->previous < 0 ? kept * b->change[to] - h * b->residual[to] : 0;
    store(t, 3, COMPONENTS, c, row, t->previous < 0 ? first : fetch(t, c, from));
  }
}

/* u = u + change, the solution of the previous sweep. */
KERNEL(add_change)
{
  const int64_t row = row_number(b, t->previous, at);
  for (int c = 0; c < COMPONENTS; c++) {
    const int64_t to = a + c * b->size;
    b->change[to] = fetch(t, c, row);
    b->u[to] = b->start[to] + b->change[to];
  }
}

EACH double reduced(enum reduction reduction, double a, double b)
{
  return reduction == SUM ? a + b : (reduction == LEAST ? (b < a ? b : a) : (b > a ? b : a));
}
#endif
