/* profile_backend.c - the operations of a backend, timed one by one, with the bytes that each moves at least: every
 * array of its arguments is read or written once, and scalars count nothing. */
#include "lib/backend/backend.h"
#include "lib/matrix/matrix.h"
#include "lib/profile/profile.h"

static double of_scalars(int64_t count) { return (double)count * sizeof(double); }

static double of_indices(int64_t count) { return (double)count * sizeof(karst_index); }

static double of_pattern(const karst_matrix *A)
{
  return of_indices(karst_matrix_blocks(A) + (int64_t)A->block_rows + 1);
}

/* So many vectors of the matrix's rows. */
static double of_vectors(const karst_matrix *A, int count) { return count * of_scalars(karst_matrix_rows(A)); }

static double of_diagonal(const karst_matrix *A)
{
  return of_scalars(karst_block_offset(A->block_size, A->block_rows));
}

/* A matrix and so many vectors. */
static double of_product(const karst_matrix *A, int count)
{
  return of_scalars(karst_entries(A)) + of_pattern(A) + of_vectors(A, count);
}

/* The host counts only where its memory is the device's. */
static double of_transfer(const karst_context *context, size_t bytes)
{
  return (karst_profile_backend(context)->host_memory ? 2 : 1) * (double)bytes;
}

static double of_permutation(karst_index count, int b)
{
  return of_indices(count) + of_scalars(2 * (int64_t)b * count);
}

/* An operation begins; returns the table with the function that does it. */
static const struct karst_backend *begin(karst_context *context, const char *what, double bytes, karst_timing *timing)
{
  karst_profile_begin(context, what, NULL, bytes, timing);
  return karst_profile_backend(context);
}

static karst_status upload(karst_context *context, void *to, const void *host, size_t bytes)
{
  karst_timing timing;
  const karst_status status =
      begin(context, "upload", of_transfer(context, bytes), &timing)->upload(context, to, host, bytes);
  karst_profile_end(&timing);
  return status;
}

static karst_status download(karst_context *context, void *host, const void *from, size_t bytes)
{
  karst_timing timing;
  const karst_status status =
      begin(context, "download", of_transfer(context, bytes), &timing)->download(context, host, from, bytes);
  karst_profile_end(&timing);
  return status;
}

static void copy(karst_context *context, int64_t n, const double *x, double *y)
{
  karst_timing timing;
  begin(context, "copy", x == y ? 0 : of_scalars(2 * n), &timing)->copy(context, n, x, y);
  karst_profile_end(&timing);
}

static void fill(karst_context *context, int64_t n, double value, double *x)
{
  karst_timing timing;
  begin(context, "fill", of_scalars(n), &timing)->fill(context, n, value, x);
  karst_profile_end(&timing);
}

static void dots(karst_context *context, int64_t n, int count, const double *const *x, const double *y, double *result)
{
  karst_timing timing;
  int read = 1;
  for (int i = 0; i < count; i++) read += x[i] != y;
  begin(context, "dot products", of_scalars(read * n), &timing)->dots(context, n, count, x, y, result);
  karst_profile_end(&timing);
}

static void combine(karst_context *context, int64_t n, int count, double sign, const double *coefficient,
                    const double *const *x, const double *beta, double *y, double *norm2)
{
  karst_timing timing;
  begin(context, "linear combination", of_scalars((count + 2) * n), &timing)
      ->combine(context, n, count, sign, coefficient, x, beta, y, norm2);
  karst_profile_end(&timing);
}

static void normalise(karst_context *context, int64_t n, const double *norm2, const double *x, double *y)
{
  karst_timing timing;
  begin(context, "normalise", of_scalars(2 * n), &timing)->normalise(context, n, norm2, x, y);
  karst_profile_end(&timing);
}

static void quotient(karst_context *context, double sign, const double *a, const double *b, const double *c,
                     const double *d, double *result)
{
  karst_timing timing;
  begin(context, "scalars", 0, &timing)->quotient(context, sign, a, b, c, d, result);
  karst_profile_end(&timing);
}

