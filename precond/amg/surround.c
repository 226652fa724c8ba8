/* surround.c - the rows of a level with those of its ghosts, from which a rank chooses the coarse ones of its own; see
 * amg_ranks.h. Ranks choose alike, but where a chain of choices comes from beyond the ghosts. A rank's choice counts for
 * its own rows, and the others take it over. A row that then depends on no coarse row any more becomes one. */
#include "precond/amg/amg_ranks.h"

static const char *const what = "the rows that surround a multigrid level";

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

karst_status karst_amg_spread_surround(karst_amg_spread *spread, int l, karst_amg_matrix *all)
{
  karst_context *context = spread->p->context;
  const struct karst_amg_kernels *kernels = context->backend->amg;
  const karst_amg_part *part = &spread->part[l];
  const karst_amg_matrix *A = &spread->amg->level[l].A;
  const karst_amg_range own = karst_amg_range_of(spread, l);
  karst_amg_matrix sent = {0}, ghosts = {0};
  karst_status status =
      kernels->fetch(context, spread->amg, A, part->route.send_start[part->route.neighbours], part->route.send, &sent);
  const karst_lists lists = karst_amg_lists_of(&part->route);
  if (!status) karst_amg_globalise(own, part->ghost, &sent);
  status = karst_amg_exchange_rows(context, status, &lists, &sent, &ghosts);
  if (!status) {
    status = karst_amg_localise(context, own, part, A->rows, &ghosts);
    if (!status) status = kernels->stack(context, spread->amg, A, &ghosts, A->columns, all);
  }
  karst_amg_rows_release(context, &sent);
  karst_amg_rows_release(context, &ghosts);
  return status;
}

karst_status karst_amg_spread_number(const karst_amg_spread *spread, int l, karst_index **number)
{
  karst_context *context = spread->p->context;
  const karst_amg_part *part = &spread->part[l];
  const karst_amg_range own = karst_amg_range_of(spread, l);
  const karst_index rows = own.end - own.begin;
  karst_index *host;
  karst_status status = karst_allocate(context, &host, (int64_t)rows + part->ghosts, sizeof *host, what);
  for (karst_index i = 0; i < rows && !status; i++) host[i] = own.begin + i;
  for (karst_index g = 0; g < part->ghosts && !status; g++) host[rows + g] = part->ghost[g];
  if (!status) status = karst_device_indices(context, (int64_t)rows + part->ghosts, host, what, number);
  karst_release(context, host);
  return status;
}

/* Sends a number of each row of place that is a ghost of others, and receives those of the ghosts. */
static karst_status exchange_places(const karst_amg_spread *spread, karst_status status, int l,
                                    const karst_index *place, karst_index begin, karst_index *ghost)
{
  karst_context *context = spread->p->context;
  const karst_route *route = &spread->part[l].route;
  const karst_index sent = route->send_start[route->neighbours];
  const karst_lists lists = karst_amg_lists_of(route);
  karst_index *mine = NULL;
  if (!status) status = karst_allocate(context, &mine, sent, sizeof *mine, what);
  for (karst_index i = 0; i < sent && !status; i++)
    mine[i] = place[route->send[i]] < 0 ? -1 : begin + place[route->send[i]];
  status = karst_lists_exchange(context, status, &lists, mine, ghost);
  karst_release(context, mine);
  return status;
}

static karst_status download_places(const karst_amg_spread *spread, int l, const karst_amg_splitting *splitting,
                                    karst_index *place)
{
  const karst_index rows = spread->amg->level[l].A.rows;
  karst_context *context = spread->p->context;
  if (rows == 0) return KARST_SUCCESS;
  return context->backend->download(context, place, splitting->place, (size_t)rows * sizeof *place);
}

/* Makes coarse rows of those that depend on ghosts which their ranks do not take for coarse, and numbers the own coarse
 * rows. */
static karst_status settle_places(const karst_amg_spread *spread, karst_status status, int l,
                                  const karst_amg_matrix *all, karst_amg_splitting *splitting, karst_index *place,
                                  karst_index *ghost, karst_index *coarse)
{
  karst_context *context = spread->p->context;
  const karst_index rows = spread->amg->level[l].A.rows, ghosts = spread->part[l].ghosts;
  karst_index *theirs = NULL;
  if (!status) status = download_places(spread, l, splitting, place);
  status = exchange_places(spread, status, l, place, 0, ghost);
  if (!status) status = karst_device_indices(context, ghosts, ghost, what, &theirs);
  if (!status) context->backend->amg->rescue(context, all, rows, theirs, splitting);
  if (!status) status = download_places(spread, l, splitting, place);
  for (karst_index i = 0; i < rows && !status; i++) place[i] = place[i] != -1 ? (*coarse)++ : -1;
  context->backend->release(context, theirs);
  return status;
}

/* Gives the coarse ghosts, whose numbers among those of all are given, columns behind the own ones, and the device all
 * places. */
static karst_status upload_places(karst_amg_spread *spread, int l, const karst_index *place, karst_index *ghost,
                                  karst_index coarse, karst_amg_splitting *splitting)
{
  karst_context *context = spread->p->context;
  const struct karst_backend *backend = context->backend;
  const karst_index rows = spread->amg->level[l].A.rows, ghosts = spread->part[l].ghosts;
  karst_amg_part *next = &spread->part[l + 1];
  karst_status status = karst_allocate(context, &next->ghost, ghosts, sizeof *next->ghost, what);
  for (karst_index g = 0; g < ghosts && !status; g++) {
    if (ghost[g] < 0) continue;
    next->ghost[next->ghosts] = ghost[g];
    ghost[g] = coarse + next->ghosts++;
  }
  splitting->coarse = coarse + next->ghosts;
  if (!status && rows > 0) status = backend->upload(context, splitting->place, place, (size_t)rows * sizeof *place);
  if (!status && ghosts > 0)
    status = backend->upload(context, splitting->place + rows, ghost, (size_t)ghosts * sizeof *ghost);
  return status;
}

karst_status karst_amg_spread_share(karst_amg_spread *spread, karst_status status, int l, double share,
                                    const karst_amg_matrix *all, karst_amg_splitting *splitting, bool *accepted)
{
  karst_context *context = spread->p->context;
  karst_index *place = NULL, *ghost = NULL, coarse = 0;
  if (!status) status = karst_allocate(context, &place, spread->amg->level[l].A.rows, sizeof *place, what);
  if (!status) status = karst_allocate(context, &ghost, spread->part[l].ghosts, sizeof *ghost, what);
  status = settle_places(spread, status, l, all, splitting, place, ghost, &coarse);
  status = karst_amg_spread_accept(spread, status, l, coarse, share, accepted);
  if (!status && *accepted) {
    status = exchange_places(spread, status, l, place, karst_amg_range_of(spread, l + 1).begin, ghost);
    if (!status) status = upload_places(spread, l, place, ghost, coarse, splitting);
  }
  karst_release(context, place);
  karst_release(context, ghost);
  return status;
}
