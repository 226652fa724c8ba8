/* vector.h - declares the inside of a vector. */
#ifndef KARST_LIB_VECTOR_VECTOR_H
#define KARST_LIB_VECTOR_VECTOR_H

#include "lib/backend/backend.h"

struct karst_vector {
  karst_context *context;
  int64_t length;
  double *values; /* [length] device memory */
  bool owns_values;
  char *source; /* the file it was read from, or NULL */
};

/* Returns whether n scalars at x and m at y overlap, in part or in full. */
static inline bool karst_memory_overlaps(const double *x, int64_t n, const double *y, int64_t m)
{
  uintptr_t x_begin = (uintptr_t)x, x_end = x_begin + (uintptr_t)n * sizeof *x;
  uintptr_t y_begin = (uintptr_t)y, y_end = y_begin + (uintptr_t)m * sizeof *y;
  return n > 0 && m > 0 && x_begin < y_end && y_begin < x_end;
}

static inline bool karst_vectors_overlap(const karst_vector *x, const karst_vector *y)
{
  return karst_memory_overlaps(x->values, x->length, y->values, y->length);
}

#endif
