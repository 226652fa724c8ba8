/* order.h - declares what preconditioners need of an order, and what the ordering auto stands for: tiles where they are
 * predicted to pay, else natural. */
#ifndef KARST_SOLVER_AUTO_ORDER_H
#define KARST_SOLVER_AUTO_ORDER_H

#include "solver/methods.h"

/* What was chosen, and why. */
typedef struct karst_order_choice {
  bool made;        /* the options leave the ordering to auto */
  const char *name; /* of the ordering in its place */
  char reason[KARST_REPORT_TEXT];
} karst_order_choice;

/* What a preconditioner, with those inside it, needs of the order of the block rows. */
typedef struct karst_order_needs {
  bool sweeps;         /* it solves triangles exactly, which tiles may make faster */
  bool tiles;          /* the options ask for sweeps by tiles, which no other order has */
  bool level_sets;     /* its sweeps go by level sets in tiles, too */
  int largest_block;   /* those of larger blocks do so in any case */
  const char *natural; /* why it needs the natural order, or NULL */
  int distance;        /* 1 + the largest level k of fill, for orderings by colours; 1 where none is added */
} karst_order_needs;

/* Finds them for the options of the preconditioner, NULL for the defaults. */
karst_status karst_order_find_needs(karst_context *context, const struct karst_precond_ops *ops,
                                    const karst_options *options, karst_order_needs *needs);

/* Whether an iteration with a preconditioner that solves triangles is predicted to be faster in tiles on a machine, and
 * worth their making. distance: as karst_ordering_pattern has it; tile_size: 0 for the default; level_sets: as in its
 * needs. */
karst_status karst_order_tiles_pay(const karst_matrix *A, const karst_machine *machine, int distance, int tile_size,
                                   bool level_sets, bool *pay, char reason[KARST_REPORT_TEXT]);

/* Predicts what triangular solves cost in the order of A. tiling: NULL if the order has no tiles. */
karst_status karst_order_predict_in(const karst_matrix *A, const karst_tiling *tiling, const karst_order_needs *needs,
                                    karst_order_cost *cost);
/* Predicts the cost of natural order. *natural is 0 where the factors are too large: to count them would take seconds,
 * or more memory than there is. */
karst_status karst_order_predict_natural(const karst_matrix *A, const karst_order_needs *needs,
                                         karst_order_cost *natural);

/* Reads the methods of the options, and where the ordering is auto, puts the one that it stands for with A in its
 * place. Else *choice says that no choice was made. */
karst_status karst_order_choose(const karst_options *options, const karst_matrix *A, karst_methods *chosen,
                                karst_order_choice *choice);
/* Does so with the ordering that an analysis was made with. False where the ordering is not auto, or auto never chooses
 * that one. */
bool karst_order_choose_made(const karst_options *options, const karst_methods *made, karst_methods *chosen,
                             karst_order_choice *choice);

/* Value number i of what the choice reports, ordering_used and ordering_reason; 0 past the last. */
int karst_order_report(const karst_order_choice *choice, size_t i, karst_value *value);

#endif
