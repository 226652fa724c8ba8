/* batch_report.c - prints the times of batches: over n for each m and precision, as the paper's figures have them, or
 * with --rows as shares of the copy bandwidth; or as lines of JSON. */
#include "tools/src/bench/batches/batches.h"
#include "tools/src/common/text.h"

#include <math.h>
#include <stdio.h>

static const char *const precision_name[2] = {"double", "float"};

/* The items with the m of item first, which begin at first: whether item i is one. */
static bool is_beside(const bench_batches *batches, int first, int i)
{
  return batches->item[i].block == batches->item[first].block;
}

/* Whether an earlier item has begun a table for this m. */
static bool is_continued(const bench_batches *batches, int i)
{
  for (int before = 0; before < i; before++)
    if (is_beside(batches, before, i)) return true;
  return false;
}

static bool is_row_measured(const bench_batches *batches, int single, int first, int p, enum batch_time time)
{
  for (int i = first; i < batches->items; i++)
    if (is_beside(batches, first, i) && !isnan(batches->figure[single][i][p].seconds[time])) return true;
  return false;
}

static void print_times(const bench_batches *batches, int single, int first)
{
  static const char *const suffix[BATCH_TIMES] = {"", ", lumped", ", one a variable", "", ""};
  char name[160];
  for (int p = 0; p < batches->programs; p++)
    for (int t = BATCH_SOLVE; t <= BATCH_VARIABLES; t++) {
      if (!is_row_measured(batches, single, first, p, (enum batch_time)t)) continue;
      snprintf(name, sizeof name, "%s%s", batches->program[p].name, suffix[t]);
      printf("%-44s", name);
      for (int i = first; i < batches->items; i++)
        if (is_beside(batches, first, i)) tool_print_number(11, 1, 1e6 * batches->figure[single][i][p].seconds[t]);
      printf("\n");
    }
}

static void print_number(double number)
{
  if (isfinite(number))
    printf(" %10.2e", number);
  else
    printf(" %10s", "-");
}

/* Behind the errors of a program, their order in h from the last two sizes if it is that of the equation, or the first
 * size whose error is more than twice that of the equation, because of rounding. */
static void print_verdict(const bench_batches *batches, int single, int first, int p)
{
  double previous = NAN, order = NAN, previous_h = NAN;
  for (int i = first; i < batches->items; i++) {
    const batch_item *item = &batches->item[i];
    const double error = batches->figure[single][i][p].error, h = 1 / ((double)item->rows * item->block + 1);
    if (!is_beside(batches, first, i) || isnan(error)) continue;
    if (error > 2 * batch_discretization(item)) {
      printf("  rounding from n = %lld\n", (long long)item->rows);
      return;
    }
    order = log(previous / error) / log(previous_h / h);
    previous = error;
    previous_h = h;
  }
  if (isfinite(order))
    printf("  order %.2f\n", order);
  else
    printf("\n");
}

static void print_errors(const bench_batches *batches, int single, int first)
{
  printf("%-44s", "largest error: of equation (10) alone");
  for (int i = first; i < batches->items; i++)
    if (is_beside(batches, first, i)) print_number(batch_discretization(&batches->item[i]));
  printf("\n");
  for (int p = 0; p < batches->programs; p++) {
    if (!is_row_measured(batches, single, first, p, BATCH_SOLVE)) continue;
    printf("%-44s", batches->program[p].name);
    for (int i = first; i < batches->items; i++)
      if (is_beside(batches, first, i)) print_number(batches->figure[single][i][p].error);
    print_verdict(batches, single, first, p);
  }
}

void bench_batches_report_table(const bench_batches *batches)
{
  for (int single = BATCH_PRECISIONS - 1; single >= 0; single--)
    for (int first = 0; first < batches->items && batches->precision[single]; first++) {
      if (is_continued(batches, first)) continue;
      printf("systems of d2u/dx2 = e^x in %s, blocks of %d; medians of at most %d in microseconds\n%-44s",
             precision_name[single], batches->item[first].block, batches->settings->repeat, "systems");
      for (int i = first; i < batches->items; i++)
        if (is_beside(batches, first, i)) printf(" %10lld", (long long)batches->item[i].systems);
      printf("\n%-44s", "rows of each, n");
      for (int i = first; i < batches->items; i++)
        if (is_beside(batches, first, i)) printf(" %10lld", (long long)batches->item[i].rows);
      printf("\n");
      print_times(batches, single, first);
      print_errors(batches, single, first);
      printf("\n");
    }
  fflush(stdout);
}

/* The share of the copy bandwidth that a time is of. */
static double share(const batch_item *item, const batch_program *program, bool single, const batch_figure *figure,
                    enum batch_time time)
{
  return batch_bytes(item, single, time) / figure->seconds[time] / program->processor->copy;
}

