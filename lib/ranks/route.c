/* route.c - finds which block rows the ranks send each other; see exchange.h. */
#include "lib/ranks/exchange.h"
#include "lib/ranks/lists.h"

/* The tables by which the ranks tell each other how much they want of whom. */
struct wishes {
  karst_index *own; /* [ranks] block rows that this rank wants of each */
  karst_index *all; /* [ranks * ranks] own of each rank */
};

void karst_route_release(karst_context *context, karst_route *route)
{
  karst_release(context, route->rank);
  karst_release(context, route->send_start);
  karst_release(context, route->send);
  karst_release(context, route->receive_start);
  *route = (karst_route){0};
}

static karst_status make_wishes(karst_context *context, const karst_index *first, karst_index count,
                                const karst_index *rows, struct wishes *wishes)
{
  const int64_t ranks = karst_context_ranks(context);
  karst_status status = karst_allocate_zero(context, &wishes->own, ranks, sizeof *wishes->own, "the ranks' wishes");
  if (!status) status = karst_allocate(context, &wishes->all, ranks * ranks, sizeof *wishes->all, "the ranks' wishes");
  if (status) return status;
  for (karst_index i = 0, r = 0; i < count; i++) {
    while (rows[i] >= first[r + 1]) r++;
    wishes->own[r]++;
  }
  return KARST_SUCCESS;
}

/* What rank r wants of this one. */
static karst_index wanted_by(const karst_context *context, const struct wishes *wishes, int r)
{
  return wishes->all[(int64_t)r * karst_context_ranks(context) + karst_context_rank(context)];
}

/* Lists the neighbours, and where the items for each and of each begin. */
static karst_status list_neighbours(karst_context *context, const struct wishes *wishes, karst_route *route)
{
  const int ranks = karst_context_ranks(context);
  int neighbours = 0;
  for (int r = 0; r < ranks; r++) neighbours += wishes->own[r] > 0 || wanted_by(context, wishes, r) > 0;
  const int64_t ends = (int64_t)neighbours + 1;
  karst_status status = karst_allocate(context, &route->rank, neighbours, sizeof *route->rank, "the neighbours");
  if (!status)
    status = karst_allocate_zero(context, &route->send_start, ends, sizeof(karst_index), "the neighbours' items");
  if (!status)
    status = karst_allocate_zero(context, &route->receive_start, ends, sizeof(karst_index), "the neighbours' items");
  if (status) return status;
  for (int r = 0; r < ranks; r++) {
    const karst_index wanted = wanted_by(context, wishes, r);
    if (wishes->own[r] == 0 && wanted == 0) continue;
    const int n = route->neighbours++;
    route->rank[n] = r;
    route->send_start[n + 1] = route->send_start[n] + wanted;
    route->receive_start[n + 1] = route->receive_start[n] + wishes->own[r];
  }
  return karst_allocate(context, &route->send, route->send_start[neighbours], sizeof *route->send, "the items to send");
}

karst_status karst_route_find(karst_context *context, const karst_index *first, karst_index count,
                              const karst_index *rows, karst_route *route)
{
  struct wishes wishes = {0};
  const karst_index own = first[karst_context_rank(context)];
  *route = (karst_route){0};
  karst_status status = karst_ranks_agree(context, make_wishes(context, first, count, rows, &wishes));
  if (!status)
    status =
        karst_ranks_gather(context, wishes.own, (size_t)karst_context_ranks(context) * sizeof *wishes.own, wishes.all);
  if (!status) status = list_neighbours(context, &wishes, route);
  const karst_lists asked = {route->neighbours, route->rank, 1, route->receive_start, route->send_start};
  status = karst_lists_exchange(context, status, &asked, rows, route->send);
  for (karst_index i = 0; !status && i < route->send_start[route->neighbours]; i++) route->send[i] -= own;
  karst_release(context, wishes.own);
  karst_release(context, wishes.all);
  return status;
}
