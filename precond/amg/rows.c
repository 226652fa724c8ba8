/* rows.c - rows of matrices that ranks send each other while a hierarchy is made; see amg_ranks.h. */
#include "lib/base/search.h"
#include "precond/amg/amg_ranks.h"

#include <stdlib.h>
#include <string.h>

static const char *const what = "multigrid rows of other ranks";

/* An entry as ranks send it: the column, and the bits of the value. */
enum { VALUE = sizeof(double) / sizeof(karst_index), ENTRY = 1 + VALUE };

struct parcel {
  karst_index *send_start, *receive_start; /* [neighbours + 1] where the entries for each and of each begin */
  karst_index *sent, *received;            /* the entries */
};

karst_status karst_amg_fetch_first(karst_context *context, const karst_amg *amg, const karst_amg_matrix *matrix,
                                   karst_index rows, karst_amg_matrix *host)
{
  karst_index *row;
  karst_status status = karst_allocate(context, &row, rows, sizeof *row, what);
  for (karst_index i = 0; i < rows && !status; i++) row[i] = i;
  if (!status) status = context->backend->amg->fetch(context, amg, matrix, rows, row, host);
  karst_release(context, row);
  return status;
}

void karst_amg_rows_release(karst_context *context, karst_amg_matrix *rows)
{
  karst_release(context, rows->row_start);
  karst_release(context, rows->column);
  karst_release(context, rows->value);
  *rows = (karst_amg_matrix){0};
}

/* Exchanges the lengths of rows, into the row starts of those received. */
static karst_status exchange_lengths(karst_context *context, karst_status status, const karst_lists *lists,
                                     const karst_amg_matrix *sent, karst_amg_matrix *received)
{
  const karst_index rows = lists->receive_start[lists->neighbours];
  karst_index *length = NULL;
  if (!status) status = karst_allocate(context, &length, sent->rows, sizeof *length, what);
  if (!status)
    status = karst_allocate_zero(context, &received->row_start, (int64_t)rows + 1, sizeof(karst_index), what);
  received->rows = rows;
  for (karst_index i = 0; i < sent->rows && !status; i++) length[i] = sent->row_start[i + 1] - sent->row_start[i];
  status = karst_lists_exchange(context, status, lists, length, received->row_start ? received->row_start + 1 : NULL);
  karst_release(context, length);
  return status;
}

/* Sums lengths to starts, and takes memory for the entries. */
static karst_status prepare(karst_context *context, const karst_lists *lists, const karst_amg_matrix *sent,
                            karst_amg_matrix *received, struct parcel *p)
{
  const int64_t ends = (int64_t)lists->neighbours + 1;
  double *value = NULL;
  int64_t entries = 0;
  for (karst_index i = 0; i < received->rows; i++) {
    const karst_index length = received->row_start[i + 1];
    if (length > received->longest) received->longest = length;
    entries += length;
    received->row_start[i + 1] = entries <= KARST_INDEX_MAX ? (karst_index)entries : 0;
  }
  received->entries = entries;
  if (entries > KARST_INDEX_MAX)
    return karst_fail(context, KARST_ERROR_INDEX_OVERFLOW, "%s have more entries than an index counts", what);
  karst_status status = karst_allocate(context, &p->send_start, ends, sizeof(karst_index), what);
  if (!status) status = karst_allocate(context, &p->receive_start, ends, sizeof(karst_index), what);
  for (int n = 0; n < ends && !status; n++) {
    p->send_start[n] = sent->row_start[lists->send_start[n]];
    p->receive_start[n] = received->row_start[lists->receive_start[n]];
  }
  if (!status) status = karst_allocate(context, &p->sent, sent->entries * ENTRY, sizeof *p->sent, what);
  if (!status) status = karst_allocate(context, &p->received, entries * ENTRY, sizeof *p->received, what);
  if (!status) status = karst_allocate(context, &received->column, entries, sizeof(karst_index), what);
  if (!status) status = karst_allocate(context, &value, entries, sizeof *value, what);
  received->value = value;
  return status;
}

