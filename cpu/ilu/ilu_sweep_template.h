/* ilu_sweep_template.h - the two sweeps of solve.c over rows of factors of type T. solve.c includes it with NAME(x) the
 * name of a function or an array for T. */

KARST_INLINE void NAME(forward)(int b, const struct pass *pass, karst_index first, karst_index last)
{
  const karst_ilu *ilu = pass->ilu;
  const double *r = pass->r;
  double *z = pass->z;
  const int64_t bb = (int64_t)b * b, bytes = bb * (int64_t)sizeof(T);
  const karst_index *start = ilu->lower_start, *column = ilu->lower_column;
  const T *value = ilu->NAME(lower);
  for (karst_index i = first; i < last; i++) {
    double sum[b];
    if (b <= LARGEST_PREFETCHED)
      karst_prefetch(value + start[i] * bb, (start[i + 1] - start[i]) * bytes, KARST_PREFETCH_VALUES);
    for (int c = 0; c < b; c++) sum[c] = r[(int64_t)i * b + c];
    for (karst_index k = start[i]; k < start[i + 1]; k++)
      NAME(karst_block_subtract_product)(b, value + k * bb, z + (int64_t)column[k] * b, sum);
    for (int c = 0; c < b; c++) z[(int64_t)i * b + c] = sum[c];
  }
}

KARST_INLINE void NAME(backward)(int b, const struct pass *pass, karst_index first, karst_index last)
{
  const karst_ilu *ilu = pass->ilu;
  double *z = pass->z;
  const int64_t bb = (int64_t)b * b, bytes = bb * (int64_t)sizeof(T);
  const karst_index *start = ilu->upper_start, *column = ilu->upper_column;
  const T *value = ilu->NAME(upper), *inverse = ilu->NAME(inverse_diagonal);
  for (karst_index i = last; i-- > first;) {
    double sum[b];
    if (b <= LARGEST_PREFETCHED)
      karst_prefetch(value + start[i] * bb, (start[i + 1] - start[i]) * bytes, -KARST_PREFETCH_VALUES);
    for (int c = 0; c < b; c++) sum[c] = 0;
    NAME(karst_block_add_product)(b, inverse + i * bb, z + (int64_t)i * b, sum);
    for (karst_index k = start[i + 1]; k-- > start[i];)
      NAME(karst_block_subtract_product)(b, value + k * bb, z + (int64_t)column[k] * b, sum);
    for (int c = 0; c < b; c++) z[(int64_t)i * b + c] = sum[c];
  }
}

#define INSTANCE(SIZE, B)                                                                                              \
  KARST_KERNEL static void NAME(forward_##SIZE)(const void *pass, karst_index first, karst_index last)                 \
  {                                                                                                                    \
    NAME(forward)(B, pass, first, last);                                                                               \
  }                                                                                                                    \
  KARST_KERNEL static void NAME(backward_##SIZE)(const void *pass, karst_index first, karst_index last)                \
  {                                                                                                                    \
    NAME(backward)(B, pass, first, last);                                                                              \
  }
#define INSTANCES(B) INSTANCE(B, B)
KARST_BLOCK_SIZES(INSTANCES)
INSTANCE(any, ((const struct pass *)pass)->ilu->block_size)
#undef INSTANCES
#undef INSTANCE

#define FORWARD(B) [B] = NAME(forward_##B),
#define BACKWARD(B) [B] = NAME(backward_##B),
static karst_sweep_rows *const NAME(forwards)[] = {NAME(forward_any), KARST_BLOCK_SIZES(FORWARD)};
static karst_sweep_rows *const NAME(backwards)[] = {NAME(backward_any), KARST_BLOCK_SIZES(BACKWARD)};
#undef FORWARD
#undef BACKWARD
