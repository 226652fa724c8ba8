/* sequence.h - what --sequence does: it solves the systems of one simulation one after another, as the simulator did,
 * with each preconditioner on each device and number of threads. */
#ifndef KARST_TOOLS_SRC_BENCH_SEQUENCE_SEQUENCE_H
#define KARST_TOOLS_SRC_BENCH_SEQUENCE_SEQUENCE_H

#include "tools/src/bench/bench_rows.h"

/* A matrix file prob_R_time_S__nit_N_matrix_istl..., as OPM Flow names them. */
typedef struct bench_system_file {
  char *path;
  char name[64];            /* prob_R_time_S__nit_N, or its beginning */
  long long report, newton; /* report step R and Newton iteration N */
  double time;              /* simulated seconds S */
} bench_system_file;

/* The seconds that a system takes on a row of the table. */
enum bench_step_time {
  BENCH_STEP_SETUP,    /* of a pattern's first system */
  BENCH_STEP_UPDATE,   /* of the others */
  BENCH_STEP_SOLVE,    /* from x = 0 */
  BENCH_STEP_TRANSFER, /* the values of A and b to the device, and x from it */
  BENCH_STEP_TIMES
};

/* A system on a row. */
typedef struct bench_step {
  double seconds[BENCH_STEP_TIMES];
  int iterations;
  karst_reason reason;
} bench_step;

/* A row of the table of bench_rows.h and its solver. */
typedef struct bench_run {
  const bench_row *row;
  karst_solver *solver;
  bool sound;       /* false: it is left out, and a note has said why */
  bench_step *step; /* [systems] */
  double *error;    /* [systems b] relative to the reference, of each unknown of a cell; NaN: there is no reference */
} bench_run;

typedef struct bench_sequence {
  bench_table table;
  bench_system_file *file; /* [systems], in order */
  int systems;
  int patterns;   /* set-ups of a row: the first, and each where the pattern is another than before */
  int references; /* systems whose reference has converged */
  bench_run run[BENCH_ROWS];
  int runs;
} bench_sequence;

/* What bench does with --sequence. */
extern const struct bench_mode bench_sequence_mode;

/* Lists the systems of a folder by report step, time and Newton iteration, which are compared as numbers. The caller
 * frees the list, also after an error. Both return TOOL_GO_ON, or the exit status of a reported error. */
int bench_sequence_find(const char *folder, bench_system_file **file, int *systems);
void bench_sequence_forget(bench_system_file *file, int systems);

/* Solves A x = b to 1e-10 by the preconditioner of --errors. *x, in host memory that the caller frees, is NULL without
 * --errors, and with a note if the solve does not converge. */
int bench_sequence_refer(const bench_settings *settings, karst_context *context, const karst_matrix *A,
                         const karst_vector *b, const char *name, double **x);
/* error[b]: of each unknown u of a cell, |x_u - y_u| / |y_u| over all cells; NaN if y is NULL. */
void bench_sequence_compare(const karst_matrix *A, const double *x, const double *y, double *error);

/* Print the figures, for people or as a line of JSON for each row. */
void bench_sequence_report_table(const bench_sequence *sequence);
void bench_sequence_report_json(const bench_sequence *sequence);
/* The sum of a time over the systems, that of all times, and the system that took longest to solve. */
double bench_run_seconds(const bench_sequence *sequence, const bench_run *run, enum bench_step_time time);
double bench_run_total(const bench_sequence *sequence, const bench_run *run);
int bench_run_slowest(const bench_sequence *sequence, const bench_run *run);
/* The iterations of all systems, and how many of them failed. */
long bench_run_iterations(const bench_sequence *sequence, const bench_run *run);
int bench_run_failures(const bench_sequence *sequence, const bench_run *run);

/* Draws the iterations by system, a line for each row. */
int bench_sequence_plot(const bench_sequence *sequence, const char *path);

#endif
