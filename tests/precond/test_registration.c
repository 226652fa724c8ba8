/* A context registers a method with valid functions, names and options. Its options are listed and reach the method,
 * and other contexts do not have it. */
#include "tests/support/failing_allocator.h"
#include "tests/support/problem.h"

#include <stdio.h>
#include <string.h>

struct settings {
  int steps, mode;
  double weight;
  karst_grid coarse;
  const char *file;
  karst_options *inner;
};

static struct settings seen; /* of the last setup, without the memory that they own */
static char seen_file[64], seen_inner[64], seen_level[64];

static karst_status setup(karst_precond *p)
{
  const struct settings *settings = karst_precond_settings(p);
  const char *text = "";
  if (!settings) return KARST_SUCCESS;
  seen = *settings;
  snprintf(seen_file, sizeof seen_file, "%s", settings->file ? settings->file : "NULL");
  if (!settings->inner) return KARST_SUCCESS;
  tap_need(karst_precond_context(p), karst_options_get(settings->inner, "precond", &text), "inner precond");
  snprintf(seen_inner, sizeof seen_inner, "%s", text);
  tap_need(karst_precond_context(p), karst_options_get(settings->inner, "level", &text), "inner level");
  snprintf(seen_level, sizeof seen_level, "%s", text);
  return KARST_SUCCESS;
}

static const char *mode_name(size_t i)
{
  static const char *const names[] = {"fast", "slow", NULL};
  return names[i];
}

static const char *no_name(size_t i)
{
  (void)i;
  return NULL;
}

#define FIELD(name) offsetof(struct settings, name)

static const karst_option rows[] = {
    {"coarse-steps", KARST_OPTION_INTEGER, 0, FIELD(steps), NULL, 1, "3", "steps on the coarse grid", "At least 1."},
    {"coarse-mode", KARST_OPTION_NAME, 0, FIELD(mode), mode_name, 0, "fast", "how they are done", NULL},
    {"coarse-weight", KARST_OPTION_REAL, 1, FIELD(weight), NULL, -1, "0.5", "their weight", NULL},
    {"coarse-grid", KARST_OPTION_SIZES, 0, FIELD(coarse), NULL, 0, "4x4", "cells of the coarse grid", NULL},
    {"coarse-file", KARST_OPTION_FILE, 0, FIELD(file), NULL, 0, "", "where it is from", NULL},
    {"coarse", KARST_OPTION_PRECOND, 0, FIELD(inner), NULL, 0, "jacobi", "what is done on it", NULL},
    {0},
};

static karst_precond_method with_rows(const char *name, const karst_option *options)
{
  karst_precond_method method = copying_method(name);
  method.details = "It copies.";
  method.setup = setup;
  method.options = options;
  method.settings = sizeof(struct settings);
  return method;
}

static void refuse(karst_context *context, const karst_precond_method *method, karst_status expected, const char *says,
                   const char *what)
{
  const char *sentence, *name;
  karst_status status = karst_precond_register(context, method);
  sentence = karst_context_error(context);
  tap_ok(status == expected && strstr(sentence, says), "%s is refused: %s", what, sentence);
  for (size_t i = 0; (name = karst_options_method(context, "precond", i, NULL, NULL)); i++)
    if (strcmp(name, "fresh") == 0) tap_ok(false, "and yet it is registered");
}

static void test_bad_methods(karst_context *context)
{
  karst_precond_method bad = copying_method("identity");
  tap_ok(karst_precond_register(NULL, &bad) == KARST_ERROR_ARGUMENT, "no context");
  refuse(context, NULL, KARST_ERROR_ARGUMENT, "the method is NULL", "no method");
  static const char *const names[] = {
      NULL, "", "a b", "-x", "a.b", "a\nb", "012345678901234567890123456789012345678901", "na\xc3\xafve"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    bad.name = names[i];
    refuse(context, &bad, KARST_ERROR_ARGUMENT, "name", names[i] ? "a bad name" : "no name");
  }
  bad.name = "iluk";
  refuse(context, &bad, KARST_ERROR_OPTION, "a preconditioner named iluk is already registered",
         "a name of the library's");
  bad.name = "identity";
  refuse(context, &bad, KARST_ERROR_OPTION, "a preconditioner named identity is already registered",
         "the same name again");
  karst_precond_method missing[5];
  for (int i = 0; i < 5; i++) missing[i] = copying_method("fresh");
  missing[0].help = NULL;
  missing[1].setup = NULL;
  missing[2].update = NULL;
  missing[3].apply = NULL;
  missing[4].destroy = NULL;
  static const char *const what[] = {"no help", "no setup", "no update", "no apply", "no destroy"};
  for (int i = 0; i < 5; i++) refuse(context, &missing[i], KARST_ERROR_ARGUMENT, what[i], "a method with a NULL");
}

