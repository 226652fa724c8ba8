/* The report of solve with values of a method that it does not know. Each value is a line of the text and a key of the
 * JSON object, whatever its name and number. */
#include "config.h"

#include "tests/support/problem.h"

#include "tools/src/solve/effective.h"
#include "tools/src/solve/solve_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef HAVE_JANSSON
#include "tests/support/json_values.h"
#endif

static karst_value values[] = {{.name = "levels_lower", .unit = "level sets", .number = 7},
                               {.name = "iterations", .unit = "", .number = 2.5},
                               {.name = "error", .unit = "", .number = 0.25},
                               {.name = "precond_error", .unit = "", .number = 0.5},
                               {.name = "cells", .unit = "cells", .number = 1234567},
                               {.name = "huge", .unit = "", .number = 1e300},
                               {.name = "lost", .unit = "", .number = NAN},
                               {.name = "endless", .unit = "Pa", .number = INFINITY},
                               {.name = "coarse_method", .unit = "", .number = NAN, .text = "direct\x1b[2J \xff"},
                               {.name = "shifted", .unit = "", .number = NAN, .text = "never"},
                               {.name = "fallbacks", .unit = "times", .number = 3}};

/* Standard output of print, from a scratch file; the caller frees it. */
static char *output_of(int (*print)(const karst_context *, const struct solve_report *), const karst_context *context,
                       const struct solve_report *report)
{
  const char *path = tap_scratch("report");
  char *text = calloc(1, 65536);
  fflush(stdout);
  const int saved = dup(STDOUT_FILENO);
  if (!text || saved < 0 || !freopen(path, "w", stdout)) exit(1);
  print(context, report);
  fflush(stdout);
  dup2(saved, STDOUT_FILENO);
  close(saved);
  FILE *file = fopen(path, "r");
  if (!file || fread(text, 1, 65535, file) == 0) exit(1);
  fclose(file);
  return text;
}

static int print_text(const karst_context *context, const struct solve_report *report)
{
  (void)context;
  solve_print_text(report);
  return 0;
}

static void test_text(const struct solve_report *report)
{
  char *text = output_of(print_text, NULL, report);
  tap_ok(strstr(text, "level sets: 7 lower, 0 upper") != NULL, "a value that the report knows is in its sentence");
  tap_ok(!strstr(text, "levels_lower"), "a value that the report knows has no line of its own");
  tap_ok(strstr(text, "\ncells       1234567 cells\n") && strstr(text, "\nhuge        1e+300\n") &&
             strstr(text, "\nerror       0.25\n"),
         "each other value has a line, with its unit");
  tap_ok(strstr(text, "\nlost        not finite\n") && strstr(text, "\nendless     not finite Pa\n"),
         "a number that is not finite is in words");
  tap_ok(strstr(text, "\ncoarse_method direct\\x1b[2J \\xff\n") != NULL, "texts are safe for a terminal");
  tap_ok(strstr(text, "\nshifted     never\n") && !strstr(text, "pivot blocks"),
         "a text where the report knows a number is a line too");
  tap_ok(strstr(text, "\nfallbacks   3 times\n") && !strstr(text, "sweeps  "),
         "a value of sweeps has a line if there are no sweeps");
  free(text);
}

#ifdef HAVE_JANSSON
/* Whether the object has the key, with this number. */
static bool is_number(const json_t *object, const char *key, double number) { return number_at(object, key) == number; }

static json_t *parse(const karst_context *context, const struct solve_report *report)
{
  char *text = output_of(solve_print_json, context, report);
  json_t *object = parse_json(text);
  tap_ok(object != NULL, "the report is JSON and has no key twice");
  free(text);
  return object;
}

static void test_json(const struct solve_report *report)
{
  json_t *object = parse(NULL, report);
  tap_ok(is_number(object, "levels_lower", 7) && is_number(object, "cells", 1234567) &&
             is_number(object, "huge", 1e300) && json_is_integer(json_object_get(object, "cells")),
         "a value is under its name");
  tap_ok(is_null(object, "lost") && is_null(object, "endless"), "a value that is not finite is null");
  tap_ok(strcmp(text_at(object, "coarse_method"), "direct\x1b[2J \xef\xbf\xbd") == 0, "a text is made UTF-8");
  tap_ok(is_number(object, "iterations", 12) && is_number(object, "precond_iterations", 2.5),
         "a name that the report uses itself gets a prefix");
  tap_ok(!json_object_get(object, "error") && is_number(object, "precond_error", 0.25) &&
             is_number(object, "precond_precond_error", 0.5),
         "a key of errors gets a prefix");
  tap_ok(is_number(object, "levels_upper", 0) && is_null(object, "trisolve_used") && is_null(object, "ilu_residual") &&
             is_number(object, "fallbacks", 3),
         "keys that are always present are 0 or null without a value");
  json_decref(object);
}

