/* bench_cusparse_none.c - replaces bench_cusparse.cu in a build without cuSPARSE. */
#include "tools/src/bench/bench_cuda.h"

#include <stdio.h>

bench_product *bench_product_open(const karst_context *context, const karst_matrix *A, bench_gpu *gpu)
{
  (void)context;
  (void)A;
  (void)gpu;
  fprintf(stderr, "%s: note: cuSPARSE is left out: this bench was built without it\n", tool_name());
  return NULL;
}

void bench_product_close(bench_product *product) { (void)product; }

const char *bench_product_name(const bench_product *product) { return product ? "cuSPARSE" : NULL; }

bool bench_product_multiply(bench_product *product, karst_vector *x, karst_vector *y)
{
  (void)x;
  (void)y;
  return product != NULL;
}

bench_strided *bench_strided_open(const karst_context *context, bench_gpu *gpu, int64_t systems, int64_t rows,
                                  const void *arrays)
{
  (void)context;
  (void)gpu;
  (void)systems;
  (void)rows;
  (void)arrays;
  fprintf(stderr, "%s: note: cuSPARSE is left out: this bench was built without it\n", tool_name());
  return NULL;
}

void bench_strided_close(bench_strided *strided) { (void)strided; }

bool bench_strided_solve(bench_strided *strided) { return strided != NULL; }

bool bench_strided_restore(bench_strided *strided) { return strided != NULL; }

const void *bench_strided_solution(const bench_strided *strided) { return strided; }
