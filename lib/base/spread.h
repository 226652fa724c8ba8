/* spread.h - chooses sample rows of a large matrix. */
#ifndef KARST_LIB_BASE_SPREAD_H
#define KARST_LIB_BASE_SPREAD_H

#include "karst.h"

#include <math.h>

/* Returns the i-th of count sample rows out of all: spread over them, and not in step with repeating patterns. */
static inline karst_index karst_spread_row(karst_index rows, karst_index count, karst_index i)
{
  const double golden = 0.6180339887498949 * (double)i;
  return rows <= count ? i : (karst_index)((golden - floor(golden)) * (double)rows);
}

enum { KARST_SAMPLES = 400 }; /* block rows by which a matrix is judged */

static inline karst_index karst_sample_count(karst_index rows) { return rows < KARST_SAMPLES ? rows : KARST_SAMPLES; }

static inline karst_index karst_sample_row(karst_index rows, karst_index i)
{
  return karst_spread_row(rows, KARST_SAMPLES, i);
}

#endif