static void test_json_without_values(struct solve_report report)
{
  static const char *const counts[] = {"levels_lower", "levels_upper", "shifted", "fallbacks"};
  static const char *const others[] = {"trisolve_used", "sweep_residual_before", "sweep_residual_after",
                                       "ilu_residual"};
  report.values.count = 0;
  json_t *object = parse(NULL, &report);
  bool right = true;
  for (int i = 0; i < 4; i++) right = right && is_number(object, counts[i], 0) && is_null(object, others[i]);
  tap_ok(right, "the keys that programs read are present for a method that reports nothing");
  json_decref(object);
}

/* This is the last test, because it changes the options. */
static void test_options_inside(karst_context *context, struct solve_report report)
{
  json_t *object = parse(NULL, &report);
  tap_ok(!json_object_get(object, "second_level"), "without two-stage its stages have no options");
  json_decref(object);
  const char *const *pair = PAIRS("precond", "two-stage", "second.level", "3", "first", "two-stage",
                                  "first.second.shift", "0.5", "level", "7");
  for (; pair[0]; pair += 2) tap_need(context, karst_options_set(report.settings->options, pair[0], pair[1]), pair[0]);
  karst_value residual = {.name = "second_ilu_residual", .unit = "", .number = 0.75};
  report.values = (struct tool_values){1, &residual};
  object = parse(NULL, &report);
  tap_ok(is_number(object, "level", 7) && is_number(object, "second_level", 3) &&
             is_number(object, "first_second_shift", 0.5),
         "the options of stages have keys, at any depth");
  tap_ok(!json_object_get(object, "first_rtol") && !json_object_get(object, "first_second_first"),
         "stages have no keys for options that they lack");
  tap_ok(is_number(object, "second_ilu_residual", 0.75), "a value that a stage reports replaces its option");
  json_decref(object);
  char *text = output_of(print_text, NULL, &report);
  tap_ok(strstr(text, "two-stage: two-stage (jacobi, then iluk of level 0), then iluk of level 3,") != NULL,
         "the text names the stages and their levels");
  free(text);
  for (pair = PAIRS("precond", "ras", "local", "two-stage", "local.first", "ras", "local.first.local.level", "2");
       pair[0]; pair += 2)
    tap_need(context, karst_options_set(report.settings->options, pair[0], pair[1]), pair[0]);
  object = parse(NULL, &report);
  tap_ok(is_number(object, "local_first_local_level", 2) && !json_object_get(object, "second_level"),
         "so have those of the preconditioner on each rank");
  json_decref(object);
  text = output_of(print_text, NULL, &report);
  tap_ok(strstr(text, "ras: two-stage (ras (iluk of level 2, overlap 1), then iluk of level 0), overlap 1,") != NULL,
         "and the text names it");
  free(text);
}
#endif

/* A profile with unknown numbers, as of a GPU without memory for the copy. */
static const struct solve_profile profile = {.copy = 0,
                                             .time_update = 0.25,
                                             .time_solve = 0.75,
                                             .iterations = 12,
                                             .count = 2,
                                             .operation = {{"matrix product", 12, 0.5, 5e9}, {"scalars", 3, 0.125, 0}},
                                             .kernels = 2,
                                             .kernel = {{"multiply<3>", 12, 0.375, 0}, {"dots\x1b", 12, 0.125, 0}}};

