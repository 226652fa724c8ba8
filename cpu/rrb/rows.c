/* rows.c - the loops of the repeated red-black method over rows of places. They have unit strides and no tests for the
 * ends of the grid, because guards and places without a node are zero. See rows.h, and rrb_kernels.h for the
 * neighbours' numbers.
 *
 * A row has the same operations in the same order on every thread, so that results do not depend on how rows are shared
 * out. */
#include "cpu/rrb/rows.h"

#include <string.h>

enum { AHEAD = 512 /* bytes */ };

/* Element i of an array of floats or doubles. single is a constant where this is inlined. */
KARST_INLINE double number(bool single, const void *array, int64_t i)
{
  return single ? (double)((const float *)array)[i] : ((const double *)array)[i];
}

KARST_INLINE void red_to_b1(bool single, const karst_rrb_sweep *sweep, int64_t at, int64_t n)
{
  const void *const *l1 = sweep->l[KARST_RRB_FACTOR_R1], *const *l2 = sweep->l[KARST_RRB_FACTOR_R2];
  const void *south = l1[2], *north = l1[3], *west = l2[0], *east = l2[1];
  const double *r1 = sweep->from[KARST_RRB_R1], *r2 = sweep->from[KARST_RRB_R2], *b1 = sweep->from[KARST_RRB_B1];
  double *result = sweep->to[KARST_RRB_B1];
  const int64_t pitch = sweep->shape->pitch;
#pragma omp simd
  for (int64_t i = at; i < at + n; i++)
    result[i] = b1[i] - ((number(single, north, i) * r1[i] + number(single, south, i + pitch) * r1[i + pitch]) +
                         (number(single, east, i) * r2[i] + number(single, west, i + 1) * r2[i + 1]));
}

KARST_INLINE void red_to_b2(bool single, const karst_rrb_sweep *sweep, int64_t at, int64_t n, double *result)
{
  const void *const *l1 = sweep->l[KARST_RRB_FACTOR_R1], *const *l2 = sweep->l[KARST_RRB_FACTOR_R2];
  const void *west = l1[0], *east = l1[1], *south = l2[2], *north = l2[3];
  const double *r1 = sweep->from[KARST_RRB_R1], *r2 = sweep->from[KARST_RRB_R2], *b2 = sweep->from[KARST_RRB_B2];
  const int64_t pitch = sweep->shape->pitch;
#pragma omp simd
  for (int64_t k = 0; k < n; k++) {
    const int64_t i = at + k;
    result[k] = b2[i] - ((number(single, west, i) * r1[i] + number(single, east, i - 1) * r1[i - 1]) +
                         (number(single, south, i) * r2[i] + number(single, north, i - pitch) * r2[i - pitch]));
  }
}

KARST_INLINE void b1_to_b2(bool single, const karst_rrb_sweep *sweep, int64_t at, int64_t n, const double *b2,
                           double *result)
{
  const void *const *l = sweep->l[KARST_RRB_FACTOR_B1];
  const void *sw = l[0], *se = l[1], *nw = l[2], *ne = l[3];
  const double *b1 = sweep->from[KARST_RRB_B1];
  const int64_t pitch = sweep->shape->pitch;
#pragma omp simd
  for (int64_t k = 0; k < n; k++) {
    const int64_t i = at + k, below = i - pitch;
    result[k] = b2[k] - ((number(single, sw, i) * b1[i] + number(single, se, i - 1) * b1[i - 1]) +
                         (number(single, nw, below) * b1[below] + number(single, ne, below - 1) * b1[below - 1]));
  }
}

