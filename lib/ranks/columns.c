/* columns.c - see columns.h. */
#include "lib/ranks/columns.h"

static const char *const what = "the columns of all ranks";

/* Sorts the numbers from 0 to count - 1 by their keys, equal ones ascending: those of key i begin at start[i] in
 * sorted, for i <= keys. All in host memory. */
static void sort_numbers(karst_index keys, karst_index count, const karst_index *key, karst_index *start,
                         karst_index *sorted)
{
  for (karst_index i = 0; i <= keys; i++) start[i] = 0;
  for (karst_index k = 0; k < count; k++) start[key[k]]++;
  for (karst_index i = 1; i <= keys; i++) start[i] += start[i - 1];
  for (karst_index k = count - 1; k >= 0; k--) sorted[--start[key[k]]] = k;
}

/* Places a list in device memory and adds its bytes. */
static karst_status place(karst_columns *columns, int64_t count, const karst_index *host, karst_index **device)
{
  columns->memory += count * (int64_t)sizeof *host;
  return karst_device_indices(columns->halo->context, count, host, what, device);
}

/* Lists in host memory, first for the columns of ghosts, and then for the own ones. */
struct lists {
  karst_index *start, *number; /* the sorted numbers, and where those of each column begin */
  karst_index *row;            /* [2 blocks of G] the rows of the blocks by columns, and before that as they are in G */
};

static karst_status list_ghosts(karst_columns *columns, struct lists *l)
{
  const karst_halo *halo = columns->halo;
  const karst_boundary *boundary = &halo->host;
  karst_index *row_of_block = l->row + halo->blocks;
  sort_numbers(halo->ghosts, halo->blocks, boundary->column, l->start, l->number);
  for (karst_index k = 0; k < halo->rows; k++)
    for (karst_index e = boundary->row_start[k]; e < boundary->row_start[k + 1]; e++)
      row_of_block[e] = boundary->row[k];
  for (karst_index e = 0; e < halo->blocks; e++) l->row[e] = row_of_block[l->number[e]];
  karst_status status = place(columns, (int64_t)halo->ghosts + 1, l->start, &columns->start);
  if (!status) status = place(columns, halo->blocks, l->number, &columns->block);
  return status ? status : place(columns, halo->blocks, l->row, &columns->row);
}

static karst_status list_parts(karst_columns *columns, karst_index block_rows, struct lists *l)
{
  const karst_exchange *exchange = columns->halo->exchange;
  columns->parts = exchange->sent;
  sort_numbers(block_rows, exchange->sent, exchange->host_index, l->start, l->number);
  karst_status status = place(columns, (int64_t)block_rows + 1, l->start, &columns->part_start);
  return status ? status : place(columns, exchange->sent, l->number, &columns->part);
}

static karst_status make(karst_columns *columns, karst_index block_rows)
{
  const karst_halo *halo = columns->halo;
  karst_context *context = halo->context;
  const karst_index sent = halo->exchange->sent;
  const int64_t keys = halo->ghosts > block_rows ? halo->ghosts : block_rows;
  const int64_t numbers = halo->blocks > sent ? halo->blocks : sent;
  struct lists l = {0};
  karst_status status = karst_allocate(context, &l.start, keys + 1, sizeof *l.start, what);
  if (!status) status = karst_allocate(context, &l.number, numbers, sizeof *l.number, what);
  if (!status) status = karst_allocate(context, &l.row, 2 * (int64_t)halo->blocks, sizeof *l.row, what);
  if (!status) status = list_ghosts(columns, &l);
  if (!status) status = list_parts(columns, block_rows, &l);
  karst_release(context, l.start);
  karst_release(context, l.number);
  karst_release(context, l.row);
  return status;
}

karst_status karst_columns_create(const karst_halo *halo, karst_index block_rows, karst_columns **columns)
{
  karst_columns *made;
  *columns = NULL;
  karst_status status = karst_allocate_zero(halo->context, &made, 1, sizeof *made, what);
  if (status) return status;
  made->halo = halo;
  status = make(made, block_rows);
  if (status)
    karst_columns_destroy(made);
  else
    *columns = made;
  return status;
}

void karst_columns_destroy(karst_columns *columns)
{
  if (!columns) return;
  karst_context *context = columns->halo->context;
  karst_index *const lists[] = {columns->start, columns->block, columns->row, columns->part_start, columns->part};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) context->backend->release(context, lists[i]);
  karst_release(context, columns);
}
