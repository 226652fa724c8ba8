/* backend.h - what a device can do: memory, vectors, matrices. One const table for each backend.
 *
 * Vectors are double arrays of n scalars in device memory. Scalars that one operation makes and another consumes
 * (dot products, step lengths) stay in device memory too, so that a Krylov iteration needs the host once: it
 * downloads what it must look at. Operations on vectors are queued in order and report no error themselves; a device
 * that failed says so at the next download. On the CPU device memory is host memory and everything is immediate.
 *
 * Sums are taken in an order that depends on n alone, so results have the same bits in every run and for every
 * number of threads. */
#ifndef KARST_LIB_BACKEND_BACKEND_H
#define KARST_LIB_BACKEND_BACKEND_H

#include "lib/backend/machine.h"
#include "lib/base/context.h"

typedef struct karst_permuted karst_permuted; /* matrix.h */

struct karst_backend {
  const char *name;
  bool host_memory; /* device memory is host memory, which the host may read where it is */
  const karst_machine *machine;

  /* The kernel tables of the methods that have some, NULL where the backend has none of them: ilu_kernels.h and
   * others. */
  const struct karst_ilu_kernels *ilu;
  const struct karst_parilu_kernels *parilu;
  const struct karst_fgbilu_kernels *fgbilu;
  const struct karst_dilu_kernels *dilu;
  const struct karst_rrb_kernels *rrb;
  const struct karst_ilu_residual_kernels *ilu_residual; /* of the host's backend, for factors of any; ilu_residual.h */

  /* Device number device of this backend becomes the context's. NULL: there is one device, which needs no opening and
   * has no number. */
  karst_status (*open)(karst_context *context, int device);
  void (*close)(karst_context *context);
  /* A short text such as "cpu, 2 threads" into the context's device_text. */
  void (*describe)(karst_context *context);
  /* The stream on which everything is queued, a cudaStream_t, and another one in its place; waiting for what has been
   * queued. The CPU has no such functions. */
  void *(*stream)(const karst_context *context);
  karst_status (*set_stream)(karst_context *context, void *stream);
  karst_status (*synchronize)(karst_context *context);
  /* A mark in the queue, to be set any number of times, and the seconds that the device has taken from one to a later
   * one, for which the call waits. All four are NULL where operations are complete when they return. */
  karst_status (*mark_create)(karst_context *context, void **mark);
  void (*mark_destroy)(karst_context *context, void *mark);
  void (*mark_set)(karst_context *context, void *mark);
  double (*mark_seconds)(karst_context *context, void *from, void *to);

  /* bytes > 0 of device memory; what: for the error. The content is undefined. */
  karst_status (*allocate)(karst_context *context, size_t bytes, const char *what, void **memory);
  void (*release)(karst_context *context, void *memory);
  karst_status (*upload)(karst_context *context, void *to, const void *host, size_t bytes);
  karst_status (*download)(karst_context *context, void *host, const void *from, size_t bytes);
  /* A download of a few scalars in two steps, between which the device may be given more to do: begin queues it, end
   * waits for what has been queued up to there, and host has the scalars then. Beginning one ends the one before. Both
   * NULL where a download takes no time. */
  karst_status (*download_begin)(karst_context *context, void *host, const void *from, size_t bytes);
  karst_status (*download_end)(karst_context *context);
  /* An array of one memory as the other sees it; what: for the error. place: a host array for the device, view: device
   * memory for the host. *memory and *host are the array itself where both can use it, which then has to stay as long
   * as its place or view is in use; else a complete copy, which the caller gives back: that of place to release, that
   * of view to karst_release. On failure they are NULL. */
  karst_status (*place)(karst_context *context, const void *host, size_t bytes, const char *what, void **memory);
  karst_status (*view)(karst_context *context, const void *memory, size_t bytes, const char *what, void **host);
  void (*copy)(karst_context *context, int64_t n, const double *x, double *y);
  /* A place for one scalar of device memory that nothing else uses during a call of the library: on the CPU, where
   * calls of several threads may be under way, it is the caller's own. */
  double *(*scalar)(karst_context *context, double *own);

  void (*fill)(karst_context *context, int64_t n, double value, double *x);

  /* result[i] = x[i] . y for i < count */
  void (*dots)(karst_context *context, int64_t n, int count, const double *const *x, const double *y, double *result);

  /* y = beta y + sign sum_i coefficient[i] x[i] for i < count; beta NULL stands for 1, and with a 0 y is not read.
   * norm2, unless NULL: y . y of the result. sign is 1 or -1. */
  void (*combine)(karst_context *context, int64_t n, int count, double sign, const double *coefficient,
                  const double *const *x, const double *beta, double *y, double *norm2);

  /* Looks at the couplings of a matrix as those of a grid in natural order, where they are in device memory: the most
   * axes along which the cells of one are one apart, and the first block row of one whose cells are farther apart, or
   * block_rows. Where it fails, the host looks; an error of earlier work stays for the next download. NULL where the
   * host does that as well. */
  karst_status (*grid_reach)(karst_context *context, const karst_matrix *A, const karst_index size[3], int *axes,
                             karst_index *misfit);

  /* The first block row of a matrix without its diagonal block, or block_rows. As grid_reach where it fails or is
   * NULL. */
  karst_status (*missing_diagonal)(karst_context *context, const karst_matrix *A, karst_index *block_row);

  /* y = x / |x| with norm2 = |x|^2 in device memory; y may be x. Where the norm is 0 or not finite, y = 0. */
  void (*normalise)(karst_context *context, int64_t n, const double *norm2, const double *x, double *y);

