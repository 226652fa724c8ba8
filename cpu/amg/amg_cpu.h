/* amg_cpu.h - the inside of the CPU's kernels of algebraic multigrid; lib/backend/amg_kernels.h says what each does.
 * The set-up reads values through karst_amg_value and computes in double. What an update or an apply repeats is
 * compiled for matrices in float and in double (product.c, cycle_template.h); vectors are double. */
#ifndef KARST_CPU_AMG_AMG_CPU_H
#define KARST_CPU_AMG_AMG_CPU_H

#include "cpu/cpu.h"
#include "lib/backend/amg_kernels.h"

/* The plan of a hierarchy. */
typedef struct karst_amg_cpu {
  double *dense;       /* [rows*rows] work space for the inverse of the last level, row by row; NULL without one */
  karst_index *origin; /* [rows] the row of the last level that is at each place after the exchanges of rows */
} karst_amg_cpu;

/* Element k of an array of floats or doubles, which must be finite in that type to be stored. */
KARST_INLINE double karst_amg_value(bool single, const void *value, int64_t k)
{
  return single ? (double)((const float *)value)[k] : ((const double *)value)[k];
}

KARST_INLINE void karst_amg_store(bool single, void *value, int64_t k, double number)
{
  if (single)
    ((float *)value)[k] = (float)number;
  else
    ((double *)value)[k] = number;
}

/* Takes device memory for count elements, at least one; *memory is NULL after a failure. */
karst_status karst_amg_take_cpu(karst_context *context, void *memory, int64_t count, size_t size, const char *what);

/* Takes the columns and the values of a matrix whose row_start counts the entries of row i in element i + 1, and turns
 * these into the starts of the rows. Sets entries and longest. */
karst_status karst_amg_take_matrix_cpu(karst_context *context, const karst_amg *amg, const char *what,
                                       karst_amg_matrix *matrix);

/* strong[k] = whether entry k couples its row strongly. A coupling is strong if -s a_ij >= theta max_k -s a_ik > 0,
 * where s is the sign of a_ii. Returns whether the row has one. */
KARST_INLINE bool karst_amg_find_strong(bool single, const karst_amg_matrix *A, double strength, karst_index i,
                                        unsigned char *strong)
{
  double diagonal = 0, above = 0, below = 0; /* the others' largest and smallest */
  for (karst_index k = A->row_start[i]; k < A->row_start[i + 1]; k++) {
    const bool own = A->column[k] == i;
    const double a = karst_amg_value(single, A->value, k), other = own ? 0 : a;
    diagonal = own ? a : diagonal;
    above = other > above ? other : above;
    below = other < below ? other : below;
  }
  const double sign = diagonal < 0 ? -1 : 1, largest = diagonal < 0 ? above : -below;
  for (karst_index k = A->row_start[i]; k < A->row_start[i + 1]; k++) {
    const double size = -sign * karst_amg_value(single, A->value, k);
    strong[k] = (A->column[k] != i) & (size > 0) & (size >= strength * largest);
  }
  return largest > 0;
}

/* Keeps the most largest of count weights, scaled so that their sum stays unless one would exceed limit, sorts them by
 * columns, and returns how many they are. column, weight: [count] */
karst_index karst_amg_truncate_cpu(karst_index most, double limit, karst_index count, karst_index *column,
                                   double *weight);

/* The entries of the table, in the files of their names; begin, load and what releases memory in level.c, what
 * levels of ranks need in ghosts.c, compose and aggregate in match.c, plan_product and multiply in product.c, finish,
 * weigh and apply in cycle.c. */
extern const struct karst_amg_kernels karst_amg_kernels_cpu;
karst_status karst_amg_begin_cpu(karst_context *context, const karst_matrix *A, karst_amg *amg);
void karst_amg_destroy_cpu(karst_context *context, karst_amg *amg);
karst_status karst_amg_load_cpu(karst_context *context, const karst_matrix *A, karst_amg *amg,
                                karst_amg_outcome *outcome);
karst_status karst_amg_square_cpu(karst_context *context, const karst_amg *amg, const karst_amg_matrix *A,
                                  karst_amg_matrix *square);
karst_status karst_amg_fetch_cpu(karst_context *context, const karst_amg *amg, const karst_amg_matrix *matrix,
                                 karst_index count, const karst_index *row, karst_amg_matrix *host);
karst_status karst_amg_stack_cpu(karst_context *context, const karst_amg *amg, const karst_amg_matrix *top,
                                 const karst_amg_matrix *below, karst_index columns, karst_amg_matrix *all);
karst_status karst_amg_renumber_cpu(karst_context *context, karst_index own, karst_index count,
                                    const karst_index *place, karst_amg_matrix *matrix);
void karst_amg_widen_cpu(karst_context *context, const karst_amg *amg, int64_t count, const void *from, double *to);
void karst_amg_narrow_cpu(karst_context *context, const karst_amg *amg, int64_t count, const double *from, void *to);
void karst_amg_add_cpu(karst_context *context, karst_index count, const karst_index *index, const double *x, double *y);
karst_status karst_amg_split_cpu(karst_context *context, const karst_amg *amg, const karst_amg_matrix *A,
                                 const karst_amg_rule *rule, karst_amg_splitting *splitting);
void karst_amg_rescue_cpu(karst_context *context, const karst_amg_matrix *A, karst_index rows, const karst_index *ghost,
                          karst_amg_splitting *splitting);
karst_status karst_amg_interpolate_cpu(karst_context *context, const karst_amg *amg, const karst_amg_matrix *A,
                                       const karst_amg_rule *rule, const karst_amg_splitting *splitting,
                                       karst_amg_matrix *P);
karst_status karst_amg_match_cpu(karst_context *context, const karst_amg *amg, const karst_amg_matrix *A,
                                 const karst_amg_rule *rule, karst_amg_splitting *splitting);
void karst_amg_compose_cpu(karst_context *context, karst_index rows, karst_amg_splitting *splitting,
                           const karst_amg_splitting *next);
karst_status karst_amg_aggregate_cpu(karst_context *context, const karst_amg *amg, karst_index rows,
                                     const karst_amg_splitting *splitting, karst_amg_matrix *P);
void karst_amg_release_splitting_cpu(karst_context *context, karst_amg_splitting *splitting);
karst_status karst_amg_transpose_cpu(karst_context *context, const karst_amg *amg, const karst_amg_matrix *P,
                                     karst_amg_matrix *R);
karst_status karst_amg_plan_product_cpu(karst_context *context, const karst_amg *amg, const karst_amg_matrix *A,
                                        const karst_amg_matrix *B, karst_amg_product *product);
void karst_amg_multiply_cpu(karst_context *context, const karst_amg *amg, const karst_amg_matrix *A,
                            const karst_amg_matrix *B, const karst_amg_product *product);
void karst_amg_release_entries_cpu(karst_context *context, karst_amg_matrix *matrix);
void karst_amg_release_matrix_cpu(karst_context *context, karst_amg_matrix *matrix);
void karst_amg_release_product_cpu(karst_context *context, karst_amg_product *product);
karst_status karst_amg_finish_cpu(karst_context *context, karst_amg *amg);
karst_status karst_amg_weigh_cpu(karst_context *context, karst_amg *amg, karst_amg_outcome *outcome);
void karst_amg_apply_cpu(karst_context *context, const karst_amg *amg, const double *r, double *z);

/* Inverts the matrix of the last level into amg->inverse and returns the number of pinned unknowns. */
karst_index karst_amg_invert_cpu(const karst_amg *amg);

#endif
