/* row_template.h - the eliminations in one row of a grid that is stored in groups, for factors of one type. levels.c
 * includes it with T that type and NAME(x) the name of a function for it. All pointers are to place 0 of the row J, in
 * arrays whose guards and places without a node are 0, so that the loops have unit stride and no branches. */

/* Computes 1 / d, and l = a / d for the four couplings of an eliminated node. A pivot of 0 gives 0. A pivot that is not
 * finite, or positive and so large that 1 / d is 0 as a T, gives NaN. A choice between two values, instead of
 * arithmetic with none, would keep compilers from vectorizing. */
KARST_INLINE void NAME(put_factor)(double d, double a0, double a1, double a2, double a3, T *const *l, int64_t I)
{
  const double none = d == 0, inverse = 1 / (d + none) - none + 0 * d;
  l[0][I] = (T)(a0 * inverse);
  l[1][I] = (T)(a1 * inverse);
  l[2][I] = (T)(a2 * inverse);
  l[3][I] = (T)(a3 * inverse);
  const T stored = (T)inverse, lost = (stored == 0) & (inverse > 0);
  l[KARST_RRB_INVERSE][I] = stored + 0 / (1 - lost);
}

KARST_INLINE double NAME(size)(double c, double a0, double a1, double a2, double a3)
{
  return fabs(c) + ((fabs(a0) + fabs(a1)) + (fabs(a2) + fabs(a3)));
}

/* A centre minus the contributions of four eliminated nodes; these are positive if their pivots are. */
KARST_INLINE double NAME(less)(double c, double a0, double a1, double a2, double a3)
{
  const double taken = (a0 + a1) + (a2 + a3);
  return karst_rrb_sum(c - taken, fabs(c) + fabs(taken));
}

/* Red nodes, from their nine coefficients in slots. */
KARST_KERNEL static void NAME(karst_rrb_factor_red)(int64_t count, const double *const *a, T *const *out)
{
  T *const l[] = {out[0], out[1], out[2], out[3], out[4]};
  const double *c = a[KARST_RRB_CENTRE], *w = a[KARST_RRB_WEST], *e = a[KARST_RRB_EAST], *s = a[KARST_RRB_SOUTH],
               *n = a[KARST_RRB_NORTH], *sw = a[KARST_RRB_SOUTH_WEST], *se = a[KARST_RRB_SOUTH_EAST],
               *nw = a[KARST_RRB_NORTH_WEST], *ne = a[KARST_RRB_NORTH_EAST];
#pragma omp simd
  for (int64_t I = 0; I < count; I++) {
    const double d =
        karst_rrb_sum(c[I] + ((sw[I] + se[I]) + (nw[I] + ne[I])), NAME(size)(c[I], sw[I], se[I], nw[I], ne[I]));
    NAME(put_factor)(d, w[I], e[I], s[I], n[I], l, I);
  }
}

/* The nodes b1, from the stencils of the black nodes in this row and the one below. */
KARST_KERNEL static void NAME(karst_rrb_factor_b1)(int64_t count, int64_t pitch, const double *const *b2,
                                                   const double *const *b1, T *const *out)
{
  T *const l[] = {out[0], out[1], out[2], out[3], out[4]};
  const double *sw = b2[KARST_RRB_SKEW_NORTH_EAST], *se = b2[KARST_RRB_SKEW_NORTH_WEST],
               *nw = b1[KARST_RRB_SKEW_NORTH_WEST], *ne = b1[KARST_RRB_SKEW_NORTH_EAST], *c = b1[KARST_RRB_SKEW_CENTRE],
               *e = b1[KARST_RRB_SKEW_EAST], *n = b1[KARST_RRB_SKEW_NORTH];
#pragma omp simd
  for (int64_t I = 0; I < count; I++) {
    const double d = karst_rrb_sum(c[I] + ((e[I - 1] + e[I]) + (n[I - pitch] + n[I])),
                                   NAME(size)(c[I], e[I - 1], e[I], n[I - pitch], n[I]));
    NAME(put_factor)(d, sw[I], se[I + 1], nw[I], ne[I], l, I);
  }
}

/* d from 1 / d, and 1 without a node. */
KARST_INLINE double NAME(pivot)(T inverse)
{
  const double value = (double)inverse, none = value == 0;
  return 1 / (value + none);
}

