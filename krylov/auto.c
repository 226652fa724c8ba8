/* auto.c - the driver that is the default: bicgstab, and where that breaks down, stagnates or diverges gmres(100), from
 * the best x so far.
 *
 * Bicgstab keeps six vectors and takes two products and two applies an iteration, whatever their number; on systems of
 * reservoirs it needs a half to a tenth of the iterations of gmres(30), which has to forget its space when it restarts.
 * What it cannot do, as where the spectrum lies along the imaginary axis, is left to the smallest residual over a
 * larger space. The vectors of that are taken when it first comes to it. */
#include "lib/method/krylov.h"

extern const struct karst_krylov_ops karst_krylov_auto, karst_krylov_bicgstab, karst_krylov_gmres;

const struct karst_krylov_ops karst_krylov_auto = {
    .name = "auto",
    .help = "bicgstab, and gmres(100) from there where that fails",
    .first = &karst_krylov_bicgstab,
    .then = &karst_krylov_gmres,
    .then_restart = 100,
};