KARST_INLINE void b1_back(bool single, const karst_rrb_sweep *sweep, int64_t at, int64_t n)
{
  const void *const *l = sweep->l[KARST_RRB_FACTOR_B1];
  const void *sw = l[0], *se = l[1], *nw = l[2], *ne = l[3], *inverse = l[KARST_RRB_INVERSE];
  const double *b1 = sweep->from[KARST_RRB_B1], *b2 = sweep->to[KARST_RRB_B2];
  double *result = sweep->to[KARST_RRB_B1];
  const int64_t pitch = sweep->shape->pitch;
#pragma omp simd
  for (int64_t i = at; i < at + n; i++) {
    const int64_t above = i + pitch;
    result[i] = b1[i] * number(single, inverse, i) -
                ((number(single, sw, i) * b2[i] + number(single, se, i) * b2[i + 1]) +
                 (number(single, nw, i) * b2[above] + number(single, ne, i) * b2[above + 1]));
  }
}

KARST_INLINE void r1_back(bool single, const karst_rrb_sweep *sweep, int64_t at, int64_t n)
{
  const void *const *l = sweep->l[KARST_RRB_FACTOR_R1];
  const void *west = l[0], *east = l[1], *south = l[2], *north = l[3], *inverse = l[KARST_RRB_INVERSE];
  const double *r1 = sweep->from[KARST_RRB_R1], *b2 = sweep->to[KARST_RRB_B2], *b1 = sweep->to[KARST_RRB_B1];
  double *result = sweep->to[KARST_RRB_R1];
  const int64_t pitch = sweep->shape->pitch;
#pragma omp simd
  for (int64_t i = at; i < at + n; i++)
    result[i] = r1[i] * number(single, inverse, i) -
                ((number(single, west, i) * b2[i] + number(single, east, i) * b2[i + 1]) +
                 (number(single, south, i) * b1[i - pitch] + number(single, north, i) * b1[i]));
}

KARST_INLINE void r2_back(bool single, const karst_rrb_sweep *sweep, int64_t at, int64_t n)
{
  const void *const *l = sweep->l[KARST_RRB_FACTOR_R2];
  const void *west = l[0], *east = l[1], *south = l[2], *north = l[3], *inverse = l[KARST_RRB_INVERSE];
  const double *r2 = sweep->from[KARST_RRB_R2], *b2 = sweep->to[KARST_RRB_B2], *b1 = sweep->to[KARST_RRB_B1];
  double *result = sweep->to[KARST_RRB_R2];
  const int64_t pitch = sweep->shape->pitch;
#pragma omp simd
  for (int64_t i = at; i < at + n; i++)
    result[i] = r2[i] * number(single, inverse, i) -
                ((number(single, west, i) * b1[i - 1] + number(single, east, i) * b1[i]) +
                 (number(single, south, i) * b2[i] + number(single, north, i) * b2[i + pitch]));
}

/* A loop for each of the types, and the choice by the type of factor e. */
#define INSTANCES(LOOP, E, PARAMETERS, ARGUMENTS)                                                                      \
  KARST_KERNEL static void LOOP##_of_doubles PARAMETERS { LOOP(false, sweep, at, n ARGUMENTS); }                       \
  KARST_KERNEL static void LOOP##_of_floats PARAMETERS { LOOP(true, sweep, at, n ARGUMENTS); }                         \
  void karst_rrb_##LOOP PARAMETERS                                                                                     \
  {                                                                                                                    \
    if (sweep->single[E])                                                                                              \
      LOOP##_of_floats(sweep, at, n ARGUMENTS);                                                                        \
    else                                                                                                               \
      LOOP##_of_doubles(sweep, at, n ARGUMENTS);                                                                       \
  }
#define AND(...) , __VA_ARGS__
INSTANCES(red_to_b1, KARST_RRB_FACTOR_R1, (const karst_rrb_sweep *sweep, int64_t at, int64_t n), )
INSTANCES(red_to_b2, KARST_RRB_FACTOR_R1, (const karst_rrb_sweep *sweep, int64_t at, int64_t n, double *b2), AND(b2))
INSTANCES(b1_to_b2, KARST_RRB_FACTOR_B1,
          (const karst_rrb_sweep *sweep, int64_t at, int64_t n, const double *b2, double *result), AND(b2, result))
