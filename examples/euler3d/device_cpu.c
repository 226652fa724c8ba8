/* device_cpu.c - the kernels as loops under OpenMP. */
#include "kernels.h"

#include <string.h>

static void *allocate(size_t bytes, MAY bool for_transfer)
{
  void *array = calloc(bytes, 1);
  if (!array) stop("--size", "not enough memory");
  return array;
}
static void release(void *array, MAY bool for_transfer) { free(array); }
static void copy(void *to, const void *from, size_t bytes) { memcpy(to, from, bytes); }
static void wait(void) {}

/* Each kernel for the places of a row, from i to end. */
#define ROW(name)                                                                                                      \
  static void row_##name(const struct task *t, int i, int end, int j, int k)                                           \
  {                                                                                                                    \
    for (; i < end; i++) kernel_##name(t, &t->b, (int[]){i, j, k}, place(&t->b, (int[]){i, j, k}));                    \
  }
#define ROW_NAME(name) row_##name,
KERNELS(ROW)

static void launch(enum kernel kernel, const struct task *task, const int low[AXES], const int count[AXES])
{
  static void (*const row[KERNEL_COUNT])(const struct task *, int, int, int, int) = {KERNELS(ROW_NAME)};
#pragma omp parallel for collapse(2) num_threads(task->set.threads)
  for (int k = low[2]; k < low[2] + count[2]; k++)
    for (int j = low[1]; j < low[1] + count[1]; j++) row[kernel](task, low[0], low[0] + count[0], j, k);
}

/* A program that is built without device_cuda.cu has no GPU. */
__attribute__((weak)) const struct device *cuda_device(void) { return NULL; }

const struct device cpu_device = {"cpu", allocate, release, copy, wait, launch, NULL};
