/* product.h - a function of the caller's that multiplies, in place of the matrix of a Krylov method.
 *
 * The function gets vectors in the caller's order and without scaling, whatever the solver's system is: x and y hold
 * them. */
#ifndef KARST_SOLVER_PRODUCT_H
#define KARST_SOLVER_PRODUCT_H

#include "lib/matrix/operator.h"
#include "solver/system.h"

typedef struct karst_product {
  karst_multiply_function multiply; /* NULL: the matrix multiplies */
  void *user;
  const karst_system *system; /* not owned; NULL before prepare */
  double *x, *y;              /* [rows] device memory, in the caller's order; NULL where that is the system's too */
  double *one;                /* device memory: 1 */
} karst_product;

/* Work space for a system that has been set up. Where that fails the product is as it was. */
karst_status karst_product_prepare(karst_product *product, const karst_system *system);
/* Gives the work space back; function and user stay. */
void karst_product_release(karst_product *product);
/* Bytes held. */
int64_t karst_product_memory(const karst_product *product);

/* The operator as the caller has it, and as the system's order and scaling make it. product has been prepared and
 * outlives both. */
karst_operator karst_product_of_caller(const karst_product *product);
karst_operator karst_product_of_system(const karst_product *product);

#endif
