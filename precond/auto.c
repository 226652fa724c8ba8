/* auto.c - the preconditioner auto: a name and its options.
 *
 * The solver chooses the actual preconditioner together with the ordering of the block rows, before it makes a
 * preconditioner (solver/auto/auto.h), because no preconditioner sees the ordering. */
#include "precond/ilu_settings.h"

struct settings {
  karst_ilu_settings ilu; /* for the rows of iluk, which auto passes on */
  int learn;
};

static const char *learn_name(size_t i)
{
  static const char *const names[] = {"time", "no", NULL};
  return names[i];
}

static karst_status setup(karst_precond *p)
{
  return karst_fail(p->context, KARST_ERROR_OPTION,
                    "auto chooses for a whole solver and cannot be used inside another preconditioner: name another "
                    "one there");
}

static void destroy(karst_precond *p) { (void)p; /* setup has made nothing */ }

extern const struct karst_precond_ops karst_precond_auto;

static const karst_option auto_rows[] = {
    {"auto-learn", KARST_OPTION_NAME, false, offsetof(struct settings, learn), learn_name, 0, "time",
     "whether auto measures its choices: by time, or not at all",
     "With time, updates and solves are measured, so that runs may differ in their choices and bits. Each solve "
     "adds to what other choices would have saved at best. Once that pays for making another one and for coming "
     "back, an update makes it and measures a product and an application of M. If it can still be cheaper, it has "
     "a trial of two solves, which ends early if it is dearer; the cheaper of both stays. After a trial in vain a "
     "choice has to promise twice as much. With the ordering auto and a given preconditioner a set-up on a GPU "
     "measures natural order and tiles. A solve continues with another choice in the same call, from the best x "
     "so far and within the iterations allowed, if it fails, if it is a trial that costs too much, or if it takes "
     "three times the usual iterations. An update that changes the choice orders and analyses again and holds "
     "both choices meanwhile; if there is no memory for that, the choice stays. With no, nothing is measured: an "
     "update chooses and allocates again only if the values are refused, and goes back after one solve."},
    {0},
};

static const karst_option *const rows[] = {auto_rows,        karst_level_rows,    karst_ilu_rows,
                                           karst_shift_rows, karst_modified_rows, NULL};

/* Only setup and destroy are ever called. */
const struct karst_precond_ops karst_precond_auto = {
    .name = "auto",
    .help = "chooses preconditioner, level and ordering by the matrix, and by what it measures",
    .details =
        "Set-up decides by rules, from up to 400 block rows: how much level 1 would fill, the block size, "
        "the number of block rows, the solver, whether the rows are a diffusion on a grid of two dimensions, and "
        "whether one unknown of each block is a pressure, which cpr needs. "
        "Options that are given are kept: an ordering other than natural rules out rrb, scale rules out rrb, amg and "
        "cpr, and level, trisolve, trisolve-sweeps, shift, modified or factor-precision leave only iluk. It cannot be "
        "used inside another preconditioner; karst_precond_create chooses once, without an ordering. auto_choice "
        "and auto_reason in the report say what was chosen and why: given as options, auto_choice fixes the choice.",
    .options = rows,
    .settings = sizeof(struct settings),
    .setup = setup,
    .destroy = destroy,
};
