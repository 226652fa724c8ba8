/* Every gallery problem is the matrix that the formulas in its file define, entry by entry.
 *
 * The expected matrices are assembled here densely from the positions of two cells, unlike in the generators. The
 * tolerance is 1e-14 of the entry's size, for sums in another order. */
#include "tests/support/problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns the entry (row, column) of a problem on a grid, for unknown m at position p and unknown n at position q. */
typedef double entry_function(const karst_index size[3], const karst_index p[3], const karst_index q[3], int m, int n,
                              int b);

static int distance(const karst_index p[3], const karst_index q[3], int *axis)
{
  int sum = 0;
  for (int a = 0; a < 3; a++) {
    int step = abs((int)(q[a] - p[a]));
    if (step > 0) *axis = a;
    sum += step;
  }
  return sum;
}

static double poisson2d_entry(const karst_index size[3], const karst_index p[3], const karst_index q[3], int m, int n,
                              int b)
{
  int axis, d = distance(p, q, &axis);
  (void)size, (void)m, (void)n, (void)b;
  return d == 0 ? 4 : d == 1 ? -1 : 0;
}

static double poisson3d_entry(const karst_index size[3], const karst_index p[3], const karst_index q[3], int m, int n,
                              int b)
{
  int axis, d = distance(p, q, &axis);
  (void)size, (void)m, (void)n, (void)b;
  return d == 0 ? 6 : d == 1 ? -1 : 0;
}

static double laplace27_entry(const karst_index size[3], const karst_index p[3], const karst_index q[3], int m, int n,
                              int b)
{
  int axis, far = 0;
  (void)size, (void)m, (void)n, (void)b;
  for (int a = 0; a < 3; a++) far = far || abs((int)(q[a] - p[a])) > 1;
  return distance(p, q, &axis) == 0 ? 26 : far ? 0 : -1;
}

static double anisotropic_entry(const karst_index size[3], const karst_index p[3], const karst_index q[3], int m, int n,
                                int b)
{
  const double epsilon[3] = {2.5, 1e-3, 7};
  int axis = 0, d = distance(p, q, &axis);
  (void)size, (void)m, (void)n, (void)b;
  return d == 0 ? 2 * (2.5 + 1e-3 + 7) : d == 1 ? -epsilon[axis] : 0;
}

static double checkerboard(const karst_index p[3]) { return (p[0] / 2 + p[1] / 2 + p[2] / 2) % 2 ? 50 : 1; }

static double discontinuous_entry(const karst_index size[3], const karst_index p[3], const karst_index q[3], int m,
                                  int n, int b)
{
  int axis, d = distance(p, q, &axis);
  double sum = 0, here = checkerboard(p);
  (void)m, (void)n, (void)b;
  if (d == 1) return -2 * here * checkerboard(q) / (here + checkerboard(q));
  for (int a = 0; a < 3 && d == 0; a++)
    for (int side = -1; side <= 1; side += 2) {
      karst_index r[3] = {p[0], p[1], p[2]};
      r[a] += side;
      bool inside = r[a] >= 0 && r[a] < size[a];
      sum += inside ? 2 * here * checkerboard(r) / (here + checkerboard(r)) : here;
    }
  return sum;
}

/* The parameters are contrast 50, width 2, ax 3, ay 0.5. */
static double jump_coefficient(karst_index i, karst_index j, bool channels)
{
  return (channels ? j / 2 % 4 == 1 : (i / 2 + j / 2) % 2 == 1) ? 50 : 1;
}

static double volume_entry(const karst_index size[3], const karst_index p[3], const karst_index q[3], bool channels)
{
  const double a[] = {3, 0.5}, here = jump_coefficient(p[0], p[1], channels);
  int axis = 0, d = distance(p, q, &axis);
  const double there = jump_coefficient(q[0], q[1], channels);
  double sum = 0;
  if (d == 1) return -a[axis] * 2 * here * there / (here + there);
  for (int face = 0; face < 4 && d == 0; face++) {
    karst_index r[3] = {p[0], p[1], 0};
    r[face / 2] += face % 2 ? 1 : -1;
    const double beyond = jump_coefficient(r[0], r[1], channels);
    const bool inside = r[face / 2] >= 0 && r[face / 2] < size[face / 2];
    sum += a[face / 2] * (inside ? 2 * here * beyond / (here + beyond) : here);
  }
  return sum;
}

