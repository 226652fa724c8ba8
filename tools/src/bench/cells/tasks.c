/* tasks.c - what the factorization, the sweeps and the residual of a grid have to compute and to move. */
#include "tools/src/bench/cells/cells.h"

const char *const bench_task_name[BENCH_TASKS] = {"factorization", "sweeps", "residual"};

/* Divisions and multiplications of a cell: the paper's Table 2, in all threads. */
double bench_task_flops(enum bench_task task, int n)
{
  const double square = (double)n * n;
  const double count[BENCH_TASKS] = {8 * square * n, 8 * square, 7 * square};
  return count[task];
}

/* Its global data, which counts what neighbours read again. */
double bench_task_data(enum bench_task task, int n)
{
  const double square = (double)n * n;
  const double count[BENCH_TASKS] = {8 * 7 * square, 8 * (8 * square + 3 * n), 8 * (7 * square + 3 * n)};
  return count[task];
}

/* Values alone, without indices, each once where caches could hold it in between: the factorization reads A and writes
 * D^-1; the sweeps read E and F, read D^-1 twice, read r, write y, read y and write z; the residual reads A, b and x
 * and writes r. */
double bench_task_floor(enum bench_task task, const bench_table *table)
{
  const double square = (double)table->block_size * table->block_size, vector = table->block_size * table->cells;
  const double count[BENCH_TASKS] = {8 * square * (table->blocks + table->cells),
                                     8 * (square * (table->blocks + table->cells) + 4 * vector),
                                     8 * (square * table->blocks + 3 * vector)};
  return count[task];
}

double bench_task_steps(enum bench_task task, const bench_table *table)
{
  const double sweeps[BENCH_TASKS] = {1, 2, 0};
  return sweeps[task] * table->hyperplanes;
}
