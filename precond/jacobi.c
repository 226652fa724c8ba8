/* jacobi.c - block Jacobi: z_i = A_ii^-1 r_i for each block row i.
 *
 * The smallest complete preconditioner and the example of CONTRIBUTING.md. It needs two operations that every backend
 * has: to invert the diagonal blocks, and to multiply a vector by them. */
#include "lib/method/precond.h"

struct jacobi {
  karst_index *diagonal; /* [block_rows] the number of each diagonal block in A, device memory */
  double *inverse;       /* [b*b*block_rows] the inverse blocks, device memory */
};

static karst_status setup(karst_precond *p)
{
  karst_context *context = p->context;
  int64_t rows = p->A->block_rows, entries = karst_block_offset(p->A->block_size, rows);
  struct jacobi *jacobi;
  karst_status status = karst_allocate_zero(context, &jacobi, 1, sizeof *jacobi, "block Jacobi");
  if (status) return status;
  p->data = jacobi;
  status = karst_matrix_locate_diagonal(p->A, &jacobi->diagonal);
  if (!status) status = karst_device_doubles(context, entries, "block Jacobi", &jacobi->inverse);
  p->factor_entries = entries;
  p->memory = entries * (int64_t)sizeof(double) + rows * (int64_t)sizeof(karst_index);
  return status;
}

static karst_status update(karst_precond *p)
{
  struct jacobi *jacobi = p->data;
  return p->context->backend->invert_diagonal(p->context, p->A, jacobi->diagonal, jacobi->inverse, &p->reason,
                                              &p->block_row);
}

static karst_status apply(const karst_precond *p, const double *r, double *z)
{
  const struct jacobi *jacobi = p->data;
  p->context->backend->multiply_diagonal(p->context, p->A->block_rows, p->A->block_size, jacobi->inverse, r, z);
  return KARST_SUCCESS;
}

static void destroy(karst_precond *p)
{
  struct jacobi *jacobi = p->data;
  if (!jacobi) return;
  p->context->backend->release(p->context, jacobi->diagonal);
  p->context->backend->release(p->context, jacobi->inverse);
  karst_release(p->context, jacobi);
}

extern const struct karst_precond_ops karst_precond_jacobi;

const struct karst_precond_ops karst_precond_jacobi = {
    .name = "jacobi",
    .help = "block Jacobi: the inverse diagonal blocks",
    .needs_diagonal = true,
    .order = KARST_ORDER_ANY,
    .automatic = KARST_AUTO_BELOW,
    .setup = setup,
    .update = update,
    .apply = apply,
    .destroy = destroy,
};
