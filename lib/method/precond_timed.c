/* precond_timed.c - calls the operations of a preconditioner that cost time, each under a name of its own in the
 * profile of its context while that has one. */
#include "lib/method/precond.h"
#include "lib/profile/profile.h"

static void begin(const karst_precond *p, const char *what, double bytes, karst_timing *timing)
{
  karst_profile_begin(p->context, what, p->ops->name, bytes, timing);
}

karst_status karst_precond_run_setup(karst_precond *p)
{
  karst_timing timing;
  if (!p->context->profiling) return p->ops->setup(p);
  begin(p, "precond setup", 0, &timing);
  const karst_status status = p->ops->setup(p);
  karst_profile_end(&timing);
  return status;
}

karst_status karst_precond_run_update(karst_precond *p)
{
  karst_timing timing;
  if (!p->context->profiling) return p->ops->update(p);
  begin(p, "precond update", p->traffic.update, &timing);
  const karst_status status = p->ops->update(p);
  karst_profile_end(&timing);
  return status;
}

karst_status karst_precond_run_apply(const karst_precond *p, const double *r, double *z)
{
  karst_timing timing;
  if (!p->context->profiling) return p->ops->apply(p, r, z);
  begin(p, "precond apply", p->traffic.apply, &timing);
  const karst_status status = p->ops->apply(p, r, z);
  karst_profile_end(&timing);
  return status;
}

void karst_precond_run_apply_reduced(const karst_precond *p, const double *r, double *z, double *dot)
{
  const struct karst_reduction *reduction = p->ops->reduction;
  karst_timing timing;
  if (!p->context->profiling) {
    reduction->apply(p, r, z, dot);
    return;
  }
  begin(p, "reduced precond apply", p->traffic.apply_reduced, &timing);
  reduction->apply(p, r, z, dot);
  karst_profile_end(&timing);
}

void karst_precond_run_multiply_reduced(const karst_precond *p, const double *x, double *y, double *dot)
{
  const struct karst_reduction *reduction = p->ops->reduction;
  karst_timing timing;
  if (!p->context->profiling) {
    reduction->multiply(p, x, y, dot);
    return;
  }
  begin(p, "reduced matrix product", p->traffic.multiply_reduced, &timing);
  reduction->multiply(p, x, y, dot);
  karst_profile_end(&timing);
}

void karst_precond_run_enter(const karst_precond *p, const double *b, const double *x, double *reduced_b,
                             double *reduced_x)
{
  karst_timing timing;
  if (!p->context->profiling) {
    p->ops->reduction->enter(p, b, x, reduced_b, reduced_x);
    return;
  }
  begin(p, "enter reduced system", 0, &timing);
  p->ops->reduction->enter(p, b, x, reduced_b, reduced_x);
  karst_profile_end(&timing);
}

void karst_precond_run_leave(const karst_precond *p, const double *b, const double *reduced_x, double *x)
{
  karst_timing timing;
  if (!p->context->profiling) {
    p->ops->reduction->leave(p, b, reduced_x, x);
    return;
  }
  begin(p, "leave reduced system", 0, &timing);
  p->ops->reduction->leave(p, b, reduced_x, x);
  karst_profile_end(&timing);
}
