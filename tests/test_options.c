/* test_options.c - every option can be set by name from text, has the default that the table tells, and refuses bad
 * values with one sentence, leaving the field as it was. */
#include "tap.h"

#include <limits.h>
#include <locale.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static karst_context *context;

enum kind { NAME, INTEGER, REAL };

/* Written down independently of the library's table. */
static const struct option {
  const char *name;
  enum kind kind;
  size_t field;
  const char *default_value;
  double least;
} options_known[] = {
    {"solver", NAME, offsetof(karst_options, solver), "gmres", 0},
    {"restart", INTEGER, offsetof(karst_options, restart), "30", 1},
    {"rtol", REAL, offsetof(karst_options, rtol), "1e-8", 0},
    {"atol", REAL, offsetof(karst_options, atol), "0", 0},
    {"max-iterations", INTEGER, offsetof(karst_options, max_iterations), "10000", 0},
    {"side", NAME, offsetof(karst_options, side), "right", 0},
    {"orthogonalise", NAME, offsetof(karst_options, orthogonalise), "auto", 0},
    {"precond", NAME, offsetof(karst_options, precond), "iluk", 0},
    {"level", INTEGER, offsetof(karst_options, level), "0", 0},
    {"sweeps", INTEGER, offsetof(karst_options, sweeps), "5", 0},
    {"sweep-mode", NAME, offsetof(karst_options, sweep_mode), "synchronous", 0},
    {"sweep-scale", NAME, offsetof(karst_options, sweep_scale), "yes", 0},
    {"ilu-residual", NAME, offsetof(karst_options, ilu_residual), "no", 0},
    {"trisolve", NAME, offsetof(karst_options, trisolve), "auto", 0},
    {"trisolve-sweeps", INTEGER, offsetof(karst_options, trisolve_sweeps), "5", 0},
    {"ordering", NAME, offsetof(karst_options, ordering), "natural", 0},
    {"scale", NAME, offsetof(karst_options, scale), "none", 0},
    {"shift", REAL, offsetof(karst_options, shift), "0", 0},
    /* for experiments */
    {"sweep-order", NAME, offsetof(karst_options, sweep_order), "rows", 0},
    {"sweep-block", INTEGER, offsetof(karst_options, sweep_block), "64", 1},
    {"sweep-chunks", NAME, offsetof(karst_options, sweep_chunks), "forward", 0},
    {"sweep-limit", INTEGER, offsetof(karst_options, sweep_limit), "0", 0},
};
enum { OPTIONS = sizeof options_known / sizeof options_known[0], EXPERIMENTS = 4 };

/* Option number i of both lists. */
static int info_of(size_t i, karst_option_info *info)
{
  return i < OPTIONS - EXPERIMENTS ? karst_options_info(i, info)
                                   : karst_options_experiment_info(i - (OPTIONS - EXPERIMENTS), info);
}

static bool field_is(const karst_options *options, const struct option *option, const char *value)
{
  const char *field = (const char *)options + option->field, *text;
  double real;
  int integer;
  switch (option->kind) {
  case NAME:
    memcpy(&text, field, sizeof text);
    return text && strcmp(text, value) == 0;
  case INTEGER:
    memcpy(&integer, field, sizeof integer);
    return (double)integer == strtod(value, NULL);
  default:
    memcpy(&real, field, sizeof real);
    return real == strtod(value, NULL);
  }
}

/* One line that says something. */
static bool is_sentence(const char *text) { return strlen(text) > 10 && !strchr(text, '\n'); }

static void refuse(const struct option *option, const char *value)
{
  karst_options options;
  karst_options_default(&options);
  karst_status status = karst_options_set(context, &options, option->name, value);
  const char *sentence = karst_context_error(context);
  tap_ok(status == KARST_ERROR_OPTION && is_sentence(sentence) && strstr(sentence, option->name) &&
             field_is(&options, option, option->default_value),
         "%s '%s' is refused: %s", option->name, value, sentence);
}

static void accept(const struct option *option, const char *name, const char *value)
{
  karst_options options;
  karst_options_default(&options);
  karst_status status = karst_options_set(context, &options, name, value);
  tap_ok(status == KARST_SUCCESS && field_is(&options, option, value), "%s '%s' is taken", name, value);
}

static void test_table(void)
{
  karst_option_info info = {.name = NULL};
  size_t count = 0;
  for (; info_of(count, &info); count++) {
    bool same = count < OPTIONS && strcmp(info.name, options_known[count].name) == 0 &&
                strcmp(info.default_value, options_known[count].default_value) == 0;
    tap_ok(same && info.value[0] && strlen(info.help) > 5, "%s: name, default, values and help", info.name);
  }
  tap_ok(count == OPTIONS, "the table has %d options", (int)OPTIONS);
  tap_ok(!karst_options_info(OPTIONS - EXPERIMENTS, &info), "those for experiments are apart");
  tap_ok(!karst_options_info(count + 100, &info), "far past the last there is none");
}

static void test_defaults(void)
{
  karst_options options;
  memset(&options, 0xff, sizeof options);
  karst_options_default(&options);
  for (size_t i = 0; i < OPTIONS; i++)
    tap_ok(field_is(&options, &options_known[i], options_known[i].default_value), "%s is %s by default",
           options_known[i].name, options_known[i].default_value);
  karst_solver *solver;
  tap_ok(karst_solver_create(context, &options, &solver) == KARST_SUCCESS, "a solver takes the defaults");
  karst_solver_destroy(solver);
}

