/* device_cpu.c - the kernels as loops under OpenMP. */
#include "kernels.h"

#include <string.h>

static void *allocate(size_t bytes)
{
  void *array = calloc(bytes ? bytes : 1, 1);
  if (!array) stop("--size", "not enough memory");
  return array;
}
static void copy(void *to, const void *from, size_t bytes) { memcpy(to, from, bytes); }
static void *no_stream(void) { return NULL; }
static void nothing(void *queue) { (void)queue; }
static void copy_rows(void *queue, void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                      size_t rows)
{
  (void)queue;
  for (size_t r = 0; r < rows; r++) memcpy((char *)to + r * to_pitch, (const char *)from + r * from_pitch, width);
}

#define LOOP(name)                                                                                                     \
  static void loop_##name(const struct task *task, const int *low, const int *end)                                     \
  {                                                                                                                    \
    _Pragma("omp parallel for collapse(2) schedule(static)") for (int k = low[2]; k < end[2];                          \
                                                                  k++) for (int j = low[1]; j < end[1];                \
                                                                            j++) for (int i = low[0]; i < end[0]; i++) \
        kernel_##name(task, i, j, k);                                                                                  \
  }
KERNELS(LOOP)

#define LOOP_NAME(name) loop_##name,
static void (*const loop[KERNEL_COUNT])(const struct task *, const int *, const int *) = {KERNELS(LOOP_NAME)};

static void launch(enum kernel kernel, const struct task *task, const int low[AXES], const int count[AXES])
{
  const int end[AXES] = {low[0] + count[0], low[1] + count[1], low[2] + count[2]};
  loop[kernel](task, low, end);
}

/* A group is a piece of 64 times as many values as it would have threads, so that the sum has the same bits for every
 * number of threads. */
static double reduce(enum reduction reduction, const double *value, int64_t count, int threads)
{
  const int64_t piece = 64 * (int64_t)threads, pieces = (count + piece - 1) / piece;
  double *part = allocate((size_t)pieces * sizeof *part), result;
#pragma omp parallel for schedule(static)
  for (int64_t g = 0; g < pieces; g++) {
    const int64_t end = (g + 1) * piece < count ? (g + 1) * piece : count;
    part[g] = value[g * piece];
    for (int64_t i = g * piece + 1; i < end; i++) part[g] = reduced(reduction, part[g], value[i]);
  }
  result = part[0];
  for (int64_t g = 1; g < pieces; g++) result = reduced(reduction, result, part[g]);
  free(part);
  return result;
}

const struct device cpu_device = {"cpu",  allocate, free,      allocate, free,    copy,
                                  launch, reduce,   no_stream, nothing,  nothing, copy_rows};
