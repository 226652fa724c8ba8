/* rank_rows.c - see rank_rows.h. */
#include "lib/ranks/rank_rows.h"

#include "lib/base/search.h"

/* Where the blocks of row i of G are; none if the row is not in the boundary. */
struct span {
  karst_index begin, end;
};

static struct span ghosts_of(const karst_halo *halo, karst_index i)
{
  const karst_index row = halo ? karst_find_column(halo->host.row, 0, halo->rows, i) : -1;
  if (row < 0) return (struct span){0, 0};
  return (struct span){halo->host.row_start[row], halo->host.row_start[row + 1]};
}

karst_index karst_rows_length(const karst_rows *rows, karst_index i)
{
  const karst_matrix *A = rows->A;
  const struct span ghosts = ghosts_of(A->halo, i);
  return A->row_start[i + 1] - A->row_start[i] + ghosts.end - ghosts.begin;
}

karst_status karst_rows_view(const karst_matrix *A, karst_rows *rows)
{
  karst_context *context = A->context;
  const karst_halo *halo = A->halo;
  void *ghost = NULL;
  *rows = (karst_rows){.A = A};
  karst_status status = karst_matrix_fetch_pattern(A);
  if (!status) status = karst_matrix_host_value(A, &rows->value);
  if (!status && halo) {
    const size_t bytes = (size_t)karst_block_offset(A->block_size, halo->blocks) * sizeof(double);
    status = context->backend->view(context, halo->value, bytes, "the couplings with ghosts", &ghost);
    rows->ghost = ghost;
  }
  for (karst_index i = 0; i < A->block_rows && !status; i++) {
    const karst_index length = karst_rows_length(rows, i);
    if (length > rows->widest) rows->widest = length;
  }
  return status;
}

void karst_rows_done(karst_rows *rows)
{
  if (rows->A) karst_matrix_host_value_done(rows->A, rows->value);
  if (rows->A && rows->A->halo && rows->ghost != rows->A->halo->value) karst_release(rows->A->context, rows->ghost);
  *rows = (karst_rows){0};
}

karst_index karst_rows_list(const karst_rows *rows, karst_index i, karst_index *column, const double **block)
{
  const karst_matrix *A = rows->A;
  const karst_halo *halo = A->halo;
  const karst_index first = karst_halo_global(halo, 0);
  const struct span ghosts = ghosts_of(halo, i);
  karst_index count = 0, g = ghosts.begin;
  for (; g < ghosts.end && halo->ghost[halo->host.column[g]] < first; g++) {
    column[count] = halo->ghost[halo->host.column[g]];
    block[count++] = rows->ghost + karst_block_offset(A->block_size, g);
  }
  for (karst_index k = A->row_start[i]; k < A->row_start[i + 1]; k++) {
    column[count] = first + A->column[k];
    block[count++] = rows->value + karst_block_offset(A->block_size, k);
  }
  for (; g < ghosts.end; g++) {
    column[count] = halo->ghost[halo->host.column[g]];
    block[count++] = rows->ghost + karst_block_offset(A->block_size, g);
  }
  return count;
}
