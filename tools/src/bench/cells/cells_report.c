/* cells_report.c - prints the times of a cell: the columns of the Tables 3 and 4 of the paper on FGBILU, and the
 * two floors. One is what must move over the copy bandwidth, the other steps that depend on each other. */
#include "tools/src/bench/cells/cells.h"
#include "tools/src/common/text.h"

#include <math.h>
#include <stdio.h>

static const char *const task_name[BENCH_TASKS] = {"factorization", "sweeps", "residual"};

/* Divisions and multiplications of a cell: the paper's Table 2, in all threads. */
static double task_flops(enum bench_task task, int n)
{
  const double square = (double)n * n;
  const double count[BENCH_TASKS] = {8 * square * n, 8 * square, 7 * square};
  return count[task];
}

/* Its global data, which counts what neighbours read again. */
static double task_data(enum bench_task task, int n)
{
  const double square = (double)n * n;
  const double count[BENCH_TASKS] = {8 * 7 * square, 8 * (8 * square + 3 * n), 8 * (7 * square + 3 * n)};
  return count[task];
}

/* Values alone, without indices, each once where caches could hold it in between: the factorization reads A and writes
 * D^-1; the sweeps read E and F, read D^-1 twice, read r, write y, read y and write z; the residual reads A, b and x
 * and writes r. */
static double task_floor(enum bench_task task, const bench_table *table)
{
  const double square = (double)table->block_size * table->block_size, vector = table->block_size * table->cells;
  const double count[BENCH_TASKS] = {8 * square * (table->blocks + table->cells),
                                     8 * (square * (table->blocks + table->cells) + 4 * vector),
                                     8 * (square * table->blocks + 3 * vector)};
  return count[task];
}

static double task_steps(enum bench_task task, const bench_table *table)
{
  const double sweeps[BENCH_TASKS] = {1, 2, 0};
  return sweeps[task] * table->hyperplanes;
}

/* The figures of a row and a task. What cannot be said is not a number. */
typedef struct bench_figures {
  double cell;       /* microseconds a cell */
  double speedup;    /* over the first row on one thread that runs alone */
  double gbytes;     /* GB/s by the paper's count of global data */
  double gflops;     /* by its count of operations */
  double floor;      /* bytes that must move, over the copy bandwidth and over the time */
  double step;       /* microseconds a step that depends on the last one */
  double step_count; /* such steps; 0: none, or not known */
} bench_figures;

/* Returns the sequential row, or NULL. */
static const bench_row *find_base(const bench_table *table)
{
  for (int r = 0; r < table->rows; r++)
    if (table->row[r].sound && table->row[r].way->alone) return &table->row[r];
  return NULL;
}

static bench_figures figures_of(const bench_table *table, const bench_row *row, enum bench_task task)
{
  const bench_row *base = find_base(table);
  const double seconds = row->seconds[task], steps = task_steps(task, table);
  const double copy = row->processor->copy;

  return (bench_figures){
      .cell = 1e6 * seconds / table->cells,
      .speedup = base ? base->seconds[task] / seconds : NAN,
      .gbytes = 1e-9 * task_data(task, table->block_size) * table->cells / seconds,
      .gflops = 1e-9 * task_flops(task, table->block_size) * table->cells / seconds,
      .floor = copy > 0 ? task_floor(task, table) / copy / seconds : NAN,
      .step = steps > 0 ? 1e6 * seconds / steps : NAN,
      .step_count = steps,
  };
}

/* Returns the seconds of one factorization and the steps of the correction with it. */
static double all_seconds(const bench_row *row)
{
  return row->seconds[BENCH_FACTORIZATION] +
         BENCH_STEPS * (row->seconds[BENCH_BOTH_SWEEPS] + row->seconds[BENCH_RESIDUAL]);
}

static void print_task(const bench_table *table, enum bench_task task)
{
  const double steps = task_steps(task, table);

  printf("%-34s%12s%10s%10s%10s%10s", task_name[task], "us a cell", "speed-up", "GB/s", "GFLOPS", "of floor");
  printf(steps > 0 ? "  us a step of %.0f\n" : "\n", steps);
  for (int r = 0; r < table->rows; r++) {
    const bench_row *row = &table->row[r];
    if (!row->sound) continue;
    const bench_figures f = figures_of(table, row, task);
    printf("  %-32s", row->name);
    tool_print_number(12, 6, f.cell);
    tool_print_number(10, 2, f.speedup);
    tool_print_number(10, 1, f.gbytes);
    tool_print_number(10, 1, f.gflops);
    tool_print_number(10, 3, f.floor);
    if (steps > 0) tool_print_number(12, 3, f.step);
    printf("\n");
  }
}

