/* wells.c - wells beside a matrix as an object: the lists that follow from the perforated cells, and the values. */
#include "lib/backend/wells_kernels.h"
#include "lib/vector/vector.h"

#include <stdio.h>
#include <string.h>

static const char *const what = "wells";

enum { LISTS = sizeof(karst_wells_lists) / sizeof(karst_index *) };

void karst_wells_destroy(karst_wells *wells)
{
  if (!wells) return;
  karst_context *context = wells->context;
  karst_index **host = (karst_index **)&wells->host, **device = (karst_index **)&wells->device;
  for (int i = 0; i < LISTS; i++) karst_release_placed(context, host[i], device[i]);
  karst_release_placed(context, wells->host_well, wells->well);
  double *const values[] = {wells->B, wells->C, wells->D, wells->inverse, wells->space};
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) context->backend->release(context, values[i]);
  karst_release(context, wells);
  karst_count_object(context, -1);
}

static karst_status check_pattern(karst_context *context, karst_index block_rows, karst_index count,
                                  const int *equations, const karst_index *start, const karst_index *cell)
{
  if (count > 0 && start[0] != 0) return karst_fail(context, KARST_ERROR_ARGUMENT, "perforation_start begins with 0");
  for (karst_index i = 0; i < count; i++) {
    if (equations[i] < 1 || equations[i] > KARST_BLOCK_SIZE_MAX)
      return karst_fail(context, KARST_ERROR_ARGUMENT, "well %lld has %d equations: they are 1 to %d", (long long)i,
                        equations[i], KARST_BLOCK_SIZE_MAX);
    if (start[i + 1] < start[i])
      return karst_fail(context, KARST_ERROR_ARGUMENT, "the perforations of well %lld end before they begin",
                        (long long)i);
    for (karst_index p = start[i]; p < start[i + 1]; p++)
      if (cell[p] < 0 || cell[p] >= block_rows)
        return karst_fail(context, KARST_ERROR_ARGUMENT,
                          "well %lld: block row %lld of perforation %lld is out of range (0 to %lld)", (long long)i,
                          (long long)cell[p], (long long)p, (long long)block_rows - 1);
  }
  return KARST_SUCCESS;
}

/* Sets host_well and the sizes that follow from the wells. */
static void number_unknowns(karst_wells *wells, const int *equations, const karst_index *start)
{
  for (karst_index i = 0; i < wells->count; i++) {
    const int n = equations[i];
    const karst_index perforations = start[i + 1] - start[i];
    wells->host_well[i] = (karst_well){start[i], perforations, n, wells->unknowns, wells->entries, wells->squares};
    wells->unknowns += n;
    wells->entries += (int64_t)perforations * wells->block_size * n;
    wells->squares += (int64_t)n * n;
    if (n > wells->most_equations) wells->most_equations = n;
    if (perforations > wells->most_perforations) wells->most_perforations = perforations;
    for (karst_index p = start[i]; p < start[i + 1]; p++) wells->host.owner[p] = i;
  }
}

/* Lists the perforations by cells. begin: [block_rows + 1] zeros, lost. */
static void list_cells(karst_wells *wells, karst_index *begin)
{
  karst_wells_lists *lists = &wells->host;
  for (karst_index p = 0; p < wells->perforations; p++) begin[lists->cell[p] + 1]++;
  wells->cells = 0;
  for (karst_index i = 0; i < wells->block_rows; i++) {
    const karst_index in_cell = begin[i + 1];
    begin[i + 1] += begin[i];
    if (in_cell == 0) continue;
    if (in_cell > wells->most_in_cell) wells->most_in_cell = in_cell;
    lists->list_cell[wells->cells] = i;
    lists->list_start[wells->cells++] = begin[i];
  }
  lists->list_start[wells->cells] = wells->perforations;
  for (karst_index p = 0; p < wells->perforations; p++) lists->list[begin[lists->cell[p]]++] = p;
  for (karst_index k = 0; k < wells->cells; k++)
    for (karst_index at = lists->list_start[k]; at < lists->list_start[k + 1]; at++)
      lists->in_list[lists->list[at]] = k;
}

