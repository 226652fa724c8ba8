/* rrb.c - the repeated red-black method (de Jong, van der Ploeg, Ditzel and Vuik, Fine-grain parallel RRB-solver for
 * 5-/9-point stencil problems suitable for GPU-type processors, ETNA 46 (2017), Algorithms 1 and 2), an incomplete
 * Cholesky factorization of symmetric positive definite matrices on two-dimensional grids:
 *
 *     A = L D L^T + R
 *
 * Each level eliminates half of the nodes that are left, after lumping their couplings among themselves, and what is
 * left after the last one is factored completely. */
#include "precond.h"
#include "rrb_kernels.h"

struct settings {
  int levels; /* 0: the method's choice */
  int grids;  /* stored in groups; KARST_RRB_GRIDS: all */
  int precision;
  double lumped;
};

/* The preconditioner's own state. */
struct state {
  karst_rrb rrb;
  karst_index *cell; /* the map that rrb.cell is, where it is not the matrix's own */
};

enum { REST = 256 /* nodes: the most that are left where the number of levels is the method's choice */ };

static const struct karst_rrb_kernels *kernels_of(const karst_precond *p) { return p->context->backend->rrb; }

static karst_rrb *rrb_of(const karst_precond *p) { return &((struct state *)p->data)->rrb; }

/* The two axes of the grid along which there is more than one node. */
static karst_status read_sizes(karst_context *context, const karst_index size[3], karst_index axes[2])
{
  int count = 0;
  axes[0] = axes[1] = 1;
  for (int axis = 0; axis < 3; axis++) {
    if (size[axis] == 1) continue;
    if (count == 2)
      return karst_fail(context, KARST_ERROR_MATRIX, "rrb is for two-dimensional grids, and not for %lldx%lldx%lld",
                        (long long)size[0], (long long)size[1], (long long)size[2]);
    axes[count++] = size[axis];
  }
  return KARST_SUCCESS;
}

static karst_status find_grid(const karst_precond *p, struct state *state)
{
  karst_grid grid = p->A->grid;
  karst_status status = karst_has_grid(p->A) ? KARST_SUCCESS : karst_grid_find(p->A, &grid);
  state->rrb.rows = p->A->block_rows;
  state->rrb.cell = grid.cell;
  return status ? status : read_sizes(p->context, grid.size, state->rrb.size);
}

/* The fewest pairs of levels that leave no more than REST nodes. */
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

static karst_status refuse_pattern(const karst_precond *p, const karst_rrb *rrb, const karst_rrb_pattern *pattern)
{
  const karst_index *misfit = pattern->misfit;
  return karst_fail(p->context, KARST_ERROR_MATRIX,
                    "rrb is for stencils of 5 or 9 points on the grid %lldx%lld, and block row %lld has an entry in "
                    "column %lld",
                    (long long)rrb->size[0], (long long)rrb->size[1], (long long)misfit[0], (long long)misfit[1]);
}

static karst_status setup(karst_precond *p)
{
  const struct settings *settings = p->settings;
  struct state *state;
  karst_rrb_pattern pattern;
  if (!kernels_of(p))
    return karst_fail(p->context, KARST_ERROR_NOT_BUILT, "rrb is not available on %s", p->context->backend->name);
  if (p->A->block_size != 1)
    return karst_fail(p->context, KARST_ERROR_MATRIX, "rrb is for one unknown a cell, and the blocks are of %d",
                      p->A->block_size);
  karst_status status = karst_allocate_zero(p->context, &state, 1, sizeof *state, "rrb");
  if (status) return status;
  p->data = state;
  karst_rrb *rrb = &state->rrb;
  status = find_grid(p, state);
  if (!status) status = kernels_of(p)->inspect(p->context, p->A, rrb, &pattern);
  if (!status && pattern.misfit[0] >= 0) status = refuse_pattern(p, rrb, &pattern);
  if (status) return status;
  const int most = karst_rrb_levels_max(rrb->size);
  rrb->nine_point = pattern.nine_point;
  rrb->levels = settings->levels == 0 ? choose_levels(rrb->size) : settings->levels < most ? settings->levels : most;
  rrb->grouped = settings->grids < (rrb->levels + 1) / 2 ? settings->grids : (rrb->levels + 1) / 2;
  rrb->single = settings->precision;
  rrb->lumped = settings->lumped;
  karst_rrb_lay_out(rrb);
  status = kernels_of(p)->plan(p->context, p->A, rrb);
  p->memory = rrb->plan_memory;
  if (!status) status = karst_precond_put(p, "rrb_levels", "levels", rrb->levels);
  return status;
}

static karst_status update(karst_precond *p)
{
  karst_rrb_outcome outcome = {KARST_SOUND, 0, -1, -1};
  const karst_status status = kernels_of(p)->factor(p->context, p->A, rrb_of(p), &outcome);
  p->reason = outcome.reason;
  return status;
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

static karst_index block_row(const karst_precond *p, int64_t element)
{
  (void)p;
  (void)element;
  return -1;
}

static const struct karst_reduction reduction = {size, enter, leave, multiply, apply_reduced, block_row};

static const char *precision_name(size_t i)
{
  static const char *const names[] = {"double", "float", NULL};
  return names[i];
}

static const karst_option rrb_rows[] = {
    {"rrb-levels", KARST_OPTION_INTEGER, false, offsetof(struct settings, levels), NULL, 0, "0",
     "eliminations of rrb, at most 2 ceil(log2 max(nx, ny)), before the rest is factored completely; 0: its choice"},
    {"rrb-precision", KARST_OPTION_NAME, false, offsetof(struct settings, precision), precision_name, 0, "double",
     "numbers in which rrb stores its factors after the first level"},
    {"rrb-grids", KARST_OPTION_INTEGER, true, offsetof(struct settings, grids), NULL, 0, "64",
     "grids that rrb stores in four groups of nodes; the others node by node"},
    {"rrb-lumped", KARST_OPTION_REAL, true, offsetof(struct settings, lumped), NULL, 0, "1",
     "part of a dropped coupling that rrb adds to the diagonal"},
    {0},
};

static const karst_option *const rows[] = {rrb_rows, NULL};

extern const struct karst_precond_ops karst_precond_rrb;

const struct karst_precond_ops karst_precond_rrb = {
    .name = "rrb",
    .help = "repeated red-black incomplete Cholesky, for symmetric positive definite 5- and 9-point stencils",
    .options = rows,
    .settings = sizeof(struct settings),
    .setup = setup,
    .update = update,
    .apply = apply,
    .destroy = destroy,
    .reduction = &reduction,
};
