/* cpr.c - the constrained pressure residual method (Wallis, Kendall and Little, Constrained Residual Acceleration of
 * Conjugate Residual Methods, SPE 13536, 1985) as a preconditioner: a solve for the pressures alone, and a second stage
 * for the residual that it leaves:
 *
 *     z_p = M1^-1 W^T r,   z = E z_p + M2^-1 (r - A E z_p),   M1 ~ A_p = W^T A E
 *
 * With wells beside the matrix, A - C^T D^-1 B takes the place of A in r - A E z_p, and the pressure system may have a
 * row for each well (cpr_wells.h). E has the pressure of each cell among its b unknowns, and W^T combines the b
 * equations of each cell to one whose couplings are mainly those of pressures. A is in blocks of b; r and z have b
 * elements a cell, z_p has one. */
#include "lib/backend/cpr_kernels.h"
#include "lib/matrix/cell_values.h"
#include "precond/amg/amg.h"
#include "precond/cpr_wells.h"
#include "precond/stages.h"

#include <stdio.h>

enum { AUTO = 0, BALANCE = 20, UNKNOWNS = 16 /* that cpr-pressure has numbers for */ };

/* A wrong pressure unknown costs iterations silently. On ten systems of simulators the right one had couplings of 0.6
 * to 0.95 a cell, and others at most 0.05. */
static const double coupling_wrong = 0.5;
/* With more cells guarded, column sums say little about this matrix. */
static const double guarded_most = 0.1;

struct settings {
  int pressure; /* 0: auto; else 1 + the number of the unknown */
  int weights;  /* 0: auto; else 1 + a karst_cpr_weights */
  int balance;
  int wells; /* of enum wells */
  karst_options *stage[KARST_STAGES];
};

enum wells { WELLS_NONE, WELLS_ROWS };
static const char *const wells_names[] = {"none", "rows", NULL};

/* The weights in use, and what they are made from. */
struct weighting {
  karst_cpr_weights weights;
  const double *given;
  int sweeps;
};

struct state {
  karst_cpr cpr;
  karst_matrix *pressure; /* A_p */
  karst_cpr_wells wells;  /* of the pressure system; zeros if it has none */
  karst_stages stages;
  bool found;                 /* the pressure unknown, with its couplings */
  double coupling;            /* of the pressures a cell, near 1 for an elliptic equation */
  double coupling_next;       /* the largest of another unknown, or 0 */
  bool fresh;                 /* choose has made A_p for the values that update is for */
  struct weighting weighting; /* of A_p */
  karst_cpr_outcome outcome;  /* of A_p */
};

static const char *const weight_names[] = {"auto", "column-sum", "quasi-impes", "true-impes", "row-sum", "given", NULL};

static const struct karst_cpr_kernels *kernels_of(const karst_precond *p) { return p->context->backend->cpr; }

static karst_status check_settings(const karst_precond *p)
{
  const struct settings *settings = p->settings;
  if (settings->pressure > p->A->block_size)
    return karst_fail(p->context, KARST_ERROR_OPTION,
                      "cpr-pressure %d: unknowns are numbered from 0, and a cell of this matrix has %d",
                      settings->pressure - 1, p->A->block_size);
  return KARST_SUCCESS;
}

/* The matrix of the pressure solve. */
static const karst_matrix *pressure_of(const struct state *state)
{
  return state->wells.matrix ? state->wells.matrix : state->pressure;
}

/* Within cpr the coarsening pmis needs fewer strong couplings than alone. */
static karst_status make_stages(karst_precond *p, struct state *state)
{
  const struct settings *settings = p->settings;
  const karst_option_value strength = {.number = 0.5};
  karst_amg_settings amg;
  karst_status status = KARST_SUCCESS;
  karst_options_read(settings->stage[0], karst_precond_amg.options, &amg);
  if (amg.coarsening == KARST_AMG_PMIS && amg.strength == 0)
    status = karst_options_put(settings->stage[0], "amg-strength", "0.5", &strength);
  if (!status) status = karst_stage_make(p, &state->stages, 0, settings->stage[0], pressure_of(state));
  return status ? status : karst_stage_make(p, &state->stages, 1, settings->stage[1], p->A);
}

