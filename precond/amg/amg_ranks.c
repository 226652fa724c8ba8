/* amg_ranks.c - level 0 of a hierarchy over ranks, and what its cycles take from other ranks; see amg_ranks.h. */
#include "precond/amg/amg_ranks.h"

#include "lib/base/search.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

/* ---- the finest level ---- */

/* A ghost: its number among the rows of all ranks, and where it is among those of the halo. They differ in order where
 * an ordering has permuted the rows of its rank. */
struct ghost {
  karst_index number, place;
};

/* The arrays of the pattern, and where blocks of A and G go. */
struct making {
  karst_index *row_start, *column;
  karst_index *own_place, *ghost_place;
  karst_index *boundary; /* [rows] 1 + the number of each row in the boundary, or 0 */
  karst_index *position; /* [ghosts] where each ghost of the halo is among those of level 0 */
};

static int compare(const void *a, const void *b)
{
  const struct ghost *one = a, *other = b;
  return (one->number > other->number) - (one->number < other->number);
}

/* Asks the ranks of the ghosts for their numbers, and sorts them. */
static karst_status number_ghosts(karst_amg_spread *spread, karst_status status, struct making *m)
{
  static const char what[] = "the numbers of ghosts";
  const karst_halo *halo = spread->p->A->halo;
  karst_context *context = spread->p->context;
  karst_amg_part *part = &spread->part[0];
  karst_index *own = NULL, *number = NULL;
  struct ghost *ghost = NULL;
  karst_route route = {0};
  if (!status) status = karst_exchange_route(halo->exchange, NULL, &route);
  const karst_index sent = status ? 0 : route.send_start[route.neighbours];
  if (!status) status = karst_allocate(context, &own, sent, sizeof *own, what);
  if (!status) status = karst_allocate(context, &number, halo->ghosts, sizeof *number, what);
  if (!status) status = karst_allocate(context, &ghost, halo->ghosts, sizeof *ghost, what);
  if (!status) status = karst_allocate(context, &part->ghost, halo->ghosts, sizeof *part->ghost, what);
  if (!status) status = karst_allocate(context, &m->position, halo->ghosts, sizeof *m->position, what);
  for (karst_index i = 0; i < sent && !status; i++) own[i] = karst_halo_global(halo, route.send[i]);
  const karst_lists lists = karst_amg_lists_of(&route);
  status = karst_lists_exchange(context, status, &lists, own, number);
  for (karst_index g = 0; g < halo->ghosts && !status; g++) ghost[g] = (struct ghost){number[g], g};
  if (!status && halo->ghosts > 0) qsort(ghost, (size_t)halo->ghosts, sizeof *ghost, compare);
  for (karst_index g = 0; g < halo->ghosts && !status; g++) {
    part->ghost[g] = ghost[g].number;
    m->position[ghost[g].place] = g;
  }
  part->ghosts = halo->ghosts;
  karst_route_release(context, &route);
  karst_release(context, own);
  karst_release(context, number);
  karst_release(context, ghost);
  return status;
}

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

/* Joins the rows of A and G. The columns of a row of G are put in order one by one. */
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
    const karst_index begin = at;
    for (karst_index k = row < 0 ? 0 : G->row_start[row]; row >= 0 && k < G->row_start[row + 1]; k++) {
      const karst_index column = A->block_rows + m->position[G->column[k]];
      karst_index to = at++;
      for (; to > begin && m->column[to - 1] > column; to--) m->column[to] = m->column[to - 1];
      m->column[to] = column;
    }
    for (karst_index k = row < 0 ? 0 : G->row_start[row]; row >= 0 && k < G->row_start[row + 1]; k++)
      m->ghost_place[k] = karst_find_column(m->column, begin, at, A->block_rows + m->position[G->column[k]]);
  }
  m->row_start[A->block_rows] = at;
}

static karst_status make_finest(karst_amg_spread *spread, struct making *m)
{
  static const char what[] = "the places of blocks in the finest multigrid level";
  const karst_matrix *A = spread->p->A;
  karst_context *context = A->context;
  karst_status status = take_pattern(A, m);
  if (status) return status;
  join_rows(A, m);
  status = karst_device_indices(context, A->blocks, m->own_place, what, &spread->own_place);
  if (!status) status = karst_device_indices(context, A->halo->blocks, m->ghost_place, what, &spread->ghost_place);
  if (status) return status;
  status = karst_matrix_adopt(context, A->block_rows, 1, A->block_rows, m->row_start, m->column, NULL, &spread->finest);
  m->row_start = m->column = NULL;
  return status;
}

/* Makes level 0 but for its values. */
static karst_status make_part(karst_amg_spread *spread, karst_status status)
{
  karst_context *context = spread->p->context;
  karst_amg_part *part = &spread->part[0];
  struct making m = {0};
  status = number_ghosts(spread, status, &m);
  if (!status) status = karst_ranks_agree(context, make_finest(spread, &m));
  if (!status) status = karst_route_find(context, part->first, part->ghosts, part->ghost, &part->route);
  if (!status) status = karst_ranks_agree(context, karst_exchange_create(context, &part->route, 1, &part->exchange));
  karst_release(context, m.row_start);
  karst_release(context, m.column);
  karst_release(context, m.own_place);
  karst_release(context, m.ghost_place);
  karst_release(context, m.boundary);
  karst_release(context, m.position);
  return status;
}