static void test_bad_rows(karst_context *context)
{
  static const karst_option good = {"fresh-steps", KARST_OPTION_INTEGER, 0, FIELD(steps), NULL, 1, "3", "steps", NULL};
  static const struct {
    karst_option row;
    karst_status status;
    const char *says;
  } bad[] = {
      {{"a.b", KARST_OPTION_INTEGER, 0, 0, NULL, 1, "3", "help", NULL}, KARST_ERROR_ARGUMENT, "other characters"},
      {{"", KARST_OPTION_INTEGER, 0, 0, NULL, 1, "3", "help", NULL}, KARST_ERROR_ARGUMENT, "other characters"},
      {{"x", (karst_option_kind)77, 0, 0, NULL, 1, "3", "help", NULL}, KARST_ERROR_ARGUMENT, "its kind is unknown"},
      {{"x", KARST_OPTION_INTEGER, 0, sizeof(struct settings), NULL, 1, "3", "help", NULL},
       KARST_ERROR_ARGUMENT,
       "field"},
      {{"x", KARST_OPTION_REAL, 0, sizeof(struct settings) - 4, NULL, 1, "3", "help", NULL},
       KARST_ERROR_ARGUMENT,
       "field"},
      {{"x", KARST_OPTION_INTEGER, 0, SIZE_MAX, NULL, 1, "3", "help", NULL}, KARST_ERROR_ARGUMENT, "field"},
      {{"x", KARST_OPTION_INTEGER, 0, 0, NULL, 1, NULL, "help", NULL}, KARST_ERROR_ARGUMENT, "default is NULL"},
      {{"x", KARST_OPTION_INTEGER, 0, 0, NULL, 1, "3", NULL, NULL},
       KARST_ERROR_ARGUMENT,
       "help or its default is NULL"},
      {{"x", KARST_OPTION_NAME, 0, 0, NULL, 1, "3", "help", NULL}, KARST_ERROR_ARGUMENT, "no name to choose"},
      {{"x", KARST_OPTION_NAME, 0, 0, no_name, 1, "3", "help", NULL}, KARST_ERROR_ARGUMENT, "no name to choose"},
      {{"x", KARST_OPTION_NAME, 0, 0, mode_name, 1, "slower", "help", NULL},
       KARST_ERROR_OPTION,
       "the default of option x of"},
      {{"x", KARST_OPTION_INTEGER, 0, 0, NULL, 4, "3", "help", NULL}, KARST_ERROR_OPTION, "out of range"},
      {{"x", KARST_OPTION_REAL, 0, 0, NULL, 0, "much", "help", NULL}, KARST_ERROR_OPTION, "not a finite number"},
      {{"x", KARST_OPTION_SIZES, 0, FIELD(coarse), NULL, 0, "0x4", "help", NULL}, KARST_ERROR_OPTION, "NXxNYxNZ"},
      {{"x", KARST_OPTION_PRECOND, 0, FIELD(inner), NULL, 0, "fresh", "help", NULL}, KARST_ERROR_OPTION, "unknown"},
      {{"fresh_steps", KARST_OPTION_INTEGER, 0, 0, NULL, 1, "3", "help", NULL}, KARST_ERROR_ARGUMENT, "another row"},
      {{"level", KARST_OPTION_REAL, 0, 0, NULL, 0, "0", "help", NULL}, KARST_ERROR_OPTION, "a different kind"},
      {{"coarse_grid", KARST_OPTION_FILE, 0, FIELD(file), NULL, 0, "", "help", NULL},
       KARST_ERROR_OPTION,
       "a different kind"},
      {{"precond", KARST_OPTION_NAME, 0, 0, mode_name, 0, "fast", "help", NULL}, KARST_ERROR_OPTION, "every solver"},
      {{"rtol", KARST_OPTION_REAL, 0, FIELD(weight), NULL, 0, "1", "help", NULL}, KARST_ERROR_OPTION, "every solver"},
      {{"x", KARST_OPTION_INTEGER, 0, FIELD(mode), NULL, -1e300, "-2147483649", "help", NULL},
       KARST_ERROR_OPTION,
       "at least -2147483648"},
      {{"x", KARST_OPTION_FILE, 0, 0, NULL, 0, "", "help", NULL},
       KARST_ERROR_ARGUMENT,
       "overlaps that of option fresh-steps"},
      {{"x", KARST_OPTION_INTEGER, 0, 3, NULL, 0, "3", "help", NULL}, KARST_ERROR_ARGUMENT, "overlaps"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    const karst_option list[] = {good, bad[i].row, {0}};
    const karst_precond_method method = with_rows("fresh", list);
    refuse(context, &method, bad[i].status, bad[i].says, "a row");
  }
  karst_precond_method huge = with_rows("fresh", rows);
  huge.settings = SIZE_MAX;
  refuse(context, &huge, KARST_ERROR_ARGUMENT, "too many", "settings of all memory");
}

static void test_listed(karst_context *context)
{
  karst_option_info info;
  const char *name, *help, *details;
  int found = 0, experiments = 0;
  bool listed = false;
  for (size_t i = 0; karst_options_info(context, i, &info); i++)
    if (strncmp(info.name, "coarse", 6) == 0) {
      const karst_option *row = &rows[found++];
      tap_ok(strcmp(info.name, row->name) == 0 && info.kind == row->kind &&
                 strcmp(info.default_value, row->default_value) == 0 && info.value[0] && info.details == row->details,
             "%s takes %s", info.name, info.value);
      experiments += info.experiment;
    }
  tap_ok(found == 6 && experiments == 1, "its rows are options");
  for (size_t i = 0; karst_options_info(NULL, i, &info); i++) found -= strncmp(info.name, "coarse", 6) == 0;
  tap_ok(found == 6, "and not of the library without this context");
  for (size_t i = 0; (name = karst_options_method(context, "precond", i, &help, &details)); i++)
    listed =
        listed || (strcmp(name, "multigrid") == 0 && strcmp(help, "z = r") == 0 && strcmp(details, "It copies.") == 0);
  tap_ok(listed, "its name is among the preconditioners");
}

static void set(karst_context *context, karst_options *options, const char *name, const char *value)
{
  tap_need(context, karst_options_set(options, name, value), name);
}

static bool get_is(const karst_options *options, const char *name, const char *expected)
{
  const char *text;
  return !karst_options_get(options, name, &text) && strcmp(text, expected) == 0;
}

static void make(karst_context *context, const karst_options *options)
{
  karst_precond *M;
  karst_matrix *A = matrix_from(context, "poisson2d:3x3", 1);
  tap_need(context, karst_precond_create(context, options, A, &M), "preconditioner");
  karst_precond_destroy(M);
  karst_matrix_destroy(A);
}

static bool grid_is(karst_index nx, karst_index ny, karst_index nz)
{
  return seen.coarse.size[0] == nx && seen.coarse.size[1] == ny && seen.coarse.size[2] == nz && !seen.coarse.cell;
}

static void test_kinds(karst_context *context)
{
  karst_options *options;
  static const char *const bad[][2] = {{"coarse-steps", "0"},
                                       {"coarse-steps", "1.5"},
                                       {"coarse-mode", "fas"},
                                       {"coarse-weight", "-2"},
                                       {"coarse-grid", ""},
                                       {"coarse-grid", "4x"},
                                       {"coarse-grid", "4x4x4x4"},
                                       {"coarse-grid", "4X4"},
                                       {"coarse-grid", "x4"},
                                       {"coarse-grid", "-4"},
                                       {"coarse-grid", "4x0"},
                                       {"coarse-grid", " 4"},
                                       {"coarse-grid", "4x4 "},
                                       {"coarse-grid", "99999999999999999999"},
                                       {"coarse", "ilu"},
                                       {"coarse.precond", "ilu"},
                                       {"coarse.level", "-1"},
                                       {"coarse.rtol", "1"},
                                       {"coarse.solver", "cg"},
                                       {"coarse.", "1"},
                                       {"coarse..level", "1"},
                                       {"level.level", "1"},
                                       {".level", "1"}};
  tap_need(context, karst_options_create(context, &options), "options");
  set(context, options, "precond", "multigrid");
  make(context, options);
  tap_ok(seen.steps == 3 && seen.mode == 0 && seen.weight == 0.5 && grid_is(4, 4, 1) && strcmp(seen_file, "") == 0 &&
             strcmp(seen_inner, "jacobi") == 0 && strcmp(seen_level, "0") == 0,
         "defaults of all kinds reach the method");
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    karst_status status = karst_options_set(options, bad[i][0], bad[i][1]);
    tap_ok(status == KARST_ERROR_OPTION && *karst_context_error(context), "%s '%s' is refused: %s", bad[i][0],
           bad[i][1], karst_context_error(context));
  }
  set(context, options, "coarse_steps", "7");
  set(context, options, "coarse-mode", "slow");
  set(context, options, "coarse-weight", "-0.25");
  set(context, options, "coarse-grid", "60x220x85");
  set(context, options, "coarse-file", "a b/c.mtx");
  set(context, options, "coarse", "iluk");
  set(context, options, "coarse.level", "2");
  make(context, options);
  tap_ok(seen.steps == 7 && seen.mode == 1 && seen.weight == -0.25 && grid_is(60, 220, 85) &&
             strcmp(seen_file, "a b/c.mtx") == 0 && strcmp(seen_inner, "iluk") == 0 && strcmp(seen_level, "2") == 0,
         "values of all kinds reach the method");
  set(context, options, "coarse-grid", "5");
  make(context, options);
  tap_ok(grid_is(5, 1, 1), "missing sizes are 1");
  tap_ok(get_is(options, "coarse.precond", "iluk") && get_is(options, "coarse", "iluk") &&
             get_is(options, "level", "0") && get_is(options, "coarse-grid", "5"),
         "and can be read");
  karst_options_destroy(options);
}

