/* order.c - orders a system as a solver does, so that its kernels can be timed by themselves.
 *
 * A solver makes the order. A method that is registered with the context takes the place of the solver's
 * preconditioner: it gets the ordered matrix and makes the requested preconditioner of it. */
#include "tools/src/bench/kernels/bench_kernels.h"
#include "tools/src/common/reported_values.h"

#include <stddef.h>

/* What the method in-order makes next, and what it made last. bench opens one system at a time. */
static struct inner {
  const karst_options *options; /* of the preconditioner */
  const karst_matrix *A;
  karst_precond *M;
} inner;

/* The fill level is known to the solver, for orders by colours depend on it. */
struct ordered_settings {
  int level;
};

static const karst_option rows[] = {{"level", KARST_OPTION_INTEGER, false, offsetof(struct ordered_settings, level),
                                     NULL, 0, "0", "fill level k", NULL},
                                    {0}};

/* Values are there from the first update on. */
static karst_status setup(karst_precond *precond)
{
  (void)precond;
  return KARST_SUCCESS;
}

static karst_status update(karst_precond *precond)
{
  karst_precond *M = karst_precond_data(precond);

  if (M) return karst_precond_update(M);
  inner.A = karst_precond_matrix(precond);
  const karst_status status = karst_precond_create(karst_precond_context(precond), inner.options, inner.A, &M);
  karst_precond_set_data(precond, M);
  inner.M = M;
  return status;
}

static karst_status apply(karst_precond *precond, const karst_vector *r, karst_vector *z)
{
  return karst_precond_apply(karst_precond_data(precond), r, z);
}

static void destroy(karst_precond *precond) { karst_precond_destroy(karst_precond_data(precond)); }

karst_status bench_order_register(karst_context *context)
{
  const karst_precond_method method = {.name = "in-order",
                                       .help = "another preconditioner, on the matrix in its order",
                                       .options = rows,
                                       .settings = sizeof(struct ordered_settings),
                                       .setup = setup,
                                       .update = update,
                                       .apply = apply,
                                       .destroy = destroy};
  return karst_precond_register(context, &method);
}

karst_status bench_order_set(const bench_case *what, karst_options *options)
{
  const karst_status status = karst_options_set(options, "ordering", what->ordering);
  return status ? status : karst_options_set_integer(options, "tile-size", what->tile_size);
}

karst_status bench_ordered_open(const bench_case *what, const karst_options *options, const bench_place *place,
                                bench_ordered *ordered)
{
  const int level = bench_has_level(options) ? what->level : 0;
  karst_options *outer;

  *ordered = (bench_ordered){.solver = NULL};
  inner = (struct inner){.options = options};
  karst_status status = karst_options_create(place->context, &outer);
  if (!status) status = bench_order_set(what, outer);
  if (!status) status = karst_options_set(outer, "precond", "in-order");
  if (!status) status = karst_options_set_integer(outer, "level", level);
  if (!status) status = karst_solver_create(place->context, outer, &ordered->solver);
  karst_options_destroy(outer);
  if (!status) status = karst_solver_setup(ordered->solver, place->A);
  if (!status) status = karst_solver_order_cost(ordered->solver, &ordered->cost);
  ordered->A = inner.A;
  ordered->M = inner.M;
  if (!status) tool_precond_report(ordered->M, "trisolve_used", ordered->trisolve, sizeof ordered->trisolve);
  return status;
}

void bench_ordered_close(bench_ordered *ordered)
{
  karst_solver_destroy(ordered->solver);
  *ordered = (bench_ordered){.solver = NULL};
}
