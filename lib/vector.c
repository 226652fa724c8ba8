/* vector.c - vectors in device memory. */
#include "vector.h"

#include "norm.h"
#include "random.h"

/* A vector without values yet. */
static karst_status make(karst_context *context, int64_t length, karst_vector **vector)
{
  karst_status status;
  if (!vector) return karst_missing(context, "the place for the vector");
  *vector = NULL;
  if (!context) return KARST_ERROR_ARGUMENT;
  if (length < 0) return karst_fail(context, KARST_ERROR_ARGUMENT, "a vector of length %lld", (long long)length);
  status = karst_allocate_zero(context, vector, 1, sizeof **vector, "a vector");
  if (status) return status;
  (*vector)->context = context;
  (*vector)->length = length;
  karst_count_object(context, 1);
  return KARST_SUCCESS;
}

karst_status karst_vector_create(karst_context *context, int64_t length, karst_vector **vector)
{
  karst_status status = make(context, length, vector);
  if (status) return status;
  status = karst_device_doubles(context, length, "a vector", &(*vector)->values);
  if (status) {
    karst_vector_destroy(*vector);
    *vector = NULL;
    return status;
  }
  (*vector)->owns_values = true;
  context->backend->fill(context, length, 0, (*vector)->values);
  return KARST_SUCCESS;
}

karst_status karst_vector_wrap(karst_context *context, int64_t length, double *values, karst_vector **vector)
{
  if (vector) *vector = NULL;
  if (context && !values && length > 0)
    return karst_fail(context, KARST_ERROR_ARGUMENT, "the vector's values are NULL");
  karst_status status = make(context, length, vector);
  if (status) return status;
  (*vector)->values = values;
  return KARST_SUCCESS;
}

void karst_vector_destroy(karst_vector *vector)
{
  if (!vector) return;
  karst_context *context = vector->context;
  if (vector->owns_values) context->backend->release(context, vector->values);
  karst_release(context, vector->source);
  karst_release(context, vector);
  karst_count_object(context, -1);
}

int64_t karst_vector_length(const karst_vector *vector) { return vector ? vector->length : 0; }

const char *karst_vector_source(const karst_vector *vector) { return vector && vector->source ? vector->source : ""; }

double *karst_vector_values(karst_vector *vector) { return vector ? vector->values : NULL; }

static karst_status check_count(const karst_vector *vector, int64_t count, const double *host)
{
  if (!vector) return KARST_ERROR_ARGUMENT;
  if (count < 0 || count > vector->length)
    return karst_fail(vector->context, KARST_ERROR_ARGUMENT, "%lld values for a vector of length %lld",
                      (long long)count, (long long)vector->length);
  if (count > 0 && !host) return karst_fail(vector->context, KARST_ERROR_ARGUMENT, "the vector's values are NULL");
  return KARST_SUCCESS;
}

karst_status karst_vector_set(karst_vector *vector, int64_t count, const double *host)
{
  karst_status status = check_count(vector, count, host);
  if (status || count == 0) return status;
  return vector->context->backend->upload(vector->context, vector->values, host, (size_t)count * sizeof *host);
}

karst_status karst_vector_get(const karst_vector *vector, int64_t count, double *host)
{
  karst_status status = check_count(vector, count, host);
  if (status || count == 0) return status;
  return vector->context->backend->download(vector->context, host, vector->values, (size_t)count * sizeof *host);
}

karst_status karst_vector_fill(karst_vector *vector, double value)
{
  if (!vector) return KARST_ERROR_ARGUMENT;
  vector->context->backend->fill(vector->context, vector->length, value, vector->values);
  return KARST_SUCCESS;
}

karst_status karst_vector_fill_random(karst_vector *vector, uint64_t seed)
{
  double *host;
  karst_status status;
  if (!vector) return KARST_ERROR_ARGUMENT;
  status = karst_allocate(vector->context, &host, vector->length, sizeof *host, "a random vector");
  if (status) return status;
  for (int64_t i = 0; i < vector->length; i++) host[i] = 2 * karst_random_uniform(&seed) - 1;
  status = karst_vector_set(vector, vector->length, host);
  karst_release(vector->context, host);
  return status;
}

karst_status karst_vector_norm(const karst_vector *vector, double *norm)
{
  double on_host, sum;
  if (!vector || !norm) return karst_missing(vector ? vector->context : NULL, "the place for the norm");
  karst_context *context = vector->context;
  const double *x = vector->values;
  double *square = context->backend->scalar(context, &on_host);
  context->backend->dots(context, vector->length, 1, &x, x, square);
  karst_status status = context->backend->download(context, &sum, square, sizeof sum);
  return status ? status : karst_norm_of_square(context, vector->length, x, sum, norm);
}

karst_status karst_vector_add(double alpha, const karst_vector *x, karst_vector *y)
{
  double on_host;
  if (!x || !y) return karst_missing(x ? x->context : y ? y->context : NULL, "a vector");
  karst_context *context = y->context;
  if (x->context != context || x->length != y->length)
    return karst_fail(context, KARST_ERROR_ARGUMENT, "vectors of length %lld and %lld cannot be added",
                      (long long)x->length, (long long)y->length);
  bool same = x->values == y->values; /* then y = (1 + alpha) y, for the operands of combine do not overlap */
  if (!same && karst_vectors_overlap(x, y))
    return karst_fail(context, KARST_ERROR_ARGUMENT, "the vectors x and y overlap in memory, in part");
  const double *values = x->values;
  double value = same ? 1 + alpha : alpha;
  double *factor = context->backend->scalar(context, &on_host);
  karst_status status = context->backend->upload(context, factor, &value, sizeof value);
  if (!status)
    context->backend->combine(context, y->length, !same, 1, factor, &values, same ? factor : NULL, y->values, NULL);
  return status;
}
