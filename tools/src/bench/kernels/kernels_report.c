/* kernels_report.c - prints the figures of one case as a table; kernels_json.c prints them as lines of JSON. */
#include "tools/src/bench/kernels/bench_kernels.h"
#include "tools/src/common/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The columns of the table: what was timed. Bytes are counted for the columns from COUNTED on. */
enum { COLUMNS = BENCH_COLUMNS, COUNTED = 4 /* the first column whose bytes are counted */ };
static const char *const heading[COLUMNS] = {"set-up",    "symbolic", "factor", "update",
                                             "iteration", "A x",      "M^-1 r", "vectors"};

double bench_column_seconds(const bench_result *result, const bench_sample *sample, int column)
{
  return column < COLUMNS - 1 ? sample->value[BENCH_SETUP + column]
                              : bench_orthogonalise_seconds(sample, result->what.restart);
}

static double bytes(const bench_traffic *t, int column)
{
  const double moved[COLUMNS] = {0, 0, 0, 0, t->iteration, t->multiply, t->apply, t->orthogonalise};
  return moved[column];
}

/* Returns NaN if b is 0 and a is not. */
static double relative_difference(double a, double b) { return a == b ? 0 : b == 0 ? NAN : fabs(a - b) / fabs(b); }

const char *bench_column_missing(const bench_result *result, const bench_variant *variant, int column)
{
  const bench_sample *sample = &variant->median;

  if (isfinite(bench_column_seconds(result, sample, column))) return NULL;
  if (!variant->place && isfinite(sample->value[BENCH_SETUP])) return "the program does not report it";
  if (!isfinite(sample->value[BENCH_ITERATION])) return "the solve ended before the iterations that are timed";
  if (column == COLUMNS - 1) return "an iteration took no longer than A x and M^-1 r by themselves: too short to time";
  return "it was not timed";
}

/* Prints a row. A value that is not finite is a dash, or a blank in the columns before first, which the row does not
 * cover. */
static void print_row(const char *name, const double *value, int first, const char *format)
{
  printf("%-26s", name);
  for (int c = 0; c < COLUMNS; c++) {
    if (isfinite(value[c])) {
      printf(format, value[c]);
    } else {
      printf("%10s", c < first ? "" : "-");
    }
  }
  printf("\n");
}

/* Prints the times of variant over those of base, in a row that names one of the two. */
static void print_ratio(const bench_result *result, const char *before, const bench_variant *named, const char *behind,
                        const bench_variant *variant, const bench_variant *base)
{
  char name[2 * sizeof named->name];
  double ratio[COLUMNS];

  snprintf(name, sizeof name, "  %s%s%s", before, named->name, behind);
  for (int c = 0; c < COLUMNS; c++)
    ratio[c] = bench_column_seconds(result, &variant->median, c) / bench_column_seconds(result, &base->median, c);
  print_row(name, ratio, 0, "%10.2f");
}

static const bench_variant *first_on_gpu(const bench_result *result)
{
  for (int v = 0; v < result->variants; v++)
    if (result->variant[v].place && result->variant[v].place->gpu) return &result->variant[v];
  return NULL;
}

/* Compares the first variant on a GPU with each of the CPU, and a later one with each before it on the GPU; another
 * order with the natural one, which is the variant before it; any other variant with the first one. */
static void print_ratios(const bench_result *result, const bench_variant *variant)
{
  const bench_variant *first = &result->variant[0], *gpu = first_on_gpu(result);

  if (variant == gpu) {
    for (const bench_variant *base = first; base < gpu; base++) print_ratio(result, "", base, " /", base, gpu);
  } else if (variant->place && variant->place->gpu) {
    for (const bench_variant *base = gpu; base < variant; base++) print_ratio(result, "/ ", base, "", variant, base);
  } else if (variant->reordered) {
    print_ratio(result, "/ ", variant - 1, "", variant, variant - 1);
  } else if (variant->is_peer) {
    print_ratio(result, "karst / ", variant, "", first, variant);
  } else if (variant != first) {
    print_ratio(result, "/ ", first, "", variant, first);
  }
}

