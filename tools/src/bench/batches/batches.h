/* batches.h - what bench does with the matrix "tridiagonal": it times batches of block-tridiagonal systems, by each
 * method, layout and precision on each device and number of threads.
 *
 * Without --rows these are the systems of Figures 1 and 2 of Stone, Duque, Zhang, Car, Owens and Davis, GPGPU parallel
 * algorithms for structured-grid CFD codes, AIAA 2011-3221, with and without transfers. With --rows they are batches of
 * many rows, whose times are compared with the copy bandwidth. */
#ifndef KARST_TOOLS_SRC_BENCH_BATCHES_BATCHES_H
#define KARST_TOOLS_SRC_BENCH_BATCHES_BATCHES_H

#include "tools/src/bench/bench_rows.h"

enum {
  BATCH_ITEMS = 48,     /* most sizes in --batches */
  BATCH_WAYS = 12,      /* most methods in --methods */
  BATCH_PRECISIONS = 2, /* float and double */
  BATCH_PROGRAMS = 2 * BATCH_WAYS * (BENCH_LIST + 1) + 1,
  BATCH_SYSTEMS = 512, /* of an item that does not say how many, without --rows, as in the paper */
  BATCH_ENOUGH = 3     /* repetitions that are made in any case */
};

/* Batches of one size, an item of --batches. */
typedef struct batch_item {
  int64_t systems;
  karst_index rows; /* n, of each system */
  int block;        /* m */
} batch_item;

/* What solves batches: a line of the table. */
typedef struct batch_program {
  char name[96];
  const bench_processor *processor;
  karst_tridiagonal_method method;
  karst_tridiagonal_layout layout;
  bool peer; /* cuSPARSE, for m = 1 in double */
} batch_program;

enum batch_time {
  BATCH_SOLVE,     /* with all arrays in the device's memory */
  BATCH_LUMPED,    /* from host memory and back: the inputs lie one behind the other and go to the GPU in one piece */
  BATCH_VARIABLES, /* the same by the library's own call with arrays in host memory, which moves each by itself */
  BATCH_FACTOR,
  BATCH_FACTORED, /* a solve with kept factors */
  BATCH_TIMES
};

typedef struct batch_figure {
  double seconds[BATCH_TIMES]; /* medians; not a number: not measured */
  double error;                /* the largest one of all solves against the exact solution */
  char description[192];       /* of the library */
  int repetitions;             /* of the solve */
} batch_figure;

typedef struct bench_batches {
  const bench_settings *settings;
  karst_context *cpu, *gpu;
  bench_gpu *clock; /* NULL without a GPU */
  batch_item item[BATCH_ITEMS];
  int items;
  struct {
    const char *name;
    karst_tridiagonal_method method;
    bool layout[2]; /* whether each layout is asked for */
  } way[BATCH_WAYS];
  int ways;
  bool precision[BATCH_PRECISIONS]; /* double, float: by shape.single */
  batch_program program[BATCH_PROGRAMS];
  int programs;
  bench_table table; /* the processors */
  batch_figure figure[BATCH_PRECISIONS][BATCH_ITEMS][BATCH_PROGRAMS];
} bench_batches;

extern const struct bench_mode bench_batches_mode;

/* Reads --batches, --methods and --precision. Returns TOOL_GO_ON or the exit status of a reported error. */
int bench_batches_parse(const bench_settings *settings, bench_batches *batches);

/* ---- the systems (batch_problem.c) ---- */

/* The inputs of a batch, one behind the other in lump, which is in host memory: lower, diagonal and upper of square
 * bytes each, then right of vector bytes. */
typedef struct batch_data {
  karst_tridiagonal_shape shape;
  bool random; /* the problem: random dominant blocks, or the paper's equation */
  size_t square, vector;
  char *lump, *solution;
} batch_data;

/* Makes the systems of an item. Returns TOOL_GO_ON or the exit status of a reported error; the data are to be closed in
 * both cases. */
int batch_data_open(const batch_item *item, karst_tridiagonal_layout layout, bool single, bool random,
                    batch_data *data);
void batch_data_close(batch_data *data);
/* The largest difference of data->solution to the exact solution; not a number if an element is none. */
double batch_error(const batch_data *data);
/* The error of equation (10) itself, whose solution differs from that of equation (9) by h^2 / 12 max |e^x + (1 - e) x
 * - 1| to leading order. */
double batch_discretization(const batch_item *item);

/* ---- the times (batch_measure.c) ---- */

/* Measures the programs of a precision for an item that have the layout, of the data, which it places on the GPU once.
 */
int batch_measure(bench_batches *batches, int single, int item, const batch_data *data);

/* ---- what a figure says (batch_figure.c) ---- */

/* Whether a program was measured for an item. */
bool batch_is_measured(const batch_figure *figure);
/* Bytes that a solve moves at least: inputs once and the solution once; or with kept factors each factor and vector in
 * each of its two passes. */
double batch_bytes(const batch_item *item, bool single, enum batch_time time);

/* ---- the reports ---- */

void bench_batches_report_table(const bench_batches *batches);
void bench_batches_report_rates(const bench_batches *batches);
void bench_batches_report_json(const bench_batches *batches);
/* Draws times over n, a panel for each m. Returns TOOL_GO_ON or the exit status of a reported error. */
int bench_batches_plot(const bench_batches *batches, const char *path);

#endif
