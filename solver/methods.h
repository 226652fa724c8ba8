/* methods.h - the lists of methods, and which of them a set of options chooses. */
#ifndef KARST_SOLVER_METHODS_H
#define KARST_SOLVER_METHODS_H

#include "krylov.h"
#include "options.h"
#include "ordering.h"
#include "precond.h"

extern const struct karst_precond_ops *const karst_precond_table[]; /* ends with NULL */
extern const struct karst_krylov_ops *const karst_krylov_table[];   /* ends with NULL */

typedef enum karst_scale { KARST_SCALE_NONE, KARST_SCALE_DIAGONAL, KARST_SCALE_BLOCK } karst_scale;

/* Numbers in the tables of drivers, preconditioners and orderings, and a karst_scale. */
typedef struct karst_methods {
  int solver, precond, ordering, scale;
} karst_methods;

extern const karst_option karst_methods_rows[];

void karst_methods_read(const karst_options *options, karst_methods *methods);

#endif
