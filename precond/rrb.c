/* rrb.c - the repeated red-black method (de Jong, van der Ploeg, Ditzel and Vuik, Fine-grain parallel RRB-solver for
 * 5-/9-point stencil problems suitable for GPU-type processors, ETNA 46 (2017), Algorithms 1 and 2), an incomplete
 * Cholesky factorization of symmetric positive definite matrices on two-dimensional grids:
 *
 *     A = L D L^T + R
 *
 * Each level lumps the couplings of half of the remaining nodes among themselves, and eliminates these nodes. The nodes
 * that remain after the last level are factored completely. */
#include "config.h"

#include "lib/backend/rrb_kernels.h"
#include "lib/method/precond.h"

#include <stdio.h>

struct settings {
  int levels; /* 0: the method's choice */
  int grids;  /* stored in groups; LARGEST_GRIDS: all */
  int precision;
};

/* The preconditioner's own state. */
struct state {
  karst_rrb rrb;
  bool turned;       /* whether the axes of rrb are those of the matrix's grid exchanged */
  karst_index *cell; /* [block rows] rrb.cell, a copy because the matrix may get another grid; or NULL */
};

enum {
  REST = 1024, /* most nodes that are left if the method chooses the number of levels */
  LARGEST_LEVELS = 130,
  LARGEST_GRIDS = 64
};

static const struct karst_rrb_kernels *kernels_of(const karst_precond *p) { return p->context->backend->rrb; }

static karst_rrb *rrb_of(const karst_precond *p) { return &((struct state *)p->data)->rrb; }

/* ---- the grid ---- */

/* Reads the sizes of the two axes with more than one node. */
static karst_status read_sizes(karst_context *context, const karst_index size[3], karst_index axes[2])
{
  int count = 0;
  axes[0] = axes[1] = 1;
  for (int axis = 0; axis < 3; axis++) {
    if (size[axis] == 1) continue;
    if (count == 2)
      return karst_fail(context, KARST_ERROR_MATRIX, "rrb is for two-dimensional grids, not for %lldx%lldx%lld",
                        (long long)size[0], (long long)size[1], (long long)size[2]);
    axes[count++] = size[axis];
  }
  return KARST_SUCCESS;
}

/* Returns the number of a node with exchanged axes, i ny + j for node (i, j). nx, ny: of the matrix's grid. */
static karst_index turn(karst_index node, karst_index nx, karst_index ny) { return node % nx * ny + node / nx; }

/* cell: the matrix's map, or NULL. */
static karst_status map_rows(const karst_precond *p, const karst_index *cell, const karst_index size[2],
                             struct state *state)
{
  const karst_index rows = state->rrb.rows;
  karst_status status = karst_allocate(p->context, &state->cell, rows, sizeof *state->cell, "the cells of rrb");
  if (status) return status;
  for (karst_index row = 0; row < rows; row++) {
    const karst_index node = cell ? cell[row] : row;
    state->cell[row] = state->turned ? turn(node, size[0], size[1]) : node;
  }
  state->rrb.cell = state->cell;
  return KARST_SUCCESS;
}

static karst_status find_grid(const karst_precond *p, struct state *state)
{
  karst_grid grid = p->A->grid;
  karst_index size[2];
  karst_status status = karst_has_grid(p->A) ? KARST_SUCCESS : karst_grid_find(p->A, &grid);
  if (!status) status = read_sizes(p->context, grid.size, size);
  if (status) return status;
  state->turned = karst_rrb_turns(size);
  state->rrb.size[0] = size[state->turned];
  state->rrb.size[1] = size[!state->turned];
  state->rrb.rows = p->A->block_rows;
  return grid.cell || state->turned ? map_rows(p, grid.cell, size, state) : KARST_SUCCESS;
}

/* A node and the size of the matrix's grid, whose axes are not exchanged, for messages. */
struct place {
  long long i, j, nx, ny;
};

static struct place place_of(const struct state *state, karst_index node)
{
  const karst_index nx = state->rrb.size[0], ny = state->rrb.size[1];
  if (state->turned) return (struct place){node / nx, node % nx, ny, nx};
  return (struct place){node % nx, node / nx, nx, ny};
}

static karst_index node_of(const karst_rrb *rrb, karst_index row) { return rrb->cell ? rrb->cell[row] : row; }

/* Returns the block row of a node, or -1. It searches the map, because it is called once after a failure. */
static karst_index row_of(const karst_rrb *rrb, int64_t node)
{
  if (!rrb->cell) return (karst_index)node;
  for (karst_index row = 0; row < rrb->rows; row++)
    if (rrb->cell[row] == node) return row;
  return -1;
}

