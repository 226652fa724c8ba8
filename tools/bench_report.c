/* bench_report.c - the figures of one case: a table for people, lines of JSON for programs. */
#include "bench.h"

#include "config.h"

#include <math.h>
#include <stdio.h>

#ifdef HAVE_JANSSON
#include <jansson.h>
#endif

/* Columns of the table: what was timed, and the bytes that it moves (0: not counted). */
enum { COLUMNS = 7 };
static const char *const heading[COLUMNS] = {"set-up", "symbolic", "factor", "iteration", "A x", "M^-1 r", "vectors"};

static double seconds(const bench_result *result, const bench_sample *sample, int column)
{
  return column < COLUMNS - 1 ? sample->value[BENCH_SETUP + column]
                              : bench_orthogonalise_seconds(sample, result->what.restart);
}

static double bytes(const bench_traffic *t, int column)
{
  const double moved[COLUMNS] = {0, 0, 0, t->iteration, t->multiply, t->apply, t->orthogonalise};
  return moved[column];
}

static double relative_difference(double a, double b) { return fabs(a - b) / fabs(b); }

static void print_row(const char *name, const double *value, const char *format)
{
  printf("%-26s", name);
  for (int c = 0; c < COLUMNS; c++) {
    if (isfinite(value[c])) {
      printf(format, value[c]);
    } else {
      printf("%10s", "");
    }
  }
  printf("\n");
}

/* The times of a variant; under them bandwidths for Karst, and ratios to the first variant for all others. */
static void print_variant(const bench_result *result, const bench_variant *variant)
{
  const bench_variant *first = &result->variant[0];
  const bool is_peer = variant->copy == 0;
  double milliseconds[COLUMNS], rate[COLUMNS], share[COLUMNS], ratio[COLUMNS];
  char name[64 + sizeof "karst / "];

  for (int c = 0; c < COLUMNS; c++) {
    const double time = seconds(result, &variant->median, c), moved = bytes(&result->traffic, c);
    const double first_time = seconds(result, &first->median, c);
    milliseconds[c] = 1e3 * time;
    rate[c] = moved > 0 ? moved / time / 1e9 : NAN;
    share[c] = moved > 0 ? moved / time / variant->copy : NAN;
    ratio[c] = is_peer ? first_time / time : time / first_time;
  }
  print_row(variant->name, milliseconds, "%10.2f");
  if (!is_peer) {
    print_row("  GB/s", rate, "%10.1f");
    print_row("  share of copy", share, "%10.2f");
  }
  if (variant == first) return;
  if (is_peer) {
    snprintf(name, sizeof name, "  karst / %s", variant->name);
  } else {
    snprintf(name, sizeof name, "  / %s", first->name);
  }
  print_row(name, ratio, "%10.2f");
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

void bench_report_table(const bench_result *result)
{
  const bench_traffic *t = &result->traffic;
  const bench_sample *first = &result->variant[0].median;
  const bench_case *what = &result->what;
  const double megabytes[COLUMNS] = {
      NAN, NAN, NAN, t->iteration / 1e6, t->multiply / 1e6, t->apply / 1e6, t->orthogonalise / 1e6};

  printf("%s: %lld rows, %lld blocks of %d; ILU(%d) with %lld entries; GMRES(%d), %d iterations; median of %d\n",
         what->matrix, (long long)result->rows, (long long)result->blocks, result->block_size, what->level,
         (long long)result->factor_entries, what->restart, what->iterations, result->repeat);
  printf("%-26s", "milliseconds");
  for (int c = 0; c < COLUMNS; c++) printf("%10s", heading[c]);
  printf("\n");
  print_row("megabytes to move", megabytes, "%10.0f");
  for (int v = 0; v < result->variants; v++) print_variant(result, &result->variant[v]);
  for (int v = 0; v < result->variants; v++) {
    const bench_variant *variant = &result->variant[v];
    if (variant->copy > 0)
      printf("memory, %s: copy %.1f, triad %.1f GB/s\n", variant->name, variant->copy / 1e9, variant->triad / 1e9);
  }
  printf("residual %.6e falls to %.6e in the timed iterations", first->value[BENCH_FIRST_RESIDUAL],
         first->value[BENCH_LAST_RESIDUAL]);
  for (int v = 1; v < result->variants; v++)
    printf(
        "; %s differs by %.1e", result->variant[v].name,
        relative_difference(result->variant[v].median.value[BENCH_LAST_RESIDUAL], first->value[BENCH_LAST_RESIDUAL]));
  printf("\n");
  print_memory(result);
  printf("\n");
}

#ifdef HAVE_JANSSON
/* Null for what JSON cannot hold: numbers that are not finite, text that is not UTF-8. */
static json_t *number(double value) { return isfinite(value) ? json_real(value) : json_null(); }

static json_t *text(const char *value)
{
  json_t *string = json_string(value);
  return string ? string : json_null();
}

static json_t *variant_json(const bench_result *result, const bench_variant *variant)
{
  const bench_case *what = &result->what;
  const bench_traffic *t = &result->traffic;
  const double *value = variant->median.value;
  json_t *object =
      json_pack("{so sI si sI ss si sI ss si si si}", "matrix", text(what->matrix), "rows", (json_int_t)result->rows,
                "block", result->block_size, "blocks", (json_int_t)result->blocks, "precond", "iluk", "level",
                what->level, "factor_entries", (json_int_t)result->factor_entries, "solver", "gmres", "restart",
                what->restart, "iterations", what->iterations, "repeat", result->repeat);
  json_t *times = json_pack("{so so so so so so so}", "setup", number(value[BENCH_SETUP]), "symbolic",
                            number(value[BENCH_SYMBOLIC]), "factor", number(value[BENCH_FACTOR]), "iteration",
                            number(value[BENCH_ITERATION]), "multiply", number(value[BENCH_MULTIPLY]), "apply",
                            number(value[BENCH_APPLY]), "orthogonalise",
                            number(bench_orthogonalise_seconds(&variant->median, what->restart)));
  json_t *moved = json_pack("{so so so so}", "iteration", number(t->iteration), "multiply", number(t->multiply),
                            "apply", number(t->apply), "orthogonalise", number(t->orthogonalise));
  json_t *memory = json_pack("{so so so so}", "peak", number(result->peak_memory), "matrix", number(t->matrix),
                             "factors", number(t->factors), "vector", number(t->vector));
  json_t *run =
      json_pack("{so si so so so so so* so* so*}", "program", text(variant->name), "threads", variant->threads,
                "copy_bandwidth", number(variant->copy), "triad_bandwidth", number(variant->triad), "first_residual",
                number(value[BENCH_FIRST_RESIDUAL]), "last_residual", number(value[BENCH_LAST_RESIDUAL]), "times",
                times, "bytes_moved", moved, "memory", memory);
  json_object_update(object, run);
  json_decref(run);
  return object;
}

bool bench_report_json(const bench_result *result)
{
  for (int v = 0; v < result->variants; v++) {
    json_t *object = variant_json(result, &result->variant[v]);
    json_dumpf(object, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9));
    printf("\n");
    json_decref(object);
  }
  return true;
}
#else
bool bench_report_json(const bench_result *result)
{
  (void)result;
  return false;
}
#endif
