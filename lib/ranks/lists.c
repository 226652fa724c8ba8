/* lists.c - see lists.h. */
#include "lib/ranks/lists.h"

#include <stdlib.h>

static size_t bytes_of(const karst_lists *lists, const karst_index *start)
{
  return (size_t)(start[1] - start[0]) * (size_t)lists->size * sizeof(karst_index);
}

static karst_status transfer(karst_context *context, const karst_lists *lists, const karst_index *send, void *receive,
                             karst_transfer *transfers)
{
  const karst_transport *transport = &context->ranks->transport;
  const unsigned failures = karst_failures(context);
  for (int n = 0; n < lists->neighbours; n++)
    transfers[n] = (karst_transfer){.rank = lists->rank[n],
                                    .send = send + (int64_t)lists->send_start[n] * lists->size,
                                    .send_bytes = bytes_of(lists, lists->send_start + n),
                                    .receive = (karst_index *)receive + (int64_t)lists->receive_start[n] * lists->size,
                                    .receive_bytes = bytes_of(lists, lists->receive_start + n)};
  int status = transport->exchange_begin(transport->user, lists->neighbours, transfers);
  if (!status) status = transport->exchange_end(transport->user);
  return karst_check_returned(context, status, failures, "an exchange", " of the transport");
}

karst_status karst_lists_exchange(karst_context *context, karst_status status, const karst_lists *lists,
                                  const karst_index *send, karst_index *receive)
{
  karst_transfer *transfers = NULL;
  if (!status) status = karst_allocate(context, &transfers, lists->neighbours, sizeof *transfers, "the transfers");
  status = karst_ranks_agree(context, status);
  if (!status) status = karst_ranks_agree(context, transfer(context, lists, send, receive, transfers));
  karst_release(context, transfers);
  return status;
}

static int compare(const void *a, const void *b)
{
  const karst_index x = *(const karst_index *)a, y = *(const karst_index *)b;
  return (x > y) - (x < y);
}

karst_index karst_lists_sort(karst_index count, karst_index *number)
{
  karst_index left = 0;
  if (count > 0) qsort(number, (size_t)count, sizeof *number, compare);
  for (karst_index i = 0; i < count; i++)
    if (left == 0 || number[left - 1] != number[i]) number[left++] = number[i];
  return left;
}
