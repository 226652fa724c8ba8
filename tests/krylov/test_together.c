/* A fused pass of a device gives the results of separate operations: a product with its dot products, and the steps of
 * methods with short recurrences. The sums have the same bits in every run. Here the CPU's operations play such a
 * device, and the methods iterate as without it. */
#include "lib/matrix/matrix.h"
#include "lib/matrix/matrix_sums.h"
#include "tests/support/problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A vector of random numbers on the host and on the device. */
struct copy {
  double *host, *device;
};

static struct copy make(karst_context *context, int64_t n)
{
  struct copy x = {.host = malloc((size_t)(n + 1) * sizeof *x.host)};
  if (!x.host) exit(1);
  for (int64_t i = 0; i < n; i++) x.host[i] = tap_random();
  tap_need(context, karst_device_doubles(context, n, "a vector", &x.device), "device memory");
  tap_need(context, context->backend->upload(context, x.device, x.host, (size_t)n * sizeof *x.host), "upload");
  return x;
}

static void destroy(karst_context *context, struct copy *x)
{
  free(x->host);
  context->backend->release(context, x->device);
}

static void fetch(karst_context *context, int64_t n, double *host, const double *device)
{
  tap_need(context, context->backend->download(context, host, device, (size_t)n * sizeof *host), "download");
}

/* How far the device's x is from the host's. */
static double distance(karst_context *context, int64_t n, const struct copy *x)
{
  double *found = malloc((size_t)(n + 1) * sizeof *found), worst = 0;
  if (!found) exit(1);
  fetch(context, n, found, x->device);
  for (int64_t i = 0; i < n; i++)
    if (!(fabs(found[i] - x->host[i]) <= worst)) worst = fabs(found[i] - x->host[i]);
  free(found);
  return worst;
}

/* How far a sum is from x . y, as a part of the sum of the products' sizes. */
static double sum_error(int64_t n, const double *x, const double *y, double found)
{
  double sum = 0, size = 1e-300;
  for (int64_t i = 0; i < n; i++) {
    sum += x[i] * y[i];
    size += fabs(x[i] * y[i]);
  }
  return fabs(sum - found) / size;
}

static const double tolerance = 1e-12; /* of sums of up to a million products */

/* Dot products of y = A x with the vectors named, such as "xy". offset: where x begins in its memory. */
static void check_product(karst_context *context, const karst_matrix *A, const char *names, int offset)
{
  const int64_t n = karst_matrix_rows(A);
  const int count = (int)strlen(names);
  struct copy x = make(context, n + offset), w = make(context, n), y = make(context, n), sums = make(context, 3);
  const double *with[2], *host[2];
  double found[3], again[3], worst = 0;
  context->backend->multiply(context, A, x.device + offset, y.device);
  fetch(context, n, y.host, y.device);
  context->backend->fill(context, n, NAN, y.device);
  for (int v = 0; v < count; v++) {
    with[v] = names[v] == 'x' ? x.device + offset : names[v] == 'y' ? y.device : w.device;
    host[v] = names[v] == 'x' ? x.host + offset : names[v] == 'y' ? y.host : w.host;
  }
  karst_sums_multiply(context, A, x.device + offset, y.device, count, with, sums.device);
  fetch(context, 3, found, sums.device);
  karst_sums_multiply(context, A, x.device + offset, y.device, count, with, sums.device);
  fetch(context, 3, again, sums.device);
  for (int v = 0; v < count; v++) worst = fmax(worst, sum_error(n, host[v], y.host, found[v]));
  const double off = distance(context, n, &y);
  tap_ok(off <= 1e-13 && worst <= tolerance && found[count] == sums.host[count],
         "%lld rows, b = %d: a product and its sums with %s (%.1e, %.1e)", (long long)karst_matrix_block_rows(A),
         karst_matrix_block_size(A), names, off, worst);
  tap_ok(memcmp(found, again, sizeof found) == 0, "with the same bits again");
  destroy(context, &x);
  destroy(context, &w);
  destroy(context, &y);
  destroy(context, &sums);
}

static void check_products(karst_context *context, karst_index rows, int b)
{
  static const char *const names[] = {"x", "w", "y", "wy", "xw", "yy"};
  karst_matrix *A = tap_random_matrix(context, rows, b, 4, 1);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) check_product(context, A, names[i], (int)i % 2);
  karst_matrix_destroy(A);
}

