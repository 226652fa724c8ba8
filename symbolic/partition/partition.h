/* partition.h - the block rows of a matrix as a graph whose edges have strengths, for a partition. */
#ifndef KARST_SYMBOLIC_PARTITION_PARTITION_H
#define KARST_SYMBOLIC_PARTITION_PARTITION_H

#include "lib/base/context.h"

enum { KARST_LEVEL_MOST = 16 }; /* of the strength of a coupling */

/* The rows of a pattern, which need not be symmetric. All arrays are from karst_allocate. */
typedef struct karst_strengths {
  karst_index rows;
  karst_index *start;  /* [rows + 1] */
  karst_index *column; /* [start[rows]] ascending in each row */
  uint8_t *level;      /* [start[rows]] how strongly the row depends on the column, 1 to KARST_LEVEL_MOST */
} karst_strengths;

/* KARST_ERROR_NOT_BUILT if this build has no METIS. */
karst_status karst_kway_check(karst_context *context);
/* Divides the vertices of a whole graph, whose edges have the sum of the levels of both couplings as their weight, into
 * 2 or more parts: part[rows]. */
karst_status karst_kway(karst_context *context, const karst_strengths *rows, int parts, int *part);

#endif
