/* vector.h - the inside of a vector. */
#ifndef KARST_LIB_VECTOR_H
#define KARST_LIB_VECTOR_H

#include "backend.h"

struct karst_vector {
  karst_context *context;
  int64_t length;
  double *values; /* [length] device memory */
  bool owns_values;
};

#endif