static void count(karst_precond *p)
{
  const struct state *state = p->data;
  const int64_t cells = p->A->block_rows, vectors = karst_matrix_rows(p->A) + 2 * cells;
  const int64_t own =
      state->cpr.memory + state->wells.memory +
      (p->A->blocks + (state->wells.matrix ? state->wells.matrix->blocks : 0)) * (int64_t)sizeof(double);
  karst_stages_count(p, &state->stages, own);
  p->traffic.update = karst_traffic_of(2 * karst_entries(p->A) + p->A->blocks, 2 * p->A->blocks);
  p->traffic.apply = karst_traffic_of(3 * vectors, p->A->blocks + cells) +
                     (double)p->A->blocks * p->A->block_size * (double)sizeof *state->cpr.column;
}

static karst_status setup(karst_precond *p)
{
  const karst_matrix *A = p->A;
  karst_context *context = p->context;
  struct state *state;
  if (!kernels_of(p))
    return karst_fail(context, KARST_ERROR_NOT_BUILT, "cpr is not available on %s", context->backend->name);
  karst_status status = check_settings(p);
  if (!status) status = karst_allocate_zero(context, &state, 1, sizeof *state, "cpr");
  if (status) return status;
  p->data = state;
  state->stages = (karst_stages){.count = KARST_STAGES, .name = karst_stage_names};
  status = kernels_of(p)->plan(context, A, &state->cpr);
  if (!status) status = karst_matrix_on_blocks_of(A, 1, &state->pressure);
  if (!status && p->wells && p->wells->wells->count > 0 && ((const struct settings *)p->settings)->wells == WELLS_ROWS)
    status = karst_cpr_wells_make(A, p->wells, &state->wells);
  if (!status) status = make_stages(p, state);
  if (!status) count(p);
  return status;
}

/* ---- the pressure unknown ---- */

/* The mean over the cells of the couplings in both directions of unknown number i, with quasi-IMPES weights. */
static karst_status couple(karst_precond *p, struct state *state, int i, double *coupling)
{
  const struct karst_cpr_kernels *kernels = kernels_of(p);
  const struct karst_backend *backend = p->context->backend;
  double *root = state->cpr.solution;
  const karst_index cells = p->A->block_rows;
  karst_cpr_outcome outcome = {.reason = KARST_SOUND, .block_row = -1};
  double own, *sum = backend->scalar(p->context, &own);
  state->cpr.pressure = i;
  karst_status status = kernels->weigh(p->context, p->A, KARST_CPR_QUASI_IMPES, NULL, &state->cpr, &outcome);
  if (!status && outcome.reason == KARST_SOUND)
    status = kernels->pressure(p->context, p->A, 0, &state->cpr, state->pressure, &outcome);
  p->reason = outcome.reason;
  p->block_row = outcome.block_row;
  if (status || outcome.reason != KARST_SOUND) return status;
  kernels->couple(p->context, &state->cpr, state->pressure, root);
  backend->dots(p->context, cells, 1, (const double *[]){root}, root, sum);
  status = backend->download(p->context, coupling, sum, sizeof *coupling);
  *coupling /= cells > 0 ? (double)cells : 1;
  return status;
}

static void warn_of_pressure(const karst_precond *p, const struct state *state)
{
  const bool given = ((const struct settings *)p->settings)->pressure != AUTO;
  const int pressure = state->cpr.pressure;
  if (given && state->coupling < coupling_wrong * state->coupling_next)
    karst_notify(p->context, KARST_MESSAGE_WARNING,
                 "cpr-pressure %d is probably not the pressure: its couplings are %.2g a cell, and those of another "
                 "unknown %.2g, where an elliptic equation has about 1; a wrong one costs iterations",
                 pressure, state->coupling, state->coupling_next);
  else if (!given && state->coupling_next > coupling_wrong * state->coupling)
    karst_notify(p->context, KARST_MESSAGE_WARNING,
                 "cpr is not sure that unknown %d is the pressure: its couplings are %.2g a cell, and those of "
                 "another unknown %.2g; name the pressure with cpr-pressure",
                 pressure, state->coupling, state->coupling_next);
}

