/* table.c - all Krylov drivers. A new one adds a line to each list. */
#include "krylov.h"

extern const struct karst_krylov_ops karst_krylov_gmres, karst_krylov_fgmres, karst_krylov_bicgstab, karst_krylov_cg,
    karst_krylov_orthomin;

const struct karst_krylov_ops *const karst_krylov_table[] = {
    &karst_krylov_gmres, &karst_krylov_fgmres, &karst_krylov_bicgstab, &karst_krylov_cg, &karst_krylov_orthomin, NULL,
};