  /* *result = sign (a / b) (c / d), scalars in device memory; c and d may both be NULL for 1.
   * Where a divisor is 0 or the result is not finite it is 0: a step that cannot be taken is not taken, and the host
   * finds the cause in the scalars when it looks. */
  void (*quotient)(karst_context *context, double sign, const double *a, const double *b, const double *c,
                   const double *d, double *result);

  /* A step of a method with short recurrences: *step = a / b as by quotient, y = y - *step x, norm2 = y . y, and
   * dot = with . y unless with is NULL. A turn of cg: x = x + *step p, then p = z + (a / b) p. And one of bicgstab:
   * p = r + beta (p - *omega v) with beta = (a / b) (*alpha / *omega). All three are NULL where that gains nothing over
   * quotient, combine and dots one after another, which give the same but for rounding. */
  void (*step)(karst_context *context, int64_t n, const double *a, const double *b, double *step, const double *x,
               double *y, double *norm2, const double *with, double *dot);
  void (*turn)(karst_context *context, int64_t n, const double *step, const double *a, const double *b, const double *z,
               double *p, double *x);
  void (*turn_stabilised)(karst_context *context, int64_t n, const double *a, const double *b, const double *alpha,
                          const double *omega, const double *v, const double *r, double *p);

  /* Permutation in blocks of b: gather y(i) = x(index[i]), scatter y(index[i]) = x(i), i < count. index: device. */
  void (*gather)(karst_context *context, karst_index count, int b, const karst_index *index, const double *x,
                 double *y);
  void (*scatter)(karst_context *context, karst_index count, int b, const karst_index *index, const double *x,
                  double *y);

  /* Permutes the block rows and columns of A's pattern: block row i becomes that of permutation[i], which is in device
   * memory. KARST_ERROR_ARGUMENT if it is no permutation. permuted is zero at first; what is in it after a failure, the
   * caller gives back too. */
  karst_status (*permute)(karst_context *context, const karst_matrix *A, const karst_index *permutation,
                          karst_permuted *permuted);

  /* y = A x */
  void (*multiply)(karst_context *context, const karst_matrix *A, const double *x, double *y);
  /* The same, and result[i] = with[i] . y for i < count, which is 1 or 2; with[i] may be x or y. NULL where that gains
   * nothing over multiply and dots, which give the same sums but for rounding. */
  void (*multiply_dots)(karst_context *context, const karst_matrix *A, const double *x, double *y, int count,
                        const double *const *with, double *result);
  /* r = b - A x; norm2, unless NULL: r . r */
  void (*residual)(karst_context *context, const karst_matrix *A, const double *b, const double *x, double *r,
                   double *norm2);
  /* The same, and size = |b| + |A| |x| element by element, which bounds the rounding errors in r; norm2[0] = r . r,
   * norm2[1] = size . size */
  void (*residual_bounded)(karst_context *context, const karst_matrix *A, const double *b, const double *x, double *r,
                           double *size, double *norm2);
  /* The residual to twice the working precision, rounded once, for an r that is as small as the rounding errors of
   * residual. */
  void (*residual_precise)(karst_context *context, const karst_matrix *A, const double *b, const double *x, double *r,
                           double *norm2);
  /* inverse(i) = A(i,i)^-1, b-by-b blocks one after the other; diagonal[i]: where block (i,i) stands in A, device.
   * Waits for the device. The first block row that is singular or not finite goes into *reason and *block_row, which
   * else stay as they are. */
  karst_status (*invert_diagonal)(karst_context *context, const karst_matrix *A, const karst_index *diagonal,
                                  double *inverse, karst_reason *reason, karst_index *block_row);
  /* In each block row i of count rows: y(i) = S(i) x(i) for b-by-b blocks S(i) stored one after the other. */
  void (*multiply_diagonal)(karst_context *context, karst_index count, int b, const double *S, const double *x,
                            double *y);
  /* A(i,j) = S(i) A(i,j) for b-by-b blocks S(i) */
  void (*scale_rows)(karst_context *context, karst_matrix *A, const double *S);
  /* d[r] = 1 / sqrt|a_rr| for each scalar row, 1 where the diagonal entry is 0 or not finite */
  void (*diagonal_scale)(karst_context *context, const karst_matrix *A, const karst_index *diagonal, double *d);
  /* a_rc = d[r] a_rc d[c] */
  void (*scale_symmetric)(karst_context *context, karst_matrix *A, const double *d);
  /* y[i] = d[i] x[i], and y[i] = x[i] / d[i]; y may be x */
  void (*multiply_elements)(karst_context *context, int64_t n, const double *d, const double *x, double *y);
  void (*divide_elements)(karst_context *context, int64_t n, const double *d, const double *x, double *y);
};

/* All backends; ends with NULL. The first is the host's own, with which a context begins. */
extern const struct karst_backend *const karst_backends[];

/* The backend that a device's name such as "cpu", "cuda" or "cuda:1" begins with, and the number; NULL where there is
 * none. */
const struct karst_backend *karst_backend_find(const char *device, int *number);

/* What such names can be, for a sentence: "cpu, cuda or cuda:N". */
void karst_backend_list(char *text, size_t size);

/* count indices, copied to device memory. */
karst_status karst_device_indices(karst_context *context, int64_t count, const karst_index *host, const char *what,
                                  karst_index **memory);

/* Gives back an array from karst_allocate and the place that the backend gave it, which may be the array itself. */
void karst_release_placed(karst_context *context, void *host, void *placed);

/* count scalars of device memory; a count of 0 is taken as 1. */
karst_status karst_device_doubles(karst_context *context, int64_t count, const char *what, double **memory);

#endif
