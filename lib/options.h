/* options.h - the check of a whole set of options, and methods by name. */
#ifndef KARST_LIB_OPTIONS_H
#define KARST_LIB_OPTIONS_H

#include "context.h"

/* Checks every field, for a caller may have written into the struct directly, and replaces each name by the table's own
 * text, which lives for ever. */
karst_status karst_options_normalise(karst_context *context, karst_options *options);

#endif
