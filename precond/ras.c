/* ras.c - restricted additive Schwarz (Cai and Sarkis, A Restricted Additive Schwarz Preconditioner for General Sparse
 * Linear Systems, SIAM J. Sci. Comput. 21, 1999, 792-797; Saad, Iterative Methods for Sparse Linear Systems, 14.3): each
 * rank solves approximately with its own block rows and some layers of rows of other ranks around them, and keeps the
 * own rows of the result:
 *
 *     z = R_0^T M_l^-1 R_l r,   M_l ~ A_l = R_l A R_l^T
 *
 * M_l is another preconditioner, the option local, for the matrix A_l of the rank alone. R_l takes the own rows and l
 * layers, l by the option overlap, and R_0 the own rows of those. Without layers, or where no rank couples with another,
 * A_l is the square matrix of the own rows and columns, which is not copied: block Jacobi between ranks; and the whole
 * matrix in a context without a transport. */
#include "lib/ranks/overlap.h"
#include "precond/stages.h"

struct settings {
  int overlap;
  karst_options *local;
};

/* What a rank tells the others about its local preconditioner. */
struct outcome {
  int64_t reason;
  int64_t row; /* the global number of the block row, or -1 */
};

struct state {
  karst_overlap *overlap; /* NULL: A_l is the own matrix */
  karst_stages stages;    /* M_l */
  double *residual;       /* [rows of A_l] R_l r, device memory */
  double *solution;       /* [rows of A_l], device memory */
  struct outcome *all;    /* [ranks] */
};

static const char *const stage_names[] = {"local"};

static const karst_matrix *matrix_of(const karst_precond *p)
{
  const struct state *state = p->data;
  return state->overlap ? state->overlap->matrix : p->A;
}

static void count(karst_precond *p)
{
  const struct state *state = p->data;
  const int64_t vectors = 2 * karst_matrix_rows(matrix_of(p)) * (int64_t)sizeof(double);
  karst_stages_count(p, &state->stages, state->overlap ? karst_overlap_memory(state->overlap) + vectors : 0);
}

/* ---- setup ---- */

/* What a rank tells the others before they make their matrices. */
struct plan {
  int64_t layers, ghosts;
};

/* Finds whether any rank has ghosts. All ranks find the same, and whether they have the same number of layers. */
static karst_status compare_plans(const karst_precond *p, int layers, bool *couple)
{
  karst_context *context = p->context;
  const struct plan own = {layers, p->A->halo->ghosts};
  struct plan *all = NULL;
  karst_status status =
      karst_ranks_agree(context, karst_allocate(context, &all, karst_context_ranks(context), sizeof *all, "the ranks"));
  if (!status) status = karst_ranks_gather(context, &own, sizeof own, all);
  for (int r = 0; r < karst_context_ranks(context) && !status; r++) {
    *couple = *couple || all[r].ghosts > 0;
    if (all[r].layers != all[0].layers)
      status = karst_fail(context, KARST_ERROR_OPTION, "overlap is %d on rank %d and %d on rank 0", (int)all[r].layers,
                          r, (int)all[0].layers);
  }
  karst_release(context, all);
  return karst_ranks_agree(context, status);
}

/* Makes A_l where a rank has ghosts, so that all ranks have one or none has. */
static karst_status make_overlap(karst_precond *p, struct state *state)
{
  const int layers = ((const struct settings *)p->settings)->overlap;
  bool couple = false;
  if (layers > KARST_LAYERS_MOST)
    return karst_fail(p->context, KARST_ERROR_OPTION, "overlap %d: ras has 0 to %d layers", layers, KARST_LAYERS_MOST);
  if (!p->A->halo) return KARST_SUCCESS;
  karst_status status = compare_plans(p, layers, &couple);
  return status || layers == 0 || !couple ? status : karst_overlap_create(p->A, layers, &state->overlap);
}

/* Makes the memory for vectors and outcomes. */
static karst_status make_space(karst_precond *p, struct state *state)
{
  const int64_t rows = karst_matrix_rows(matrix_of(p));
  karst_context *context = p->context;
  if (!state->overlap) return KARST_SUCCESS;
  karst_status status = karst_device_doubles(context, rows, "a residual with its overlap", &state->residual);
  if (!status) status = karst_device_doubles(context, rows, "a solution with its overlap", &state->solution);
  if (!status)
    status = karst_allocate(context, &state->all, karst_context_ranks(context), sizeof *state->all, "the outcomes");
  return status;
}

/* Puts the layers and the largest part of rows that a rank has besides its own. */
static karst_status report(karst_precond *p)
{
  const struct state *state = p->data;
  const karst_index own = p->A->block_rows;
  const int64_t more = (int64_t)matrix_of(p)->block_rows - own;
  int64_t percent = own > 0 ? (100 * more + own - 1) / own : 0;
  karst_status status = KARST_SUCCESS;
  if (state->overlap) status = karst_ranks_agree(p->context, karst_ranks_largest(p->context, &percent));
  if (!status)
    status =
        karst_precond_put(p, "overlap", "layers", state->overlap ? ((const struct settings *)p->settings)->overlap : 0);
  return status ? status : karst_precond_put(p, "overlap_rows", "percent of a rank's", (double)percent);
}

