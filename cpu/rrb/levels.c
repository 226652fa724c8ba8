/* levels.c - the two levels of a grid that is stored in groups, row by row.
 *
 * Four steps go over the rows J of a grid: the factor of red nodes, the stencil of black ones, the factor of b1, and
 * the stencil of the next grid. A step in row J needs the steps before it in rows J and J - 1, and the second one also
 * the first in row J + 1. So all four go over the rows together, the first one row ahead, and find what they need in
 * the cache. Threads share the rows. The work at the seams, which needs rows of another thread, is done after the
 * rest. */
#include "cpu/rrb/levels.h"

#include <math.h>
#include <string.h>

#ifdef __clang__
#pragma clang diagnostic ignored "-Wpass-failed" /* it does not vectorize loops over both types of numbers, and warns */
#endif

#define T double
#define NAME(x) x##_double
#include "cpu/rrb/row_template.h"
#undef T
#undef NAME
#define T float
#define NAME(x) x##_float
#include "cpu/rrb/row_template.h"
#undef T
#undef NAME

/* Row J of the parts of group g of a stencil. */
static void point_at(const karst_rrb_shape *shape, double *stencil, int g, int64_t J, double *part[KARST_RRB_PARTS])
{
  for (int p = 0; p < KARST_RRB_PARTS; p++)
    part[p] = stencil + karst_rrb_array(shape, KARST_RRB_PARTS * g + p) + J * shape->pitch;
}

/* Row J of factor e, of double on the first level, else of the type of the factors. */
static void point_at_double(const karst_rrb *rrb, int m, int e, int64_t J, double *part[KARST_RRB_PARTS])
{
  const karst_rrb_arrays *arrays = &((karst_rrb_cpu *)rrb->plan)->arrays;
  double *factor = m == 0 && e != KARST_RRB_FACTOR_B1 ? arrays->first : arrays->factor[m];
  for (int p = 0; p < KARST_RRB_PARTS; p++)
    part[p] = factor + karst_rrb_factor_array(rrb, m, e, p) + J * rrb->shape[m].pitch;
}

static void point_at_float(const karst_rrb *rrb, int m, int e, int64_t J, float *part[KARST_RRB_PARTS])
{
  float *factor = ((karst_rrb_cpu *)rrb->plan)->arrays.factor[m];
  for (int p = 0; p < KARST_RRB_PARTS; p++)
    part[p] = factor + karst_rrb_factor_array(rrb, m, e, p) + J * rrb->shape[m].pitch;
}

/* Nodes of group g in row J. */
static int64_t count_nodes(const karst_rrb_shape *shape, int g, int64_t J)
{
  const bool odd_i = g == KARST_RRB_B1 || g == KARST_RRB_R1, odd_j = g == KARST_RRB_B1 || g == KARST_RRB_R2;
  const karst_index rows = odd_j ? shape->size[1] / 2 : shape->coarse[1];
  return J < 0 || J >= rows ? 0 : odd_i ? shape->size[0] / 2 : shape->coarse[0];
}

/* The factor of group g in row J of grid m, from its coefficients. Returns how many pivots are bad. */
static int64_t factor_red(const karst_rrb *rrb, int m, int g, int64_t J, const double *const a[KARST_RRB_SLOTS])
{
  const int64_t count = count_nodes(&rrb->shape[m], g, J);
  const int e = g == KARST_RRB_R1 ? KARST_RRB_FACTOR_R1 : KARST_RRB_FACTOR_R2;
  if (m > 0 && rrb->single) {
    float *l[KARST_RRB_PARTS];
    point_at_float(rrb, m, e, J, l);
    karst_rrb_factor_red_float(count, a, l);
    return karst_rrb_count_bad_float(count, l[KARST_RRB_INVERSE]);
  }
  double *l[KARST_RRB_PARTS];
  point_at_double(rrb, m, e, J, l);
  karst_rrb_factor_red_double(count, a, l);
  return karst_rrb_count_bad_double(count, l[KARST_RRB_INVERSE]);
}

/* Factors the red group g in row J of a stencil. Returns how many pivots are bad. */
static int64_t factor_straight(const karst_rrb *rrb, int m, int g, int64_t J)
{
  const karst_rrb_shape *shape = &rrb->shape[m];
  double *stencil = ((karst_rrb_cpu *)rrb->plan)->arrays.straight[m];
  double *b2[KARST_RRB_PARTS], *b1[KARST_RRB_PARTS], *own[KARST_RRB_PARTS], *red[KARST_RRB_PARTS];
  const int other = g == KARST_RRB_R1 ? KARST_RRB_R2 : KARST_RRB_R1;
  const int64_t pitch = shape->pitch;
  point_at(shape, stencil, KARST_RRB_B2, J, b2);
  point_at(shape, stencil, KARST_RRB_B1, J, b1);
  point_at(shape, stencil, g, J, own);
  point_at(shape, stencil, other, J, red);
  const double *a[KARST_RRB_SLOTS] = {own[0], own[1], own[2], own[3], own[4]};
  if (g == KARST_RRB_R1) {
    a[KARST_RRB_WEST] = b2[KARST_RRB_EAST];
    a[KARST_RRB_SOUTH] = b1[KARST_RRB_NORTH] - pitch;
    a[KARST_RRB_SOUTH_WEST] = red[KARST_RRB_NORTH_EAST] - pitch;
    a[KARST_RRB_SOUTH_EAST] = red[KARST_RRB_NORTH_WEST] - pitch + 1;
  } else {
    a[KARST_RRB_WEST] = b1[KARST_RRB_EAST] - 1;
    a[KARST_RRB_SOUTH] = b2[KARST_RRB_NORTH];
    a[KARST_RRB_SOUTH_WEST] = red[KARST_RRB_NORTH_EAST] - 1;
    a[KARST_RRB_SOUTH_EAST] = red[KARST_RRB_NORTH_WEST];
  }
  return factor_red(rrb, m, g, J, a);
}

