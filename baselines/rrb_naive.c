/* rrb_naive.c - the repeated red-black method with every node at its place in the grid. See cpu/rrb/naive.h.
 *
 * A level has a stride s and a direction, and works on the nodes whose coordinates are multiples of s. A straight level
 * eliminates those with i / s + j / s odd; their neighbours are s away along an axis. The skew level after it
 * eliminates those with i / s and j / s both odd; their neighbours are across the corners. Then s doubles. Parts 1 and
 * 2 of a red node couple it with its neighbours on a straight level; parts 3 and 4 are lumped. Parts 3 and 4 of a black
 * node become parts 1 and 2 on the next level. The same holds on both kinds of levels. */
#include "cpu/rrb/naive.h"
#include "cpu/rrb/rrb_cpu.h"

#include <math.h>
#include <string.h>

struct level {
  bool skew;
  int64_t stride;
};

/* In strides: the neighbours 0 to 3 of an eliminated node, and the nodes that parts 1 to 4 of a stencil couple it
 * with. */
static const int neighbour_step[2][KARST_RRB_COUPLINGS][2] = {{{-1, 0}, {1, 0}, {0, -1}, {0, 1}},
                                                              {{-1, -1}, {1, -1}, {-1, 1}, {1, 1}}};
static const int reach[2][KARST_RRB_PARTS][2] = {{{0, 0}, {1, 0}, {0, 1}, {1, 1}, {-1, 1}},
                                                 {{0, 0}, {1, 1}, {-1, 1}, {2, 0}, {0, 2}}};

/* Level number k from 0. */
static struct level level_of(int k) { return (struct level){k % 2 != 0, (int64_t)1 << (k / 2)}; }

/* The nodes of a level, red ones or black ones, are two strides apart from first_column on in rows that are row_step
 * apart from first_row on. */
KARST_INLINE int64_t first_row(struct level at, bool red) { return at.skew && red ? at.stride : 0; }
KARST_INLINE int64_t row_step(struct level at) { return at.skew ? 2 * at.stride : at.stride; }
KARST_INLINE int64_t first_column(struct level at, bool red, int64_t j)
{
  const bool shifted = at.skew ? red : (j / at.stride % 2 == 0) == red;
  return shifted ? at.stride : 0;
}

KARST_INLINE bool is_node(const karst_rrb_naive *naive, int64_t i, int64_t j)
{
  return i >= 0 && j >= 0 && i < naive->size[0] && j < naive->size[1];
}

KARST_INLINE int64_t node_at(const karst_rrb_naive *naive, int64_t i, int64_t j) { return j * naive->size[0] + i; }

/* ---- memory ---- */

static double *give_parts(double *memory, int64_t nodes, double *parts[KARST_RRB_PARTS])
{
  for (int part = 0; part < KARST_RRB_PARTS; part++, memory += nodes) parts[part] = memory;
  return memory;
}

static karst_status allocate(karst_context *context, karst_rrb_naive *naive)
{
  const bool reduced = !naive->nine_point && naive->levels > 0;
  const int64_t nodes = (int64_t)naive->size[0] * naive->size[1], row = (int64_t)naive->rest_band + 2;
  const int64_t arrays = (reduced ? 4 : 3) * KARST_RRB_PARTS + 1, most = INT64_MAX / (4 * (int64_t)sizeof(double));
  if (nodes > most / arrays || naive->rest > most / row)
    return karst_fail(context, KARST_ERROR_NO_MEMORY, "rrb: %lld nodes are too many to be stored", (long long)nodes);
  const int64_t doubles = nodes * arrays + naive->rest * row;
  karst_status status = karst_allocate_zero(context, &naive->memory, doubles, sizeof(double), "rrb");
  if (!status) status = karst_allocate_zero(context, &naive->exists, nodes, sizeof(bool), "rrb");
  if (!status) status = karst_allocate(context, &naive->node, naive->rest, sizeof(karst_index), "rrb");
  if (status) return status;
  naive->bytes =
      doubles * (int64_t)sizeof(double) + nodes * (int64_t)sizeof(bool) + naive->rest * (int64_t)sizeof(karst_index);
  double *memory = give_parts(naive->memory, nodes, naive->stencil);
  memory = give_parts(memory, nodes, naive->work);
  memory = give_parts(memory, nodes, naive->factor);
  if (reduced) memory = give_parts(memory, nodes, naive->schur);
  naive->vector = memory;
  naive->left = naive->vector + nodes;
  naive->band = naive->left + naive->rest;
  return KARST_SUCCESS;
}

