/* tridiagonal_kernels.h - the typed kernel table of batches of block-tridiagonal systems (karst_tridiagonal). Every
 * backend has an instance; the CPU's is the reference.
 *
 * All arrays are device memory of the backend, float or double as shape.single says, in shape.layout. Work is queued;
 * only outcome waits. plan chooses a method in place of KARST_TRIDIAGONAL_AUTO. */
#ifndef KARST_LIB_BACKEND_TRIDIAGONAL_KERNELS_H
#define KARST_LIB_BACKEND_TRIDIAGONAL_KERNELS_H

#include "lib/base/context.h"

struct karst_tridiagonal {
  karst_context *context;
  karst_tridiagonal_shape shape; /* after plan with the method in use */
  char description[192];         /* by plan */
  bool factored;                 /* factors are kept */
  bool of_factors;               /* the last call used the kept factors, whose outcome is the one to report */
  void *plan;                    /* the backend's own: work space, factors, the outcome */
  int64_t memory;                /* bytes of it */
};

/* The places where the arrays of a batch have their scalars: element e of row k of system s is at
 * element * e + row * (s n + k). */
typedef struct karst_tridiagonal_steps {
  int64_t element, row;
} karst_tridiagonal_steps;

static inline karst_tridiagonal_steps karst_tridiagonal_steps_of(const karst_tridiagonal_shape *shape, int entries)
{
  const int64_t rows = shape->systems * shape->rows;
  return shape->layout == KARST_TRIDIAGONAL_AOS ? (karst_tridiagonal_steps){1, entries}
                                                : (karst_tridiagonal_steps){rows, 1};
}

struct karst_tridiagonal_kernels {
  /* Checks that the method can solve the shape, or chooses one, writes the description, and takes the memory that solve
   * needs. After a failure plan_destroy releases what it took; plan_destroy accepts a NULL plan. */
  karst_status (*plan)(karst_context *context, karst_tridiagonal *batch);
  void (*plan_destroy)(karst_context *context, karst_tridiagonal *batch);
  karst_status (*solve)(karst_context *context, karst_tridiagonal *batch, const void *lower, const void *diagonal,
                        const void *upper, const void *right, void *solution);
  /* The first call takes memory for the factors. */
  karst_status (*factor)(karst_context *context, karst_tridiagonal *batch, const void *lower, const void *diagonal,
                         const void *upper);
  karst_status (*solve_factored)(karst_context *context, karst_tridiagonal *batch, int right_sides, const void *right,
                                 void *solution);
  /* Waits. *reason, *system and *row are set for the first failed system of the last factor if batch->of_factors, or else
   * of the last solve; else unchanged. The backend keeps both. */
  karst_status (*outcome)(karst_context *context, karst_tridiagonal *batch, karst_reason *reason, int64_t *system,
                          karst_index *row);
  void (*convert)(karst_context *context, const karst_tridiagonal *batch, int entries,
                  karst_tridiagonal_layout from_layout, const void *from, void *to);
};

#endif
