/* cycle_template.h - the steps of a cycle for the rows first .. last - 1 of a level whose matrices have values of type
 * T. cycle.c includes it with NAME(x) the name of a function for T. */

/* Row i of A x, in four sums that do not wait for each other. */
KARST_INLINE double NAME(row_product)(const karst_amg_matrix *A, karst_index i, const double *x)
{
  const T *value = A->value;
  const karst_index *column = A->column, end = A->row_start[i + 1];
  karst_index k = A->row_start[i];
  double sum[4] = {0};
  karst_prefetch(value + k, (int64_t)sizeof(T) * (end - k), KARST_PREFETCH_COLUMNS);
  karst_prefetch(column + k, (int64_t)sizeof *column * (end - k), KARST_PREFETCH_COLUMNS);
  for (; k + 4 <= end; k += 4)
    for (int n = 0; n < 4; n++) sum[n] += value[k + n] * x[column[k + n]];
  for (; k < end; k++) sum[0] += value[k] * x[column[k]];
  return (sum[0] + sum[2]) + (sum[1] + sum[3]);
}

/* The same for rows of few entries. */
KARST_INLINE double NAME(short_product)(const karst_amg_matrix *A, karst_index i, const double *x)
{
  const T *value = A->value;
  double sum = 0;
  for (karst_index k = A->row_start[i]; k < A->row_start[i + 1]; k++) sum += value[k] * x[A->column[k]];
  return sum;
}

KARST_KERNEL static void NAME(karst_amg_first)(const karst_amg_level *level, const karst_amg_step *step,
                                               karst_index first, karst_index last)
{
  const double *f = level->vector[0], factor = step->factor;
  const T *weight = level->weight;
  double *y = level->vector[step->y];
  for (karst_index i = first; i < last; i++) y[i] = factor * (weight[i] * f[i]);
}

KARST_KERNEL static void NAME(karst_amg_sweep)(const karst_amg_level *level, const karst_amg_step *step,
                                               karst_index first, karst_index last)
{
  const double *f = level->vector[0], *x = level->vector[step->x], factor = step->factor;
  const T *weight = level->weight;
  double *y = level->vector[step->y];
  for (karst_index i = first; i < last; i++)
    y[i] = x[i] + factor * (weight[i] * (f[i] - NAME(row_product)(&level->A, i, x)));
}

KARST_KERNEL static void NAME(karst_amg_momentum)(const karst_amg_level *level, const karst_amg_step *step,
                                                  karst_index first, karst_index last)
{
  const double *f = level->vector[0], *x = level->vector[step->x], factor = step->factor, keep = step->keep;
  const T *weight = level->weight;
  double *y = level->vector[step->y], *d = level->vector[3];
  if (step->x == 0)
    for (karst_index i = first; i < last; i++) y[i] = d[i] = factor * (weight[i] * f[i]);
  else
    for (karst_index i = first; i < last; i++) {
      const double change = factor * (weight[i] * (f[i] - NAME(row_product)(&level->A, i, x)));
      d[i] = keep == 0 ? change : keep * d[i] + change;
      y[i] = x[i] + d[i];
    }
}

KARST_KERNEL static void NAME(karst_amg_residual)(const karst_amg_level *level, const karst_amg_step *step,
                                                  karst_index first, karst_index last)
{
  const double *f = level->vector[0], *x = level->vector[step->x];
  double *y = level->vector[step->y];
  for (karst_index i = first; i < last; i++) y[i] = f[i] - NAME(row_product)(&level->A, i, x);
}

KARST_KERNEL static void NAME(karst_amg_restrict)(const karst_amg_level *level, const karst_amg_step *step,
                                                  karst_index first, karst_index last)
{
  const double *x = level->vector[step->x];
  double *y = level[1].vector[0];
  for (karst_index i = first; i < last; i++) y[i] = NAME(short_product)(&level->R, i, x);
}

KARST_KERNEL static void NAME(karst_amg_prolong)(const karst_amg_level *level, const karst_amg_step *step,
                                                 karst_index first, karst_index last)
{
  const double *x = level[1].vector[step->x], factor = step->factor;
  double *y = level->vector[step->y];
  for (karst_index i = first; i < last; i++) y[i] += factor * NAME(short_product)(&level->P, i, x);
}

KARST_KERNEL static void NAME(karst_amg_solve_dense)(const karst_amg *amg, const karst_amg_step *step)
{
  const karst_amg_level *level = &amg->level[step->level];
  const karst_index n = level->A.rows;
  const double *f = level->vector[0];
  double *restrict y = level->vector[step->y];
  for (karst_index i = 0; i < n; i++) y[i] = 0;
  for (karst_index j = 0; j < n; j++) {
    const T *restrict column = (const T *)amg->inverse + (int64_t)j * n;
    for (karst_index i = 0; i < n; i++) y[i] += column[i] * f[j];
  }
}
