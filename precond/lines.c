/* lines.c - exact solves along the lines of a grid. M has the diagonal blocks of A and the couplings along its lines,
 * so that it consists of one block tridiagonal matrix T_l a line:
 *
 *     jacobi   z_l = T_l^-1 r_l for all lines l
 *     zebra    z_l = T_l^-1 r_l for the red lines, then z_l = T_l^-1 (r - A z)_l for the black ones,
 *
 * where red and black lines alternate like the squares of a chessboard. Thin cells couple vertically a hundred times
 * more strongly than horizontally, and a line along the strong couplings removes them from the problem.
 *
 * A line is a run of consecutive active cells of an axis that couple in both directions (symbolic/ilu/lines.c); all
 * other couplings, also those across faults, act in the residual alone. lib/backend/lines_kernels.h has the factors. */
#include "precond/ilu_settings.h"
#include "precond/line_solves.h"

enum order { ORDER_JACOBI, ORDER_ZEBRA };

struct settings {
  int direction; /* first, as its row requires */
  int order;
};

struct state {
  karst_line_axes axes; /* of direction auto; else they are the analysis's */
  karst_line_solves solves;
  bool fresh; /* the direction was chosen from values that no update has found sound */
};

static int colours_of(const struct settings *settings) { return settings->order == ORDER_ZEBRA ? 2 : 1; }

static void forget(karst_context *context, void *analysis)
{
  if (!analysis) return;
  karst_line_axes_destroy(context, analysis);
  karst_release(context, analysis);
}

/* With direction auto there is nothing to share: the lines depend on values. */
static karst_status analyse(karst_precond *p)
{
  const struct settings *settings = p->settings;
  karst_line_axes *axes;
  karst_status status = karst_allocate_zero(p->context, &axes, 1, sizeof *axes, "lines");
  if (status) return status;
  p->analysis->data = axes;
  if (settings->direction == KARST_LINES_AUTO) return KARST_SUCCESS;
  return karst_line_axes_make_along(p->context, p->A, "lines", settings->direction, colours_of(settings), axes);
}

static const char *differ(const void *settings, const void *others)
{
  const struct settings *mine = settings, *theirs = others;
  if (mine->direction != theirs->direction) return "line-direction";
  return mine->order == theirs->order ? NULL : "line-order";
}

static karst_status setup(karst_precond *p)
{
  const struct settings *settings = p->settings;
  struct state *state;
  karst_status status = karst_allocate_zero(p->context, &state, 1, sizeof *state, "lines");
  if (status) return status;
  p->data = state;
  p->due = settings->direction == KARST_LINES_AUTO;
  if (settings->order == ORDER_ZEBRA) {
    p->unsymmetric = "line-order zebra";
    p->instead = "line-order jacobi";
  }
  if (p->due) return KARST_SUCCESS;
  status = karst_line_solves_plan(p->context, p->A, p->analysis->data, &state->solves);
  if (!status) karst_line_solves_count(p, &state->solves);
  return status;
}

/* The direction stays for later values, once values were sound. */
static karst_status choose(karst_precond *p)
{
  const struct settings *settings = p->settings;
  struct state *state = p->data;
  state->fresh = true;
  karst_line_solves_destroy(p->context, &state->solves); /* what a failure has left */
  karst_line_axes_destroy(p->context, &state->axes);
  karst_status status =
      karst_line_axes_make_along(p->context, p->A, "lines", settings->direction, colours_of(settings), &state->axes);
  if (!status) status = karst_line_solves_plan(p->context, p->A, &state->axes, &state->solves);
  if (!status) karst_line_solves_count(p, &state->solves);
  return status;
}

static karst_status report(karst_precond *p, const karst_lines *lines)
{
  karst_status status = karst_line_direction_put(p, lines);
  if (!status) status = karst_precond_put(p, "lines", "lines", (double)lines->lines);
  return status ? status : karst_precond_put(p, "longest_line", "cells", (double)lines->longest);
}

static karst_status update(karst_precond *p)
{
  struct state *state = p->data;
  karst_factor_outcome outcome;
  karst_status status = karst_line_solves_factor(p->context, p->A, &state->solves, &outcome);
  karst_ilu_take_outcome(p, &outcome);
  p->due = state->fresh && (status || outcome.reason != KARST_SOUND);
  state->fresh = false;
  return status ? status : report(p, state->solves.factors[0].lines);
}

static karst_status apply(const karst_precond *p, const double *r, double *z)
{
  karst_line_solves_apply(p->context, p->A, &((const struct state *)p->data)->solves, r, z);
  return KARST_SUCCESS;
}

static void destroy(karst_precond *p)
{
  struct state *state = p->data;
  if (!state) return;
  karst_line_solves_destroy(p->context, &state->solves);
  karst_line_axes_destroy(p->context, &state->axes);
  karst_release(p->context, state);
}

static const char *order_name(size_t i)
{
  static const char *const names[] = {[ORDER_JACOBI] = "jacobi", [ORDER_ZEBRA] = "zebra", NULL};
  return names[i];
}

static const karst_option order_rows[] = {
    {"line-order", KARST_OPTION_NAME, false, offsetof(struct settings, order), order_name, 0, "jacobi",
     "when each line is solved; jacobi: all at once; zebra: every second line first",
     "jacobi is symmetric for a symmetric matrix. zebra solves the lines of one colour, as red and black squares "
     "alternate, and those of the other for the residual that is left: fewer iterations, each with half a product with "
     "the matrix more. zebra is not symmetric, so cg refuses it."},
    {0},
};

static const karst_option *const rows[] = {karst_line_direction_rows, order_rows, NULL};

extern const struct karst_precond_ops karst_precond_lines;

const struct karst_precond_ops karst_precond_lines = {
    .name = "lines",
    .help = "exact solves along the lines of a grid, for couplings that are much stronger along one axis",
    .details =
        "The grid is that of the matrix, or is found from the pattern; a matrix without either is refused with "
        "KARST_ERROR_MATRIX. Holes, missing couplings and faults end a line. Any other couplings are allowed and "
        "are not part of M. zebra reads them from the matrix: after karst_solver_keep or karst_precond_keep it "
        "mixes the lines of the last factorization with the couplings of the new values, while jacobi keeps M "
        "as it was. Wells beside the matrix are not part of M. Pivot blocks are never replaced: a singular one ends "
        "the solve, and lines does not read shift.",
    .needs_diagonal = true,
    .needs_grid = true,
    .automatic = KARST_AUTO_LEVEL_0,
    .options = rows,
    .settings = sizeof(struct settings),
    .analyse = analyse,
    .forget = forget,
    .differ = differ,
    .setup = setup,
    .choose = choose,
    .update = update,
    .apply = apply,
    .destroy = destroy,
};
