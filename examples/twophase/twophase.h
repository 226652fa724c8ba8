/* twophase.h - what the parts of the simulator share. Units: bar, m, day, mD, cP, kg/m3; an amount of water or oil is
 * its volume at the reference pressure, m3. A state is an array x[2 * rows] of two unknowns a row: first the cells,
 * (i, j, k) in row i + nx (j + ny k), then the wells. The Jacobian has 2-by-2 blocks, stored column by column. */
#ifndef TWOPHASE_H
#define TWOPHASE_H

#include <karst.h>
#include <stdbool.h>

enum { WATER, OIL, PHASES };   /* the equations of a cell: the balances of the phases */
enum { PRESSURE, SATURATION }; /* its unknowns: pressure, saturation of water */
enum { CONTROL, BALANCE };     /* the equations of a well */
enum { BHP, RATE };            /* its unknowns: bottom-hole pressure, rate into the reservoir [m3/day] */

/* Between cells i < j with a face in common, or cell i and the well in row j. factor: transmissibility or well index
 * [m3 cP / (day bar)]; drop: depth of i less that of j, or of the top layer [m]; ij, ji: where their blocks are. */
struct connection {
  karst_index i, j, ij, ji;
  double factor, drop;
};

struct well { /* takes in water at its rate, or its pressure where that is less; producers have a pressure */
  bool injects;
  karst_index top; /* the cell in the top layer; the well is open to all layers */
  double pressure, rate;
};

struct reservoir {
  karst_index size[3], cells, wells, rows, faces, connections;
  struct well well[5];
  double *pore_volume, *permeability, *vertical; /* [cells] m3; along x and y, and along z, mD */
  struct connection *connection;                 /* [connections], those of faces first */
  karst_index *row_start, *column, *diagonal;    /* the pattern of the Jacobian, its diagonal blocks [rows] */
};

struct newton {
  const struct reservoir *reservoir;
  karst_context *context;
  karst_matrix *A;
  karst_solver *solver;
  karst_vector *b, *dx;
  double *x, *start, *amount, *residual, *change, *value; /* x is the state, start that before the step */
  double loosest;                                         /* relative tolerance of a linear solve */
  int most_linear, iterations, linear;                    /* linear ones of a solve at most; done; linear ones done */
  int fail_nan, fail_singular;                            /* the Newton matrices, from 1, that are spoilt; 0: none */
  double linear_seconds, update_seconds;
};

/* reservoir.c. file: permeabilities along x and y, along z, porosities; "": generated, deviation being that of the
 * logarithm of permeability. reservoir has its size. */
extern const double reservoir_cell_size[3]; /* m */
karst_status reservoir_create(karst_context *context, const char *const file[3], uint64_t seed, double deviation,
                              struct reservoir *reservoir);
void reservoir_destroy(struct reservoir *reservoir);

/* flow.c: the equations of a step of dt days from a state with amount[2 * cells] to x: residual[2 * rows], its
 * derivatives value[4 * row_start[rows]], and outflow, what all wells take out of the reservoir [m3/day]. */
void flow_start(const struct reservoir *reservoir, double *x);
void flow_amount(const struct reservoir *reservoir, const double *x, double *amount, double total[PHASES]);
void flow_assemble(const struct reservoir *reservoir, const double *x, const double *amount, double dt,
                   double *residual, double *value, double outflow[PHASES]);

/* newton.c: time steps. newton has its reservoir, context and settings. */
karst_status newton_create(const karst_options *options, struct newton *newton);
void newton_destroy(struct newton *newton);
/* Where the step cannot be done the state stays, and *failure, else NULL, says why. */
karst_status newton_step(struct newton *newton, double dt, double outflow[PHASES], const char **failure);
double newton_clock(void); /* seconds from some moment on */

/* picture.c: pressure and saturation in the top layer, as folder/day-NNNN.png; false where gnuplot cannot draw it. */
bool picture_draw(const char *folder, double day, const struct reservoir *reservoir, const double *x);
#endif
