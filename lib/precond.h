/* precond.h - what a preconditioner is. One const table a method; all tables in solver/methods.c.
 *
 * To add one: write its file with a const table, add the table to solver/methods.c, and the tests tell what is
 * missing. CONTRIBUTING.md goes through it with block Jacobi. */
#ifndef KARST_LIB_PRECOND_H
#define KARST_LIB_PRECOND_H

#include "matrix.h"
#include "options.h"
#include "report.h"

struct karst_precond_ops {
  const char *name;
  const char *help;    /* one line */
  bool needs_diagonal; /* every block row must have its diagonal block */
  bool for_symmetric;  /* values that are not symmetric are warned of; the pattern is the method's own business */
  const karst_option *const *options; /* lists of rows, NULL behind the last; or NULL */
  size_t settings;                    /* bytes that the rows fill */

  /* The pattern half: structure, schedules, memory. Looks at no value. Sets data and the info of p, and puts named
   * values. What it has allocated when it fails, destroy gives back. */
  karst_status (*setup)(karst_precond *p);
  /* The numeric half, for the first and for new values; allocates nothing. A singular block or a NaN is no error: it
   * is left in p->reason and p->block_row. Named values of the last update are forgotten before this one. */
  karst_status (*update)(karst_precond *p);
  /* z = M^-1 r on device memory; r and z do not overlap. Karst's own methods allocate nothing, wait for nothing and
   * succeed. One from outside may wait or fail: it has then given karst_fail a sentence, z is worth nothing, and the
   * solve under way ends with its status. */
  karst_status (*apply)(const karst_precond *p, const double *r, double *z);
  /* Accepts what a failed setup left behind. */
  void (*destroy)(karst_precond *p);
};

struct karst_precond {
  const struct karst_precond_ops *ops;
  karst_context *context;
  const karst_matrix *A; /* not owned */
  const void *settings;  /* what the rows of ops->options were set to; NULL where there are none */
  int64_t generation;    /* of A's values at the last update, -1 where it failed */
  void *data;            /* the method's own */
  bool varies;           /* set by setup: M^-1 is not the same linear operator in each apply */
  karst_reason reason;   /* KARST_SOUND, KARST_SINGULAR_BLOCK or KARST_NOT_FINITE after update */
  karst_index block_row;
  int64_t factor_entries;
  int64_t memory;                    /* bytes held */
  double time_symbolic, time_factor; /* seconds of the last setup and update */
  karst_report report;               /* what the method has to say besides; karst_precond_put fills it */
};

/* Whether A, the caller's matrix, has the diagonal blocks that the method needs; warns of values that are not symmetric
 * where it is for symmetric ones. */
karst_status karst_precond_check(const struct karst_precond_ops *ops, const karst_matrix *A);

/* Allocates a preconditioner, reads its settings from the options, and runs
 * ops->setup, without factoring. */
karst_status karst_precond_prepare(const struct karst_precond_ops *ops, const karst_options *options,
                                   const karst_matrix *A, karst_precond **precond);

/* The first block row of the matrix that was factored with a value that is not finite, or -1. */
karst_status karst_precond_find_not_finite(const karst_precond *precond, karst_index *block_row);

#endif