void karst_rrb_red_straight(const karst_rrb *rrb, int m, int64_t J, karst_rrb_rows *rows)
{
  rows->bad[0] += factor_straight(rrb, m, KARST_RRB_R1, J);
  if (count_nodes(&rrb->shape[m], KARST_RRB_R2, J) > 0) rows->bad[0] += factor_straight(rrb, m, KARST_RRB_R2, J);
}

/* Factors the red nodes of a line, and writes the others to schur. */
static void take_line(const karst_rrb *rrb, int64_t J, bool odd, double *line, karst_rrb_rows *rows)
{
  const karst_rrb_shape *shape = &rrb->shape[0];
  const int black = odd ? KARST_RRB_B1 : KARST_RRB_B2, red = odd ? KARST_RRB_R2 : KARST_RRB_R1;
  const size_t bytes = (size_t)count_nodes(shape, black, J) * sizeof *line;
  const double *a[KARST_RRB_SLOTS];
  double *schur[KARST_RRB_PARTS];
  for (int slot = 0; slot < KARST_RRB_SLOTS; slot++) a[slot] = karst_rrb_line_part(rrb, line, slot, !odd);
  rows->bad[0] += factor_red(rrb, 0, red, J, a);
  point_at(shape, ((karst_rrb_cpu *)rrb->plan)->arrays.schur, black, J, schur);
  memcpy(schur[KARST_RRB_SKEW_CENTRE], karst_rrb_line_part(rrb, line, KARST_RRB_CENTRE, odd), bytes);
  memcpy(schur[KARST_RRB_SKEW_NORTH_EAST], karst_rrb_line_part(rrb, line, KARST_RRB_NORTH_EAST, odd), bytes);
  memcpy(schur[KARST_RRB_SKEW_NORTH_WEST], karst_rrb_line_part(rrb, line, KARST_RRB_NORTH_WEST, odd), bytes);
}

void karst_rrb_red_matrix(const karst_matrix *A, const karst_rrb *rrb, int64_t J, karst_rrb_rows *rows)
{
  const karst_index j = (karst_index)(2 * J);
  for (int odd = 0; odd < 2 && j + odd < rrb->size[1]; odd++) {
    double *line = rows->line[odd], *below = rows->line[!odd];
    karst_rrb_line_read(A, rrb, j + odd, line);
    rows->unsymmetric = karst_rrb_line_check(A, rrb, j + odd, line, j + odd > 0 ? below : NULL, rows->unsymmetric);
    if (rows->not_finite < 0) rows->not_finite = karst_rrb_line_not_finite(rrb, j + odd, line);
    take_line(rrb, J, odd, line, rows);
  }
}

/* The stencil of black group g in row J; from: its centre and corners before. */
static void eliminate_red(const karst_rrb *rrb, int m, int g, int64_t J, double *const *from, double *const *to)
{
  const karst_rrb_shape *shape = &rrb->shape[m];
  const int64_t count = count_nodes(shape, g, J), pitch = shape->pitch;
  const double *const *base = (const double *const *)from;
  if (m > 0 && rrb->single) {
    float *r1[KARST_RRB_PARTS], *r2[KARST_RRB_PARTS];
    point_at_float(rrb, m, KARST_RRB_FACTOR_R1, J, r1);
    point_at_float(rrb, m, KARST_RRB_FACTOR_R2, J, r2);
    (g == KARST_RRB_B2 ? karst_rrb_black_b2_float : karst_rrb_black_b1_float)(count, pitch, base, r1, r2, to);
    return;
  }
  double *r1[KARST_RRB_PARTS], *r2[KARST_RRB_PARTS];
  point_at_double(rrb, m, KARST_RRB_FACTOR_R1, J, r1);
  point_at_double(rrb, m, KARST_RRB_FACTOR_R2, J, r2);
  (g == KARST_RRB_B2 ? karst_rrb_black_b2_double : karst_rrb_black_b1_double)(count, pitch, base, r1, r2, to);
}