/* Prints the times of a variant, and below them bandwidths if that of the memory is known. */
static void print_variant(const bench_result *result, const bench_variant *variant)
{
  const bool slow = variant->place == NULL || variant->place->gpu == NULL; /* milliseconds with two digits suffice */
  double milliseconds[COLUMNS], megabytes[COLUMNS], rate[COLUMNS], share[COLUMNS];

  for (int c = 0; c < COLUMNS; c++) {
    const double time = bench_column_seconds(result, &variant->median, c), moved = bytes(&variant->traffic, c);
    megabytes[c] = moved > 0 ? moved / 1e6 : NAN;
    milliseconds[c] = 1e3 * time;
    rate[c] = moved > 0 ? moved / time / 1e9 : NAN;
    share[c] = moved > 0 ? moved / time / variant->copy : NAN;
  }
  print_row(variant->name, milliseconds, 0, slow ? "%10.2f" : "%10.3f");
  if (variant->traffic.factors != result->traffic.factors)
    print_row("  megabytes to move", megabytes, COUNTED, "%10.0f");
  if (variant->copy > 0) {
    print_row("  GB/s", rate, COUNTED, "%10.1f");
    print_row("  share of copy", share, COUNTED, "%10.2f");
  }
  print_ratios(result, variant);
}

/* Prints a whole solve, and its time over that of base. */
static void print_whole_variant(const bench_variant *variant, const bench_variant *base, int s)
{
  const double *value = variant->median.value, *other = base->median.value;
  const double setup = value[BENCH_WHOLE_SETUP + s], solve = value[BENCH_WHOLE_SOLVE + s];
  const double base_total = other[BENCH_WHOLE_SETUP + s] + other[BENCH_WHOLE_SOLVE + s];

  printf("%-26s", variant->name);
  if (!isfinite(solve)) {
    printf("  does not converge\n");
    return;
  }
  printf("%10.0f%10.2f%10.2f%10.2f", value[BENCH_WHOLE_ITERATIONS + s], 1e3 * setup, 1e3 * solve,
         1e3 * (setup + solve));
  if (isfinite(base_total)) printf("%10.2f", (setup + solve) / base_total);
  printf("\n");
}

/* Compares with Karst on the GPU, or without a GPU with the first variant. */
static void print_whole(const bench_result *result)
{
  const bench_variant *gpu = first_on_gpu(result), *base = gpu ? gpu : &result->variant[0];
  char name[64];

  for (int s = 0; s < BENCH_SOLVERS; s++) {
    snprintf(name, sizeof name, "%s to %.0e, ms", bench_solver[s], result->what.rtol);
    printf("%-26s%10s%10s%10s%10s%10s\n", name, "iterations", "set-up", "solve", "total", "ratio");
    for (int v = 0; v < result->variants; v++)
      if (result->variant[v].place) print_whole_variant(&result->variant[v], base, s);
  }
}

static void print_memory(const bench_result *result)
{
  const bench_traffic *t = &result->traffic;
  const int vectors = result->what.restart + 4;
  const double sum = t->matrix + t->factors + vectors * t->vector;

  printf("peak memory %.0f MB = %.2f of %.0f MB: matrix %.0f, factors %.0f, %d vectors (b, x, M^-1 v, basis) %.0f\n",
         result->peak_memory / 1e6, result->peak_memory / sum, sum / 1e6, t->matrix / 1e6, t->factors / 1e6, vectors,
         vectors * t->vector / 1e6);
}

static void print_gpu(const bench_result *result)
{
  const bench_variant *gpu = first_on_gpu(result);
  const bench_traffic *t = &result->traffic;

  if (!gpu) return;
  printf("memory, %s: copy %.1f GB/s; milliseconds of A x and M^-1 r by the GPU's clock\n",
         karst_context_device(gpu->place->context), gpu->copy / 1e9);
  if (t->multiply < result->cache || t->apply < result->cache)
    printf("what %s reads fits the second-level cache of %.0f MB: its share of the copy bandwidth means little\n",
           t->multiply < result->cache && t->apply < result->cache ? "A x and M^-1 r each"
           : t->multiply < result->cache                           ? "A x"
                                                                   : "M^-1 r",
           result->cache / 1e6);
}

/* Prints the residuals before and after the sweeps of a preconditioner. */
static void print_sweeps(const bench_result *result)
{
  for (int v = 0; v < result->variants; v++) {
    const bench_variant *variant = &result->variant[v];
    const struct bench_sweeps *sweeps = &variant->sweeps;
    if (!sweeps->any) continue;
    printf("%s, %s: %d %s sweeps change the nonlinear residual norm from %.3e to %.3e%s\n", variant->name,
           variant->precond, (int)tool_option_number(result->what.options, "sweeps"),
           tool_option_text(result->what.options, "sweep-mode"), sweeps->before, sweeps->after,
           sweeps->fallbacks ? "; the factors are the exact ones instead" : "");
  }
}