INSTANCES(b1_back, KARST_RRB_FACTOR_B1, (const karst_rrb_sweep *sweep, int64_t at, int64_t n), )
INSTANCES(r1_back, KARST_RRB_FACTOR_R1, (const karst_rrb_sweep *sweep, int64_t at, int64_t n), )
INSTANCES(r2_back, KARST_RRB_FACTOR_R2, (const karst_rrb_sweep *sweep, int64_t at, int64_t n), )
#undef AND
#undef INSTANCES

KARST_KERNEL static void split_row(int64_t n, const double *restrict row, double *restrict even, double *restrict odd)
{
  for (int64_t i = 0; i < n / 2; i++) {
    even[i] = row[2 * i];
    odd[i] = row[2 * i + 1];
  }
  if (n % 2) even[n / 2] = row[n - 1];
}

void karst_rrb_split(int64_t n, const double *row, double *even, double *odd) { split_row(n, row, even, odd); }

KARST_KERNEL static void join_row(int64_t n, const double *restrict even, const double *restrict odd,
                                  double *restrict row)
{
  for (int64_t i = 0; i < n / 2; i++) {
    row[2 * i] = even[i];
    row[2 * i + 1] = odd[i];
  }
  if (n % 2) row[n - 1] = even[n / 2];
}

void karst_rrb_join(int64_t n, const double *even, const double *odd, double *row) { join_row(n, even, odd, row); }

KARST_INLINE void add_dot(int64_t n, const double *x, const double *y, double *lane)
{
  double sum[KARST_RRB_LANES];
  memcpy(sum, lane, sizeof sum);
  for (int64_t i = 0; i < n; i += KARST_RRB_LANES)
    for (int k = 0; k < KARST_RRB_LANES; k++) sum[k] += x[i + k] * y[i + k];
  memcpy(lane, sum, sizeof sum);
}

KARST_KERNEL static void add_dot_kernel(int64_t n, const double *x, const double *y, double *lane)
{
  add_dot(n, x, y, lane);
}

void karst_rrb_add_dot(int64_t n, const double *x, const double *y, double *lane) { add_dot_kernel(n, x, y, lane); }

/* The arrays of a product with the skew stencil of b2 and b1: element (0, 0). */
struct product {
  const double *c2, *ne2, *nw2, *e2, *n2, *c1, *ne1, *nw1, *e1, *n1;
  const double *x2, *x1;
  double *y2, *y1;
  int64_t pitch;
};

KARST_INLINE void multiply_b2(const struct product *of, int64_t at, int64_t count)
{
  const double *c2 = of->c2, *ne2 = of->ne2, *nw2 = of->nw2, *e2 = of->e2, *n2 = of->n2, *ne1 = of->ne1, *nw1 = of->nw1;
  const double *x2 = of->x2, *x1 = of->x1;
  double *y2 = of->y2;
  const int64_t pitch = of->pitch;
#pragma omp simd
  for (int64_t i = at; i < at + count; i++) {
    const int64_t s = i - pitch, n = i + pitch;
    y2[i] = (c2[i] * x2[i] + (ne2[i] * x1[i] + nw2[i] * x1[i - 1]) + (ne1[s - 1] * x1[s - 1] + nw1[s] * x1[s])) +
            ((e2[i] * x2[i + 1] + e2[i - 1] * x2[i - 1]) + (n2[i] * x2[n] + n2[s] * x2[s]));
  }
}

KARST_INLINE void multiply_b1(const struct product *of, int64_t at, int64_t count)
{
  const double *c1 = of->c1, *ne1 = of->ne1, *nw1 = of->nw1, *e1 = of->e1, *n1 = of->n1, *ne2 = of->ne2, *nw2 = of->nw2;
  const double *x2 = of->x2, *x1 = of->x1;
  double *y1 = of->y1;
  const int64_t pitch = of->pitch;
#pragma omp simd
  for (int64_t i = at; i < at + count; i++) {
    const int64_t s = i - pitch, n = i + pitch;
    y1[i] = (c1[i] * x1[i] + (ne1[i] * x2[n + 1] + nw1[i] * x2[n]) + (ne2[i] * x2[i] + nw2[i + 1] * x2[i + 1])) +
            ((e1[i] * x1[i + 1] + e1[i - 1] * x1[i - 1]) + (n1[i] * x1[n] + n1[s] * x1[s]));
  }
}

