/* table.c - all preconditioners. A new one adds its name to both lists. */
#include "precond.h"

extern const struct karst_precond_ops karst_precond_none, karst_precond_jacobi, karst_precond_iluk,
    karst_precond_parilu, karst_precond_paric, karst_precond_cusparse;

const struct karst_precond_ops *const karst_precond_table[] = {
    &karst_precond_none,
    &karst_precond_jacobi,
    &karst_precond_iluk,
    &karst_precond_parilu,
    &karst_precond_paric,
    &karst_precond_cusparse,
    NULL,
};
