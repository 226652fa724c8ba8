/* profile_backend.c - times the operations of a backend one by one, with the least bytes that each moves: every array
 * of its arguments is read or written once, and scalars count nothing. */
#include "lib/backend/backend.h"
#include "lib/matrix/matrix.h"
#include "lib/profile/profile.h"

static double of_scalars(int64_t count) { return (double)count * sizeof(double); }

static double of_indices(int64_t count) { return (double)count * sizeof(karst_index); }

static double of_pattern(const karst_matrix *A)
{
  return of_indices(karst_matrix_blocks(A) + (int64_t)A->block_rows + 1);
}

/* count vectors with a scalar for each row of the matrix. */
static double of_vectors(const karst_matrix *A, int count) { return count * of_scalars(karst_matrix_rows(A)); }

static double of_diagonal(const karst_matrix *A)
{
  return of_scalars(karst_block_offset(A->block_size, A->block_rows));
}

/* A matrix and count such vectors. */
static double of_product(const karst_matrix *A, int count)
{
  return of_scalars(karst_entries(A)) + of_pattern(A) + of_vectors(A, count);
}

/* Host memory counts only if it is the device's memory. */
static double of_transfer(const karst_context *context, size_t bytes)
{
  return (karst_profile_backend(context)->host_memory ? 2 : 1) * (double)bytes;
}

static double of_permutation(karst_index count, int b)
{
  return of_indices(count) + of_scalars(2 * (int64_t)b * count);
}

/* How many of count vectors are neither x nor y. */
static int count_others(int count, const double *const *with, const double *x, const double *y)
{
  int others = 0;
  for (int i = 0; i < count; i++) others += with[i] != x && with[i] != y;
  return others;
}

/* Begins an operation, and returns the table with its function. */
static const struct karst_backend *begin(karst_context *context, const char *what, double bytes, karst_timing *timing)
{
  karst_profile_begin(context, what, NULL, bytes, timing);
  return karst_profile_backend(context);
}

/* Defines the function OPERATION(context, PARAMETERS). It calls the backend's operation with ARGUMENTS, between the
 * beginning and the end of the row WHAT, and adds BYTES to the row. TIMED_STATUS is for operations that return a
 * status. */
#define TIMED(OPERATION, WHAT, BYTES, ARGUMENTS, ...)                                                                  \
  static void OPERATION(karst_context *context, __VA_ARGS__)                                                           \
  {                                                                                                                    \
    karst_timing timing;                                                                                               \
    begin(context, WHAT, BYTES, &timing)->OPERATION ARGUMENTS;                                                         \
    karst_profile_end(&timing);                                                                                        \
  }
#define TIMED_STATUS(OPERATION, WHAT, BYTES, ARGUMENTS, ...)                                                           \
  static karst_status OPERATION(karst_context *context, __VA_ARGS__)                                                   \
  {                                                                                                                    \
    karst_timing timing;                                                                                               \
    const karst_status status = begin(context, WHAT, BYTES, &timing)->OPERATION ARGUMENTS;                             \
    karst_profile_end(&timing);                                                                                        \
    return status;                                                                                                     \
  }

TIMED_STATUS(upload, "upload", of_transfer(context, bytes), (context, to, host, bytes), void *to, const void *host,
             size_t bytes)

TIMED_STATUS(download, "download", of_transfer(context, bytes), (context, host, from, bytes), void *host,
             const void *from, size_t bytes)

TIMED(copy, "copy", x == y ? 0 : of_scalars(2 * n), (context, n, x, y), int64_t n, const double *x, double *y)

TIMED(fill, "fill", of_scalars(n), (context, n, value, x), int64_t n, double value, double *x)

TIMED(dots, "dot products", of_scalars((1 + count_others(count, x, y, y)) * n), (context, n, count, x, y, result),
      int64_t n, int count, const double *const *x, const double *y, double *result)

TIMED(combine, "linear combination", of_scalars((count + 2) * n),
      (context, n, count, sign, coefficient, x, beta, y, norm2), int64_t n, int count, double sign,
      const double *coefficient, const double *const *x, const double *beta, double *y, double *norm2)