/* How many times as fast as the peer on the same device a program is, where there is a peer. */
static double speedup(const bench_batches *batches, int single, int i, int p)
{
  for (int other = 0; other < batches->programs; other++)
    if (batches->program[other].peer && batches->program[p].processor == batches->program[other].processor)
      return batches->figure[single][i][other].seconds[BATCH_SOLVE] /
             batches->figure[single][i][p].seconds[BATCH_SOLVE];
  return NAN;
}

static void print_rates(const bench_batches *batches, int single, int i, int p)
{
  const batch_item *item = &batches->item[i];
  const batch_program *program = &batches->program[p];
  const batch_figure *figure = &batches->figure[single][i][p];
  const double m = item->block, scalar = single ? sizeof(float) : sizeof(double);

  printf("%2d %7lld %9lld %-7s %-35s", item->block, (long long)item->rows, (long long)item->systems,
         precision_name[single], program->name);
  tool_print_number(9, 1, (double)item->rows * (3 * m * m + 2 * m) * scalar / 1024);
  tool_print_number(10, 3, 1e3 * figure->seconds[BATCH_SOLVE]);
  tool_print_number(8, 0, 1e-9 * batch_bytes(item, single, BATCH_SOLVE) / figure->seconds[BATCH_SOLVE]);
  tool_print_number(7, 2, share(item, program, single, figure, BATCH_SOLVE));
  tool_print_number(10, 3, 1e3 * figure->seconds[BATCH_FACTOR]);
  tool_print_number(10, 3, 1e3 * figure->seconds[BATCH_FACTORED]);
  tool_print_number(7, 2, share(item, program, single, figure, BATCH_FACTORED));
  tool_print_number(8, 2, speedup(batches, single, i, p));
  printf("  %.1e  %s\n", figure->error, figure->description);
}

void bench_batches_report_rates(const bench_batches *batches)
{
  for (int p = 0; p < batches->table.processors; p++) {
    const bench_processor *processor = &batches->table.processor[p];
    if (processor->gpu)
      printf("%s: copies %.0f GB/s\n", karst_context_device(batches->gpu), 1e-9 * processor->copy);
    else
      printf("%d thread%s: copies %.1f GB/s\n", processor->threads, tool_plural(processor->threads),
             1e-9 * processor->copy);
  }
  printf(
      "random dominant systems; medians of at most %d; GB/s and of copy: inputs and solution once, with kept factors "
      "each in both passes\n",
      batches->settings->repeat);
  printf("%2s %7s %9s %-7s %-35s %8s %9s %7s %6s %9s %9s %6s %7s  %-7s  %s\n", "m", "n", "systems", "", "", "KB each",
         "solve ms", "GB/s", "copy", "factor ms", "kept ms", "copy", "speed-up", "error", "");
  for (int single = BATCH_PRECISIONS - 1; single >= 0; single--)
    for (int i = 0; i < batches->items; i++)
      for (int p = 0; p < batches->programs; p++)
        if (batch_is_measured(&batches->figure[single][i][p])) print_rates(batches, single, i, p);
  fflush(stdout);
}

static void json_row(const bench_batches *batches, int single, int i, int p)
{
  static const char *const name[BATCH_TIMES] = {"solve", "lumped", "variables", "factor", "factored"};
  const batch_item *item = &batches->item[i];
  const batch_program *program = &batches->program[p];
  const batch_figure *figure = &batches->figure[single][i][p];

  printf("{\"block\":%d,\"rows\":%lld,\"systems\":%lld,\"precision\":\"%s\"", item->block, (long long)item->rows,
         (long long)item->systems, precision_name[single]);
  tool_print_member("program", program->name);
  tool_print_member("layout", program->layout == KARST_TRIDIAGONAL_AOS ? "aos" : "soa");
  tool_print_member("device", program->processor->gpu ? karst_context_device(batches->gpu) : "cpu");
  printf(",\"threads\":%d,\"repeat\":%d", program->processor->threads, figure->repetitions);
  tool_print_member("description", figure->description);
  tool_print_number_member("copy_bandwidth", program->processor->copy);
  for (int t = 0; t < BATCH_TIMES; t++) tool_print_number_member(name[t], figure->seconds[t]);
  tool_print_number_member("bytes", batch_bytes(item, single, BATCH_SOLVE));
  tool_print_number_member("share", share(item, program, single, figure, BATCH_SOLVE));
  tool_print_number_member("factored_share", share(item, program, single, figure, BATCH_FACTORED));
  tool_print_number_member("speedup", speedup(batches, single, i, p));
  tool_print_number_member("error", figure->error);
  tool_print_number_member("discretization", batches->settings->rows ? NAN : batch_discretization(item));
  printf("}\n");
}

void bench_batches_report_json(const bench_batches *batches)
{
  for (int single = BATCH_PRECISIONS - 1; single >= 0; single--)
    for (int i = 0; i < batches->items; i++)
      for (int p = 0; p < batches->programs; p++)
        if (batch_is_measured(&batches->figure[single][i][p])) json_row(batches, single, i, p);
  fflush(stdout);
}
