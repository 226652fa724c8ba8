/* profile.c - rows of a profile by their names, and a solve with one; see profile_rows.h. */
#include "tests/support/profile_rows.h"

#include <stdlib.h>
#include <string.h>

karst_profile row_of(const karst_context *context, const char *name)
{
  karst_profile row;
  for (size_t i = 0; karst_context_profile_row(context, i, &row); i++)
    if (strcmp(row.name, name) == 0) return row;
  return (karst_profile){.name = ""};
}

int64_t calls_of(const karst_context *context, const char *name) { return row_of(context, name).calls; }

size_t count_rows(const karst_context *context)
{
  karst_profile row;
  size_t count = 0;
  while (karst_context_profile_row(context, count, &row)) count++;
  return count;
}

int solve_profiled(const struct problem *p, karst_solver *solver, const char *what)
{
  const karst_result first = problem_solve(p, solver);
  double *before = vector_on_host(p->x);
  tap_need(p->context, karst_context_profile(p->context, 1), "profile");
  const karst_result second = problem_solve(p, solver);
  tap_need(p->context, karst_context_profile(p->context, 0), "no profile");
  double *after = vector_on_host(p->x);
  tap_ok(second.iterations == first.iterations && first.iterations > 3 &&
             memcmp(before, after, (size_t)p->n * sizeof *before) == 0,
         "%s: a solve of %d iterations has the same bits when it is profiled", what, first.iterations);
  free(before);
  free(after);
  return first.iterations;
}
