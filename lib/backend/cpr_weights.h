/* cpr_weights.h - the weights of one cell for CPR (cpr_kernels.h), for the CPU and for a thread of a GPU. */
#ifndef KARST_LIB_BACKEND_CPR_WEIGHTS_H
#define KARST_LIB_BACKEND_CPR_WEIGHTS_H

#include "lib/backend/dense.h"

/* What happened to the weights of a cell. */
enum {
  KARST_CPR_CELL_GUARDED = 1,  /* quasi-IMPES weights took the place of others, or e_p did */
  KARST_CPR_CELL_SINGULAR = 2, /* w = e_p */
  KARST_CPR_CELL_SUSPECT = 4   /* a block that was read, or its inverse, is not finite: A may have such an entry */
};

/* Makes w from row p of an inverse block. guard: NULL, or the diagonal block A_ii, for which w^T A_ii e_p has to be
 * positive. Returns false if w cannot be used. */
KARST_INLINE bool karst_cpr_accept(int b, int p, const double *inverse, const double *guard, double *weight)
{
  double largest = 0, product = 0;
  for (int r = 0; r < b; r++) {
    weight[r] = inverse[r * b + p];
    if (fabs(weight[r]) > largest) largest = fabs(weight[r]);
  }
  if (largest == 0) return false;
  for (int r = 0; r < b; r++) weight[r] /= largest;
  for (int r = 0; r < b && guard; r++) product += weight[r] * guard[p * b + r];
  return !guard || product > 0;
}

/* w = e_p */
KARST_INLINE void karst_cpr_take_equation(int b, int p, double *weight)
{
  for (int r = 0; r < b; r++) weight[r] = r == p;
}

/* Ends attempt number 0, with a block that is not A_ii, or 1, with A_ii, after its inversion. Returns whether w is
 * made, or else adds to the bits *happened. */
KARST_INLINE bool karst_cpr_attempt(int b, int p, int attempt, karst_reason reason, const double *inverse,
                                    const double *diagonal, double *weight, int *happened)
{
  if (reason == KARST_SOUND && karst_cpr_accept(b, p, inverse, attempt == 0 ? diagonal : NULL, weight)) return true;
  *happened |= attempt == 0 ? KARST_CPR_CELL_GUARDED : KARST_CPR_CELL_SINGULAR;
  if (reason == KARST_NOT_FINITE) *happened |= KARST_CPR_CELL_SUSPECT;
  return false;
}

/* Computes w from row p of block^-1, or else of A_ii^-1, or else w = e_p. size: of block (dense.h); block and size are
 * A_ii themselves for quasi-IMPES weights. inverse: [b*b], work: [2 b], pivot: [b] work space. Returns what happened,
 * as bits. */
KARST_INLINE int karst_cpr_weigh_cell(int b, int p, const double *block, const double *size, const double *diagonal,
                                      double *inverse, double *work, int *pivot, double *weight)
{
  int happened = 0;
  KARST_ROLLED
  for (int attempt = block == diagonal; attempt < 2; attempt++) {
    const double *from = attempt == 0 ? block : diagonal, *from_size = attempt == 0 ? size : diagonal;
    const karst_reason reason = karst_block_inverse(b, from, from_size, inverse, work, pivot);
    if (karst_cpr_attempt(b, p, attempt, reason, inverse, diagonal, weight, &happened)) return happened;
  }
  karst_cpr_take_equation(b, p, weight);
  return happened;
}

/* Returns s_i after a sweep of the balance, from s_i before it and the sums of |a_ji| s_j and |a_ij|. A cell whose sums
 * are 0 keeps it. */
KARST_INLINE double karst_cpr_balanced(double s, double column_sum, double row_sum)
{
  const double ratio = column_sum / row_sum;
  return ratio > 0 && ratio <= DBL_MAX ? sqrt(s) * sqrt(ratio) : s;
}

enum {
  KARST_CPR_SMALLEST_EXPONENT = -40, /* of the largest entry of the columns; smaller entries still have room in float */
  KARST_CPR_SCALED_EXPONENT = 100    /* what it is scaled to if it is outside */
};

/* Returns the exponent e of the power of two that columns p of A are multiplied by before they are rounded to float, so
 * that the largest entry does not overflow, and does not take small ones below the smallest float. It is 0 unless the
 * entries are very large or very small. */
KARST_INLINE int karst_cpr_column_exponent(double largest)
{
  enum { LIMIT = 1000 }; /* 2^-e is a normal number */
  if (!(largest > 0) || (largest <= FLT_MAX && ilogb(largest) >= KARST_CPR_SMALLEST_EXPONENT)) return 0;
  const int exponent = KARST_CPR_SCALED_EXPONENT - ilogb(largest);
  return exponent < LIMIT ? exponent : LIMIT;
}

/* Returns sqrt(a_ij a_ji / (a_ii a_jj)) if i and j hold each other as neighbours in an elliptic equation do, with
 * entries of the sign opposite to the diagonal's, else 0. It does not depend on scales of rows or columns. */
KARST_INLINE double karst_cpr_coupling(double own, double coupling, double mirror, double other)
{
  const double here = own != 0 ? -coupling / own : 0, there = other != 0 ? -mirror / other : 0;
  return here > 0 && there > 0 ? sqrt(here) * sqrt(there) : 0;
}

#endif
