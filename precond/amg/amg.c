/* amg.c - algebraic multigrid as a preconditioner of matrices with one unknown a cell: z is one cycle from zero for
 * A z = r, with the same number of sweeps on every level before and after the coarser ones, so it is a fixed linear
 * operator, and a symmetric one if A is (but for the smoother adi). hierarchy.c makes the levels, cycle.c the steps. */
#include "precond/amg/amg_ranks.h"
#include "precond/line_solves.h"

#include <stdio.h>

enum { SWEEPS = 100 /* at most, and the largest order: a cycle is a list of steps */ };

struct state {
  karst_amg amg;               /* levels = 0: none */
  karst_amg_spread *spread;    /* NULL: no other rank has a part of the matrix */
  karst_line_axes axes;        /* of the smoothers lines and adi, and */
  karst_line_solves solves;    /* their factors */
  karst_amg_settings settings; /* resolved */
  bool fresh;                  /* choose has computed the levels for the values that update is for */
  bool stalled;
  int updates;   /* since the hierarchy was made */
  int reference; /* iterations of the first solve with it, -1: none yet */
  bool failed;   /* the last solve */
  int rebuilds;
};

static const struct karst_amg_kernels *kernels_of(const karst_precond *p) { return p->context->backend->amg; }

static karst_amg_settings resolve(const karst_amg_settings *given)
{
  karst_amg_settings settings = *given;
  const bool aggregates = settings.coarsening == KARST_AMG_AGGREGATION;
  if (settings.strength == 0) settings.strength = 0.25;
  if (settings.cycle == KARST_AMG_CYCLE_AUTO) settings.cycle = aggregates ? KARST_AMG_W : KARST_AMG_V;
  if (settings.smoother == KARST_AMG_SMOOTHER_AUTO)
    settings.smoother = aggregates ? KARST_AMG_JACOBI : KARST_AMG_L1_JACOBI;
  settings.line_omega = settings.omega == 0 ? 0.8 : settings.omega;
  if (karst_amg_has_lines(&settings)) settings.omega = 0; /* that of the coarser levels */
  if (settings.omega == 0) settings.omega = settings.smoother == KARST_AMG_JACOBI ? 2.0 / 3 : 1.5;
  if (settings.over_correction == 0) settings.over_correction = aggregates ? 1.5 : 1;
  return settings;
}

static karst_status check_settings(karst_context *context, const karst_amg_settings *settings)
{
  if (settings->levels > KARST_AMG_LEVELS)
    return karst_fail(context, KARST_ERROR_OPTION, "amg-levels %d is out of range: at most %d", settings->levels,
                      KARST_AMG_LEVELS);
  if (settings->strength > 1)
    return karst_fail(context, KARST_ERROR_OPTION, "amg-strength %g is out of range: at most 1", settings->strength);
  if (settings->coarse_rows > KARST_AMG_DENSE)
    return karst_fail(context, KARST_ERROR_OPTION, "amg-coarse-rows %d is out of range: at most %d",
                      settings->coarse_rows, KARST_AMG_DENSE);
  if (settings->sweeps > SWEEPS)
    return karst_fail(context, KARST_ERROR_OPTION, "amg-sweeps %d is out of range: at most %d", settings->sweeps,
                      SWEEPS);
  if (settings->order > SWEEPS)
    return karst_fail(context, KARST_ERROR_OPTION, "amg-order %d is out of range: at most %d", settings->order, SWEEPS);
  return KARST_SUCCESS;
}

static const char *smoother_name(size_t i)
{
  static const char *const names[] = {
      [KARST_AMG_SMOOTHER_AUTO] = "auto",  [KARST_AMG_L1_JACOBI] = "l1-jacobi", [KARST_AMG_JACOBI] = "jacobi",
      [KARST_AMG_CHEBYSHEV] = "chebyshev", [KARST_AMG_BY_LINES] = "lines",      [KARST_AMG_BY_ADI] = "adi",
      [KARST_AMG_BY_ADI + 1] = NULL};
  return names[i];
}

static karst_status setup(karst_precond *p)
{
  struct state *state;
  if (!kernels_of(p))
    return karst_fail(p->context, KARST_ERROR_NOT_BUILT, "amg is not available on %s", p->context->backend->name);
  if (p->A->block_size != 1)
    return karst_fail(p->context, KARST_ERROR_MATRIX,
                      "amg is for one unknown a cell, but the block size is %d: cpr uses it for the pressures",
                      p->A->block_size);
  karst_status status = check_settings(p->context, p->settings);
  if (!status) status = karst_allocate_zero(p->context, &state, 1, sizeof *state, "multigrid");
  if (status) return status;
  state->settings = resolve(p->settings);
  state->rebuilds = -1;
  p->data = state;
  if (karst_precond_halo(p) && karst_amg_has_lines(&state->settings))
    return karst_fail(p->context, KARST_ERROR_OPTION,
                      "amg-smoother %s has the lines of one rank's cells, and ranks share the matrix",
                      smoother_name((size_t)state->settings.smoother));
  if (karst_precond_halo(p)) status = karst_amg_spread_create(p, &state->amg, &state->spread);
  if (state->settings.smoother == KARST_AMG_BY_ADI) {
    p->unsymmetric = "amg-smoother adi";
    p->instead = "amg-smoother lines";
  }
  return status;
}

