/* ns3d matches its equations. The matrix agrees with differences of a residual that this test computes independently,
 * face by face, and the right-hand side with minus that residual. Direct sums contain their summands. Steps with block
 * ILU(0) converge as expected. */
#include "tests/support/problem.h"
#include "tests/support/refusal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { U, V, W, P, K, E, UNKNOWNS };

static const double pi = 3.14159265358979323846;

/* A flow, and the constants of its linearization: one number a cell. */
struct flow {
  int size[3], n;
  double reynolds, cfl;
  int number;
  double *eddy_viscosity, *production, *time_step;
};

static int cells(const struct flow *f) { return f->size[0] * f->size[1] * f->size[2]; }

/* Returns the centre of a cell, as coordinates from 0 to 1. */
static double centre(const struct flow *f, int cell, int axis)
{
  int stride = axis == 0 ? 1 : axis == 1 ? f->size[0] : f->size[0] * f->size[1];
  int position = cell / stride % f->size[axis];
  return (position + 0.5) / f->size[axis];
}

static double viscosity(const struct flow *f) { return 1 / (f->reynolds * (1 + f->number / 8.0)); }

/* The field at a point, all coordinates from 0 to 1. */
static void field(const struct flow *f, double x, double y, double z, double q[UNKNOWNS])
{
  double phase = 0.3 + 0.7 * f->number, length = (double)f->size[0] / f->size[1];
  double sx = sin(pi * x + phase), sy = sin(pi * y + phase), sz = sin(pi * z + phase);
  double cx = cos(pi * x + phase), cy = cos(pi * y + phase), cz = cos(pi * z + phase);
  double profile = 4 * y * (1 - y), mixing_length = (1 + 3 * profile) / 80;
  q[U] = profile * (1 + 0.07 * sx * cz);
  q[V] = 0.07 * profile * cx * sz;
  q[W] = 0.07 * profile * 4 * z * (1 - z) * sx;
  q[P] = 8 * viscosity(f) * length * (1 - x) + 0.07 * (1 - x) * cy * sz;
  q[K] = f->n == 4 ? 0 : (1 + 3 * profile) * (1 + 0.07 * sx * sy * cz) / 400;
  q[E] = pow(0.09, 0.75) * pow(q[K], 1.5) / mixing_length;
}

/* Sets the initial field q[n * cells] and the constants of the linearization. */
static void start(struct flow *f, double *q)
{
  double h = 1.0 / f->size[1];
  for (int i = 0; i < cells(f); i++) {
    double value[UNKNOWNS], speed = 0, y = centre(f, i, 1);
    field(f, centre(f, i, 0), y, centre(f, i, 2), value);
    for (int m = 0; m < f->n; m++) q[f->n * i + m] = value[m];
    for (int axis = 0; axis < 3; axis++) speed += fabs(value[axis]) + sqrt(value[axis] * value[axis] + 1);
    f->eddy_viscosity[i] = f->n == 4 ? 0 : 0.09 * value[K] * value[K] / value[E];
    f->production[i] = f->eddy_viscosity[i] * pow(4 - 8 * y, 2);
    f->time_step[i] = f->cfl * h / speed;
  }
}

/* Computes the flux along an axis through a face of unit area between two cells; left or right is -1 at the boundary of
 * the grid. */
static void face_flux(const struct flow *f, const double *q, int axis, int left, int right, double flux[UNKNOWNS])
{
  double a[UNKNOWNS] = {0}, b[UNKNOWNS] = {0}, h = 1.0 / f->size[1];
  bool boundary = left < 0 || right < 0, inflow = axis == 0 && left < 0, outflow = axis == 0 && right < 0;
  double *outside = left < 0 ? a : b;
  int inner = left < 0 ? right : left;
  memcpy(a, q + f->n * (boundary ? inner : left), sizeof *q * (size_t)f->n);
  memcpy(b, q + f->n * (boundary ? inner : right), sizeof *q * (size_t)f->n);
  double eddy_viscosity =
      boundary ? f->eddy_viscosity[inner] : (f->eddy_viscosity[left] + f->eddy_viscosity[right]) / 2;
  double push = (outflow ? 0 : (a[P] + b[P]) / 2) + (a[K] + b[K]) / 3;
  if (inflow) field(f, 0, centre(f, inner, 1), centre(f, inner, 2), outside);
  if (boundary && axis == 1) outside[U] = outside[V] = outside[W] = outside[K] = eddy_viscosity = 0;
  if (boundary && axis == 2) outside[W] = 0;
  double through = boundary && axis > 0 ? 0 : inflow ? a[axis] : (a[axis] + b[axis]) / 2;
  for (int m = 0; m < f->n; m++) {
    double d = viscosity(f) + (m == E ? eddy_viscosity / 1.3 : eddy_viscosity);
    double diffusion = d * (b[m] - a[m]) / (boundary ? h / 2 : h);
    flux[m] = m == P ? through : through * (through > 0 ? a : b)[m] - diffusion;
  }
  flux[axis] += push;
}

