/* none.c - no preconditioner: z = r. */
#include "lib/method/precond.h"

static karst_status setup(karst_precond *p)
{
  (void)p;
  return KARST_SUCCESS;
}

static karst_status apply(const karst_precond *p, const double *r, double *z)
{
  p->context->backend->copy(p->context, karst_matrix_rows(p->A), r, z);
  return KARST_SUCCESS;
}

static void destroy(karst_precond *p) { (void)p; }

extern const struct karst_precond_ops karst_precond_none;

const struct karst_precond_ops karst_precond_none = {
    .name = "none",
    .help = "no preconditioner",
    .order = KARST_ORDER_ANY,
    .fetches = true,
    .setup = setup,
    .update = setup,
    .apply = apply,
    .destroy = destroy,
};
