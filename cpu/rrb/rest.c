/* rest.c - L D L^T of what is left after the last level, a banded matrix. */
#include "rrb.h"

karst_index karst_rrb_rest_factor_cpu(karst_index rows, karst_index width, double *band)
{
  (void)rows;
  (void)width;
  (void)band;
  return -1;
}

void karst_rrb_rest_solve_cpu(karst_index rows, karst_index width, const double *band, double *x)
{
  (void)rows;
  (void)width;
  (void)band;
  (void)x;
}
