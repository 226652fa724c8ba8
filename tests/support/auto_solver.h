/* auto_solver.h - solvers with the preconditioner auto for gallery matrices, and what they say, for tests. */
#ifndef KARST_TESTS_SUPPORT_AUTO_SOLVER_H
#define KARST_TESTS_SUPPORT_AUTO_SOLVER_H

#include "karst.h"
#include "tests/support/tap.h"

#include <stdio.h>
#include <string.h>

enum { VALUE = 128 }; /* bytes for a text of a report */

struct problem {
  karst_context *context;
  karst_matrix *A;
  karst_vector *b, *x;
};

static inline karst_options *make_options(karst_context *context, const char *const (*given)[2])
{
  karst_options *options;
  tap_need(context, karst_options_create(context, &options), "options");
  tap_need(context, karst_options_set(options, "precond", "auto"), "auto");
  tap_need(context, karst_options_set(options, "solver", "gmres"), "gmres");
  for (; given && (*given)[0]; given++)
    tap_need(context, karst_options_set(options, (*given)[0], (*given)[1]), "option");
  return options;
}

static inline struct problem make_problem(karst_context *context, const char *spec, int block)
{
  struct problem p = {.context = context};
  tap_need(context, karst_gallery_create(context, spec, block, &p.A, NULL), "matrix");
  tap_need(context, karst_vector_create(context, karst_matrix_rows(p.A), &p.b), "b");
  tap_need(context, karst_vector_create(context, karst_matrix_rows(p.A), &p.x), "x");
  tap_need(context, karst_vector_fill(p.b, 1), "b");
  return p;
}

static inline void destroy_problem(struct problem *p)
{
  karst_matrix_destroy(p->A);
  karst_vector_destroy(p->b);
  karst_vector_destroy(p->x);
}

static inline karst_solver *make_solver(const struct problem *p, const char *const (*given)[2])
{
  karst_solver *solver;
  karst_options *options = make_options(p->context, given);
  tap_need(p->context, karst_solver_create(p->context, options, &solver), "solver");
  karst_options_destroy(options);
  return solver;
}

/* Copies a text of the solver's report, "" where there is none. */
static inline const char *text_of(const karst_solver *solver, const char *name, char text[VALUE])
{
  karst_value value;
  text[0] = '\0';
  for (size_t i = 0; karst_solver_report(solver, i, &value); i++)
    if (strcmp(value.name, name) == 0 && value.text) snprintf(text, VALUE, "%s", value.text);
  return text;
}

static inline karst_result solve(const struct problem *p, karst_solver *solver)
{
  karst_result result;
  tap_need(p->context, karst_vector_fill(p->x, 0), "start");
  tap_need(p->context, karst_solver_solve(solver, p->b, p->x, &result), "solve");
  return result;
}

#define GIVEN(...)                                                                                                     \
  (const char *const[][2])                                                                                             \
  {                                                                                                                    \
    __VA_ARGS__, { NULL, NULL }                                                                                        \
  }

#endif