/* A set of options with a method that another context does not have. */
static void test_two_contexts(karst_context *context)
{
  karst_options *options, *copy;
  karst_solver *solver;
  karst_precond *M;
  karst_context *other = tap_context();
  tap_need(context, karst_options_create(context, &options), "options");
  set(context, options, "precond", "multigrid");
  karst_matrix *A = matrix_from(other, "poisson2d:3x3", 1);
  tap_ok(karst_options_copy(other, options, &copy) == KARST_ERROR_OPTION && !copy &&
             strstr(karst_context_error(other), "precond \"multigrid\" is unknown: none|"),
         "a copy for a context without the method: %s", karst_context_error(other));
  tap_ok(karst_solver_create(other, options, &solver) == KARST_ERROR_OPTION && !solver &&
             strstr(karst_context_error(other), "multigrid"),
         "a solver in it: %s", karst_context_error(other));
  tap_ok(karst_precond_create(other, options, A, &M) == KARST_ERROR_OPTION && !M &&
             strstr(karst_context_error(other), "multigrid"),
         "a preconditioner in it: %s", karst_context_error(other));
  const karst_precond_method method = with_rows("multigrid", rows);
  tap_need(other, karst_precond_register(other, &method), "registration after objects were made");
  set(context, options, "coarse-steps", "5");
  tap_ok(karst_precond_create(other, options, A, &M) == KARST_SUCCESS && seen.steps == 5,
         "and it works in a context that has the method");
  karst_precond_destroy(M);
  karst_matrix_destroy(A);
  karst_options_destroy(options);
  karst_context_destroy(other);
}

