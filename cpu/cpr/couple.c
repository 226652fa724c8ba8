/* couple.c - how strongly the pressures of neighbours hold each other, by rows of A_p: the square root of
 * sum_j sqrt(a_ij a_ji / (a_ii a_jj)) over the j that couple as in an elliptic equation (lib/backend/cpr_kernels.h). */
#include "cpu/cpr/cpr_cpu.h"

void karst_cpr_couple_cpu(karst_context *context, const karst_cpr *cpr, const karst_matrix *pressure, double *root)
{
  const karst_cpr_plan *plan = karst_cpr_plan_of(cpr);
  const karst_index *start = pressure->device_row_start, *column = pressure->device_column;
  const double *value = pressure->value;
  karst_piece piece = karst_begin(context, KARST_KIND_FACTOR, pressure->blocks);
#pragma omp parallel num_threads(piece.threads)
  {
    const karst_part part = karst_part_rows(&piece, cpr->rows, start);
    for (karst_index i = part.first; i < part.last; i++) {
      double sum = 0;
      for (karst_index k = start[i]; k < start[i + 1]; k++) {
        const karst_index j = column[k], mirror = karst_find_column(column, start[j], start[j + 1], i);
        if (j != i && mirror >= 0)
          sum += karst_cpr_coupling(value[plan->diagonal[i]], value[k], value[mirror], value[plan->diagonal[j]]);
      }
      root[i] = sqrt(sum);
    }
    karst_part_end(&piece, &part);
  }
  karst_end(context, &piece);
}
