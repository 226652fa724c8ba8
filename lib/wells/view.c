/* view.c - wells as a system sees them: its order of the cells, its work space, and the product with its bound. */
#include "lib/backend/wells_kernels.h"
#include "lib/profile/profile.h"

static const char *const what = "wells";

karst_wells_view karst_wells_view_of(const karst_wells *wells, double *space)
{
  return (karst_wells_view){.wells = wells,
                            .host_cell = wells->host.cell,
                            .cell = wells->device.cell,
                            .list_cell = wells->device.list_cell,
                            .space = space};
}

karst_status karst_wells_view_make(const karst_wells *wells, karst_wells_view *view)
{
  *view = karst_wells_view_of(wells, NULL);
  const karst_status status =
      karst_device_doubles(wells->context, KARST_WELLS_SPACE * wells->unknowns, what, &view->owned_space);
  view->space = view->owned_space;
  return status;
}

/* Makes list[i] = place[cell[i]] in host memory and its place in device memory. */
static karst_status map(karst_context *context, const karst_index *place, karst_index count, const karst_index *cell,
                        karst_index **list, karst_index **placed)
{
  const karst_status status = karst_allocate(context, list, (int64_t)count + 1, sizeof **list, what);
  if (status) return status;
  for (karst_index i = 0; i < count; i++) (*list)[i] = place[cell[i]];
  (*list)[count] = 0;
  return context->backend->place(context, *list, ((size_t)count + 1) * sizeof **list, what, (void **)placed);
}

karst_status karst_wells_view_permute(const karst_wells_view *caller, const karst_index *permutation,
                                      karst_wells_view *view)
{
  const karst_wells *wells = caller->wells;
  karst_context *context = wells->context;
  karst_index *place;
  *view = (karst_wells_view){.wells = wells, .space = caller->space};
  karst_status status = karst_allocate(context, &place, wells->block_rows, sizeof *place, what);
  if (status) return status;
  for (karst_index i = 0; i < wells->block_rows; i++) place[permutation[i]] = i;
  status = map(context, place, wells->perforations, wells->host.cell, &view->owned[0], &view->placed[0]);
  if (!status) status = map(context, place, wells->cells, wells->host.list_cell, &view->owned[1], &view->placed[1]);
  karst_release(context, place);
  view->host_cell = view->owned[0];
  view->cell = view->placed[0];
  view->list_cell = view->placed[1];
  return status;
}

void karst_wells_view_release(karst_context *context, karst_wells_view *view)
{
  for (int i = 0; i < 2; i++) karst_release_placed(context, view->owned[i], view->placed[i]);
  context->backend->release(context, view->owned_space);
  *view = (karst_wells_view){0};
}

int64_t karst_wells_view_memory(const karst_wells_view *view)
{
  const karst_wells *wells = view->wells;
  if (!wells) return 0;
  return (view->owned[0] ? (int64_t)(wells->perforations + wells->cells) * (int64_t)sizeof(karst_index) : 0) +
         (view->owned_space ? KARST_WELLS_SPACE * wells->unknowns * (int64_t)sizeof(double) : 0);
}

void karst_wells_multiply(const karst_wells_view *view, int unknown, double sign, const double *x, double *y)
{
  const karst_wells *wells = view->wells;
  karst_context *context = wells->context;
  karst_timing timing;
  karst_profile_begin(context, what, NULL, (double)(2 * wells->entries + wells->squares) * sizeof(double), &timing);
  context->backend->wells->solve(context, view, unknown, NULL, x, view->space);
  context->backend->wells->add(context, view, sign, view->space, y);
  karst_profile_end(&timing);
}

void karst_wells_add_size(const karst_wells_view *view, const double *x, double *size)
{
  view->wells->context->backend->wells->add_size(view->wells->context, view, x, size);
}

int64_t karst_wells_terms(const karst_wells *wells)
{
  return (int64_t)wells->most_perforations * wells->block_size + 3 * (int64_t)wells->most_equations +
         (int64_t)wells->most_in_cell * wells->most_equations;
}

void karst_wells_residual_precise(const karst_wells_view *view, const karst_matrix *A, const double *b, const double *x,
                                  double *r)
{
  view->wells->context->backend->wells->residual_precise(view->wells->context, view, A, b, x, r);
}