/* Finds the unknown with the strongest couplings in both directions, as an elliptic equation has them. It stays for
 * later values: another pressure in the middle of a simulation would be a surprise. */
static karst_status choose_pressure(karst_precond *p, struct state *state)
{
  const struct settings *settings = p->settings;
  const int unknowns = p->A->block_size < UNKNOWNS ? p->A->block_size : UNKNOWNS, given = settings->pressure - 1;
  double coupling[UNKNOWNS] = {0};
  karst_status status = KARST_SUCCESS;
  if (state->found) return status;
  for (int i = 0; i < unknowns && !status && p->reason == KARST_SOUND; i++) status = couple(p, state, i, &coupling[i]);
  if (status || p->reason != KARST_SOUND) return status;
  int best = 0;
  for (int i = 1; i < unknowns; i++)
    if (coupling[i] > coupling[best]) best = i;
  state->cpr.pressure = settings->pressure == AUTO ? best : given;
  state->coupling = coupling[state->cpr.pressure];
  state->coupling_next = 0;
  for (int i = 0; i < unknowns; i++)
    if (i != state->cpr.pressure && coupling[i] > state->coupling_next) state->coupling_next = coupling[i];
  state->found = true;
  warn_of_pressure(p, state);
  return KARST_SUCCESS;
}

/* ---- the pressure matrix ---- */

static karst_status find_weighting(const karst_precond *p, struct weighting *weighting)
{
  const struct settings *settings = p->settings;
  const double *storage = p->A->cells.storage, *given = p->A->cells.weights;
  *weighting = (struct weighting){.sweeps = settings->balance};
  weighting->weights = settings->weights != AUTO ? (karst_cpr_weights)(settings->weights - 1)
                       : given                   ? KARST_CPR_GIVEN
                       : storage                 ? KARST_CPR_TRUE_IMPES
                       : p->A->block_size == 1   ? KARST_CPR_ROW_SUM /* the only equation as it is */
                                                 : KARST_CPR_COLUMN_SUM;
  if (weighting->weights == KARST_CPR_TRUE_IMPES) weighting->given = storage;
  if (weighting->weights == KARST_CPR_GIVEN) weighting->given = given;
  if (weighting->weights == KARST_CPR_TRUE_IMPES && !storage)
    return karst_fail(p->context, KARST_ERROR_ARGUMENT,
                      "cpr-weights true-impes needs the storage blocks of the cells: call karst_matrix_set_storage");
  if (weighting->weights == KARST_CPR_GIVEN && !given)
    return karst_fail(p->context, KARST_ERROR_ARGUMENT,
                      "cpr-weights given needs the weights of the cells: call karst_matrix_set_weights");
  return KARST_SUCCESS;
}

/* Computes weights and A_p. auto takes quasi-IMPES weights, balanced, if column sums fail in many cells. */
static karst_status make_pressure_matrix(karst_precond *p, struct state *state)
{
  const struct settings *settings = p->settings;
  const struct karst_cpr_kernels *kernels = kernels_of(p);
  karst_cpr_outcome outcome = {.reason = KARST_SOUND, .block_row = -1};
  struct weighting weighting;
  karst_status status = find_weighting(p, &weighting);
  if (!status) status = kernels->weigh(p->context, p->A, weighting.weights, weighting.given, &state->cpr, &outcome);
  const bool fails = settings->weights == AUTO && (double)outcome.guarded > guarded_most * (double)p->A->block_rows;
  if (!status && fails && outcome.reason == KARST_SOUND) {
    weighting = (struct weighting){KARST_CPR_QUASI_IMPES, NULL, settings->balance > 0 ? settings->balance : BALANCE};
    status = kernels->weigh(p->context, p->A, weighting.weights, NULL, &state->cpr, &outcome);
  }
  if (!status && outcome.reason == KARST_SOUND)
    status = kernels->pressure(p->context, p->A, weighting.sweeps, &state->cpr, state->pressure, &outcome);
  p->reason = outcome.reason;
  p->block_row = outcome.block_row;
  if (status || outcome.reason != KARST_SOUND) return status;
  state->pressure->generation++;
  if (state->wells.matrix) karst_cpr_wells_update(p->wells, &state->cpr, state->pressure, &state->wells);
  state->weighting = weighting;
  state->outcome = outcome;
  return KARST_SUCCESS;
}

