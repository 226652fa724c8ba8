/* product.c - w = D^-1 (g - B x) and y + C^T w for wells on the CPU, and the bound of their rounding errors. A thread
 * takes whole wells, and then whole cells with all their perforations, so that sums have one order. */
#include "cpu/wells/wells_cpu.h"

#include <float.h>
#include <math.h>

/* y = square x, or |square| |x| */
KARST_INLINE void multiply_square(int n, bool size, const double *square, const double *restrict x, double *restrict y)
{
  for (int e = 0; e < n; e++) y[e] = 0;
  for (int f = 0; f < n; f++)
    for (int e = 0; e < n; e++) {
      const double product = square[(int64_t)f * n + e] * x[f];
      y[e] += size ? fabs(product) : product;
    }
}

/* t = t - B x, or t + |B| |x| */
KARST_INLINE void multiply_B(const karst_wells_view *view, const karst_well *well, bool size, int unknown,
                             const double *x, double *restrict t)
{
  const int b = view->wells->block_size, n = well->equations;
  const int first = unknown < 0 ? 0 : unknown, last = unknown < 0 ? b : unknown + 1;
  for (karst_index p = 0; p < well->count; p++) {
    const int64_t cell = view->cell[well->first + p];
    for (int c = first; c < last; c++) {
      const double *column = view->wells->B + well->entry + ((int64_t)p * b + c) * n;
      const double factor = unknown < 0 ? x[cell * b + c] : x[cell];
      for (int e = 0; e < n; e++) t[e] -= size ? -fabs(column[e] * factor) : column[e] * factor;
    }
  }
}

KARST_KERNEL static void solve_well(const karst_wells_view *view, const karst_well *well, int unknown, const double *g,
                                    const double *x, double *w)
{
  const karst_wells *wells = view->wells;
  double *t = view->space + (KARST_WELLS_SPACE - 1) * wells->unknowns + well->unknown;
  for (int e = 0; e < well->equations; e++) t[e] = g ? g[well->unknown + e] : 0;
  if (x) multiply_B(view, well, false, unknown, x, t);
  multiply_square(well->equations, false, wells->inverse + well->square, t, w + well->unknown);
}

static void solve(karst_context *context, const karst_wells_view *view, int unknown, const double *g, const double *x,
                  double *w)
{
  const karst_wells *wells = view->wells;
  karst_piece piece = karst_begin(context, KARST_KIND_PRODUCT, wells->entries);
#pragma omp parallel for num_threads(piece.threads) schedule(static)
  for (karst_index i = 0; i < wells->count; i++) solve_well(view, wells->well + i, unknown, g, x, w);
  karst_end(context, &piece);
}

/* Adds sign C^T w, or |C|^T w, to a perforated cell. */
KARST_INLINE void add_cell(const karst_wells_view *view, karst_index k, bool size, double sign, const double *w,
                           double *y)
{
  const karst_wells *wells = view->wells;
  const int b = wells->block_size;
  double *at = y + (int64_t)view->list_cell[k] * b;
  for (int r = 0; r < b; r++) {
    double sum = 0;
    for (karst_index l = wells->device.list_start[k]; l < wells->device.list_start[k + 1]; l++) {
      const karst_index p = wells->device.list[l];
      const karst_well *well = wells->well + wells->device.owner[p];
      const double *column = wells->C + well->entry + ((int64_t)(p - well->first) * b + r) * well->equations;
      for (int e = 0; e < well->equations; e++)
        sum += size ? fabs(column[e]) * w[well->unknown + e] : column[e] * w[well->unknown + e];
    }
    at[r] += sign * sum;
  }
}

KARST_KERNEL static void add_product(const karst_wells_view *view, karst_index k, double sign, const double *w,
                                     double *y)
{
  add_cell(view, k, false, sign, w, y);
}

static void add(karst_context *context, const karst_wells_view *view, double sign, const double *w, double *y)
{
  karst_piece piece = karst_begin(context, KARST_KIND_SCATTER, view->wells->entries);
#pragma omp parallel for num_threads(piece.threads) schedule(static)
  for (karst_index k = 0; k < view->wells->cells; k++) add_product(view, k, sign, w, y);
  karst_end(context, &piece);
}

/* w = |D^-1| (s + |D| |D^-1| s), s = |B| |x| */
static void size_well(const karst_wells_view *view, const karst_well *well, const double *x, double *w)
{
  const karst_wells *wells = view->wells;
  const int n = well->equations;
  const double *D = wells->D + well->square, *inverse = wells->inverse + well->square;
  double *s = view->space + (KARST_WELLS_SPACE - 1) * wells->unknowns + well->unknown, *t = s - wells->unknowns;
  for (int e = 0; e < n; e++) s[e] = 0;
  multiply_B(view, well, true, -1, x, s);
  multiply_square(n, true, inverse, s, w);
  multiply_square(n, true, D, w, t);
  for (int e = 0; e < n; e++) s[e] += t[e];
  multiply_square(n, true, inverse, s, w);
}

static void add_size(karst_context *context, const karst_wells_view *view, const double *x, double *size)
{
  const karst_wells *wells = view->wells;
  (void)context;
  for (karst_index i = 0; i < wells->count; i++)
    size_well(view, wells->well + i, x, view->space + wells->well[i].unknown);
  for (karst_index k = 0; k < wells->cells; k++) add_cell(view, k, true, 1, view->space, size);
}

const struct karst_wells_kernels karst_wells_kernels_cpu = {
    .factor = karst_wells_factor_cpu,
    .solve = solve,
    .add = add,
    .add_size = add_size,
    .residual_precise = karst_wells_residual_precise_cpu,
    .pressure = karst_wells_pressure_cpu,
};