/* Node (i, j) is that of grid 0 at (i, j) 2^grouped, which exists if a block row is there. */
static void mark_existing(const karst_rrb *rrb, karst_rrb_naive *naive)
{
  const int64_t stride = (int64_t)1 << rrb->grouped, nx = rrb->size[0];
  for (karst_index row = 0; row < rrb->rows; row++) {
    const int64_t node = rrb->cell ? rrb->cell[row] : row, i = node % nx, j = node / nx;
    if (i % stride == 0 && j % stride == 0) naive->exists[node_at(naive, i / stride, j / stride)] = true;
  }
}

static void number_rest(const karst_rrb *rrb, karst_rrb_naive *naive)
{
  const int64_t stride = (int64_t)1 << (naive->levels / 2);
  for (karst_index q = 0; q < naive->rest; q++) {
    karst_index i, j;
    karst_rrb_rest_node(rrb, q, &i, &j);
    naive->node[q] = (karst_index)node_at(naive, i * stride, j * stride);
  }
}

static karst_status create(karst_context *context, const karst_rrb *rrb, karst_rrb_naive **naive)
{
  const karst_index *size = rrb->shape[rrb->grouped].size;
  karst_status status = karst_allocate_zero(context, naive, 1, sizeof **naive, "rrb");
  if (status) return status;
  **naive = (karst_rrb_naive){.size = {size[0], size[1]},
                              .nine_point = rrb->nine_point || rrb->grouped > 0,
                              .levels = rrb->levels - 2 * rrb->grouped,
                              .rest = rrb->rest,
                              .rest_band = rrb->rest_band};
  status = allocate(context, *naive);
  if (status) return status;
  mark_existing(rrb, *naive);
  number_rest(rrb, *naive);
  return KARST_SUCCESS;
}

static void destroy(karst_context *context, karst_rrb_naive *naive)
{
  if (!naive) return;
  karst_release(context, naive->memory);
  karst_release(context, naive->exists);
  karst_release(context, naive->node);
  karst_release(context, naive);
}

/* ---- the factorization ---- */

/* The coupling of node (i, j) with the one that is (di, dj) strides away: 0 without such a node. */
KARST_INLINE double coupling_towards(const karst_rrb_naive *naive, double *const *stencil, struct level at, int64_t i,
                                     int64_t j, int di, int dj)
{
  const bool down = dj < 0 || (dj == 0 && di < 0);
  const int sign = down ? -1 : 1;
  const int64_t i_low = down ? i + di * at.stride : i, j_low = down ? j + dj * at.stride : j;
  if (!is_node(naive, i_low, j_low)) return 0;
  for (int part = 1; part < KARST_RRB_PARTS; part++)
    if (reach[at.skew][part][0] == sign * di && reach[at.skew][part][1] == sign * dj)
      return stencil[part][node_at(naive, i_low, j_low)];
  return 0;
}