static void step(karst_context *context, int64_t n, const double *a, const double *b, double *step_length,
                 const double *x, double *y, double *norm2, const double *with, double *dot)
{
  karst_timing timing;
  begin(context, "linear combination", of_scalars((with ? 4 : 3) * n), &timing)
      ->step(context, n, a, b, step_length, x, y, norm2, with, dot);
  karst_profile_end(&timing);
}

static void turn(karst_context *context, int64_t n, const double *step_length, const double *a, const double *b,
                 const double *z, double *p, double *x)
{
  karst_timing timing;
  begin(context, "linear combination", of_scalars(5 * n), &timing)->turn(context, n, step_length, a, b, z, p, x);
  karst_profile_end(&timing);
}

static void turn_stabilised(karst_context *context, int64_t n, const double *a, const double *b, const double *alpha,
                            const double *omega, const double *v, const double *r, double *p)
{
  karst_timing timing;
  begin(context, "linear combination", of_scalars(4 * n), &timing)
      ->turn_stabilised(context, n, a, b, alpha, omega, v, r, p);
  karst_profile_end(&timing);
}

static void gather(karst_context *context, karst_index count, int b, const karst_index *index, const double *x,
                   double *y)
{
  karst_timing timing;
  begin(context, "gather", of_permutation(count, b), &timing)->gather(context, count, b, index, x, y);
  karst_profile_end(&timing);
}

static void scatter(karst_context *context, karst_index count, int b, const karst_index *index, const double *x,
                    double *y)
{
  karst_timing timing;
  begin(context, "scatter", of_permutation(count, b), &timing)->scatter(context, count, b, index, x, y);
  karst_profile_end(&timing);
}

/* The pattern is read and written, and where each block comes from is written. */
static karst_status permute(karst_context *context, const karst_matrix *A, const karst_index *permutation,
                            karst_permuted *permuted)
{
  karst_timing timing;
  const double bytes = 2 * of_pattern(A) + of_indices(karst_matrix_blocks(A) + (int64_t)A->block_rows);
  const karst_status status =
      begin(context, "permute pattern", bytes, &timing)->permute(context, A, permutation, permuted);
  karst_profile_end(&timing);
  return status;
}

static void multiply(karst_context *context, const karst_matrix *A, const double *x, double *y)
{
  karst_timing timing;
  begin(context, "matrix product", of_product(A, 2), &timing)->multiply(context, A, x, y);
  karst_profile_end(&timing);
}

static void multiply_dots(karst_context *context, const karst_matrix *A, const double *x, double *y, int count,
                          const double *const *with, double *result)
{
  karst_timing timing;
  int vectors = 2;
  for (int i = 0; i < count; i++) vectors += with[i] != x && with[i] != y;
  begin(context, "matrix product", of_product(A, vectors), &timing)
      ->multiply_dots(context, A, x, y, count, with, result);
  karst_profile_end(&timing);
}

static void residual(karst_context *context, const karst_matrix *A, const double *b, const double *x, double *r,
                     double *norm2)
{
  karst_timing timing;
  begin(context, "residual", of_product(A, 3), &timing)->residual(context, A, b, x, r, norm2);
  karst_profile_end(&timing);
}

static void residual_bounded(karst_context *context, const karst_matrix *A, const double *b, const double *x, double *r,
                             double *size, double *norm2)
{
  karst_timing timing;
  begin(context, "residual with bound", of_product(A, 4), &timing)->residual_bounded(context, A, b, x, r, size, norm2);
  karst_profile_end(&timing);
}

static void residual_precise(karst_context *context, const karst_matrix *A, const double *b, const double *x, double *r,
                             double *norm2)
{
  karst_timing timing;
  begin(context, "precise residual", of_product(A, 3), &timing)->residual_precise(context, A, b, x, r, norm2);
  karst_profile_end(&timing);
}

static karst_status invert_diagonal(karst_context *context, const karst_matrix *A, const karst_index *diagonal,
                                    double *inverse, karst_reason *reason, karst_index *block_row)
{
  karst_timing timing;
  const karst_status status = begin(context, "invert diagonal", 2 * of_diagonal(A) + of_indices(A->block_rows), &timing)
                                  ->invert_diagonal(context, A, diagonal, inverse, reason, block_row);
  karst_profile_end(&timing);
  return status;
}

