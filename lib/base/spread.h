/* spread.h - chooses rows of a large matrix to look at. */
#ifndef KARST_LIB_BASE_SPREAD_H
#define KARST_LIB_BASE_SPREAD_H

#include "karst.h"

#include <math.h>

/* Returns row number i of count that are looked at, of all: spread over them, and out of step with whatever repeats. */
static inline karst_index karst_spread_row(karst_index rows, karst_index count, karst_index i)
{
  const double golden = 0.6180339887498949 * (double)i;
  return rows <= count ? i : (karst_index)((golden - floor(golden)) * (double)rows);
}

#endif