static void clear(const karst_precond *p, struct state *state)
{
  karst_release(p->context, state->amg.step);
  state->amg.step = NULL;
  kernels_of(p)->destroy(p->context, &state->amg);
  karst_line_solves_destroy(p->context, &state->solves);
  karst_line_axes_destroy(p->context, &state->axes);
  state->amg =
      (karst_amg){.single = state->settings.precision == 0, .l1 = state->settings.smoother != KARST_AMG_JACOBI};
  if (!state->spread) return;
  karst_amg_spread_clear(state->spread);
  state->amg.ghosts = state->spread->part[0].ghosts;
  state->amg.call = karst_amg_spread_call;
  state->amg.user = state->spread;
}

static void warn_of_rest(const karst_precond *p, const struct state *state)
{
  const bool gathers = state->amg.gathers;
  const karst_amg *last = gathers ? &state->spread->gathered.amg : &state->amg;
  const karst_index own = last->level[last->levels - 1].A.rows;
  const karst_index rows =
      state->spread && !gathers ? state->spread->part[last->levels - 1].first[karst_context_ranks(p->context)] : own;
  if (rows <= KARST_AMG_DENSE) return;
  karst_notify(p->context, KARST_MESSAGE_WARNING,
               "amg: coarsening ended at level %d with %lld rows, because %s; they are smoothed, not solved",
               last->levels - 1 + (gathers ? state->amg.levels - 1 : 0), (long long)rows,
               (gathers ? state->spread->gathered.stalled : state->stalled)
                   ? "their couplings give no much smaller level"
                   : "amg-levels allows no more levels");
}

/* Makes the lines of level 0, without factors. */
static karst_status make_lines(const karst_precond *p, struct state *state)
{
  if (!karst_amg_has_lines(&state->settings)) return KARST_SUCCESS;
  karst_status status = karst_matrix_fetch_pattern(p->A);
  if (status) return status;
  if (state->settings.smoother == KARST_AMG_BY_ADI)
    status = karst_line_axes_make_all(p->context, p->A, "amg-smoother adi", &state->axes);
  else
    status =
        karst_line_axes_make_along(p->context, p->A, "amg-smoother lines", state->settings.direction, 1, &state->axes);
  if (!status) status = karst_line_solves_plan(p->context, p->A, &state->axes, &state->solves);
  state->amg.lines = state->solves.factors;
  state->amg.axes = state->axes.count;
  return status;
}

/* Factors the lines of level 0. */
static karst_status factor_lines(karst_precond *p, struct state *state)
{
  karst_factor_outcome outcome = {KARST_SOUND, -1, 0};
  if (!karst_amg_has_lines(&state->settings)) return KARST_SUCCESS;
  const karst_status status = karst_line_solves_factor(p->context, p->A, &state->solves, &outcome);
  p->reason = outcome.reason;
  p->block_row = outcome.block_row;
  if (outcome.reason != KARST_SOUND) snprintf(p->explanation, sizeof p->explanation, "in a line of amg-smoother");
  return status;
}

/* Sums of this rank, with the gathered level. */
static void count(karst_precond *p, const struct state *state)
{
  karst_amg_sums sums = karst_amg_add_up(&state->amg);
  if (state->spread) {
    const karst_amg_sums gathered = karst_amg_add_up(&state->spread->gathered.amg);
    sums.entries += gathered.entries;
    sums.memory += gathered.memory + karst_amg_spread_memory(state->spread);
    sums.traffic += gathered.traffic;
  }
  p->factor_entries = sums.entries;
  p->memory = sums.memory;
  p->traffic = (karst_traffic){.update = (double)sums.memory, .apply = sums.traffic};
}

static karst_status choose(karst_precond *p)
{
  struct state *state = p->data;
  karst_amg_outcome outcome = {KARST_SOUND, -1, 0};
  clear(p, state);
  karst_status status =
      karst_amg_build(p->context, p->A, &state->settings, &state->amg, state->spread, &outcome, &state->stalled);
  if (!status) karst_amg_take_outcome(p, &state->amg, &outcome);
  if (!status && outcome.reason == KARST_SOUND) {
    status = karst_amg_make_cycle(p->context, &state->settings, &state->amg);
    if (!status) status = make_lines(p, state);
    if (!status) status = kernels_of(p)->finish(p->context, &state->amg);
  }
  if (status || outcome.reason != KARST_SOUND) {
    clear(p, state);
    return status;
  }
  count(p, state);
  state->fresh = true;
  state->updates = 0;
  state->reference = -1;
  state->rebuilds++;
  warn_of_rest(p, state);
  return KARST_SUCCESS;
}

