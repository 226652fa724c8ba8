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
#define EACH __attribute__((always_inline)) static inline
#endif

/* A kernel may use the task, its block, three coordinates at, and the place of this cell, node or face in arrays. */
#define MAY __attribute__((unused))
#define KERNEL(name)                                                                                                   \
  EACH void kernel_##name(MAY const struct task *t, MAY const struct block *b, MAY const int *at, MAY int64_t a)

#define HEAT_RATIO 1.4

/* along chooses a coordinate rather than indexing it, so that a GPU keeps all in registers. */
EACH int64_t place(const struct block *b, const int *at)
{
  return b->first + at[0] + at[1] * b->step[1] + at[2] * b->step[2];
}
EACH int along(const int *at, int axis) { return axis == 0 ? at[0] : (axis == 1 ? at[1] : at[2]); }
EACH int second(int axis) { return axis == 0 ? 1 : 0; }
EACH int third(int axis) { return axis == 2 ? 1 : 2; }

/* The number of a cell in the whole grid in the order of the lines along an axis: its row in their systems. */
EACH int64_t row_number(const struct block *b, int axis, const int *at)
{
  const int cell[AXES] = {at[0] + b->offset[0], at[1] + b->offset[1], at[2] + b->offset[2]};
  const int64_t line = along(cell, second(axis)) + along(b->whole, second(axis)) * (int64_t)along(cell, third(axis));
  return along(cell, axis) + along(b->whole, axis) * line;
}
EACH int64_t cell_number(const struct block *b, const int *at) { return row_number(b, 0, at); }
EACH double step_of(const struct task *t, const int *at) { return t->dt > 0 ? t->dt : t->b.dt[cell_number(&t->b, at)]; }

