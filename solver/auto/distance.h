/* distance.h - declares how far the fill of a preconditioner reaches, which orderings by colours want to know. */
#ifndef KARST_SOLVER_AUTO_DISTANCE_H
#define KARST_SOLVER_AUTO_DISTANCE_H

#include "lib/method/precond.h"

/* Sets *distance to 1 + k where the preconditioner has an option level, which is k, or one inside it has that is for
 * the same matrix: the largest of these. ILU(k) couples only rows that are joined by at most k + 1 couplings of A. It
 * is 1 for all others, which leave the pattern as it is. options may be NULL. */
karst_status karst_fill_distance(karst_context *context, const struct karst_precond_ops *ops,
                                 const karst_options *options, int *distance);

#endif
