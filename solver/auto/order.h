/* order.h - declares what preconditioners need of an order, and the choice of the ordering auto: tiles if they are
 * predicted to pay, else natural. */
#ifndef KARST_SOLVER_AUTO_ORDER_H
#define KARST_SOLVER_AUTO_ORDER_H

#include "solver/methods.h"

/* The choice of the ordering auto. */
typedef struct karst_order_choice {
  bool made;        /* false: the options choose an ordering themselves */
  const char *name; /* of the ordering chosen */
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
karst_status karst_order_tiles_pay(const karst_matrix *A, const karst_machine *machine, int distance, int tile_size,
                                   bool level_sets, bool *pay, char reason[KARST_REPORT_TEXT]);

/* Predicts what triangular solves cost in the order of A. tiling: NULL if the order has no tiles. */
karst_status karst_order_predict_in(const karst_matrix *A, const karst_tiling *tiling, const karst_order_needs *needs,
                                    karst_order_cost *cost);
/* Predicts the cost of natural order. *natural is 0 if the factors are so large that counting them would take seconds,
 * or more memory than is available. */
karst_status karst_order_predict_natural(const karst_matrix *A, const karst_order_needs *needs,
                                         karst_order_cost *natural);

/* Reads the methods of the options, and replaces the ordering auto by its choice for A. With another ordering *choice
 * says that no choice was made. */
karst_status karst_order_choose(const karst_options *options, const karst_matrix *A, karst_methods *chosen,
                                karst_order_choice *choice);
/* Replaces auto by the ordering of an analysis. Returns false if the ordering is not auto, or auto never chooses that
 * one. */
bool karst_order_choose_made(const karst_options *options, const karst_methods *made, karst_methods *chosen,
                             karst_order_choice *choice);

/* Value number i of what the choice reports, ordering_used and ordering_reason; 0 past the last. */
int karst_order_report(const karst_order_choice *choice, size_t i, karst_value *value);

#endif
