/* Methods report named values: each of Karst's methods its own, on every device, and a registered method any names, up
 * to limits with an error. Values of the set-up stay; values of an update belong to that update. */
#include "tests/support/failing_allocator.h"
#include "lib/method/precond.h"
#include "tests/support/problem.h"
#include "tests/support/named_values.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The names that a report has, in order, each followed by a blank. */
static const char *names_of(const karst_precond *P)
{
  static char names[2048];
  karst_value value;
  size_t used = 0;
  names[0] = '\0';
  for (size_t i = 0; karst_precond_report(P, i, &value) && used < sizeof names; i++)
    used += (size_t)snprintf(names + used, sizeof names - used, "%s ", value.name);
  return names;
}

/* The value of a name, or one without a name. */
static karst_value value_of(const karst_precond *P, const char *name)
{
  karst_value value = {0};
  for (size_t i = 0; karst_precond_report(P, i, &value); i++)
    if (strcmp(value.name, name) == 0) return value;
  return (karst_value){0};
}

/* ---- Karst's own methods ---- */

static karst_precond *make(karst_context *context, const char *name, const char *trisolve, const karst_matrix *A)
{
  tap_settings options = settings_for(NULL, name);
  options.trisolve = trisolve;
  options.ilu_residual = "yes";
  return precond_of(context, &options, A);
}

static void each_method(karst_context *context)
{
  static const char *const expected[][2] = {
      {"none", ""},
      {"jacobi", ""},
      {"iluk", "precision_used factor_bytes levels_lower levels_upper trisolve_used shifted "},
      {"dilu", "precision_used factor_bytes levels_lower levels_upper shifted "},
      {"parilu", "precision_used factor_bytes levels_lower levels_upper trisolve_used sweep_residual_before "
                 "sweep_residual_after ilu_residual shifted fallbacks "},
      {"paric", "precision_used factor_bytes levels_lower levels_upper trisolve_used sweep_residual_before "
                "sweep_residual_after ilu_residual shifted fallbacks "},
      {"fgbilu", "precision_used factor_bytes hyperplanes style_used "},
      {"lines", "line_direction_used lines longest_line "},
      {"adi", "lines_x lines_y "},
      {"amg", "amg_levels operator_complexity grid_complexity amg_rebuilds amg_pinned amg_level_0 "},
      {"ras", "overlap overlap_rows local_precision_used local_factor_bytes local_levels_lower local_levels_upper "
              "local_trisolve_used local_shifted "}};
  karst_matrix *A = matrix_from(context, "poisson2d:9x7", 1);
  for (size_t m = 0; m < sizeof expected / sizeof *expected; m++) {
    karst_precond *P = make(context, expected[m][0], "auto", A);
    tap_ok(strcmp(names_of(P), expected[m][1]) == 0, "%s reports %s", expected[m][0], names_of(P));
    tap_need(context, karst_precond_update(P), "update");
    tap_ok(strcmp(names_of(P), expected[m][1]) == 0, "and the same after an update");
    karst_precond_destroy(P);
  }
  karst_matrix_destroy(A);
}

/* cpr reports what it has chosen, and the values of both stages under their names. */
static void of_cpr(karst_context *context)
{
  static const char expected[] =
      "cpr_pressure cpr_coupling cpr_coupling_next cpr_weights_used cpr_guarded cpr_balance_used first_amg_levels "
      "first_operator_complexity first_grid_complexity first_amg_rebuilds first_amg_pinned first_amg_level_0 "
      "second_precision_used second_factor_bytes second_levels_lower second_levels_upper second_trisolve_used "
      "second_shifted ";
  karst_matrix *A = matrix_from(context, "blackoil:5x4x3", 0);
  karst_precond *P = precond_from(context, PAIRS("precond", "cpr"), A);
  for (int i = 0; i < 2; i++) {
    tap_ok(strcmp(names_of(P), expected) == 0, "cpr reports %s", names_of(P));
    tap_need(context, karst_precond_update(P), "update");
  }
  tap_ok(value_of(P, "cpr_pressure").number == 0 && strcmp(value_of(P, "cpr_guarded").unit, "cells") == 0 &&
             strcmp(value_of(P, "cpr_weights_used").text, "column-sum") == 0 &&
             strcmp(value_of(P, "first_amg_level_0").text, "60 rows, 326 entries, longest row 7") == 0,
         "pressure 0 with column sums, and %s", value_of(P, "first_amg_level_0").text);
  karst_precond_destroy(P);
  karst_matrix_destroy(A);
}