/* Each allocation of a context fails once, and all memory is released. */
static void test_memory(void)
{
  struct failing_allocator memory = {.fail_at = 0};
  const karst_precond_method method = with_rows("multigrid", rows);
  int failures = 0;
  for (bool done = false; !done;) {
    karst_options *options = NULL;
    karst_matrix *A = NULL;
    karst_precond *M = NULL;
    memory = (struct failing_allocator){.fail_at = 0};
    karst_context *context = failing_context(&memory);
    A = matrix_from(context, "poisson2d:3x3", 1);
    memory.fail_at = memory.calls + ++failures;
    karst_status status = karst_precond_register(context, &method);
    if (!status) status = karst_options_create(context, &options);
    if (!status) status = karst_options_set(options, "precond", "multigrid");
    if (!status) status = karst_options_set(options, "coarse.level", "1");
    if (!status) status = karst_precond_create(context, options, A, &M);
    done = status == KARST_SUCCESS;
    if (!done && status != KARST_ERROR_NO_MEMORY) tap_ok(false, "status %d", (int)status);
    karst_precond_destroy(M);
    karst_options_destroy(options);
    karst_matrix_destroy(A);
    karst_context_destroy(context);
    if (memory.outstanding != 0) tap_ok(false, "a failing allocation leaks");
  }
  tap_ok(failures > 8, "each of %d allocations fails once, and nothing leaks", failures - 1);
}

int main(void)
{
  const karst_precond_method identity = copying_method("identity"), method = with_rows("multigrid", rows);
  karst_context *context = tap_context();
  tap_need(context, karst_precond_register(context, &identity), "registration");
  tap_need(context, karst_precond_register(context, &method), "registration");
  test_bad_methods(context);
  test_bad_rows(context);
  test_listed(context);
  test_kinds(context);
  test_two_contexts(context);
  karst_context_destroy(context);
  test_memory();
  return tap_done();
}
