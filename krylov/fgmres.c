/* fgmres.c - FGMRES(m), flexible GMRES: preconditioned from the right by an M that may change in each step.
 *
 * Saad, SIAM J. Sci. Comput. 14 (1993), 461-469, Algorithm 2.2. Arnoldi's process (arnoldi.c) keeps Z_j = M_j^-1 v_j
 * beside the orthonormal V, so that A Z = V H for any M_j; at the end R y = g and x = x + Z y, without a further apply.
 * |g - H y| is the norm of the true residual except for rounding. With a constant M the iterates are those of gmres
 * from the right. With a varying M the space of Z is not a Krylov space and can stop growing while the residual is not
 * zero, which is a breakdown if the residual has not fallen either.
 *
 * Vectors read and written: see arnoldi.c; the correction reads Z once instead of V and M. Memory: 2 m + 1 vectors,
 * m + 1 for V and m for Z. */
#include "krylov/arnoldi.h"

struct settings {
  karst_basis basis;
  int side; /* always 0 */
};

static const char *fgmres_side_name(size_t i)
{
  static const char *const names[] = {"right", NULL};
  return names[i];
}

/* The option of gmres, with one value here. */
static const karst_option side_rows[] = {{"side", KARST_OPTION_NAME, false, offsetof(struct settings, side),
                                          fgmres_side_name, 0, "right", "where fgmres applies the preconditioner",
                                          NULL},
                                         {0}};
static const karst_option *const rows[] = {karst_basis_rows, side_rows, NULL};

static karst_krylov_workspace fgmres_workspace(const karst_krylov *k, void *settings)
{
  karst_krylov_workspace need = karst_arnoldi_workspace(k, settings);
  need.vectors += ((const karst_basis *)settings)->restart;
  return need;
}

/* x = x + Z y */
static karst_status fgmres_correct(karst_krylov *k, const karst_arnoldi *a)
{
  const double *y;
  if (a->T.columns == 0) return KARST_SUCCESS;
  karst_status status = karst_arnoldi_solve(k, a, &y);
  if (status) return status;
  k->context->backend->combine(k->context, k->n, a->T.columns, 1, y, (const double *const *)a->Z, NULL, k->x, NULL);
  return KARST_SUCCESS;
}

/* If an apply fails, the steps before it still improve x. */
static karst_status fgmres_cycle(karst_krylov *k, karst_reason *reason)
{
  karst_arnoldi a = karst_arnoldi_begin(k, false, k->work.vector + karst_basis_of(k)->restart + 1);
  karst_status grown = karst_arnoldi_grow(k, &a, reason), corrected = fgmres_correct(k, &a);
  return grown ? grown : corrected;
}

extern const struct karst_krylov_ops karst_krylov_fgmres;

const struct karst_krylov_ops karst_krylov_fgmres = {
    .name = "fgmres",
    .help = "flexible gmres, for preconditioners that vary; from the right, and with twice the memory",
    .flexible = true,
    .options = rows,
    .settings = sizeof(struct settings),
    .workspace = fgmres_workspace,
    .cycle = fgmres_cycle,
};