/* Whether two positions along an axis are its first and its last, and not neighbours. */
static bool is_periodic(long long size, long long a, long long b)
{
  return size > 2 && (a - b == size - 1 || b - a == size - 1);
}

static karst_status refuse_pattern(const karst_precond *p, const struct state *state, const karst_index misfit[2])
{
  const struct place here = place_of(state, node_of(&state->rrb, misfit[0]));
  const struct place there = place_of(state, node_of(&state->rrb, misfit[1]));
  if (is_periodic(here.nx, here.i, there.i) || is_periodic(here.ny, here.j, there.j))
    return karst_fail(p->context, KARST_ERROR_MATRIX,
                      "rrb is not for periodic boundaries, but block row %lld has an entry in column %lld, which joins "
                      "the first and the last node of an axis of the grid %lldx%lld",
                      (long long)misfit[0], (long long)misfit[1], here.nx, here.ny);
  return karst_fail(p->context, KARST_ERROR_MATRIX,
                    "rrb is for stencils of 5 or 9 points on the grid %lldx%lld, but block row %lld has an entry in "
                    "column %lld",
                    here.nx, here.ny, (long long)misfit[0], (long long)misfit[1]);
}

/* ---- the pattern half ---- */

static karst_status check_settings(karst_context *context, const struct settings *settings)
{
  if (settings->levels > LARGEST_LEVELS)
    return karst_fail(context, KARST_ERROR_OPTION, "rrb-levels %d is out of range: at most %d", settings->levels,
                      LARGEST_LEVELS);
  if (settings->grids > LARGEST_GRIDS)
    return karst_fail(context, KARST_ERROR_OPTION, "rrb-grids %d is out of range: at most %d", settings->grids,
                      LARGEST_GRIDS);
  return KARST_SUCCESS;
}

/* The least number of pairs of levels that leaves at most REST nodes. */
static int choose_levels(const karst_index size[2])
{
  karst_index nx = size[0], ny = size[1];
  int levels = 0;
  for (; nx > 1 || ny > 1; levels += 2) {
    if (levels > 0 && nx <= REST && ny <= REST && nx * ny <= REST) break;
    nx = nx / 2 + nx % 2;
    ny = ny / 2 + ny % 2;
  }
  return levels;
}

static karst_status lay_out(const karst_precond *p, karst_rrb *rrb)
{
  const struct settings *settings = p->settings;
  const int most = karst_rrb_levels_max(rrb->size);
  rrb->levels = settings->levels == 0 ? choose_levels(rrb->size) : settings->levels < most ? settings->levels : most;
  const int grids = (rrb->levels + 1) / 2;
  rrb->grouped = settings->grids < grids ? settings->grids : grids;
  if (!KARST_BASELINES && rrb->grouped < grids)
    return karst_fail(p->context, KARST_ERROR_NOT_BUILT,
                      "rrb-grids %d stores grids node by node, which needs a build with --enable-baselines",
                      settings->grids);
  rrb->single = settings->precision;
  if (rrb->single && rrb->grouped < grids)
    return karst_fail(
        p->context, KARST_ERROR_OPTION,
        "rrb-precision float is for grids that are stored in groups, and rrb-grids %d leaves %d of %d out",
        settings->grids, grids - rrb->grouped, grids);
  karst_rrb_lay_out(rrb);
  return KARST_SUCCESS;
}

/* The reduced system reads all factors except those of the first elimination, of the red nodes. Its matrix has five
 * parts for each black node. */
static karst_traffic traffic_of(const karst_precond *p, const karst_rrb *rrb, int64_t eliminated)
{
  const int64_t nodes = (int64_t)rrb->size[0] * rrb->size[1], red = eliminated < nodes / 2 ? eliminated : nodes / 2;
  const int64_t rest = (int64_t)rrb->rest * (rrb->rest_band + 1);
  const double width = rrb->single ? sizeof(float) : sizeof(double);
  const double first = karst_traffic_of((KARST_RRB_COUPLINGS + 1) * red, 0);
  const double others = width * (double)((KARST_RRB_COUPLINGS + 1) * (eliminated - red)) + karst_traffic_of(rest, 0);
  return (karst_traffic){.update = karst_traffic_of(karst_entries(p->A), 0) + first + others,
                         .apply = first + others + karst_traffic_of(2 * karst_matrix_rows(p->A), 0),
                         .apply_reduced = others + karst_traffic_of(2 * (nodes - red), 0),
                         .multiply_reduced = karst_traffic_of((KARST_RRB_PARTS + 2) * (nodes - red), 0)};
}

