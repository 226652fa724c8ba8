/* cycle.c - writes a cycle of multigrid as a list of steps, which every backend runs.
 *
 * On each level but the last: smooth, restrict the residual, cycle on the next level from zero, add its interpolated
 * result, smooth. A V-cycle visits the next level once, a W-cycle twice, the second time from the result of the first.
 * The last level is solved by its inverse or, with too many rows for one, by sweeps; where ranks share the matrix, by a
 * hierarchy of its own (gathered.c). */
#include "precond/amg/amg.h"

enum {
  LAST_SWEEPS = 4,
  W_LEVELS = 8 /* a W-cycle visits later levels once, so that its steps do not double with each of them */
};

/* A list under construction. With step NULL its steps are only counted. */
struct list {
  const karst_amg_settings *settings;
  const karst_amg *amg;
  karst_amg_step *step;
  int steps;
};

static void add(struct list *list, karst_amg_action action, int level, int x, int y, double factor, double keep)
{
  if (list->step)
    list->step[list->steps] =
        (karst_amg_step){.action = action, .level = level, .x = x, .y = y, .factor = factor, .keep = keep};
  list->steps++;
}

/* Vector 1 or 2, which take turns. x = 0 stands for a start from zero. */
static int other(int x) { return x == 1 ? 2 : 1; }

/* Where ranks share the level, brings the ghosts' part of vector x, with which a product is to come. */
static void exchange(struct list *list, int level, int x)
{
  if (list->amg->call && x != 0) add(list, KARST_AMG_EXCHANGE, level, x, x, 1, 0);
}

/* Adds sweeps of Jacobi from vector x and returns the vector of the result. */
static int sweep(struct list *list, int level, int x, int sweeps, double omega)
{
  for (int i = 0; i < sweeps; i++) {
    const int y = other(x);
    exchange(list, level, x);
    add(list, x == 0 ? KARST_AMG_FIRST : KARST_AMG_SWEEP, level, x, y, omega, 0);
    x = y;
  }
  return x;
}

/* Adds Chebyshev iterations of the fourth kind (Lottes, Optimal Polynomial Smoothers for Multigrid V-cycles, 2022) for
 * a spectrum bounded by 1, which the l1 weights ensure without an estimate. */
static int chebyshev(struct list *list, int level, int x)
{
  for (int i = 1; i <= list->settings->order; i++) {
    const int y = other(x);
    exchange(list, level, x);
    add(list, KARST_AMG_MOMENTUM, level, x, y, (8.0 * i - 4) / (2.0 * i + 1),
        i == 1 ? 0 : (2.0 * i - 3) / (2.0 * i + 1));
    x = y;
  }
  return x;
}

/* Adds sweeps along the lines of level 0, x = x + omega M^-1 (f - A x) in place. */
static int sweep_lines(struct list *list, int x, int sweeps)
{
  const double omega = list->settings->line_omega;
  for (int i = 0; i < sweeps; i++) {
    if (x > 0) add(list, KARST_AMG_RESIDUAL, 0, x, other(x), 1, 0);
    add(list, KARST_AMG_LINES, 0, x > 0 ? other(x) : 0, x > 0 ? x : 1, omega, x > 0 ? 1 : 0);
    if (x == 0) x = 1;
  }
  return x;
}

static int smooth(struct list *list, int level, int x)
{
  const karst_amg_settings *settings = list->settings;
  if (level == 0 && karst_amg_has_lines(settings)) return sweep_lines(list, x, settings->sweeps);
  if (settings->smoother != KARST_AMG_CHEBYSHEV) return sweep(list, level, x, settings->sweeps, settings->omega);
  for (int i = 0; i < settings->sweeps; i++) x = chebyshev(list, level, x);
  return x;
}

static int solve_last(struct list *list, int level, int x)
{
  const bool rest = list->amg->call || list->amg->level[level].A.rows > KARST_AMG_DENSE;
  if (list->amg->gathers) {
    add(list, KARST_AMG_GATHER, level, 0, 1, 1, 0);
    return 1;
  }
  if (rest && level == 0 && karst_amg_has_lines(list->settings)) return sweep_lines(list, x, LAST_SWEEPS);
  if (rest) return sweep(list, level, x, LAST_SWEEPS, 1);
  add(list, KARST_AMG_INVERT, level, 0, 1, 1, 0);
  return 1;
}

/* Adds a cycle on a level from vector x, and those on the levels below. It calls itself for the next level.
 * NOLINTNEXTLINE(misc-no-recursion) */
static int cycle(struct list *list, int level, int x)
{
  const bool twice = list->settings->cycle == KARST_AMG_W && level + 2 < list->amg->levels && level < W_LEVELS;
  int coarse = 0;
  if (level + 1 == list->amg->levels) return solve_last(list, level, x);
  x = smooth(list, level, x);
  exchange(list, level, x);
  add(list, KARST_AMG_RESIDUAL, level, x, other(x), 1, 0);
  add(list, KARST_AMG_RESTRICT, level, other(x), 0, 1, 0);
  if (list->amg->call) add(list, KARST_AMG_RETURN, level + 1, 0, 0, 1, 0);
  for (int i = 0; i < (twice ? 2 : 1); i++) coarse = cycle(list, level + 1, coarse);
  if (level + 2 < list->amg->levels || !list->amg->gathers) exchange(list, level + 1, coarse);
  add(list, KARST_AMG_PROLONG, level, coarse, x, list->settings->over_correction, 0);
  return smooth(list, level, x);
}

karst_status karst_amg_make_cycle(karst_context *context, const karst_amg_settings *settings, karst_amg *amg)
{
  struct list list = {.settings = settings, .amg = amg};
  karst_amg_step *step;
  cycle(&list, 0, 0);
  karst_status status = karst_allocate(context, &step, list.steps, sizeof *step, "the steps of a multigrid cycle");
  if (status) return status;
  list.step = step;
  list.steps = 0;
  amg->result = cycle(&list, 0, 0);
  amg->step = step;
  amg->steps = list.steps;
  return KARST_SUCCESS;
}