static void multiply_diagonal(karst_context *context, karst_index count, int b, const double *S, const double *x,
                              double *y)
{
  karst_timing timing;
  const int64_t scalars = karst_block_offset(b, count) + 2 * (int64_t)b * count;
  begin(context, "diagonal blocks product", of_scalars(scalars), &timing)
      ->multiply_diagonal(context, count, b, S, x, y);
  karst_profile_end(&timing);
}

static void scale_rows(karst_context *context, karst_matrix *A, const double *S)
{
  karst_timing timing;
  const double bytes = of_scalars(2 * karst_entries(A)) + of_diagonal(A) + of_indices((int64_t)A->block_rows + 1);
  begin(context, "scale matrix", bytes, &timing)->scale_rows(context, A, S);
  karst_profile_end(&timing);
}

static void diagonal_scale(karst_context *context, const karst_matrix *A, const karst_index *diagonal, double *d)
{
  karst_timing timing;
  begin(context, "make scaling", of_vectors(A, 2) + of_indices(A->block_rows), &timing)
      ->diagonal_scale(context, A, diagonal, d);
  karst_profile_end(&timing);
}

static void scale_symmetric(karst_context *context, karst_matrix *A, const double *d)
{
  karst_timing timing;
  begin(context, "scale matrix", of_scalars(karst_entries(A)) + of_product(A, 1), &timing)
      ->scale_symmetric(context, A, d);
  karst_profile_end(&timing);
}

static void multiply_elements(karst_context *context, int64_t n, const double *d, const double *x, double *y)
{
  karst_timing timing;
  begin(context, "scale vector", of_scalars(3 * n), &timing)->multiply_elements(context, n, d, x, y);
  karst_profile_end(&timing);
}

static void divide_elements(karst_context *context, int64_t n, const double *d, const double *x, double *y)
{
  karst_timing timing;
  begin(context, "scale vector", of_scalars(3 * n), &timing)->divide_elements(context, n, d, x, y);
  karst_profile_end(&timing);
}

/* The operations of a backend, each within begin and end. */
static struct karst_backend wrap(const struct karst_backend *backend)
{
  struct karst_backend timed = *backend;
  timed.upload = upload;
  timed.download = download;
  timed.download_begin = NULL; /* each operation ends before the next one begins */
  timed.download_end = NULL;
  timed.copy = copy;
  timed.fill = fill;
  timed.dots = dots;
  timed.combine = combine;
  timed.normalise = normalise;
  timed.quotient = quotient;
  timed.step = backend->step ? step : NULL;
  timed.turn = backend->turn ? turn : NULL;
  timed.turn_stabilised = backend->turn_stabilised ? turn_stabilised : NULL;
  timed.gather = gather;
  timed.scatter = scatter;
  timed.permute = permute;
  timed.multiply = multiply;
  timed.multiply_dots = backend->multiply_dots ? multiply_dots : NULL;
  timed.residual = residual;
  timed.residual_bounded = residual_bounded;
  timed.residual_precise = residual_precise;
  timed.invert_diagonal = invert_diagonal;
  timed.multiply_diagonal = multiply_diagonal;
  timed.scale_rows = scale_rows;
  timed.diagonal_scale = diagonal_scale;
  timed.scale_symmetric = scale_symmetric;
  timed.multiply_elements = multiply_elements;
  timed.divide_elements = divide_elements;
  return timed;
}

karst_status karst_context_profile(karst_context *context, int on)
{
  if (!context) return KARST_ERROR_ARGUMENT;
  if (karst_profile_is_under_way(context))
    return karst_fail(context, KARST_ERROR_ARGUMENT,
                      "the profile cannot be switched from within one of the operations that it times");
  karst_profile_stop(context);
  if (!on) return KARST_SUCCESS;
  const struct karst_backend timed = wrap(context->backend);
  return karst_profile_start(context, &timed);
}