static void print_residuals(const bench_result *result)
{
  const double *first = result->variant[0].median.value;

  if (!isfinite(first[BENCH_LAST_RESIDUAL])) return;
  printf("residual %.6e falls to %.6e in the timed iterations", first[BENCH_FIRST_RESIDUAL],
         first[BENCH_LAST_RESIDUAL]);
  for (int v = 1; v < result->variants; v++) {
    const bench_variant *variant = &result->variant[v];
    if (variant->reordered) continue;
    double difference = relative_difference(variant->median.value[BENCH_LAST_RESIDUAL], first[BENCH_LAST_RESIDUAL]);
    if (isfinite(difference)) printf("; %s differs by %.1e", variant->name, difference);
  }
  printf("\n");
}

/* Prints what the order is made of, and how long it took. */
static void print_order(const bench_result *result)
{
  for (int v = 0; v < result->variants; v++) {
    const bench_variant *variant = &result->variant[v];
    const karst_order_cost *cost = &variant->ordered.cost;
    if (!variant->reordered) continue;
    printf("%s: ordered in %.3f ms; %lld level%s of at most %lld block row%s, in natural order ", variant->name,
           1e3 * variant->info.time_order, (long long)cost->levels, tool_plural(cost->levels),
           (long long)cost->widest_level, tool_plural(cost->widest_level));
    if (cost->natural_levels > 0)
      printf("%lld", (long long)cost->natural_levels);
    else
      printf("too many blocks to be counted");
    if (cost->tiles > 0)
      printf("; %lld tile%s in %lld colour%s, %lld level%s of tiles", (long long)cost->tiles, tool_plural(cost->tiles),
             (long long)cost->colours, tool_plural(cost->colours), (long long)cost->tile_levels,
             tool_plural(cost->tile_levels));
    if (variant->ordered.trisolve[0]) printf("; solved by %s", variant->ordered.trisolve);
    printf("\n");
  }
}

/* Prints which columns have no time, and why. */
static void print_missing(const bench_result *result)
{
  for (int v = 0; v < result->variants; v++)
    for (int c = 0; c < COLUMNS; c++) {
      const char *why = bench_column_missing(result, &result->variant[v], c);
      if (why) printf("%s, no figure for \"%s\": %s\n", result->variant[v].name, heading[c], why);
    }
}

void bench_report_table(const bench_result *result)
{
  const bench_traffic *t = &result->traffic;
  const bench_case *what = &result->what;
  const double megabytes[COLUMNS] = {
      NAN, NAN, NAN, NAN, t->iteration / 1e6, t->multiply / 1e6, t->apply / 1e6, t->orthogonalise / 1e6};

  tool_print_safely(stdout, what->matrix);
  printf(": %s%lld row%s, %lld block%s of %d; %s", what->negate ? "negated, " : "", (long long)result->rows,
         tool_plural(result->rows), (long long)result->blocks, tool_plural(result->blocks), result->block_size,
         strcmp(what->way, "iluk") == 0 ? "ILU" : what->way);
  if (bench_has_level(what->options)) printf("(%d)", what->level);
  printf(" with %lld entr%s; GMRES(%d), %d iteration%s; median of %d\n", (long long)result->factor_entries,
         result->factor_entries == 1 ? "y" : "ies", what->restart, what->iterations, tool_plural(what->iterations),
         result->repeat);
  printf("%-26s", "milliseconds");
  for (int c = 0; c < COLUMNS; c++) printf("%10s", heading[c]);
  printf("\n");
  print_row("megabytes to move", megabytes, COUNTED, "%10.0f");
  for (int v = 0; v < result->variants; v++) print_variant(result, &result->variant[v]);
  for (int v = 0; v < result->variants; v++) {
    const bench_variant *variant = &result->variant[v];
    if (variant->triad > 0 && !variant->reordered)
      printf("memory, %s: copy %.1f, triad %.1f GB/s\n", variant->name, variant->copy / 1e9, variant->triad / 1e9);
  }
  print_gpu(result);
  print_order(result);
  print_sweeps(result);
  print_residuals(result);
  print_missing(result);
  if (what->rtol > 0) print_whole(result);
  if (result->peak_memory > 0) print_memory(result);
  printf("\n");
}
