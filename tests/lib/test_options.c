/* test_options.c - every option can be set by name from text or from a number, and has the default that the library
 * reports. A bad value is refused with one sentence and leaves the option unchanged. Sets of options are copied, and
 * methods read them. */
#include "tests/support/problem.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static karst_context *context;

enum kind { NAME, INTEGER, REAL, PRECOND };

/* The options, written down independently of the library's table. */
static const struct option {
  const char *name;
  enum kind kind;
  const char *default_value;
  double least;
} options_known[] = {
    {"solver", NAME, "auto", 0},
    {"precond", NAME, "iluk", 0},
    {"ordering", NAME, "natural", 0},
    {"scale", NAME, "none", 0},
    {"rtol", REAL, "1e-8", 0},
    {"atol", REAL, "0", 0},
    {"max-iterations", INTEGER, "10000", 0},
    {"restart", INTEGER, "30", 1},
    {"orthogonalise", NAME, "auto", 0},
    {"side", NAME, "right", 0},
    {"norm", NAME, "true", 0},
    {"damping", REAL, "1", 1e-300},
    {"parts", INTEGER, "1", 1},
    {"tile-size", INTEGER, "0", 0},
    {"tile-shape", NAME, "auto", 0},
    {"level", INTEGER, "0", 0},
    {"trisolve", NAME, "auto", 0},
    {"trisolve-sweeps", INTEGER, "5", 0},
    {"shift", REAL, "0", 0},
    {"modified", REAL, "0", 0},
    {"factor-precision", NAME, "double", 0},
    {"sweeps", INTEGER, "5", 0},
    {"sweep-mode", NAME, "synchronous", 0},
    {"sweep-scale", NAME, "yes", 0},
    {"ilu-residual", NAME, "no", 0},
    /* The options from here on are for experiments. */
    {"sweep-order", NAME, "rows", 0},
    {"sweep-block", INTEGER, "64", 1},
    {"sweep-chunks", NAME, "forward", 0},
    {"sweep-limit", INTEGER, "0", 0},
    {"fgbilu-style", NAME, "auto", 0},
    /* These are not. */
    {"pivoting", NAME, "yes", 0},
    {"line-direction", NAME, "auto", 0},
    {"line-order", NAME, "jacobi", 0},
    {"rrb-levels", INTEGER, "0", 0},
    {"rrb-precision", NAME, "double", 0},
    /* This one of rrb is for experiments. */
    {"rrb-grids", INTEGER, "64", 0},
    {"amg-coarsening", NAME, "pmis", 0},
    {"amg-strength", REAL, "0", 0},
    {"amg-max-entries", INTEGER, "4", 1},
    {"amg-coarse-rows", INTEGER, "128", 1},
    {"amg-levels", INTEGER, "20", 1},
    {"amg-cycle", NAME, "auto", 0},
    {"amg-smoother", NAME, "auto", 0},
    {"amg-sweeps", INTEGER, "1", 1},
    {"amg-order", INTEGER, "2", 1},
    {"amg-omega", REAL, "0", 0},
    {"amg-over-correction", REAL, "0", 0},
    {"amg-precision", NAME, "float", 0},
    {"amg-rebuild", INTEGER, "30", 0},
    {"amg-gather-rows", INTEGER, "4096", 0},
    /* preconditioners inside others */
    {"first", PRECOND, "jacobi", 0},
    {"second", PRECOND, "iluk", 0},
    {"cpr-pressure", NAME, "auto", 0},
    {"cpr-weights", NAME, "auto", 0},
    {"cpr-balance", INTEGER, "0", 0},
    {"cpr-wells", NAME, "rows", 0},
    {"overlap", INTEGER, "1", 0},
    {"local", PRECOND, "iluk", 0},
    {"auto-learn", NAME, "time", 0},
};
enum {
  OPTIONS = sizeof options_known / sizeof options_known[0],
  EXPERIMENTS = 25,
  AFTER_EXPERIMENTS = 30,
  MORE_EXPERIMENTS = 35,
  AFTER_MORE_EXPERIMENTS = 36
};

