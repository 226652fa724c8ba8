/* extend.c - the next level of a hierarchy over ranks: whether there is one, which of its rows are ghosts of a rank, and
 * the rows of the interpolation for the ghosts of the level before; see spread.h. */
#include "lib/base/search.h"
#include "lib/ranks/lists.h"
#include "precond/amg/spread.h"

#include <stdlib.h>
#include <string.h>

karst_status karst_amg_fetch(karst_context *context, const karst_amg *amg, const karst_amg_matrix *matrix,
                             karst_amg_matrix *host)
{
  static const char what[] = "a multigrid matrix on the host";
  const struct karst_backend *backend = context->backend;
  const int64_t entries = matrix->entries;
  double *value = NULL;
  *host = (karst_amg_matrix){.rows = matrix->rows, .columns = matrix->columns, .entries = entries};
  karst_status status = karst_allocate(context, &host->row_start, (int64_t)matrix->rows + 1, sizeof(karst_index), what);
  if (!status) status = karst_allocate(context, &host->column, entries, sizeof(karst_index), what);
  if (!status) status = karst_allocate(context, &value, entries, sizeof *value, what);
  host->value = value;
  if (!status)
    status = backend->download(context, host->row_start, matrix->row_start,
                               ((size_t)matrix->rows + 1) * sizeof(karst_index));
  if (!status) status = backend->download(context, host->column, matrix->column, (size_t)entries * sizeof(karst_index));
  if (!status) status = backend->download(context, value, matrix->value, (size_t)entries * karst_amg_scalar(amg));
  for (int64_t k = entries - 1; amg->single && !status && k >= 0; k--) { /* from the end, where floats are not yet */
    float single;
    memcpy(&single, (const char *)host->value + k * (int64_t)sizeof single, sizeof single);
    value[k] = single;
  }
  return status;
}

void karst_amg_fetch_done(karst_context *context, karst_amg_matrix *host)
{
  karst_release(context, host->row_start);
  karst_release(context, host->column);
  karst_release(context, host->value);
  *host = (karst_amg_matrix){0};
}

karst_status karst_amg_spread_accept(karst_amg_spread *spread, karst_status status, int l, karst_index coarse,
                                     double share, bool *accepted)
{
  karst_context *context = spread->p->context;
  const int ranks = karst_context_ranks(context);
  karst_index *first = spread->part[l + 1].first;
  *accepted = false;
  status = karst_ranks_agree(context, status);
  if (!status) status = karst_ranks_agree(context, karst_ranks_gather(context, &coarse, sizeof coarse, first + 1));
  if (status) return status;
  first[0] = 0;
  for (int r = 0; r < ranks; r++) first[r + 1] += first[r];
  *accepted = first[ranks] > 0 && first[ranks] <= share * (double)spread->part[l].first[ranks];
  return KARST_SUCCESS;
}

/* An entry of P as ranks send it: the column among those of all, and the bits of the value. */
enum { VALUE = sizeof(double) / sizeof(karst_index), ENTRY = 1 + VALUE };

struct extension {
  karst_amg_spread *spread;
  int level;
  karst_route route;                       /* of the level */
  karst_amg_matrix own;                    /* P on the host */
  karst_amg_matrix ghosts;                 /* its rows for the ghosts, on the host */
  karst_index *send_start, *receive_start; /* [neighbours + 1] where the entries for each and of each begin */
  karst_index *sent, *received;            /* their entries */
};

/* Exchanges the lengths of rows, into row_start of the ghosts' rows. */
static karst_status exchange_lengths(struct extension *e, karst_status status)
{
  karst_context *context = e->spread->p->context;
  const karst_route *route = &e->route;
  const karst_lists lists = {route->neighbours, route->rank, 1, route->send_start, route->receive_start};
  const karst_index sent = route->send_start[route->neighbours], ghosts = e->spread->part[e->level].ghosts;
  karst_index *length = NULL;
  if (!status) status = karst_allocate(context, &length, sent, sizeof *length, "the lengths of rows");
  if (!status)
    status = karst_allocate_zero(context, &e->ghosts.row_start, (int64_t)ghosts + 1, sizeof(karst_index),
                                 "the rows of ghosts");
  for (karst_index i = 0; i < sent && !status; i++)
    length[i] = e->own.row_start[route->send[i] + 1] - e->own.row_start[route->send[i]];
  status = karst_lists_exchange(context, status, &lists, length, e->ghosts.row_start ? e->ghosts.row_start + 1 : NULL);
  karst_release(context, length);
  return status;
}

