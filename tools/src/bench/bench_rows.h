/* bench_rows.h - preconditioners side by side on one system: a row is a way of bench_settings.h on a device and a
 * number of threads. */
#ifndef KARST_TOOLS_SRC_BENCH_BENCH_ROWS_H
#define KARST_TOOLS_SRC_BENCH_BENCH_ROWS_H

#include "tools/src/bench/bench_place.h"
#include "tools/src/bench/bench_settings.h"

/* The tasks that are timed for a row. BENCH_BOTH_SWEEPS are both triangles together, z = M^-1 r. */
enum bench_task { BENCH_FACTORIZATION, BENCH_BOTH_SWEEPS, BENCH_RESIDUAL, BENCH_TASKS };

enum { BENCH_ROWS = BENCH_WAYS * (BENCH_LIST + 1) };

/* A number of threads on the CPU, or the GPU, and its copy bandwidth in bytes per second. */
typedef struct bench_processor {
  int threads; /* on a GPU those of the pattern half */
  bool gpu;
  double copy;
} bench_processor;

typedef struct bench_row {
  char name[192]; /* such as "fgbilu:tiles, cuda" */
  const bench_way *way;
  const bench_processor *processor;
  bench_place *place;
  karst_precond *M;            /* NULL unless it is open */
  char style_used[64];         /* as the preconditioner reports it, or "" */
  bool sound;                  /* it was set up and factored */
  double setup;                /* seconds from a matrix to a preconditioner */
  double memory;               /* bytes of the preconditioner */
  int repeat;                  /* repetitions that were made */
  double seconds[BENCH_TASKS]; /* medians */
} bench_row;

/* The systems on the devices, and all rows on them. */
typedef struct bench_table {
  const bench_settings *settings;
  bench_case what;
  char matrix[160]; /* its name */
  bench_place cpu, gpu;
  bench_processor processor[BENCH_LIST + 2]; /* one thread, the numbers of threads, the GPU */
  int processors;
  double cache; /* bytes of the GPU's second-level cache; 0: none */
  /* n, the cells that are there, the blocks of A, the grid (or 0), and the hyperplanes of a sweep (or 0). */
  int block_size;
  double cells, blocks;
  karst_index size[3];
  double hyperplanes;
  bench_row row[BENCH_ROWS];
  int rows;
} bench_table;

/* Finds the processors of a table and measures their bandwidths. The context is that of the GPU. */
int bench_table_start(karst_context *gpu, const bench_settings *settings, bench_table *table);
/* Loads the matrix that table->what names, and makes the rows. */
int bench_table_open(karst_context *cpu, karst_context *gpu, bench_table *table);
void bench_table_close(bench_table *table);

/* Whether the option --threads has this number. */
bool bench_is_asked_for(const bench_settings *settings, int threads);

/* Sets up the preconditioner of a row, and closes it. A row that cannot be set up, or whose factorization fails, is not
 * sound, and a note says why. */
bool bench_row_open(const bench_table *table, bench_row *row);
void bench_row_close(bench_row *row);
/* Makes the options of a row's whole solves by the solver of --solves to --rtol. The caller destroys them. */
karst_status bench_row_solver_options(const bench_table *table, const bench_row *row, int max_iterations,
                                      karst_options **options);
/* Checks that solver, and --ordering. */
int bench_solver_check(karst_context *context, bench_settings *settings);
/* Prints why a row ends and returns false. */
bool bench_row_fail(bench_row *row, const char *why);

#endif