static bool is_experiment(size_t i)
{
  return (i >= EXPERIMENTS && i < AFTER_EXPERIMENTS) || (i >= MORE_EXPERIMENTS && i < AFTER_MORE_EXPERIMENTS);
}

static bool takes_name(const struct option *option) { return option->kind == NAME || option->kind == PRECOND; }

static karst_options *make_options(void)
{
  karst_options *options;
  tap_need(context, karst_options_create(context, &options), "options");
  return options;
}

static bool value_is(const karst_options *options, const struct option *option, const char *value)
{
  const char *text;
  if (karst_options_get(options, option->name, &text)) return false;
  return takes_name(option) ? strcmp(text, value) == 0 : strtod(text, NULL) == strtod(value, NULL);
}

/* Returns whether a text is one line of some length. */
static bool is_sentence(const char *text) { return strlen(text) > 10 && !strchr(text, '\n'); }

/* Returns whether details are sentences on one line, because --help wraps them. */
static bool are_sentences(const char *text) { return text && is_sentence(text) && text[strlen(text) - 1] == '.'; }

static void refuse(const struct option *option, const char *value)
{
  karst_options *options = make_options();
  karst_status status = karst_options_set(options, option->name, value);
  const char *sentence = karst_context_error(context);
  tap_ok(status == KARST_ERROR_OPTION && is_sentence(sentence) && strstr(sentence, option->name) &&
             value_is(options, option, option->default_value),
         "%s '%s' is refused: %s", option->name, value, sentence);
  karst_options_destroy(options);
}

static void accept(const struct option *option, const char *name, const char *value)
{
  karst_options *options = make_options();
  karst_status status = karst_options_set(options, name, value);
  tap_ok(status == KARST_SUCCESS && value_is(options, option, value), "%s '%s' is taken", name, value);
  karst_options_destroy(options);
}

static void test_table(void)
{
  karst_option_info info = {.name = NULL};
  size_t count = 0;
  for (; karst_options_info(NULL, count, &info); count++) {
    bool same = count < OPTIONS && strcmp(info.name, options_known[count].name) == 0 &&
                strcmp(info.default_value, options_known[count].default_value) == 0 &&
                info.experiment == is_experiment(count) &&
                (info.kind == KARST_OPTION_PRECOND) == (options_known[count].kind == PRECOND);
    tap_ok(same && info.value[0] && strlen(info.help) > 5, "%s: name, default, values and help", info.name);
    tap_ok(are_sentences(info.details), "%s: its details are sentences", info.name);
  }
  tap_ok(count == OPTIONS, "the table has %d options", (int)OPTIONS);
  tap_ok(!karst_options_info(NULL, count + 100, &info), "there is no option far past the last");
  for (size_t kind = 0; kind < 3; kind++) {
    const char *help, *details;
    bool good = true;
    for (count = 0; karst_options_method(NULL, options_known[kind].name, count, &help, &details); count++)
      good = good && strlen(help) > 5 && (!details || are_sentences(details));
    tap_ok(good && count > 6, "%s: each of %d methods has help", options_known[kind].name, (int)count);
  }
}

static void test_defaults(void)
{
  karst_options *options = make_options();
  for (size_t i = 0; i < OPTIONS; i++)
    tap_ok(value_is(options, &options_known[i], options_known[i].default_value), "%s is %s by default",
           options_known[i].name, options_known[i].default_value);
  karst_solver *solver;
  tap_ok(karst_solver_create(context, options, &solver) == KARST_SUCCESS, "a solver takes the defaults");
  karst_options_destroy(options);
  karst_solver_destroy(solver);
}

