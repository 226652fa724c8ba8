/* order.h - declares what preconditioners need of an order, and the prediction of the faster one, natural or tiles. */
#ifndef KARST_SOLVER_AUTO_ORDER_H
#define KARST_SOLVER_AUTO_ORDER_H

#include "solver/methods.h"

/* The iterations in tiles over those in natural order, as assumed before solves have shown them. On the gallery's
 * problems it was at most 1.25, and often below 1. */
#define KARST_ORDER_MORE_ITERATIONS 1.1

/* The order that is predicted to be faster. */
typedef struct karst_order_choice {
  bool tiles; /* else natural */
  bool open;  /* the other one is possible too, so a measurement should decide */
  char reason[KARST_REPORT_TEXT];
} karst_order_choice;

/* What a preconditioner, with those inside it, needs of the order of the block rows. */
typedef struct karst_order_needs {
  bool sweeps;         /* it solves triangles exactly, which tiles may make faster */
  bool tiles;          /* the options ask for sweeps by tiles, which need that order */
  bool level_sets;     /* its sweeps go by level sets even in tiles */
  int largest_block;   /* so do those of larger blocks */
  const char *natural; /* why it needs the natural order, or NULL */
  int distance;        /* 1 + the largest level k of fill, for orderings by colours; 1 without fill */
} karst_order_needs;

/* Finds the needs of a preconditioner with these options; NULL: with the defaults. */
karst_status karst_order_find_needs(karst_context *context, const struct karst_precond_ops *ops,
                                    const karst_options *options, karst_order_needs *needs);

/* Predicts whether tiles save enough time of an iteration with a preconditioner that solves triangles. distance: as in
 * karst_ordering_pattern; tile_size: 0 for the default; level_sets: as in the needs. */
karst_status karst_order_compare(const karst_matrix *A, const karst_machine *machine, int distance, int tile_size,
                                 bool level_sets, karst_order_choice *choice);
/* Predicts the order for a preconditioner with these options. */
karst_status karst_order_choose(const karst_options *options, const karst_matrix *A,
                                const struct karst_precond_ops *ops, int tile_size, karst_order_choice *choice);

/* Predicts what triangular solves cost in the order of A. tiling: NULL if the order has no tiles. */
karst_status karst_order_predict_in(const karst_matrix *A, const karst_tiling *tiling, const karst_order_needs *needs,
                                    karst_order_cost *cost);
/* Predicts the cost of natural order. *natural is 0 if the factors are so large that counting them would take seconds,
 * or more memory than is available. */
karst_status karst_order_predict_natural(const karst_matrix *A, const karst_order_needs *needs,
                                         karst_order_cost *natural);

#endif
