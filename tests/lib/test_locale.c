/* In a locale with a decimal comma, files, options and messages have a decimal point, and the locale stays as it
 * was. */
#define _GNU_SOURCE /* NOLINT(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): for uselocale */
#include "lib/base/number.h"
#include "tests/support/problem.h"
#include "tests/support/refusal.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Chooses a locale with a decimal comma: one that is installed, or one that localedef makes here. */
static bool choose_comma(void)
{
  static const char *const installed[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "nl_NL.UTF-8", "da_DK.UTF-8"};
  static const char source[] = "LC_NUMERIC\ndecimal_point \",\"\nthousands_sep \"\"\ngrouping -1\nEND LC_NUMERIC\n";
  char command[1200];
  for (size_t i = 0; i < sizeof installed / sizeof *installed; i++)
    if (setlocale(LC_NUMERIC, installed[i])) return true;
  const char *path = tap_write("comma.src", source, -1);
  snprintf(command, sizeof command,
           "d='%s.d' && mkdir -p \"$d\" && localedef -c --quiet -i '%s' \"$d/comma\" >/dev/null 2>&1", path, path);
  const int outcome = system(command); // NOLINT(cert-env33-c): its path is the test's own
  if (outcome < 0) return false;       /* it fails because of warnings too */
  snprintf(command, sizeof command, "%s.d", path);
  setenv("LOCPATH", command, 1);
  const bool chosen = setlocale(LC_NUMERIC, "comma") != NULL;
  snprintf(command, sizeof command, "rm -rf '%s.d'", path);
  if (system(command) != 0) tap_note("%s.d stays", path); // NOLINT(cert-env33-c): as above
  return chosen;
}

static bool has_comma(void)
{
  char text[16];
  snprintf(text, sizeof text, "%.1f", 0.5);
  return strcmp(text, "0,5") == 0 && uselocale((locale_t)0) == LC_GLOBAL_LOCALE;
}

static void test_files(karst_context *context)
{
  const char *text = "%%MatrixMarket matrix array real general\n2 1\n0.12345678901234567891\n-2.5\n";
  const char *entries = GENERAL "1 1 1\n1 1 0.5\n";
  karst_vector *vector;
  karst_matrix *matrix;
  char written[200];
  tap_need(context, karst_vector_read(context, tap_write("locale.mtx", text, -1), &vector), "read");
  tap_need(context, karst_vector_write(vector, tap_scratch("locale.mtx")), "write");
  written[slurp(tap_scratch("locale.mtx"), written, sizeof written - 1)] = '\0';
  const double *values = karst_vector_values(vector);
  tap_ok(values[0] == 0x1.f9add3746f65fp-4 && values[1] == -2.5 && strstr(written, "\n0.12345678901234568\n-2.5\n"),
         "a vector's file has points");
  karst_vector_destroy(vector);
  tap_need(context, karst_matrix_read(context, tap_write("locale.mtx", entries, -1), 0, &matrix), "read");
  tap_need(context, karst_matrix_write(matrix, tap_scratch("again.mtx")), "write");
  written[slurp(tap_scratch("again.mtx"), written, sizeof written - 1)] = '\0';
  tap_ok(karst_matrix_value(matrix)[0] == 0.5 && strcmp(written, entries) == 0, "a matrix's file has points");
  karst_matrix_destroy(matrix);
}

static void test_options(karst_context *context)
{
  const char *const text[] = {"0.25", "0.12345678901234567891"};
  const double number[] = {0.25, 0x1.f9add3746f65fp-4};
  karst_options *options;
  const char *kept = NULL;
  double value = -1;
  tap_need(context, karst_options_create(context, &options), "options");
  for (int i = 0; i < 2; i++) {
    bool taken = !karst_options_set(options, "rtol", text[i]) && !karst_options_get(options, "rtol", &kept);
    tap_ok(taken && strcmp(kept, text[i]) == 0, "an option from text keeps its point: %s", text[i]);
    taken = !karst_options_set_real(options, "rtol", number[i]) && !karst_options_get(options, "rtol", &kept);
    tap_ok(taken && karst_parse_real(kept, &value) && value == number[i], "an option from a number has a point: %s",
           kept);
  }
  const karst_status status = karst_options_set_real(options, "rtol", -0.5);
  tap_ok(status == KARST_ERROR_OPTION && strstr(karst_context_error(context), "rtol -0.5 is out of range"),
         "an error has a point: %s", karst_context_error(context));
  karst_options_destroy(options);
}

static void test_gallery(karst_context *context)
{
  karst_matrix *matrix;
  const karst_status status = karst_gallery_create(context, "blackoil:3x3x3,dt=-0.5", 0, &matrix, NULL);
  tap_ok(status && !strchr(strchr(karst_context_error(context), ' '), ','), "an error of the gallery has a point: %s",
         karst_context_error(context));
}

/* The numbers of a solve's sentence, such as 3.076e-08. */
static void test_sentence(karst_context *context)
{
  struct problem p = problem_from(context, "poisson2d:5x5", 0, 0);
  for (int i = 0; i < 2; i++) {
    karst_solver *solver = solver_from(context, PAIRS("max-iterations", i ? "1" : "100"));
    tap_need(context, karst_solver_setup(solver, p.A), "setup");
    problem_solve(&p, solver);
    const char *residual = strstr(karst_solver_explain(solver), "residual is ");
    tap_ok(residual && residual[12] != '\0' && residual[13] == '.', "%s: %s",
           i ? "a solve that has not converged" : "a solve", karst_solver_explain(solver));
    karst_solver_destroy(solver);
  }
  problem_destroy(&p);
}

static void keep(void *user, karst_message_kind kind, const char *text)
{
  (void)kind;
  snprintf(user, 256, "%s", text);
}

static void test_messages(karst_context *context)
{
  char text[256] = "";
  karst_context_set_message(context, keep, text);
  karst_notify(context, KARST_MESSAGE_NOTE, "%g", 0.5);
  karst_context_set_message(context, NULL, NULL);
  tap_ok(strcmp(text, "0.5") == 0, "messages have a point: %s", text);
}

int main(void)
{
  if (!choose_comma() || !has_comma()) tap_skip_all("no locale with a decimal comma is available");
  karst_context *context = tap_context();
  test_files(context);
  test_options(context);
  test_gallery(context);
  test_sentence(context);
  test_messages(context);
  tap_ok(has_comma(), "the program's locale stays as it was");
  karst_context_destroy(context);
  return tap_done();
}
