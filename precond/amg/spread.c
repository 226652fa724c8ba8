/* spread.c - level 0 of a hierarchy over ranks, and what its cycles take from other ranks; see spread.h. */
#include "precond/amg/spread.h"

#include <limits.h>
#include <math.h>

/* ---- the finest level ---- */

/* The arrays of its pattern, and where blocks of A and G go. */
struct making {
  karst_index *row_start, *column;
  karst_index *own_place, *ghost_place;
  karst_index *boundary; /* [rows] 1 + the number of each row in the boundary, or 0 */
};

static karst_status take_pattern(const karst_matrix *A, struct making *m)
{
  static const char what[] = "the finest multigrid level of a rank";
  karst_context *context = A->context;
  const int64_t rows = A->block_rows, blocks = A->blocks + A->halo->blocks;
  if (blocks > KARST_INDEX_MAX || rows + A->halo->ghosts > KARST_INDEX_MAX)
    return karst_fail(context, KARST_ERROR_INDEX_OVERFLOW, "%s has more entries than an index counts", what);
  karst_status status = karst_allocate(context, &m->row_start, rows + 1, sizeof *m->row_start, what);
  if (!status) status = karst_allocate(context, &m->column, blocks, sizeof *m->column, what);
  if (!status) status = karst_allocate(context, &m->own_place, A->blocks, sizeof *m->own_place, what);
  if (!status) status = karst_allocate(context, &m->ghost_place, A->halo->blocks, sizeof *m->ghost_place, what);
  return status ? status : karst_allocate_zero(context, &m->boundary, rows, sizeof *m->boundary, what);
}

/* Joins the rows of A and G. */
static void join_rows(const karst_matrix *A, const struct making *m)
{
  const karst_boundary *G = &A->halo->host;
  karst_index at = 0;
  for (karst_index k = 0; k < A->halo->rows; k++) m->boundary[G->row[k]] = k + 1;
  for (karst_index i = 0; i < A->block_rows; i++) {
    const karst_index row = m->boundary[i] - 1;
    m->row_start[i] = at;
    for (karst_index k = A->row_start[i]; k < A->row_start[i + 1]; k++) {
      m->own_place[k] = at;
      m->column[at++] = A->column[k];
    }
    for (karst_index k = row < 0 ? 0 : G->row_start[row]; row >= 0 && k < G->row_start[row + 1]; k++) {
      m->ghost_place[k] = at;
      m->column[at++] = A->block_rows + G->column[k];
    }
  }
  m->row_start[A->block_rows] = at;
}

static karst_status make_finest(karst_amg_spread *spread)
{
  static const char what[] = "the places of blocks in the finest multigrid level";
  const karst_matrix *A = spread->p->A;
  karst_context *context = A->context;
  struct making m = {0};
  karst_status status = karst_matrix_fetch_pattern(A);
  if (!status) status = take_pattern(A, &m);
  if (!status) {
    join_rows(A, &m);
    status = karst_device_indices(context, A->blocks, m.own_place, what, &spread->own_place);
    if (!status) status = karst_device_indices(context, A->halo->blocks, m.ghost_place, what, &spread->ghost_place);
  }
  if (!status) {
    status = karst_matrix_adopt(context, A->block_rows, 1, A->block_rows, m.row_start, m.column, NULL, &spread->finest);
    m.row_start = m.column = NULL;
  }
  karst_release(context, m.row_start);
  karst_release(context, m.column);
  karst_release(context, m.own_place);
  karst_release(context, m.ghost_place);
  karst_release(context, m.boundary);
  return status;
}

karst_status karst_amg_spread_create(karst_precond *p, karst_amg *amg, karst_amg_spread **spread)
{
  const karst_halo *halo = p->A->halo;
  const int64_t ranks = karst_context_ranks(p->context);
  karst_index *first;
  karst_amg_spread *made;
  *spread = NULL;
  karst_status status = karst_allocate_zero(p->context, &made, 1, sizeof *made, "multigrid over ranks");
  if (status) return status;
  made->p = p;
  made->amg = amg;
  status =
      karst_allocate_zero(p->context, &first, KARST_AMG_LEVELS * (ranks + 1), sizeof *first, "the ranks' first rows");
  for (int l = 0; l < KARST_AMG_LEVELS && !status; l++) made->part[l].first = first + l * (ranks + 1);
  for (int64_t r = 0; r <= ranks && !status; r++) first[r] = halo->first[r];
  if (!status) status = make_finest(made);
  if (status) {
    karst_amg_spread_destroy(made);
    return status;
  }
  made->part[0].ghosts = halo->ghosts;
  made->part[0].ghost = halo->ghost;
  made->part[0].exchange = halo->exchange;
  *spread = made;
  return KARST_SUCCESS;
}

