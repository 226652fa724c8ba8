/* json.c - the report of solve for programs: one JSON object. Numbers that are not finite become null. */
#include "config.h"

#include "tools/src/solve/solve_report.h"
#include "tools/src/common/text.h"

#ifdef HAVE_JANSSON
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A file name may hold bytes that are not UTF-8; they become U+FFFD. NULL becomes null. */
static json_t *text_json(const char *value)
{
  char *copy = value ? tool_utf8(value) : NULL;
  json_t *text = copy ? json_string(copy) : json_null();
  free(copy);
  return text;
}

static json_t *real(double value) { return isfinite(value) ? json_real(value) : json_null(); }

static void set_text(json_t *object, const char *key, const char *value)
{
  json_object_set_new(object, key, text_json(value));
}

static void set_integer(json_t *object, const char *key, int64_t value)
{
  json_object_set_new(object, key, json_integer(value));
}

static void set_real(json_t *object, const char *key, double value) { json_object_set_new(object, key, real(value)); }

/* [nx, ny, nz], or null where the matrix has no grid. */
static void set_grid(json_t *object, const karst_index size[3])
{
  json_t *sizes = size[0] > 0 ? json_array() : json_null();
  for (int axis = 0; axis < 3 && size[0] > 0; axis++) json_array_append_new(sizes, json_integer(size[axis]));
  json_object_set_new(object, "grid", sizes);
}

static void set_input(json_t *object, const struct solve_report *report)
{
  const struct solve_settings *settings = report->settings;
  set_text(object, "matrix", settings->matrix);
  json_object_set_new(object, "negated", json_boolean(settings->negate));
  json_object_set_new(object, "stored_triangle", json_boolean(settings->stored_triangle));
  set_integer(object, "inserted_diagonal", report->inserted);
  set_integer(object, "rows", report->rows);
  set_integer(object, "block", report->block);
  set_grid(object, report->grid.size);
  set_integer(object, "nnz", report->entries);
  set_integer(object, "file_entries", report->file_entries);
  set_text(object, "rhs", report->rhs);
  set_text(object, "rhs_file", *report->rhs_file ? report->rhs_file : NULL);
  set_text(object, "device", settings->device);
  set_text(object, "device_name", report->device);
  set_integer(object, "threads", report->threads);
}

static void set_option(json_t *object, const char *key, karst_option_kind kind, const char *text)
{
  if (kind == KARST_OPTION_INTEGER)
    set_integer(object, key, strtoll(text, NULL, 10));
  else if (kind == KARST_OPTION_REAL)
    set_real(object, key, strtod(text, NULL));
  else
    set_text(object, key, text);
}

/* Whether a method has a preconditioner inside that its row names, and whose options are not values of its report. */
static bool has_inside(const char *precond, const karst_option_info *row)
{
  const bool local = strcmp(row->name, "local") == 0;
  return row->kind == KARST_OPTION_PRECOND && strcmp(precond, local ? "ras" : "two-stage") == 0;
}

/* All of the context that are not for experiments, by their names with '_' for '-' and '.'; those of a
 * preconditioner inside where two-stage or ras was chosen, so that the report says how to repeat the run. prefix: "",
 * or what the names begin with there, such as "first.". A value of the same name takes the place of an option inside.
 * */
static void set_options(json_t *object, const karst_context *context, const struct solve_report *report,
                        const char *prefix)
{
  const karst_options *options = report->settings->options;
  karst_option_info info;
  char name[256], key[256];
  const char *text;
  snprintf(name, sizeof name, "%sprecond", prefix);
  const char *precond = tool_option_text(options, name);
  for (size_t i = 0; karst_options_info(context, i, &info); i++) {
    const bool has_stage = has_inside(precond, &info);
    const bool is_told = *prefix && (strcmp(info.name, "precond") == 0 || /* under the name of the stage */
                                     (info.kind == KARST_OPTION_PRECOND && !has_stage));
    snprintf(name, sizeof name, "%s%s", prefix, info.name);
    if (info.experiment || is_told || karst_options_get(options, name, &text)) continue; /* no option of a stage */
    snprintf(key, sizeof key, "%s", name);
    for (char *mark = key; (mark = strpbrk(mark, "-."));) *mark = '_';
    if (!*prefix || !tool_value(&report->values, key)) set_option(object, key, info.kind, text);
    if (has_stage) {
      snprintf(name, sizeof name, "%s%s.", prefix, info.name);
      set_options(object, context, report, name);
    }
  }
}

