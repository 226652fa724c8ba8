/* The vector operations of each backend agree with sums written out here, and give the same bits for every number of
 * threads. A quotient that is not finite is zero, so that no step makes a vector invalid. A device needs few waits for
 * a norm of zero. */
#include "tests/support/failing_allocator.h"
#include "lib/vector/norm.h"
#include "tests/support/problem.h"

#include <math.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 40 };

/* A bundle of count random vectors of n scalars, on the host and on the device. */
struct bundle {
  karst_vector *vector[MOST];
  double *host[MOST];
  const double *device[MOST];
};

static void make_bundle(karst_context *context, int64_t n, int count, struct bundle *bundle)
{
  for (int v = 0; v < count; v++) {
    bundle->host[v] = malloc((size_t)(n > 0 ? n : 1) * sizeof(double));
    for (int64_t i = 0; i < n; i++) bundle->host[v][i] = tap_random();
    tap_need(context, karst_vector_create(context, n, &bundle->vector[v]), "vector");
    tap_need(context, karst_vector_set(bundle->vector[v], n, bundle->host[v]), "set");
    bundle->device[v] = karst_vector_values(bundle->vector[v]);
  }
}

static void free_bundle(int count, struct bundle *bundle)
{
  for (int v = 0; v < count; v++) {
    karst_vector_destroy(bundle->vector[v]);
    free(bundle->host[v]);
  }
}

/* The tolerance is for sums of n products of numbers below 1, where each addition rounds once. */
static double tolerance(int64_t n) { return 4e-16 * (double)(n + 8); }

static void check_dots(karst_context *context, int64_t n, int count)
{
  struct bundle x;
  double *result, host[MOST], worst = 0;
  make_bundle(context, n, count + 1, &x);
  tap_need(context, karst_device_doubles(context, count, "dots", &result), "scalars");
  context->backend->dots(context, n, count, x.device, x.device[count], result);
  tap_need(context, context->backend->download(context, host, result, (size_t)count * sizeof *host), "download");
  for (int v = 0; v < count; v++) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x.host[v][i] * x.host[count][i];
    worst = fmax(worst, fabs(sum - host[v]));
  }
  tap_ok(worst <= tolerance(n), "%d dot products of %lld scalars (%.1e)", count, (long long)n, worst);
  context->backend->release(context, result);
  free_bundle(count + 1, &x);
}

static void check_combine(karst_context *context, int64_t n, int count, const double *beta_host)
{
  struct bundle x;
  double coefficient[MOST], *scalars, beta = beta_host ? *beta_host : 1, worst = 0, norm2, sum = 0;
  double *result = malloc((size_t)(n > 0 ? n : 1) * sizeof *result);
  make_bundle(context, n, count + 1, &x);
  for (int v = 0; v < count; v++) coefficient[v] = tap_random();
  if (beta == 0) tap_need(context, karst_vector_fill(x.vector[count], NAN), "what is not read");
  tap_need(context, karst_device_doubles(context, count + 2, "coefficients", &scalars), "scalars");
  context->backend->upload(context, scalars, coefficient, (size_t)count * sizeof *coefficient);
  context->backend->upload(context, scalars + count, &beta, sizeof beta);
  context->backend->combine(context, n, count, -1, scalars, x.device, beta_host ? scalars + count : NULL,
                            karst_vector_values(x.vector[count]), scalars + count + 1);
  tap_need(context, karst_vector_get(x.vector[count], n, result), "get");
  tap_need(context, context->backend->download(context, &norm2, scalars + count + 1, sizeof norm2), "download");
  for (int64_t i = 0; i < n; i++) {
    double expected = beta == 0 ? 0 : beta * x.host[count][i];
    for (int v = 0; v < count; v++) expected -= coefficient[v] * x.host[v][i];
    worst = fmax(worst, fabs(expected - result[i]));
    sum += result[i] * result[i];
  }
  tap_ok(worst <= tolerance(count), "a combination of %d vectors of %lld scalars, beta %g (%.1e)", count, (long long)n,
         beta, worst);
  tap_ok(fabs(sum - norm2) <= tolerance(n) * (1 + sum), "and its norm (%.1e)", fabs(sum - norm2));
  context->backend->release(context, scalars);
  free_bundle(count + 1, &x);
  free(result);
}