/* The number of level sets, 15 for each triangle of this grid, is reported. */
static void levels(karst_context *context)
{
  static const char *const cases[][2] = {
      {"iluk", "levels_upper"}, {"dilu", "levels_lower"}, {"parilu", "levels_lower"}, {"fgbilu", "hyperplanes"}};
  karst_matrix *A = matrix_from(context, "poisson2d:9x7", 1);
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    karst_precond *P = make(context, cases[c][0], "auto", A);
    const double number = value_of(P, cases[c][1]).number;
    tap_ok(number == 9 + 7 - 1, "%s: %s is %g", cases[c][0], cases[c][1], number);
    karst_precond_destroy(P);
  }
  karst_matrix_destroy(A);
}

static void units_and_texts(karst_context *context)
{
  karst_matrix *A = matrix_from(context, "poisson2d:9x7", 1);
  karst_precond *P = make(context, "parilu", "auto", A);
  const karst_value levels = value_of(P, "levels_lower"), solve = value_of(P, "trisolve_used");
  const karst_value norm = value_of(P, "sweep_residual_after");
  tap_ok(levels.number == 9 + 7 - 1 && strcmp(levels.unit, "level sets") == 0 && !levels.text,
         "a number has its unit: %g %s", levels.number, levels.unit);
  tap_ok(solve.text && *solve.text && strcmp(solve.unit, "") == 0 && isnan(solve.number), "a text has no unit: %s",
         solve.text);
  tap_ok(norm.number >= 0 && strcmp(norm.unit, "") == 0, "a norm has no unit");
  tap_ok(strcmp(value_of(P, "shifted").unit, "blocks") == 0 &&
             strcmp(value_of(P, "fallbacks").unit, "factorizations") == 0,
         "a count has the unit of its objects");
  karst_precond_destroy(P);
  P = make(context, "iluk", "jacobi", A);
  tap_ok(strcmp(value_of(P, "trisolve_used").text, "jacobi") == 0, "the text follows the option");
  karst_precond_destroy(P);
  karst_matrix_destroy(A);
}

/* The solver's report is that of its preconditioner, from set-up on. */
static void of_a_solver(karst_context *context)
{
  const karst_index start[] = {0, 1, 2}, hollow[] = {1, 0};
  const double ones[] = {1, 1};
  karst_value value = {.name = "untouched"};
  tap_settings options = settings_for(NULL, "iluk");
  options.ordering = "rcm";
  karst_matrix *A = matrix_from(context, "poisson2d:9x7", 1);
  karst_matrix *bad = matrix_of(context, 2, 1, start, hollow, ones);
  karst_solver *solver = solver_of(context, &options);
  tap_ok(!karst_solver_report(solver, 0, &value) && strcmp(value.name, "untouched") == 0, "no values before setup");
  tap_need(context, karst_solver_setup(solver, A), "setup");
  tap_ok(karst_solver_report(solver, 0, &value) == 1 && tap_solver_number(solver, "levels_lower") > 0 &&
             tap_solver_number(solver, "shifted") == 0,
         "the values of its preconditioner");
  tap_ok(!karst_solver_report(solver, 6, &value) && !karst_solver_report(solver, SIZE_MAX, &value), "and no more");
  tap_ok(!karst_solver_report(NULL, 0, &value) && !karst_solver_report(solver, 0, NULL), "NULL has no values");
  tap_ok(karst_solver_setup(solver, bad) == KARST_ERROR_MATRIX && !karst_solver_report(solver, 0, &value),
         "no values after a setup that failed");
  karst_solver_destroy(solver);
  karst_matrix_destroy(A);
  karst_matrix_destroy(bad);
}

/* ---- a method that reports values for the test ---- */

static struct {
  int in_setup;     /* values that setup puts */
  bool fail, quiet; /* update fails in the end; it puts nothing */
  int updates;
} plan;

static karst_status put_many(karst_precond *p, int count)
{
  karst_status status = KARST_SUCCESS;
  for (int i = 0; i < count && !status; i++) {
    char name[32]; /* gone when the report is read */
    snprintf(name, sizeof name, "setup_%d", i);
    status = karst_precond_put(p, name, NULL, i);
    memset(name, '?', sizeof name);
  }
  return status;
}

static karst_status setup(karst_precond *p) { return put_many(p, plan.in_setup); }

