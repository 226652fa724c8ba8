/* methods.h - the lists of methods, and which of them a set of options chooses. */
#ifndef KARST_SOLVER_METHODS_H
#define KARST_SOLVER_METHODS_H

#include "lib/method/krylov.h"
#include "lib/options/options.h"
#include "lib/method/ordering.h"
#include "lib/method/precond.h"

/* Set-up replaces auto by one of the others (auto.h). */
extern const struct karst_precond_ops karst_precond_auto, karst_precond_jacobi, karst_precond_dilu,
    karst_precond_fgbilu, karst_precond_lines, karst_precond_rrb, karst_precond_iluk, karst_precond_amg,
    karst_precond_cpr;
extern const struct karst_krylov_ops *const karst_krylov_table[]; /* ends with NULL; karst_precond_table: precond.h */

typedef enum karst_scale { KARST_SCALE_NONE, KARST_SCALE_DIAGONAL, KARST_SCALE_BLOCK } karst_scale;

/* Numbers in the tables of drivers and orderings, of karst_precond_at in the options' context, and a karst_scale. */
typedef struct karst_methods {
  int solver, precond, ordering, scale;
  karst_ordering_settings of_ordering; /* the values of the chosen ordering's rows; those of others are 0 */
  int parts; /* of the grid, which the preconditioner keeps apart: an option of the driver, 1 for drivers without it */
} karst_methods;

extern const karst_option karst_methods_rows[];

void karst_methods_read(const karst_options *options, karst_methods *methods);

/* List number i of rows: first the choice of methods and the limits, then each driver, each ordering and each
 * preconditioner of a context. NULL past the last. */
const karst_option *const *karst_methods_rows_of(const karst_context *context, size_t i);
/* How many of those lists are not a preconditioner's. */
size_t karst_methods_rows_common(void);

#endif