static karst_status report(karst_precond *p, const karst_rrb *rrb)
{
  const int64_t eliminated = (int64_t)rrb->size[0] * rrb->size[1] - rrb->rest;
  p->factor_entries = (KARST_RRB_COUPLINGS + 1) * eliminated + (int64_t)rrb->rest * (rrb->rest_band + 1);
  p->memory = rrb->plan_memory + (rrb->cell ? (int64_t)rrb->rows * (int64_t)sizeof *rrb->cell : 0);
  p->traffic = traffic_of(p, rrb, eliminated);
  karst_status status = karst_precond_put(p, "rrb_levels", "levels", rrb->levels);
  if (!status) status = karst_precond_put(p, "rrb_rest", "nodes left", (double)rrb->rest);
  return status ? status : karst_precond_put(p, "rrb_points", "points of the stencil", rrb->nine_point ? 9 : 5);
}

static karst_status setup(karst_precond *p)
{
  struct state *state;
  karst_rrb_pattern pattern;
  if (!kernels_of(p))
    return karst_fail(p->context, KARST_ERROR_NOT_BUILT, "rrb is not available on %s", p->context->backend->name);
  if (p->A->block_size != 1)
    return karst_fail(p->context, KARST_ERROR_MATRIX, "rrb is for one unknown a cell, but the block size is %d",
                      p->A->block_size);
  karst_status status = check_settings(p->context, p->settings);
  if (!status) status = karst_allocate_zero(p->context, &state, 1, sizeof *state, "rrb");
  if (status) return status;
  p->data = state;
  karst_rrb *rrb = &state->rrb;
  status = find_grid(p, state);
  if (!status) status = kernels_of(p)->inspect(p->context, p->A, rrb, &pattern);
  if (!status && pattern.misfit[0] >= 0) status = refuse_pattern(p, state, pattern.misfit);
  if (status) return status;
  rrb->nine_point = pattern.nine_point;
  status = lay_out(p, rrb);
  if (!status) status = kernels_of(p)->plan(p->context, p->A, rrb);
  return status ? status : report(p, rrb);
}

/* ---- the numeric half ---- */

/* Messages count nodes from 1, as the paper does. */
static karst_status refuse_unsymmetric(const karst_precond *p, const struct state *state, karst_index row)
{
  const struct place here = place_of(state, node_of(&state->rrb, row));
  return karst_fail(
      p->context, KARST_ERROR_MATRIX,
      "rrb is for symmetric matrices, but an entry of block row %lld, node (%lld, %lld), differs from its "
      "mirror image",
      (long long)row, here.i + 1, here.j + 1);
}

static void explain(karst_precond *p, const struct state *state, const karst_rrb_outcome *outcome)
{
  const struct place here = place_of(state, outcome->node);
  const long long i = here.i + 1, j = here.j + 1;
  const int levels = state->rrb.levels;
  const char *fault = outcome->reason == KARST_NOT_FINITE ? "finite" : "positive";
  if (outcome->level == 0)
    snprintf(p->explanation, sizeof p->explanation, "an entry in the row of node (%lld, %lld) is not finite", i, j);
  else if (outcome->level > levels)
    snprintf(p->explanation, sizeof p->explanation, "the pivot of node (%lld, %lld), left after %d level%s, is not %s",
             i, j, levels, levels == 1 ? "" : "s", fault);
  else
    snprintf(p->explanation, sizeof p->explanation, "the pivot of node (%lld, %lld) at level %d is not %s", i, j,
             outcome->level, fault);
}

static karst_status update(karst_precond *p)
{
  struct state *state = p->data;
  karst_rrb_outcome outcome = {KARST_SOUND, 0, -1, -1};
  const karst_status status = kernels_of(p)->factor(p->context, p->A, &state->rrb, &outcome);
  if (status) return status;
  if (outcome.unsymmetric >= 0) return refuse_unsymmetric(p, state, outcome.unsymmetric);
  p->reason = outcome.reason;
  if (outcome.reason == KARST_SOUND || outcome.node < 0) return KARST_SUCCESS;
  p->block_row = row_of(&state->rrb, outcome.node);
  explain(p, state, &outcome);
  return KARST_SUCCESS;
}

static karst_status apply(const karst_precond *p, const double *r, double *z)
{
  kernels_of(p)->solve(p->context, rrb_of(p), r, z);
  return KARST_SUCCESS;
}

static void destroy(karst_precond *p)
{
  struct state *state = p->data;
  if (!state) return;
  kernels_of(p)->plan_destroy(p->context, &state->rrb);
  karst_release(p->context, state->cell);
  karst_release(p->context, state);
}

