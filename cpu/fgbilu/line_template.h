/* line_template.h - the two sweeps of solve.c over a line of cells, with values of type T. solve.c includes it with
 * NAME(x) the name of a function or an array for T. */

KARST_INLINE void NAME(forward_line)(int b, bool triangles, const karst_fgbilu_pass *pass, karst_index first,
                                     karst_index last)
{
  const karst_structured *cells = pass->cells;
  const karst_matrix *A = pass->A;
  const double *r = pass->r;
  double *z = pass->z;
  const int64_t bb = (int64_t)b * b;
  for (karst_index i = first; i < last; i++) {
    const karst_index row = cells->row ? cells->row[i] : i;
    if (row < 0) continue;
    const uint64_t place = cells->place[i];
    const T *value = pass->NAME(value) + A->row_start[row] * bb;
    double sum[b], y[b];
    prefetch(b, (int64_t)sizeof(T), value, 1);
    for (int c = 0; c < b; c++) sum[c] = r[(int64_t)row * b + c];
    KARST_UNROLL
    for (int face = 0; face < KARST_FACES_BELOW; face++) {
      const int at = karst_place(place, face);
      if (at == KARST_PLACE_NONE) continue;
      const karst_index there = i + pass->stride[face], j = cells->row ? cells->row[there] : there;
      NAME(karst_block_subtract_product)(b, value + at * bb, z + (int64_t)j * b, sum);
    }
    NAME(multiply_inverse)(b, triangles, pass, row, sum, y);
    for (int c = 0; c < b; c++) z[(int64_t)row * b + c] = y[c];
  }
}

KARST_INLINE void NAME(backward_line)(int b, bool triangles, const karst_fgbilu_pass *pass, karst_index first,
                                      karst_index last)
{
  const karst_structured *cells = pass->cells;
  const karst_matrix *A = pass->A;
  double *z = pass->z;
  const int64_t bb = (int64_t)b * b;
  for (karst_index i = last; i-- > first;) {
    const karst_index row = cells->row ? cells->row[i] : i;
    if (row < 0) continue;
    const uint64_t place = cells->place[i];
    const T *value = pass->NAME(value) + A->row_start[row] * bb;
    double sum[b], y[b];
    prefetch(b, (int64_t)sizeof(T), value + (KARST_FACES_BELOW + 1) * bb, -1);
    for (int c = 0; c < b; c++) sum[c] = 0;
    KARST_UNROLL
    for (int face = KARST_FACES - 1; face >= KARST_FACES_BELOW; face--) {
      const int at = karst_place(place, face);
      if (at == KARST_PLACE_NONE) continue;
      const karst_index there = i + pass->stride[face], j = cells->row ? cells->row[there] : there;
      NAME(karst_block_add_product)(b, value + at * bb, z + (int64_t)j * b, sum);
    }
    NAME(multiply_inverse)(b, triangles, pass, row, sum, y);
    for (int c = 0; c < b; c++) z[(int64_t)row * b + c] -= y[c];
  }
}
