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
  static const char *const names[] = {"iterations", "time", "no", NULL};
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
    {"auto-learn", KARST_OPTION_NAME, false, offsetof(struct settings, learn), learn_name, 0, "iterations",
     "how auto compares its choices: by iterations and bytes moved, by time, or not at all",
     "With iterations, an update may try another level for one solve: the level above the best so far if solves cost "
     "more than updates, otherwise the level below, if the solve took at most 20 iterations. It goes on while that is "
     "cheaper. Multigrid, amg or cpr, is left only if it fails. The cost is the iterations for one digit of the "
     "residual times the bytes that an iteration moves, plus "
     "the bytes of an update; no clock decides, so all runs have the same bits. A solve continues with another choice "
     "in the same call in three cases: it fails; it is a trial that has cost more than the choice it is compared with; "
     "or it takes three times the usual iterations (then with a higher level). It continues from the best x so far and "
     "within the iterations allowed. If the iterations have doubled or halved, neighbouring levels are tried again. An "
     "update that changes the choice orders and analyses again and holds both choices meanwhile; if there is no memory "
     "for that, the choice stays. time does the same with measured seconds, so that runs may differ in their bits. "
     "With no, solves are not compared: an update chooses and allocates again only if the values are refused, and "
     "goes back after one solve."},
    {0},
};

static const karst_option *const rows[] = {
    auto_rows, karst_level_rows, karst_ilu_rows, karst_shift_rows, karst_modified_rows, karst_precision_rows, NULL};

/* Only setup and destroy are ever called. */
const struct karst_precond_ops karst_precond_auto = {
    .name = "auto",
    .help = "chooses preconditioner, level and ordering by the matrix, and by what it measures between updates",
    .details =
        "Set-up decides by rules, from up to 400 block rows: how much level 1 would fill, the block size, "
        "the number of block rows, the solver, whether the rows are a diffusion on a grid of two dimensions, and "
        "whether one unknown of each block is a pressure, which cpr needs. "
        "Options that are given are kept: an ordering other than natural rules out rrb, scale rules out rrb, amg and "
        "cpr, and level, trisolve, trisolve-sweeps, shift or modified leave only iluk, and factor-precision the "
        "methods that have it. It cannot be used inside "
        "another preconditioner; "
        "karst_precond_create chooses once, without an ordering. auto_choice and auto_reason in the report say what "
        "was chosen and why.",
    .options = rows,
    .settings = sizeof(struct settings),
    .setup = setup,
    .destroy = destroy,
};