/* Takes the memory that depends only on the number of ranks. */
static karst_status make(karst_precond *p, karst_amg *amg, karst_amg_spread **spread)
{
  const int64_t ranks = karst_context_ranks(p->context);
  karst_index *first;
  karst_amg_spread *made;
  karst_status status = karst_allocate_zero(p->context, &made, 1, sizeof *made, "multigrid over ranks");
  if (status) return status;
  made->p = p;
  made->amg = amg;
  *spread = made;
  status =
      karst_allocate_zero(p->context, &first, KARST_AMG_LEVELS * (ranks + 1), sizeof *first, "the ranks' first rows");
  for (int l = 0; l < KARST_AMG_LEVELS && !status; l++) made->part[l].first = first + l * (ranks + 1);
  for (int64_t r = 0; r <= ranks && !status; r++) first[r] = p->A->halo->first[r];
  return status ? status : karst_matrix_fetch_pattern(p->A);
}

karst_status karst_amg_spread_create(karst_precond *p, karst_amg *amg, karst_amg_spread **spread)
{
  *spread = NULL;
  karst_status status = karst_ranks_agree(p->context, make(p, amg, spread));
  if (!status) status = make_part(*spread, status);
  if (!status) return KARST_SUCCESS;
  karst_amg_spread_destroy(*spread);
  *spread = NULL;
  return status;
}

static void release_part(karst_context *context, karst_amg_part *part)
{
  karst_exchange_destroy(part->exchange);
  karst_exchange_destroy(part->back);
  karst_exchange_destroy(part->values);
  context->backend->release(context, part->widened);
  context->backend->release(context, part->order);
  context->backend->release(context, part->ordered);
  karst_route_release(context, &part->route);
  karst_release(context, part->ghost);
  *part = (karst_amg_part){.first = part->first};
}

void karst_amg_spread_clear(karst_amg_spread *spread)
{
  for (int l = 1; l < KARST_AMG_LEVELS; l++) release_part(spread->p->context, &spread->part[l]);
  karst_amg_gathered_clear(spread->p->context, &spread->gathered);
}

void karst_amg_spread_destroy(karst_amg_spread *spread)
{
  if (!spread) return;
  karst_context *context = spread->p->context;
  karst_amg_spread_clear(spread);
  release_part(context, &spread->part[0]);
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
  for (int l = 0; l < spread->amg->levels; l++) {
    const karst_amg_part *part = &spread->part[l];
    bytes += (part->ghosts + part->exchange->sent) * index + karst_exchange_memory(part->exchange);
    if (l > 0)
      bytes += karst_exchange_memory(part->back) + karst_exchange_memory(part->values) +
               (part->values->sent + part->values->received) * (int64_t)sizeof(double) + part->values->received * index;
  }
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

/* Sends the ghosts' part of a vector to their ranks, and adds what these send, in the order of the ranks. */
static karst_status give_back(const karst_amg_spread *spread, const karst_amg_step *step)
{
  karst_context *context = spread->p->context;
  const karst_amg_level *level = &spread->amg->level[step->level];
  const karst_amg_part *part = &spread->part[step->level];
  const karst_index *start = part->route.send_start;
  double *x = level->vector[step->x];
  karst_exchange_begin(part->back, x + level->A.rows);
  const karst_status status = karst_exchange_end(part->back);
  if (status) context->backend->fill(context, level->A.rows, (double)NAN, x);
  for (int n = 0; n < part->route.neighbours && !status; n++)
    if (start[n + 1] > start[n])
      context->backend->amg->add(context, start[n + 1] - start[n], part->exchange->index + start[n],
                                 part->back->incoming + start[n], x);
  return status;
}

/* Solves on the last level for all ranks, and keeps the own rows and those of ghosts. */
static karst_status solve_last(const karst_amg_spread *spread, const karst_amg_step *step)
{
  karst_context *context = spread->p->context;
  const struct karst_backend *backend = context->backend;
  const karst_amg_gathered *gathered = &spread->gathered;
  const karst_amg_level *level = &spread->amg->level[step->level];
  const karst_index ghosts = spread->part[step->level].ghosts;
  double *y = level->vector[step->y];
  const karst_status status = karst_whole_gather(gathered->whole, level->vector[step->x], gathered->f);
  backend->amg->apply(context, &gathered->amg, gathered->f, gathered->x);
  backend->copy(context, level->A.rows, gathered->x + karst_amg_range_of(spread, step->level).begin, y);
  if (ghosts > 0) backend->gather(context, ghosts, 1, gathered->ghost, gathered->x, y + level->A.rows);
  return status;
}

void karst_amg_spread_call(void *user, const karst_amg_step *step)
{
  karst_amg_spread *spread = user;
  const karst_status status = step->action == KARST_AMG_EXCHANGE ? exchange(spread, step)
                              : step->action == KARST_AMG_RETURN ? give_back(spread, step)
                                                                 : solve_last(spread, step);
  if (!spread->failed) spread->failed = status;
}
