/* settings.c - options by value; see settings.h. */
#include "tests/support/settings.h"

#include "tests/support/tap.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum kind { TEXT, WHOLE, REAL };

#define ENTRY(KIND, OPTION, FIELD)                                                                                     \
  {                                                                                                                    \
    KIND, OPTION, offsetof(tap_settings, FIELD)                                                                        \
  }

static const struct entry {
  enum kind kind;
  const char *option;
  size_t field;
} entries[] = {
    ENTRY(TEXT, "solver", solver),
    ENTRY(TEXT, "precond", precond),
    ENTRY(TEXT, "ordering", ordering),
    ENTRY(TEXT, "scale", scale),
    ENTRY(REAL, "rtol", rtol),
    ENTRY(REAL, "atol", atol),
    ENTRY(WHOLE, "max-iterations", max_iterations),
    ENTRY(WHOLE, "restart", restart),
    ENTRY(TEXT, "orthogonalise", orthogonalise),
    ENTRY(TEXT, "side", side),
    ENTRY(TEXT, "norm", norm),
    ENTRY(REAL, "damping", damping),
    ENTRY(WHOLE, "parts", parts),
    ENTRY(WHOLE, "tile-size", tile_size),
    ENTRY(TEXT, "tile-shape", tile_shape),
    ENTRY(WHOLE, "level", level),
    ENTRY(TEXT, "factor-precision", factor_precision),
    ENTRY(TEXT, "trisolve", trisolve),
    ENTRY(WHOLE, "trisolve-sweeps", trisolve_sweeps),
    ENTRY(REAL, "shift", shift),
    ENTRY(REAL, "modified", modified),
    ENTRY(WHOLE, "sweeps", sweeps),
    ENTRY(TEXT, "sweep-mode", sweep_mode),
    ENTRY(TEXT, "sweep-scale", sweep_scale),
    ENTRY(TEXT, "ilu-residual", ilu_residual),
    ENTRY(TEXT, "sweep-order", sweep_order),
    ENTRY(WHOLE, "sweep-block", sweep_block),
    ENTRY(TEXT, "sweep-chunks", sweep_chunks),
    ENTRY(WHOLE, "sweep-limit", sweep_limit),
    ENTRY(TEXT, "fgbilu-style", fgbilu_style),
    ENTRY(TEXT, "pivoting", pivoting),
    ENTRY(WHOLE, "rrb-levels", rrb_levels),
    ENTRY(TEXT, "rrb-precision", rrb_precision),
    ENTRY(WHOLE, "rrb-grids", rrb_grids),
};

enum { ENTRIES = sizeof entries / sizeof entries[0] };

static const char *default_of(const char *option)
{
  karst_option_info info;
  for (size_t i = 0; karst_options_info(NULL, i, &info); i++)
    if (strcmp(info.name, option) == 0) return info.default_value;
  tap_ok(false, "tests/support/settings.h has an option that the library does not know: %s", option);
  exit(1);
}

static void read_defaults(tap_settings *settings)
{
  for (int i = 0; i < ENTRIES; i++) {
    void *field = (char *)settings + entries[i].field;
    const char *text = default_of(entries[i].option);
    const int whole = (int)strtol(text, NULL, 10);
    const double real = strtod(text, NULL);
    if (entries[i].kind == TEXT) memcpy(field, &text, sizeof text);
    if (entries[i].kind == WHOLE) memcpy(field, &whole, sizeof whole);
    if (entries[i].kind == REAL) memcpy(field, &real, sizeof real);
  }
}

tap_settings settings_for(const char *solver, const char *precond)
{
  static tap_settings defaults;
  if (!defaults.solver) read_defaults(&defaults);
  tap_settings settings = defaults;
  settings.solver = solver ? solver : "gmres";
  if (precond) settings.precond = precond;
  return settings;
}

static karst_status set(karst_options *options, const struct entry *entry, const void *field)
{
  const char *text;
  int whole;
  double real;
  switch (entry->kind) {
  case TEXT:
    memcpy(&text, field, sizeof text);
    return karst_options_set(options, entry->option, text);
  case WHOLE:
    memcpy(&whole, field, sizeof whole);
    return karst_options_set_integer(options, entry->option, whole);
  default:
    memcpy(&real, field, sizeof real);
    return karst_options_set_real(options, entry->option, real);
  }
}

karst_status tap_options_create(karst_context *context, const tap_settings *settings, karst_options **options)
{
  karst_status status = karst_options_create(context, options);
  for (int i = 0; i < ENTRIES && !status; i++)
    status = set(*options, &entries[i], (const char *)settings + entries[i].field);
  if (!status) return KARST_SUCCESS;
  karst_options_destroy(*options);
  *options = NULL;
  return status;
}

karst_status tap_solver_create(karst_context *context, const tap_settings *settings, karst_solver **solver)
{
  karst_options *options;
  karst_status status = tap_options_create(context, settings, &options);
  *solver = NULL;
  if (!status) status = karst_solver_create(context, options, solver);
  karst_options_destroy(options);
  return status;
}

karst_status tap_solver_setup(karst_context *context, const tap_settings *settings, const karst_matrix *A,
                              karst_solver **solver)
{
  const karst_status status = tap_solver_create(context, settings, solver);
  return status ? status : karst_solver_setup(*solver, A);
}

karst_status tap_precond_create(karst_context *context, const tap_settings *settings, const karst_matrix *A,
                                karst_precond **precond)
{
  karst_options *options;
  karst_status status = tap_options_create(context, settings, &options);
  *precond = NULL;
  if (!status) status = karst_precond_create(context, options, A, precond);
  karst_options_destroy(options);
  return status;
}