static double quotient(karst_context *context, double a, double b, double c, double d)
{
  double host[5] = {a, b, c, d, 7}, *scalars;
  tap_need(context, karst_device_doubles(context, 5, "scalars", &scalars), "scalars");
  context->backend->upload(context, scalars, host, sizeof host);
  context->backend->quotient(context, -1, scalars, scalars + 1, scalars + 2, scalars + 3, scalars + 4);
  tap_need(context, context->backend->download(context, host, scalars, sizeof host), "download");
  context->backend->release(context, scalars);
  return host[4];
}

static double normalised(karst_context *context, double norm2, double value)
{
  double *scalar, result;
  karst_vector *x = vector_of(context, 3, value);
  tap_need(context, karst_device_doubles(context, 1, "norm", &scalar), "scalar");
  context->backend->upload(context, scalar, &norm2, sizeof norm2);
  context->backend->normalise(context, 3, scalar, karst_vector_values(x), karst_vector_values(x));
  tap_need(context, karst_vector_get(x, 1, &result), "get");
  context->backend->release(context, scalar);
  karst_vector_destroy(x);
  return result;
}

/* A download has the values of the time when it began; a second one ends the first. */
static void check_two_steps(karst_context *context)
{
  const struct karst_backend *backend = context->backend;
  const double before[] = {1, 2, 3};
  double first[3] = {0, 0, 0}, second[3] = {0, 0, 0}, *scalars;
  if (!backend->download_begin) {
    tap_skip("downloads take no time here", "a download in two steps");
    return;
  }
  tap_need(context, karst_device_doubles(context, 3, "scalars", &scalars), "scalars");
  backend->upload(context, scalars, before, sizeof before);
  tap_need(context, backend->download_begin(context, first, scalars, sizeof first), "begin");
  backend->fill(context, 3, 9, scalars);
  tap_need(context, backend->download_begin(context, second, scalars, sizeof second), "begin a second one");
  tap_ok(first[0] == 1 && first[1] == 2 && first[2] == 3, "a download has the values of its beginning");
  backend->fill(context, 3, 0, scalars);
  tap_need(context, backend->download_end(context), "end");
  tap_ok(second[0] == 9 && second[2] == 9 && backend->download_end(context) == KARST_SUCCESS,
         "and may be ended more than once");
  backend->release(context, scalars);
}

static void operations(karst_context *context)
{
  const int64_t lengths[] = {0, 1, 7, 64, 513, 100003};
  const double zero = 0, half = 0.5;
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    check_dots(context, lengths[i], 1 + (int)i * 7);
    check_combine(context, lengths[i], (int)i * 5, i == 2 ? &zero : i == 3 ? &half : NULL);
  }
  tap_ok(quotient(context, 3, 2, 5, 4) == -1.875, "a quotient of four");
  tap_ok(quotient(context, 3, 0, 5, 4) == 0, "a quotient by zero is zero");
  tap_ok(quotient(context, NAN, 2, 5, 4) == 0, "a quotient of NaN is zero");
  tap_ok(quotient(context, 1e300, 1e-300, 5, 4) == 0, "a quotient that overflows is zero");
  tap_ok(normalised(context, 16, 8) == 2, "normalised by a norm");
  tap_ok(normalised(context, 0, 8) == 0, "normalised by zero is zero");
  tap_ok(normalised(context, NAN, 8) == 0, "normalised by NaN is zero");
  check_two_steps(context);
}

