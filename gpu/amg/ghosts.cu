/* ghosts.cu - what levels that ranks share need besides: their square matrices, and interpolations with the rows of
 * ghosts. It runs once a hierarchy, a thread a row. */
#include "gpu/amg/amg_cuda.h"

namespace
{

enum { THREADS = 256 };

/* count[i]: the entries of row i that are not in columns of ghosts, and 0 behind the last row. */
__global__ void count_square(karst_amg_view<void> A, karst_index *count)
{
  const int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  karst_index found = 0;
  if (i > A.rows) return;
  for (karst_index e = i < A.rows ? A.start[i] : 0; i < A.rows && e < A.start[i + 1]; e++)
    found += A.column[e] < A.rows;
  count[i] = found;
}

template <typename T>
__global__ void fill_square(karst_amg_view<T> A, const karst_index *start, karst_index *column, T *value)
{
  const int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  double ghosts = 0;
  karst_index diagonal = -1;
  if (i >= A.rows) return;
  karst_index at = start[i];
  for (karst_index e = A.start[i]; e < A.start[i + 1]; e++) {
    if (A.column[e] >= A.rows) {
      ghosts += A.value[e];
      continue;
    }
    if (A.column[e] == i) diagonal = at;
    column[at] = A.column[e];
    value[at++] = A.value[e];
  }
  if (diagonal >= 0) value[diagonal] = (T)(value[diagonal] + ghosts);
}

/* Appends rows: start[i] = before + rows[i], i <= count, where rows are on the device. */
__global__ void append_starts(karst_index count, karst_index before, const karst_index *rows, karst_index *start)
{
  const int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (i <= count) start[i] = before + rows[i];
}

template <typename T> __global__ void convert(int64_t count, const double *from, T *to)
{
  const int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (i < count) to[i] = (T)from[i];
}

/* Work space with the arrays of the rows to append. */
struct arrays {
  karst_index *start;
  double *value;
};

karst_status upload_rows(karst_context *context, const karst_amg_matrix *rows, const char *what, const karst_amg *amg,
                         const karst_amg_matrix *P, karst_amg_matrix *all, arrays *work)
{
  cudaStream_t stream = karst_cuda_of(context)->stream;
  const int64_t count = rows->entries, scalar = (int64_t)karst_amg_scalar(amg);
  karst_status status = karst_cuda_upload_work(context, (int64_t)rows->rows + 1, rows->row_start, what, &work->start);
  if (!status)
    status = karst_cuda_upload_work(context, count, static_cast<const double *>(rows->value), what, &work->value);
  if (!status && count > 0)
    status =
        context->backend->upload(context, all->column + P->entries, rows->column, (size_t)count * sizeof *all->column);
  if (status) return status;
  cudaMemcpyAsync(all->row_start, P->row_start, (size_t)P->rows * sizeof *P->row_start, cudaMemcpyDeviceToDevice,
                  stream);
  append_starts<<<karst_cuda_grid((int64_t)rows->rows + 1, THREADS), THREADS, 0, stream>>>(
      rows->rows, (karst_index)P->entries, work->start, all->row_start + P->rows);
  cudaMemcpyAsync(all->column, P->column, (size_t)P->entries * sizeof *P->column, cudaMemcpyDeviceToDevice, stream);
  cudaMemcpyAsync(all->value, P->value, (size_t)(P->entries * scalar), cudaMemcpyDeviceToDevice, stream);
  karst_amg_typed(amg, [&](auto zero) {
    convert<<<karst_cuda_grid(count, THREADS), THREADS, 0, stream>>>(
        count, work->value, static_cast<decltype(zero) *>(all->value) + P->entries);
  });
  return KARST_SUCCESS;
}

} // namespace

karst_status karst_amg_square_cuda(karst_context *context, const karst_amg *amg, const karst_amg_matrix *A,
                                   karst_amg_matrix *square)
{
  static const char what[] = "the square matrix of a multigrid level";
  cudaStream_t stream = karst_cuda_of(context)->stream;
  const unsigned grid = karst_cuda_grid((int64_t)A->rows + 1, THREADS);
  square->rows = square->columns = A->rows;
  karst_status status = karst_amg_take_cuda(context, amg, (int64_t)A->rows + 1, what, &square->row_start);
  if (status) return status;
  const karst_amg_view<void> view = {A->rows, A->columns, A->row_start, A->column};
  count_square<<<grid, THREADS, 0, stream>>>(view, square->row_start);
  status = karst_amg_sum_rows_cuda(context, square);
  if (!status) status = karst_amg_take_entries_cuda(context, amg, what, square);
  if (status) return status;
  karst_amg_typed(amg, [&](auto zero) {
    using T = decltype(zero);
    fill_square<<<grid, THREADS, 0, stream>>>(karst_amg_view_of<T>(A), square->row_start, square->column,
                                              static_cast<T *>(square->value));
  });
  return KARST_SUCCESS;
}

karst_status karst_amg_append_cuda(karst_context *context, const karst_amg *amg, const karst_amg_matrix *rows,
                                   karst_index columns, karst_amg_matrix *P)
{
  static const char what[] = "the interpolation of ghosts";
  karst_amg_matrix all = {};
  arrays work = {};
  all.rows = P->rows + rows->rows;
  all.columns = columns;
  all.entries = P->entries + rows->entries;
  all.longest = P->longest > rows->longest ? P->longest : rows->longest;
  karst_status status = karst_amg_take_cuda(context, amg, (int64_t)all.rows + 1, what, &all.row_start);
  if (!status) status = karst_amg_take_entries_cuda(context, amg, what, &all);
  if (!status) status = upload_rows(context, rows, what, amg, P, &all, &work);
  karst_cuda_work_release(context, work.start);
  karst_cuda_work_release(context, work.value);
  karst_amg_matrix *unused = status ? &all : P;
  karst_cuda_work_release(context, unused->row_start);
  karst_cuda_work_release(context, unused->column);
  karst_cuda_work_release(context, unused->value);
  if (!status) *P = all;
  return status;
}