/* Setting an option again replaces its value. A copy has the values and is independent, in another context too. */
static void test_copy(void)
{
  karst_options *options = make_options(), *copy;
  const char *text;
  karst_context *other = tap_context();
  for (size_t i = 0; i < OPTIONS; i++)
    tap_need(context, karst_options_set(options, options_known[i].name, options_known[i].default_value), "set");
  for (int level = 0; level < 20; level++) tap_need(context, karst_options_set_integer(options, "level", level), "set");
  tap_need(other, karst_options_copy(other, options, &copy), "copy");
  tap_need(context, karst_options_set(options, "level", "3"), "set");
  karst_options_destroy(options);
  tap_need(other, karst_options_get(copy, "level", &text), "get");
  tap_ok(strcmp(text, "19") == 0, "a copy keeps the value: %s", text);
  tap_ok(!karst_options_set(copy, "precond", "jacobi") && !karst_options_get(copy, "precond", &text) &&
             strcmp(text, "jacobi") == 0,
         "and takes new ones");
  tap_ok(karst_options_copy(context, NULL, &options) == KARST_ERROR_ARGUMENT && !options, "no copy of NULL");
  karst_options_destroy(copy);
  karst_options_destroy(NULL);
  karst_context_destroy(other);
}

static void test_from_numbers(void)
{
  karst_options *options = make_options();
  const char *text;
  for (int i = 0; i < 100; i++) {
    double value = fabs(tap_random()) * pow(10, (double)tap_random_index(40) - 30);
    bool same = !karst_options_set_real(options, "rtol", value) && !karst_options_get(options, "rtol", &text) &&
                strtod(text, NULL) == value;
    if (!same || i == 0) tap_ok(same, "a real is kept to the last bit: %.17g", value);
  }
  tap_ok(!karst_options_set_integer(options, "restart", INT_MAX) && !karst_options_get(options, "restart", &text) &&
             strcmp(text, "2147483647") == 0,
         "an integer is kept");
  tap_ok(karst_options_set_integer(options, "restart", (int64_t)INT_MAX + 1) == KARST_ERROR_OPTION &&
             karst_options_set_integer(options, "level", -1) == KARST_ERROR_OPTION &&
             karst_options_set_integer(options, "precond", 1) == KARST_ERROR_OPTION &&
             karst_options_set_real(options, "rtol", NAN) == KARST_ERROR_OPTION &&
             karst_options_set_real(options, "rtol", INFINITY) == KARST_ERROR_OPTION &&
             karst_options_set_real(options, "shift", -1e-300) == KARST_ERROR_OPTION &&
             karst_options_set_real(options, "level", 1.5) == KARST_ERROR_OPTION,
         "numbers out of range are refused");
  karst_options_destroy(options);
}

/* A solver does what the options say, and keeps working when they are destroyed. */
static void test_is_read(void)
{
  karst_options *options = make_options();
  karst_solver *solver;
  karst_matrix *A = matrix_from(context, "poisson2d:20x20", 0);
  karst_vector *b = vector_of(context, 400, 1), *x = vector_of(context, 400, 0);
  tap_need(context, karst_options_set(options, "max-iterations", "3"), "set");
  tap_need(context, karst_options_set(options, "precond", "none"), "set");
  tap_need(context, karst_options_set(options, "rtol", "1e-12"), "set");
  tap_need(context, karst_solver_create(context, options, &solver), "solver");
  karst_options_destroy(options);
  tap_need(context, karst_solver_setup(solver, A), "setup");
  const karst_result result = solved(solver, b, x);
  tap_ok(result.reason == KARST_ITERATION_LIMIT && result.iterations == 3,
         "a solver keeps the values that it has read");
  karst_solver_destroy(solver);
  karst_vector_destroy(x);
  karst_vector_destroy(b);
  karst_matrix_destroy(A);
}

/* Each of the names in "a|b|c" is accepted, and names that are nearly one of them are refused. */
static void test_names(size_t i)
{
  const struct option *option = &options_known[i];
  karst_option_info info;
  char names[sizeof info.value], wrong[sizeof info.value + 1], *rest = names;
  if (!karst_options_info(NULL, i, &info)) return;
  snprintf(names, sizeof names, "%s", info.value);
  for (char *name; (name = strsep(&rest, "|"));) {
    accept(option, option->name, name);
    snprintf(wrong, sizeof wrong, "%sx", name);
    refuse(option, wrong);
  }
  refuse(option, "");
  refuse(option, info.value);
  if (strcmp(option->name, "cpr-pressure") != 0) refuse(option, "0"); /* the first unknown */
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
    refuse(option, "1e-400");
    refuse(option, "99999999999999999999");
  } else {
    accept(option, option->name, "2.385e-7");
    accept(option, option->name, "1e300");
  }
}