/* Tests the operations that users see, on vectors of each length. */
static void public_operations(karst_context *context)
{
  const int64_t lengths[] = {0, 1, 7, 64, 513, 100003};
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    const int64_t n = lengths[i];
    struct bundle x;
    double sum = 0, square = 0, dot = -1, self = -1, worst = 0;
    double *host = malloc((size_t)(n > 0 ? n : 1) * sizeof *host);
    make_bundle(context, n, 2, &x);
    for (int64_t k = 0; k < n; k++) {
      sum += x.host[0][k] * x.host[1][k];
      square += x.host[0][k] * x.host[0][k];
    }
    tap_need(context, karst_vector_dot(x.vector[0], x.vector[1], &dot), "dot");
    tap_need(context, karst_vector_dot(x.vector[0], x.vector[0], &self), "dot with itself");
    tap_ok(fabs(dot - sum) <= tolerance(n) && fabs(self - square) <= tolerance(n) * (1 + square),
           "dot products of %lld scalars: %.1e, %.1e", (long long)n, fabs(dot - sum), fabs(self - square));
    tap_need(context, karst_vector_copy(x.vector[0], x.vector[1]), "copy");
    tap_need(context, karst_vector_copy(x.vector[1], x.vector[1]), "copy to itself");
    tap_need(context, karst_vector_scale(-0.3, x.vector[1]), "scale");
    tap_need(context, karst_vector_get(x.vector[1], n, host), "get");
    for (int64_t k = 0; k < n; k++) worst = fmax(worst, fabs(host[k] - -0.3 * x.host[0][k]));
    tap_ok(worst == 0, "a copy of %lld scalars, scaled", (long long)n);
    free_bundle(2, &x);
    free(host);
  }
}

/* Makes a vector of these two values. */
static karst_vector *make_pair(karst_context *context, double first, double second)
{
  const double values[] = {first, second};
  karst_vector *vector = vector_from(context, 2, values);
  return vector;
}

static double dot_of(karst_context *context, const karst_vector *x, const karst_vector *y)
{
  double dot = -1;
  tap_need(context, karst_vector_dot(x, y, &dot), "dot");
  return dot;
}

/* Results outside the range of double precision. */
static void public_extremes(karst_context *context)
{
  karst_vector *large = make_pair(context, 1e200, 1e200), *mixed = make_pair(context, 1e200, -1e200);
  karst_vector *tiny = make_pair(context, 1e-200, 1e-200), *nan = make_pair(context, NAN, INFINITY);
  double values[2];
  tap_ok(dot_of(context, large, large) == INFINITY, "a product that overflows is infinite");
  tap_ok(!isfinite(dot_of(context, large, mixed)),
         "with a product of the other sign the sum is not finite, fused or not");
  tap_ok(dot_of(context, tiny, tiny) == 0 && dot_of(context, tiny, large) == 2, "a product that underflows is zero");
  tap_ok(isnan(dot_of(context, nan, tiny)), "a NaN stays one");
  tap_need(context, karst_vector_scale(0, nan), "scale");
  tap_need(context, karst_vector_get(nan, 2, values), "get");
  tap_ok(values[0] == 0 && values[1] == 0, "scaled by 0 all are zero");
  tap_need(context, karst_vector_scale(1e200, large), "scale");
  tap_need(context, karst_vector_get(large, 2, values), "get");
  tap_ok(values[0] == INFINITY && values[1] == INFINITY, "scaled too far they are infinite");
  karst_vector_destroy(large);
  karst_vector_destroy(mixed);
  karst_vector_destroy(tiny);
  karst_vector_destroy(nan);
}

static void refused(karst_context *context, karst_status status, const char *words, const char *what)
{
  tap_ok(status == KARST_ERROR_ARGUMENT && strstr(karst_context_error(context), words), "%s: %s", what,
         karst_context_error(context));
}