/* n components of an array; the area vector of a face. */
EACH void load(const struct block *b, const double *array, int n, int64_t a, double *w)
{
  for (int c = 0; c < n; c++) w[c] = array[a + c * b->size];
}
EACH void load_area(const struct block *b, int d, int64_t a, double *s)
{
  load(b, b->area + 3 * d * b->size, AXES, a, s);
}
EACH double dot(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

/* Interpolation with equal weights: the mean of an array of n components at the eight corners of the box of three steps
 * from a on; with h = 0 of the four of a face. */
EACH void average(const struct block *b, const double *u, int n, int64_t a, int64_t e, int64_t g, int64_t h, double *w)
{
  for (int c = 0; c < n; c++) {
    const double *v = u + a + c * b->size;
    w[c] = 0.125 * (((v[0] + v[e]) + (v[g] + v[e + g])) + ((v[h] + v[h + e]) + (v[h + g] + v[h + e + g])));
  }
}

/* What follows from a state and 1 / rho: the velocity, p = (gamma - 1) (rho e0 - rho |u|^2 / 2), the equation of state,
 * and c^2 = gamma p / rho, the square of the speed of sound. */
struct gas {
  double u[AXES], p, c2;
};
EACH struct gas gas_of(const double *w, double specific)
{
  struct gas g = {{w[1] * specific, w[2] * specific, w[3] * specific}, 0, 0};
  g.p = (HEAT_RATIO - 1) * (w[4] - 0.5 * dot(w + 1, g.u));
  g.c2 = HEAT_RATIO * fmax(g.p, 0.0) * specific;
  return g;
}

/* The spectral radius |u.S| + c |S| of the flux through S; and the flux. */
EACH double radius(const struct gas *g, const double *s) { return fabs(dot(g->u, s)) + sqrt(g->c2 * dot(s, s)); }
EACH void flux(const double *w, const struct gas *g, const double *s, double *f)
{
  const double q = dot(g->u, s);
  for (int c = 0; c < COMPONENTS; c++) f[c] = q * w[c] + (c == 0 ? 0 : g->p * (c < 4 ? s[c - 1] : q));
}

/* The area vector of the bilinear face of the nodes a, a + e, a + g and a + e + g: half the product of its diagonals.
 * Returns the face's share of three volumes of a body that it bounds: the mean of its nodes, relative to the node at
 * origin, times the area vector, which is exact. */
EACH double bilinear_face(const struct block *b, int64_t a, int64_t e, int64_t g, int64_t origin, double *s)
{
  double mean[3], diagonal[3], other[3];
  average(b, b->x, AXES, a, e, g, 0, mean);
  for (int c = 0; c < 3; c++) {
    const double *x = b->x + c * b->size;
    mean[c] -= x[origin], diagonal[c] = x[a + e + g] - x[a], other[c] = 0.5 * (x[a + g] - x[a + e]);
  }
  for (int c = 0; c < 3; c++)
    s[c] = diagonal[(c + 1) % 3] * other[(c + 2) % 3] - diagonal[(c + 2) % 3] * other[(c + 1) % 3];
  return dot(mean, s);
}

/* For each node: the area vectors of the faces above it, whose sum over a cell is 0, and the volume of its cell. */
KERNEL(geometry)
{
  double sum = 0, s[AXES], high[AXES];
  for (int axis = 0; axis < AXES; axis++) {
    const int e = (axis + 1) % AXES, g = (axis + 2) % AXES;
    if (at[e] == b->n[e] || at[g] == b->n[g]) continue;
    const double low = bilinear_face(b, a, b->step[e], b->step[g], a, s);
    for (int c = 0; c < AXES; c++) b->area[a + (3 * axis + c) * b->size] = s[c];
    if (at[axis] < b->n[axis]) sum += bilinear_face(b, a + b->step[axis], b->step[e], b->step[g], a, high) - low;
  }
  if (at[0] < b->n[0] && at[1] < b->n[1] && at[2] < b->n[2]) b->volume[a] = sum / 3;
}

/* The state at the far field of a flow with the state w in the cell, through the outward unit normal: Riemann's
 * invariants u.n + 2 c / (gamma - 1) and u.n - 2 c / (gamma - 1) come along their characteristics, and entropy and
 * tangential velocity with the flow. */
EACH void far_field(const double *outside, const double *normal, double *w)
{
  const double k = 2 / (HEAT_RATIO - 1);
  const struct gas in = gas_of(w, 1 / w[0]), out = gas_of(outside, 1 / outside[0]);
  const double in_q = dot(in.u, normal), out_q = dot(out.u, normal), in_c = sqrt(in.c2), out_c = sqrt(out.c2);
  const double plus = in_q > -in_c ? in_q + k * in_c : out_q + k * out_c;
  const double minus = out_q < out_c ? out_q - k * out_c : in_q - k * in_c;
  const double q = 0.5 * (plus + minus), c = (plus - minus) / (2 * k);
  const bool inward = q < 0;
  w[0] = (inward ? outside : w)[0] * pow(c / (inward ? out_c : in_c), k);
  for (int d = 0; d < AXES; d++)
    w[1 + d] = w[0] * (inward ? out.u[d] + (q - out_q) * normal[d] : in.u[d] + (q - in_q) * normal[d]);
  w[4] = w[0] * c * c / (HEAT_RATIO * (HEAT_RATIO - 1)) + 0.5 * dot(w + 1, w + 1) / w[0];
}

/* The ghost cells of a side of a block. Sides of axis 0 come first; those of the next axes include the ghost cells of
 * the axes before. A wall mirrors the flow. */
EACH int within(int i, int n) { return i < 0 ? 0 : (i < n ? i : n - 1); }
KERNEL(ghosts)
{
  const int axis = t->axis, kind = b->side[axis][t->side], n = b->n[axis], beyond = along(at, axis);
  int from[AXES], face[AXES];
  double w[COMPONENTS], s[AXES];
  for (int d = 0; d < AXES; d++) from[d] = at[d], face[d] = within(at[d], b->n[d]);
  face[axis] = t->side ? n : 0;
  from[axis] = kind == INTERFACE ? beyond + (t->side ? -n : t->other.n[axis])
                                 : within(kind == WALL ? 2 * face[axis] - 1 - beyond : beyond, n);
  load(&t->other, t->other.u, COMPONENTS, place(&t->other, from), w);
  load_area(b, axis, place(b, face), s);
  const double length = (t->side ? 1 : -1) * sqrt(dot(s, s)), q = kind == WALL ? dot(w + 1, s) / length : 0;
  for (int d = 0; d < AXES; d++) s[d] /= length, w[1 + d] -= 2 * q * s[d];
  if (kind == FAR_FIELD) far_field(t->free_stream, s, w);
  for (int c = 0; c < COMPONENTS; c++) b->u[a + c * b->size] = w[c];
}

/* Kernels with task.nodal have quantities at nodes, in start, as the paper has them. */
KERNEL(nodes_from_cells)
{
  double w[COMPONENTS];
  average(b, b->u, COMPONENTS, a, -1, -b->step[1], -b->step[2], w);
  for (int c = 0; c < COMPONENTS; c++) b->start[a + c * b->size] = w[c];
}

/* Equation (11), with the sum of the spectral radii where the paper prints the smallest: the explicit scheme is stable
 * in three dimensions up to a limit of the sum. The mean of opposite faces is a cell's area vector. A cell whose state
 * is not physical gets -1 - its number, so that the minimum finds it. */
KERNEL(time_steps)
{
  double sum = 0, w[COMPONENTS], s[AXES], high[AXES];
  if (t->nodal)
    average(b, b->start, COMPONENTS, a, 1, b->step[1], b->step[2], w);
  else
    load(b, b->u, COMPONENTS, a, w);
  const struct gas g = gas_of(w, 1 / w[0]);
  for (int axis = 0; axis < AXES; axis++) {
    load_area(b, axis, a, s);
    load_area(b, axis, a + b->step[axis], high);
    for (int c = 0; c < AXES; c++) s[c] = 0.5 * (s[c] + high[c]);
    sum += radius(&g, s);
  }
  const double dt = t->set.cfl * b->volume[a] / sum;
  b->dt[cell_number(b, at)] = w[0] > 0 && g.p > 0 && dt < 1e300 ? dt : -1 - (double)cell_number(b, at);
}

/* The four cells at a face, two on each side: density, momentum, rho e0 + p, and p. The next comes in from above. */
enum { P = COMPONENTS, STENCIL };
EACH void advance(const struct block *b, int64_t cell, double (*w)[STENCIL])
{
  for (int q = 0; q < 3; q++)
    for (int c = 0; c < STENCIL; c++) w[q][c] = w[q + 1][c];
  load(b, b->u, COMPONENTS, cell, w[3]);
  w[3][P] = gas_of(w[3], 1 / w[3][0]).p, w[3][4] += w[3][P];
}

/* F - d at the face at a, number face of its line. At a wall only pressure acts. Quantities at nodes are interpolated
 * to the face, and have no dissipation. */
EACH void face_flux(const struct task *t, const struct block *b, int axis, int64_t a, int face, double (*w)[STENCIL],
                    double *f)
{
  double s[AXES], mean[COMPONENTS], d[COMPONENTS];
  load_area(b, axis, a, s);
  if (t->nodal) {
    average(b, b->start, COMPONENTS, a, b->step[second(axis)], b->step[third(axis)], 0, mean);
    const struct gas g = gas_of(mean, 1 / mean[0]);
    flux(mean, &g, s, f);
    return;
  }
  if ((face == 0 && b->side[axis][0] == WALL) || (face == b->n[axis] && b->side[axis][1] == WALL)) {
    const double wall = face == 0 ? 1.5 * w[2][P] - 0.5 * w[3][P] : 1.5 * w[1][P] - 0.5 * w[0][P];
    for (int c = 0; c < COMPONENTS; c++) f[c] = c % 4 ? wall * s[c - 1] : 0;
    return;
  }
  for (int c = 0; c < COMPONENTS; c++) d[c] = w[2][c] - w[1][c], mean[c] = 0.5 * (w[1][c] + w[2][c]);
  mean[4] -= 0.5 * (w[1][P] + w[2][P]);
  double over[2], under[2];
  for (int q = 0; q < 2; q++) {
    over[q] = fabs(w[q + 2][P] - 2 * w[q + 1][P] + w[q][P]);
    under[q] = w[q + 2][P] + 2 * w[q + 1][P] + w[q][P];
  }
  const bool larger = over[1] * under[0] > over[0] * under[1];
  const double divisor = larger ? under[1] : under[0], both = 1 / (mean[0] * divisor); /* one division for two */
  const double e2 = t->set.k2 * (larger ? over[1] : over[0]) * (both * mean[0]), e4 = fmax(0.0, t->set.k4 - e2);
  const struct gas g = gas_of(mean, both * divisor);
  const double l = radius(&g, s);
  flux(mean, &g, s, f);
  for (int c = 0; c < COMPONENTS; c++) f[c] -= l * (e2 * d[c] - e4 * (w[3][c] - w[0][c] - 3 * d[c]));
}

/* One of the three sweeps adds what flows out of cells along the axis. It is called for strips of cells, whose number
 * is coordinate axis of at, so that the face between two of them is computed once. Strips along x are short, because
 * neighbouring threads of a GPU had better read neighbouring cells. */
EACH int strip(int axis) { return axis == 0 ? 2 : 16; }
KERNEL(sweep)
{
  const int axis = t->axis, number = along(at, axis), n = along(b->n, axis), begin = strip(axis) * number;
  const int end = begin + strip(axis) < n ? begin + strip(axis) : n;
  const int64_t step = b->step[axis];
  double cells[4][STENCIL] = {{0}}, low[COMPONENTS] = {0}, high[COMPONENTS];
  a += (begin - number) * step;
  for (int q = -2; q < 1 && !t->nodal; q++) advance(b, a + q * step, cells);
  for (int face = begin; face <= end; face++, a += step) {
    if (!t->nodal) advance(b, a + step, cells);
    face_flux(t, b, axis, a, face, cells, high);
    for (int64_t c = 0, to = a - step; c < COMPONENTS; c++, to += b->size) {
      if (face > begin) b->residual[to] = (axis == 0 ? 0 : b->residual[to]) + (high[c] - low[c]);
      low[c] = high[c];
    }
  }
}

/* A stage of the explicit scheme: u = u at the start - stage dt / V residual. */
KERNEL(stage)
{
  const double h = t->stage * step_of(t, at) / b->volume[a];
  for (int64_t c = 0, to = a; c < COMPONENTS; c++, to += b->size) b->u[to] = b->start[to] - h * b->residual[to];
}

/* What is reduced over cells, in scratch, with dt the time step: V rho / dt; V (rho - rho at the start) / dt; the
 * square of residual / V for rho; the square of the Mach number; and rho u.S through its faces at the far field. */
KERNEL(terms)
{
  const double dt = step_of(t, at), V = b->volume[a], r = b->residual[a] / V;
  double outflow = 0, w[COMPONENTS], f[COMPONENTS], cells[4][STENCIL] = {{0}};
  load(b, b->u, COMPONENTS, a, w);
  const struct gas g = gas_of(w, 1 / w[0]);
  for (int face = 0; face < 2 * AXES && t->term == OUTFLOW; face++) {
    const int axis = face / 2, side = face % 2;
    const int64_t to = a + side * b->step[axis];
    if (b->side[axis][side] != FAR_FIELD || along(at, axis) != side * (b->n[axis] - 1)) continue;
    for (int q = -2; q < 2; q++) advance(b, to + q * b->step[axis], cells);
    face_flux(t, b, axis, to, along(at, axis) + side, cells, f);
    outflow += side ? f[0] : -f[0];
  }
  const double term[] = {V * w[0] / dt, V * (w[0] - b->start[a]) / dt, r * r, dot(g.u, g.u) / g.c2, outflow};
  b->scratch[cell_number(b, at)] = term[t->term];
}

/* A stage of a reduction, which leaves a part for each group of values. Those of a group are as far apart as there are
 * parts: neighbouring threads of a GPU read neighbouring values. A group of 61 keeps the distance from powers of two,
 * at which values compete for a few lines of a CPU's cache. */
KERNEL(reduce)
{
  double part = t->values[at[0]];
  for (int64_t i = at[0] + t->parts; i < t->count; i += t->parts) {
    const double value = t->values[i];
    part = t->reduction == SUM ? part + value : ((value < part) == (t->reduction == LEAST) ? value : part);
  }
  b->scratch[at[0]] = part;
}

/* The derivative of flux by w, column by column, with H = (rho e0 + p) / rho and g = gamma - 1:
 *
 *     q I + (1, u, H) (-q, S, 0)^T + (0, S, q) (g |u|^2 / 2, -g u, g)^T
 *
 * At a wall only the pressure of the cell that it is in acts: q and the middle term are 0. */
EACH void jacobian(const struct gas *gas, const double *s, bool wall, double *A)
{
  const double g = HEAT_RATIO - 1, *const u = gas->u, q = wall ? 0 : dot(u, s), square = 0.5 * g * dot(u, u);
  const double H = (square + gas->c2) * (1 / g), open = wall ? 0 : 1;
  const double carried[] = {1, u[0], u[1], u[2], H}, by_mass[] = {-q, open * s[0], open * s[1], open * s[2], 0};
  const double pushed[] = {0, s[0], s[1], s[2], q}, by_pressure[] = {square, -g * u[0], -g * u[1], -g * u[2], g};
  for (int c = 0; c < COMPONENTS; c++)
    for (int r = 0; r < COMPONENTS; r++)
      A[COMPONENTS * c + r] = (r == c ? q : 0) + carried[r] * by_mass[c] + pushed[r] * by_pressure[c];
}

/* Element e of a row of one of the arrays in task.matrix, in the layout that Karst calls AOS or SOA. */
EACH void store(const struct task *t, int array, int entries, int e, int64_t row, double value)
{
  const int64_t to = array * SQUARE * t->rows + (t->structures ? row * entries + e : e * t->rows + row);
  if (t->set.single)
    ((float *)t->matrix)[to] = (float)value;
  else
    ((double *)t->matrix)[to] = value;
}

/* A row of blocks of equation (8): I + h d/dxi (A - smoothing l d/dxi), h = dt / (1 + phi) / V, and its right-hand
 * side: that of equation (6) in the first sweep, then the solution of the previous one. Lines pass interfaces, so that
 * both blocks have the same change of the flux there, and mass is conserved. Beyond the far field the change is 0. The
 * coordinates are that along the line, and the others. */
KERNEL(sweep_blocks)
{
  const int axis = t->axis;
  const int cell[AXES] = {at[axis == 0 ? 0 : 1], at[axis == 0 ? 1 : (axis == 1 ? 0 : 2)], at[axis == 2 ? 0 : 2]};
  const int64_t row = row_number(b, axis, cell) - t->begin, middle = place(b, cell);
  const double h = step_of(t, cell) / ((1 + t->set.phi) * b->volume[middle]), kept = t->set.phi / (1 + t->set.phi);
  double w[COMPONENTS], beside[COMPONENTS], s[AXES], A[SQUARE], D[SQUARE];
  for (int e = 0; e < SQUARE; e++) D[e] = e % (COMPONENTS + 1) ? 0 : 1;
  for (int side = 0; side < 2; side++) {
    const bool wall = at[0] == (side ? b->n[axis] - 1 : 0) && b->side[axis][side] == WALL;
    const double part = (side ? h : -h) * (wall ? 1 : 0.5);
    load_area(b, axis, middle + side * b->step[axis], s);
    load(b, b->u, COMPONENTS, middle, w);
    load(b, b->u, COMPONENTS, middle + (side ? 1 : -1) * b->step[axis], beside);
    for (int c = 0; c < COMPONENTS && !wall; c++) w[c] = 0.5 * (w[c] + beside[c]);
    const struct gas g = gas_of(w, 1 / w[0]);
    const double l = wall ? 0 : h * t->set.smoothing * radius(&g, s);
    jacobian(&g, s, wall, A);
    for (int e = 0; e < SQUARE; e++) {
      const double smooth = e % (COMPONENTS + 1) ? 0 : l;
      D[e] += part * A[e] + smooth;
      store(t, 2 * side, SQUARE, e, row, wall ? 0 : part * A[e] - smooth);
    }
  }
  for (int e = 0; e < SQUARE; e++) store(t, 1, SQUARE, e, row, D[e]);
  for (int c = 0; c < COMPONENTS; c++) {
    const int64_t to = middle + c * b->size;
    store(t, 3, COMPONENTS, c, row, axis > 0 ? b->change[to] : kept * b->change[to] - h * b->residual[to]);
  }
}

/* The solution of a sweep is the change of u, or with factors for the next axes. */
KERNEL(change)
{
  const int64_t row = row_number(b, t->axis, at);
  for (int64_t c = 0, to = a; c < COMPONENTS; c++, to += b->size) {
    const int64_t from = t->structures ? row * COMPONENTS + c : c * t->all + row;
    b->change[to] = t->set.single ? ((const float *)t->solution)[from] : ((const double *)t->solution)[from];
    if (t->axis == AXES - 1) b->u[to] = b->start[to] + b->change[to];
  }
}
#endif