static karst_status make_lists(karst_wells *wells, const int *equations, const karst_index *start,
                               const karst_index *cell)
{
  karst_context *context = wells->context;
  const karst_index perforations = wells->perforations;
  karst_index *begin, **host = (karst_index **)&wells->host, **device = (karst_index **)&wells->device;
  karst_status status =
      karst_allocate(context, &wells->host_well, (int64_t)wells->count + 1, sizeof *wells->host_well, what);
  for (int i = 0; i < LISTS && !status; i++)
    status = karst_allocate(context, &host[i], (int64_t)perforations + 1, sizeof *begin, what);
  if (!status) status = karst_allocate_zero(context, &begin, (int64_t)wells->block_rows + 1, sizeof *begin, what);
  if (status) return status;
  if (perforations > 0) memcpy(wells->host.cell, cell, (size_t)perforations * sizeof *cell);
  number_unknowns(wells, equations, start);
  list_cells(wells, begin);
  karst_release(context, begin);
  const struct karst_backend *backend = context->backend;
  for (int i = 0; i < LISTS && !status; i++)
    status = backend->place(context, host[i], ((size_t)perforations + 1) * sizeof *begin, what, (void **)&device[i]);
  if (status) return status;
  const size_t bytes = ((size_t)wells->count + 1) * sizeof *wells->well;
  return backend->place(context, wells->host_well, bytes, what, (void **)&wells->well);
}

static karst_status make_values(karst_wells *wells)
{
  karst_context *context = wells->context;
  double **const value[] = {&wells->B, &wells->C, &wells->D, &wells->inverse, &wells->space};
  const int64_t length[] = {wells->entries, wells->entries, wells->squares, wells->squares,
                            KARST_WELLS_SPACE * wells->unknowns};
  karst_status status = KARST_SUCCESS;
  for (size_t i = 0; i < sizeof value / sizeof *value && !status; i++) {
    status = karst_device_doubles(context, length[i], what, value[i]);
    if (!status) context->backend->fill(context, length[i], 0, *value[i]);
  }
  return status;
}

karst_status karst_wells_create(karst_context *context, karst_index block_rows, int block_size, karst_index count,
                                const int *equations, const karst_index *perforation_start, const karst_index *cell,
                                karst_wells **wells)
{
  if (wells) *wells = NULL;
  if (!context || !wells) return karst_missing(context, "the place for the wells");
  if (block_rows < 0 || count < 0 || block_size < 1 || block_size > KARST_BLOCK_SIZE_MAX)
    return karst_fail(context, KARST_ERROR_ARGUMENT, "%lld wells for %lld block rows of %d are out of range",
                      (long long)count, (long long)block_rows, block_size);
  if (count > 0 && (!equations || !perforation_start)) return karst_missing(context, "the pattern of the wells");
  const karst_index perforations = count > 0 ? perforation_start[count] : 0;
  if (perforations > 0 && !cell) return karst_missing(context, "the cells of the perforations");
  if (!context->backend->wells)
    return karst_fail(context, KARST_ERROR_NOT_BUILT, "wells are not available on %s", context->backend->name);
  karst_status status = check_pattern(context, block_rows, count, equations, perforation_start, cell);
  if (!status) status = karst_allocate_zero(context, wells, 1, sizeof **wells, what);
  if (status) return status;
  **wells = (karst_wells){.context = context, .block_rows = block_rows, .block_size = block_size, .count = count};
  (*wells)->perforations = perforations;
  (*wells)->bad = -1;
  karst_count_object(context, 1);
  status = make_lists(*wells, equations, perforation_start, cell);
  if (!status) status = make_values(*wells);
  if (!status) return KARST_SUCCESS;
  karst_wells_destroy(*wells);
  *wells = NULL;
  return status;
}

/* bad < 0: no well is to blame. */
static void set_outcome(karst_wells *wells, karst_reason reason, karst_index bad)
{
  char *text = wells->explanation;
  const size_t size = sizeof wells->explanation;
  wells->reason = reason;
  wells->bad = bad;
  if (reason == KARST_SOUND)
    *text = '\0';
  else if (bad < 0)
    snprintf(text, size, "the wells have no values, because the last karst_wells_update_values failed");
  else if (reason == KARST_NOT_FINITE)
    snprintf(text, size, "a value of well %lld is not finite", (long long)bad);
  else
    snprintf(text, size, "D of well %lld is singular, or its inverse overflows", (long long)bad);
}

