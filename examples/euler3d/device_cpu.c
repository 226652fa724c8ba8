/* device_cpu.c - the kernels as loops under OpenMP. */
#include "kernels.h"

#include <string.h>

static void *allocate(size_t bytes)
{
  void *array = calloc(bytes, 1);
  if (!array) stop("--size", "not enough memory");
  return array;
}
static void copy(void *to, const void *from, size_t bytes) { memcpy(to, from, bytes); }
static void wait_for_nothing(void *stream) { (void)stream; }

#define LOOP(name)                                                                                                     \
  static void loop_##name(const struct task *t, const int *low, const int *end)                                        \
  {                                                                                                                    \
    _Pragma("omp parallel for collapse(2) schedule(static)") for (int k = low[2]; k < end[2];                          \
                                                                  k++) for (int j = low[1]; j < end[1];                \
                                                                            j++) for (int i = low[0]; i < end[0]; i++) \
        kernel_##name(t, &t->b, (int[]){i, j, k}, place(&t->b, (int[]){i, j, k}));                                     \
  }
KERNELS(LOOP)

static void launch(enum kernel kernel, const struct task *task, const int low[AXES], const int count[AXES])
{
#define LOOP_NAME(name) loop_##name,
  static void (*const loop[KERNEL_COUNT])(const struct task *, const int *, const int *) = {KERNELS(LOOP_NAME)};
  const int end[AXES] = {low[0] + count[0], low[1] + count[1], low[2] + count[2]};
  loop[kernel](task, low, end);
}

/* A group reduces 64 values for each of its threads, so that sums have the same bits for any number of real threads. */
static double reduce(enum reduction reduction, const double *value, int64_t count, int threads)
{
  const int64_t piece = 64 * (int64_t)threads, pieces = (count + piece - 1) / piece;
  double *const part = allocate((size_t)pieces * sizeof *part);
#pragma omp parallel for schedule(static)
  for (int64_t g = 0; g < pieces; g++) {
    part[g] = value[g * piece];
    for (int64_t i = 1; i < piece && g * piece + i < count; i++)
      part[g] = reduced(reduction, part[g], value[g * piece + i]);
  }
  for (int64_t g = 1; g < pieces; g++) part[0] = reduced(reduction, part[0], part[g]);
  const double result = part[0];
  free(part);
  return result;
}

const struct device cpu_device = {.name = "cpu",
                                  .allocate = allocate,
                                  .release = free,
                                  .copy = copy,
                                  .launch = launch,
                                  .reduce = reduce,
                                  .wait = wait_for_nothing};