/* Lumps and factors the row of a red node. Returns false if its pivot is not positive or not finite. */
KARST_INLINE bool factor_node(karst_rrb_naive *naive, double *const *stencil, struct level at, int64_t i, int64_t j)
{
  const int64_t node = node_at(naive, i, j);
  double dropped = 0, size = 0;
  if (!naive->exists[node]) return true;
  for (int part = 3; part < KARST_RRB_PARTS; part++) {
    const int di = reach[at.skew][part][0], dj = reach[at.skew][part][1];
    const double one = coupling_towards(naive, stencil, at, i, j, di, dj),
                 other = coupling_towards(naive, stencil, at, i, j, -di, -dj);
    dropped += one + other;
    size += fabs(one) + fabs(other);
  }
  const double centre = stencil[KARST_RRB_CENTRE][node], d = karst_rrb_sum(centre + dropped, fabs(centre) + size);
  naive->refused = isfinite(d) ? d : NAN;
  if (!(d > 0) || !isfinite(d)) return false;
  for (int c = 0; c < KARST_RRB_COUPLINGS; c++) {
    const int *towards = neighbour_step[at.skew][c];
    naive->factor[c][node] = coupling_towards(naive, stencil, at, i, j, towards[0], towards[1]) / d;
  }
  naive->factor[KARST_RRB_INVERSE][node] = 1 / d;
  return true;
}

/* Returns the first node of the level whose pivot is not positive or not finite, or -1. */
KARST_INLINE karst_index factor_red_nodes(karst_rrb_naive *naive, double *const *stencil, struct level at)
{
  for (int64_t j = first_row(at, true); j < naive->size[1]; j += row_step(at))
    for (int64_t i = first_column(at, true, j); i < naive->size[0]; i += 2 * at.stride)
      if (!factor_node(naive, stencil, at, i, j)) return (karst_index)node_at(naive, i, j);
  return -1;
}

/* l d l of couplings a and b of a red node, which ties its neighbours a and b, or 0 if one does not exist. */
KARST_INLINE double fill_between(const karst_rrb_naive *naive, int64_t i, int64_t j, int a, int b)
{
  if (!is_node(naive, i, j)) return 0;
  const int64_t node = node_at(naive, i, j);
  double *const *factor = naive->factor;
  return naive->exists[node] ? factor[a][node] * factor[b][node] / factor[KARST_RRB_INVERSE][node] : 0;
}

/* Returns a centre minus the contributions of red nodes; these are positive if their pivots are. */
KARST_INLINE double less(double centre, double taken)
{
  return karst_rrb_sum(centre - taken, fabs(centre) + fabs(taken));
}

/* Subtracts from a black node's stencil the contributions of the red nodes west, east, south and north of it. */
static void fill_straight(const karst_rrb_naive *naive, int64_t s, int64_t i, int64_t j, double part[KARST_RRB_PARTS])
{
  part[KARST_RRB_SKEW_CENTRE] =
      less(part[KARST_RRB_SKEW_CENTRE], fill_between(naive, i - s, j, 1, 1) + fill_between(naive, i + s, j, 0, 0) +
                                            fill_between(naive, i, j - s, 3, 3) + fill_between(naive, i, j + s, 2, 2));
  part[KARST_RRB_SKEW_NORTH_EAST] -= fill_between(naive, i + s, j, 0, 3) + fill_between(naive, i, j + s, 2, 1);
  part[KARST_RRB_SKEW_NORTH_WEST] -= fill_between(naive, i - s, j, 1, 3) + fill_between(naive, i, j + s, 2, 0);
  part[KARST_RRB_SKEW_EAST] -= fill_between(naive, i + s, j, 0, 1);
  part[KARST_RRB_SKEW_NORTH] -= fill_between(naive, i, j + s, 2, 3);
}

/* The same across the corners. */
static void fill_skew(const karst_rrb_naive *naive, int64_t s, int64_t i, int64_t j, double part[KARST_RRB_PARTS])
{
  part[KARST_RRB_CENTRE] = less(part[KARST_RRB_CENTRE],
                                fill_between(naive, i - s, j - s, 3, 3) + fill_between(naive, i + s, j - s, 2, 2) +
                                    fill_between(naive, i - s, j + s, 1, 1) + fill_between(naive, i + s, j + s, 0, 0));
  part[KARST_RRB_EAST] -= fill_between(naive, i + s, j - s, 2, 3) + fill_between(naive, i + s, j + s, 0, 1);
  part[KARST_RRB_NORTH] -= fill_between(naive, i - s, j + s, 1, 3) + fill_between(naive, i + s, j + s, 0, 2);
  part[KARST_RRB_NORTH_EAST] -= fill_between(naive, i + s, j + s, 0, 3);
  part[KARST_RRB_NORTH_WEST] -= fill_between(naive, i - s, j + s, 1, 2);
}

