/* dilu_sweep_template.h - the two sweeps of solve.c over rows of values of type T. solve.c includes it with NAME(x) the
 * name of a function for T, VALUE the blocks of A and INVERSE D^-1. */

KARST_INLINE void NAME(forward)(int b, const struct pass *pass, karst_index first, karst_index last)
{
  const karst_matrix *A = pass->A;
  const karst_dilu *dilu = pass->dilu;
  const double *r = pass->r;
  double *z = pass->z;
  const int64_t bb = (int64_t)b * b, bytes = bb * (int64_t)sizeof(T);
  const karst_index *lower = karst_dilu_runs_of(dilu)->lower, *start = A->row_start, *column = A->column;
  const T *value = VALUE, *inverse = INVERSE;
  for (karst_index i = first; i < last; i++) {
    const karst_index diagonal = start[i] + (lower[i + 1] - lower[i]);
    double sum[b], product[b];
    if (b <= LARGEST_PREFETCHED)
      karst_prefetch(value + start[i] * bb, (start[i + 1] - start[i]) * bytes, KARST_PREFETCH_VALUES);
    for (int c = 0; c < b; c++) sum[c] = r[(int64_t)i * b + c];
    for (karst_index e = start[i]; e < diagonal; e++)
      NAME(karst_block_subtract_product)(b, value + e * bb, z + (int64_t)column[e] * b, sum);
    for (int c = 0; c < b; c++) product[c] = 0;
    NAME(karst_block_add_product)(b, inverse + i * bb, sum, product);
    for (int c = 0; c < b; c++) z[(int64_t)i * b + c] = product[c];
  }
}

KARST_INLINE void NAME(backward)(int b, const struct pass *pass, karst_index first, karst_index last)
{
  const karst_matrix *A = pass->A;
  const karst_dilu *dilu = pass->dilu;
  double *z = pass->z;
  const int64_t bb = (int64_t)b * b, bytes = bb * (int64_t)sizeof(T);
  const karst_index *lower = karst_dilu_runs_of(dilu)->lower, *start = A->row_start, *column = A->column;
  const T *value = VALUE, *inverse = INVERSE;
  for (karst_index i = last; i-- > first;) {
    const karst_index diagonal = start[i] + (lower[i + 1] - lower[i]);
    double sum[b], product[b];
    if (b <= LARGEST_PREFETCHED)
      karst_prefetch(value + start[i] * bb, (start[i + 1] - start[i]) * bytes, -KARST_PREFETCH_VALUES);
    for (int c = 0; c < b; c++) sum[c] = 0;
    for (karst_index e = start[i + 1]; e-- > diagonal + 1;)
      NAME(karst_block_add_product)(b, value + e * bb, z + (int64_t)column[e] * b, sum);
    for (int c = 0; c < b; c++) product[c] = z[(int64_t)i * b + c];
    NAME(karst_block_subtract_product)(b, inverse + i * bb, sum, product);
    for (int c = 0; c < b; c++) z[(int64_t)i * b + c] = product[c];
  }
}

#define INSTANCE(SIZE, B)                                                                                              \
  KARST_KERNEL static void NAME(dilu_forward_##SIZE)(const void *pass, karst_index first, karst_index last)            \
  {                                                                                                                    \
    NAME(forward)(B, pass, first, last);                                                                               \
  }                                                                                                                    \
  KARST_KERNEL static void NAME(dilu_backward_##SIZE)(const void *pass, karst_index first, karst_index last)           \
  {                                                                                                                    \
    NAME(backward)(B, pass, first, last);                                                                              \
  }
#define INSTANCES(B) INSTANCE(B, B)
KARST_BLOCK_SIZES(INSTANCES)
INSTANCE(any, ((const struct pass *)pass)->A->block_size)
#undef INSTANCES
#undef INSTANCE

#define FORWARD(B) [B] = NAME(dilu_forward_##B),
#define BACKWARD(B) [B] = NAME(dilu_backward_##B),
static karst_sweep_rows *const NAME(forwards)[] = {NAME(dilu_forward_any), KARST_BLOCK_SIZES(FORWARD)};
static karst_sweep_rows *const NAME(backwards)[] = {NAME(dilu_backward_any), KARST_BLOCK_SIZES(BACKWARD)};
#undef FORWARD
#undef BACKWARD