static int64_t size(const karst_precond *p) { return rrb_of(p)->reduced; }

static void enter(const karst_precond *p, const double *b, const double *x, double *reduced_b, double *reduced_x)
{
  kernels_of(p)->enter(p->context, rrb_of(p), b, x, reduced_b, reduced_x);
}

static void leave(const karst_precond *p, const double *b, const double *reduced_x, double *x)
{
  kernels_of(p)->leave(p->context, rrb_of(p), b, reduced_x, x);
}

static void multiply(const karst_precond *p, const double *x, double *y, double *dot)
{
  kernels_of(p)->multiply(p->context, rrb_of(p), x, y, dot);
}

static void apply_reduced(const karst_precond *p, const double *r, double *z, double *dot)
{
  kernels_of(p)->solve_reduced(p->context, rrb_of(p), r, z, dot);
}

/* For the arrays b2 and b1 of a reduced vector see karst_rrb_array. */
static karst_index block_row(const karst_precond *p, int64_t element)
{
  const karst_rrb *rrb = rrb_of(p);
  const karst_rrb_shape *shape = &rrb->shape[0];
  if (rrb->grouped == 0) return row_of(rrb, element);
  const int64_t at = element - shape->pitch, group = at / shape->array, place = at % shape->array;
  const int64_t i = 2 * (place % shape->pitch) + group, j = 2 * (place / shape->pitch) + group;
  if (at < 0 || group > 1 || i >= shape->size[0] || j >= shape->size[1]) return -1;
  return row_of(rrb, j * shape->size[0] + i);
}

static const struct karst_reduction reduction = {size, enter, leave, multiply, apply_reduced, block_row};

static const char *precision_name(size_t i)
{
  static const char *const names[] = {"double", "float", NULL};
  return names[i];
}

static const karst_option rrb_rows[] = {
    {"rrb-levels", KARST_OPTION_INTEGER, false, offsetof(struct settings, levels), NULL, 0, "0",
     "eliminations of rrb before the rest is factored completely; 0: automatic",
     "Each elimination removes half of the nodes that are left. N is at most 2 ceil(log2 max(nx, ny)); the rest is "
     "factored as a band that is about as wide as the shorter axis has nodes left. With 1, half of the nodes are left "
     "and solved directly, which is best for narrow grids and takes the most memory and time for wide ones. With 0, "
     "eliminations end once at most 1024 nodes are left."},
    {"rrb-precision", KARST_OPTION_NAME, false, offsetof(struct settings, precision), precision_name, 0, "double",
     "precision in which rrb stores its factors after the first elimination", "Vectors are double with either."},
    {"rrb-grids", KARST_OPTION_INTEGER, true, offsetof(struct settings, grids), NULL, 0, "64",
     "grids that rrb stores in four groups of nodes; the others node by node",
     "Grids that are stored node by node need rrb-precision double and a library configured with --enable-baselines."},
    {0},
};

static const karst_option *const rows[] = {rrb_rows, NULL};

extern const struct karst_precond_ops karst_precond_rrb;

const struct karst_precond_ops karst_precond_rrb = {
    .name = "rrb",
    .help = "repeated red-black incomplete Cholesky, for symmetric positive definite 5- and 9-point stencils",
    .details =
        "It takes matrices of block size 1 on a grid of two dimensions, given or found from the pattern. Missing "
        "couplings, holes and any numbering of the rows are allowed; periodic boundaries, other couplings and values "
        "that are not symmetric are refused with KARST_ERROR_MATRIX. A pivot that is not positive or not finite is an "
        "outcome, KARST_INDEFINITE_PRECOND or KARST_NOT_FINITE, and karst_solver_explain names its node (i, j), "
        "counted from 1, and the level. With cg and a 5-point stencil, without ordering, scaling and operator, the "
        "iteration has half of the unknowns; the others are eliminated exactly and computed at the end. Use rrb for "
        "coefficients that vary smoothly or are constant in blocks of several cells each way. If they vary by orders "
        "of magnitude from cell to cell or between channels of a few cells, or one axis couples much more strongly, "
        "iluk with level 1 or 2 takes fewer iterations. Fewer rrb-levels help then. Scaling does not help, because it "
        "may leave pivots that are not positive.",
    .options = rows,
    .settings = sizeof(struct settings),
    .automatic = KARST_AUTO_ALONE,
    .setup = setup,
    .update = update,
    .apply = apply,
    .destroy = destroy,
    .reduction = &reduction,
};