/* Computes the stencil of the level's black nodes. It may overwrite the stencil that it is computed from. */
KARST_INLINE void update_black(const karst_rrb_naive *naive, double *const *from, double *const *to, struct level at)
{
  for (int64_t j = first_row(at, false); j < naive->size[1]; j += row_step(at))
    for (int64_t i = first_column(at, false, j); i < naive->size[0]; i += 2 * at.stride) {
      const int64_t node = node_at(naive, i, j);
      double part[KARST_RRB_PARTS] = {from[0][node], from[3][node], from[4][node], 0, 0};
      if (at.skew)
        fill_skew(naive, at.stride, i, j, part);
      else
        fill_straight(naive, at.stride, i, j, part);
      for (int k = 0; k < KARST_RRB_PARTS; k++) to[k][node] = part[k];
    }
}

/* Returns the first node whose pivot is not positive or not finite, or -1. */
static karst_index factor_rest(karst_rrb_naive *naive, double *const *stencil)
{
  const struct level at = level_of(naive->levels);
  const karst_index nx = naive->size[0], width = naive->rest_band;
  for (karst_index q = 0; q < naive->rest; q++) {
    double *row = naive->band + (int64_t)q * (width + 1);
    const karst_index node = naive->node[q];
    for (karst_index k = 0; k < width; k++) {
      const karst_index p = q - width + k;
      row[k] = 0;
      if (p < 0) continue;
      const int64_t di = (naive->node[p] % nx - node % nx) / at.stride;
      const int64_t dj = (naive->node[p] / nx - node / nx) / at.stride;
      if (di >= -2 && di <= 2 && dj >= -2 && dj <= 2)
        row[k] = coupling_towards(naive, stencil, at, node % nx, node / nx, (int)di, (int)dj);
    }
    row[width] = naive->exists[node] ? stencil[KARST_RRB_CENTRE][node] : 1; /* nothing is coupled with a hole */
  }
  const karst_index bad = karst_rrb_rest_factor_cpu(naive->rest, width, naive->band);
  if (bad < 0) return -1;
  naive->refused = naive->band[(int64_t)bad * (width + 1) + width];
  return naive->node[bad];
}

static void factor_nodes(karst_rrb_naive *naive, int *level, karst_index *node)
{
  double *const *from = naive->stencil;
  *node = -1;
  for (int k = 0; k < naive->levels && *node < 0; k++) {
    const struct level at = level_of(k);
    double *const *to = k == 0 && naive->schur[0] ? naive->schur : naive->work;
    *level = k + 1;
    *node = factor_red_nodes(naive, from, at);
    if (*node < 0) update_black(naive, from, to, at);
    from = to;
  }
  if (*node >= 0) return;
  *level = naive->levels + 1;
  *node = factor_rest(naive, from);
}

