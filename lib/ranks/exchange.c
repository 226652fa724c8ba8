/* exchange.c - see exchange.h. Items are gathered into one array for each neighbour in device memory. */
#include "lib/ranks/exchange.h"

#include "lib/backend/halo_kernels.h"
#include "lib/profile/profile.h"

#include <string.h>

static int64_t scalars(const karst_exchange *exchange, karst_index items) { return (int64_t)items * exchange->size; }

static karst_status pin(karst_context *context, int64_t count, const char *what, double **memory)
{
  void *pinned = NULL;
  const karst_status status = context->backend->halo->pin(context, (size_t)count * sizeof(double), what, &pinned);
  *memory = pinned;
  return status;
}

/* Takes memory for the items, and in host memory too if the transport needs them there. */
static karst_status take_memory(karst_exchange *e)
{
  karst_context *context = e->context;
  const int64_t sent = scalars(e, e->sent), received = scalars(e, e->received);
  karst_status status =
      karst_device_indices(context, e->sent, e->host_index, "the numbers of items to send", &e->index);
  if (!status) status = karst_device_doubles(context, sent, "items to send", &e->outgoing);
  if (!status) status = karst_device_doubles(context, received, "items to receive", &e->incoming);
  if (karst_ranks_are_direct(context)) {
    e->host_out = e->outgoing;
    e->host_in = e->incoming;
    return status;
  }
  if (!status) status = pin(context, sent, "items to send", &e->host_out);
  if (!status) status = pin(context, received, "items to receive", &e->host_in);
  return status;
}

static void make_transfers(karst_exchange *e, const karst_route *route)
{
  for (int n = 0; n < e->neighbours; n++) {
    const karst_index *send = route->send_start + n, *receive = route->receive_start + n;
    e->transfers[n] = (karst_transfer){.rank = route->rank[n],
                                       .send = e->host_out + scalars(e, send[0]),
                                       .send_bytes = (size_t)scalars(e, send[1] - send[0]) * sizeof(double),
                                       .receive = e->host_in + scalars(e, receive[0]),
                                       .receive_bytes = (size_t)scalars(e, receive[1] - receive[0]) * sizeof(double)};
  }
}

karst_status karst_exchange_create(karst_context *context, const karst_route *route, int size,
                                   karst_exchange **exchange)
{
  const int neighbours = route->neighbours;
  karst_exchange *made;
  *exchange = NULL;
  karst_status status = karst_allocate_zero(context, &made, 1, sizeof *made, "an exchange");
  if (status) return status;
  made->context = context;
  made->size = size;
  made->neighbours = neighbours;
  made->sent = neighbours > 0 ? route->send_start[neighbours] : 0;
  made->received = neighbours > 0 ? route->receive_start[neighbours] : 0;
  status = karst_allocate(context, &made->transfers, neighbours, sizeof *made->transfers, "the transfers");
  if (!status)
    status = karst_allocate(context, &made->host_index, made->sent, sizeof *made->host_index, "the items to send");
  if (!status && made->sent > 0) memcpy(made->host_index, route->send, (size_t)made->sent * sizeof *made->host_index);
  if (!status) status = take_memory(made);
  if (status) {
    karst_exchange_destroy(made);
    return status;
  }
  make_transfers(made, route);
  *exchange = made;
  return KARST_SUCCESS;
}

karst_status karst_exchange_route(const karst_exchange *exchange, const karst_index *inverse, karst_route *route)
{
  karst_context *context = exchange->context;
  const int neighbours = exchange->neighbours;
  const int64_t ends = (int64_t)neighbours + 1;
  const size_t item = (size_t)exchange->size * sizeof(double);
  *route = (karst_route){.neighbours = neighbours};
  karst_status status = karst_allocate(context, &route->rank, neighbours, sizeof *route->rank, "the neighbours");
  if (!status)
    status = karst_allocate_zero(context, &route->send_start, ends, sizeof(karst_index), "the neighbours' items");
  if (!status)
    status = karst_allocate_zero(context, &route->receive_start, ends, sizeof(karst_index), "the neighbours' items");
  if (!status) status = karst_allocate(context, &route->send, exchange->sent, sizeof *route->send, "the items to send");
  if (status) return status;
  for (int n = 0; n < neighbours; n++) {
    const karst_transfer *transfer = &exchange->transfers[n];
    route->rank[n] = transfer->rank;
    route->send_start[n + 1] = route->send_start[n] + (karst_index)(transfer->send_bytes / item);
    route->receive_start[n + 1] = route->receive_start[n] + (karst_index)(transfer->receive_bytes / item);
  }
  for (karst_index i = 0; i < exchange->sent; i++)
    route->send[i] = inverse ? inverse[exchange->host_index[i]] : exchange->host_index[i];
  return KARST_SUCCESS;
}

