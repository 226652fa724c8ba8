/* jacobi.c - z ~ (L D U')^-1 r on the CPU by a few Jacobi sweeps for each triangle (Anzt, Chow, Dongarra: Iterative
 * sparse triangular solves for preconditioning, Euro-Par 2015), for triangles with too many level sets:
 *
 *     x_0 = r,  x_k+1 = r - (L - I) x_k;      g = D^-1 x;      z_0 = g,  z_k+1 = g - (U' - I) z_k
 *
 * Each sweep is a product with a matrix, whose rows are all computed at once. After as many sweeps as the triangle has
 * level sets, less one, the solution is exact. */
#include "cpu/ilu/ilu_cpu.h"

#include "cpu/cpu.h"

/* Returns a strict triangle as a matrix, for its products. */
static karst_matrix triangle(const karst_ilu *ilu, karst_index *start, karst_index *column, double *value)
{
  return (karst_matrix){.block_rows = ilu->rows,
                        .block_size = ilu->block_size,
                        .blocks = start[ilu->rows],
                        .row_start = start,
                        .column = column,
                        .value = value};
}

/* Takes the sweeps, from x_0 = b on. Their results alternate between the arrays other and last, so that the final one
 * is in last. Returns the array that has the result, which for 0 sweeps is b itself. */
static const double *sweep_by_jacobi(karst_context *context, const karst_matrix *strict, int sweeps, const double *b,
                                     double *other, double *last)
{
  const double *x = b;
  for (int left = sweeps; left > 0; left--) {
    double *next = left % 2 ? last : other;
    karst_residual_cpu(context, strict, b, x, next, NULL);
    x = next;
  }
  return x;
}

void karst_ilu_solve_jacobi_cpu(karst_context *context, const karst_ilu *ilu, const double *r, double *z)
{
  const karst_ilu_plan *plan = ilu->plan;
  const int64_t n = (int64_t)ilu->rows * ilu->block_size;
  double *g = plan->jacobi, *other = plan->jacobi + n;
  const karst_matrix lower = triangle(ilu, ilu->lower_start, ilu->lower_column, ilu->lower);
  const karst_matrix upper = triangle(ilu, ilu->upper_start, ilu->upper_column, ilu->upper);
  const double *y = sweep_by_jacobi(context, &lower, plan->jacobi_sweeps, r, other, z);
  karst_multiply_diagonal_cpu(context, ilu->rows, ilu->block_size, ilu->inverse_diagonal, y, g);
  const double *x = sweep_by_jacobi(context, &upper, plan->jacobi_sweeps, g, other, z);
  if (x != z) karst_copy_cpu(context, n, x, z);
}
