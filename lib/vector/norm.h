/* norm.h - Euclidean norms without underflow or overflow in between. */
#ifndef KARST_LIB_VECTOR_NORM_H
#define KARST_LIB_VECTOR_NORM_H

#include "lib/backend/backend.h"

/* If a norm lies from smallest to largest, double precision holds its square and the partial sums of squares. */
static const double karst_norm_smallest = 1e-145, karst_norm_largest = 1e150;

/* The result of a pass over the elements of a vector. */
typedef struct karst_survey {
  bool finite;
  double largest; /* largest magnitude; 0 if all are 0 */
  double norm;    /* norm of the elements divided by largest */
  int64_t where;  /* index of the first element that is not finite, or -1 */
} karst_survey;

/* Looks at all n elements of an array in device memory, on the host. On the CPU it allocates nothing. On a GPU it takes
 * up to 1 MiB of host memory if available. */
karst_status karst_survey_array(karst_context *context, int64_t n, const double *x, karst_survey *survey);
/* The same for a vector, of which this rank may have n elements: then of all ranks, with where counted from the first
 * element of rank 0. Collective there, as are the next two. */
karst_status karst_survey_elements(karst_context *context, int64_t n, const double *x, karst_survey *survey);

/* Whether each of n elements is finite and at most factor * size[i] in magnitude. x, size: device memory; looks on the
 * host, as above. */
karst_status karst_survey_bound(karst_context *context, int64_t n, const double *x, const double *size, double factor,
                                bool *within);

/* Computes |x| from x . x. If square lies outside the trusted range, it looks at the elements. *norm is not finite if
 * an element is not finite or the norm is too large. */
karst_status karst_norm_of_square(karst_context *context, int64_t n, const double *x, double square, double *norm);

#endif
