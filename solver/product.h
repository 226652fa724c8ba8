/* product.h - a function of the caller that multiplies instead of the matrix in a Krylov method.
 *
 * The function gets vectors in the caller's order and without scaling, whatever the solver's system is; x and y hold
 * them. */
#ifndef KARST_SOLVER_PRODUCT_H
#define KARST_SOLVER_PRODUCT_H

#include "lib/matrix/operator.h"
#include "solver/system.h"

typedef struct karst_product {
  karst_multiply_function multiply; /* NULL: the matrix multiplies */
  void *user;
  const karst_system *system; /* not owned; NULL before prepare */
  double *x, *y;              /* [rows] device memory, in the caller's order; NULL if that is the system's order too */
  double *one;                /* device memory: 1 */
} karst_product;

/* Allocates work space for a system that has been set up. A failure changes nothing. */
karst_status karst_product_prepare(karst_product *product, const karst_system *system);
/* Releases the work space; function and user stay. */
void karst_product_release(karst_product *product);
/* Bytes held. */
int64_t karst_product_memory(const karst_product *product);

/* The operator in the caller's order, and in the order and scaling of the system. product has been prepared and
 * outlives both. */
karst_operator karst_product_of_caller(const karst_product *product);
karst_operator karst_product_of_system(const karst_product *product);

/* r = b - A x in space->r and its norm, by one product in working precision; one: 1 in device memory. */
karst_status karst_product_residual(const karst_operator *A, const double *one, const double *b, const double *x,
                                    const karst_residual_space *space, double *norm);

#endif
