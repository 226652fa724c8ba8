/* long.h - long rows of a triangle, each made by a block of threads, and the sweeps of triangles with such rows
 * (long.cu, units.cu). */
#ifndef KARST_GPU_ILU_SWEEPS_LONG_H
#define KARST_GPU_ILU_SWEEPS_LONG_H

#include "gpu/ilu/ilu_cuda.h"

enum { KARST_ILU_LONG_THREADS = 256, KARST_ILU_LONG_WARPS = KARST_ILU_LONG_THREADS / 32 };

/* The work of one warp: its part of a long row, or rows of a task as in dataflow.cu, or nothing. */
typedef struct karst_ilu_unit {
  karst_index begin, stop; /* the slots of the task; the slot of the long row; -1: nothing */
  int piece;               /* of the task */
  karst_index length; /* entries of the longest row, D^-1 included; below 0: minus the neighbours of the long row */
  unsigned left_out;  /* bit q: row q of the slice is long, and others make it */
} karst_ilu_unit;

/* A round is the work of a thread block at a time: KARST_ILU_LONG_WARPS elements of unit, one for each of its warps;
 * or, if unit is NULL, 32 scalar rows of a block row. */
typedef struct karst_ilu_rounds {
  const karst_ilu_unit *unit;
  int64_t first, last; /* rounds first .. last - 1 */
} karst_ilu_rounds;

/* The sweep of one triangle. */
typedef struct karst_ilu_long_cuda {
  bool any;    /* whether there are long rows; else the rest is not set */
  bool single; /* whether the values are float */
  int parts;   /* lanes that share the neighbours of a row that is not long */
  karst_index levels;
  int64_t *level_start; /* [levels + 1] the first round of each level, host memory */
  karst_ilu_unit *unit; /* device memory */
  int grid;             /* blocks of threads that are resident together */
} karst_ilu_long_cuda;

/* units.cu: finds the long rows of both triangles, and the rounds. The last function frees them, also after a
 * failure. */
karst_status karst_ilu_long_create_cuda(karst_context *context, const karst_ilu_pattern_cuda *pattern,
                                        karst_ilu_analysis *analysis, karst_ilu_long_cuda *lower,
                                        karst_ilu_long_cuda *upper);
void karst_ilu_long_release_cuda(karst_context *context, karst_ilu_long_cuda *rows);
/* long.cu: how many blocks of threads are useful and can be resident together; the sweep of the levels first ..
 * last - 1, in one launch, on unknowns that are absent beforehand. in, reset, out: as in sweep.h. */
karst_status karst_ilu_long_resident_cuda(karst_context *context, int b, bool is_upper, karst_ilu_long_cuda *rows);
void karst_ilu_long_sweep_cuda(cudaStream_t stream, const karst_ilu_long_cuda *rows, const karst_triangle *t, int b,
                               bool is_upper, karst_index first, karst_index last, const double *in, double *reset,
                               double *out);

#endif