karst_status karst_exchange_permute(const karst_exchange *from, const karst_index *inverse, karst_exchange **exchange)
{
  karst_route route;
  *exchange = NULL;
  karst_status status = karst_exchange_route(from, inverse, &route);
  if (!status) status = karst_exchange_create(from->context, &route, from->size, exchange);
  karst_route_release(from->context, &route);
  return status;
}

karst_status karst_exchange_reverse(const karst_exchange *from, int size, karst_exchange **exchange)
{
  karst_context *context = from->context;
  karst_route route;
  karst_index *send = NULL;
  *exchange = NULL;
  karst_status status = karst_exchange_route(from, NULL, &route);
  if (!status) status = karst_allocate(context, &send, from->received, sizeof *send, "the items to send back");
  for (karst_index i = 0; i < from->received && !status; i++) send[i] = i;
  const karst_route back = {route.neighbours, route.rank, route.receive_start, send, route.send_start};
  if (!status) status = karst_exchange_create(context, &back, size, exchange);
  karst_release(context, send);
  karst_route_release(context, &route);
  return status;
}

void karst_exchange_destroy(karst_exchange *e)
{
  if (!e) return;
  karst_context *context = e->context;
  if (e->host_out && e->host_out != e->outgoing) context->backend->halo->unpin(context, e->host_out);
  if (e->host_in && e->host_in != e->incoming) context->backend->halo->unpin(context, e->host_in);
  context->backend->release(context, e->index);
  context->backend->release(context, e->outgoing);
  context->backend->release(context, e->incoming);
  karst_release(context, e->host_index);
  karst_release(context, e->transfers);
  karst_release(context, e);
}

int64_t karst_exchange_memory(const karst_exchange *e)
{
  const int64_t items = scalars(e, e->sent) + scalars(e, e->received);
  return (karst_ranks_are_direct(e->context) ? 1 : 2) * items * (int64_t)sizeof(double) +
         2 * e->sent * (int64_t)sizeof(karst_index) + e->neighbours * (int64_t)sizeof *e->transfers;
}

/* Starts the transfers; *begun: and the transport must end them. */
static karst_status start(const karst_exchange *e, bool *begun)
{
  const struct karst_backend *backend = e->context->backend;
  const karst_transport *transport = &e->context->ranks->transport;
  const unsigned failures = karst_failures(e->context);
  karst_status status = KARST_SUCCESS;
  *begun = false;
  if (e->context->ranks->queues)
    return karst_check_returned(e->context, backend->halo->exchange(e->context, e->neighbours, e->transfers), failures,
                                "queue_exchange", " of the transport");
  if (e->host_out != e->outgoing)
    status = backend->download(e->context, e->host_out, e->outgoing, (size_t)scalars(e, e->sent) * sizeof(double));
  const karst_status started =
      karst_check_returned(e->context, transport->exchange_begin(transport->user, e->neighbours, e->transfers),
                           failures, "exchange_begin", " of the transport");
  *begun = started == KARST_SUCCESS;
  return status ? status : started;
}

karst_status karst_exchange_rehearse(karst_exchange *e)
{
  e->context->backend->fill(e->context, scalars(e, e->sent), 0, e->outgoing);
  e->failed = start(e, &e->begun);
  const karst_status status = karst_exchange_end(e);
  return status ? status : karst_context_synchronize(e->context);
}

void karst_exchange_begin(karst_exchange *e, const double *x)
{
  karst_timing timing;
  karst_profile_begin(e->context, "exchange", NULL, 2 * (double)scalars(e, e->sent) * sizeof(double), &timing);
  if (e->sent > 0) e->context->backend->gather(e->context, e->sent, e->size, e->index, x, e->outgoing);
  e->failed = start(e, &e->begun);
  karst_profile_end(&timing);
}

karst_status karst_exchange_end(karst_exchange *e)
{
  const struct karst_backend *backend = e->context->backend;
  const karst_transport *transport = &e->context->ranks->transport;
  const unsigned failures = karst_failures(e->context);
  karst_timing timing;
  karst_profile_begin(e->context, "exchange", NULL, (double)scalars(e, e->received) * sizeof(double), &timing);
  karst_status status = e->failed;
  if (e->begun) {
    const karst_status ended = karst_check_returned(e->context, transport->exchange_end(transport->user), failures,
                                                    "exchange_end", " of the transport");
    if (!status) status = ended;
  }
  if (!status && e->host_in != e->incoming)
    status = backend->upload(e->context, e->incoming, e->host_in, (size_t)scalars(e, e->received) * sizeof(double));
  karst_profile_end(&timing);
  return status;
}
