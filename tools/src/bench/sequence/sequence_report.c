/* sequence_report.c - prints the solves of a sequence, as a table or as lines of JSON. */
#include "tools/src/bench/sequence/sequence.h"
#include "tools/src/common/text.h"

#include <math.h>
#include <stdio.h>

double bench_run_seconds(const bench_sequence *sequence, const bench_run *run, enum bench_step_time time)
{
  double sum = 0;
  for (int s = 0; s < sequence->systems; s++) sum += run->step[s].seconds[time];
  return sum;
}

double bench_run_total(const bench_sequence *sequence, const bench_run *run)
{
  double sum = 0;
  for (int t = 0; t < BENCH_STEP_TIMES; t++) sum += bench_run_seconds(sequence, run, (enum bench_step_time)t);
  return sum;
}

int bench_run_slowest(const bench_sequence *sequence, const bench_run *run)
{
  int slowest = 0;
  for (int s = 1; s < sequence->systems; s++)
    if (run->step[s].seconds[BENCH_STEP_SOLVE] > run->step[slowest].seconds[BENCH_STEP_SOLVE]) slowest = s;
  return slowest;
}

long bench_run_iterations(const bench_sequence *sequence, const bench_run *run)
{
  long sum = 0;
  for (int s = 0; s < sequence->systems; s++) sum += run->step[s].iterations;
  return sum;
}

int bench_run_failures(const bench_sequence *sequence, const bench_run *run)
{
  int failures = 0;
  for (int s = 0; s < sequence->systems; s++) failures += run->step[s].reason < 0;
  return failures;
}

static void print_row(const bench_sequence *sequence, const bench_run *run)
{
  const int slowest = bench_run_slowest(sequence, run);
  const bench_step *step = &run->step[slowest];

  printf("%-36s %7ld %6d", run->row->name, bench_run_iterations(sequence, run), bench_run_failures(sequence, run));
  for (int t = 0; t < BENCH_STEP_TIMES; t++)
    tool_print_number(10, 4, bench_run_seconds(sequence, run, (enum bench_step_time)t));
  tool_print_number(10, 4, bench_run_total(sequence, run));
  printf("  %s: %d its, %.4f s\n", sequence->file[slowest].name, step->iterations, step->seconds[BENCH_STEP_SOLVE]);
}

/* Prints how often a row failed for each reason, and the first system. */
static void print_failures(const bench_sequence *sequence, const bench_run *run)
{
  for (int reason = -1; reason >= KARST_DIVERGED; reason--) {
    int count = 0, first = 0;
    for (int s = sequence->systems - 1; s >= 0; s--)
      if ((int)run->step[s].reason == reason) {
        count++;
        first = s;
      }
    if (count)
      printf("%s failed in %d system%s: %s; first %s\n", run->row->name, count, tool_plural(count),
             karst_reason_text((karst_reason)reason), sequence->file[first].name);
  }
}

/* Sets the mean and the largest error of an unknown over the systems that have a reference. */
static void sum_errors(const bench_sequence *sequence, const bench_run *run, int unknown, double *mean, double *most)
{
  const int b = sequence->table.block_size;
  *mean = *most = 0;
  for (int s = 0; s < sequence->systems; s++) {
    const double error = run->error[s * b + unknown];
    if (isnan(error)) continue;
    *mean += error / sequence->references;
    if (error > *most) *most = error;
  }
}

static void print_errors(const bench_sequence *sequence)
{
  const int b = sequence->table.block_size;
  double mean, most;

  printf("\n%-36s errors relative to %d of %d systems solved to 1e-10 by %s: mean, largest\n", "", sequence->references,
         sequence->systems, sequence->table.settings->errors);
  printf("%-36s", "");
  for (int u = 0; u < b; u++) printf("        unknown %d", u);
  printf("\n");
  for (int r = 0; r < sequence->runs && sequence->references; r++) {
    if (!sequence->run[r].sound) continue;
    printf("%-36s", sequence->run[r].row->name);
    for (int u = 0; u < b; u++) {
      sum_errors(sequence, &sequence->run[r], u, &mean, &most);
      printf("  %.1e %.1e", mean, most);
    }
    printf("\n");
  }
}