static karst_status report(karst_precond *p, const struct state *state, const karst_amg_outcome *outcome)
{
  karst_status status = karst_amg_report_sizes(p, &state->amg, state->spread);
  if (!status) status = karst_precond_put(p, "amg_rebuilds", "", state->rebuilds);
  if (!status) status = karst_precond_put(p, "amg_pinned", "unknowns", (double)outcome->pinned);
  if (!status && state->settings.smoother == KARST_AMG_BY_LINES)
    status = karst_line_direction_put(p, &state->axes.lines[0]);
  return status ? status : karst_amg_report_levels(p, &state->amg, state->spread);
}

/* Weighs the levels after a choose, or computes them for new values. */
static karst_status renew(karst_precond *p, struct state *state, karst_amg_outcome *outcome)
{
  if (state->spread)
    return state->fresh ? karst_amg_spread_weigh(state->spread, KARST_SUCCESS, true, outcome)
                        : karst_amg_renew_spread(state->spread, outcome);
  return state->fresh ? kernels_of(p)->weigh(p->context, &state->amg, outcome)
                      : karst_amg_renew(p->context, p->A, &state->amg, outcome);
}

static karst_status update(karst_precond *p)
{
  struct state *state = p->data;
  karst_amg_outcome outcome = {KARST_SOUND, -1, 0};
  karst_status status = renew(p, state, &outcome);
  state->fresh = false;
  state->updates++;
  p->due = state->settings.rebuild > 0 && state->updates >= state->settings.rebuild;
  karst_amg_take_outcome(p, &state->amg, &outcome);
  if (!status && outcome.reason == KARST_SOUND) status = factor_lines(p, state);
  return status || p->reason != KARST_SOUND ? status : report(p, state, &outcome);
}

/* Interpolation ages: a solve that takes many more iterations than the first one with it asks for a new hierarchy. So
 * does one that failed, whose values may have made levels that do not fit others, but not a second one in a row. */
static void solved(karst_precond *p, int iterations)
{
  struct state *state = p->data;
  const bool failed = iterations < 0;
  if (!failed && state->reference < 0) state->reference = iterations;
  const bool old = failed ? !state->failed : iterations > 1.25 * state->reference + 2;
  if (state->settings.rebuild > 0 && old) p->due = true;
  state->failed = failed;
}

static karst_status apply(const karst_precond *p, const double *r, double *z)
{
  const struct state *state = p->data;
  if (state->spread) state->spread->failed = KARST_SUCCESS;
  kernels_of(p)->apply(p->context, &state->amg, r, z);
  return state->spread ? state->spread->failed : KARST_SUCCESS;
}

static void destroy(karst_precond *p)
{
  struct state *state = p->data;
  if (!state) return;
  clear(p, state);
  karst_amg_spread_destroy(state->spread);
  karst_release(p->context, state);
}

static const char *coarsening_name(size_t i)
{
  static const char *const names[] = {
      [KARST_AMG_PMIS] = "pmis", [KARST_AMG_AGGREGATION] = "aggregation", [KARST_AMG_AGGREGATION + 1] = NULL};
  return names[i];
}

static const char *cycle_name(size_t i)
{
  static const char *const names[] = {
      [KARST_AMG_CYCLE_AUTO] = "auto", [KARST_AMG_V] = "v", [KARST_AMG_W] = "w", [KARST_AMG_W + 1] = NULL};
  return names[i];
}

static const char *precision_name(size_t i)
{
  static const char *const names[] = {"float", "double", NULL};
  return names[i];
}

#define FIELD(name) offsetof(karst_amg_settings, name)

