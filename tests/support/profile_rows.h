/* profile_rows.h - rows of a profile by their names, for its tests, and a solve with one. */
#ifndef KARST_TESTS_SUPPORT_PROFILE_ROWS_H
#define KARST_TESTS_SUPPORT_PROFILE_ROWS_H

#include "tests/support/problem.h"

/* The row of a name (zero calls if missing), and its number of calls. */
karst_profile row_of(const karst_context *context, const char *name);
int64_t calls_of(const karst_context *context, const char *name);
size_t count_rows(const karst_context *context);

/* Solves twice, the second time with a profile from an update on; the bits agree. Returns the iterations. */
int solve_profiled(const struct problem *p, karst_solver *solver, const char *what);

#endif
