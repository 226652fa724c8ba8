/* pressure.c - the pressure matrix A_p = W^T A E of CPR on the CPU, its balance, and column p of each block. Threads
 * share the rows of A_p; sums over a column are in the order of the rows. */
#include "cpu/cpr/cpr_cpu.h"

/* Makes rows of A_p and of the columns in float, and the sums of |a_ij| by rows in residual, which begin with those of
 * ghosts. */
KARST_INLINE void project_rows(int b, const karst_matrix *A, const karst_cpr *cpr, karst_index first, karst_index last,
                               double *restrict pressure, karst_cpr_projected *found)
{
  const karst_cpr_plan *plan = karst_cpr_plan_of(cpr);
  float *restrict column = cpr->column;
  for (karst_index i = first; i < last; i++) {
    const double *restrict weight = cpr->weight + (int64_t)i * b;
    double row_sum = cpr->columns ? cpr->residual[i] : 0;
    for (karst_index k = A->row_start[i]; k < A->row_start[i + 1]; k++) {
      const double *restrict entry = A->value + karst_block_offset(b, k) + (int64_t)cpr->pressure * b;
      double sum = 0;
      for (int r = 0; r < b; r++) {
        sum += weight[r] * entry[r];
        column[(int64_t)k * b + r] = (float)entry[r];
        if (fabs(entry[r]) > found->largest) found->largest = fabs(entry[r]);
      }
      pressure[k] = sum;
      row_sum += fabs(sum);
      if (!(fabs(sum) <= DBL_MAX) && i < found->bad) found->bad = i;
    }
    cpr->residual[i] = row_sum;
    if (row_sum == 0) pressure[plan->diagonal[i]] = 1;
    found->empty += row_sum == 0;
  }
}

typedef void project_function(const karst_matrix *A, const karst_cpr *cpr, karst_index first, karst_index last,
                              double *pressure, karst_cpr_projected *found);

#define INSTANCE(SUFFIX, B)                                                                                            \
  KARST_KERNEL static void cpr_project_##SUFFIX(const karst_matrix *A, const karst_cpr *cpr, karst_index first,        \
                                                karst_index last, double *pressure, karst_cpr_projected *found)        \
  {                                                                                                                    \
    project_rows(B, A, cpr, first, last, pressure, found);                                                             \
  }
#define INSTANCE_OF(B) INSTANCE(B, B)
KARST_BLOCK_SIZES(INSTANCE_OF)
INSTANCE(any, A->block_size)
#undef INSTANCE_OF
#undef INSTANCE

static karst_cpr_projected project(karst_context *context, const karst_matrix *A, const karst_cpr *cpr,
                                   karst_matrix *pressure)
{
#define ENTRY(B) [B] = cpr_project_##B,
  static project_function *const instance[] = {cpr_project_any, KARST_BLOCK_SIZES(ENTRY)};
#undef ENTRY
  project_function *rows = instance[A->block_size <= KARST_BLOCK_SIZE_LARGEST_INSTANCE ? A->block_size : 0];
  karst_cpr_projected all = {0, A->block_rows, 0};
  if (cpr->columns) all = karst_cpr_project_ghosts_cpu(context, cpr, pressure);
  karst_piece piece = karst_begin(context, KARST_KIND_FACTOR, karst_entries(A));
#pragma omp parallel num_threads(piece.threads)
  {
    const karst_part part = karst_part_rows(&piece, A->block_rows, A->row_start);
    karst_cpr_projected mine = {0, A->block_rows, 0};
    rows(A, cpr, part.first, part.last, pressure->value, &mine);
    karst_part_end(&piece, &part);
#pragma omp critical(karst_cpr_project)
    karst_cpr_join_found(&all, &mine);
  }
  karst_end(context, &piece);
  return all;
}

