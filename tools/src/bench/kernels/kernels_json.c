/* kernels_json.c - prints the figures of one case as lines of JSON. */
#include "tools/src/bench/kernels/bench_kernels.h"

#include "config.h"

#ifdef HAVE_JANSSON
#include "tools/src/common/text.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Returns null for a number that is not finite. */
static json_t *number(double value) { return isfinite(value) ? json_real(value) : json_null(); }

/* Replaces what is not UTF-8 by U+FFFD. */
static json_t *text(const char *value)
{
  char *copy = tool_utf8(value);
  json_t *string = copy ? json_string(copy) : json_null();
  free(copy);
  return string;
}

/* Returns null for a quantity that is 0, which means not measured. */
static json_t *positive(double value) { return value > 0 ? number(value) : json_null(); }

/* Returns null without whole solves, else an object for each solver. */
static json_t *whole_json(const bench_result *result, const bench_sample *sample)
{
  json_t *whole = json_object();

  if (result->what.rtol == 0) {
    json_decref(whole);
    return json_null();
  }
  for (int s = 0; s < BENCH_SOLVERS; s++)
    json_object_set_new(whole, bench_solver[s],
                        json_pack("{so so so}", "iterations", number(sample->value[BENCH_WHOLE_ITERATIONS + s]),
                                  "setup", number(sample->value[BENCH_WHOLE_SETUP + s]), "solve",
                                  number(sample->value[BENCH_WHOLE_SOLVE + s])));
  return whole;
}

static const char *const key[BENCH_COLUMNS] = {"setup",     "symbolic", "factor", "update",
                                               "iteration", "multiply", "apply",  "orthogonalise"};

/* Returns the seconds of each column. */
static json_t *times_json(const bench_result *result, const bench_sample *sample)
{
  json_t *times = json_object();

  for (int c = 0; c < BENCH_COLUMNS; c++)
    json_object_set_new(times, key[c], number(bench_column_seconds(result, sample, c)));
  return times;
}

/* Returns the reason for each column without a time. */
static json_t *missing_json(const bench_result *result, const bench_variant *variant)
{
  json_t *reasons = json_object();

  for (int c = 0; c < BENCH_COLUMNS; c++) {
    const char *why = bench_column_missing(result, variant, c);
    if (why) json_object_set_new(reasons, key[c], json_string(why));
  }
  return reasons;
}

/* Returns null for a preconditioner without sweeps. */
static json_t *sweeps_json(const bench_result *result, const bench_variant *variant)
{
  const struct bench_sweeps *sweeps = &variant->sweeps;

  if (!sweeps->any) return json_null();
  return json_pack("{si ss so so sI}", "count", (int)tool_option_number(result->what.options, "sweeps"), "mode",
                   tool_option_text(result->what.options, "sweep-mode"), "residual_before", number(sweeps->before),
                   "residual_after", number(sweeps->after), "fallbacks", (json_int_t)sweeps->fallbacks);
}

/* Returns null for the natural order. */
static json_t *order_json(const bench_result *result, const bench_variant *variant)
{
  const karst_order_cost *cost = &variant->ordered.cost;

  if (!variant->reordered) return json_null();
  return json_pack("{ss ss si so sI so sI sI sI}", "name", result->what.ordering, "trisolve_used",
                   variant->ordered.trisolve, "tile_size", result->what.tile_size, "seconds",
                   number(variant->info.time_order), "levels", (json_int_t)cost->levels, "natural_levels",
                   cost->natural_levels > 0 ? json_integer(cost->natural_levels) : json_null(), "tiles",
                   (json_int_t)cost->tiles, "colours", (json_int_t)cost->colours, "tile_levels",
                   (json_int_t)cost->tile_levels);
}

static json_t *variant_json(const bench_result *result, const bench_variant *variant)
{
  const bench_case *what = &result->what;
  const bench_traffic *t = &variant->traffic;
  const bench_sample *sample = &variant->median;
  const bench_place *place = variant->place;
  json_t *object = json_pack("{so sb sI si sI ss so si sI ss si si si so}", "matrix", text(what->matrix), "negated",
                             what->negate, "rows", (json_int_t)result->rows, "block", result->block_size, "blocks",
                             (json_int_t)result->blocks, "precond", variant->precond ? variant->precond : "iluk", "way",
                             text(what->way), "level", what->level, "factor_entries",
                             (json_int_t)(variant->reordered ? variant->info.factor_entries : result->factor_entries),
                             "solver", "gmres", "restart", what->restart, "iterations", what->iterations, "repeat",
                             result->repeat, "rtol", what->rtol > 0 ? number(what->rtol) : json_null());
  json_t *moved = json_pack("{so so so so}", "iteration", number(t->iteration), "multiply", number(t->multiply),
                            "apply", number(t->apply), "orthogonalise", number(t->orthogonalise));
  json_t *memory =
      json_pack("{so so so so}", "peak", result->peak_memory > 0 ? number(result->peak_memory) : json_null(), "matrix",
                number(t->matrix), "factors", number(t->factors), "vector", number(t->vector));
  json_t *run = json_pack(
      "{so so so si so so so so so so so so so so}", "program", text(variant->name), "order",
      order_json(result, variant), "device", text(place && place->gpu ? karst_context_device(place->context) : "cpu"),
      "threads", variant->threads, "copy_bandwidth", positive(variant->copy), "triad_bandwidth",
      positive(variant->triad), "first_residual", number(sample->value[BENCH_FIRST_RESIDUAL]), "last_residual",
      number(sample->value[BENCH_LAST_RESIDUAL]), "times", times_json(result, sample), "not_measured",
      missing_json(result, variant), "sweeps", sweeps_json(result, variant), "whole", whole_json(result, sample),
      "bytes_moved", moved, "memory", memory);
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
