/* test_wells_residual.c - the residual with wells beside the matrix, against 113-bit arithmetic: in working precision
 * its error is within the bound, also if D is ill-conditioned; computed precisely it has the digits of a number as
 * small as rounding errors. */
#include "lib/matrix/residual.h"
#include "tests/support/random_wells.h"

enum { ROWS = 30, WELLS = 6 };

typedef __float128 quad;

static struct well_arrays w;

static double magnitude(quad x) { return fabs((double)x); }

/* Solves D t = t by elimination with exchanges. */
static void solve_quad(int n, const double *D, quad *t)
{
  quad a[MOST_EQUATIONS][MOST_EQUATIONS + 1];
  for (int r = 0; r < n; r++) {
    for (int c = 0; c < n; c++) a[r][c] = D[c * n + r];
    a[r][n] = t[r];
  }
  for (int c = 0; c < n; c++) {
    int best = c;
    for (int r = c; r < n; r++)
      if (magnitude(a[r][c]) > magnitude(a[best][c])) best = r;
    for (int k = 0; k <= n; k++) {
      const quad kept = a[c][k];
      a[c][k] = a[best][k];
      a[best][k] = kept;
    }
    for (int r = 0; r < n; r++) {
      const quad factor = r == c ? 0 : a[r][c] / a[c][c];
      for (int k = c; k <= n; k++) a[r][k] -= factor * a[c][k];
    }
  }
  for (int r = 0; r < n; r++) t[r] = a[r][n] / a[r][r];
}

/* y = (A - C' D^-1 B) x; dense: A */
static void multiply_quad(int64_t n, const double *dense, const double *x, quad *y)
{
  for (int64_t r = 0; r < n; r++) {
    y[r] = 0;
    for (int64_t c = 0; c < n; c++) y[r] += (quad)dense[c * n + r] * x[c];
  }
  for (karst_index i = 0; i < w.wells; i++) {
    quad t[MOST_EQUATIONS] = {0};
    const int k = w.equations[i];
    for (karst_index p = w.start[i]; p < w.start[i + 1]; p++)
      for (int v = 0; v < k * w.b; v++)
        t[v % k] += (quad)w.B[well_entry(&w, i, p) + v] * x[(int64_t)w.cell[p] * w.b + v / k];
    solve_quad(k, w.D + well_square(&w, i), t);
    for (karst_index p = w.start[i]; p < w.start[i + 1]; p++)
      for (int v = 0; v < k * w.b; v++)
        y[(int64_t)w.cell[p] * w.b + v / k] -= (quad)w.C[well_entry(&w, i, p) + v] * t[v % k];
  }
}

/* Makes the last column of each D nearly the first: a condition of about 1 / near. */
static void spoil(double near)
{
  for (karst_index i = 0; i < w.wells; i++) {
    const int n = w.equations[i];
    double *D = w.D + well_square(&w, i);
    for (int e = 0; e < n && n > 1; e++) D[(n - 1) * n + e] = D[e] + near * (1 + 0.5 * tap_random());
  }
}

/* Both residuals of an x whose right-hand side is its product, rounded. */
static void compare(karst_context *context, int b, double near)
{
  karst_matrix *A = tap_random_matrix(context, ROWS, b, 4, 1.2);
  const int64_t n = karst_matrix_rows(A);
  draw_wells(&w, ROWS, b, WELLS, 0.3);
  spoil(near);
  karst_wells *wells = make_wells(context, ROWS, &w);
  double *dense = tap_dense(A), *x = random_on_host(n), *right = tap_memory(n, sizeof *right);
  quad *y = tap_memory(n, sizeof *y);
  multiply_quad(n, dense, x, y);
  for (int64_t i = 0; i < n; i++) right[i] = (double)y[i];
  karst_vector *vx = vector_from(context, n, x), *vb = vector_from(context, n, right), *r = vector_of(context, n, 0);
  karst_vector *size = vector_of(context, n, 0), *norm2 = vector_of(context, 2, 0);
  const karst_residual_space space = {karst_vector_values(r), karst_vector_values(size), karst_vector_values(norm2)};
  karst_wells_view view;
  double norm, error, above = 0, off = 0, largest = 0;
  bool precise = false;
  tap_need(context, karst_wells_view_make(wells, &view), "view");
  const double unit = karst_residual_unit(A, &view), *px = karst_vector_const_values(vx),
               *pb = karst_vector_const_values(vb);
  tap_need(context, karst_residual_norm(A, &view, unit, pb, px, -1, true, &space, &precise, &norm, &error), "residual");
  double *found = vector_on_host(r), *bound = vector_on_host(size);
  for (int64_t i = 0; i < n; i++) above = fmax(above, magnitude(right[i] - y[i] - found[i]) / (unit * bound[i]));
  free(found), free(bound);
  precise = true;
  tap_need(context, karst_residual_norm(A, &view, unit, pb, px, -1, false, &space, &precise, &norm, &error),
           "residual");
  found = vector_on_host(r);
  for (int64_t i = 0; i < n; i++) {
    off = fmax(off, magnitude(right[i] - y[i] - found[i]));
    largest = fmax(largest, magnitude(right[i] - y[i]));
  }
  tap_ok(above <= 1, "b = %d, condition 1 / %g: errors are at most %.2g of their bound", b, near, above);
  /* w has an error of about the condition times the square of the unit of rounding, and r is 1e-16 of b */
  tap_ok(off <= 1e-5 * largest, "the precise residual is right to %.1e of %.1e", off, largest);
  free(dense), free(x), free(right), free(y), free(found);
  karst_wells_view_release(context, &view);
  karst_vector_destroy(vx), karst_vector_destroy(vb), karst_vector_destroy(r);
  karst_vector_destroy(size), karst_vector_destroy(norm2);
  karst_wells_destroy(wells);
  karst_matrix_destroy(A);
}

static void residuals(karst_context *context)
{
  const int sizes[] = {1, 3, 4, 10};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
    for (int k = 0; k < 3; k++) compare(context, sizes[s], (const double[]){1, 1e-3, 1e-7}[k]);
}

int main(void)
{
  tap_each_device(residuals, "residuals with wells");
  return tap_done();
}