static bool load(const karst_matrix *A, const karst_rrb *rrb, karst_rrb_outcome *outcome)
{
  const karst_rrb_cpu *plan = rrb->plan;
  const karst_index nx = rrb->size[0];
  double *lines[2] = {plan->lines, plan->lines + 2 * KARST_RRB_SLOTS * rrb->shape[0].pitch};
  karst_index not_finite = -1;
  for (karst_index j = 0; j < rrb->size[1]; j++) {
    double *line = lines[j % 2], *below = j > 0 ? lines[1 - j % 2] : NULL;
    karst_rrb_line_read(A, rrb, j, line);
    outcome->unsymmetric = karst_rrb_line_check(A, rrb, j, line, below, outcome->unsymmetric);
    if (not_finite < 0) not_finite = karst_rrb_line_not_finite(rrb, j, line);
    for (int part = 0; part < KARST_RRB_PARTS; part++) {
      const double *even = karst_rrb_line_part(rrb, line, part, 0), *odd = karst_rrb_line_part(rrb, line, part, 1);
      double *row = plan->naive->stencil[part] + (int64_t)j * nx;
      for (karst_index i = 0; i < nx; i++) row[i] = i % 2 ? odd[i / 2] : even[i / 2];
    }
  }
  if (outcome->unsymmetric >= 0) return false;
  if (not_finite >= 0) *outcome = karst_rrb_entry_outcome(not_finite);
  return not_finite < 0;
}

static void factor_naive(const karst_rrb *rrb, karst_rrb_outcome *outcome)
{
  const karst_rrb_cpu *plan = rrb->plan;
  const int m = rrb->grouped;
  const karst_index nx = rrb->shape[m].size[0];
  int level = 0;
  karst_index node = -1;
  factor_nodes(plan->naive, &level, &node);
  if (node < 0) return;
  *outcome = (karst_rrb_outcome){karst_rrb_pivot_reason(plan->naive->refused), 2 * m + level,
                                 karst_rrb_node(rrb, m, node % nx, node / nx), -1};
}

/* ---- its application ---- */

/* Returns sum minus l z of the neighbours of a node. l is stored with the red node of each pair. */
KARST_INLINE double less_neighbours(const karst_rrb_naive *naive, struct level at, bool red, const double *z, int64_t i,
                                    int64_t j, double sum)
{
  for (int c = 0; c < KARST_RRB_COUPLINGS; c++) {
    const int *towards = neighbour_step[at.skew][c];
    const int64_t i_there = i + towards[0] * at.stride, j_there = j + towards[1] * at.stride;
    if (!is_node(naive, i_there, j_there)) continue;
    const int64_t there = node_at(naive, i_there, j_there);
    const int back = at.skew ? 3 - c : c ^ 1;
    sum -= red ? naive->factor[c][node_at(naive, i, j)] * z[there] : naive->factor[back][there] * z[there];
  }
  return sum;
}

KARST_INLINE void forward(const karst_rrb_naive *naive, struct level at, double *z)
{
  for (int64_t j = first_row(at, false); j < naive->size[1]; j += row_step(at))
    for (int64_t i = first_column(at, false, j); i < naive->size[0]; i += 2 * at.stride) {
      const int64_t node = node_at(naive, i, j);
      z[node] = less_neighbours(naive, at, false, z, i, j, z[node]);
    }
}

KARST_INLINE void backward(const karst_rrb_naive *naive, struct level at, double *z)
{
  for (int64_t j = first_row(at, true); j < naive->size[1]; j += row_step(at))
    for (int64_t i = first_column(at, true, j); i < naive->size[0]; i += 2 * at.stride) {
      const int64_t node = node_at(naive, i, j);
      z[node] = less_neighbours(naive, at, true, z, i, j, z[node] * naive->factor[KARST_RRB_INVERSE][node]);
    }
}

static void solve_rest(const karst_rrb_naive *naive, double *z)
{
  for (karst_index q = 0; q < naive->rest; q++) naive->left[q] = z[naive->node[q]];
  karst_rrb_rest_solve_cpu(naive->rest, naive->rest_band, naive->band, naive->left);
  for (karst_index q = 0; q < naive->rest; q++) z[naive->node[q]] = naive->left[q];
}

static void solve_from(const karst_rrb_naive *naive, int first, double *z)
{
  for (int k = first; k < naive->levels; k++)
    if (k % 2)
      forward(naive, (struct level){true, level_of(k).stride}, z);
    else
      forward(naive, (struct level){false, level_of(k).stride}, z);
  solve_rest(naive, z);
  for (int k = naive->levels - 1; k >= first; k--)
    if (k % 2)
      backward(naive, (struct level){true, level_of(k).stride}, z);
    else
      backward(naive, (struct level){false, level_of(k).stride}, z);
}