/* The last ones have more rows than all thread blocks of a GPU take at a time. */
static void products(karst_context *context)
{
  static const int sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 67};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    check_products(context, 1, sizes[i]);
    check_products(context, 150 + (karst_index)tap_random_index(300), sizes[i]);
  }
  const karst_index start[] = {0};
  karst_matrix *A;
  tap_need(context, karst_matrix_create(context, 0, 1, start, start, NULL, KARST_COPY, &A), "an empty matrix");
  check_product(context, A, "xy", 0);
  karst_matrix_destroy(A);
  A = matrix_from(context, "poisson2d:1100x1000", 0);
  check_product(context, A, "x", 0);
  check_product(context, A, "wy", 0);
  karst_matrix_destroy(A);
  check_products(context, 140000 + (karst_index)tap_random_index(1000), 2);
  check_products(context, 17000 + (karst_index)tap_random_index(1000), 7);
}

/* over / under is the length of the step. */
static void check_step(karst_context *context, int64_t n, double over, double under, bool dot)
{
  struct copy x = make(context, n), y = make(context, n), w = make(context, n), s = make(context, 5);
  const double length = isfinite(over / under) ? over / under : 0, scalars[] = {over, under};
  double found[5];
  tap_need(context, context->backend->upload(context, s.device, scalars, sizeof scalars), "scalars");
  karst_sums_step(context, n, s.device, s.device + 1, s.device + 2, x.device, y.device, s.device + 3,
                  dot ? w.device : NULL, s.device + 4);
  fetch(context, 5, found, s.device);
  for (int64_t i = 0; i < n; i++) y.host[i] -= length * x.host[i];
  const double off = distance(context, n, &y), norm2 = sum_error(n, y.host, y.host, found[3]);
  const double other = dot ? sum_error(n, w.host, y.host, found[4]) : fabs(found[4] - s.host[4]);
  tap_ok(found[2] == length && off <= 1e-15 * (1 + fabs(length)) && norm2 <= tolerance && other <= tolerance,
         "a step of %g, %lld scalars%s (%.1e, %.1e, %.1e)", length, (long long)n, dot ? " and a dot product" : "", off,
         norm2, other);
  destroy(context, &x);
  destroy(context, &y);
  destroy(context, &w);
  destroy(context, &s);
}

/* p = z + (over / under) p, where p is not finite if the quotient is not. */
static void check_turn(karst_context *context, int64_t n, double over, double under)
{
  struct copy x = make(context, n), p = make(context, n), z = make(context, n), s = make(context, 3);
  const bool finite = isfinite(over / under);
  const double beta = finite ? over / under : 0, scalars[] = {s.host[0], over, under};
  tap_need(context, context->backend->upload(context, s.device, scalars, sizeof scalars), "scalars");
  if (!finite) context->backend->fill(context, n, INFINITY, p.device);
  context->backend->turn(context, n, s.device, s.device + 1, s.device + 2, z.device, p.device, x.device);
  for (int64_t i = 0; i < n; i++) {
    x.host[i] += scalars[0] * p.host[i];
    p.host[i] = z.host[i] + beta * p.host[i];
  }
  const double turned = distance(context, n, &p), moved = finite ? distance(context, n, &x) : 0;
  tap_ok(turned <= 1e-15 * (1 + fabs(beta)) && moved <= 1e-15, "a turn by %g, %lld scalars (%.1e, %.1e)", beta,
         (long long)n, turned, moved);
  destroy(context, &x);
  destroy(context, &p);
  destroy(context, &z);
  destroy(context, &s);
}

/* p = r + beta (p - omega v), where p and v are not finite if beta is not. */
static void check_stabilised(karst_context *context, int64_t n, double over, double under)
{
  struct copy v = make(context, n), p = make(context, n), r = make(context, n), s = make(context, 4);
  const double omega = s.host[3], beta = over / under * (s.host[2] / omega);
  const double scalars[] = {over, under, s.host[2], omega};
  tap_need(context, context->backend->upload(context, s.device, scalars, sizeof scalars), "scalars");
  if (!isfinite(beta)) {
    context->backend->fill(context, n, INFINITY, p.device);
    context->backend->fill(context, n, INFINITY, v.device);
  }
  context->backend->turn_stabilised(context, n, s.device, s.device + 1, s.device + 2, s.device + 3, v.device, r.device,
                                    p.device);
  for (int64_t i = 0; i < n; i++)
    p.host[i] = isfinite(beta) ? r.host[i] + beta * (p.host[i] - omega * v.host[i]) : r.host[i];
  const double turned = distance(context, n, &p);
  tap_ok(turned <= 1e-15 * (1 + 2 * fabs(isfinite(beta) ? beta : 0)), "a turn of bicgstab by %g, %lld scalars (%.1e)",
         beta, (long long)n, turned);
  destroy(context, &v);
  destroy(context, &p);
  destroy(context, &r);
  destroy(context, &s);
}

