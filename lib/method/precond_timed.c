/* precond_timed.c - runs the operations of a preconditioner, each timed under its own name while the context is
 * profiled. */
#include "lib/method/precond.h"
#include "lib/profile/profile.h"

static void begin(const karst_precond *p, const char *what, double bytes, karst_timing *timing)
{
  karst_profile_begin(p->context, what, p->ops->name, bytes, timing);
}

karst_status karst_precond_run_setup(karst_precond *p)
{
  karst_timing timing;
  begin(p, "precond setup", 0, &timing);
  const karst_status status = p->ops->setup(p);
  karst_profile_end(&timing);
  return status;
}

karst_status karst_precond_run_choose(karst_precond *p)
{
  karst_timing timing;
  begin(p, "precond choose", 0, &timing);
  const karst_status status = p->ops->choose(p);
  karst_profile_end(&timing);
  return status;
}

karst_status karst_precond_run_update(karst_precond *p)
{
  karst_timing timing;
  begin(p, "precond update", p->traffic.update, &timing);
  const karst_status status = p->ops->update(p);
  karst_profile_end(&timing);
  return status;
}

karst_status karst_precond_run_apply(const karst_precond *p, const double *r, double *z)
{
  karst_timing timing;
  begin(p, "precond apply", p->traffic.apply, &timing);
  const karst_status status = p->ops->apply(p, r, z);
  karst_profile_end(&timing);
  return status;
}