/* The stencil of b2 after the elimination of red nodes, from its centre and corners before. */
KARST_KERNEL static void NAME(karst_rrb_black_b2)(int64_t count, int64_t pitch, const double *const *from, T *const *r1,
                                                  T *const *r2, double *const *to)
{
  const double *c0 = from[KARST_RRB_CENTRE], *ne0 = from[KARST_RRB_NORTH_EAST], *nw0 = from[KARST_RRB_NORTH_WEST];
  double *c = to[KARST_RRB_SKEW_CENTRE], *ne = to[KARST_RRB_SKEW_NORTH_EAST], *nw = to[KARST_RRB_SKEW_NORTH_WEST],
         *e = to[KARST_RRB_SKEW_EAST], *n = to[KARST_RRB_SKEW_NORTH];
  const T *w1 = r1[0], *e1 = r1[1], *n1 = r1[3], *i1 = r1[KARST_RRB_INVERSE];
  const T *w2 = r2[0], *e2 = r2[1], *s2 = r2[2], *n2 = r2[3], *i2 = r2[KARST_RRB_INVERSE];
#pragma omp simd
  for (int64_t I = 0; I < count; I++) {
    const double east = w1[I] * NAME(pivot)(i1[I]), west = e1[I - 1] * NAME(pivot)(i1[I - 1]);
    const double north = s2[I] * NAME(pivot)(i2[I]), south = n2[I - pitch] * NAME(pivot)(i2[I - pitch]);
    c[I] = NAME(less)(c0[I], west * e1[I - 1], east * w1[I], south * n2[I - pitch], north * s2[I]);
    ne[I] = ne0[I] - (east * n1[I] + north * e2[I]);
    nw[I] = nw0[I] - (west * n1[I - 1] + north * w2[I]);
    e[I] = -(east * e1[I]);
    n[I] = -(north * n2[I]);
  }
}

/* The same of b1. */
KARST_KERNEL static void NAME(karst_rrb_black_b1)(int64_t count, int64_t pitch, const double *const *from, T *const *r1,
                                                  T *const *r2, double *const *to)
{
  const double *c0 = from[KARST_RRB_CENTRE], *ne0 = from[KARST_RRB_NORTH_EAST], *nw0 = from[KARST_RRB_NORTH_WEST];
  double *c = to[KARST_RRB_SKEW_CENTRE], *ne = to[KARST_RRB_SKEW_NORTH_EAST], *nw = to[KARST_RRB_SKEW_NORTH_WEST],
         *e = to[KARST_RRB_SKEW_EAST], *n = to[KARST_RRB_SKEW_NORTH];
  const T *w2 = r2[0], *e2 = r2[1], *n2 = r2[3], *i2 = r2[KARST_RRB_INVERSE];
  const T *n1 = r1[3], *i1 = r1[KARST_RRB_INVERSE];
  const T *w1up = r1[0] + pitch, *e1up = r1[1] + pitch, *s1up = r1[2] + pitch, *n1up = n1 + pitch, *i1up = i1 + pitch;
#pragma omp simd
  for (int64_t I = 0; I < count; I++) {
    const double east = w2[I + 1] * NAME(pivot)(i2[I + 1]), west = e2[I] * NAME(pivot)(i2[I]);
    const double north = s1up[I] * NAME(pivot)(i1up[I]), south = n1[I] * NAME(pivot)(i1[I]);
    c[I] = NAME(less)(c0[I], west * e2[I], east * w2[I + 1], south * n1[I], north * s1up[I]);
    ne[I] = ne0[I] - (east * n2[I + 1] + north * e1up[I]);
    nw[I] = nw0[I] - (west * n2[I] + north * w1up[I]);
    e[I] = -(east * e2[I + 1]);
    n[I] = -(north * n1up[I]);
  }
}

/* The stencil of grid m + 1, from that of b2 and the factor of b1. */
KARST_KERNEL static void NAME(karst_rrb_next)(int64_t count, int64_t pitch, const double *const *b2, T *const *b1,
                                              double *const *to)
{
  const double *c0 = b2[KARST_RRB_SKEW_CENTRE], *e0 = b2[KARST_RRB_SKEW_EAST], *n0 = b2[KARST_RRB_SKEW_NORTH];
  double *c = to[KARST_RRB_CENTRE], *e = to[KARST_RRB_EAST], *n = to[KARST_RRB_NORTH], *ne = to[KARST_RRB_NORTH_EAST],
         *nw = to[KARST_RRB_NORTH_WEST];
  const T *sw = b1[0], *se = b1[1], *up_w = b1[2], *up_e = b1[3], *inverse = b1[KARST_RRB_INVERSE];
#pragma omp simd
  for (int64_t I = 0; I < count; I++) {
    const int64_t below = I - pitch;
    const double here = sw[I] * NAME(pivot)(inverse[I]), west = se[I - 1] * NAME(pivot)(inverse[I - 1]);
    const double south = up_w[below] * NAME(pivot)(inverse[below]);
    const double corner = up_e[below - 1] * NAME(pivot)(inverse[below - 1]);
    c[I] = NAME(less)(c0[I], here * sw[I], west * se[I - 1], south * up_w[below], corner * up_e[below - 1]);
    e[I] = e0[I] - (here * se[I] + south * up_e[below]);
    n[I] = n0[I] - (here * up_w[I] + west * up_e[I - 1]);
    ne[I] = -(here * up_e[I]);
    nw[I] = -(west * up_w[I - 1]);
  }
}

/* The number of pivots that are not positive and finite. */
KARST_KERNEL static int64_t NAME(karst_rrb_count_bad)(int64_t count, const T *inverse)
{
  int64_t bad = 0;
  for (int64_t I = 0; I < count; I++) bad += !(inverse[I] > 0) | !(inverse[I] < (T)INFINITY);
  return bad;
}