static void test_unknown(void)
{
  karst_options *options = make_options();
  const char *text;
  static const char *const bad[] = {"", "solve", "solvers", "Solver", "max", "--rtol", "restart "};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    bool refused = karst_options_set(options, bad[i], "1") == KARST_ERROR_OPTION &&
                   karst_options_get(options, bad[i], &text) == KARST_ERROR_OPTION && !text;
    const char *sentence = karst_context_error(context);
    for (size_t k = 0; k < OPTIONS; k++)
      refused = refused && (is_experiment(k) || strstr(sentence, options_known[k].name));
    tap_ok(refused && is_sentence(sentence), "option '%s' is refused with the list of names", bad[i]);
  }
  accept(&options_known[6], "max_iterations", "12");
  char name[5000];
  memset(name, 'a', sizeof name - 1);
  name[sizeof name - 1] = '\0';
  for (int value = 0; value < 2; value++) {
    karst_status status = value ? karst_options_set(options, "solver", name) : karst_options_set(options, name, "1");
    tap_ok(status == KARST_ERROR_OPTION && strstr(karst_context_error(context), value ? "orthomin" : "sweeps"),
           "a long text is answered with the list too: %s", karst_context_error(context));
  }
  tap_ok(karst_options_set(options, "solver", "a\nb") == KARST_ERROR_OPTION &&
             !strchr(karst_context_error(context), '\n'),
         "a newline does not get into the sentence");
  karst_options_destroy(options);
}

/* Two methods have the option side; neither takes the value. A sentence is the context's until four more calls fail. */
static void test_sentences(void)
{
  karst_options *options = make_options();
  tap_ok(karst_options_set(options, "rtol", "-7") == KARST_ERROR_OPTION, "a value that is refused");
  const char *sentence = karst_context_error(context);
  for (int i = 0; i < 4; i++) karst_options_set(options, "side", "wrong");
  tap_ok(strstr(sentence, "rtol -7") && strstr(karst_context_error(context), "side \"wrong\""),
         "keeps its sentence for four more: %s", sentence);
  karst_options_destroy(options);
}

/* The error ends with the nearest name: one with this beginning, one with a letter changed, or one with this part. */
static void test_nearest(void)
{
  static const char *const cases[][3] = {{"precond", "ilu", "; did you mean iluk?"},
                                         {"precond", "fgbliu", "; did you mean fgbilu?"},
                                         {"precond", "block-jacobi", "; did you mean jacobi?"},
                                         {"precond", "two_stag", "; did you mean two-stage?"},
                                         {"solver", "bicg", "; did you mean bicgstab?"},
                                         {"solver", "gmre", "; did you mean gmres?"},
                                         {"ordering", "color", "; did you mean colour?"},
                                         {"trisolve", "levels", "; did you mean level?"},
                                         {"precond", "multigrid", NULL},
                                         {"precond", "", NULL}};
  karst_options *options = make_options();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const karst_status status = karst_options_set(options, cases[i][0], cases[i][1]);
    const char *sentence = karst_context_error(context), *meant = strstr(sentence, "; did you mean");
    tap_ok(status == KARST_ERROR_OPTION && (cases[i][2] ? meant && strcmp(meant, cases[i][2]) == 0 : !meant),
           "%s %s: %s", cases[i][0], cases[i][1], sentence);
  }
  karst_options_destroy(options);
  karst_matrix *A;
  tap_ok(karst_gallery_create(context, "poison2d:4x4", 0, &A, NULL) == KARST_ERROR_OPTION &&
             strstr(karst_context_error(context), "; did you mean poisson2d?"),
         "%s", karst_context_error(context));
}

