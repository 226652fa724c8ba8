/* cpr.c - the constrained pressure residual method (Wallis, Kendall and Little, Constrained Residual Acceleration of
 * Conjugate Residual Methods, SPE 13536, 1985) as a preconditioner: a solve for the pressures alone, and a second stage
 * for the residual that it leaves:
 *
 *     z_p = M1^-1 W^T r,   z = E z_p + M2^-1 (r - A E z_p),   M1 ~ A_p = W^T A E
 *
 * With wells beside the matrix, A - C^T D^-1 B takes the place of A in r - A E z_p, and the pressure system may have a
 * row for each well (cpr_wells.h). Where ranks share A, they share A_p too (cpr_pressure.h). E has the pressure of each
 * cell among its b unknowns, and W^T combines the b equations of each cell to one whose couplings are mainly those of
 * pressures. A is in blocks of b; r and z have b elements a cell, z_p has one. */
#include "precond/amg/amg.h"
#include "precond/cpr_pressure.h"
#include "precond/cpr_wells.h"
#include "precond/stages.h"

#include <stdio.h>

struct settings {
  karst_cpr_choices choices;
  int wells; /* of enum wells */
  karst_options *stage[KARST_STAGES];
};

enum wells { WELLS_NONE, WELLS_ROWS };
static const char *const wells_names[] = {"none", "rows", NULL};

struct state {
  karst_cpr_pressure pressure;
  karst_cpr_wells wells; /* of the pressure system; zeros if it has none */
  karst_stages stages;
  bool fresh; /* choose has made A_p for the values that update is for */
};

static const struct karst_cpr_kernels *kernels_of(const karst_precond *p) { return p->context->backend->cpr; }

static karst_status check_settings(const karst_precond *p)
{
  const struct settings *settings = p->settings;
  if (settings->choices.pressure > p->A->block_size)
    return karst_fail(p->context, KARST_ERROR_OPTION,
                      "cpr-pressure %d: unknowns are numbered from 0, and a cell of this matrix has %d",
                      settings->choices.pressure - 1, p->A->block_size);
  return KARST_SUCCESS;
}

/* The matrix of the pressure solve. */
static const karst_matrix *pressure_of(const struct state *state)
{
  return state->wells.matrix ? state->wells.matrix : state->pressure.matrix;
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
  const karst_halo *halo = karst_precond_halo(p);
  const int64_t cells = p->A->block_rows, vectors = karst_matrix_rows(p->A) + 2 * cells;
  const int64_t blocks = p->A->blocks + (halo ? halo->blocks : 0), b = p->A->block_size;
  const int64_t wells = state->wells.matrix ? state->wells.matrix->blocks * (int64_t)sizeof(double) : 0;
  karst_stages_count(p, &state->stages, karst_cpr_pressure_memory(&state->pressure) + state->wells.memory + wells);
  p->traffic.update = karst_traffic_of(2 * b * b * blocks + blocks, 2 * blocks);
  p->traffic.apply = karst_traffic_of(3 * vectors, blocks + cells) + (double)(blocks * b * (int64_t)sizeof(float));
}

static karst_status setup(karst_precond *p)
{
  karst_context *context = p->context;
  const struct settings *settings = p->settings;
  struct state *state;
  if (!kernels_of(p))
    return karst_fail(context, KARST_ERROR_NOT_BUILT, "cpr is not available on %s", context->backend->name);
  karst_status status = check_settings(p);
  if (!status) status = karst_allocate_zero(context, &state, 1, sizeof *state, "cpr");
  if (status) return status;
  p->data = state;
  state->stages = (karst_stages){.count = KARST_STAGES, .name = karst_stage_names};
  status = karst_cpr_pressure_prepare(p, &state->pressure);
  if (!status && p->wells && p->wells->wells->count > 0 && settings->wells == WELLS_ROWS)
    status = karst_cpr_wells_make(p->A, p->wells, &state->wells);
  if (!status) status = make_stages(p, state);
  if (!status) count(p);
  return status;
}

static karst_status make_pressure_matrix(karst_precond *p, struct state *state)
{
  const karst_cpr_pressure *pressure = &state->pressure;
  const struct settings *settings = p->settings;
  const karst_status status = karst_cpr_pressure_make(p, &settings->choices, &state->pressure);
  if (!status && p->reason == KARST_SOUND && state->wells.matrix)
    karst_cpr_wells_update(p->wells, &pressure->cpr, pressure->matrix, &state->wells);
  return status;
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
  const struct settings *settings = p->settings;
  karst_status status = karst_cpr_pressure_choose(p, &settings->choices, &state->pressure);
  if (!status && p->reason == KARST_SOUND) status = make_pressure_matrix(p, state);
  state->fresh = true;
  if (status || p->reason != KARST_SOUND) return status;
  status = karst_stages_choose(p, &state->stages);
  name_well(p);
  return status;
}