/* Sums lengths to starts, and finds where the entries for each neighbour and of each begin. */
static karst_status sum_lengths(struct extension *e)
{
  static const char what[] = "the entries of ghosts";
  karst_context *context = e->spread->p->context;
  const karst_route *route = &e->route;
  const karst_index ghosts = e->spread->part[e->level].ghosts;
  int64_t sent = 0, received = 0;
  karst_status status =
      karst_allocate_zero(context, &e->send_start, (int64_t)route->neighbours + 1, sizeof(karst_index), what);
  if (!status)
    status = karst_allocate_zero(context, &e->receive_start, (int64_t)route->neighbours + 1, sizeof(karst_index), what);
  if (status) return status;
  e->ghosts.rows = ghosts;
  for (karst_index i = 0; i < ghosts; i++) {
    const karst_index length = e->ghosts.row_start[i + 1];
    if (length > e->ghosts.longest) e->ghosts.longest = length;
    received += length;
    e->ghosts.row_start[i + 1] = received <= KARST_INDEX_MAX ? (karst_index)received : 0;
  }
  for (int n = 0; n < route->neighbours; n++) {
    for (karst_index i = route->send_start[n]; i < route->send_start[n + 1]; i++)
      sent += e->own.row_start[route->send[i] + 1] - e->own.row_start[route->send[i]];
    e->send_start[n + 1] = sent <= KARST_INDEX_MAX ? (karst_index)sent : 0;
    e->receive_start[n + 1] = e->ghosts.row_start[route->receive_start[n + 1]];
  }
  e->ghosts.entries = received;
  if (sent > KARST_INDEX_MAX || received > KARST_INDEX_MAX)
    return karst_fail(context, KARST_ERROR_INDEX_OVERFLOW, "%s are more than an index counts", what);
  status = karst_allocate(context, &e->sent, sent * ENTRY, sizeof *e->sent, what);
  return status ? status : karst_allocate(context, &e->received, received * ENTRY, sizeof *e->received, what);
}

static karst_status exchange_entries(struct extension *e, karst_status status)
{
  karst_context *context = e->spread->p->context;
  const karst_route *route = &e->route;
  const karst_index first = e->spread->part[e->level + 1].first[karst_context_rank(context)];
  const double *value = e->own.value;
  const karst_lists lists = {route->neighbours, route->rank, ENTRY, e->send_start, e->receive_start};
  karst_index *item = e->sent;
  for (karst_index i = 0; !status && i < route->send_start[route->neighbours]; i++)
    for (karst_index k = e->own.row_start[route->send[i]]; k < e->own.row_start[route->send[i] + 1]; k++) {
      item[0] = first + e->own.column[k];
      memcpy(item + 1, value + k, sizeof *value);
      item += ENTRY;
    }
  return karst_lists_exchange(context, status, &lists, e->sent, e->received);
}

static int compare(const void *a, const void *b)
{
  const karst_index x = *(const karst_index *)a, y = *(const karst_index *)b;
  return (x > y) - (x < y);
}

/* Lists the columns of the ghosts' rows once each: the ghosts of the next level. */
static karst_status list_ghosts(const struct extension *e, karst_amg_part *next)
{
  const int64_t entries = e->ghosts.entries;
  karst_status status = karst_allocate(e->spread->p->context, &next->ghost, entries, sizeof(karst_index), "the ghosts");
  if (status) return status;
  for (int64_t k = 0; k < entries; k++) next->ghost[k] = e->received[k * ENTRY];
  if (entries > 0) qsort(next->ghost, (size_t)entries, sizeof *next->ghost, compare);
  for (int64_t k = 0; k < entries; k++)
    if (k == 0 || next->ghost[k] != next->ghost[next->ghosts - 1]) next->ghost[next->ghosts++] = next->ghost[k];
  return KARST_SUCCESS;
}

/* Fills the rows of the ghosts, whose columns are behind the own ones, and gives them to P. */
static karst_status append_rows(struct extension *e, const karst_amg_part *next)
{
  karst_context *context = e->spread->p->context;
  karst_amg_matrix *P = &e->spread->amg->level[e->level].P;
  const int64_t entries = e->ghosts.entries, own = P->columns;
  double *value = NULL;
  karst_status status =
      own + next->ghosts > KARST_INDEX_MAX
          ? karst_fail(context, KARST_ERROR_INDEX_OVERFLOW, "a multigrid level has more columns than an index counts")
          : karst_allocate(context, &e->ghosts.column, entries, sizeof(karst_index), "the rows of ghosts");
  if (!status) status = karst_allocate(context, &value, entries, sizeof *value, "the rows of ghosts");
  e->ghosts.value = value;
  for (int64_t k = 0; k < entries && !status; k++) {
    const karst_index *item = e->received + k * ENTRY;
    e->ghosts.column[k] = (karst_index)own + karst_find_column(next->ghost, 0, next->ghosts, item[0]);
    memcpy(value + k, item + 1, sizeof *value);
  }
  if (status) return status;
  return context->backend->amg->append(context, e->spread->amg, &e->ghosts, (karst_index)own + next->ghosts, P);
}

karst_status karst_amg_spread_extend(karst_amg_spread *spread, karst_status status, int l)
{
  karst_context *context = spread->p->context;
  karst_amg_part *next = &spread->part[l + 1];
  struct extension e = {.spread = spread, .level = l};
  karst_route route = {0};
  if (!status) status = karst_exchange_route(spread->part[l].exchange, NULL, &e.route);
  if (!status) status = karst_amg_fetch(context, spread->amg, &spread->amg->level[l].P, &e.own);
  status = karst_ranks_agree(context, status);
  if (!status) status = exchange_lengths(&e, status);
  if (!status) status = exchange_entries(&e, sum_lengths(&e));
  if (!status) {
    status = list_ghosts(&e, next);
    if (!status) status = append_rows(&e, next);
    status = karst_ranks_agree(context, status);
  }
  if (!status) status = karst_route_find(context, next->first, next->ghosts, next->ghost, &route);
  if (!status) status = karst_ranks_agree(context, karst_exchange_create(context, &route, 1, &next->exchange));
  karst_route_release(context, &route);
  karst_route_release(context, &e.route);
  karst_amg_fetch_done(context, &e.own);
  karst_amg_fetch_done(context, &e.ghosts);
  karst_release(context, e.send_start);
  karst_release(context, e.receive_start);
  karst_release(context, e.sent);
  karst_release(context, e.received);
  return status;
}
