/* ghosts.cu - what levels that ranks share need besides: their square matrices, and rows that other ranks have or need. All
 * but the last three functions run once a hierarchy. */
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

/* start[i] = before + from[i] */
__global__ void shift_starts(int64_t count, karst_index before, const karst_index *from, karst_index *start)
{
  const int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (i < count) start[i] = before + from[i];
}

template <typename S, typename T> __global__ void convert(int64_t count, const S *from, T *to)
{
  const int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (i < count) to[i] = (T)from[i];
}

__global__ void renumber_columns(int64_t entries, karst_index own, const karst_index *place, karst_index *column)
{
  const int64_t e = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (e < entries && column[e] >= own) column[e] = own + place[column[e] - own];
}

__global__ void add_parts(karst_index count, const karst_index *index, const double *x, double *y)
{
  const int64_t k = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (k < count) y[index[k]] += x[k];
}

/* Other threads change places from -1 to -2 alone. */
__global__ void rescue_rows(karst_amg_view<void> A, karst_index rows, const karst_index *ghost,
                            const unsigned char *strong, karst_index *place)
{
  const int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  bool lost = false, coarse = false;
  if (i >= rows || place[i] >= 0) return;
  for (karst_index e = A.start[i]; e < A.start[i + 1] && !coarse; e++) {
    const karst_index j = A.column[e];
    if (!strong[e]) continue;
    coarse = j < rows ? place[j] >= 0 : ghost[j - rows] >= 0;
    lost = lost || (j >= rows && place[j] >= 0);
  }
  if (lost && !coarse) place[i] = -2;
}

/* Rows of a matrix, in work space. */
struct picked {
  karst_index *row;    /* [count] */
  karst_index *start;  /* [count + 1] their lengths, and then where they begin */
  karst_index *column; /* [entries] */
  double *value;       /* [entries] */
};

__global__ void count_picked(karst_index count, const karst_index *start, picked p)
{
  const int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (i <= count) p.start[i] = i < count ? start[p.row[i] + 1] - start[p.row[i]] : 0;
}

template <typename T> __global__ void copy_picked(karst_index count, karst_amg_view<T> A, picked p)
{
  const int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (i >= count) return;
  const karst_index from = A.start[p.row[i]];
  for (karst_index k = p.start[i]; k < p.start[i + 1]; k++) {
    p.column[k] = A.column[from + k - p.start[i]];
    p.value[k] = A.value[from + k - p.start[i]];
  }
}

const char *const rows_of_ranks = "rows of a multigrid level";

/* Finds where the rows begin, and takes memory for their entries here and on the host. */
karst_status measure_picked(karst_context *context, const karst_amg_matrix *matrix, picked *p, karst_amg_matrix *host)
{
  double *value = NULL;
  karst_amg_matrix sums = {host->rows, 0, 0, 0, p->start};
  count_picked<<<karst_cuda_grid((int64_t)host->rows + 1, THREADS), THREADS, 0, karst_cuda_of(context)->stream>>>(
      host->rows, matrix->row_start, *p);
  karst_status status = karst_amg_sum_rows_cuda(context, &sums);
  host->entries = sums.entries;
  if (!status) status = karst_cuda_take_work(context, host->entries, rows_of_ranks, &p->column);
  if (!status) status = karst_cuda_take_work(context, host->entries, rows_of_ranks, &p->value);
  if (!status)
    status = karst_allocate(context, &host->row_start, (int64_t)host->rows + 1, sizeof(karst_index), rows_of_ranks);
  if (!status) status = karst_allocate(context, &host->column, host->entries, sizeof(karst_index), rows_of_ranks);
  if (!status) status = karst_allocate(context, &value, host->entries, sizeof *value, rows_of_ranks);
  host->value = value;
  return status;
}

karst_status download_picked(karst_context *context, const picked &p, const karst_amg_matrix *host)
{
  const struct karst_backend *backend = context->backend;
  const size_t entries = (size_t)host->entries;
  karst_status status =
      backend->download(context, host->row_start, p.start, ((size_t)host->rows + 1) * sizeof *p.start);
  if (!status && entries > 0) status = backend->download(context, host->column, p.column, entries * sizeof *p.column);
  if (!status && entries > 0) status = backend->download(context, host->value, p.value, entries * sizeof *p.value);
  return status;
}