/* Computes the residual of all cells, the equations without pseudo-time. */
static void residual(const struct flow *f, const double *q, double *r)
{
  const int stride[3] = {1, f->size[0], f->size[0] * f->size[1]};
  double flux[UNKNOWNS], h = 1.0 / f->size[1];
  memset(r, 0, sizeof *r * (size_t)(f->n * cells(f)));
  for (int axis = 0; axis < 3; axis++)
    for (int i = 0; i < cells(f); i++) {
      int position = i / stride[axis] % f->size[axis], right = position + 1 < f->size[axis] ? i + stride[axis] : -1;
      face_flux(f, q, axis, i, right, flux);
      for (int m = 0; m < f->n; m++) r[f->n * i + m] += flux[m] / h;
      for (int m = 0; m < f->n && right >= 0; m++) r[f->n * right + m] -= flux[m] / h;
      if (position == 0) face_flux(f, q, axis, -1, i, flux);
      for (int m = 0; m < f->n && position == 0; m++) r[f->n * i + m] -= flux[m] / h;
    }
  for (int i = 0; i < cells(f) && f->n > 4; i++) {
    double k = q[f->n * i + K], epsilon = q[f->n * i + E];
    r[f->n * i + K] -= f->production[i] - epsilon;
    r[f->n * i + E] -= 1.44 * f->production[i] * epsilon / k - 1.92 * epsilon * epsilon / k;
  }
}

/* Compares the matrix, column by column, with central differences of the residual plus the pseudo-time term, and the
 * right-hand side with the residual. The residual has curvature only in products of two unknowns and in k, of the order
 * of 0.01: with a step of 1e-5 of each unknown's size differences err by 1e-10 of it, and rounding adds 1e-10. */
static void compare(const struct flow *f, const double *dense, const double *rhs, double *q, const char *spec)
{
  static const double scale[UNKNOWNS] = {1, 1, 1, 1, 0.01, 0.001};
  int rows = f->n * cells(f);
  double *more = malloc(sizeof *more * (size_t)rows), *less = malloc(sizeof *less * (size_t)rows);
  double worst = 0, size = 0, worst_rhs = 0;
  residual(f, q, more);
  for (int i = 0; i < rows; i++) worst_rhs = fmax(worst_rhs, fabs(rhs[i] + more[i]) / (1 + fabs(more[i])));
  for (int c = 0; c < rows; c++) {
    double old = q[c], step = 1e-5 * scale[c % f->n];
    q[c] = old + step;
    residual(f, q, more);
    q[c] = old - step;
    residual(f, q, less);
    q[c] = old;
    for (int r = 0; r < rows; r++) {
      double expected = (more[r] - less[r]) / (2 * step) + (r == c ? 1 / f->time_step[c / f->n] : 0);
      double weight = scale[c % f->n] / scale[r % f->n];
      worst = fmax(worst, fabs(dense[r + (int64_t)rows * c] - expected) * weight);
      size = fmax(size, fabs(expected) * weight);
    }
  }
  tap_ok(worst < 1e-7 * size, "%s, n = %d: the matrix is the derivative of the residual (%.1e of %.1e)", spec, f->n,
         worst, size);
  tap_ok(worst_rhs < 1e-11, "%s, n = %d: the right-hand side is minus the residual (%.1e)", spec, f->n, worst_rhs);
  free(more);
  free(less);
}

static void check_derivative(karst_context *context, struct flow f)
{
  char spec[200];
  snprintf(spec, sizeof spec, "ns3d:%dx%dx%d,re=%g,cfl=%g,flow=%d", f.size[0], f.size[1], f.size[2], f.reynolds, f.cfl,
           f.number);
  karst_matrix *A;
  karst_vector *b;
  tap_need(context, karst_gallery_create(context, spec, f.n, &A, &b), spec);
  size_t count = (size_t)cells(&f), rows = count * (size_t)f.n;
  double *dense = tap_dense(A), *rhs = calloc(rows, sizeof *rhs), *q = calloc(rows, sizeof *q);
  double *constants = calloc(3 * count, sizeof *constants);
  f.eddy_viscosity = constants;
  f.production = constants + count;
  f.time_step = constants + 2 * count;
  tap_need(context, karst_vector_get(b, (int64_t)rows, rhs), "right-hand side");
  start(&f, q);
  compare(&f, dense, rhs, q, spec);
  free(constants);
  free(q);
  free(rhs);
  free(dense);
  karst_vector_destroy(b);
  karst_matrix_destroy(A);
}

