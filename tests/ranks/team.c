/* team.c - ranks that are threads; see team.h. One mutex guards all that ranks exchange. */
#include "tests/ranks/team.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* A rank waits so long for another before its call fails. */
enum { SECONDS = 60 };

/* A message on its way, a copy. */
struct letter {
  bool full;
  size_t bytes;
  void *copy;
};

struct team {
  int ranks;
  struct team_rank rank[TEAM_MOST];
  team_body body;
  karst_status (*run)(struct team_rank *rank); /* instead of body */
  const char *device;
  bool ended[TEAM_MOST];
  karst_status status[TEAM_MOST];             /* of run */
  struct letter letter[TEAM_MOST][TEAM_MOST]; /* from, to */
  long arrivals[TEAM_MOST];                   /* how often each rank has come to a gathering, */
  long departures[TEAM_MOST];                 /* and how often it has read all that the others brought */
  const void *own[TEAM_MOST];                 /* what it brought, */
  size_t bytes[TEAM_MOST];                    /* how much, */
  bool past[TEAM_MOST];                       /* and whether past the transport */
  pthread_mutex_t mutex;
  pthread_cond_t changed;
};

/* Waits, with the mutex, until number is at least the wanted one. False if the rank that changes it has ended or SECONDS
 * are over. */
static bool wait_for(struct team *team, int other, const long *number, long wanted)
{
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += SECONDS;
  while (*number < wanted) {
    if (team->ended[other]) return false;
    if (pthread_cond_timedwait(&team->changed, &team->mutex, &until) != 0) return false;
  }
  return true;
}

/* The same until a letter is or is not there. */
static bool wait_for_letter(struct team *team, int other, const struct letter *letter, bool full)
{
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += SECONDS;
  while (letter->full != full) {
    if (team->ended[other]) return false;
    if (pthread_cond_timedwait(&team->changed, &team->mutex, &until) != 0) return false;
  }
  return true;
}

/* Fails with a sentence that a test finds: ranks do not make the same calls. */
static karst_status stuck(struct team_rank *rank, const char *call, int other)
{
  char sentence[128];
  team_ok(rank, false, "%s ends: rank %d is in another call or has ended", call, other);
  snprintf(sentence, sizeof sentence, "%s cannot reach rank %d", call, other);
  return karst_context_fail(rank->context, KARST_ERROR_TRANSPORT, sentence);
}

/* Brings own, waits for what all bring, and copies it. Nobody leaves before all have read: own stays the caller's.
 * Returns the rank that did not come, or brought something else; else -1. */
static int gather_all(struct team_rank *rank, const void *own, size_t bytes, void *all, bool past)
{
  struct team *team = rank->team;
  const int me = rank->rank;
  int missing = -1;
  pthread_mutex_lock(&team->mutex);
  team->own[me] = own;
  team->bytes[me] = bytes;
  team->past[me] = past;
  const long round = ++team->arrivals[me];
  pthread_cond_broadcast(&team->changed);
  for (int r = 0; r < team->ranks && missing < 0; r++) {
    if (!wait_for(team, r, &team->arrivals[r], round) || team->bytes[r] != bytes || team->past[r] != past)
      missing = r;
    else if (bytes > 0)
      memcpy((char *)all + (size_t)r * bytes, team->own[r], bytes);
  }
  team->departures[me] = round;
  pthread_cond_broadcast(&team->changed);
  for (int r = 0; r < team->ranks && missing < 0; r++)
    if (!wait_for(team, r, &team->departures[r], round)) missing = r;
  pthread_mutex_unlock(&team->mutex);
  return missing;
}

/* Counts a call of the transport, which fails if it is the one that must. */
static karst_status count_call(struct team_rank *rank)
{
  if (++rank->calls != rank->fail_call) return KARST_SUCCESS;
  return karst_context_fail(rank->context, KARST_ERROR_TRANSPORT, "the transport fails as the test wants");
}

static karst_status gather(void *user, const void *own, size_t bytes, void *all)
{
  struct team_rank *rank = user;
  rank->gathers++;
  const int missing = gather_all(rank, own, bytes, all, false);
  if (missing >= 0) return stuck(rank, "gather", missing);
  return count_call(rank);
}

