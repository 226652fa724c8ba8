/* cpu.h - shared parts of the CPU kernels: processor dispatch, and a barrier.
 *
 * A kernel is compiled twice, for any x86-64 processor and for those with AVX2 and FMA; the loader chooses one. Its
 * name must be unique in the library, even if it is static: clang makes the name of the loader's resolver global. */
#ifndef KARST_CPU_CPU_H
#define KARST_CPU_CPU_H

#include "config.h"

#include "lib/backend/backend.h"
#include "lib/base/threads.h"

#include <stdatomic.h>

#ifdef HAVE_TARGET_CLONES
#define KARST_KERNEL __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define KARST_KERNEL
#endif

/* An instance of a kernel for a constant block size, compiled once: where there are clones, for AVX2 and FMA, and for
 * the compiler's target otherwise. It is called only if karst_runs_instances(); the general kernel, which is a
 * KARST_KERNEL, does its work on other processors. */
#ifdef HAVE_TARGET_CLONES
#define KARST_INSTANCE __attribute__((target("avx2,fma")))
static inline bool karst_runs_instances(void)
{
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
#else
#define KARST_INSTANCE
static inline bool karst_runs_instances(void) { return true; }
#endif

/* Prefetches memory distance bytes after the data that are read now (before them if distance is negative), as many
 * bytes as are read now. The gathers of a row keep the processor from running far enough ahead to find its next values
 * itself: measured on a Zen 4, a 7-point product takes 11 ms with this and 17 ms without. */
static inline __attribute__((always_inline)) void karst_prefetch(const void *memory, int64_t bytes, int64_t distance)
{
  uintptr_t ahead = (uintptr_t)memory + (uintptr_t)distance; /* may lie outside the array: it is only a hint */
  for (int64_t at = 0; at < bytes; at += 64)
    __builtin_prefetch((const void *)(ahead + (uintptr_t)at)); /* NOLINT(performance-no-int-to-ptr) */
}

/* The distances in bytes. They span a few rows, which take some hundred nanoseconds. */
enum { KARST_PREFETCH_VALUES = 4096, KARST_PREFETCH_COLUMNS = 2048 };

/* A barrier for the many short steps inside a parallel region. It starts as zero. OpenMP's own barrier spins for
 * milliseconds before it sleeps. If a thread waits here for long, another program has taken the processor of a thread
 * that it waits for. It then sleeps for a short time, so that the other thread can run here. Yielding instead would
 * give a whole time slice to any other program on this processor. */
typedef struct karst_barrier {
  atomic_int arrived, round;
} karst_barrier;

static inline void karst_barrier_wait(karst_barrier *barrier, int team)
{
  enum { PATIENCE = 2000 }; /* about a tenth of a millisecond */
  const struct timespec nap = {.tv_nsec = 50000};
  /* No thread can begin the next round before this one has arrived. So the number is visible from this thread's last
   * read, or from the start of the region. */
  int round = atomic_load_explicit(&barrier->round, memory_order_relaxed);
  /* Acquire and release: the last to arrive has seen what all others wrote, and passes it on with the new round. */
  if (atomic_fetch_add_explicit(&barrier->arrived, 1, memory_order_acq_rel) == team - 1) {
    atomic_store_explicit(&barrier->arrived, 0, memory_order_relaxed); /* visible to all who see the new round */
    atomic_store_explicit(&barrier->round, round + 1, memory_order_release);
    return;
  }
  for (int turns = 0; atomic_load_explicit(&barrier->round, memory_order_acquire) == round; turns++) {
#ifdef __x86_64__
    __builtin_ia32_pause();
#endif
    if (turns > PATIENCE) nanosleep(&nap, NULL);
  }
}

/* vector.c, permute.c */
void karst_fill_cpu(karst_context *context, int64_t n, double value, double *x);
void karst_copy_cpu(karst_context *context, int64_t n, const double *x, double *y);
void karst_dots_cpu(karst_context *context, int64_t n, int count, const double *const *x, const double *y,
                    double *result);
void karst_combine_cpu(karst_context *context, int64_t n, int count, double sign, const double *coefficient,
                       const double *const *x, const double *beta, double *y, double *norm2);
void karst_normalise_cpu(karst_context *context, int64_t n, const double *norm2, const double *x, double *y);
void karst_quotient_cpu(karst_context *context, double sign, const double *a, const double *b, const double *c,
                        const double *d, double *result);
karst_status karst_permute_cpu(karst_context *context, const karst_matrix *A, const karst_index *permutation,
                               karst_permuted *permuted);
void karst_gather_cpu(karst_context *context, karst_index count, int b, const karst_index *index, const double *x,
                      double *y);
void karst_scatter_cpu(karst_context *context, karst_index count, int b, const karst_index *index, const double *x,
                       double *y);

/* matrix_cpu.c */
void karst_multiply_cpu(karst_context *context, const karst_matrix *A, const double *x, double *y);
void karst_residual_cpu(karst_context *context, const karst_matrix *A, const double *b, const double *x, double *r,
                        double *norm2);
void karst_residual_bounded_cpu(karst_context *context, const karst_matrix *A, const double *b, const double *x,
                                double *r, double *size, double *norm2);

/* halo.c */
extern const struct karst_halo_kernels karst_halo_kernels_cpu;

/* diagonal.c */
karst_status karst_invert_diagonal_cpu(karst_context *context, const karst_matrix *A, const karst_index *diagonal,
                                       double *inverse, karst_reason *reason, karst_index *block_row);
void karst_multiply_diagonal_cpu(karst_context *context, karst_index count, int b, const double *S, const double *x,
                                 double *y);
void karst_scale_rows_cpu(karst_context *context, karst_matrix *A, const double *S);
void karst_diagonal_scale_cpu(karst_context *context, const karst_matrix *A, const karst_index *diagonal, double *d);
void karst_scale_symmetric_cpu(karst_context *context, karst_matrix *A, const double *d);
void karst_multiply_elements_cpu(karst_context *context, int64_t n, const double *d, const double *x, double *y);
void karst_divide_elements_cpu(karst_context *context, int64_t n, const double *d, const double *x, double *y);

/* couple.c */
karst_status karst_couple_cpu(karst_context *context, const karst_matrix *A, const karst_index *diagonal,
                              double *inverse, float *strength, bool *sound);

/* residual.c */
void karst_residual_precise_cpu(karst_context *context, const karst_matrix *A, const double *b, const double *x,
                                double *r, double *norm2);

#endif
