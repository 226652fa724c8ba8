/* norm.h - Euclidean norms that neither underflow nor overflow on the way. */
#ifndef KARST_LIB_NORM_H
#define KARST_LIB_NORM_H

#include "backend.h"

/* Norms from smallest to largest have squares, and sums of parts of squares, that double precision holds. */
static const double karst_norm_smallest = 1e-145, karst_norm_largest = 1e150;

/* What the elements of a vector say that a norm does not. */
typedef struct karst_survey {
  bool finite;
  double largest; /* magnitude; 0 where all are 0 */
  double norm;    /* of elements divided by largest */
  int64_t where;  /* the first element that is not finite, or -1 */
} karst_survey;

/* Looks at all n elements of x, in device memory, on the host. On the CPU it allocates nothing; on a GPU it takes up to
 * 1 MiB of host memory meanwhile where that is to be had. */
karst_status karst_survey_elements(karst_context *context, int64_t n, const double *x, karst_survey *survey);

/* |x|, given x . x as it was computed; looks at the elements where that lies outside the squares that can be trusted.
 * Not finite where an element is not, or the norm itself is too large. */
karst_status karst_norm_of_square(karst_context *context, int64_t n, const double *x, double square, double *norm);

#endif
