/* cells_report.c - prints the times of a cell: the columns of the Tables 3 and 4 of the paper on FGBILU, and the
 * two floors. One is what must move over the copy bandwidth, the other steps that depend on each other. */
#include "tools/src/bench/cells/cells.h"
#include "tools/src/common/text.h"

#include <math.h>
#include <stdio.h>

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
  const double seconds = row->seconds[task], steps = bench_task_steps(task, table);
  const double copy = row->processor->copy;

  return (bench_figures){
      .cell = 1e6 * seconds / table->cells,
      .speedup = base ? base->seconds[task] / seconds : NAN,
      .gbytes = 1e-9 * bench_task_data(task, table->block_size) * table->cells / seconds,
      .gflops = 1e-9 * bench_task_flops(task, table->block_size) * table->cells / seconds,
      .floor = copy > 0 ? bench_task_floor(task, table) / copy / seconds : NAN,
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

static void print_number(int width, int digits, double value)
{
  if (isfinite(value))
    printf("%*.*f", width, digits, value);
  else
    printf("%*s", width, "-");
}

static void print_task(const bench_table *table, enum bench_task task)
{
  const double steps = bench_task_steps(task, table);

  printf("%-34s%12s%10s%10s%10s%10s", bench_task_name[task], "us a cell", "speed-up", "GB/s", "GFLOPS", "of floor");
  printf(steps > 0 ? "  us a step of %.0f\n" : "\n", steps);
  for (int r = 0; r < table->rows; r++) {
    const bench_row *row = &table->row[r];
    if (!row->sound) continue;
    const bench_figures f = figures_of(table, row, task);
    printf("  %-32s", row->name);
    print_number(12, 6, f.cell);
    print_number(10, 2, f.speedup);
    print_number(10, 1, f.gbytes);
    print_number(10, 1, f.gflops);
    print_number(10, 3, f.floor);
    if (steps > 0) print_number(12, 3, f.step);
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
    print_number(12, 6, 1e6 * all_seconds(row) / table->cells);
    print_number(10, 2, base ? all_seconds(base) / all_seconds(row) : NAN);
    print_number(12, 2, 1e3 * row->setup);
    print_number(10, 1, 1e-6 * row->memory);
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
    if (bench_task_floor((enum bench_task)t, table) < table->cache)
      printf("  what it moves fits the GPU's second-level cache of %.0f MB: of floor means little there\n",
             1e-6 * table->cache);
  }
  print_all(table);
  printf("\n");
}

/* Prints ,"key":value with null for what is not a number. */
static void json_number(const char *key, double value)
{
  printf(isfinite(value) ? ",\"%s\":%.9g" : ",\"%s\":null", key, value);
}

static void json_text(const char *key, const char *value)
{
  printf(",\"%s\":", key);
  tool_print_json(stdout, value);
}

static void json_task(const bench_table *table, const bench_row *row, enum bench_task task)
{
  const bench_figures f = figures_of(table, row, task);
  const bool fits = row->processor->gpu && bench_task_floor(task, table) < table->cache;

  printf(",\"%s\":{\"in_cache\":%s", bench_task_name[task], fits ? "true" : "false");
  json_number("seconds", row->seconds[task]);
  json_number("us_cell", f.cell);
  json_number("speedup", f.speedup);
  json_number("gbytes", f.gbytes);
  json_number("gflops", f.gflops);
  json_number("floor", f.floor);
  json_number("steps", f.step_count);
  json_number("us_step", f.step);
  printf("}");
}

static void json_row(const bench_table *table, const bench_row *row)
{
  const bench_row *base = find_base(table);

  printf("{\"matrix\":");
  tool_print_json(stdout, table->matrix);
  printf(",\"block\":%d,\"cells\":%.0f,\"blocks\":%.0f,\"size\":[%lld,%lld,%lld]", table->block_size, table->cells,
         table->blocks, (long long)table->size[0], (long long)table->size[1], (long long)table->size[2]);
  json_text("program", row->name);
  json_text("way", row->way->name);
  json_text("style_used", row->style_used);
  json_text("device", row->processor->gpu ? karst_context_device(table->gpu.context) : "cpu");
  printf(",\"threads\":%d,\"repeat\":%d", row->processor->threads, row->repeat);
  json_number("copy_bandwidth", row->processor->copy);
  json_number("setup", row->setup);
  json_number("memory", row->memory);
  for (int t = 0; t < BENCH_TASKS; t++) json_task(table, row, (enum bench_task)t);
  printf(",\"all\":{\"steps\":%d", BENCH_STEPS);
  json_number("seconds", all_seconds(row));
  json_number("us_cell", 1e6 * all_seconds(row) / table->cells);
  json_number("speedup", base ? all_seconds(base) / all_seconds(row) : NAN);
  printf("}}\n");
}

void bench_grid_report_json(const bench_table *table)
{
  for (int r = 0; r < table->rows; r++)
    if (table->row[r].sound) json_row(table, &table->row[r]);
}