static double checkerboard2d_entry(const karst_index size[3], const karst_index p[3], const karst_index q[3], int m,
                                   int n, int b)
{
  (void)m, (void)n, (void)b;
  return volume_entry(size, p, q, false);
}

static double channels2d_entry(const karst_index size[3], const karst_index p[3], const karst_index q[3], int m, int n,
                               int b)
{
  (void)m, (void)n, (void)b;
  return volume_entry(size, p, q, true);
}

/* The hat function of node p on a line, 0 at a distance of 1, and its slope. */
static double hat(karst_index p, double x) { return fmax(0, 1 - fabs(x - (double)p)); }
static double slope(karst_index p, double x) { return fabs(x - (double)p) > 1 ? 0 : x < (double)p ? 1 : -1; }

/* The integral over all elements by Gauss's formula of 2 x 2 points, which is exact for bilinear functions. Node (0, 0)
 * is the upper corner of element (0, 0). */
static double bilinear2d_entry(const karst_index size[3], const karst_index p[3], const karst_index q[3], int m, int n,
                               int b)
{
  const double gauss = 0.5 / sqrt(3);
  double sum = 0;
  (void)m, (void)n, (void)b;
  for (karst_index j = 0; j <= size[1]; j++)
    for (karst_index i = 0; i <= size[0]; i++)
      for (int point = 0; point < 4; point++) {
        const double x = (double)i - 0.5 + (point % 2 ? gauss : -gauss);
        const double y = (double)j - 0.5 + (point / 2 ? gauss : -gauss);
        sum += jump_coefficient(i, j, false) / 4 *
               (3 * slope(p[0], x) * slope(q[0], x) * hat(p[1], y) * hat(q[1], y) +
                0.5 * hat(p[0], x) * hat(q[0], x) * slope(p[1], y) * slope(q[1], y));
      }
  return sum;
}

/* The parameters are peclet 10 and coupling 2. */
static double convdiff_entry(const karst_index size[3], const karst_index p[3], const karst_index q[3], int m, int n,
                             int b)
{
  int axis = 0, d = distance(p, q, &axis);
  double x = (2.0 * (double)p[0] + 1 - (double)size[0]) / (double)size[0];
  double y = (2.0 * (double)p[1] + 1 - (double)size[1]) / (double)size[1];
  double velocity[3] = {10 * y, -10 * x, 5};
  if (d > 1 || (d == 1 && m != n)) return 0;
  if (d == 1) return -1 + fmin(0, (double)(q[axis] - p[axis]) * velocity[axis] * (m + 1) / b);
  double exchange = 2 * ((m == n) - 2.0 * (n + 1) / (b * (b + 1.0)));
  for (int a = 0; a < 3 && m == n; a++) exchange += 2 + fabs(velocity[a]) * (m + 1) / b;
  return exchange;
}

static void check_entries(karst_context *context, const char *spec, int block_size, const karst_index size[3], int b,
                          entry_function *entry)
{
  karst_matrix *A;
  karst_vector *rhs;
  tap_need(context, karst_gallery_create(context, spec, block_size, &A, &rhs), spec);
  int64_t n = size[0] * size[1] * size[2] * b;
  double worst = 0, *dense = tap_dense(A);
  for (int64_t c = 0; c < n; c++)
    for (int64_t r = 0; r < n; r++) {
      karst_index i = (karst_index)(r / b), j = (karst_index)(c / b), nx = size[0], ny = size[1];
      karst_index p[3] = {i % nx, i / nx % ny, i / nx / ny}, q[3] = {j % nx, j / nx % ny, j / nx / ny};
      double expected = entry(size, p, q, (int)(r % b), (int)(c % b), b);
      worst = fmax(worst, fabs(dense[r + n * c] - expected) / fmax(1, fabs(expected)));
    }
  tap_ok(karst_matrix_rows(A) == n && karst_matrix_block_size(A) == b && worst < 1e-14,
         "%s is the matrix of its formula (worst entry off by %.1e)", spec, worst);
  tap_ok(karst_matrix_check(context, karst_matrix_block_rows(A), karst_matrix_row_start(A), karst_matrix_column(A)) ==
                 KARST_SUCCESS &&
             karst_matrix_check_diagonal(A) == KARST_SUCCESS,
         "%s has a valid pattern with a diagonal", spec);
  tap_ok(rhs == NULL, "%s has no right-hand side of its own", spec);
  free(dense);
  karst_matrix_destroy(A);
}

