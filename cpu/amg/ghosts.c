/* ghosts.c - what levels that ranks share need besides on the CPU: their square matrices, and rows that other ranks have
 * or need. */
#include "cpu/amg/amg_cpu.h"

#include <string.h>

/* Counts the entries of rows first .. last - 1 that are not in columns of ghosts, one element further on. */
static void count_square(const karst_amg_matrix *A, karst_index first, karst_index last, karst_index *row_start)
{
  for (karst_index i = first; i < last; i++) {
    karst_index count = 0;
    for (karst_index k = A->row_start[i]; k < A->row_start[i + 1]; k++) count += A->column[k] < A->rows;
    row_start[i + 1] = count;
  }
}

/* Copies them. Without a diagonal entry the sum of a row is not kept. */
KARST_INLINE void fill_square(bool single, const karst_amg_matrix *A, karst_index first, karst_index last,
                              karst_amg_matrix *square)
{
  for (karst_index i = first; i < last; i++) {
    karst_index at = square->row_start[i], diagonal = -1;
    double ghosts = 0;
    for (karst_index k = A->row_start[i]; k < A->row_start[i + 1]; k++) {
      const double a = karst_amg_value(single, A->value, k);
      if (A->column[k] >= A->rows) {
        ghosts += a;
        continue;
      }
      if (A->column[k] == i) diagonal = at;
      square->column[at] = A->column[k];
      karst_amg_store(single, square->value, at++, a);
    }
    if (diagonal >= 0)
      karst_amg_store(single, square->value, diagonal, karst_amg_value(single, square->value, diagonal) + ghosts);
  }
}

karst_status karst_amg_square_cpu(karst_context *context, const karst_amg *amg, const karst_amg_matrix *A,
                                  karst_amg_matrix *square)
{
  static const char what[] = "the square matrix of a multigrid level";
  square->rows = square->columns = A->rows;
  karst_status status =
      karst_amg_take_cpu(context, &square->row_start, (int64_t)A->rows + 1, sizeof *square->row_start, what);
  if (status) return status;
  karst_piece piece = karst_begin(context, KARST_KIND_ONCE, A->entries);
#pragma omp parallel num_threads(piece.threads)
  {
    const karst_part part = karst_part_rows(&piece, A->rows, A->row_start);
    count_square(A, part.first, part.last, square->row_start);
    karst_part_end(&piece, &part);
  }
  karst_end(context, &piece);
  status = karst_amg_take_matrix_cpu(context, amg, what, square);
  if (status) return status;
  piece = karst_begin(context, KARST_KIND_ONCE, A->entries);
#pragma omp parallel num_threads(piece.threads)
  {
    const karst_part part = karst_part_rows(&piece, A->rows, A->row_start);
    if (amg->single)
      fill_square(true, A, part.first, part.last, square);
    else
      fill_square(false, A, part.first, part.last, square);
    karst_part_end(&piece, &part);
  }
  karst_end(context, &piece);
  return KARST_SUCCESS;
}

/* Whether row i depends strongly on a row that others do not take for C, and on no C row. */
static bool is_lost(const karst_amg_matrix *A, karst_index rows, const karst_index *ghost,
                    const karst_amg_splitting *splitting, karst_index i)
{
  bool lost = false;
  for (karst_index k = A->row_start[i]; k < A->row_start[i + 1]; k++) {
    const karst_index j = A->column[k];
    if (!splitting->strong[k]) continue;
    if (j < rows ? splitting->place[j] >= 0 : ghost[j - rows] >= 0) return false;
    lost = lost || (j >= rows && splitting->place[j] >= 0);
  }
  return lost;
}

void karst_amg_rescue_cpu(karst_context *context, const karst_amg_matrix *A, karst_index rows, const karst_index *ghost,
                          karst_amg_splitting *splitting)
{
  (void)context;
  for (karst_index i = 0; i < rows; i++)
    if (splitting->place[i] < 0 && is_lost(A, rows, ghost, splitting, i)) splitting->place[i] = -2;
}

