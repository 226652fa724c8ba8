/* precond_registered.c - preconditioners that a program registers: how the library calls their functions, and which
 * public functions these may call. */
#include "lib/method/precond.h"
#include "lib/vector/vector.h"

static karst_status setup(karst_precond *p)
{
  const unsigned before = karst_failures(p->context);
  p->calls_registered = true;
  return karst_check_returned(p->context, p->ops->registered->setup(p), before, "setup of the preconditioner ",
                              p->ops->name);
}

static karst_status check_outcome(const karst_precond *p)
{
  if (p->reason != KARST_SOUND && p->reason != KARST_SINGULAR_BLOCK && p->reason != KARST_NOT_FINITE)
    return karst_fail(p->context, KARST_ERROR_ARGUMENT,
                      "update of the preconditioner %s left the outcome %d, which a factorization cannot have",
                      p->ops->name, (int)p->reason);
  if (p->block_row < -1 || p->block_row >= p->A->block_rows)
    return karst_fail(p->context, KARST_ERROR_ARGUMENT, "update of the preconditioner %s named block row %lld of %lld",
                      p->ops->name, (long long)p->block_row, (long long)p->A->block_rows);
  return KARST_SUCCESS;
}

static karst_status update(karst_precond *p)
{
  const unsigned before = karst_failures(p->context);
  karst_status status = karst_check_returned(p->context, p->ops->registered->update(p), before,
                                             "update of the preconditioner ", p->ops->name);
  if (status) return status;
  if (p->reason == KARST_SOUND) p->block_row = -1;
  status = check_outcome(p);
  if (!status) return KARST_SUCCESS;
  p->reason = KARST_SOUND; /* karst_precond_outcome returns no invalid reason */
  p->block_row = -1;
  return status;
}

/* The vectors are on the stack: an apply takes no memory. The checker does not know that the method writes to z.
 * NOLINTNEXTLINE(readability-non-const-parameter) */
static karst_status apply(const karst_precond *p, const double *r, double *z)
{
  const int64_t rows = karst_matrix_rows(p->A);
  const karst_vector in = {.context = p->context, .length = rows, .values = (double *)r};
  karst_vector out = {.context = p->context, .length = rows, .values = z};
  const unsigned before = karst_failures(p->context);
  const karst_status status = p->ops->registered->apply((karst_precond *)p, &in, &out);
  return karst_check_returned(p->context, status, before, "apply of the preconditioner ", p->ops->name);
}

static void destroy(karst_precond *p) { p->ops->registered->destroy(p); }

struct karst_precond_ops karst_precond_registered(const karst_precond_method *method)
{
  return (struct karst_precond_ops){
      .name = method->name,
      .help = method->help,
      .details = method->details,
      .needs_diagonal = method->needs_diagonal,
      .settings = method->options ? method->settings : 0,
      .registered = method,
      .setup = setup,
      .update = update,
      .apply = apply,
      .destroy = destroy,
  };
}

karst_context *karst_precond_context(const karst_precond *precond) { return precond ? precond->context : NULL; }

const karst_matrix *karst_precond_matrix(const karst_precond *precond) { return precond ? precond->A : NULL; }

const void *karst_precond_settings(const karst_precond *precond) { return precond ? precond->settings : NULL; }

void *karst_precond_user(const karst_precond *precond)
{
  return precond && precond->ops->registered ? precond->ops->registered->user : NULL;
}

/* Only registered methods have data for the caller; the library's own use it themselves. */
static bool is_registered(const karst_precond *precond) { return precond && precond->ops->registered; }

void *karst_precond_data(const karst_precond *precond) { return is_registered(precond) ? precond->data : NULL; }

void karst_precond_set_data(karst_precond *precond, void *data)
{
  if (is_registered(precond)) precond->data = data;
}

void karst_precond_set_varies(karst_precond *precond, int varies)
{
  if (is_registered(precond)) precond->varies = varies != 0;
}

/* Limits a count, so that the sum over preconditioners inside one another does not overflow. */
static int64_t clamp(int64_t count)
{
  const int64_t most = (int64_t)1 << 56;
  return count < 0 ? 0 : count > most ? most : count;
}

void karst_precond_set_entries(karst_precond *precond, int64_t entries)
{
  if (is_registered(precond)) precond->factor_entries = clamp(entries);
}

void karst_precond_set_memory(karst_precond *precond, int64_t bytes)
{
  if (is_registered(precond)) precond->memory = clamp(bytes);
}

void karst_precond_set_outcome(karst_precond *precond, karst_reason reason, karst_index block_row)
{
  const bool updating = is_registered(precond) && precond->generation < 0;
  if (!updating) return;
  precond->reason = reason;
  precond->block_row = block_row;
}
