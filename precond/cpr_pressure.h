/* cpr_pressure.h - the pressures of CPR: which unknown of a cell is the pressure, the weights of its equations, and the
 * pressure matrix A_p = W^T A E. Where ranks share A, A_p is that of all of them: ranks add up what they find, and send
 * each other their parts of sums over columns. */
#ifndef KARST_PRECOND_CPR_PRESSURE_H
#define KARST_PRECOND_CPR_PRESSURE_H

#include "lib/backend/cpr_kernels.h"
#include "lib/method/precond.h"

typedef struct karst_cpr_choices {
  int pressure; /* 0: auto; else 1 + the number of the unknown */
  int weights;  /* 0: auto; else 1 + a karst_cpr_weights */
  int balance;
} karst_cpr_choices;

/* The weights in use, and what they are made from. */
typedef struct karst_cpr_weighting {
  karst_cpr_weights weights;
  const double *given;
  int sweeps;
} karst_cpr_weighting;

typedef struct karst_cpr_pressure {
  karst_cpr cpr;
  karst_matrix *matrix;          /* A_p */
  karst_columns *columns;        /* of A; this and all below are NULL unless ranks share A */
  karst_exchange *blocks;        /* of parts of column sums of A */
  karst_exchange *scales;        /* of parts of those of A_p in a balance */
  double *sums;                  /* [2 b*b ghosts] what they send, device memory */
  bool found;                    /* the pressure unknown, with its couplings */
  double coupling;               /* of the pressures a cell, near 1 for an elliptic equation */
  double coupling_next;          /* the largest of another unknown, or 0 */
  karst_cpr_weighting weighting; /* of A_p */
  karst_cpr_outcome outcome;     /* of A_p, counted over all ranks */
} karst_cpr_pressure;

/* The choices of the option cpr-weights: auto, and then those of karst_cpr_weights; NULL past the last. */
const char *karst_cpr_weights_name(size_t i);

/* Takes all memory for the matrix of p. Local. destroy accepts zeros, and what a failed call left. */
karst_status karst_cpr_pressure_prepare(const karst_precond *p, karst_cpr_pressure *pressure);
void karst_cpr_pressure_destroy(const karst_precond *p, karst_cpr_pressure *pressure);
int64_t karst_cpr_pressure_memory(const karst_cpr_pressure *pressure);

/* choose finds the unknown with the strongest couplings in both directions, as an elliptic equation has them, unless it
 * is found already; then make makes A_p for the values of A. Both set the outcome of p. Where ranks share A they are
 * collective, and the ranks agree on how they end. */
karst_status karst_cpr_pressure_choose(karst_precond *p, const karst_cpr_choices *choices,
                                       karst_cpr_pressure *pressure);
karst_status karst_cpr_pressure_make(karst_precond *p, const karst_cpr_choices *choices, karst_cpr_pressure *pressure);

/* s = r - A E z_p. A failure in the exchange of z_p is left to the next agreement of the ranks. */
karst_status karst_cpr_pressure_subtract(const karst_precond *p, const karst_cpr_pressure *pressure, const double *r,
                                         const double *z_p, double *s);

#endif