/* Takes the letters of the transfers under way, into their memory or, if nobody wants them any more, away. */
static karst_status take_letters(struct team_rank *rank, bool wanted)
{
  struct team *team = rank->team;
  int missing = -1;
  pthread_mutex_lock(&team->mutex);
  for (int i = 0; i < rank->pending && missing < 0; i++) {
    const karst_transfer *transfer = &rank->transfer[i];
    struct letter *letter = &team->letter[transfer->rank][rank->rank];
    if (transfer->receive_bytes == 0) continue;
    if (!wait_for_letter(team, transfer->rank, letter, true) || letter->bytes != transfer->receive_bytes) {
      missing = transfer->rank;
      break;
    }
    if (wanted) memcpy(transfer->receive, letter->copy, letter->bytes);
    free(letter->copy);
    *letter = (struct letter){.full = false};
    pthread_cond_broadcast(&team->changed);
  }
  rank->pending = 0;
  pthread_mutex_unlock(&team->mutex);
  return missing < 0 ? KARST_SUCCESS : stuck(rank, "exchange", missing);
}

/* The memory to receive is made of NaNs, so that nothing is read from it before the end. */
static karst_status exchange_begin(void *user, int count, const karst_transfer *transfers)
{
  struct team_rank *rank = user;
  struct team *team = rank->team;
  int missing = -1;
  rank->exchanges++;
  /* After a begin that failed, end may not have been called. */
  karst_status status = take_letters(rank, false);
  if (status) return status;
  team_ok(rank, count >= 0 && count < team->ranks, "an exchange is with fewer ranks than there are");
  pthread_mutex_lock(&team->mutex);
  for (int i = 0; i < count && i < TEAM_MOST && missing < 0; i++) {
    const karst_transfer *transfer = &transfers[i];
    struct letter *letter = &team->letter[rank->rank][transfer->rank];
    rank->transfer[i] = *transfer;
    if (transfer->receive_bytes > 0) memset(transfer->receive, 0xff, transfer->receive_bytes);
    if (transfer->send_bytes == 0) continue;
    if (!wait_for_letter(team, transfer->rank, letter, false)) {
      missing = transfer->rank;
      break;
    }
    *letter = (struct letter){true, transfer->send_bytes, tap_memory((int64_t)transfer->send_bytes, 1)};
    memcpy(letter->copy, transfer->send, transfer->send_bytes);
    rank->pending = i + 1;
  }
  rank->pending = count;
  pthread_cond_broadcast(&team->changed);
  pthread_mutex_unlock(&team->mutex);
  if (missing >= 0) return stuck(rank, "exchange", missing);
  for (int i = 0; i < count; i++)
    team_ok(rank, transfers[i].rank != rank->rank && (i == 0 || transfers[i - 1].rank < transfers[i].rank),
            "an exchange is with other ranks in ascending order");
  return count_call(rank);
}

static karst_status exchange_end(void *user)
{
  struct team_rank *rank = user;
  karst_status status = take_letters(rank, true);
  return status ? status : count_call(rank);
}

static void release(void *user)
{
  struct team_rank *rank = user;
  rank->released++;
}

bool team_ok(struct team_rank *rank, bool condition, const char *format, ...)
{
  const int most = (int)(sizeof rank->failed / sizeof rank->failed[0]);
  va_list arguments;
  rank->checks++;
  if (!condition && rank->failures++ < most) {
    va_start(arguments, format);
    vsnprintf(rank->failed[rank->failures - 1], sizeof rank->failed[0], format, arguments);
    va_end(arguments);
  }
  return condition;
}

bool team_need(struct team_rank *rank, karst_status status, const char *step)
{
  return team_ok(rank, status == KARST_SUCCESS, "%s: %s: %s", step, karst_status_text(status),
                 karst_context_error(rank->context));
}

void team_gather(struct team_rank *rank, const void *own, size_t bytes, void *all)
{
  const int missing = gather_all(rank, own, bytes, all, true);
  if (missing >= 0) team_ok(rank, false, "team_gather ends: rank %d is in another call or has ended", missing);
}

/* What a rank says of its last call. */
struct ending {
  karst_status status;
  char sentence[512];
};

karst_status team_same(struct team_rank *rank, karst_status status)
{
  struct ending own = {.status = status}, all[TEAM_MOST] = {{.status = status}};
  if (status) snprintf(own.sentence, sizeof own.sentence, "%s", karst_context_error(rank->context));
  team_gather(rank, &own, sizeof own, all);
  team_ok(rank, own.status == all[0].status, "the status is %s, and that of rank 0 is %s",
          karst_status_text(own.status), karst_status_text(all[0].status));
  team_ok(rank, strcmp(own.sentence, all[0].sentence) == 0, "the sentence is '%.90s', and that of rank 0 is '%.90s'",
          own.sentence, all[0].sentence);
  return all[0].status;
}

