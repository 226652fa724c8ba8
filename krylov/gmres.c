/* gmres.c - GMRES(m), the restarted generalised minimal residual method, preconditioned from the right or the left.
 *
 * Saad and Schultz, SIAM J. Sci. Stat. Comput. 7 (1986), 856-869; Saad, Iterative Methods for Sparse Linear Systems,
 * 2nd edition, Algorithms 9.4 (left) and 9.5 (right). Arnoldi's process (arnoldi.c) builds an orthonormal basis V of
 * the Krylov space of A M^-1 (right) or M^-1 A (left); at the end R y = g and x = x + M^-1 V y or x + V y.
 *
 * The correction M^-1 V y requires an M that is the same linear operator in each apply; fgmres takes others.
 * Vectors read and written: see arnoldi.c. Memory: m + 1 vectors for V; the driver's residual holds the vector
 * between A and M. */
#include "krylov/arnoldi.h"

enum side { RIGHT, LEFT };

struct settings {
  karst_basis basis;
  int side;
};

static const char *gmres_side_name(size_t i)
{
  static const char *const names[] = {[RIGHT] = "right", [LEFT] = "left", NULL};
  return names[i];
}

static const karst_option side_rows[] = {{"side", KARST_OPTION_NAME, false, offsetof(struct settings, side),
                                          gmres_side_name, 0, "right",
                                          "where gmres applies the preconditioner; fgmres: right",
                                          "right keeps the residual of the system as it is; left iterates with the "
                                          "preconditioned one. fgmres takes right only."},
                                         {0}};
static const karst_option *const rows[] = {karst_basis_rows, side_rows, NULL};

/* x = x + M^-1 V y or x + V y; V y is formed in V's last column. */
static karst_status gmres_correct(karst_krylov *k, const karst_arnoldi *a)
{
  const struct karst_backend *backend = k->context->backend;
  const double *y;
  int last = a->T.columns - 1;
  if (last < 0) return KARST_SUCCESS;
  double *u = k->work.vector[last], *step = a->left ? u : k->work.r;
  karst_status status = karst_arnoldi_solve(k, a, &y);
  if (status) return status;
  backend->combine(k->context, k->n, last, 1, y, (const double *const *)k->work.vector, y + last, u, NULL);
  if (!a->left) status = karst_krylov_precondition(k, u, step);
  if (status) return status;
  backend->combine(k->context, k->n, 1, 1, k->work.one, (const double *const *)&step, NULL, k->x, NULL);
  return KARST_SUCCESS;
}

static karst_status gmres_cycle(karst_krylov *k, karst_reason *reason)
{
  const struct settings *settings = k->settings;
  karst_arnoldi a = karst_arnoldi_begin(k, settings->side == LEFT, NULL);
  karst_status status = karst_arnoldi_grow(k, &a, reason);
  return status ? status : gmres_correct(k, &a);
}

extern const struct karst_krylov_ops karst_krylov_gmres;

const struct karst_krylov_ops karst_krylov_gmres = {
    .name = "gmres",
    .help = "restarted generalised minimal residual method, for any matrix",
    .options = rows,
    .settings = sizeof(struct settings),
    .workspace = karst_arnoldi_workspace,
    .cycle = gmres_cycle,
};
