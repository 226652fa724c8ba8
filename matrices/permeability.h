/* permeability.h - permeability fields on a grid, generated or read from a file, in millidarcy, x fastest. */
#ifndef KARST_MATRICES_PERMEABILITY_H
#define KARST_MATRICES_PERMEABILITY_H

#include "lib/base/context.h"

/* Generates a layered, channelised log-normal field with the statistics of SPE10's second model: kx = ky and kz, one
 * number a cell. The same seed gives the same field. */
void karst_permeability_generate(const karst_index size[3], uint64_t seed, double *kx, double *kz);

/* Reads the numbers under a keyword of an Eclipse file into value, one a cell. plain: whether a file of numbers alone
 * is accepted too. *found: whether the file has such numbers; if not, value is unchanged. */
karst_status karst_permeability_read(karst_context *context, const char *path, const char *keyword, bool plain,
                                     karst_index cells, double *value, bool *found);

#endif
