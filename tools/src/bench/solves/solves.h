/* solves.h - what --solves does: it times whole solves side by side, with each preconditioner on each device and number
 * of threads, and by peers. */
#ifndef KARST_TOOLS_SRC_BENCH_SOLVES_SOLVES_H
#define KARST_TOOLS_SRC_BENCH_SOLVES_SOLVES_H

#include "tools/src/bench/peer.h"
#include "tools/src/bench/bench_rows.h"

/* The figures of a row of the table of rows.h, or of a peer. */
typedef struct bench_solve {
  const bench_row *row; /* NULL: a peer */
  bench_peer *peer;
  const char *name;
  const char *outcome;                  /* how the last solve ended, or "" for a peer */
  bool sound;                           /* false: it is left out, and a note has said why */
  double value[BENCH_SOLVE_QUANTITIES]; /* medians */
} bench_solve;

enum { BENCH_SOLVES = BENCH_ROWS + BENCH_PEERS };

typedef struct bench_solves {
  bench_table table;
  bench_solve solve[BENCH_SOLVES];
  int count;
} bench_solves;

/* What bench does with --solves. */
extern const struct bench_mode bench_solves_mode;

/* Print the figures, for people or as a line of JSON each. */
void bench_solves_report_table(const bench_solves *solves);
void bench_solves_report_json(const bench_solves *solves);

/* Solves twice more with the solver of a row on a GPU, which is set up, and prints the kernels that ran in the second
 * solve. Returns the exit status. */
int bench_solves_profile(const bench_solves *solves, const bench_row *row, karst_solver *solver);

#endif
