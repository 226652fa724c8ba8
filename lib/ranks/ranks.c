/* ranks.c - makes a context one of the ranks of a transport, and lets the ranks agree; see ranks.h. */
#include "lib/backend/halo_kernels.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void karst_ranks_destroy(karst_context *context)
{
  struct karst_ranks *ranks = context->ranks;
  if (!ranks) return;
  context->ranks = NULL;
  if (ranks->transport.release) ranks->transport.release(ranks->transport.user);
  context->backend->release(context, ranks->device_all);
  karst_release(context, ranks->words);
  karst_release(context, ranks->own);
  karst_release(context, ranks->all);
  karst_release(context, ranks);
}

static karst_status check_transport(karst_context *context, const karst_transport *transport)
{
  if (context->ranks) return karst_fail(context, KARST_ERROR_ARGUMENT, "the context has a transport already");
  const int64_t objects = __atomic_load_n(&context->objects, __ATOMIC_RELAXED);
  if (objects > 0)
    return karst_fail(context, KARST_ERROR_ARGUMENT, "the transport cannot be set while %lld objects use the context",
                      (long long)objects);
  if (transport->ranks < 1 || transport->rank < 0 || transport->rank >= transport->ranks)
    return karst_fail(context, KARST_ERROR_ARGUMENT, "rank %d of %d ranks", transport->rank, transport->ranks);
  if (!transport->gather || !transport->exchange_begin || !transport->exchange_end)
    return karst_fail(context, KARST_ERROR_ARGUMENT, "the transport lacks gather, exchange_begin or exchange_end");
  if (!transport->queue_gather != !transport->queue_exchange)
    return karst_fail(context, KARST_ERROR_ARGUMENT, "the transport has only one of queue_gather and queue_exchange");
  return KARST_SUCCESS;
}

static karst_status make(karst_context *context, const karst_transport *transport)
{
  const int64_t ranks = transport->ranks, sums = KARST_SUMS_MOST;
  struct karst_ranks *made;
  karst_status status = karst_allocate_zero(context, &made, 1, sizeof *made, "the ranks");
  if (status) return status;
  context->ranks = made;
  made->transport = *transport;
  status = karst_allocate_zero(context, &made->words, ranks, sizeof *made->words, "the ranks' messages");
  if (!status) status = karst_allocate(context, &made->own, sums, sizeof(double), "the ranks' sums");
  if (!status) status = karst_allocate(context, &made->all, ranks * sums, sizeof(double), "the ranks' sums");
  if (!status && transport->queue_gather && !context->backend->host_memory)
    status = karst_device_doubles(context, ranks * sums, "the ranks' sums", &made->device_all);
  return status;
}

/* Lets the ranks know whether all have their memory, without that memory. */
static karst_status agree_on_memory(karst_context *context, const karst_transport *transport, karst_status status)
{
  char all[transport->ranks];
  const char own = status != KARST_SUCCESS;
  karst_status failed = transport->gather(transport->user, &own, 1, all);
  for (int r = 0; r < transport->ranks && !failed; r++)
    if (all[r]) failed = karst_fail(context, KARST_ERROR_NO_MEMORY, "rank %d has no memory for its messages", r);
  return failed;
}

/* Finds whether the transport will queue, which the ranks agree on in queue_prepare. */
static void prepare_queues(karst_context *context)
{
  struct karst_ranks *ranks = context->ranks;
  if (ranks->device_all) ranks->queues = context->backend->halo->prepare(context);
}

karst_status karst_context_set_transport(karst_context *context, const karst_transport *transport)
{
  if (!context || !transport) return karst_missing(context, "the transport");
  karst_status status = check_transport(context, transport);
  if (status) {
    if (transport->release) transport->release(transport->user);
    return status;
  }
  status = agree_on_memory(context, transport, make(context, transport));
  if (status && context->ranks)
    karst_ranks_destroy(context);
  else if (status && transport->release)
    transport->release(transport->user);
  else
    prepare_queues(context);
  return status;
}

const char *karst_context_transport(const karst_context *context)
{
  if (!context || !context->ranks) return "";
  return context->ranks->transport.name ? context->ranks->transport.name : "a transport";
}

int karst_context_rank(const karst_context *context)
{
  return context && context->ranks ? context->ranks->transport.rank : 0;
}

int karst_context_ranks(const karst_context *context)
{
  return context && context->ranks ? context->ranks->transport.ranks : 1;
}

karst_status karst_ranks_gather(karst_context *context, const void *own, size_t bytes, void *all)
{
  const karst_transport *transport = &context->ranks->transport;
  const unsigned failures = karst_failures(context);
  return karst_check_returned(context, transport->gather(transport->user, own, bytes, all), failures, "gather",
                              " of the transport");
}

/* What this rank says of a call that has ended with status here. */
static karst_ranks_word word_of(karst_context *context, karst_status status)
{
  struct karst_ranks *ranks = context->ranks;
  karst_ranks_word word = {.status = status ? status : ranks->failed};
  ranks->failed = KARST_SUCCESS;
  if (word.status) snprintf(word.sentence, sizeof word.sentence, "%s", karst_context_error(context));
  return word;
}

/* Whether each rank has failed in the same way, such as with the same wrong argument. */
static bool all_the_same(const karst_ranks_word *words, int ranks)
{
  for (int r = 1; r < ranks; r++)
    if (words[r].status != words[0].status || strcmp(words[r].sentence, words[0].sentence) != 0) return false;
  return true;
}

karst_status karst_ranks_agree(karst_context *context, karst_status status)
{
  struct karst_ranks *ranks = context->ranks;
  int r = 0;
  if (!ranks || (status && ranks->agreed && ranks->sentence == karst_failures(context))) return status;
  const karst_ranks_word own = word_of(context, status);
  const karst_status failed = karst_ranks_gather(context, &own, sizeof own, ranks->words);
  if (failed) return failed;
  while (r < ranks->transport.ranks && !ranks->words[r].status) r++;
  ranks->agreed = r < ranks->transport.ranks;
  if (!ranks->agreed) return KARST_SUCCESS;
  const karst_ranks_word *word = &ranks->words[r];
  if (all_the_same(ranks->words, ranks->transport.ranks))
    karst_fail(context, (karst_status)word->status, "%s", word->sentence);
  else
    karst_fail(context, (karst_status)word->status, "rank %d: %s", r, word->sentence);
  ranks->sentence = karst_failures(context);
  return (karst_status)word->status;
}

karst_status karst_ranks_enter(karst_context *context, karst_status status)
{
  if (context->ranks) context->ranks->agreed = false;
  return karst_ranks_agree(context, status);
}

karst_status karst_ranks_largest(karst_context *context, int64_t *number)
{
  struct karst_ranks *ranks = context->ranks;
  int64_t *const all = (void *)ranks->words;
  const karst_status status = karst_ranks_gather(context, number, sizeof *number, all);
  for (int r = 0; r < ranks->transport.ranks && !status; r++)
    if (all[r] > *number) *number = all[r];
  return status;
}

karst_status karst_ranks_all(karst_context *context, bool *yes)
{
  int64_t no = !*yes;
  const karst_status status = karst_ranks_largest(context, &no);
  *yes = no == 0;
  return status;
}

karst_status karst_ranks_postpone(karst_context *context, karst_status status, int64_t n, double *y)
{
  if (!status || !context->ranks) return status;
  if (!context->ranks->failed) context->ranks->failed = status;
  context->backend->fill(context, n, (double)NAN, y);
  return KARST_SUCCESS;
}