static void test_null(void)
{
  karst_options *options = make_options(), *none;
  const char *text;
  tap_ok(karst_options_set(NULL, "rtol", "1") == KARST_ERROR_ARGUMENT &&
             karst_options_set(options, NULL, "1") == KARST_ERROR_ARGUMENT &&
             karst_options_set(options, "rtol", NULL) == KARST_ERROR_ARGUMENT &&
             karst_options_get(NULL, "rtol", &text) == KARST_ERROR_ARGUMENT &&
             karst_options_get(options, NULL, &text) == KARST_ERROR_ARGUMENT &&
             karst_options_get(options, "rtol", NULL) == KARST_ERROR_ARGUMENT &&
             karst_options_create(context, NULL) == KARST_ERROR_ARGUMENT &&
             karst_options_create(NULL, &none) == KARST_ERROR_ARGUMENT && !none,
         "a NULL is an error of its own");
  tap_ok(!karst_options_info(NULL, 0, NULL), "info into NULL");
  karst_options_destroy(options);
}

/* The names of options of inner preconditioners have at most four points. */
static void test_inside(void)
{
  static const char *const good[][2] = {{"first.level", "2"},
                                        {"first.precond", "parilu"},
                                        {"second.sweep_mode", "asynchronous"},
                                        {"first.second.level", "1"},
                                        {"first.first.first.first.level", "1"}};
  static const char *const bad[][2] = {{"first.levl", "first has precond, level, "},
                                       {"first.rtol", "first has precond, level, "},
                                       {"first.second.side", "first.second has precond, level, "},
                                       {"first.first.first.first.first", "at most 4"},
                                       {"first.first.first.first.first.level", "at most 4"},
                                       {"first.first.first.first.nix", "first.first.first.first has precond, level"},
                                       {"level.level", "is unknown: solver, "},
                                       {"precond.level", "is unknown: solver, "},
                                       {"levle", "; did you mean level?"},
                                       {"trisolve_sweep", "; did you mean trisolve-sweeps?"},
                                       {"first.sweep", "; did you mean sweeps?"},
                                       {"first..level", "first has "},
                                       {"first.", "first has "}};
  karst_options *options = make_options();
  const char *text;
  for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
    bool taken = !karst_options_set(options, good[i][0], good[i][1]) &&
                 !karst_options_get(options, good[i][0], &text) && strcmp(text, good[i][1]) == 0;
    tap_ok(taken, "%s is an option", good[i][0]);
  }
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    karst_status status = karst_options_set(options, bad[i][0], "1");
    const char *sentence = karst_context_error(context);
    tap_ok(status == KARST_ERROR_OPTION && strstr(sentence, bad[i][1]), "%s is no option: %s", bad[i][0], sentence);
  }
  tap_ok(!karst_options_get(options, "first", &text) && strcmp(text, "parilu") == 0 &&
             !karst_options_get(options, "first.second", &text) && strcmp(text, "iluk") == 0 &&
             !karst_options_get(options, "level", &text) && strcmp(text, "0") == 0,
         "each level has values and defaults of its own");
  tap_ok(karst_options_set(options, "first.level", "x") == KARST_ERROR_OPTION &&
             strstr(karst_context_error(context), "first.level \"x\" is not a whole number"),
         "a bad value is named with the whole name: %s", karst_context_error(context));
  karst_options_destroy(options);
}

/* These values are each valid, but not together. */
static void test_together(void)
{
  karst_options *options = make_options();
  karst_solver *solver;
  tap_need(context, karst_options_set(options, "solver", "fgmres"), "set");
  tap_ok(karst_solver_create(context, options, &solver) == KARST_SUCCESS, "fgmres preconditions from the right");
  karst_solver_destroy(solver);
  tap_need(context, karst_options_set(options, "side", "left"), "set");
  karst_status status = karst_solver_create(context, options, &solver);
  const char *sentence = karst_context_error(context);
  tap_ok(status == KARST_ERROR_OPTION && !solver && strstr(sentence, "side \"left\"") && strstr(sentence, "fgmres"),
         "fgmres refuses to precondition from the left: %s", sentence);
  karst_options_destroy(options);
}