/* A row of the pressure system that belongs to a well is no block row of the matrix, so the explanation names it. What
 * the ranks have agreed on is a row of the matrix of all. */
static void name_well(karst_precond *p)
{
  if (p->agreed || p->block_row < p->A->block_rows) return;
  snprintf(p->explanation, sizeof p->explanation, "in the row of well %lld of the pressure system",
           (long long)(p->block_row - p->A->block_rows));
  p->block_row = -1;
}

static karst_status choose(karst_precond *p)
{
  struct state *state = p->data;
  karst_status status = choose_pressure(p, state);
  if (!status && p->reason == KARST_SOUND) status = make_pressure_matrix(p, state);
  state->fresh = true;
  if (status || p->reason != KARST_SOUND) return status;
  status = karst_stages_choose(p, &state->stages);
  name_well(p);
  return status;
}

static karst_status report(karst_precond *p, const struct state *state)
{
  const karst_cpr_outcome *outcome = &state->outcome;
  karst_status status = karst_precond_put(p, "cpr_pressure", "unknown of a cell", state->cpr.pressure);
  if (!status) status = karst_precond_put(p, "cpr_coupling", "a cell", state->coupling);
  if (!status && p->A->block_size > 1)
    status = karst_precond_put(p, "cpr_coupling_next", "of another unknown", state->coupling_next);
  if (!status) status = karst_precond_put_text(p, "cpr_weights_used", weight_names[1 + state->weighting.weights]);
  if (!status) status = karst_precond_put(p, "cpr_guarded", "cells", (double)outcome->guarded);
  if (!status && outcome->singular > 0)
    status = karst_precond_put(p, "cpr_singular", "cells", (double)outcome->singular);
  if (!status && outcome->empty > 0) status = karst_precond_put(p, "cpr_empty", "cells", (double)outcome->empty);
  return status ? status : karst_precond_put(p, "cpr_balance_used", "sweeps", state->weighting.sweeps);
}

static karst_status update(karst_precond *p)
{
  struct state *state = p->data;
  karst_status status = state->fresh ? KARST_SUCCESS : make_pressure_matrix(p, state);
  state->fresh = false;
  if (!status && p->reason == KARST_SOUND) status = report(p, state);
  if (!status && p->reason == KARST_SOUND) status = karst_stages_update(p, &state->stages);
  name_well(p);
  count(p);
  return status;
}

static karst_status apply(const karst_precond *p, const double *r, double *z)
{
  const struct state *state = p->data;
  const struct karst_cpr_kernels *kernels = kernels_of(p);
  const bool rows = state->wells.matrix != NULL;
  double *r_p = rows ? state->wells.residual : state->cpr.residual, *s = state->cpr.residual;
  double *z_p = rows ? state->wells.solution : state->cpr.solution;
  kernels->restrict_residual(p->context, &state->cpr, r, r_p);
  karst_status status = karst_stage_apply(p, state->stages.stage[0], r_p, z_p);
  if (status) return status;
  kernels->subtract(p->context, p->A, &state->cpr, r, z_p, s);
  if (p->wells) karst_wells_multiply(p->wells, state->cpr.pressure, -1, z_p, s);
  status = karst_stage_apply(p, state->stages.stage[1], s, z);
  if (status) return status;
  kernels->prolong(p->context, &state->cpr, z_p, z);
  return KARST_SUCCESS;
}

static void solved(karst_precond *p, int iterations)
{
  karst_stages_solved(p, &((const struct state *)p->data)->stages, iterations);
}

static void destroy(karst_precond *p)
{
  struct state *state = p->data;
  if (!state) return;
  karst_stages_destroy(&state->stages);
  karst_cpr_wells_destroy(p->context, &state->wells);
  karst_matrix_destroy(state->pressure);
  kernels_of(p)->plan_destroy(p->context, &state->cpr);
  karst_release(p->context, state);
}

