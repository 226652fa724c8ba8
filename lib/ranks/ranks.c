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

/* Refuses a table through which no rank can be reached. */
static karst_status check_table(karst_context *context, const karst_transport *transport)
{
  if (transport->ranks < 1 || transport->rank < 0 || transport->rank >= transport->ranks)
    return karst_fail(context, KARST_ERROR_ARGUMENT, "rank %d of %d ranks", transport->rank, transport->ranks);
  if (!transport->gather || !transport->exchange_begin || !transport->exchange_end)
    return karst_fail(context, KARST_ERROR_ARGUMENT, "the transport lacks gather, exchange_begin or exchange_end");
  if (!transport->queue_gather != !transport->queue_exchange)
    return karst_fail(context, KARST_ERROR_ARGUMENT, "the transport has only one of queue_gather and queue_exchange");
  return KARST_SUCCESS;
}

/* What a rank may lack when it gets a transport, and the sentence for all. */
enum lack { LACKS_NOTHING, LACKS_MEMORY, LACKS_FREEDOM };

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

/* Lets the ranks know whether one lacks something, without the memory for messages. */
static karst_status agree_on_lacks(karst_context *context, const karst_transport *transport, enum lack lack)
{
  char all[transport->ranks];
  const char own = (char)lack;
  karst_status failed = transport->gather(transport->user, &own, 1, all);
  for (int r = 0; r < transport->ranks && !failed; r++)
    if (all[r] == LACKS_MEMORY)
      failed = karst_fail(context, KARST_ERROR_NO_MEMORY, "rank %d has no memory for its messages", r);
    else if (all[r] == LACKS_FREEDOM)
      failed = karst_fail(context, KARST_ERROR_ARGUMENT,
                          "rank %d cannot take a transport: its context has one already, or objects use it", r);
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
  bool made = false;
  if (!context || !transport) return karst_missing(context, "the transport");
  karst_status status = check_table(context, transport);
  if (!status) {
    const bool is_free = !context->ranks && __atomic_load_n(&context->objects, __ATOMIC_RELAXED) == 0;
    const karst_status taken = is_free ? make(context, transport) : KARST_SUCCESS;
    made = is_free && context->ranks;
    status = agree_on_lacks(context, transport, taken ? LACKS_MEMORY : is_free ? LACKS_NOTHING : LACKS_FREEDOM);
  }
  if (!status)
    prepare_queues(context);
  else if (made)
    karst_ranks_destroy(context);
  else if (transport->release)
    transport->release(transport->user);
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
  return karst_ranks_agree_and_tell(context, status, NULL, 0);
}

karst_status karst_ranks_agree_and_tell(karst_context *context, karst_status status, const void *told, size_t bytes)
{
  struct karst_ranks *ranks = context->ranks;
  int r = 0;
  if (!ranks || (status && ranks->agreed && ranks->agreed_sentence == karst_failures(context))) return status;
  karst_ranks_word own = word_of(context, status);
  if (!own.status && bytes > 0) memcpy(own.sentence, told, bytes);
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
  ranks->agreed_sentence = karst_failures(context);
  return (karst_status)word->status;
}

karst_status karst_ranks_agree_and_add(karst_context *context, karst_status status, int count, double *numbers)
{
  const size_t bytes = (size_t)count * sizeof *numbers;
  double other[KARST_RANKS_NUMBERS];
  status = karst_ranks_agree_and_tell(context, status, numbers, bytes);
  for (int r = 0; r < karst_context_ranks(context) && context->ranks && !status; r++) {
    memcpy(other, context->ranks->words[r].sentence, bytes);
    for (int i = 0; i < count; i++) numbers[i] = r == 0 ? other[i] : numbers[i] + other[i];
  }
  return status;
}

karst_status karst_ranks_enter(karst_context *context, karst_status status)
{
  if (context->ranks) context->ranks->agreed = false;
  return karst_ranks_agree(context, status);
}

karst_status karst_context_agree(karst_context *context, karst_status status)
{
  if (!context) return KARST_ERROR_ARGUMENT;
  if (status > 0 || status < KARST_ERROR_TRANSPORT)
    status =
        karst_fail(context, KARST_ERROR_ARGUMENT, "the ranks agree on a karst_status, and %d is none", (int)status);
  return karst_ranks_enter(context, status);
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

karst_status karst_ranks_download(karst_context *context, int64_t count, const double *scalars, double *host)
{
  const karst_status status = context->backend->download(context, host, scalars, (size_t)count * sizeof *host);
  if (!status || !context->ranks) return status;
  if (!context->ranks->failed) context->ranks->failed = status;
  for (int64_t i = 0; i < count; i++) host[i] = NAN;
  return KARST_SUCCESS;
}

karst_status karst_ranks_postpone(karst_context *context, karst_status status, int64_t n, double *y)
{
  if (!status || !context->ranks) return status;
  if (!context->ranks->failed) context->ranks->failed = status;
  context->backend->fill(context, n, (double)NAN, y);
  return KARST_SUCCESS;
}