/* An option is used if a chosen method has it, also an inner preconditioner. */
static void test_used(void)
{
  static const struct {
    const char *set[4][2]; /* names and values, up to a NULL */
    const char *name;
    int used;
  } cases[] = {
      {{{NULL}}, "level", 1},
      {{{NULL}}, "restart", 0},
      {{{"solver", "gmres"}}, "restart", 1},
      {{{NULL}}, "max_iterations", 1},
      {{{NULL}}, "ordering", 1},
      {{{NULL}}, "sweeps", 0},
      {{{NULL}}, "first", 0},
      {{{NULL}}, "levels", 0},
      {{{NULL}}, "", 0},
      {{{"precond", "jacobi"}}, "level", 0},
      {{{"precond", "jacobi"}, {"level", "2"}}, "level", 0},
      {{{"precond", "parilu"}}, "sweep-mode", 1},
      {{{"precond", "parilu"}}, "modified", 0},
      {{{"solver", "bicgstab"}}, "restart", 0},
      {{{"solver", "cg"}}, "norm", 1},
      {{{"solver", "richardson"}}, "parts", 1},
      {{{"precond", "two-stage"}}, "level", 0},
      {{{"precond", "two-stage"}}, "first", 1},
      {{{"precond", "two-stage"}}, "first.precond", 1},
      {{{"precond", "two-stage"}}, "second.level", 1},
      {{{"precond", "two-stage"}}, "first.level", 0},
      {{{"precond", "two-stage"}, {"first", "iluk"}}, "first.level", 1},
      {{{"first", "iluk"}}, "first.level", 0},
      {{{"precond", "two-stage"}, {"second", "two-stage"}}, "second.second.shift", 1},
      {{{"precond", "two-stage"}, {"second", "two-stage"}}, "second.first.shift", 0},
      {{{"precond", "two-stage"}}, "second.second.shift", 0},
      {{{"precond", "two-stage"}}, "second.rtol", 0},
      {{{"precond", "ras"}}, "overlap", 1},
      {{{"precond", "ras"}}, "local.level", 1},
      {{{"precond", "ras"}}, "second", 0},
      {{{"precond", "two-stage"}}, "local", 0},
      {{{"precond", "lines"}}, "line-direction", 1},
      {{{"precond", "lines"}}, "shift", 0},
      {{{"precond", "adi"}}, "line-direction", 0},
      {{{"precond", "iluk"}, {"line-direction", "z"}}, "line-direction", 0},
      {{{"precond", "iluk"}, {"line-order", "zebra"}}, "line-order", 0},
      {{{"precond", "cpr"}, {"second", "lines"}}, "line-order", 0},
      {{{"precond", "cpr"}, {"second", "lines"}}, "second.line-order", 1},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    karst_options *options = make_options();
    char text[256] = "";
    size_t used = 0;
    for (int k = 0; cases[i].set[k][0]; k++) {
      const char *name = cases[i].set[k][0], *value = cases[i].set[k][1];
      tap_need(context, karst_options_set(options, name, value), name);
      used += (size_t)snprintf(text + used, sizeof text - used, "%s %s, ", name, value);
    }
    tap_ok(karst_options_used(options, cases[i].name) == cases[i].used, "%s\"%s\" is%s used", text, cases[i].name,
           cases[i].used ? "" : " not");
    karst_options_destroy(options);
  }
  karst_options *options = make_options();
  tap_ok(!karst_options_used(NULL, "level") && !karst_options_used(options, NULL), "a NULL set uses no option");
  karst_options_destroy(options);
}

int main(void)
{
  context = tap_context();
  test_table();
  test_defaults();
  for (size_t i = 0; i < OPTIONS; i++) {
    if (takes_name(&options_known[i]))
      test_names(i);
    else
      test_numbers(&options_known[i]);
  }
  test_unknown();
  test_sentences();
  test_nearest();
  test_null();
  test_copy();
  test_from_numbers();
  test_is_read();
  test_inside();
  test_together();
  test_used();
  karst_context_destroy(context);
  return tap_done();
}