static void print_all(const bench_table *table)
{
  const bench_row *base = find_base(table);

  printf("%-34s%12s%10s%12s%10s%10s\n", "factorization and 3 steps", "us a cell", "speed-up", "set-up, ms", "MB",
         "repeated");
  for (int r = 0; r < table->rows; r++) {
    const bench_row *row = &table->row[r];
    if (!row->sound) continue;
    printf("  %-32s", row->name);
    tool_print_number(12, 6, 1e6 * all_seconds(row) / table->cells);
    tool_print_number(10, 2, base ? all_seconds(base) / all_seconds(row) : NAN);
    tool_print_number(12, 2, 1e3 * row->setup);
    tool_print_number(10, 1, 1e-6 * row->memory);
    printf("%10d%s%s\n", row->repeat, row->style_used[0] ? "  " : "", row->style_used);
  }
}

void bench_grid_report_table(const bench_table *table)
{
  tool_print_safely(stdout, table->matrix);
  printf(": %s%.0f cells, blocks of %d; copy", table->what.negate ? "negated, " : "", table->cells, table->block_size);
  for (int p = 0; p < table->processors; p++) {
    const bench_processor *processor = &table->processor[p];
    printf("%s %.1f GB/s, %s", p ? ";" : "", 1e-9 * processor->copy,
           processor->gpu ? karst_context_device(table->gpu.context) : "");
    if (!processor->gpu) printf("%d thread%s", processor->threads, processor->threads > 1 ? "s" : "");
  }
  printf("\n");
  for (int t = 0; t < BENCH_TASKS; t++) {
    print_task(table, (enum bench_task)t);
    if (task_floor((enum bench_task)t, table) < table->cache)
      printf("  what it moves fits the GPU's second-level cache of %.0f MB: of floor means little there\n",
             1e-6 * table->cache);
  }
  print_all(table);
  printf("\n");
}

static void json_task(const bench_table *table, const bench_row *row, enum bench_task task)
{
  const bench_figures f = figures_of(table, row, task);
  const bool fits = row->processor->gpu && task_floor(task, table) < table->cache;

  printf(",\"%s\":{\"in_cache\":%s", task_name[task], fits ? "true" : "false");
  tool_print_number_member("seconds", row->seconds[task]);
  tool_print_number_member("us_cell", f.cell);
  tool_print_number_member("speedup", f.speedup);
  tool_print_number_member("gbytes", f.gbytes);
  tool_print_number_member("gflops", f.gflops);
  tool_print_number_member("floor", f.floor);
  tool_print_number_member("steps", f.step_count);
  tool_print_number_member("us_step", f.step);
  printf("}");
}

static void json_row(const bench_table *table, const bench_row *row)
{
  const bench_row *base = find_base(table);

  printf("{\"matrix\":");
  tool_print_json(stdout, table->matrix);
  printf(",\"block\":%d,\"cells\":%.0f,\"blocks\":%.0f,\"size\":[%lld,%lld,%lld]", table->block_size, table->cells,
         table->blocks, (long long)table->size[0], (long long)table->size[1], (long long)table->size[2]);
  tool_print_member("program", row->name);
  tool_print_member("way", row->way->name);
  tool_print_member("style_used", row->style_used);
  tool_print_member("device", row->processor->gpu ? karst_context_device(table->gpu.context) : "cpu");
  printf(",\"threads\":%d,\"repeat\":%d", row->processor->threads, row->repeat);
  tool_print_number_member("copy_bandwidth", row->processor->copy);
  tool_print_number_member("setup", row->setup);
  tool_print_number_member("memory", row->memory);
  for (int t = 0; t < BENCH_TASKS; t++) json_task(table, row, (enum bench_task)t);
  printf(",\"all\":{\"steps\":%d", BENCH_STEPS);
  tool_print_number_member("seconds", all_seconds(row));
  tool_print_number_member("us_cell", 1e6 * all_seconds(row) / table->cells);
  tool_print_number_member("speedup", base ? all_seconds(base) / all_seconds(row) : NAN);
  printf("}}\n");
}

void bench_grid_report_json(const bench_table *table)
{
  for (int r = 0; r < table->rows; r++)
    if (table->row[r].sound) json_row(table, &table->row[r]);
}
