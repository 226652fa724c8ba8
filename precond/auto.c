/* auto.c - auto among the preconditioners: a name and its options.
 *
 * What it stands for is chosen with the ordering of the block rows, which no preconditioner sees, and so for a whole
 * solver (solver/auto/auto.h), before any preconditioner is made. */
#include "precond/ilu_settings.h"

struct settings {
  karst_ilu_settings ilu; /* for the rows of iluk, whose values the choice respects */
  int learn;
};

static const char *learn_name(size_t i)
{
  static const char *const names[] = {"iterations", "time", "no", NULL};
  return names[i];
}

static karst_status setup(karst_precond *p)
{
  return karst_fail(p->context, KARST_ERROR_OPTION,
                    "auto chooses for a whole solver and cannot stand inside another preconditioner: name the one that "
                    "is to stand there");
}

static void destroy(karst_precond *p) { (void)p; /* setup has made nothing */ }

extern const struct karst_precond_ops karst_precond_auto;

static const karst_option auto_rows[] = {
    {"auto-learn", KARST_OPTION_NAME, false, offsetof(struct settings, learn), learn_name, 0, "iterations",
     "what updates judge the choices of auto by: iteration counts and bytes, the clock, or nothing"},
    {0},
};

static const karst_option *const rows[] = {auto_rows,        karst_level_rows,    karst_ilu_rows,
                                           karst_shift_rows, karst_modified_rows, NULL};

/* No function but setup and destroy is ever called. */
const struct karst_precond_ops karst_precond_auto = {
    .name = "auto",
    .help = "chooses preconditioner, level and ordering by the matrix, and by what it measures between updates",
    .options = rows,
    .settings = sizeof(struct settings),
    .setup = setup,
    .destroy = destroy,
};
