/* auto.c - the default driver: bicgstab, and gmres(100) from the best x so far if that breaks down, stagnates or
 * diverges.
 *
 * Bicgstab keeps six vectors and always takes two products and two applies an iteration. On systems of reservoirs it
 * needs a half to a tenth of the iterations of gmres(30), which discards its space when it restarts. If it fails, for
 * example on a spectrum along the imaginary axis, gmres minimises the residual over a larger space. The vectors of
 * gmres are allocated when a solve first needs them. */
#include "lib/method/krylov.h"

extern const struct karst_krylov_ops karst_krylov_auto, karst_krylov_bicgstab, karst_krylov_gmres;

const struct karst_krylov_ops karst_krylov_auto = {
    .name = "auto",
    .help = "bicgstab, then gmres(100) from its best x if that fails",
    .details = "gmres continues if bicgstab breaks down, stagnates or diverges, or takes half of the iterations where "
               "more than 2000 are allowed. The first solve that needs gmres allocates its vectors, which the solver "
               "keeps; if there is no memory for them, the outcome is that of bicgstab.",
    .short_recurrences = true,
    .first = &karst_krylov_bicgstab,
    .then = &karst_krylov_gmres,
    .then_restart = 100,
};