/* Prefetches the operands of the product a few blocks further on: there are more streams than the processor follows by
 * itself. Measured on a Zen 5 at 2047 x 2047: 3.8 ms with this and 4.9 ms without. */
KARST_INLINE void prefetch_product(const struct product *of, int64_t at)
{
  const double *const stream[] = {of->c2,
                                  of->ne2,
                                  of->nw2,
                                  of->e2,
                                  of->n2,
                                  of->c1,
                                  of->ne1,
                                  of->nw1,
                                  of->e1,
                                  of->n1,
                                  of->x2 + of->pitch,
                                  of->x1 + of->pitch};
  for (size_t k = 0; k < sizeof stream / sizeof *stream; k++)
    karst_prefetch(stream[k] + at, KARST_RRB_LANES * sizeof(double), AHEAD);
}

KARST_KERNEL static void multiply_rows(const struct product *of, int64_t at, int64_t n2, int64_t n1, double *lane)
{
  double sum[KARST_RRB_LANES];
  int64_t i = at;
  memcpy(sum, lane, sizeof sum);
  for (; i + KARST_RRB_LANES <= at + n1; i += KARST_RRB_LANES) {
    prefetch_product(of, i);
    multiply_b2(of, i, KARST_RRB_LANES);
    multiply_b1(of, i, KARST_RRB_LANES);
    for (int k = 0; k < KARST_RRB_LANES; k++) sum[k] += of->x2[i + k] * of->y2[i + k] + of->x1[i + k] * of->y1[i + k];
  }
  memcpy(lane, sum, sizeof sum);
  multiply_b2(of, i, at + n2 - i);
  multiply_b1(of, i, at + n1 - i);
  memset(of->y2 + at + n2, 0, (size_t)(of->pitch - n2) * sizeof(double));
  memset(of->y1 + at + n1, 0, (size_t)(of->pitch - n1) * sizeof(double));
  add_dot(at + of->pitch - i, of->x2 + i, of->y2 + i, lane);
  add_dot(at + of->pitch - i, of->x1 + i, of->y1 + i, lane);
}

/* NOLINTNEXTLINE(readability-non-const-parameter): the product is written through a copy of the pointer */
void karst_rrb_multiply_rows(const karst_rrb_shape *shape, int64_t J, const double *schur, const double *x, double *y,
                             double *lane)
{
  const double *b2 = schur, *b1 = schur + KARST_RRB_PARTS * shape->array;
  const int64_t array = shape->array;
  const struct product of = {
      .c2 = b2 + KARST_RRB_SKEW_CENTRE * array,
      .ne2 = b2 + KARST_RRB_SKEW_NORTH_EAST * array,
      .nw2 = b2 + KARST_RRB_SKEW_NORTH_WEST * array,
      .e2 = b2 + KARST_RRB_SKEW_EAST * array,
      .n2 = b2 + KARST_RRB_SKEW_NORTH * array,
      .c1 = b1 + KARST_RRB_SKEW_CENTRE * array,
      .ne1 = b1 + KARST_RRB_SKEW_NORTH_EAST * array,
      .nw1 = b1 + KARST_RRB_SKEW_NORTH_WEST * array,
      .e1 = b1 + KARST_RRB_SKEW_EAST * array,
      .n1 = b1 + KARST_RRB_SKEW_NORTH * array,
      .x2 = x,
      .x1 = x + array,
      .y2 = y,
      .y1 = y + array,
      .pitch = shape->pitch,
  };
  const int64_t n1 = J < karst_rrb_nodes(shape, 1, 1) ? karst_rrb_nodes(shape, 0, 1) : 0;
  multiply_rows(&of, J * shape->pitch, karst_rrb_nodes(shape, 0, 0), n1, lane);
}
