/* line_solves.c - see line_solves.h. */
#include "precond/line_solves.h"

#include "symbolic/symbolic.h"

static const char *direction_name(size_t i)
{
  static const char *const names[] = {
      [KARST_LINES_AUTO] = "auto", [KARST_LINES_X] = "x", [KARST_LINES_Y] = "y", [KARST_LINES_Z] = "z", NULL};
  return names[i];
}

const karst_option karst_line_direction_rows[] = {
    {"line-direction", KARST_OPTION_NAME, false, 0, direction_name, 0, "auto",
     "axis of the grid that lines, and amg with the smoother lines, follow; auto: that of the strongest couplings",
     "x is the axis along which the number of a cell grows by one, and z is that of the layers. auto takes the axis "
     "along which the first values couple most strongly, and keeps it for later values; "
     "line_direction_used in the report names it."},
    {0},
};

karst_status karst_line_direction_put(karst_precond *p, const karst_lines *lines)
{
  const size_t direction = (size_t)lines->axis + KARST_LINES_X;
  return karst_precond_put_text(p, "line_direction_used", direction_name(direction));
}

static const struct karst_lines_kernels *kernels_of(const karst_context *context) { return context->backend->lines; }

static karst_status begin(karst_context *context, const karst_matrix *A, const char *method, karst_line_axes *axes,
                          karst_line_grid *grid)
{
  *axes = (karst_line_axes){.count = 0};
  *grid = (karst_line_grid){.row = NULL};
  if (!kernels_of(context))
    return karst_fail(context, KARST_ERROR_NOT_BUILT, "%s is not available on %s", method, context->backend->name);
  return karst_line_grid_create(context, A, grid);
}

static karst_status add_axis(karst_context *context, const karst_matrix *A, const karst_line_grid *grid, int axis,
                             int colours, karst_line_axes *axes)
{
  const karst_status status = karst_lines_create(context, A, grid, axis, colours, &axes->lines[axes->count]);
  axes->count += status == KARST_SUCCESS;
  return status;
}

karst_status karst_line_axes_make_all(karst_context *context, const karst_matrix *A, const char *method,
                                      karst_line_axes *axes)
{
  karst_line_grid grid;
  karst_status status = begin(context, A, method, axes, &grid);
  for (int axis = 0; axis < KARST_AXES && !status; axis++)
    if (grid.grid.size[axis] > 1) status = add_axis(context, A, &grid, axis, 1, axes);
  if (!status && axes->count == 0) status = add_axis(context, A, &grid, 0, 1, axes);
  karst_line_grid_destroy(context, &grid);
  return status;
}

/* Returns the first of the axes of the largest strength. Sums that differ by less than rounding may be the same sum, on
 * another device. */
static int strongest(const double strength[KARST_AXES])
{
  static const double margin = 1 + 1e-6;
  int best = 0;
  for (int axis = 1; axis < KARST_AXES; axis++)
    if (strength[axis] > margin * strength[best]) best = axis;
  return best;
}

karst_status karst_line_axes_make_along(karst_context *context, const karst_matrix *A, const char *method,
                                        int direction, int colours, karst_line_axes *axes)
{
  karst_line_grid grid;
  double strength[KARST_AXES];
  int axis = direction - KARST_LINES_X;
  karst_status status = begin(context, A, method, axes, &grid);
  if (!status && direction == KARST_LINES_AUTO) {
    status = karst_line_strengths(context, A, &grid, strength);
    if (!status) axis = strongest(strength);
  }
  if (!status && direction != KARST_LINES_AUTO && grid.grid.size[axis] == 1)
    karst_notify(context, KARST_MESSAGE_WARNING,
                 "%s: the grid has one cell along %s, so that each line is one cell and is solved as by jacobi", method,
                 direction_name((size_t)direction));
  if (!status) status = add_axis(context, A, &grid, axis, colours, axes);
  karst_line_grid_destroy(context, &grid);
  return status;
}

