/* choose.h - how a batch is solved (choose.cu). */
#ifndef KARST_GPU_TRIDIAGONAL_CHOOSE_H
#define KARST_GPU_TRIDIAGONAL_CHOOSE_H

#include "gpu/tridiagonal/tridiagonal_cuda.h"

/* What a choice depends on. */
struct karst_tri_request {
  int64_t systems, rows;
  int m;
  karst_tridiagonal_method method;
  karst_tridiagonal_layout layout;
  int64_t shared;                  /* bytes of shared memory that a thread block may have */
  int64_t shared_of_all, reserved; /* bytes of a multiprocessor, and those that the driver takes for a thread block */
  int64_t multiprocessors;
  int64_t workers;  /* that occupy the device */
  int64_t resident; /* thread blocks of ends.h that a multiprocessor has room for; 0: not for these blocks */
};

/* What solves the pieces of a level. */
template <typename T> struct karst_tri_variant {
  int largest; /* m */
  bool keeps;  /* it keeps W of all pieces in global memory */
  /* Whether it solves the pieces of a level for m up to largest; if so, it sets in the plan how they are shared. */
  bool (*fits)(const karst_tri_request &request, karst_tri_plan<T> &plan, int level);
  void (*launch)(const karst_cuda *cuda, const karst_tri_plan<T> &plan, int level, const karst_tri_systems<T> &s);
  /* Writes how the pieces of the last level are shared; NULL: there is nothing to say. */
  void (*describe)(const karst_tri_plan<T> &plan, char *text, size_t size);
};

/* Thread blocks of ends.h that a multiprocessor has room for, without rows that are kept in its shared memory; 0: they
 * are not for blocks of this size. */
int karst_tri_resident_ends(const karst_tri_plan<float> &plan);
int karst_tri_resident_ends(const karst_tri_plan<double> &plan);
/* Workers that occupy the device. */
int64_t karst_tri_workers(const karst_cuda *cuda, int m);
/* Sets the levels of a plan that has m, and their variants, and returns the method. */
karst_tridiagonal_method karst_tri_choose(const karst_tri_request &request, karst_tri_plan<float> &plan);
karst_tridiagonal_method karst_tri_choose(const karst_tri_request &request, karst_tri_plan<double> &plan);
void karst_tri_describe(const karst_tri_plan<float> &plan, karst_tridiagonal_method method, char *text, size_t size);
void karst_tri_describe(const karst_tri_plan<double> &plan, karst_tridiagonal_method method, char *text, size_t size);

#endif
