/* adi.c - approximate factorization along the axes of a grid (Beam and Warming, An implicit finite-difference algorithm
 * for hyperbolic systems in conservation-law form, J. Comput. Phys. 22, 1976; equations (7) and (8) of Stone, Duque,
 * Zhang, Car, Owens and Davis) for a given matrix:
 *
 *     M = (D + L_x + U_x) D^-1 (D + L_y + U_y) D^-1 (D + L_z + U_z)
 *
 * where D is the block diagonal of A, and L and U are the couplings along an axis. So each factor is a block tridiagonal
 * matrix a line (lib/backend/lines_kernels.h), and M differs from A by products of couplings of different axes. Axes of
 * one cell are left out. Couplings that are not along an axis, also those across faults, are not part of M. */
#include "precond/ilu_settings.h"
#include "precond/line_solves.h"

static void forget(karst_context *context, void *analysis)
{
  if (!analysis) return;
  karst_line_axes_destroy(context, analysis);
  karst_release(context, analysis);
}

static karst_status analyse(karst_precond *p)
{
  karst_line_axes *axes;
  karst_status status = karst_allocate_zero(p->context, &axes, 1, sizeof *axes, "adi");
  if (status) return status;
  p->analysis->data = axes;
  return karst_line_axes_make_all(p->context, p->A, "adi", axes);
}

/* The analysis depends on no option. */
static const char *differ(const void *settings, const void *others)
{
  (void)settings, (void)others;
  return NULL;
}

static karst_status setup(karst_precond *p)
{
  const karst_line_axes *axes = p->analysis->data;
  karst_line_solves *solves;
  char name[] = "lines_x";
  karst_status status = karst_allocate_zero(p->context, &solves, 1, sizeof *solves, "adi");
  if (status) return status;
  p->data = solves;
  status = karst_line_solves_plan(p->context, p->A, axes, solves);
  if (!status) karst_line_solves_count(p, solves);
  for (int i = 0; i < axes->count && !status; i++) {
    name[sizeof name - 2] = (char)('x' + axes->lines[i].axis);
    status = karst_precond_put(p, name, "lines", (double)axes->lines[i].lines);
  }
  return status;
}

static karst_status update(karst_precond *p)
{
  karst_factor_outcome outcome;
  const karst_status status = karst_line_solves_factor(p->context, p->A, p->data, &outcome);
  karst_ilu_take_outcome(p, &outcome);
  return status;
}

static karst_status apply(const karst_precond *p, const double *r, double *z)
{
  karst_line_solves_apply(p->context, p->A, p->data, r, z);
  return KARST_SUCCESS;
}

static void destroy(karst_precond *p)
{
  if (!p->data) return;
  karst_line_solves_destroy(p->context, p->data);
  karst_release(p->context, p->data);
}

extern const struct karst_precond_ops karst_precond_adi;

const struct karst_precond_ops karst_precond_adi = {
    .name = "adi",
    .help = "approximate factorization: exact solves along the lines of each axis of a grid in turn",
    .details = "M = (D + Lx + Ux) D^-1 (D + Ly + Uy) D^-1 (D + Lz + Uz), where D is the block diagonal of the matrix "
               "and L and U are its couplings along an axis; axes of one cell are left out. The grid, faults, wells "
               "and singular pivot blocks are treated as by lines. All of M is in the factors, so that "
               "karst_solver_keep keeps M as it was. It is not symmetric, so cg refuses it.",
    .needs_diagonal = true,
    .needs_grid = true,
    .unsymmetric = true,
    .analyse = analyse,
    .forget = forget,
    .differ = differ,
    .setup = setup,
    .update = update,
    .apply = apply,
    .destroy = destroy,
};
