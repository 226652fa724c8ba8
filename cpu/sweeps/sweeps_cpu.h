/* sweeps_cpu.h - the plan, kernels and instances of the sweeps of parilu and paric on the CPU. */
#ifndef KARST_CPU_SWEEPS_SWEEPS_CPU_H
#define KARST_CPU_SWEEPS_SWEEPS_CPU_H

#include "cpu/cpu.h"
#include "cpu/ilu/ilu_cpu.h"
#include "lib/backend/dense.h"
#include "lib/base/search.h"
#include "lib/backend/sweep_kernels.h"

typedef struct karst_parilu_plan {
  int threads;
  karst_ilu_workspace *workspace; /* [threads] */
  double *row_sum;                /* [rows] the squares of each row's residual */
  const karst_index *task;        /* [tasks] the analysis's order of asynchronous updates, or NULL: row after row */
  int64_t tasks;
} karst_parilu_plan;

/* One pass over the rows. */
typedef struct karst_parilu_pass {
  const karst_parilu *s;
  bool scaled;     /* of the initial guess */
  bool in_place;   /* an asynchronous sweep: to is s->value, and blocks are read while others change them */
  double *to;      /* where a sweep stores its result; NULL: nowhere */
  double *row_sum; /* where it stores the residual of the factors that it starts from; NULL: nowhere */
} karst_parilu_pass;

typedef void karst_parilu_rows(const karst_parilu_pass *pass, karst_index first, karst_index last,
                               karst_ilu_workspace *w);

/* The work on block rows of parilu, and of paric. */
typedef struct karst_parilu_method {
  karst_parilu_rows *guess_diagonal; /* the diagonal blocks of the scaled guess, from F */
  karst_parilu_rows *invert;         /* s->inverse, from the diagonal blocks of s->value; NaN for a singular block */
  karst_parilu_rows *guess;          /* the whole guess, with the inverse */
  karst_parilu_rows *sweep;
  karst_parilu_rows *expand; /* paric */
  /* Updates one block, number k, in place; i: its row. */
  void (*update)(const karst_parilu *s, karst_index i, karst_index k, karst_ilu_workspace *w);
} karst_parilu_method;

extern const struct karst_parilu_kernels karst_parilu_kernels_cpu; /* passes.c */

/* The methods by block size, for those that have an instance of their own. Number 0 serves all others. */
extern const karst_parilu_method karst_parilu_methods_cpu[]; /* parilu.c */
extern const karst_parilu_method karst_paric_methods_cpu[];  /* paric.c */

/* Returns a block. If racing, other threads may be writing it: each entry is then read as a whole into local, and local
 * is returned. */
KARST_INLINE const double *karst_parilu_observe(bool racing, int64_t bb, const double *block, double *local)
{
  if (!racing) return block;
  for (int64_t v = 0; v < bb; v++) {
    double entry;
    __atomic_load(block + v, &entry, __ATOMIC_RELAXED);
    local[v] = entry;
  }
  return local;
}

/* Stores a block in to. If racing, other threads may be reading it there. */
KARST_INLINE void karst_parilu_publish(bool racing, int64_t bb, const double *block, double *to)
{
  for (int64_t v = 0; v < bb; v++) {
    double entry = block[v];
    if (racing)
      __atomic_store(to + v, &entry, __ATOMIC_RELAXED);
    else
      to[v] = entry;
  }
}

/* Returns the weighted sum of the squares of a block's entries. */
KARST_INLINE double karst_parilu_square(int b, const double *block, const double *row_weight,
                                        const double *column_weight)
{
  double sum = 0;
  for (int c = 0; c < b; c++)
    for (int r = 0; r < b; r++) {
      double entry = row_weight[r] * block[c * b + r] * column_weight[c];
      sum += entry * entry;
    }
  return sum;
}

KARST_INLINE void karst_parilu_fill_nan(int64_t bb, double *block)
{
  for (int64_t v = 0; v < bb; v++) block[v] = NAN;
}

/* One row of a sweep. */
typedef void karst_parilu_sweep_row(int b, bool in_place, const karst_parilu_pass *pass, karst_index i,
                                    karst_ilu_workspace *w);

/* Takes rows first .. last - 1 of a sweep. row is a constant, which is inlined. */
KARST_INLINE void karst_parilu_sweep_rows(int b, karst_parilu_sweep_row *row, const karst_parilu_pass *pass,
                                          karst_index first, karst_index last, karst_ilu_workspace *w)
{
  if (pass->in_place)
    for (karst_index i = first; i < last; i++) row(b, true, pass, i, w);
  else
    for (karst_index i = first; i < last; i++) row(b, false, pass, i, w);
}

/* Defines an instance of the METHOD's template NAME(b, pass, first, last, w) for blocks of size B. */
#define KARST_PARILU_INSTANCE(METHOD, NAME, SUFFIX, B)                                                                 \
  KARST_KERNEL static void METHOD##_##NAME##_##SUFFIX(const karst_parilu_pass *pass, karst_index first,                \
                                                      karst_index last, karst_ilu_workspace *w)                        \
  {                                                                                                                    \
    NAME(B, pass, first, last, w);                                                                                     \
  }

/* Define the instances of all templates that parilu and paric both have, the sweep from the method's sweep_row, and the
 * entry of the list of methods that holds them. */
#define KARST_PARILU_INSTANCES(METHOD, SUFFIX, B)                                                                      \
  KARST_PARILU_INSTANCE(METHOD, guess_diagonal, SUFFIX, B)                                                             \
  KARST_PARILU_INSTANCE(METHOD, invert, SUFFIX, B)                                                                     \
  KARST_PARILU_INSTANCE(METHOD, guess, SUFFIX, B)                                                                      \
  KARST_KERNEL static void METHOD##_sweep_##SUFFIX(const karst_parilu_pass *pass, karst_index first, karst_index last, \
                                                   karst_ilu_workspace *w)                                             \
  {                                                                                                                    \
    karst_parilu_sweep_rows(B, sweep_row, pass, first, last, w);                                                       \
  }
#define KARST_PARILU_METHOD(METHOD, SUFFIX, EXPAND)                                                                    \
  {                                                                                                                    \
    METHOD##_guess_diagonal_##SUFFIX, METHOD##_invert_##SUFFIX, METHOD##_guess_##SUFFIX, METHOD##_sweep_##SUFFIX,      \
        EXPAND, update                                                                                                 \
  }

#endif