/* Copies the arrays of both parts into all, whose memory is there. Work space: start and value of those below. */
karst_status copy_parts(karst_context *context, const karst_amg *amg, const karst_amg_matrix *top,
                        const karst_amg_matrix *below, karst_amg_matrix *all, picked *work)
{
  cudaStream_t stream = karst_cuda_of(context)->stream;
  const int64_t count = below->entries, rows = (int64_t)below->rows + 1, scalar = (int64_t)karst_amg_scalar(amg);
  karst_status status = karst_cuda_upload_work(context, rows, below->row_start, rows_of_ranks, &work->start);
  if (!status)
    status =
        karst_cuda_upload_work(context, count, static_cast<const double *>(below->value), rows_of_ranks, &work->value);
  if (!status && count > 0)
    status = context->backend->upload(context, all->column + top->entries, below->column,
                                      (size_t)count * sizeof *all->column);
  if (status) return status;
  cudaMemcpyAsync(all->row_start, top->row_start, (size_t)top->rows * sizeof *top->row_start, cudaMemcpyDeviceToDevice,
                  stream);
  shift_starts<<<karst_cuda_grid(rows, THREADS), THREADS, 0, stream>>>(rows, (karst_index)top->entries, work->start,
                                                                       all->row_start + top->rows);
  cudaMemcpyAsync(all->column, top->column, (size_t)top->entries * sizeof *top->column, cudaMemcpyDeviceToDevice,
                  stream);
  cudaMemcpyAsync(all->value, top->value, (size_t)(top->entries * scalar), cudaMemcpyDeviceToDevice, stream);
  karst_amg_narrow_cuda(context, amg, count, work->value, static_cast<char *>(all->value) + top->entries * scalar);
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

void karst_amg_rescue_cuda(karst_context *context, const karst_amg_matrix *A, karst_index rows,
                           const karst_index *ghost, karst_amg_splitting *splitting)
{
  const karst_amg_view<void> view = {A->rows, A->columns, A->row_start, A->column};
  rescue_rows<<<karst_cuda_grid(rows, THREADS), THREADS, 0, karst_cuda_of(context)->stream>>>(
      view, rows, ghost, splitting->strong, splitting->place);
}

karst_status karst_amg_fetch_cuda(karst_context *context, const karst_amg *amg, const karst_amg_matrix *matrix,
                                  karst_index count, const karst_index *row, karst_amg_matrix *host)
{
  picked p = {};
  *host = {};
  host->rows = count;
  host->columns = matrix->columns;
  karst_status status = karst_cuda_upload_work(context, count, row, rows_of_ranks, &p.row);
  if (!status) status = karst_cuda_take_work(context, (int64_t)count + 1, rows_of_ranks, &p.start);
  if (!status) status = measure_picked(context, matrix, &p, host);
  if (!status) {
    karst_amg_typed(amg, [&](auto zero) {
      copy_picked<<<karst_cuda_grid(count, THREADS), THREADS, 0, karst_cuda_of(context)->stream>>>(
          count, karst_amg_view_of<decltype(zero)>(matrix), p);
    });
    status = download_picked(context, p, host);
  }
  karst_cuda_work_release(context, p.row, p.start, p.column, p.value);
  return status;
}

karst_status karst_amg_stack_cuda(karst_context *context, const karst_amg *amg, const karst_amg_matrix *top,
                                  const karst_amg_matrix *below, karst_index columns, karst_amg_matrix *all)
{
  picked work = {};
  *all = {};
  all->rows = top->rows + below->rows;
  all->columns = columns;
  all->entries = top->entries + below->entries;
  all->longest = top->longest > below->longest ? top->longest : below->longest;
  karst_status status = karst_amg_take_cuda(context, amg, (int64_t)all->rows + 1, rows_of_ranks, &all->row_start);
  if (!status) status = karst_amg_take_entries_cuda(context, amg, rows_of_ranks, all);
  if (!status) status = copy_parts(context, amg, top, below, all, &work);
  karst_cuda_work_release(context, work.start, work.value);
  return status;
}

karst_status karst_amg_renumber_cuda(karst_context *context, karst_index own, karst_index count,
                                     const karst_index *place, karst_amg_matrix *matrix)
{
  karst_index *work = NULL;
  const karst_status status = karst_cuda_upload_work(context, count, place, rows_of_ranks, &work);
  if (!status)
    renumber_columns<<<karst_cuda_grid(matrix->entries, THREADS), THREADS, 0, karst_cuda_of(context)->stream>>>(
        matrix->entries, own, work, matrix->column);
  karst_cuda_work_release(context, work);
  return status;
}

void karst_amg_widen_cuda(karst_context *context, const karst_amg *amg, int64_t count, const void *from, double *to)
{
  karst_amg_typed(amg, [&](auto zero) {
    convert<<<karst_cuda_grid(count, THREADS), THREADS, 0, karst_cuda_of(context)->stream>>>(
        count, static_cast<const decltype(zero) *>(from), to);
  });
}

void karst_amg_narrow_cuda(karst_context *context, const karst_amg *amg, int64_t count, const double *from, void *to)
{
  karst_amg_typed(amg, [&](auto zero) {
    convert<<<karst_cuda_grid(count, THREADS), THREADS, 0, karst_cuda_of(context)->stream>>>(
        count, from, static_cast<decltype(zero) *>(to));
  });
}

void karst_amg_add_cuda(karst_context *context, karst_index count, const karst_index *index, const double *x, double *y)
{
  add_parts<<<karst_cuda_grid(count, THREADS), THREADS, 0, karst_cuda_of(context)->stream>>>(count, index, x, y);
}
