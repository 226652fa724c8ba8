/* ghosts.c - what CPR does on the CPU with the columns of ghosts, where ranks share the matrix: its part of sums over
 * their columns, the couplings of A_p with them, and s = s - G E z_g. */
#include "cpu/cpr/cpr_cpu.h"

void karst_cpr_sum_ghosts_cpu(karst_context *context, const karst_cpr *cpr, double *sums)
{
  const karst_columns *columns = cpr->columns;
  const double *value = columns->halo->value;
  const int64_t bb = karst_block_offset(cpr->block_size, 1);
  karst_piece piece = karst_begin(context, KARST_KIND_FACTOR, bb * columns->halo->blocks);
#pragma omp parallel for num_threads(piece.threads) schedule(static)
  for (karst_index g = 0; g < columns->halo->ghosts; g++) {
    double *sum = sums + 2 * bb * g, *size = sum + bb;
    for (int64_t v = 0; v < 2 * bb; v++) sum[v] = 0;
    for (karst_index e = columns->start[g]; e < columns->start[g + 1]; e++)
      for (int64_t v = 0; v < bb; v++) {
        sum[v] += value[bb * columns->block[e] + v];
        size[v] += fabs(sum[v]);
      }
  }
  karst_end(context, &piece);
}

void karst_cpr_sum_scales_cpu(karst_context *context, const karst_cpr *cpr, const karst_matrix *pressure,
                              const double *s, double *sums)
{
  const karst_columns *columns = cpr->columns;
  const double *value = pressure->halo->value;
  karst_piece piece = karst_begin(context, KARST_KIND_FACTOR, columns->halo->blocks);
#pragma omp parallel for num_threads(piece.threads) schedule(static)
  for (karst_index g = 0; g < columns->halo->ghosts; g++) {
    double sum = 0;
    for (karst_index e = columns->start[g]; e < columns->start[g + 1]; e++)
      sum += fabs(value[columns->block[e]]) * s[columns->row[e]];
    sums[g] = sum;
  }
  karst_end(context, &piece);
}

/* Makes row k of the boundary. */
static void project_row(const karst_cpr *cpr, karst_index k, double *pressure, karst_cpr_projected *found)
{
  const karst_halo *halo = cpr->columns->halo;
  const int b = cpr->block_size;
  const karst_index i = halo->device.row[k];
  const double *weight = cpr->weight + (int64_t)i * b;
  for (karst_index e = halo->device.row_start[k]; e < halo->device.row_start[k + 1]; e++) {
    const double *entry = halo->value + karst_block_offset(b, e) + (int64_t)cpr->pressure * b;
    double sum = 0;
    for (int r = 0; r < b; r++) {
      sum += weight[r] * entry[r];
      cpr->ghost_column[(int64_t)e * b + r] = (float)entry[r];
      if (fabs(entry[r]) > found->largest) found->largest = fabs(entry[r]);
    }
    pressure[e] = sum;
    cpr->residual[i] += fabs(sum);
    if (!(fabs(sum) <= DBL_MAX) && i < found->bad) found->bad = i;
  }
}

karst_cpr_projected karst_cpr_project_ghosts_cpu(karst_context *context, const karst_cpr *cpr, karst_matrix *pressure)
{
  const karst_halo *halo = cpr->columns->halo;
  karst_cpr_projected all = {0, cpr->rows, 0};
  karst_fill_cpu(context, cpr->rows, 0, cpr->residual);
  karst_piece piece = karst_begin(context, KARST_KIND_FACTOR, karst_block_offset(cpr->block_size, halo->blocks));
#pragma omp parallel num_threads(piece.threads)
  {
    karst_cpr_projected mine = {0, cpr->rows, 0};
#pragma omp for schedule(static)
    for (karst_index k = 0; k < halo->rows; k++) project_row(cpr, k, pressure->halo->value, &mine);
#pragma omp critical(karst_cpr_project_ghosts)
    karst_cpr_join_found(&all, &mine);
  }
  karst_end(context, &piece);
  return all;
}

void karst_cpr_round_ghosts_cpu(const karst_cpr *cpr, int exponent)
{
  const karst_halo *halo = cpr->columns->halo;
  const int b = cpr->block_size;
  const int64_t width = (int64_t)halo->blocks * b, below = (int64_t)cpr->pressure * b;
  for (int64_t v = 0; v < width; v++)
    cpr->ghost_column[v] = (float)ldexp(halo->value[karst_block_offset(b, v / b) + below + v % b], exponent);
}

void karst_cpr_subtract_ghosts_cpu(karst_context *context, const karst_cpr *cpr, const double *z_g, double *s)
{
  const karst_boundary *boundary = &cpr->columns->halo->device;
  const int b = cpr->block_size;
  const double unit = karst_cpr_plan_of(cpr)->unit;
  karst_piece piece = karst_begin(context, KARST_KIND_PRODUCT, (int64_t)cpr->columns->halo->blocks * b);
#pragma omp parallel for num_threads(piece.threads) schedule(static)
  for (karst_index k = 0; k < cpr->columns->halo->rows; k++) {
    double *row = s + (int64_t)boundary->row[k] * b;
    for (karst_index e = boundary->row_start[k]; e < boundary->row_start[k + 1]; e++) {
      const double z = unit * z_g[boundary->column[e]];
      for (int c = 0; c < b; c++) row[c] -= cpr->ghost_column[(int64_t)e * b + c] * z;
    }
  }
  karst_end(context, &piece);
}