static void solve(const karst_rrb_naive *naive, double *z) { solve_from(naive, 0, z); }

static void solve_black(const karst_rrb_naive *naive, double *z) { solve_from(naive, 1, z); }

/* Row (i, j) of S x. */
KARST_INLINE double multiply_row(const karst_rrb_naive *naive, const double *x, int64_t i, int64_t j)
{
  const int64_t node = node_at(naive, i, j);
  double sum = naive->schur[KARST_RRB_SKEW_CENTRE][node] * x[node];
  for (int part = 1; part < KARST_RRB_PARTS; part++) {
    const int di = reach[1][part][0], dj = reach[1][part][1];
    const int64_t distance = node_at(naive, di, dj);
    if (is_node(naive, i + di, j + dj)) sum += naive->schur[part][node] * x[node + distance];
    if (is_node(naive, i - di, j - dj)) sum += naive->schur[part][node - distance] * x[node - distance];
  }
  return sum;
}

static double multiply(const karst_rrb_naive *naive, const double *x, double *y)
{
  double dot = 0;
  for (int64_t j = 0; j < naive->size[1]; j++)
    for (int64_t i = 0; i < naive->size[0]; i++) {
      const int64_t node = node_at(naive, i, j);
      const bool black = (i + j) % 2 == 0;
      y[node] = black ? multiply_row(naive, x, i, j) : 0;
      if (black) dot += x[node] * y[node];
    }
  return dot;
}

/* ---- the first elimination, which is exact ---- */

/* Coupling c (west, east, south or north) of a red node times a value: its own or its neighbour's. */
static double times_coupling(const karst_rrb_naive *naive, int coupling, int64_t node, double value)
{
  return naive->factor[coupling][node] * value;
}

static void enter(const karst_rrb_naive *naive, const double *b, double *z)
{
  const int64_t nx = naive->size[0], ny = naive->size[1];
  for (int64_t j = 0; j < ny; j++)
    for (int64_t i = 0; i < nx; i++) {
      const int64_t node = j * nx + i;
      double sum = 0;
      if ((i + j) % 2 == 0) {
        sum = b[node];
        if (i > 0) sum -= times_coupling(naive, 1, node - 1, b[node - 1]);
        if (i + 1 < nx) sum -= times_coupling(naive, 0, node + 1, b[node + 1]);
        if (j > 0) sum -= times_coupling(naive, 3, node - nx, b[node - nx]);
        if (j + 1 < ny) sum -= times_coupling(naive, 2, node + nx, b[node + nx]);
      }
      z[node] = sum;
    }
}

static void leave(const karst_rrb_naive *naive, const double *x, double *b)
{
  const int64_t nx = naive->size[0], ny = naive->size[1];
  for (int64_t j = 0; j < ny; j++)
    for (int64_t i = (j + 1) % 2; i < nx; i += 2) {
      const int64_t node = j * nx + i;
      double sum = times_coupling(naive, KARST_RRB_INVERSE, node, b[node]);
      if (i > 0) sum -= times_coupling(naive, 0, node, x[node - 1]);
      if (i + 1 < nx) sum -= times_coupling(naive, 1, node, x[node + 1]);
      if (j > 0) sum -= times_coupling(naive, 2, node, x[node - nx]);
      if (j + 1 < ny) sum -= times_coupling(naive, 3, node, x[node + nx]);
      b[node] = sum;
    }
}

const struct karst_rrb_naive_kernels karst_rrb_naive_kernels = {
    .create = create,
    .destroy = destroy,
    .load = load,
    .factor = factor_naive,
    .solve = solve,
    .solve_black = solve_black,
    .multiply = multiply,
    .enter = enter,
    .leave = leave,
};