karst_status karst_amg_exchange_rows(karst_context *context, karst_status status, const karst_lists *lists,
                                     const karst_amg_matrix *sent, karst_amg_matrix *received)
{
  struct parcel p = {0};
  *received = (karst_amg_matrix){0};
  status = karst_ranks_agree(context, status);
  if (status) return status;
  status = exchange_lengths(context, status, lists, sent, received);
  if (!status) {
    status = prepare(context, lists, sent, received, &p);
    for (int64_t k = 0; k < sent->entries && !status; k++) {
      p.sent[k * ENTRY] = sent->column[k];
      memcpy(p.sent + k * ENTRY + 1, (const double *)sent->value + k, sizeof(double));
    }
    const karst_lists entries = {lists->neighbours, lists->rank, ENTRY, p.send_start, p.receive_start};
    status = karst_lists_exchange(context, status, &entries, p.sent, p.received);
  }
  for (int64_t k = 0; !status && k < received->entries; k++) {
    received->column[k] = p.received[k * ENTRY];
    memcpy((double *)received->value + k, p.received + k * ENTRY + 1, sizeof(double));
  }
  karst_release(context, p.send_start);
  karst_release(context, p.receive_start);
  karst_release(context, p.sent);
  karst_release(context, p.received);
  return status;
}

/* ---- columns among the rows of all ranks, and on this rank ---- */

void karst_amg_globalise(karst_amg_range own, const karst_index *ghost, const karst_amg_matrix *rows)
{
  const karst_index count = own.end - own.begin;
  for (int64_t k = 0; k < rows->entries; k++)
    rows->column[k] = rows->column[k] < count ? own.begin + rows->column[k] : ghost[rows->column[k] - count];
}

struct entry {
  karst_index column;
  double value;
};

static int compare_entries(const void *a, const void *b)
{
  const struct entry *one = a, *other = b;
  return (one->column > other->column) - (one->column < other->column);
}

karst_status karst_amg_localise(karst_context *context, karst_amg_range own, const karst_amg_part *part,
                                karst_index diagonal, karst_amg_matrix *rows)
{
  struct entry *entry;
  double *value = rows->value;
  karst_index at = 0, begin = 0;
  karst_status status = karst_allocate(context, &entry, rows->longest, sizeof *entry, what);
  for (karst_index i = 0; i < rows->rows && !status; i++) {
    const karst_index end = rows->row_start[i + 1];
    karst_index count = 0, on_diagonal = -1;
    double rest = 0;
    for (karst_index k = begin; k < end; k++) {
      const karst_index column = rows->column[k], is_own = column >= own.begin && column < own.end;
      const karst_index found = is_own ? column - own.begin : karst_find_column(part->ghost, 0, part->ghosts, column);
      if (found < 0)
        rest += value[k];
      else
        entry[count++] = (struct entry){is_own ? found : own.end - own.begin + found, value[k]};
    }
    if (count > 0) qsort(entry, (size_t)count, sizeof *entry, compare_entries);
    for (karst_index k = 0; k < count; k++) {
      rows->column[at + k] = entry[k].column;
      value[at + k] = entry[k].value;
      if (diagonal >= 0 && entry[k].column == diagonal + i) on_diagonal = at + k;
    }
    if (on_diagonal >= 0) value[on_diagonal] += rest;
    at += count;
    begin = end;
    rows->row_start[i + 1] = at;
  }
  rows->entries = at;
  karst_release(context, entry);
  return status;
}

karst_status karst_amg_add_ghosts(karst_context *context, karst_amg_range own, const karst_amg_matrix *rows,
                                  karst_amg_part *part, karst_index **place)
{
  const int64_t most = rows->entries + part->ghosts;
  karst_index *ghost = NULL, count = 0;
  karst_status status = karst_allocate(context, &ghost, most, sizeof *ghost, what);
  if (!status) status = karst_allocate(context, place, part->ghosts, sizeof **place, what);
  if (status) {
    karst_release(context, ghost);
    return status;
  }
  for (karst_index g = 0; g < part->ghosts; g++) ghost[count++] = part->ghost[g];
  for (int64_t k = 0; k < rows->entries; k++)
    if (rows->column[k] < own.begin || rows->column[k] >= own.end) ghost[count++] = rows->column[k];
  const karst_index ghosts = karst_lists_sort(count, ghost);
  for (karst_index g = 0; g < part->ghosts; g++) (*place)[g] = karst_find_column(ghost, 0, ghosts, part->ghost[g]);
  karst_release(context, part->ghost);
  part->ghost = ghost;
  part->ghosts = ghosts;
  return KARST_SUCCESS;
}
