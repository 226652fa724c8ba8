/* stages.h - preconditioners inside a preconditioner, its stages. */
#ifndef KARST_PRECOND_STAGES_H
#define KARST_PRECOND_STAGES_H

#include "lib/method/precond.h"

enum { KARST_STAGES = 2 }; /* at most */

typedef struct karst_stages {
  int count;
  bool alone;                         /* each works with the rank's own matrix, without its halo */
  const char *const *name;            /* [count] among the options and in reports */
  karst_precond *stage[KARST_STAGES]; /* [count] */
} karst_stages;

/* The names of two: first and second. */
extern const char *const karst_stage_names[KARST_STAGES];

/* Makes stage number i of p for the matrix A from its set of options, without values. */
karst_status karst_stage_make(karst_precond *p, karst_stages *stages, int i, const karst_options *options,
                              const karst_matrix *A);

/* Runs the choose of the stages that are due, or the update of all, in order, and takes over the first outcome that is
 * not sound, which ends it. A stage that is then not updated after its choose will choose again, for other values.
 * update also reports the values of the stages as first_NAME and so on, as far as the report has room; names of nested
 * stages that are too long are left out. */
karst_status karst_stages_choose(karst_precond *p, const karst_stages *stages);
karst_status karst_stages_update(karst_precond *p, const karst_stages *stages);

/* z = M^-1 r with a stage. Where ranks share the matrix of p, a failure is left to their next agreement, because they may
 * wait for each other in the next stage. */
karst_status karst_stage_apply(const karst_precond *p, const karst_precond *stage, const double *r, double *z);

/* Gives p its stages, and sets its entries and memory to the sums over them and own bytes. Again after an update, in
 * which a stage may have allocated. */
void karst_stages_count(karst_precond *p, const karst_stages *stages, int64_t own);

/* Passes on the iterations of a solve. */
void karst_stages_solved(karst_precond *p, const karst_stages *stages, int iterations);

void karst_stages_destroy(const karst_stages *stages);

#endif