karst_status karst_amg_fetch_cpu(karst_context *context, const karst_amg *amg, const karst_amg_matrix *matrix,
                                 karst_index count, const karst_index *row, karst_amg_matrix *host)
{
  static const char what[] = "rows of a multigrid level";
  double *value = NULL;
  karst_index at = 0;
  *host = (karst_amg_matrix){.rows = count, .columns = matrix->columns};
  for (karst_index i = 0; i < count; i++) host->entries += matrix->row_start[row[i] + 1] - matrix->row_start[row[i]];
  karst_status status = karst_allocate_zero(context, &host->row_start, (int64_t)count + 1, sizeof(karst_index), what);
  if (!status) status = karst_allocate(context, &host->column, host->entries, sizeof(karst_index), what);
  if (!status) status = karst_allocate(context, &value, host->entries, sizeof *value, what);
  host->value = value;
  for (karst_index i = 0; i < count && !status; i++) {
    for (karst_index k = matrix->row_start[row[i]]; k < matrix->row_start[row[i] + 1]; k++) {
      host->column[at] = matrix->column[k];
      value[at++] = karst_amg_value(amg->single, matrix->value, k);
    }
    host->row_start[i + 1] = at;
  }
  return status;
}

karst_status karst_amg_stack_cpu(karst_context *context, const karst_amg *amg, const karst_amg_matrix *top,
                                 const karst_amg_matrix *below, karst_index columns, karst_amg_matrix *all)
{
  static const char what[] = "a multigrid matrix with rows of other ranks";
  *all = (karst_amg_matrix){.rows = top->rows + below->rows, .columns = columns};
  karst_status status =
      karst_amg_take_cpu(context, &all->row_start, (int64_t)all->rows + 1, sizeof *all->row_start, what);
  if (status) return status;
  for (karst_index i = 0; i < top->rows; i++) all->row_start[i + 1] = top->row_start[i + 1] - top->row_start[i];
  for (karst_index i = 0; i < below->rows; i++)
    all->row_start[top->rows + i + 1] = below->row_start[i + 1] - below->row_start[i];
  status = karst_amg_take_matrix_cpu(context, amg, what, all);
  if (status) return status;
  memcpy(all->column, top->column, (size_t)top->entries * sizeof *all->column);
  memcpy(all->value, top->value, (size_t)top->entries * karst_amg_scalar(amg));
  for (int64_t k = 0; k < below->entries; k++) all->column[top->entries + k] = below->column[k];
  karst_amg_narrow_cpu(context, amg, below->entries, below->value,
                       (char *)all->value + top->entries * (int64_t)karst_amg_scalar(amg));
  return KARST_SUCCESS;
}

karst_status karst_amg_renumber_cpu(karst_context *context, karst_index own, karst_index count,
                                    const karst_index *place, karst_amg_matrix *matrix)
{
  (void)context;
  (void)count;
  for (int64_t k = 0; k < matrix->entries; k++)
    if (matrix->column[k] >= own) matrix->column[k] = own + place[matrix->column[k] - own];
  return KARST_SUCCESS;
}

void karst_amg_widen_cpu(karst_context *context, const karst_amg *amg, int64_t count, const void *from, double *to)
{
  (void)context;
  for (int64_t k = 0; k < count; k++) to[k] = karst_amg_value(amg->single, from, k);
}

void karst_amg_narrow_cpu(karst_context *context, const karst_amg *amg, int64_t count, const double *from, void *to)
{
  (void)context;
  for (int64_t k = 0; k < count; k++) karst_amg_store(amg->single, to, k, from[k]);
}

void karst_amg_add_cpu(karst_context *context, karst_index count, const karst_index *index, const double *x, double *y)
{
  (void)context;
  for (karst_index k = 0; k < count; k++) y[index[k]] += x[k];
}