/* Rounds the columns again if their entries are outside the range of float. */
static void scale_columns(karst_context *context, const karst_matrix *A, const karst_cpr *cpr, double largest)
{
  const int b = A->block_size, exponent = karst_cpr_column_exponent(largest);
  const int64_t width = A->blocks * b, below = (int64_t)cpr->pressure * b;
  karst_cpr_plan_of(cpr)->unit = ldexp(1, -exponent);
  if (exponent == 0) return;
  if (cpr->columns) karst_cpr_round_ghosts_cpu(cpr, exponent);
  karst_piece piece = karst_begin(context, KARST_KIND_ONCE, width);
#pragma omp parallel for num_threads(piece.threads) schedule(static)
  for (int64_t v = 0; v < width; v++)
    cpr->column[v] = (float)ldexp(A->value[karst_block_offset(b, v / b) + below + v % b], exponent);
  karst_end(context, &piece);
}

/* What other ranks have summed of column i. */
static inline double add_parts(const karst_columns *columns, karst_index i, const double *parts)
{
  double sum = 0;
  for (karst_index e = columns->part_start[i]; e < columns->part_start[i + 1]; e++) sum += parts[columns->part[e]];
  return sum;
}

void karst_cpr_balance_cpu(karst_context *context, const karst_cpr *cpr, const karst_matrix *pressure,
                           const double *parts, const double *before, double *after)
{
  const karst_cpr_plan *plan = karst_cpr_plan_of(cpr);
  karst_piece piece = karst_begin(context, KARST_KIND_FACTOR, pressure->blocks);
#pragma omp parallel num_threads(piece.threads)
  {
    const karst_part part = karst_part_rows(&piece, pressure->block_rows, plan->start);
    for (karst_index i = part.first; i < part.last; i++) {
      double sum = parts ? add_parts(cpr->columns, i, parts) : 0;
      for (karst_index e = plan->start[i]; e < plan->start[i + 1]; e++)
        sum += fabs(pressure->value[plan->block[e]]) * before[plan->row[e]];
      after[i] = karst_cpr_balanced(before[i], sum, cpr->residual[i]);
    }
    karst_part_end(&piece, &part);
  }
  karst_end(context, &piece);
}

static void scale_ghosts(const karst_halo *halo, const double *s)
{
  for (karst_index k = 0; k < halo->rows; k++)
    for (karst_index e = halo->device.row_start[k]; e < halo->device.row_start[k + 1]; e++)
      halo->value[e] *= s[halo->device.row[k]];
}

void karst_cpr_scale_cpu(karst_context *context, karst_cpr *cpr, const double *s, karst_matrix *pressure)
{
  const int b = cpr->block_size;
  karst_piece piece = karst_begin(context, KARST_KIND_FACTOR, pressure->blocks);
  if (pressure->halo) scale_ghosts(pressure->halo, s);
#pragma omp parallel num_threads(piece.threads)
  {
    const karst_part part = karst_part_rows(&piece, pressure->block_rows, pressure->device_row_start);
    for (karst_index i = part.first; i < part.last; i++) {
      for (int r = 0; r < b; r++) cpr->weight[(int64_t)i * b + r] *= s[i];
      for (karst_index k = pressure->device_row_start[i]; k < pressure->device_row_start[i + 1]; k++)
        pressure->value[k] *= s[i];
    }
    karst_part_end(&piece, &part);
  }
  karst_end(context, &piece);
}

karst_status karst_cpr_pressure_cpu(karst_context *context, const karst_matrix *A, karst_cpr *cpr,
                                    karst_matrix *pressure, karst_cpr_outcome *outcome)
{
  const karst_cpr_projected found = project(context, A, cpr, pressure);
  outcome->empty = found.empty;
  if (found.bad < A->block_rows) {
    outcome->reason = KARST_NOT_FINITE;
    outcome->block_row = found.bad;
    return KARST_SUCCESS;
  }
  scale_columns(context, A, cpr, found.largest);
  return KARST_SUCCESS;
}
