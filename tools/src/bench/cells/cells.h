/* cells.h - what --grids and --correction do: the time of a cell of a grid, and the correction step by step. */
#ifndef KARST_TOOLS_SRC_BENCH_CELLS_CELLS_H
#define KARST_TOOLS_SRC_BENCH_CELLS_CELLS_H

#include "tools/src/bench/bench_rows.h"

/* Steps of the correction for one factorization, in what a row takes in all; paper 4.2. */
enum { BENCH_STEPS = 3 };

/* Prints the figures of a table, for people or as a line of JSON for each row. */
void bench_grid_report_table(const bench_table *table);
void bench_grid_report_json(const bench_table *table);

/* Refuses --ordering. */
int bench_check_natural(karst_context *context, bench_settings *settings);
/* What bench does with --grids, and with --correction. */
extern const struct bench_mode bench_grids_mode, bench_correction_mode;

#endif