void karst_amg_spread_clear(karst_amg_spread *spread)
{
  karst_context *context = spread->p->context;
  for (int l = 1; l < KARST_AMG_LEVELS; l++) {
    karst_amg_part *part = &spread->part[l];
    karst_exchange_destroy(part->exchange);
    karst_release(context, part->ghost);
    *part = (karst_amg_part){.first = part->first};
  }
  karst_amg_gathered_clear(context, &spread->gathered);
}

void karst_amg_spread_destroy(karst_amg_spread *spread)
{
  if (!spread) return;
  karst_context *context = spread->p->context;
  karst_amg_spread_clear(spread);
  karst_matrix_destroy(spread->finest);
  context->backend->release(context, spread->own_place);
  context->backend->release(context, spread->ghost_place);
  karst_release(context, spread->part[0].first);
  karst_release(context, spread);
}

int64_t karst_amg_spread_memory(const karst_amg_spread *spread)
{
  const int64_t index = sizeof(karst_index), blocks = spread->finest->blocks;
  int64_t bytes = blocks * ((int64_t)sizeof(double) + 2 * index) + (spread->finest->block_rows + 1) * index;
  for (int l = 1; l < spread->amg->levels; l++)
    bytes += spread->part[l].ghosts * index + karst_exchange_memory(spread->part[l].exchange);
  return bytes + karst_amg_gathered_memory(&spread->gathered);
}

/* ---- values ---- */

/* Lets the ranks agree on what the values on this rank are found to be. */
static karst_status settle(const karst_amg_spread *spread, karst_status status, karst_amg_outcome *outcome)
{
  if (!status) karst_amg_take_outcome(spread->p, spread->amg, outcome);
  status = karst_precond_agree(spread->p, status);
  if (!status) outcome->reason = spread->p->reason;
  return status;
}

karst_status karst_amg_spread_load(karst_amg_spread *spread, karst_status status, karst_amg_outcome *outcome)
{
  karst_context *context = spread->p->context;
  const struct karst_backend *backend = context->backend;
  const karst_matrix *A = spread->p->A;
  karst_amg *amg = spread->amg;
  if (!status) {
    backend->scatter(context, (karst_index)A->blocks, 1, spread->own_place, A->value, spread->finest->value);
    backend->scatter(context, A->halo->blocks, 1, spread->ghost_place, A->halo->value, spread->finest->value);
    status = backend->amg->load(context, spread->finest, amg, outcome);
  }
  status = settle(spread, status, outcome);
  if (status || outcome->reason != KARST_SOUND) return status;
  int64_t exponent = spread->finest->blocks > 0 ? amg->exponent : INT_MIN;
  status = karst_ranks_agree(context, karst_ranks_largest(context, &exponent));
  if (status) return status;
  if (exponent != amg->exponent && exponent != INT_MIN) {
    amg->exponent = (int)exponent;
    amg->has_exponent = true;
    status = backend->amg->load(context, spread->finest, amg, outcome);
    amg->has_exponent = false;
  }
  return settle(spread, status, outcome);
}

/* ---- cycles ---- */

/* Brings the ghosts' part of a vector of a level. */
static karst_status exchange(const karst_amg_spread *spread, const karst_amg_step *step)
{
  karst_context *context = spread->p->context;
  const karst_amg_level *level = &spread->amg->level[step->level];
  const karst_amg_part *part = &spread->part[step->level];
  double *x = level->vector[step->x], *ghosts = x + level->A.rows;
  karst_exchange_begin(part->exchange, x);
  const karst_status status = karst_exchange_end(part->exchange);
  if (status)
    context->backend->fill(context, part->ghosts, (double)NAN, ghosts);
  else if (part->ghosts > 0)
    context->backend->copy(context, part->ghosts, part->exchange->incoming, ghosts);
  return status;
}

/* Solves on the last level for all ranks, and keeps the own rows. */
static karst_status solve_last(const karst_amg_spread *spread, const karst_amg_step *step)
{
  karst_context *context = spread->p->context;
  const karst_amg_gathered *gathered = &spread->gathered;
  const karst_amg_level *level = &spread->amg->level[step->level];
  const karst_status status = karst_whole_gather(gathered->whole, level->vector[step->x], gathered->f);
  context->backend->amg->apply(context, &gathered->amg, gathered->f, gathered->x);
  context->backend->copy(context, level->A.rows,
                         gathered->x + spread->part[step->level].first[karst_context_rank(context)],
                         level->vector[step->y]);
  return status;
}

void karst_amg_spread_call(void *user, const karst_amg_step *step)
{
  karst_amg_spread *spread = user;
  const karst_status status = step->action == KARST_AMG_EXCHANGE ? exchange(spread, step) : solve_last(spread, step);
  if (!spread->failed) spread->failed = status;
}