void karst_line_axes_destroy(karst_context *context, karst_line_axes *axes)
{
  for (int i = 0; i < axes->count; i++) karst_lines_destroy(context, &axes->lines[i]);
  axes->count = 0;
}

karst_status karst_line_solves_plan(karst_context *context, const karst_matrix *A, const karst_line_axes *axes,
                                    karst_line_solves *solves)
{
  karst_status status = KARST_SUCCESS;
  *solves = (karst_line_solves){.axes = axes};
  if (axes->count > 1) status = karst_matrix_locate_diagonal(A, &solves->diagonal);
  for (int i = 0; i < axes->count && !status; i++) {
    solves->factors[i].lines = &axes->lines[i];
    solves->factors[i].times_diagonal = i > 0;
    status = kernels_of(context)->plan(context, &solves->factors[i]);
  }
  return status;
}

void karst_line_solves_destroy(karst_context *context, karst_line_solves *solves)
{
  for (int i = 0; i < KARST_AXES; i++)
    if (solves->factors[i].lines) kernels_of(context)->plan_destroy(context, &solves->factors[i]);
  context->backend->release(context, solves->diagonal);
  *solves = (karst_line_solves){.axes = NULL};
}

/* Finds a block of D without an inverse, which M needs between two axes, although each T may be regular. P of the first
 * axis is work space. */
static karst_status check_diagonal(karst_context *context, const karst_matrix *A, const karst_line_solves *solves,
                                   karst_factor_outcome *outcome)
{
  if (solves->axes->count < 2) return KARST_SUCCESS;
  return context->backend->invert_diagonal(context, A, solves->diagonal, solves->factors[0].P, &outcome->reason,
                                           &outcome->block_row);
}

karst_status karst_line_solves_factor(karst_context *context, const karst_matrix *A, karst_line_solves *solves,
                                      karst_factor_outcome *outcome)
{
  *outcome = (karst_factor_outcome){KARST_SOUND, -1, 0};
  karst_status status = check_diagonal(context, A, solves, outcome);
  for (int i = 0; i < solves->axes->count && !status && outcome->reason == KARST_SOUND; i++)
    status = kernels_of(context)->factor(context, A, &solves->factors[i], outcome);
  return status;
}

void karst_line_solves_apply(karst_context *context, const karst_matrix *A, const karst_line_solves *solves,
                             const double *r, double *z)
{
  const struct karst_lines_kernels *kernels = kernels_of(context);
  for (int i = 0; i < solves->axes->count; i++) {
    const karst_lines_factors *factors = &solves->factors[i];
    kernels->solve(context, factors, 0, i == 0 ? r : z, z);
    if (factors->lines->colours == 1) continue;
    kernels->residual(context, A, factors, r, z);
    kernels->solve(context, factors, 1, z, z);
  }
}

void karst_line_solves_count(karst_precond *p, const karst_line_solves *solves)
{
  const int b = p->A->block_size;
  const int64_t rows = p->A->block_rows;
  p->factor_entries = p->memory = 0;
  p->traffic = (karst_traffic){0};
  if (solves->diagonal) {
    p->memory += rows * (int64_t)sizeof(karst_index);
    p->traffic.update += karst_traffic_of(2 * karst_block_offset(b, rows), rows);
  }
  for (int i = 0; i < solves->axes->count; i++) {
    const karst_lines *lines = &solves->axes->lines[i];
    const int64_t entries = karst_block_offset(b, 3 * rows - 2 * (int64_t)lines->lines);
    const int64_t read = karst_block_offset(b, rows) + 2 * karst_matrix_rows(p->A);
    p->factor_entries += entries;
    p->memory += lines->memory + solves->factors[i].memory;
    p->traffic.update += karst_traffic_of(2 * entries, 4 * rows);
    p->traffic.apply += karst_traffic_of(entries + 2 * karst_matrix_rows(p->A), rows);
    if (lines->colours > 1) p->traffic.apply += karst_traffic_of(karst_entries(p->A) / 2 + read / 2, rows);
  }
}
