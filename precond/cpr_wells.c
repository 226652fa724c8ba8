/* cpr_wells.c - see cpr_wells.h: the pattern, and the places of its entries. */
#include "precond/cpr_wells.h"

#include "lib/base/search.h"
#include "lib/grid/grid.h"

#include <stdlib.h>

static const char *const what = "the pressure system with wells";

/* The pattern under construction, in host memory. */
struct pattern {
  const karst_matrix *A;
  const karst_wells_view *view;
  karst_index *row_start, *column; /* of all rows */
  karst_index *position;           /* [blocks of A] */
  karst_index *last;               /* [rows of A] 1 + the last well that was seen in a row */
  karst_index *of_cell, *of_well, *own;
};

/* Counts the entries of each row in row_start[row + 1], and sums them up. A well that is open to a cell several times
 * has one entry for it. */
static void count_entries(struct pattern *p)
{
  const karst_wells *wells = p->view->wells;
  const karst_index cells = p->A->block_rows;
  for (karst_index i = 0; i < cells; i++) p->row_start[i + 1] = p->A->row_start[i + 1] - p->A->row_start[i];
  for (karst_index w = 0; w < wells->count; w++) {
    const karst_well *well = wells->host_well + w;
    p->row_start[cells + w + 1] = 1;
    for (karst_index k = well->first; k < well->first + well->count; k++) {
      const karst_index i = p->view->host_cell[k];
      if (p->last[i] == w + 1) continue;
      p->last[i] = w + 1;
      p->row_start[i + 1]++;
      p->row_start[cells + w + 1]++;
    }
  }
  for (karst_index i = 0; i < cells + wells->count; i++) p->row_start[i + 1] += p->row_start[i];
}

static int compare(const void *a, const void *b)
{
  const karst_index x = *(const karst_index *)a, y = *(const karst_index *)b;
  return (x > y) - (x < y);
}

/* Writes the row of well w, and the entries of its cells' rows, which follow those of earlier wells. last[i]: the place
 * of the next entry of row i. */
static void fill_well(struct pattern *p, karst_index w)
{
  const karst_well *well = p->view->wells->host_well + w;
  const karst_index row = p->A->block_rows + w, first = p->row_start[row];
  const karst_index *cell = p->view->host_cell + well->first;
  karst_index end = first;
  for (karst_index k = 0; k < well->count; k++) {
    const karst_index i = cell[k], at = p->last[i];
    const bool again = at > p->row_start[i] && p->column[at - 1] == row; /* the well is open to this cell already */
    p->of_cell[well->first + k] = again ? at - 1 : at;
    if (again) continue;
    p->column[p->last[i]++] = row;
    p->column[end++] = i;
  }
  qsort(p->column + first, (size_t)(end - first), sizeof *p->column, compare);
  p->own[w] = end;
  p->column[end] = row;
  for (karst_index k = 0; k < well->count; k++)
    p->of_well[well->first + k] = karst_find_column(p->column, first, end, cell[k]);
}

static void fill_pattern(struct pattern *p)
{
  const karst_matrix *A = p->A;
  for (karst_index i = 0; i < A->block_rows; i++) {
    karst_index at = p->row_start[i];
    for (karst_index k = A->row_start[i]; k < A->row_start[i + 1]; k++, at++) {
      p->column[at] = A->column[k];
      p->position[k] = at;
    }
    p->last[i] = at;
  }
  for (karst_index w = 0; w < p->view->wells->count; w++) fill_well(p, w);
}

static karst_status allocate(struct pattern *p, int64_t *rows)
{
  karst_context *context = p->A->context;
  const karst_wells *wells = p->view->wells;
  karst_status status;
  *rows = (int64_t)p->A->block_rows + wells->count;
  const int64_t entries = p->A->blocks + 2 * (int64_t)wells->perforations + wells->count;
  if (*rows >= KARST_INDEX_MAX || entries > KARST_INDEX_MAX)
    return karst_fail(context, KARST_ERROR_INDEX_OVERFLOW, "%s has too many entries to count", what);
  if ((status = karst_allocate_zero(context, &p->row_start, *rows + 1, sizeof *p->row_start, what)) ||
      (status = karst_allocate(context, &p->column, entries, sizeof *p->column, what)) ||
      (status = karst_allocate(context, &p->position, p->A->blocks, sizeof *p->position, what)) ||
      (status = karst_allocate_zero(context, &p->last, p->A->block_rows, sizeof *p->last, what)) ||
      (status = karst_allocate(context, &p->of_cell, wells->perforations, sizeof *p->of_cell, what)) ||
      (status = karst_allocate(context, &p->of_well, wells->perforations, sizeof *p->of_well, what)))
    return status;
  return karst_allocate(context, &p->own, wells->count, sizeof *p->own, what);
}