static karst_status make_local(karst_precond *p, struct state *state)
{
  const struct settings *settings = p->settings;
  const karst_status status = karst_stage_make(p, &state->stages, 0, settings->local, matrix_of(p));
  if (status) return status;
  p->due = false; /* update runs its choose */
  p->unsymmetric = state->overlap ? "overlap" : state->stages.stage[0]->unsymmetric;
  p->instead = state->overlap ? "overlap 0" : state->stages.stage[0]->instead;
  count(p);
  return KARST_SUCCESS;
}

static karst_status setup(karst_precond *p)
{
  struct state *state;
  karst_status status = karst_allocate_zero(p->context, &state, 1, sizeof *state, "restricted additive Schwarz");
  if (!status) {
    p->data = state;
    state->stages = (karst_stages){.count = 1, .alone = true, .name = stage_names};
  }
  status = karst_ranks_agree(p->context, status);
  if (!status) status = make_overlap(p, state);
  if (!status) status = report(p);
  if (!status) status = karst_ranks_agree(p->context, make_space(p, state));
  return status ? status : make_local(p, state);
}

/* ---- update and apply ---- */

/* A rank may find a bad block in a row of another one. Its owner takes over the outcome, because only it knows the
 * caller's number of the row. */
static karst_status pass_outcome(karst_precond *p, struct state *state)
{
  const karst_index begin = karst_halo_global(p->A->halo, 0), end = begin + p->A->block_rows;
  const karst_index row = p->block_row < 0 ? -1 : karst_overlap_global(state->overlap, p->block_row);
  const struct outcome own = {p->reason, row};
  karst_status status = karst_ranks_gather(p->context, &own, sizeof own, state->all);
  if (status || own.reason == KARST_SOUND || own.row < 0 || (own.row >= begin && own.row < end)) {
    p->block_row = row < 0 ? -1 : row - begin;
  } else {
    p->reason = KARST_SOUND;
    p->block_row = -1;
    p->explanation[0] = '\0';
  }
  for (int r = 0; r < karst_context_ranks(p->context) && !status && p->reason == KARST_SOUND; r++) {
    if (state->all[r].reason == KARST_SOUND || state->all[r].row < begin || state->all[r].row >= end) continue;
    p->reason = (karst_reason)state->all[r].reason;
    p->block_row = (karst_index)state->all[r].row - begin;
  }
  return status;
}

/* The local preconditioner's choose runs here too, because it may be due on some ranks alone. */
static karst_status update(karst_precond *p)
{
  struct state *state = p->data;
  karst_status status = state->overlap ? karst_overlap_update(state->overlap) : KARST_SUCCESS;
  if (!status) status = karst_stages_update(p, &state->stages);
  if (state->overlap) {
    const karst_status passed = pass_outcome(p, state);
    if (!status) status = passed;
  }
  count(p);
  return status;
}

static void solved(karst_precond *p, int iterations)
{
  karst_stages_solved(p, &((const struct state *)p->data)->stages, iterations);
  p->due = false;
}

static karst_status apply(const karst_precond *p, const double *r, double *z)
{
  const struct state *state = p->data;
  const karst_precond *local = state->stages.stage[0];
  if (!state->overlap) return karst_precond_run_apply(local, r, z);
  karst_status status = karst_overlap_extend(state->overlap, r, state->residual);
  if (!status) status = karst_precond_run_apply(local, state->residual, state->solution);
  if (!status) karst_overlap_restrict(state->overlap, state->solution, z);
  return status;
}

static void destroy(karst_precond *p)
{
  struct state *state = p->data;
  if (!state) return;
  karst_stages_destroy(&state->stages);
  karst_overlap_destroy(state->overlap);
  p->context->backend->release(p->context, state->residual);
  p->context->backend->release(p->context, state->solution);
  karst_release(p->context, state->all);
  karst_release(p->context, state);
}

extern const struct karst_precond_ops karst_precond_ras;

static const karst_option ras_rows[] = {
    {"overlap", KARST_OPTION_INTEGER, false, offsetof(struct settings, overlap), NULL, 0, "1",
     "layers of block rows of other ranks that ras solves with on each rank",
     "From 0 to 3. The first layer is the rows that a rank's own couple with, and each next one what those of the last "
     "couple with. More layers mostly take fewer iterations; they take more memory, and longer updates and iterations. "
     "With 0 ras copies nothing: it is block Jacobi between ranks. It does not matter where there is one rank."},
    {"local", KARST_OPTION_PRECOND, false, offsetof(struct settings, local), NULL, 0, "iluk",
     "what ras solves with on each rank, with options local.level and so on",
     "Any preconditioner except auto may be used here. Its own options begin with local and a point, such as "
     "local.level, and their defaults do not depend on the options without the prefix."},
    {0},
};

static const karst_option *const rows[] = {ras_rows, NULL};

const struct karst_precond_ops karst_precond_ras = {
    .name = "ras",
    .help = "restricted additive Schwarz: a preconditioner on each rank, with an overlap",
    .details =
        "Each rank applies the preconditioner of the option local to its own block rows and the layers of the option "
        "overlap, and keeps its own rows of the result. It is not symmetric, so cg refuses it, but with overlap 0. "
        "With one rank it is the local preconditioner.",
    .options = rows,
    .settings = sizeof(struct settings),
    .order = KARST_ORDER_ANY,
    .fetches = true, /* so does the local one, and the overlap */
    .shares_matrix = true,
    .setup = setup,
    .update = update,
    .solved = solved,
    .apply = apply,
    .destroy = destroy,
};
