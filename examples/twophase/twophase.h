/* twophase.h - what the parts of the simulator share. Units: bar, m, day, mD, cP, kg/m3; an amount of water or oil is
 * its volume at the reference pressure, m3. A state is an array x[2 * rows] of two unknowns a row: first the cells,
 * (i, j, k) in row i + nx (j + ny k), then the wells: an injector of water, and producers. */
#ifndef TWOPHASE_H
#define TWOPHASE_H

#include <karst.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { WATER, OIL, PHASES };   /* the equations of a cell: the balances of the phases */
enum { PRESSURE, SATURATION }; /* its unknowns: pressure, saturation of water */
enum { CONTROL, BALANCE };     /* the equations of a well */
enum { BHP, RATE };            /* its unknowns: bottom-hole pressure, rate into the reservoir [m3/day] */

/* Between cells i < j with a face in common, or cell i and the well in row j. factor: transmissibility or well index
 * [m3 cP / (day bar)]; drop: depth of i less that of j, or of the top layer [m]; ij, ji: where their blocks are. With
 * wells beside the matrix those of a well are in C, transposed, and in B. */
struct connection {
  karst_index i, j, ij, ji;
  double factor, drop;
};

struct reservoir {
  int size[3];
  bool beside; /* the wells are beside the matrix, not in it */
  karst_index cells, rows, connections;
  karst_index matrix_rows, matrix_blocks, perforations, blocks; /* blocks: also those of B, C and D, which follow */
  double *pore_volume, *permeability, *vertical;                /* [cells] m3; along x and y, and along z, mD */
  double volume, most_rate;                                     /* sum of pore_volume, m3; of the injector, m3/day */
  struct connection *connection;                                /* [connections] */
  karst_index *row_start, *column, *diagonal; /* the pattern of the Jacobian, its diagonal blocks [rows] */
};

/* These end the program with a sentence, must where a call of the library has failed. */
static inline _Noreturn void stop(const char *what, const char *why)
{
  fprintf(stderr, "twophase: %s: %s\n", what, why);
  exit(2);
}
static inline void must(const karst_context *context, karst_status status)
{
  if (status) stop(karst_status_text(status), karst_context_error(context));
}

/* reservoir.c. file: permeabilities along x and y, along z, porosities; "": generated. reservoir has its size. */
extern const double reservoir_cell_size[3]; /* m */
void reservoir_create(karst_context *context, const char *const file[3], uint64_t seed, struct reservoir *reservoir);
void reservoir_destroy(struct reservoir *reservoir);

/* flow.c: how much there is of phase a; and the equations of a step of dt days from the state start to x: residual
 * [2 * rows], its derivatives value[4 * blocks], and outflow, what all wells take out [m3/day]. */
void flow_start(const struct reservoir *reservoir, double *x);
double flow_amount(const struct reservoir *reservoir, int a, const double *x);
void flow_assemble(const struct reservoir *reservoir, const double *start, double dt, const double *x, double *residual,
                   double *value, double outflow[PHASES]);
#endif
