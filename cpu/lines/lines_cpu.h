/* lines_cpu.h - solves along lines on the CPU: threads share the slices, and go through one slice after the other.
 *
 * The lines of a slice are followed side by side, because their cells are side by side in memory more often than the
 * cells of one line are, and because each line is a chain of steps that wait for each other. The factors are stored
 * slot after slot, each block column by column. */
#ifndef KARST_CPU_LINES_LINES_CPU_H
#define KARST_CPU_LINES_LINES_CPU_H

#include "cpu/cpu.h"
#include "lib/backend/lines_kernels.h"

enum { KARST_LINES_WIDEST = 8 /* lines of a slice */ };

/* The work space of threads. */
typedef struct karst_lines_cpu {
  int threads;
  double *space; /* [threads][2 (b*b + b)] to factor: d_k, its size, and the work space of its inversion */
  int *pivot;    /* [threads][b] */
  double *y;     /* [threads][longest width b] to solve: y of the lines of a slice, which stays in a cache */
} karst_lines_cpu;

/* The scalars of y for a thread. */
static inline int64_t karst_lines_chain(const karst_lines *lines)
{
  return (int64_t)lines->longest * lines->width * lines->block_size;
}

/* The first of the slices first .. last - 1 for share number part of parts, in shares of about as many steps. */
static inline karst_index karst_lines_share(const karst_lines *lines, karst_index first, karst_index last, int part,
                                            int parts)
{
  if (part == parts) return last;
  const karst_index *step = lines->device.step;
  const int64_t target = step[first] + karst_share(step[last] - step[first], part, parts);
  return karst_lower_bound(step, first, last, (karst_index)target);
}

/* Returns the active lanes of a step: its first slots. */
static inline __attribute__((always_inline)) int karst_lines_active(const karst_index *row, int width)
{
  while (width > 0 && row[width - 1] < 0) width--;
  return width;
}

extern const struct karst_lines_kernels karst_lines_kernels_cpu;
karst_status karst_lines_factor_cpu(karst_context *context, const karst_matrix *A, karst_lines_factors *factors,
                                    karst_factor_outcome *outcome);
void karst_lines_solve_cpu(karst_context *context, const karst_lines_factors *factors, int colour, const double *r,
                           double *z);
void karst_lines_residual_cpu(karst_context *context, const karst_matrix *A, const karst_lines_factors *factors,
                              const double *r, double *z);

#endif