static void test_profile(struct solve_report report, struct solve_settings settings)
{
  settings.profile = true;
  report.settings = &settings;
  report.profile = profile;
  char *text = output_of(print_text, NULL, &report);
  tap_ok(strstr(text, "not enough memory to measure the speed of a copy") &&
             strstr(text, "       12    500.000  50.0%     10.0       -  matrix product\n") &&
             strstr(text, "        3    125.000  12.5%        -       -  scalars\n") &&
             strstr(text, "          375.000  37.5%                   between the operations\n"),
         "a profile has a line for each operation, and dashes for what is not known");
  tap_ok(strstr(text, "       12    375.000  75.0%  multiply<3>\n") && strstr(text, "25.0%  dots\\x1b\n"),
         "a profile has a line for each kernel");
  free(text);
#ifdef HAVE_JANSSON
  json_t *object = parse(NULL, &report), *shown = json_object_get(object, "profile");
  const json_t *row = json_array_get(json_object_get(shown, "rows"), 0);
  const json_t *scalars = json_array_get(json_object_get(shown, "rows"), 1);
  const json_t *kernel = json_array_get(json_object_get(shown, "kernels"), 0);
  tap_ok(is_null(shown, "copy_bandwidth") && is_number(shown, "update", 0.25) && is_number(row, "bandwidth", 10) &&
             is_null(row, "share") && is_null(scalars, "bytes") && is_null(scalars, "bandwidth") &&
             is_number(kernel, "launches", 12) && is_number(kernel, "seconds", 0.375),
         "a profile in JSON has null for what is not known");
  json_decref(object);
#endif
}

/* A registered method reports a value under a name that auto uses. */
static karst_status report_choice(karst_precond *p)
{
  return karst_precond_put_text(p, "auto_choice", "--precond jacobi --level 9");
}

static karst_status keep(karst_precond *p)
{
  (void)p;
  return KARST_SUCCESS;
}

static karst_status copy(karst_precond *p, const karst_vector *r, karst_vector *z)
{
  (void)p;
  return karst_vector_copy(r, z);
}

static void drop(karst_precond *p) { (void)p; }

/* The options of a registered method are in JSON as those of the library, and its values change no option in effect. */
static void test_registered(struct solve_report report, struct solve_settings settings)
{
  static const karst_option rows[] = {{"amount", KARST_OPTION_INTEGER, 0, 0, NULL, 0, "4", "a number", NULL}, {0}};
  static const karst_precond_method method = {.name = "own",
                                              .help = "reports a value of auto's name",
                                              .options = rows,
                                              .settings = sizeof(int64_t),
                                              .setup = report_choice,
                                              .update = keep,
                                              .apply = copy,
                                              .destroy = drop};
  karst_context *context;
  karst_solver *solver;
  tap_need(NULL, karst_context_create(NULL, &context), "context");
  tap_need(context, karst_precond_register(context, &method), "method");
  settings.options = options_of(context, PAIRS("precond", "own"));
  karst_matrix *A = matrix_from(context, "poisson2d:3x3", 1);
  tap_need(context, karst_solver_create(context, settings.options, &solver), "solver");
  tap_need(context, karst_solver_setup(solver, A), "set-up");
  report.settings = &settings;
  const int made = tool_effective_options(context, settings.options, solver, &report.effective);
  tap_ok(made == TOOL_GO_ON && strcmp(tool_option_text(report.effective, "precond"), "own") == 0 &&
             tool_option_number(report.effective, "level") == 0,
         "a value that another method reports under auto's name changes no option");
#ifdef HAVE_JANSSON
  json_t *object = parse(context, &report);
  tap_ok(is_number(object, "amount", 4), "the JSON report has the options of registered methods");
  json_decref(object);
#endif
  karst_options_destroy(report.effective);
  karst_solver_destroy(solver);
  karst_matrix_destroy(A);
  karst_options_destroy(settings.options);
  karst_context_destroy(context);
}

int main(void)
{
  struct solve_settings settings = {.matrix = "poisson2d:3x3", .device = "cpu"};
  struct solve_report report = {.settings = &settings,
                                .rhs = "ones",
                                .rhs_file = "",
                                .device = "cpu",
                                .threads = 1,
                                .result = {.reason = KARST_CONVERGED_RTOL, .iterations = 12},
                                .explanation = "converged",
                                .failed = TOOL_GO_ON,
                                .values = {sizeof values / sizeof *values, values}};
  karst_context *context;
  tap_need(NULL, karst_context_create(NULL, &context), "context");
  tap_need(context, karst_options_create(context, &settings.options), "options");
  report.effective = settings.options;
  test_text(&report);
  test_profile(report, settings);
  test_registered(report, settings);
#ifdef HAVE_JANSSON
  test_json(&report);
  test_json_without_values(report);
  test_options_inside(context, report);
#else
  tap_skip("built without jansson", "the JSON report");
#endif
  karst_options_destroy(settings.options);
  karst_context_destroy(context);
  return tap_done();
}
