/* apply.c - what CPR does in each iteration on the CPU, beside its two stages: r_p = W^T r, s = r - A E z_p and
 * z = z + E z_p. */
#include "cpu/cpr/cpr_cpu.h"

KARST_INLINE void subtract_rows(int b, const karst_matrix *A, const karst_cpr *cpr, karst_index first, karst_index last,
                                const double *r, const double *restrict z_p, double *s)
{
  const karst_index *start = A->row_start, *column = A->column;
  const float *restrict value = cpr->column;
  const double unit = karst_cpr_plan_of(cpr)->unit;
  for (karst_index i = first; i < last; i++) {
    double sum[b];
    karst_prefetch(value + (int64_t)start[i] * b, (int64_t)sizeof *value * b * (start[i + 1] - start[i]),
                   KARST_PREFETCH_VALUES);
    karst_prefetch(column + start[i], (int64_t)sizeof *column * (start[i + 1] - start[i]), KARST_PREFETCH_COLUMNS);
    for (int c = 0; c < b; c++) sum[c] = 0;
    for (karst_index k = start[i]; k < start[i + 1]; k++)
      for (int c = 0; c < b; c++) sum[c] += value[(int64_t)k * b + c] * z_p[column[k]];
    for (int c = 0; c < b; c++) s[(int64_t)i * b + c] = r[(int64_t)i * b + c] - unit * sum[c];
  }
}

typedef void subtract_function(const karst_matrix *A, const karst_cpr *cpr, karst_index first, karst_index last,
                               const double *r, const double *z_p, double *s);

#define INSTANCE(SUFFIX, B)                                                                                            \
  KARST_KERNEL static void cpr_subtract_##SUFFIX(const karst_matrix *A, const karst_cpr *cpr, karst_index first,       \
                                                 karst_index last, const double *r, const double *z_p, double *s)      \
  {                                                                                                                    \
    subtract_rows(B, A, cpr, first, last, r, z_p, s);                                                                  \
  }
#define INSTANCE_OF(B) INSTANCE(B, B)
KARST_BLOCK_SIZES(INSTANCE_OF)
INSTANCE(any, A->block_size)
#undef INSTANCE_OF
#undef INSTANCE

void karst_cpr_subtract_cpu(karst_context *context, const karst_matrix *A, const karst_cpr *cpr, const double *r,
                            const double *z_p, double *s)
{
#define ENTRY(B) [B] = cpr_subtract_##B,
  static subtract_function *const instance[] = {cpr_subtract_any, KARST_BLOCK_SIZES(ENTRY)};
#undef ENTRY
  subtract_function *rows = instance[A->block_size <= KARST_BLOCK_SIZE_LARGEST_INSTANCE ? A->block_size : 0];
  karst_piece piece = karst_begin(context, KARST_KIND_PRODUCT, A->blocks * A->block_size);
#pragma omp parallel num_threads(piece.threads)
  {
    const karst_part part = karst_part_rows(&piece, A->block_rows, A->row_start);
    rows(A, cpr, part.first, part.last, r, z_p, s);
    karst_part_end(&piece, &part);
  }
  karst_end(context, &piece);
}

void karst_cpr_restrict_cpu(karst_context *context, const karst_cpr *cpr, const double *r, double *r_p)
{
  const int b = cpr->block_size;
  karst_piece piece = karst_begin(context, KARST_KIND_ELEMENTS, (int64_t)cpr->rows * b);
#pragma omp parallel for num_threads(piece.threads) schedule(static)
  for (karst_index i = 0; i < cpr->rows; i++) {
    double sum = 0;
    for (int64_t v = (int64_t)i * b; v < ((int64_t)i + 1) * b; v++) sum += cpr->weight[v] * r[v];
    r_p[i] = sum;
  }
  karst_end(context, &piece);
}

void karst_cpr_prolong_cpu(karst_context *context, const karst_cpr *cpr, const double *z_p, double *z)
{
  karst_piece piece = karst_begin(context, KARST_KIND_SCATTER, cpr->rows);
#pragma omp parallel for num_threads(piece.threads) schedule(static)
  for (karst_index i = 0; i < cpr->rows; i++) z[(int64_t)i * cpr->block_size + cpr->pressure] += z_p[i];
  karst_end(context, &piece);
}
