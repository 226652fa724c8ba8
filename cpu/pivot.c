/* pivot.c - see pivot.h. */
#include "cpu/pivot.h"

#include <math.h>

double karst_ilu_measure(const karst_matrix *A, karst_thread_outcome *f)
{
  const int64_t entries = karst_entries(A);
  for (int64_t v = 0; v < entries && !f->measured; v++) f->matrix_norm = fmax(f->matrix_norm, fabs(A->value[v]));
  f->measured = true;
  return f->matrix_norm;
}