static void test_entries(karst_context *context)
{
  check_entries(context, "poisson2d:4x3", 0, (karst_index[]){4, 3, 1}, 1, poisson2d_entry);
  check_entries(context, "poisson3d:4x3x5", 0, (karst_index[]){4, 3, 5}, 1, poisson3d_entry);
  check_entries(context, "poisson3d:3x1x1", 0, (karst_index[]){3, 1, 1}, 1, poisson3d_entry);
  check_entries(context, "laplace27:4x3x5", 0, (karst_index[]){4, 3, 5}, 1, laplace27_entry);
  check_entries(context, "laplace27:1x1x2", 0, (karst_index[]){1, 1, 2}, 1, laplace27_entry);
  check_entries(context, "anisotropic:3x4x3,epsz=7,epsx=2.5,epsy=1e-3", 0, (karst_index[]){3, 4, 3}, 1,
                anisotropic_entry);
  check_entries(context, "discontinuous:5x4x3,jump=50,width=2", 0, (karst_index[]){5, 4, 3}, 1, discontinuous_entry);
  check_entries(context, "jump2d:7x5,contrast=50,width=2,ax=3,ay=0.5", 0, (karst_index[]){7, 5, 1}, 1,
                checkerboard2d_entry);
  check_entries(context, "jump2d:3x9,shape=channels,contrast=50,width=2,ax=3,ay=0.5", 0, (karst_index[]){3, 9, 1}, 1,
                channels2d_entry);
  check_entries(context, "bilinear2d:6x5,contrast=50,width=2,ax=3,ay=0.5", 0, (karst_index[]){6, 5, 1}, 1,
                bilinear2d_entry);
  check_entries(context, "bilinear2d:1x3,contrast=50,width=2,ax=3,ay=0.5", 0, (karst_index[]){1, 3, 1}, 1,
                bilinear2d_entry);
  check_entries(context, "convdiff:4x3x2,coupling=2", 0, (karst_index[]){4, 3, 2}, 3, convdiff_entry);
  check_entries(context, "convdiff:3x3x2,coupling=2,peclet=10", 4, (karst_index[]){3, 3, 2}, 4, convdiff_entry);
}

/* Checks the largest |a_ij - a_ji|, and the largest row sum among the rows that have all their neighbours. */
static void check_structure(karst_context *context, const char *spec, bool symmetric)
{
  karst_matrix *A = matrix_from(context, spec, 0);
  int64_t n = karst_matrix_rows(A);
  double skew = 0, least = 1e300, *dense = tap_dense(A);
  for (int64_t r = 0; r < n; r++) {
    double sum = 0, size = 0;
    for (int64_t c = 0; c < n; c++) {
      skew = fmax(skew, fabs(dense[r + n * c] - dense[c + n * r]));
      sum += dense[r + n * c];
      size += fabs(dense[r + n * c]);
    }
    least = fmin(least, fabs(sum) / size);
  }
  tap_ok((skew == 0) == symmetric, "%s is %ssymmetric", spec, symmetric ? "" : "not ");
  tap_ok(least < 1e-15, "%s: the rows of inner cells sum to zero", spec);
  free(dense);
  karst_matrix_destroy(A);
}

