/* residual.c - the ILU residual norm, see ilu_residual.h. Row i of the residual is row i of A, less U_i, less L_ik
 * times row k of U for each k < i of the pattern; a row of the product is gathered in the order in which its columns
 * appear. */
#include "lib/backend/ilu_residual.h"

#include "lib/backend/dense.h"
#include "cpu/ilu/ilu_cpu.h"

static const char what[] = "the ILU residual";

static int64_t scalar_rows(const karst_matrix *F) { return (int64_t)F->block_rows * F->block_size; }

/* Returns the number of blocks of the widest row of L U. Row i of it has the columns of row i of F and, for each row k
 * that row i has on the left of its diagonal, those of row k from the diagonal on. mark [rows] is work space. */
static int64_t widest_product_row(const karst_matrix *F, const karst_index *diagonal, karst_index *mark)
{
  int64_t widest = 1;
  for (karst_index i = 0; i < F->block_rows; i++) mark[i] = -1;
  for (karst_index i = 0; i < F->block_rows; i++) {
    int64_t width = 0;
    for (karst_index k = F->row_start[i]; k < F->row_start[i + 1]; k++) {
      const karst_index p = F->column[k], first = p < i ? diagonal[p] : k, end = p < i ? F->row_start[p + 1] : k + 1;
      width += mark[p] != i;
      mark[p] = i;
      for (karst_index q = first; q < end; q++) {
        width += mark[F->column[q]] != i;
        mark[F->column[q]] = i;
      }
    }
    if (width > widest) widest = width;
  }
  return widest;
}

static karst_status create(const karst_matrix *F, const karst_index *diagonal, karst_ilu_residual *work)
{
  karst_context *context = F->context;
  const int64_t bb = karst_block_offset(F->block_size, 1);
  karst_status status = karst_allocate(context, &work->position, F->block_rows, sizeof *work->position, what);
  if (!status) status = karst_allocate(context, &work->matrix, karst_entries(F), sizeof *work->matrix, what);
  if (!status) status = karst_allocate(context, &work->factors, karst_entries(F), sizeof *work->factors, what);
  if (!status) status = karst_allocate(context, &work->weight, 2 * scalar_rows(F), sizeof *work->weight, what);
  if (!status) status = karst_allocate(context, &work->diagonal, F->block_rows, sizeof *work->diagonal, what);
  if (!status)
    status =
        context->backend->download(context, work->diagonal, diagonal, (size_t)F->block_rows * sizeof *work->diagonal);
  if (status) return status;
  const int64_t widest = widest_product_row(F, work->diagonal, work->position);
  for (karst_index i = 0; i < F->block_rows; i++) work->position[i] = -1;
  status = karst_allocate(context, &work->row, bb * widest, sizeof *work->row, what);
  return status ? status : karst_allocate(context, &work->column, widest, sizeof *work->column, what);
}

static void destroy(karst_context *context, karst_ilu_residual *work)
{
  karst_release(context, work->matrix);
  karst_release(context, work->factors);
  karst_release(context, work->weight);
  karst_release(context, work->row);
  karst_release(context, work->column);
  karst_release(context, work->diagonal);
  karst_release(context, work->position);
}

/* Returns the block of column j in the current row; a new block is zero. */
static double *block_of(int b, karst_index j, karst_ilu_residual *work, karst_index *count)
{
  const int64_t bb = (int64_t)b * b;
  if (work->position[j] < 0) {
    work->position[j] = *count;
    work->column[*count] = j;
    for (int64_t v = 0; v < bb; v++) work->row[*count * bb + v] = 0;
    (*count)++;
  }
  return work->row + work->position[j] * bb;
}

/* Makes row i of F - L U and returns the number of its blocks. */
static karst_index make_row(const karst_matrix *F, karst_index i, karst_ilu_residual *work)
{
  const int b = F->block_size;
  const int64_t bb = (int64_t)b * b;
  karst_index count = 0;
  for (karst_index k = F->row_start[i]; k < F->row_start[i + 1]; k++) {
    const karst_index p = F->column[k];
    const double *factor = work->factors + k * bb;
    double *block = block_of(b, p, work, &count);
    for (int64_t v = 0; v < bb; v++) block[v] += work->matrix[k * bb + v] - (p < i ? 0 : factor[v]);
    for (karst_index q = work->diagonal[p]; p < i && q < F->row_start[p + 1]; q++)
      karst_block_subtract_multiply(b, factor, work->factors + q * bb, block_of(b, F->column[q], work, &count));
  }
  return count;
}

/* Returns the weighted sum of the squares of the current row, and clears the row. */
static double take_row(const karst_matrix *F, karst_index i, karst_index count, const karst_ilu_residual *work)
{
  const int64_t b = F->block_size, n = scalar_rows(F);
  double sum = 0;
  for (karst_index k = 0; k < count; k++) {
    const karst_index j = work->column[k];
    for (int64_t v = 0; v < b * b; v++) {
      double entry = work->weight[i * b + v % b] * work->row[k * b * b + v] * work->weight[n + j * b + v / b];
      sum += entry * entry;
    }
    work->position[j] = -1;
  }
  return sum;
}

static karst_status compute_norm(const karst_matrix *F, const double *value, karst_ilu_residual *work, double *norm)
{
  karst_context *context = F->context;
  const size_t bytes = (size_t)karst_entries(F) * sizeof *value;
  const int64_t b = F->block_size, n = scalar_rows(F);
  karst_status status = context->backend->download(context, work->matrix, F->value, bytes);
  if (!status) status = context->backend->download(context, work->factors, value, bytes);
  if (status) return status;
  for (karst_index i = 0; i < F->block_rows; i++)
    karst_block_weights(F->block_size, work->matrix + work->diagonal[i] * b * b, work->weight + i * b,
                        work->weight + n + i * b);
  double sum = 0;
  for (karst_index i = 0; i < F->block_rows; i++) sum += take_row(F, i, make_row(F, i, work), work);
  *norm = sqrt(sum);
  return KARST_SUCCESS;
}

const struct karst_ilu_residual_kernels karst_ilu_residual_kernels_cpu = {
    .create = create,
    .destroy = destroy,
    .norm = compute_norm,
};