/* Each of the names in "a|b|c" is taken, and none that is nearly one of them. */
static void test_names(size_t i)
{
  const struct option *option = &options_known[i];
  karst_option_info info;
  char names[sizeof info.value], wrong[sizeof info.value + 1], *rest = names;
  if (!info_of(i, &info)) return;
  snprintf(names, sizeof names, "%s", info.value);
  for (char *name; (name = strsep(&rest, "|"));) {
    accept(option, option->name, name);
    snprintf(wrong, sizeof wrong, "%sx", name);
    refuse(option, wrong);
  }
  refuse(option, "");
  refuse(option, info.value);
  refuse(option, "0");
  const char *sentence = karst_context_error(context);
  tap_ok(strstr(sentence, info.value) != NULL, "the sentence lists the names");
}

static void test_numbers(const struct option *option)
{
  static const char *const bad[] = {"",   " ",   "x",     "nan", "NaN", "inf", "-1",  "-inf",
                                    "1x", "1 2", "1e999", "0,5", " 1",  "1 ",  "0x10"};
  char below[32];
  accept(option, option->name, "1");
  accept(option, option->name, "17");
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) refuse(option, bad[i]);
  snprintf(below, sizeof below, "%g", option->least - 1e-3);
  refuse(option, below);
  snprintf(below, sizeof below, "%g", option->least);
  accept(option, option->name, below);
  if (option->kind == INTEGER) {
    accept(option, option->name, "2147483647");
    refuse(option, "2147483648");
    refuse(option, "1.5");
    refuse(option, "99999999999999999999");
  } else {
    accept(option, option->name, "2.385e-7");
    accept(option, option->name, "1e300");
  }
}

/* A program whose language writes a decimal comma still sets options with a point. */
static void test_locale(void)
{
  const char *const comma[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "nl_NL.UTF-8", "da_DK.UTF-8"};
  const double expected[] = {0.25, 0x1.f9add3746f65fp-4};
  const char *const text[] = {"0.25", "0.12345678901234567891"};
  karst_options options;
  size_t i = 0;
  while (i < 5 && !setlocale(LC_NUMERIC, comma[i])) i++;
  if (i == 5) {
    tap_skip("no locale with a decimal comma is installed", "options have a point whatever the language");
    return;
  }
  for (i = 0; i < 2; i++) {
    karst_options_default(&options);
    tap_ok(!karst_options_set(context, &options, "rtol", text[i]) && options.rtol == expected[i],
           "options have a point whatever the language: %s", text[i]);
  }
  setlocale(LC_NUMERIC, "C");
}

static void test_unknown(void)
{
  karst_options options;
  karst_options_default(&options);
  static const char *const bad[] = {"", "solve", "solvers", "Solver", "max", "--rtol", "restart "};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    bool refused = karst_options_set(context, &options, bad[i], "1") == KARST_ERROR_OPTION;
    const char *sentence = karst_context_error(context);
    for (size_t k = 0; k < OPTIONS - EXPERIMENTS; k++) refused = refused && strstr(sentence, options_known[k].name);
    tap_ok(refused && is_sentence(sentence), "option '%s' is refused with the list of names", bad[i]);
  }
  accept(&options_known[4], "max_iterations", "12");
}

static void test_null(void)
{
  karst_options options;
  karst_options_default(&options);
  tap_ok(karst_options_set(NULL, &options, "rtol", "1") == KARST_ERROR_ARGUMENT &&
             karst_options_set(context, NULL, "rtol", "1") == KARST_ERROR_ARGUMENT &&
             karst_options_set(context, &options, NULL, "1") == KARST_ERROR_ARGUMENT &&
             karst_options_set(context, &options, "rtol", NULL) == KARST_ERROR_ARGUMENT,
         "a NULL is an error of its own");
  tap_ok(!karst_options_info(0, NULL) && !karst_options_experiment_info(0, NULL), "info into NULL");
  karst_options_default(NULL);
}

/* What a caller wrote into the struct is checked when a solver is made. */
static void test_fields(void)
{
  karst_solver *solver;
  for (size_t i = 0; i < OPTIONS; i++) {
    karst_options options;
    karst_options_default(&options);
    const struct option *option = &options_known[i];
    char *field = (char *)&options + option->field;
    static const char *const unknown = "unknown";
    const double real = NAN;
    const int integer = -1;
    if (option->kind == NAME)
      memcpy(field, &unknown, sizeof unknown);
    else if (option->kind == REAL)
      memcpy(field, &real, sizeof real);
    else
      memcpy(field, &integer, sizeof integer);
    karst_status status = karst_solver_create(context, &options, &solver);
    tap_ok(status == KARST_ERROR_OPTION && !solver && strstr(karst_context_error(context), option->name),
           "a bad %s in the struct is refused: %s", option->name, karst_context_error(context));
  }
}

/* Values that are good each and do not go together. */
static void test_together(void)
{
  karst_options options;
  karst_solver *solver;
  karst_options_default(&options);
  options.solver = "fgmres";
  tap_ok(karst_solver_create(context, &options, &solver) == KARST_SUCCESS, "fgmres preconditions from the right");
  karst_solver_destroy(solver);
  options.side = "left";
  karst_status status = karst_solver_create(context, &options, &solver);
  const char *sentence = karst_context_error(context);
  tap_ok(status == KARST_ERROR_OPTION && !solver && strstr(sentence, "side \"left\"") && strstr(sentence, "fgmres"),
         "and not from the left: %s", sentence);
}

int main(void)
{
  tap_need(NULL, karst_context_create(NULL, &context), "context");
  test_table();
  test_defaults();
  for (size_t i = 0; i < OPTIONS; i++) {
    if (options_known[i].kind == NAME)
      test_names(i);
    else
      test_numbers(&options_known[i]);
  }
  test_locale();
  test_unknown();
  test_null();
  test_fields();
  test_together();
  karst_context_destroy(context);
  return tap_done();
}