static const karst_option amg_rows[] = {
    {"amg-coarsening", KARST_OPTION_NAME, false, FIELD(coarsening), coarsening_name, 0, "pmis",
     "how amg makes the rows of a coarser level",
     "pmis takes an independent set of the strong couplings and interpolates by extended+i. aggregation joins pairs "
     "of pairs of rows: it takes less memory, its updates do a fraction of the work, and it suits new values for "
     "longer. But it takes up to 1.5 times the iterations, and fails if coefficients vary by many orders of magnitude "
     "from cell to cell."},
    {"amg-strength", KARST_OPTION_REAL, false, FIELD(strength), NULL, 0, "0",
     "couplings of at least this part of the largest one of their row are strong; 0: 0.25, and 0.5 for pmis within cpr",
     "It counts couplings of the sign opposite to the diagonal's, and is at most 1."},
    {"amg-max-entries", KARST_OPTION_INTEGER, false, FIELD(most_entries), NULL, 1, "4",
     "largest entries that pmis keeps of each row of the interpolation",
     "Fewer make the levels cheaper and the iterations more."},
    {"amg-coarse-rows", KARST_OPTION_INTEGER, false, FIELD(coarse_rows), NULL, 1, "128",
     "a level of at most this many rows is the last, and is solved by its inverse", "At most 512."},
    {"amg-levels", KARST_OPTION_INTEGER, false, FIELD(levels), NULL, 1, "20", "most levels of amg", "At most 25."},
    {"amg-cycle", KARST_OPTION_NAME, false, FIELD(cycle), cycle_name, 0, "auto",
     "how often amg visits each level from the one before: v once, w twice; auto: w for aggregation, else v",
     "w costs more steps that wait for each other, which matters on a GPU."},
    {"amg-smoother", KARST_OPTION_NAME, false, FIELD(smoother), smoother_name, 0, "auto",
     "smoother of amg; auto: jacobi for aggregation, else l1-jacobi",
     "l1-jacobi divides by the sum of the absolute values of the row, and cannot diverge on a symmetric positive "
     "definite matrix. jacobi divides by a_ii. chebyshev iterates with l1-jacobi, to the order amg-order. lines and "
     "adi are the preconditioners of those names on the finest level, along line-direction, with l1-jacobi on the "
     "others. They need the grid of the matrix, given or found; adi is not symmetric, so cg refuses amg with it."},
    {"amg-sweeps", KARST_OPTION_INTEGER, false, FIELD(sweeps), NULL, 1, "1",
     "sweeps of the smoother before and after the coarser levels",
     "With two, a cycle takes four products with the matrix of each level, and with one, two. At most 100."},
    {"amg-order", KARST_OPTION_INTEGER, false, FIELD(order), NULL, 1, "2", "order of the smoother chebyshev",
     "Order n takes as many products with the matrix of a level as n sweeps of the others. At most 100."},
    {"amg-omega", KARST_OPTION_REAL, false, FIELD(omega), NULL, 0, "0",
     "relaxation factor of the smoothers but chebyshev; 0: 1.5 for l1-jacobi, 2/3 for jacobi, 0.8 for lines and adi",
     "With l1-jacobi a symmetric positive definite matrix needs less than 2, and with lines at most 1. With lines and "
     "adi it is that of the finest level."},
    {"amg-over-correction", KARST_OPTION_REAL, false, FIELD(over_correction), NULL, 0, "0",
     "factor of the correction from a coarser level; 0: 1.5 for aggregation, else 1",
     "The corrections of aggregation, which are constant in each aggregate, are too small."},
    {"amg-precision", KARST_OPTION_NAME, false, FIELD(precision), precision_name, 0, "float",
     "precision in which amg stores the matrices of its levels",
     "Vectors and sums are double, so that it is the same linear operator in each apply. A nearly singular matrix may "
     "need double matrices too."},
    {"amg-rebuild", KARST_OPTION_INTEGER, false, FIELD(rebuild), NULL, 0, "30",
     "updates after which amg makes its levels anew; 0: never",
     "Other updates keep the choice of rows and the interpolation, and compute the matrices of the levels. Unless it "
     "is 0, the next update also makes the levels anew after a solve of more than 1.25 n + 2 iterations, if the first "
     "solve with them took n, and after the first of several solves in a row that fail."},
    {"amg-gather-rows", KARST_OPTION_INTEGER, false, FIELD(gather_rows), NULL, 0, "4096",
     "where ranks share the matrix, a level of at most this many rows over all ranks is gathered on each of them",
     "All ranks do the same work on that level and the later ones, with one message each way. More rows take more of "
     "that "
     "work, and fewer take more messages."},
    {0},
};

static const karst_option *const rows[] = {karst_line_direction_rows, amg_rows, NULL};

const struct karst_precond_ops karst_precond_amg = {
    .name = "amg",
    .help = "algebraic multigrid, for one unknown a cell: elliptic equations such as those of pressures",
    .details = "Its iterations hardly grow with the number of cells. Levels are chosen from the first values and kept "
               "for later ones; see amg-rebuild. It is the same linear operator in each iteration, and symmetric for "
               "a symmetric matrix, so every Krylov method can use it, but for cg with the smoother adi.",
    .needs_diagonal = true,
    .options = rows,
    .settings = sizeof(karst_amg_settings),
    .order = KARST_ORDER_ANY,
    .automatic = KARST_AUTO_ABOVE,
    .fetches = true, /* the levels are made where the matrix is */
    .setup = setup,
    .choose = choose,
    .update = update,
    .apply = apply,
    .solved = solved,
    .destroy = destroy,
};