void karst_rrb_black(const karst_rrb *rrb, int m, int64_t J)
{
  const karst_rrb_shape *shape = &rrb->shape[m];
  const karst_rrb_arrays *arrays = &((karst_rrb_cpu *)rrb->plan)->arrays;
  for (int g = KARST_RRB_B2; g <= KARST_RRB_B1; g++) {
    double *to[KARST_RRB_PARTS], *from[KARST_RRB_PARTS];
    if (count_nodes(shape, g, J) == 0) continue;
    point_at(shape, arrays->skew[m], g, J, to);
    if (m == 0) { /* the start values are where the stencil will be */
      from[KARST_RRB_CENTRE] = to[KARST_RRB_SKEW_CENTRE];
      from[KARST_RRB_NORTH_EAST] = to[KARST_RRB_SKEW_NORTH_EAST];
      from[KARST_RRB_NORTH_WEST] = to[KARST_RRB_SKEW_NORTH_WEST];
    } else {
      point_at(shape, arrays->straight[m], g, J, from);
    }
    eliminate_red(rrb, m, g, J, from, to);
  }
}

void karst_rrb_factor_diagonal(const karst_rrb *rrb, int m, int64_t J, karst_rrb_rows *rows)
{
  const karst_rrb_shape *shape = &rrb->shape[m];
  double *skew = ((karst_rrb_cpu *)rrb->plan)->arrays.skew[m];
  const int64_t count = count_nodes(shape, KARST_RRB_B1, J);
  double *b2[KARST_RRB_PARTS], *b1[KARST_RRB_PARTS];
  if (count == 0) return;
  point_at(shape, skew, KARST_RRB_B2, J, b2);
  point_at(shape, skew, KARST_RRB_B1, J, b1);
  const double *const *p2 = (const double *const *)b2, *const *p1 = (const double *const *)b1;
  if (rrb->single) {
    float *l[KARST_RRB_PARTS];
    point_at_float(rrb, m, KARST_RRB_FACTOR_B1, J, l);
    karst_rrb_factor_b1_float(count, shape->pitch, p2, p1, l);
    rows->bad[1] += karst_rrb_count_bad_float(count, l[KARST_RRB_INVERSE]);
  } else {
    double *l[KARST_RRB_PARTS];
    point_at_double(rrb, m, KARST_RRB_FACTOR_B1, J, l);
    karst_rrb_factor_b1_double(count, shape->pitch, p2, p1, l);
    rows->bad[1] += karst_rrb_count_bad_double(count, l[KARST_RRB_INVERSE]);
  }
}

/* Stores a row of the stencil of grid m + 1. */
static void store_next_row(const karst_rrb *rrb, int m, int64_t J, double *const row[KARST_RRB_PARTS])
{
  const karst_rrb_shape *shape = &rrb->shape[m];
  const karst_rrb_cpu *plan = rrb->plan;
  const int64_t count = shape->coarse[0];
  if (m + 1 == rrb->grouped && rrb->grouped < rrb->grids) {
    for (int p = 0; p < KARST_RRB_PARTS; p++)
      memcpy(plan->naive->stencil[p] + J * count, row[p], (size_t)count * sizeof *row[p]);
    return;
  }
  double *even[KARST_RRB_PARTS], *odd[KARST_RRB_PARTS];
  point_at(shape + 1, plan->arrays.straight[m + 1], J % 2 ? KARST_RRB_R2 : KARST_RRB_B2, J / 2, even);
  point_at(shape + 1, plan->arrays.straight[m + 1], J % 2 ? KARST_RRB_B1 : KARST_RRB_R1, J / 2, odd);
  for (int p = 0; p < KARST_RRB_PARTS; p++) {
    for (int64_t K = 0; K < count / 2; K++) {
      even[p][K] = row[p][2 * K];
      odd[p][K] = row[p][2 * K + 1];
    }
    if (count % 2) even[p][count / 2] = row[p][count - 1];
  }
}

void karst_rrb_next_grid(const karst_rrb *rrb, int m, int64_t J, karst_rrb_rows *rows)
{
  const karst_rrb_shape *shape = &rrb->shape[m];
  double *skew = ((karst_rrb_cpu *)rrb->plan)->arrays.skew[m];
  double *b2[KARST_RRB_PARTS], *to[KARST_RRB_PARTS];
  point_at(shape, skew, KARST_RRB_B2, J, b2);
  for (int p = 0; p < KARST_RRB_PARTS; p++) to[p] = rows->next + p * rrb->shape[0].pitch;
  if (rrb->single) {
    float *l[KARST_RRB_PARTS];
    point_at_float(rrb, m, KARST_RRB_FACTOR_B1, J, l);
    karst_rrb_next_float(shape->coarse[0], shape->pitch, (const double *const *)b2, l, to);
  } else {
    double *l[KARST_RRB_PARTS];
    point_at_double(rrb, m, KARST_RRB_FACTOR_B1, J, l);
    karst_rrb_next_double(shape->coarse[0], shape->pitch, (const double *const *)b2, l, to);
  }
  store_next_row(rrb, m, J, to);
}