static void recurrences(karst_context *context)
{
  const int64_t lengths[] = {0, 1, 7, 64, 513, 100003, 1000000};
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    check_step(context, lengths[i], 3 * tap_random(), 2, i % 2 == 0);
    check_step(context, lengths[i], i % 2 ? 1 : NAN, 0, i % 2 == 1);
  }
  if (!context->backend->turn) {
    tap_skip("here they are two", "a step in x and a turn of p at once");
    return;
  }
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    check_turn(context, lengths[i], 3 * tap_random(), 2);
    check_turn(context, lengths[i], 1, 0);
    check_stabilised(context, lengths[i], 3 * tap_random(), 2);
    check_stabilised(context, lengths[i], 1, 0);
  }
}

static int together; /* calls of the operations below */

static void play_multiply_dots(karst_context *context, const karst_matrix *A, const double *x, double *y, int count,
                               const double *const *with, double *result)
{
  together++;
  karst_backends[0]->multiply(context, A, x, y);
  karst_backends[0]->dots(context, karst_matrix_rows(A), count, with, y, result);
}

static void play_step(karst_context *context, int64_t n, const double *a, const double *b, double *step,
                      const double *x, double *y, double *norm2, const double *with, double *dot)
{
  together++;
  karst_backends[0]->quotient(context, 1, a, b, NULL, NULL, step);
  karst_backends[0]->combine(context, n, 1, -1, step, &x, NULL, y, norm2);
  if (with) karst_backends[0]->dots(context, n, 1, &with, y, dot);
}

static void play_turn(karst_context *context, int64_t n, const double *step, const double *a, const double *b,
                      const double *z, double *p, double *x)
{
  const double one = 1, *const along = p;
  double beta;
  together++;
  karst_backends[0]->combine(context, n, 1, 1, step, &along, NULL, x, NULL);
  karst_backends[0]->quotient(context, 1, a, b, NULL, NULL, &beta);
  karst_backends[0]->combine(context, n, 1, 1, &one, &z, &beta, p, NULL);
}

static void play_turn_stabilised(karst_context *context, int64_t n, const double *a, const double *b,
                                 const double *alpha, const double *omega, const double *v, const double *r, double *p)
{
  const double *const add[] = {v, r};
  double beta, factor[] = {0, 1};
  together++;
  karst_backends[0]->quotient(context, 1, a, b, alpha, omega, &beta);
  factor[0] = -beta * *omega;
  karst_backends[0]->combine(context, n, 2, 1, factor, add, &beta, p, NULL);
}

/* Solves on a backend with the CPU's memory; returns x, which the caller frees. */
static double *solve(const struct karst_backend *backend, const tap_settings *settings, karst_result *result)
{
  karst_context *context = tap_context();
  context->backend = backend;
  karst_matrix *A = matrix_from(context, "poisson2d:30x20", 0);
  const int64_t rows = karst_matrix_rows(A);
  karst_vector *b = vector_of(context, rows, 1), *x = vector_of(context, rows, 0);
  karst_solver *solver = solver_set_up(context, settings, A);
  tap_need(context, karst_solver_solve(solver, b, x, result), "solve");
  double *solution = malloc((size_t)rows * sizeof *solution);
  if (!solution) exit(1);
  tap_need(context, karst_vector_get(x, rows, solution), "x");
  karst_solver_destroy(solver);
  karst_vector_destroy(x);
  karst_vector_destroy(b);
  karst_matrix_destroy(A);
  context->backend = karst_backends[0];
  karst_context_destroy(context);
  return solution;
}

/* least: calls of these operations in an iteration. */
static void check_method(const char *solver, const char *norm, int max_iterations, int least)
{
  enum { ROWS = 30 * 20 };
  struct karst_backend device = *karst_backends[0];
  karst_result expected, found;
  device.multiply_dots = play_multiply_dots;
  device.step = play_step;
  device.turn = play_turn;
  device.turn_stabilised = play_turn_stabilised;
  tap_settings settings = settings_for(solver, NULL);
  settings.norm = norm;
  settings.max_iterations = max_iterations;
  double *one_by_one = solve(karst_backends[0], &settings, &expected);
  together = 0;
  double *at_once = solve(&device, &settings, &found);
  tap_ok(found.iterations == expected.iterations && found.reason == expected.reason &&
             memcmp(one_by_one, at_once, ROWS * sizeof *at_once) == 0,
         "%s, norm %s, at most %d iterations: %d as without these operations", solver, norm, max_iterations,
         found.iterations);
  tap_ok(together >= least * (found.iterations - 1), "which are called %d times", together);
  free(one_by_one);
  free(at_once);
}

static void check_methods(void)
{
  check_method("cg", "true", 1000, 3);
  check_method("cg", "preconditioned", 1000, 3);
  check_method("cg", "true", 1, 2);
  check_method("cg", "true", 7, 3);
  check_method("bicgstab", "true", 1000, 5);
  check_method("bicgstab", "true", 5, 5);
}

int main(void)
{
  check_methods();
  tap_each_device(products, "products and their sums");
  tap_each_device(recurrences, "steps and turns");
  return tap_done();
}