static karst_status report(karst_precond *p, const karst_cpr_pressure *pressure)
{
  const karst_cpr_outcome *outcome = &pressure->outcome;
  const char *weights = karst_cpr_weights_name(1 + (size_t)pressure->weighting.weights);
  karst_status status = karst_precond_put(p, "cpr_pressure", "unknown of a cell", pressure->cpr.pressure);
  if (!status) status = karst_precond_put(p, "cpr_coupling", "a cell", pressure->coupling);
  if (!status && p->A->block_size > 1)
    status = karst_precond_put(p, "cpr_coupling_next", "of another unknown", pressure->coupling_next);
  if (!status) status = karst_precond_put_text(p, "cpr_weights_used", weights);
  if (!status) status = karst_precond_put(p, "cpr_guarded", "cells", (double)outcome->guarded);
  if (!status && outcome->singular > 0)
    status = karst_precond_put(p, "cpr_singular", "cells", (double)outcome->singular);
  if (!status && outcome->empty > 0) status = karst_precond_put(p, "cpr_empty", "cells", (double)outcome->empty);
  return status ? status : karst_precond_put(p, "cpr_balance_used", "sweeps", pressure->weighting.sweeps);
}

static karst_status update(karst_precond *p)
{
  struct state *state = p->data;
  karst_status status = state->fresh ? KARST_SUCCESS : make_pressure_matrix(p, state);
  state->fresh = false;
  if (!status && p->reason == KARST_SOUND) status = report(p, &state->pressure);
  if (!status && p->reason == KARST_SOUND) status = karst_stages_update(p, &state->stages);
  name_well(p);
  count(p);
  return status;
}

static karst_status apply(const karst_precond *p, const double *r, double *z)
{
  const struct state *state = p->data;
  const struct karst_cpr_kernels *kernels = kernels_of(p);
  const karst_cpr *cpr = &state->pressure.cpr;
  const bool rows = state->wells.matrix != NULL;
  double *r_p = rows ? state->wells.residual : cpr->residual, *s = cpr->residual;
  double *z_p = rows ? state->wells.solution : cpr->solution;
  kernels->restrict_residual(p->context, cpr, r, r_p);
  karst_status status = karst_stage_apply(p, state->stages.stage[0], r_p, z_p);
  if (!status) status = karst_cpr_pressure_subtract(p, &state->pressure, r, z_p, s);
  if (status) return status;
  if (p->wells) karst_wells_multiply(p->wells, cpr->pressure, -1, z_p, s);
  status = karst_stage_apply(p, state->stages.stage[1], s, z);
  if (status) return status;
  kernels->prolong(p->context, cpr, z_p, z);
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
  karst_cpr_pressure_destroy(p, &state->pressure);
  karst_release(p->context, state);
}

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
    {"cpr-pressure", KARST_OPTION_NAME, false, FIELD(choices.pressure), pressure_name, 0, "auto",
     "number of the pressure among the unknowns of a cell, from 0, for cpr",
     "auto takes the unknown, among the first 16, whose cells couple most strongly in both directions, as pressures "
     "do. The report names it and its coupling. A wrong one costs iterations, so cpr warns of it."},
    {"cpr-weights", KARST_OPTION_NAME, false, FIELD(choices.weights), karst_cpr_weights_name, 0, "auto",
     "weights with which cpr combines the equations of a cell to one for its pressure",
     "column-sum: C^-T e_p with the sum C of the blocks of the cell's column, in which fluxes cancel. quasi-impes: "
     "the same with the cell's diagonal block. true-impes: the same with the caller's derivatives of what the cell "
     "stores (karst_matrix_set_storage). given: the caller's weights (karst_matrix_set_weights). row-sum: 1 for each "
     "equation. auto takes what the caller has set, else column-sum, or quasi-impes and cpr-balance 20 if column sums "
     "fail in more than a tenth of the cells. Cells in which column-sum or true-impes fails get quasi-impes weights."},
    {"cpr-balance", KARST_OPTION_INTEGER, false, FIELD(choices.balance), NULL, 0, "0",
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
        "iterations. first is the pressure solve, on a matrix of one unknown a cell, and second the other stage. "
        "Where ranks share the matrix, the pressures are those of all. It is not symmetric, so cg refuses it.",
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