static karst_status update(karst_precond *p)
{
  if (plan.quiet) return KARST_SUCCESS;
  karst_status status = karst_precond_put(p, "updates", "calls", ++plan.updates);
  if (status) return status;
  return plan.fail ? karst_fail(p->context, KARST_ERROR_FILE, "the licence ran out") : KARST_SUCCESS;
}

static void destroy(karst_precond *p) { (void)p; }

static const struct karst_precond_ops ops = {.name = "reporter", .setup = setup, .update = update, .destroy = destroy};

static karst_matrix *one_row(karst_context *context)
{
  const karst_index start[] = {0, 1}, column[] = {0};
  const double value[] = {2};
  return matrix_of(context, 1, 1, start, column, value);
}

static karst_precond *reporter(karst_context *context, const karst_matrix *A, int in_setup)
{
  karst_precond *P;
  memset(&plan, 0, sizeof plan);
  plan.in_setup = in_setup;
  tap_need(context, karst_precond_prepare(&ops, NULL, A, &P), "reporter");
  return P;
}

static void put_and_replace(karst_context *context)
{
  karst_matrix *A = one_row(context);
  karst_precond *P = reporter(context, A, 2);
  char text[] = "wells first";
  tap_ok(strcmp(names_of(P), "setup_0 setup_1 ") == 0, "the values of setup are reported");
  tap_need(context, karst_precond_put(P, "rate", "1/s", 2.5), "put");
  tap_need(context, karst_precond_put_text(P, "order", text), "put");
  text[0] = '?';
  karst_value value = value_of(P, "order");
  tap_ok(strcmp(names_of(P), "setup_0 setup_1 rate order ") == 0 && strcmp(value.text, "wells first") == 0,
         "values come in the order in which they were put, and texts are copied");
  tap_need(context, karst_precond_put(P, "rate", "1/h", NAN), "put");
  value = value_of(P, "rate");
  tap_ok(isnan(value.number) && strcmp(value.unit, "1/h") == 0 && !value.text, "a name put again has its last value");
  tap_need(context, karst_precond_put_text(P, "rate", "high"), "put");
  tap_need(context, karst_precond_put(P, "order", "", -INFINITY), "put");
  tap_ok(strcmp(names_of(P), "setup_0 setup_1 rate order ") == 0 && strcmp(value_of(P, "rate").text, "high") == 0 &&
             strcmp(value_of(P, "rate").unit, "") == 0 && !value_of(P, "order").text &&
             value_of(P, "order").number == -INFINITY,
         "a number becomes a text in its place, and a text a number");
  value = value_of(P, "rate");
  tap_need(context, karst_precond_put_text(P, value.name, value.text + 1), "put back");
  tap_ok(strcmp(value_of(P, "rate").text, "igh") == 0, "a reported value can be put back");
  karst_precond_destroy(P);
  karst_matrix_destroy(A);
}

static void updates(karst_context *context)
{
  karst_matrix *A = one_row(context);
  karst_precond *P = reporter(context, A, 1);
  tap_need(context, karst_precond_update(P), "update");
  tap_need(context, karst_precond_put(P, "later", "", 1), "put");
  tap_ok(strcmp(names_of(P), "setup_0 updates later ") == 0, "an update adds to the values of setup");
  tap_need(context, karst_precond_update(P), "update");
  tap_ok(strcmp(names_of(P), "setup_0 updates ") == 0 && tap_precond_number(P, "updates") == 2,
         "the next update removes those of the last one");
  plan.fail = true;
  tap_ok(karst_precond_update(P) == KARST_ERROR_FILE && tap_precond_number(P, "updates") == 3,
         "an update that fails leaves its values");
  plan.fail = false;
  plan.quiet = true;
  tap_need(context, karst_precond_update(P), "update");
  tap_ok(strcmp(names_of(P), "setup_0 ") == 0, "and an update without values leaves none");
  karst_precond_destroy(P);
  karst_matrix_destroy(A);
}

static void refused(karst_context *context, karst_status status, const char *says, const char *what)
{
  tap_ok(status == KARST_ERROR_ARGUMENT && strstr(karst_context_error(context), says), "refused, %s: %s", what,
         karst_context_error(context));
}

/* A text of so many letters; overwritten by the next call. */
static const char *letters(size_t count)
{
  static char text[256];
  memset(text, 'a', count);
  text[count] = '\0';
  return text;
}