/* Moves the pattern into device memory, as a matrix and the places of entries. */
static karst_status place(struct pattern *p, int64_t rows, karst_cpr_wells *made)
{
  karst_context *context = p->A->context;
  const karst_wells *wells = p->view->wells;
  karst_status status;
  if ((status = karst_device_indices(context, p->A->blocks, p->position, what, &made->position)) ||
      (status = karst_device_indices(context, wells->perforations, p->of_cell, what, &made->entries.of_cell)) ||
      (status = karst_device_indices(context, wells->perforations, p->of_well, what, &made->entries.of_well)) ||
      (status = karst_device_indices(context, wells->count, p->own, what, &made->entries.own)) ||
      (status = karst_device_doubles(context, rows, what, &made->residual)) ||
      (status = karst_device_doubles(context, rows, what, &made->solution)))
    return status;
  context->backend->fill(context, rows, 0, made->residual);
  karst_index *row_start = p->row_start, *column = p->column;
  p->row_start = p->column = NULL; /* the matrix takes them over, also if it fails */
  const karst_index blocks = row_start[rows];
  made->memory = ((int64_t)blocks + rows + p->A->blocks + 2 * wells->perforations) * (int64_t)sizeof(karst_index) +
                 2 * rows * (int64_t)sizeof(double);
  return karst_matrix_adopt(context, (karst_index)rows, 1, rows, row_start, column, NULL, &made->matrix);
}

/* Gives the system the grid of A, if A has one, for methods that follow its lines. Wells are cells of further layers,
 * beyond an empty one, so that they are next to no cell of A. A grid that is then too large is left out. */
static karst_status extend_grid(const karst_matrix *A, karst_matrix *matrix)
{
  const karst_index *own = A->grid.size, wells = matrix->block_rows - A->block_rows;
  karst_index *cell, cells;
  char fault[KARST_FAULT_SIZE];
  if (!karst_has_grid(A)) return KARST_SUCCESS;
  const karst_index layer = own[0] * own[1], layers = 1 + (wells - 1) / layer + 1;
  const karst_index size[3] = {own[0], own[1], own[2] < KARST_INDEX_MAX - layers ? own[2] + layers : 0};
  if (!karst_grid_is_valid(size, &cells, fault)) return KARST_SUCCESS;
  const karst_status status = karst_allocate(A->context, &cell, matrix->block_rows, sizeof *cell, what);
  if (status) return status;
  for (karst_index i = 0; i < A->block_rows; i++) cell[i] = A->grid.cell ? A->grid.cell[i] : i;
  for (karst_index w = 0; w < wells; w++) cell[A->block_rows + w] = layer * (own[2] + 1) + w;
  karst_matrix_adopt_grid(matrix, size, cell);
  return KARST_SUCCESS;
}

karst_status karst_cpr_wells_make(const karst_matrix *A, const karst_wells_view *view, karst_cpr_wells *wells)
{
  karst_context *context = A->context;
  struct pattern p = {.A = A, .view = view};
  int64_t rows;
  *wells = (karst_cpr_wells){0};
  karst_status status = karst_matrix_fetch_pattern(A);
  if (!status) status = allocate(&p, &rows);
  if (!status) {
    count_entries(&p);
    fill_pattern(&p);
    status = place(&p, rows, wells);
  }
  if (!status) status = extend_grid(A, wells->matrix);
  void *const host[] = {p.row_start, p.column, p.position, p.last, p.of_cell, p.of_well, p.own};
  for (size_t i = 0; i < sizeof host / sizeof *host; i++) karst_release(context, host[i]);
  return status;
}

void karst_cpr_wells_update(const karst_wells_view *view, const karst_cpr *cpr, const karst_matrix *pressure,
                            karst_cpr_wells *wells)
{
  karst_context *context = pressure->context;
  const struct karst_backend *backend = context->backend;
  backend->scatter(context, (karst_index)pressure->blocks, 1, wells->position, pressure->value, wells->matrix->value);
  backend->wells->pressure(context, view, cpr, &wells->entries, wells->matrix->value);
  wells->matrix->generation++;
}

void karst_cpr_wells_destroy(karst_context *context, karst_cpr_wells *wells)
{
  const struct karst_backend *backend = context->backend;
  karst_matrix_destroy(wells->matrix);
  backend->release(context, wells->position);
  backend->release(context, wells->entries.of_cell);
  backend->release(context, wells->entries.of_well);
  backend->release(context, wells->entries.own);
  backend->release(context, wells->residual);
  backend->release(context, wells->solution);
}
