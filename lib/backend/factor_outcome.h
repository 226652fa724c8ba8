/* factor_outcome.h - the outcome of a factorization, which the kernel tables of all backends report. */
#ifndef KARST_LIB_BACKEND_FACTOR_OUTCOME_H
#define KARST_LIB_BACKEND_FACTOR_OUTCOME_H

#include "karst.h"

/* reason is KARST_SOUND, or the cause of a failure. block_row is then the first bad block row in the order of
 * elimination, else -1. */
typedef struct karst_factor_outcome {
  karst_reason reason;
  karst_index block_row;
  int64_t shifted; /* pivot blocks replaced */
} karst_factor_outcome;

#endif