static void refusals(karst_context *context)
{
  static const char *const names[] = {"", "Level", "a-b", "a b", "a\n", "r\xc3\xa9sidu", "precond.level"};
  karst_matrix *A = one_row(context);
  karst_precond *P = reporter(context, A, 0);
  karst_value value;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    karst_status status = karst_precond_put(P, names[i], "", 1);
    tap_ok(status == KARST_ERROR_ARGUMENT && strstr(karst_context_error(context), "has 1 to 47 of the characters a-z"),
           "name %zu is refused", i);
  }
  refused(context, karst_precond_put_text(P, letters(48), "x"), "1 to 47", "a name of 48");
  refused(context, karst_precond_put(P, NULL, "", 1), "the name of a value is NULL", "no name");
  refused(context, karst_precond_put_text(P, NULL, "x"), "the name of a value is NULL", "no name");
  refused(context, karst_precond_put_text(P, "a", NULL), "the text of a value is NULL", "no text");
  refused(context, karst_precond_put(P, "a", letters(24), 1), "the unit of the value a has 24 bytes, more than 23",
          "a long unit");
  refused(context, karst_precond_put_text(P, "a", letters(96)), "the text of the value a has 96 bytes, more than 95",
          "a long text");
  tap_ok(karst_precond_put(NULL, "a", "", 1) == KARST_ERROR_ARGUMENT &&
             karst_precond_put_text(NULL, "a", "b") == KARST_ERROR_ARGUMENT,
         "a NULL preconditioner is refused");
  tap_ok(strcmp(names_of(P), "") == 0 && !karst_precond_report(P, 0, &value), "a refused value is not in the report");
  tap_ok(!karst_precond_report(NULL, 0, &value), "NULL has no values");
  tap_need(context, karst_precond_put(P, letters(47), "", 1), "a name of 47");
  tap_need(context, karst_precond_put(P, "b", letters(23), 1), "a unit of 23");
  tap_need(context, karst_precond_put_text(P, "c", letters(95)), "a text of 95");
  tap_ok(strlen(value_of(P, letters(47)).name) == 47 && strlen(value_of(P, "b").unit) == 23 &&
             strlen(value_of(P, "c").text) == 95,
         "the longest name, text and unit are kept");
  tap_ok(!karst_precond_report(P, 0, NULL), "a NULL value gets no report");
  karst_precond_destroy(P);
  karst_matrix_destroy(A);
}

static void limits(karst_context *context)
{
  karst_matrix *A = one_row(context);
  karst_precond *P = reporter(context, A, KARST_REPORT_VALUES);
  refused(context, karst_precond_put(P, "more", "", 1), "no room for the value more: a method reports at most 64",
          "value 65");
  tap_need(context, karst_precond_put(P, "setup_31", "", -5), "put");
  tap_ok(tap_precond_number(P, "setup_31") == -5 && tap_precond_number(P, "more") == -1,
         "a value of a full report is replaced");
  refused(context, karst_precond_update(P), "no room for the value updates", "an update with one more value");
  karst_precond_destroy(P);
  plan.in_setup = KARST_REPORT_VALUES + 1;
  refused(context, karst_precond_prepare(&ops, NULL, A, &P), "no room for the value setup_64",
          "a setup with one value more");
  karst_matrix_destroy(A);
}

static void no_memory(void)
{
  struct failing_allocator memory = {.fail_at = 0};
  karst_context *context = failing_context(&memory);
  karst_matrix *A = one_row(context);
  karst_precond *P = reporter(context, A, 0);
  const long calls = memory.calls;
  tap_need(context, put_many(P, KARST_REPORT_VALUES), "put");
  tap_need(context, karst_precond_put_text(P, "setup_0", letters(95)), "put");
  tap_ok(memory.calls == calls, "putting values allocates nothing");
  karst_precond_destroy(P);
  karst_matrix_destroy(A);
  karst_context_destroy(context);
}

int main(void)
{
  tap_each_device(of_cpr, "the values of cpr");
  tap_each_device(each_method, "each method");
  tap_each_device(levels, "levels");
  tap_each_device(units_and_texts, "units and texts");
  tap_each_device(of_a_solver, "a solver's report");
  tap_each_device(put_and_replace, "put and replace");
  tap_each_device(updates, "updates");
  tap_each_device(refusals, "refusals");
  tap_each_device(limits, "limits");
  no_memory();
  return tap_done();
}
