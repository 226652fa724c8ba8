/* backend.h - the operations of a device: memory, vectors, matrices. One const table per backend.
 *
 * Vectors are double arrays of n scalars in device memory. Scalars that one operation computes and another uses (dot
 * products, step lengths) stay in device memory too, so that a Krylov iteration needs the host only once, to download
 * the scalars that it tests. Operations on vectors are queued in order and report no errors themselves; the next
 * download reports a failed device. On the CPU device memory is host memory and everything is immediate.
 *
 * The order of a sum depends only on n, so results have the same bits in every run and for every number of threads. */
#ifndef KARST_LIB_BACKEND_BACKEND_H
#define KARST_LIB_BACKEND_BACKEND_H

#include "lib/backend/machine.h"
#include "lib/base/context.h"

typedef struct karst_permuted karst_permuted; /* matrix.h */

struct karst_backend {
  const char *name;
  bool host_memory; /* device memory is host memory, which the host may read in place */
  const karst_machine *machine;

  /* Kernel tables of the methods that have one (ilu_kernels.h and others); NULL if the backend lacks it. */
  const struct karst_ilu_kernels *ilu;
  const struct karst_parilu_kernels *parilu;
  const struct karst_fgbilu_kernels *fgbilu;
  const struct karst_dilu_kernels *dilu;
  const struct karst_rrb_kernels *rrb;
  const struct karst_amg_kernels *amg;
  const struct karst_cpr_kernels *cpr;
  const struct karst_wells_kernels *wells;
  const struct karst_tridiagonal_kernels *tridiagonal;
  const struct karst_lines_kernels *lines;
  const struct karst_halo_kernels *halo;
  const struct karst_ilu_residual_kernels *ilu_residual; /* only in the host's backend, for the factors of every
                                                          * backend; ilu_residual.h */

  /* Makes device number device of this backend the context's. NULL: the only device, without opening or number. */
  karst_status (*open)(karst_context *context, int device);
  int (*count)(void); /* of the devices; NULL: one */
  void (*close)(karst_context *context);
  /* Writes a short text such as "cpu, 2 threads" into the context's device_text. */
  void (*describe)(karst_context *context);
  /* The stream of all queued work, a cudaStream_t; a function that sets another; a function that waits for the queued
   * work. NULL on the CPU. */
  void *(*stream)(const karst_context *context);
  karst_status (*set_stream)(karst_context *context, void *stream);
  karst_status (*synchronize)(karst_context *context);
  /* Timestamps in the device's queue (CUDA events). mark_seconds waits for the later one and returns the time between
   * them. A mark may be set again. All four are NULL if operations are complete when they return. */
  karst_status (*mark_create)(karst_context *context, void **mark);
  void (*mark_destroy)(karst_context *context, void *mark);
  void (*mark_set)(karst_context *context, void *mark);
  double (*mark_seconds)(karst_context *context, void *from, void *to);

  /* Takes bytes > 0 of device memory with undefined content; what: for the error. */
  karst_status (*allocate)(karst_context *context, size_t bytes, const char *what, void **memory);
  void (*release)(karst_context *context, void *memory);
  karst_status (*upload)(karst_context *context, void *to, const void *host, size_t bytes);
  karst_status (*download)(karst_context *context, void *host, const void *from, size_t bytes);
  /* A download of a few scalars in two steps, between which the caller may queue more work: begin queues it; end waits
   * for the work queued before it, and then host has the scalars. A new begin ends the one before. Both are NULL if a
   * download takes no time. */
  karst_status (*download_begin)(karst_context *context, void *host, const void *from, size_t bytes);
  karst_status (*download_end)(karst_context *context);
  /* Whether an array of the caller's is in device memory; NULL: all arrays are. */
  bool (*owns)(karst_context *context, const void *array);
  /* Make an array usable in the other memory; what: for the error. place: a host array for the device; view: device
   * memory for the host. If both can use the array, *memory or *host is the array itself, which must then stay while
   * its place or view is in use. Otherwise it is a complete copy, which the caller releases: a place with release, a
   * view with karst_release. On failure it is NULL. */
  karst_status (*place)(karst_context *context, const void *host, size_t bytes, const char *what, void **memory);
  karst_status (*view)(karst_context *context, const void *memory, size_t bytes, const char *what, void **host);
  void (*copy)(karst_context *context, int64_t n, const double *x, double *y);
  /* A place for one scalar in device memory that nothing else uses during a call of the library. On the CPU, where
   * several threads may call at once, it is the caller's own. */
  double *(*scalar)(karst_context *context, double *own);

  void (*fill)(karst_context *context, int64_t n, double value, double *x);

  /* result[i] = x[i] . y for i < count */
  void (*dots)(karst_context *context, int64_t n, int count, const double *const *x, const double *y, double *result);

  /* y = beta y + sign sum_i coefficient[i] x[i] for i < count. beta NULL means 1; if beta is 0, y is not read. norm2,
   * unless NULL: y . y of the result. sign is 1 or -1. */
  void (*combine)(karst_context *context, int64_t n, int count, double sign, const double *coefficient,
                  const double *const *x, const double *beta, double *y, double *norm2);

  /* Checks the couplings of a matrix against a grid in natural order, in device memory: *axes is the most axes along
   * which the cells of a coupling are one apart, *misfit the first block row with a coupling of cells that are farther
   * apart, or block_rows. If it fails, the host checks instead; an error of earlier work stays for the next download.
   * NULL if the host checks as well. */
  karst_status (*grid_reach)(karst_context *context, const karst_matrix *A, const karst_index size[3], int *axes,
                             karst_index *misfit);

  /* The first block row of a matrix without its diagonal block, or block_rows. Failure and NULL as in grid_reach. */
  karst_status (*missing_diagonal)(karst_context *context, const karst_matrix *A, karst_index *block_row);