karst_status karst_wells_update_values(karst_wells *wells, const double *B, const double *C, const double *D)
{
  if (!wells) return KARST_ERROR_ARGUMENT;
  karst_context *context = wells->context;
  const struct karst_backend *backend = context->backend;
  const size_t entries = (size_t)wells->entries * sizeof *B, squares = (size_t)wells->squares * sizeof *D;
  karst_status status = KARST_SUCCESS;
  wells->generation++;
  set_outcome(wells, KARST_NOT_FINITE, -1); /* until the values are complete */
  if ((entries > 0 && (!B || !C)) || (squares > 0 && !D))
    return karst_missing(context, "an array of values of the wells");
  if (entries > 0) status = backend->upload(context, wells->B, B, entries);
  if (!status && entries > 0) status = backend->upload(context, wells->C, C, entries);
  if (!status && squares > 0) status = backend->upload(context, wells->D, D, squares);
  karst_reason reason = KARST_SOUND;
  karst_index bad = -1;
  if (!status && squares > 0) status = backend->wells->factor(context, wells, &reason, &bad);
  if (!status) set_outcome(wells, reason, bad);
  return status;
}

karst_reason karst_wells_outcome(const karst_wells *wells, karst_index *well)
{
  if (well) *well = wells ? wells->bad : -1;
  return wells ? wells->reason : KARST_SOUND;
}

int64_t karst_wells_unknowns(const karst_wells *wells) { return wells ? wells->unknowns : 0; }

/* Refuses a vector of another length or context, and wells with an outcome. */
static karst_status check_vector(const karst_wells *wells, const karst_vector *vector, int64_t length, const char *name)
{
  if (wells->reason != KARST_SOUND) return karst_fail(wells->context, KARST_ERROR_ARGUMENT, "%s", wells->explanation);
  if (vector && vector->context == wells->context && vector->length == length) return KARST_SUCCESS;
  return karst_fail(wells->context, KARST_ERROR_ARGUMENT,
                    "the vector %s of the wells is NULL or does not have %lld scalars", name, (long long)length);
}

karst_status karst_wells_eliminate(karst_wells *wells, const karst_vector *g, karst_vector *b)
{
  if (!wells) return karst_missing(g ? g->context : b ? b->context : NULL, "the wells");
  karst_wells_view view;
  karst_status status = check_vector(wells, g, wells->unknowns, "g");
  if (!status) status = check_vector(wells, b, (int64_t)wells->block_rows * wells->block_size, "b");
  if (status) return status;
  view = karst_wells_view_of(wells, wells->space);
  wells->context->backend->wells->solve(wells->context, &view, -1, g->values, NULL, view.space);
  wells->context->backend->wells->add(wells->context, &view, -1, view.space, b->values);
  return KARST_SUCCESS;
}

karst_status karst_wells_recover(karst_wells *wells, const karst_vector *g, const karst_vector *x, karst_vector *w)
{
  if (!wells) return karst_missing(x ? x->context : w ? w->context : NULL, "the wells");
  karst_status status = g ? check_vector(wells, g, wells->unknowns, "g") : KARST_SUCCESS;
  if (!status) status = check_vector(wells, x, (int64_t)wells->block_rows * wells->block_size, "x");
  if (!status) status = check_vector(wells, w, wells->unknowns, "w");
  if (!status && ((g && karst_vectors_overlap(g, w)) || karst_vectors_overlap(x, w)))
    status = karst_fail(wells->context, KARST_ERROR_ARGUMENT, "the vector w overlaps g or x in memory");
  if (status) return status;
  const karst_wells_view view = karst_wells_view_of(wells, wells->space);
  wells->context->backend->wells->solve(wells->context, &view, -1, g ? g->values : NULL, x->values, w->values);
  return KARST_SUCCESS;
}