/* The life of a rank. With run, a transport that cannot be set is as if run had failed. */
static void *live(void *argument)
{
  struct team_rank *rank = argument;
  struct team *team = rank->team;
  rank->transport = (karst_transport){.rank = rank->rank,
                                      .ranks = rank->ranks,
                                      .user = rank,
                                      .gather = gather,
                                      .exchange_begin = exchange_begin,
                                      .exchange_end = exchange_end,
                                      .release = release};
  karst_status status = karst_context_set_device(rank->context, team->device);
  if (!status) status = karst_context_set_transport(rank->context, &rank->transport);
  rank->calls = rank->gathers = rank->exchanges = 0;
  if (team->run) {
    if (!status) status = team->run(rank);
    team->status[rank->rank] = team_same(rank, status);
  } else if (team_need(rank, status, "the transport")) {
    rank->memory.calls = rank->calls = rank->gathers = rank->exchanges = 0;
    team->body(rank);
  }
  pthread_mutex_lock(&team->mutex);
  team->ended[rank->rank] = true;
  pthread_cond_broadcast(&team->changed);
  pthread_mutex_unlock(&team->mutex);
  return NULL;
}

/* Starts the ranks, with a context each, and waits until all have ended. Contexts are made and destroyed here: only what
 * comes between fails. Returns the checks that failed. */
static int run_team(struct team *team, int ranks, void *user, int failing, long fail_at)
{
  pthread_t thread[TEAM_MOST];
  int failures = 0;
  team->ranks = ranks;
  pthread_mutex_init(&team->mutex, NULL);
  pthread_cond_init(&team->changed, NULL);
  for (int r = 0; r < ranks; r++) {
    struct team_rank *rank = &team->rank[r];
    *rank = (struct team_rank){.team = team, .rank = r, .ranks = ranks, .user = user};
    rank->context = failing_context(&rank->memory);
    rank->memory.calls = 0;
    if (r == failing) rank->memory.fail_at = fail_at;
  }
  for (int r = 0; r < ranks; r++) pthread_create(&thread[r], NULL, live, &team->rank[r]);
  for (int r = 0; r < ranks; r++) pthread_join(thread[r], NULL);
  for (int r = 0; r < ranks; r++) {
    struct team_rank *rank = &team->rank[r];
    karst_context_destroy(rank->context);
    team_ok(rank, rank->released == 1, "the transport is released once, not %d times", rank->released);
    team_ok(rank, rank->memory.outstanding == 0, "%ld blocks of memory are left", rank->memory.outstanding);
    for (int i = 0; i < rank->failures && i < (int)(sizeof rank->failed / sizeof rank->failed[0]); i++)
      tap_note("rank %d of %d: %s", r, ranks, rank->failed[i]);
    failures += rank->failures;
    for (int to = 0; to < ranks; to++) free(team->letter[r][to].copy);
  }
  pthread_cond_destroy(&team->changed);
  pthread_mutex_destroy(&team->mutex);
  return failures;
}

void team_run(int ranks, const char *device, team_body body, void *user, const char *what)
{
  struct team team = {.body = body, .device = device};
  int checks = 0;
  const int failures = run_team(&team, ranks, user, -1, 0);
  for (int r = 0; r < ranks; r++) checks += team.rank[r].checks;
  tap_ok(failures == 0, "%s on %d ranks on %s: %d checks hold", what, ranks, device, checks);
}

void team_each_device(int ranks, team_body body, void *user, const char *what)
{
  karst_context *context = tap_context();
  team_run(ranks, "cpu", body, user, what);
  if (karst_context_set_device(context, "cuda") != KARST_SUCCESS)
    tap_skip(karst_context_error(context), "%s on %d ranks on cuda", what, ranks);
  else
    team_run(ranks, "cuda", body, user, what);
  karst_context_destroy(context);
}

void team_fail_allocations(int ranks, karst_status (*run)(struct team_rank *rank), void *user, int step,
                           const char *what)
{
  long tried = 0, wrong = 0, failures = 0;
  for (int failing = 0; failing < ranks; failing++) {
    bool met = true;
    for (long n = 1; met; n += step) {
      struct team team = {.run = run, .device = "cpu"};
      failures += run_team(&team, ranks, user, failing, n);
      met = team.rank[failing].memory.calls >= n;
      tried += met;
      if (team.status[0] == (met ? KARST_ERROR_NO_MEMORY : KARST_SUCCESS)) continue;
      tap_note("allocation %ld of rank %d fails: %s", n, failing, karst_status_text(team.status[0]));
      wrong++;
    }
  }
  tap_ok(wrong == 0, "%s on %d ranks: each of %ld allocations that fails gives the no-memory status", what, ranks,
         tried);
  tap_ok(failures == 0, "%s on %d ranks: status and sentence are the same on all, and nothing leaks", what, ranks);
}
