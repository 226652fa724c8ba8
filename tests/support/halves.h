/* halves.h - a preconditioner for tests of reduced systems. It eliminates every other unknown of a tridiagonal matrix,
 * and is the diagonal of the remaining matrix, S. Its vectors are computed on the host, whatever the device. */
#ifndef KARST_TESTS_SUPPORT_HALVES_H
#define KARST_TESTS_SUPPORT_HALVES_H

#include "lib/method/precond.h"
#include "tests/support/problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 101, BLACK = (N + 1) / 2, FIRST = 2, SIZE = BLACK + 5 }; /* padding before FIRST and at the end */

/* What the preconditioner does in a test, and the calls that it received. */
static struct script {
  double diagonal[N], beside[N]; /* A: a_ii, a_i,i+1 */
  double centre[BLACK], east[BLACK];
  karst_reason reason; /* of an update */
  double error;        /* S is multiplied by 1 + error */
  int nan_product;     /* the product that makes a NaN in element FIRST + 3 */
  int products, applies, general;
} script;

static void get(const karst_precond *p, const double *device, int n, double *host)
{
  tap_need(p->context, p->context->backend->download(p->context, host, device, (size_t)n * sizeof *host), "download");
}

static void put(const karst_precond *p, const double *host, int n, double *device)
{
  tap_need(p->context, p->context->backend->upload(p->context, device, host, (size_t)n * sizeof *host), "upload");
}

static void put_dot(const karst_precond *p, const double *x, const double *y, double *dot)
{
  double sum = 0;
  for (int i = 0; dot && i < SIZE; i++) sum += x[i] * y[i];
  if (dot) put(p, &sum, 1, dot);
}

/* The couplings of node i with nodes i - 1 and i + 1. */
static double west_of(int i) { return i > 0 ? script.beside[i - 1] : 0; }
static double east_of(int i) { return i + 1 < N ? script.beside[i] : 0; }

static karst_status update(karst_precond *p)
{
  double *value = malloc((3 * N - 2) * sizeof *value);
  if (!value) return karst_fail(p->context, KARST_ERROR_NO_MEMORY, "out of memory");
  get(p, p->A->value, 3 * N - 2, value);
  for (int i = 0; i < N; i++) {
    script.diagonal[i] = value[3 * i];
    script.beside[i] = i + 1 < N ? value[3 * i + 1] : 0;
  }
  free(value);
  for (int k = 0; k < BLACK; k++) {
    const int i = 2 * k;
    script.centre[k] = script.diagonal[i];
    if (i > 0) script.centre[k] -= west_of(i) * west_of(i) / script.diagonal[i - 1];
    if (i + 1 < N) script.centre[k] -= east_of(i) * east_of(i) / script.diagonal[i + 1];
    script.east[k] = i + 2 < N ? -east_of(i) * east_of(i + 1) / script.diagonal[i + 1] : 0;
  }
  p->reason = script.reason;
  if (p->reason == KARST_SOUND) return KARST_SUCCESS;
  p->block_row = 4;
  strcpy(p->explanation, "the pivot of node (4, 0) at level 1 is not positive");
  return KARST_SUCCESS;
}

static int64_t size(const karst_precond *p)
{
  (void)p;
  return SIZE;
}

static void enter_rhs(const double *b, double *reduced)
{
  memset(reduced, 0, SIZE * sizeof *reduced);
  for (int k = 0; k < BLACK; k++) {
    const int i = 2 * k;
    reduced[FIRST + k] = b[i];
    if (i > 0) reduced[FIRST + k] -= west_of(i) * b[i - 1] / script.diagonal[i - 1];
    if (i + 1 < N) reduced[FIRST + k] -= east_of(i) * b[i + 1] / script.diagonal[i + 1];
  }
}

static void enter(const karst_precond *p, const double *b, const double *x, double *reduced_b, double *reduced_x)
{
  double from[N], to[SIZE] = {0};
  get(p, x, N, from);
  for (int k = 0; k < BLACK; k++) to[FIRST + k] = from[2 * k];
  put(p, to, SIZE, reduced_x);
  get(p, b, N, from);
  enter_rhs(from, to);
  put(p, to, SIZE, reduced_b);
}

static void leave_from(const double *b, const double *reduced, double *x)
{
  for (int k = 0; k < BLACK; k++) x[2 * k] = reduced[FIRST + k];
  for (int i = 1; i < N; i += 2) x[i] = (b[i] - west_of(i) * x[i - 1] - east_of(i) * x[i + 1]) / script.diagonal[i];
}

static void leave(const karst_precond *p, const double *b, const double *reduced_x, double *x)
{
  double right[N], reduced[SIZE], to[N];
  get(p, b, N, right);
  get(p, reduced_x, SIZE, reduced);
  leave_from(right, reduced, to);
  put(p, to, N, x);
}

static void multiply(const karst_precond *p, const double *x, double *y, double *dot)
{
  double from[SIZE], to[SIZE] = {0};
  get(p, x, SIZE, from);
  for (int k = 0; k < BLACK; k++) {
    const double *at = from + FIRST + k;
    to[FIRST + k] = script.centre[k] * at[0] + script.east[k] * (k + 1 < BLACK ? at[1] : 0);
    if (k > 0) to[FIRST + k] += script.east[k - 1] * at[-1];
    to[FIRST + k] *= 1 + script.error;
  }
  if (++script.products == script.nan_product) to[FIRST + 3] = NAN;
  put(p, to, SIZE, y);
  put_dot(p, from, to, dot);
}

static void apply_reduced(const karst_precond *p, const double *r, double *z, double *dot)
{
  double from[SIZE], to[SIZE] = {0};
  get(p, r, SIZE, from);
  for (int k = 0; k < BLACK; k++) to[FIRST + k] = from[FIRST + k] / script.centre[k];
  script.applies++;
  put(p, to, SIZE, z);
  put_dot(p, from, to, dot);
}

static karst_status apply(const karst_precond *p, const double *r, double *z)
{
  double from[N], to[N], reduced[SIZE];
  get(p, r, N, from);
  enter_rhs(from, reduced);
  for (int k = 0; k < BLACK; k++) reduced[FIRST + k] /= script.centre[k];
  leave_from(from, reduced, to);
  script.general++;
  put(p, to, N, z);
  return KARST_SUCCESS;
}

static karst_index block_row(const karst_precond *p, int64_t element)
{
  (void)p;
  return element >= FIRST && element < FIRST + BLACK ? (karst_index)(2 * (element - FIRST)) : -1;
}

static const struct karst_reduction reduction = {size, enter, leave, multiply, apply_reduced, block_row};

/* Registers the method, and then gives it the functions above. */
static karst_status add_method(karst_context *context)
{
  const karst_precond_method method = copying_method("halves");
  const karst_status status = karst_precond_register(context, &method);
  if (status) return status;
  struct karst_precond_ops *ops = (struct karst_precond_ops *)karst_precond_find(context, "halves");
  ops->setup = precond_succeed;
  ops->update = update;
  ops->apply = apply;
  ops->reduction = &reduction;
  return KARST_SUCCESS;
}

#endif