/* The arguments do not fit together. test_overlap.c tests arguments that are missing or overlap. */
static void public_errors(karst_context *context)
{
  karst_vector *three, *two = make_pair(context, 1, 2), *foreign;
  double dot = 7, values[2];
  karst_context *other = tap_context();
  foreign = make_pair(other, 3, 4);
  three = vector_of(context, 3, 0);
  refused(context, karst_vector_dot(three, two, &dot), "length 3 and 2", "dot");
  refused(context, karst_vector_copy(three, two), "length 3 and 2", "copy");
  refused(context, karst_vector_add(1, three, two), "length 3 and 2", "add");
  refused(context, karst_vector_dot(foreign, two, &dot), "another context", "dot");
  refused(other, karst_vector_copy(two, foreign), "another context", "copy");
  refused(context, karst_vector_add(1, foreign, two), "another context", "add");
  tap_ok(karst_vector_dot(NULL, NULL, &dot) == KARST_ERROR_ARGUMENT &&
             karst_vector_copy(NULL, NULL) == KARST_ERROR_ARGUMENT &&
             karst_vector_scale(1, NULL) == KARST_ERROR_ARGUMENT,
         "calls with NULL alone are refused");
  tap_need(context, karst_vector_get(two, 2, values), "get");
  tap_ok(dot == 7 && values[0] == 1 && values[1] == 2, "a refused call changes nothing");
  karst_vector_destroy(three);
  karst_vector_destroy(two);
  karst_vector_destroy(foreign);
  karst_context_destroy(other);
}

/* Computes a sum whose rounding depends on the order of additions. */
static double delicate_sum(int threads, double *dot)
{
  karst_context *context = tap_context();
  tap_need(context, tap_set_threads(context, threads), "threads");
  karst_vector *x = vector_random(context, 300007, 2385);
  const double norm = vector_norm(x);
  karst_vector *y = vector_random(context, 300007, 2386);
  tap_need(context, karst_vector_dot(x, y, dot), "dot");
  karst_vector_destroy(x);
  karst_vector_destroy(y);
  karst_context_destroy(context);
  return norm;
}

static bool have_threads(void)
{
  karst_context *context = tap_context();
  bool have = tap_set_threads(context, 2) == KARST_SUCCESS;
  karst_context_destroy(context);
  return have;
}

static void errors(karst_context *context)
{
  karst_vector *y;
  double values[3] = {1, 2, 3}, norm;
  karst_vector *x = vector_of(context, 3, 0);
  tap_ok(karst_vector_create(context, -1, &y) == KARST_ERROR_ARGUMENT && !y, "a negative length is refused");
  tap_ok(karst_vector_create(context, INT64_MAX / 4, &y) == KARST_ERROR_NO_MEMORY && !y, "a length beyond memory");
  tap_ok(karst_vector_set(x, 4, values) == KARST_ERROR_ARGUMENT, "too many values are refused");
  tap_ok(karst_vector_get(x, -1, values) == KARST_ERROR_ARGUMENT, "a negative count is refused");
  tap_ok(karst_vector_wrap(context, 3, NULL, &y) == KARST_ERROR_ARGUMENT && !y, "NULL values are refused");
  tap_ok(karst_vector_norm(NULL, &norm) == KARST_ERROR_ARGUMENT, "a NULL vector is refused");
  y = vector_of(context, 2, 0);
  tap_ok(karst_vector_add(1, x, y) == KARST_ERROR_ARGUMENT && karst_context_error(context)[0], "lengths must agree");
  tap_ok(karst_context_set_device(context, "cpu") == KARST_ERROR_ARGUMENT, "the device cannot change under objects");
  tap_need(context, karst_vector_fill(x, 3), "fill");
  tap_need(context, karst_vector_add(0.5, x, x), "x added to itself");
  tap_need(context, karst_vector_get(x, 3, values), "get");
  tap_ok(values[0] == 4.5 && values[2] == 4.5, "a vector can be added to itself");
  karst_vector_destroy(x);
  karst_vector_destroy(y);
  karst_vector_destroy(NULL);
}

static int downloads;

static karst_status count_download(karst_context *context, void *to, const void *from, size_t bytes)
{
  downloads++;
  return karst_backends[0]->download(context, to, from, bytes);
}

/* Runs the CPU's operations as those of a device with or without the host's memory, and returns a survey and the number
 * of its downloads. limit: bytes that the context may allocate during it. */