static void test_derivatives(karst_context *context)
{
  static const int sizes[][3] = {{4, 3, 3}, {5, 4, 1}, {1, 5, 2}, {3, 1, 2}, {2, 1, 1}, {1, 1, 1}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    for (int n = 4; n <= 6; n += 2) {
      struct flow f = {.n = n, .reynolds = i % 2 ? 20 : 1000, .cfl = i % 2 ? 7 : 3.25, .number = (int)i / 2};
      memcpy(f.size, sizes[i], sizeof f.size);
      check_derivative(context, f);
    }
}

/* The pattern has seven points, or five in one layer. The grid comes with the matrix and is also found in the pattern,
 * and the values do not depend on the run. */
static void check_pattern(karst_context *context, karst_index nx, karst_index ny, karst_index nz, int n)
{
  char spec[100];
  snprintf(spec, sizeof spec, "ns3d:%dx%dx%d", (int)nx, (int)ny, (int)nz);
  karst_grid given, found;
  karst_stencil stencil;
  karst_matrix *A = matrix_from(context, spec, n), *B = matrix_from(context, spec, n);
  int64_t blocks = nx * ny * nz + 2 * ((nx - 1) * ny * nz + nx * (ny - 1) * nz + nx * ny * (nz - 1));
  size_t bytes = sizeof(double) * (size_t)(blocks * n * n);
  tap_ok(karst_matrix_blocks(A) == blocks && karst_matrix_block_size(A) == n, "%s: seven points, blocks of %d", spec,
         n);
  tap_ok(memcmp(karst_matrix_value(A), karst_matrix_value(B), bytes) == 0, "%s: the same values again", spec);
  tap_need(context, karst_matrix_get_grid(A, &given), "grid");
  bool fits = karst_matrix_check_grid(A, &stencil) == KARST_SUCCESS && stencil == KARST_STENCIL_FACES;
  karst_matrix_forget_grid(A);
  tap_need(context, karst_matrix_find_grid(A), "search");
  tap_need(context, karst_matrix_get_grid(A, &found), "grid");
  tap_ok(fits && given.size[0] == nx && given.size[1] == ny && given.size[2] == nz, "%s has its grid", spec);
  tap_ok(memcmp(given.size, found.size, sizeof given.size) == 0, "%s: the grid is found in the pattern", spec);
  karst_matrix_destroy(A);
  karst_matrix_destroy(B);
}

/* Compares the part of a direct sum from unknown number first on with a system of its own, flow number flow. Returns
 * the unknowns of the summand, 0 if the part differs or is coupled to unknowns of other summands. */
static bool holds_summand(karst_context *context, const karst_matrix *sum, const double *rhs, int first, int n,
                          int flow)
{
  karst_matrix *A;
  karst_vector *b;
  char spec[100];
  snprintf(spec, sizeof spec, "ns3d:3x2x2,flow=%d", flow);
  tap_need(context, karst_gallery_create(context, spec, n, &A, &b), spec);
  int size = karst_matrix_block_size(sum);
  int64_t rows = karst_matrix_rows(A);
  double *part = malloc(sizeof *part * (size_t)rows);
  const double *large = karst_matrix_value(sum), *small = karst_matrix_value(A);
  bool same = true;
  tap_need(context, karst_vector_get(b, rows, part), "right-hand side");
  for (int64_t i = 0; i < rows; i++) same = same && part[i] == rhs[i / n * size + first + i % n];
  for (int64_t block = 0; block < karst_matrix_blocks(A); block++)
    for (int c = 0; c < size; c++)
      for (int r = 0; r < n; r++) {
        bool inside = c >= first && c < first + n;
        double expected = inside ? small[block * n * n + r + n * (c - first)] : 0;
        same = same && large[block * size * size + first + r + size * c] == expected;
      }
  free(part);
  karst_vector_destroy(b);
  karst_matrix_destroy(A);
  return same;
}

static void check_sum(karst_context *context, const int summand[4])
{
  karst_matrix *A;
  karst_vector *b;
  int n = 0, first = 0;
  bool same = true;
  for (int i = 0; i < 4; i++) n += summand[i];
  tap_need(context, karst_gallery_create(context, "ns3d:3x2x2", n, &A, &b), "sum");
  int64_t rows = karst_matrix_rows(A);
  double *rhs = malloc(sizeof *rhs * (size_t)rows);
  tap_need(context, karst_vector_get(b, rows, rhs), "right-hand side");
  for (int i = 0; i < 4 && summand[i]; i++) {
    same = same && holds_summand(context, A, rhs, first, summand[i], i);
    first += summand[i];
  }
  tap_ok(same && rows == 12 * (int64_t)n, "n = %d is the direct sum of its summands", n);
  free(rhs);
  karst_vector_destroy(b);
  karst_matrix_destroy(A);
}

/* Each step x <- x + M^-1 (b - A x) with block ILU(0) reduces |b - A x|^2 about tenfold. The bounds allow twice as much
 * and half of it, because each part of the spectrum has its own factor. */
static void check_steps(karst_context *context, const char *spec, int n)
{
  enum { STEPS = 12 };
  karst_matrix *A;
  karst_vector *b;
  double least = 1e300, first = 0, norm = 0;
  tap_need(context, karst_gallery_create(context, spec, n, &A, &b), spec);
  karst_precond *M = precond_from(context, PAIRS("precond", "iluk", "level", "0"), A);
  karst_vector *x = vector_of(context, karst_matrix_rows(A), 0), *r = vector_of(context, karst_matrix_rows(A), 0);
  karst_vector *z = vector_of(context, karst_matrix_rows(A), 0);
  for (int step = 0; step <= STEPS; step++) {
    double before = norm;
    tap_need(context, karst_matrix_residual(A, b, x, r, NULL), "residual");
    tap_need(context, karst_vector_dot(r, r, &norm), "sum");
    if (step == 0)
      first = norm;
    else
      least = fmin(least, before / norm);
    tap_need(context, karst_precond_apply(M, r, z), "apply");
    tap_need(context, karst_vector_add(1, z, x), "correction");
  }
  double mean = pow(first / norm, 1.0 / STEPS);
  tap_ok(least > 4 && mean > 6 && mean < 20, "%s, n = %d: |R|^2 falls %.1f times a step, at least %.1f times", spec, n,
         mean, least);
  karst_vector_destroy(x);
  karst_vector_destroy(r);
  karst_vector_destroy(z);
  karst_vector_destroy(b);
  karst_precond_destroy(M);
  karst_matrix_destroy(A);
}

static void test_steps(karst_context *context)
{
  check_steps(context, "ns3d:15x15x15", 4);
  check_steps(context, "ns3d:15x15x15", 6);
  check_steps(context, "ns3d:9x17x11", 10);
  check_steps(context, "ns3d:12x20x8", 14);
}

static void test_refusals(karst_context *context)
{
  static const int wrong[] = {1, 2, 3, 5, 7, 9, 31, 1023};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    refuse_gallery(context, "ns3d:2x2x2", wrong[i], KARST_ERROR_ARGUMENT, "a cell has 4 or 6 unknowns");
  refuse_gallery(context, "ns3d:2x2x2", 1026, KARST_ERROR_ARGUMENT, "out of range (1 to 1024");
  refuse_gallery(context, "ns3d:2x2", 4, KARST_ERROR_OPTION, "ns3d:NXxNYxNZ");
  refuse_gallery(context, "ns3d:2x2x0", 4, KARST_ERROR_OPTION, "a size is 0");
  refuse_gallery(context, "ns3d:2x2x2,re=0", 4, KARST_ERROR_OPTION, "re=0: expected a number from");
  refuse_gallery(context, "ns3d:2x2x2,cfl=-1", 4, KARST_ERROR_OPTION, "cfl=-1: expected a number from");
  refuse_gallery(context, "ns3d:2x2x2,flow=0.5", 4, KARST_ERROR_OPTION, "flow=0.5: expected a whole number");
  refuse_gallery(context, "ns3d:2x2x2,mach=1", 4, KARST_ERROR_OPTION, "its keys are re, cfl, flow");
}

int main(void)
{
  static const int sums[][4] = {{4, 4}, {4, 6}, {6, 6}, {4, 4, 6}, {4, 6, 6}, {6, 6, 6}, {4, 4, 6, 6}};
  karst_context *context = tap_context();
  test_derivatives(context);
  check_pattern(context, 4, 3, 5, 4);
  check_pattern(context, 6, 5, 1, 6);
  check_pattern(context, 3, 7, 4, 16);
  for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) check_sum(context, sums[i]);
  karst_matrix *A = matrix_from(context, "ns3d:1x1x2", 0);
  tap_ok(karst_matrix_block_size(A) == 4, "a cell has 4 unknowns by default");
  karst_matrix_destroy(A);
  A = matrix_from(context, "ns3d:2x1x1", 1024);
  tap_ok(karst_matrix_block_size(A) == 1024, "sums go up to the largest block");
  karst_matrix_destroy(A);
  test_refusals(context);
  karst_context_destroy(context);
  tap_each_device(test_steps, "correction steps");
  return tap_done();
}