static const char *weights_name(size_t i) { return weight_names[i]; }
static const char *wells_name(size_t i) { return wells_names[i]; }

/* "auto", then the numbers of the unknowns. */
static const char *pressure_name(size_t i)
{
  static const char *const names[] = {"auto", "0", "1",  "2",  "3",  "4",  "5",  "6",  "7",
                                      "8",    "9", "10", "11", "12", "13", "14", "15", NULL};
  return names[i];
}

#define FIELD(name) offsetof(struct settings, name)

static const karst_option cpr_rows[] = {
    {"cpr-pressure", KARST_OPTION_NAME, false, FIELD(pressure), pressure_name, 0, "auto",
     "number of the pressure among the unknowns of a cell, from 0, for cpr",
     "auto takes the unknown, among the first 16, whose cells couple most strongly in both directions, as pressures "
     "do. The report names it and its coupling. A wrong one costs iterations, so cpr warns of it."},
    {"cpr-weights", KARST_OPTION_NAME, false, FIELD(weights), weights_name, 0, "auto",
     "weights with which cpr combines the equations of a cell to one for its pressure",
     "column-sum: C^-T e_p with the sum C of the blocks of the cell's column, in which fluxes cancel. quasi-impes: "
     "the same with the cell's diagonal block. true-impes: the same with the caller's derivatives of what the cell "
     "stores (karst_matrix_set_storage). given: the caller's weights (karst_matrix_set_weights). row-sum: 1 for each "
     "equation. auto takes what the caller has set, else column-sum, or quasi-impes and cpr-balance 20 if column sums "
     "fail in more than a tenth of the cells. Cells in which column-sum or true-impes fails get quasi-impes weights."},
    {"cpr-balance", KARST_OPTION_INTEGER, false, FIELD(balance), NULL, 0, "0",
     "sweeps that balance the rows of the pressure matrix with its columns",
     "Use about 20 if the equations of some cells are scaled differently from those of others, by pore volumes or "
     "wells."},
    {"cpr-wells", KARST_OPTION_NAME, false, FIELD(wells), wells_name, 0, "rows",
     "wells beside the matrix in the pressure system of cpr",
     "rows: a row and a column for each well, for the unknown that couples most with the pressures of its cells, as in "
     "OPM's cprw. none: the pressure system has the cells alone, as in OPM's cpr. The option makes no difference "
     "without wells (karst_solver_set_wells)."},
    {"first", KARST_OPTION_PRECOND, false, FIELD(stage[0]), NULL, 0, "amg",
     "pressure solve of cpr, with options first.amg-cycle and so on",
     "Any preconditioner except auto, also a registered one. It gets the pressure matrix, of one unknown a cell."},
    {"second", KARST_OPTION_PRECOND, false, FIELD(stage[1]), NULL, 0, "iluk",
     "second stage of cpr, with options second.level and so on", "It is like first, for the whole matrix."},
    {0},
};

static const karst_option *const rows[] = {cpr_rows, NULL};

extern const struct karst_precond_ops karst_precond_cpr;

const struct karst_precond_ops karst_precond_cpr = {
    .name = "cpr",
    .help = "constrained pressure residual: multigrid for the pressures, and a second stage for all unknowns",
    .details =
        "For systems of flow in porous media at the time steps of simulators, where ILU alone takes hundreds of "
        "iterations. first is the pressure solve, on a matrix of one unknown a cell, and second the other stage. It "
        "is not symmetric, so cg refuses it.",
    .needs_diagonal = true,
    .sums_equations = true,
    .unsymmetric = true,
    .options = rows,
    .settings = sizeof(struct settings),
    .order = KARST_ORDER_ANY,
    .automatic = KARST_AUTO_ABOVE,
    .fetches = true, /* each stage does */
    .shares_matrix = true,
    .setup = setup,
    .choose = choose,
    .update = update,
    .apply = apply,
    .solved = solved,
    .destroy = destroy,
};