TIMED(normalise, "normalise", of_scalars(2 * n), (context, n, norm2, x, y), int64_t n, const double *norm2,
      const double *x, double *y)

TIMED(quotient, "scalars", 0, (context, sign, a, b, c, d, result), double sign, const double *a, const double *b,
      const double *c, const double *d, double *result)

TIMED(step, "linear combination", of_scalars((with ? 4 : 3) * n),
      (context, n, a, b, step_length, x, y, norm2, with, dot), int64_t n, const double *a, const double *b,
      double *step_length, const double *x, double *y, double *norm2, const double *with, double *dot)

TIMED(turn, "linear combination", of_scalars(5 * n), (context, n, step_length, a, b, z, p, x), int64_t n,
      const double *step_length, const double *a, const double *b, const double *z, double *p, double *x)

TIMED(turn_stabilised, "linear combination", of_scalars(4 * n), (context, n, a, b, alpha, omega, v, r, p), int64_t n,
      const double *a, const double *b, const double *alpha, const double *omega, const double *v, const double *r,
      double *p)

TIMED(gather, "gather", of_permutation(count, b), (context, count, b, index, x, y), karst_index count, int b,
      const karst_index *index, const double *x, double *y)

TIMED(scatter, "scatter", of_permutation(count, b), (context, count, b, index, x, y), karst_index count, int b,
      const karst_index *index, const double *x, double *y)

/* Reads and writes the pattern, and writes the source of each block. */
TIMED_STATUS(permute, "permute pattern",
             2 * of_pattern(A) + of_indices(karst_matrix_blocks(A) + (int64_t)A->block_rows),
             (context, A, permutation, permuted), const karst_matrix *A, const karst_index *permutation,
             karst_permuted *permuted)

TIMED(multiply, "matrix product", of_product(A, 2), (context, A, x, y), const karst_matrix *A, const double *x,
      double *y)

TIMED(multiply_dots, "matrix product", of_product(A, 2 + count_others(count, with, x, y)),
      (context, A, x, y, count, with, result), const karst_matrix *A, const double *x, double *y, int count,
      const double *const *with, double *result)

TIMED(residual, "residual", of_product(A, 3), (context, A, b, x, r, norm2), const karst_matrix *A, const double *b,
      const double *x, double *r, double *norm2)

TIMED(residual_bounded, "residual with bound", of_product(A, 4), (context, A, b, x, r, size, norm2),
      const karst_matrix *A, const double *b, const double *x, double *r, double *size, double *norm2)

TIMED(residual_precise, "precise residual", of_product(A, 3), (context, A, b, x, r, norm2), const karst_matrix *A,
      const double *b, const double *x, double *r, double *norm2)

TIMED_STATUS(invert_diagonal, "invert diagonal", 2 * of_diagonal(A) + of_indices(A->block_rows),
             (context, A, diagonal, inverse, reason, block_row), const karst_matrix *A, const karst_index *diagonal,
             double *inverse, karst_reason *reason, karst_index *block_row)

TIMED(multiply_diagonal, "diagonal blocks product", of_scalars(karst_block_offset(b, count) + 2 * (int64_t)b * count),
      (context, count, b, S, x, y), karst_index count, int b, const double *S, const double *x, double *y)

TIMED(scale_rows, "scale matrix",
      of_scalars(2 * karst_entries(A)) + of_diagonal(A) + of_indices((int64_t)A->block_rows + 1), (context, A, S),
      karst_matrix *A, const double *S)

TIMED(diagonal_scale, "make scaling", of_vectors(A, 2) + of_indices(A->block_rows), (context, A, diagonal, d),
      const karst_matrix *A, const karst_index *diagonal, double *d)

TIMED(scale_symmetric, "scale matrix", of_scalars(karst_entries(A)) + of_product(A, 1), (context, A, d),
      karst_matrix *A, const double *d)

TIMED(multiply_elements, "scale vector", of_scalars(3 * n), (context, n, d, x, y), int64_t n, const double *d,
      const double *x, double *y)

TIMED(divide_elements, "scale vector", of_scalars(3 * n), (context, n, d, x, y), int64_t n, const double *d,
      const double *x, double *y)

/* The table of a backend with these functions in it. */
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
