/* bench_place.h - a linear system in the memory of a device where bench times it, and the bandwidth of this memory. */
#ifndef KARST_TOOLS_SRC_BENCH_BENCH_PLACE_H
#define KARST_TOOLS_SRC_BENCH_BENCH_PLACE_H

#include "tools/src/bench/bench.h"
#include "tools/src/bench/bench_cuda.h"

/* A device with the system in its memory. */
typedef struct bench_place {
  karst_context *context;
  karst_matrix *A;
  karst_vector *b, *x;
  bench_gpu *gpu;         /* NULL on the CPU */
  bench_product *product; /* NULL on the CPU, and if cuSPARSE is not available */
} bench_place;

/* Loads the system onto the device of the context, which is a GPU or not. On failure the place is left to be closed. */
int bench_place_open(karst_context *context, const bench_case *what, bool gpu, bench_place *place);
/* Copies a matrix in host memory onto the device of a context, with its grid. */
karst_status bench_matrix_copy(const karst_matrix *from, karst_context *context, karst_matrix **to);
/* Copies the system of a place on the CPU onto the GPU of the context. */
int bench_place_copy(const bench_place *cpu, karst_context *context, bench_place *place);
/* Closes a place, also one that is incomplete or closed. */
void bench_place_close(bench_place *place);

/* Measures bandwidths in bytes per second, the best of a few passes over arrays of length doubles. Returns false if
 * there is no memory. */
bool bench_stream(int threads, int64_t length, double *copy, double *triad);

#endif
