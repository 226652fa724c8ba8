/* vector.c - makes vectors, which live in device memory, and does the public operations on them. */
#include "lib/vector/vector.h"

#include "lib/vector/norm.h"
#include "lib/base/random.h"
#include "lib/vector/sums.h"

/* Makes a vector that has no values yet. */
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
  if (context && length > PTRDIFF_MAX / (int64_t)sizeof *values)
    return karst_fail(context, KARST_ERROR_ARGUMENT, "a vector of %lld scalars is too large", (long long)length);
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

const double *karst_vector_const_values(const karst_vector *vector) { return vector ? vector->values : NULL; }

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
  if (!vector) return KARST_ERROR_ARGUMENT;
  karst_context *context = vector->context;
  karst_status status = norm ? KARST_SUCCESS : karst_missing(context, "the place for the norm");
  status = karst_ranks_enter(context, status);
  if (status) return status;
  const double *x = vector->values;
  double *square = context->backend->scalar(context, &on_host);
  karst_sums_dots(context, vector->length, 1, &x, x, square);
  status = karst_ranks_download(context, 1, square, &sum);
  if (!status) status = karst_norm_of_square(context, vector->length, x, sum, norm);
  return karst_ranks_agree(context, status);
}

/* Refuses two vectors that differ in context or length. */
static karst_status check_pair(const karst_vector *x, const karst_vector *y)
{
  if (!x || !y) return karst_missing(x ? x->context : y ? y->context : NULL, "a vector");
  if (x->context != y->context)
    return karst_fail(y->context, KARST_ERROR_ARGUMENT, "a vector belongs to another context");
  if (x->length != y->length)
    return karst_fail(y->context, KARST_ERROR_ARGUMENT, "vectors of length %lld and %lld cannot be combined",
                      (long long)x->length, (long long)y->length);
  return KARST_SUCCESS;
}

/* Refuses two vectors that differ in context or length, or that overlap in part; *same: whether they are the same
 * memory. */
static karst_status check_disjoint(const karst_vector *x, const karst_vector *y, bool *same)
{
  karst_status status = check_pair(x, y);
  if (status) return status;
  *same = x->values == y->values;
  if (*same || !karst_vectors_overlap(x, y)) return KARST_SUCCESS;
  return karst_fail(y->context, KARST_ERROR_ARGUMENT, "the vectors overlap in part");
}

karst_status karst_vector_dot(const karst_vector *x, const karst_vector *y, double *result)
{
  double on_host;
  karst_status status = check_pair(x, y);
  if (!status && !result) status = karst_missing(y->context, "the place for the dot product");
  if (y) status = karst_ranks_enter(y->context, status);
  if (status) return status;
  karst_context *context = y->context;
  const double *values = x->values;
  double *sum = context->backend->scalar(context, &on_host);
  karst_sums_dots(context, y->length, 1, &values, y->values, sum);
  return karst_ranks_agree(context, karst_ranks_download(context, 1, sum, result));
}

karst_status karst_vector_copy(const karst_vector *from, karst_vector *to)
{
  bool same;
  karst_status status = check_disjoint(from, to, &same);
  if (!status && !same) to->context->backend->copy(to->context, to->length, from->values, to->values);
  return status;
}

/* Computes y = y + factor x, or y = factor y if x is NULL. */
static karst_status combine(double factor, const double *x, karst_vector *y)
{
  karst_context *context = y->context;
  double on_host, *scalar = context->backend->scalar(context, &on_host);
  karst_status status = context->backend->upload(context, scalar, &factor, sizeof factor);
  if (!status)
    context->backend->combine(context, y->length, x ? 1 : 0, 1, scalar, &x, x ? NULL : scalar, y->values, NULL);
  return status;
}

karst_status karst_vector_scale(double alpha, karst_vector *x)
{
  return x ? combine(alpha, NULL, x) : KARST_ERROR_ARGUMENT;
}

karst_status karst_vector_add(double alpha, const karst_vector *x, karst_vector *y)
{
  bool same; /* y = (1 + alpha) y, because the operands of combine must not overlap */
  karst_status status = check_disjoint(x, y, &same);
  if (status) return status;
  return same ? combine(1 + alpha, NULL, y) : combine(alpha, x->values, y);
}
