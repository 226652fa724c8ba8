/* invert.c - the dense inverse of the last level, by Gauss-Jordan elimination in place, in double.
 *
 * Step k exchanges rows so that the pivot of unknown k is large: the diagonal entry where it is at least a tenth of
 * the largest entry of the column, which keeps the inverse of a symmetric matrix symmetric. In exact arithmetic the
 * pivot is u'Av, where the equations taken so far and this one, in the proportions u, have no other unknown left than
 * k, and v solves those taken so far for unknown k = 1. Errors of relative size e in the entries of A change it by up
 * to e |u|'|A||v|. A pivot within that, e = karst_amg_roundings epsilon of the levels' precision, is that of a singular
 * matrix. Its unknown is pinned, which is to say 0, and the equation of its number is dropped, or another one if that
 * has been used. So its row of the inverse and the column of that equation are 0. */
#include "cpu/amg/amg_cpu.h"

#include <float.h>
#include <math.h>

/* Spreads A over the dense array. */
static void spread_level(bool single, const karst_amg_matrix *A, const karst_amg_cpu *plan)
{
  const int64_t n = A->rows;
  for (int64_t v = 0; v < n * n; v++) plan->dense[v] = 0;
  for (karst_index i = 0; i < n; i++) {
    plan->origin[i] = i;
    for (karst_index k = A->row_start[i]; k < A->row_start[i + 1]; k++)
      plan->dense[i * n + A->column[k]] = karst_amg_value(single, A->value, k);
  }
}

static void exchange_rows(const karst_amg_cpu *plan, karst_index n, karst_index i, karst_index k)
{
  const karst_index origin = plan->origin[i];
  plan->origin[i] = plan->origin[k];
  plan->origin[k] = origin;
  for (int64_t j = 0; j < n && i != k; j++) {
    const double moved = plan->dense[i * (int64_t)n + j];
    plan->dense[i * (int64_t)n + j] = plan->dense[k * (int64_t)n + j];
    plan->dense[k * (int64_t)n + j] = moved;
  }
}

/* Returns |u|'|A||v| for the pivot of unknown k in a row. Elimination in place has left v above the pivot and u to the
 * left of it, except for their signs; both are 0 for what is pinned. */
static double perturbation(bool single, const karst_amg_matrix *A, const karst_amg_cpu *plan, karst_index row,
                           karst_index k)
{
  const int64_t n = A->rows;
  double sum = 0;
  for (karst_index m = 0; m <= k; m++) {
    const double u = m == k ? 1 : fabs(plan->dense[row * n + m]);
    const karst_index i = plan->origin[m == k ? row : m];
    for (karst_index q = A->row_start[i]; q < A->row_start[i + 1] && A->column[q] <= k && u > 0; q++) {
      const double v = A->column[q] == k ? 1 : fabs(plan->dense[A->column[q] * n + k]);
      sum += u * fabs(karst_amg_value(single, A->value, q)) * v;
    }
  }
  return sum;
}

/* Returns the row of the largest entry left in column k, or *own, the row that holds equation k, if its entry is not
 * much smaller. *own is k if a row above holds that equation. */
static karst_index find_pivot(const karst_amg_cpu *plan, karst_index n, karst_index k, karst_index *own)
{
  const double *column = plan->dense + k;
  karst_index pivot = k;
  *own = k;
  for (karst_index i = k; i < n; i++) {
    if (fabs(column[i * (int64_t)n]) > fabs(column[pivot * (int64_t)n])) pivot = i;
    if (plan->origin[i] == k) *own = i;
  }
  const double largest = fabs(column[pivot * (int64_t)n]);
  const bool keeps = plan->origin[*own] == k && fabs(column[*own * (int64_t)n]) >= karst_amg_diagonal_share() * largest;
  return keeps ? *own : pivot;
}

/* Eliminates unknown k from all rows but row k, which has its pivot. */
KARST_KERNEL static void karst_amg_eliminate(karst_index n, karst_index k, double *dense)
{
  double *restrict row = dense + k * (int64_t)n;
  const double inverse = 1 / row[k];
  row[k] = 1;
  for (karst_index j = 0; j < n; j++) row[j] *= inverse;
  for (karst_index i = 0; i < n; i++) {
    double *restrict other = dense + i * (int64_t)n;
    const double factor = other[k];
    if (i == k || factor == 0) continue;
    other[k] = 0;
    for (karst_index j = 0; j < n; j++) other[j] -= factor * row[j];
  }
}

karst_index karst_amg_invert_cpu(const karst_amg *amg)
{
  const karst_amg_cpu *plan = amg->plan;
  const karst_amg_matrix *A = &amg->level[amg->levels - 1].A;
  const int64_t n = A->rows;
  const double rounding = karst_amg_roundings(A->rows) * (amg->single ? (double)FLT_EPSILON : DBL_EPSILON);
  karst_index pinned = 0;
  spread_level(amg->single, A, plan);
  for (karst_index k = 0; k < n; k++) {
    karst_index own;
    const karst_index pivot = find_pivot(plan, A->rows, k, &own);
    const bool sound = fabs(plan->dense[pivot * n + k]) > rounding * perturbation(amg->single, A, plan, pivot, k);
    exchange_rows(plan, A->rows, k, sound ? pivot : own);
    if (sound) {
      karst_amg_eliminate(A->rows, k, plan->dense);
      continue;
    }
    for (int64_t j = 0; j < n; j++) plan->dense[k * n + j] = plan->dense[j * n + k] = 0;
    pinned++;
  }
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++)
      karst_amg_store(amg->single, amg->inverse, plan->origin[j] * n + i, plan->dense[i * n + j]);
  return pinned;
}