  /* y = x / |x| with norm2 = |x|^2 in device memory; y may be x. y = 0 if the norm is 0 or not finite. */
  void (*normalise)(karst_context *context, int64_t n, const double *norm2, const double *x, double *y);

  /* *result = sign (a / b) (c / d), scalars in device memory; c and d may both be NULL for 1. The result is 0 if a
   * divisor is 0 or the quotient is not finite: the step is then not taken, and the host finds the cause when it looks
   * at the scalars. */
  void (*quotient)(karst_context *context, double sign, const double *a, const double *b, const double *c,
                   const double *d, double *result);

  /* Fused steps of methods with short recurrences. step: *step = a / b as by quotient, y = y - *step x, norm2 = y . y,
   * and dot = with . y unless with is NULL. turn, for cg: x = x + *step p, then p = z + (a / b) p. turn_stabilised, for
   * bicgstab: p = r + beta (p - *omega v) with beta = (a / b) (*alpha / *omega). All three are NULL if they are no
   * faster than quotient, combine and dots, which give the same except for rounding. */
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

  /* Permutes the block rows and columns of A's pattern: block row i is permutation[i] of A, with permutation in device
   * memory. KARST_ERROR_ARGUMENT if it is not a permutation. permuted is zero on entry; the caller releases its
   * content, also after a failure. */
  karst_status (*permute)(karst_context *context, const karst_matrix *A, const karst_index *permutation,
                          karst_permuted *permuted);

  /* y = A x */
  void (*multiply)(karst_context *context, const karst_matrix *A, const double *x, double *y);
  /* The same, and result[i] = with[i] . y for i < count, which is 1 or 2; with[i] may be x or y. NULL if it is no
   * faster than multiply and dots, which give the same sums except for rounding. */
  void (*multiply_dots)(karst_context *context, const karst_matrix *A, const double *x, double *y, int count,
                        const double *const *with, double *result);
  /* r = b - A x; norm2, unless NULL: r . r */
  void (*residual)(karst_context *context, const karst_matrix *A, const double *b, const double *x, double *r,
                   double *norm2);
  /* The same, and size = |b| + |A| |x| element by element, which bounds the rounding errors in r; norm2[0] = r . r,
   * norm2[1] = size . size */
  void (*residual_bounded)(karst_context *context, const karst_matrix *A, const double *b, const double *x, double *r,
                           double *size, double *norm2);
  /* The residual to twice the working precision, rounded once, for an r as small as the rounding errors of residual. */
  void (*residual_precise)(karst_context *context, const karst_matrix *A, const double *b, const double *x, double *r,
                           double *norm2);
  /* inverse(i) = A(i,i)^-1, b-by-b blocks one after the other. diagonal[i], in device memory: the number of block (i,i)
   * in A. Waits for the device. *reason and *block_row are set for the first block row that is singular or not finite;
   * otherwise they are unchanged. */
  karst_status (*invert_diagonal)(karst_context *context, const karst_matrix *A, const karst_index *diagonal,
                                  double *inverse, karst_reason *reason, karst_index *block_row);
  /* strength[k] of entry k = (i,j) of A, as lib/backend/coupling.h defines it, 0 on the diagonal. diagonal: as for
   * invert_diagonal; inverse: [b*b*block_rows] work space, strength: [blocks], both device memory. *sound: whether all
   * diagonal blocks are regular; else strength is undefined. */
  karst_status (*couple)(karst_context *context, const karst_matrix *A, const karst_index *diagonal, double *inverse,
                         float *strength, bool *sound);
  /* In each block row i of count rows: y(i) = S(i) x(i) for b-by-b blocks S(i) stored one after the other. */
  void (*multiply_diagonal)(karst_context *context, karst_index count, int b, const double *S, const double *x,
                            double *y);
  /* A(i,j) = S(i) A(i,j) for b-by-b blocks S(i) */
  void (*scale_rows)(karst_context *context, karst_matrix *A, const double *S);
  /* d[r] = 1 / sqrt|a_rr| for each scalar row, 1 if the diagonal entry is 0 or not finite */
  void (*diagonal_scale)(karst_context *context, const karst_matrix *A, const karst_index *diagonal, double *d);
  /* a_rc = d[r] a_rc d[c] */
  void (*scale_symmetric)(karst_context *context, karst_matrix *A, const double *d);
  /* y[i] = d[i] x[i], and y[i] = x[i] / d[i]; y may be x */
  void (*multiply_elements)(karst_context *context, int64_t n, const double *d, const double *x, double *y);
  void (*divide_elements)(karst_context *context, int64_t n, const double *d, const double *x, double *y);
};

/* All backends; ends with NULL. The first is the host's, with which a context begins. */
extern const struct karst_backend *const karst_backends[];

/* The backend of a device name such as "cpu", "cuda" or "cuda:1", and the device number; NULL for an unknown name. */
const struct karst_backend *karst_backend_find(const char *device, int *number);

/* Writes the valid device names for a sentence: "cpu, cuda or cuda:N". */
void karst_backend_list(char *text, size_t size);

/* Copies count indices to device memory. */
karst_status karst_device_indices(karst_context *context, int64_t count, const karst_index *host, const char *what,
                                  karst_index **memory);

/* Releases an array from karst_allocate and its place from the backend, which may be the array itself. */
void karst_release_placed(karst_context *context, void *host, void *placed);

/* Takes count scalars of device memory; a count of 0 counts as 1. */
karst_status karst_device_doubles(karst_context *context, int64_t count, const char *what, double **memory);
karst_status karst_device_floats(karst_context *context, int64_t count, const char *what, float **memory);

#endif