/* Keys that each report has, so that programs need not know which method has which: 0 or null where the method has
 * nothing to say. */
static const struct usual {
  const char *key;
  bool counts; /* 0, else null */
} usual[] = {{"levels_lower", true},
             {"levels_upper", true},
             {"trisolve_used", false},
             {"shifted", true},
             {"fallbacks", true},
             {"sweep_residual_before", false},
             {"sweep_residual_after", false},
             {"ilu_residual", false},
             {"solver_used", false},
             {NULL, false}};

static json_t *value_json(const karst_value *value)
{
  const double most = 9007199254740992; /* 2^53: up to there a double holds each integer */
  if (!isfinite(value->number) || fabs(value->number) > most || value->number != rint(value->number))
    return isfinite(value->number) ? json_real(value->number) : json_null();
  return json_integer((json_int_t)value->number);
}

/* Whether a value may have the key: no other part of the report has it, that of an error included. */
static bool is_free(const json_t *object, const char *key)
{
  for (const struct usual *value = usual; value->key; value++)
    if (strcmp(value->key, key) == 0) return true;
  return !json_object_get(object, key) && strcmp(key, "error") != 0 && strcmp(key, "error_status") != 0 &&
         strcmp(key, "status") != 0;
}

/* To be called when all other keys are there. */
static void set_values(json_t *object, const struct tool_values *values)
{
  static const char prefix[] = "precond_";
  const size_t longer = sizeof prefix - 1;
  for (size_t i = 0; i < values->count; i++) {
    const karst_value *value = &values->value[i];
    char key[512];
    snprintf(key, sizeof key, "%s", value->name);
    while (!is_free(object, key) && strlen(key) + longer < sizeof key) {
      memmove(key + longer, key, strlen(key) + 1);
      memcpy(key, prefix, longer);
    }
    if (value->text)
      set_text(object, key, value->text);
    else
      json_object_set_new(object, key, value_json(value));
  }
}

static void set_result(json_t *object, const struct solve_report *report)
{
  const karst_result *result = &report->result;
  set_integer(object, "iterations", result->iterations);
  json_object_set_new(object, "converged", json_boolean(result->reason > 0));
  set_text(object, "reason", karst_reason_text(result->reason));
  set_text(object, "explanation", report->explanation);
  set_text(object, "hint", *report->hint ? report->hint : NULL);
  json_object_set_new(object, "block_row", result->block_row < 0 ? json_null() : json_integer(result->block_row));
  set_real(object, "residual", result->residual);
  set_real(object, "relative_residual", result->relative_residual);
  set_real(object, "max_error", report->settings->exact ? report->max_error : NAN);
}

static void set_info(json_t *object, const struct solve_report *report)
{
  const karst_solver_info *info = &report->info;
  set_integer(object, "factor_entries", info->factor_entries);
  set_real(object, "fill", info->fill);
  set_real(object, "fill_file", solve_fill_file(report));
  for (const struct usual *value = usual; value->key; value++)
    json_object_set_new(object, value->key, value->counts ? json_integer(0) : json_null());
  set_integer(object, "memory", info->memory);
  json_object_set_new(object, "times",
                      json_pack("{so so so so so so}", "read", real(report->time_read), "order", real(info->time_order),
                                "symbolic", real(info->time_symbolic), "factor", real(info->time_factor), "transfer",
                                real(info->time_transfer), "solve", real(info->time_solve)));
}

