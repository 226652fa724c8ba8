/* choose.h - how a batch is solved (choose.cu). */
#ifndef KARST_GPU_TRIDIAGONAL_CHOOSE_H
#define KARST_GPU_TRIDIAGONAL_CHOOSE_H

#include "gpu/tridiagonal/tridiagonal_cuda.h"

/* What a choice depends on. */
struct karst_tri_request {
  int64_t systems, rows;
  int m;
  karst_tridiagonal_method method;
  int64_t shared; /* bytes of shared memory that a thread block may have */
  int64_t multiprocessors;
  int64_t workers; /* that occupy the device */
};

struct karst_tri_choice {
  karst_tridiagonal_method method;
  bool cyclic; /* the last level is solved by cyclic reduction, else by a sweep */
  int levels;
  int64_t length[KARST_TRI_LEVELS];          /* of pieces; at the last level, the rows */
  karst_tri_spread spread[KARST_TRI_LEVELS]; /* of lanes in shared memory */
  karst_tri_march_plan teams[KARST_TRI_LEVELS];
  karst_tri_layout layout; /* of cyclic reduction */
};

/* Workers that occupy the device. */
int64_t karst_tri_workers(const karst_cuda *cuda, int m);
karst_tri_choice karst_tri_choose(bool single, const karst_tri_request &request);
void karst_tri_describe(const karst_tri_request &request, const karst_tri_choice &choice, char *text, size_t size);

#endif