static void test_structure(karst_context *context)
{
  check_structure(context, "poisson2d:3x3", true);
  check_structure(context, "poisson3d:3x4x3", true);
  check_structure(context, "laplace27:3x3x4", true);
  check_structure(context, "anisotropic:3x3x3", true);
  check_structure(context, "discontinuous:6x6x5,width=2", true);
  check_structure(context, "jump2d:6x5,width=2", true);
  check_structure(context, "bilinear2d:6x5,width=2,contrast=1e3", true);
  check_structure(context, "convdiff:3x5x4", false);
}

/* A file of coefficients gives the matrix of their formula. */
static void check_file(karst_context *context, const char *problem, karst_index nx, karst_index ny, karst_index margin)
{
  char spec[600], text[4096] = "PERMX\n";
  size_t used = strlen(text);
  for (karst_index j = 0; j < ny + margin; j++)
    for (karst_index i = 0; i < nx + margin; i++)
      used += (size_t)snprintf(text + used, sizeof text - used, "%g\n", jump_coefficient(i, j, false));
  snprintf(spec, sizeof spec, "%s:%dx%d,contrast=50,width=2", problem, (int)nx, (int)ny);
  karst_matrix *A = matrix_from(context, spec, 0);
  snprintf(spec, sizeof spec, "%s:%dx%d,perm=%s", problem, (int)nx, (int)ny, tap_write("k", text, -1));
  karst_matrix *B = matrix_from(context, spec, 0);
  double *a = tap_dense(A), *b = tap_dense(B);
  tap_ok(memcmp(a, b, sizeof *a * (size_t)(nx * ny * nx * ny)) == 0, "%s reads its coefficients", problem);
  free(a);
  free(b);
  karst_matrix_destroy(A);
  karst_matrix_destroy(B);
}

static void test_file(karst_context *context)
{
  check_file(context, "jump2d", 6, 5, 0);
  check_file(context, "bilinear2d", 6, 5, 1);
}

/* Another block size gives the same matrix and right-hand side, padded with a unit diagonal and zeros. */
static void check_block_size(karst_context *context, const char *spec, int block_size)
{
  karst_matrix *A, *B;
  karst_vector *a = NULL, *b = NULL;
  tap_need(context, karst_gallery_create(context, spec, 0, &A, &a), spec);
  tap_need(context, karst_gallery_create(context, spec, block_size, &B, &b), spec);
  int64_t n = karst_matrix_rows(A), padded = karst_matrix_rows(B);
  double *left = tap_dense(A), *right = tap_dense(B), *rhs = calloc((size_t)(n + padded), sizeof *rhs);
  bool same = karst_matrix_block_size(B) == block_size && padded == (n + block_size - 1) / block_size * block_size;
  for (int64_t c = 0; c < padded && same; c++)
    for (int64_t r = 0; r < padded; r++)
      same = same && right[r + padded * c] == (r < n && c < n ? left[r + n * c] : r == c);
  tap_ok(same, "%s with blocks of %d is the same matrix", spec, block_size);
  if (a) {
    tap_need(context, karst_vector_get(a, n, rhs), "get");
    tap_need(context, karst_vector_get(b, padded, rhs + n), "get");
    same = karst_vector_length(b) == padded;
    for (int64_t i = 0; i < padded && same; i++) same = rhs[n + i] == (i < n ? rhs[i] : 0);
    tap_ok(same, "%s with blocks of %d has the same right-hand side", spec, block_size);
  }
  free(left);
  free(right);
  free(rhs);
  karst_matrix_destroy(A);
  karst_matrix_destroy(B);
  karst_vector_destroy(a);
  karst_vector_destroy(b);
}

static void test_block_size(karst_context *context)
{
  check_block_size(context, "poisson2d:3x3", 2);
  check_block_size(context, "poisson3d:3x2x2", 3);
  check_block_size(context, "blackoil:3x2x2", 1);
  check_block_size(context, "blackoil:3x1x3", 2);
  check_block_size(context, "deadoil:3x3x1", 3);
}

int main(void)
{
  tap_each_device(test_entries, "entries");
  karst_context *context = tap_context();
  test_structure(context);
  test_block_size(context);
  test_file(context);
  karst_context_destroy(context);
  return tap_done();
}