/* The object of --profile, or null. Bandwidths are in GB/s. */
static json_t *profile_json(const struct solve_report *report)
{
  const struct solve_profile *profile = &report->profile;
  if (!report->settings->profile) return json_null();
  json_t *rows = json_array(), *kernels = json_array();
  for (int i = 0; i < profile->count; i++) {
    const struct solve_operation *row = &profile->operation[i];
    json_array_append_new(
        rows, json_pack("{so sI so so so so}", "name", text_json(row->name), "calls", (json_int_t)row->calls, "seconds",
                        real(row->seconds), "bytes", real(row->bytes > 0 ? row->bytes : NAN), "bandwidth",
                        real(1e-9 * solve_bandwidth(row)), "share", real(solve_copy_share(profile, row))));
  }
  for (int i = 0; i < profile->kernels; i++)
    json_array_append_new(kernels,
                          json_pack("{so sI so}", "name", text_json(profile->kernel[i].name), "launches",
                                    (json_int_t)profile->kernel[i].calls, "seconds", real(profile->kernel[i].seconds)));
  return json_pack("{so si so so so so}", "copy_bandwidth", real(profile->copy > 0 ? 1e-9 * profile->copy : NAN),
                   "iterations", profile->iterations, "update", real(profile->time_update), "solve",
                   real(profile->time_solve), "rows", rows, "kernels", kernels);
}

/* The objects of --repeat, --reference and --profile: null where they were not asked for. */
static void set_extras(json_t *object, const struct solve_report *report)
{
  const struct reference *reference = &report->reference;
  const int repeat = report->settings->repeat;
  json_object_set_new(object, "repeat",
                      repeat ? json_pack("{si so so}", "count", repeat, "factor", real(report->repeat.factor), "solve",
                                         real(report->repeat.solve))
                             : json_null());
  json_object_set_new(object, "reference",
                      report->settings->reference
                          ? json_pack("{sb so so so so}", "singular", reference->singular, "difference",
                                      real(reference->difference), "residual", real(reference->residual), "rcond",
                                      real(reference->rcond), "time", real(reference->time))
                          : json_null());
  json_object_set_new(object, "profile", profile_json(report));
}

int solve_print_json(const karst_context *context, const struct solve_report *report)
{
  json_t *object = json_object();
  if (!object) return tool_fail_memory("the JSON report");
  set_input(object, report);
  set_options(object, context, report, "");
  if (report->effective && strcmp(tool_option_text(report->settings->options, "ordering"), "auto") == 0)
    set_text(object, "ordering", tool_option_text(report->effective, "ordering"));
  set_result(object, report);
  set_info(object, report);
  if (report->ranks) {
    set_integer(object, "ranks", report->ranks);
    set_text(object, "transport", report->transport);
    set_text(object, "partition", report->partition);
    set_real(object, "largest_part", report->largest_part);
    set_integer(object, "ghosts", report->ghosts);
  }
  if (report->effective) set_text(object, "solver_used", tool_option_text(report->effective, "solver"));
  set_extras(object, report);
  if (report->failed != TOOL_GO_ON) {
    set_text(object, "error", tool_sentence());
    set_text(object, "error_status", tool_error_status());
    set_integer(object, "status", report->failed);
    tool_answered();
  }
  set_values(object, &report->values);
  bool written = json_dumpf(object, stdout, JSON_INDENT(2)) == 0 && fputc('\n', stdout) != EOF;
  json_decref(object);
  return written ? TOOL_GO_ON : TOOL_FAILED; /* tool_finish says why */
}

int solve_check_json(void) { return TOOL_GO_ON; }

#else

int solve_print_json(const karst_context *context, const struct solve_report *report)
{
  (void)context;
  (void)report;
  return solve_check_json();
}

int solve_check_json(void)
{
  return tool_fail(TOOL_FAILED, "--json needs jansson, but this build was configured without it");
}

#endif