void bench_sequence_report_table(const bench_sequence *sequence)
{
  const bench_settings *settings = sequence->table.settings;
  const int b = sequence->table.block_size;

  tool_print_safely(stdout, settings->matrix);
  printf(": %d system%s of %.0f rows, blocks of %d, %d set-up%s; %s to a residual of %g in at most %d iterations\n",
         sequence->systems, tool_plural(sequence->systems), sequence->table.cells * b, b, sequence->patterns,
         tool_plural(sequence->patterns), settings->solves, settings->rtol, settings->iterations);
  printf("%-36s %7s %6s %9s %9s %9s %9s %9s  %s\n", "seconds", "its", "failed", "set-up", "update", "solve", "transfer",
         "in all", "slowest solve");
  for (int r = 0; r < sequence->runs; r++)
    if (sequence->run[r].sound) print_row(sequence, &sequence->run[r]);
  for (int r = 0; r < sequence->runs; r++)
    if (sequence->run[r].sound) print_failures(sequence, &sequence->run[r]);
  if (settings->errors) print_errors(sequence);
  fflush(stdout);
}

static const char *const time_name[BENCH_STEP_TIMES] = {"setup", "update", "solve", "transfer"};

static void json_step(const bench_sequence *sequence, const bench_run *run, int s)
{
  const int b = sequence->table.block_size;
  const bench_step *step = &run->step[s];

  printf("%s{\"name\":", s ? "," : "");
  tool_print_json(stdout, sequence->file[s].name);
  printf(",\"iterations\":%d", step->iterations);
  tool_print_member("outcome", karst_reason_text(step->reason));
  for (int t = 0; t < BENCH_STEP_TIMES; t++) tool_print_number_member(time_name[t], step->seconds[t]);
  printf(",\"errors\":[");
  for (int u = 0; u < b && sequence->table.settings->errors; u++) {
    const double error = run->error[s * b + u];
    printf(isfinite(error) ? "%s%.6g" : "%snull", u ? "," : "", error);
  }
  printf("]}");
}

static void json_row(const bench_sequence *sequence, const bench_run *run)
{
  const bench_table *table = &sequence->table;
  const int slowest = bench_run_slowest(sequence, run);

  printf("{\"sequence\":");
  tool_print_json(stdout, table->settings->matrix);
  printf(",\"systems\":%d,\"rows\":%.0f,\"block\":%d,\"setups\":%d", sequence->systems,
         table->cells * table->block_size, table->block_size, sequence->patterns);
  tool_print_member("program", run->row->name);
  tool_print_member("solver", table->settings->solves);
  tool_print_member("device", run->row->processor->gpu ? karst_context_device(table->gpu.context) : "cpu");
  printf(",\"threads\":%d,\"max_iterations\":%d", run->row->processor->threads, table->settings->iterations);
  tool_print_number_member("copy_bandwidth", run->row->processor->copy);
  tool_print_number_member("rtol", table->settings->rtol);
  printf(",\"iterations\":%ld,\"failures\":%d", bench_run_iterations(sequence, run), bench_run_failures(sequence, run));
  for (int t = 0; t < BENCH_STEP_TIMES; t++)
    tool_print_number_member(time_name[t], bench_run_seconds(sequence, run, (enum bench_step_time)t));
  tool_print_number_member("total", bench_run_total(sequence, run));
  tool_print_member("slowest", sequence->file[slowest].name);
  printf(",\"references\":%d,\"solves\":[", sequence->references);
  for (int s = 0; s < sequence->systems; s++) json_step(sequence, run, s);
  printf("]}\n");
}

void bench_sequence_report_json(const bench_sequence *sequence)
{
  for (int r = 0; r < sequence->runs; r++)
    if (sequence->run[r].sound) json_row(sequence, &sequence->run[r]);
  fflush(stdout);
}