static karst_survey survey(bool host_memory, size_t limit, int64_t n, const double *x)
{
  struct failing_allocator memory = {0};
  struct karst_backend device = *karst_backends[0];
  karst_survey found;
  karst_context *context = failing_context(&memory);
  device.host_memory = host_memory;
  device.download = count_download;
  context->backend = &device;
  memory.limit = limit ? memory.bytes + limit : 0;
  downloads = 0;
  tap_need(context, karst_survey_elements(context, n, x, &found), "survey");
  context->backend = karst_backends[0];
  tap_ok(!karst_context_error(context)[0], "a survey leaves no error");
  karst_context_destroy(context);
  tap_ok(memory.outstanding == 0, "and no memory");
  return found;
}

static void surveys(void)
{
  enum { LENGTH = 300007 };
  double *x = calloc(LENGTH, sizeof *x);
  karst_survey found = survey(true, 0, LENGTH, x);
  tap_ok(downloads == 0 && found.finite && found.norm == 0, "on the CPU a survey copies no elements");
  found = survey(false, 0, LENGTH, x);
  tap_ok(downloads <= 3 && found.finite && found.norm == 0, "on a device elements are downloaded in %d pieces",
         downloads);
  x[LENGTH - 2] = 3e-200;
  x[0] = -4e-200;
  for (int few = 0; few < 2; few++) {
    found = survey(false, few ? 1 : 0, LENGTH, x);
    tap_ok(found.finite && found.largest == 4e-200 && fabs(found.norm - 1.25) < 1e-15,
           "the survey counts all of %d pieces", downloads);
  }
  x[LENGTH - 1] = NAN;
  found = survey(false, 0, LENGTH, x);
  tap_ok(!found.finite && found.where == LENGTH - 1, "a NaN is found in the last piece");
  free(x);
}

/* The names of devices follow from the list of backends; the error for an unknown name lists them. */
static void device_names(void)
{
  static const char *const unknown[] = {"", "cp", "cpux", "cpu:0", "cudas", "cuda:", "cuda:x", "cuda:1x", "cuda:1234"};
  static const struct {
    const char *name;
    int number;
  } known[] = {{"cpu", 0}, {"cuda", 0}, {"cuda:0", 0}, {"cuda:12", 12}};
  int number;
  karst_context *context = tap_context();
  for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
    tap_ok(karst_context_set_device(context, unknown[i]) == KARST_ERROR_OPTION &&
               strstr(karst_context_error(context), "is unknown: cpu, cuda or cuda:N, N from 0 to 999"),
           "\"%s\" is no device, and the error lists the devices", unknown[i]);
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    const struct karst_backend *found = karst_backend_find(known[i].name, &number);
    tap_ok(found && strncmp(found->name, known[i].name, strlen(found->name)) == 0 && number == known[i].number,
           "%s is device %d of its backend", known[i].name, number);
  }
  const int gpus = karst_device_count("cuda");
  char beyond[32];
  snprintf(beyond, sizeof beyond, "cuda:%d", gpus);
  tap_ok(karst_device_count("cpu") == 1 && gpus >= 0 && !karst_device_count("cuda:0") && !karst_device_count(NULL) &&
             karst_context_set_device(context, beyond) == KARST_ERROR_NO_DEVICE,
         "%d GPUs are counted, and %s is not there", gpus, beyond);
  tap_ok(karst_backends[0]->host_memory && !karst_backends[0]->open, "a context begins with the host");
  karst_context_destroy(context);
}

int main(void)
{
  tap_each_device(operations, "vector operations");
  tap_each_device(errors, "errors");
  tap_each_device(public_operations, "operations of users");
  tap_each_device(public_extremes, "extreme values");
  tap_each_device(public_errors, "vectors that do not go together");
  surveys();
  device_names();
  if (have_threads()) {
    double dot[3], norm[3];
    for (int i = 0; i < 3; i++) norm[i] = delicate_sum(i + 1, &dot[i]);
    tap_ok(norm[0] == norm[1] && norm[0] == norm[2] && dot[0] == dot[1] && dot[0] == dot[2],
           "the same bits with 1, 2, 3 threads");
  } else
    tap_skip("built without OpenMP", "the same bits with 1, 2, 3 threads");
  return tap_done();
}
